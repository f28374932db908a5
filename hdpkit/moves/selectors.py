"""Selection proportions of a sparse Dirichlet-multinomial, if they are part of the state."""

from __future__ import annotations

from typing import Any

from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo, something_to_do
from hdpkit.moves.registry import moves
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
