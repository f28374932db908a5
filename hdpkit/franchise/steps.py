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
from hdpkit.checks import flag, function, instance, whole_number
from hdpkit.errors import StateError
from hdpkit.franchise.arguments import (
    check_groups,
    check_range,
    check_scan,
    check_source,
    check_units,
    checked,
    method_of,
)
from hdpkit.franchise.declarations import kind_of_root, tables_at_end
from hdpkit.franchise.guard import changes, unguarded
from hdpkit.franchise.held import Held
from hdpkit.random import ChoiceSource
from hdpkit.random._source import Asked
from hdpkit.steps import sweeps, table_counts
from hdpkit.steps.groups import reseat_groups
from hdpkit.steps.step import Step
from hdpkit.stores import Detail, detail_of

CHUNK_SECONDS = 0.1  # a step over many customers returns to Python about this often (Ctrl-C, progress)
# By kernel, if it must not depend on the clock.
LARGEST_CHUNK = {"fused": 1 << 16, "generic": 1 << 12, "reference": 1 << 8}


class Steps(Held):
    """Steps over many customers. Customers are data customers, in data order."""

    @changes
    def run_step(self, step: Step, *arguments: Any, source: ChoiceSource | None = None) -> Any:
        """Run a step (`hdpkit.step`) on its fastest kernel; if it fails, the franchise is closed.

        Parameters
        ----------
        step : Step
            What the decorator ``@step(...)`` made.
        arguments
            Those of the function after the walk and the statistics of dishes. They are checked if the step
            declares what it ``takes``.
        source : ChoiceSource, optional
            The ``rng`` of a move; the function's last argument.

        Returns
        -------
        object
            What the function returns.

        Raises
        ------
        ParameterError
            If it is no step, or an argument is not what the step takes.
        KernelError
            If no kernel serves it over this store, measure, tree and root.
        """
        instance("step", step, Step, "a step", remedy="Declare it: @hk.step(...) above its function.")
        if step.takes is None:
            check_source(source)
        return self._run_step(step, *arguments, source=source)

    def _run_step(self, step: Step, *arguments: Any, source: ChoiceSource | None = None) -> Any:
        """Run a step; the source is an argument like others where the step says what it takes."""
        if step.needs_tables:
            self._need_tables()
        if step.needs_counts:
            self._need_counts()
        if step.takes:
            given = checked(self, step, arguments if source is None else (*arguments, source))
            arguments, source = (given[:-1], given[-1]) if "source" in step.takes else (given, None)
        if not (self.population.single or step.by_cell):
            self.expand_cells()
        kernel, function = self._kernel_of(step)
        if kernel == "reference" and source is not None and source.overridden:
            source = Asked(source)
        given = (self._walk_of(kernel),) if "walk" in step.given else ()
        if "bank" in step.given:
            given = (*given, self.bank)
        given = (*given, *arguments) if source is None else (*given, *arguments, source)
        return self.access.change(self._run_kernel, step, function, given, source)

    def _run_kernel(
        self, step: Step, function: Any, given: tuple[Any, ...], source: ChoiceSource | None
    ) -> Any:
        """Call a kernel; until its end nothing else may use the franchise."""
        slots = self.slots
        self.n_changes += 1
        try:
            self._step = step
            slots.source = source
            if source is not None and "bank" in step.given:
                self.bank.prepare(source)  # parameters may be drawn
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

    enter, enter_given, reseat, leave, draw_tables, draw_tables_by_dish = map(
        method_of,
        (
            sweeps.enter, sweeps.enter_given, sweeps.reseat, sweeps.leave, table_counts.draw_tables,
            table_counts.draw_tables_by_dish,
        ),
    )  # fmt: skip

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
        self.dish_kind.check_latent()
        if source is not None:
            check_source(source)
        elif self.root.kind == "weights":
            raise StateError(
                "source", None, "a choice source where the root has weights: the weight of the dish is drawn",
                "Pass the rng that the move is given: open_dish(rng).",
            )  # fmt: skip
        return int(self.access.change(self._open_dish, source))

    def _open_dish(self, source: ChoiceSource | None) -> int:
        self.slots.source = source
        try:
            slot: int = self.slots.open()
        finally:
            self.slots.source = None
        self._raise_trouble()
        self._waiting.add(slot)
        return slot

    def _need_tables(self) -> None:
        if detail_of(self._seating) is not Detail.SEATS:
            raise StateError(
                "store", self.store_type.__name__, "a store with the table of every customer",
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

    unit_dishes, resample_dish, add_units, log_units, move_units = map(
        method_of,
        (sweeps.unit_dishes, sweeps.resample_dish, sweeps.add_units, sweeps.log_units, sweeps.move_units),
    )

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
        return self._run_step(
            sweeps.index_units, self._seating, t.home, t.parent, t.level, level, with_customers
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
        check_units(self, units)
        check_range(first, last, len(units))
        return self.held.free_units(units, level, first, last)

    def held_dishes(self) -> npt.NDArray[np.int64]:
        """Slots of dishes of held customers, and of known dishes: they are neither split nor merged."""
        return np.union1d(self.held.dishes(self.seating), np.arange(self.known_dishes.n))

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
        check_source(source)
        *before, log_q = check_scan(self, units, order, sides, sizes, slots, forced, log_q)
        given = Asked(source) if source.overridden else source
        return float(self._run_step(sweeps.scan_units, *before, given, log_q))

    def groups(self) -> tuple[Int32s, npt.NDArray[np.int64], Int32s]:
        """Restaurants that have data customers, and these customers, without held ones.

        Returns
        -------
        nodes, begin, customers : arrays, shape (n,), (n + 1,), (n free customers,)
            Group g is customers[begin[g]:begin[g + 1]], all customers of restaurant nodes[g], in data order.
        """
        home = self.topology.home[: self.topology.n_customers]
        customers = np.argsort(home, kind="stable").astype(np.int32)
        customers = self.held.free(customers)
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
        nodes, begin, customers = check_groups(self, groups, first, last)
        whole_number("launches", launches, 0, MOST_LAUNCHES, remedy="A few are enough.")
        if not self.measure.conjugate:
            raise StateError(
                "measure", type(self.measure).__name__, "conjugate, where a group's marginal is needed",
                "Use TableGibbs, DishGibbs and DishParameters.",
            )  # fmt: skip
        with self.reserved(1) as (scratch,):
            given = nodes, begin, customers, first, last, scratch, launches
            return int(self._run_step(reseat_groups, *given, source=source))

    @unguarded
    def reserved(self, n: int) -> Block:
        """Slots for the statistics of a proposal, without dishes; they are freed at the end of the block."""
        self.dish_kind.check_latent()
        n = whole_number("n", n, 0, MOST_RESERVED)
        return Block(self.access, lambda: self.access.change(self._reserve, n), self._release_slots)

    def _reserve(self, n: int) -> tuple[int, ...]:
        return tuple(int(self.slots.reserve()) for _ in range(n))

    def _release_slots(self, slots: tuple[int, ...]) -> None:
        for slot in slots:
            if self.slots.is_reserved(slot):  # a state that was thawed meanwhile has no reserved slots
                self.slots.release(slot)
