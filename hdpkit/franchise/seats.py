"""The seating: its store, the kernels and walks over it, and the temporary labelled store for moves."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

import hdpkit._compiled.stores.labelled_seating as compiled
from hdpkit._compiled.support.franchise_lock import Block
from hdpkit._compiled.walk.counts_walk import CountsWalk
from hdpkit._compiled.walk.slots import DishSlots
from hdpkit._compiled.walk.walk import Walk
from hdpkit.checks import choice, flag, instance
from hdpkit.franchise.declarations import check_weights, kind_of_root, tables_at_end
from hdpkit.franchise.guard import changes, unguarded
from hdpkit.franchise.kernels import (
    COMPILED_BANKS,
    COMPILED_STORES,
    KERNELS,
    VERBS,
    Row,
    choose_kernel,
    is_compiled,
    register_kernel,
    register_verb,
)
from hdpkit.franchise.reference.counts_walk import CountsReferenceWalk
from hdpkit.franchise.reference.walk import ReferenceWalk
from hdpkit.franchise.state import State
from hdpkit.random import ChoiceSource
from hdpkit.stores import Detail, ExplicitReference, ExplicitStore, KeepsCells, detail_of
from hdpkit.stores.frozen import Draws, FrozenCells, FrozenSeating
from hdpkit.stores.reference import labelled_seating as reference

__all__ = ["KernelChoice", "Seats"]

for _verb in ("draw_sizes", "seat_out"):
    register_verb(_verb)
register_kernel(
    Row(
        "generic",
        SimpleNamespace(draw_sizes=compiled.draw_sizes, seat_out=compiled.seat_out),
        COMPILED_STORES,
        COMPILED_BANKS,
    )
)
register_kernel(
    Row("reference", SimpleNamespace(draw_sizes=reference.draw_sizes, seat_out=reference.seat_out))
)


class KernelChoice(State):
    """Rows of the kernel table, cached until a condition on which they depend changes."""

    def __init__(self, *declared: Any) -> None:
        super().__init__(*declared)
        self._kernels: dict[str, tuple[str, Callable[..., Any]]] = {}
        # Seating, hyperparameters and their version, bank, measure, and the source of integrated weights, for
        # which the kernels were chosen.
        self._kernels_for: tuple[Any, ...] = (None,) * 6

    def kernel(self, verb: str) -> str:
        """Name of the kernel that runs a verb: "fused", "generic" or "reference"."""
        return self._kernel_of(verb)[0]

    @property
    def _table_store_type(self) -> Any:
        """The type of store that verbs which need table numbers run on."""
        kind = self.store_type
        if detail_of(kind) is Detail.SEATS:
            return kind
        return getattr(kind, "LABELLED_STORE", ExplicitStore if is_compiled(kind) else ExplicitReference)

    def _kernel_of(self, verb: str) -> tuple[str, Callable[..., Any]]:
        """Name and function of the kernel that runs a verb."""
        weights, numbers = self.root._weights, self.hyperparameters
        integrated = getattr(weights, "integrated", None)
        found, seating = self._kernels_for, self.store if self._lent is None else self._lent
        if (
            found[0] is not seating
            or found[1] is not numbers
            or found[2] != numbers.version
            or found[3] is not self.bank
            or found[4] is not self.measure
            or found[5] is not integrated
        ):
            self._kernels = {}
            self._kernels_for = seating, numbers, numbers.version, self.bank, self.measure, integrated
        if not isinstance(verb, str) or verb not in self._kernels:
            self._kernels[verb] = self._choose_kernel(verb)
        return self._kernels[verb]

    def _choose_kernel(self, verb: str) -> tuple[str, Callable[..., Any]]:
        choice("verb", verb, VERBS, remedy="See docs/extending.md.")
        root, levels = self.root._kind(), self.topology.n_levels
        if VERBS[verb].draws_tables:
            check_weights(self.seating, kind_of_root(self.root.declared), root, verb, levels)
        store = self._table_store_type if VERBS[verb].needs_tables else self.store_type
        numbers, tree = self.hyperparameters, self.topology.kind
        return choose_kernel(verb, self.forced_kernel, store, self.bank, levels, numbers, root, tree)

    def _check_forced_kernel(self) -> None:
        """Raise a KernelError if a forced kernel doesn't support the franchise."""
        if self.forced_kernel in ("generic", "fused"):
            self._kernel_of("reseat")


_NOBODY = np.empty(0, dtype=np.int32)  # a walk over cells doesn't seat single customers


