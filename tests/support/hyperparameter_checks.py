"""The checks that planted bugs in updates of concentrations and discounts must fail (`test_planted_bugs`)."""

import numpy as np
from hyperparameter_law import ConcentrationLaw, DiscountLaw, dkw_bound
from scipy import stats

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import DirichletMultinomialReference
from hdpkit.moves.concentration import draw_concentration, slice_concentration
from hdpkit.moves.discount import draw_discount, slice_discount
from hdpkit.posterior.simulate import draw_hyperparameters
from hdpkit.random import Streams
from hdpkit.testing.cases import tiny_franchise

N_DRAWS, FEWER = 5_000, 2_000
ERROR_RATE = 1e-7
BOUND, WIDER = dkw_bound(N_DRAWS, ERROR_RATE), dkw_bound(FEWER, ERROR_RATE)


def looks(n_draws):
    """After how many draws a distance is looked at."""
    return n_draws // 10, n_draws // 3, n_draws


def one_step_distance(law, step, n_draws, generator):
    """Kolmogorov's distance after one step, of the first draws that condemn the step, or else of all."""
    starts, ends = law.quantile(generator.random(n_draws)), []
    for n in looks(n_draws):
        ends += [step(float(x)) for x in starts[len(ends) : n]]
        distance = law.distance(np.array(ends))
        if distance > dkw_bound(n, ERROR_RATE):
            break
    return distance


def restaurant(concentration, discount):
    return hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=concentration, discount=discount)


def one_step(prior, discount, customers, tables, seed):
    source = Streams(seed).source(1)
    n, t = np.array(customers), np.array(tables)
    d = np.broadcast_to(discount, n.shape)
    law = ConcentrationLaw(prior, discount, customers, tables)
    return one_step_distance(
        law,
        lambda theta: draw_concentration(prior, theta, d, n, t, source),
        N_DRAWS,
        np.random.default_rng(seed),
    )


def check_concentration_of_one():
    assert one_step(hk.Gamma(1.0, 2.0), 0.0, [4], [2], 1) <= BOUND
    assert one_step(hk.Gamma(1.0, 0.1), 0.0, [20], [3], 2) <= BOUND


def check_concentration_of_several():
    assert one_step(hk.Gamma(2.0, 0.5), 0.0, [3, 6, 0, 0, 5], [2, 4, 0, 0, 2], 3) <= BOUND


def check_concentration_with_discount():
    assert one_step(hk.Gamma(1.5, 0.5), 0.6, [1, 2, 0, 3, 2], [1, 2, 0, 2, 1], 4) <= BOUND
    assert one_step(hk.Gamma(1.0, 1.0), 0.3, [6], [4], 5) <= BOUND
    assert one_step(hk.Gamma(1.5, 0.5), 0.4, [4] * 4 + [9], [3] * 4 + [6], 6) <= BOUND


def check_concentration_with_discounts():
    n, t = [9, 0, 9, 3, 1], [9, 0, 3, 3, 1]
    assert one_step(hk.Gamma(1.0, 1.0), [0.05, 0.5, 0.95, 0.95, 0.6], n, t, 7) <= BOUND


def by_slice(prior, discount, customers, tables, seed, shifted=False):
    declared = restaurant(hk.Shifted(prior) if shifted else prior, 0.4).hyperparameters[0]
    source = Streams(seed).source(1)
    n, t = np.array(customers), np.array(tables)
    d = np.broadcast_to(discount, n.shape)
    law = ConcentrationLaw(prior, discount, customers, tables, shifted=shifted)
    return one_step_distance(
        law,
        lambda theta: slice_concentration(declared, theta, d, n, t, 1.0, source),
        FEWER,
        np.random.default_rng(seed),
    )


def check_concentration_by_slice():
    n, t = [3, 6, 0, 5, 2], [2, 4, 0, 2, 1]
    assert by_slice(hk.Gamma(2.0, 2.0), 0.4, n, t, 8) <= WIDER
    assert by_slice(hk.Gamma(1.0, 0.1), 0.0, [20], [3], 9) <= WIDER


def check_shifted_concentration():
    assert by_slice(hk.Gamma(1.5, 3.0), 0.7, [3, 6, 0, 2], [2, 4, 0, 1], 10, shifted=True) <= WIDER


SIZES = [[3, 1, 1], [2], [1], [5, 4, 1, 1], [1, 1]]


def columns(sizes):
    """Tables of each restaurant, and sizes of tables with their counts."""
    return np.array([len(own) for own in sizes]), np.unique(np.concatenate(sizes), return_counts=True)


def one_step_of_discount(prior, theta, sizes, seed):
    source = Streams(seed).source(1)
    tables, counted = columns(sizes)
    thetas = np.broadcast_to(theta, tables.shape).astype(float)
    return one_step_distance(
        DiscountLaw(prior, theta, sizes),
        lambda d: draw_discount(prior, d, thetas, tables, counted, source),
        N_DRAWS,
        np.random.default_rng(seed),
    )


