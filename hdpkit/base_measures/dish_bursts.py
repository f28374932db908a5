"""A concentration per dish of topics that differ by restaurant: parameters of dishes in the state."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int32s, Int64s, IntsOrList
from hdpkit.base_measures.bursty import Bursts, Bursty, BurstyReferenceBank, is_concentration
from hdpkit.base_measures.kept_parameters import KeptParameters
from hdpkit.data import GroupedData
from hdpkit.errors import AuditError, DataError, ParameterError
from hdpkit.parts import Attached, Part
from hdpkit.priors import log_density_at
from hdpkit.random import ChoiceSource

__all__ = ["BurstsOfDishes", "DishBurstsReferenceBank", "DishConcentrations"]


class DishConcentrations(KeptParameters):
    """The concentration b_k of each dish, independently distributed as the prior.

    The first customer of a dish opens a table whatever b_k is. So a dish born for one customer draws b_k from
    the prior, which is also the posterior; for a block, b_k is that of an auxiliary dish.
    """

    def check_parameter(self, key: str, parameter: Any, remedy: str) -> None:
        """Raise a DataError unless this can be the concentration of a dish."""
        array = np.array(parameter)
        if array.shape != () or array.dtype.kind not in "iuf" or not is_concentration(float(array)):
            raise DataError(key, parameter, "the concentration of a dish, above 0 and up to 1e100", remedy)

    def set_parameter(self, slot: int, parameter: Any) -> None:
        """Change the concentration of a dish."""
        value = float(parameter)
        if not is_concentration(value):
            raise ParameterError(
                "concentration of a dish", parameter, "above 0 and up to 1e100", "Give a positive number."
            )
        super().set_parameter(slot, value)

    @staticmethod
    def without_tables(frozen: Any) -> Any:
        """The concentrations of what a bank froze; None if it has none."""
        if not isinstance(frozen, Mapping):
            return frozen
        return {name: value for name, value in frozen.items() if name != "opens"} or None


class DishBurstsReferenceBank(BurstyReferenceBank):
    """Customers and tables of terms in each restaurant, with a separate concentration for each dish.

    `log_block` draws the concentration of the new dish, or takes that of the dish that the block has left,
    and draws the tables of the block given it.
    """

    def __init__(self, measure: Bursty, data: GroupedData) -> None:
        self.kept = DishConcentrations(measure, data.values)
        super().__init__(measure, data)

    def prepare(self, source: ChoiceSource) -> None:
        """Use this source for draws until the end of a verb."""
        self.kept.prepare(source)
        super().prepare(source)

    # ------------------------------------------------------------------ dishes

    def born(self, slot: int) -> None:
        """Empty statistics, and a concentration."""
        self.kept.born(slot)
        super().born(slot)
        self._of[int(slot)].concentration = float(self.kept.parameter(slot))

    def died(self, slot: int) -> None:
        """Remove the concentration of the dish, except for the current step."""
        self.kept.died(slot)
        super().died(slot)

    def remove(self, slot: int, customers: IntsOrList) -> None:
        """Remove these customers from a slot, the last one first."""
        self.kept.left(slot, int(customers[0]))
        super().remove(slot, customers)

    def add(self, slot: int, customers: IntsOrList) -> None:
        """Seat these customers in a slot, at the tables that were drawn for them if `log_block` was asked."""
        self.kept.seated(customers)
        super().add(slot, customers)

    def log_block(self, customers: IntsOrList, slots: IntsOrList) -> Floats:
        """Log of an unbiased estimate of the probability of a block under each slot and, last, a new dish."""
        if len(customers) == 1:  # the same whatever the concentration of the new dish
            return super().log_block(customers, slots)
        offered = self.kept.offered(customers)
        self._next = float(offered[0])
        logs = super().log_block(customers, slots)
        self.kept.weighed(offered, logs[-1:])
        return logs

    def _empty(self, slot: int) -> Bursts:
        made = self.measure.make()
        made.concentration = self._next
        return made

    def adopt(self, measure: Bursty) -> bool:
        """Replace the parameter values; the numbers of tables and the concentrations are kept."""
        self.kept.measure = measure
        return super().adopt(measure)

    # ------------------------------------------------------------------ concentrations

    def bring_back(self, customer: int) -> None:
        """Give the next new dish the concentration recorded for this customer, if there is one."""
        self.kept.bring_back(customer)

    def parameter(self, slot: int) -> float:
        """Concentration of a dish."""
        return float(self.kept.parameter(slot))

    def has_parameter(self, slot: int) -> bool:
        """Whether the dish already has a concentration."""
        return self.kept.has_parameter(slot)

    def set_parameter(self, slot: int, parameter: Any) -> None:
        """Change the concentration of a dish."""
        self.kept.set_parameter(slot, parameter)
        self._of[int(slot)].concentration = self.parameter(slot)
        self._log_seating.pop(int(slot), None)

    def log_likelihood_of(self, slot: int, customers: IntsOrList) -> Callable[[Any], float]:
        """Return log p(terms, numbers of tables) of a dish as a function of its concentration, up to a
        constant."""
        statistics = self._of[int(slot)]
        return lambda b: self.measure.log_seating(attrs.evolve(statistics, concentration=float(b)))

    def totals_of(self, slot: int) -> tuple[Int64s, Int64s]:
        """Customers and tables of every restaurant in the dish of a slot, in any order: shape (n,) each."""
        found = np.array(list(self._of[int(slot)].totals.values()), dtype=np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    # ------------------------------------------------------------------ saved with the state

    def rebuild(self, dishes: Int32s, slots: IntsOrList) -> None:
        """Recount everything from each customer's dish (-1: unseated) and the tables of `thaw`."""
        self.kept.rebuild(dishes, slots)
        super().rebuild(dishes, slots)
        for slot, statistics in self._of.items():
            statistics.concentration = self.parameter(slot)

    def relabelled(self, mapping: Int32s) -> None:
        """Slots have new numbers."""
        self.kept.relabelled(mapping)
        super().relabelled(mapping)

    def freeze(self) -> dict[str, Any]:
        """The numbers of tables and the concentrations."""
        return {**super().freeze(), **self.kept.freeze()}

    def check_frozen(self, frozen: Any, slots: Any) -> None:
        """Raise a DataError unless these are concentrations, one per dish; None is accepted."""
        self.kept.check_frozen(self.kept.without_tables(frozen), slots)

    def thaw(self, frozen: Any) -> None:
        """Restore frozen numbers of tables and concentrations."""
        super().thaw(frozen)
        self.kept.thaw(self.kept.without_tables(frozen))

    def memory_bytes(self) -> int:
        """Bytes of the arrays, of the inner bank and of the concentrations."""
        return super().memory_bytes() + self.kept.memory_bytes()


