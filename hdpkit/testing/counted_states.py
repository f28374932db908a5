"""Canonical forms of the states of stores, including stores of counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import AuditError
from hdpkit.testing.enumeration import Key, Shape
from hdpkit.testing.histogram_states import lump_to_histograms

Counts = tuple[tuple[int, ...], tuple[tuple[int, int, int, int], ...]]
"""The state of a store of counts: the dish of each data customer, and (node, dish, customers, tables)."""


def counts_key(dishes: Sequence[int], counts: Iterable[tuple[int, int, int, int]]) -> Counts:
    """Canonical form of the state of a store of counts, independent of its numbering of dishes.

    Parameters
    ----------
    dishes : sequence of int
        The dish of each data customer.
    counts : iterable of (node, dish, customers, tables)
        In any order.

    Returns
    -------
    Counts
        Dishes relabelled 0, 1, ... in order of first appearance among the data customers, and the
        (node, dish, customers, tables) of every pair that has tables, in order.
    """
    sizes = [(node, dish, (customers, tables)) for node, dish, customers, tables in counts]
    label: dict[int, int] = {}
    for dish in dishes:
        label.setdefault(int(dish), len(label))
    missing = [row for row in sizes if int(row[1]) not in label]
    if missing:
        raise AuditError("counts", missing[0], "dishes that have data", "Some count is stale.")
    rows = sorted((int(node), label[int(dish)], int(n), int(t)) for node, dish, (n, t) in sizes)
    return tuple(label[int(dish)] for dish in dishes), tuple(rows)


def lump_to_counts(key: Key, shape: Shape, dishes: Sequence[int] | None = None) -> Counts:
    """The part of a seating kept by a store of counts; parameters are those of `lump_to_histograms`."""
    labels, rows = lump_to_histograms(key, shape, dishes)
    return labels, tuple((node, dish, sum(sizes), len(sizes)) for node, dish, sizes in rows)


def counts_of(arrays: dict[str, npt.NDArray[np.int32]]) -> Any:
    """Canonical key of frozen dishes and counts."""
    names = ("count_node", "count_dish", "count_customers", "count_tables")
    return counts_key(arrays["dish"].tolist(), zip(*(arrays[name].tolist() for name in names), strict=True))
