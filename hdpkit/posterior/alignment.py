"""Which dishes of different samples correspond to each other, over sweeps and chains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import positive_number
from hdpkit.errors import ParameterError
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.vectors import MemberVectors, ParameterVectors, TermVectors, Vectors

_DISTANCES = 1 << 19  # distances that are in memory at once, where each is used by itself
ROUNDS = 5  # at most; labels usually stop changing after two or three


def matched(samples: Sequence[Sample], vectors: Vectors, threshold: float) -> list[Int64s]:
    """Component number of each dish of each sample: 0, 1, 2, ..., each at most once per sample."""
    if len(samples) == 1:
        return [np.arange(samples[0].n_dishes)]
    stacked = vectors.stack([vectors.rows(sample) for sample in samples])
    labels = _by_chain(samples, stacked, vectors, threshold)
    for _ in range(ROUNDS):
        refined = _refined(samples, stacked, labels, vectors, threshold)
        if all(np.array_equal(a, b) for a, b in zip(labels, refined, strict=True)):
            break
        labels = refined
    return _split(_merged(samples, stacked, labels, vectors, threshold), labels)


def _by_chain(samples: Sequence[Sample], stacked: Any, vectors: Vectors, threshold: float) -> list[Int64s]:
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
            to = assigned(vectors.distances(means, so_far), threshold)
            to[to < 0] = n + np.arange(np.count_nonzero(to < 0))
        # A component is represented by the last chain that has it; refinement uses the means over all chains.
        fresh = np.flatnonzero(to >= n)
        added = vectors.take(means, fresh[np.argsort(to[fresh])])
        so_far = added if so_far is None else vectors.stack([so_far, added])
        n += len(fresh)
        for i, one in zip(where, own, strict=True):
            labels[i] = to[one]
    return labels


def _begins(samples: Sequence[Sample]) -> Int64s:
    """Index of the first row of each sample among all rows, and the end."""
    return np.append(0, np.cumsum([sample.n_dishes for sample in samples]))


def _along(
    samples: Sequence[Sample], of_samples: Sequence[Any], vectors: Vectors, threshold: float
) -> tuple[list[Int64s], int]:
    """Components along one chain: by permanent ids, and by assignment to the last row of each component."""
    labels: list[Int64s] = []
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
            place = assigned(apart, threshold)
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
    samples: Sequence[Sample], stacked: Any, labels: Sequence[Int64s], vectors: Vectors, threshold: float
) -> list[Int64s]:
    """Match all dishes against the means of the components, once.

    The means stay fixed meanwhile, so that equal samples get equal labels. A dish that is similar to none of
    them is a new component; new components that are similar are merged in the next round.
    """
    numbers = _merged(samples, stacked, _renumbered(labels), vectors, threshold)
    n = int(numbers.max(initial=-1)) + 1
    means = vectors.means(stacked, numbers, n)
    alone = _nearest_other(vectors, means, n)
    begins, refined, more = _begins(samples), list[Int64s](), 0
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
            place = assigned(vectors.distances(among, vectors.take(means, free)), threshold)
            own[left[place >= 0]] = free[place[place >= 0]]
            fresh = np.flatnonzero(place < 0)
            own[left[fresh]] = n + more + np.arange(len(fresh))
            more += len(fresh)
        refined.append(own)
    return _renumbered(refined)


def _merged(
    samples: Sequence[Sample], stacked: Any, labels: Sequence[Int64s], vectors: Vectors, threshold: float
) -> Int64s:
    """Merge similar components of which no sample has both, the nearest pair first."""
    numbers = np.concatenate(labels)
    n = int(numbers.max(initial=-1)) + 1
    there = np.zeros((n, len(samples)), dtype=bool)
    for i, one in enumerate(labels):
        there[one, i] = True
    means = vectors.means(stacked, numbers, n)
    in_samples = there.astype(np.float32)
    pairs: list[tuple[Int64s, Int64s, Floats]] = []
    for first, apart in distances_among(vectors, means, n):
        together = in_samples[first : first + len(apart)] @ in_samples.T > 0  # these stay apart
        one, other = np.nonzero((apart <= threshold) & ~together)
        above = other > one + first
        one, other = one[above], other[above]
        pairs.append((one + first, other, apart[one, other]))
    ones, others, distances = (np.concatenate(part) for part in zip(*pairs, strict=True))
    to = np.arange(n)
    for place in np.argsort(distances, kind="stable").tolist():
        a, b = to[ones[place]], to[others[place]]
        if a != b and not (there[a] & there[b]).any():
            there[a] |= there[b]
            to[to == b] = a
    return np.unique(to[numbers], return_inverse=True)[1].astype(np.int64)


def _nearest_other(vectors: Vectors, means: Any, n: int) -> Floats | None:
    """Angle between each mean and the nearest other one; None if the distance has no angles."""
    nearest = np.empty(n)
    for first, apart in distances_among(vectors, means, n):
        angles = vectors.angles(apart)
        if angles is None:
            return None
        own = np.arange(len(angles))
        angles[own, first + own] = np.inf
        nearest[first : first + len(angles)] = angles.min(axis=1, initial=np.inf)
    return nearest


def distances_among(vectors: Vectors, rows: Any, n: int) -> Iterator[tuple[int, Floats]]:
    """Distances of n rows from all of them, some rows at a time, with the number of the first of them."""
    step = max(1, _DISTANCES // max(n, 1))
    for first in range(0, n, step):
        some = vectors.take(rows, np.arange(first, min(first + step, n)))
        yield first, vectors.distances(some, rows)


def _renumbered(labels: Sequence[Int64s]) -> list[Int64s]:
    """Labels renumbered as 0, 1, 2, ..., in the same order."""
    return _split(np.unique(np.concatenate(labels), return_inverse=True)[1].astype(np.int64), labels)


def _split(numbers: Int64s, labels: Sequence[Int64s]) -> list[Int64s]:
    """Numbers of all rows, split by sample; lengths are those of ``labels``."""
    return np.split(numbers, np.cumsum([len(one) for one in labels])[:-1])


def assigned(apart: Floats, threshold: float) -> Int64s:
    """Assigned column of each row, all different and within the threshold; -1 for none."""
    to = np.full(len(apart), -1, dtype=np.int64)
    if apart.size:
        # Gain of each pair; the small constant allows pairs whose distance equals the threshold.
        gain = np.maximum(threshold - apart, 0.0) + 1e-12 * (apart <= threshold)
        row, column = scipy.optimize.linear_sum_assignment(gain, maximize=True)
        near = apart[row, column] <= threshold
        to[row[near]] = column[near]
    return to


DEFAULT_THRESHOLDS = {"cosine": 0.5}

Distance = Callable[[npt.NDArray[Any], npt.NDArray[Any]], Any]


def distance_of(distance: str | Distance, threshold: float | None) -> float:
    """The threshold for a distance, after checking both; None is the default of a named distance."""
    if isinstance(distance, str):
        if distance not in DEFAULT_THRESHOLDS:
            raise ParameterError(
                "distance", distance, f"one of {sorted(DEFAULT_THRESHOLDS)}, or a function",
                "Leave it out for topics over terms.",
            )  # fmt: skip
        threshold = DEFAULT_THRESHOLDS[distance] if threshold is None else threshold
    elif not callable(distance) or isinstance(distance, type):
        raise ParameterError(
            "distance", distance, "a name, or a function", "Leave it out for topics over terms."
        )
    if threshold is None:
        raise ParameterError(
            "threshold", None, "a number, where the distance is a function",
            "The largest distance of two that are the same.",
        )  # fmt: skip
    return positive_number("threshold", threshold)


def vectors_of(samples: tuple[Sample, ...], distance: str | Distance, *, members: bool = False) -> Vectors:
    """Components of samples as vectors with a distance; of numbers by their customers, if ``members``."""
    if not isinstance(distance, str):
        return ParameterVectors(samples, distance)
    if samples[0].counts is None:
        if members and distance == "cosine" and all(sample.dishes is not None for sample in samples):
            return MemberVectors(samples)
        raise ParameterError(
            "distance", distance, "a function, where the data are no terms",
            "For instance lambda a, b: abs(a[:, None, 0] - b[None, :, 0]), and a threshold.",
        )  # fmt: skip
    return TermVectors(samples)
