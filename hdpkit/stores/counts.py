"""Base of the Python stores: counts by (restaurant, dish) in dictionaries."""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from hdpkit.arrays import Int32s
from hdpkit.checks import whole_number
from hdpkit.stores._seating import empty_row
from hdpkit.stores.protocol import Frozen

_MOST_CUSTOMERS, _MOST_NODES = 2**31 - 2, 10_000_000
_REMEDY = "Use a compiled store: those in Python are for small data."


def named_columns(names: Iterable[str], rows: list[Any]) -> Frozen:
    """The columns of rows of whole numbers: an int32 array for each name."""
    names = tuple(names)
    table = np.array(rows, dtype=np.int32).reshape(-1, len(names))
    return dict(zip(names, np.ascontiguousarray(table.T), strict=True))


class CountedStore(abc.ABC):
    """Counts of customers and tables; a subclass keeps the tables."""

    def __init__(self, n_customers: int, n_nodes: int) -> None:
        self.n_customers = whole_number("n_customers", n_customers, 0, _MOST_CUSTOMERS, remedy=_REMEDY)
        self.n_nodes = whole_number("n_nodes", n_nodes, 0, _MOST_NODES, remedy=_REMEDY)
        self.clear()

    def clear(self) -> None:
        """Unseat all customers."""
        self._customers: list[Counter[int]] = [Counter() for _ in range(self.n_nodes)]
        self._n_tables: list[Counter[int]] = [Counter() for _ in range(self.n_nodes)]

    @abc.abstractmethod
    def _sizes(self, node: int, dish: int) -> Iterable[int]:
        """Sizes of the tables of a dish, in any order."""

    @abc.abstractmethod
    def dish_of(self, customer: int) -> int:
        """Dish of a data customer, -1 while it is not seated."""

    def _count(self, node: int, dish: int, customers: int = 0, tables: int = 0) -> None:
        for counter, by in ((self._customers[node], customers), (self._n_tables[node], tables)):
            counter[dish] += by
            if counter[dish] == 0:
                del counter[dish]

    def customers(self, node: int, dish: int) -> int:
        """Customers of a restaurant who eat a dish."""
        return self._customers[node][dish]

    def tables(self, node: int, dish: int) -> int:
        """Tables of a restaurant that serve a dish."""
        return self._n_tables[node][dish]

    def node_customers(self, node: int) -> int:
        """Customers of a restaurant."""
        return self._customers[node].total()

    def node_tables(self, node: int) -> int:
        """Tables of a restaurant."""
        return self._n_tables[node].total()

    def node_dishes(self, node: int) -> Int32s:
        """Dishes that a restaurant serves, ascending."""
        return np.array(sorted(self._n_tables[node]), dtype=np.int32)

    def table_sizes(self, node: int, dish: int) -> Int32s:
        """Sizes of the tables that serve a dish in a restaurant, ascending."""
        return np.array(sorted(self._sizes(node, dish)), dtype=np.int32)

    def dishes(self, empty: Callable[[int], Int32s] = empty_row) -> Int32s:
        """Dish of every data customer, shape (n_customers,), -1 while unseated; ``empty`` as in `freeze`."""
        dishes = empty(self.n_customers)
        dishes[:] = [self.dish_of(i) for i in range(self.n_customers)]
        return dishes

    def relabel_dishes(self, mapping: Int32s) -> None:
        """Rename dishes; the mapping keeps their order."""
        for counters in (self._customers, self._n_tables):
            counters[:] = [Counter({int(mapping[k]): n for k, n in c.items()}) for c in counters]

    def memory_bytes(self) -> int:
        """Not measured for a store of Python objects: 0."""
        return 0
