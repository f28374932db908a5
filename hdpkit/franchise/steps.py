"""The steps of a franchise, which moves call: over customers, and over blocks of customers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import hdpkit.steps.counts_walk
import hdpkit.steps.state_homes  # noqa: F401 - they attach kernels
from hdpkit._franchise_lock import Block
from hdpkit.arrays import Int32s
from hdpkit.checks import (
    array_in_place,
    as_float,
    flag,
    function,
    instance,
    items,
    whole_number,
    whole_numbers,
)
from hdpkit.errors import ParameterError, StateError
from hdpkit.franchise.declarations import kind_of_root, tables_at_end
from hdpkit.franchise.guard import changes, unguarded
from hdpkit.franchise.held import Held
from hdpkit.random import ChoiceSource
from hdpkit.random._source import Asked
from hdpkit.steps import sweeps, table_counts
from hdpkit.steps._sweeps import Units
from hdpkit.steps.groups import reseat_groups
from hdpkit.steps.step import STEPS, Step
from hdpkit.stores import Detail, detail_of

_OF_GROUPS = "Pass what franchise.groups() returned."


def check_source(source: Any) -> None:
    """Raise an error unless it is a choice source."""
    instance("source", source, ChoiceSource, "a choice source", remedy="Pass the rng that the move is given.")


def check_range(first: int, last: int, n: int) -> None:
    """Raise an error unless first .. last - 1 is a range within 0 .. n - 1."""
    whole_number("first", first, 0, n, remedy=f"A range lies within 0 .. {n}.")
    whole_number("last", last, first, n, remedy=f"A range lies within 0 .. {n}; last is excluded.")


def check_groups(
    groups: Any, first: Any, last: Any, topology: Any
) -> tuple[Int32s, npt.NDArray[np.int64], Int32s]:
    """Check the arrays of groups first .. last - 1; only these, because a sweep runs in pieces."""
    arrays = items("groups", groups, "three arrays", remedy=_OF_GROUPS)
    if len(arrays) != 3 or not all(
        isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu" for array in arrays
    ):
        raise ParameterError("groups", groups, "nodes, begin and customers, three arrays", _OF_GROUPS)
    nodes, begin, customers = arrays
    check_range(first, last, len(nodes))
    if len(begin) != len(nodes) + 1:
        raise ParameterError("groups", begin, f"begin of length {len(nodes) + 1}", _OF_GROUPS)
    bounds = whole_numbers("groups", begin[first : last + 1], 0, len(customers), remedy=_OF_GROUPS)
    sizes = np.diff(bounds)
    if (sizes < 1).any():
        raise ParameterError("groups", bounds, "ascending bounds of groups", _OF_GROUPS)
    t = topology
    here = whole_numbers("groups", nodes[first:last], 0, t.n_nodes - 1, remedy=_OF_GROUPS)
    low, high = (int(bounds[0]), int(bounds[-1])) if len(sizes) else (0, 0)
    who = whole_numbers("groups", customers[low:high], 0, t.n_customers - 1, remedy=_OF_GROUPS)
    inner = np.ones(max(len(who) - 1, 0), dtype=bool)
    inner[bounds[1:-1] - low - 1] = False  # between groups
    if not np.array_equal(t.home[who], np.repeat(here, sizes)) or (np.diff(who) <= 0)[inner].any():
        raise ParameterError("groups", who, "each restaurant's data customers, ascending", _OF_GROUPS)
    return (
        np.ascontiguousarray(nodes, dtype=np.int32),
        np.ascontiguousarray(begin, dtype=np.int64),
        np.ascontiguousarray(customers, dtype=np.int32),
    )


CHUNK_SECONDS = 0.1  # a step over many customers returns to Python about this often (Ctrl-C, progress)
# By kernel, if it must not depend on the clock.
LARGEST_CHUNK = {"fused": 1 << 16, "generic": 1 << 12, "reference": 1 << 8}


class Steps(Held):
    """Steps over many customers. Customers are data customers, in data order."""

    def _run(
        self,
        step: Step,
        *arguments: Any,
        walk: bool = True,
        source: ChoiceSource | None = None,
        prepare: bool = False,
    ) -> Any:
        """Run a step on its kernel; if it fails, the franchise is closed.

        The kernel is called with the walk (unless ``walk`` is False), the arguments and the source. With
        ``prepare`` the bank needs the source: parameters may be drawn.
        """
        if not (self._customers.single or step.by_cell):
            counted = self.bank  # by cell; the step needs a bank by customer
            self.expand_cells()
            arguments = tuple(self.bank if one is counted else one for one in arguments)
        kernel, function = self._kernel_of(step)
        if kernel == "reference" and source is not None and source.overridden:
            source = Asked(source)
        given = (self._walk_of(kernel), *arguments) if walk else arguments
        if source is not None:
            given = (*given, source)
        return self._lock.change(self._run_kernel, step, function, given, source, prepare)

    def _run_kernel(
        self, step: Step, function: Any, given: tuple[Any, ...], source: ChoiceSource | None, prepare: bool
    ) -> Any:
        """Call a kernel; until its end nothing else may use the franchise."""
        slots = self.slots
        self._changes += 1
        try:
            self._step = step
            slots.source = source
            if prepare and source is not None:
                self.bank.prepare(source)
            done = function(*given)
        except FloatingPointError:
            drawn = next((one for one in given if isinstance(one, ChoiceSource)), None)
            failure = None if drawn is None else drawn._failure()
            if failure is None:
                raise
            raise failure from None
        finally:
            self._step = slots.source = None
        if slots.trouble is not None:
            self._raise_trouble()
        if self._waiting:
            self._waiting.intersection_update(self._open_dishes())
        return done

    @changes
    def run_step(self, step: Step, *arguments: Any, source: ChoiceSource) -> Any:
        """Run a step of your own (`hdpkit.step`); if it fails, the franchise is closed.

        Parameters
        ----------
        step : Step
            What the decorator ``@step(...)`` made.
        arguments
            Passed to the kernel after the walk and the statistics of dishes.
        source : ChoiceSource
            The ``rng`` of a move; passed to the kernel last.

        Returns
        -------
        object
            What the kernel returns.

        Raises
        ------
        ParameterError
            If it is no step, or no choice source.
        KernelError
            If no kernel serves it over this store, measure, tree and root.
        """
        instance("step", step, Step, "a step", remedy="Declare it: @hk.step(...) above its function.")
        if STEPS.get(step.name) is step:
            raise ParameterError(
                "step", step, "a step of your own", "Call the franchise's method that runs it."
            )
        check_source(source)
        if step.needs_tables:
            self._need_tables()
        return self._run(step, self.bank, *arguments, source=source, prepare=True)

    @changes
    def in_chunks(self, first: int, last: int, step: Callable[[int, int], None]) -> None:
        """Run a step over first .. last - 1 in short pieces, between which Ctrl-C and progress are handled.

        Parameters
        ----------
        first, last : int
            The range.
        step : callable
            Called with the begin and end (excluded) of each piece.
        """
        function("step", step, remedy="Pass a function of the begin and the end of a piece.")
        first = whole_number("first", first, remedy="The begin of the range.")
        last = whole_number("last", last, remedy="The end of the range, excluded.")
        start, total, size = first, max(last - first, 1), 256
        while start < last:
            began = time.perf_counter()
            end = min(start + size, last)
            step(start, end)
            if end < last:
                size = self._next_size(size, time.perf_counter() - began)
            start = end
            if self._on_pulse is not None:
                self._on_pulse((start - first) / total)

    def _next_size(self, size: int, took: float) -> int:
        """Number of customers in the piece after one of this size, which took so many seconds."""
        if self.draws_tables:
            # Each piece ends with draws of tables, and the chain must not depend on the machine's speed.
            return min(2 * size, LARGEST_CHUNK[self._kernel_of(sweeps.reseat)[0]])
        if took < CHUNK_SECONDS / 2:
            return 2 * size
        return max(1, size // 2) if took > CHUNK_SECONDS else size

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
        self._check_customers(first, last, source)
        self._run(sweeps.enter, self.bank, first, last, source=source, prepare=True)

    @changes
    def enter_given(self, dishes: Int32s, first: int, last: int, source: ChoiceSource) -> None:
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
        self._check_customers(first, last, source)
        n = self.topology.n_customers
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
        self._dish_kind.check_given(given, first, last)
        self._known.check_possible(self.data, given[first:last], "dishes", first)
        given = self._known.with_own(given)
        self._run(sweeps.enter_given, self.bank, given, first, last, source=source, prepare=True)

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
        self._check_customers(first, last, source)
        self._held.check_free(first, last)
        self._run(sweeps.reseat, self.bank, first, last, source=source, prepare=True)

    @property
    def draws_tables(self) -> bool:
        """Whether tables are drawn given the customers (`draw_tables`).

        True for a store of counts with two levels, unless the root is a restaurant.
        """
        return tables_at_end(self._seating, kind_of_root(self.root.declared), self.topology.n_levels)

    @property
    def counts_tables(self) -> bool:
        """Whether the state has only numbers of tables.

        True for a store of counts under a restaurant, or with more than two levels.
        """
        return detail_of(self._seating) is Detail.COUNTS and not self.draws_tables

    @changes
    def draw_tables(self, first: int, last: int, source: ChoiceSource) -> None:
        """Draw the tables of restaurants first .. last - 1 given their customers.

        For a store of counts, if the root has weights.

        Steps that seat or unseat customers call this at their end for the customers' restaurants.

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
        check_range(first, last, self.topology.n_nodes)
        check_source(source)
        self._need_counts()
        self._run(table_counts.draw_tables, first, last, source=source)

    @changes
    def draw_tables_by_dish(self, source: ChoiceSource) -> None:
        """Draw the tables of all restaurants by binomial draws; they must have the same concentration."""
        check_source(source)
        self._need_counts()
        self._run(table_counts.draw_tables_by_dish, source=source)

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
        self._check_customers(first, last, source)
        self._held.check_free(first, last)
        self._run(sweeps.leave, self.bank, first, last, source=source, prepare=True)

    @changes
    def open_dish(self, source: ChoiceSource | None = None) -> int:
        """Create a dish without customers; the caller must seat some immediately.

        Until it has customers, `freeze`, `copy`, `snapshot`, `settle`, runs and steps that need the seating
        of customers raise a StateError. `clear` and `thaw` remove it.

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
            If there is no source and the root has weights.
        """
        self._dish_kind.check_latent()
        if source is not None:
            check_source(source)
        elif self.root.kind == "weights":
            raise StateError(
                "source", None, "a choice source where the root has weights: the weight of the dish is drawn",
                "Pass the rng that the move is given: open_dish(rng).",
            )  # fmt: skip
        return int(self._lock.change(self._open_dish, source))

    def _open_dish(self, source: ChoiceSource | None) -> int:
        self.slots.source = source
        try:
            slot: int = self.slots.open()
        finally:
            self.slots.source = None
        self._raise_trouble()
        self._waiting.add(slot)
        return slot

    def _check_customers(self, first: Any, last: Any, source: Any) -> None:
        """Raise an error unless it is a range of customers, and a source."""
        n, whole = self.topology.n_customers, type(first) is int and type(last) is int
        if not (whole and 0 <= first <= last <= n and isinstance(source, ChoiceSource)):
            check_range(first, last, n)
            check_source(source)

    def _occupied(self, dishes: Int32s) -> bool:
        return bool(np.isin(dishes, self.slots.occupied_slots()).all())

    def _need_tables(self) -> None:
        if detail_of(self._seating) is not Detail.SEATS:
            raise StateError(
                "store", self._store_type.__name__, "a store with the table of every customer",
                "Call this step inside `with franchise.labelled_seating(rng):`.",
            )  # fmt: skip

    def _need_counts(self) -> None:
        if not self.draws_tables:
            raise StateError(
                "store", type(self._seating).__name__, "one of counts, two levels, root='weights'",
                "With any other, tables are part of the state: leave the call out.",
            )  # fmt: skip


