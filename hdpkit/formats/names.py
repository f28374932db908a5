"""Checks of sequences of names (of documents and terms) and of label values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import DataError

__all__ = ["Codes", "as_sequence", "check_names", "hashable", "is_missing", "plain"]

Codes = tuple[npt.NDArray[np.int64], Sequence[Any]]
"""Codes (one per customer, -1 = missing) and keys."""


def is_missing(value: Any) -> bool:
    """Whether a label's value is missing: None, NaN, NaT or pandas.NA. The number -1 is a value."""
    # Every comparison with pandas.NA is NA; it is recognised by the name of its type, without importing
    # pandas.
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        return bool(value != value)  # only NaN and NaT differ from themselves
    except (TypeError, ValueError):
        return False


def as_sequence(parameter: str, values: Any, what: str) -> npt.NDArray[Any] | list[Any]:
    """Return `values` as a list, or as an array if it can be converted to one.

    Raises a DataError for unordered collections (sets, whose order depends on hashes), for mappings and for
    a single string.
    """
    remedy = f"Pass a list or a one-dimensional array of {what}."
    if isinstance(values, np.ma.MaskedArray) and values.ndim == 1:
        mask = np.ma.getmaskarray(values)
        return [None if masked else value for value, masked in zip(values, mask, strict=True)]
    if isinstance(values, str | bytes | Set | Mapping) or not isinstance(values, Iterable):
        raise DataError(parameter, values, f"a list of {what}", remedy)
    sequence = np.asarray(values) if hasattr(values, "__array__") else list(values)
    if isinstance(sequence, np.ndarray) and sequence.ndim != 1:
        raise DataError(parameter, f"array of shape {sequence.shape}", f"a list of {what}", remedy)
    return sequence


def hashable(value: Any) -> bool:
    """Whether a value is hashable."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def plain(value: Any) -> Any:
    """Return the Python object of a NumPy scalar; dates are unchanged, since their unit would be lost."""
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        return value.item()
    return value


def check_names(
    parameter: str, values: Any, n: int | None, unit: str, *, strings: bool = True
) -> tuple[Any, ...]:
    """Check names (of documents, groups or terms) and return them as a tuple.

    Parameters
    ----------
    parameter : str
        Name of the parameter, for errors.
    values : sequence
        Names, all different.
    n : int or None
        Required number of names; None for any number.
    unit : str
        What the names are of, for errors.
    strings : bool
        Whether names must be strings; otherwise any hashable value that isn't missing.

    Raises
    ------
    DataError
        If the number is wrong, a name is given twice, or isn't a name.
    """
    names = tuple(plain(name) for name in as_sequence(parameter, values, f"names, one per {unit}"))
    if n is not None and len(names) != n:
        raise DataError(
            parameter, f"{len(names)} names", f"{n} names, one per {unit}", f"Give one name per {unit}."
        )
    first: dict[Any, int] = {}
    for position, name in enumerate(names):
        if (strings and not isinstance(name, str)) or not hashable(name) or is_missing(name):
            allowed = "a string" if strings else "a hashable value that isn't missing"
            raise DataError(f"{parameter}, {unit} {position}", name, allowed, f"Name every {unit}.")
        if first.setdefault(name, position) != position:
            raise DataError(
                f"{parameter}, {unit} {position}",
                name,
                f"different from all others ({unit} {first[name]} has this name)",
                "Remove or rename duplicates.",
            )
    return names
