"""Weights of the root's dishes, if they are part of the state."""

from __future__ import annotations

from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo, something_to_do
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource


class RootWeights(Move):
    """Draw the weights of all dishes and the remaining weight, given the seating.

    (beta_1, ..., beta_K, beta_u) ~ Dirichlet(m_1 - d_0, ..., m_K - d_0, theta_0 + K d_0), where m_k customers
    of the root eat dish k (Teh et al. 2006, section 5.2; with a discount Pitman 1996). The franchise must
    have ``root="weights"``.
    """

    serves = EVERYWHERE
    continuous = True
    by_cell = True
    updates = ("root weights",)
    over = "totals"
    requires = (
        something_to_do(
            lambda state, move: state.root.declared == "weights",
            "The root's weights are fixed or integrated out: build hk.Franchise(..., root='weights'), or "
            "leave RootWeights out.",
        ),
    )

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw all weights."""
        if steps == (0, 0):
            return MoveInfo()
        with state.root_integrated(rng):
            pass  # they are drawn at the end of the block
        return MoveInfo(1, 1)


moves.register("root-weights", RootWeights, lambda: [RootWeights()])
