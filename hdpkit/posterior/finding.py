"""How components are found: dishes of samples are matched, or points are partitioned."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Int64s
from hdpkit.checks import flag, real_number, whole_number
from hdpkit.errors import DataError, ParameterError, printable
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.alignment import (
    MIN_COSINE,
    SIMILAR,
    THRESHOLD,
    Distance,
    MemberVectors,
    assigned,
    clusters,
    distance_of,
    joined,
    matched,
    merged_sample,
    observed,
    vectors_of,
)
from hdpkit.posterior.components import Components, placed
from hdpkit.posterior.intervals import checked_level
from hdpkit.posterior.matching import TopicMatch, matched_components
from hdpkit.posterior.partitions import point_partition
from hdpkit.posterior.settled import samples_of
from hdpkit.run.runs import Run, open_run

_MANY = 2_000  # points, of whose partition two searches are enough: the first begins from the best sample
_STEPS = 10_000  # of sequences, that are partitioned


def components(
    given: Any,
    *,
    chain: int | None = None,
    min_occurrence: float = 0.5,
    distance: str | Distance = "cosine",
    threshold: float | None = None,
    similar: float | None = None,
    apart: int = 0,
    level: float = 0.9,
    partition: bool | None = None,
    min_share: float = 0.01,
) -> Components:
    """Find the components that samples have in common, by matching the dishes of different samples.

    Within a chain dishes are followed by their permanent ids as long as they remain similar. The rest is
    assigned so that the sum of similarities is largest (`scipy.optimize.linear_sum_assignment`), along each
    chain, between chains, and then against the mean of each component over all samples until nothing changes.
    No two dishes of a sample are the same component, unless they are nearly the same (``similar``). Of points
    and of sequences, components are the clusters of the partition of least expected loss over all samples
    (`point_partition`), and a dish belongs to the cluster with which it shares most customers. Raises a
    ParameterError if an argument is out of range; a DataError if there is no sample, or samples are of
    different data; a ReturnValueError if a distance function returns anything other than such an array.

    Parameters
    ----------
    given : Run, path, Trace, ChainTrace, estimator, Franchise or sequence of Sample
        Samples of one chain or several over the same data, or what has some. Of a run or a trace those after
        the burn-in are used, with the newest states of the chains: after the first half of its recorded
        sweeps, or later, if the log joint of a chain was still on its way (docs/summaries.md).
    chain : int, optional
        Number of a chain of a run or a trace, to use its samples alone.
    min_occurrence : float
        Components that occur in a smaller share of the samples belong to the rest.
    distance : "cosine" or function
        Dissimilarity of two components: 1 - cosine of their distributions over terms or, for other data, of
        their customers (at most 2**20); or a function that takes the parameters of two sets of components,
        shape (n, ...) and (m, ...), and returns distances, shape (n, m).
    threshold : float, optional
        The largest distance between dishes of the same component: by default 0.5 for cosine; required for a
        function.
    similar : float, optional
        Dishes of a sample, and components, that are closer to each other than this are one (average linkage);
        0: none. By default 0.1 for cosines of topics in documents, otherwise 0.
    apart : int
        Dishes with permanent ids below this are never one with each other: known components, which have the
        ids 0, 1, ... A dish that is one with them has their id.
    level : float
        Probability of the credible intervals.
    partition : bool, optional
        Whether components are clusters of the partition of the customers. By default of points and of
        observations in sequences, if they are compared by cosine.
    min_share : float
        Of sequences, clusters of the partition with a smaller share of the observations are no states: they
        are outliers more often than not. Their observations are in the rest.
    """
    samples, of = samples_of(given, chain)
    level = checked_level(level)
    for name, given_share in (("min_occurrence", min_occurrence), ("min_share", min_share)):
        if not 0.0 <= real_number(name, given_share) <= 1.0:
            raise ParameterError(name, given_share, "from 0 to 1", "0 keeps every component.")
    threshold = distance_of(distance, threshold)
    if similar is not None and real_number("similar", similar) < 0.0:
        raise ParameterError("similar", similar, "at least 0", "0.1 is usual for cosines.")
    apart = whole_number("apart", apart, 0, remedy="The number of known components.")
    first = samples[0]
    sequences = bool(first.levels) and first.levels[-1].n_fixed is not None
    if partition is None:
        apart_by_items = (sequences or first.counts is None) and distance == "cosine"
        partition = apart_by_items and all(sample.dishes is not None for sample in samples)
    if flag("partition", partition):
        dishes = dishes_of(samples)
        if sequences:
            return _of_states(samples, dishes, level, min_occurrence, min_share, of)
        return of_clusters(samples, partitioned(dishes), level, min_occurrence, **of)
    vectors, before, originals = vectors_of(samples, distance), [], samples
    if similar is None:
        of_topics = distance == "cosine" and first.counts is not None and first.dishes is None
        similar = SIMILAR if of_topics else 0.0
    if similar > 0.0:
        merged = []
        for sample in samples:
            to = clusters(vectors, observed(vectors.rows(sample)), similar, sample.ids < apart)
            merged.append(sample if to is None else merged_sample(sample, to, apart))
            before.append(None if to is None else np.unique(to, return_inverse=True)[1].ravel())
        samples = tuple(merged)
        vectors = vectors.over(samples)
    labels = matched(samples, vectors, threshold)
    kept = [
        (sample, own[to])
        for sample, own, to in zip(originals, labels, before, strict=False)
        if to is not None
    ]
    found = Components(samples, labels, vectors, level, before=kept, **of)
    if similar > 0.0:
        known = ((found.ids_by_sample >= 0) & (found.ids_by_sample < apart)).any(axis=0)
        to = clusters(vectors, observed(found._means), similar, np.asarray(known))
        if to is not None:
            found = found.merged_by(np.unique(to, return_inverse=True)[1].ravel(), apart)[0]
            found._of = attrs.evolve(found._of, merged_from=None)
    often = np.flatnonzero(found.occurrence >= min_occurrence - 1e-9)
    return found if len(often) == len(found) else found.selected(often)


def dishes_of(samples: Sequence[Sample]) -> Int64s:
    """Dish of each customer in each sample, shape (n_samples, n)."""
    if any(sample.dishes is None for sample in samples):
        raise DataError(
            "samples", "without the dishes of the points", "of at most 2**20 points, which have them",
            "Fit a part of the points, and predict the others.",
        )  # fmt: skip
    return np.array([sample.dishes for sample in samples], dtype=np.int64)


def partitioned(dishes: Int64s) -> Int64s:
    """Cluster of each customer in the partition of least expected loss, by descending size."""
    runs = 8 if dishes.shape[1] <= _MANY else 2
    most = max(len(np.unique(own)) for own in dishes)
    return point_partition(dishes, max_clusters=most, runs=runs).labels


def _of_states(
    samples: Sequence[Sample],
    dishes: Int64s,
    level: float,
    min_occurrence: float,
    min_share: float,
    of: dict[str, Any],
) -> Components:
    """States as the clusters of a partition of the steps, without clusters of a few steps."""
    # A dish belongs to the cluster that has most of its steps, so near-duplicates in a sample are one state.
    # Of many steps some are partitioned, evenly spaced: the search takes more than proportional time.
    steps = np.unique(np.linspace(0, dishes.shape[1] - 1, _STEPS).astype(np.int64))
    labels = partitioned(dishes[:, steps])
    sizes = np.bincount(labels)
    n = max(int(np.count_nonzero(sizes >= min_share * len(labels))), 1)
    merged, own, before = [], [], []
    for sample, of_steps in zip(samples, dishes, strict=True):
        cells = of_steps[steps] * len(sizes) + labels
        common = np.bincount(cells, minlength=sample.n_dishes * len(sizes)).reshape(sample.n_dishes, -1)
        common = common[:, :n]
        to = np.where(common.any(axis=1), common.argmax(axis=1), -1)
        made, of_made = joined(sample, to)
        merged.append(made)
        own.append(of_made)
        if made is not sample:
            before.append((sample, to))
    vectors = vectors_of(tuple(merged), "cosine")
    found = Components(merged, own, vectors, level, before=before, **of)
    return found.selected(np.flatnonzero(found.occurrence >= min_occurrence - 1e-9))


def of_clusters(
    samples: Sequence[Sample], labels: Int64s, level: float = 0.9, min_occurrence: float = 0.0, **of: Any
) -> Components:
    """Components of samples as the clusters of a partition of their customers."""
    found = [_of_clusters(sample, labels) for sample in samples]
    if max(int(one.max(initial=-1)) for one in found) < 0:
        labels = np.unique(np.asarray(samples[-1].dishes), return_inverse=True)[1].astype(np.int64)
        found = [_of_clusters(sample, labels) for sample in samples]
    n = int(labels.max()) + 1
    shares = np.array([placed(one.shares(), own, n) for one, own in zip(samples, found, strict=True)])
    often = np.bincount(np.concatenate([own[own >= 0] for own in found]), minlength=n) / len(found)
    there = (often > 0) & (often >= min_occurrence - 1e-9)
    there = there if there.any() else often > 0
    order = np.argsort(np.where(there, -shares.mean(axis=0), 1.0), kind="stable")
    rank = np.argsort(order, kind="stable")
    to = np.append(np.where(there, rank, -1), -1)
    numbered = np.asarray(to[labels], dtype=np.int64)
    made = Components(samples, [to[own] for own in found], MemberVectors(samples), level, numbered, **of)
    left = np.flatnonzero(numbered < 0)
    if len(left):
        numbered[left] = made._memberships(np.arange(len(made)))[:, left].argmax(axis=0)
    return made


def _of_clusters(sample: Sample, labels: Int64s) -> Int64s:
    """Cluster of each dish of a sample; -1 for none."""
    n = int(labels.max()) + 1
    cells = np.asarray(sample.dishes, dtype=np.int64) * n + labels
    common = np.bincount(cells, minlength=sample.n_dishes * n).reshape(sample.n_dishes, n)
    sizes = common.sum(axis=1, keepdims=True) * np.bincount(labels, minlength=n)
    return assigned(1.0 - common / np.sqrt(np.maximum(sizes, 1)), THRESHOLD)


def match_topics(one: Any, other: Any, *, min_cosine: float = MIN_COSINE) -> TopicMatch:
    """Match the topics of two runs with each other, and find those that only one of them has.

    Each topic has at most one partner; pairs are chosen so that the sum of their cosines above ``min_cosine``
    is largest (`scipy.optimize.linear_sum_assignment`). The topics of a run are those that ``hdpkit topics``
    prints. Terms are matched by name, so the runs may be over different corpora. Components of numbers are
    compared by the customers that they have, so both runs must be over the same data. Raises a DataError if
    the two have no term in common, only one has names of terms, or they are components of numbers over
    different data.

    Parameters
    ----------
    one, other : Run, path, Components or Signatures
        Runs, folders of runs, components in common (see `Components.match`), or signatures. Those of samples
        alone have no words: their terms are matched by number.
    min_cosine : float
        The smallest cosine of two topics that are the same, from 0 to 1.
    """
    (first, of_first), (second, of_second) = _side("run 1", one), _side("run 2", other)
    return matched_components(first, second, min_cosine, (of_first, of_second))


def _side(source: str, given: Any) -> tuple[Any, str]:
    """Components of one of two runs, and what messages call it."""
    if isinstance(given, str | os.PathLike):
        given = open_run(given)
    return (components(given), printable(given.folder.name)) if isinstance(given, Run) else (given, source)
