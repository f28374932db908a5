"""Weights of the root's dishes, where they are part of the state."""

from __future__ import annotations

from hdpkit.errors import ScheduleError
from hdpkit.franchise import Franchise
from hdpkit.moves.protocol import Move, MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource

__all__ = ["RootWeights"]


class RootWeights(Move):
    """Draw the weights of all dishes and of what is new, given the seating.

    (beta_1, ..., beta_K, beta_u) ~ Dirichlet(m_1 - d_0, ..., m_K - d_0, theta_0 + K d_0), m_k the customers
    of the root who eat dish k (Teh et al. 2006, section 5.2; with a discount Pitman 1996). Over a franchise
    with ``root="weights"``.
    """

    continuous = True
    updates = ("root weights",)

    def check(self, state: Franchise) -> None:
        """Refuse a franchise whose root is a restaurant."""
        if state.root.declared != "weights":
            raise ScheduleError(
                "moves", self.name, "moves that have something to do",
                "The root is a restaurant, its weights are integrated out: build hk.Franchise(..., "
                "root='weights'), or leave RootWeights out.",
            )  # fmt: skip

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw them all."""
        if steps == (0, 0):
            return MoveInfo()
        with state.root_integrated(rng):
            pass  # the end of the block draws them
        return MoveInfo(1, 1)


moves.register("root-weights", RootWeights, lambda: [RootWeights()])
