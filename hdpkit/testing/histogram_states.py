"""The part of a seating kept by stores without table numbers, and distributions of functions of seatings."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from hdpkit.errors import AuditError
from hdpkit.testing.enumeration import Key, Shape, table_sizes

Histograms = tuple[tuple[int, ...], tuple[tuple[int, int, tuple[int, ...]], ...]]
"""The state of a histogram store: the dish of each data customer, and (node, dish, sorted table sizes)."""

H = TypeVar("H", bound=Hashable)


def histogram_key(dishes: Sequence[int], tables: Iterable[tuple[int, int, Iterable[int]]]) -> Histograms:
    """Canonical form of the state of a histogram store, independent of its numbering of dishes.

    Parameters
    ----------
    dishes : sequence of int
        The dish of each data customer.
    tables : iterable of (node, dish, sizes)
        The sizes of the tables of a node that serve a dish, in any order; pairs without tables may be left
        out or have no sizes.

    Returns
    -------
    Histograms
        Dishes relabelled 0, 1, ... in order of first appearance among the data customers, and the
        (node, dish, sorted sizes) of every pair that has tables, in order.
    """
    label: dict[int, int] = {}
    for dish in dishes:
        label.setdefault(int(dish), len(label))
    rows: list[tuple[int, int, tuple[int, ...]]] = []
    for node, dish, sizes in tables:
        ordered = tuple(sorted(int(size) for size in sizes))
        if not ordered:
            continue
        if int(dish) not in label:
            raise AuditError("tables", (node, dish, ordered), "dishes that have data", "Some table is stale.")
        rows.append((int(node), label[int(dish)], ordered))
    if len({(node, dish) for node, dish, _ in rows}) != len(rows):
        raise AuditError("tables", rows, "one entry for a node and dish", "Merge the entries.")
    return tuple(label[int(dish)] for dish in dishes), tuple(sorted(rows))


def lump_to_histograms(key: Key, shape: Shape, dishes: Sequence[int] | None = None) -> Histograms:
    """The part of a seating kept by a store without table numbers (Blunsom et al. 2009).

    Parameters
    ----------
    key : Key
        The seating.
    shape : Shape
        The tree and its customers.
    dishes : sequence of int, optional
        The dish of each data customer if dishes are observed (then several tables of the root may have one
        dish). By default each table of the root is a dish.

    Returns
    -------
    Histograms
        See `histogram_key`.
    """
    served = [tables[-1] for tables in key] if dishes is None else [int(dish) for dish in dishes]
    sizes: dict[tuple[int, int], list[int]] = {}
    for node, tables in enumerate(table_sizes(key, shape)):
        for table, size in tables.items():  # a table has the dish of its label, a data customer beneath it
            sizes.setdefault((node, served[table]), []).append(size)
    return histogram_key(served, [(node, dish, these) for (node, dish), these in sizes.items()])


def lump(distribution: Mapping[Key, float], function: Callable[[Key], H]) -> dict[H, float]:
    """Distribution of a function of the seating: probabilities summed over the keys with each value."""
    parts: dict[H, list[float]] = {}
    for key, probability in distribution.items():
        parts.setdefault(function(key), []).append(probability)
    return {value: math.fsum(these) for value, these in parts.items()}
