"""The warning that a topic model has too many topics for its corpus."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hdpkit.errors import ManyTopicsWarning
from hdpkit.franchise import Franchise
from hdpkit.franchise.term_clusters import serves_term_clusters

__all__ = ["FEWEST_TOKENS", "too_many_topics", "warn_of_many_topics"]

FEWEST_TOKENS = 2_000  # with fewer, the square root is a handful of topics, and a few more mean nothing


def too_many_topics(n_topics: int, n_tokens: int) -> bool:
    """Whether there are more topics than an average topic has tokens, in a corpus of 2,000 tokens or more.

    Parameters
    ----------
    n_topics, n_tokens : int
        Topics in use, and tokens of the corpus.
    """
    return n_tokens >= FEWEST_TOKENS and n_topics**2 > n_tokens


def warn_of_many_topics(franchise: Franchise, trace: Any) -> None:
    """Warn at the end of a run over a topic model if the last recorded state has too many topics.

    Parameters
    ----------
    franchise : Franchise
        The franchise that ran, or that chains copied; its data and base measure are used.
    trace : Trace or ChainTrace
        Of several chains the one with the most topics counts.
    """
    if not (serves_term_clusters(franchise) and franchise.topology.n_levels > 1) or not trace.n_draws:
        return
    n_tokens = len(franchise.data)
    n_topics = int(np.max(trace["n_dishes"][..., -1]))
    if not too_many_topics(n_topics, n_tokens):
        return
    measure = franchise.measure
    name = next(iter(measure.parameters)) if measure.conjugate else "smoothing"  # eta, or smoothing
    if name in measure.priors or not measure.conjugate:
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
