"""Sequences of a hidden Markov model, with states summed out: log probabilities, and forecasts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import items, numbers_between, whole_number
from hdpkit.data import Sequences
from hdpkit.errors import DataError, DeclarationError, ParameterError
from hdpkit.franchise.arguments import MOST_THREADS
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.evaluation.result import Scorer, averaged, states_of
from hdpkit.posterior.fold_in import Layout
from hdpkit.posterior.hidden_states import MOST_AHEAD, HiddenStates, hidden_states, values_of
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source


@attrs.define(kw_only=True)
class Forward(Scorer):
    """Log probabilities of sequences, or of their continuations given their beginnings."""

    threads: int = 1
    begun: list[Floats] = attrs.field(factory=list)  # log probability of the beginnings, by state

    def average(self, logs: list[Floats]) -> tuple[Floats, float]:
        """Log probability of each sequence, and the standard error of the sum: all have the same draws."""
        return averaged(logs, np.zeros_like(self.group), self.begun or None)

    def score(self, franchise: Franchise, sample: Sample | None = None) -> Floats:
        """Log probability of each sequence for each draw of parameters: shape (particles, n_sequences)."""
        values, missing, bounds, begins = self._sequences(franchise)
        logs, begun = np.empty((2, self.particles, len(bounds) - 1))
        for p in range(self.particles):
            states = hidden_states(franchise, "drawn", self.source, sample)
            norms, _ = states.log_probabilities(values, missing, bounds, self.threads)
            of = np.append(0.0, np.cumsum(norms))
            logs[p], begun[p] = of[bounds[1:]] - of[bounds[:-1]], of[begins] - of[bounds[:-1]]
        if self.held_out is not None:
            self.begun.append(begun)
        return logs

    def _sequences(self, franchise: Franchise) -> tuple[Any, Any, Int64s, Int64s]:
        """Values, which are missing, bounds of whole sequences, and the ends of their beginnings."""
        values, data = values_of(franchise, self.data)
        label = data.label_names[0] if data.label_names else "sequence"
        if self.held_out is None:
            self._lay(label, data.names, ~data.missing, data.offsets)
            return values, data.missing, data.offsets, data.offsets[:-1]
        more, held = values_of(franchise, self.held_out)
        if held.names != data.names:
            raise DataError(
                "held_out", f"{held.n_sequences} sequences, from {list(held.names[:1])}",
                f"the sequences of data, in the same order: {data.n_sequences}, from {list(data.names[:1])}",
                "Build both with the same names, and with empty sequences where there is nothing.",
            )  # fmt: skip
        self._lay(label, data.names, ~held.missing, held.offsets)
        parts, absent = [], []
        for (a, b), (c, d) in zip(
            itertools.pairwise(data.offsets.tolist()), itertools.pairwise(held.offsets.tolist()), strict=True
        ):
            parts += [values[a:b], more[c:d]]
            absent += [data.missing[a:b], held.missing[c:d]]
        bounds = data.offsets + held.offsets
        return np.concatenate(parts), np.concatenate(absent), bounds, bounds[:-1] + data.lengths

    def _lay(self, label: str, names: tuple[Any, ...], scored: Any, offsets: Int64s) -> None:
        before = np.append(0, np.cumsum(scored))
        if not before[-1]:
            raise DataError("data", "no value", "with at least one value to be scored", "All are missing.")
        self.layout = Layout(label, names, np.flatnonzero(scored), before[offsets])


def of_samples(franchises: list[Franchise], samples: Iterable[Sample]) -> list[tuple[Franchise, Sample]]:
    """Samples with the franchise over whose data they are."""
    given = items("samples", samples, "samples of a chain", remedy="See trace.samples.")
    if len(franchises) != 1 or not given or any(not isinstance(one, Sample) for one in given):
        raise ParameterError(
            "samples", samples, "samples over the data of one franchise, which is given as states",
            "For instance hk.evaluate(franchise, data, samples=trace.samples).",
        )  # fmt: skip
    return [(franchises[0], sample) for sample in given]


@attrs.frozen(eq=False, repr=False, kw_only=True)
class Forecast:
    """The next values of sequences, as `hdpkit.forecast` returns them. Arrays are read-only.

    Attributes
    ----------
    names : tuple
        Name of each sequence.
    draws : array, shape (n_draws, n_sequences, horizon, ...)
        Values 1 to ``horizon`` steps after the last of each sequence, drawn together: ``draws[i, s]`` is one
        possible continuation.
    probabilities : float64 array, shape (n_sequences, horizon, n_terms), or None
        Of terms: the probability of each, computed rather than counted in the draws. None for other values.
    n_parameters : float64 array, shape (n_sequences,)
        Effective number of draws of parameters, 1 / sum of squares of their weights. All weigh the same for
        the sequences that the states were sampled with; for others they weigh as p(sequence | parameters),
        and a small number says that more samples are needed.
    """

    names: tuple[Any, ...]
    draws: npt.NDArray[Any]
    probabilities: Floats | None
    n_parameters: Floats

    @property
    def horizon(self) -> int:
        """Number of steps."""
        return int(self.draws.shape[2])

    @property
    def mean(self) -> Floats:
        """Mean of the drawn values: float64, shape (n_sequences, horizon, ...)."""
        return np.asarray(self.draws.mean(axis=0), dtype=np.float64)

    def quantiles(self, levels: Sequence[float] = (0.05, 0.5, 0.95)) -> Floats:
        """Quantiles of the drawn values.

        Returns a float64 array, shape (n_levels, n_sequences, horizon, ...).

        Parameters
        ----------
        levels : sequence of float
            From 0 to 1.
        """
        given = numbers_between("levels", levels, 0.0, 1.0, remedy="For instance [0.05, 0.5, 0.95].")
        return np.asarray(np.quantile(self.draws, np.ravel(given), axis=0), dtype=np.float64)

    def __repr__(self) -> str:
        n, sequences, steps = self.draws.shape[:3]
        return f"<Forecast: {sequences} sequences, {steps} steps, {n} draws>"


def forecast(
    states: Any,
    horizon: int,
    data: Sequences | None = None,
    *,
    samples: Iterable[Sample] | None = None,
    draws: int = 1000,
    particles: int = 1,
    threads: int = 1,
    rng: ChoiceSource | Seed = 0,
) -> Forecast:
    """Forecast the next values of sequences of a hidden Markov model.

    In each state of the chain, parameters are drawn given it, as in `evaluate`; the sequences are filtered,
    and values are drawn from the states ahead of their last one. Averages are over posterior states and
    draws: the posterior predictive distribution of the continuation. Raises a StateError if the model isn't
    one of `hk.PreviousDish`; a DataError or DeclarationError as for `Franchise.state_probabilities` with
    drawn parameters, or if the measure has no ``draw_values``; a ParameterError if an argument is out of
    range.

    Parameters
    ----------
    states : Franchise, Draw, Run, ChainTrace, or an iterable of franchises or draws
        Posterior states, as for `evaluate`.
    horizon : int
        Number of values after the last one of each sequence.
    data : Sequences, optional
        Beginnings of new sequences. None: the sequences of the states.
    samples : iterable of Sample, optional
        As for `evaluate`.
    draws : int
        Number of continuations of each sequence.
    particles : int
        Number of draws of parameters in each state.
    threads : int
        For the filters. The result doesn't depend on it.
    rng : seed, Generator or choice source
    """
    horizon = whole_number("horizon", horizon, 1, MOST_AHEAD, remedy="The number of values ahead.")
    draws = whole_number("draws", draws, 1, 2**31, remedy="1000 are usual.")
    particles = whole_number("particles", particles, 1, 2**31, remedy="One, if there are several states.")
    whole_number("threads", threads, 1, MOST_THREADS, remedy="One per processor is usual.")
    source, given = as_source(rng, Purpose.SIMULATE), states_of(states)
    pairs = ((one, None) for one in given) if samples is None else of_samples([*given], samples)
    sets: list[_Ahead] = []
    for franchise, sample in pairs:
        values, sequences = values_of(franchise, data)
        measure, own = franchise.measure, values_of(franchise, None)[1]
        if not measure.supports("draw_values"):
            raise DeclarationError(
                "base", type(measure).__name__, "a base measure with draw_values()", "Define it."
            )
        for _ in range(particles):
            fixed = hidden_states(franchise, "drawn", source, sample)
            norms, last = fixed.log_probabilities(values, sequences.missing, sequences.offsets, threads)
            # The states know their own sequences already.
            before = np.append(0.0, np.cumsum(norms * (sequences is not own)))[sequences.offsets]
            sets.append(_Ahead(measure, fixed, fixed.ahead(last, sequences.lengths)[:, 0], np.diff(before)))
    return _together(sets, sequences, own, horizon, draws, source)


@attrs.frozen(eq=False)
class _Ahead:
    """One draw of parameters: states, the distributions of the next ones, and log weights of sequences."""

    measure: Any
    states: HiddenStates
    next: Floats
    log_weight: Floats


def _together(
    sets: list[_Ahead], sequences: Sequences, own: Sequences, horizon: int, draws: int, source: ChoiceSource
) -> Forecast:
    """Averages over draws of parameters, by their weights."""
    logs, n = np.array([one.log_weight for one in sets]), sequences.n_sequences
    weights = np.exp(logs - logs.max(axis=0))
    weights /= weights.sum(axis=0)
    made = np.empty((draws, n, horizon, *own.values.shape[1:]), dtype=own.values.dtype)
    generator, chosen = source.generator, np.empty((draws, n), dtype=np.int64)
    for s, ends in enumerate(np.cumsum(weights, axis=0).T):  # systematic sampling, in random order
        places = (np.arange(draws) + generator.random()) * (ends[-1] / draws)
        chosen[:, s] = generator.permutation(np.searchsorted(ends, places, "right"))
    chosen = np.minimum(chosen, len(sets) - 1)
    n_terms = getattr(own, "n_terms", 0)
    probabilities = np.zeros((n, horizon, n_terms)) if n_terms else None
    for r, one in enumerate(sets):
        which, of = np.nonzero(chosen == r)
        if len(which):
            made[which, of] = _drawn(one, of, horizon, made, generator)
        if probabilities is not None:
            topics, ahead = np.exp(one.states.log_densities(np.arange(n_terms))), one.next
            for step in range(horizon):
                probabilities[:, step] += weights[r][:, None] * (ahead @ topics.T)
                ahead = ahead @ one.states.transitions
    effective = 1.0 / (weights**2).sum(axis=0)
    for array in (made, probabilities, effective):
        if array is not None:
            array.setflags(write=False)
    return Forecast(
        names=tuple(sequences.names), draws=made, probabilities=probabilities, n_parameters=effective
    )


def _drawn(one: _Ahead, s: Int64s, horizon: int, like: npt.NDArray[Any], generator: Any) -> npt.NDArray[Any]:
    """Continuations of these sequences: shape (n, horizon, ...)."""
    values = np.empty((len(s), *like.shape[2:]), dtype=like.dtype)
    rows = one.next[s]
    for step in range(horizon):
        ends = np.cumsum(rows, axis=1)
        u = generator.random(len(s)) * ends[:, -1]
        states = np.minimum((ends <= u[:, None]).sum(axis=1), rows.shape[1] - 1)
        for k in np.unique(states).tolist():
            here = np.flatnonzero(states == k)
            values[here, step] = one.measure.draw_values(one.states.parameters[k], len(here), generator)
        rows = one.states.transitions[states]
    return values
