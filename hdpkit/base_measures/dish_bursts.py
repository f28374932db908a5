"""A concentration per dish of topics that differ by restaurant: parameters of dishes in the state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from hdpkit.arrays import Floats, Int32s
from hdpkit.base_measures.kept_parameters import KeptParameters
from hdpkit.errors import AuditError, DataError, ParameterError
from hdpkit.parts import Attached, Part
from hdpkit.priors import log_density_at

__all__ = ["BurstsOfDishes", "DishConcentrations"]


class DishConcentrations(KeptParameters):
    """The concentration b_k of each dish, independently distributed as the prior.

    The first customer of a dish opens a table whatever b_k is. So a dish born for one customer draws b_k from
    the prior, which is also the posterior; for a block, b_k is that of an auxiliary dish.
    """

    def check_parameter(self, key: str, parameter: Any, remedy: str) -> None:
        """Raise a DataError unless this can be the concentration of a dish."""
        array = np.array(parameter)
        if (
            array.shape != ()
            or array.dtype.kind not in "iuf"
            or not self.measure.is_concentration(float(array))
        ):
            raise DataError(key, parameter, "the concentration of a dish, above 0 and up to 1e100", remedy)

    def set_parameter(self, slot: int, parameter: Any) -> None:
        """Change the concentration of a dish."""
        value = float(parameter)
        if not self.measure.is_concentration(value):
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
        state, bank = self.state, self.state.bank
        for slot in slots.tolist():
            if not (bank.has_parameter(slot) and state.measure.is_concentration(bank.parameter(slot))):
                raise AuditError(
                    "bursts", f"none of the dish in slot {slot}", "a concentration of each dish",
                    "The state is inconsistent: report the move that ran last.",
                )  # fmt: skip

    def clone(self, state: Any) -> Self:
        """Not used: a copy of the franchise creates its own."""
        raise NotImplementedError
