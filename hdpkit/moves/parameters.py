"""Parameters of the base measure and of dishes that have priors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import choice, log_density, positive_number, real_values, validator
from hdpkit.errors import ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo, accepts, something_to_do
from hdpkit.moves.registry import moves
from hdpkit.moves.slice import Scale, drawn_within, slice_sample
from hdpkit.numerics import add_up
from hdpkit.priors import Each, Prior, log_density_at, support_of
from hdpkit.random import ChoiceSource


@attrs.define
class BaseMeasureParameters(Move):
    """Update every parameter of the base measure that has a prior, one after the other.

    Those of `Bursty` are updated by `Concentration` and `Discount`.

    The target is p(data | dishes, parameter) p(parameter), dish parameters integrated out (parameters that
    the measure keeps in the state are given, and their density is a factor). Updates are made on an unbounded
    scale, with the Jacobian: log x for positive parameters, log x/(1-x) for those in (0, 1), x itself on the
    real line. A value that the measure rejects has density zero.

    Parameters
    ----------
    method : str
        "slice": Neal (2003), stepping out. "metropolis": a normal random walk.
    width : float
        Initial width of the slice, or standard deviation of the random walk, on that scale.
    """

    serves = EVERYWHERE
    continuous = True
    by_cell = True
    updates = ("base",)
    over = "totals"
    requires = (
        something_to_do(
            lambda state, move: bool(_names(state)),
            "Every parameter of the base measure is fixed: give one a prior, or leave the move out.",
        ),
    )

    method: str = attrs.field(
        default="slice", validator=validator(choice, ("slice", "metropolis"), remedy="Slice needs no tuning.")
    )
    width: float = attrs.field(
        default=1.0, validator=validator(positive_number, remedy="1.0 suits the log scale.")
    )

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Update the parameters in the order in which the measure lists them."""
        info = MoveInfo()
        for name in _names(state):
            scale = Scale(*support_of(state.measure.priors[name]))
            info += MoveInfo(1, int(update_parameter(state, name, scale, self.method, self.width, rng)))
        return info


def _names(state: Franchise) -> list[str]:
    """Parameters that have a prior; `Concentration` and `Discount` draw those of restaurants in dishes."""
    return [name for name in state.measure.priors if "/" not in name]


def update_parameter(
    state: Franchise, name: str, scale: Scale, method: str, width: float, rng: ChoiceSource
) -> bool:
    """Update one parameter that has a prior, on the given scale; return whether it changed."""
    prior = state.measure.priors[name]
    x = state.base_parameters[name]

    def log_target(value: float) -> float:
        try:
            state.set_base_parameters(**{name: value})
        except ParameterError:
            return -math.inf
        # Parameters of dishes in the state may also depend on this parameter.
        kept = add_up(part.log_density(state) for part in state.measure_parts.values())
        return state.log_likelihood() + kept + log_density_at(prior, value)

    after = drawn_within(scale, log_target, x, width, rng, method)
    state.set_base_parameters(**{name: after})
    return after != x


moves.register(
    "base-measure-parameters",
    BaseMeasureParameters,
    lambda: [BaseMeasureParameters(), BaseMeasureParameters("metropolis")],
)


class DishParameters(Move):
    """Update the parameter of every dish given its data, in the order of the dishes.

    If the measure has ``update``, this is called. Otherwise, if it has ``log_prior``, each coordinate is
    updated by slice sampling (Neal 2003). Otherwise a value is proposed from the prior and accepted with the
    ratio of the likelihoods.
    """

    serves = EVERYWHERE
    continuous = True
    updates = ("dish parameters",)
    requires = (
        something_to_do(
            lambda state, move: not state.measure.conjugate,
            "{measure} integrates dish parameters out: leave DishParameters out.",
        ),
    )

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Update all dishes; each coordinate counts as one tried update."""
        return update_dishes(state, _of_dish, rng)


def update_dishes(
    state: Franchise,
    update: Callable[[Franchise, int, npt.NDArray[np.int64], ChoiceSource], tuple[Any, MoveInfo]],
    rng: ChoiceSource,
) -> MoveInfo:
    """Update the parameter of every dish, in the order of the dishes."""
    info = MoveInfo()
    bank: Any = state.bank
    dishes = state.seating.dishes()
    missing = getattr(state.data, "missing", None)
    if missing is not None:
        dishes = np.where(missing, -1, dishes)
    with state.lock():
        for slot in state.slots.occupied_slots().tolist():
            parameter, done = update(state, slot, np.flatnonzero(dishes == slot), rng)
            bank.set_parameter(slot, parameter)
            info += done
    return info


def proposed_from_prior(
    measure: Any, parameter: Any, log_likelihood: Callable[[Any], float], rng: ChoiceSource
) -> tuple[Any, MoveInfo]:
    """Propose a parameter from its prior, and accept it with the ratio of the likelihoods."""
    candidate = measure.draw(rng)
    taken = accepts(log_likelihood(candidate) - log_likelihood(parameter), rng)
    return (candidate if taken else parameter), MoveInfo(1, int(taken))


def _of_dish(
    state: Franchise, slot: int, customers: npt.NDArray[np.int64], rng: ChoiceSource
) -> tuple[Any, MoveInfo]:
    # Methods of non-conjugate measures and their banks: see `NonConjugate`.
    measure, bank = cast(Any, state.measure), cast(Any, state.bank)
    parameter = bank.parameter(slot)
    if measure.update is not None:
        values = [state.data.values[i] for i in customers]
        drawn = measure.update(parameter, values, rng.generator)
        return real_values(measure, "update", drawn, np.shape(parameter)), MoveInfo(1, 1)
    log_likelihood = bank.log_likelihood_of(slot, customers)
    if measure.log_prior is None:
        return proposed_from_prior(measure, parameter, log_likelihood, rng)
    array = np.array(parameter, dtype=float)
    for place in np.ndindex(array.shape):

        def log_target(x: float, place: tuple[int, ...] = place) -> float:
            candidate = array.copy()
            candidate[place] = x
            log_prior = log_density(measure, "log_prior", measure.log_prior(candidate[()]))
            return log_prior + log_likelihood(candidate[()]) if log_prior > -np.inf else log_prior

        array[place] = slice_sample(log_target, float(array[place]), 1.0, rng)
    return array[()], MoveInfo(max(array.size, 1), max(array.size, 1))


moves.register("dish-parameters", DishParameters, lambda: [DishParameters()])


class _OfProportions(Move):
    """A move that draws the stored proportions of all dishes."""

    serves = EVERYWHERE
    continuous = True
    updates = ("selection proportions",)
    method: str  # of the part
    requires = (
        something_to_do(
            lambda state, move: "selection proportions" in state.measure_parts,
            "No selection proportions are stored: build "
            "hk.SparseDirichletMultinomial(proportions='stored'), or leave {move.name} out.",
        ),
    )

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw them for all dishes."""
        self.check(state)
        with state.lock():
            getattr(state.measure_parts["selection proportions"], self.method)(rng)
        return MoveInfo(1, 1)


