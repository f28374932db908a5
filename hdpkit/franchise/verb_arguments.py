"""Checks of the arguments of verbs, made once before a kernel runs: kernels check nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import instance, items, whole_number, whole_numbers
from hdpkit.errors import ParameterError
from hdpkit.random import ChoiceSource

__all__ = ["check_groups", "check_range", "check_source"]

Ints = npt.NDArray[np.int32]

_OF_GROUPS = "Pass what franchise.groups() returned."


def check_source(source: Any) -> None:
    """Raise an error unless it is a choice source."""
    instance("source", source, ChoiceSource, "a choice source", remedy="Pass the rng that the move is given.")


def check_range(first: int, last: int, n: int) -> None:
    """Raise an error unless first .. last - 1 is a range within 0 .. n - 1."""
    whole_number("first", first, 0, n, remedy=f"A range lies within 0 .. {n}.")
    whole_number("last", last, first, n, remedy=f"A range lies within 0 .. {n}; last is excluded.")


def check_groups(
    groups: Any, first: Any, last: Any, topology: Any
) -> tuple[Ints, npt.NDArray[np.int64], Ints]:
    """Check the arrays of groups first .. last - 1; only these, because a sweep runs in pieces."""
    arrays = items("groups", groups, "three arrays", remedy=_OF_GROUPS)
    if len(arrays) != 3 or not all(
        isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu" for array in arrays
    ):
        raise ParameterError("groups", groups, "nodes, begin and customers, three arrays", _OF_GROUPS)
    nodes, begin, customers = arrays
    check_range(first, last, len(nodes))
    if len(begin) != len(nodes) + 1:
        raise ParameterError("groups", begin, f"begin of length {len(nodes) + 1}", _OF_GROUPS)
    bounds = whole_numbers("groups", begin[first : last + 1], 0, len(customers), remedy=_OF_GROUPS)
    sizes = np.diff(bounds)
    if (sizes < 1).any():
        raise ParameterError("groups", bounds, "ascending bounds of groups", _OF_GROUPS)
    t = topology
    here = whole_numbers("groups", nodes[first:last], 0, t.n_nodes - 1, remedy=_OF_GROUPS)
    low, high = (int(bounds[0]), int(bounds[-1])) if len(sizes) else (0, 0)
    who = whole_numbers("groups", customers[low:high], 0, t.n_customers - 1, remedy=_OF_GROUPS)
    inner = np.ones(max(len(who) - 1, 0), dtype=bool)
    inner[bounds[1:-1] - low - 1] = False  # between groups
    if not np.array_equal(t.home[who], np.repeat(here, sizes)) or (np.diff(who) <= 0)[inner].any():
        raise ParameterError("groups", who, "each restaurant's data customers, ascending", _OF_GROUPS)
    return (
        np.ascontiguousarray(nodes, dtype=np.int32),
        np.ascontiguousarray(begin, dtype=np.int64),
        np.ascontiguousarray(customers, dtype=np.int32),
    )
