"""The number of selected terms of a sparse topic: sums over it, draws of it, the table that keeps them."""

import math
from collections import defaultdict
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
import scipy
from hdpkit.measures._selection import Selection
from hypothesis import given, settings
from hypothesis import strategies as st
from one_sample import one_sample_p

from hdpkit.random import RandomStream, ScriptedSource
from hdpkit.testing.pvalues import SampledTests

TOLERANCE = 1e-12
SMALLEST_DOUBLE = 1e-290  # below, the probability of a further term is next to underflow

# The laws of R: pi integrated out under Beta(r, s), or given by its log odds.
INTEGRATED = [(1.0, 1.0), (1e-3, 1e-3), (1e3, 1e3), (1e-3, 1e3), (1e3, 1e-3), (0.5, 20.0)]
LOG_ODDS = [0.0, -3.0, 3.0, math.log(1e-9), -math.log(1e-9), -690.0, 690.0]


def log_odds_law(log_odds):
    return {
        "log_pi": float(-mpmath.log1p(mpmath.exp(-log_odds))),
        "log_rest": float(-mpmath.log1p(mpmath.exp(log_odds))),
    }


LAWS = [{"r": r, "s": s} for r, s in INTEGRATED] + [log_odds_law(x) for x in LOG_ODDS]


def log_weight(V, smoothing, law, a, n, y):
    """log C(V-a, y) p(a+y) g(a+y; n) with the digits of mpmath."""
    mpf, lg = mpmath.mpf, mpmath.loggamma
    R = a + y
    value = lg(V - a + 1) - lg(y + 1) - lg(V - a - y + 1)
    if "r" in law:
        r, s = mpf(law["r"]), mpf(law["s"])
        value += lg(r + R) + lg(s + V - R) - lg(r + s + V) - lg(r) - lg(s) + lg(r + s)
    else:
        value += R * mpf(law["log_pi"]) + (V - R) * mpf(law["log_rest"])
    return value + (lg(smoothing * R) - lg(smoothing * R + n) if n else 0)


def rough_log_weights(V, smoothing, law, a, n):
    """These for all y = 0 .. V - a, in doubles."""
    y, gammaln, betaln = np.arange(V - a + 1), scipy.special.gammaln, scipy.special.betaln
    R = a + y
    if "r" in law:
        r, s = law["r"], law["s"]
        prior = betaln(r + R, s + V - R) - betaln(r, s)
    else:
        prior = R * law["log_pi"] + (V - R) * law["log_rest"]
    weights = gammaln(V - a + 1) - gammaln(y + 1) - gammaln(V - a - y + 1) + prior
    if n == 0:  # g(R; 0) = 1, also for R = 0
        return weights
    seating = gammaln(np.maximum(smoothing * R, 1e-300)) - gammaln(smoothing * R + n)
    return weights + np.where(R > 0, seating, -np.inf)


def exact(V, smoothing, law, a, n):
    """log Z, c, e, E[R] of a dish by plain sums with 40 digits, over all y that matter to 1e-26."""
    with mpmath.workdps(40):
        rough = rough_log_weights(V, smoothing, law, a, n)
        above = rough + np.log(np.maximum(np.arange(V - a + 1), 1e-9))
        keep = (rough > rough.max() - 60) | (above > above[1:].max(initial=-np.inf) - 60)
        size = mpmath.mpf(smoothing)
        total = inside = outside = more = mpmath.mpf(0)
        for y in np.flatnonzero(keep).tolist():
            weight = mpmath.exp(log_weight(V, size, law, a, n, y))
            total += weight
            more += weight * y
            inside += weight / (size * (a + y) + n)
            outside += weight * y / (size * (a + y) + n)
        outside *= size / max(V - a, 1) / total
        return mpmath.log(total), inside / total, outside, a + more / total


def close(value, expected, tolerance=TOLERANCE):
    return abs(value - expected) <= tolerance * abs(expected)


def check_against_exact(V, smoothing, law, a, n):
    case = (V, smoothing, law, a, n)
    log_sum, inside, outside, mean = exact(V, smoothing, law, a, n)
    selection = Selection(V, smoothing, **law)
    c, e = selection.coefficients(a, n)
    assert close(c, inside), (case, c, inside)
    if outside > SMALLEST_DOUBLE:
        assert close(e, outside), (case, e, outside)
    else:
        assert 0 <= e <= 2 * SMALLEST_DOUBLE, case
    assert abs(selection.log_sum(a, n) - log_sum) <= TOLERANCE * max(1, abs(log_sum)), case
    assert close(selection.expected(a, n), mean), case


