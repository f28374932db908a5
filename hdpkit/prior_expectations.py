"""Expectations under the prior: `expected_tables`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats
from hdpkit.checks import choice, number_array
from hdpkit.errors import ParameterError

__all__ = ["expected_tables"]

Method = Literal["exact", "sum", "digamma", "antoniak", "corrected"]

# Number of terms that "exact" adds one by one; the rest uses the asymptotic series of psi.
_SHIFT = 16
# B_2k / 2k for k = 1..5, B the Bernoulli numbers. The next term is 691/32760 / 16^12 < 1e-16.
_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132)

_MOST_SUMMED = 10_000_000
_CHUNK = 1_000_000


@overload
def expected_tables(n: float, mass: float, method: Method = "exact") -> float: ...
@overload
def expected_tables(n: npt.ArrayLike, mass: npt.ArrayLike, method: Method = "exact") -> float | Floats: ...
def expected_tables(n: npt.ArrayLike, mass: npt.ArrayLike, method: Method = "exact") -> float | Floats:
    """Expected number of tables of a dish in a Dirichlet process whose base distribution is fixed.

    ``E = a (1/a + 1/(a+1) + ... + 1/(a+n-1))`` (Antoniak 1974; Blunsom et al. 2009, section 3), where the
    mass ``a`` of a dish is concentration times base probability. If that probability is inferred, as in every
    restaurant of a franchise except the root, no method gives the expected tables of a dish. With the
    concentration as mass the result is the prior expectation of the total number of tables of a restaurant,
    for any base distribution.

    Parameters
    ----------
    n : int or array_like of int
        Customers who have the dish: whole numbers from 0, also as floats.
    mass : float or array_like of float
        The mass a, finite and above 0. `n` and `mass` are broadcast against each other.
    method : {"exact", "sum", "digamma", "antoniak", "corrected"}
        - "exact": relative error below 1e-14 for every n and mass, in constant time;
        - "sum": the sum, term by term; n up to 10,000,000;
        - "digamma": ``a (psi(a + n) - psi(a))``, computed directly; for large a the two are nearly equal, and
          about ``1e-16 a log(a) / n`` of the result is lost;
        - "antoniak": ``a log((n + a) / a)``, too small by about ``n / (2 (a + n))``: as a tends to 0 it tends
          to 0, while the expectation tends to 1;
        - "corrected": "antoniak" plus that term.

    Returns
    -------
    float or ndarray of float64
        Expected numbers of tables, 0 where `n` is 0; a float if both arguments are single numbers.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the shapes don't fit.
    """
    formula = _METHODS[choice("method", method, _METHODS, remedy="The default is 'exact'.")]
    customers, masses = _whole_numbers(n), _positive_numbers(mass)
    if method == "sum":
        allowed = f"at most {_MOST_SUMMED:,}, where terms are summed"
        _refuse_first("n", n, customers, customers > _MOST_SUMMED, allowed, "Use method='exact'.")
    try:
        customers, masses = np.broadcast_arrays(customers, masses)
    except ValueError:
        raise ParameterError(
            "shapes of n and mass",
            (customers.shape, masses.shape),
            "shapes that broadcast",
            "Give one of them another axis, as in n[:, None].",
        ) from None
    with np.errstate(all="ignore"):  # for 0 customers, and masses at the ends of the range of doubles
        expected = np.where(customers > 0, formula(customers, masses), 0.0)
    return float(expected) if expected.ndim == 0 else expected


def _exact(n: Floats, a: Floats) -> Floats:
    """The first terms one by one, the rest as a difference of psi without cancellation of large numbers.

    psi(x) ~ log x - 1/(2x) - sum_k B_2k / (2k x^2k), so that with c = b + more
    psi(c) - psi(b) ~ log1p(more/b) + more/(2bc) + sum_k B_2k / 2k (b^-2k - c^-2k): if the difference is
    small, all terms are small, and the leading ones are positive.
    """
    b = a + _SHIFT
    more = np.maximum(n - _SHIFT, 0.0)
    log_ratio = _log1p_ratio(more, b)
    rest = log_ratio + more / (b + more) / (2.0 * b)
    for k, coefficient in enumerate(_SERIES, 1):
        rest -= coefficient * b ** (-2.0 * k) * np.expm1(-2.0 * k * log_ratio)
    expected = a * rest
    for i in reversed(range(_SHIFT)):  # small ones first
        expected += np.where(i < n, a / (a + i), 0.0)
    return expected


def _sum(n: Floats, a: Floats) -> Floats:
    return np.array([_summed(int(m), mass) for m, mass in zip(n.flat, a.flat, strict=True)]).reshape(n.shape)


def _summed(n: int, a: float) -> float:
    return math.fsum(
        float(np.sum(a / (a + np.arange(first, min(first + _CHUNK, n))))) for first in range(0, n, _CHUNK)
    )


def _digamma(n: Floats, a: Floats) -> Floats:
    return a * (scipy.special.digamma(a + n) - scipy.special.digamma(a))


def _antoniak(n: Floats, a: Floats) -> Floats:
    return a * _log1p_ratio(n, a)


def _corrected(n: Floats, a: Floats) -> Floats:
    return _antoniak(n, a) + n / (a + n) / 2.0


_METHODS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "exact": _exact,
    "sum": _sum,
    "digamma": _digamma,
    "antoniak": _antoniak,
    "corrected": _corrected,
}


def _log1p_ratio(x: Floats, y: Floats) -> Floats:
    """log((x + y) / y), also if the quotient overflows."""
    ratio = x / y
    return np.where(np.isfinite(ratio), np.log1p(ratio), np.log(x) - np.log(y))


def _whole_numbers(n: Any) -> Floats:
    allowed, remedy = "whole numbers >= 0", "Give numbers of customers."
    numbers = _numbers("n", n, allowed, remedy)
    whole = np.isfinite(numbers) & (numbers >= 0.0) & (np.floor(numbers) == numbers)
    _refuse_first("n", n, numbers, ~whole, allowed, remedy)
    return numbers


def _positive_numbers(mass: Any) -> Floats:
    allowed, remedy = "finite numbers above 0", "A mass is a concentration times a base probability."
    numbers = _numbers("mass", mass, allowed, remedy)
    _refuse_first("mass", mass, numbers, ~(np.isfinite(numbers) & (numbers > 0.0)), allowed, remedy)
    return numbers


def _numbers(name: str, given: Any, allowed: str, remedy: str) -> Floats:
    numbers = number_array(given)
    if numbers is None:
        raise ParameterError(name, given, allowed, remedy)
    return numbers


def _refuse_first(
    name: str, given: Any, numbers: Floats, wrong: npt.NDArray[np.bool_], allowed: str, remedy: str
) -> None:
    """Raise an error for the first invalid number, with its index in an array."""
    if numbers.ndim == 0 and wrong:
        raise ParameterError(name, given, allowed, remedy)
    for place in np.argwhere(wrong)[:1].tolist():
        raise ParameterError(f"{name}{place}", float(numbers[tuple(place)]), allowed, remedy)
