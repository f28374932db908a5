"""Points in the components of a mixture: those of the samples, and new ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int64s
from hdpkit.franchise.franchise import Franchise
from hdpkit.posterior.components import Components
from hdpkit.posterior.evaluation.result import log_mean_exp
from hdpkit.posterior.mixture_density import mixture_density


def new_points(
    found: Components, franchise: Franchise, values: npt.NDArray[Any], group: Int64s
) -> tuple[Floats, Floats]:
    """Log predictive densities of new points, shape (n,), and probabilities of components, shape (n, K).

    ``group`` is the number of each point's group, -1 for a new one. A point belongs to a dish, and the
    dish to components by the shares of its points; averages over the samples.
    """
    logs, total = [], np.zeros((len(values), len(found)))
    top = np.full((len(values), 1), np.finfo(np.float64).min)  # the total is divided by its exponential
    for sample in found.samples:
        log_density, dishes = mixture_density(franchise, sample).log_probabilities(values, group)
        logs.append(log_density)
        before, top = top, np.maximum(top, dishes[:, :-1].max(axis=1, keepdims=True))
        total = total * np.exp(before - top) + np.exp(dishes[:, :-1] - top) @ found._of_points(sample)
    mass = total.sum(axis=1, keepdims=True)
    shares = found.shares / found.shares.sum()
    total = np.where(mass > 0.0, total / np.where(mass > 0.0, mass, 1.0), shares)
    return np.asarray(log_mean_exp(np.array(logs)), dtype=np.float64), total


def draw_points(
    found: Components, franchise: Franchise, group: Int64s, generator: np.random.Generator
) -> tuple[list[Any], Int64s]:
    """Draw a new point for each number of a group, and its component; -1 for none."""
    of_sample = generator.integers(len(found.samples), size=len(group))
    values: list[Any] = [None] * len(group)
    own = np.full(len(group), -1, dtype=np.int64)
    for i, sample in enumerate(found.samples):
        here = np.flatnonzero(of_sample == i)
        if len(here):
            drawn, dishes = mixture_density(franchise, sample).draw(group[here], generator)
            own[here] = np.append(found.which(sample), -1)[dishes]
            for place, value in zip(here.tolist(), drawn, strict=True):
                values[place] = value
    return values, own
