"""A smoothing per dish of a sparse Dirichlet-multinomial: parameters of dishes in the state."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, IntsOrList
from hdpkit.base_measures.kept_parameters import KeptParameters
from hdpkit.base_measures.proportions import SelectionBank
from hdpkit.base_measures.selection_range import LARGEST, SMALLEST, check_smoothing
from hdpkit.checks import log_densities
from hdpkit.errors import AuditError, DataError, ParameterError
from hdpkit.parts import Attached, Part
from hdpkit.priors import draw_from, log_density_at
from hdpkit.random import ChoiceSource

__all__ = ["SMOOTHING", "DishSmoothings", "SmoothingBank", "SmoothingOfDishes"]

SMOOTHING = "smoothing"


def _is_smoothing(value: Any) -> bool:
    try:
        check_smoothing(value)
    except ParameterError:
        return False
    return True


class DishSmoothings(KeptParameters):
    """The smoothing lambda_k of each dish, independently distributed as the prior.

    For a single customer the weight of a new dish is (1 - p(no term)) / V, independent of its smoothing. So a
    dish born for one customer draws its smoothing from the prior, which is also the posterior. The
    probability of a block under a new dish depends on the smoothing, so auxiliary dishes are used.
    """

    def _draw_several(self, n: int) -> list[float]:
        """Draw several smoothings at once: a sweep over blocks needs some for each block."""
        prior = self.measure.smoothing.prior
        if self._source is None or n == 0 or hasattr(prior, "choose"):
            return super()._draw_several(n)
        drawn = draw_from(prior, self._source, n).tolist()
        return [one if SMALLEST <= one <= LARGEST else self._draw() for one in drawn]

    def check_parameter(self, key: str, parameter: Any, remedy: str) -> None:
        """Raise a DataError unless this can be the smoothing of a dish."""
        array = np.array(parameter)
        if array.shape != () or array.dtype.kind not in "iuf" or not _is_smoothing(float(array)):
            raise DataError(key, parameter, "the smoothing of a dish, from 1e-6 to 1e6", remedy)

    def set_parameter(self, slot: int, parameter: Any) -> None:
        """Change the smoothing of a dish."""
        super().set_parameter(slot, check_smoothing(float(parameter)))


class SmoothingBank(SelectionBank):
    """Statistics in Python of a measure with selected terms and a separate smoothing for each dish."""

    def __init__(self, measure: Any, values: Any) -> None:
        super().__init__(measure, values)
        self.kept = DishSmoothings(measure, values)

    # ------------------------------------------------------------------ dishes

    def prepare(self, source: ChoiceSource) -> None:
        """Use this source for draws until the end of a verb."""
        self.kept.prepare(source)

    def born(self, slot: int) -> None:
        """Empty statistics, and a smoothing."""
        self.kept.born(slot)
        super().born(slot)

    def died(self, slot: int) -> None:
        """Remove the smoothing of the dish, except for the current step."""
        self.kept.died(slot)
        super().died(slot)

    def remove(self, slot: int, customers: IntsOrList) -> None:
        """Remove these customers' values from a slot."""
        self.kept.left(slot, int(customers[0]))
        super().remove(slot, customers)

    def add(self, slot: int, customers: IntsOrList) -> None:
        """Add these customers' values to a slot."""
        self.kept.seated(customers)
        super().add(slot, customers)

    def begin(self, slot: int) -> Any:
        """Statistics without values, with the smoothing and the proportion of a slot."""
        made = super().begin(slot)
        made.smoothing = self.kept.parameter(slot)
        return made

    def _many(self, slots: IntsOrList) -> list[Any]:
        many = super()._many(slots)
        for slot, statistics in zip(slots, many, strict=False):  # the last has no slot
            statistics.smoothing = self.kept.parameter(slot)
        return many

    def log_block(self, customers: IntsOrList, slots: IntsOrList) -> Floats:
        """Log probability of a block under each slot and, last, its mean over auxiliary dishes."""
        if len(customers) == 1:  # the same under all auxiliary dishes, so none are drawn
            return self.log_predictive(customers[0], slots)
        offered = self.kept.offered(customers)
        measure: Any = self.measure
        many = [*self._many(slots)[:-1], *(measure.begun(smoothing) for smoothing in offered)]
        values = [self.values[i] for i in customers]
        logs = log_densities(measure, "log_block", measure.log_block(values, many), len(many))
        return np.append(logs[: len(slots)], self.kept.weighed(offered, logs[len(slots) :]))

    def adopt(self, measure: Any) -> bool:
        """Replace the parameter values; statistics and smoothings are kept."""
        self.kept.measure = measure
        return super().adopt(measure)

    # ------------------------------------------------------------------ smoothings

    def bring_back(self, customer: int) -> None:
        """Give the next new dish the smoothing recorded for this customer, if there is one."""
        self.kept.bring_back(customer)

    def parameter(self, slot: int) -> float:
        """Smoothing of a dish."""
        return float(self.kept.parameter(slot))

    def has_parameter(self, slot: int) -> bool:
        """Whether the dish already has a smoothing."""
        return self.kept.has_parameter(slot)

    def set_parameter(self, slot: int, parameter: Any) -> None:
        """Change the smoothing of a dish."""
        self.kept.set_parameter(slot, parameter)

    def log_likelihood_of(self, slot: int, customers: IntsOrList) -> Callable[[Any], float]:
        """Return the log marginal of a dish as a function of its smoothing."""
        statistics = self._many([slot])[0]
        return lambda smoothing: self.measure.log_marginal(
            attrs.evolve(statistics, smoothing=float(smoothing))
        )

    # ------------------------------------------------------------------ saved with the state

    def rebuild(self, dishes: npt.NDArray[np.int32], slots: IntsOrList) -> None:
        """Recount everything from each customer's dish (-1: unseated)."""
        self.kept.rebuild(dishes, slots)
        super().rebuild(dishes, slots)

    def relabelled(self, mapping: npt.NDArray[np.int32]) -> None:
        """Slots have new numbers."""
        self.kept.relabelled(mapping)
        super().relabelled(mapping)

    def freeze(self) -> dict[str, Any]:
        """The smoothings."""
        return self.kept.freeze()

    def check_frozen(self, frozen: Any, slots: Any) -> None:
        """Raise a DataError unless these are smoothings, one per dish; None is accepted."""
        self.kept.check_frozen(frozen, slots)

    def thaw(self, frozen: Any) -> None:
        """Restore frozen smoothings."""
        self.kept.thaw(frozen)

    def memory_bytes(self) -> int:
        """Bytes of counts and smoothings."""
        return super().memory_bytes() + self.kept.memory_bytes()


