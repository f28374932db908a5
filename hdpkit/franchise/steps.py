"""The steps of a franchise over customers, which moves call, and how a step runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import hdpkit.steps.counts_walk
import hdpkit.steps.state_homes  # noqa: F401 - they attach kernels
from hdpkit.checks import function, instance, whole_number
from hdpkit.errors import ParameterError, StateError
from hdpkit.franchise.arguments import (
    check_birth,
    check_source,
    checked,
    method_of,
)
from hdpkit.franchise.declarations import kind_of_root, tables_at_end
from hdpkit.franchise.guard import aside, changes
from hdpkit.franchise.held import Held
from hdpkit.random import ChoiceSource
from hdpkit.random._source import Asked
from hdpkit.steps import sweeps, table_counts
from hdpkit.steps.step import STEPS, Step
from hdpkit.stores import Detail, detail_of

CHUNK_SECONDS = 0.1  # a step over many customers returns to Python about this often (Ctrl-C, progress)
# By kernel, if it must not depend on the clock.
LARGEST_CHUNK = {"fused": 1 << 16, "generic": 1 << 12, "reference": 1 << 8}


class Steps(Held):
    """Steps over many customers. Customers are data customers, in data order."""

    @changes
    def run_step(self, step: Step, *arguments: Any, source: ChoiceSource | None = None) -> Any:
        """Run a step (`hdpkit.step`) on its fastest kernel; if it fails, the franchise is closed.

        Returns what the function returns. Raises a ParameterError if it is no step, or an argument is not
        what the step takes; a KernelError if no kernel serves it over this store, measure, tree and root.

        Parameters
        ----------
        step : Step
            What the decorator ``@step(...)`` made.
        arguments
            Those of the function after the walk and the statistics of dishes. They are checked if the step
            declares what it ``takes``.
        source : ChoiceSource, optional
            The ``rng`` of a move; the function's last argument.
        """
        instance("step", step, Step, "a step", remedy="Declare it: @hk.step(...) above its function.")
        if not step.takes and STEPS.get(step.name) is step:
            raise ParameterError(
                "step", step, "a step of your own", "Call the franchise's method or the move that runs it."
            )
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

    @aside
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
            if self.on_pulse is not None:
                self.on_pulse((start - first) / total)

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
        of customers raise a StateError. `clear` and `thaw` remove it. Returns its slot. Raises a StateError
        if there is no source and the root has weights.

        ``source`` is for draws of parts of the state at a birth; needed if the root has weights.
        """
        self.dish_kind.check_latent()
        check_birth(self, source, "open_dish")
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


def run_unchecked(state: Any, step: Step, *arguments: Any, source: ChoiceSource | None = None) -> Any:
    """Run a step of the package for a move that made its arguments."""
    with state.lock():
        return state._run_step(step, *arguments, source=source)
