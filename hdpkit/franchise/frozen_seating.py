"""Checks that the arrays of a frozen seating agree with each other, the data and the restaurants.

The ranges of entries have already been checked (`hdpkit.franchise.frozen`). Here all counts are recomputed,
because compiled code uses them without checks. Everything is vectorised and O(customers): for a large corpus
it takes less time than a sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.data.cells import Cells
from hdpkit.franchise.contexts import ContextTopology
from hdpkit.franchise.topology import Topology

__all__ = [
    "Disagreement",
    "cell_counts",
    "check_bins",
    "check_cells",
    "check_counts",
    "check_tables",
    "check_tallies",
    "data_counts",
    "with_one_table_each",
]

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]

_CHUNK = 1 << 20  # customers counted at once
_CELLS = 1 << 14  # cells counted at once
_LARGEST = 2**31 - 1


class Disagreement(Exception):
    """Arrays contradict each other; has the name of one, and the allowed value."""

    def __init__(self, key: str, allowed: str) -> None:
        super().__init__(key, allowed)
        self.key = key
        self.allowed = allowed


def check_tables(
    seat: Ints,
    node: Ints,
    dish: Ints,
    above: Ints,
    topology: Topology | ContextTopology,
    slots: npt.NDArray[Any] | None,
) -> None:
    """Raise a Disagreement unless a labelled seating fits these customers and restaurants.

    Parameters
    ----------
    seat : int32 array, shape (n_customers,)
    node, dish, above : int32 arrays, one entry per table
        ``table_node``, ``table_dish`` and ``table_seat``.
    topology : Topology
    slots : array or None
        The occupied slots, each served at one table of the root; None if dishes are observed.
    """
    n_tables = len(node)
    sizes = np.zeros(n_tables, dtype=np.int64)
    for first in range(0, len(seat), _CHUNK):
        seats = seat[first : first + _CHUNK]
        seated = seats >= 0
        if not np.array_equal(node[seats[seated]], topology.home[first : first + _CHUNK][seated]):
            raise Disagreement("seat", "tables of the customers' own restaurants")
        sizes += np.bincount(seats[seated], minlength=n_tables)
    lower = topology.parent[node] >= 0
    if not np.array_equal(above >= 0, lower):
        raise Disagreement("table_seat", "a table of the parent for every table below the root, else -1")
    upper = above[lower]
    # Parents have smaller numbers than their children, so this also excludes cycles.
    if not np.array_equal(node[upper], topology.parent[node[lower]]):
        raise Disagreement("table_seat", "tables of the parent restaurant")
    if not np.array_equal(dish[upper], dish[lower]):
        raise Disagreement("table_dish", "the dish of the parent's table where a table sits")
    sizes += np.bincount(upper, minlength=n_tables)
    if n_tables and int(sizes.min()) < 1:
        raise Disagreement("table_node", "tables with at least one customer each")
    if int(sizes.sum()) > _LARGEST:
        raise Disagreement("table_node", f"restaurants with at most {_LARGEST} customers in all")
    if slots is not None:
        _check_root(np.sort(dish[~lower]), slots, "table_dish")


def check_bins(
    dish: Ints,
    columns: Sequence[Ints],
    topology: Topology | ContextTopology,
    slots: npt.NDArray[Any] | None,
) -> None:
    """Raise a Disagreement unless dishes and histograms fit these customers and restaurants.

    Parameters
    ----------
    dish : int32 array, shape (n_customers,)
    columns : sequence of int32 arrays
        ``bin_node``, ``bin_dish``, ``bin_size`` and ``bin_count``.
    topology, slots
        As in `check_tables`.
    """
    node, served, size, count = (column.astype(np.int64) for column in columns)
    base = int(max(served.max(initial=0), dish.max(initial=0))) + 1
    pair = node * base + served
    step = np.diff(pair)
    if np.any(step < 0) or np.any((step == 0) & (np.diff(size) <= 0)):
        raise Disagreement("bin_node", "sorted by restaurant, dish and size, without repeats")
    if np.any(size * count > _LARGEST):
        raise Disagreement("bin_count", f"tables for at most {_LARGEST} customers")
    begin = np.flatnonzero(np.append(True, step > 0)) if len(pair) else np.empty(0, dtype=np.int64)
    keys = pair[begin]
    customers = np.add.reduceat(size * count, begin) if len(pair) else begin
    tables = np.add.reduceat(count, begin) if len(pair) else begin
    names = ("bin_dish", "bin_size", "bin_count")
    data = data_counts(dish, topology, base)
    _check_against_data(data, base, (keys, customers, tables), topology, slots, names)


def check_tallies(
    dish: Ints,
    columns: Sequence[Ints],
    topology: Topology | ContextTopology,
    slots: npt.NDArray[Any] | None,
) -> None:
    """Raise a Disagreement unless dishes and counts fit these customers and restaurants.

    Parameters
    ----------
    dish : int32 array, shape (n_customers,)
    columns : sequence of int32 arrays
        ``count_node``, ``count_dish``, ``count_customers`` and ``count_tables``.
    topology, slots
        As in `check_tables`.
    """
    _check_columns(columns, dish, lambda base: data_counts(dish, topology, base), topology, slots)


def _check_columns(
    columns: Sequence[Ints],
    eaten: Ints,
    data: Callable[[int], tuple[Wide, Wide]],
    topology: Topology | ContextTopology,
    slots: npt.NDArray[Any] | None,
) -> None:
    """Check counts against the result of `data`, which is called with a number above all dishes."""
    node, served, customers, tables = (column.astype(np.int64) for column in columns)
    base = int(max(served.max(initial=0), eaten.max(initial=0))) + 1
    keys = node * base + served
    if np.any(np.diff(keys) <= 0):
        raise Disagreement("count_node", "sorted by restaurant and dish, without repeats")
    if np.any(tables > customers):
        raise Disagreement("count_tables", "from 1 to the number of customers")
    names = ("count_dish", "count_customers", "count_tables")
    _check_against_data(data(base), base, (keys, customers, tables), topology, slots, names)


def check_cells(
    runs: Mapping[str, Ints],
    columns: Sequence[Ints],
    cells: Cells,
    topology: Topology,
    slots: npt.NDArray[Any] | None,
) -> None:
    """The same for counts by cell.

    Parameters
    ----------
    runs : dict of int32 arrays
        ``cell_runs``, ``run_dish`` and ``run_count``.
    columns : sequence of int32 arrays
        As in `check_tallies`.
    cells : Cells
        Cells of the data.
    topology, slots
        As in `check_tables`.
    """
    eaten = runs["run_dish"]
    known = np.arange(getattr(topology, "known", 0))  # each has one customer at the root

    def data(base: int) -> tuple[Wide, Wide]:
        keys, counts = cell_counts(runs, cells, base, topology.first[-1])
        return np.append(known, keys), np.append(np.ones_like(known), counts)

    _check_columns(columns, eaten, data, topology, slots)


def cell_counts(runs: Mapping[str, Ints], cells: Cells, base: int, first_document: int) -> tuple[Wide, Wide]:
    """As `data_counts`, for counts by cell; ``first_document`` is the restaurant of document 0."""
    documents, found, begin = cells.documents(), [], 0
    for first in range(0, len(documents), _CELLS):
        of = runs["cell_runs"][first : first + _CELLS]
        end = begin + int(of.sum(dtype=np.int64))
        nodes = documents[first : first + _CELLS].astype(np.int64) + first_document
        keys = np.repeat(nodes, of) * base
        keys, place = np.unique(keys + runs["run_dish"][begin:end], return_inverse=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, place, runs["run_count"][begin:end])
        found.append((keys, counts))
        begin = end
    return _together(found)


def with_one_table_each(keys: Wide, customers: Wide, base: int, topology: Topology) -> tuple[Wide, Wide]:
    """Customers of all restaurants if every dish of a restaurant has one table, given the data customers.

    Parameters
    ----------
    keys, customers : int64 arrays
        As returned by `data_counts`; keys needn't be sorted.
    base : int
        A number above all dishes.
    topology : Topology

    Returns
    -------
    keys, customers : int64 arrays
        Of all restaurants, keys ascending.
    """
    found = []
    for level in range(topology.n_levels - 1, 0, -1):
        here = topology.level[keys // base] == level
        own = keys[here]
        found.append((own, customers[here]))
        above = topology.parent[own // base].astype(np.int64) * base + own % base
        keys = np.append(keys[~here], above)
        keys, place = np.unique(keys, return_inverse=True)
        sums = np.zeros(len(keys), dtype=np.int64)
        np.add.at(sums, place, np.append(customers[~here], np.ones_like(above)))
        customers = sums
    return _together([*found, (keys, customers)])


def _together(found: list[tuple[Wide, Wide]]) -> tuple[Wide, Wide]:
    """Sum of the counts of pieces by key, keys ascending."""
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if len(found) == 1:
        return found[0]
    keys, place = np.unique(np.concatenate([keys for keys, _ in found]), return_inverse=True)
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(counts, place, np.concatenate([counts for _, counts in found]))
    return keys, counts


def _check_against_data(
    data: tuple[Wide, Wide],
    base: int,
    counts: tuple[Wide, Wide, Wide],
    topology: Topology | ContextTopology,
    slots: npt.NDArray[Any] | None,
    names: tuple[str, str, str],
) -> None:
    keys, customers, tables = counts
    check_counts(keys, base, customers, tables, data, topology, names)
    if slots is not None:
        root = keys < base
        if np.any(tables[root] != 1):
            raise Disagreement(names[2], "one table of the root for each dish")
        _check_root(keys[root], slots, names[0])


def data_counts(dish: Ints, topology: Topology | ContextTopology, base: int) -> tuple[Wide, Wide]:
    """Seated data customers by restaurant and dish: ascending keys, restaurant * base + dish, and counts."""
    found = []
    for first in range(0, len(dish), _CHUNK):
        here = dish[first : first + _CHUNK]
        seated = here >= 0
        keys = topology.home[first : first + _CHUNK][seated].astype(np.int64) * base + here[seated]
        found.append(np.unique(keys, return_counts=True))
    return _together(found)


def check_counts(
    keys: Wide,
    base: int,
    customers: Wide,
    tables: Wide,
    data: tuple[Wide, Wide],
    topology: Topology | ContextTopology,
    names: tuple[str, str, str] = ("bin_dish", "bin_size", "bin_count"),
) -> None:
    """Raise a Disagreement unless a restaurant's customers are its data and the tables of its children.

    Parameters
    ----------
    keys : int64 array
        Served pairs of restaurant and dish, ascending: restaurant * base + dish.
    base : int
    customers, tables : int64 arrays
        Of each pair.
    data : pair of int64 arrays
        The result of `data_counts`.
    topology : Topology
    names : tuple of str
        Names of arrays for errors about dishes, customers and tables.
    """
    if len(keys) and (int(customers.sum()) > _LARGEST or int(tables.sum()) > _LARGEST):
        raise Disagreement(names[2], f"restaurants with at most {_LARGEST} customers in all")
    expected = np.zeros(len(keys), dtype=np.int64)
    node = keys // base
    parent = topology.parent[node].astype(np.int64)
    lower = parent >= 0
    upward = parent[lower] * base + keys[lower] % base
    for wanted, counts in (data, (upward, tables[lower])):
        place = np.searchsorted(keys, wanted)
        there = place < len(keys)
        if not there.all() or not np.array_equal(keys[place], wanted):
            raise Disagreement(names[0], "all dishes of a restaurant's customers, and no others")
        np.add.at(expected, place, counts)
    if not np.array_equal(expected, customers):
        raise Disagreement(names[1], "tables for a restaurant's data and its children's tables")


def _check_root(served: npt.NDArray[Any], slots: npt.NDArray[Any], key: str) -> None:
    """Check that the root serves every occupied slot at one table (``served`` is sorted)."""
    if not np.array_equal(served, slots):
        raise Disagreement(key, "one table of the root for each of the slots")
