"""Components of points: the clusters of the point partition, and new points in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int64s
from hdpkit.errors import DataError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.aligned import AlignedTopics
from hdpkit.posterior.alignment import align_topics, aligned_to_partition
from hdpkit.posterior.consensus import consensus
from hdpkit.posterior.evaluation.result import log_mean_exp
from hdpkit.posterior.mixture_density import mixture_density
from hdpkit.posterior.partitions import point_partition

_MANY = 2_000  # points, of whose partition two searches are enough: the first begins from the best sample


def dishes_of(samples: Sequence[Sample]) -> Int64s:
    """Dish of each customer in each sample, shape (n_samples, n)."""
    if any(sample.dishes is None for sample in samples):
        raise DataError(
            "samples", "without the dishes of the points", "of at most 2**20 points, which have them",
            "Fit a part of the points, and predict the others.",
        )  # fmt: skip
    return np.array([sample.dishes for sample in samples], dtype=np.int64)


def components_in_common(samples: Sequence[Sample]) -> tuple[AlignedTopics, Int64s | None]:
    """What samples have in common, and of points the component of each.

    Of points they are the clusters of their partition, otherwise the consensus of dishes.
    """
    first = samples[0]
    chain = bool(first.levels) and first.levels[-1].n_fixed is not None
    if chain or first.counts is not None or any(sample.dishes is None for sample in samples):
        return consensus(align_topics(samples)), None
    return _partition(samples)


def _partition(samples: Sequence[Sample]) -> tuple[AlignedTopics, Int64s]:
    """Components, and that of each point, in the partition of least expected loss."""
    dishes = dishes_of(samples)
    runs = 8 if dishes.shape[1] <= _MANY else 2
    most = max(sample.n_dishes for sample in samples)
    return aligned_to_partition(samples, point_partition(dishes, max_clusters=most, runs=runs).labels)


@attrs.frozen(eq=False)
class PointComponents:
    """The components of a mixture of points.

    Attributes
    ----------
    franchise : Franchise
        Over the points.
    samples : tuple of Sample
        Of chains over these points.
    aligned : AlignedTopics
        The components over the samples.
    labels : int64 array, shape (n,)
        Component of each point.
    """

    franchise: Franchise
    samples: tuple[Sample, ...]
    aligned: AlignedTopics
    labels: Int64s

    @classmethod
    def of(cls, franchise: Franchise, samples: Sequence[Sample]) -> Self:
        """The components of samples over the data of a franchise."""
        return cls(franchise, tuple(samples), *_partition(samples))

    @property
    def label(self) -> str | None:
        """Label of the groups; None for a flat mixture."""
        each = self.franchise.declarations[-1].each
        return each if isinstance(each, str) else None

    def places(self, keys: Sequence[Any]) -> Int64s:
        """Numbers of groups by their names; -1 for others."""
        place = {name: i for i, name in enumerate(self.aligned.names)}
        return np.array([place.get(key, -1) for key in keys], dtype=np.int64)

    def _of_dishes(self, sample: Sample) -> Floats:
        """Share of each component among the points of each dish of a sample: shape (n_dishes, K)."""
        k = len(self.aligned)
        cells = np.asarray(sample.dishes, dtype=np.int64) * k + self.labels
        counts = np.bincount(cells, minlength=sample.n_dishes * k).reshape(sample.n_dishes, k)
        return np.asarray(counts / counts.sum(axis=1, keepdims=True), dtype=np.float64)

    def memberships(self) -> Floats:
        """Posterior probability of each component for each point: shape (n, K); rows sum to one."""
        found = np.zeros((len(self.labels), len(self.aligned)))
        for sample in self.samples:
            found += self._of_dishes(sample)[sample.dishes]
        return found / len(self.samples)

    def new(self, values: npt.NDArray[Any], group: Int64s) -> tuple[Floats, Floats]:
        """Log predictive densities of new points, shape (n,), and probabilities of components, shape (n, K).

        ``group`` is the number of each point's group, -1 for a new one. A point belongs to a dish, and the
        dish to components by the shares of its points; averages over the samples.
        """
        logs, found = [], np.zeros((len(values), len(self.aligned)))
        top = np.full((len(values), 1), np.finfo(np.float64).min)  # found is divided by its exponential
        for sample in self.samples:
            log_density, dishes = mixture_density(self.franchise, sample).log_probabilities(values, group)
            logs.append(log_density)
            before, top = top, np.maximum(top, dishes[:, :-1].max(axis=1, keepdims=True))
            found = found * np.exp(before - top) + np.exp(dishes[:, :-1] - top) @ self._of_dishes(sample)
        total = found.sum(axis=1, keepdims=True)
        shares = self.aligned.shares / self.aligned.shares.sum()
        found = np.where(total > 0.0, found / np.where(total > 0.0, total, 1.0), shares)
        return np.asarray(log_mean_exp(np.array(logs)), dtype=np.float64), found

    def draw(self, group: Int64s, generator: np.random.Generator) -> tuple[list[Any], Int64s]:
        """Draw a new point for each number of a group, and its component; -1 for none."""
        of_sample = generator.integers(len(self.samples), size=len(group))
        values: list[Any] = [None] * len(group)
        components = np.full(len(group), -1, dtype=np.int64)
        for i, sample in enumerate(self.samples):
            here = np.flatnonzero(of_sample == i)
            if len(here):
                drawn, dishes = mixture_density(self.franchise, sample).draw(group[here], generator)
                components[here] = np.append(self.aligned.which(sample), -1)[dishes]
                for place, value in zip(here.tolist(), drawn, strict=True):
                    values[place] = value
        return values, components
