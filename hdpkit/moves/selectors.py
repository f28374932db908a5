"""Selection proportions of a sparse Dirichlet-multinomial, if they are part of the state."""

from __future__ import annotations

from typing import Any

from hdpkit.errors import ScheduleError
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource


def proportions_of(move: Move, state: Franchise) -> Any:
    """The part that has the proportions; raises a ScheduleError if there is none."""
    part = state.measure_parts.get("selection proportions")
    if part is not None:
        return part
    raise ScheduleError(
        "moves", move.name, "moves that have something to do",
        "No selection proportions are stored: build hk.SparseDirichletMultinomial(proportions='stored'), or "
        f"leave {move.name} out.",
    )  # fmt: skip


class _OfProportions(Move):
    """A move that draws the stored proportions of all dishes."""

    serves = EVERYWHERE
    continuous = True
    updates = ("selection proportions",)

    def check(self, state: Franchise) -> None:
        """Raise an error if the franchise stores no proportions."""
        proportions_of(self, state)

    def _draw(self, part: Any, rng: ChoiceSource) -> None:
        """Draw them for all dishes."""
        raise NotImplementedError

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw them for all dishes."""
        if steps == (0, 0):
            return MoveInfo()
        with state.lock():
            self._draw(proportions_of(self, state), rng)
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
