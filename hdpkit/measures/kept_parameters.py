"""Parameters of dishes that are part of the state, and auxiliary dishes (Neal 2000, algorithm 8)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int32s, IntsOrList
from hdpkit.checks import as_float, log_densities, whole_number
from hdpkit.errors import DataError, DeclarationError, ParameterError, StateError
from hdpkit.measures._measure import HasNumbers
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.measures.python_bank import PythonBank
from hdpkit.numerics import exp_each, log
from hdpkit.parts import Attached, Part, inconsistent
from hdpkit.priors import Each, Prior, Shifted, draw_from, log_density_at, mean_of, support_of
from hdpkit.random import ChoiceSource

_MOST_DRAWS = 10_000  # of a number in its range
_KEY, _REMEDY = "bank, in the frozen state", "Thaw a state over the same data and declarations."


def _fits(found: Any, name: str) -> bool:
    """Whether this is a dict of numbers, under this name, and of one parameter for each."""
    if not isinstance(found, Mapping) or set(found) != {name, "parameters"}:
        return False
    parameters = found["parameters"]
    return isinstance(parameters, list | tuple) and np.shape(found[name]) == (len(parameters),)


class KeptParameters:
    """Parameters of all dishes, by slot, and the auxiliary dishes of the current step."""

    # The measure has ``draw(source)``, from the prior, and ``auxiliary``, the number of auxiliary dishes.

    def __init__(self, measure: Any, values: Any) -> None:
        self.measure = measure
        self._n_customers = len(values)
        self._of: dict[int, Any] = {}
        self._source: ChoiceSource | None = None
        # Parameters of dishes that died, by their last customers: each is an auxiliary dish only in the step
        # that seats this customer again.
        self._lent: dict[int, Any] = {}
        self._leaving: tuple[int, int] | None = None  # slot and first customer of the last removal
        self._auxiliary: tuple[list[Any], Floats] | None = None

    def prepare(self, source: ChoiceSource) -> None:
        """Use this source for draws until the end of a step."""
        self._source = source
        self._auxiliary = None

    def _draw(self) -> Any:
        if self._source is None:
            raise StateError(
                "source", None, "a source of random numbers", "Start the franchise, or run a move over it."
            )
        return self.measure.draw(self._source)

    def _draw_several(self, n: int) -> list[Any]:
        return [self._draw() for _ in range(n)]

    # ------------------------------------------------------------------ steps

    def born(self, slot: int) -> None:
        """Set the parameter of a new dish: an auxiliary dish's; outside a step it is from the prior."""
        if self._auxiliary is None:
            self._of[whole_number("slot", slot, remedy="See Franchise.open_dish.")] = self._draw()
            return
        parameters, logs = self._auxiliary
        assert self._source is not None
        chosen = 0 if len(parameters) == 1 else self._source.choose_log(logs)
        self._of[slot] = parameters[chosen]
        self._auxiliary = None

    def died(self, slot: int) -> None:
        """Record the dish's parameter for its last customer: an auxiliary dish when it is seated again."""
        parameter = self._of.pop(slot, None)
        if parameter is not None and self._leaving is not None and self._leaving[0] == slot:
            self._lent[self._leaving[1]] = parameter
        self._leaving = None

    def left(self, slot: int, customer: int) -> None:
        """Begin a step: customers have left a dish; this one is the first of them."""
        self._leaving, self._auxiliary = (int(slot), customer), None

    def seated(self, customers: IntsOrList) -> None:
        """End a step: these customers have been seated."""
        self._leaving, self._auxiliary = None, None
        for customer in customers if self._lent else ():
            self._lent.pop(int(customer), None)

    def bring_back(self, customer: int) -> None:
        """Give the next new dish the parameter recorded for this customer, if there is one."""
        if customer in self._lent:
            self.give_next(self._lent[customer])

    def give_next(self, parameter: Any) -> None:
        """Give the next new dish this parameter."""
        self._auxiliary = [parameter], np.zeros(1)

    def offered(self, customers: IntsOrList) -> list[Any]:
        """Return the parameters of the auxiliary dishes for a block of customers."""
        first = int(customers[0]) if len(customers) else -1
        lent = [self._lent[first]] if first in self._lent else []
        return [*lent, *self._draw_several(self.measure.auxiliary - len(lent))]

    def weighed(self, parameters: list[Any], logs: Floats) -> float:
        """Log mean of a block's probabilities under the auxiliary dishes; the next new dish is one."""
        self._auxiliary = parameters, logs
        top = float(np.max(logs))
        return top + log(float(np.mean(exp_each(logs - top)))) if top > -math.inf else top

    # ------------------------------------------------------------------ parameters

    @property
    def of_slots(self) -> Mapping[int, Any]:
        """Parameters by slot."""
        return self._of

    @property
    def n_lent(self) -> int:
        """Number of unseated customers for whom a parameter is recorded."""
        return len(self._lent)

    def parameter(self, slot: int) -> Any:
        """Parameter of a dish."""
        return self._of[slot]

    def has_parameter(self, slot: int) -> bool:
        """Whether the dish already has a parameter."""
        return int(slot) in self._of

    def set_parameter(self, slot: int, parameter: Any) -> None:
        """Change the parameter of a dish."""
        self._of[int(slot)] = parameter

    def log_likelihood_of(self, slot: int, customers: IntsOrList) -> Callable[[Any], float]:
        """Return the log likelihood of a dish's data as a function of its parameter."""
        raise NotImplementedError

    def check_parameter(self, key: str, parameter: Any, remedy: str) -> None:
        """Raise a DataError unless this can be the parameter of a dish."""
        raise NotImplementedError

    # ------------------------------------------------------------------ saved with the state

    def rebuild(self, dishes: Int32s, slots: IntsOrList) -> None:
        """Remove parameters of dishes that died; a dish without a parameter (after a failure) draws one."""
        kept = {int(slot) for slot in slots}
        self._of = {slot: parameter for slot, parameter in self._of.items() if slot in kept}
        for slot in sorted(kept - set(self._of)):
            self._of[slot] = self._draw()
        seated = len(dishes)
        self._lent = {i: one for i, one in self._lent.items() if i >= seated or dishes[i] < 0}

    def relabelled(self, mapping: Int32s) -> None:
        """Slots have new numbers."""
        self._of = {int(mapping[slot]): parameter for slot, parameter in self._of.items()}

    def freeze(self) -> dict[str, Any]:
        """The parameters of the dishes, which can't be computed from the data."""
        slots, out = sorted(self._of), sorted(self._lent)
        frozen: dict[str, Any] = {
            "slots": np.array(slots, dtype=np.int32),
            "parameters": [np.array(self._of[slot]) for slot in slots],
        }
        if out:  # recorded for customers who are unseated now
            frozen["lent"] = {
                "customers": np.array(out, dtype=np.int32),
                "parameters": [np.array(self._lent[i]) for i in out],
            }
        return frozen

    def check_frozen(self, frozen: Any, slots: Any) -> None:
        """Raise a DataError unless these are parameters, one per dish; None: dishes draw them."""
        if frozen is None:
            return
        key, remedy = _KEY, _REMEDY
        own = {name: frozen[name] for name in frozen if name != "lent"} if isinstance(frozen, Mapping) else {}
        if not _fits(own, "slots") or not np.array_equal(own["slots"], slots):
            raise DataError(key, frozen, "the occupied slots, each with a parameter", remedy)
        lent = frozen.get("lent", {"customers": [], "parameters": []})
        if not _fits(lent, "customers"):
            allowed = "a dict of customers and their parameters, or nothing"
            raise DataError(f"lent, {key}", lent, allowed, remedy)
        parameters, out, taken = own["parameters"], lent["customers"], lent["parameters"]
        for customer in np.asarray(out).tolist():
            if not isinstance(customer, int) or not 0 <= customer < self._n_customers:
                raise DataError(f"lent, {key}", customer, f"a customer, below {self._n_customers}", remedy)
        for parameter in [*parameters, *taken]:
            self.check_parameter(key, parameter, remedy)

    def thaw(self, frozen: dict[str, Any] | None) -> None:
        """Restore frozen parameters."""
        self._of, self._lent, self._leaving, self._auxiliary = {}, {}, None, None
        if frozen is not None:
            for slot, parameter in zip(frozen["slots"], frozen["parameters"], strict=True):
                self._of[int(slot)] = np.array(parameter)[()]
            lent = frozen.get("lent", {"customers": [], "parameters": []})
            for customer, parameter in zip(lent["customers"], lent["parameters"], strict=True):
                self._lent[int(customer)] = np.array(parameter)[()]

    def memory_bytes(self) -> int:
        """Bytes of parameters that are arrays; others are not counted."""
        return sum(getattr(parameter, "nbytes", 0) for parameter in self._of.values())


