"""Checks of values returned by user code: a measure, a move, a prior, a component, a store.

Each value is checked once, where it enters the package. The error names the class and the method. The cost
of a check of a shape doesn't depend on the size; a check of numbers reads them once.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import ReturnValueError

__all__ = ["log_densities", "log_density", "one_of_kind", "real_values", "refuse"]

_ATTRIBUTES = ("mean", "support", "parameters", "name")
_REMEDY = "Correct the method; hdpkit.testing.check_base_measure says more."


def refuse(owner: Any, method: str, value: Any, allowed: str, remedy: str = _REMEDY) -> ReturnValueError:
    """Return the error for a value that this method of a user's object (or class) returned."""
    kind = owner if isinstance(owner, (type, str)) else type(owner)
    name = kind if isinstance(kind, str) else kind.__name__
    shape = np.shape(value) if isinstance(value, np.ndarray) else None
    what = f"{allowed}, not of shape {shape} and type {value.dtype}" if shape is not None else allowed
    call = "" if method in _ATTRIBUTES else "()"
    return ReturnValueError(f"{name}.{method}{call}", value, what, remedy)


def log_densities(owner: Any, method: str, value: Any, n: int) -> npt.NDArray[np.float64]:
    """Return n logarithms as a float64 array: numbers or -inf, shape (n,)."""
    plain = type(value) is np.ndarray and value.dtype == np.float64
    logs: npt.NDArray[np.float64] | None = value if plain else _as_array(value)
    if logs is None:
        raise refuse(owner, method, value, f"logarithms, shape ({n},): an array or a list of numbers")
    if logs.shape != (n,):
        raise refuse(owner, method, value, f"logarithms, one per dish: shape ({n},)")
    if n and not logs.max() < math.inf:  # NaN too
        raise refuse(
            owner, method, value, f"logarithms, finite or -inf: shape ({n},)",
            "A NaN or an overflow is the usual cause.",
        )  # fmt: skip
    return logs


def log_density(owner: Any, method: str, value: Any) -> float:
    """Return one logarithm as a float: a number or -inf."""
    number = _as_number(value)
    if number is None or not number < math.inf:  # NaN too
        raise refuse(owner, method, value, "a logarithm: one number, finite or -inf")
    return number


def real_values(owner: Any, method: str, value: Any, shape: tuple[int, ...] | None) -> Any:
    """Return finite numbers of this shape (None: of any shape) unchanged."""
    array = _as_array(value)
    if array is None or not np.isfinite(array).all():
        raise refuse(owner, method, value, "finite numbers: one, or an array")
    if shape is not None and array.shape != shape:
        raise refuse(owner, method, value, f"finite numbers, shape {shape}")
    return value


def one_of_kind(owner: Any, method: str, value: Any, kind: type | tuple[type, ...], allowed: str) -> Any:
    """Return the value if it is an instance of a class."""
    if isinstance(value, kind) and not isinstance(value, type):
        return value
    raise refuse(owner, method, value, allowed, "Return one.")


def _as_number(value: Any) -> float | None:
    if type(value) is float:
        return value
    if isinstance(value, np.ndarray):
        if value.size != 1:
            return None
        value = value.item() if value.dtype.kind in "iuf" else None
    if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
        return None
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        return math.nan


def _as_array(value: Any) -> npt.NDArray[np.float64] | None:
    """Real numbers as a float64 array; None for generators, objects, strings, bools, complex numbers."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # ragged, or not convertible to an array
        return None
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        return None
    return np.asarray(array, dtype=np.float64) if array.dtype.kind in "iuf" else None
