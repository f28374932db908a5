"""The verbs of a franchise, which moves call. Each runs on the kernel chosen from the table."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import whole_numbers
from hdpkit.errors import HdpkitError, ParameterError, StateError
from hdpkit.franchise.audit import audit
from hdpkit.franchise.by_cell import BY_CELL
from hdpkit.franchise.counts_rules import check_weights, tables_at_end
from hdpkit.franchise.declarations import kind_of_root
from hdpkit.franchise.frozen_seating import cell_counts, with_one_table_each
from hdpkit.franchise.guard import changes
from hdpkit.franchise.held import Held
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.root import Root
from hdpkit.franchise.seats import Seats
from hdpkit.franchise.serving import Serving
from hdpkit.franchise.state import State
from hdpkit.franchise.statistics import Statistics
from hdpkit.franchise.turns import Turns
from hdpkit.franchise.verb_arguments import check_range, check_source
from hdpkit.random import ChoiceSource
from hdpkit.random._source import Asked
from hdpkit.stores import Detail, detail_of

__all__ = ["Verbs"]

Ints = npt.NDArray[np.int32]

_DRAW_TABLES = frozenset(
    {
        "enter",
        "enter_given",
        "reseat",
        "slice_sweep",
        "cell_sweep",
        "topics_part",
        "slice_part",
        "settle_parts",
        "leave",
        "draw_tables",
        "draw_tables_by_dish",
    }
)
CHUNK_SECONDS = 0.1  # a verb over many customers returns to Python about this often (Ctrl-C, progress)
# By kernel, if it must not depend on the clock.
LARGEST_CHUNK = {"fused": 1 << 16, "generic": 1 << 12, "reference": 1 << 8}


class Verbs(Owner):
    """Verbs over many customers. Customers are data customers, in data order.

    `Franchise` has the same methods, which take its turn.
    """

    def __init__(
        self,
        state: State,
        turns: Turns,
        root: Root,
        serving: Serving,
        seats: Seats,
        statistics: Statistics,
        held: Held,
    ) -> None:
        super().__init__(state)
        self.turns = turns
        self.root = root
        self.serving = serving
        self.seats = seats
        self.statistics = statistics
        self.held = held

    def run(
        self,
        verb: str,
        *arguments: Any,
        walk: bool = True,
        source: ChoiceSource | None = None,
        prepare: bool = False,
    ) -> Any:
        """Run a verb on its kernel, and repair the state if it fails.

        Parameters
        ----------
        verb : str
        arguments
            Arguments of the kernel, after the walk and before the source.
        walk : bool
            Whether the walk is passed to the kernel.
        source : ChoiceSource, optional
        prepare : bool
            Whether the bank needs the source: parameters may be drawn.
        """
        state = self.state
        if verb not in BY_CELL and state._by_cell:
            counted = state.bank  # by cell; the verb needs a bank by customer
            self.seats.tell_apart()
            arguments = tuple(state.bank if one is counted else one for one in arguments)
        kernel, function = self.serving.of(verb)
        self.turns.outside()
        state._changes += 1
        if verb in _DRAW_TABLES:
            declared = kind_of_root(self.root.declared)
            check_weights(state.seating, declared, self.root._kind(), verb, state.topology.n_levels)
        if self.statistics.stale:
            self.statistics.catch_up()
        if kernel != "reference":
            self._trust_seating()
        if kernel == "reference" and source is not None and source.overridden:
            source = Asked(source)
        if prepare and source is not None:
            state.bank.prepare(source)
        state.slots.source = source
        before = self.statistics.before_failure()
        reseated = arguments[1:3] if verb == "reseat" else (0, 0)
        given = (self.seats.walk(kernel), *arguments) if walk else arguments
        outermost = self.turns.torn is None
        if source is not None:
            given = (*given, source)
        try:
            done = self.turns.changing(self.turns.inside, verb, kernel, function, *given, reseated=reseated)
        except BaseException as error:
            # Kernels complete the seating; statistics may be incomplete if a measure failed.
            self.statistics.mend(error, before)
            if outermost and isinstance(error, HdpkitError):
                # The verb raised its own error: customers who were unseated before may still be unseated.
                self.turns.torn = None
            drawn = next((a for a in given if isinstance(a, ChoiceSource)), None)
            failure = None if drawn is None else drawn._failure()
            if failure is not None and isinstance(error, FloatingPointError):
                raise failure from None
            raise
        self.statistics.surface()
        if state._waiting:
            state._waiting.intersection_update(self.statistics.open_dishes())
        return done

    def _trust_seating(self) -> None:
        """Audit a seating that was changed by methods of the store, before compiled code uses it."""
        seating = self.state.seating
        if getattr(seating, "touched", False):
            audit(self.state, self.statistics.parts)
            seating.touched = False

    @changes
    def in_chunks(self, first: int, last: int, verb: Callable[[int, int], None]) -> None:
        """Run a verb over first .. last - 1 in short pieces, between which Ctrl-C and progress are handled.

        Parameters
        ----------
        first, last : int
            The range.
        verb : callable
            Called with the begin and end (excluded) of each piece.
        """
        start, total, size = first, max(last - first, 1), 256
        # Over counts each piece ends with draws of tables, and the chain must not depend on the machine's
        # speed.
        largest = LARGEST_CHUNK[self.serving.of("reseat")[0]] if self.draws_tables else 0
        while start < last:
            began = time.perf_counter()
            end = min(start + size, last)
            verb(start, end)
            took = time.perf_counter() - began
            if largest:
                size = min(2 * size, largest)
            elif took < CHUNK_SECONDS / 2:
                size *= 2
            elif took > CHUNK_SECONDS:
                size = max(1, size // 2)
            start = end
            if self.state.on_pulse is not None:
                self.state.on_pulse((start - first) / total)

    @changes
    def enter(self, first: int, last: int, source: ChoiceSource) -> None:
        """Seat unseated customers in order, from their predictive given the seated ones.

        Parameters
        ----------
        first, last : int
            Customers first .. last - 1, in data order.
        source : ChoiceSource
            The ``rng`` that a move is given.

        Raises
        ------
        ParameterError
            If it isn't a range of customers, or no choice source.
        """
        check_range(first, last, self.state.topology.n_customers)
        check_source(source)
        self.run("enter", self.state.bank, first, last, source=source, prepare=True)

    @changes
    def enter_given(self, dishes: Ints, first: int, last: int, source: ChoiceSource) -> None:
        """Seat unseated customers in order, from the prior given their dishes (occupied slots).

        Parameters
        ----------
        dishes : int32 array, shape (n_customers,)
            Slot of each customer's dish, which is occupied; only those of the range are used.
        first, last : int
            Customers first .. last - 1, in data order.
        source : ChoiceSource
            The ``rng`` that a move is given.

        Raises
        ------
        ParameterError
            If a slot is not occupied; if dishes are observed and a dish is not the customer's value.
        """
        check_range(first, last, self.state.topology.n_customers)
        check_source(source)
        n = self.state.topology.n_customers
        # Only these customers are checked, because a start runs in pieces.
        if isinstance(dishes, np.ndarray) and dishes.dtype == np.int32 and dishes.shape == (n,):
            given = np.ascontiguousarray(dishes)
        else:
            given = whole_numbers(
                "dishes",
                dishes,
                -1,
                2**31 - 2,
                np.int32,
                length=n,
                remedy="Give one slot per customer: see open_dish.",
            )
        if not self._occupied(given[first:last]):
            raise ParameterError("dishes", dishes, "occupied slots, one per customer", "See open_dish.")
        self.state._dish_kind.check_given(given, first, last)
        if self.state._known is not None:
            values = np.asarray(self.state.data.values)[first:last]
            self.state._known.check_possible(values, given[first:last], "dishes")
            given = np.append(given, np.full(self.state._known.n, -1, dtype=np.int32))
        self.run("enter_given", self.state.bank, given, first, last, source=source)

    @changes
    def enter_cells(self, runs: Ints, dish: Ints, count: Ints, cells: Any, source: ChoiceSource) -> None:
        """Seat all customers of an empty franchise, given the numbers of customers by cell and dish.

        For starts over counts by cell. With two levels, tables are drawn given the customers. With more
        levels every dish of a restaurant has one table until a move draws the numbers of tables.

        Parameters
        ----------
        runs, dish, count : int32 arrays
            As returned by `CellsStore.cell_runs`; dishes are occupied slots.
        cells : Cells
            Cells of the data.
        source : ChoiceSource
            The ``rng`` that a move is given.
        """
        check_source(source)
        self.turns.changing(self._enter_cells, runs, dish, count, cells)
        if self.draws_tables:
            self.draw_tables(0, self.state.topology.n_nodes, source)

    def _enter_cells(self, runs: Ints, dish: Ints, count: Ints, cells: Any) -> None:
        state = self.state
        found = {"cell_runs": runs, "run_dish": dish, "run_count": count}
        base = int(dish.max()) + 1
        topology: Any = state.topology
        keys, customers = cell_counts(found, cells, base, topology.first[-1])
        known = np.arange(topology.n_all - topology.n_customers)  # each has one customer at the root
        keys, customers = with_one_table_each(
            np.append(known, keys), np.append(np.ones_like(known), customers), base, topology
        )
        columns = (keys // base, keys % base, customers, np.ones_like(keys))
        names = ("count_node", "count_dish", "count_customers", "count_tables")
        found |= {name: column.astype(np.int32) for name, column in zip(names, columns, strict=True)}
        state.store.thaw({**found, "cell_key": np.zeros(4, dtype=np.int32)})
        state._changes += 1
        self.statistics.recount()

    @changes
    def reseat(self, first: int, last: int, source: ChoiceSource) -> None:
        """Table Gibbs for customers first .. last - 1, in order.

        Parameters
        ----------
        first, last : int
            Customers first .. last - 1, in data order.
        source : ChoiceSource
            The ``rng`` that a move is given.

        Raises
        ------
        ParameterError
            If it isn't a range of customers, or no choice source.
        StateError
            If some of them are held.
        """
        check_range(first, last, self.state.topology.n_customers)
        check_source(source)
        self.held.check_free(first, last)
        self.run("reseat", self.state.bank, first, last, source=source, prepare=True)

    @property
    def draws_tables(self) -> bool:
        """Whether tables are drawn given the customers (`draw_tables`).

        True for a store of counts with two levels, unless the root is a restaurant.
        """
        state = self.state
        return tables_at_end(state.seating, kind_of_root(self.root.declared), state.topology.n_levels)

    @property
    def counts_tables(self) -> bool:
        """Whether the state has only numbers of tables.

        True for a store of counts under a restaurant, or with more than two levels.
        """
        return detail_of(self.state.seating) is Detail.COUNTS and not self.draws_tables

    @changes
    def draw_tables(self, first: int, last: int, source: ChoiceSource) -> None:
        """Draw the tables of restaurants first .. last - 1 given their customers.

        For a store of counts, if the root has weights.

        Verbs that seat or unseat customers call this at their end for the customers' restaurants.

        Parameters
        ----------
        first, last : int
            Restaurants first .. last - 1, by number.
        source : ChoiceSource
            The ``rng`` that a move is given.

        Raises
        ------
        StateError
            If tables are part of the state: over any other store, or if the root is a restaurant.
        """
        check_range(first, last, self.state.topology.n_nodes)
        check_source(source)
        self._need_counts()
        self.run("draw_tables", first, last, source=source)

    @changes
    def draw_tables_by_dish(self, source: ChoiceSource) -> None:
        """The same for all restaurants by binomial draws; they must have the same concentration."""
        check_source(source)
        self._need_counts()
        self.run("draw_tables_by_dish", source=source)

    @changes
    def leave(self, first: int, last: int, source: ChoiceSource) -> None:
        """Unseat the seated ones of customers first .. last - 1, and every table that closes.

        Parameters
        ----------
        first, last : int
            Customers first .. last - 1, in data order.
        source : ChoiceSource
            The ``rng`` that a move is given.

        Raises
        ------
        ParameterError
            If it isn't a range of customers, or no choice source.
        StateError
            If some of them are held.
        """
        check_range(first, last, self.state.topology.n_customers)
        check_source(source)
        self.held.check_free(first, last)
        self.run("leave", self.state.bank, first, last, source=source)

    @changes
    def open_dish(self, source: ChoiceSource | None = None) -> int:
        """Create a dish without customers; the caller must seat some immediately.

        Until it has customers, `freeze` and `copy` raise a StateError, and `settle` and verbs that need the
        seating of customers raise one and close it.

        Parameters
        ----------
        source : ChoiceSource, optional
            For draws of parts of the state at a birth; needed if the root has weights.

        Returns
        -------
        int
            Its slot.

        Raises
        ------
        StateError
            If there is no source and the root has weights. An exception of a part is raised unchanged, after
            the dish is closed.
        """
        self.check_latent()
        if source is not None:
            check_source(source)
        elif self.root.kind == "weights":
            raise StateError(
                "source", None, "a choice source where the root has weights: the weight of the dish is drawn",
                "Pass the rng that the move is given: open_dish(rng).",
            )  # fmt: skip
        self.state.slots.source = source
        try:
            slot = int(self.state.slots.open())
        finally:
            self.state.slots.source = None
        if self.state.slots.trouble is not None:
            self.state.slots.close(slot)
            self.statistics.surface()
        self.state._waiting.add(slot)
        return slot

    def _occupied(self, dishes: Ints) -> bool:
        return bool(np.isin(dishes, self.state.slots.occupied_slots()).all())

    def check_latent(self) -> None:
        """Raise an error if dishes are observed."""
        self.state._dish_kind.check_latent()

    def _need_counts(self) -> None:
        if not self.draws_tables:
            raise StateError(
                "store", type(self.state.seating).__name__, "one of counts, two levels, root='weights'",
                "With any other, tables are part of the state: leave the call out.",
            )  # fmt: skip
