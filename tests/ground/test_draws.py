"""The package's random draws: their laws, the same bits everywhere, sources of each kind, bad input."""

import hashlib
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from choice_sources import GivenWords
from hdpkit.random.sources import beyond_cubes
from one_sample import one_sample_p
from scipy import special, stats

from hdpkit.random import RandomStream, ScriptedSource
from hdpkit.testing.pvalues import SampledTests

N = 20_000


def uniformity(values):
    """P-value of the hypothesis that numbers are uniform between 0 and 1."""
    return float(stats.kstest(values, "uniform").pvalue)


def gamma_law(shape):
    def run(times, seed):
        logs = RandomStream((seed, 1)).log_gamma(shape, N * times)
        if shape < 1e-8:  # G(shape) is nearly U**(1 / shape)
            return [uniformity(np.exp(shape * logs))]
        if shape < 0.1:  # where gammas underflow, the law is that of the leading term of its series
            leading = np.exp(shape * logs - special.gammaln(1.0 + shape))
            return [uniformity(np.where(logs < -50, leading, special.gammainc(shape, np.exp(logs))))]
        if shape > 1e9:  # the cube root is normal but for terms of order 1 / shape (Wilson and Hilferty)
            roots = np.expm1((logs - math.log(shape)) / 3.0) + 1.0 / (9.0 * shape)
            return [uniformity(special.ndtr(roots * (3.0 * math.sqrt(shape))))]
        return [uniformity(special.gammainc(shape, np.exp(logs)))]

    return run


def beta_law(a, b):
    def run(times, seed):
        logs, rests = RandomStream((seed, 2)).log_beta(a, b, N * times)
        assert np.all((logs <= 0) & (rests <= 0))
        assert np.allclose(np.exp(logs) + np.exp(rests), 1.0, rtol=0, atol=4e-16)
        if max(a, b) < 1e-6:  # at 0 or at 1; the distance to it, to the power of its shape, is uniform
            low = logs < rests
            count = int(low.sum())
            near = np.exp(np.where(low, a * logs, b * rests))
            return [
                one_sample_p(np.array([count, len(low) - count]), np.array([b, a]) / (a + b)),
                uniformity(near),
            ]
        # Each tail from the logarithm that holds its digits.
        lower, upper = special.betainc(a, b, np.exp(logs)), special.betainc(b, a, np.exp(rests))
        return [uniformity(np.where(logs < rests, lower, 1.0 - upper))]

    return run


def binomial_law(n, p):
    def run(times, seed):
        counts = RandomStream((seed, 3)).binomial(n, p, N * times)
        assert counts.min() >= 0
        assert counts.max() <= n
        law = stats.binom(n, p)
        if n <= 200:
            return [one_sample_p(np.bincount(counts, minlength=n + 1), law.pmf(np.arange(n + 1)))]
        # A count spread evenly over its share of probability is uniform.
        below, here = law.cdf(counts - 1), law.pmf(counts)
        return [uniformity(np.clip(below + here * np.random.default_rng(seed).random(len(counts)), 0, 1))]

    return run


