"""The von Mises-Fisher: densities up to 1,024 dimensions by mpmath and by quadrature, statistics, draws."""

import math

import mpmath
import numpy as np
import pytest
from marginals import von_mises_fisher_log_marginal
from parameter_cases import Grid
from scipy import stats

import hdpkit as hk
from hdpkit.base_measures import VonMisesFisherReference
from hdpkit.measures.von_mises_fisher import bessel_ratio, log_bessel
from hdpkit.random import RandomStream
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.exact import check_exact
from hdpkit.testing.exact_models import exact_model

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
