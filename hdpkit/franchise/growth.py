"""Data that come and go: restaurants are made as contexts appear and freed when nobody belongs to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import whole_number
from hdpkit.data import GroupedData, NGrams
from hdpkit.errors import DataError, DeclarationError
from hdpkit.franchise.contexts import ContextTopology
from hdpkit.franchise.guard import changes
from hdpkit.franchise.verbs import FranchiseVerbs
from hdpkit.random import ChoiceSource, Purpose, Seed
from hdpkit.stores import FrozenSeating

__all__ = ["FranchiseGrowth"]

Floats = npt.NDArray[np.float64]


class FranchiseGrowth(FranchiseVerbs):
    """Franchises over n-gram data take in more sentences, and let go of some."""

    @changes
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
        source = self._own_source(rng, Purpose.EXTEND)
        seating = self.store.freeze()
        theta, d = self._concentration, self._discount
        same = np.arange(len(theta))
        back = (topology, before, seating, same, theta, d, self._dishes_now())
        grown = topology.extended(data)
        seating = FrozenSeating.of(seating).with_customers(grown.n_customers - n).arrays()
        try:
            # Whoever comes after an exception, here or below, takes it all back.
            self._going_over = back
            self._turn.whole = False
            self._replace(grown, data, seating, same, theta, d, self._dishes_now())
            self.in_chunks(n, grown.n_customers, lambda first, last: self.enter(first, last, source))
            self._going_over = None
        except BaseException:
            self._go_over()
            raise

    @changes
    def discard(self, first: int, last: int, rng: ChoiceSource | Seed = None) -> None:
        """Take sentences first .. last - 1 out for good; later customers move up, empty contexts are freed.

        Parameters
        ----------
        first, last : int
            Of `data`'s sentences; ``last`` is excluded.
        rng : seed, Generator or choice source
            A store of sizes draws from which table a customer leaves. Calls with a seed are
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
        source = self._own_source(rng, Purpose.DISCARD)
        theta, d = self._concentration, self._discount
        seating, same = self.store.freeze(), np.arange(len(theta))
        try:
            self._going_over = (topology, data, seating, same, theta, d, self._dishes_now())
            self._turn.whole = False
            self.leave(gone.start, gone.stop, source)
            seated = FrozenSeating.of(self.store.freeze())
            fewer = ContextTopology(topology.n_levels, shorter)
            to = topology.numbers_in(fewer)
            seating = seated.without(gone, to).arrays()
            self._going_over = (fewer, shorter, seating, to, theta, d, self._dishes_now())
        finally:
            self._go_over()

    def _growing(self) -> ContextTopology:
        self._not_seated_out("given other data")
        if not isinstance(self.topology, ContextTopology):
            raise DeclarationError(
                "franchise", self, "over n-grams, with restaurants each='context 1', 'context 2', ...",
                "Build a new franchise over all the data.",
            )  # fmt: skip
        return self.topology

    def _dishes_now(self) -> tuple[Any, Any, Any, Any]:
        """Occupied slots, held slots, what of the bank doesn't follow from the data, and states of parts."""
        parts = {name: part.freeze() for name, part in self._components.items()}
        return self.slots.occupied_slots(), self.slots.held_slots(), self.bank.freeze(), parts

    def _go_over(self) -> None:
        """Go over to what was decided on; it may be begun again, for nothing changes before all is there."""
        if self._going_over is not None:
            self._replace(*self._going_over)
            self._going_over = None

    def _make_whole(self) -> None:
        self._go_over()
        super()._make_whole()

    def _replace(
        self,
        topology: ContextTopology,
        data: NGrams,
        seating: dict[str, Any],
        to: npt.NDArray[Any],
        theta: Floats,
        d: Floats,
        dishes: tuple[Any, Any, Any, Any],
    ) -> None:
        """Go over to a tree in which restaurant r of the present one is to[r], and to a seating there.

        Walks are made anew when they are needed.
        """
        present = self.base_parameters
        measure = self.restaurant_declared.measure.for_data(data)
        measure = measure.with_parameters(**present) if present else measure
        bank = self._new_bank(measure, data)
        store = self._store_for(topology, measure, bank)
        store.thaw(seating)
        concentration, discount = self._hyperparameters_for(topology, to, theta, d)
        vars(self).update(
            topology=topology, data=data, measure=measure, bank=bank, store=store, _walks={}, _functions={},
            _longest=-1, _concentration=concentration, _discount=discount,
        )  # fmt: skip
        self._changing(self._replaced, *dishes)

    def _hyperparameters_for(
        self, topology: ContextTopology, to: npt.NDArray[Any], theta: Floats, d: Floats
    ) -> list[Floats]:
        """Arrays for these restaurants: old ones keep theirs, new ones get their level's or a start."""
        old_levels = np.full(topology.n_nodes, -1, dtype=np.int64)
        kept = to >= 0
        old_levels[to[kept]] = topology.level[to[kept]]
        made = []
        for old, place in ((theta, 0), (d, 1)):
            new = np.empty(topology.n_nodes)
            for number, declaration in enumerate(self.declarations):
                declared = declaration.hyperparameters[place]
                survivors = np.flatnonzero(old_levels == number)
                value = declared.start
                if len(survivors) and not declared.each:
                    value = float(old[kept][np.flatnonzero(to[kept] == survivors[0])[0]])
                new[topology.nodes(number)] = value
            new[to[kept]] = old[kept]
            made.append(new)
        return made


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
