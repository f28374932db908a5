"""Credible intervals of the probabilities of terms in topics, from draws of the topics given each sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hdpkit.franchise import Sample, TopicLaw
from hdpkit.random import Purpose, as_source
from hdpkit.summaries.intervals import central

__all__ = ["topic_intervals"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_SEED = 1
_AT_ONCE = 1 << 22  # numbers that are drawn at once


def topic_intervals(
    samples: Sequence[Sample], labels: Sequence[Ints], n_topics: int, level: float, draws: int
) -> tuple[Floats, Floats] | None:
    """Intervals of each term in each topic: quantiles over draws from all samples that have the topic.

    Parameters
    ----------
    samples : sequence of Sample
    labels : sequence of int64 arrays
        Topic of each dish of each sample; -1 for none.
    n_topics : int
        T; every topic has a dish in a sample at least.
    level : float
        Probability of the intervals.
    draws : int
        Draws of each topic in total, at least; the same number for each sample.

    Returns
    -------
    lower, upper : float64 arrays, shape (T, V), or None
        None if a sample has only the means of its topics.
    """
    laws: list[list[TopicLaw]] = [[] for _ in range(n_topics)]
    n_terms = 0
    for sample, own in zip(samples, labels, strict=True):
        for dish in np.flatnonzero(own >= 0).tolist():
            law = sample.topic_law(dish)
            if law is None:
                return None
            laws[own[dish]].append(law)
            n_terms = sample.counts.shape[1]
    source = as_source(_SEED, Purpose.OTHER)
    lower, upper = np.empty((n_topics, n_terms)), np.empty((n_topics, n_terms))
    for topic, members in enumerate(laws):
        each = -(-draws // len(members))
        terms = np.unique(np.concatenate([law.terms for law in members]))
        # Terms without customers in any sample have the same law where their smoothing is the same.
        others = np.setdiff1d(np.arange(n_terms), terms, assume_unique=True)
        smoothing = np.stack([np.broadcast_to(law.smoothing, (n_terms,))[others] for law in members])
        _, first, kind = np.unique(smoothing, axis=1, return_index=True, return_inverse=True)
        asked = np.concatenate([terms, others[first]])
        ends = np.empty((2, len(asked)))
        step = max(1, _AT_ONCE // (each * len(members)))
        order = np.argsort(asked)
        for begin in range(0, len(asked), step):
            here = order[begin : begin + step]
            drawn = [law.draw_each(asked[here], each, source) for law in members]
            ends[:, here] = central(np.concatenate(drawn, axis=1).T, level)
        lower[topic, terms], upper[topic, terms] = ends[:, : len(terms)]
        lower[topic, others], upper[topic, others] = ends[:, len(terms) :][:, kind.ravel()]
    return lower, upper
