"""The checks that planted bugs in updates of concentrations and discounts must fail (`test_planted_bugs`)."""

import numpy as np
from hyperparameter_law import ConcentrationLaw, DiscountLaw, dkw_bound
from scipy import stats

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import DirichletMultinomialReference
from hdpkit.moves.hyperparameters import (
    draw_concentration,
    draw_discount,
    slice_concentration,
    slice_discount,
)
from hdpkit.posterior.simulate import draw_hyperparameters
from hdpkit.random import Streams
from hdpkit.testing.cases import tiny_franchise

N_DRAWS, FEWER = 5_000, 2_000
ERROR_RATE = 1e-7


def looks(n_draws):
    """After how many draws a distance is looked at."""
    return n_draws // 10, n_draws // 3, n_draws


def check_step(law, step, n_draws, seed):
    """Kolmogorov's distance of the ends of steps from exact draws; the first draws that condemn end it."""
    starts, ends = law.quantile(np.random.default_rng(seed).random(n_draws)), []
    for n in looks(n_draws):
        ends += [step(float(x)) for x in starts[len(ends) : n]]
        assert law.distance(np.array(ends)) <= dkw_bound(n, ERROR_RATE), seed


def restaurant(concentration, discount):
    return hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=concentration, discount=discount)


# Customers and tables of the restaurants that share theta, and their discounts.
CONCENTRATIONS = [
    (hk.Gamma(1.0, 2.0), 0.0, [4], [2]),
    (hk.Gamma(1.0, 0.1), 0.0, [20], [3]),
    (hk.Gamma(2.0, 0.5), 0.0, [3, 6, 0, 0, 5], [2, 4, 0, 0, 2]),
    (hk.Gamma(1.5, 0.5), 0.6, [1, 2, 0, 3, 2], [1, 2, 0, 2, 1]),
    (hk.Gamma(1.0, 1.0), 0.3, [6], [4]),
    (hk.Gamma(1.5, 0.5), 0.4, [4] * 4 + [9], [3] * 4 + [6]),
    (hk.Gamma(1.0, 1.0), [0.05, 0.5, 0.95, 0.95, 0.6], [9, 0, 9, 3, 1], [9, 0, 3, 3, 1]),
]


def check_concentration():
    for seed, (prior, discount, customers, tables) in enumerate(CONCENTRATIONS, 1):
        source, n, t = Streams(seed).source(1), np.array(customers), np.array(tables)
        law, d = ConcentrationLaw(prior, discount, customers, tables), np.broadcast_to(discount, n.shape)
        check_step(
            law, lambda x, of=(prior, d, n, t, source): draw_concentration(of[0], x, *of[1:]), N_DRAWS, seed
        )


def check_concentration_by_slice():
    for seed, (prior, discount, customers, tables, shifted) in enumerate([
        (hk.Gamma(2.0, 2.0), 0.4, [3, 6, 0, 5, 2], [2, 4, 0, 2, 1], False),
        (hk.Gamma(1.0, 0.1), 0.0, [20], [3], False),
        (hk.Gamma(1.5, 3.0), 0.7, [3, 6, 0, 2], [2, 4, 0, 1], True),
    ], 8):  # fmt: skip
        declared = restaurant(hk.Shifted(prior) if shifted else prior, 0.4).hyperparameters[0]
        source, n, t = Streams(seed).source(1), np.array(customers), np.array(tables)
        law = ConcentrationLaw(prior, discount, customers, tables, shifted=shifted)
        of = np.broadcast_to(discount, n.shape), n, t, 1.0, source
        check_step(law, lambda x, d=declared, of=of: slice_concentration(d, x, *of), FEWER, seed)


SIZES = [[3, 1, 1], [2], [1], [5, 4, 1, 1], [1, 1]]
MANY_THETA = [0.1, 4.0, 1.0, 0.3, 9.0]


def given(theta, sizes):
    """Concentrations and numbers of tables of the restaurants, and sizes of tables with their counts."""
    tables = np.array([len(own) for own in sizes])
    counted = np.unique(np.concatenate(sizes), return_counts=True)
    return np.broadcast_to(theta, tables.shape).astype(float), tables, counted


def check_discount():
    for seed, (prior, theta) in enumerate([(hk.Beta(1.0, 2.5), 0.5), (hk.Beta(2.0, 1.0), MANY_THETA)], 11):
        of = *given(theta, SIZES), Streams(seed).source(1)
        law = DiscountLaw(prior, theta, SIZES)
        check_step(law, lambda d, prior=prior, of=of: draw_discount(prior, d, *of), N_DRAWS, seed)


