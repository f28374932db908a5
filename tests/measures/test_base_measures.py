"""The conjugate measures against SciPy's distributions, simple marginals and recounts; extreme numbers."""

import math

import numpy as np
import pytest
from marginals import (
    beta_bernoulli_log_marginal,
    gamma_poisson_log_marginal,
    normal_gamma_log_marginal,
    normal_inverse_wishart_log_marginal,
)
from scipy import stats

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import (
    BetaBernoulliReference,
    GammaPoissonReference,
    NormalGammaReference,
    NormalInverseWishartReference,
)

SCALE = [[1.2, 0.4], [0.4, 0.9]]
CASES = {
    # compiled measure, reference, witness of the marginal
    "normal-gamma": (hk.NormalGamma, NormalGammaReference, normal_gamma_log_marginal),
    "normal-inverse-wishart": (
        hk.NormalInverseWishart,
        NormalInverseWishartReference,
        normal_inverse_wishart_log_marginal,
    ),
    "gamma-poisson": (hk.GammaPoisson, GammaPoissonReference, gamma_poisson_log_marginal),
    "beta-bernoulli": (hk.BetaBernoulli, BetaBernoulliReference, beta_bernoulli_log_marginal),
}
PARAMETERS = [
    ("normal-gamma", (0.2, 0.5, 1.5, 0.8), 0),
    ("normal-gamma", (0.2, 0.5, 1.5, 0.8), 3),
    ("normal-gamma", ([0.2, -3.0], [0.5, 7.0], [1.5, 30.0], [0.8, 100.0]), 2),
    ("normal-gamma", (0.2, 0.5, [1.5, 2.0], [0.8, 3.0], 2.5), 2),
    ("normal-inverse-wishart", ([0.2], 0.5, 1.3, [[0.8]]), 1),
    ("normal-inverse-wishart", ([0.2, -0.4], 0.7, 3.5, SCALE), 2),
    ("normal-inverse-wishart", ([0.2, -0.4], 0.7, 3.5, SCALE, 0.3), 2),
    ("normal-inverse-wishart", (np.arange(5.0), 2.0, 6.2, np.eye(5) + 0.3), 5),
    ("gamma-poisson", (1.5, 0.8), 0),
    ("gamma-poisson", ([1.5, 0.01, 300.0], [0.8, 0.2, 60.0]), 3),
    ("beta-bernoulli", (0.7, 1.2), 0),
    ("beta-bernoulli", (0.7, 1.2), 7),
    ("beta-bernoulli", ([0.7, 0.01, 50.0], [1.2, 2.0, 0.3]), 3),
]
ids = pytest.mark.parametrize(
    ("name", "parameters", "n_dims"), PARAMETERS, ids=lambda v: v if isinstance(v, str) else ""
)


