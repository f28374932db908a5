"""A check of the capacity of a seating store, and code common to its checks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from typing import Any

import numpy as np

from hdpkit.random import RandomStream
from hdpkit.stores import Compacts, Detail, FrozenSeating, FrozenSeats, detail_of


class StoreFailure(AssertionError):
    """A seating store breaks its contract."""


def require(condition: Any, what: str) -> None:
    """Raise a StoreFailure unless the condition holds."""
    if not condition:
        raise StoreFailure(what)


def canonical(store: Any) -> Hashable:
    """A state without table numbers: the data customers below each table, or the histograms."""
    frozen = store.freeze()
    if not isinstance(FrozenSeating.of(frozen), FrozenSeats):
        return tuple(tuple(frozen[name].tolist()) for name in sorted(frozen))
    below: dict[int, set[int]] = defaultdict(set)
    for i, table in enumerate(frozen["seat"].tolist()):
        while table >= 0:
            below[table].add(i)
            table = int(frozen["table_seat"][table])
    rows = zip(frozen["table_node"].tolist(), frozen["table_dish"].tolist(), strict=True)
    return frozenset((node, dish, frozenset(below[t])) for t, (node, dish) in enumerate(rows))


def seen(store: Any, node: int, dish: int) -> Any:
    """The tables of a dish as returned by a store: numbers of tables by size, or customers and tables."""
    if detail_of(store) is Detail.COUNTS:
        return store.customers(node, dish), store.tables(node, dish)
    return Counter(store.table_sizes(node, dish).tolist())


def expected_of(store: Any, sizes: Counter[int]) -> Any:
    """The value that `seen` should return for tables of these sizes."""
    if detail_of(store) is Detail.COUNTS:
        return sum(size * count for size, count in sizes.items()), sizes.total()
    return sizes


def check_capacity(store_class: type) -> str:
    """Hundreds of dishes at one restaurant, thousands of tables, many customers; twice, without a leak."""
    n_dishes, n_tables, n_customers = 500, 2000, 6000
    store, source = store_class(n_customers, 3), RandomStream((3, 3))
    held: list[int] = []
    for _ in range(3):
        empty = store.memory_bytes()
        if not held:
            fresh = empty
        sizes: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
        expected = np.full(n_customers, -1)
        order = source.permutation(n_dishes)
        for i, dish in enumerate(order.tolist()):  # in random order, so that entries are inserted in between
            store.open(1, dish, i)
            sizes[1, dish][1] += 1
            expected[i] = dish
        for i in range(n_dishes, n_dishes + n_tables):
            store.open(2, 7, i)
            expected[i] = 7
        sizes[2, 7][1] = n_tables
        joined = n_dishes + n_tables + 300
        for i in range(n_dishes + n_tables, joined):
            store.join(2, 7, i, 0.5, source)
            expected[i] = 7
        for i in range(joined, n_customers):
            dish = int(order[i % n_dishes])
            store.join(1, dish, i, 0.0, source)
            sizes[1, dish] = Counter({max(sizes[1, dish]) + 1: 1})
            expected[i] = dish
        require(np.array_equal(store.dishes(), expected), "dishes after growth")
        require(store.node_dishes(1).tolist() == list(range(n_dishes)), "node_dishes ascend after growth")
        for dish in range(n_dishes):
            require(seen(store, 1, dish) == expected_of(store, sizes[1, dish]), f"tables of dish {dish}")
        big = [store.tables(2, 7), store.customers(2, 7)]
        require(big == [n_tables, n_tables + 300], "tables of one dish after growth")
        if detail_of(store) is not Detail.COUNTS:
            many = store.table_sizes(2, 7)
            require([len(many), int(many.sum())] == big, "sizes of the tables of one dish after growth")
        require(store.node_tables(2) == store.tables(2, 7) == n_tables, "tables after growth")
        require(store.node_customers(1) == n_customers - n_tables - 300, "customers after growth")
        full = store.memory_bytes()
        require(isinstance(full, int), f"memory_bytes() = {full!r} is no int")
        require(full >= empty >= 0, f"memory_bytes falls from {empty} to {full} while customers come")
        require(full == 0 or full >= 2 * n_customers, f"memory_bytes() = {full} for {n_customers} customers")
        held.append(full)
        for i in source.permutation(n_customers).tolist():
            store.remove(1 if i < n_dishes or i >= joined else 2, int(expected[i]), i, source)
        require(store.dishes().tolist() == [-1] * n_customers, "customers stay after their removal")
        left = [store.node_customers(node) + store.node_tables(node) for node in range(3)]
        require(left == [0, 0, 0] and store.node_dishes(1).tolist() == [], f"tables stay when empty: {left}")
        left_over = store.memory_bytes()
        require(left_over >= 0, "memory_bytes is negative")
        compacts = isinstance(store, Compacts)
        if compacts:
            require(store.compact() == (left_over > fresh), "compact gives back what a peak has left")
            # Scratch memory for the weights of one draw may remain.
            allowed = fresh + 8 * 2 * n_tables
            require(store.memory_bytes() <= allowed, f"compact leaves {store.memory_bytes()} of {left_over}")
    require(held[-1] <= 1.5 * held[0], f"memory leaks when restaurants fill and empty: {held}")
    return (
        f"capacity: {n_dishes} dishes at a restaurant, {n_tables} tables of a dish, {n_customers} customers"
    )
