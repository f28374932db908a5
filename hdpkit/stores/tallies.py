"""The store of counts in Python, as a readable reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int32s
from hdpkit.errors import StateError
from hdpkit.random import ChoiceSource
from hdpkit.stirling import log_stirling
from hdpkit.stores._seating import COUNTS, columns, empty_row
from hdpkit.stores.counts import NamelessTables, named_columns
from hdpkit.stores.protocol import Detail, Frozen


class CountsReference(NamelessTables):
    """Customers and tables by restaurant and dish, and the dish of each data customer.

    `join` draws nothing, and `remove` removes a table only if there would be more tables than customers. The
    calling code draws the tables: if the root has weights, at the end of a step, given the customers (Teh et
    al. 2006, section 5.3); if the root is a restaurant, whenever a customer leaves or enters.
    """

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
