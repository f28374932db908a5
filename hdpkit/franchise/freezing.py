"""The frozen state of a franchise: its conversion to arrays and numbers, and back; transactions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit._compiled.support.franchise_lock import Transaction
from hdpkit.base_measures.bank import KeepsParameters
from hdpkit.checks import instance
from hdpkit.errors import StateError
from hdpkit.franchise.frozen import check_frozen
from hdpkit.franchise.guard import reopens, unguarded
from hdpkit.franchise.reading import Reading
from hdpkit.franchise.statistics import unserved
from hdpkit.parts import IntegrablePart
from hdpkit.random import ChoiceSource, Streams
from hdpkit.stores import FrozenCells, FrozenSeating, KeepsCells, detail_of

__all__ = ["Freezing"]

# Objects of a franchise that some changes replace, rather than change.
_REPLACED = ("data", "topology", "measure", "bank", "store", "hyperparameters", "_by_cell")


@attrs.frozen(eq=False)
class Kept:
    """The state that a failed change goes back to: the objects that may be replaced, and what is in them."""

    objects: Mapping[str, Any]
    frozen: dict[str, Any]


class Freezing(Reading):
    """Freezes and thaws the state of a franchise."""

    def __init__(self, *declared: Any) -> None:
        super().__init__(*declared)
        self._kept: Kept | None = None  # within a run or a transaction

    def freeze(self) -> dict[str, Any]:
        """The complete state as arrays and numbers; a franchise that thaws it continues exactly."""
        self._not_lent("frozen")
        if empty := self._open_dishes():
            raise unserved(empty, "the state is frozen")
        streams, slots = self.streams, self.slots
        return {
            "seating": self.store.freeze(self.data._empty_row),
            "slots": slots.occupied_slots(),
            "held": np.array(slots.held_slots(), dtype=np.int32),
            # Observed dishes are atoms, whose ids are their numbers.
            **({} if self.measure.atomic else {"dish_ids": slots.ids(), "births": slots.n_births()}),
            "concentration": self.hyperparameters.theta.copy(),
            "discount": self.hyperparameters.d.copy(),
            "measure": self.base_parameters,
            "bank": self.bank.freeze(),
            "sweep": self.sweep,
            # No call had a seed in most states.
            **({"seeded_calls": self.seeded_calls} if self.seeded_calls else {}),
            **({"held_groups": self.held_nodes} if self._any_held else {}),
            "streams": None if streams is None else {"seed": streams.seed, "chain": streams.chain},
            "components": self._parts.freeze(),
        }

    @reopens
    def thaw(self, frozen: Mapping[str, Any], source: ChoiceSource | None = None) -> None:
        """Restore a state returned by `freeze`, of a franchise of this shape; also of a closed franchise.

        A state from a store with more detail (sizes have more than counts, seats more than sizes) is reduced
        to that of this store. In the opposite case the missing detail is drawn, which requires a ``source``.
        Missing weights of the root are also drawn. If this fails half way, the franchise is closed.

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
        seating = self.check_frozen(frozen)
        if source is not None:
            instance(
                "source", source, ChoiceSource, "a choice source, or None", remedy="Moves are given one."
            )
        for name, part in self._parts.by_name.items():
            if isinstance(part, IntegrablePart) and source is None and name not in frozen["components"]:
                raise StateError(
                    "source", None, f"a choice source, where a frozen state has no {name}",
                    "They are drawn. Pass one: thaw(state, source).",
                )  # fmt: skip
        self._take_over({**frozen, "seating": seating}, source)

    def _take_over(self, frozen: Mapping[str, Any], source: ChoiceSource | None = None) -> None:
        """Restore a state that was already checked (exact tests restore the same states very often)."""
        self._outside()
        self._not_lent("thawed")
        self._lock.reopen(self._restore, frozen, source, self._lock.closed)

    def _restore(self, frozen: Mapping[str, Any], source: ChoiceSource | None, failed: bool) -> None:
        """Replace everything that changes. If a change ``failed``, nothing is assumed of the state before."""
        if failed:
            self._abandon()
        streams = Streams(**frozen["streams"]) if frozen["streams"] else self.streams
        discount = np.asarray(frozen["discount"], dtype=np.float64)
        seating = frozen["seating"]
        if isinstance(self.store, KeepsCells) and not isinstance(FrozenSeating.of(seating), FrozenCells):
            self._count_by_customer()
        if not isinstance(self.store, KeepsCells):
            seating = self._in_detail(seating, detail_of(self.store), source, discount)
        values = frozen["measure"]
        if values != self.base_parameters:
            self.measure = self._with_parameters(values)
        self.bank.adopt(self.measure)
        self.store.thaw(seating)
        self.hyperparameters.replace(frozen["concentration"], frozen["discount"])
        self.sweep = int(frozen["sweep"])
        self.seeded_calls = int(frozen.get("seeded_calls", 0))
        self.streams = streams
        self.held_nodes = self._check_frozen_held(frozen)
        slots, parts = np.asarray(frozen["slots"], dtype=np.int32), frozen["components"]
        ids, births = (None, 0) if self.measure.atomic else (frozen["dish_ids"], frozen["births"])
        self._replaced(slots, frozen["held"], frozen["bank"], parts, source, ids, births)

    def _abandon(self) -> None:
        """End what a failed change had begun outside the seating."""
        self.data.check_unchanged()  # mapped data that have changed must not be read
        self._verb = self._lent = self.on_pulse = None
        self.slots.source = self.slots.trouble = None
        if getattr(self.store, "busy", False):
            self.store.busy = False
        self._walks = {}
        for part in self._parts.values():
            if isinstance(part, IntegrablePart):
                part.integrated = None

    def check_frozen(self, frozen: Any) -> dict[str, npt.NDArray[np.int32]]:
        """Raise a DataError unless a state is consistent and has this shape, before its arrays are used.

        Returns the seating as arrays for a store.
        """
        observed = self._dish_kind.frozen()
        seating = check_frozen(frozen, self.topology, self._starting, observed, self.declarations)
        self._check_discount(np.asarray(frozen["discount"])[1:], frozen=True)
        self.root._check_number("slots, in the frozen state", len(frozen["slots"]), frozen=True)
        self._check_frozen_held(frozen)
        if self._known is not None:
            kept = FrozenSeating.of(seating)
            self._known.check_frozen(frozen, None if isinstance(kept, FrozenCells) else kept.dishes)
        bank: Any = self.bank
        if isinstance(bank, KeepsParameters):
            bank.check_frozen(frozen["bank"], frozen["slots"])
        return seating

    # ------------------------------------------------------------------ transactions

    @unguarded
    def transaction(self) -> Transaction:
        """Return a block that either completes or leaves the franchise as it was.

        A verb that fails outside a run leaves the franchise closed: every use raises a ClosedError until
        `thaw`, or a start, replaces the state. After an exception in this block the state at its beginning
        is restored instead, and the exception is passed on. The state is copied at the beginning. Blocks can
        be nested. At its beginning, a franchise that was closed within a run or a transaction goes back to
        the state at the last end of a sweep, or at the beginning of that transaction.

        Examples
        --------
        >>> with franchise.transaction():  # doctest: +SKIP
        ...     franchise.reseat(0, 10, source)
        """
        return Transaction(self._lock, self)

    def _keep(self) -> Kept:
        """Keep the current state, for `_go_back`."""
        there = vars(self)
        return Kept({name: there[name] for name in _REPLACED}, self.freeze())

    def _go_back(self, kept: Kept) -> None:
        """Restore a kept state; called by `FranchiseLock.reopen`."""
        vars(self).update(kept.objects)
        self.streams = None  # unless the state has streams
        self._restore(kept.frozen, None, True)
