"""Expected numbers of tables: every formula, over the whole domain, against 50 digits and more."""

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma

import hdpkit as hk
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


@pytest.mark.parametrize("method", ["exact", "sum", "antoniak", "corrected"])
@given(CUSTOMERS, MASSES)
def test_formulas_anywhere(method, n, mass):
    n = min(n, 20_000) if method == "sum" else n
    assert relative_error(method, n, mass, "exact" if method == "sum" else method) < 1e-14


@given(CUSTOMERS, MASSES)
def test_digamma_loses_no_more_than_a_difference_must(n, mass):
    """Two psi that are right to their last place, and their difference times the mass."""
    lost = 4 * EPSILON * mass * (1 + abs(digamma(mass)) + abs(digamma(mass + n)))
    wanted = precise("exact", n, mass)
    assert abs(hk.expected_tables(n, mass, "digamma") - wanted) <= lost + 4 * EPSILON * wanted


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
