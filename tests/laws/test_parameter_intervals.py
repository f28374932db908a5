"""Intervals of the parameters of components: quantiles of the posterior, not of its means."""

import numpy as np
import pytest
import scipy.stats as st

import hdpkit as hk
from hdpkit import moves
from hdpkit.posterior.alignment import merged_sample
from hdpkit.summaries import components

SWEEPS, LEVEL = 40, 0.8
DRAWS = 20 * SWEEPS


def normal_gamma(measure, x):
    if x.ndim == 2:
        columns = [normal_gamma(measure, column) for column in x.T]
        return {f"{name}[{i}]": law for i, laws in enumerate(columns) for name, law in laws.items()}
    n, mean, strength = len(x), float(measure.mean), float(measure.strength)
    total, shape = strength + n, float(measure.shape) + n / 2
    away = x.mean() - mean
    rate = float(measure.rate) + ((x - x.mean()) ** 2).sum() / 2 + strength * n / total * away**2 / 2
    return {
        "mean": st.t(2 * shape, (strength * mean + n * x.mean()) / total, np.sqrt(rate / shape / total)).cdf,
        "sd": lambda sd: st.invgamma(shape, scale=rate).cdf(np.square(sd)),
    }


def normal_inverse_wishart(measure, x):
    (n, d), strength = x.shape, float(measure.strength)
    total, dof, away = strength + n, float(measure.dof) + n, x.mean(axis=0) - measure.mean
    centred = x - x.mean(axis=0)
    scale = measure.scale + centred.T @ centred + strength * n / total * np.outer(away, away)
    mean = (strength * measure.mean + n * x.mean(axis=0)) / total
    free = dof - d + 1
    drawn = st.invwishart(dof, scale).rvs(20_000, random_state=0)
    correlations = np.sort(drawn[:, 0, 1] / np.sqrt(drawn[:, 0, 0] * drawn[:, 1, 1]))
    found = {"correlation[0,1]": lambda r: np.searchsorted(correlations, r) / len(correlations)}
    for i in range(d):
        found[f"mean[{i}]"] = st.t(free, mean[i], np.sqrt(scale[i, i] / (total * free))).cdf
        law = st.invgamma(free / 2, scale=scale[i, i] / 2)
        found[f"sd[{i}]"] = lambda sd, law=law: law.cdf(np.square(sd))
    return found


def gamma_poisson(measure, x):
    laws = st.gamma(measure.shape + x.sum(axis=0), scale=1.0 / (measure.rate + len(x)))
    if x.ndim == 1:
        return {"rate": laws.cdf}
    return {f"rate[{i}]": lambda rate, i=i: laws.cdf(rate)[i] for i in range(x.shape[1])}


def beta_bernoulli(measure, x):
    a, b = measure.a + x.sum(axis=0), measure.b + len(x) - x.sum(axis=0)
    return {f"probability[{i}]": st.beta(a[i], b[i]).cdf for i in range(x.shape[1])}


def dirichlet_multinomial(measure, x):
    counts = np.bincount(x, minlength=3) + 0.5
    return {f"p({v})": st.beta(counts[v], counts.sum() - counts[v]).cdf for v in range(3)}


FEW = np.array([[0.3, -1.1], [0.1, 0.4], [-1.2, 0.2], [2.0, 1.5]])
COUNTS = np.array([[3, 0], [1, 1], [4, 0]])
CASES = {
    "normal-gamma": (hk.NormalGamma(0.2, 0.5, 1.5, 0.8), FEW[:, 0], normal_gamma),
    "normal-gamma, one value": (hk.NormalGamma(0.2, 0.5, 1.5, 0.8), FEW[:1, 0], normal_gamma),
    "normal-gamma, vectors": (hk.NormalGamma(0.2, 0.5, 1.5, 0.8), FEW, normal_gamma),
    "normal-inverse-Wishart": (
        hk.NormalInverseWishart([0.2, -0.4], 0.7, 3.5, [[1.2, 0.4], [0.4, 0.9]]), FEW, normal_inverse_wishart,
    ),
    "gamma-Poisson": (hk.GammaPoisson(1.5, 0.8), COUNTS[:, 0], gamma_poisson),
    "gamma-Poisson, vectors": (hk.GammaPoisson(1.5, 0.8), COUNTS, gamma_poisson),
    "beta-Bernoulli": (hk.BetaBernoulli(0.7, 1.2), (COUNTS > 0).astype(int), beta_bernoulli),
    "Dirichlet-multinomial": (hk.DirichletMultinomial(0.5), np.array([0, 0, 2, 0]), dirichlet_multinomial),
}  # fmt: skip


