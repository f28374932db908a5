"""Statistics of all dishes of a franchise, by slot: the interface.

The bank belongs to the measure. `PythonBank` calls the methods of a measure in Python; `CompiledBank` has a C
struct (``include/hdpkit/measure.h``), and `CapsuleBank` the struct of another package. A subclass of a
measure of the package that overrides its methods gets the readable bank. What can't be computed from values
and dishes, such as parameters of dishes, is in the `freeze` of a bank
(`hdpkit.measures.kept_parameters`). Measures are immutable: when a parameter changes, the franchise has
another measure, which the bank adopts, keeping its statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int64s, IntsOrList
from hdpkit.checks import ByClass, log_densities, log_density, whole_number
from hdpkit.measures._measure import CompiledBank
from hdpkit.parts import Part
from hdpkit.random import ChoiceSource

_LARGEST = 2**31 - 2  # slots are int32


class StatisticsBank(Protocol):
    """Statistics by dish slot. Customers are given by number; the bank has their values.

    Attributes
    ----------
    needs_dishes : bool, optional
        Whether `log_marginals` needs the dishes. If it is False, statistics are sufficient and None is
        passed.
    """

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

    def log_marginals(self, slots: IntsOrList, dishes: npt.NDArray[np.int32] | None) -> Floats:
        """Log marginal probability of the data of each slot: shape (n,)."""

    def rebuild(self, dishes: npt.NDArray[np.int32], slots: IntsOrList) -> None:
        """Recount everything from each customer's dish (-1: unseated)."""

    def relabelled(self, mapping: npt.NDArray[np.int32]) -> None:
        """Slots have new numbers."""

    def adopt(self, measure: Any) -> bool:
        """Use the parameter values of another measure of this class. False: a recount is needed."""

    def statistics(self, slots: IntsOrList, dishes: npt.NDArray[np.int32]) -> list[Any]:
        """Statistics of these slots in the form of the measure's methods."""

    def prepare(self, source: ChoiceSource) -> None:
        """Use this source for draws until the end of a step."""

    def freeze(self) -> Any:
        """The state that can't be computed from data and dishes, as arrays and numbers; None: nothing."""

    def thaw(self, frozen: Any) -> None:
        """Restore the result of `freeze`; called before `rebuild`."""

    def memory_bytes(self) -> int:
        """Bytes of memory held, as far as they are known."""


@runtime_checkable
class ReadsParts(Protocol, metaclass=ByClass):
    """The additional methods of a bank whose probabilities depend on parts that its measure provides."""

    def read(self, parts: Mapping[str, Part]) -> None:
        """Use the values of these parts from now on; they exist as long as the bank is used."""

    def begin(self, slot: int) -> Any:
        """Statistics without values for the measure's methods, with the parts' values of a slot."""


@runtime_checkable
class SeatsValues(Protocol, metaclass=ByClass):
    """The additional methods of a bank whose values sit at tables that are part of the state.

    A proposal for many customers then includes their tables. These are drawn one after the other, in the
    proposal and for the present state, so that the ratio of acceptance has products of predictives in place
    of marginals.
    """

    def exchange(
        self,
        blocks: Sequence[IntsOrList],
        slots: Sequence[int],
        targets: Sequence[int] | None,
        source: ChoiceSource,
    ) -> None:
        """Begin a proposal for blocks that are all customers of one or two dishes.

        The present tables of the customers are drawn given their numbers. If a block is added to the reserved
        slot that ``targets`` has for it, in the order given, it sits at these.

        Parameters
        ----------
        blocks : sequence of int arrays
            In the order in which they are added to the reserved ``slots``.
        slots : sequence of int
        targets : sequence of int, optional
            The slot of each block in the reverse proposal; None: the proposal is a split.
        source : ChoiceSource
        """

    def log_exchanged(self, split: bool) -> float:
        """Log ratio of p(values, tables) of two dishes and of one, over the densities of drawn tables."""

    def settle(self, move: Callable[[], None]) -> None:
        """Run a function that moves the customers to their new dishes, and seat them as proposed."""

    def take_out(self, customers: IntsOrList) -> tuple[dict[int, bool], float]:
        """Remove customers from their slots, the last one first; which of them sat alone, and log p."""

    def sit(self, customer: int, slot: int, opens: bool | None = None) -> tuple[bool, float]:
        """Seat one customer; whether it opens a table is drawn unless given. Also log f of its value."""

    def rise(self, customer: int, opens: bool) -> None:
        """Remove one customer, who sat alone or not."""

    def totals(self) -> tuple[Int64s, Int64s]:
        """Customers and tables of every restaurant in a dish, in any order: shape (n,) each."""

    def cells(self) -> tuple[Int64s, Int64s]:
        """Customers and tables of every term of a restaurant in a dish, in any order: shape (n,) each."""


