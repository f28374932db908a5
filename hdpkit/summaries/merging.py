"""Components that are alike taken as one, within a sample and over samples."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import whole_number
from hdpkit.franchise import Level, Sample, TermMeans
from hdpkit.summaries.aligned import AlignedTopics
from hdpkit.summaries.alignment import Distance, align_topics, distance_of, samples_of, vectors_of
from hdpkit.summaries.consensus import Consensus, consensus
from hdpkit.summaries.vectors import Vectors

__all__ = ["extract_components", "merge_components", "merged_sample"]

Ints = npt.NDArray[np.int64]

SIMILAR = 0.1
"""Cosine distance below which components are one, where nothing else is said: a cosine of 0.9."""


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
    """Find the components that samples and chains agree on, after those that are alike were merged.

    In each sample components nearer to each other than ``threshold`` are merged (average linkage); what is
    left is aligned (`align_topics`) with the same threshold; of what was aligned, components whose means are
    that near are merged once more; and those are kept that occur in enough samples of enough chains
    (`consensus`). Everything else is the rest. Where a state has several dishes for one component, their
    customers are counted together.

    Parameters
    ----------
    samples : sequence of Sample, Trace, ChainTrace or Run
        Of one chain or several, over the same data.
    distance : "cosine", "hellinger" or function
        As in `align_topics`.
    threshold : float, optional
        The largest distance of two that are one; a function needs one.
    occurrence, chains : float
        As in `consensus`.
    level : float
        Probability of the credible intervals.
    apart : int
        Dishes with lasting ids below this are never merged with each other: known components, which have the
        ids 0, 1, ... A dish that is merged with one of them takes its id.

    Returns
    -------
    Consensus
        Its ``samples`` are those with merged components.

    Raises
    ------
    ParameterError
        If an argument is out of range. DataError: if there is no sample, or samples are of different data.
    """
    merged = merge_components(samples, distance=distance, threshold=threshold, apart=apart)
    aligned = align_topics(merged, distance=distance, threshold=threshold, level=level, min_occurrence=0.0)
    limit = distance_of(distance, threshold)
    return consensus(_merged_means(aligned, distance, limit, apart), occurrence=occurrence, chains=chains)


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
    distance : "cosine", "hellinger" or function
        As in `align_topics`.
    threshold : float, optional
        Components are merged by average linkage up to this distance.
    apart : int
        As in `extract_components`.

    Returns
    -------
    tuple of Sample
        A merged dish has the customers of its dishes, and the id of the largest.

    Raises
    ------
    ParameterError, DataError
        As `align_topics`.
    """
    given = samples_of(samples)
    limit = distance_of(distance, threshold)
    apart = whole_number("apart", apart, 0, remedy="The number of known components.")
    vectors = vectors_of(given, distance)
    return tuple(
        merged_sample(sample, _clusters(vectors, vectors.rows(sample), limit, sample.ids < apart), apart)
        for sample in given
    )


def _clusters(vectors: Vectors, rows: Any, limit: float, fixed: npt.NDArray[np.bool_]) -> Ints:
    """Number of the cluster of each row, by average linkage; no two of those that are fixed come together."""
    apart = vectors.distances(rows, rows)
    if len(apart) < 2:
        return np.zeros(len(apart), dtype=np.int64)
    apart = (apart + apart.T) / 2.0
    # So far that the average of no two clusters with such a pair between them is below the limit.
    apart[np.outer(fixed, fixed)] = 2.0 * (limit + 1.0) * len(apart) ** 2
    np.fill_diagonal(apart, 0.0)
    tree = scipy.cluster.hierarchy.linkage(scipy.spatial.distance.squareform(apart, checks=False), "average")
    found: Ints = scipy.cluster.hierarchy.fcluster(tree, limit, "distance").astype(np.int64)
    return found


