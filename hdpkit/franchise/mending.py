"""What is done after code of a user's has failed, so that the franchise is whole."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from hdpkit._compiled.walk.slots import DishSlots
from hdpkit.base_measures import BaseMeasure, StatisticsBank
from hdpkit.franchise.guard import Guarded, changes, unguarded
from hdpkit.franchise.parts import Part

__all__ = ["Mending"]


class Mending(Guarded):
    """The part of a franchise that keeps statistics, dishes and components in step with the seating.

    A measure, a store, a component or a move may be a user's and may raise at any call. Kernels leave the
    seating whole; statistics are counted again, dishes without customers are closed, and components that
    failed are told which dishes there are.
    """

    if TYPE_CHECKING:
        slots: DishSlots
        bank: StatisticsBank
        measure: BaseMeasure
        seating: Any

    foreign_store: bool
    _components: dict[str, Part]
    _lost: list[Part]  # components that failed when they were told of a new seating
    _uncounted: bool  # statistics could not be counted again yet

    @property
    def _stale(self) -> bool:
        """Whether a failure of a user's code has left something to be done."""
        return self._uncounted or bool(self._lost)

    @unguarded
    @contextmanager
    def kept_whole(self) -> Iterator[None]:
        """Whatever fails inside, counts, statistics and components fit the seating afterwards."""
        before = self._before_failure()
        try:
            yield
        except BaseException as error:
            self._mend(error, before)
            raise
        if self.slots.trouble is not None:
            self.surface()

    def _before_failure(self) -> Any:
        """What a verb over a store of the user's goes back to: it may stop half way up the tree.

        Within a run the sweep is taken back, which costs one copy a sweep in place of one a verb.
        """
        if not self.foreign_store or self._turn.in_run:
            return None
        return self.seating.freeze(), self.slots.occupied_slots()

    def _mend(self, error: BaseException | None = None, before: Any = None) -> None:
        """Make statistics, dishes and components fit the seating after code of a user's has failed.

        Kernels leave the seating itself whole. A recount that fails too is tried again by the next verb.
        """
        self._uncounted = True
        if before is not None:
            seating, slots = before
            self.seating.thaw(seating)
            now = self.slots.occupied_slots()
            with contextlib.suppress(Exception):  # of the bank; all is counted again below
                for slot in np.setdiff1d(now, slots).tolist():
                    self.slots.close(slot)
            self.slots.attach(None)
            for slot in np.setdiff1d(slots, now).tolist():
                self.slots.open_in(slot)
            self.slots.attach(self.bank)
        if not self.measure.atomic:
            with contextlib.suppress(Exception):  # of a store of the user's
                for slot in self.slots.occupied_slots().tolist():
                    if self.seating.tables(0, slot) == 0:  # a dish that was opened for customers to come
                        self.slots.close(slot)
        with contextlib.suppress(Exception):
            self.recount()
        if self.slots.trouble is not None:
            second = self._reset_in_trouble()
            if error is not None and second is not error:
                error.add_note(f"A component failed too: {second!r}")

    @changes
    def surface(self) -> None:
        """Raise what a component raised while dishes were born, died or got new numbers, if one did."""
        if self.slots.trouble is not None:
            raise self._reset_in_trouble()

    def _reset_in_trouble(self) -> BaseException:
        """Tell a component that failed in the middle of a step which slots are occupied now."""
        component, error = self.slots.trouble
        self.slots.trouble = None
        self._lost.append(component)
        with contextlib.suppress(Exception):
            self._find_lost()
        found: BaseException = error
        return found

    def _find_lost(self) -> None:
        """Tell components that failed which slots are occupied now; one that fails again is told later."""
        while self._lost:
            self._lost[-1].reset(self.slots.occupied_slots())
            self._lost.pop()

    def fresh_bank(self) -> Any:
        """The bank, after the recount that a failure of the measure may have left to be done."""
        if self._stale:
            self.catch_up()
        return self.bank

    @changes
    def catch_up(self) -> None:
        """Do what a failure of a user's code has left to be done."""
        self._find_lost()
        self.recount()

    @changes
    def recount(self) -> None:
        """Count the statistics of all dishes again, in data order."""
        self._uncounted = True
        slots = self.slots.occupied_slots()
        # Nobody is seated, or nothing is counted: there is no need to write out who eats what.
        idle = len(slots) == 0 or self.measure.atomic
        self.bank.rebuild(np.empty(0, dtype=np.int32) if idle else self.seating.dishes(), slots)
        self._uncounted = False

    def _found(self, component: Part) -> None:
        component.reset(self.slots.occupied_slots())
        self._lost.remove(component)

    def _tell_all(self, tell: Callable[[Part], Any], *first: Callable[[], Any]) -> None:
        """Call these, tell every component, and raise the first error when all has been done."""
        errors: list[BaseException] = []
        acts: list[Callable[[], Any]] = [
            *first,
            *(functools.partial(tell, one) for one in self._components.values()),
        ]
        for act in acts:
            try:
                act()
            except BaseException as error:
                errors.append(error)
        if errors:
            raise errors[0]