class BurstsOfDishes(Attached, Part):
    """The concentrations of dishes as a part of the state. The bank of the measure stores them."""

    def concentrations(self) -> Floats:
        """Return the concentration of each dish, in the order of the dishes."""
        slots, bank = self.state.slots.occupied_slots().tolist(), self.state.bank
        return np.array([bank.parameter(slot) for slot in slots], dtype=float)

    def log_density(self, state: Any) -> float:
        """Log prior density of the concentrations, in nats. The likelihood is conditional on them."""
        prior = state.measure.concentration.prior
        return math.fsum(log_density_at(prior, b) for b in self.concentrations().tolist())

    def scalars(self, state: Any) -> Mapping[str, float]:
        """The median over the dishes."""
        return {"median": float(np.median(self.concentrations()))}

    def audit(self, slots: Int32s) -> None:
        """Check that each dish has a concentration."""
        bank = self.state.bank
        for slot in slots.tolist():
            if not (bank.has_parameter(slot) and is_concentration(bank.parameter(slot))):
                raise AuditError(
                    "bursts", f"none of the dish in slot {slot}", "a concentration of each dish",
                    "The state is inconsistent: report the move that ran last.",
                )  # fmt: skip

    def clone(self, state: Any) -> Self:
        """Not used: a copy of the franchise creates its own."""
        raise NotImplementedError
