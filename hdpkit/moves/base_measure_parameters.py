"""Parameters of the base measure with priors (eta and the like)."""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs

from hdpkit.checks import choice, positive_number, validator
from hdpkit.errors import ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo, accepts, something_to_do
from hdpkit.moves.registry import moves
from hdpkit.moves.slice import Scale, slice_sample
from hdpkit.numerics import add_up
from hdpkit.priors import log_density_at, support_of
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
        if steps != (0, 0):
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
    here = scale.to(x)

    def log_target(y: float) -> float:
        value = scale.back(y)
        if not scale.low < value < scale.high:
            return -math.inf
        try:
            state.set_base_parameters(**{name: value})
        except ParameterError:
            return -math.inf
        # Parameters of dishes in the state may also depend on this parameter.
        kept = add_up(part.log_density(state) for part in state.measure_parts.values())
        return state.log_likelihood() + kept + log_density_at(prior, value) + scale.log_jacobian(value)

    there = updated_on_line(log_target, here, method, width, rng)
    # back(to(x)) may differ from x in the last bit: an unchanged value must stay exactly the same.
    state.set_base_parameters(**{name: x if there is None else scale.back(there)})
    return there is not None


def updated_on_line(
    log_target: Callable[[float], float], here: float, method: str, width: float, rng: ChoiceSource
) -> float | None:
    """Return a new point on the real line, by an update that leaves a density invariant; None: no change."""
    if method == "slice":
        there = slice_sample(log_target, here, width, rng)
    else:
        candidate = here + width * rng.normal()
        there = candidate if accepts(log_target(candidate) - log_target(here), rng) else here
    return None if there == here else there


moves.register(
    "base-measure-parameters",
    BaseMeasureParameters,
    lambda: [BaseMeasureParameters(), BaseMeasureParameters("metropolis")],
)
