"""Similar components of a sample as one."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Int64s
from hdpkit.franchise.sample import Level, Sample, TermMeans
from hdpkit.posterior.alignment import distances_among
from hdpkit.posterior.vectors import Rows, Vectors

SIMILAR = 0.1
"""Cosine distance below which components are one: a cosine similarity of 0.9."""


def observed(rows: Any) -> Any:
    """Rows without what the prior gives to every topic: by it all topics of a few words are alike."""
    return Rows(rows.matrix, np.zeros_like(rows.base)) if isinstance(rows, Rows) else rows


def clusters(vectors: Vectors, rows: Any, limit: float, fixed: npt.NDArray[np.bool_]) -> Int64s | None:
    """Number of the cluster of each row, by average linkage; no two fixed rows are in one cluster.

    None if each row is a cluster. Only rows that others are near to, directly or over further ones, can be
    in one: distances of all are in memory in blocks.
    """
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
    """A sample in which the dishes of each component are one, and the component of each of its dishes.

    Dishes of no component, -1, stay as they are.
    """
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
