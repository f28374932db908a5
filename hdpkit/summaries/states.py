"""The states of a run from which summaries are computed: those after the burn-in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hdpkit.franchise import Franchise, Sample
from hdpkit.record import ChainTrace, StoredSamples, Trace
from hdpkit.schedule import Run

__all__ = ["burn_in", "settled_samples", "states_of_run", "sweeps_text"]


def burn_in(trace: Trace | ChainTrace) -> int:
    """The last sweep of the burn-in: half of the recorded draws that all chains have. 0 if there are none.

    Parameters
    ----------
    trace : Trace or ChainTrace
    """
    chains = trace.chains if isinstance(trace, ChainTrace) else [trace]
    n = min((chain.n_draws for chain in chains), default=0)
    return int(np.asarray(chains[0]["sweep"])[n // 2 - 1]) if n > 1 else 0


def settled_samples(given: Trace | ChainTrace | Run) -> Sequence[Sample]:
    """The kept samples of a run after its burn-in; all of them if none is later.

    A run that was continued has samples from before its chains settled.

    Parameters
    ----------
    given : Trace, ChainTrace or Run
    """
    if isinstance(given, Run):
        after, stored = burn_in(given.trace), given.samples
        return StoredSamples(file for file in stored.files if file.sweep > after) or stored
    after, samples = burn_in(given), given.samples
    return tuple(sample for sample in samples if sample.sweep > after) or samples


def states_of_run(run: Run, chain: int | None = None) -> tuple[list[Sample], list[Franchise]]:
    """The kept samples of a run after its burn-in with the newest states of its chains; and these states.

    Parameters
    ----------
    run : Run
    chain : int, optional
        Number of a chain, for only its states.

    Returns
    -------
    samples : list of Sample
        Ordered by chain and sweep.
    franchises : list of Franchise
        One for each chain that has a checkpoint.

    Raises
    ------
    RunError
        If no chain has a checkpoint.
    """
    standing = [number for number, sweep in enumerate(run.sweeps) if sweep is not None]
    franchises = [run.franchise(number) for number in (standing or [0] if chain is None else [chain])]
    newest = [franchise.sample() for franchise in franchises]
    after, chains = burn_in(run.trace), {one.chain for one in newest}
    of = {(one.chain, one.sweep): one for one in newest}
    for file in run.samples.files:
        if file.sweep > after and (one := file.read()).chain in chains:
            of.setdefault((one.chain, one.sweep), one)
    return [of[place] for place in sorted(of)], franchises


def sweeps_text(samples: Sequence[Sample]) -> str:
    """The sweeps of samples in words: "sweeps 310 to 600".

    Parameters
    ----------
    samples : sequence of Sample
    """
    first, last = (pick(sample.sweep for sample in samples) for pick in (min, max))
    return f"sweep {last}" if first == last else f"sweeps {first} to {last}"
