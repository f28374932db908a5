"""The parts of a franchise while a verb is under way, and what is asked of them before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from hdpkit._compiled.stores.seating import Seating
from hdpkit._compiled.walk.slots import DishSlots
from hdpkit.base_measures import BaseMeasure
from hdpkit.base_measures.bank import PythonBank
from hdpkit.data import GroupedData
from hdpkit.errors import BusyError, StateError
from hdpkit.franchise.audit import audit
from hdpkit.franchise.kernels import COUNTING_BANKS

if TYPE_CHECKING:
    from hdpkit.franchise.franchise import Franchise

__all__ = ["Callers"]

_STATISTICS = frozenset({"make", "add", "remove", "log_predictive", "log_block", "log_marginal"})


def _overrides_bank(kind: type) -> bool:
    """Whether a measure has methods of its own that the compiled bank of a class above it doesn't know."""
    for parent in kind.__mro__:
        if "bank" in vars(parent):
            return False
        if not _STATISTICS.isdisjoint(vars(parent)):
            return True
    return False


class Callers:
    """The part of a franchise that keeps callers, its parts and compiled code apart."""

    slots: DishSlots
    store: Any
    seating: Any
    _own: Any
    _seated_out: Any
    _verb: str | None

    def _new_bank(self, measure: BaseMeasure, data: GroupedData) -> Any:
        """The measure's bank for data."""
        bank: Any = measure.bank(data)
        if type(bank) in COUNTING_BANKS and _overrides_bank(type(measure)):
            bank = PythonBank(measure, data.values)
        return self._own(bank)

    def _outside(self) -> None:
        """Refuse a call from inside a verb: a measure's or a component's method can't use the franchise."""
        if self._verb is not None:
            raise BusyError(
                "franchise", f"inside the verb {self._verb!r}", "used by one verb at a time",
                "A method that a verb calls may look at what it is given, and at franchise.slots.",
            )  # fmt: skip

    def _inside(self, verb: str, kernel: str, function: Any, *arguments: Any) -> Any:
        """Call what serves a verb; until its end nothing else may use the franchise."""
        stores = [] if kernel == "reference" else [s for s in (self.store, self._seated_out) if s is not None]
        try:
            self._verb = verb
            for store in stores:
                store.busy = True
            return function(*arguments)
        finally:
            self._at_rest()

    def _at_rest(self) -> None:
        """No verb is under way."""
        self._verb = None
        self.slots.source = None
        for store in (self.store, self._seated_out):
            if isinstance(store, Seating):
                store.busy = False

    def _trust_seating(self) -> None:
        """Audit a seating that was changed through the store itself, before compiled code relies on it."""
        if getattr(self.seating, "touched", False):
            audit(cast("Franchise", self))
            self.seating.touched = False

    def _not_seated_out(self, done: str) -> None:
        if self._seated_out is not None:
            raise StateError(
                "franchise", "seated out", f"{done} outside a move", "Wait until the move is over."
            )
