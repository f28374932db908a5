"""The samples that summaries are given: of a run, its folder, a trace, a fitted model, or themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import attrs

from hdpkit.checks import items, whole_number
from hdpkit.errors import RUN_FIRST, DataError, ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.settled import far_enough, settled_samples, states_of_fit, states_of_run
from hdpkit.posterior.topic_labels import LABELS, LabelRow, read_topic_labels
from hdpkit.run.runs import Run, open_run
from hdpkit.run.states import ChainState, state_of
from hdpkit.run.trace import ChainTrace, Trace

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
        return cls(*states_of_fit(trace, franchises), label_rows)


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
        of: dict[str, Any] = {
            "data": given.data,
            "states": tuple(states),
            "folder": given.folder,
            "digest": given.data_digest,
        }
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
