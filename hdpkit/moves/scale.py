"""The scale on which a parameter is updated: a real line without ends, with the Jacobian of the change."""

from __future__ import annotations

import math

from hdpkit.numerics import exp, log

__all__ = ["Scale"]


class Scale:
    """The real line for a parameter in an open interval.

    log(x - low) where only the lower end is finite, log (x - low)/(high - x) where both are, x itself on the
    whole line.

    Parameters
    ----------
    low, high : float
        The interval.
    natural : bool
        x itself whatever the interval is; places outside of it have density 0.
    """

    def __init__(self, low: float, high: float, natural: bool = False) -> None:
        self.low, self.high = low, high
        self.kind = "real"
        if not natural and math.isfinite(low):
            self.kind = "logit" if math.isfinite(high) else "log"

    def to(self, x: float) -> float:
        """Place of x on the line."""
        if self.kind == "real":
            return x
        return log(x - self.low) - (log(self.high - x) if self.kind == "logit" else 0.0)

    def back(self, y: float) -> float:
        """Value at a place of the line; far out it may round to an end of the interval."""
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
