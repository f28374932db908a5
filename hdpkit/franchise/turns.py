"""Who may touch a franchise, and what is taken back when an exception comes in between."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from hdpkit._compiled.support.turn import Block, Claim, Inside
from hdpkit._compiled.walk.slots import DishSlots
from hdpkit.base_measures import BaseMeasure, StatisticsBank
from hdpkit.checks import instance
from hdpkit.data import GroupedData
from hdpkit.errors import ChangedDataError
from hdpkit.franchise.contexts import ContextTopology
from hdpkit.franchise.guard import changes, unguarded
from hdpkit.franchise.mending import Mending
from hdpkit.franchise.recovery import restore
from hdpkit.franchise.topology import Topology
from hdpkit.franchise.weights import Weights
from hdpkit.random import ChoiceSource, Streams
from hdpkit.stores import Detail, detail_of
from hdpkit.stores.frozen import Draws, FrozenSeating

if TYPE_CHECKING:
    from hdpkit.franchise.core import FranchiseCore

__all__ = ["FranchiseTurns"]

CHUNK_SECONDS = 0.1  # a verb over many customers returns to Python about this often (Ctrl-C, progress)
# By kernel, where it may not depend on the clock.
LARGEST_CHUNK = {"fused": 1 << 16, "generic": 1 << 12, "reference": 1 << 8}


class FranchiseTurns(Mending):
    """The turn of a franchise: taken by one thread, for a verb, a read, a block or a run."""

    # What changes with the state is handed out to the thread whose turn it is.
    store: Any = Inside()
    slots: DishSlots = Inside()
    bank: StatisticsBank = Inside()
    # Values that are replaced and never changed: every thread may read them, though not replace them.
    data: GroupedData = Inside(readable=True)
    measure: BaseMeasure = Inside(readable=True)
    topology: Topology | ContextTopology = Inside(readable=True)
    sweep: int = Inside(readable=True)
    attempt: int = Inside(readable=True)
    seeded_calls: int = Inside(readable=True)
    streams: Streams | None = Inside(readable=True)
    on_pulse: Callable[[float], None] | None = Inside()

    _torn: tuple[bool, tuple[int, int]] | None
    _functions: dict[str, Any]
    _seated_out: Any
    _weights: Weights | None
    _walks: dict[Any, Any]

    if TYPE_CHECKING:  # of `FranchiseCore`

        def _outside(self) -> None: ...
        def _at_rest(self) -> None: ...
        def _served(self, verb: str) -> tuple[str, Callable[..., Any]]: ...
        def _new_store(self, with_tables: bool = False) -> Any: ...

    @unguarded
    def turn(self) -> Block:
        """Take the franchise for one thread, for the length of a block.

        Another thread gets a BusyError, and so does this one where another works with the franchise. It waits
        for no more than a read that is under way.
        """
        return Block(self._turn, self)

    def _claim(self) -> Claim:
        """The claim of a run, which keeps other runs and other threads away between its sweeps, too."""
        return Claim(self._turn)

    def _within(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function while this thread has the franchise, which is given back whatever happens."""
        return self._turn.call(self, function, arguments)

    def _prepare(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that checks, and then runs; no other run can come in between."""
        return self._turn.prepare(function, *arguments)

    def _changing(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        everybody: bool = False,
        reseated: tuple[int, int] = (0, 0),
    ) -> Any:
        """Call a function that leaves the state whole only at its end.

        If it never gets there, whoever uses the franchise next makes it whole (`recovery.restore`, which has
        the other arguments).
        """
        self._outside()
        outermost = self._torn is None
        if outermost:
            self._torn = everybody, reseated
            self._turn.whole = False
        done = function(*arguments)
        if outermost:
            self._torn = None
        return done

    def _make_whole(self) -> None:
        """Take back what was begun and never ended.

        An exception of a signal handler can come at any byte code, of what takes back, too. So whatever is to
        be taken back is still to be seen in the state, and whoever uses the franchise next does it, or goes
        on with it.
        """
        self.on_pulse = None
        self._at_rest()
        try:
            self.data.check_unchanged()
        except ChangedDataError:  # what is mapped may not be looked at any more
            return
        for slot in self.slots.reserved_slots():
            self._uncounted = True
            with contextlib.suppress(Exception):  # of the bank
                self.slots.release(slot)
        if self._torn is not None:
            self._functions.clear()
            restore(cast("FranchiseCore", self), *self._torn)
            self._torn = None
        self._seat_back(True)
        self._draw_root(True)
        if self._uncounted:
            with contextlib.suppress(Exception):  # a measure that fails; the next verb tries again
                self.recount()
        self._turn.whole = True

    @changes
    def in_chunks(self, first: int, last: int, verb: Callable[[int, int], None]) -> None:
        """Run a verb over first .. last - 1 in pieces short enough to answer Ctrl-C and show progress."""
        start, total, size = first, max(last - first, 1), 256
        # Over counts each piece ends with a draw of tables: a chain may not depend on the machine's speed.
        counts = detail_of(self.seating) is Detail.COUNTS
        largest = LARGEST_CHUNK[cast("FranchiseCore", self).kernel("reseat")] if counts else 0
        while start < last:
            began = time.perf_counter()
            end = min(start + size, last)
            verb(start, end)
            took = time.perf_counter() - began
            if counts:
                size = min(2 * size, largest)
            elif took < CHUNK_SECONDS / 2:
                size *= 2
            elif took > CHUNK_SECONDS:
                size = max(1, size // 2)
            start = end
            if self.on_pulse is not None:
                self.on_pulse((start - first) / total)

    # ------------------------------------------------------------------ root weights

    @unguarded
    def root_integrated(self, source: ChoiceSource) -> Block:
        """Integrate the weights of the root out for the length of a block, and draw them anew at its end.

        Within the block the root is a Chinese restaurant. A move that leaves the posterior of seating and
        hyperparameters invariant there, followed by a draw of the weights given both, leaves the posterior of
        all invariant. Where the root has no weights the block does nothing; nested blocks are one.
        """
        instance("source", source, ChoiceSource, "a choice source", remedy="Moves are given one.")
        return Block(self._turn, self, lambda: self._integrate_root(source), self._draw_root)

    def _integrate_root(self, source: ChoiceSource) -> bool:
        self._outside()
        if self._weights is None or self._weights.integrated is not None:
            return False
        self._functions.clear()
        self._weights.integrated = source
        return True

    def _draw_root(self, integrated: bool) -> None:
        """End the block. The weights are drawn before they count, so that this may be done again."""
        weights = self._weights
        if integrated and weights is not None and weights.integrated is not None:
            weights.draw(weights.integrated)
            self._functions.clear()
            weights.integrated = None

    # ------------------------------------------------------------------ seating out

    @unguarded
    def seated_out(self, source: ChoiceSource) -> Block:
        """Know who sits where for the length of a block.

        A store of counts or sizes lends its state to one of seats: a labelled seating is drawn given what it
        keeps, and reduced to that again at the end. Nested blocks share one seating.
        """
        instance("source", source, ChoiceSource, "a choice source", remedy="Moves are given one.")
        return Block(self._turn, self, lambda: self._seat_out(source), self._seat_back)

    def _seat_out(self, source: ChoiceSource) -> bool:
        """Begin a block of `seated_out`; returns whether there is anything to take back."""
        self._outside()
        if detail_of(self.store) is Detail.SEATS or self._seated_out is not None:
            return False
        labelled = self._in_detail(self.store.freeze(), Detail.SEATS, source)
        working = self._new_store(with_tables=True)
        working.thaw(labelled)
        self._seated_out = working
        return True

    def _in_detail(
        self, seating: dict[str, Any], detail: Detail, source: ChoiceSource | None = None
    ) -> dict[str, Any]:
        """Return a seating that a store froze in the form of a store of this detail.

        For more detail than it has a source is needed: what is missing is drawn.
        """
        frozen = FrozenSeating.of(seating)
        if frozen.DETAIL is detail:
            return seating
        if detail < frozen.DETAIL:
            return frozen.to(detail, self.topology).arrays()
        draws = Draws(*(self._served(verb)[1] for verb in ("draw_sizes", "seat_out")))
        return frozen.to(detail, self.topology, source, draws).arrays()

    def _seat_back(self, seated_out: bool) -> None:
        """End it. The labelled seating is kept until the store has it, so that this may be done again."""
        if seated_out and self._seated_out is not None:
            self.store.thaw(self._in_detail(self._seated_out.freeze(), detail_of(self.store)))
            self._walks = {key: walk for key, walk in self._walks.items() if key[1]}
            self._seated_out = None
