"""The end of a run: Ctrl-C at places where the state is consistent, and warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hdpkit._franchise_lock import HeldInterrupt
from hdpkit.checks import choice
from hdpkit.errors import InterruptedRunWarning, ManyTopicsWarning
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.starts import serves_term_clusters

FEWEST_TOKENS = 2_000  # with fewer, the square root is a handful of topics, and a few more mean nothing


def too_many_topics(n_topics: int, n_tokens: int) -> bool:
    """Whether there are more topics than an average topic has tokens, in a corpus of 2,000 tokens or more."""
    return n_tokens >= FEWEST_TOKENS and n_topics**2 > n_tokens


def warn_of_many_topics(franchise: Franchise, n_tokens: int, trace: Any) -> None:
    """Warn at the end of a run over a topic model if the last recorded state has too many topics.

    Of several chains the one with the most topics counts. Only the declarations of the franchise are used.
    """
    if not (serves_term_clusters(franchise) and franchise.topology.n_levels > 1) or not trace.n_draws:
        return
    n_topics = int(np.max(trace["n_dishes"][..., -1]))
    if not too_many_topics(n_topics, n_tokens):
        return
    measure = franchise.measure
    shared = measure.conjugate or measure.seats_values
    name = next(iter(measure.parameters)) if shared else "smoothing"  # eta, or smoothing
    if name in measure.priors or not shared:
        cause = (
            f"{name} has a prior: it decreases as the number of topics grows, and a smaller {name} gives "
            f"more topics. Give it a number, for instance {name} = 0.1."
        )
    else:
        cause = f"A larger {name} gives fewer topics; so does a smaller concentration of the root."
    warnings.warn(
        f"{n_topics:,} topics for {n_tokens:,} tokens, {n_tokens / n_topics:,.0f} tokens each on average: "
        f"there are more topics than an average topic has tokens. {cause}",
        ManyTopicsWarning,
        stacklevel=3,
    )


_ON_INTERRUPT = ("return", "raise")


def check_on_interrupt(value: Any) -> str:
    """Return ``on_interrupt`` if it is one of the two allowed values."""
    return choice(
        "on_interrupt", value, _ON_INTERRUPT,
        remedy='"return" returns what was done, with a warning; "raise" raises KeyboardInterrupt.',
    )  # fmt: skip


def ended(trace: Any, on_interrupt: str, sweeps: str) -> Any:
    """Return the trace of a run; if Ctrl-C ended it early, warn ("return") or raise ("raise").

    The KeyboardInterrupt has the trace as its attribute ``trace``.
    """
    if not trace.interrupted:
        return trace
    last: Any = trace["sweep"] if trace.n_draws else ()
    done = f"after sweep {int(last.max())}" if len(last) else "before a sweep was recorded"
    text = f"Ctrl-C ended the run {done}; {sweeps} had been asked for"
    if on_interrupt == "raise":
        error: Any = KeyboardInterrupt(text)
        error.trace = trace
        raise error
    warnings.warn(
        f"{text}. Go on with init=None (in a folder with resume()); "
        'on_interrupt="raise" raises KeyboardInterrupt instead.',
        InterruptedRunWarning,
        stacklevel=3,
    )
    return trace


def deferred_interrupt(*, once: bool = False) -> HeldInterrupt:
    """Defer Ctrl-C inside the block; calling the yielded function raises a deferred KeyboardInterrupt.

    It has an effect only in the main thread, where Python delivers signals, and only if Ctrl-C would raise
    KeyboardInterrupt. ``once``: a second Ctrl-C is raised immediately.
    """
    return HeldInterrupt(once)
