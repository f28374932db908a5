"""The base measure: a prior over dishes with its likelihood, as functions of the statistics of a dish.

Four methods are required, and sufficient for every move. The others are optional: they save time, or certain
functions of the package need them (`BaseMeasure.supports` says whether a measure has one).
"""

from __future__ import annotations

import abc
import copy
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Bools, Floats, Int32s, Int64s
from hdpkit.checks import as_float, log_densities, number_array, real_number, refuse
from hdpkit.data import GroupedData
from hdpkit.errors import DeclarationError, MissingMethodError, ParameterError
from hdpkit.measures._measure import CapsuleBank
from hdpkit.measures.bank import StatisticsBank, power_of, powered_bank
from hdpkit.measures.python_bank import PythonBank
from hdpkit.parts import Part
from hdpkit.priors import Prior, mean_of
from hdpkit.random import ChoiceSource
from hdpkit.registry import Registry


class Resampled(float):
    """The current value of a parameter, as a float, and the prior from which it is resampled."""

    prior: Prior

    def __new__(cls, value: float, prior: Prior) -> Self:
        """Return the value with its prior."""
        made = super().__new__(cls, real_number("value", value))
        made.prior = prior
        return made

    def __repr__(self) -> str:
        return f"{float(self)!r} (prior {self.prior!r})"

    def __reduce__(self) -> Any:
        return type(self), (float(self), self.prior)


def at_mean(value: Any) -> Any:
    """A prior as a `Resampled`, which begins at its mean; anything else as it is."""
    # Numbers first, because an isinstance check of a protocol takes ten microseconds.
    number = isinstance(value, float | int | np.ndarray)
    if not number and isinstance(value, Prior) and not isinstance(value, type):
        return Resampled(mean_of(value), value)
    return value


def parameter(*, validator: Callable[[Any, Any, Any], None], default: Any = attrs.NOTHING) -> Any:
    """Declare a parameter in an attrs class: a number, an array or a prior; ``validator`` checks it."""
    converter = attrs.Converter(as_parameter, takes_field=True)
    return attrs.field(default=default, converter=converter, validator=validator)


def as_parameter(value: Any, field: attrs.Attribute[Any]) -> Any:
    """A number, a read-only array or, for a prior, a `Resampled`."""
    allowed = "a number, an array of numbers, or a prior"
    remedy = "A number is fixed; a prior (for instance hk.Gamma(1, 1)) is resampled."
    return numbers_or_prior(field.name, value, -math.inf, math.inf, allowed, remedy, most_dims=64)


def numbers_or_prior(
    name: str, value: Any, low: float, high: float, allowed: str, remedy: str, *, most_dims: int
) -> Any:
    """A float from `low` to `high`, a read-only array of them, or a `Resampled` with such a mean."""
    made = at_mean(value)
    array = number_array(made)
    shaped = array is not None and array.size > 0 and array.ndim <= most_dims
    if array is None or not shaped or not np.all((low <= array) & (array <= high)):
        raise ParameterError(name, made, allowed, remedy)
    if isinstance(made, Resampled):
        return made
    array.setflags(write=False)
    return float(array) if array.ndim == 0 else array


def missing_method(measure: Any, method: str) -> MissingMethodError:
    """Return the error for an optional method that a measure doesn't have."""
    kind = type(measure).__name__
    return MissingMethodError(
        "measure", kind, f"one with {method}()", "Use another measure, or define the method in a subclass."
    )


base_measures: Registry[type] = Registry("base measure", "hdpkit.measures.protocol:base_measures")
"""Their examples are for data that are terms 0, 1, 2, or numbers."""