MOST_RESERVED = 1024  # most slots reserved at a time, for the statistics of a proposal
MOST_LAUNCHES = 10**6  # most scans of a proposal before the final one


class Blocks(Steps):
    """Steps over blocks of customers."""

    def units(self, level: int, with_customers: bool = False) -> Any:
        """Tables of the restaurants of a level (1: the root's children), by their first customer.

        With ``with_customers`` also the data customers seated one level above; at level 1 the units are then
        all customers of the root. Table numbers are needed: call it inside `labelled_seating`.

        Units are valid for the current seating. They stay valid after `resample_dish` and `move_units` of
        the same units. After any other change of the seating (steps, moves of other units, `settle`, `thaw`,
        the end of `labelled_seating`) the steps raise a StateError: call `units` again.

        Parameters
        ----------
        level : int
            1: tables of the root's children.
        with_customers : bool
            Whether data customers seated one level above are also units.

        Returns
        -------
        units
            For the steps below; its length is their number.

        Raises
        ------
        StateError
            Outside `labelled_seating`, over a store that keeps no seats.
        """
        self._need_tables()
        flag("with_customers", with_customers)
        t = self.topology
        whole_number("level", level, 1, max(t.n_levels - 1, 1), remedy="1 is that of the root's children.")
        return self._run(
            sweeps.index_units,
            self._seating,
            t.home,
            t.parent,
            t.level,
            level,
            with_customers,
            walk=False,
        )

    def free_units(self, units: Any, level: int, first: int, last: int) -> list[tuple[int, int]]:
        """Return the ranges of units without held customers below them.

        A table is free if neither the data customers of its restaurant nor those of the restaurants below it
        are held. This depends only on the held groups, not on the seating.

        Parameters
        ----------
        units : units
            The result of `units`.
        level : int
            Level of the units.
        first, last : int
            Of units first .. last - 1.

        Returns
        -------
        list of pairs of int
            Begin and end (excluded) of each range.
        """
        self._check_units(units)
        check_range(first, last, len(units))
        return self._held.free_units(units, level, first, last)

    def held_dishes(self) -> npt.NDArray[np.int64]:
        """Slots of dishes of held customers, and of known dishes: they are neither split nor merged."""
        return np.union1d(self._held.dishes(self.seating), np.arange(self._known.n))

    def unit_dishes(self, units: Any) -> Int32s:
        """Slot of the dish of each unit."""
        self._check_units(units)
        dishes: Int32s = self._run(sweeps.unit_dishes, units)
        return dishes

    @changes
    def resample_dish(self, units: Any, first: int, last: int, source: ChoiceSource) -> None:
        """Dish Gibbs for units first .. last - 1 (tables of one level), one after the other.

        Parameters
        ----------
        units : units
            What `units` returned, of the current seating.
        first, last : int
            Units first .. last - 1.
        source : ChoiceSource
            The ``rng`` that a move is given.

        Raises
        ------
        StateError
            If the units are out of date, or the store keeps no seats: call it inside `labelled_seating`. If a
            customer below them is held.
        """
        self._check_units(units)
        check_range(first, last, len(units))
        check_source(source)
        self._held.check_units(units, range(first, last))
        self._run(sweeps.resample_dish, self.bank, units, first, last, source=source, prepare=True)

    @changes
    def scan_units(
        self,
        units: Any,
        order: npt.NDArray[np.int64],
        sides: npt.NDArray[np.int8],
        sizes: npt.NDArray[np.int64],
        slots: tuple[int, ...],
        forced: npt.NDArray[np.int8] | None,
        source: ChoiceSource,
        log_q: float = 0.0,
    ) -> float:
        """Restricted Gibbs scan of customers of the root over two reserved slots.

        Parameters
        ----------
        units : units of level 1, with customers
        order : int64 array
            The units to visit.
        sides, sizes : int8 array (n_units,), int64 array (2,)
            Side of each unit (-1: none yet) and number of units on each side. These and the statistics of the
            slots are updated in place.
        forced : int8 array or None
            Sides to take instead of drawing.
        log_q : float
            Result of the previous pieces of the scan.

        Returns
        -------
        float
            ``log_q`` plus the log probability of the sides, each given those before it, in nats.
        """
        self.root._check_restaurant("scan_units")
        self._check_units(units)
        check_source(source)
        n = len(units)
        visited = whole_numbers("order", order, 0, n - 1, remedy="Give places in units.")
        array_in_place(
            "sides", sides, np.int8, n, remedy="Give one per unit, -1 where it is on neither side yet."
        )
        array_in_place("sizes", sizes, np.int64, 2, remedy="Units on each side.")
        if forced is not None:
            forced = whole_numbers("forced", forced, -1, 1, np.int8, length=n, remedy="None draws the sides.")
            if (forced[visited] < 0).any():
                raise ParameterError(
                    "forced", forced, "0 or 1 where a unit is visited", "None draws the sides."
                )
        here = sides[visited]
        if (abs(here) > 1).any() or any(np.count_nonzero(here == side) > sizes[side] for side in (0, 1)):
            raise ParameterError(
                "sides, sizes", (sides, sizes), "0, 1 or -1 for each unit, and how many are on each side",
                "Count them: np.count_nonzero(sides == 0).",
            )  # fmt: skip
        pair = items("slots", slots, "two reserved slots", remedy="Work inside `reserved(2)`.")
        if len(pair) != 2 or pair[0] == pair[1]:
            raise ParameterError("slots", slots, "two reserved slots", "Work inside `reserved(2)`.")
        for slot in pair:
            self._check_reserved("slots", slot)
        if np.isnan(as_float(log_q)):
            raise ParameterError("log_q", log_q, "a number", "It is what the scan before this one returned.")
        done = self._run(
            sweeps.scan_units,
            self.bank,
            units,
            visited,
            sides,
            sizes,
            *pair,
            forced,
            Asked(source) if source.overridden else source,
            float(log_q),
        )
        return float(done)

    @changes
    def add_units(self, units: Any, which: npt.NDArray[np.int64], slot: int) -> None:
        """Add the values below these units to a reserved slot.

        Parameters
        ----------
        units : units
            What `units` returned, of the current seating.
        which : int64 array
            Places in ``units``.
        slot : int
            A reserved slot.

        Raises
        ------
        StateError
            If the units are out of date, or the store keeps no seats: call it inside `labelled_seating`.
        """
        self._check_units(units)
        places = whole_numbers("which", which, 0, len(units) - 1, remedy="Give places in units.")
        self._check_reserved("slot", slot)
        self._run(sweeps.add_units, self.bank, units, places, slot, walk=False)

    @changes
    def log_units(
        self, units: Any, which: npt.NDArray[np.int64], slots: tuple[int, ...]
    ) -> npt.NDArray[np.float64]:
        """Log predictives of the values below units under reserved slots and, last, a new dish.

        Parameters
        ----------
        units : units
            What `units` returned, of the current seating.
        which : int64 array, shape (n,)
            Places in ``units``.
        slots : tuple of int
            Reserved slots.

        Returns
        -------
        float64 array, shape (n, n_slots + 1)
            Of each unit alone, in nats.

        Raises
        ------
        StateError
            If the units are out of date, or the store keeps no seats: call it inside `labelled_seating`.
        """
        self._check_units(units)
        places = whole_numbers("which", which, 0, len(units) - 1, remedy="Give places in units.")
        reserved = items("slots", slots, "reserved slots", remedy="Work inside `reserved(n)`.")
        for slot in reserved:
            self._check_reserved("slots", slot)
        logs: npt.NDArray[np.float64] = self._run(
            sweeps.log_units, self.bank, units, places, np.array(reserved, dtype=np.int32), walk=False
        )
        return logs

    @changes
    def move_units(self, units: Any, which: npt.NDArray[np.int64], dish: int, source: ChoiceSource) -> None:
        """Change the dish of these customers of the root and of all customers below them.

        Parameters
        ----------
        units : units
            What `units` returned, of the current seating.
        which : int64 array
            Places in ``units`` of customers of the root.
        dish : int
            An occupied slot.
        source : ChoiceSource
            The ``rng`` that a move is given.

        Raises
        ------
        StateError
            If the units are out of date, or the store keeps no seats: call it inside `labelled_seating`. If a
            customer below them is held.
        """
        self._dish_kind.check_latent()
        self._check_units(units)
        check_source(source)
        places = whole_numbers("which", which, 0, len(units) - 1, remedy="Give places in units.")
        if units.level != 1:
            raise ParameterError("units", units, "customers of the root", "Index them with units(1).")
        if not self.slots.is_occupied(whole_number("dish", dish, 0, 2**31 - 2)):
            raise StateError("dish", dish, "an occupied slot", "Call open_dish() for a new one.")
        self._held.check_units(units, places)
        self._run(sweeps.move_units, self.bank, units, places, dish, source=source, prepare=True)

    def groups(self) -> tuple[Int32s, npt.NDArray[np.int64], Int32s]:
        """Restaurants that have data customers, and these customers, without held ones.

        Returns
        -------
        nodes, begin, customers : arrays, shape (n,), (n + 1,), (n free customers,)
            Group g is customers[begin[g]:begin[g + 1]], all customers of restaurant nodes[g], in data order.
        """
        home = self.topology.home[: self.topology.n_customers]
        customers = np.argsort(home, kind="stable").astype(np.int32)
        customers = self._held.free(customers)
        of = home[customers]
        nodes = np.unique(of)
        begin = np.append(np.searchsorted(of, nodes), len(of)).astype(np.int64)
        return nodes, begin, customers

    @changes
    def reseat_groups(
        self,
        groups: tuple[Int32s, npt.NDArray[np.int64], Int32s],
        first: int,
        last: int,
        launches: int,
        source: ChoiceSource,
    ) -> int:
        """One Metropolis proposal for each of the groups first .. last - 1, which reseats all its customers.

        The final scan of a proposal starts from the result of ``launches`` scans, or with all customers
        unseated. See `hdpkit.moves.ReseatGroups`.

        Parameters
        ----------
        groups : tuple of three arrays
            The result of `groups`.
        first, last : int
            Groups first .. last - 1.
        launches : int
            Number of scans for the launch state; 0: the final scan starts with all customers unseated.
        source : ChoiceSource
            The ``rng`` that a move is given.

        Returns
        -------
        int
            Number of accepted proposals.

        Raises
        ------
        StateError
            If the measure is not conjugate, the root has weights, or the store keeps no seats.
        """
        self.root._check_restaurant("reseat_groups")
        self._need_tables()
        check_source(source)
        nodes, begin, customers = check_groups(groups, first, last, self.topology)
        if np.isin(nodes[first:last], self._held.nodes).any():
            raise StateError("groups", nodes[first:last], "free ones", "Release them: franchise.release().")
        whole_number("launches", launches, 0, MOST_LAUNCHES, remedy="A few are enough.")
        if not self.measure.conjugate:
            raise StateError(
                "measure", type(self.measure).__name__, "conjugate, where a group's marginal is needed",
                "Use TableGibbs, DishGibbs and DishParameters.",
            )  # fmt: skip
        with self.reserved(1) as (scratch,):
            done = self._run(
                reseat_groups,
                self.bank,
                nodes,
                begin,
                customers,
                first,
                last,
                scratch,
                launches,
                source=source,
                prepare=True,
            )
        return int(done)

    @unguarded
    def reserved(self, n: int) -> Block:
        """Slots for the statistics of a proposal, without dishes; they are freed at the end of the block."""
        self._dish_kind.check_latent()
        n = whole_number("n", n, 0, MOST_RESERVED)
        return Block(self._lock, lambda: self._change(self._reserve, n), self._release_slots)

    def _reserve(self, n: int) -> tuple[int, ...]:
        return tuple(int(self.slots.reserve()) for _ in range(n))

    def _release_slots(self, slots: tuple[int, ...]) -> None:
        for slot in slots:
            if self.slots.is_reserved(slot):  # a state that was thawed meanwhile has no reserved slots
                self.slots.release(slot)

    def _check_units(self, units: Any) -> None:
        """Raise an error unless these are units of the current seating."""
        self._need_tables()
        kind = sweeps.Units if self._kernel_of(sweeps.index_units)[0] == "reference" else Units
        instance(
            "units", units, kind, "what units(level) returned", remedy="Index them: franchise.units(level)."
        )
        units.check(self._seating)

    def _check_reserved(self, name: str, slot: Any) -> None:
        if not self.slots.is_reserved(whole_number(name, slot, 0, 2**31 - 2)):
            raise StateError(
                name, slot, "a reserved slot", "Work inside `with franchise.reserved(n) as slots:`."
            )
