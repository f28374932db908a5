"""Credible intervals: quantiles in each half of each chain, and how far these are from each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import real_number
from hdpkit.errors import ParameterError
from hdpkit.franchise.sample import Sample, TopicLaw
from hdpkit.posterior.alignment import Rows
from hdpkit.random import Purpose, as_source

SPREAD = 4.0
"""Ends of intervals of shares are moved out by so many standard deviations between halves of chains."""


def checked_level(level: Any) -> float:
    """The probability of intervals, after checking it."""
    value = real_number("level", level)
    if not 0.0 < value < 1.0:
        raise ParameterError("level", value, "between 0 and 1", "For instance 0.9.")
    return value


def halves_of(samples: Sequence[Sample]) -> Int64s:
    """Which half of a chain each sample is in, as one number: the first or second half of its samples."""
    numbers = {chain: i for i, chain in enumerate(dict.fromkeys(sample.chain for sample in samples))}
    of_chain = np.array([numbers[sample.chain] for sample in samples], dtype=np.int64)
    place = np.empty(len(samples), dtype=np.int64)
    for chain in range(len(numbers)):
        own = np.flatnonzero(of_chain == chain)
        place[own] = 2 * np.arange(len(own)) // len(own)
    return 2 * of_chain + place


def interval(
    values: Floats, level: float, halves: Int64s, point: Floats | float | None = None
) -> tuple[Floats, Floats]:
    """The ends of the smallest interval with the central intervals of all halves of chains, and the point."""
    # The point, a mean, may be beyond the quantiles of a law with a long tail: that of a share which is 0 in
    # one of 40 samples and nearly the same in the others is below the 5 % quantile.
    ends = [
        _central(np.concatenate(values[halves == half], axis=0), level) for half in np.unique(halves).tolist()
    ]
    lower, upper = (choose([end[i] for end in ends], axis=0) for i, choose in enumerate((np.min, np.max)))
    return (lower, upper) if point is None else (np.minimum(lower, point), np.maximum(upper, point))


def interval_of_shares(
    values: Floats, level: float, halves: Int64s, point: Floats | float | None = None
) -> tuple[Floats, Floats]:
    """As `interval`, of numbers from 0 to 1, with ends that are moved out where halves of chains differ."""
    return moved_out(interval(values, level, halves, point), values, halves)


def moved_out(ends: tuple[Floats, Floats], values: Floats, halves: Int64s) -> tuple[Floats, Floats]:
    """The ends of an interval of shares, moved out where halves of chains differ (docs/summaries.md)."""
    # Chains that move slowly can all be at one side of the truth; how far they are apart is what shows it.
    lower, upper = ends
    out = SPREAD * _apart([values[halves == half] for half in np.unique(halves).tolist()])
    return np.maximum(lower - out, 0.0), np.minimum(upper + out, 1.0)


def _apart(parts: Sequence[Floats]) -> Floats | float:
    """Standard deviation of the means of parts, beyond that of means of as many independent samples."""
    if len(parts) == 1 or min(map(len, parts)) == 1:
        return 0.0
    means = [part.mean(axis=1) for part in parts]  # of the draws from each sample
    own = np.mean([one.var(axis=0, ddof=1) / len(one) for one in means], axis=0)
    between = np.var([one.mean(axis=0) for one in means], axis=0, ddof=1)
    return np.asarray(np.sqrt(np.maximum(between - own, 0.0)), dtype=np.float64)


def _central(values: Floats, level: float) -> tuple[Floats, Floats]:
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


def interval_of_terms(rows: Rows, shape: Floats, level: float, halves: Int64s) -> tuple[Floats, Floats]:
    """Intervals of topics as rows of `TermVectors`; terms without customers are handled together."""
    lower, upper = (end * shape for end in interval_of_shares(rows.base[:, None], level, halves))
    matrix: Any = rows.matrix.tocsc()
    terms = np.flatnonzero(np.diff(matrix.indptr))
    here = matrix[:, terms].toarray() + rows.base[:, None] * shape[terms]
    lower[terms], upper[terms] = interval_of_shares(here[:, None], level, halves)
    return lower, upper


_SEED = 1
_AT_ONCE = 1 << 22  # numbers that are drawn at once


def topic_interval(
    members: Sequence[tuple[Sample, int]], topic: int, level: float, draws: int, halves: Int64s
) -> tuple[Floats, Floats] | None:
    """Intervals of each term in a topic by draws from its samples; None if one has only means."""
    laws: list[TopicLaw] = []
    for sample, dish in members:
        law = sample.topic_law(dish)
        if law is None:
            return None
        laws.append(law)
    n_terms = laws[0].n_terms
    source = as_source(_SEED, Purpose.OTHER, topic)
    each = -(-draws // len(laws))
    terms = np.unique(np.concatenate([law.terms for law in laws]))
    # Terms without customers in any sample have the same law where their smoothing is the same.
    others = np.setdiff1d(np.arange(n_terms), terms, assume_unique=True)
    first, kind = _kinds([law.smoothing for law in laws], others)
    asked = np.concatenate([terms, others[first]])
    ends = np.empty((2, len(asked)))
    step = max(1, _AT_ONCE // (each * len(laws)))
    order = np.argsort(asked)
    for begin in range(0, len(asked), step):
        here = order[begin : begin + step]
        drawn = np.array([law.draw_each(asked[here], each, source).T for law in laws])
        ends[:, here] = interval_of_shares(drawn, level, halves)
    lower, upper = np.empty(n_terms), np.empty(n_terms)
    lower[terms], upper[terms] = ends[:, : len(terms)]
    lower[others], upper[others] = ends[:, len(terms) :][:, kind]
    return lower, upper


def _kinds(smoothings: Sequence[Floats], terms: Int64s) -> tuple[Int64s, Int64s]:
    """Group terms by their smoothing in all samples: one of each group, and the group of each term."""
    if not len(terms) or all(one.ndim == 0 for one in smoothings):
        return np.arange(min(len(terms), 1)), np.zeros(len(terms), dtype=np.int64)
    n = max(one.size for one in smoothings)
    table = np.stack([np.broadcast_to(one, (n,))[terms] for one in smoothings])
    if (table == table[:, :1]).all():
        return np.zeros(1, dtype=np.int64), np.zeros(len(terms), dtype=np.int64)
    _, first, kind = np.unique(table, axis=1, return_index=True, return_inverse=True)
    return first, kind.ravel()
