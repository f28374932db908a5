"""The package's elementary functions, compared with those of the library."""

import math

import numpy as np
import pytest
from scipy.special import gammaln, poch

from hdpkit import numerics

POSITIVE = np.concatenate([np.geomspace(1e-300, 1e300, 2001), np.linspace(0.5, 20, 1999)])


def test_log():
    ours = np.array([numerics.log(x) for x in POSITIVE])
    assert np.all(
        np.abs(ours - np.log(POSITIVE)) <= 4e-16 * np.maximum(np.abs(np.log(POSITIVE)), 1e-300) + 3e-17
    )
    assert numerics.log(0.0) == -math.inf
    assert numerics.log(1.0) == 0.0
    assert math.isnan(numerics.log(-1.0))


def test_log1p():
    x = np.concatenate([np.geomspace(1e-300, 1e300, 2001), -np.geomspace(1e-300, 0.999, 1001)])
    ours = np.array([numerics.log1p(y) for y in x])
    assert np.all(np.abs(ours - np.log1p(x)) <= 6e-16 * np.abs(np.log1p(x)))
    assert numerics.log1p(0.0) == 0.0


def test_exp():
    x = np.linspace(-700, 700, 4001)
    ours = np.array([numerics.exp(y) for y in x])
    assert np.all(np.abs(ours / np.exp(x) - 1.0) <= 5e-16)
    assert numerics.exp(0.0) == 1.0
    assert numerics.exp(-800.0) == 0.0
    assert numerics.exp(800.0) == math.inf
    assert math.isnan(numerics.exp(math.nan))


def test_lgamma():
    x = np.concatenate([np.geomspace(1e-100, 1e15, 2001), np.linspace(0.1, 30, 1001)])
    ours = np.array([numerics.lgamma(y) for y in x])
    # Near its zeros at 1 and 2 the error is absolute.
    assert np.all(np.abs(ours - gammaln(x)) <= 1e-15 * np.abs(gammaln(x)) + 6e-15)


@pytest.mark.parametrize("a", [1e-8, 0.3, 1.0, 17.5, 1e6])
@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 40])
def test_rising_factorials(a, n):
    assert numerics.rising(a, 1.0, n) == pytest.approx(math.log(poch(a, n)), rel=1e-13, abs=1e-12)
    for step in (0.0, 1e-9, 0.3):
        expected = math.fsum(math.log(a + i * step) for i in range(n))
        assert numerics.rising(a, step, n) == pytest.approx(expected, rel=1e-13, abs=1e-12)


@pytest.mark.parametrize("a", [1e-100, 1e-8, 0.3, 1.0, 9.5, 17.5, 1e3, 1e6, 1e11])
@pytest.mark.parametrize("n", [0, 1, 2, 40, 300, 100_000])
def test_ratios_of_gamma_functions(a, n):
    # One logarithm a factor, summed without error: no cancellation, whatever the size of the log-gammas.
    expected = math.fsum(np.log(a + np.arange(n)))
    assert numerics.gamma_ratio(a, float(n)) == pytest.approx(expected, rel=1e-14, abs=1e-14)
    assert numerics.rising(a, 1.0, n) == pytest.approx(expected, rel=1e-14, abs=1e-13)


def test_ratios_of_gamma_functions_half_a_step_on():
    # G(a + 1/2) G(a + 1) = sqrt(pi) 2**(-2 a) G(2 a + 1) (Legendre): two half steps make one.
    for a in np.geomspace(1e-8, 1e12, 201).tolist():
        two = numerics.gamma_ratio(a, 0.5) + numerics.gamma_ratio(a + 0.5, 0.5)
        assert two == pytest.approx(math.log(a), rel=1e-14, abs=1e-14)
    assert numerics.gamma_ratio(2.0, 1e30) == pytest.approx(numerics.lgamma(2.0 + 1e30), rel=1e-14)


@pytest.mark.parametrize("step", [0.0, 1e-12, 0.3, 0.999, 1.0])
def test_sums_of_rising_factorials(step):
    a = np.repeat([1e-8, 0.3, 1.0, 17.5, 1e6], 4)
    n = np.tile(np.array([0, 1, 257, 20_000]), 5)
    for row in range(len(n)):
        expected = 3.0 * math.fsum(np.log(a[row] + step * np.arange(n[row])))
        own = (a[row : row + 1], np.array([step]), n[row : row + 1], np.array([3]))
        assert numerics.rising_sum(*own) == pytest.approx(expected, rel=1e-13, abs=1e-10)
    counts = np.arange(len(n))
    each = [numerics.rising(a[row], step, n[row]) * counts[row] for row in range(len(n))]
    for steps in (np.full(len(n), step), np.array([step])):
        assert numerics.rising_sum(a, steps, n, counts) == pytest.approx(math.fsum(each), rel=1e-12)
    for columns in ((a, np.ones(3), n, counts), (a[:3], a, n, counts), (a, a, n, counts[:1])):
        with pytest.raises(ValueError, match="columns"):
            numerics.rising_sum(*columns)
