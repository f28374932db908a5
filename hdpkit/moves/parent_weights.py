"""Weights of several parents."""

from __future__ import annotations

from typing import Any

from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.scores import totals
from hdpkit.franchise.several_parents import GraphTopology, drawn_weights
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo, something_to_do
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource


def set_weights(state: Franchise, number: int, weights: Any) -> None:
    """Set the weights of the parents of a declaration."""
    tree: Any = state.topology
    state.access.change(tree.weights.put, number, weights)


def _has_priors(state: Franchise) -> bool:
    tree = state.topology
    return isinstance(tree, GraphTopology) and any(
        base.shapes is not None for base in tree.weights.declared.values()
    )


class ParentWeights(Move):
    """Draw the weights of `hdpkit.MixtureOf` that have a prior, given the choices of the tables.

    With a prior Dirichlet(a_1, ..., a_m) the weights of a declaration are Dirichlet(a_1 + t_1, ..., a_m +
    t_m), where t_j tables of all its restaurants chose parent j.
    """

    serves = EVERYWHERE
    continuous = True
    updates = ("parent weights",)
    requires = (
        something_to_do(
            lambda state, move: _has_priors(state),
            "No weights of parents have a prior: declare hk.MixtureOf(..., weights=hk.Dirichlet(1.0)), or "
            "leave ParentWeights out.",
        ),
    )

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw all of them."""
        info = MoveInfo()
        if steps == (0, 0):
            return info
        tree: Any = state.topology
        weights = tree.weights
        for number, base in weights.declared.items():
            if base.shapes is not None:
                chosen = weights.tables(number, totals(state.seating, tree.n_nodes)[1])
                set_weights(state, number, drawn_weights(rng, base.shapes + chosen))
                info += MoveInfo(1, 1)
        return info


moves.register("parent-weights", ParentWeights, lambda: [ParentWeights()])
