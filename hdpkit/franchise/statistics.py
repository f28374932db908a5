"""Statistics of dishes, slots and parts, which follow the seating."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.base_measures import BaseMeasure
from hdpkit.checks import real_number
from hdpkit.errors import ParameterError, StateError
from hdpkit.franchise.guard import changes
from hdpkit.franchise.seats import Seats
from hdpkit.franchise.state import measure_of
from hdpkit.parts import Part
from hdpkit.random import ChoiceSource
from hdpkit.stores import Compacts, KeepsCells

__all__ = ["Statistics", "unserved"]


class Statistics(Seats):
    """Statistics, slots and parts of a franchise, which follow the seating."""

    def __init__(self, *declared: Any) -> None:
        super().__init__(*declared)
        self.slots.attach(self.bank)
        self._reset_slots((), ())

    # ------------------------------------------------------------------ the base measure

    @property
    def base_parameters(self) -> dict[str, float]:
        """Current values of the base measure's parameters that have a prior."""
        return {name: float(self.measure.parameters[name]) for name in self._starting}

    @changes
    def set_base_parameters(self, **values: float) -> None:
        """Set parameters of the base measure that have a prior. A ParameterError changes nothing."""
        starting = self._starting
        unknown = set(values) - set(starting)
        if unknown:
            raise ParameterError(
                "base parameters", sorted(unknown), f"among {sorted(starting)}",
                "Declare a prior in the base measure for each parameter that changes.",
            )  # fmt: skip
        for name, value in values.items():
            real_number(name, value)
        if values:
            self._change(self._adopt, self._with_parameters(values))

    def _with_parameters(self, values: Mapping[str, float]) -> BaseMeasure:
        """Return the measure with these values of its parameters."""
        return measure_of(self.measure, "with_parameters", self.measure.with_parameters(**values))

    def _adopt(self, measure: BaseMeasure) -> None:
        self._changes += 1
        counted = self.bank.adopt(measure)
        self.measure = measure
        if not counted:
            self._recount()

    def _recount(self) -> None:
        """Recompute the statistics of all dishes, in data order."""
        slots = self.slots.occupied_slots()
        if isinstance(self.seating, KeepsCells):
            self.seating.count_into(self.bank, slots, *self._seen_by_cell())
        else:
            self.bank.rebuild(self._dish_kind.to_count(slots), slots)

    # ------------------------------------------------------------------ slots and parts

    @property
    def measure_parts(self) -> Mapping[str, Part]:
        """The parts that the base measure provides, by name."""
        return dict(self._brought)

    @property
    def parts(self) -> Mapping[str, Part]:
        """All parts by name, including the weights of the root and the parts of the base measure."""
        return dict(self._parts.by_name)

    @property
    def components(self) -> Mapping[str, Part]:
        """The parts that were registered, by name, except those of a run."""
        weights = self.root.weights
        own = {*self._brought, *self.topology.parts()} | (set() if weights is None else {weights.name})
        parts = self._parts.by_name.items()
        return {name: part for name, part in parts if name not in own and not part.of_run}

    @changes
    def register(self, name: str, component: Part) -> None:
        """Add a part to the state; it is notified of every dish that is born, dies or is relabelled.

        Parameters
        ----------
        name : str
            Its name in saved states; its numbers in the trace are named "<name>/<key>".
        component : Part

        Raises
        ------
        ParameterError
            If the name is taken.
        """
        self._parts.register(name, component)

    def _reset_slots(self, slots: Any, held: Any, ids: Any = None, births: int = 0) -> None:
        """Occupy these slots, with ids as in `DishSlots.reset`; ids of observed dishes are the atoms."""
        ids = None if self.measure.atomic else ids
        self.slots.reset(self._dish_kind.slots(slots, self.bank), held, ids, births)

    def _replaced(
        self,
        slots: npt.NDArray[np.int32],
        held: Any,
        bank: Any = None,
        parts: Mapping[str, Any] | None = None,
        source: ChoiceSource | None = None,
        ids: Any = None,
        births: int = 0,
    ) -> None:
        """Make slots, statistics and parts fit a replaced seating, and thaw the parts if given."""
        self._changes += 1
        self._waiting.clear()
        self.slots.attach(self.bank)
        self._reset_slots(slots, held, ids, births)
        self.bank.thaw(bank)
        self._recount()
        self._parts.reset()
        if parts is not None:
            self._parts.thaw(self, parts, source)

    def _open_dishes(self) -> list[int]:
        """Dishes without customers; between sweeps there are none."""
        return self._dish_kind.open()

    def _raise_trouble(self) -> None:
        """Raise the exception of a part at a birth, death or renumbering of dishes, if there was one."""
        if self.slots.trouble is not None:
            _, error = self.slots.trouble
            self.slots.trouble = None
            raise error

    @changes
    def settle(self) -> None:
        """Remove free slots, release memory and recompute rounded statistics. Between sweeps only.

        The state is then exactly what `freeze` returns. The order of dishes doesn't change.

        Raises
        ------
        StateError
            If a dish has no customers: a move opened it and seated nobody.
        """
        self._change(self._settle)

    def _settle(self) -> None:
        if empty := self._open_dishes():
            raise unserved(empty, "the end of a sweep")
        mapping = self.slots.compaction()
        if mapping is not None:
            self.seating.relabel_dishes(mapping)
            self.bank.relabelled(mapping)
            self.slots.relabel(mapping)
        if isinstance(self.store, Compacts):
            self.store.compact()
        if not self.measure.exact_statistics:
            self._recount()
        self._raise_trouble()


def unserved(slots: list[int], before: str) -> StateError:
    """The error for dishes that were opened and got no customers."""
    return StateError(
        "open_dish", slots, f"followed by customers for these dishes before {before}",
        "Seat a customer at a dish as soon as it is open; clear() or thaw(frozen) removes an empty one.",
    )  # fmt: skip
