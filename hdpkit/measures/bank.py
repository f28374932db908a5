"""Statistics of all dishes of a franchise, by slot: the interface.

The bank belongs to the measure. `PythonBank` calls the methods of a measure in Python; `CompiledBank` has a C
struct (``include/hdpkit/measure.h``), and `CapsuleBank` the struct of another package. A subclass of a
measure of the package that overrides its methods gets the readable bank. What can't be computed from values
and dishes, such as parameters of dishes, is in the `freeze` of a bank
(`hdpkit.measures.kept_parameters`). Measures are immutable: when a parameter changes, the franchise has
another measure, which the bank adopts, keeping its statistics.

Some banks have more methods: ``read(parts)`` and ``begin(slot)``, if probabilities depend on parts that the
measure provides; ``read_restaurants(restaurants)``, one for each customer, or over cells
``read_cells(store)``, if they depend on the restaurant; those of `BurstyReferenceBank` for values that sit at
tables, and for sweeps given topics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from hdpkit.arrays import Bools, Floats, Int32s, IntsOrList
from hdpkit.measures._measure import CompiledBank
from hdpkit.random import ChoiceSource


class StatisticsBank(Protocol):
    """Statistics by dish slot. Customers are given by number; the bank has their values."""

    # If ``needs_dishes`` is there and False, `log_marginals` is given None for the dishes.

    def born(self, slot: int) -> None:
        """Empty statistics for a slot."""

    def died(self, slot: int) -> None:
        """The slot's statistics are no longer needed."""

    def add(self, slot: int, customers: IntsOrList) -> None:
        """Add these customers' values to a slot."""

    def remove(self, slot: int, customers: IntsOrList) -> None:
        """Remove these customers' values from a slot."""

    def log_predictive(self, customer: int, slots: IntsOrList) -> Floats:
        """Log predictive of a customer's value under each slot and, last, a new dish: shape (n + 1,)."""

    def log_block(self, customers: IntsOrList, slots: IntsOrList) -> Floats:
        """Log probability of a block under each slot and, last, a new dish: shape (n + 1,)."""

    def log_marginals(self, slots: IntsOrList, dishes: Int32s | None) -> Floats:
        """Log marginal probability of the data of each slot: shape (n,)."""

    def rebuild(self, dishes: Int32s, slots: IntsOrList) -> None:
        """Recount everything from each customer's dish (-1: unseated)."""

    def relabelled(self, mapping: Int32s) -> None:
        """Slots have new numbers."""

    def adopt(self, measure: Any) -> bool:
        """Use the parameter values of another measure of this class. False: a recount is needed."""

    def statistics(self, slots: IntsOrList, dishes: Int32s) -> list[Any]:
        """Statistics of these slots in the form of the measure's methods."""

    def prepare(self, source: ChoiceSource) -> None:
        """Use this source for draws until the end of a step."""

    def freeze(self) -> Any:
        """The state that can't be computed from data and dishes, as arrays and numbers; None: nothing."""

    def thaw(self, frozen: Any) -> None:
        """Restore the result of `freeze`; called before `rebuild`."""

    def memory_bytes(self) -> int:
        """Bytes of memory held, as far as they are known."""


class ObservedBank:
    """The bank of all customers; those whose observation is missing have likelihood 1 under every dish."""

    def __init__(self, bank: Any, missing: Bools) -> None:
        self.of_all = bank
        self.missing = missing

    def __getattr__(self, name: str) -> Any:
        if name == "of_all":  # not set yet, in a copy
            raise AttributeError(name)
        return getattr(self.of_all, name)

    def _observed(self, customers: IntsOrList) -> list[int]:
        return [int(i) for i in customers if not self.missing[i]]

    def add(self, slot: int, customers: IntsOrList) -> None:
        """Add the values of those of these customers who have one to a slot."""
        if seen := self._observed(customers):
            self.of_all.add(slot, seen)

    def remove(self, slot: int, customers: IntsOrList) -> None:
        """Remove the values of those of these customers who have one from a slot."""
        if seen := self._observed(customers):
            self.of_all.remove(slot, seen)

    def log_predictive(self, customer: int, slots: IntsOrList) -> Floats:
        """Log predictive of a customer's value under each slot and, last, a new dish; 0 without a value."""
        return self.log_block([customer], slots)

    def log_block(self, customers: IntsOrList, slots: IntsOrList) -> Floats:
        """Log probability of the values of a block under each slot and, last, a new dish: shape (n + 1,)."""
        seen = self._observed(customers)
        if not seen:
            return np.zeros(len(slots) + 1)
        of_all: StatisticsBank = self.of_all
        return of_all.log_predictive(seen[0], slots) if len(seen) == 1 else of_all.log_block(seen, slots)

    def log_likelihood_of(self, slot: int, customers: IntsOrList) -> Callable[[Any], float]:
        """Return the log likelihood of a dish's data as a function of its parameter."""
        found: Callable[[Any], float] = self.of_all.log_likelihood_of(slot, self._observed(customers))
        return found


def observed_bank(bank: Any, data: Any) -> Any:
    """The bank itself, or one that leaves out the missing observations of data that have any."""
    missing = getattr(data, "missing", None)
    if missing is None or not missing.any():
        return bank
    return ObservedBank(bank, missing)


class PoweredBank:
    """The statistics of another bank, with its probabilities raised to a power."""

    def __init__(self, of: Any, power: float) -> None:
        self.of = of
        self.own = power
        for name in _KEPT:
            setattr(self, name, getattr(of, name))
        if isinstance(of, CompiledBank):
            self.attach = of.attach  # births and deaths reach the statistics without the interpreter

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

    def log_marginals(self, slots: IntsOrList, dishes: Int32s | None) -> Floats:
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
    return PoweredBank(bank, power)


def power_of(bank: Any) -> float:
    """The power to which the probabilities of a bank are raised; 1 for any other bank."""
    return float(getattr(bank, "power", 1.0))
