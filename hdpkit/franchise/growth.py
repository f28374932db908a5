"""Data that come and go: restaurants are made as contexts appear and freed when nobody belongs to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import whole_number
from hdpkit.data import GroupedData, NGrams
from hdpkit.errors import DataError, DeclarationError
from hdpkit.franchise.contexts import ContextTopology
from hdpkit.franchise.verbs import FranchiseVerbs
from hdpkit.random import ChoiceSource, Purpose, Seed

__all__ = ["FranchiseGrowth"]

Floats = npt.NDArray[np.float64]


class FranchiseGrowth(FranchiseVerbs):
    """Franchises over n-gram data take in more sentences, and let go of some."""

    def extend(self, data: GroupedData, rng: ChoiceSource | Seed = None) -> None:
        """Go over to data that continue the present ones, and seat the new customers by their predictive.

        Restaurants are made for contexts that were not there. If seating fails (or is interrupted) the
        franchise goes back to the data that it had.

        Parameters
        ----------
        data : NGrams
            For instance ``franchise.data.plus(sentences)``: the same customers, and more after them.
        rng : seed, Generator or choice source
            A number gives the same state again after the same calls. A second call with that number draws
            other words: calls with a seed are counted, and the count is part of the state.

        Raises
        ------
        DataError
            If the first customers are not the present ones.
        """
        topology = self._growing()
        before, n = self.data, topology.n_customers
        assert isinstance(before, NGrams)
        if not isinstance(data, NGrams) or not _continues(data, before):
            raise DataError(
                "data", data, f"n-grams of order {before.order}, the {n} present customers first",
                "Build them with franchise.data.plus(sentences).",
            )  # fmt: skip
        measure = self.restaurant_declared.measure.for_data(data)
        source = self._own_source(rng, Purpose.EXTEND)
        with self.turn():
            seating, dishes = self.store.freeze(), self._dishes_now()
            theta, d = self._concentration, self._discount
            topology.extend(data)
            self._adopt_data(data, measure)
            self._new_hyperparameters(np.arange(len(theta)), theta, d)
            self.store.grow(topology.n_customers, topology.n_nodes)
            if measure.atomic and hasattr(self.store, "observe"):
                bank: Any = self.bank
                self.store.observe(bank.values)
            self._replaced(*dishes)
        try:
            self.in_chunks(n, topology.n_customers, lambda first, last: self.enter(first, last, source))
        except BaseException:
            old = ContextTopology(topology.n_levels, before)
            self._replace(old, before, seating, np.arange(len(theta)), dishes)
            raise

    def discard(self, first: int, last: int, rng: ChoiceSource | Seed = None) -> None:
        """Take sentences first .. last - 1 out for good; later customers move up, empty contexts are freed.

        Parameters
        ----------
        first, last : int
            Of `data`'s sentences; ``last`` is excluded.
        rng : seed, Generator or choice source
            A store without table numbers draws from which table a customer leaves. Calls with a seed are
            counted, as those of `extend` are.
        """
        topology = self._growing()
        data: Any = self.data
        whole_number("first", first, 0, data.n_sentences, remedy="Sentences count from 0.")
        whole_number(
            "last", last, first, data.n_sentences, remedy="Sentences count from 0; last is excluded."
        )
        shorter = data.without(first, last)
        gone = slice(int(data.offsets[first]), int(data.offsets[last]))
        self.leave(gone.start, gone.stop, self._own_source(rng, Purpose.DISCARD))
        seating = self.store.freeze()
        fewer = ContextTopology(topology.n_levels, shorter)
        to = topology.numbers_in(fewer)
        of_customer, of_node = ("seat", "table_node") if "seat" in seating else ("dish", "bin_node")
        seating[of_customer] = np.delete(seating[of_customer], gone)
        seating[of_node] = to[seating[of_node]]
        self._replace(fewer, shorter, seating, to, self._dishes_now())

    def _growing(self) -> ContextTopology:
        if not isinstance(self.topology, ContextTopology):
            raise DeclarationError(
                "franchise", self, "over n-grams, with restaurants each='context 1', 'context 2', ...",
                "Build a new franchise over all the data.",
            )  # fmt: skip
        return self.topology

    def _dishes_now(self) -> tuple[Any, Any, Any]:
        """Slots that are occupied, slots that are held, and what of the bank doesn't follow from the data."""
        return self.slots.occupied_slots(), self.slots.held_slots(), self.bank.freeze()

    def _replace(
        self,
        topology: ContextTopology,
        data: NGrams,
        seating: dict[str, Any],
        to: npt.NDArray[Any],
        dishes: tuple[Any, Any, Any],
    ) -> None:
        """Go over to a tree in which restaurant r of the present one is to[r], and to a seating there."""
        theta, d = self._concentration[: len(to)], self._discount[: len(to)]
        with self.turn():
            self.topology = topology
            self._adopt_data(data, self.restaurant_declared.measure.for_data(data))
            self._new_hyperparameters(to, theta, d)
            self.store = self._new_store()
            self.store.thaw(seating)
            self._replaced(*dishes)

    def _adopt_data(self, data: NGrams, measure: Any) -> None:
        """Take over data and the measure that is ready for them; walks are made anew when they are needed.

        Dishes and their statistics are still to be told (`_replaced`).
        """
        present = self.base_parameters
        self.data = data
        self.measure = measure.with_parameters(**present) if present else measure
        self.bank = self.measure.bank(data)
        self._walks.clear()
        self._functions.clear()
        self._longest = -1

    def _new_hyperparameters(self, to: npt.NDArray[Any], theta: Floats, d: Floats) -> None:
        """Arrays for the present restaurants: old ones keep theirs, new ones get their level's or a start."""
        self._concentration = np.empty(self.topology.n_nodes)
        self._discount = np.empty(self.topology.n_nodes)
        old_levels = np.full(self.topology.n_nodes, -1, dtype=np.int64)
        kept = to >= 0
        old_levels[to[kept]] = self.topology.level[to[kept]]
        for new, old, place in ((self._concentration, theta, 0), (self._discount, d, 1)):
            for number, declaration in enumerate(self.declarations):
                declared = declaration.hyperparameters[place]
                survivors = np.flatnonzero(old_levels == number)
                value = declared.start
                if len(survivors) and not declared.each:
                    value = float(old[kept][np.flatnonzero(to[kept] == survivors[0])[0]])
                new[self.topology.nodes(number)] = value
            new[to[kept]] = old[kept]


def _continues(data: NGrams, before: NGrams) -> bool:
    """Whether the first customers of data are those of data before, contexts included."""
    n = len(before)
    if data.order != before.order or len(data) < n or not np.array_equal(data.values[:n], before.values):
        return False
    if tuple(data.vocabulary[: len(before.vocabulary)]) != tuple(before.vocabulary):
        return False
    step = 1 << 16
    return all(
        np.array_equal(data.contexts(i, min(i + step, n)), before.contexts(i, min(i + step, n)))
        for i in range(0, n, step)
    )
