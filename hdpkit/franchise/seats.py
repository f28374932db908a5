"""The seating: its store, the temporary labelled store for moves, and the walks over both."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.support.turn import Block
from hdpkit._compiled.walk.counts_walk import CountsWalk
from hdpkit._compiled.walk.slots import DishSlots
from hdpkit._compiled.walk.walk import Walk
from hdpkit.checks import choice, flag, instance
from hdpkit.franchise.counts_rules import tables_at_end
from hdpkit.franchise.guard import changes
from hdpkit.franchise.kernels import KERNELS
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.reference.counts_walk import CountsReferenceWalk
from hdpkit.franchise.reference.walk import ReferenceWalk
from hdpkit.franchise.root import Root
from hdpkit.franchise.serving import Serving
from hdpkit.franchise.state import State
from hdpkit.franchise.turns import Turns
from hdpkit.random import ChoiceSource
from hdpkit.stores import Detail, KeepsCells, detail_of
from hdpkit.stores.frozen import Draws, FrozenCells, FrozenSeating

__all__ = ["Seats"]

_NOBODY = np.empty(0, dtype=np.int32)  # a walk over cells doesn't seat single customers


class Seats(Owner):
    """Stores of a franchise and the walks over them."""

    def __init__(self, state: State, turns: Turns, root: Root, serving: Serving) -> None:
        super().__init__(state)
        self.turns = turns
        self.root = root
        self.serving = serving
        self._walks: dict[Any, tuple[Any, Any]] = {}

    # ------------------------------------------------------------------ walks

    def walk(self, kernel: str | None = None) -> Any:
        """The walk through the tree over the present seating, compiled or (kernel "reference") readable."""
        kernel = (
            self.serving.of("reseat")[0]
            if kernel is None
            else choice("kernel", kernel, KERNELS, remedy="Leave it out.")
        )
        state = self.state
        over = (state.seating, state.hyperparameters)
        key = (kernel == "reference", state._lent is None, self.root._kind())
        kept = self._walks.get(key)
        if kept is None or kept[0][0] is not over[0] or kept[0][1] is not over[1]:
            kept = self._walks[key] = over, self.over(state.seating, state.slots, kernel)
        self.turns.outside()
        return kept[1]

    def over(self, store: Any, slots: DishSlots, kernel: str) -> Any:
        """Return a new walk over this store and these slots."""
        state = self.state
        t, theta, d = state.topology, state.hyperparameters.theta, state.hyperparameters.d
        above = self.root._for_walk(kernel)
        home = _NOBODY if isinstance(store, KeepsCells) else t.home
        # A walk over a store of cells seats no customers, and needs no distribution of tables.
        counts = detail_of(store) is Detail.COUNTS and not isinstance(store, KeepsCells)
        counts = counts and not tables_at_end(store, self.root.kind, t.n_levels)
        if kernel == "reference":
            return (CountsReferenceWalk if counts else ReferenceWalk)(store, slots, t, theta, d, above)
        if counts:
            return CountsWalk(store, slots, t.parent, home, theta, d, above, t.declaration)
        return Walk(store, slots, t.parent, home, theta, d, above)

    def memory_bytes(self) -> int:
        """Bytes that walks hold: ratios of Stirling numbers."""
        walks = [walk for _, walk in self._walks.values() if isinstance(walk, CountsWalk)]
        return int(sum(walk.memory_bytes() for walk in walks))

    # ------------------------------------------------------------------ stores

    def new_store(self, labelled: bool = False) -> Any:
        """An empty store of the right size; with ``labelled``, one that keeps seats."""
        state = self.state
        if labelled:
            return state._own(self.serving.table_store_type(state.topology.n_all, state.topology.n_nodes))
        return state._store_for(state.topology, state.measure, state.bank)

    def clear(self) -> npt.NDArray[np.int32]:
        """Unseat all customers except those of known components; returns the slots of these."""
        state = self.state
        known = state._known
        if known is None:
            state.store.clear()
            return np.empty(0, dtype=np.int32)
        by_cell = isinstance(state.store, KeepsCells)
        state.store.thaw(known.alone(state.topology, detail_of(state.store), by_cell))
        return np.arange(known.n, dtype=np.int32)

    def in_detail(
        self,
        seating: dict[str, Any],
        detail: Detail,
        source: ChoiceSource | None = None,
        discount: Any = None,
    ) -> dict[str, Any]:
        """Return a frozen seating in the form of a store with this detail.

        For a form with more detail a source is needed: the missing detail is drawn, given the discounts of
        the restaurants.
        """
        topology = self.state.topology
        frozen = FrozenSeating.of(seating)
        if frozen.DETAIL is detail and not isinstance(frozen, FrozenCells):
            return seating
        if detail < frozen.DETAIL:
            return frozen.to(detail, topology).arrays()
        draws = Draws(*(self.serving.of(verb)[1] for verb in ("draw_sizes", "seat_out")))
        return frozen.to(detail, topology, source, draws, discount).arrays()

    # ------------------------------------------------------------------ customers of cells

    @changes
    def tell_apart(self) -> None:
        """From now on store the dish of each customer, if only numbers of customers were stored.

        With ``store="counts"``, weights of the root and a corpus made from counts, a franchise keeps the
        number of customers for each document, term and dish. All orders of them are equally likely; the order
        is drawn from a key that each sweep over cells draws. Verbs for single customers call this method.
        """
        if isinstance(self.state.store, KeepsCells):
            self.turns.changing(self._tell_apart)

    def _tell_apart(self) -> None:
        state = self.state
        counts = self.in_detail(state.store.freeze(), Detail.COUNTS)
        state._by_cell = False
        bank = state._bank_for(state.measure, state.data)
        store = self.new_store()
        store.thaw(counts)
        slots = state.slots.occupied_slots()
        bank.rebuild(state._for_bank(counts["dish"]), slots)
        state.slots.attach(bank)
        state.bank, state.store = bank, store

    # ------------------------------------------------------------------ seating out

    def out(self, source: ChoiceSource, sizes: bool = False) -> Block:
        """See `Franchise.seated_out`."""
        instance("source", source, ChoiceSource, "a choice source", remedy="Moves are given one.")
        flag("sizes", sizes)
        enough = Detail.SIZES if sizes else Detail.SEATS
        return Block(self.turns.turn, self.state, lambda: self._lend(source, enough), self.give_back)

    def _lend(self, source: ChoiceSource, enough: Detail) -> bool:
        """Begin a block; returns whether there is anything to undo at its end."""
        self.turns.outside()
        state = self.state
        if detail_of(state.store) >= enough or state._lent is not None:
            return False
        self.tell_apart()
        labelled = self.in_detail(state.store.freeze(), Detail.SEATS, source, state.hyperparameters.d)
        working = self.new_store(labelled=True)
        working.thaw(labelled)
        state._lent = working
        return True

    def give_back(self, lent: bool) -> None:
        """End a block. The labelled seating is kept until the store is updated, so this can be repeated."""
        state = self.state
        if lent and state._lent is not None:
            state.store.thaw(self.in_detail(state._lent.freeze(), detail_of(state.store)))
            self._walks = {key: kept for key, kept in self._walks.items() if key[1]}
            state._lent = None
