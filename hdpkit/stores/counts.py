"""Base of the Python stores: counts by (restaurant, dish) in dictionaries; and the store of counts."""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Callable, Iterable
from math import log
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int32s
from hdpkit.checks import whole_number
from hdpkit.errors import StateError
from hdpkit.random import ChoiceSource
from hdpkit.stirling import log_stirling
from hdpkit.stores._seating import COUNTS, columns, empty_row
from hdpkit.stores.protocol import Detail, Frozen

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


class NamelessTables(CountedStore):
    """A store whose tables have no numbers: it keeps the dish of each data customer."""

    ANONYMOUS: ClassVar[int] = -1  # a table as a customer of the parent

    def clear(self) -> None:
        super().clear()
        self._dish = [-1] * self.n_customers

    def dish_of(self, customer: int) -> int:
        return self._dish[customer]

    def _label(self, customer: int, dish: int) -> None:
        if customer >= 0:
            self._dish[customer] = dish

    def relabel_dishes(self, mapping: Int32s) -> None:
        super().relabel_dishes(mapping)
        self._dish = [k if k < 0 else int(mapping[k]) for k in self._dish]


class CountsReference(NamelessTables):
    """Customers and tables by restaurant and dish, and the dish of each data customer."""

    # The calling code draws the tables: if the root has weights, at the end of a step, given the customers
    # (Teh et al. 2006, section 5.3); if the root is a restaurant, whenever a customer leaves or enters.

    DETAIL = Detail.COUNTS

    def _sizes(self, node: int, dish: int) -> Iterable[int]:
        raise StateError(
            "store", type(self).__name__, "one that keeps sizes of tables",
            "Use store='histogram' or 'explicit'.",
        )  # fmt: skip

    def join(self, node: int, dish: int, customer: int, discount: float, source: ChoiceSource) -> None:
        """Add a customer of a dish. Nothing is drawn."""
        self._label(customer, dish)
        self._count(node, dish, customers=1)

    def open(self, node: int, dish: int, customer: int) -> int:
        """Add a customer and a table; returns that table as a customer of the parent."""
        self._label(customer, dish)
        self._count(node, dish, customers=1, tables=1)
        return self.ANONYMOUS

    def remove(self, node: int, dish: int, customer: int, source: ChoiceSource) -> tuple[bool, int]:
        """Remove a customer, and a table if there would otherwise be more tables than customers."""
        closes = self.tables(node, dish) == self.customers(node, dish)
        self._label(customer, -1)
        self._count(node, dish, customers=-1, tables=-closes)
        return closes, self.ANONYMOUS

    def set_tables(self, node: int, dish: int, tables: int, parent: int) -> None:
        """Set the number of tables of a dish; the parent's number of customers changes as much."""
        more = tables - self.tables(node, dish)
        self._count(node, dish, tables=more)
        if parent >= 0:
            self._count(parent, dish, customers=more)

    def log_seating(self, concentration: npt.NDArray[np.float64], discount: npt.NDArray[np.float64]) -> float:
        """Log probability of the counts, a sum over labelled seatings: see `CountsStore.log_seating`."""
        total = 0.0
        for node, theta in enumerate(concentration.tolist()):
            n, tables = self.node_customers(node), self.node_tables(node)
            if n == 0:
                continue
            d = float(discount[node])
            total += sum(log(theta + i * d) for i in range(1, tables))
            total -= sum(log(theta + i) for i in range(1, n))
            for dish, customers in self._customers[node].items():
                total += log_stirling(customers, self.tables(node, dish), d)
        return total

    def freeze(self, empty: Callable[[int], Int32s] = empty_row) -> Frozen:
        """Dishes and counts."""
        rows = [
            (node, dish, counts[dish], self.tables(node, dish))
            for node, counts in enumerate(self._customers)
            for dish in sorted(counts)
        ]
        return {"dish": self.dishes(empty), **named_columns(COUNTS, rows)}

    def thaw(self, frozen: Frozen) -> None:
        """Replace the state by frozen dishes and counts."""
        eaten, *counts = columns(frozen, "dish", *COUNTS)
        self.clear()
        self._dish = eaten.tolist()
        for node, dish, customers, tables in zip(*(column.tolist() for column in counts), strict=True):
            self._count(node, dish, customers=customers, tables=tables)
