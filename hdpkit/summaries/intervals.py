"""Credible intervals: quantiles over samples, and of terms in topics over draws of the topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.franchise import Sample, TopicLaw
from hdpkit.random import Purpose, as_source
from hdpkit.summaries.vectors import Rows

__all__ = ["central", "central_of_terms", "topic_intervals"]


def central(values: Floats, level: float) -> tuple[Floats, Floats]:
    """Lower and upper ends of the central interval of each column: quantiles over the first axis."""
    place = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0]) * (len(values) - 1)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, len(values) - 1)
    # Along rows, where the values of a column then lie beside each other.
    ordered = np.moveaxis(np.partition(np.moveaxis(values, 0, -1), np.unique([below, above]), axis=-1), -1, 0)
    lower, upper = (
        ordered[b] + (p - b) * (ordered[a] - ordered[b])
        for p, b, a in zip(place.tolist(), below.tolist(), above.tolist(), strict=True)
    )
    return lower, upper


def central_of_terms(rows: Rows, shape: Floats, level: float) -> tuple[Floats, Floats]:
    """Central intervals of topics as rows of `TermVectors`; terms without customers are handled together."""
    lower, upper = (end * shape for end in central(rows.base, level))
    matrix: Any = rows.matrix.tocsc()
    terms = np.flatnonzero(np.diff(matrix.indptr))
    here = matrix[:, terms].toarray() + rows.base[:, None] * shape[terms]
    lower[terms], upper[terms] = central(here, level)
    return lower, upper


_SEED = 1
_AT_ONCE = 1 << 22  # numbers that are drawn at once


def topic_intervals(
    samples: Sequence[Sample], labels: Sequence[Int64s], n_topics: int, level: float, draws: int
) -> tuple[Floats, Floats] | None:
    """Intervals of each term in each topic: quantiles over draws from all samples that have the topic."""
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
