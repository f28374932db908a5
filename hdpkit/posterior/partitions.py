"""Partitions of points: co-clustering, and SALSO.

SALSO is a greedy search for the partition of least expected loss (Dahl, Johnson & Mueller 2022). Both losses
between partitions c and s of n items are, up to a factor, sum_k F(n_k) + sum_l F(m_l) - 2 sum_kl F(n_kl),
where n_kl items are in cluster k of c and l of s: F(x) = x log x for the variation of information, x^2 for
Binder's loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import choice, items, number_array, whole_number, whole_numbers
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.settled import settled_samples
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source
from hdpkit.run.runs import Run
from hdpkit.run.trace import ChainTrace, Trace

_STARTS = 100  # number of samples whose expected loss is computed, to start from the best one
_LEAST = 1e-10  # smallest improvement that counts, relative to the sum


def canonical(labels: Int64s) -> tuple[Int64s, Int64s]:
    """Labels renumbered from 0 by descending size, ties by first item; and the sizes."""
    numbered = canonical_by(labels, np.ones(len(labels)))
    return numbered, np.bincount(numbered).astype(np.int64)


def canonical_by(labels: Int64s, weights: Floats) -> Int64s:
    """Labels renumbered from 0 by descending total weight of their items, ties by first item."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.lexsort((first, -np.bincount(inverse.ravel(), weights=weights)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return np.asarray(rank[inverse.ravel()])


def expected_loss(partition: Int64s, samples: Int64s, loss: str) -> float:
    """Mean loss between a partition, shape (n_items,), and samples, shape (n_samples, n_items)."""
    search = Search(samples, loss, None, None)
    search.seat(canonical(np.asarray(partition))[0])
    return search.expected()