def dirichlet_law(shapes):
    def run(times, seed):
        stream = RandomStream((seed, 4))
        drawn = np.array([stream.dirichlet(shapes) for _ in range(N * times // 4)])
        assert np.allclose(drawn.sum(axis=1), 1.0, rtol=0, atol=1e-14)
        total = sum(shapes)
        sticks = drawn[:, 0] / (1.0 - drawn[:, -1])  # independent of the last
        first = special.betainc(shapes[0], total - shapes[0] - shapes[-1], sticks)
        last = special.betainc(shapes[-1], total - shapes[-1], drawn[:, -1])
        cells = np.histogram2d(first, last, bins=4, range=[[0, 1], [0, 1]])[0].astype(int).ravel()
        return [uniformity(first), uniformity(last), one_sample_p(cells, np.full(16, 1 / 16))]

    return run


def plain_law(name, distribution):
    def run(times, seed):
        drawn = getattr(RandomStream((seed, 5)), name)(10 * N * times)
        pairs = distribution(drawn.reshape(-1, 2)) * 8
        cells = np.histogram2d(*pairs.T, bins=8, range=[[0, 8], [0, 8]])[0].astype(int).ravel()
        return [uniformity(distribution(drawn)), one_sample_p(cells, np.full(64, 1 / 64))]

    return run


LAWS = {
    "uniform": (2, plain_law("uniform", lambda u: u)),
    "normal": (2, plain_law("normal", special.ndtr)),
    "dirichlet": (3, dirichlet_law([0.3, 1.0, 2.5, 7.0])),
}
SHAPES = (1e-300, 1e-12, 1e-3, 0.05, 0.3, 0.999, 1.0, 1.5, 7.0, 300.0, 1e6, 1e12)
LAWS |= {f"gamma {shape:g}": (1, gamma_law(shape)) for shape in SHAPES}
PAIRS = [
    (1e-300, 3e-300),
    (1e-9, 1e-9),
    (0.01, 0.3),
    (0.5, 0.5),
    (1.0, 1.0),
    (1.0, 40.0),
    (3.0, 2.0),
    (2e5, 1e3),
]
LAWS |= {f"beta {a:g} {b:g}": (2 if max(a, b) < 1e-6 else 1, beta_law(a, b)) for a, b in PAIRS}
MOST = 2**31 - 1
TRIALS = [(1, 0.3), (7, 0.5), (21, 0.5), (30, 0.34), (100, 0.05), (100, 0.99), (200, 0.4), (5000, 0.3)]
TRIALS += [
    (100_000, 0.5),
    (MOST, 1e-12),
    (MOST, 1e-9),
    (MOST, 1e-6),
    (MOST, 0.5),
    (MOST, 0.9),
    (MOST, 1 - 1e-12),
]
LAWS |= {f"binomial {n} {p!r}": (1, binomial_law(n, p)) for n, p in TRIALS}
FAMILY = SampledTests()
for law, (p_values, _) in LAWS.items():
    FAMILY.register(law, p_values)


@pytest.mark.parametrize("law", LAWS)
def test_laws(law):
    FAMILY.check(law, LAWS[law][1])


def test_the_probability_to_accept_a_gamma_draw():
    with localcontext() as context:
        context.prec = 60
        for t in [
            *np.linspace(-0.99, 3.0, 400).tolist(),
            *np.geomspace(1e-60, 0.1, 50),
            *-np.geomspace(1e-60, 0.1, 50),
        ]:
            x = Decimal(t)
            small = sum((-1) ** (k + 1) * x**k / k for k in range(4, 40)) if abs(t) < 0.02 else None
            exact = float(small if small is not None else (1 + x).ln() - x + x * x / 2 - x**3 / 3)
            assert beyond_cubes(t) == pytest.approx(exact, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("shape", [1e-300, 1e-9, 0.5, 1e9, 1e300, 1.7976931348623157e308])
def test_nothing_overflows(shape):
    stream = RandomStream((3, 3))
    assert np.isfinite(stream.log_gamma(shape, 1000)).all()
    for other in (1e-300, 1.0, 1e300, 1.7976931348623157e308):
        for logs in stream.log_beta(shape, other, 300):
            assert np.isfinite(logs).all()
        assert np.isfinite(stream.log_dirichlet([shape, other, shape])).all()
    assert np.all(stream.gamma(1e-5, 100) >= 0.0)


@pytest.mark.parametrize(
    ("word", "drawn"), [(0, 2.0**-53), (1 << 63, 0.5 + 2.0**-53), (2**64 - 1, 1.0 - 2.0**-53)]
)
def test_a_uniform_is_neither_0_nor_1(word, drawn):
    stream = GivenWords()
    stream.give(word)
    assert stream.uniform() == drawn


DRAWN = {
    "uniform": lambda s: s.uniform(1000),
    "normal": lambda s: s.normal(1000),
    "log_gamma": lambda s: s.log_gamma(np.repeat([1e-300, 1e-3, 0.5, 1.0, 2.5, 40.0, 1e12], 300)),
    "gamma": lambda s: s.gamma(np.repeat([1e-3, 0.5, 2.5, 40.0], 300)),
    "log_beta": lambda s: np.concatenate(s.log_beta(np.repeat([1e-9, 0.3, 5.0, 1e6], 300), 2.0)),
    "beta": lambda s: s.beta(2.0, np.repeat([0.3, 5.0, 1e6], 300)),
    "log_dirichlet": lambda s: s.log_dirichlet(np.ldexp(1.0, np.arange(1000) * 60 // 999 - 30)),
    "binomial": lambda s: s.binomial(np.repeat([1, 30, 1000, MOST], 300), 0.3),
}
DIGESTS = {
    "uniform": "ddfb72f340b77a5d",
    "normal": "8c067ac8ca12d559",
    "log_gamma": "7e6775455fed6a20",
    "gamma": "deb4f5bff736bcd8",
    "log_beta": "6bf22dc4edbdf7e6",
    "beta": "ebd7711160077ae0",
    "log_dirichlet": "3f1395774a02db63",
    "binomial": "c5b7b55d22b97c46",
}


@pytest.mark.parametrize("name", DRAWN)
def test_the_bits_are_those_of_every_machine(name):
    drawn = np.ascontiguousarray(DRAWN[name](RandomStream((12, 34), (5, 6, 7))))
    found = hashlib.sha256(drawn.astype(drawn.dtype.newbyteorder("<")).tobytes()).hexdigest()[:16]
    assert found == DIGESTS[name]


def test_a_script_hands_over_values_and_records_their_density():
    source = ScriptedSource(continuous=[0.25, -1.5, 2.5, 0.3, 0.2, 0.3, 0.5])
    assert source.uniform() == 0.25
    assert source.log_density == 0.0
    assert source.normal() == -1.5
    expected = stats.norm.logpdf(-1.5)
    assert source.log_density == pytest.approx(expected, abs=1e-14)
    assert source.gamma(0.7) == pytest.approx(2.5, rel=1e-15)
    expected += stats.gamma(0.7).logpdf(2.5)
    assert source.log_density == pytest.approx(expected, abs=1e-13)
    log_x, log_rest = source.log_beta(2.0, 0.4)
    assert (log_x, log_rest) == pytest.approx((math.log(0.3), math.log(0.7)), abs=1e-15)
    expected += stats.beta(2.0, 0.4).logpdf(0.3)
    assert source.log_density == pytest.approx(expected, abs=1e-13)
    assert source.dirichlet([0.5, 1.0, 4.0]) == pytest.approx([0.2, 0.3, 0.5], abs=1e-15)
    expected += stats.dirichlet([0.5, 1.0, 4.0]).logpdf([0.2, 0.3, 0.5])
    assert source.log_density == pytest.approx(expected, abs=1e-13)
    assert source.values == (0.25, -1.5, 2.5, 0.3, 0.2, 0.3, 0.5)
    assert source.path == ()
    assert source.probability == 1.0
    source.rewind()
    assert (source.log_density, source.values) == (0.0, ())


@pytest.mark.parametrize(
    ("n", "p"), [(0, 0.3), (1, 0.5), (6, 0.3), (6, 0.0), (6, 1.0), (40, 1e-9), (40, 0.999)]
)
def test_a_binomial_is_a_choice_of_branches(n, p):
    source, law = ScriptedSource(), {}
    while True:
        count = source.binomial(n, p)
        law[count] = source.probability
        if not source.advance():
            break
    pmf = stats.binom(n, p).pmf(np.arange(n + 1))
    assert [law.get(k, 0.0) for k in range(n + 1)] == pytest.approx(pmf, rel=1e-11, abs=1e-300)
    assert sum(law.values()) == pytest.approx(1.0, abs=1e-14)
