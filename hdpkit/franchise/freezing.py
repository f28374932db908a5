"""Frozen states: conversion of the complete state to arrays and numbers, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.walk.slots import DishSlots
from hdpkit.base_measures.bank import KeepsParameters
from hdpkit.checks import instance
from hdpkit.errors import StateError
from hdpkit.franchise.frozen import check_frozen
from hdpkit.franchise.guard import changes
from hdpkit.franchise.held import Held
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.parts import Parts
from hdpkit.franchise.seats import Seats
from hdpkit.franchise.state import State
from hdpkit.franchise.statistics import Statistics, unserved
from hdpkit.franchise.turns import Turns
from hdpkit.parts import IntegrablePart
from hdpkit.random import ChoiceSource, Streams
from hdpkit.stores import FrozenCells, FrozenSeating, KeepsCells, detail_of

__all__ = ["Freezing"]


class Freezing(Owner):
    """Freezes and thaws the state of a franchise."""

    def __init__(
        self,
        state: State,
        turns: Turns,
        seats: Seats,
        statistics: Statistics,
        parts: Parts,
        held: Held,
    ) -> None:
        super().__init__(state)
        self.turns = turns
        self.seats = seats
        self.statistics = statistics
        self.parts = parts
        self.held = held

    def freeze(self) -> dict[str, Any]:
        """The complete state as arrays and numbers; a franchise that thaws it continues exactly."""
        state = self.state
        state._not_lent("frozen")
        if empty := self.statistics.open_dishes():
            raise unserved(empty, "the state is frozen")
        streams = state.streams
        return {
            "seating": state.store.freeze(),
            "slots": state.slots.occupied_slots(),
            "held": np.array(state.slots.held_slots(), dtype=np.int32),
            # Observed dishes are atoms, whose ids are their numbers.
            **({} if state.measure.atomic else _births(state.slots)),
            "concentration": state.hyperparameters.theta.copy(),
            "discount": state.hyperparameters.d.copy(),
            "measure": self.statistics.base_parameters,
            "bank": self.statistics.fresh_bank().freeze(),
            "sweep": state.sweep,
            "attempt": state.attempt,
            # States of earlier versions have none: no call had a seed.
            **({"seeded_calls": state.seeded_calls} if state.seeded_calls else {}),
            **({"held_groups": state.held_nodes} if self.held.any else {}),
            "streams": None if streams is None else {"seed": streams.seed, "chain": streams.chain},
            "components": self.parts.freeze(),
        }

    @changes
    def thaw(self, frozen: Mapping[str, Any], source: ChoiceSource | None = None) -> None:
        """Restore a state returned by `freeze`, of a franchise of this shape.

        A state from a store with more detail (sizes have more than counts, seats more than sizes) is reduced
        to that of this store. In the opposite case the missing detail is drawn, which requires a ``source``.
        Missing weights of the root are also drawn. If memory runs out on the way, a MemoryError is raised and
        no customer is seated; thaw a state again, or start.

        Parameters
        ----------
        frozen : mapping
            The result of `freeze`.
        source : ChoiceSource, optional
            For drawing missing parts of the state.

        Raises
        ------
        DataError
            If it is not a state of a franchise of this shape.
        StateError
            If something is missing, and there is no source.
        """
        seating = self.check(frozen)
        if source is not None:
            instance(
                "source", source, ChoiceSource, "a choice source, or None", remedy="Moves are given one."
            )
        for name, part in self.parts.by_name.items():
            if (
                isinstance(part, IntegrablePart)
                and source is None
                and name not in frozen.get("components", {})
            ):
                raise StateError(
                    "source", None, f"a choice source, where a frozen state has no {name}",
                    "They are drawn. Pass one: thaw(state, source).",
                )  # fmt: skip
        self.take_over({**frozen, "seating": seating}, source)

    def take_over(self, frozen: Mapping[str, Any], source: ChoiceSource | None = None) -> None:
        """Restore a state that was already checked (exact tests restore the same states very often)."""
        self.state._not_lent("thawed")
        self.turns.within(self.turns.changing, self._take_over, frozen, source)

    def _take_over(self, frozen: Mapping[str, Any], source: ChoiceSource | None) -> None:
        state = self.state
        streams = Streams(**frozen["streams"]) if frozen.get("streams") else state.streams
        discount = np.asarray(frozen["discount"], dtype=np.float64)
        seating = frozen["seating"]
        if not isinstance(FrozenSeating.of(seating), FrozenCells):
            self.seats.tell_apart()
        if not isinstance(state.store, KeepsCells):
            seating = self.seats.in_detail(seating, detail_of(state.store), source, discount)
        self.statistics.set_base_parameters(**frozen.get("measure", {}))
        state.store.thaw(seating)
        state.hyperparameters.replace(frozen["concentration"], frozen["discount"])
        state.sweep = int(frozen["sweep"])
        state.attempt = int(frozen["attempt"])
        state.seeded_calls = int(frozen.get("seeded_calls", 0))
        state.streams = streams
        state.held_nodes = self.held.check_frozen(frozen)
        slots, parts = np.asarray(frozen["slots"], dtype=np.int32), frozen.get("components", {})
        # States of earlier versions have no ids: their dishes are numbered in the order of slots.
        ids, births = frozen.get("dish_ids", np.arange(len(slots))), frozen.get("births", len(slots))
        bank = frozen.get("bank")
        self.statistics.replaced(slots, frozen["held"], bank, parts, source, ids, births)

    def check(self, frozen: Any) -> dict[str, npt.NDArray[np.int32]]:
        """See `Franchise.check_frozen`."""
        state = self.state
        bank: Any = state.bank
        observed = state._dish_kind.frozen()
        seating = check_frozen(frozen, state.topology, state._starting, observed, state.declarations)
        state._check_discount(np.asarray(frozen["discount"])[1:], frozen=True)
        self.seats.root._check_number("slots, in the frozen state", len(frozen["slots"]), frozen=True)
        self.held.check_frozen(frozen)
        if state._known is not None:
            kept = FrozenSeating.of(seating)
            state._known.check_frozen(frozen, None if isinstance(kept, FrozenCells) else kept.dishes)
        if isinstance(bank, KeepsParameters):
            bank.check_frozen(frozen.get("bank"), frozen["slots"])
        return seating


def _births(slots: DishSlots) -> dict[str, Any]:
    """Lasting ids of the dishes, and the number of births so far."""
    return {"dish_ids": slots.ids(), "births": slots.n_births()}
