"""Statistics of dishes, slots and parts, kept consistent with the seating even if user code fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.base_measures import BaseMeasure
from hdpkit.checks import real_number
from hdpkit.errors import ParameterError, StateError
from hdpkit.franchise.guard import changes
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.parts import Parts
from hdpkit.franchise.state import State, measure_of
from hdpkit.franchise.turns import Turns
from hdpkit.random import ChoiceSource
from hdpkit.stores import Compacts, KeepsCells

__all__ = ["Statistics", "unserved"]


class Statistics(Owner):
    """Statistics, dish slots and parts of a franchise.

    A measure, a store, a part or a move may be user code and may raise at any call. Kernels complete the
    seating; then statistics are recomputed, dishes without customers are closed, and parts that failed are
    notified of the present dishes.

    Attributes
    ----------
    uncounted : bool
        Whether a verb failed and statistics have not been recomputed yet.
    """

    def __init__(self, state: State, turns: Turns, parts: Parts) -> None:
        super().__init__(state)
        self.turns = turns
        self.parts = parts
        self.uncounted = False
        state.slots.attach(state.bank)
        self.reset_slots((), ())

    # ------------------------------------------------------------------ the base measure

    @property
    def base_parameters(self) -> dict[str, float]:
        """Present values of the base measure's parameters that have a prior."""
        return {name: float(self.state.measure.parameters[name]) for name in self.state._starting}

    def set_base_parameters(self, **values: float) -> None:
        """See `Franchise.set_base_parameters`."""
        starting, measure = self.state._starting, self.state.measure
        unknown = set(values) - set(starting)
        if unknown:
            raise ParameterError(
                "base parameters", sorted(unknown), f"among {sorted(starting)}",
                "Declare a prior in the base measure for each parameter that changes.",
            )  # fmt: skip
        for name, value in values.items():
            real_number(name, value)
        if values:
            changed = measure.with_parameters(**values)
            self.turns.changing(self._adopt, measure_of(measure, "with_parameters", changed))

    def _adopt(self, measure: BaseMeasure) -> None:
        self.state._changes += 1
        counted = self.state.bank.adopt(measure)
        self.state.measure = measure
        if not counted:
            self.recount()

    # ------------------------------------------------------------------ slots

    def reset_slots(self, slots: Any, held: Any, ids: Any = None, births: int = 0) -> None:
        """Occupy these slots; observed dishes always exist, and their ids are the atoms.

        ``ids`` and ``births`` as in `DishSlots.reset`.
        """
        state = self.state
        ids = None if state.measure.atomic else ids
        state.slots.reset(state._dish_kind.slots(slots, state.bank), held, ids, births)

    def replaced(
        self,
        slots: npt.NDArray[np.int32],
        held: Any,
        bank: Any = None,
        parts: Mapping[str, Any] | None = None,
        source: ChoiceSource | None = None,
        ids: Any = None,
        births: int = 0,
    ) -> None:
        """Make slots, statistics and parts fit a replaced seating, and thaw the parts if given.

        ``ids`` and ``births`` as in `DishSlots.reset`.
        """
        state = self.state
        state._changes += 1
        state.slots.attach(state.bank)
        self.reset_slots(slots, held, ids, births)
        state.bank.thaw(bank)
        self.parts.replaced(self.recount)
        if parts is not None:
            self.parts.thaw(state, parts, source)

    def open_dishes(self) -> list[int]:
        """Dishes without customers; between sweeps there are none."""
        return self.state._dish_kind.open()

    @changes
    def settle(self) -> None:
        """Remove free slots, release memory and recompute rounded statistics. Between sweeps only.

        The state is then exactly what `freeze` returns. The order of dishes doesn't change.
        """
        state = self.state
        with self.kept_whole():  # it closes dishes without customers
            if empty := self.open_dishes():
                raise unserved(empty, "the end of a sweep; they are closed now")
            mapping = state.slots.compaction()
            if mapping is not None:
                self.turns.changing(self._relabel, mapping)
            if isinstance(state.store, Compacts):
                state.store.compact()
            if not state.measure.exact_statistics:
                self.recount()

    def _relabel(self, mapping: npt.NDArray[np.int32]) -> None:
        self.state.seating.relabel_dishes(mapping)
        self.state.bank.relabelled(mapping)
        self.state.slots.relabel(mapping)

    # ------------------------------------------------------------------ failures

    @property
    def stale(self) -> bool:
        """Whether a repair after a failure of user code is pending."""
        return self.uncounted or bool(self.parts.lost)

    @contextmanager
    def kept_whole(self) -> Iterator[None]:
        """A block after which counts, statistics and parts fit the seating, even if it fails."""
        before = self.before_failure()
        try:
            yield
        except BaseException as error:
            self.mend(error, before)
            raise
        self.surface()

    def before_failure(self) -> Any:
        """The state to which a failing verb over a user's store returns, as it may stop half way up the tree.

        Within a run it is the state before the sweep, which needs one copy per sweep instead of one per verb.
        """
        if not self.state.foreign_store or self.turns.turn.in_run:
            return None
        slots = self.state.slots
        return self.state.seating.freeze(), slots.occupied_slots(), slots.ids(), slots.n_births()

    def mend(self, error: BaseException | None = None, before: Any = None) -> None:
        """Make statistics, dishes and parts fit the seating after user code has failed.

        Kernels complete the seating. If the recount also fails, the next verb tries it again.
        """
        state = self.state
        self.uncounted = True
        if before is not None:
            seating, slots, ids, births = before
            state.seating.thaw(seating)
            now = state.slots.occupied_slots()
            with contextlib.suppress(Exception):  # errors of the bank, which is recomputed below
                for slot in np.setdiff1d(now, slots).tolist():
                    state.slots.close(slot)
            state.slots.attach(None)
            for slot in np.setdiff1d(slots, now).tolist():
                state.slots.open_in(slot)
            state.slots.reset(slots, state.slots.held_slots(), ids, births)
            state.slots.attach(state.bank)
        with contextlib.suppress(Exception):  # errors of a user's store
            state._dish_kind.close_open()
        with contextlib.suppress(Exception):
            self.recount()
        if state.slots.trouble is not None:
            second = self._reset_in_trouble()
            if error is not None and second is not error:
                error.add_note(f"A component failed too: {second!r}")

    def surface(self) -> None:
        """Raise the exception of a part at a birth, death or renumbering of dishes, if there was one."""
        if self.state.slots.trouble is not None:
            raise self._reset_in_trouble()

    def _reset_in_trouble(self) -> BaseException:
        """Notify a part that failed in the middle of a step of the occupied slots."""
        part, error = self.state.slots.trouble
        self.state.slots.trouble = None
        self.parts.lost.append(part)
        with contextlib.suppress(Exception):
            self.parts.find_lost()
        found: BaseException = error
        return found

    def fresh_bank(self) -> Any:
        """The bank, after a pending recount."""
        if self.stale:
            self.turns.outside()
            self.catch_up()
        return self.state.bank

    def catch_up(self) -> None:
        """Do a pending repair after a failure of user code."""
        self.parts.find_lost()
        self.recount()

    def recount(self) -> None:
        """Recompute the statistics of all dishes, in data order."""
        state = self.state
        self.uncounted = True
        slots = state.slots.occupied_slots()
        if isinstance(state.seating, KeepsCells):
            state.seating.count_into(state.bank, slots, *state._seen_by_cell())
        else:
            state.bank.rebuild(state._dish_kind.to_count(slots), slots)
        self.uncounted = False


def unserved(slots: list[int], before: str) -> StateError:
    """The error for dishes that were opened and got no customers."""
    return StateError(
        "open_dish", slots, f"followed by customers for these dishes before {before}",
        "A move opened a dish without customers: seat a customer at it in the same move.",
    )  # fmt: skip
