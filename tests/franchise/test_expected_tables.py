"""Expected numbers of tables: every formula, over the whole domain, against 50 digits and more."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma

import hdpkit as hk
from hdpkit.errors import ParameterError
from hdpkit.priors import _SHIFT
from hdpkit.testing.enumeration import Shape, log_prior, n_tables, seatings

# a (psi(a + n) - psi(a)) loses up to 25 digits where a = 1e12 and n = 1: 50 are left.
DIGITS = 80
EPSILON = 2.0**-52
LARGEST = 10**12

FEW = st.integers(1, 4 * _SHIFT)
MANY = st.floats(0.0, 12.0).map(lambda exponent: min(LARGEST, round(10.0**exponent)))
CUSTOMERS = FEW | MANY
MASSES = st.floats(-12.0, 12.0).map(lambda exponent: 10.0**exponent)


def precise(method, n, mass, digits=DIGITS):
    """A formula in arithmetic of so many digits that nothing of it is lost."""
    with mpmath.workdps(digits):
        a = mpmath.mpf(mass)
        if method == "exact":
            return +(a * (mpmath.digamma(a + n) - mpmath.digamma(a)))
        trailing = n / (2 * (a + n)) if method == "corrected" else 0
        return +(a * mpmath.log((n + a) / a) + trailing)


def relative_error(method, n, mass, formula="exact"):
    wanted = precise(formula, n, mass)
    with mpmath.workdps(DIGITS):
        return float(abs(mpmath.mpf(hk.expected_tables(n, mass, method)) / wanted - 1))


@pytest.mark.parametrize("tenths", range(-120, 121, 5))
def test_exact_over_a_grid(tenths):
    """1e-12 is asked for; the largest error here is 6e-16."""
    mass = 10.0 ** (tenths / 10)
    powers = {round(10.0 ** (tenth / 10)) for tenth in range(0, 121, 4)}
    for n in sorted(powers | set(range(1, 2 * _SHIFT + 2)) | {2**k + i for k in (20, 39) for i in (-1, 1)}):
        assert relative_error("exact", n, mass) < 1e-14, n


@given(CUSTOMERS, MASSES)
def test_exact_anywhere(n, mass):
    assert relative_error("exact", n, mass) < 1e-14


@given(st.integers(1, 40), st.fractions(Fraction(1, 10**6), 10**6, max_denominator=10**6))
def test_exact_is_the_sum_in_fractions(n, mass):
    mass = Fraction(float(mass))
    wanted = sum((mass / (mass + i) for i in range(n)), Fraction(0))
    assert abs(Fraction(hk.expected_tables(n, float(mass))) / wanted - 1) < 1e-14


@given(st.integers(1, 20_000), MASSES)
def test_sum(n, mass):
    assert relative_error("sum", n, mass) < 1e-14


def test_sum_of_ten_million():
    assert relative_error("sum", 10_000_000, 0.3) < 1e-13
    with pytest.raises(ParameterError, match=r"n = 10000001: must be at most 10,000,000.*method='exact'"):
        hk.expected_tables(10_000_001, 0.3, "sum")


@given(CUSTOMERS, MASSES)
def test_antoniak(n, mass):
    assert relative_error("antoniak", n, mass, "antoniak") < 1e-14


@given(CUSTOMERS, MASSES)
def test_corrected(n, mass):
    assert relative_error("corrected", n, mass, "corrected") < 1e-14


@given(CUSTOMERS, MASSES)
def test_digamma_loses_no_more_than_a_difference_must(n, mass):
    """Two psi that are right to their last place, and their difference times the mass."""
    lost = 4 * EPSILON * mass * (1 + abs(digamma(mass)) + abs(digamma(mass + n)))
    wanted = precise("exact", n, mass)
    assert abs(hk.expected_tables(n, mass, "digamma") - wanted) <= lost + 4 * EPSILON * wanted


def test_digamma_cancels_where_the_mass_is_large():
    assert hk.expected_tables(5, 1e12, "digamma") == pytest.approx(5.0022, abs=5e-5)
    assert hk.expected_tables(5, 1e12) == pytest.approx(5.0, abs=1e-10)
    assert relative_error("digamma", 5, 1.0) < 1e-15


def test_antoniak_fails_where_the_mass_is_small():
    """The paper's case: one customer, mass 1, and log 2 where one table is certain."""
    assert hk.expected_tables(1, 1.0) == 1.0
    assert hk.expected_tables(1, 1.0, "antoniak") == pytest.approx(np.log(2.0))
    assert hk.expected_tables(1000, 1e-9, "antoniak") < 1e-7
    assert hk.expected_tables(1000, 1e-9, "corrected") == pytest.approx(0.5)


@given(CUSTOMERS)
def test_limits(n):
    assert hk.expected_tables(n, 1e-300) == 1.0
    assert hk.expected_tables(n, 1e300) == pytest.approx(n, rel=4 * EPSILON)


@pytest.mark.parametrize("method", ["exact", "antoniak", "corrected"])
@pytest.mark.parametrize("mass", [5e-324, 1e-308, 1.0, 1e308, 1.7e308])
@pytest.mark.parametrize("n", [1, 10**12, 2**60, 1.7e308])
def test_the_ends_of_what_a_double_holds(method, n, mass):
    expected = hk.expected_tables(n, mass, method)
    wanted = float(precise(method, mpmath.mpf(n), mass, digits=700))
    assert expected == pytest.approx(wanted, rel=1e-14, abs=1e-321)  # below 1e-308 a double has fewer digits


@pytest.mark.parametrize("concentration", [0.05, 1.0, 30.0])
def test_the_mean_over_all_seatings_of_a_restaurant(concentration):
    shape = Shape(parent=(-1,), home=(0,) * 7)
    mean = sum(
        n_tables(key, shape) * math.exp(log_prior(key, shape, [concentration], [0.0]))
        for key in seatings(shape)
    )
    assert hk.expected_tables(7, concentration) == pytest.approx(mean, rel=1e-12)
