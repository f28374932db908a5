"""Changes of a seating and its dishes that can be taken back exactly, and their ratio of joint densities."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from hdpkit.arrays import Int32s
from hdpkit.numerics import log
from hdpkit.random import ScriptedSource

_NO_DRAWS = ScriptedSource()  # a store of seats draws nothing, except among several tables of a dish


class Journal:
    """Elementary changes, each with its inverse; the cost depends on what changes, not on the state."""

    # The log ratio is a sum over changes: of log p(seat) given those who are seated without the customer,
    # and of the log predictive of its value; subtracted for a customer who leaves.

    def __init__(
        self,
        store: Any,
        bank: Any,
        slots: Any,
        parent: Int32s,
        numbers: Any,
        log_base: Callable[[int], float] | None,
        n_weights: int | None,
    ) -> None:
        self.store, self.bank, self.slots = store, bank, slots
        self.parent, self.numbers = parent, numbers
        self.log_base, self.n_weights = log_base, n_weights
        self.log_ratio = 0.0
        self._inverses: list[Callable[[], Any]] = []
        self._copied: set[int] = set()  # slots of which the statistics were copied, or that were born since

    def take_back(self) -> None:
        """Undo all changes, the last one first."""
        while self._inverses:
            self._inverses.pop()()

    def add(self, log_ratio: float, inverse: Callable[[], Any]) -> None:
        """Record another change."""
        self.log_ratio += log_ratio
        self._inverses.append(inverse)

    def open_dish(self, source: Any) -> int:
        """Open a dish without customers."""
        self.slots.source = source
        try:
            slot = int(self.slots.open())
        finally:
            self.slots.source = None
        self._copied.add(slot)
        self._inverses.append(partial(self.slots.forget, slot))
        return slot

    def close_dish(self, slot: int) -> None:
        """Close a dish that has lost its last customer."""
        number = self.slots.id_of(slot)
        self.slots.close(slot)
        self._inverses.append(partial(self.slots.revive, slot, number))

    def remove_values(self, slot: int, customers: Int32s) -> None:
        """Remove the values of data customers from a dish."""
        self._keep(slot, self.bank.add, customers)
        self.bank.remove(slot, customers)
        self.log_ratio -= float(self.bank.log_block(customers, [slot])[0])

    def add_values(self, slot: int, customers: Int32s) -> None:
        """Add the values of data customers to a dish."""
        self.log_ratio += float(self.bank.log_block(customers, [slot])[0])
        self._keep(slot, self.bank.remove, customers)
        self.bank.add(slot, customers)

    def _keep(self, slot: int, inverse: Callable[..., None], customers: Int32s) -> None:
        """Copy the statistics of a dish before the first change; sums of whole numbers are undone."""
        if not can_copy(self.bank):
            self._inverses.append(partial(inverse, slot, customers))
        elif slot not in self._copied:
            self._copied.add(slot)
            self._inverses.append(partial(self.bank.put, slot, self.bank.copy_of(slot)))

    def unseat(self, customer: int, node: int, dish: int) -> bool:
        """Remove a customer and tables that become empty; True if a latent dish has no table left."""
        undo: list[Callable[[], Any]] = []
        closed = True
        while closed and node >= 0:
            table = self.store.table_at(customer)
            size = self.store.table_size(table) - 1
            before = self.store.table_before(table) if size == 0 else -1
            closed, above = self.store.remove(node, dish, customer, _NO_DRAWS)
            self.log_ratio -= self._log_seat(node, dish, size)
            if closed:
                undo.append(partial(self._reopen, node, dish, customer, table, before))
            else:
                undo.append(partial(self.store.sit, customer, table))
            customer, node = above, int(self.parent[node])
        self._inverses += reversed(undo)  # those below first, as when they were removed
        return closed and self.log_base is None

    def _reopen(self, node: int, dish: int, customer: int, table: int, before: int) -> None:
        self.store.reopen(node, dish, customer, table)
        self.store.place_after(table, before)

    def seat(self, customer: int, node: int, dish: int, table: int | None = None) -> None:
        """Seat a customer: at a new table in each restaurant from ``node`` up to that of ``table``."""
        # Without a table they are opened up to the root, where a latent dish has one table.
        undo: list[Callable[[], Any]] = []
        last = -1 if table is None else self.store.table_node(table)
        while node >= 0:
            joins = node == last
            if node == 0 and table is None and self.log_base is None and self.store.tables(0, dish):
                joins, size = True, self.store.customers(0, dish)
            else:
                size = self.store.table_size(table) if joins else 0
            self.log_ratio += self._log_seat(node, dish, size)
            if joins and table is None:
                self.store.join(0, dish, customer, 0.0, _NO_DRAWS)
            elif joins:
                self.store.sit(customer, table)
            else:
                above = self.store.open(node, dish, customer)
            undo.append(partial(self.store.remove, node, dish, customer, _NO_DRAWS))
            if joins:
                break
            customer, node = above, int(self.parent[node])
        self._inverses += reversed(undo)

    def _log_seat(self, node: int, dish: int, others: int) -> float:
        """log p of a seat at a table with so many others (0: a new one), given those who are seated."""
        tables = self.store.node_tables(node)
        if node == 0 and self.n_weights is not None:
            return log((1 if others else self.n_weights - tables) / self.n_weights)
        theta, d = self.numbers.theta[node], self.numbers.d[node]
        n = self.store.node_customers(node)
        seat = log(others - d if others else theta + d * tables) - log(theta + n) if n else 0.0
        return seat + (self.log_base(dish) if node == 0 and not others and self.log_base else 0.0)

    def move(self, customer: int, block: Int32s, below: Int32s, old: int, new: int) -> None:
        """Change the dish of a customer of the root, with data customers and tables below it."""
        self.remove_values(old, block)
        lost = self.unseat(customer, 0, old)
        for table in np.asarray(below).tolist():
            self.serve(table, new)
        self.seat(customer, 0, new)
        self.add_values(new, block)
        if lost and old != new:
            self.close_dish(old)

    def serve(self, table: int, dish: int) -> None:
        """Change the dish of a table within its restaurant."""
        old, before = self.store.table_dish(table), self.store.table_before(table)
        self.store.serve_dish(table, dish)
        self._inverses.append(partial(self._serve_again, table, old, before))

    def _serve_again(self, table: int, dish: int, before: int) -> None:
        self.store.serve_dish(table, dish)
        self.store.place_after(table, before)


def can_copy(bank: Any) -> bool:
    """Whether a bank copies the statistics of a dish; one of whole numbers need not."""
    return hasattr(bank, "copy_of")
