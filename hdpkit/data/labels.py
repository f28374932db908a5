"""Labels of customers and of documents: codes, keys, and missing values.

A label is stored as ``codes`` (int64, one per customer, -1 = missing) and ``keys`` (the label's values in
order of first appearance), so all other code uses integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import DataError
from hdpkit.formats.names import Codes, as_sequence, hashable, is_missing, plain

__all__ = ["check_label_name", "encode", "encode_all", "spread"]


def encode(label: str, values: Any, n: int, unit: str) -> Codes:
    """Encode a label's values as integers.

    Parameters
    ----------
    label : str
        Name of the label, for errors.
    values : sequence
        One hashable value for each of the `n` units; None, NaN, NaT and pandas.NA are missing.
    n : int
        Required number of values.
    unit : str
        What has one value each ("customer", "document"), for errors.

    Returns
    -------
    codes : ndarray of int64, shape (n,)
        Index of each value in `keys`, -1 if it is missing. Read-only.
    keys : list
        Values in order of first appearance, as Python objects.

    Raises
    ------
    DataError
        If the number is wrong or a value isn't hashable.
    """
    parameter = f"label {label!r}"
    sequence = as_sequence(parameter, values, f"values, one per {unit}")
    if len(sequence) != n:
        raise DataError(
            parameter, f"{len(sequence)} values", f"{n} values, one per {unit}", f"Give one value per {unit}."
        )
    if isinstance(sequence, np.ndarray) and sequence.dtype.kind in "biufmM":
        codes, keys = _encode_array(sequence)
    else:
        # Also for strings: a hash table is much faster than sorting fixed-width strings.
        codes, keys = _encode_objects(parameter, list(sequence), unit)
    codes.setflags(write=False)
    return codes, keys


def _encode_array(values: npt.NDArray[Any]) -> Codes:
    present = values == values  # neither NaN nor NaT
    unique, first, inverse = np.unique(values[present], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    codes = np.full(len(values), -1, np.int64)
    codes[present] = rank[inverse]
    # tolist() would convert a datetime64 of nanoseconds to an integer.
    keys = list(unique[order]) if values.dtype.kind in "mM" else unique[order].tolist()
    return codes, keys


def _encode_objects(parameter: str, values: list[Any], unit: str) -> Codes:
    known: dict[Any, int] = {}
    raw: list[int] = []
    try:
        raw = [known.setdefault(value, len(known)) for value in values]
    except TypeError:
        position = next(i for i, value in enumerate(values) if not hashable(value))
        raise DataError(
            f"{parameter}, {unit} {position}",
            values[position],
            "a hashable value or None",
            "Use strings, numbers or tuples of them as labels.",
        ) from None
    # Missing values are searched only among the distinct values, which are usually few (each NaN object
    # counts as distinct, so all are found).
    keys: list[Any] = []
    recode = np.empty(len(known), np.int64)
    for value, code in known.items():
        missing = is_missing(value)
        recode[code] = -1 if missing else len(keys)
        if not missing:
            keys.append(plain(value))
    return recode[np.array(raw, np.int64)], keys


def check_label_name(label: Any, taken: Iterable[str] = ()) -> str:
    """Return `label` if it is a valid name of a label, or raise a DataError."""
    if not isinstance(label, str) or not label:
        raise DataError(
            "label name", label, "a non-empty string", 'Name the label, as in {"author": authors}.'
        )
    if label in taken:
        raise DataError(
            "label name",
            label,
            "a name that isn't taken",
            f"The data have a label {label!r} already; rename yours.",
        )
    return label


def encode_all(parameter: str, groups: Any, n: int, unit: str, taken: Iterable[str] = ()) -> dict[str, Codes]:
    """Encode a mapping of label name -> one value per unit (see `encode`); None is an empty mapping."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise DataError(
            parameter,
            groups,
            f"a dict of label name -> one value per {unit}",
            'Write it as {"author": authors}.',
        )
    return {
        check_label_name(label, taken): encode(label, values, n, unit) for label, values in groups.items()
    }


def spread(
    label: str, keys: list[Any], lengths: Sequence[int] | npt.NDArray[np.int64], by_unit: dict[str, Codes]
) -> dict[str, Codes]:
    """Give each customer the codes of its unit (array or document).

    Parameters
    ----------
    label : str
        Label that distinguishes the units.
    keys : list
        Its values, one per unit.
    lengths : sequence of int
        Number of customers of each unit; customers are in the order of the units.
    by_unit : dict
        Other labels, with one code per unit.

    Returns
    -------
    dict
        Label name -> (codes, keys), `label` first.
    """
    own = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    own.setflags(write=False)
    labels: dict[str, Codes] = {label: (own, keys)}
    for name, (codes, values) in by_unit.items():
        customers = codes[own]
        customers.setflags(write=False)
        labels[name] = (customers, values)
    return labels
