"""Banks whose probabilities are raised to a power; `PoweredBank` is that of a compiled bank."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, IntsOrList
from hdpkit.measures._measure import CompiledBank, PoweredBank
from hdpkit.measures.bank import ObservedBank


class PoweredReferenceBank:
    """The statistics of another bank in Python, with its probabilities raised to a power.

    Parameters
    ----------
    of : StatisticsBank
        It keeps the statistics.
    power : float
    """

    def __init__(self, of: Any, power: float) -> None:
        self.of = of
        self.own = power
        for name in _KEPT:
            setattr(self, name, getattr(of, name))

    @property
    def power(self) -> float:
        """Of the probabilities of the innermost bank."""
        return self.own * power_of(self.of)

    @property
    def needs_dishes(self) -> bool:
        """Whether `log_marginals` needs the dishes."""
        return bool(getattr(self.of, "needs_dishes", True))

    def log_predictive(self, customer: int, slots: IntsOrList) -> Floats:
        """Log predictive of a customer's value under each slot and, last, a new dish, times the power."""
        logs: Floats = self.own * np.asarray(self.of.log_predictive(customer, slots))
        return logs

    def log_block(self, customers: IntsOrList, slots: IntsOrList) -> Floats:
        """Log probability of a block under each slot and, last, a new dish, times the power."""
        logs: Floats = self.own * np.asarray(self.of.log_block(customers, slots))
        return logs

    def log_marginals(self, slots: IntsOrList, dishes: npt.NDArray[np.int32] | None) -> Floats:
        """Log marginal probability of the data of each slot, times the power: shape (n,)."""
        logs: Floats = self.own * np.asarray(self.of.log_marginals(slots, dishes))
        return logs

    def adopt(self, measure: Any) -> bool:
        """Use the parameter values of a tempered measure."""
        return bool(self.of.adopt(measure.measure))


_KEPT = (
    "born", "died", "add", "remove", "rebuild", "relabelled", "statistics", "prepare", "freeze", "thaw",
    "memory_bytes",
)  # fmt: skip
"""Methods that are those of the bank that keeps the statistics."""


def powered_bank(bank: Any, power: float) -> Any:
    """The statistics of a bank, with its probabilities raised to a power."""
    if isinstance(bank, ObservedBank):
        return ObservedBank(powered_bank(bank.of_all, power), bank.missing)
    return (PoweredBank if isinstance(bank, CompiledBank) else PoweredReferenceBank)(bank, power)


def power_of(bank: Any) -> float:
    """The power to which the probabilities of a bank are raised; 1 for any other bank."""
    return float(getattr(bank, "power", 1.0))