class OwnParameter(BaseMeasure):
    """A measure of which one parameter, a positive number, may be an `Each`: every dish has its own.

    The numbers of dishes are independently distributed as the prior, truncated to a range, and are in the
    state. The probability of a single observation under a dish without others must not depend on its number:
    then a dish born for one customer draws it from the prior, which is also the posterior. For a block of
    several customers, auxiliary dishes are used. ``held`` is the name of the parameter, and of the attribute
    of statistics that has the number of a dish, None if it is not known; ``in_range`` is the range in words.
    """

    held: ClassVar[str]
    smallest: ClassVar[float]
    largest: ClassVar[float]
    in_range: ClassVar[str]
    auxiliary: ClassVar[int] = 3
    update: ClassVar[None] = None

    @property
    def conjugate(self) -> bool:  # type: ignore[override]
        """Whether all dishes have one number; otherwise that of each dish is part of the state."""
        return not isinstance(getattr(self, self.held), Each)

    @property
    def _prior_of_dishes(self) -> Any:
        return getattr(self, self.held).prior

    @classmethod
    def is_legal(cls, value: Any) -> bool:
        """Whether this can be the number of a dish."""
        return cls.smallest <= as_float(value) <= cls.largest

    @classmethod
    def check_own(cls, value: Any) -> float:
        """Return the number of a dish as a float; raises a ParameterError unless it can be one."""
        if cls.is_legal(value):
            return as_float(value)
        raise ParameterError(f"{cls.held} of a dish", value, f"a number {cls.in_range}", "For instance 1.0.")

    @classmethod
    def check_each(cls, value: Each) -> Prior:
        """Return the prior of an `Each`; raises a ParameterError unless it is one of positive numbers."""
        if not isinstance(value.prior, Shifted) and support_of(value.prior)[0] >= 0.0:
            return value.prior
        raise ParameterError(
            cls.held, value, "hk.Each of a prior of positive numbers",
            "For instance hk.Each(hk.Gamma(1.0, 1.0)).",
        )  # fmt: skip

    def _own_of(self, statistics: Any, n: int) -> float:
        """The number of a dish that has this many observations, one to come included."""
        if self.conjugate:
            return float(getattr(self, self.held))
        number: float | None = getattr(statistics, self.held)
        if number is not None:
            return number
        if n > 1:
            raise StateError(
                self.held, None, f"the {self.held} of the dish, where each dish has its own",
                f"Call measure.begun({self.held}) instead of measure.make().",
            )  # fmt: skip
        return mean_of(self._prior_of_dishes)

    def begun(self, number: float) -> Any:
        """Return the statistics of a dish without observations that has this number."""
        return attrs.evolve(self.make(), **{self.held: self.check_own(number)})

    def draw(self, source: ChoiceSource) -> float:
        """Draw the number of a dish from its prior, truncated to the range."""
        prior = self._prior_of_dishes
        for _ in range(_MOST_DRAWS):
            drawn = float(draw_from(prior, source))
            if self.is_legal(drawn):
                return drawn
        raise DeclarationError(
            self.held, prior, f"a prior with mass {self.in_range}", "Give it another prior."
        )

    @property
    def log_prior(self) -> Callable[[float], float] | None:
        """Log prior density of the number of a dish; None if the prior has finitely many values."""
        prior = self._prior_of_dishes
        if hasattr(prior, "choose"):
            return None
        return lambda x: log_density_at(prior, x) if self.is_legal(x) else -math.inf