def check_discount_by_slice():
    several, shifted, uniform = [[3, 1], [2], [1, 1]], hk.Shifted(hk.Gamma(3.0, 8.0)), hk.Beta(1.0, 1.0)
    for seed, (declared, theta, sizes) in enumerate([
        (restaurant(1.0, hk.Beta(3.0, 1.0)), 0.4, SIZES),
        (restaurant(1.0, hk.Beta(0.5, 0.5)), MANY_THETA, [[3, 3, 1], [3], [1], [3, 3, 2, 2], [2]]),
        (restaurant(-0.2, hk.Beta(1.0, 2.0)), -0.2, SIZES),
        (restaurant(-0.2, hk.Beta(1.0, 2.0)), -0.2, [[3], [1]]),
        (restaurant(hk.Each(shifted), uniform), [-0.1, 0.3, -0.3], several),
        (restaurant(shifted, uniform), -0.1, several),
    ], 13):  # fmt: skip
        concentration, discount = both = declared.hyperparameters
        of = *given(theta, sizes), 1.0, Streams(seed).source(1)
        sums = concentration.prior if concentration.shifted else None
        law = DiscountLaw(discount.prior, theta, sizes, sums)
        check_step(law, lambda d, both=both, of=of: slice_discount(both, d, *of), FEWER, seed)


def seated(concentration, discount=(0.0, 0.0)):
    """Documents of 4 and 3 customers, all of one dish."""
    franchise = tiny_franchise(
        "4+3",
        DirichletMultinomialReference(0.5, n_terms=3),
        store="explicit",
        concentration=concentration,
        discount=discount,
    )
    seat = [0, 0, 0, 1, 2, 2, 2]
    rows = {"seat": seat, "table_node": [1, 1, 2, 0], "table_dish": [0] * 4, "table_seat": [3, 3, 3, -1]}
    seating = {name: np.array(row, dtype=np.int32) for name, row in rows.items()}
    dishes = {"slots": np.zeros(1, dtype=np.int32), "dish_ids": np.zeros(1, dtype=np.int64), "births": 1}
    franchise.thaw({**franchise.freeze(), "seating": seating, **dishes})
    franchise.audit()
    return franchise


def check_franchise(franchise, move, laws, seed):
    """Root and documents are drawn together, each given its own counts."""
    what = move.updates[0]
    put, get = getattr(franchise, f"set_{what}"), getattr(franchise, what)
    generator, source = np.random.default_rng(seed), Streams(seed).source(1)
    starts = {name: law.quantile(generator.random(FEWER)) for name, law in laws.items()}
    ends = {name: [] for name in laws}
    for n in looks(FEWER):
        for i in range(len(ends["root"]), n):
            for name in laws:
                put(name, starts[name][i])
            move.apply(franchise, source)
            for name in laws:
                ends[name].append(get(name))
                assert ends[name][i] != starts[name][i]
        for name, law in laws.items():
            assert law.distance(np.array(ends[name])) <= dkw_bound(n, ERROR_RATE), name


def check_concentration_of_a_franchise():
    """Also with discounts far from where they start."""
    priors = (hk.Gamma(1.0, 0.5), hk.Gamma(2.0, 0.5))
    for seed, (d_root, d) in ((19, (0.0, 0.0)), (20, (0.95, 0.9))):
        shifted = d > 0.0
        franchise = seated(priors)
        if shifted:
            franchise = seated((hk.Shifted(priors[0]), priors[1]), (hk.Beta(1.0, 9.0), hk.Beta(1.0, 9.0)))
            franchise.set_discount("root", d_root)
            franchise.set_discount("document", d)
        laws = {
            "root": ConcentrationLaw(priors[0], d_root, [3], [1], shifted=shifted),
            "document": ConcentrationLaw(priors[1], d, [4, 3], [2, 1]),
        }
        check_franchise(franchise, moves.Concentration(), laws, seed)


def check_discount_of_a_franchise():
    """With concentrations far from where they start."""
    priors, gamma = (hk.Beta(1.0, 1.0), hk.Beta(1.5, 1.0)), hk.Gamma(2.0, 0.1)
    franchise = seated((gamma, gamma), priors)
    franchise.set_concentration("root", 0.3)
    franchise.set_concentration("document", 0.2)
    # The three tables of the documents are the root's customers, at one table.
    laws = {
        "root": DiscountLaw(priors[0], 0.3, [[3]]),
        "document": DiscountLaw(priors[1], 0.2, [[3, 1], [3]]),
    }
    check_franchise(franchise, moves.Discount(), laws, 21)


def check_draws_of_sums():
    """Kolmogorov's test of draws of theta + d and of d; each condemns healthy code once in ten million."""
    franchise = seated((hk.Shifted(hk.Gamma(0.7, 2.0)), 1.0), (hk.Beta(2.0, 1.0), 0.0))
    source = Streams(22).source(1)
    theta, d = np.empty(FEWER), np.empty(FEWER)
    for i in range(FEWER):
        draw_hyperparameters(franchise, source)
        theta[i], d[i] = franchise.concentration("root"), franchise.discount("root")
    assert stats.kstest(theta + d, stats.gamma(0.7, scale=0.5).cdf).pvalue > 1e-7
    assert stats.kstest(d, stats.beta(2.0, 1.0).cdf).pvalue > 1e-7
