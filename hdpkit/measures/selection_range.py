"""The range of parameters of sparse topics: the smoothing, and the prior of the proportion of terms."""

from __future__ import annotations

from typing import Any

from hdpkit.checks import as_float
from hdpkit.errors import ParameterError

SMALLEST, LARGEST = 1e-6, 1e6


def check_smoothing(value: Any) -> float:
    """Return lambda, the Dirichlet parameter of each selected term."""
    return between("smoothing", value, "0.01 to 1 is usual for topics.")


def between(name: str, value: Any, remedy: str) -> float:
    """Return a parameter as a float; a ParameterError unless it is from `SMALLEST` to `LARGEST`."""
    number = as_float(value)
    if SMALLEST <= number <= LARGEST:
        return number
    raise ParameterError(name, value, f"a number from {SMALLEST} to {LARGEST}", remedy)
