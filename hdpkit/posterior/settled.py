"""The states of a run after its burn-in, which summaries use, and samples of whatever has some."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Self

import attrs
import numpy as np

from hdpkit.checks import items, whole_number
from hdpkit.errors import RUN_FIRST, DataError, ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.comparison.convergence import FEWEST_DRAWS
from hdpkit.posterior.topic_labels import LABELS, LabelRow, read_topic_labels
from hdpkit.run.runs import Run, open_run
from hdpkit.run.samples import StoredSamples
from hdpkit.run.states import ChainState, state_of
from hdpkit.run.trace import ChainTrace, Trace, chains_in, last_of_burn_in


def far_enough(trace: Trace | ChainTrace) -> dict[int, Trace]:
    """The chains by number, without those that were stopped before half of the draws of the longest one."""
    chains = chains_in(trace)
    most = max((chain.n_draws for chain in chains.values()), default=0)
    return {number: chain for number, chain in chains.items() if 0 < most <= 2 * chain.n_draws}


def burn_in(trace: Trace | ChainTrace) -> int:
    """The last sweep of the burn-in: half of the recorded draws that all chains have. 0 if there are none."""
    chains = list(far_enough(trace).values())
    n = min((chain.n_draws for chain in chains), default=0)
    return last_of_burn_in(np.asarray(chains[0]["sweep"])[:n]) if n else 0


_PART = 20  # draws of a chain are compared in twentieths
_APART = 3.0  # standard deviations


def settled_after(trace: Trace | ChainTrace) -> int:
    """The last sweep before all chains had settled, from the end of the burn-in to three quarters."""
    after, chains = burn_in(trace), list(far_enough(trace).values())
    n = min((chain.n_draws for chain in chains), default=0)
    size, first = n // _PART, n // 2
    if n // 4 < FEWEST_DRAWS:
        return after
    for chain in chains:
        values = np.asarray(chain["log_joint"][first:n], dtype=np.float64)
        end = values[-(n // 4) :]
        parts = values[: (len(values) - len(end)) // size * size].reshape(-1, size).mean(axis=1)
        off = np.flatnonzero(np.abs(parts - end.mean()) > _APART * end.std())
        if len(off):
            after = max(after, int(chain["sweep"][first + (off[-1] + 1) * size - 1]))
    return after


def settled_samples(given: Trace | ChainTrace | Run) -> Sequence[Sample]:
    """The kept samples of a run after its chains settled; all of them if none is later."""
    if isinstance(given, Run):
        after, stored = settled_after(given.trace), given.samples
        return StoredSamples(file for file in stored.files if file.sweep > after) or stored
    after, samples = settled_after(given), given.samples
    return tuple(sample for sample in samples if sample.sweep > after) or samples


def states_of_run(run: Run, chain: int | None = None) -> tuple[list[Sample], list[ChainState]]:
    """The kept samples of a run after its chains settled, with their newest states; and these states."""
    chosen = far_enough(run.trace)
    standing = [n for n, sweep in enumerate(run.sweeps) if sweep is not None and (n in chosen or not chosen)]
    states = [run.state(number) for number in (standing or [0] if chain is None else [chain])]
    after = settled_after(run.trace)
    kept = (file.read() for file in run.samples.files if file.sweep > after)
    return with_newest((one for one in kept if isinstance(one, Sample)), states), states


def with_newest(kept: Iterable[Sample], states: Sequence[ChainState]) -> list[Sample]:
    """Kept samples of the chains of these states, and those of the states, by chain and sweep."""
    of = {(one.sample.chain, one.sample.sweep): one.sample for one in states}
    chains = {chain for chain, _ in of}
    for one in kept:
        if one.chain in chains:
            of.setdefault((one.chain, one.sweep), one)
    return [of[place] for place in sorted(of)]


def sweeps_text(samples: Sequence[Sample]) -> str:
    """The sweeps of samples in words: "sweeps 310 to 600"."""
    first, last = (pick(sample.sweep for sample in samples) for pick in (min, max))
    return f"sweep {last}" if first == last else f"sweeps {first} to {last}"


_SOME = "Run with samples=40, or pass franchise.sample() of several states."


@attrs.frozen(eq=False, slots=False)
class Fitted:
    """What an estimator has of its fit: samples, the newest states of the chains, labels that people gave."""

    samples: Sequence[Sample]
    states: Sequence[ChainState]
    label_rows: Sequence[LabelRow] = ()

    @classmethod
    def of(
        cls, trace: Trace | ChainTrace, franchises: Sequence[Franchise], label_rows: Sequence[LabelRow] = ()
    ) -> Self:
        """Those after the chains settled."""
        chosen, after = far_enough(trace), settled_after(trace)
        pairs = zip(chains_in(trace), franchises, strict=True)
        states = [state_of(one) for number, one in pairs if number in chosen]
        return cls(
            with_newest((one for one in trace.samples if one.sweep > after), states), states, label_rows
        )


def samples_of(given: Any, chain: int | None = None) -> tuple[tuple[Sample, ...], dict[str, Any]]:
    """Samples from an argument: one or more, of the same data; and what is known of the run beside them."""
    if chain is not None:
        chain = whole_number("chain", chain, 0, remedy="Chains are numbered from 0.")
    if isinstance(given, str | os.PathLike):
        given = open_run(given)
    found, of = _read(given, chain)
    samples = items("given", found, "a sequence of samples, or a run that kept some", remedy=_SOME)
    for sample in samples:
        if not isinstance(sample, Sample):
            raise ParameterError("given", sample, "samples", _SOME)
    if chain is not None and samples:
        numbers = sorted({sample.chain for sample in samples})
        if chain not in numbers:
            raise ParameterError("chain", chain, f"one of {numbers}", "Leave it out for all chains.")
        samples = tuple(sample for sample in samples if sample.chain == chain)
    if not samples:
        raise DataError("given", given, "at least one sample", _SOME)
    if any((sample.counts is None) != (samples[0].counts is None) for sample in samples):
        raise DataError("samples", "of words and of numbers", "of one run's data", "Align them separately.")
    if not any(sample.n_dishes for sample in samples):
        raise DataError("samples", "without a dish", "of a franchise with customers seated", RUN_FIRST)
    return samples, of


def _read(given: Any, chain: int | None) -> tuple[Any, dict[str, Any]]:
    """Samples, and the data, newest states and labels of a run."""
    if isinstance(given, Run):
        samples, states = states_of_run(given, chain)
        of: dict[str, Any] = {"data": given.data, "states": tuple(states)}
        of |= {"folder": given.folder, "digest": given.data_digest}
        if os.path.lexists(given.folder / LABELS) and hasattr(given.data, "n_terms"):
            of["label_rows"] = tuple(read_topic_labels(given.folder / LABELS, given.data.n_terms))
        return samples, of
    if isinstance(given, Trace | ChainTrace):
        return _of_trace(given), {}
    if isinstance(given, Franchise):
        state = state_of(given)
        return [state.sample], {"data": state.data, "states": (state,)}
    fitted = given if isinstance(given, Fitted) else getattr(given, "_fitted", None)
    if isinstance(fitted, Fitted):
        newest = tuple(fitted.states)
        rows = tuple(fitted.label_rows)
        return fitted.samples, {"data": newest[0].data, "states": newest, "label_rows": rows}
    return given, {}


def _of_trace(trace: Trace | ChainTrace) -> list[Sample]:
    """The samples after the chains settled, and the last states of several chains."""
    of = {(sample.chain, sample.sweep): sample for sample in settled_samples(trace)}
    if isinstance(trace, ChainTrace) and of:
        for number, last in zip(trace.numbers, trace.franchises, strict=False):
            if number in far_enough(trace) and (number, last.sweep) not in of:
                of[number, last.sweep] = last.sample()
    return [of[place] for place in sorted(of)]
