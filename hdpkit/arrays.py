"""Types of arrays, for annotations, and sums of numbers by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]
Int32s: TypeAlias = npt.NDArray[np.int32]
Int64s: TypeAlias = npt.NDArray[np.int64]

AnyInts: TypeAlias = npt.NDArray[Any]
"""Whole numbers of any type."""

IntsOrList: TypeAlias = Sequence[int] | npt.NDArray[Any]
"""Whole numbers of any type, in an array or a list."""


def sums_by_key(keys: AnyInts, *columns: AnyInts) -> Any:
    """Distinct keys, ascending, and for each column of whole numbers the sums of its entries by key."""
    distinct, place = np.unique(keys, return_inverse=True)
    sums = (np.bincount(place, weights=column, minlength=len(distinct)) for column in columns)
    return distinct, *(one.astype(np.int64) for one in sums)