class PythonBank:
    """The bank of a measure written in Python.

    Parameters
    ----------
    measure : BaseMeasure
    values : sequence
        One value per data customer.
    """

    def __init__(self, measure: Any, values: Any) -> None:
        self.measure = measure
        self.values = values
        self._empty = measure.make()
        self._of: dict[int, Any] = {}

    def born(self, slot: int) -> None:
        """Empty statistics for a slot."""
        number = whole_number("slot", slot, 0, _LARGEST, remedy="See Franchise.open_dish.")
        self._of[number] = self.measure.make()

    def died(self, slot: int) -> None:
        """The slot's statistics are no longer needed."""
        self._of.pop(slot, None)  # after a recount following a failure, a proposal's slots have no entry

    def add(self, slot: int, customers: IntsOrList) -> None:
        """Add these customers' values to a slot."""
        for i in customers:
            self.measure.add(self._of[slot], self.values[i])

    def remove(self, slot: int, customers: IntsOrList) -> None:
        """Remove these customers' values from a slot."""
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
        """Log predictive of a customer's value under each slot and, last, a new dish: shape (n + 1,)."""
        logs = self.measure.log_predictive(self.values[customer], self._many(slots))
        return log_densities(self.measure, "log_predictive", logs, len(slots) + 1)

    def log_block(self, customers: IntsOrList, slots: IntsOrList) -> Floats:
        """Log probability of a block under each slot and, last, a new dish: shape (n + 1,)."""
        values = [self.values[i] for i in customers]
        logs = self.measure.log_block(values, self._many(slots))
        return log_densities(self.measure, "log_block", logs, len(slots) + 1)

    @property
    def needs_dishes(self) -> bool:
        """Whether the marginal of a slot is computed from its data."""
        return not self.measure.supports("log_marginal")

    def log_marginals(self, slots: IntsOrList, dishes: npt.NDArray[np.int32] | None) -> Floats:
        """Log marginal probability of the data of each slot: shape (n,); by the chain rule if necessary."""
        if self.measure.supports("log_marginal"):
            measure = self.measure
            logs = (measure.log_marginal(one) for one in self._many(slots)[:-1])
            return np.array([log_density(measure, "log_marginal", value) for value in logs], dtype=float)
        return np.array(
            [self.log_block(np.flatnonzero(dishes == slot), [])[-1] for slot in slots], dtype=float
        )

    def statistics(self, slots: IntsOrList, dishes: npt.NDArray[np.int32]) -> list[Any]:
        """Statistics of these slots."""
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

    def rebuild(self, dishes: npt.NDArray[np.int32], slots: IntsOrList) -> None:
        """Recount everything from each customer's dish (-1: unseated)."""
        self._of = {int(slot): self.measure.make() for slot in slots}
        for i, slot in enumerate(dishes):
            if slot >= 0:
                self.measure.add(self._of[int(slot)], self.values[i])

    def relabelled(self, mapping: npt.NDArray[np.int32]) -> None:
        """Slots have new numbers."""
        self._of = {int(mapping[slot]): statistics for slot, statistics in self._of.items()}

    def memory_bytes(self) -> int:
        """Bytes of statistics that are arrays; others are not counted."""
        return sum(getattr(statistics, "nbytes", 0) for statistics in self._of.values())


class FixedBank(PythonBank):
    """Statistics of dishes for a Python measure over terms, some of which have fixed topics."""

    def __init__(self, measure: Any, values: Any) -> None:
        super().__init__(measure, values)
        self._log_topics: dict[int, Floats] = {}

    def fix(self, topics: Floats, which: npt.NDArray[np.bool_]) -> None:
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

    def log_marginals(self, slots: IntsOrList, dishes: npt.NDArray[np.int32] | None) -> Floats:
        """Log marginal probability of the data of each slot: shape (n,)."""
        logs, eaten, values = (
            super().log_marginals(slots, dishes),
            np.asarray(dishes),
            np.asarray(self.values),
        )
        for place, slot in enumerate(slots):
            if int(slot) in self._log_topics:
                here = values[: len(eaten)][eaten == slot]
                logs[place] = np.sum(self._log_topics[int(slot)][here])
        return logs


class ObservedBank:
    """A bank over data of which some observations are missing.

    A customer without an observation is in no statistics, and its likelihood is 1 under every dish.
    Everything that isn't defined here is that of the bank of all customers.

    Parameters
    ----------
    bank : StatisticsBank
        It has a value for every customer.
    missing : bool array, shape (n_customers,)
    """

    def __init__(self, bank: Any, missing: npt.NDArray[np.bool_]) -> None:
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
    return PoweredBank(bank, power)


def power_of(bank: Any) -> float:
    """The power to which the probabilities of a bank are raised; 1 for any other bank."""
    return float(getattr(bank, "power", 1.0))
