"""Dishes of samples as vectors, which are compared, matched and, where they are similar, merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import positive_number
from hdpkit.errors import DataError, ParameterError, ReturnValueError
from hdpkit.franchise.sample import Level, Sample, TermMeans

MIN_COSINE = 0.8
"""The smallest cosine of two components that are the same: of two runs, or of the chains of one."""


def unit_rows(rows: Floats) -> Floats:
    """The rows divided by their lengths, by whose products cosines are found; a row of zeros stays."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = rows / np.where(norms > 0, norms, 1.0)
    return unit


def nearest(rows: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """The most similar other row of each row, and the cosine; itself and 0 if there is no other."""
    if len(rows) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    unit = unit_rows(rows)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, 0.0)
    return cosines.argmax(axis=1), cosines.max(axis=1)


@attrs.frozen(eq=False)
class Rows:
    """Row k is matrix[k] + base[k] shape, with one common vector ``shape``."""

    matrix: Any  # csr_array (n, V)
    base: Floats
    parameters: Floats | None = None  # of components of numbers, (n, ...)


class CosineVectors:
    """Components of some samples as rows; distances are 1 - cosine."""

    shape: Floats

    def over(self, samples: Sequence[Sample]) -> Self:
        """Components of other samples, with the same distance."""
        return type(self)(samples)  # type: ignore[call-arg]

    def rows(self, sample: Sample) -> Rows:
        """The components of a sample."""
        raise NotImplementedError

    def take(self, rows: Rows, which: Int64s) -> Rows:
        """Some of these rows."""
        parameters = None if rows.parameters is None else rows.parameters[which]
        return Rows(rows.matrix[which], rows.base[which], parameters)

    def stack(self, parts: Sequence[Rows]) -> Rows:
        """Rows below each other."""
        matrix = scipy.sparse.vstack([part.matrix for part in parts], format="csr")
        own = [part.parameters for part in parts if part.parameters is not None]
        base = np.concatenate([part.base for part in parts])
        return Rows(scipy.sparse.csr_array(matrix), base, np.concatenate(own) if own else None)

    def means(self, rows: Rows, labels: Int64s, n: int) -> Rows:
        """Mean of the rows of each label 0 .. n - 1; each label has at least one row."""
        each = 1.0 / np.bincount(labels, minlength=n)
        base: Floats = np.bincount(labels, weights=rows.base * each[labels], minlength=n).astype(float)
        averaging = scipy.sparse.csr_array((each[labels], (labels, np.arange(len(labels)))), (n, len(labels)))
        parameters = None
        if rows.parameters is not None:
            sums = np.zeros((n, *rows.parameters.shape[1:]))
            np.add.at(sums, labels, rows.parameters)
            parameters = sums / np.bincount(labels, minlength=n).reshape(-1, *[1] * (sums.ndim - 1))
        return Rows(scipy.sparse.csr_array(averaging @ rows.matrix), base, parameters)

    def distances(self, rows: Rows, others: Rows) -> Floats:
        """Distance of each of these from each of the others: shape (n, m)."""
        a, b, shape = self._unit(rows), self._unit(others), self.shape
        products = (a.matrix @ b.matrix.T).toarray()
        if rows.parameters is None:
            products += np.outer(a.matrix @ shape, b.base) + np.outer(a.base, b.matrix @ shape)
            products += np.outer(a.base, b.base) * float(shape @ shape)
        return np.maximum(1.0 - products, 0.0)

    def paired(self, rows: Rows, others: Rows) -> Floats:
        """Distances between rows at the same index: shape (n,)."""
        a, b, shape = self._unit(rows), self._unit(others), self.shape
        products = np.asarray(a.matrix.multiply(b.matrix).sum(axis=1), dtype=np.float64).ravel()
        products += (a.matrix @ shape) * b.base + a.base * (b.matrix @ shape)
        products += a.base * b.base * float(shape @ shape)
        return np.maximum(1.0 - products, 0.0)

    def _unit(self, rows: Rows) -> Rows:
        """The rows as unit vectors."""
        matrix = rows.matrix
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        own = np.bincount(row, weights=matrix.data**2, minlength=matrix.shape[0])
        further = 2.0 * rows.base * (matrix @ self.shape) + rows.base**2 * float(self.shape @ self.shape)
        scale = 1.0 / np.sqrt(np.maximum(own + further, np.finfo(float).tiny))
        made = scipy.sparse.csr_array(
            (matrix.data * scale[row], matrix.indices, matrix.indptr), shape=matrix.shape
        )
        return Rows(made, rows.base * scale)

    def angles(self, distances: Floats) -> Floats | None:
        """The angles between the unit vectors in radians, which are a metric."""
        angles: Floats = np.arccos(np.clip(1.0 - distances, -1.0, 1.0))
        return angles

    def dense(self, rows: Rows) -> Floats:
        """Topics, shape (n, V), or parameters, shape (n, ...)."""
        found: Floats = rows.matrix.toarray() + rows.base[:, None] * self.shape
        return found if rows.parameters is None else rows.parameters


