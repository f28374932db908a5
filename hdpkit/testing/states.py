"""The states of stores of every detail: what they keep of an enumerated seating, as keys and as arrays."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from hdpkit.stores import Detail, FrozenSeating, FrozenSeats, FrozenSizes, detail_of
from hdpkit.stores.protocol import Frozen
from hdpkit.testing.enumeration import Key, Shape, canonical_key, listed, table_sizes

Histograms = tuple[tuple[int, ...], tuple[tuple[int, int, tuple[int, ...]], ...]]
"""The state of a histogram store: the dish of each data customer, and (node, dish, sorted table sizes)."""

Counts = tuple[tuple[int, ...], tuple[tuple[int, int, int, int], ...]]
"""The state of a store of counts: the dish of each data customer, and (node, dish, customers, tables)."""

H = TypeVar("H", bound=Hashable)


def same(a: Any, b: Any) -> bool:
    """Whether two frozen states are equal, arrays and their types included."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return bool(a == b)


def seen(store: Any, node: int, dish: int) -> Any:
    """The tables of a dish as returned by a store: numbers of tables by size, or customers and tables."""
    if detail_of(store) is Detail.COUNTS:
        return store.customers(node, dish), store.tables(node, dish)
    return Counter(store.table_sizes(node, dish).tolist())


def counted(tables: Any) -> tuple[int, int]:
    """Customers and tables of what `seen` returns."""
    if isinstance(tables, tuple):
        return tables
    return sum(size * count for size, count in tables.items()), tables.total()


def histogram_key(dishes: Sequence[int], tables: Iterable[tuple[int, int, Iterable[int]]]) -> Histograms:
    """Canonical form of the state of a histogram store: dishes are numbered by first appearance."""
    label = _labels(dishes)
    rows = [(node, label[dish], tuple(sorted(sizes))) for node, dish, sizes in tables]
    return tuple(label[dish] for dish in dishes), tuple(sorted(rows))


def counts_key(dishes: Sequence[int], counts: Iterable[tuple[int, int, int, int]]) -> Counts:
    """The same for the state of a store of counts, given (node, dish, customers, tables)."""
    label = _labels(dishes)
    rows = [(node, label[dish], customers, tables) for node, dish, customers, tables in counts]
    return tuple(label[dish] for dish in dishes), tuple(sorted(rows))


def _labels(dishes: Sequence[int]) -> dict[int, int]:
    label: dict[int, int] = {}
    for dish in dishes:
        label.setdefault(dish, len(label))
    return label


def to_histograms(key: Key, shape: Shape, dishes: Sequence[int] | None = None) -> Histograms:
    """The part of a seating kept by a store without table numbers (Blunsom et al. 2009)."""
    served = [tables[-1] for tables in key] if dishes is None else list(dishes)  # one table of the root each
    sizes: dict[tuple[int, int], list[int]] = {}
    for node, tables in enumerate(table_sizes(key, shape)):
        for table, size in tables.items():  # a table has the dish of its label, a data customer beneath it
            sizes.setdefault((node, served[table]), []).append(size)
    return histogram_key(served, [(node, dish, these) for (node, dish), these in sizes.items()])


def to_counts(key: Key, shape: Shape, dishes: Sequence[int] | None = None) -> Counts:
    """The part of a seating kept by a store of counts; parameters are those of `to_histograms`."""
    labels, rows = to_histograms(key, shape, dishes)
    return labels, tuple((node, dish, sum(sizes), len(sizes)) for node, dish, sizes in rows)


def pushforward(distribution: Mapping[Key, float], function: Callable[[Key], H]) -> dict[H, float]:
    """Distribution of a function of the seating: probabilities summed over the keys with each value."""
    parts: dict[H, list[float]] = {}
    for key, probability in distribution.items():
        parts.setdefault(function(key), []).append(probability)
    return {value: math.fsum(these) for value, these in parts.items()}


def _possible(shape: Shape, observed: tuple[int, ...] | None) -> list[Key]:
    """Seatings in which no customer sits at a table of another dish."""
    if observed is None:
        return list(listed(shape))
    return [
        key
        for key in listed(shape)
        if all(observed[i] == observed[shape.places(i, path)[-1][1]] for i, path in enumerate(key))
    ]


@functools.lru_cache(maxsize=32)
def reduced_seatings(
    shape: Shape, observed: tuple[int, ...] | None = None, detail: Detail = Detail.SIZES
) -> dict[Key, Any]:
    """The states of a store of this detail, one for each labelled seating (each possible one)."""
    possible = _possible(shape, observed)
    if detail is Detail.SEATS:
        return {key: key for key in possible}
    reduce = to_histograms if detail is Detail.SIZES else to_counts
    return {key: reduce(key, shape, observed) for key in possible}


# ------------------------------------------------------------------ states as arrays and back


def labelled_arrays(key: Key, shape: Shape, observed: Sequence[int] | None = None, known: int = 0) -> Frozen:
    """Frozen labelled seating of an enumerated one; dishes of the last ``known`` customers come first."""
    numbers: dict[tuple[int, int], int] = {}
    dishes: dict[int, int] = {path[-1]: j for j, path in enumerate(key[len(key) - known :])}
    node: list[int] = []
    dish: list[int] = []
    seat: list[int] = []
    of_customer: list[int] = []
    for customer, path in enumerate(key):
        dish_number = dishes.setdefault(path[-1], len(dishes)) if observed is None else observed[customer]
        above = -1
        for table in reversed(shape.places(customer, path)):
            if table not in numbers:
                numbers[table] = len(node)
                node.append(table[0])
                dish.append(dish_number)
                seat.append(above)
            above = numbers[table]
        of_customer.append(above)
    columns = {"seat": of_customer, "table_node": node, "table_dish": dish, "table_seat": seat}
    return {name: np.array(values, dtype=np.int32) for name, values in columns.items()}


@functools.lru_cache(maxsize=32)
def frozen_seatings(
    shape: Shape, observed: tuple[int, ...] | None, detail: Detail, known: int = 0
) -> dict[Any, Frozen]:
    """Arrays for a store, one for every state that it distinguishes. They are shared and read-only."""
    found = {}
    for key, state in reduced_seatings(shape, observed, detail).items():
        if len({path[-1] for path in key[len(key) - known :]}) < known:
            continue  # known components are different dishes
        seats = FrozenSeating.of(labelled_arrays(key, shape, observed, known))
        found[state] = seats.to(detail).arrays()
    for arrays in found.values():
        for array in arrays.values():
            array.setflags(write=False)
    return found


def frozen_key(arrays: Frozen, shape: Shape) -> Any:
    """Canonical key of a frozen seating of any form: a `Key`, `Histograms` or `Counts`."""
    frozen = FrozenSeating.of(arrays)
    columns = [array.tolist() for array in frozen.arrays().values()]
    if isinstance(frozen, FrozenSeats):
        seat, node, _, above = columns
        seats = []
        for table in seat:
            path = []
            while table >= 0:
                path.append(table if shape.lead is None else (node[table], table))
                table = above[table]
            seats.append(path)
        return canonical_key(seats, shape)
    dishes, *rows = columns
    if not isinstance(frozen, FrozenSizes):
        return counts_key(dishes, zip(*rows, strict=True))
    sizes: dict[tuple[int, int], list[int]] = {}
    for node, dish, size, count in zip(*rows, strict=True):
        sizes.setdefault((node, dish), []).extend([size] * count)
    return histogram_key(dishes, [(node, dish, these) for (node, dish), these in sizes.items()])