def check_discount():
    assert one_step_of_discount(hk.Beta(1.0, 2.5), 0.5, SIZES, 11) <= BOUND
    assert one_step_of_discount(hk.Beta(2.0, 1.0), [0.1, 4.0, 1.0, 0.3, 9.0], SIZES, 12) <= BOUND


def discount_by_slice(declared, theta, sizes, seed):
    concentration, discount = declared.hyperparameters
    source = Streams(seed).source(1)
    tables, counted = columns(sizes)
    thetas = np.broadcast_to(theta, tables.shape).astype(float)
    sums = concentration.prior if concentration.shifted else None
    return one_step_distance(
        DiscountLaw(discount.prior, theta, sizes, sums),
        lambda d: slice_discount(declared.hyperparameters, d, thetas, tables, counted, 1.0, source),
        FEWER,
        np.random.default_rng(seed),
    )


def check_discount_by_slice():
    assert discount_by_slice(restaurant(1.0, hk.Beta(3.0, 1.0)), 0.4, SIZES, 13) <= WIDER
    sizes = [[3, 3, 1], [3], [1], [3, 3, 2, 2], [2]]
    thetas = [0.1, 4.0, 1.0, 0.3, 9.0]
    assert discount_by_slice(restaurant(1.0, hk.Beta(0.5, 0.5)), thetas, sizes, 14) <= WIDER


def check_discount_below_zero():
    declared = restaurant(-0.2, hk.Beta(1.0, 2.0))
    assert discount_by_slice(declared, -0.2, SIZES, 15) <= WIDER
    assert discount_by_slice(declared, -0.2, [[3], [1]], 16) <= WIDER


def check_discount_with_shifted_concentrations():
    sizes, prior = [[3, 1], [2], [1, 1]], hk.Gamma(3.0, 8.0)
    declared = restaurant(hk.Each(hk.Shifted(prior)), hk.Beta(1.0, 1.0))
    assert discount_by_slice(declared, [-0.1, 0.3, -0.3], sizes, 17) <= WIDER


def check_discount_of_shifted_restaurants():
    sizes, prior = [[3, 1], [2], [1, 1]], hk.Gamma(3.0, 8.0)
    declared = restaurant(hk.Shifted(prior), hk.Beta(1.0, 1.0))
    assert discount_by_slice(declared, -0.1, sizes, 18) <= WIDER


DOCUMENTS = [[3, 1], [3]]  # sizes of tables; the three tables are the root's customers, at one table


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


def of_a_franchise(franchise, move, laws, n_draws, seed):
    """The largest distance: root and documents are drawn together, each given its own counts."""
    what = move.updates[0]
    put, get = getattr(franchise, f"set_{what}"), getattr(franchise, what)
    generator, source = np.random.default_rng(seed), Streams(seed).source(1)
    starts = {name: law.quantile(generator.random(n_draws)) for name, law in laws.items()}
    ends = {name: np.empty(n_draws) for name in laws}
    first = 0
    for n in looks(n_draws):
        for i in range(first, n):
            for name in laws:
                put(name, starts[name][i])
            move.apply(franchise, source)
            for name in laws:
                ends[name][i] = get(name)
                assert ends[name][i] != starts[name][i]
        first = n
        distance = max(law.distance(ends[name][:n]) for name, law in laws.items())
        if distance > dkw_bound(n, ERROR_RATE):
            break
    return distance


def check_concentration_of_a_franchise():
    priors = (hk.Gamma(1.0, 0.5), hk.Gamma(2.0, 0.5))
    laws = {
        "root": ConcentrationLaw(priors[0], 0.0, [3], [1]),
        "document": ConcentrationLaw(priors[1], 0.0, [4, 3], [2, 1]),
    }
    assert of_a_franchise(seated(priors), moves.Concentration(), laws, FEWER, 19) <= WIDER
    # Discounts far from where they start.
    franchise = seated((hk.Shifted(priors[0]), priors[1]), (hk.Beta(1.0, 9.0), hk.Beta(1.0, 9.0)))
    franchise.set_discount("root", 0.95)
    franchise.set_discount("document", 0.9)
    laws = {
        "root": ConcentrationLaw(priors[0], 0.95, [3], [1], shifted=True),
        "document": ConcentrationLaw(priors[1], 0.9, [4, 3], [2, 1]),
    }
    assert of_a_franchise(franchise, moves.Concentration(), laws, FEWER, 20) <= WIDER


def check_discount_of_a_franchise():
    """With concentrations far from where they start."""
    priors, gamma = (hk.Beta(1.0, 1.0), hk.Beta(1.5, 1.0)), hk.Gamma(2.0, 0.1)
    franchise = seated((gamma, gamma), priors)
    franchise.set_concentration("root", 0.3)
    franchise.set_concentration("document", 0.2)
    laws = {
        "root": DiscountLaw(priors[0], 0.3, [[3]]),
        "document": DiscountLaw(priors[1], 0.2, DOCUMENTS),
    }
    assert of_a_franchise(franchise, moves.Discount(), laws, FEWER, 21) <= WIDER


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