def simulated(measure, n, seed=3, n_groups=4):
    """Data of the measure's kind, in groups that differ."""
    generator = np.random.default_rng(seed)
    drawn = []
    for _ in range(n_groups):
        statistics = measure.make()
        for _ in range(n // n_groups):
            value = measure.simulate(statistics, generator)
            measure.add(statistics, value)
            drawn.append(value)
    return hk.Groups.from_labels(np.array(drawn), {})


def ready(name, parameters, n_dims, n=40):
    compiled, reference, witness = CASES[name]
    data = simulated(reference(*parameters, n_dims=n_dims), n)
    return compiled(*parameters).for_data(data), reference(*parameters).for_data(data), witness, data


def of(measure, values):
    statistics = measure.make()
    for value in values:
        measure.add(statistics, value)
    return statistics


def predictive_by_scipy(measure, values, x):
    """Log density of a value after others, written with SciPy's distributions."""
    n, values = len(values), np.asarray(values, float).reshape(len(values), np.size(x))
    x = np.atleast_1d(np.asarray(x, float))
    p = measure.parameters
    if isinstance(measure, hk.NormalInverseWishart):
        mean, k = np.asarray(p["mean"]), p["strength"]
        middle = values.mean(axis=0) if n else mean
        centre = (k * mean + values.sum(axis=0)) / (k + n)
        scale = p.get("multiplier", 1.0) * p["scale"] + (values - middle).T @ (values - middle)
        scale = scale + k * n / (k + n) * np.outer(middle - mean, middle - mean)
        df = p["dof"] + n - len(mean) + 1
        shape = scale * (k + n + 1) / ((k + n) * df)
        return stats.multivariate_t.logpdf(x, centre, shape, df=df)
    if isinstance(measure, hk.NormalGamma):
        k = p["strength"]
        centre = (k * np.asarray(p["mean"]) + values.sum(axis=0)) / (k + n)
        a = np.asarray(p["shape"]) + n / 2
        # Complete the square over prior and data at once: rate + (sum x^2 + k mean^2 - (k + n) centre^2) / 2.
        square = (values**2).sum(axis=0) + k * np.square(p["mean"]) - (k + n) * centre**2
        b = np.multiply(p["rate"], p.get("multiplier", 1.0)) + square / 2
        return stats.t.logpdf(x, 2 * a, centre, np.sqrt(b * (k + n + 1) / (a * (k + n)))).sum()
    if isinstance(measure, hk.GammaPoisson):
        rate = np.asarray(p["rate"]) + n
        return stats.nbinom.logpmf(x, p["shape"] + values.sum(axis=0), rate / (rate + 1)).sum()
    ones = values.sum(axis=0)
    return stats.betabinom.logpmf(x, 1, p["a"] + ones, p["b"] + n - ones).sum()


@ids
def test_predictives_are_those_of_scipy(name, parameters, n_dims):
    compiled, reference, _, data = ready(name, parameters, n_dims)
    values = data.values
    dishes = np.repeat(np.arange(3, dtype=np.int32), [5, 20, 15])
    dishes[[0, 7]] = -1
    bank = compiled.bank(data)
    bank.rebuild(dishes, np.arange(3))
    for customer in (0, 7):
        expected = [
            predictive_by_scipy(reference, values[dishes == k], values[customer]) for k in (0, 1, 2, 3)
        ]
        many = [of(reference, values[dishes == k]) for k in (0, 1, 2, 3)]
        assert reference.log_predictive(values[customer], many) == pytest.approx(expected, rel=1e-10)
        assert bank.log_predictive(customer, [0, 1, 2]) == pytest.approx(expected, rel=1e-10)
        weights = bank.block([customer], [0, 1, 2])
        assert weights == pytest.approx(np.exp(np.array(expected) - max(expected)), rel=1e-9)


@ids
def test_marginals_and_blocks_are_those_of_the_witness(name, parameters, n_dims):
    compiled, reference, witness, data = ready(name, parameters, n_dims)
    log_marginal = witness(**reference.parameters)
    bank = compiled.bank(data)
    dishes = np.repeat(np.arange(2, dtype=np.int32), [12, 28])
    block = [3, 5, 13, 30]
    dishes[block] = -1
    bank.rebuild(dishes, [0, 1])
    inside = [list(data.values[dishes == k]) for k in (0, 1)]
    expected = [log_marginal(these) for these in inside]
    assert bank.log_marginals([0, 1]) == pytest.approx(expected, rel=1e-11)
    assert [reference.log_marginal(of(reference, these)) for these in inside] == pytest.approx(
        expected, rel=1e-11
    )
    values = list(data.values[block])
    grown = [log_marginal([*these, *values]) - log_marginal(these) for these in (*inside, [])]
    assert bank.log_block(block, [0, 1]) == pytest.approx(grown, rel=1e-9)
    assert reference.log_block(values, [of(reference, t) for t in (*inside, [])]) == pytest.approx(
        grown, rel=1e-9
    )
    weights = bank.block(block, [0, 1])
    assert np.log(weights) == pytest.approx(np.array(grown) - max(grown), abs=1e-8)


@ids
def test_additions_and_removals_leave_no_trace(name, parameters, n_dims):
    compiled, reference, _, data = ready(name, parameters, n_dims, n=80)
    bank, readable, fresh = compiled.bank(data), reference.bank(data), compiled.bank(data)
    generator = np.random.default_rng(1)
    dishes = generator.integers(0, 3, size=len(data)).astype(np.int32)
    for one in (bank, readable):
        one.rebuild(dishes, [0, 1, 2])
    for _ in range(4000):
        i, to = int(generator.integers(len(data))), int(generator.integers(3))
        for one in (bank, readable):
            one.remove(int(dishes[i]), [i])
            one.add(to, [i])
        dishes[i] = to
    fresh.rebuild(dishes, [0, 1, 2])
    assert bank.log_marginals([0, 1, 2]) == pytest.approx(fresh.log_marginals([0, 1, 2]), rel=1e-11)
    assert readable.log_marginals([0, 1, 2], dishes) == pytest.approx(
        fresh.log_marginals([0, 1, 2]), rel=1e-11
    )
    if getattr(compiled, "exact_statistics", False):
        assert all(np.array_equal(bank.row(k), fresh.row(k)) for k in range(3))
    everybody = np.flatnonzero(dishes == 0)
    bank.remove(0, everybody)
    assert not bank.row(0).any(), "an empty dish holds exactly nothing"
    readable.remove(0, everybody)
    assert readable.log_marginals([0], dishes) == pytest.approx([0.0], abs=1e-12)


@ids
def test_other_parameters_are_adopted_without_a_recount(name, parameters, n_dims):
    compiled, _, _, data = ready(name, parameters, n_dims)
    other = {
        "normal-gamma": lambda: compiled.__class__(-1.0, 3.0, [2.5] * n_dims if n_dims else 2.5, 1.7),
        "normal-inverse-wishart": lambda: compiled.__class__(
            np.full(n_dims, -1.0), 3.0, n_dims + 4.0, 2 * np.eye(n_dims)
        ),
        "gamma-poisson": lambda: compiled.__class__(0.3, 2.0),
        "beta-bernoulli": lambda: compiled.__class__(3.0, 0.2),
    }[name]().for_data(data)
    dishes = np.repeat(np.arange(2, dtype=np.int32), [25, 15])
    dishes[3] = -1
    bank, fresh = compiled.bank(data), other.bank(data)
    for one in (bank, fresh):
        one.rebuild(dishes, [0, 1])
    before = bank.log_predictive(3, [0, 1])
    bank.adopt(other)
    assert np.array_equal(bank.log_predictive(3, [0, 1]), fresh.log_predictive(3, [0, 1]))
    assert np.array_equal(bank.log_marginals([0, 1]), fresh.log_marginals([0, 1]))
    assert not np.allclose(before, bank.log_predictive(3, [0, 1]))


@ids
def test_statistics_and_posterior_means_leave_the_bank(name, parameters, n_dims):
    compiled, reference, _, data = ready(name, parameters, n_dims)
    bank = compiled.bank(data)
    dishes = np.repeat(np.arange(2, dtype=np.int32), [25, 15])
    bank.rebuild(dishes, [0, 1])
    means = compiled.posterior_means(bank, np.array([0, 1], dtype=np.int32), dishes)
    expected = [reference.posterior_mean(of(reference, part)) for part in np.split(data.values, [25])]
    assert means == pytest.approx(np.array(expected), rel=1e-10)
    assert bank.memory_bytes() > 0
    for statistics, expected in ((bank.statistics([1], dishes)[0], of(reference, data.values[25:])),):
        assert type(statistics) is type(expected)
        assert statistics.n == expected.n


def offset_data(D, offset, spread, n=200):
    generator = np.random.default_rng(7)
    # Multiples of 1/4096: exact in doubles also beside the offset, so that the truth can be computed near 0.
    near = np.round(generator.normal(0.0, spread, size=(n, D)) * 4096) / 4096
    return near, near + offset


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e8])
@pytest.mark.parametrize(
    ("kind", "more"),
    [(hk.NormalGamma, (0.1, 2.0, 0.5)), (hk.NormalInverseWishart, (0.1, 4.0, SCALE))],
    ids=["normal-gamma", "normal-inverse-wishart"],
)
def test_values_far_from_zero_keep_their_digits(kind, more, offset):
    near, far = offset_data(2, offset, 1.0)
    at_zero = kind([0.0, 0.0], *more)
    moved = kind([offset, offset], *more)
    banks = [
        measure.for_data(data).bank(data)
        for measure, data in (
            (at_zero, hk.Groups.from_labels(near, {})),
            (moved, hk.Groups.from_labels(far, {})),
        )
    ]
    generator = np.random.default_rng(2)
    dishes = generator.integers(0, 3, size=len(near)).astype(np.int32)
    for bank in banks:
        bank.rebuild(dishes, [0, 1, 2])
    for _ in range(3000):
        i, to = int(generator.integers(len(near))), int(generator.integers(3))
        for bank in banks:
            bank.remove(int(dishes[i]), [i])
            bank.add(to, [i])
        dishes[i] = to
    assert banks[1].log_marginals([0, 1, 2]) == pytest.approx(banks[0].log_marginals([0, 1, 2]), rel=1e-11)
    assert banks[1].log_predictive(5, [0, 1, 2]) == pytest.approx(
        banks[0].log_predictive(5, [0, 1, 2]), rel=1e-11
    )
    assert banks[1].log_block([5, 6, 9], [0, 1, 2]) == pytest.approx(
        banks[0].log_block([5, 6, 9], [0, 1, 2]), rel=1e-11
    )


