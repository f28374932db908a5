"""Any likelihood and any prior: dishes store parameters, and new ones are auxiliary dishes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int32s, IntsOrList
from hdpkit.checks import (
    function,
    instance,
    items,
    log_density,
    number_array,
    real_values,
    validator,
    whole_number,
)
from hdpkit.data import GroupedData
from hdpkit.errors import DataError, HdpkitError, ParameterError
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.kept_parameters import KeptParameters
from hdpkit.measures.protocol import BaseMeasure, base_measures, check_power, missing_method
from hdpkit.random import ChoiceSource


def _as_tuple(values: Any) -> tuple[Any, ...]:
    allowed = "a sequence of one or more parameters"
    made = items("values", values, allowed, remedy="For instance Finite([0.2, 0.7]).")
    if not made:
        raise ParameterError("values", values, allowed, "For instance Finite([0.2, 0.7]).")
    return made


@attrs.frozen(eq=False)
class Finite:
    """A prior over finitely many parameter values: a grid, a list of known components.

    It is drawn through the choice source, so that moves over it can be enumerated.

    Parameters
    ----------
    values : sequence
        The possible parameters.
    weights : sequence of float, optional
        Positive, unnormalised; by default all equal.
    """

    values: Sequence[Any] = attrs.field(converter=_as_tuple)
    weights: Sequence[float] = attrs.field()

    @weights.default
    def _equal(self) -> tuple[float, ...]:
        return (1.0,) * len(self.values)

    @weights.validator
    def _check(self, attribute: Any, value: Any) -> None:
        weights = number_array(value)
        with np.errstate(over="ignore"):
            fits = (
                weights is not None
                and weights.shape == (len(self.values),)
                and np.all(weights > 0)
                and np.isfinite(np.sum(weights))
            )
        if not fits:
            raise ParameterError("weights", value, "one finite positive number per value", "Leave zeros out.")

    def __call__(self, generator: np.random.Generator) -> Any:
        """Draw a parameter."""
        remedy = "For instance numpy.random.default_rng(1)."
        instance("generator", generator, np.random.Generator, "a NumPy generator", remedy=remedy)
        weights = np.asarray(self.weights, dtype=float)
        return self.values[int(generator.choice(len(self.values), p=weights / weights.sum()))]

    def choose(self, source: ChoiceSource) -> Any:
        """Draw a parameter from a choice source."""
        return self.values[source.choose(np.asarray(self.weights, dtype=float))]


_callable = validator(function, remedy="See the docstring for its arguments.")
_optional = attrs.validators.optional(_callable)


@attrs.frozen(eq=False)
class _Power:
    """A log likelihood times a power."""

    of: Callable[[Any, Any], float]
    power: float = attrs.field(validator=check_power)

    def __call__(self, value: Any, parameter: Any) -> float:
        return self.power * self.of(value, parameter)


@attrs.frozen(eq=False, repr=False)
class NonConjugate(BaseMeasure):
    """A base measure given by a likelihood and a prior sampler; parameters of dishes are part of the state.

    The weight of a dish for a customer is proportional to the likelihood under the dish's parameter; that of
    a new dish is divided among auxiliary dishes with parameters drawn from the prior (Neal 2000, algorithm
    8). `hdpkit.moves.DishParameters` updates the parameters. The last customer who leaves a dish keeps its
    parameter, that of an auxiliary dish for this customer only, until it is seated again. So `leave` and
    `enter` of one customer are a step of that algorithm, whatever happens between them. Several customers who
    are unseated are seated each given those who are seated then: a proposal or a start, and not a Gibbs step,
    as with any other measure.

    Parameters
    ----------
    log_likelihood : callable
        ``log_likelihood(value, parameter)``: log density of one observation, in nats; -inf is allowed.
    sample_prior : callable
        ``sample_prior(generator)``: a parameter (a number or an array of numbers) drawn with a NumPy
        Generator; or a `Finite`.
    log_prior : callable, optional
        ``log_prior(parameter)``, in nats up to a constant. With it parameters are updated by slice sampling,
        coordinate by coordinate; without it by proposals from the prior.
    update : callable, optional
        ``update(parameter, values, generator)``: a draw that leaves p(parameter | values) invariant, instead
        of the two above.
    simulate_value : callable, optional
        ``simulate_value(parameter, generator)``: an observation. `Franchise.simulate` needs it.
    auxiliary : int
        Auxiliary dishes, m >= 1. With more of them the chain mixes better and sweeps take longer.
    examples : sequence, optional
        A few observations, for the test harness.
    """

    log_likelihood: Callable[[Any, Any], float] = attrs.field(  # type: ignore[assignment]
        validator=_callable
    )
    sample_prior: Callable[[np.random.Generator], Any] = attrs.field(validator=_callable)
    log_prior: Callable[[Any], float] | None = attrs.field(default=None, kw_only=True, validator=_optional)
    update: Callable[..., Any] | None = attrs.field(default=None, kw_only=True, validator=_optional)
    simulate_value: Callable[..., Any] | None = attrs.field(default=None, kw_only=True, validator=_optional)
    auxiliary: int = attrs.field(
        default=3, kw_only=True, validator=validator(whole_number, 1, 10**6, remedy="3 is usual.")
    )
    examples: Sequence[Any] | None = attrs.field(default=None, kw_only=True)

    exact_statistics = True
    conjugate = False

    @examples.validator
    def _check_examples(self, attribute: Any, value: Any) -> None:
        allowed, remedy = "a sequence of observations, or None", "Leave it out."
        if value is not None and not items("examples", value, allowed, remedy=remedy):
            raise ParameterError("examples", value, allowed, remedy)

    def __repr__(self) -> str:
        prior = getattr(self.sample_prior, "__name__", repr(self.sample_prior))
        likelihood = getattr(self.log_likelihood, "__name__", repr(self.log_likelihood))
        return f"NonConjugate({likelihood}, {prior}, auxiliary={self.auxiliary})"

    def supports(self, method: str) -> bool:
        return self.simulate_value is not None if method == "simulate" else super().supports(method)

    @property
    def has_powers(self) -> bool:
        """False with ``update``, a draw given the likelihood itself."""
        return self.update is None

    def tempered(self, power: float) -> NonConjugate:
        """Return the measure with a power of the likelihood given parameters, which stay in the state."""
        if not self.has_powers:
            raise missing_method(self, "tempered")
        of = self.log_likelihood
        of = of.of if isinstance(of, _Power) else of
        return attrs.evolve(self, log_likelihood=_Power(of, power), simulate_value=None)

    def log_marginals(self, bank: Any, slots: Any, dishes: Any) -> Floats:
        """Log likelihood of the data of dishes given their parameters in a bank: shape (n,)."""
        blocks = [[bank.values[i] for i in np.flatnonzero(dishes == slot)] for slot in slots]
        of_each = zip(blocks, bank.statistics(slots, dishes), strict=True)
        return np.array([float(self.log_block(values, [one])[0]) for values, one in of_each])

    def draw(self, source: ChoiceSource) -> Any:
        """Draw a parameter from the prior."""
        if isinstance(self.sample_prior, Finite):
            return self.sample_prior.choose(source)
        return real_values(self, "sample_prior", self.sample_prior(source.generator), None)

    def begun(self, parameter: Any) -> Any:
        """Return the statistics of a dish with this parameter: the parameter itself."""
        return parameter

    def make(self) -> None:
        """None: a dish has only its parameter, no statistics."""

    def add(self, statistics: Any, value: Any) -> None:
        """Nothing is counted."""

    def remove(self, statistics: Any, value: Any) -> None:
        """Nothing is counted."""

    def log_predictive(self, value: Any, many: Sequence[Any]) -> Floats:
        return np.array(
            [log_density(self, "log_likelihood", self.log_likelihood(value, one)) for one in many],
            dtype=float,
        )

    def log_block(self, values: Sequence[Any], many: Sequence[Any]) -> Floats:
        return sum((self.log_predictive(value, many) for value in values), np.zeros(len(many)))

    def simulate(self, statistics: Any, generator: np.random.Generator) -> Any:
        if self.simulate_value is None:
            return super().simulate(statistics, generator)
        return self.simulate_value(statistics, generator)

    def posterior_mean(self, statistics: Any) -> Any:
        """The current parameter of a dish, because its mean is not known."""
        return statistics

    def example_values(self) -> Sequence[Any] | None:
        return self.examples

    def bank(self, data: GroupedData) -> StatisticsBank:
        return NonConjugateBank(self, data.values)


class NonConjugateBank(KeptParameters):
    """Parameters of all dishes, by slot, and the auxiliary dishes of the current step."""

    def __init__(self, measure: NonConjugate, values: Any) -> None:
        super().__init__(measure, values)
        self.values = values

    def remove(self, slot: int, customers: IntsOrList) -> None:
        """Begin a step: these customers leave a dish."""
        self.left(slot, int(customers[0]))

    def add(self, slot: int, customers: IntsOrList) -> None:
        """End a step: these customers have been seated."""
        self.seated(customers)

    def log_predictive(self, customer: int, slots: IntsOrList) -> Floats:
        """Log likelihood under each slot and, last, mean over the auxiliary dishes: shape (n + 1,)."""
        return self.log_block([customer], slots)

    def log_block(self, customers: IntsOrList, slots: IntsOrList) -> Floats:
        """Log likelihood of a block under each slot and, last, mean over auxiliary dishes: shape (n + 1,)."""
        parameters = self.offered(customers)
        many = [*(self._of[int(slot)] for slot in slots), *parameters]
        logs = self.measure.log_block([self.values[i] for i in customers], many)
        return np.append(logs[: len(slots)], self.weighed(parameters, logs[len(slots) :]))

    def log_marginals(self, slots: IntsOrList, dishes: Int32s | None) -> Floats:
        """Log likelihood of the data of each slot given its parameter (nothing is integrated out): (n,)."""
        out = np.empty(len(slots))
        for place, slot in enumerate(slots):
            values = [self.values[i] for i in np.flatnonzero(dishes == slot)]
            out[place] = self.measure.log_block(values, [self._of[int(slot)]])[0]
        return out

    def log_likelihood_of(self, slot: int, customers: IntsOrList) -> Callable[[Any], float]:
        values = [self.values[i] for i in customers]
        return lambda parameter: float(self.measure.log_block(values, [parameter])[0])

    def statistics(self, slots: IntsOrList, dishes: Int32s) -> list[Any]:
        """Parameters of these slots."""
        return [self._of[int(slot)] for slot in slots]

    def adopt(self, measure: BaseMeasure) -> bool:
        """True: the parameters of dishes are kept."""
        self.measure = measure
        return True

    def check_parameter(self, key: str, parameter: Any, remedy: str) -> None:
        """Raise a DataError unless the likelihood accepts the parameter, which is the only possible check."""
        try:
            array = np.array(parameter)
            kind = array.dtype.kind
            taken = kind in "US" or (kind in "biufc" and bool(np.isfinite(array).all()))
            if taken and len(self.values):
                logs = np.asarray(self.measure.log_block([self.values[0]], [array[()]]), dtype=float)
                taken = logs.shape == (1,) and not np.isnan(logs[0])
        except HdpkitError:
            raise
        except Exception as error:  # any exception of the user's likelihood
            raise DataError(key, parameter, "a parameter that the likelihood takes", remedy) from error
        if not taken:
            raise DataError(key, parameter, "a parameter that the likelihood takes", remedy)


def _log_bernoulli(value: int, p: float) -> float:
    return math.log(p if value else 1.0 - p)


def _bernoulli(p: float, generator: np.random.Generator) -> int:
    return int(generator.random() < p)


def _coin() -> NonConjugate:
    return NonConjugate(
        _log_bernoulli, Finite([0.2, 0.7], [1.0, 2.0]), simulate_value=_bernoulli, auxiliary=2,
        examples=(1, 0, 1, 1),
    )  # fmt: skip


base_measures.register("non-conjugate", NonConjugate, lambda: [_coin()])
