"""The von Mises-Fisher: densities up to 1,024 dimensions by mpmath and by quadrature, statistics, draws."""

import math

import mpmath
import numpy as np
import pytest
from marginals import von_mises_fisher_log_marginal
from scipy import stats
from smoothing_checks import Grid

import hdpkit as hk
from hdpkit.base_measures import VonMisesFisherReference
from hdpkit.errors import DataError, HdpkitError, ParameterError
from hdpkit.measures.von_mises_fisher import bessel_ratio, log_bessel
from hdpkit.random import RandomStream
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.exact import check_exact
from hdpkit.testing.exact_parameters import exact_model

BOTH = pytest.mark.parametrize("kind", [hk.VonMisesFisher, VonMisesFisherReference])


def unit(rows):
    rows = np.asarray(rows, dtype=float)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def directions(n, D, seed=0, concentration=None):
    generator = np.random.default_rng(seed)
    if concentration is None:
        return unit(generator.normal(size=(n, D)))
    mean = unit(generator.normal(size=D))
    return stats.vonmises_fisher(mean, concentration).rvs(n, random_state=generator)


def groups(values):
    return hk.Groups.from_labels(values, {})


def bank_over(values, measure, dishes, slots):
    data = groups(values)
    bank = measure.for_data(data).bank(data)
    bank.rebuild(np.asarray(dishes, dtype=np.int32), slots)
    return bank


def exact_log_bessel(order, r):
    with mpmath.workdps(40):
        order, r = mpmath.mpf(order), mpmath.mpf(r)
        bessel = mpmath.besseli(order, r, maxterms=10**6)
        return float(mpmath.loggamma(order + 1) + order * mpmath.log(2 / r) + mpmath.log(bessel))


# ---------------------------------------------------------------------- densities


@pytest.mark.parametrize("D", [2, 3, 4, 7, 20, 50, 61, 62, 63, 64, 128, 256, 768, 1024])
@pytest.mark.parametrize("concentration", [1e-3, 0.5, 9.0, 31.0, 150.0, 1500.0, 3e4])
def test_marginals_and_predictives_by_mpmath(D, concentration):
    """A dish of some vectors, one of them away from the others, and an empty one."""
    values = directions(9, D, seed=D, concentration=50.0)
    values[7] = -values[0]
    measure = hk.VonMisesFisher(concentration)
    dishes = [0, 0, 0, 0, 0, 0, -1, 0, -1]
    bank = bank_over(values, measure, dishes, [0])
    log_marginal = von_mises_fisher_log_marginal(concentration)
    inside = [values[i] for i in range(9) if dishes[i] == 0]
    whole = log_marginal(inside)
    assert bank.log_marginals([0]) == pytest.approx([whole], rel=1e-12, abs=1e-10)
    readable = bank_over(values, VonMisesFisherReference(concentration), dishes, [0])
    assert readable.log_marginals([0], None) == pytest.approx([whole], rel=1e-11, abs=1e-9)
    expected = [log_marginal([*inside, values[6]]) - whole, log_marginal([values[6]])]
    assert bank.log_predictive(6, [0]) == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert readable.log_predictive(6, [0]) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    both = [values[6], values[8]]
    expected = [log_marginal([*inside, *both]) - whole, log_marginal(both)]
    assert bank.log_block([6, 8], [0]) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("D", [2, 3, 10, 61, 63, 200, 1024])
@pytest.mark.parametrize("n", [1, 3, 40, 2000])
def test_the_bessel_function_at_any_size(D, n):
    """n times one vector: the marginal is n log C(c) + g(n c) for a uniform prior."""
    for concentration in (1e-8, 1e-2, 1.0, 25.0, 400.0, 1e6):
        values = np.tile(directions(1, D, seed=1), (n, 1))
        bank = bank_over(values, hk.VonMisesFisher(concentration), np.zeros(n), [0])
        log_c = math.lgamma(D / 2) - math.log(2) - D / 2 * math.log(math.pi)
        order = D / 2 - 1
        log_c -= exact_log_bessel(order, concentration)
        grown = exact_log_bessel(order, n * concentration)
        expected = n * log_c + grown
        # Both terms are rounded, and nearly cancel if the concentration is high.
        size = max(1.0, abs(expected), n * abs(log_c), grown)
        assert abs(bank.log_marginals([0])[0] - expected) < 2e-14 * size


