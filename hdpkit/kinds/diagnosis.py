"""Verdicts on a run, in the words of its kind."""

from __future__ import annotations

import os
from typing import Any

from hdpkit.allowed import NotAllowed
from hdpkit.kinds.catalog import kind_named, kind_of, kind_of_run
from hdpkit.kinds.listing import Nouns
from hdpkit.posterior import verdicts
from hdpkit.posterior.comparison.convergence import ConvergenceRule
from hdpkit.posterior.verdicts import Diagnosis
from hdpkit.run.runs import Run, open_run


def diagnose(
    trace: Any,
    after: int | None = None,
    *,
    rule: ConvergenceRule | None = None,
    data: Any = None,
    words: Any = None,
    commands: bool = False,
) -> Diagnosis:
    """Judge whether a run can be read, and whether intervals and K can be quoted from it.

    The first verdict compares the components, the groups and the scores of the chains over the kept samples,
    the second the shares of these components; their rules are explained in docs/diagnostics.md. That on K is
    by R-hat and effective draws, and so is the second where no samples can be compared, of the log joint and
    the largest shares. This rule is that of `hdpkit.compare_schedules`, for the chains of one schedule; of
    more than eight chains as many effective draws are asked for as of eight. Raises a DataError if nothing is
    recorded, or nothing after ``after``; a ParameterError if an argument is out of range.

    Parameters
    ----------
    trace : Trace, ChainTrace, Run, path of its folder, or sequence of ChainTrace
        For one chain the rank-normalised R-hat is that of its two halves, for several that of all chains.
        In a sequence the chains of each trace began from one state (``init=None``, or the same start): many
        short chains, of which R-hat is the nested one (Margossian et al. 2022), and one draw each is enough.
    after : int, optional
        Leave out the sweeps up to this one; by default the first half of the recorded draws. Summaries leave
        out the samples of these sweeps too, and of later ones if a chain had not settled by then
        (`hdpkit.summaries.components`).
    rule : ConvergenceRule, optional
        By default R-hat at most 1.05, 50 effective draws per chain, and halves at most one standard deviation
        apart.
    data : Corpus, optional
        The data of a trace of topics, for the scores of left-out words. A run has its own, and so have chains
        with their final states.
    words : object, optional
        What topics, tokens and documents are called in the sentences: its attributes of these names. By
        default those of the kind of model.
    commands : bool
        Whether the advice names commands and their options, for the command line, instead of functions.

    Notes
    -----
    R-hat and effective sample sizes are ArviZ's. With fewer than 20 draws per chain neither is computed, and
    the sentence says so.
    """
    if isinstance(trace, str | os.PathLike):
        trace = open_run(trace)
    words = _nouns(trace, data) if words is None else words
    return verdicts.diagnose(trace, after, rule=rule, data=data, words=words, commands=commands)


def _nouns(trace: Any, data: Any) -> Nouns:
    """The words of the kind of a run, or else of data."""
    if isinstance(trace, Run):
        try:
            return kind_of_run(trace).nouns
        except NotAllowed:
            return kind_of(trace.data).nouns
    chains = getattr(trace, "franchises", ())
    if data is None and chains:
        data = chains[0].data
    if data is not None:
        return kind_of(data).nouns
    samples = getattr(trace, "samples", ())
    return kind_named("topics" if samples and samples[0].label == "document" else "mixture").nouns
