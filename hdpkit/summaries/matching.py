"""Matching of components: which dishes of different samples are the same component.

Within a chain dishes have permanent ids, which are followed as long as the dish remains similar. All other
dishes are assigned so that the sum of similarities is largest (`scipy.optimize.linear_sum_assignment`): first
within each chain, then between the means of chains, and then all dishes against the means over all chains,
repeated until nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.franchise import Sample
from hdpkit.summaries.vectors import Vectors

__all__ = ["matched"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ROUNDS = 5  # at most; labels usually stop changing after two or three


def matched(samples: Sequence[Sample], vectors: Vectors, threshold: float) -> list[Ints]:
    """Component number of each dish of each sample: 0, 1, 2, ..., each at most once per sample.

    Parameters
    ----------
    samples : sequence of Sample
    vectors : Vectors
        Of these samples.
    threshold : float
        The largest distance between two dishes of the same component.
    """
    stacked = vectors.stack([vectors.rows(sample) for sample in samples])
    labels = _by_chain(samples, stacked, vectors, threshold)
    for _ in range(ROUNDS):
        refined = _refined(samples, stacked, labels, vectors, threshold)
        if all(np.array_equal(a, b) for a, b in zip(labels, refined, strict=True)):
            break
        labels = refined
    return _split(_merged(samples, stacked, labels, vectors, threshold), labels)


def _by_chain(samples: Sequence[Sample], stacked: Any, vectors: Vectors, threshold: float) -> list[Ints]:
    """Match components within each chain, and then between chains."""
    labels: list[Any] = [None] * len(samples)
    begins = _begins(samples)
    n, so_far = 0, None
    for chain in dict.fromkeys(sample.chain for sample in samples):
        where = [i for i, sample in enumerate(samples) if sample.chain == chain]
        where.sort(key=lambda i: samples[i].sweep)
        of_chain = [vectors.take(stacked, np.arange(begins[i], begins[i + 1])) for i in where]
        own, n_own = _along([samples[i] for i in where], of_chain, vectors, threshold)
        means = vectors.means(vectors.stack(of_chain), np.concatenate(own), n_own)
        to = np.arange(n_own)
        if so_far is not None:
            to = _assigned(vectors.distances(means, so_far), threshold)
            to[to < 0] = n + np.arange(np.count_nonzero(to < 0))
        # A component is represented by the last chain that has it; refinement uses the means over all chains.
        fresh = np.flatnonzero(to >= n)
        added = vectors.take(means, fresh[np.argsort(to[fresh])])
        so_far = added if so_far is None else vectors.stack([so_far, added])
        n += len(fresh)
        for i, one in zip(where, own, strict=True):
            labels[i] = to[one]
    return labels


def _begins(samples: Sequence[Sample]) -> Ints:
    """Index of the first row of each sample among all rows, and the end."""
    return np.append(0, np.cumsum([sample.n_dishes for sample in samples]))


def _along(
    samples: Sequence[Sample], of_samples: Sequence[Any], vectors: Vectors, threshold: float
) -> tuple[list[Ints], int]:
    """Components along one chain: by permanent ids, and by assignment to the last row of each component."""
    labels: list[Ints] = []
    known: dict[int, int] = {}
    latest: Any = None
    n = 0
    for sample, rows in zip(samples, of_samples, strict=True):
        own = np.array([known.get(one, -1) for one in sample.ids.tolist()], dtype=np.int64)
        followed = np.flatnonzero(own >= 0)
        if len(followed):
            apart = vectors.paired(vectors.take(rows, followed), vectors.take(latest, own[followed]))
            own[followed[apart > threshold]] = -1
        left = np.flatnonzero(own < 0)
        free = np.setdiff1d(np.arange(n), own)
        if len(left) and len(free):
            apart = vectors.distances(vectors.take(rows, left), vectors.take(latest, free))
            place = _assigned(apart, threshold)
            own[left[place >= 0]] = free[place[place >= 0]]
        left = np.flatnonzero(own < 0)
        own[left] = n + np.arange(len(left))
        n += len(left)
        # The current row replaces the last row of the component.
        seen = rows if latest is None else vectors.stack([latest, rows])
        before = n - len(left)
        place = np.arange(n)
        place[own] = (0 if latest is None else before) + np.arange(len(own))
        latest = vectors.take(seen, place)
        known.update(zip(sample.ids.tolist(), own.tolist(), strict=True))
        labels.append(own)
    return labels, n


def _refined(
    samples: Sequence[Sample], stacked: Any, labels: Sequence[Ints], vectors: Vectors, threshold: float
) -> list[Ints]:
    """Match all dishes against the means of the components, once.

    The means stay fixed meanwhile, so that equal samples get equal labels. A dish that is similar to none of
    them is a new component; new components that are similar are merged in the next round.
    """
    numbers = _merged(samples, stacked, _renumbered(labels), vectors, threshold)
    n = int(numbers.max(initial=-1)) + 1
    means = vectors.means(stacked, numbers, n)
    alone = _nearest_other(vectors, means)
    begins, refined, more = _begins(samples), list[Ints](), 0
    for first, last in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
        own, rows = numbers[first:last].copy(), vectors.take(stacked, np.arange(first, last))
        apart = vectors.paired(rows, vectors.take(means, own))
        asked = apart > threshold
        if alone is None:
            asked[:] = True
        else:
            # No other mean is nearer than the own one if the own one is within half the distance between the
            # two.
            asked |= alone[own] < 2.0 * np.asarray(vectors.angles(apart))
        left = np.flatnonzero(asked)
        if len(left):
            free = np.setdiff1d(np.arange(n), own[~asked])
            among = vectors.take(rows, left)
            place = _assigned(vectors.distances(among, vectors.take(means, free)), threshold)
            own[left[place >= 0]] = free[place[place >= 0]]
            fresh = np.flatnonzero(place < 0)
            own[left[fresh]] = n + more + np.arange(len(fresh))
            more += len(fresh)
        refined.append(own)
    return _renumbered(refined)


def _merged(
    samples: Sequence[Sample], stacked: Any, labels: Sequence[Ints], vectors: Vectors, threshold: float
) -> Ints:
    """Merge similar components of which no sample has both, the nearest pair first."""
    numbers = np.concatenate(labels)
    n = int(numbers.max(initial=-1)) + 1
    there = np.zeros((n, len(samples)), dtype=bool)
    for i, one in enumerate(labels):
        there[one, i] = True
    means = vectors.means(stacked, numbers, n)
    apart = vectors.distances(means, means)
    one, other = np.nonzero(np.triu(apart <= threshold, 1))
    to = np.arange(n)
    for a, b in sorted(zip(one.tolist(), other.tolist(), strict=True), key=lambda pair: apart[pair]):
        a, b = to[a], to[b]
        if a != b and not (there[a] & there[b]).any():
            there[a] |= there[b]
            to[to == b] = a
    return np.unique(to[numbers], return_inverse=True)[1].astype(np.int64)


def _nearest_other(vectors: Vectors, means: Any) -> Floats | None:
    """Angle between each mean and the nearest other one; None if the distance has no angles."""
    angles = vectors.angles(vectors.distances(means, means))
    if angles is None:
        return None
    np.fill_diagonal(angles, np.inf)
    nearest: Floats = angles.min(axis=1, initial=np.inf)
    return nearest


def _renumbered(labels: Sequence[Ints]) -> list[Ints]:
    """Labels renumbered as 0, 1, 2, ..., in the same order."""
    return _split(np.unique(np.concatenate(labels), return_inverse=True)[1].astype(np.int64), labels)


def _split(numbers: Ints, labels: Sequence[Ints]) -> list[Ints]:
    """Numbers of all rows, split by sample; lengths are those of ``labels``."""
    return np.split(numbers, np.cumsum([len(one) for one in labels])[:-1])


def _assigned(apart: Floats, threshold: float) -> Ints:
    """Assigned column of each row, all different and within the threshold; -1 for none."""
    to = np.full(len(apart), -1, dtype=np.int64)
    if apart.size:
        # Gain of each pair; the small constant allows pairs whose distance equals the threshold.
        gain = np.maximum(threshold - apart, 0.0) + 1e-12 * (apart <= threshold)
        row, column = scipy.optimize.linear_sum_assignment(gain, maximize=True)
        near = apart[row, column] <= threshold
        to[row[near]] = column[near]
    return to
