"""Univariate slice sampling (Neal 2003, figures 3 and 5)."""

from __future__ import annotations

import math
from collections.abc import Callable

from hdpkit.errors import StateError
from hdpkit.moves.scale import Scale
from hdpkit.numerics import log
from hdpkit.random import ChoiceSource

_STEPS_OUT = 50  # at most, divided at random between the two sides, which keeps the update exact
_SHRINKAGES = 500


def slice_sample(
    log_density: Callable[[float], float],
    x: float,
    width: float,
    source: ChoiceSource,
) -> float:
    """Return a draw that leaves a density on the real line invariant.

    Parameters
    ----------
    log_density : callable
        Log density at a point, in nats, up to a constant; -inf outside the support.
    x : float
        Present point.
    width : float
        Width of the initial interval, which is extended to the ends of the slice by stepping out.
    source : ChoiceSource

    Raises
    ------
    StateError
        If the log density at ``x`` is not finite.
    """
    here = log_density(x)
    if not math.isfinite(here):
        raise StateError("log_density", here, "finite at the current value", "Start inside the support.")
    level = here + log(source.uniform())  # the uniform draw is never 0
    low = x - width * source.uniform()
    high = low + width
    out_low = source.index(_STEPS_OUT + 1)
    for _ in range(out_low):
        if not log_density(low) > level:
            break
        low -= width
    for _ in range(_STEPS_OUT - out_low):
        if not log_density(high) > level:
            break
        high += width
    for _ in range(_SHRINKAGES):
        candidate = low + (high - low) * source.uniform()
        if log_density(candidate) > level:
            return float(candidate)
        if candidate < x:
            low = candidate
        else:
            high = candidate
    return x  # the slice is narrower than the spacing of floats


def slice_within(
    scale: Scale, log_density: Callable[[float], float], x: float, width: float, source: ChoiceSource
) -> float:
    """The same for a number within the interval of a scale, on that scale."""

    def density(position: float) -> float:
        y = scale.back(position)
        if not (scale.low < y < scale.high and math.isfinite(y)):
            return -math.inf
        return log_density(y) + scale.log_jacobian(y)

    here = scale.to(x)
    there = slice_sample(density, here, width, source)
    # back(to(x)) may differ from x in the last bit: an unchanged value must stay exactly the same.
    return x if there == here else scale.back(there)
