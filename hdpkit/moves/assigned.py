"""Sweeps in which a move assigns dishes to customers of documents, given topics and weights of the root.

Dishes that a move may assign are those with a weight above a bound, some of them without customers: which
they are depends on the weights only, not on the seating. Customers of other dishes keep theirs. So a move
that leaves the law of the documents given topics and weights invariant is exact, also where it empties a dish
or gives a new one its first customer. (Among the dishes that have customers it would not be: a dish that it
empties could never come back.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from hdpkit._count_changes import write_sparse
from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.errors import StateError
from hdpkit.franchise.state import State
from hdpkit.random import RandomStream
from hdpkit.steps._table_counts import tables_drawn

MOVE, TABLES = 0, 1  # last words of the streams of a document


@attrs.frozen(eq=False)
class Assignment:
    """The documents of a franchise, and what they have in common, while a move assigns dishes."""

    topics: Floats  # shape (K, V): drawn topics of the dishes that may be assigned
    weights: Floats  # shape (K,): their weights in the root
    key: tuple[int, int]  # key of the streams of documents
    numbers: Int64s  # shape (n,): number in the corpus of each document with customers of these dishes
    concentrations: Floats  # shape (n,): concentration of each of them
    ends: Int64s  # shape (n + 1,): their customers, those of document i at ends[i] .. ends[i + 1] - 1.
    # customers and terms and rows: for each of these customers its number, its term, and the row of its
    # dish in ``topics``
    customers: Int64s
    terms: Int32s
    rows: Int64s

    def stream(self) -> RandomStream:
        """A stream for all documents, one after the other: see `at`."""
        return RandomStream(self.key)

    def at(self, stream: RandomStream, i: int) -> None:
        """Move a stream to the start of that of document i."""
        stream.rekey(*self.key, int(self.numbers[i]) + 1, MOVE, 0)


class Assigned:
    """A sweep of a move that assigns dishes to labels of a plan with at least the weight ``plan.least``."""

    def __init__(self, plan: Any, key: tuple[int, int]) -> None:
        self.plan = plan
        self.given = plan.weights >= plan.least
        self.slots: Int32s = plan.slots[self.given]
        self.weights: Floats = plan.weights[self.given]
        self.key = key
        self._places = self._changes = np.zeros(0, dtype=np.int64)

    def assignment(self, state: State, topics_of: Callable[[Int32s], Floats]) -> Assignment:
        """The documents, given a function that returns the drawn topics of some slots."""
        plan, slots = self.plan, self.slots
        row = np.full(int(plan.slots.max()) + 1, -1, dtype=np.int64)
        row[slots] = np.arange(len(slots))
        drawn = ~plan.known.is_frozen(slots)
        topics = np.empty((len(slots), plan.measure.n_terms))
        if plan.topics is None:
            topics[drawn] = topics_of(slots[drawn])
        else:  # powers of topics, whose sums matter
            topics[drawn] = plan.topics[self.given][drawn]
        plan.known.fill(topics, slots)
        values, home = np.asarray(plan.values), np.asarray(state.topology.home)[: len(plan.values)]
        rows = row[self._dishes(state)]
        free = (rows >= 0) & (home > 0) & ~plan.holds(home)
        customers = np.flatnonzero(free)
        if np.any(np.diff(home[customers]) < 0):
            customers = customers[np.argsort(home[customers], kind="stable")]
        nodes, begins = np.unique(home[customers], return_index=True)
        return Assignment(
            topics,
            self.weights,
            self.key,
            nodes.astype(np.int64) + (plan.before - 1),
            np.asarray(state.hyperparameters.theta)[nodes],
            np.append(begins, len(customers)),
            customers,
            values[customers],
            rows[customers],
        )

    def assign(self, state: State, found: Assignment, rows: Int64s) -> tuple[Int64s, Int64s]:
        """Give customers the dishes of these rows of ``topics``, and draw the tables of all documents.

        Returns changes of the customers of each slot, and of the root's customers: int64, shape (n_slots,).
        Dishes, the root and the counts of terms don't change until the changes of all parts are added up.
        """
        state.n_changes += 1
        slots, n_slots = self.slots, int(self.plan.slots.max()) + 1
        moved = np.flatnonzero(rows != found.rows)
        before, after = slots[found.rows[moved]].astype(np.int64), slots[rows[moved]].astype(np.int64)
        self._count(found.terms[moved].astype(np.int64) * n_slots, before, after)
        frozen = state.store.freeze()
        dish = frozen["dish"].copy()
        dish[found.customers[moved]] = after
        node, slot, customers = _entries(state, dish, n_slots)
        tables = self._tables(state, node, slot, customers, n_slots)
        at_root = frozen["count_node"] == 0
        below = {"count_node": node, "count_dish": slot, "count_customers": customers, "count_tables": tables}
        change = np.zeros(n_slots, dtype=np.int64)
        np.add.at(change, slot, tables)
        np.subtract.at(change, frozen["count_dish"][~at_root], frozen["count_tables"][~at_root])
        state.store.thaw(
            {"dish": dish}
            | {name: np.append(frozen[name][at_root], own).astype(np.int32) for name, own in below.items()}
        )
        return np.bincount(after, minlength=n_slots) - np.bincount(before, minlength=n_slots), change

    def block(self, number: int, n_blocks: int) -> bytes:
        """Changes of the counts of a block of terms, as of `DocumentWorkspace.take_changes`."""
        n_terms, n_slots = self.plan.measure.n_terms, int(self.plan.slots.max()) + 1
        bounds = [n_terms * i // n_blocks * n_slots for i in (number, number + 1)]
        first, last = np.searchsorted(self._places, bounds)
        found: bytes = write_sparse(self._places[first:last], self._changes[first:last])
        return found

    def _dishes(self, state: State) -> Int32s:
        """Slots of the data customers' dishes; raises a StateError if one is unseated."""
        dishes: Int32s = state.store.dishes()[: len(self.plan.values)]
        if np.any(dishes < 0):
            raise StateError(
                "customer", int(np.argmin(dishes)), "seated",
                "Start the franchise, or seat the customer first.",
            )  # fmt: skip
        return dishes

    def _count(self, of_terms: Int64s, before: Int64s, after: Int64s) -> None:
        """Changes of counts by term and slot."""
        places, at = np.unique(np.append(of_terms + before, of_terms + after), return_inverse=True)
        changes = np.zeros(len(places), dtype=np.int64)
        np.add.at(changes, at, np.repeat([-1, 1], len(before)))
        self._places, self._changes = places[changes != 0], changes[changes != 0]

    def _tables(self, state: State, node: Int64s, slot: Int64s, customers: Int64s, n_slots: int) -> Int64s:
        """Draw the tables of each document and dish given its customers, from the document's stream."""
        plan, stream = self.plan, RandomStream(self.key)
        weight = np.zeros(n_slots)
        weight[plan.slots] = plan.weights
        mass = np.asarray(state.hyperparameters.theta)[node] * weight[slot]
        tables = np.ones(len(node), dtype=np.int64)
        several = np.flatnonzero(customers > 1)
        last = -1
        for i, document, a, n in zip(
            several.tolist(), node[several].tolist(), mass[several].tolist(), customers[several].tolist(),
            strict=True,
        ):  # fmt: skip
            if document != last:
                stream.rekey(*self.key, plan.before + document, TABLES, 0)
                last = document
            tables[i] = tables_drawn(a, n, stream, False)
        return tables


def _entries(state: State, dish: Int32s, n_slots: int) -> tuple[Int64s, Int64s, Int64s]:
    """Document, dish and customers of each document and dish, ascending."""
    home = np.asarray(state.topology.home)[: len(dish)]
    cells, customers = np.unique((home.astype(np.int64) * n_slots + dish)[home > 0], return_counts=True)
    return cells // n_slots, cells % n_slots, customers
