"""Parameters of a sparse Dirichlet-multinomial: its smoothing, and stored selection proportions."""

from __future__ import annotations

import math
from typing import Any, cast

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import choice, positive_number, validator
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.parameters import proposed_from_prior, update_dishes, update_parameter, updated_on_line
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo, something_to_do
from hdpkit.moves.registry import moves
from hdpkit.moves.slice import Scale
from hdpkit.priors import Each, Prior, support_of
from hdpkit.random import ChoiceSource


class _OfProportions(Move):
    """A move that draws the stored proportions of all dishes."""

    serves = EVERYWHERE
    continuous = True
    updates = ("selection proportions",)
    requires = (
        something_to_do(
            lambda state, move: "selection proportions" in state.measure_parts,
            "No selection proportions are stored: build "
            "hk.SparseDirichletMultinomial(proportions='stored'), or leave {move.name} out.",
        ),
    )

    def _draw(self, part: Any, rng: ChoiceSource) -> None:
        """Draw them for all dishes."""
        raise NotImplementedError

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw them for all dishes."""
        if steps == (0, 0):
            return MoveInfo()
        self.check(state)
        with state.lock():
            self._draw(state.measure_parts["selection proportions"], rng)
        return MoveInfo(1, 1)


class Selectors(_OfProportions):
    """Draw the selectors of every dish given its proportion, then its proportion given the selectors.

    Selectors b_kv ~ Bernoulli(pi_k) are drawn given the data of the dish; then pi_k ~
    ``Beta(r + |b_k|, s + V - |b_k|)`` (Wang & Blei 2009, section 3). The a terms that occur in the dish are
    certainly selected. Only the number y of the other selected terms matters, so it is drawn, with weights
    C(V-a, y) pi^y (1-pi)^(V-a-y) g(a+y; N). Selectors are not kept: all other moves integrate them out.
    """

    def _draw(self, part: Any, rng: ChoiceSource) -> None:
        """Draw them for all dishes."""
        part.draw_through_selectors(rng)


class SelectorCounts(_OfProportions):
    """Draw the number of selected terms and the proportion of every dish, jointly.

    The number is drawn with pi integrated out, with weights C(V-a, y) B(r+a+y, s+V-a-y) g(a+y; N); then pi_k
    ~ ``Beta(r + |b_k|, s + V - |b_k|)`` (Wang & Blei 2009, footnote 4, where the binomial coefficient is
    missing). The draw doesn't depend on the current proportions, so it mixes better than `Selectors`.
    """

    def _draw(self, part: Any, rng: ChoiceSource) -> None:
        """Draw them for all dishes."""
        part.draw(rng)


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
        if steps == (0, 0):
            return MoveInfo()
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
        scale = self._scale(measure.smoothing.prior)

        def log_target(y: float) -> float:
            value = scale.back(y)
            log_density = log_prior(value) if scale.low < value < scale.high else -math.inf
            if log_density == -math.inf:
                return log_density
            return float(log_density + log_likelihood(value) + scale.log_jacobian(value))

        moved = updated_on_line(log_target, scale.to(current), self.method, self.width, rng)
        return (current if moved is None else scale.back(moved)), MoveInfo(1, int(moved is not None))


def _one_a_dish(state: Franchise) -> bool:
    return isinstance(getattr(state.measure, "smoothing", None), Each)


moves.register("smoothing", Smoothing, lambda: [Smoothing(), Smoothing("metropolis")])
