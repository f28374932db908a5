"""Scales on which parameters are updated: maps from an interval to the real line, with their Jacobians."""

from __future__ import annotations

import math

from hdpkit.numerics import exp, log


class Scale:
    """Map from an open interval to the real line.

    log(x - low) if only the lower end is finite, log (x - low)/(high - x) if both ends are, and x itself if
    neither is.

    Parameters
    ----------
    low, high : float
        The interval.
    natural : bool
        x itself for any interval; points outside it have density 0.
    """

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