def test_a_prior_mean_far_away_does_not_drown_the_scatter():
    # The truth from the witness in exact rational arithmetic would do; a far mean with little weight is as
    # good as a rank-one term, which the determinant lemma takes apart.
    near, _ = offset_data(2, 0.0, 1.0, n=50)
    measure = hk.NormalInverseWishart([1e8, 1e8], 1e-3, 5.0, SCALE)
    data = hk.Groups.from_labels(near, {})
    bank = measure.for_data(data).bank(data)
    bank.rebuild(np.zeros(50, dtype=np.int32), [0])
    n, k = 50, 1e-3
    inner = np.array(SCALE) + (near - near.mean(0)).T @ (near - near.mean(0))
    away = near.mean(0) - 1e8
    log_det = np.linalg.slogdet(inner)[1] + math.log1p(k * n / (k + n) * away @ np.linalg.solve(inner, away))
    expected = (
        sum(math.lgamma((5 + n - d) / 2) - math.lgamma((5 - d) / 2) for d in range(2))
        - n * math.log(math.pi)
        + math.log(k / (k + n))
        + 2.5 * np.linalg.slogdet(SCALE)[1]
        - (5 + n) / 2 * log_det
    )
    assert bank.log_marginals([0]) == pytest.approx([expected], rel=1e-11)