class TermVectors(CosineVectors):
    """Topics over terms. ``samples`` are all those that will be passed to the methods."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.n_terms = _same([sample.counts.shape[1] for sample in samples])
        self.shape = _common_shape(samples, self.n_terms)

    def rows(self, sample: Sample) -> Rows:
        """The topics of a sample."""
        means = sample.term_means
        if means is None or (means.smoothing.shape == (self.n_terms,) and not self._shared(means.smoothing)):
            return Rows(scipy.sparse.csr_array(sample.topics()), np.zeros(sample.n_dishes))
        counts = sample.topic_counts
        row = np.repeat(np.arange(sample.n_dishes), np.diff(counts.indptr))
        if means.smoothing.shape == (self.n_terms,):
            base, own = means.outside, means.smoothing[counts.indices]
        else:
            smoothing = np.broadcast_to(means.smoothing.ravel(), sample.n_dishes)
            base, own = means.outside * smoothing, smoothing[row]
        data = (counts.data + own) * means.inside[row] - base[row] * self.shape[counts.indices]
        matrix = scipy.sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
        return Rows(matrix, np.array(base, dtype=np.float64))

    def _shared(self, smoothing: Floats) -> bool:
        return np.array_equal(smoothing, self.shape)


def parameters_of(sample: Sample) -> Floats:
    """The parameters of a sample's components: shape (n_dishes, ...)."""
    if sample.counts is not None:
        return sample.topics()
    if "mean" not in sample.parameters:
        raise DataError(
            "samples", sample, "of a measure that has posterior means",
            "Give the measure a method posterior_mean.",
        )  # fmt: skip
    return np.asarray(sample.parameters["mean"], dtype=np.float64)


class MemberVectors(CosineVectors):
    """Components of numbers by their customers; of a mean the share of samples in which it has each."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.shape = np.zeros(_same([len(one.dishes) for one in samples if one.dishes is not None]))
        _same([parameters_of(one).shape[1:] for one in samples])

    def rows(self, sample: Sample) -> Rows:
        """The components of a sample."""
        assert sample.dishes is not None
        seated = np.flatnonzero(sample.dishes >= 0)
        where = (sample.dishes[seated], seated)
        shape = (sample.n_dishes, len(sample.dishes))
        customers = scipy.sparse.csr_array((np.ones(len(seated)), where), shape=shape)
        return Rows(customers, np.zeros(sample.n_dishes), parameters_of(sample))


class ParameterVectors(CosineVectors):
    """Components by their parameters, of any shape; ``distance`` of (n, ...) and (m, ...) is (n, m)."""

    def __init__(
        self,
        samples: Sequence[Sample],
        distance: Callable[[npt.NDArray[Any], npt.NDArray[Any]], Any],
    ) -> None:
        self._distance, self.shape = distance, np.zeros(0)
        _same([parameters_of(sample).shape[1:] for sample in samples])

    def over(self, samples: Sequence[Sample]) -> ParameterVectors:
        """Parameters of other samples, with the same distance."""
        return ParameterVectors(samples, self._distance)

    def rows(self, sample: Sample) -> Rows:
        """The parameters of a sample's components."""
        n = sample.n_dishes
        return Rows(scipy.sparse.csr_array((n, 0)), np.zeros(n), parameters_of(sample))

    def distances(self, rows: Rows, others: Rows) -> Floats:
        """Distances returned by the function."""
        return self._between(rows.parameters, others.parameters)

    def _between(self, one: Any, other: Any) -> Floats:
        """The same of two arrays of parameters, checked."""
        if not len(one) or not len(other):
            return np.zeros((len(one), len(other)))
        answer = self._distance(one, other)
        try:
            found = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.empty(0)
        if found.shape != (len(one), len(other)) or not np.all(found >= 0):
            raise ReturnValueError(
                "distance", answer, f"distances >= 0, shape ({len(one)}, {len(other)})",
                "It is given two arrays of parameters, (n, ...) and (m, ...): compare each row with each.",
            )  # fmt: skip
        return found

    def paired(self, rows: Rows, others: Rows) -> Floats:
        """Distances between rows at the same index."""
        pairs = zip(rows.parameters, others.parameters, strict=True)  # type: ignore[arg-type]
        return np.array([self._between(one[None], other[None])[0, 0] for one, other in pairs])

    def angles(self, distances: Floats) -> None:
        """None: an arbitrary distance function has no angles."""
        return


