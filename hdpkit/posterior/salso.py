"""SALSO: a greedy search for the partition of least expected loss (Dahl, Johnson & Mueller 2022).

Both losses between partitions c and s of n items are, up to a factor, sum_k F(n_k) + sum_l F(m_l) -
2 sum_kl F(n_kl), where n_kl items are in cluster k of c and l of s: F(x) = x log x for the variation of
information, x^2 for Binder's loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.random import ChoiceSource

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
        """Reassign the items of random clusters, until ``attempts`` clusters in a row gave no improvement.

        ``settled``: a pass over all items moves none.
        """
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