class SmoothingOfDishes(Attached, Part):
    """The smoothings of dishes as a part of the state. The bank of the measure stores them."""

    def smoothings(self) -> Floats:
        """Return the smoothing of each dish, in the order of the dishes."""
        slots, bank = self.state.slots.occupied_slots().tolist(), self.state.bank
        return np.array([bank.parameter(slot) for slot in slots], dtype=float)

    def log_density(self, state: Any) -> float:
        """Log prior density of the smoothings, in nats. The likelihood is conditional on them."""
        prior = state.measure.smoothing.prior
        return math.fsum(log_density_at(prior, smoothing) for smoothing in self.smoothings().tolist())

    def scalars(self, state: Any) -> Mapping[str, float]:
        """The mean over the dishes."""
        return {"mean": float(np.mean(self.smoothings()))}

    def audit(self, slots: npt.NDArray[np.int32]) -> None:
        """Check that each dish has a smoothing."""
        bank = self.state.bank
        for slot in slots.tolist():
            if not (bank.has_parameter(slot) and _is_smoothing(bank.parameter(slot))):
                raise AuditError(
                    SMOOTHING, f"none of the dish in slot {slot}", "one of each dish",
                    "The state is inconsistent: report the move that ran last.",
                )  # fmt: skip

    def clone(self, state: Any) -> Self:
        """Not used: a copy of the franchise creates its own."""
        raise NotImplementedError