def by_entry(
    name: str, values: npt.NDArray[Any], columns: Sequence[str] | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Entries of parameters of shape (n, ...) by name, "mean[0]", or by columns where these are as many."""
    shape = values.shape[1:]
    words = [columns if columns is not None and len(columns) == n else range(n) for n in shape]
    found = {}
    for place in np.ndindex(shape):
        inside = ",".join(str(own[i]) for own, i in zip(words, place, strict=True))
        found[f"{name}[{inside}]" if shape else name] = values[(slice(None), *place)]
    return found if len(found) == math.prod(shape) else by_entry(name, values)


def log_likelihoods(measure: Any, values: Any, parameters: Sequence[Any]) -> Floats:
    """Log densities of observations under each of several dishes, checked: float64, shape (n, K)."""
    defined = [next(i for i, kind in enumerate(type(measure).__mro__) if name in vars(kind))
               for name in ("log_likelihood", "log_likelihoods")]  # fmt: skip
    method = measure.log_likelihoods
    if defined[0] < defined[1]:
        method = functools.partial(BaseMeasure.log_likelihoods, measure)
    found = np.asarray(method(values, parameters), dtype=np.float64)
    if found.shape != (len(values), len(parameters)) or np.isnan(found).any() or (found == np.inf).any():
        raise refuse(
            measure, "log_likelihoods", found, f"log densities, shape ({len(values)}, {len(parameters)})"
        )
    return found


M = TypeVar("M", bound="BaseMeasure")


class BaseMeasure(abc.ABC):
    """A conjugate base measure H together with the likelihood of one observation.

    The statistics of a dish are any object that `make` returns; `add` and `remove` change it in place. They
    depend only on the observations: parameters may change without the statistics being recomputed.

    Attributes
    ----------
    exact_statistics : bool
        True if statistics are integers, independent of the order of additions and removals. Otherwise they
        are recomputed after every sweep, so that rounding errors don't accumulate and a saved state continues
        bit for bit.
    conjugate : bool
        False if the parameters of dishes are part of the state. Moves that need a marginal then raise an
        error.
    predicts : bool
        Whether the density of one observation under a new dish has a closed form, so that new groups can be
        folded in. By default `conjugate`.
    atomic : bool
        True if dishes are observed: the dish of a customer is its value (see `AtomicMeasure`).
    support : str or method, optional
        The set of possible values, for the test harness: "real numbers", "positive numbers", "numbers from
        0 to 1", "angles", "bits", "whole numbers", "vectors", or "sphere" (vectors of length 1). If the
        predictive is conditional on a part of the value, a method ``support(value)`` that returns the set of
        the other part, that part, and a function that makes a value from another such part. None: if there
        are no `n_terms`, the harness doesn't check that predictives add up to one.
    seats_values : bool
        True if values sit at tables of their own, which are part of the state; the bank seats them.
    takes_terms : bool
        False if values are quantities. Data of words (a Corpus, NGrams), whose ids are not quantities, then
        raise an error.

    Notes
    -----
    An optional method that a class doesn't define raises a MissingMethodError. Arguments of the methods:

    value : one observation; ``values`` are n of them.
    statistics : of a dish, as `make` returns them; ``many`` are those of n dishes.
    parameters : of a dish, as `draw_parameters` returns them; of K dishes, a sequence of them.
    bank : ``hdpkit.measures.bank.StatisticsBank``, one that this measure made.
    slots : int32 array, shape (n,), of dishes in the bank.
    occupied : bool array, shape (n,): whether each is the slot of a dish; the others have no data.
    dishes : int32 array, shape (n_customers,): the slot of each customer's dish.
    totals : int64 array, shape (n,): the customers of each of these dishes.
    means : array, shape (n, ...), what `posterior_means` returns.
    columns : sequence of str, optional: names of the dimensions of the data.
    source : `hdpkit.random.ChoiceSource`; ``generator`` is a `numpy.random.Generator`.
    n : int, the number of draws.
    """

    exact_statistics: bool = False
    conjugate: bool = True

    @property
    def predicts(self) -> bool:
        """Whether the density of one observation under a new dish has a closed form."""
        return self.conjugate

    @property
    def has_powers(self) -> bool:
        """Whether `tempered` can be called: by default if parameters of dishes are integrated out."""
        return self.conjugate and not (self.atomic or self.seats_values)

    atomic: bool = False
    seats_values: bool = False
    takes_terms: bool = True
    support: Any = None

    @abc.abstractmethod
    def make(self) -> Any:
        """Statistics of a dish without observations."""

    @abc.abstractmethod
    def add(self, statistics: Any, value: Any) -> None:
        """Add one observation to the statistics of a dish, in place."""

    @abc.abstractmethod
    def remove(self, statistics: Any, value: Any) -> None:
        """Remove one observation, which was added before, from the statistics of a dish, in place."""

    @abc.abstractmethod
    def log_predictive(self, value: Any, many: Sequence[Any]) -> npt.ArrayLike:
        """log p(value | observations of the dish) for each of n dishes: shape (n,), nats.

        Some can be dishes without observations. All have the same normalisation.
        """

    # ------------------------------------------------------------------ optional

    def supports(self, method: str) -> bool:
        """Whether this measure defines an optional method."""
        return getattr(type(self), method) is not getattr(BaseMeasure, method)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Present values of the parameters by name; the trace records them. None by default."""
        return {}

    @property
    def priors(self) -> dict[str, Prior]:
        """Priors of the parameters that have one."""
        return {name: value.prior for name, value in self.parameters.items() if isinstance(value, Resampled)}

    @property
    def starting_parameters(self) -> Mapping[str, float]:
        """Values with which a chain begins, of parameters that don't begin at the mean of their prior."""
        return {}

    def with_parameters(self, **values: float) -> Self:
        """Return this measure with other values for parameters that have a prior; the priors don't change.

        Raises a ParameterError for a value that the measure doesn't allow. The default is for attrs classes
        whose parameters are fields.
        """
        if not attrs.has(type(self)):
            raise DeclarationError(
                "base", type(self).__name__, "an attrs class, or one with with_parameters()",
                "Decorate the measure with attrs.frozen, or override with_parameters.",
            )  # fmt: skip
        kept = {name: Resampled(value, self.priors[name]) for name, value in values.items()}
        changed: Self = attrs.evolve(self, **kept)  # type: ignore[misc]
        return changed

    def for_data(self, data: GroupedData) -> BaseMeasure:
        """Return this measure prepared for these data (with their vocabulary size, say); check the data.

        Raises a DataError if a value is impossible under the measure. By default all data are accepted.
        """
        return self

    def example_values(self) -> Sequence[Any] | None:
        """A few values that are possible under the measure, for the test harness; None: the terms 0, 1, 2."""
        return None

    def copy(self, statistics: Any) -> Any:
        """Return statistics that change independently."""
        return copy.deepcopy(statistics)

    def log_block(self, values: Sequence[Any], many: Sequence[Any]) -> npt.ArrayLike:
        """Log probability of a block of observations under each of n dishes: shape (n,), nats.

        By default by the chain rule: each observation is added before the next one is scored.
        """
        growing = [self.copy(statistics) for statistics in many]
        total = np.zeros(len(growing))
        for value in values:
            total += log_densities(self, "log_predictive", self.log_predictive(value, growing), len(growing))
            for statistics in growing:
                self.add(statistics, value)
        return total

    def log_marginal(self, statistics: Any) -> float:
        """Log marginal probability of all observations of a dish, in nats."""
        raise missing_method(self, "log_marginal")

    def log_marginals(self, bank: Any, slots: Int32s, dishes: Int32s) -> Floats:
        """Log marginal probability of the dishes in these slots: float64, shape (n,), nats.

        Another measure with the same statistics may have made the bank (see `tempered`).
        """
        return np.array([self.log_marginal(one) for one in bank.statistics(slots, dishes)], dtype=float)

    def log_observable(self, statistics: Any) -> float:
        """Log probability that the next value of a dish is one that data can have, in nats; 0 by default.

        It is below 0 if the model has an outcome that is never observed; the predictive distribution of a
        dish without values sums to its exponential. For a dish with values it is 0. `simulate` draws
        conditional on the value being one that data can have, and `Franchise.simulate` on all values being
        such.
        """
        return 0.0

    def parts(self, state: Any) -> Mapping[str, Part]:
        """Parts of the state that belong to this measure, by name: none by default.

        They are created once per franchise, before its bank, and registered when the franchise is built;
        copies of the franchise create their own. `given` reads a `SharedValue`. A bank that defines
        ``read(parts)`` and ``begin(slot)`` can read any part. The state is being built: keep a weak reference
        to it, and don't use it before the first birth.
        """
        return {}

    def given(self, parts: Mapping[str, Part]) -> BaseMeasure:
        """Return this measure at the present values of its parts; by default itself.

        The franchise takes the measure that is returned when it is built, when `Franchise.set_shared_value`
        changes a value, and when a state is restored, and then recomputes the statistics of all dishes. So
        all methods may depend on the values, those of statistics too, and what the measure derives from them
        is computed here once. ``parts`` is what `parts` returned: a `SharedValue` has its present ``value``.
        """
        return self

    def redraw(self, value: Any, statistics: Any, generator: np.random.Generator) -> Any:
        """Draw an observation in place of another, from the predictive of a dish; by default by `simulate`.

        A measure that is conditional on a part of an observation (a regression of y given x) overrides it
        in place of `simulate`, and keeps that part.
        """
        return self.simulate(statistics, generator)

    def simulate(self, statistics: Any, generator: np.random.Generator) -> Any:
        """Draw one observation from the predictive distribution of a dish (Geweke's test needs it)."""
        raise missing_method(self, "simulate")

    def draw_parameters(self, statistics: Any, source: ChoiceSource) -> Any:
        """Draw a dish's parameters given its data, without data from their prior, for `log_likelihood`."""
        raise missing_method(self, "draw_parameters")

    def draw_many(self, bank: Any, slots: Int32s, dishes: Int32s, source: ChoiceSource) -> Sequence[Any]:
        """Draw the parameters of the dishes in these slots: n of them."""
        return [self.draw_parameters(one, source) for one in bank.statistics(slots, dishes)]

    def draw_term_weights(
        self, bank: Any, slots: Int32s, occupied: Bools, source: ChoiceSource
    ) -> Floats | None:
        """Draw what terms weigh under each dish, shape (n, V), for sweeps over documents.

        None, the default: the sweep draws parameters as `draw_parameters` does.
        """
        return None

    def tempered(self, power: float) -> BaseMeasure:
        """Return this measure at a power of the likelihood, above 0 and up to 1, for `moves.ReplicaExchange`.

        By default the marginal of a dish is raised to the power: with L the probability of the data given
        their dishes, parameters of dishes integrated out, a state z has the posterior p(z) L(z) ** power. The
        measure that is returned has the same statistics, and no parameters of dishes, so moves that draw
        these are refused. A measure that overrides this method, such as `DirichletMultinomial`, may raise the
        likelihood given the parameters of a dish to the power, and then integrate them out; it needs
        `log_marginal`. Only with `has_powers`.
        """
        if not self.has_powers:
            raise missing_method(self, "tempered")
        return Tempered(self, power)

    def log_likelihood(self, value: Any, parameters: Any) -> float:
        """Log density of one observation given a dish's parameters, in nats."""
        raise missing_method(self, "log_likelihood")

    def log_likelihoods(self, values: Any, parameters: Sequence[Any]) -> npt.ArrayLike:
        """Log densities of n observations given the parameters of each of K dishes: shape (n, K), nats.

        By default `log_likelihood` for each pair. Define it to save time in sweeps over sequences.
        """
        return [[self.log_likelihood(value, one) for one in parameters] for value in values]

    def draw_arrays(self, statistics: Any, n: int, source: ChoiceSource) -> npt.NDArray[Any]:
        """Draw a dish's parameters n times, with the layout of `posterior_mean`: shape (n, ...).

        Intervals of parameters are quantiles of such draws, by `named_parameters`. Without this method the
        draws are those of `draw_parameters`, if they have the shape of `posterior_mean`.
        """
        raise missing_method(self, "draw_arrays")

    def draw_values(self, parameters: Any, n: int, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Draw n observations given the parameters of a dish; `hdpkit.forecast` needs it."""
        raise missing_method(self, "draw_values")

    def selected_terms(self, statistics: Any) -> float:
        """Expected number of terms that a dish selects, given its data."""
        raise missing_method(self, "selected_terms")

    def posterior_mean(self, statistics: Any) -> Any:
        """Posterior mean of a dish's parameters (`Franchise.dish_parameters` needs it)."""
        raise missing_method(self, "posterior_mean")

    def posterior_means(self, bank: Any, slots: Int32s, dishes: Int32s) -> npt.NDArray[Any]:
        """Posterior means of the dishes in these slots: shape (n, ...).

        Raises a ReturnValueError if two means differ in shape.
        """
        means = [self.posterior_mean(statistics) for statistics in bank.statistics(slots, dishes)]
        try:
            return np.array(means)
        except ValueError:  # ragged
            shapes = sorted({str(np.shape(mean)) for mean in means})
            raise refuse(self, "posterior_mean", shapes, "of the same shape for every dish") from None

    def named_parameters(
        self, means: npt.NDArray[Any], columns: Sequence[str] | None = None
    ) -> dict[str, npt.NDArray[Any]]:
        """Parameters of n dishes by name, shape (n,) each, in tables and pages; by default "parameter[i]"."""
        return by_entry("parameter", np.asarray(means), columns)

    def moments(self, means: Floats) -> tuple[Floats, Floats]:
        """Mean (n, D) and covariance (n, D, D) of an observation under each dish; D is 1 for numbers.

        Pictures of components need them.
        """
        raise missing_method(self, "moments")

    def term_means(
        self, bank: Any, slots: Int32s, dishes: Int32s, totals: Int64s
    ) -> tuple[npt.ArrayLike, ...] | None:
        """Posterior means of dishes over terms as functions of their counts; None if there is no such form.

        A `Sample` stores (smoothing, inside, outside) instead of K times V numbers: term v of dish k has mean
        (n_kv + smoothing) inside_k if n_kv > 0, and smoothing outside_k otherwise. ``smoothing`` has shape
        (), (V,) or (n, 1), the others (n,). A fourth array is `TermMeans.selection`, if topics select terms.
        """
        return None

    def compiled(self, data: GroupedData) -> Any:
        """Return a PyCapsule with this measure in C over these data (see docs/extending.md)."""
        raise missing_method(self, "compiled")

    def bank(self, data: GroupedData) -> StatisticsBank:
        """Return a bank of the statistics of all dishes: compiled if there is a capsule."""
        return CapsuleBank(self, data) if self.supports("compiled") else self.readable_bank(data)

    def readable_bank(self, data: GroupedData) -> StatisticsBank:
        """Return a bank in Python, which calls the methods of this measure."""
        return PythonBank(self, data.values)


def check_power(instance: Any, attribute: Any, value: Any) -> None:
    """Raise a ParameterError unless this can be a power of the likelihood."""
    if not 0.0 < as_float(value) <= 1.0:
        raise ParameterError("power", value, "a number above 0, up to 1", "1 is the likelihood itself.")


def _of_measure(name: str) -> Any:
    """An attribute or a method that is that of the measure."""
    return property(lambda self: getattr(self.measure, name))


@attrs.frozen(eq=False)
class Tempered(BaseMeasure):
    """A measure whose probabilities of data are raised to a power, parameters of dishes integrated out."""

    measure: BaseMeasure
    power: float = attrs.field(validator=check_power)

    exact_statistics = _of_measure("exact_statistics")
    takes_terms = _of_measure("takes_terms")
    parameters = _of_measure("parameters")
    starting_parameters = _of_measure("starting_parameters")
    make, add, remove, copy = map(_of_measure, ("make", "add", "remove", "copy"))
    parts, example_values = map(_of_measure, ("parts", "example_values"))

    def supports(self, method: str) -> bool:
        own = super().supports(method)
        return self.measure.supports(method) if method == "log_marginal" else own

    def with_parameters(self, **values: float) -> Self:
        return attrs.evolve(self, measure=self.measure.with_parameters(**values))

    def for_data(self, data: GroupedData) -> Tempered:
        return attrs.evolve(self, measure=self.measure.for_data(data))

    def given(self, parts: Mapping[str, Part]) -> Tempered:
        return attrs.evolve(self, measure=self.measure.given(parts))

    def log_predictive(self, value: Any, many: Sequence[Any]) -> npt.ArrayLike:
        return self.power * np.asarray(self.measure.log_predictive(value, many))

    def log_block(self, values: Sequence[Any], many: Sequence[Any]) -> npt.ArrayLike:
        return self.power * np.asarray(self.measure.log_block(values, many))

    def log_marginal(self, statistics: Any) -> float:
        return self.power * self.measure.log_marginal(statistics)

    def log_marginals(self, bank: Any, slots: Int32s, dishes: Int32s) -> Floats:
        """Those of the measure at this power; the bank may be one at another."""
        logs = np.asarray(bank.log_marginals(slots, dishes), dtype=np.float64)
        return self.of_all / power_of(bank) * logs

    @property
    def of_all(self) -> float:
        """The product of all powers, if the measure is one of a measure at a power."""
        inner = self.measure
        return self.power * (inner.of_all if isinstance(inner, Tempered) else 1.0)

    def tempered(self, power: float) -> BaseMeasure:
        """The measure at another power."""
        return self.measure.tempered(power)

    def bank(self, data: GroupedData) -> StatisticsBank:
        made: StatisticsBank = powered_bank(self.measure.bank(data), self.power)
        return made


def in_python(name: str, kind: type[M], examples: Callable[[type[M]], list[M]], **own: Any) -> type[M]:
    """Register a compiled measure and its readable twin, whose members ``own`` replace compiled ones."""
    members = {
        "__doc__": f"`{kind.__name__}` as a readable reference: its Python methods keep the statistics.",
        "__module__": kind.__module__,
        "bank": lambda self, data: self.readable_bank(data),
        **own,
    }
    made: type[M] = attrs.frozen(eq=False)(type(f"{kind.__name__}Reference", (kind,), members))
    base_measures.register(name, kind, lambda: examples(kind))
    base_measures.register(f"{name}-reference", made, lambda: examples(made))
    return made