class Seats(KernelChoice):
    """Stores of a franchise and the walks over them."""

    def __init__(self, *declared: Any) -> None:
        super().__init__(*declared)
        self._walks: dict[Any, tuple[Any, Any, Any]] = {}

    # ------------------------------------------------------------------ walks

    def walk(self, kernel: str | None = None) -> Any:
        """The walk through the tree over the current seating, compiled or (kernel "reference") readable."""
        self._outside()
        return self._walk_of(kernel)

    def _walk_of(self, kernel: str | None = None) -> Any:
        """The walk of a kernel."""
        if not isinstance(kernel, str) or kernel not in KERNELS:
            kernel = self._kernel_of("reseat")[0] if kernel is None else kernel
            choice("kernel", kernel, KERNELS, remedy="Leave it out.")
        readable, integrated = kernel == "reference", getattr(self.root._weights, "integrated", None)
        seating = self.store if self._lent is None else self._lent
        key = readable, self._lent is None, integrated is None
        kept = self._walks.get(key)
        if kept is None or kept[0] is not seating or kept[1] is not self.hyperparameters:
            walk = self._walk_over(seating, self.slots, kernel)
            kept = self._walks[key] = seating, self.hyperparameters, walk
        return kept[2]

    def _walk_over(self, store: Any, slots: DishSlots, kernel: str) -> Any:
        """Return a new walk over this store and these slots."""
        t, theta, d = self.topology, self.hyperparameters.theta, self.hyperparameters.d
        above = self.root._for_walk(kernel)
        # A walk over a store of cells seats no customers, and needs no distribution of tables.
        counts = detail_of(store) is Detail.COUNTS and not isinstance(store, KeepsCells)
        counts = counts and not tables_at_end(store, self.root.kind, t.n_levels)
        if kernel == "reference":
            return (CountsReferenceWalk if counts else ReferenceWalk)(store, slots, t, theta, d, above)
        home = _NOBODY if isinstance(store, KeepsCells) else t.home
        if counts:
            return CountsWalk(store, slots, t.parent, home, theta, d, above, t.declaration)
        return Walk(store, slots, t.parent, home, theta, d, above)

    def _walk_bytes(self) -> int:
        """Bytes that walks hold: ratios of Stirling numbers."""
        walks = [walk for _, _, walk in self._walks.values() if isinstance(walk, CountsWalk)]
        return int(sum(walk.memory_bytes() for walk in walks))

    # ------------------------------------------------------------------ stores

    def _new_store(self, labelled: bool = False) -> Any:
        """An empty store of the right size; with ``labelled``, one that keeps seats."""
        if labelled:
            return self._own(self._table_store_type(self.topology.n_all, self.topology.n_nodes))
        return self._store_for(self.topology, self.measure, self.bank)

    def _unseat_all(self) -> npt.NDArray[np.int32]:
        """Unseat all customers except those of known components; returns the slots of these."""
        known = self._known
        if known is None:
            self.store.clear()
            return np.empty(0, dtype=np.int32)
        by_cell = isinstance(self.store, KeepsCells)
        self.store.thaw(known.alone(self.topology, detail_of(self.store), by_cell))
        return np.arange(known.n, dtype=np.int32)

    def _in_detail(
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
        topology = self.topology
        frozen = FrozenSeating.of(seating)
        if frozen.DETAIL is detail and not isinstance(frozen, FrozenCells):
            return seating
        if detail < frozen.DETAIL:
            return frozen.to(detail, topology).arrays()
        draws = Draws(*(self._kernel_of(verb)[1] for verb in ("draw_sizes", "seat_out")))
        return frozen.to(detail, topology, source, draws, discount).arrays()

    # ------------------------------------------------------------------ customers of cells

    @changes
    def expand_cells(self) -> None:
        """From now on store the dish of each customer, if only numbers of customers were stored.

        With ``store="counts"``, weights of the root and a corpus made from counts, a franchise keeps the
        number of customers for each document, term and dish. All orders of them are equally likely; the order
        is drawn from a key that each sweep over cells draws. Verbs for single customers call this method.
        """
        if isinstance(self.store, KeepsCells):
            self._change(self._expand_cells)

    def _expand_cells(self) -> None:
        counts = self._in_detail(self.store.freeze(), Detail.COUNTS)
        self._count_by_customer()
        self.store.thaw(counts)
        self.bank.rebuild(self._for_bank(counts["dish"]), self.slots.occupied_slots())
        self.slots.attach(self.bank)

    def _count_by_customer(self) -> None:
        """Replace the store of cells by an empty one of customers, and the bank by one for it."""
        self._by_cell = False
        self.bank = self._bank_for(self.measure, self.data)
        self.store = self._new_store()

    # ------------------------------------------------------------------ seating out

    @unguarded
    def labelled_seating(self, source: ChoiceSource, sizes: bool = False) -> Block:
        """Use a labelled seating within a block.

        For a store of counts or sizes, a labelled seating is drawn given its state, and reduced to counts or
        sizes again at the end. Nested blocks share one seating.

        Parameters
        ----------
        source : ChoiceSource
            The ``rng`` of a move.
        sizes : bool
            Whether sizes of tables are enough; a store of sizes then needs no labelled seating.
        """
        instance("source", source, ChoiceSource, "a choice source", remedy="Moves are given one.")
        flag("sizes", sizes)
        enough = Detail.SIZES if sizes else Detail.SEATS
        return Block(self._lock, lambda: self._change(self._lend, source, enough), self._give_back)

    def _lend(self, source: ChoiceSource, enough: Detail) -> bool:
        """Begin a block; returns whether there is anything to undo at its end."""
        if detail_of(self.store) >= enough or self._lent is not None:
            return False
        self.expand_cells()
        labelled = self._in_detail(self.store.freeze(), Detail.SEATS, source, self.hyperparameters.d)
        working = self._new_store(labelled=True)
        working.thaw(labelled)
        self._lent = working
        return True

    def _give_back(self, lent: bool) -> None:
        """End a block, unless a state was thawed meanwhile."""
        if lent and self._lent is not None:
            self.store.thaw(self._in_detail(self._lent.freeze(), detail_of(self.store)))
            self._walks = {key: kept for key, kept in self._walks.items() if key[1]}
            self._lent = None