def places(V):
    """Pairs (a, n) of a vocabulary of V terms: few and many terms, few and millions of customers."""
    for a in sorted({1, min(V, 2), min(V, 7), V // 2, V - 1, V} - {0}):
        for n in sorted({0, 1, a, 3 * a, 50 * a + 17, 4_000_000}):
            yield a, n


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_sums_of_small_vocabularies(law):
    for V, smoothing in product((2, 3, 12), (1e-3, 0.5, 1e3)):
        for a, n in places(V):
            check_against_exact(V, smoothing, law, a, n)


@pytest.mark.parametrize(
    ("V", "smoothing", "law", "a", "n", "most"),
    [
        (20_000, 0.3, {"r": 1.0, "s": 1.0}, 1000, 9000, 48),
        (20_000, 0.1, {"r": 3.0, "s": 40.0}, 205, 1033, 64),
        (5_000, 0.5, log_odds_law(-2.2), 131, 615, 48),
        (5_000, 0.5, log_odds_law(2.2), 131, 615, 48),
        (2_000, 0.1, {"r": 1.0, "s": 1.0}, 77, 300, 96),
        (100_000, 0.5, {"r": 1.0, "s": 1.0}, 1, 1, 512),
        (100_000, 0.3, {"r": 0.01, "s": 0.01}, 3, 9, 512),
    ],
)
def test_few_nodes_stand_for_all_numbers(V, smoothing, law, a, n, most):
    """One bell away from both ends needs the fewest; the whole range of V at most some hundred."""
    selection = Selection(V, smoothing, **law)
    selection.computed(a, n)
    assert selection.n_nodes <= most
    if most < 100:
        for more in ((0, 0), (3, 5), (11, 40)):
            check_against_exact(V, smoothing, law, a + more[0], n + more[1])


smoothings = st.floats(-3, 3).map(lambda x: 10.0**x)
laws = st.one_of(
    st.fixed_dictionaries({"r": smoothings, "s": smoothings}), st.floats(-21, 21).map(log_odds_law)
)


@settings(max_examples=60)
@given(data=st.data(), V=st.integers(2, 400), smoothing=smoothings, law=laws)
def test_sums_anywhere(data, V, smoothing, law):
    a = data.draw(st.integers(1, V))
    n = int(a * 10 ** data.draw(st.floats(0, 5)))
    check_against_exact(V, smoothing, law, a, n)


@settings(max_examples=200)
@given(data=st.data(), V=st.integers(2, 200_000), smoothing=smoothings, law=laws)
def test_all_terms_together_have_probability_one(data, V, smoothing, law):
    a = min(V, int(10 ** data.draw(st.floats(0, math.log10(V)))))
    n = int(a * 10 ** data.draw(st.floats(0, 5)))
    c, e = Selection(V, smoothing, **law).coefficients(a, n)
    assert (n + smoothing * a) * c + (V - a) * e == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("V", [2, 3, 40, 100_000])
def test_a_new_dish(V, law):
    """f_new is that of the prior: one over V of the probability that any term is selected."""
    selection = Selection(V, 0.5, **law)
    c, e = selection.coefficients(0, 0)
    with mpmath.workdps(40):
        if "r" in law:
            r, s = mpmath.mpf(law["r"]), mpmath.mpf(law["s"])
            none = mpmath.loggamma(s + V) - mpmath.loggamma(s) + mpmath.loggamma(r + s)
            none -= mpmath.loggamma(r + s + V)
        else:
            none = V * mpmath.mpf(law["log_rest"])
        expected = -mpmath.expm1(none) / V
    assert c == 0.0
    assert close(e, expected)
    assert selection.log_sum(0, 0) == 0.0
    assert math.exp(selection.log_ratio(0, 0, 1, 1)) * 0.5 == pytest.approx(e, rel=1e-12)


@settings(max_examples=40)
@given(data=st.data(), V=st.integers(2, 5000), smoothing=smoothings, law=laws)
def test_blocks_are_products_of_their_terms(data, V, smoothing, law):
    """Z(a + 1, n + 1) / Z(a, n) and Z(a, n + 1) / Z(a, n), one after the other, in any order."""
    a = data.draw(st.integers(1, min(V, 50)))
    n = data.draw(st.integers(a, 3000))
    selection = Selection(V, smoothing, **law)
    steps = [(a, n)]
    for new in data.draw(st.lists(st.booleans(), min_size=1, max_size=12)):
        last = steps[-1]
        steps.append((last[0] + (new and last[0] < V), last[1] + 1))
    total = 0.0
    for (a0, n0), (a1, _) in pairwise(steps):
        c, e = selection.coefficients(a0, n0)
        if a1 > a0 and e < SMALLEST_DOUBLE:
            return
        total += math.log(e / smoothing if a1 > a0 else c)
    assert selection.log_ratio(*steps[0], *steps[-1]) == pytest.approx(total, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("smoothing", [1e-6, 1e6])
@pytest.mark.parametrize("shape", [1e-6, 1e6])
def test_no_overflow_at_the_ends_of_the_ranges(smoothing, shape):
    for law in ({"r": shape, "s": 1.0}, {"r": 1.0, "s": shape}, {"log_pi": -1e6, "log_rest": -1e-300}):
        for V, a, n in ((2, 1, 2**40), (100_000, 1, 1), (100_000, 50_000, 10**9), (2**31 - 1, 1000, 10**6)):
            c, e = Selection(V, smoothing, **law).coefficients(a, n)
            assert 0 < c < math.inf
            assert 0 <= e < math.inf
            assert (n + smoothing * a) * c + (V - a) * e == pytest.approx(1.0, rel=1e-10)


def law_of(V, smoothing, law, a, n):
    weights = rough_log_weights(V, smoothing, law, a, n)
    p = np.exp(weights - weights.max())
    return p / p.sum()


TINY = [(2, 0, 0), (3, 0, 0), (3, 1, 4), (5, 2, 9), (12, 3, 3)]


@pytest.mark.parametrize("law", [LAWS[0], LAWS[1], LAWS[7]], ids=str)
def test_draws_of_tiny_vocabularies_enumerated(law):
    for V, a, n in TINY:
        selection = Selection(V, 0.5, **law)
        drawn, source = defaultdict(float), ScriptedSource()
        while True:
            drawn[selection.draw(a, n, source)] += source.probability
            if not source.advance():
                break
        expected = law_of(V, 0.5, law, a, n)
        assert [drawn[y] for y in range(V - a + 1)] == pytest.approx(expected, rel=1e-11, abs=1e-15)


LARGE = {
    "flat": (2000, 0.5, {"r": 1.0, "s": 1.0}, 1, 1),
    "bulk": (9000, 0.5, {"r": 1.0, "s": 1.0}, 300, 2000),
    "given": (5000, 0.2, log_odds_law(-2.0), 90, 700),
    "two ends": (300, 0.5, {"r": 0.01, "s": 0.01}, 0, 0),
    "few": (100_000, 0.5, log_odds_law(-11.0), 4, 9),
}
FAMILY = SampledTests()
for _name in LARGE:
    FAMILY.register(f"draws of {_name}")


@pytest.mark.parametrize("name", LARGE)
def test_draws_of_large_vocabularies(name):
    V, smoothing, law, a, n = LARGE[name]
    selection, expected = Selection(V, smoothing, **law), law_of(V, smoothing, law, a, n)

    def run(times, seed):
        source = RandomStream((seed, 1))
        drawn = [selection.draw(a, n, source) for _ in range(2000 * times)]
        return [one_sample_p(np.bincount(drawn, minlength=len(expected)), expected)]

    FAMILY.check(f"draws of {name}", run)


def walk_of_states(steps, V, seed):
    """(a, n) as customers come and go, and a jump now and then."""
    generator = np.random.default_rng(seed)
    a, n = 1, 1
    for _ in range(steps):
        if generator.random() < 0.01:
            a = int(generator.integers(1, V + 1))
            n = a + int(generator.integers(0, 5000))
        new = generator.random() < 0.2
        if generator.random() < 0.5:
            a, n = min(V, a + new), n + 1
        else:
            a = max(1, a - new)
            n = max(a, n - 1)
        yield a, n


@pytest.mark.parametrize("law", [{"r": 1.0, "s": 1.0}, {"log_pi": -1.7, "log_rest": -0.2}], ids=str)
def test_a_table_changes_no_bit(law):
    kept, small, fresh = (
        Selection(60, 0.5, **law),
        Selection(60, 0.5, limit=1, **law),
        Selection(60, 0.5, **law),
    )
    for a, n in walk_of_states(4000, 60, 1):
        c, e, share = fresh.computed(a, n)
        assert kept.coefficients(a, n) == (c, e) == small.coefficients(a, n)
        assert kept.log_share(a, n) == share == small.log_share(a, n)


def test_memory_of_a_table_is_bounded():
    limit = 200_000
    selection = Selection(1000, 0.5, r=1.0, s=1.0, limit=limit)
    empty = selection.memory_bytes()
    sizes = []
    for a, n in walk_of_states(3000, 1000, 2):
        selection.coefficients(a, n)
        sizes.append(selection.memory_bytes())
    scratch = 50_000
    assert empty < sizes[0]
    assert max(sizes) > limit / 2
    assert max(sizes) <= 1.1 * limit + scratch