def _merged_means(
    aligned: AlignedTopics, distance: str | Distance, limit: float, apart: int
) -> AlignedTopics:
    """The same with components whose means are alike as one."""
    known = (aligned.ids_by_sample >= 0) & (aligned.ids_by_sample < apart)
    clusters = _clusters(aligned._vectors, aligned._means, limit, np.asarray(known.any(axis=0)))
    if len(np.unique(clusters)) == len(aligned):
        return aligned
    to = np.unique(clusters, return_inverse=True)[1].ravel()
    samples, labels = [], []
    for sample in aligned.samples:
        own = to[aligned.which(sample)]  # every dish is one of those aligned, for none was too rare
        samples.append(merged_sample(sample, own, apart))
        labels.append(np.unique(own))
    return AlignedTopics(samples, labels, vectors_of(tuple(samples), distance), aligned.level)


def merged_sample(sample: Sample, labels: npt.NDArray[Any], apart: int = 0) -> Sample:
    """A sample whose dishes of one label are one dish; the dishes are in the order of their labels.

    Counts, tables and weights add up. The mean of a merged topic is that of a dish with all its counts where
    topics have a Dirichlet prior, and elsewhere the mean of its dishes by customers.

    Parameters
    ----------
    sample : Sample
    labels : int array, shape (K,)
    apart : int
        A dish with an id below it gives its id to the merged one; otherwise the largest does.
    """
    _, first, to = np.unique(labels, return_index=True, return_inverse=True)
    to, n, k = to.ravel(), len(first), sample.n_dishes
    if n == k and np.array_equal(to, np.arange(k)):
        return sample
    chooser = scipy.sparse.csr_array((np.ones(k, dtype=np.int64), (to, np.arange(k))), shape=(n, k))
    sizes = np.asarray(chooser @ sample.sizes, dtype=np.int64)
    order = np.lexsort((np.arange(k), -sample.sizes, sample.ids >= apart, to))
    largest = order[np.searchsorted(to[order], np.arange(n))]
    counts = None if sample.counts is None else _whole(chooser @ sample.counts)
    means = _merged_term_means(sample, sizes)
    parameters = dict(sample.parameters)
    if means is None and counts is not None:
        parameters["mean"] = sample.topics()
    alone = 1.0 / np.bincount(to, minlength=n)  # where nobody has any of them
    weight = np.where(sizes[to] > 0, sample.sizes / np.maximum(sizes[to], 1), alone[to])
    share = scipy.sparse.csr_array((weight, (to, np.arange(k))), shape=(n, k))
    mixed = {
        name: (share @ value.reshape(k, -1)).reshape(n, *value.shape[1:])
        for name, value in parameters.items()
    }
    return attrs.evolve(
        sample,
        ids=sample.ids[largest],
        sizes=sizes,
        counts=counts,
        parameters=mixed,
        root_weights=np.append(chooser @ sample.root_weights[:-1], sample.root_weights[-1]),
        group_counts=_whole(sample.group_counts @ chooser.T),
        term_means=means,
        levels=tuple(_merged_level(level, chooser) for level in sample.levels),
    )


def _whole(matrix: Any) -> Any:
    return scipy.sparse.csr_array(matrix)


def _merged_level(level: Level, chooser: Any) -> Level:
    tables = None if level.tables is None else _whole(level.tables @ chooser.T)
    return attrs.evolve(level, counts=_whole(level.counts @ chooser.T), tables=tables)


def _merged_term_means(sample: Sample, sizes: Ints) -> TermMeans | None:
    """How means follow from merged counts under a Dirichlet prior; None under any other."""
    means = sample.term_means
    if means is None or means.smoothing.ndim > 1 or not np.array_equal(means.inside, means.outside):
        return None
    total = 1.0 / means.inside - sample.sizes  # of the prior: the same for each dish
    if not np.allclose(total, total[0], rtol=1e-6, atol=0.0):
        return None
    scale = 1.0 / (sizes + total[0])
    return TermMeans(smoothing=means.smoothing, inside=scale, outside=scale)