class OwnNumbers(KeptParameters):
    """The number of each dish of an `OwnParameter` measure."""

    def _draw_several(self, n: int) -> list[float]:
        """Draw several numbers at once: a sweep over blocks needs some for each block."""
        prior = getattr(self.measure, self.measure.held).prior
        if self._source is None or n < 2 or hasattr(prior, "choose"):
            return super()._draw_several(n)
        drawn = draw_from(prior, self._source, n).tolist()
        return [one if self.measure.is_legal(one) else self._draw() for one in drawn]

    def check_parameter(self, key: str, parameter: Any, remedy: str) -> None:
        """Raise a DataError unless this can be the number of a dish."""
        array, measure = np.array(parameter), self.measure
        if array.shape != () or array.dtype.kind not in "iuf" or not measure.is_legal(float(array)):
            raise DataError(key, parameter, f"the {measure.held} of a dish, {measure.in_range}", remedy)

    def set_parameter(self, slot: int, parameter: Any) -> None:
        super().set_parameter(slot, self.measure.check_own(parameter))

    @staticmethod
    def without_tables(frozen: Any) -> Any:
        """The numbers of what a bank of terms that repeat froze; None if it has none."""
        if not isinstance(frozen, Mapping):
            return frozen
        return {name: value for name, value in frozen.items() if name != "opens"} or None


