"""The bank of a measure written in Python, and of one of which some dishes have fixed topics."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.arrays import Bools, Floats, Int32s, IntsOrList
from hdpkit.checks import log_densities, log_density, whole_number
from hdpkit.measures.bank import StatisticsBank
from hdpkit.random import ChoiceSource

_LARGEST = 2**31 - 2  # slots are int32


class PythonBank(StatisticsBank):
    """The bank of a measure written in Python; ``values`` has one for each data customer."""

    def __init__(self, measure: Any, values: Any) -> None:
        self.measure = measure
        self.values = values
        self._empty = measure.make()
        self._of: dict[int, Any] = {}

    def born(self, slot: int) -> None:
        number = whole_number("slot", slot, 0, _LARGEST, remedy="See Franchise.open_dish.")
        self._of[number] = self.measure.make()

    def died(self, slot: int) -> None:
        self._of.pop(slot, None)  # after a recount following a failure, a proposal's slots have no entry

    def add(self, slot: int, customers: IntsOrList) -> None:
        for i in customers:
            self.measure.add(self._of[slot], self.values[i])

    def remove(self, slot: int, customers: IntsOrList) -> None:
        for i in customers:
            self.measure.remove(self._of[slot], self.values[i])

    def copy_of(self, slot: int) -> Any:
        """The statistics of a slot, to be restored by `put`."""
        return self.measure.copy(self._of[slot])

    def put(self, slot: int, kept: Any) -> None:
        """Restore what `copy_of` returned."""
        self._of[slot] = kept

    def _many(self, slots: IntsOrList) -> list[Any]:
        return [*(self._of[slot] for slot in slots), self._empty]

    def log_predictive(self, customer: int, slots: IntsOrList) -> Floats:
        logs = self.measure.log_predictive(self.values[customer], self._many(slots))
        return log_densities(self.measure, "log_predictive", logs, len(slots) + 1)

    def log_block(self, customers: IntsOrList, slots: IntsOrList) -> Floats:
        values = [self.values[i] for i in customers]
        logs = self.measure.log_block(values, self._many(slots))
        return log_densities(self.measure, "log_block", logs, len(slots) + 1)

    @property
    def needs_dishes(self) -> bool:
        """Whether the marginal of a slot is computed from its data."""
        return not self.measure.supports("log_marginal")

    def log_marginals(self, slots: IntsOrList, dishes: Int32s | None) -> Floats:
        """Log marginal probability of the data of each slot: shape (n,); by the chain rule if necessary."""
        if self.measure.supports("log_marginal"):
            measure = self.measure
            logs = (measure.log_marginal(one) for one in self._many(slots)[:-1])
            return np.array([log_density(measure, "log_marginal", value) for value in logs], dtype=float)
        return np.array(
            [self.log_block(np.flatnonzero(dishes == slot), [])[-1] for slot in slots], dtype=float
        )

    def statistics(self, slots: IntsOrList, dishes: Int32s) -> list[Any]:
        return self._many(slots)[:-1]

    def adopt(self, measure: Any) -> bool:
        """Replace the parameter values; statistics depend only on the data and are kept."""
        self._empty = measure.make()  # first, because user code may fail
        self.measure = measure
        return True

    def prepare(self, source: ChoiceSource) -> None:
        """Does nothing: this bank draws nothing."""

    def freeze(self) -> Any:
        """None: everything can be computed from the data and their dishes."""
        return None

    def thaw(self, frozen: Any) -> None:
        """See `freeze`."""

    def rebuild(self, dishes: Int32s, slots: IntsOrList) -> None:
        self._of = {int(slot): self.measure.make() for slot in slots}
        for i, slot in enumerate(dishes):
            if slot >= 0:
                self.measure.add(self._of[int(slot)], self.values[i])

    def relabelled(self, mapping: Int32s) -> None:
        self._of = {int(mapping[slot]): statistics for slot, statistics in self._of.items()}

    def memory_bytes(self) -> int:
        return sum(getattr(statistics, "nbytes", 0) for statistics in self._of.values())


class FixedBank(PythonBank):
    """Statistics of dishes for a Python measure over terms, some of which have fixed topics."""

    def __init__(self, measure: Any, values: Any) -> None:
        super().__init__(measure, values)
        self._log_topics: dict[int, Floats] = {}

    def fix(self, topics: Floats, which: Bools) -> None:
        """Set fixed topics, shape (n, n_terms), of slots 0 .. n - 1, and which of these slots have one."""
        with np.errstate(divide="ignore"):
            self._log_topics = {j: np.log(topics[j]) for j in np.flatnonzero(which).tolist()}

    def _put(self, logs: Floats, slots: IntsOrList, terms: Any) -> Floats:
        """Log probabilities under each slot, with those of fixed topics."""
        for place, slot in enumerate(slots):
            if int(slot) in self._log_topics:
                logs[place] = np.sum(self._log_topics[int(slot)][terms])
        return logs

    def log_predictive(self, customer: int, slots: IntsOrList) -> Floats:
        return self._put(super().log_predictive(customer, slots), slots, [self.values[customer]])

    def log_block(self, customers: IntsOrList, slots: IntsOrList) -> Floats:
        terms = [self.values[i] for i in customers]
        return self._put(super().log_block(customers, slots), slots, terms)

    @property
    def needs_dishes(self) -> bool:
        return True

    def log_marginals(self, slots: IntsOrList, dishes: Int32s | None) -> Floats:
        logs, eaten = super().log_marginals(slots, dishes), np.asarray(dishes)
        values = np.asarray(self.values)[: len(eaten)]
        for place, slot in enumerate(slots):
            if int(slot) in self._log_topics:
                logs[place] = np.sum(self._log_topics[int(slot)][values[eaten == slot]])
        return logs
