"""New points under the components of a sample of a mixture: densities, and draws.

Statistics of the dishes are those of the sample. A new point is by itself: its density is the predictive
density of each dish, and of a new one, weighted by the posterior mean weights of its group. An average over
samples of the posterior is the posterior predictive density.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.checks import instance
from hdpkit.errors import DataError, DeclarationError, MissingMethodError
from hdpkit.franchise.sample import Sample
from hdpkit.measures.by_restaurant import NewRestaurants
from hdpkit.posterior.fold_in import log_densities, restaurants_of_sample

_AT_ONCE = 1 << 22  # densities of points under dishes that are in memory at once


@attrs.frozen(eq=False, kw_only=True)
class MixtureDensity:
    """The dishes of a sample of a mixture, and the weights of its groups.

    Attributes
    ----------
    sample : Sample
    weights : float64 array, shape (n_groups + 1, K + 1)
        Posterior mean weights of the dishes and, last, of new ones, in each group; the last row is that of a
        group without points. A flat mixture has this row alone.
    """

    franchise: Any
    sample: Sample
    weights: Floats
    state: NewRestaurants
    slots: Int32s

    def log_probabilities(self, values: npt.NDArray[Any], group: Int64s) -> tuple[Floats, Floats]:
        """Log densities of points, shape (n,), and the log probability of each dish: shape (n, K + 1).

        ``group`` is the number of each point's group, -1 for a new one.
        """
        n, width = len(values), len(self.slots) + 1
        logs, shares = np.empty(n), np.empty((n, width))
        step = max(1, _AT_ONCE // width)
        for first in range(0, n, step):
            here = slice(first, first + step)
            arguments = (self.franchise, self.state, values[here], self.slots)
            joint = self.franchise.access.call(log_densities, arguments, reading=True)
            with np.errstate(divide="ignore"):
                joint = joint + np.log(self.weights[group[here]])
            logs[here] = np.logaddexp.reduce(joint, axis=1)
            shares[here] = joint - np.maximum(logs[here], np.finfo(np.float64).min)[:, None]
        return logs, shares

    def draw(self, group: Int64s, generator: np.random.Generator) -> tuple[list[Any], Int64s]:
        """Draw a point for each number of a group, -1 for a new one: values, and dishes; K is a new dish."""
        measure = self.state.measure
        if not measure.supports("simulate"):
            raise MissingMethodError(
                "measure", type(measure).__name__, "one with simulate()", "Define it in the measure."
            )
        ends = np.cumsum(self.weights[group], axis=1)
        at = generator.random(len(group)) * ends[:, -1]
        dishes = np.minimum((ends <= at[:, None]).sum(axis=1), ends.shape[1] - 1).astype(np.int64)
        statistics = [*self.state.bank.statistics(self.slots, self.state.dishes), measure.make()]
        return [measure.simulate(statistics[k], generator) for k in dishes.tolist()], dishes


def mixture_density(franchise: Any, sample: Sample) -> MixtureDensity:
    """The dishes of a sample of a mixture over the data of a franchise.

    Raises
    ------
    DataError
        If the sample doesn't have the dishes of these data.
    DeclarationError
        If the density under a new dish has no closed form, or parameters are in the state.
    """
    instance("sample", sample, Sample, "a sample of a chain over these data", remedy="See trace.samples.")
    n = len(franchise.data)
    if sample.dishes is None or len(sample.dishes) != n:
        raise DataError(
            "sample", sample, f"a sample of this model with the dishes of {n:,} points",
            "Keep samples of the chain over these data; they have the dishes of at most 2**20 points.",
        )  # fmt: skip
    if not franchise.measure.predicts:
        raise DeclarationError(
            "base", type(franchise.measure).__name__, "a measure with a predictive density of a new dish",
            "The density of a value under a new dish has no closed form here.",
        )  # fmt: skip
    arguments = (franchise, sample, np.asarray(sample.dishes, dtype=np.int32))
    state, slots = franchise.access.call(restaurants_of_sample, arguments, reading=True)
    weights = sample.root_weights[None, :]
    if sample.levels:
        weights = np.concatenate([sample.group_weights(), weights])
    return MixtureDensity(franchise=franchise, sample=sample, weights=weights, state=state, slots=slots)
