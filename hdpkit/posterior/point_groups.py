"""Groups of the components of points: components that the points of a group move between are one group.

Components are those of the density: a group that is no normal distribution has several. From sample to
sample points are redrawn among components that overlap, so two components are one group if a point and
another of its dish in a sample are in the two of them at least HALF as often as shares alone would give.
This is the modularity of Newman (2004) with a resolution (Reichardt & Bornholdt 2006), on the graph of
components whose edges are posterior co-clustering probabilities. A limit that doesn't depend on shares
(Hennig 2010) either leaves parts of skewed clusters apart or merges normal clusters that overlap
(benchmarks/groups_of_mixtures.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.partitions import canonical_by

HALF = 0.5
_MOST = 40  # samples that are compared with each other, evenly spaced


@attrs.frozen(eq=False)
class PointGroups:
    """Groups of the components of a partition of points."""

    of: Int64s  # group of each component, numbered from 0 by descending number of points, shape (K,)
    posterior: dict[int, float]  # number of groups -> share of the samples whose own dishes make so many

    def __len__(self) -> int:
        return int(self.of.max()) + 1


def point_groups(partition: Int64s, samples: Sequence[Sample]) -> PointGroups:
    """Group the components of a partition of points, shape (n,), by samples with the dishes of the points."""
    chosen = np.unique(np.linspace(0, len(samples) - 1, _MOST).astype(np.int64)).tolist()
    dishes = np.array([np.unique(samples[i].dishes, return_inverse=True)[1].ravel() for i in chosen])
    numbers, counts = np.unique(
        [int(_merged(_together(own, dishes)).max()) + 1 for own in dishes], return_counts=True
    )
    posterior = {int(k): float(n) for k, n in zip(numbers, counts / counts.sum(), strict=True)}
    return PointGroups(_merged(_together(partition, dishes)), posterior)


def _together(labels: Int64s, dishes: Int64s) -> Floats:
    """Probability that a point and one of its dish in a sample, maybe itself, are in two clusters: (K, K)."""
    k = int(labels.max()) + 1
    total = np.zeros((k, k))
    for own in dishes:
        n = int(own.max()) + 1
        common = np.bincount(own * k + labels, minlength=n * k).reshape(n, k)
        total += common.T @ (common / common.sum(axis=1, keepdims=True))
    return total / (len(dishes) * len(labels))


def _merged(together: Floats) -> Int64s:
    """Group of each cluster: the two that are together most often, relative to shares, are merged first."""
    shares = together.sum(axis=0)
    of = np.arange(len(together))
    while len(together) > 1:
        own = together.sum(axis=0)
        times = together / np.maximum(np.outer(own, own), np.finfo(np.float64).tiny)
        np.fill_diagonal(times, -1.0)
        i, j = sorted(divmod(int(times.argmax()), len(times)))
        if times[i, j] < HALF:
            break
        together[i] += together[j]
        together[:, i] += together[:, j]
        together = np.delete(np.delete(together, j, axis=0), j, axis=1)
        of = np.where(of == j, i, of - (of > j))
    return canonical_by(of, shares)