class Selectors(_OfProportions):
    """Draw the selectors of every dish given its proportion, then its proportion given the selectors.

    Selectors b_kv ~ Bernoulli(pi_k) are drawn given the data of the dish; then pi_k ~
    ``Beta(r + |b_k|, s + V - |b_k|)`` (Wang & Blei 2009, section 3). The a terms that occur in the dish are
    certainly selected. Only the number y of the other selected terms matters, so it is drawn, with weights
    C(V-a, y) pi^y (1-pi)^(V-a-y) g(a+y; N). Selectors are not kept: all other moves integrate them out.
    """

    method = "draw_through_selectors"


class SelectorCounts(_OfProportions):
    """Draw the number of selected terms and the proportion of every dish, jointly.

    The number is drawn with pi integrated out, with weights C(V-a, y) B(r+a+y, s+V-a-y) g(a+y; N); then pi_k
    ~ ``Beta(r + |b_k|, s + V - |b_k|)`` (Wang & Blei 2009, footnote 4, where the binomial coefficient is
    missing). The draw doesn't depend on the current proportions, so it mixes better than `Selectors`.
    """

    method = "draw"


moves.register("selectors", Selectors, lambda: [Selectors()])
moves.register("selector-counts", SelectorCounts, lambda: [SelectorCounts()])


@attrs.define
class Smoothing(Move):
    """Update the smoothing of a sparse Dirichlet-multinomial, if it has a prior.

    The target is p(data | dishes, smoothing) p(smoothing), selectors and topics integrated out, given the
    proportions if these are stored. `BaseMeasureParameters` updates every parameter that has a prior.

    If each dish has a separate smoothing (``smoothing=hk.Each(prior)``), the smoothings are updated in the
    order of the dishes. `DishParameters` also updates them, by slice sampling on the smoothing itself. If the
    prior has finitely many values, and so a method ``choose``, both moves propose from it.

    Parameters
    ----------
    method : str
        "slice": Neal (2003), stepping out, on the log scale. "metropolis": a normal random walk on the
        smoothing itself, as in Wang & Blei (2009, section 4); a proposal below 0 is rejected.
    width : float
        Initial width of the slice, on the log scale, or standard deviation of the random walk; 1 in the
        paper.
    """

    serves = EVERYWHERE
    continuous = True
    updates = ("base",)
    requires = (
        something_to_do(
            lambda state, move: "smoothing" in state.measure.priors or _one_a_dish(state),
            "No smoothing has a prior: build hk.SparseDirichletMultinomial(smoothing=hk.Gamma(1, 1)), or "
            "leave Smoothing out.",
        ),
    )

    method: str = attrs.field(
        default="slice", validator=validator(choice, ("slice", "metropolis"), remedy="Slice needs no tuning.")
    )
    width: float = attrs.field(
        default=1.0, validator=validator(positive_number, remedy="1.0 is the paper's.")
    )

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Make one update."""
        if _one_a_dish(state):
            return update_dishes(state, self._of_dish, rng)
        scale = self._scale(state.measure.priors["smoothing"])
        return MoveInfo(1, int(update_parameter(state, "smoothing", scale, self.method, self.width, rng)))

    def _scale(self, prior: Prior) -> Scale:
        return Scale(*support_of(prior), natural=self.method == "metropolis")

    def _of_dish(
        self, state: Franchise, slot: int, customers: npt.NDArray[np.int64], rng: ChoiceSource
    ) -> tuple[Any, MoveInfo]:
        """Return the updated smoothing of a dish."""
        measure, bank = cast(Any, state.measure), cast(Any, state.bank)
        log_likelihood, log_prior = bank.log_likelihood_of(slot, customers), measure.log_prior
        current = float(bank.parameter(slot))
        if log_prior is None:
            return proposed_from_prior(measure, current, log_likelihood, rng)

        def log_target(value: float) -> float:
            of_prior = float(log_prior(value))
            return of_prior + float(log_likelihood(value)) if of_prior > -math.inf else of_prior

        scale = self._scale(measure.smoothing.prior)
        after = drawn_within(scale, log_target, current, self.width, rng, self.method)
        return after, MoveInfo(1, int(after != current))


def _one_a_dish(state: Franchise) -> bool:
    return isinstance(getattr(state.measure, "smoothing", None), Each)


moves.register("smoothing", Smoothing, lambda: [Smoothing(), Smoothing("metropolis")])
