"""The result of an evaluation, the posterior states given, and averages over them and particles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.data import GroupedData
from hdpkit.errors import ParameterError, StateError, printable
from hdpkit.franchise.franchise import Franchise
from hdpkit.posterior.fold_in import Layout
from hdpkit.random import ChoiceSource
from hdpkit.run.runs import Run
from hdpkit.run.trace import ChainTrace, Draw

_REMEDY = "For instance [chain_1, chain_2], scheduler.sample(franchise, sweeps), or hk.open_run(folder)."


@attrs.frozen(eq=False, repr=False, kw_only=True)
class Evaluation:
    """Scores of held-out groups, as `hdpkit.evaluate` returns them. Logs are in nats; arrays are read-only.

    Attributes
    ----------
    method : str
        "completion", "left-to-right" or "predictive".
    fit : str or None
        How proportions were fitted to observed halves: "em" or "gibbs"; None if there are no halves.
    label : str
        Name of the label that defines the groups.
    names : tuple
        Value of the label for each group.
    group_log_probability : float64 array, shape (n_groups,)
        Log probability (or density) of the scored values of each group, averaged over states and particles.
    group_tokens : int64 array, shape (n_groups,)
        How many values of each group were scored.
    standard_error : float
        Standard error of `log_probability`: over states if there are several (as if they were independent
        draws), otherwise over particles. NaN if there is one state and one particle.
    n_states : int
    particles : int
        In each state; 1 for EM.
    group_new_log_probability : float64 array, shape (n_groups,)
        Log probability of the scored tokens whose term is not in the observed half of their group, given that
        it is not: the sum of log p(v) - log of the sum of p(u) over all terms u that are not in it.
        Completion
        of words only; otherwise zeros.
    group_new_tokens : int64 array, shape (n_groups,)
        How many such tokens each group has.
    """

    method: str
    fit: str | None
    label: str
    names: tuple[Any, ...]
    group_log_probability: Floats
    group_tokens: Int64s
    standard_error: float
    n_states: int
    particles: int
    group_new_log_probability: Floats
    group_new_tokens: Int64s

    @property
    def n_tokens(self) -> int:
        """How many values were scored."""
        return int(self.group_tokens.sum())

    @property
    def log_probability(self) -> float:
        """Log probability (or density) of all scored values."""
        return float(self.group_log_probability.sum())

    @property
    def log_probability_per_token(self) -> float:
        """Mean log probability of a value."""
        return self.log_probability / self.n_tokens

    @property
    def perplexity(self) -> float:
        """exp(-log probability per token); infinite if it exceeds the range of a float."""
        return _exp(-self.log_probability_per_token)

    @property
    def n_new_tokens(self) -> int:
        """How many scored tokens have a term that is not in the observed half of their group."""
        return int(self.group_new_tokens.sum())

    @property
    def new_perplexity(self) -> float:
        """Perplexity of these tokens among terms that are not in the observed half; NaN if there are none.

        It doesn't depend on how well a model predicts that a word occurs again, and shows whether the topics
        predict the other words. A constant guess has the number of these terms.
        """
        if self.n_new_tokens == 0:
            return math.nan
        return _exp(-float(self.group_new_log_probability.sum()) / self.n_new_tokens)

    @property
    def perplexity_error(self) -> float:
        """Standard error of `perplexity`, to first order."""
        return self.perplexity * self.standard_error / self.n_tokens

    def __str__(self) -> str:
        error = "" if math.isnan(self.standard_error) else f" (standard error {self.perplexity_error:.2g})"
        how = {None: "", "em": ", proportions by EM", "gibbs": ", proportions by Gibbs sampling"}[self.fit]
        states = "1 state" if self.n_states == 1 else f"{self.n_states} states"
        particles = "" if self.particles == 1 else f", {self.particles} particles in each"
        n_new = self.n_new_tokens
        new = f"; perplexity of new terms {self.new_perplexity:.6g} ({n_new} values)" if n_new else ""
        return (
            f"perplexity {self.perplexity:.6g}{error}: {self.method}{how}; {self.n_tokens} values of "
            f"{len(self.names)} groups ({printable(self.label)}){new}; {states}{particles}"
        )

    def __repr__(self) -> str:
        return f"<Evaluation: {self}>"


@attrs.define(kw_only=True)
class Scorer:
    """Scores of groups in one state after another; a unit is a group, if nothing else is said."""

    data: GroupedData
    held_out: GroupedData | None
    particles: int
    source: ChoiceSource
    fit: str | None = None
    layout: Layout | None = None  # the groups, and their values that are scored

    def score(self, franchise: Franchise) -> Floats:
        """Log probability of each unit in a state, by each particle: shape (particles, n_units)."""
        raise NotImplementedError

    @property
    def group(self) -> Int64s:
        """Group of each unit."""
        assert self.layout is not None
        return np.arange(len(self.layout.names))

    def average(self, logs: list[Floats]) -> tuple[Floats, float]:
        """Averages over states and particles, and the standard error of their sum."""
        return averaged(logs, self.group)

    def of_new(self, units: Floats) -> tuple[Floats, Int64s]:
        """Log probability of the new terms of each group, given that they are new, and their number."""
        return np.zeros(len(units)), np.zeros(len(units), dtype=np.int64)


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf


def averaged(
    logs: Sequence[Floats], group: Int64s, given: Sequence[Floats] | None = None
) -> tuple[Floats, float]:
    """Log mean probability of each unit over particles and states, and the standard error of their sum."""
    # An array (n_particles, n_units) a state. With `given`, probabilities of what units are conditional on,
    # these are divided by their mean. The error is to first order.
    by_state = np.array([log_mean_exp(state) for state in logs])
    mean = log_mean_exp(by_state)
    if given is not None:
        return _ratio(logs, by_state, given)
    n_states, n_particles = len(by_state), len(logs[0])
    if n_states > 1:
        # To first order, log of a mean varies as the sum of its terms, each relative to the mean.
        influence = np.expm1(by_state - mean).sum(axis=1)
        return mean, float(np.std(influence, ddof=1) / math.sqrt(n_states))
    if n_particles > 1:
        influence = np.zeros((int(group.max(initial=-1)) + 1, n_particles))
        np.add.at(influence, group, np.expm1(logs[0] - mean).T)
        return mean, math.sqrt(float(np.var(influence, axis=1, ddof=1).sum()) / n_particles)
    return mean, math.nan


def _ratio(logs: Sequence[Floats], by_state: Floats, given: Sequence[Floats]) -> tuple[Floats, float]:
    """`averaged` of a ratio of two means, of draws that all units have in common."""
    above, below = by_state, np.array([log_mean_exp(state) for state in given])
    if len(logs) == 1:  # of particles instead
        above, below = logs[0], given[0]
    means = log_mean_exp(by_state), log_mean_exp(below)
    influence = (np.expm1(above - means[0]) - np.expm1(below - means[1])).sum(axis=1)
    n = len(influence)
    error = float(np.std(influence, ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return means[0] - means[1], error


def log_mean_exp(logs: Floats) -> Floats:
    """Log of the mean of exponentials over the first axis."""
    top = logs.max(axis=0)
    mean: Floats = top + np.log(np.mean(np.exp(logs - top), axis=0))
    return mean


def states_of(states: Any) -> Iterator[Franchise]:
    """Franchises in these states, one after another; a generator is advanced when its next is needed."""
    if isinstance(states, Franchise | Draw):
        yield _state(states)
        return
    if isinstance(states, Run):
        states = states.franchises()
    elif isinstance(states, ChainTrace):
        states = states.franchises
    wrong = isinstance(states, str | bytes | Mapping | Set | type)
    # A closed file, or an array without a dimension, is iterable by its class only.
    empty = getattr(states, "closed", False) is True or getattr(states, "ndim", None) == 0
    if wrong or empty or not isinstance(states, Iterable):
        raise ParameterError("states", states, "a Franchise, or several in an iterable", _REMEDY)
    number = 0
    for state in states:
        yield _state(state)
        number += 1
    if number == 0:
        raise ParameterError("states", states, "at least one state", _REMEDY)


def _state(state: Any) -> Franchise:
    if isinstance(state, Draw):
        if state.franchise.sweep != state.sweep:
            raise StateError(
                "states", f"a draw of sweep {state.sweep} of a franchise at sweep {state.franchise.sweep}",
                "draws that are used as they come, or copies",
                "Pass the generator itself, or keep [draw.franchise.copy() for draw in ...].",
            )  # fmt: skip
        return state.franchise
    if isinstance(state, Franchise):
        return state
    raise ParameterError("states", state, "a Franchise or a Draw", _REMEDY)