class ParameterBank(HasNumbers, PythonBank):
    """Statistics in Python of an `OwnParameter` measure, and the number of each dish."""

    measure: Any

    def __init__(self, measure: Any, values: Any) -> None:
        super().__init__(measure, values)
        self.kept = OwnNumbers(measure, self.values)

    # ------------------------------------------------------------------ dishes

    def prepare(self, source: ChoiceSource) -> None:
        self.kept.prepare(source)
        super().prepare(source)

    def born(self, slot: int) -> None:
        self.kept.born(slot)
        super().born(slot)
        self._hold(slot)

    def _hold(self, slot: int) -> None:
        """Put the number of a dish in its statistics."""
        setattr(self._of[int(slot)], self.measure.held, self.kept.parameter(slot))

    def died(self, slot: int) -> None:
        """Remove the parameter of the dish, except for the current step."""
        self.kept.died(slot)
        super().died(slot)

    def remove(self, slot: int, customers: IntsOrList) -> None:
        self.kept.left(slot, int(customers[0]))
        super().remove(slot, customers)

    def add(self, slot: int, customers: IntsOrList) -> None:
        self.kept.seated(customers)
        super().add(slot, customers)

    def log_block(self, customers: IntsOrList, slots: IntsOrList) -> Floats:
        """Log probability of a block under each slot and, last, its mean over auxiliary dishes."""
        if len(customers) == 1:  # the same under all auxiliary dishes, so none are drawn
            return self.log_predictive(customers[0], slots)
        offered = self.kept.offered(customers)
        measure = self.measure
        many = [*self._many(slots)[:-1], *(measure.begun(one) for one in offered)]
        values = [self.values[i] for i in customers]
        logs = log_densities(measure, "log_block", measure.log_block(values, many), len(many))
        return np.append(logs[: len(slots)], self.kept.weighed(offered, logs[len(slots) :]))

    def adopt(self, measure: Any) -> bool:
        self.kept.measure = measure
        return super().adopt(measure)

    # ------------------------------------------------------------------ parameters

    def set_parameter(self, slot: int, parameter: Any) -> None:
        """Change the number of a dish."""
        self.kept.set_parameter(slot, parameter)
        self._hold(slot)

    def log_likelihood_of(self, slot: int, customers: IntsOrList) -> Callable[[Any], float]:
        """Return the log marginal of a dish as a function of its number."""
        statistics = self._many([slot])[0]
        measure = self.measure
        return lambda parameter: float(
            measure.log_marginal(attrs.evolve(statistics, **{measure.held: float(parameter)}))
        )

    # ------------------------------------------------------------------ saved with the state

    def rebuild(self, dishes: Int32s, slots: IntsOrList) -> None:
        self.kept.rebuild(dishes, slots)
        super().rebuild(dishes, slots)
        for slot in self._of:
            self._hold(slot)

    def relabelled(self, mapping: Int32s) -> None:
        self.kept.relabelled(mapping)
        super().relabelled(mapping)

    def freeze(self) -> dict[str, Any]:
        return self.kept.freeze()

    def thaw(self, frozen: Any) -> None:
        self.kept.thaw(frozen)

    def memory_bytes(self) -> int:
        return super().memory_bytes() + self.kept.memory_bytes()


class ParametersOfDishes(Attached, Part):
    """The numbers of dishes of an `OwnParameter` measure as a part of the state; its bank stores them."""

    def values(self) -> Floats:
        """Return the number of each dish, in the order of the dishes."""
        slots, bank = self.state.slots.occupied_slots().tolist(), self.state.bank
        return np.array([bank.parameter(slot) for slot in slots], dtype=float)

    def log_density(self, state: Any) -> float:
        """Log prior density of the numbers, in nats. The likelihood is conditional on them."""
        prior = getattr(state.measure, state.measure.held).prior
        return math.fsum(log_density_at(prior, value) for value in self.values().tolist())

    def scalars(self, state: Any) -> Mapping[str, float]:
        return {"mean": float(np.mean(self.values()))}

    def audit(self, slots: Int32s) -> None:
        bank, measure = self.state.bank, self.state.measure
        for slot in slots.tolist():
            if not (bank.has_parameter(slot) and measure.is_legal(bank.parameter(slot))):
                raise inconsistent(measure.held, f"none of the dish in slot {slot}", "one of each dish")

    def clone(self, state: Any) -> Self:
        """Not used: a copy of the franchise creates its own."""
        raise NotImplementedError


class SmoothingOfDishes(ParametersOfDishes):
    """The smoothings of dishes of a sparse Dirichlet-multinomial."""

    def smoothings(self) -> Floats:
        """Return the smoothing of each dish, in the order of the dishes."""
        return self.values()


class ConcentrationsOfDishes(ParametersOfDishes):
    """The concentrations of dishes of unit vectors, or of terms that repeat."""

    def concentrations(self) -> Floats:
        """Return the concentration of each dish, in the order of the dishes."""
        return self.values()