Vectors = Any  # one of these


def _same(values: Sequence[Any]) -> Any:
    if len(set(values)) > 1:
        raise DataError(
            "samples", f"components of shapes {sorted(set(map(str, values)))}", "of one shape",
            "Align samples of runs over the same data.",
        )  # fmt: skip
    return values[0]


def _common_shape(samples: Sequence[Sample], n_terms: int) -> Floats:
    """The common vector, to which the part of every topic without customers is proportional."""
    for sample in samples:
        means = sample.term_means
        if means is not None and means.smoothing.shape == (n_terms,):
            return means.smoothing
        if means is not None:
            break
    return np.ones(n_terms)


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
    """Match all dishes against the means of the components, which stay fixed meanwhile."""
    # So equal samples get equal labels. A dish that is similar to no mean is a new component; new ones that
    # are similar are merged in the next round.
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


THRESHOLD = 0.5
"""The largest cosine distance of two dishes that are the same component."""

Distance = Callable[[npt.NDArray[Any], npt.NDArray[Any]], Any]


def distance_of(distance: str | Distance, threshold: float | None) -> float:
    """The threshold for a distance, after checking both."""
    cosine = isinstance(distance, str) and distance == "cosine"
    if not cosine and (not callable(distance) or isinstance(distance, type)):
        raise ParameterError(
            "distance", distance, '"cosine", or a function', "Leave it out for topics over terms."
        )
    if threshold is None and not cosine:
        raise ParameterError(
            "threshold", None, "a number, where the distance is a function",
            "The largest distance of two that are the same.",
        )  # fmt: skip
    return positive_number("threshold", THRESHOLD if threshold is None else threshold)


def vectors_of(samples: tuple[Sample, ...], distance: str | Distance) -> Vectors:
    """Components of samples as vectors with a distance; by cosine, those of numbers by their customers."""
    if not isinstance(distance, str):
        return ParameterVectors(samples, distance)
    if samples[0].counts is not None:
        return TermVectors(samples)
    if all(sample.dishes is not None for sample in samples):
        return MemberVectors(samples)
    raise ParameterError(
        "distance", distance, "a function, where the data are no terms",
        "For instance lambda a, b: abs(a[:, None, 0] - b[None, :, 0]), and a threshold.",
    )  # fmt: skip


SIMILAR = 0.1
"""Cosine distance below which components are one: a cosine similarity of 0.9."""


def observed(rows: Rows) -> Rows:
    """Rows without what the prior gives to every topic: by it all topics of a few words are alike."""
    return attrs.evolve(rows, base=np.zeros_like(rows.base))


def clusters(vectors: Vectors, rows: Any, limit: float, fixed: npt.NDArray[np.bool_]) -> Int64s | None:
    """Cluster of each row by average linkage, no two fixed rows in one; None if each row is a cluster."""
    n = len(fixed)
    pairs = [
        (row + first, column)
        for first, apart in distances_among(vectors, rows, n)
        for row, column in [np.nonzero(apart <= limit)]
    ]
    one, other = (np.concatenate(part) for part in zip(*pairs, strict=True)) if pairs else ((), ())
    graph = scipy.sparse.coo_array((np.ones(len(one)), (one, other)), shape=(n, n))
    n_parts, part = scipy.sparse.csgraph.connected_components(graph, directed=False)
    if n_parts == n:
        return None
    found, begun = np.empty(n, dtype=np.int64), 0
    for number in range(n_parts):
        members = np.flatnonzero(part == number)
        found[members] = begun + _linked(vectors, vectors.take(rows, members), limit, fixed[members])
        begun = int(found[members].max()) + 1
    return found if begun < n else None


def _linked(vectors: Vectors, rows: Any, limit: float, fixed: npt.NDArray[np.bool_]) -> Int64s:
    """Number of the cluster of each row from 0, by average linkage."""
    if len(fixed) < 2:
        return np.zeros(len(fixed), dtype=np.int64)
    apart = vectors.distances(rows, rows)
    apart = (apart + apart.T) / 2.0
    # So large that the average distance of two clusters with such a pair between them exceeds the limit.
    apart[np.outer(fixed, fixed)] = 2.0 * (limit + 1.0) * len(apart) ** 2
    np.fill_diagonal(apart, 0.0)
    tree = scipy.cluster.hierarchy.linkage(scipy.spatial.distance.squareform(apart, checks=False), "average")
    found: Int64s = scipy.cluster.hierarchy.fcluster(tree, limit, "distance").astype(np.int64)
    return found - 1


