"""Parameters of dishes that are part of the state, and auxiliary dishes (Neal 2000, algorithm 8)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, IntsOrList
from hdpkit.checks import log_densities, whole_number
from hdpkit.errors import AuditError, DataError, StateError
from hdpkit.measures.python_bank import PythonBank
from hdpkit.numerics import exp_each, log
from hdpkit.parts import Attached, Part
from hdpkit.priors import log_density_at
from hdpkit.random import ChoiceSource

_KEY, _REMEDY = "bank, in the frozen state", "Thaw a state over the same data and declarations."


class KeptParameters:
    """Parameters of all dishes, by slot, and the auxiliary dishes of the current step.

    Parameters
    ----------
    measure : BaseMeasure
        It has ``draw(source)``, which draws a parameter from the prior, and ``auxiliary``, the number of
        auxiliary dishes.
    values : sequence
        One value per data customer.
    """

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
                "source", None, "one that a step has set", "Start the franchise, or run a move over it."
            )
        return self.measure.draw(self._source)

    def _draw_several(self, n: int) -> list[Any]:
        return [self._draw() for _ in range(n)]

    # ------------------------------------------------------------------ steps

    def born(self, slot: int) -> None:
        """Set the parameter of a new dish: a weighted draw of an auxiliary dish; outside a step a prior
        draw."""
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
        """Return the log of the mean of the block's probabilities under the auxiliary dishes.

        The next new dish is one of them.
        """
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

    def rebuild(self, dishes: npt.NDArray[np.int32], slots: IntsOrList) -> None:
        """Remove parameters of dishes that died; a dish without a parameter (after a failure) draws one."""
        kept = {int(slot) for slot in slots}
        self._of = {slot: parameter for slot, parameter in self._of.items() if slot in kept}
        for slot in sorted(kept - set(self._of)):
            self._of[slot] = self._draw()
        seated = len(dishes)
        self._lent = {i: one for i, one in self._lent.items() if i >= seated or dishes[i] < 0}

    def relabelled(self, mapping: npt.NDArray[np.int32]) -> None:
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
        """Raise a DataError unless these are parameters, one per dish.

        None is accepted: dishes without a parameter draw one.
        """
        if frozen is None:
            return
        key, remedy = _KEY, _REMEDY
        if not isinstance(frozen, Mapping) or set(frozen) - {"lent"} != {"slots", "parameters"}:
            raise DataError(key, frozen, "a dict of slots and parameters", remedy)
        parameters = frozen["parameters"]
        if not isinstance(parameters, list | tuple) or not np.array_equal(frozen["slots"], slots):
            raise DataError(key, frozen["slots"], "the occupied slots, each with a parameter", remedy)
        if len(parameters) != len(slots):
            raise DataError(key, f"{len(parameters)} parameters", f"{len(slots)}, one per dish", remedy)
        lent = frozen.get("lent", {"customers": [], "parameters": []})
        allowed = "a dict of customers and their parameters, or nothing"
        if not isinstance(lent, Mapping) or set(lent) != {"customers", "parameters"}:
            raise DataError(f"lent, {key}", lent, allowed, remedy)
        out, taken = lent["customers"], lent["parameters"]
        if not isinstance(taken, list | tuple) or np.shape(out) != (len(taken),):
            raise DataError(f"lent, {key}", lent, allowed, remedy)
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


class ParameterBank(PythonBank):
    """Statistics in Python, with a parameter of each dish that the measure doesn't integrate out.

    The predictive of one value under a dish without values must not depend on the parameter.

    Attributes
    ----------
    held : str
        The attribute of statistics that has the parameter; also the name of the measure's.
    kind : type
        The `KeptParameters` of the measure.
    """

    held: ClassVar[str]
    kind: ClassVar[type[KeptParameters]]

    def __init__(self, measure: Any, values: Any) -> None:
        super().__init__(measure, values)
        self.kept = self.kind(measure, self.values)

    # ------------------------------------------------------------------ dishes

    def prepare(self, source: ChoiceSource) -> None:
        """Use this source for draws until the end of a step."""
        self.kept.prepare(source)
        super().prepare(source)

    def born(self, slot: int) -> None:
        self.kept.born(slot)
        super().born(slot)

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

    def begin(self, slot: int) -> Any:
        """Statistics without values, with the parameter of a slot."""
        begin = getattr(super(), "begin", None)
        made = self.measure.make() if begin is None else begin(slot)
        setattr(made, self.held, self.kept.parameter(slot))
        return made

    def _many(self, slots: IntsOrList) -> list[Any]:
        many = super()._many(slots)
        for slot, statistics in zip(slots, many, strict=False):  # the last has no slot
            setattr(statistics, self.held, self.kept.parameter(slot))
        return many

    def log_block(self, customers: IntsOrList, slots: IntsOrList) -> Floats:
        """Log probability of a block under each slot and, last, its mean over auxiliary dishes."""
        if len(customers) == 1:  # the same under all auxiliary dishes, so none are drawn
            return self.log_predictive(customers[0], slots)
        offered = self.kept.offered(customers)
        measure: Any = self.measure
        many = [*self._many(slots)[:-1], *(measure.begun(one) for one in offered)]
        values = [self.values[i] for i in customers]
        logs = log_densities(measure, "log_block", measure.log_block(values, many), len(many))
        return np.append(logs[: len(slots)], self.kept.weighed(offered, logs[len(slots) :]))

    def log_marginals(self, slots: IntsOrList, dishes: npt.NDArray[np.int32] | None) -> Floats:
        """Log marginal probability of the data of each slot, given its parameter: shape (n,)."""
        self._many(slots)
        return super().log_marginals(slots, dishes)

    def statistics(self, slots: IntsOrList, dishes: npt.NDArray[np.int32]) -> list[Any]:
        return self._many(slots)[:-1]

    def adopt(self, measure: Any) -> bool:
        """Replace the parameter values; statistics and parameters of dishes are kept."""
        self.kept.measure = measure
        return super().adopt(measure)

    # ------------------------------------------------------------------ parameters

    def bring_back(self, customer: int) -> None:
        """Give the next new dish the parameter recorded for this customer, if there is one."""
        self.kept.bring_back(customer)

    def parameter(self, slot: int) -> float:
        """Parameter of a dish."""
        return float(self.kept.parameter(slot))

    def has_parameter(self, slot: int) -> bool:
        """Whether the dish already has a parameter."""
        return self.kept.has_parameter(slot)

    def set_parameter(self, slot: int, parameter: Any) -> None:
        """Change the parameter of a dish."""
        self.kept.set_parameter(slot, parameter)

    def log_likelihood_of(self, slot: int, customers: IntsOrList) -> Callable[[Any], float]:
        """Return the log marginal of a dish as a function of its parameter."""
        statistics = self._many([slot])[0]
        measure: Any = self.measure
        return lambda parameter: float(
            measure.log_marginal(attrs.evolve(statistics, **{self.held: float(parameter)}))
        )

    # ------------------------------------------------------------------ saved with the state

    def rebuild(self, dishes: npt.NDArray[np.int32], slots: IntsOrList) -> None:
        self.kept.rebuild(dishes, slots)
        super().rebuild(dishes, slots)

    def relabelled(self, mapping: npt.NDArray[np.int32]) -> None:
        self.kept.relabelled(mapping)
        super().relabelled(mapping)

    def freeze(self) -> dict[str, Any]:
        return self.kept.freeze()

    def check_frozen(self, frozen: Any, slots: Any) -> None:
        """Raise a DataError unless these are parameters, one per dish; None is accepted."""
        self.kept.check_frozen(frozen, slots)

    def thaw(self, frozen: Any) -> None:
        self.kept.thaw(frozen)

    def memory_bytes(self) -> int:
        return super().memory_bytes() + self.kept.memory_bytes()


class ParametersOfDishes(Attached, Part):
    """The parameters of dishes as a part of the state. The bank of the measure stores them.

    Attributes
    ----------
    name : str
        Of the measure's parameter, an `hdpkit.Each`.
    """

    name: ClassVar[str]

    def is_legal(self, value: float) -> bool:
        """Whether this can be the parameter of a dish."""
        raise NotImplementedError

    def values(self) -> Floats:
        """Return the parameter of each dish, in the order of the dishes."""
        slots, bank = self.state.slots.occupied_slots().tolist(), self.state.bank
        return np.array([bank.parameter(slot) for slot in slots], dtype=float)

    def log_density(self, state: Any) -> float:
        """Log prior density of the parameters, in nats. The likelihood is conditional on them."""
        prior = getattr(state.measure, self.name).prior
        return math.fsum(log_density_at(prior, value) for value in self.values().tolist())

    def scalars(self, state: Any) -> Mapping[str, float]:
        return {"mean": float(np.mean(self.values()))}

    def audit(self, slots: npt.NDArray[np.int32]) -> None:
        bank = self.state.bank
        for slot in slots.tolist():
            if not (bank.has_parameter(slot) and self.is_legal(bank.parameter(slot))):
                raise AuditError(
                    self.name, f"none of the dish in slot {slot}", "one of each dish",
                    "The state is inconsistent: report the move that ran last.",
                )  # fmt: skip

    def clone(self, state: Any) -> Self:
        """Not used: a copy of the franchise creates its own."""
        raise NotImplementedError