@pytest.mark.parametrize("order", [0.0, 0.5, 4.0, 31.0, 150.0, 511.0])
def test_the_readable_bessel_function(order):
    r = np.array([1e-8, 1e-3, 0.3, 2.0, 17.0, 160.0, 3e3, 1e6])
    expected = [exact_log_bessel(order, x) for x in r]
    assert log_bessel(order, r) == pytest.approx(expected, rel=1e-11, abs=1e-11)
    assert log_bessel(order, 0.0) == 0.0
    with mpmath.workdps(40):
        ratios = [float(mpmath.besseli(order + 1, x) / mpmath.besseli(order, x)) for x in r.tolist()]
    assert bessel_ratio(order, r) == pytest.approx(ratios, rel=1e-9)


@BOTH
@pytest.mark.parametrize("D", [2, 3])
def test_marginals_by_integration_over_mean_directions(kind, D):
    """Of products of densities by SciPy and of the prior's density, over the circle or the sphere."""
    values = directions(4, D, seed=5)
    prior = unit(np.arange(1.0, D + 1.0))
    measure = kind(2.3, prior, 1.4)
    angles = np.arange(400) * (2 * np.pi / 400)
    if D == 2:
        points, weights = np.stack([np.cos(angles), np.sin(angles)], axis=1), np.full(400, 2 * np.pi / 400)
    else:
        z, heights = np.polynomial.legendre.leggauss(60)
        r = np.sqrt(1 - z**2)[:, None]
        points = np.stack([r * np.cos(angles), r * np.sin(angles), z[:, None] + 0 * angles], axis=2)
        points, weights = points.reshape(-1, 3), np.repeat(heights * 2 * np.pi / 400, 400)
    densities = stats.vonmises_fisher(prior, 1.4).pdf(points)
    for value in values:
        densities = densities * stats.vonmises_fisher(value, 2.3).pdf(points)  # symmetric in both
    expected = math.log(densities @ weights)
    bank = bank_over(values, measure, np.zeros(4), [0])
    assert bank.log_marginals([0], None) == pytest.approx([expected], rel=1e-10)
    assert von_mises_fisher_log_marginal(2.3, prior, 1.4)(values) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("D", [2, 3, 50, 259])
