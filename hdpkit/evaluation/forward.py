"""Log probability of sequences of a hidden Markov model, with states summed out by the forward pass."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import items
from hdpkit.data import GroupedData
from hdpkit.errors import DataError, ParameterError
from hdpkit.evaluation.result import averaged
from hdpkit.franchise import Franchise, Sample
from hdpkit.franchise.fixed_states import fixed_states, values_of
from hdpkit.franchise.new_labels import Layout
from hdpkit.random import ChoiceSource

__all__ = ["Forward"]


@attrs.define
class Forward:
    """Log probabilities of sequences, or of their continuations given their beginnings."""

    data: GroupedData
    held_out: GroupedData | None
    particles: int
    source: ChoiceSource
    threads: int = 1
    fit: str | None = None
    layout: Layout | None = None
    begun: list[Floats] = attrs.field(factory=list)  # log probability of the beginnings, by state

    @property
    def group(self) -> Int64s:
        """Each sequence is a unit."""
        assert self.layout is not None
        return np.arange(len(self.layout.names))

    def of_new(self, units: Floats) -> tuple[Floats, Int64s]:
        """No value is new to an observed half, as in `_LeftToRight`."""
        return np.zeros(len(units)), np.zeros(len(units), dtype=np.int64)

    def average(self, logs: list[Floats]) -> tuple[Floats, float]:
        """Log probability of each sequence, and the standard error of the sum: all have the same draws."""
        return averaged(logs, np.zeros_like(self.group), self.begun or None)

    def of_samples(self, franchises: list[Franchise], samples: Iterable[Sample]) -> list[Floats]:
        """Log probabilities in the states of samples of one franchise."""
        given = items("samples", samples, "samples of a chain", remedy="See trace.samples.")
        if len(franchises) != 1 or not given:
            raise ParameterError(
                "samples", given, "samples over the data of one franchise, which is given as states",
                "For instance hk.evaluate(franchise, data, samples=trace.samples).",
            )  # fmt: skip
        return [self.score(franchises[0], sample) for sample in given]

    def score(self, franchise: Franchise, sample: Sample | None = None) -> Floats:
        """Log probability of each sequence for each draw of parameters: shape (particles, n_sequences)."""
        values, missing, bounds, begins = self._sequences(franchise)
        logs, begun = np.empty((2, self.particles, len(bounds) - 1))
        for p in range(self.particles):
            states = fixed_states(franchise, "drawn", self.source, sample)
            of = np.append(0.0, np.cumsum(states.log_probabilities(values, missing, bounds, self.threads)))
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
