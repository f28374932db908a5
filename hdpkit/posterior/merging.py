"""Merging of similar components, within a sample and over samples."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Int64s
from hdpkit.checks import LARGEST, instance, whole_number, whole_numbers
from hdpkit.franchise.sample import Level, Sample, TermMeans
from hdpkit.posterior.aligned import AlignedTopics
from hdpkit.posterior.alignment import Distance, align_topics, distance_of, samples_of, vectors_of
from hdpkit.posterior.consensus import Consensus, consensus
from hdpkit.posterior.vectors import Vectors

SIMILAR = 0.1
"""Default cosine distance below which components are merged: a cosine similarity of 0.9."""


def extract_components(
    samples: Any,
    *,
    distance: str | Distance = "cosine",
    threshold: float | None = SIMILAR,
    occurrence: float = 0.5,
    chains: float = 0.5,
    level: float = 0.9,
    apart: int = 0,
) -> Consensus:
    """Find the components that samples and chains agree on, after merging similar ones.

    In each sample, components closer to each other than ``threshold`` are merged (average linkage). The
    resulting components are aligned over samples (`align_topics`) with the same threshold. Aligned components
    whose means are closer than the threshold are merged in turn, and those that occur in enough samples of
    enough chains are kept (`consensus`). Everything else is the rest. If a state has several dishes for one
    component, their customers are counted together.

    Parameters
    ----------
    samples : sequence of Sample, Trace, ChainTrace or Run
        Of one chain or several, over the same data.
    distance : "cosine" or function
        As in `align_topics`.
    threshold : float, optional
        The largest distance of two components that are merged; required if ``distance`` is a function.
    occurrence, chains : float
        As in `consensus`.
    level : float
        Probability of the credible intervals.
    apart : int
        Dishes with permanent ids below this are never merged with each other: known components, which have
        the ids 0, 1, ... A dish that is merged with one of them takes its id.

    Returns
    -------
    Consensus
        Its ``samples`` are the samples with merged components.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    DataError
        If there is no sample, or samples are of different data.
    """
    merged = merge_components(samples, distance=distance, threshold=threshold, apart=apart)
    aligned = align_topics(merged, distance=distance, threshold=threshold, level=level, min_occurrence=0.0)
    limit = distance_of(distance, threshold)
    return consensus(_merged_means(aligned, limit, apart), occurrence=occurrence, chains=chains)


def merge_components(
    samples: Any,
    *,
    distance: str | Distance = "cosine",
    threshold: float | None = SIMILAR,
    apart: int = 0,
) -> tuple[Sample, ...]:
    """Merge components of a sample that are similar.

    Parameters
    ----------
    samples : sequence of Sample, Trace, ChainTrace or Run
    distance : "cosine" or function
        As in `align_topics`.
    threshold : float, optional
        Components are merged by average linkage up to this distance.
    apart : int
        As in `extract_components`.

    Returns
    -------
    tuple of Sample
        A merged dish has the customers of all its dishes, and the id of the largest.

    Raises
    ------
    ParameterError, DataError
        As for `align_topics`.
    """
    given = samples_of(samples)
    limit = distance_of(distance, threshold)
    apart = whole_number("apart", apart, 0, remedy="The number of known components.")
    vectors = vectors_of(given, distance)
    return tuple(
        merged_sample(sample, _clusters(vectors, vectors.rows(sample), limit, sample.ids < apart), apart)
        for sample in given
    )


def merge_topics(topics: Any, labels: Any) -> Any:
    """Merge the topics with the same label, for instance those of a group of `group_topics`.

    Their customers are counted together. Merged topics show less detail; they are no draw from the posterior
    of a model with fewer topics.

    Parameters
    ----------
    topics : Sample or AlignedTopics
    labels : array of int, shape (K,)
        Label of each topic, for instance ``group_topics(topics).cut(30)``; -1 for topics that become part of
        the rest, for `AlignedTopics` only.

    Returns
    -------
    Sample or AlignedTopics
        In a sample, topics are in the order of the labels. Aligned topics are in descending order of shares;
        credible intervals are those of the merged topics.

    Raises
    ------
    ParameterError
        If an argument isn't valid.

    Examples
    --------
    >>> fewer = merge_topics(aligned, group_topics(aligned).cut(30))  # doctest: +SKIP
    """
    instance(
        "topics", topics, (Sample, AlignedTopics), "a Sample or AlignedTopics", remedy="franchise.sample()."
    )
    aligned = isinstance(topics, AlignedTopics)
    k = len(topics) if isinstance(topics, AlignedTopics) else topics.n_dishes
    least = -1 if aligned else 0
    given = whole_numbers("labels", labels, least, LARGEST, length=k, remedy="group_topics(topics).cut(30).")
    if not aligned:
        return merged_sample(topics, given)
    own = np.unique(given[given >= 0])
    return merged_alignment(topics, np.where(given >= 0, np.searchsorted(own, given), -1))[0]


def merged_alignment(aligned: AlignedTopics, to: Int64s, apart: int = 0) -> tuple[AlignedTopics, Int64s]:
    """Aligned topics merged by label, and for each label the number of its topic; -1 is the rest."""
    n, samples, labels = int(to.max(initial=-1)) + 1, [], []
    for sample in aligned.samples:
        topic = aligned.which(sample)
        own = np.where(topic >= 0, to[topic], -1)
        rest = np.flatnonzero(own < 0)
        own[rest] = n + np.arange(len(rest))  # dishes of the rest stay as they are
        samples.append(merged_sample(sample, own, apart))
        seen = np.unique(own)
        labels.append(np.where(seen < n, seen, -1))
    made = AlignedTopics(samples, labels, aligned._vectors.over(tuple(samples)), aligned.level)
    place = np.full(n, -1, dtype=np.int64)
    for before, after in zip(labels, made._labels, strict=True):
        place[before[before >= 0]] = after[before >= 0]
    return made, place


def _clusters(vectors: Vectors, rows: Any, limit: float, fixed: npt.NDArray[np.bool_]) -> Int64s:
    """Number of the cluster of each row, by average linkage; no two fixed rows are in one cluster."""
    apart = vectors.distances(rows, rows)
    if len(apart) < 2:
        return np.zeros(len(apart), dtype=np.int64)
    apart = (apart + apart.T) / 2.0
    # So large that the average distance of two clusters with such a pair between them exceeds the limit.
    apart[np.outer(fixed, fixed)] = 2.0 * (limit + 1.0) * len(apart) ** 2
    np.fill_diagonal(apart, 0.0)
    tree = scipy.cluster.hierarchy.linkage(scipy.spatial.distance.squareform(apart, checks=False), "average")
    found: Int64s = scipy.cluster.hierarchy.fcluster(tree, limit, "distance").astype(np.int64)
    return found


def _merged_means(aligned: AlignedTopics, limit: float, apart: int) -> AlignedTopics:
    """Aligned components, of which those with similar means are merged."""
    known = (aligned.ids_by_sample >= 0) & (aligned.ids_by_sample < apart)
    clusters = _clusters(aligned._vectors, aligned._means, limit, np.asarray(known.any(axis=0)))
    if len(np.unique(clusters)) == len(aligned):
        return aligned
    return merged_alignment(aligned, np.unique(clusters, return_inverse=True)[1].ravel(), apart)[0]


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
        group_counts=_whole(sample.group_counts @ chooser.T),
        dishes=None if sample.dishes is None else np.append(to, -1).astype(np.int32)[sample.dishes],
        term_means=means,
        levels=tuple(_merged_level(level, chooser) for level in sample.levels),
    )


def _whole(matrix: Any) -> Any:
    made = scipy.sparse.csr_array(matrix)
    made.sum_duplicates()  # it sorts, too, which nobody can do once the arrays are read-only
    return made


def _merged_level(level: Level, chooser: Any) -> Level:
    tables = None if level.tables is None else _whole(level.tables @ chooser.T)
    return attrs.evolve(level, counts=_whole(level.counts @ chooser.T), tables=tables)


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