class Search:
    """A partition, its joint counts with samples (n_samples, n_items), moves that lower its expected loss."""

    def __init__(
        self, samples: Int64s, loss: str, max_clusters: int | None, source: ChoiceSource | None
    ) -> None:
        self.n_samples, self.n = samples.shape
        numbered = [np.unique(row, return_inverse=True)[1].ravel() for row in samples]
        offsets = np.concatenate([[0], np.cumsum([int(row.max()) + 1 for row in numbered])])
        self.column = np.stack([row + offset for row, offset in zip(numbered, offsets, strict=False)], axis=1)
        self.n_columns = int(offsets[-1])
        self.most = self.n if max_clusters is None else min(max_clusters, self.n)
        self.source = source
        sizes = np.arange(self.n + 2, dtype=np.float64)
        if loss == "vi":
            self.F, self.factor = sizes * np.log(np.maximum(sizes, 1.0)), 1.0 / (self.n_samples * self.n)
        else:
            self.F, self.factor = sizes**2, 1.0 / (self.n_samples * self.n**2)
        self.gain = np.diff(self.F)
        order = np.argsort(self.column, axis=None, kind="stable") // self.n_samples
        self.items = np.split(order, np.cumsum(np.bincount(self.column.ravel()))[:-1])  # of each column
        self.together = [int(n) for n in np.array(list(map(len, self.items)))[self.column].sum(axis=1)]
        own = np.bincount(self.column.ravel(), minlength=self.n_columns)
        self.constant = float(self.F[own].sum())
        self.clear()

    # ------------------------------------------------------------------ the partition

    def clear(self) -> None:
        """Remove all items from their clusters."""
        self.labels = np.full(self.n, -1, dtype=np.int64)
        self.size = np.zeros(4, dtype=np.int64)
        self.common = np.zeros((4, self.n_columns), dtype=np.int32)
        self.k = 0

    def seat(self, labels: Int64s) -> None:
        """Set the partition; labels are consecutive from 0."""
        self.labels = labels.copy()
        self.k = int(labels.max()) + 1
        self.size = np.bincount(labels, minlength=self.k)
        self.common = np.zeros((self.k, self.n_columns), dtype=np.int32)
        cells, counts = self._cells(labels)
        self.common.ravel()[cells] = counts

    def _cells(self, labels: Int64s) -> tuple[Int64s, Int64s]:
        """Positive joint counts of a partition and the samples, and where they are in a matrix of all."""
        cells = (labels[:, None] * self.n_columns + self.column).ravel()
        if (int(labels.max()) + 1) * self.n_columns > 4 * cells.size:
            return np.unique(cells, return_counts=True)
        counts = np.bincount(cells)
        there = np.flatnonzero(counts)
        return there, counts[there]

    def expected(self, labels: Int64s | None = None) -> float:
        """Expected loss of the partition, or of another one."""
        labels = self.labels if labels is None else labels
        total = self.n_samples * self.F[np.bincount(labels)].sum() + self.constant
        return max(0.0, float(self.factor * (total - 2.0 * self.F[self._cells(labels)[1]].sum())))

    def leave(self, i: int) -> None:
        """Remove an item; an empty cluster is removed, and the last cluster takes its number."""
        k = int(self.labels[i])
        self.labels[i] = -1
        self.size[k] -= 1
        self.common[k, self.column[i]] -= 1
        if self.size[k] == 0:
            self.k -= 1
            if k != self.k:
                self.size[k], self.common[k] = self.size[self.k], self.common[self.k]
                self.labels[self.labels == self.k] = k
            self.size[self.k] = 0
            self.common[self.k] = 0

    def enter(self, i: int) -> None:
        """Add an item to the cluster that raises the expected loss least; ties go to the first cluster."""
        column, k = self.column[i], self.k
        near: Any = slice(k)
        if k < self.most and self.together[i] < k * self.n_samples:
            # It is better alone than in a cluster without an item that is with it in a sample.
            near = np.unique(self.labels[np.concatenate([self.items[c] for c in column])])
            near = near[near >= 0][:, None]
        cost = self.n_samples * self.gain[self.size[near]].ravel()
        cost = cost - 2.0 * self.gain[self.common[near, column]].sum(axis=1)
        best = int(cost.argmin()) if len(cost) else -1
        alone = -self.n_samples * self.gain[0]
        if best < 0 or (k < self.most and alone < cost[best] - _LEAST * self.n_samples):
            best = k
        else:
            best = best if isinstance(near, slice) else int(near[best, 0])
        if best == k:
            if k == len(self.size):
                self.size = np.concatenate([self.size, np.zeros_like(self.size)])
                self.common = np.concatenate([self.common, np.zeros_like(self.common)])
            self.k += 1
        self.labels[i] = best
        self.size[best] += 1
        self.common[best, column] += 1

    # ------------------------------------------------------------------ the search

    def best(self, runs: int, attempts: int) -> tuple[Int64s, float]:
        """The partition of least expected loss found by runs from different starts, and its loss."""
        found, least = self.labels, np.inf
        for run in range(runs):
            if run == 0:
                self._begin_from_a_sample()
            else:
                self.clear()
                for i in self._order(np.arange(self.n)):
                    self.enter(i)
            self._take_apart(attempts, settled=not self._improve())
            now = self.expected()
            if now < least * (1.0 - _LEAST):
                found, least = self.labels.copy(), now
        return found, float(least)

    def _begin_from_a_sample(self) -> None:
        best, least = None, np.inf
        for s in np.unique(np.linspace(0, self.n_samples - 1, _STARTS).astype(int)).tolist():
            labels = np.unique(self.column[:, s], return_inverse=True)[1].ravel()
            if int(labels.max()) >= self.most:
                continue
            now = self.expected(labels)
            if now < least:
                best, least = labels, now
        self.seat(np.zeros(self.n, dtype=np.int64) if best is None else best)

    def _improve(self) -> bool:
        """Move single items until no move lowers the expected loss; says whether the last pass moved any."""
        now = self.expected()
        while True:
            labels = self.labels.copy()
            for i in self._order(np.arange(self.n)):
                self.leave(i)
                self.enter(i)
            before, now = now, self.expected()
            if not now < before * (1.0 - _LEAST):
                return not _are_one_partition(labels, self.labels)

    def _take_apart(self, attempts: int, settled: bool) -> None:
        """Reassign the items of random clusters, until ``attempts`` of them in a row gave no improvement."""
        failed, least = 0, self.expected()
        assert self.source is not None
        while failed < attempts:
            kept = self.labels.copy()
            members = np.flatnonzero(self.labels == self.source.index(self.k))
            for i in members.tolist():
                self.leave(i)
            for i in self._order(members):
                self.enter(i)
            if settled and _are_one_partition(kept, self.labels):
                # Without ties the pass would move none. Numbers are drawn as for it.
                self._order(np.arange(self.n))
                failed += 1
                self.seat(kept)
                continue
            moved = self._improve()
            now = self.expected()
            if now < least * (1.0 - _LEAST):
                failed, least, settled = 0, now, not moved
            else:
                failed += 1
                self.seat(kept)

    def _order(self, items: Int64s) -> list[int]:
        assert self.source is not None
        return [int(i) for i in items[self.source.permutation(len(items))]]


def _are_one_partition(labels: Int64s, others: Int64s) -> bool:
    """Whether two partitions of the same items are one, however their clusters are numbered."""
    n = int(others.max()) + 1
    pairs = len(np.unique(labels * n + others))
    return pairs == len(np.unique(labels)) == len(np.unique(others))


_MOST = 10_000  # items; their matrix takes 800 MB
_BLOCK = 256
_ALLOWED = "whole numbers, shape (n_samples, n_items), or samples of a run"
_RECORD = 'record={"dishes": lambda state: state.dishes}, and pass trace["dishes"]'
_REMEDY = 'For instance np.array([state.dishes for state in states]), or trace["dishes"].'


def co_clustering(labels: Any, *, items: Any = None) -> Floats:
    """Posterior probability that two items share a cluster.

    `hdpkit.plots.posterior_similarity` draws it. Returns a float64 array, shape (n, n), symmetric, 1 on the
    diagonal.

    Parameters
    ----------
    labels : int array of shape (n_samples, n_items), sequence of Sample, Trace, ChainTrace or Run
        Cluster of each item in each sample. Of samples the items are the groups (documents), and the cluster
        of a group is its largest dish; of a flat mixture they are the customers, with their dishes. Of a
        trace or a run the samples after the burn-in are used. For customers in groups give
        ``np.array([sample.dishes for sample in trace.samples])``.
    items : int array of shape (n,), optional
        Which items; by default all. At most 10,000, else a ParameterError is raised.
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
        As for `co_clustering`. Time and memory grow with samples times items.
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
    """Largest dish of each group in each sample, or the dish of each customer of a flat mixture."""
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
