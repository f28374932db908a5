"""Sequences in the states of a hidden Markov model that samples have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.data import Sequences
from hdpkit.posterior.components import Components
from hdpkit.posterior.evaluation.result import log_mean_exp
from hdpkit.posterior.hidden_states import StateProbabilities, hidden_states, probabilities_under
from hdpkit.random import RandomStream


@attrs.frozen(eq=False)
class CommonStates:
    """States of sequences, averaged over samples; states are numbered as the components."""

    log_probability: float  # of all sequences: the log of the average
    probabilities: Floats  # of the state of each observation given its sequence: (n, T), rows sum to one
    path: Int64s  # state that each observation has on the most probable path of most samples


def states_in_common(found: Components, data: Sequences, threads: int = 1) -> CommonStates:
    """States of sequences, which don't influence each other or the model.

    In each sample transition probabilities are posterior means, densities predictive, and dishes without
    observations left out. Where samples don't have the dishes of the observations, or the parameters, the
    newest states of the chains take their place.
    """
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