@pytest.mark.parametrize("concentration", [0.4, 40.0, 5000.0])
def test_predictives_of_a_bank_with_a_history(D, concentration):
    """After any removals and additions, and with a value out of its dish: those of recomputed statistics."""
    generator = np.random.default_rng(D)
    n, K = 40, 3
    values = directions(n, D, seed=D)
    dishes = generator.integers(K, size=n).astype(np.int32)
    measure = hk.VonMisesFisher(concentration, unit(np.ones(D)), 0.7)
    bank = bank_over(values, measure, dishes, np.arange(K))
    fresh = bank_over(values, measure, dishes, np.arange(K))
    for step in range(4 * n):
        i = step % n
        left = dishes.copy()
        left[i] = -1
        bank.remove(int(dishes[i]), [i])
        fresh.rebuild(left, np.arange(K))
        who = i if step % 5 else int(generator.integers(n))
        expected = fresh.log_predictive(who, np.arange(K))
        assert bank.log_predictive(who, np.arange(K)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        dishes[i] = generator.integers(K) if generator.random() < 0.5 else dishes[i]
        bank.add(int(dishes[i]), [i])
    fresh.rebuild(dishes, np.arange(K))
    assert bank.log_marginals(np.arange(K)) == pytest.approx(fresh.log_marginals(np.arange(K)), rel=1e-11)


def test_predictives_have_the_same_bits_in_any_order():
    for D in (2, 5, 64):
        values = directions(23, D)
        bank = bank_over(values, hk.VonMisesFisher(20.0), np.arange(23) % 2, [0, 1])
        in_order = [bank.log_predictive(i, [0, 1]).tolist() for i in range(23)]
        backwards = [bank.log_predictive(i, [0, 1]).tolist() for i in reversed(range(23))]
        assert in_order == backwards[::-1]


def test_other_parameters_are_adopted_without_a_recount():
    values = directions(20, 4)
    one, other = hk.VonMisesFisher(3.0), hk.VonMisesFisher(70.0, unit([1.0, 2.0, 0.0, 1.0]), 4.0)
    dishes = np.arange(20) % 2
    bank, fresh = bank_over(values, one, dishes, [0, 1]), bank_over(values, other, dishes, [0, 1])
    assert bank.adopt(other.for_data(groups(values)))
    assert np.array_equal(bank.log_marginals([0, 1]), fresh.log_marginals([0, 1]))
    assert np.array_equal(bank.log_predictive(3, [0, 1]), fresh.log_predictive(3, [0, 1]))


# ---------------------------------------------------------------------- draws and means


@pytest.mark.parametrize("D", [2, 3, 30])
@pytest.mark.parametrize("concentration", [0.0, 0.05, 2.0, 300.0])
def test_drawn_directions_have_the_law_of_the_posterior(D, concentration):
    """Their products with the mean direction, against SciPy's draws; at right angles to it, no preference."""
    mean = unit(np.arange(1.0, D + 1.0))
    measure = hk.VonMisesFisher(5.0, mean, concentration)
    statistics = measure.make()
    n = 4000
    drawn = measure.draw_arrays(statistics, n, RandomStream((3, D)))[:, :-1]
    assert np.linalg.norm(drawn, axis=1) == pytest.approx(1.0)
    along = drawn @ mean
    expected = bessel_ratio(D / 2 - 1, concentration)
    assert abs(along.mean() - expected) < 5 * along.std() / math.sqrt(n)
    if concentration > 0.0:
        law = stats.vonmises_fisher(mean, concentration).rvs(n, random_state=np.random.default_rng(7))
        assert stats.ks_2samp(along, law @ mean).pvalue > 1e-4
    across = np.roll(mean, 1)
    across = unit(across - (across @ mean) * mean)
    assert abs((drawn @ across).mean()) < 5 * (drawn @ across).std() / math.sqrt(n)
    simulated = measure.draw_values(np.append(mean, 7.0), n, np.random.default_rng(1)) @ mean
    assert abs(simulated.mean() - bessel_ratio(D / 2 - 1, 7.0)) < 5 * simulated.std() / math.sqrt(n)


def test_moments_are_those_of_draws():
    measure = hk.VonMisesFisher(6.0)
    mean = unit([0.3, -1.0, 0.5])
    x = measure.draw_values(np.append(mean, 6.0), 100_000, np.random.default_rng(2))
    expected, covariance = measure.moments(np.append(0.7 * mean, 6.0)[None])
    assert x.mean(axis=0) == pytest.approx(expected[0], abs=0.01)
    assert np.cov(x.T) == pytest.approx(covariance[0], abs=0.01)


@BOTH
def test_posterior_means_and_names(kind):
    values = directions(200, 3, seed=2, concentration=20.0)
    data = groups(values)
    measure = kind(20.0).for_data(data)
    bank = measure.bank(data)
    bank.rebuild(np.zeros(200, dtype=np.int32), [0])
    means = measure.posterior_means(bank, np.array([0], dtype=np.int32), np.zeros(200, dtype=np.int32))
    direction = unit(values.sum(axis=0))
    r = 20.0 * np.linalg.norm(values.sum(axis=0))
    assert means[0] == pytest.approx([*((1 / math.tanh(r) - 1 / r) * direction), 20.0])
    named = measure.named_parameters(means, ["x", "y", "z"])
    assert list(named) == ["direction[x]", "direction[y]", "direction[z]", "concentration"]
    logs = measure.log_likelihoods(values, list(means))
    assert logs.shape == (200, 1)
    assert logs[3, 0] == pytest.approx(measure.log_likelihood(values[3], means[0]))
    drawn = np.append(direction, 20.0)
    density = stats.vonmises_fisher(direction, 20.0).logpdf(values[3])
    assert measure.log_likelihood(values[3], drawn) == pytest.approx(density)


# ---------------------------------------------------------------------- one concentration per dish


def own(kind, *grid, shape="2+1", values=None, **options):
    """A tiny franchise where each dish has one of two concentrations."""
    measure = kind(hk.Each(Grid(grid or [0.4, 6.0], [1.0, 2.0])), n_dims=2)
    return tiny_franchise(shape, measure, values=values, **options)


@BOTH
@pytest.mark.parametrize("move", [hk.moves.TableGibbs(), hk.moves.DishGibbs(), hk.moves.DishParameters()])
@pytest.mark.parametrize("shape", ["2+1", "flat 3"])
def test_moves_leave_seating_and_concentrations_alone(kind, move, shape):
    franchise = own(kind, shape=shape)
    if isinstance(move, hk.moves.DishGibbs) and shape == "flat 3":
        return
    model = exact_model(
        franchise, lambda values, one: von_mises_fisher_log_marginal(one)(values) if len(values) else 0.0
    )
    if isinstance(move, hk.moves.DishParameters):
        P = model.matrix(move.apply)
        assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-12
        assert np.abs(model.pi @ P - model.pi).max() < 1e-12
    else:
        check_exact(model, move)


@BOTH
def test_one_concentration_that_is_the_only_one(kind):
    """The prior has one value: densities are those of a measure with this concentration."""
    values = directions(12, 3, seed=3)
    data = groups(values)
    dishes = (np.arange(12) % 2).astype(np.int32)
    banks = []
    for measure in (kind(hk.Each(Grid([8.0]))), kind(8.0)):
        bank = measure.for_data(data).bank(data)
        bank.prepare(RandomStream((1, 1)))
        for slot in range(2):
            bank.born(slot)
            bank.add(slot, np.flatnonzero(dishes == slot).astype(np.int32))
        banks.append(bank)
    for call in (
        lambda bank: bank.log_marginals([0, 1], dishes),
        lambda bank: bank.log_predictive(4, [0, 1]),
        lambda bank: bank.log_block([3, 4, 5], [0, 1]),
    ):
        assert call(banks[0]) == pytest.approx(call(banks[1]), rel=1e-10)


def test_a_chain_finds_a_concentration_for_each_dish():
    tight, wide = (directions(150, 8, seed=k, concentration=c) for k, c in ((1, 200.0), (2, 15.0)))
    x = np.concatenate([tight, wide])
    measure = hk.VonMisesFisher(hk.Each(hk.Gamma(1.0, 0.01)))
    franchise = hk.Franchise(hk.Restaurant(base=measure, concentration=0.3), groups(x))
    schedule = [hk.moves.TableGibbs(), hk.moves.DishParameters()]
    start = np.repeat([0, 1], 150)
    trace = hk.Scheduler(schedule).run(franchise, sweeps=12, rng=0, init=start)
    assert franchise.n_dishes >= 2
    big = np.argsort(np.bincount(franchise.dishes))[-2:]
    found = franchise.parts["concentration"].concentrations()[big]
    assert 150 < max(found) < 260
    assert 11 < min(found) < 20
    named = franchise.named_parameters()["concentration"]
    assert sorted(named[big]) == sorted(found)
    assert len(trace["concentration/mean"]) == 12
    twin = franchise.copy()
    assert twin.log_joint() == pytest.approx(franchise.log_joint(), rel=1e-12)
    prior = hk.Gamma(1.0, 0.01)
    density = sum(prior.log_density(c) for c in franchise.parts["concentration"].concentrations())
    assert franchise.parts["concentration"].log_density(franchise) == pytest.approx(density)


def test_one_concentration_per_dish_is_refused_where_it_cannot_be():
    each = hk.Each(hk.Gamma(1.0, 0.01))
    with pytest.raises(ParameterError, match="prior_concentration"):
        hk.VonMisesFisher(each, [0.6, 0.8], 1.0)
    with pytest.raises(ParameterError, match=r"hk\.Each of a prior of positive numbers"):
        hk.VonMisesFisher(hk.Each(hk.Normal(10.0, 1.0)))
    franchise = hk.Franchise(hk.Restaurant(base=hk.VonMisesFisher(each)), groups(directions(6, 3)))
    with pytest.raises(HdpkitError):
        hk.Scheduler([hk.moves.SplitMerge()]).run(franchise, sweeps=1, rng=0)
    measure = hk.VonMisesFisher(each, n_dims=3)
    statistics = measure.make()
    measure.add(statistics, [1.0, 0.0, 0.0])
    with pytest.raises(HdpkitError, match="begun"):
        measure.log_predictive([1.0, 0.0, 0.0], [statistics])


# ---------------------------------------------------------------------- chains, errors


def test_a_chain_finds_directions_and_their_concentration():
    """Three clusters in 40 dimensions; the concentration has a prior and is resampled."""
    x = np.concatenate([directions(60, 40, seed=k, concentration=120.0) for k in range(3)])
    measure = hk.VonMisesFisher.weakly_informative(x, n_dishes=3)
    franchise = hk.Franchise(hk.Restaurant(base=measure, concentration=1.0), groups(x))
    schedule = [hk.moves.TableGibbs(), hk.moves.SplitMerge(), hk.moves.BaseMeasureParameters()]
    trace = hk.Scheduler(schedule).run(franchise, sweeps=60, rng=0)
    assert franchise.n_dishes == 3
    assert len(set(franchise.dishes[:60].tolist())) == 1
    drawn = trace["base/concentration"][20:]
    assert 100 < drawn.mean() < 140
    assert 1 < drawn.std() < 15


def test_values_need_length_one():
    measure = hk.VonMisesFisher(3.0)
    good = directions(5, 3)
    long = good.copy()
    long[2] *= 1.01
    with pytest.raises(DataError, match=r"values\[2\].*length 1.*Normalise"):
        measure.for_data(groups(long))
    long[2] = 0.0
    with pytest.raises(DataError, match=r"values\[2\].*without rows that are all 0"):
        measure.for_data(groups(long))
    with pytest.raises(DataError, match="two or more numbers"):
        measure.for_data(groups(np.array([1.0, -1.0])))
    with pytest.raises(DataError, match="two or more numbers"):
        measure.for_data(groups(np.array([[1.0], [-1.0]])))
    assert measure.for_data(groups(good.astype(np.float32))).n_dims == 3
    with pytest.raises(DataError, match="Normalise"):
        hk.VonMisesFisher.weakly_informative(2.0 * good)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0.0,), "concentration"),
        ((-1.0,), "concentration"),
        ((1e11,), "concentration"),
        (([1.0, 2.0],), "concentration"),
        (("wide",), "concentration"),
        ((1.0, [1.0, 1.0]), "prior_direction"),
        ((1.0, [1.0]), "prior_direction"),
        ((1.0, None, 2.0), "prior_direction"),
        ((1.0, [0.0, 1.0], -1.0), "prior_concentration"),
        ((1.0, [0.0, 1.0], math.nan), "prior_concentration"),
    ],
)
def test_bad_parameters(arguments, name):
    with pytest.raises(ParameterError, match=name):
        hk.VonMisesFisher(*arguments)
