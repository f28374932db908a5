"""Adding and removing data: restaurants are created for new contexts and removed for empty ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import whole_number
from hdpkit.data import GroupedData, NGrams
from hdpkit.errors import DataError, DeclarationError
from hdpkit.franchise.contexts import ContextTopology
from hdpkit.franchise.guard import changes
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.parts import Parts
from hdpkit.franchise.state import State, measure_of
from hdpkit.franchise.statistics import Statistics
from hdpkit.franchise.turns import Turns
from hdpkit.franchise.verbs import Verbs
from hdpkit.random import ChoiceSource, Purpose, Seed
from hdpkit.stores import FrozenSeating

__all__ = ["Growth"]

Floats = npt.NDArray[np.float64]


class Growth(Owner):
    """Replaces the data of a franchise over n-grams: adds or removes sentences."""

    def __init__(
        self, state: State, turns: Turns, statistics: Statistics, parts: Parts, verbs: Verbs
    ) -> None:
        super().__init__(state)
        self.turns = turns
        self.statistics = statistics
        self.parts = parts
        self.verbs = verbs
        self._going_over: Any = None  # the new data, while the change is in progress

    @changes
    def extend(self, data: GroupedData, rng: ChoiceSource | Seed = None) -> None:
        """Replace the data by a continuation, and seat the new customers with their predictive probabilities.

        Restaurants are created for new contexts. If seating fails (or is interrupted) the franchise returns
        to its previous data.

        Parameters
        ----------
        data : NGrams
            For instance ``franchise.data.plus(sentences)``: the same customers, followed by others.
        rng : seed, Generator or choice source
            The same seed gives the same state after the same calls. A second call with this seed uses other
            random numbers: calls with a seed are counted, and the count is part of the state.

        Raises
        ------
        DataError
            If the first customers are not those of the current data.
        """
        state = self.state
        topology = self._growing()
        before, n = state.data, topology.n_customers
        assert isinstance(before, NGrams)
        if not isinstance(data, NGrams) or not _continues(data, before):
            raise DataError(
                "data", data, f"n-grams of order {before.order}, the {n} present customers first",
                "Build them with franchise.data.plus(sentences).",
            )  # fmt: skip
        source = state._own_source(rng, Purpose.EXTEND)
        seating = state.store.freeze()
        theta, d = state.hyperparameters.theta, state.hyperparameters.d
        same = np.arange(len(theta))
        back = (topology, before, seating, same, theta, d, self._dishes_now())
        grown = topology.extended(data)
        seating = FrozenSeating.of(seating).with_customers(grown.n_customers - n).arrays()
        try:
            # After an exception, here or below, the next use undoes the change.
            self._going_over = back
            self.turns.turn.whole = False
            self._replace(grown, data, seating, same, theta, d, self._dishes_now())
            self.verbs.in_chunks(
                n, grown.n_customers, lambda first, last: self.verbs.enter(first, last, source)
            )
            self._going_over = None
        except BaseException:
            self.go_over()
            raise

    @changes
    def discard(self, first: int, last: int, rng: ChoiceSource | Seed = None) -> None:
        """Remove sentences first .. last - 1 permanently.

        Later customers are renumbered, and empty contexts are freed.

        Parameters
        ----------
        first, last : int
            Sentences of `data`; ``last`` is excluded.
        rng : seed, Generator or choice source
            A store of sizes draws the table that a customer leaves. Calls with a seed are counted as in
            `extend`.
        """
        state = self.state
        topology = self._growing()
        data: Any = state.data
        whole_number("first", first, 0, data.n_sentences, remedy="Sentences are numbered from 0.")
        whole_number(
            "last", last, first, data.n_sentences, remedy="Sentences are numbered from 0; last is excluded."
        )
        shorter = data.without(first, last)
        gone = slice(int(data.offsets[first]), int(data.offsets[last]))
        source = state._own_source(rng, Purpose.DISCARD)
        theta, d = state.hyperparameters.theta, state.hyperparameters.d
        seating, same = state.store.freeze(), np.arange(len(theta))
        try:
            self._going_over = (topology, data, seating, same, theta, d, self._dishes_now())
            self.turns.turn.whole = False
            self.verbs.leave(gone.start, gone.stop, source)
            seated = FrozenSeating.of(state.store.freeze())
            fewer = ContextTopology(topology.n_levels, shorter)
            to = topology.numbers_in(fewer)
            seating = seated.without(gone, to).arrays()
            self._going_over = (fewer, shorter, seating, to, theta, d, self._dishes_now())
        finally:
            self.go_over()

    def _growing(self) -> ContextTopology:
        self.state._not_lent("given other data")
        if not isinstance(self.state.topology, ContextTopology):
            raise DeclarationError(
                "franchise", self.state, "over n-grams, with restaurants each='context 1', 'context 2', ...",
                "Build a new franchise over all the data.",
            )  # fmt: skip
        return self.state.topology

    def _dishes_now(self) -> tuple[Any, Any, Any, Any]:
        """Occupied slots, held slots, the frozen state of the bank, and the states of parts."""
        slots = self.state.slots
        return slots.occupied_slots(), slots.held_slots(), self.state.bank.freeze(), self.parts.freeze()

    def take_values(self, values: Any) -> None:
        """Replace the values of the customers, whose seats don't change."""
        self.turns.within(self._take_values, values)

    def _take_values(self, values: Any) -> None:
        state, dishes = self.state, self._dishes_now()
        data = state.data.with_values(values)
        measure = measure_of(state.measure, "for_data", state.measure.for_data(data))
        vars(state).update(data=data, measure=measure, bank=state._bank_for(measure, data))
        self.turns.changing(self.statistics.replaced, *dishes)

    def go_over(self) -> None:
        """Change to the new data. It can be repeated: nothing changes before all objects are complete."""
        if self._going_over is not None:
            self.turns.at_rest()  # an exception may have ended a verb without that
            self._replace(*self._going_over)
            self._going_over = None

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
        """Change to a tree in which restaurant r of the present one is to[r], and to a seating there."""
        state = self.state
        present = self.statistics.base_parameters
        measure = state.restaurant_declared.measure.for_data(data)
        measure = measure.with_parameters(**present) if present else measure
        bank = state._bank_for(measure, data)
        store = state._store_for(topology, measure, bank)
        store.thaw(seating)
        hyperparameters = state.hyperparameters.over(topology, to, theta, d)
        vars(state).update(
            topology=topology, data=data, measure=measure, bank=bank, store=store,
            hyperparameters=hyperparameters,
        )  # fmt: skip
        self.turns.changing(self.statistics.replaced, *dishes)


def _continues(data: NGrams, before: NGrams) -> bool:
    """Whether the first customers of data, with their contexts, are those of the previous data."""
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
