"""New points and sequences under the components that samples have in common.

Statistics of the dishes are those of each sample. A new point is by itself: its density is the predictive
density of each dish, and of a new one, weighted by the posterior mean weights of its group. An average over
samples of the posterior is the posterior predictive density.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.checks import instance
from hdpkit.data import Sequences
from hdpkit.errors import DataError, DeclarationError, MissingMethodError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.measures.by_restaurant import NewRestaurants
from hdpkit.posterior.components import Components
from hdpkit.posterior.evaluation.result import log_mean_exp
from hdpkit.posterior.fold_in import log_densities, restaurants_of_sample
from hdpkit.posterior.hidden_states import StateProbabilities, hidden_states, probabilities_under
from hdpkit.random import RandomStream

_AT_ONCE = 1 << 22  # densities of points under dishes that are in memory at once


@attrs.frozen(eq=False, kw_only=True)
class MixtureDensity:
    """The dishes of a sample of a mixture, and the weights of its groups."""

    franchise: Any
    sample: Sample
    # posterior mean weights of the dishes and, last, of new ones, in each group; the last row is
    # that of a group without points. A flat mixture has this row alone, shape (n_groups + 1, K + 1)
    weights: Floats
    state: NewRestaurants
    slots: Int32s

    def log_probabilities(self, values: npt.NDArray[Any], group: Int64s) -> tuple[Floats, Floats]:
        """Log densities of points, shape (n,), and the log probability of each dish: shape (n, K + 1)."""
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
    """The dishes of a sample of a mixture over the data of a franchise."""
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


def new_points(
    found: Components, franchise: Franchise, values: npt.NDArray[Any], group: Int64s
) -> tuple[Floats, Floats]:
    """Log predictive densities of new points, shape (n,), and probabilities of components, shape (n, K)."""
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


@attrs.frozen(eq=False)
class CommonStates:
    """States of sequences, averaged over samples; states are numbered as the components."""

    log_probability: float  # of all sequences: the log of the average
    probabilities: Floats  # of the state of each observation given its sequence: (n, T), rows sum to one
    path: Int64s  # state that each observation has on the most probable path of most samples


def states_in_common(found: Components, data: Sequences, threads: int = 1) -> CommonStates:
    """States of sequences in all samples, or in the newest states where samples can't say."""
    n, logs = len(found), []
    total, votes = np.zeros((len(data), n + 1)), np.zeros((len(data), n + 1))
    every = np.arange(len(data))
    for own, states in _of_samples(found, data, threads):
        logs.append(float(states.log_probability.sum()))
        to = np.where(own >= 0, own, n)
        np.add.at(total.T, to, states.smoothed[:, :-1].T)
        votes[every, to[states.path]] += 1.0
    mass = total[:, :-1].sum(axis=1, keepdims=True)
    shares = found.shares / found.shares.sum()
    probabilities = np.where(mass > 0.0, total[:, :-1] / np.where(mass > 0.0, mass, 1.0), shares)
    # Of states on equally many paths, the more probable one.
    path = (votes[:, :-1] + 0.5 * probabilities).argmax(axis=1).astype(np.int64)
    return CommonStates(float(log_mean_exp(np.array(logs)[:, None])[0]), probabilities, path)


def _of_samples(
    found: Components, data: Sequences, threads: int
) -> Iterator[tuple[Int64s, StateProbabilities]]:
    """Component of each dish, and states of the sequences, in each sample."""
    franchise: Any = found.states[0].franchise
    measure = franchise.measure
    kept = measure.conjugate and not franchise.measure_parts
    if kept and all(sample.dishes is not None for sample in found.samples):
        given: list[Any] = [(sample, franchise, sample) for sample in found.originals]
    else:
        given = [(state.sample, state.franchise, None) for state in found.states]
    form = "mean" if measure.predicts else "drawn"
    for sample, of, instead in given:
        states = hidden_states(of, form, RandomStream((0, 0)), instead).known_only()
        yield found.which(sample), probabilities_under(of, states, data, form, 1, threads)
