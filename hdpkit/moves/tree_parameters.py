"""Parameters of trees: weights of several parents; concentration and kappa of sticky restaurants."""

from __future__ import annotations

import math
from typing import Any

import attrs

from hdpkit.checks import positive_number, validator
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.scores import totals
from hdpkit.franchise.several_parents import GraphTopology, drawn_weights
from hdpkit.franchise.state_topology import StickyTopology
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo, something_to_do
from hdpkit.moves.registry import moves
from hdpkit.moves.slice import Scale, drawn_within
from hdpkit.numerics import log
from hdpkit.priors import log_density_at
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
        tree: Any = state.topology
        weights = tree.weights
        for number, base in weights.declared.items():
            if base.shapes is not None:
                chosen = weights.tables(number, totals(state.seating, tree.n_nodes)[1])
                set_weights(state, number, drawn_weights(rng, base.shapes + chosen))
                info += MoveInfo(1, 1)
        return info


moves.register("parent-weights", ParentWeights, lambda: [ParentWeights()])


def set_kappa(state: Franchise, value: float) -> None:
    """Set kappa of sticky restaurants."""
    tree: Any = state.topology
    state.access.change(setattr, tree.sticky, "kappa", value)


@attrs.frozen
class Sticky(Move):
    """Draw kappa of sticky restaurants and, if it has a prior, their concentration alpha.

    Given the tables, and which of them come from kappa, the weights of the root don't matter: p is
    proportional to alpha^(m - w) kappa^w over the product of the rising powers of alpha + kappa (rows) and of
    alpha (the start row, if it has no concentration of its own). If both have priors, alpha + kappa is drawn
    given kappa / (alpha + kappa) and then the share given the sum, as in the parametrisation of Fox et al.
    2008: with priors ``hk.Gamma(a, r)`` and ``hk.Gamma(b, r)`` the sum is Gamma(a + b, r) and the share
    Beta(b, a), independent. Both are drawn by slice sampling (Neal 2003), on the scales of log and logit, so
    any priors are possible.

    Parameters
    ----------
    width : float
        Initial width of the slice, on that scale.
    """

    serves = EVERYWHERE
    continuous = True
    updates = ("concentration", "sticky")
    requires = (
        something_to_do(
            lambda state, move: (
                isinstance(state.topology, StickyTopology) and state.topology.sticky.prior is not None
            ),
            "kappa is fixed: declare hk.PreviousDish(sticky=hk.Gamma(a, b)), or leave Sticky out.",
        ),
    )

    width: float = attrs.field(
        default=1.0, validator=validator(positive_number, remedy="1.0 suits the log scale.")
    )

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw them."""
        self.check(state)
        tree: Any = state.topology
        law, declared = tree.law_of_rows(state), state.declarations[-1]
        of_kappa, of_alpha = tree.sticky.prior, declared.hyperparameters[0].prior
        alpha, kappa = float(state.concentration(declared.name)), tree.kappa

        def log_target(a: float, k: float) -> float:
            if not (0.0 < a < math.inf and 0.0 < k < math.inf):
                return -math.inf
            prior = log_density_at(of_kappa, k) + (0.0 if of_alpha is None else log_density_at(of_alpha, a))
            return float(law(a, k)) + prior

        if of_alpha is None:
            after = drawn_within(Scale(0.0, math.inf), lambda k: log_target(alpha, k), kappa, self.width, rng)
            set_kappa(state, after)
            return MoveInfo(1, int(after != kappa))
        total, share = alpha + kappa, kappa / (alpha + kappa)
        total = drawn_within(  # the area of (alpha, kappa) is total times that of (total, share)
            Scale(0.0, math.inf),
            lambda s: log_target(s * (1.0 - share), s * share) + log(s), total, self.width, rng,
        )  # fmt: skip
        share = drawn_within(
            Scale(0.0, 1.0), lambda r: log_target(total * (1.0 - r), total * r), share, self.width, rng
        )
        state.set_concentration(declared.name, total * (1.0 - share))
        set_kappa(state, total * share)
        return MoveInfo(2, 2)


moves.register("sticky", Sticky, lambda: [Sticky()])
