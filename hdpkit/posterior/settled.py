"""The states of a run after its burn-in, which summaries use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.comparison.convergence import FEWEST_DRAWS
from hdpkit.run.runs import Run
from hdpkit.run.samples import StoredSamples
from hdpkit.run.states import ChainState, state_of
from hdpkit.run.trace import ChainTrace, Trace, last_of_burn_in


def far_enough(trace: Trace | ChainTrace) -> dict[int, Trace]:
    """The chains by number, without those that were stopped before half of the draws of the longest one."""
    chains = {0: trace} if isinstance(trace, Trace) else dict(zip(trace.numbers, trace.chains, strict=True))
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
    """The last sweep before all chains had settled, from the end of the burn-in to three quarters.

    A chain has settled when the mean log joint of every later twentieth of its draws is within three standard
    deviations of that of its last quarter. With fewer than 20 draws in a quarter nothing is judged.
    """
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


def states_of_fit(
    trace: Trace | ChainTrace, franchises: Sequence[Franchise]
) -> tuple[list[Sample], list[ChainState]]:
    """The same of chains in memory, given their last states."""
    chosen, after = far_enough(trace), settled_after(trace)
    numbers = [0] if isinstance(trace, Trace) else trace.numbers
    states = [state_of(one) for number, one in zip(numbers, franchises, strict=True) if number in chosen]
    return with_newest((one for one in trace.samples if one.sweep > after), states), states


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
