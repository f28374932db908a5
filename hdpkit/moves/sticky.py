"""Concentration and kappa of sticky restaurants."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Self

import attrs
import numpy as np

from hdpkit.arrays import Int64s
from hdpkit.checks import positive_number, validator
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.hyperparameters import counted, log_rising
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.moves.requirements import something_to_do
from hdpkit.moves.scale import Scale
from hdpkit.moves.slice import slice_sample
from hdpkit.numerics import log
from hdpkit.priors import Prior, log_density_at
from hdpkit.random import ChoiceSource


@attrs.frozen
class Rows:
    """What the distribution of tables of sticky restaurants depends on: numbers of customers and of tables.

    Attributes
    ----------
    from_above, overrides : int
        Tables of all restaurants that come from the distribution above, and that come from kappa.
    sticky, others : pair of int arrays
        How many restaurants with kappa, and without (the start row), have each number of customers. A start
        row with a concentration of its own isn't one of them.
    """

    from_above: int
    overrides: int
    sticky: tuple[Int64s, Int64s]
    others: tuple[Int64s, Int64s]

    @classmethod
    def of(cls, state: Franchise) -> Self:
        """Those of the current state; the deepest declaration is the sticky one."""
        last = len(state.declarations) - 1
        own = state.hyperparameters.sharers[last].own
        nodes, customers, tables = (of_all[own] for of_all in state.totals_of(last))
        sticky = state.topology.sticky.masses(nodes) > 0.0
        there = customers > 0
        overrides = int(state.topology.sticky.overrides_of(nodes[there & sticky]).sum())
        return cls(
            int(tables.sum()) - overrides,
            overrides,
            counted(customers[there & sticky]),
            counted(customers[there & ~sticky]),
        )

    def log_density(self, alpha: float, kappa: float) -> float:
        """log p(tables, overrides | customers, weights of the root) as a function of alpha and kappa."""
        opened = self.from_above * log(alpha) + (self.overrides * log(kappa) if self.overrides else 0.0)
        return opened - log_rising(alpha + kappa, *self.sticky) - log_rising(alpha, *self.others)


def slice_alpha(
    rows: Rows, prior: Prior, alpha: float, kappa: float, width: float, rng: ChoiceSource
) -> float:
    """Draw alpha given kappa by slice sampling on the log scale."""

    def log_target(x: float) -> float:
        return rows.log_density(x, kappa) + log_density_at(prior, x)

    return _on_scale(Scale(0.0, math.inf), log_target, alpha, width, rng)


def _on_scale(
    scale: Scale, log_target: Callable[[float], float], x: float, width: float, rng: ChoiceSource
) -> float:
    """A slice update of a number within an interval."""

    def density(position: float) -> float:
        y = scale.back(position)
        if not (scale.low < y < scale.high and math.isfinite(y)):
            return -math.inf
        return float(log_target(y)) + scale.log_jacobian(y)

    here = scale.to(x)
    there = slice_sample(density, here, width, rng)
    return x if there == here else scale.back(there)


def set_kappa(state: Franchise, value: float) -> None:
    """Set kappa of sticky restaurants."""
    state.access.change(state.topology.sticky.put, value)


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
            lambda state, move: state.topology.sticky.prior is not None,
            "kappa is fixed: declare hk.PreviousDish(sticky=hk.Gamma(a, b)), or leave Sticky out.",
        ),
    )

    width: float = attrs.field(
        default=1.0, validator=validator(positive_number, remedy="1.0 suits the log scale.")
    )

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw them."""
        if steps == (0, 0):
            return MoveInfo()
        self.check(state)
        rows, declared = Rows.of(state), state.declarations[-1]
        of_kappa, of_alpha = state.topology.sticky.prior, declared.hyperparameters[0].prior
        assert of_kappa is not None  # checked
        alpha, kappa = float(np.max(state.concentration(declared.name))), state.topology.sticky.kappa

        def log_target(a: float, k: float) -> float:
            if not (0.0 < a < math.inf and 0.0 < k < math.inf):
                return -math.inf
            prior = log_density_at(of_kappa, k) + (0.0 if of_alpha is None else log_density_at(of_alpha, a))
            return rows.log_density(a, k) + prior

        if of_alpha is None:
            after = _on_scale(Scale(0.0, math.inf), lambda k: log_target(alpha, k), kappa, self.width, rng)
            set_kappa(state, after)
            return MoveInfo(1, int(after != kappa))
        total, share = alpha + kappa, kappa / (alpha + kappa)
        total = _on_scale(  # the area of (alpha, kappa) is total times that of (total, share)
            Scale(0.0, math.inf),
            lambda s: log_target(s * (1.0 - share), s * share) + log(s), total, self.width, rng,
        )  # fmt: skip
        share = _on_scale(
            Scale(0.0, 1.0), lambda r: log_target(total * (1.0 - r), total * r), share, self.width, rng
        )
        state.set_concentration(declared.name, total * (1.0 - share))
        set_kappa(state, total * share)
        return MoveInfo(2, 2)


moves.register("sticky", Sticky, lambda: [Sticky()])
