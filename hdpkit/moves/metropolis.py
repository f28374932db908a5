"""Metropolis acceptance."""

from __future__ import annotations

import math

from hdpkit.errors import StateError
from hdpkit.numerics import exp
from hdpkit.random import ChoiceSource

__all__ = ["accepts"]


def accepts(log_ratio: float, rng: ChoiceSource) -> bool:
    """Accept with probability min(1, exp(log_ratio)).

    Parameters
    ----------
    log_ratio : float
        log of target(new) q(new -> old) / [target(old) q(old -> new)], in nats; -inf never accepts.
    """
    if math.isnan(log_ratio) or log_ratio == math.inf:
        raise StateError(
            "log_ratio", log_ratio, "a number or -inf", "The proposal returned an invalid number; report it."
        )
    if log_ratio == -math.inf:
        return False
    return log_ratio >= 0.0 or rng.bernoulli(exp(log_ratio))
