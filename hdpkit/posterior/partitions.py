"""Partitions in a posterior sample: co-clustering probabilities, and a point estimate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import choice, items, number_array, whole_number, whole_numbers
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.salso import Search, canonical
from hdpkit.posterior.settled import settled_samples
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source
from hdpkit.run.runs import Run
from hdpkit.run.trace import ChainTrace, Trace

_MOST = 10_000  # items; their matrix takes 800 MB
_BLOCK = 256
_ALLOWED = "whole numbers, shape (n_samples, n_items), or samples of a run"
_RECORD = 'record={"dishes": lambda state: state.dishes}, and pass trace["dishes"]'
_REMEDY = 'For instance np.array([state.dishes for state in states]), or trace["dishes"].'


def co_clustering(labels: Any, *, items: Any = None) -> Floats:
    """Posterior probability that two items share a cluster.

    `hdpkit.plots.posterior_similarity` draws it.

    Parameters
    ----------
    labels : int array of shape (n_samples, n_items), sequence of Sample, Trace, ChainTrace or Run
        Cluster of each item in each sample; the numbering of clusters is arbitrary. For `Sample` objects the
        items are the groups (documents), and the cluster of a group is its largest dish. For a flat mixture
        (one restaurant) they are the customers, and the clusters are the dishes. Of a trace or a run the
        samples after the burn-in are used. Customers of data that are numbers, in groups:
        ``np.array([sample.dishes for sample in trace.samples])``.
    items : int array of shape (n,), optional
        Which items; by default all. At most 10,000.

    Returns
    -------
    float64 array, shape (n, n)
        Symmetric, 1 on the diagonal.

    Raises
    ------
    ParameterError
        If the labels are not valid, or there are too many items.
    """
    chosen = _labels(labels, items)
    n_samples, n = chosen.shape
    if n > _MOST:
        raise ParameterError("items", f"{n} items", f"at most {_MOST}", "Choose some of them.")
    found = np.empty((n, n))
    for first in range(0, n, _BLOCK):
        rows = chosen[:, first : first + _BLOCK]
        counts = np.zeros((rows.shape[1], n), dtype=np.int32)
        for own, every in zip(rows, chosen, strict=True):
            counts += own[:, None] == every[None, :]
        found[first : first + _BLOCK] = counts / n_samples
    return found


@attrs.frozen(eq=False, kw_only=True)
class PointPartition:
    """A point estimate of the partition from a posterior sample of partitions.

    Attributes
    ----------
    labels : int64 array, shape (n_items,)
        Cluster of each item, numbered from 0 by descending size.
    sizes : int64 array, shape (n_clusters,)
        Number of items of each cluster.
    loss : str
        "vi" or "binder".
    expected_loss : float
        Mean over the samples of the loss between this partition and that of the sample.
    """

    labels: Int64s = attrs.field(repr=False)
    sizes: Int64s
    loss: str
    expected_loss: float

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.sizes)


def point_partition(
    labels: Any,
    loss: str = "vi",
    *,
    items: Any = None,
    max_clusters: int | None = None,
    runs: int = 8,
    attempts: int = 10,
    rng: ChoiceSource | Seed = 0,
) -> PointPartition:
    r"""Find the partition of least expected loss by SALSO's greedy search (Dahl, Johnson & Mueller 2022).

    Each run assigns the items one by one in random order, then moves single items while the expected loss
    decreases, and then dissolves random clusters and reassigns their items. The first run begins from the
    best of the samples instead, so the result is never worse than that sample.

    - ``"vi"``: variation of information H(c | s) + H(s | c), in nats (Meila 2007; Wade & Ghahramani 2018);
    - ``"binder"``: the share of the n^2 ordered pairs that are together in exactly one of the two partitions
      (Binder 1978). It tends to give more and smaller clusters.

    Parameters
    ----------
    labels : int array of shape (n_samples, n_items), sequence of Sample, Trace, ChainTrace or Run
        As for `co_clustering`. Time and memory grow with samples times items; a few hundred samples are
        enough.
    loss : "vi" or "binder"
    items : int array of shape (n,), optional
        Which items; by default all.
    max_clusters : int, optional
        The largest number of clusters allowed.
    runs : int
        Number of runs, from different starts; the best result is returned.
    attempts : int
        A run ends after dissolving this many clusters in a row without improvement.
    rng : seed, Generator or choice source
        For the random orders.

    Returns
    -------
    PointPartition

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    choice("loss", loss, ("vi", "binder"), remedy="Leave it out for vi.")
    if max_clusters is not None:
        max_clusters = whole_number("max_clusters", max_clusters, 1, remedy="Leave it out for no limit.")
    runs = whole_number("runs", runs, 1, 10_000, remedy="8 are usual.")
    attempts = whole_number("attempts", attempts, 0, 10_000, remedy="10 are usual.")
    chosen = _labels(labels, items)
    search = Search(chosen, loss, max_clusters, as_source(rng, Purpose.OTHER))
    found, best = search.best(runs, attempts)
    numbered, sizes = canonical(found)
    for array in (numbered, sizes):
        array.setflags(write=False)
    return PointPartition(labels=numbered, sizes=sizes, loss=loss, expected_loss=best)


def _labels(labels: Any, chosen: Any) -> Int64s:
    """Labels of the chosen items, shape (n_samples, n_items)."""
    found = _of_samples(labels)
    if found is None:
        given = number_array(labels)
        whole = given is not None and np.asarray(labels).dtype.kind in "iu"
        if given is None or not whole or given.ndim != 2 or given.size == 0:
            raise ParameterError("labels", labels, f"{_ALLOWED}, at least one of each", _REMEDY)
        found = np.asarray(labels, dtype=np.int64)
    if chosen is not None:
        remedy = "Leave it out for all."
        picked = whole_numbers("items", chosen, 0, found.shape[1] - 1, remedy=remedy)
        if len(picked) == 0:
            raise ParameterError("items", chosen, "at least one item", remedy)
        found = found[:, picked]
    return found


def _of_samples(labels: Any) -> Int64s | None:
    """Largest dish of each group in each sample, or the dish of each customer of a flat mixture.

    None if the argument is no sequence of samples.
    """
    if isinstance(labels, Trace | ChainTrace | Run):
        labels = settled_samples(labels)
        if not labels:
            raise DataError("labels", labels, "a run that kept samples", "Run it with samples=100.")
    if not isinstance(labels, Sequence) or isinstance(labels, str | bytes):
        return None
    samples = items("labels", labels, _ALLOWED, remedy=_REMEDY)
    if not samples or not all(isinstance(one, Sample) for one in samples):
        return None
    if len({one.names for one in samples}) > 1:
        raise DataError("labels", "samples of other groups", "samples of one model and its data", _REMEDY)
    if not samples[0].levels:
        kept = [one.dishes for one in samples if one.dishes is not None]
        if len({len(one) for one in kept}) != 1 or len(kept) < len(samples):
            raise DataError(
                "labels", "samples of a flat mixture without the dishes of its customers",
                "samples of one model, of at most 2**20 customers", f"Record them: {_RECORD}.",
            )  # fmt: skip
        return np.array(kept, dtype=np.int64)
    return np.array([np.asarray(one.group_counts.argmax(axis=1)).ravel() for one in samples], dtype=np.int64)