def in_one_dish(measure, x, states=False, **options):
    """A model of these values in one dish, a mixture or states of a sequence, and the trace of a run."""
    root = hk.Restaurant(measure, concentration=1.0)
    if states:
        terms = {} if measure.takes_terms is False else {"n_terms": 3}
        rows = hk.Restaurant(root, concentration=1.0, each=hk.PreviousDish())
        franchise = hk.Franchise(
            rows, hk.Sequences.from_arrays([x], **terms), store="counts", root=hk.FixedWeights(1)
        )
    else:
        franchise = hk.Franchise(hk.Restaurant(measure, concentration=1e-12), hk.Groups.from_labels(x))
    schedule = [moves.ForwardBackward() if states else moves.TableGibbs()]
    samples = hk.Samples(after=0, every=1)
    trace = hk.Scheduler(schedule).run(
        franchise, SWEEPS, rng=1, init=hk.init.Random(1), samples=samples, **options
    )
    return franchise, trace


# Mixtures of terms have intervals of topics: test_interval_laws.py.
KINDS = [
    (name, states)
    for name, case in CASES.items()
    for states in (False, True)
    if states or not case[0].takes_terms
]


@pytest.mark.parametrize(("name", "states"), KINDS)
def test_ends_are_quantiles_of_the_posterior(name, states):
    measure, x, laws = CASES[name]
    franchise, trace = in_one_dish(measure, x, states)
    samples = list(trace.samples)
    assert len(samples) >= SWEEPS - 1
    assert all(one.n_dishes == 1 for one in samples)
    aligned = components(samples, level=LEVEL)
    named = aligned.named_parameters(franchise.measure)
    expected = laws(measure, x)
    assert set(named) == set(expected)
    error = np.sqrt((1 - LEVEL) / 2 * (1 + LEVEL) / 2 / (DRAWS - 20))
    for key, (point, lower, upper) in ((key, values[0]) for key, values in named.items()):
        assert lower < point < upper
        found = [float(expected[key](end)) for end in (lower, upper)]
        np.testing.assert_allclose(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], atol=5 * error, err_msg=key)
    if not measure.takes_terms:
        own = franchise.named_parameters()
        for key, values in named.items():
            assert values[0, 0] == pytest.approx(own[key][0], rel=1e-9)  # the point is the posterior mean
        means, lower, upper = aligned.rows, aligned.rows_lower, aligned.rows_upper
        assert (lower <= means).all()
        assert (means <= upper).all()
        first = next(iter(named.values()))[0]
        ends = [one.ravel()[0] for one in (means, lower, upper)]
        assert ends == pytest.approx(first)


def test_merged_components_have_draws():
    x = np.array([0.0, 0.2, 9.0, 9.1])
    franchise = hk.Franchise(
        hk.Restaurant(hk.NormalGamma(0.0, 0.1, 2.0, 0.1), concentration=1.0), hk.Groups.from_labels(x)
    )
    hk.Scheduler([moves.TableGibbs()]).run(franchise, 20, rng=0)
    sample = franchise.sample()
    assert sample.n_dishes == 2
    merged = merged_sample(sample, np.zeros(2, dtype=np.int64))
    drawn = merged.parameters["drawn"]
    assert drawn.shape == (1, 20, 2)
    np.testing.assert_allclose(drawn[0], sample.parameters["drawn"].mean(axis=0))