@pytest.mark.parametrize("spread", [1e-20, 1e-6, 1e6, 1e20])
@pytest.mark.parametrize("n_dims", [0, 3])
def test_variances_of_any_size(spread, n_dims):
    """The density of scaled data under a scaled prior is that of the data, over the scale."""
    generator = np.random.default_rng(4)
    values = generator.normal(size=(30, 3) if n_dims else 30)
    measures = [hk.NormalGamma(0.3 * s, 0.1, 2.0, s**2) for s in (1.0, spread)]
    if n_dims:
        measures += [
            hk.NormalInverseWishart(np.full(3, 0.3 * s), 0.1, 5.0, s**2 * np.eye(3)) for s in (1.0, spread)
        ]
    dishes = np.repeat(np.arange(2, dtype=np.int32), 15)
    dishes[0] = -1
    for one, other in zip(measures[::2], measures[1::2], strict=True):
        banks = []
        for measure, s in ((one, 1.0), (other, spread)):
            data = hk.Groups.from_labels(values * s, {})
            banks.append(measure.for_data(data).bank(data))
            banks[-1].rebuild(dishes, [0, 1])
        shift = max(n_dims, 1) * math.log(spread)
        assert banks[1].log_predictive(0, [0, 1]) + shift == pytest.approx(
            banks[0].log_predictive(0, [0, 1]), abs=1e-9
        )