def merged_sample(sample: Sample, labels: npt.NDArray[Any], apart: int = 0) -> Sample:
    """A sample in which the dishes with the same label are merged; dishes are in the order of the labels."""
    _, first, to = np.unique(labels, return_index=True, return_inverse=True)
    to, n, k = to.ravel(), len(first), sample.n_dishes
    if n == k and np.array_equal(to, np.arange(k)):
        return sample
    chooser = scipy.sparse.csr_array((np.ones(k, dtype=np.int64), (to, np.arange(k))), shape=(n, k))
    sizes = np.asarray(chooser @ sample.sizes, dtype=np.int64)
    order = np.lexsort((np.arange(k), -sample.sizes, sample.ids >= apart, to))
    largest = order[np.searchsorted(to[order], np.arange(n))]
    counts, tables = (
        None if each is None else _whole(chooser @ each) for each in (sample.counts, sample.tables)
    )
    means = _merged_term_means(sample, chooser)
    parameters = dict(sample.parameters)
    if means is None and counts is not None:
        parameters["mean"] = sample.topics()
    alone = 1.0 / np.bincount(to, minlength=n)  # for dishes without customers
    weight = np.where(sizes[to] > 0, sample.sizes / np.maximum(sizes[to], 1), alone[to])
    share = scipy.sparse.csr_array((weight, (to, np.arange(k))), shape=(n, k))
    levels = tuple(_merged_level(level, chooser, first) for level in sample.levels)
    names, own = sample.names, sample.levels[-1].n_fixed if sample.levels else None
    if own is not None:  # rows of dishes, by number
        names = names[: own + n]
    precision = parameters.pop("precision", None)
    mixed = {
        name: (share @ value.reshape(k, -1)).reshape(n, *value.shape[1:])
        for name, value in parameters.items()
    }
    if precision is not None:
        # The variance of a mean of independent topics; dishes are alike, so that 1 / precision stands for it.
        with np.errstate(divide="ignore"):
            mixed["precision"] = 1.0 / (share.power(2) @ (1.0 / precision))
    return attrs.evolve(
        sample,
        ids=sample.ids[largest],
        sizes=sizes,
        counts=counts,
        tables=tables,
        parameters=mixed,
        root_weights=np.append(chooser @ sample.root_weights[:-1], sample.root_weights[-1]),
        names=names,
        group_counts=levels[-1].counts if levels else _whole(sample.group_counts @ chooser.T),
        dishes=None if sample.dishes is None else np.append(to, -1).astype(np.int32)[sample.dishes],
        term_means=means,
        levels=levels,
    )


def joined(sample: Sample, own: Int64s, apart: int = 0) -> tuple[Sample, Int64s]:
    """A sample in which the dishes of each component are one, and the component of each of its dishes."""
    n, rest = int(own.max(initial=-1)) + 1, np.flatnonzero(own < 0)
    numbers = own.copy()
    numbers[rest] = n + np.arange(len(rest))
    seen = np.unique(numbers)
    return merged_sample(sample, numbers, apart), np.where(seen < n, seen, -1)


def _whole(matrix: Any) -> Any:
    made = scipy.sparse.csr_array(matrix)
    made.sum_duplicates()  # it sorts, too, which nobody can do once the arrays are read-only
    return made


def _merged_level(level: Level, chooser: Any, first: Int64s) -> Level:
    """A level after a merge; rows of merged dishes are one, and the first of them gives its parameters."""
    counts, tables = level.counts, level.tables
    if level.n_fixed is not None:
        fixed = level.n_fixed
        rows = scipy.sparse.block_diag([scipy.sparse.eye_array(fixed, dtype=np.int64), chooser], "csr")
        counts, tables = rows @ counts, None if tables is None else rows @ tables
        kept, n = np.append(np.arange(fixed), fixed + first), len(level.parent)
        level = attrs.evolve(
            level,
            parent=level.parent[kept],
            concentration=np.broadcast_to(level.concentration, n)[kept],
            discount=np.broadcast_to(level.discount, n)[kept],
        )
    return attrs.evolve(
        level,
        counts=_whole(counts @ chooser.T),
        tables=None if tables is None else _whole(tables @ chooser.T),
    )


def _merged_term_means(sample: Sample, chooser: Any) -> TermMeans | None:
    """Means computed from merged counts under a Dirichlet prior; None under any other prior."""
    means = sample.term_means
    if means is None or means.smoothing.ndim > 1 or not np.array_equal(means.inside, means.outside):
        return None
    sizes = sample.sizes if sample.tables is None else sample.tables.sum(axis=1)
    total = 1.0 / means.inside - sizes  # sum of the prior's pseudo-counts: the same for each dish
    if not np.allclose(total, total[0], rtol=1e-6, atol=0.0):
        return None
    scale = 1.0 / (np.asarray(chooser @ sizes) + total[0])
    return TermMeans(smoothing=means.smoothing, inside=scale, outside=scale)
