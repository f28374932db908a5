"""Updates of one number: its scale, and univariate slice sampling (Neal 2003, figures 3 and 5)."""

from __future__ import annotations

import math
from collections.abc import Callable

from hdpkit.errors import StateError
from hdpkit.moves.protocol import accepts
from hdpkit.numerics import exp, log
from hdpkit.random import ChoiceSource


class Scale:
    """Map from an open interval to the real line: a logarithm above a finite low, the logit between ends."""

    def __init__(self, low: float, high: float, natural: bool = False) -> None:
        self.low, self.high = low, high
        self.kind = "real"
        if not natural and math.isfinite(low):
            self.kind = "logit" if math.isfinite(high) else "log"

    def to(self, x: float) -> float:
        """Point on the line that x is mapped to."""
        if self.kind == "real":
            return x
        return log(x - self.low) - (log(self.high - x) if self.kind == "logit" else 0.0)

    def back(self, y: float) -> float:
        """Value at a point of the line; for large |y| it may round to an end of the interval."""
        if self.kind == "real":
            return y
        if self.kind == "log":
            return self.low + exp(y)
        share = 1.0 / (1.0 + exp(-y))
        return self.low + (self.high - self.low) * share

    def log_jacobian(self, x: float) -> float:
        """log dx/dy at x."""
        if self.kind == "real":
            return 0.0
        if self.kind == "log":
            return log(x - self.low)
        return log(x - self.low) + log(self.high - x) - log(self.high - self.low)


_STEPS_OUT = 50  # at most, divided at random between the two sides, which keeps the update exact
_SHRINKAGES = 500


def slice_sample(
    log_density: Callable[[float], float],
    x: float,
    width: float,
    source: ChoiceSource,
) -> float:
    """Return a draw that leaves a density on the real line invariant."""
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


def drawn_within(
    scale: Scale,
    log_density: Callable[[float], float],
    x: float,
    width: float,
    source: ChoiceSource,
    method: str = "slice",
) -> float:
    """The same for a number within the interval of a scale, on that scale, or by "metropolis" steps."""

    def density(position: float) -> float:
        y = scale.back(position)
        return log_density(y) + scale.log_jacobian(y) if scale.low < y < scale.high else -math.inf

    here = scale.to(x)
    if method == "slice":
        there = slice_sample(density, here, width, source)
    else:
        candidate = here + width * source.normal()
        there = candidate if accepts(density(candidate) - density(here), source) else here
    # back(to(x)) may differ from x in the last bit: an unchanged value must stay exactly the same.
    return x if there == here else scale.back(there)