def test_dishes_of_many_values():
    """n = 1e5: the last value's predictive is a difference of marginals that are five orders larger."""
    generator = np.random.default_rng(5)
    n = 100_001
    dishes = np.zeros(n, dtype=np.int32)
    dishes[-1] = -1
    for measure, values in (
        (hk.NormalGamma(0.2, 0.5, 1.5, 0.8), generator.normal(3.0, 2.0, size=n)),
        (hk.NormalInverseWishart([0.2, -0.4], 0.7, 3.5, SCALE), generator.normal(3.0, 2.0, size=(n, 2))),
        (hk.GammaPoisson(1.5, 0.8), generator.poisson(1e6, size=n)),
        (hk.GammaPoisson(1.5, 0.8), generator.poisson(3.0, size=(n, 2))),
        (hk.BetaBernoulli(0.7, 1.2), generator.integers(0, 2, size=(n, 3))),
    ):
        data = hk.Groups.from_labels(values, {})
        measure = measure.for_data(data)
        bank = measure.bank(data)
        bank.rebuild(dishes, [0])
        alone = bank.log_predictive(n - 1, [0])[0]
        if values.dtype.kind == "f":
            assert alone == pytest.approx(predictive_by_scipy(measure, values[:-1], values[-1]), rel=1e-8)
        elif values.max() < 1000:
            assert alone == pytest.approx(predictive_by_scipy(measure, values[:-1], values[-1]), abs=1e-8)
        else:  # one logarithm a factor: SciPy's differences of log-gammas lose their digits here
            shape, rate, x = 1.5 + float(values[:-1].sum()), 0.8 + n - 1, int(values[-1])
            j = np.arange(x)
            expected = math.fsum(np.log((shape + j) / (j + 1) / (rate + 1))) - shape * math.log1p(1 / rate)
            assert alone == pytest.approx(expected, abs=1e-6)
        block = bank.log_block([n - 1, 0], [0])[0]
        bank.add(0, [n - 1])
        assert block == pytest.approx(alone + bank.log_predictive(0, [0])[0], abs=1e-6)


def test_outliers_underflow_nowhere():
    values = np.concatenate([np.random.default_rng(0).normal(size=30) * 1e-3, [1e90, -1e90, 1e90]])
    data = hk.Groups.from_arrays([values])
    for measure in (hk.NormalGamma(0.0, 1.0, 50.0, 1e-6),):
        root = hk.Restaurant(base=measure, concentration=1.0)
        franchise = hk.Franchise(hk.Restaurant(base=root, each="group"), data)
        schedule = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge()])
        schedule.run(franchise, 20, rng=1, audit_every=5)
        assert np.isfinite(franchise.log_joint())
        weights = franchise.bank.block([30], franchise.slots.occupied_slots())
        assert weights.max() == 1.0


def clusters(n_each=60, seed=3):
    """Points of six clusters far apart, and the covariance within each of them."""
    generator = np.random.default_rng(seed)
    root = np.array([[1.0, 0.0, 0.0], [0.8, 0.5, 0.0], [0.0, 0.5, 1.5]])
    means = 8.0 * generator.normal(size=(6, 3))
    X = np.concatenate([mean + generator.normal(size=(n_each, 3)) @ root.T for mean in means])
    return X, root @ root.T


def test_a_hierarchical_prior_of_independent_dimensions():
    X, within = clusters()
    measure = hk.NormalGamma.hierarchical(X, n_dishes=4)
    plain = hk.NormalGamma.weakly_informative(X, n_dishes=4)
    assert {"multiplier"} == set(measure.priors)
    guess = measure.multiplier * measure.rate / (measure.shape - 1.0)
    assert np.log(guess).sum() == pytest.approx(np.log(2.0 * plain.rate).sum())
    assert 2.0 * np.log(guess / np.diag(within)).std() < np.log(plain.rate / np.diag(within)).std()
    numbers = hk.NormalGamma.hierarchical(X[:, 1])
    assert numbers.n_dims is None
    assert numbers.rate == pytest.approx(hk.NormalGamma.weakly_informative(X[:, 1]).rate)
    given = hk.NormalGamma.hierarchical(np.zeros(3), variances=4.0)
    assert (given.rate, given.priors) == (2.0, measure.priors)
