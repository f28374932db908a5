"""Whether a run has converged, in one sentence; and its states after the burn-in, which summaries use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats
from hdpkit.checks import instance, whole_number
from hdpkit.comparison.convergence import (
    FEWEST_DRAWS,
    ConvergenceRule,
    LaterDraws,
    NumberDiagnosis,
    diagnosed,
    joint_rhat,
    reasons_of,
)
from hdpkit.errors import DataError, MissingExtraError
from hdpkit.franchise import Sample
from hdpkit.record import ChainTrace, StoredSamples, Trace
from hdpkit.schedule import Run
from hdpkit.schedule.states import ChainState

__all__ = ["Diagnosis", "burn_in", "diagnose", "settled_samples", "states_of_run", "sweeps_text"]


def burn_in(trace: Trace | ChainTrace) -> int:
    """The last sweep of the burn-in: half of the recorded draws that all chains have. 0 if there are none."""
    chains = trace.chains if isinstance(trace, ChainTrace) else [trace]
    n = min((chain.n_draws for chain in chains), default=0)
    return int(np.asarray(chains[0]["sweep"])[n // 2 - 1]) if n > 1 else 0


_PART = 20  # draws of a chain are compared in twentieths
_APART = 3.0  # standard deviations


def _settled_after(trace: Trace | ChainTrace) -> int:
    """The last sweep before all chains had settled, from the end of the burn-in to three quarters.

    A chain has settled when the mean log joint of every later twentieth of its draws is within three standard
    deviations of that of its last quarter. With fewer than 20 draws in a quarter nothing is judged.
    """
    after = burn_in(trace)
    chains = trace.chains if isinstance(trace, ChainTrace) else [trace]
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
        after, stored = _settled_after(given.trace), given.samples
        return StoredSamples(file for file in stored.files if file.sweep > after) or stored
    after, samples = _settled_after(given), given.samples
    return tuple(sample for sample in samples if sample.sweep > after) or samples


def states_of_run(run: Run, chain: int | None = None) -> tuple[list[Sample], list[ChainState]]:
    """The kept samples of a run after its chains settled, with their newest states; and these states."""
    standing = [number for number, sweep in enumerate(run.sweeps) if sweep is not None]
    states = [run.state(number) for number in (standing or [0] if chain is None else [chain])]
    newest = [state.sample for state in states]
    after, chains = _settled_after(run.trace), {one.chain for one in newest}
    of = {(one.chain, one.sweep): one for one in newest}
    for file in run.samples.files:
        if file.sweep > after and isinstance(one := file.read(), Sample) and one.chain in chains:
            of.setdefault((one.chain, one.sweep), one)
    return [of[place] for place in sorted(of)], states


def sweeps_text(samples: Sequence[Sample]) -> str:
    """The sweeps of samples in words: "sweeps 310 to 600"."""
    first, last = (pick(sample.sweep for sample in samples) for pick in (min, max))
    return f"sweep {last}" if first == last else f"sweeps {first} to {last}"


_SHARES = "largest_shares"
_REMEDY = "Scheduler.run returns a trace, hk.open_run(folder) a run."


@attrs.frozen(eq=False, kw_only=True)
class Diagnosis:
    """Whether the chains of a run have converged; ``str()`` is the sentence.

    Attributes
    ----------
    settled : bool
        Whether the rule holds. A single chain is judged by its two halves, which can't show whether another
        chain would agree.
    sentence : str
        One sentence: whether the run has converged, and what to do if it hasn't.
    reasons : tuple of str
        Why it hasn't; empty if it has.
    numbers : dict of NumberDiagnosis
        Mean, sd, R-hat, effective sample size and drift of "log_joint", "n_dishes", and "share_1" (of the
        data, of the largest dish) to "share_5".
    n_chains, n_draws : int
        Number of chains, and number of recorded draws of each chain that were used.
    after, last : int
        Sweeps up to ``after`` were left out; ``last`` is the last sweep that all chains have.
    """

    settled: bool
    sentence: str
    reasons: tuple[str, ...]
    numbers: Mapping[str, NumberDiagnosis] = attrs.field(repr=False)
    n_chains: int
    n_draws: int
    after: int
    last: int

    def __str__(self) -> str:
        return self.sentence

    @property
    def table(self) -> Any:
        """The numbers as a pandas.DataFrame: one row per number, columns mean, sd, rhat, ess, drift.

        Raises
        ------
        MissingExtraError
            Without pandas, which comes with ArviZ.
        """
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError(
                "pandas", None, "installed", "It comes with an extra: pip install 'hdpkit[arviz]'."
            ) from error
        return pandas.DataFrame.from_dict(
            {key: attrs.asdict(one) for key, one in self.numbers.items()}, orient="index"
        )


def diagnose(trace: Any, after: int | None = None, *, rule: ConvergenceRule | None = None) -> Diagnosis:
    """Judge whether a run has converged, by R-hat and effective draws of the log joint, K and the largest
    shares.

    The rule is that of `hdpkit.compare_schedules`, for the chains of one schedule.

    Parameters
    ----------
    trace : Trace, ChainTrace or Run
        For one chain the rank-normalised R-hat is that of its two halves, for several that of all chains.
    after : int, optional
        Leave out the sweeps up to this one; by default the first half of the recorded draws. Summaries leave
        out the samples of these sweeps too, and of later ones if a chain had not settled by then
        (`align_topics`).
    rule : ConvergenceRule, optional
        By default R-hat at most 1.05, 50 effective draws per chain, and halves at most one standard deviation
        apart.

    Returns
    -------
    Diagnosis

    Raises
    ------
    DataError
        If nothing is recorded, or nothing after ``after``.
    MissingExtraError
        Without ArviZ, which computes R-hat and effective sample sizes. With fewer than 20 draws per chain
        neither is computed, and the sentence says so.
    """
    instance("trace", trace, (Trace, ChainTrace, Run), "a Trace, a ChainTrace or a Run", remedy=_REMEDY)
    if after is not None:
        after = whole_number("after", after, 0, remedy="Leave it out for the first half.")
    rule = ConvergenceRule() if rule is None else rule
    instance("rule", rule, ConvergenceRule, "a ConvergenceRule", remedy="Leave it out.")
    if isinstance(trace, Run):
        trace = trace.trace
    chains = list(trace.chains) if isinstance(trace, ChainTrace) else [trace]
    n = min((chain.n_draws for chain in chains), default=0)
    if n == 0:
        raise DataError("trace", trace, "a trace with a draw of every chain", "Run some sweeps first.")
    sweeps = np.asarray(chains[0]["sweep"])[:n]
    if after is None:
        after = burn_in(trace)
    first = int(np.searchsorted(sweeps, after, side="right"))
    if first == n:
        raise DataError("after", after, f"below {sweeps[-1]}, the last sweep", "Leave less out, or run more.")
    kept = LaterDraws(_values(chains, first, n), math.nan)
    numbers = {key: diagnosed(values) for key, values in kept.values.items()}
    reasons = reasons_of(kept, numbers, len(chains), rule)
    facts = _Facts(len(chains), kept, numbers, after, int(sweeps[-1]), rule)
    return Diagnosis(
        settled=not reasons,
        sentence=_unsettled(facts, reasons) if reasons else _settled(facts),
        reasons=reasons,
        numbers=numbers,
        n_chains=len(chains),
        n_draws=kept.n_draws,
        after=after,
        last=int(sweeps[-1]),
    )


def _values(chains: Sequence[Trace], first: int, n: int) -> dict[str, Floats]:
    """The judged quantities by key: shape (n_chains, n_draws)."""
    values = {"log_joint": np.array([chain["log_joint"][first:n] for chain in chains], dtype=np.float64)}
    if all(_SHARES in chain for chain in chains):  # not recorded if dishes are observed
        values["n_dishes"] = np.array([chain["n_dishes"][first:n] for chain in chains], dtype=np.float64)
        shares = np.array([chain[_SHARES][first:n] for chain in chains])
        values |= {f"share_{i + 1}": shares[:, :, i] for i in range(shares.shape[2])}
    return values


# ---------------------------------------------------------------------- the sentence


@attrs.frozen
class _Facts:
    """The facts stated in the sentence."""

    n_chains: int
    kept: LaterDraws
    numbers: Mapping[str, NumberDiagnosis]
    after: int
    last: int
    rule: ConvergenceRule

    @property
    def where(self) -> str:
        return f"sweeps {self.after + 1} to {self.last}"

    @property
    def what(self) -> str:
        n_shares = sum(key.startswith("share_") for key in self.numbers)
        if not n_shares:
            return "the log probability" if len(self.numbers) == 1 else "the log probability and K"
        return f"the log probability, K and the {n_shares} largest shares"


def _settled(facts: _Facts) -> str:
    rhat = np.nanmax([one.rhat for one in facts.numbers.values()])
    ess = np.nanmin([one.ess for one in facts.numbers.values()])
    found = f"R-hat is at most {rhat:.2f}, with at least {ess:.0f} effective draws, for {facts.what}"
    if facts.n_chains == 1:
        return (
            f"One chain has converged by itself over {facts.where} (split {found}), but it can't show if "
            "other chains agree with it: run several (chains=4)."
        )
    return f"Converged: over {facts.where} of {facts.n_chains} chains {found}."


def _unsettled(facts: _Facts, reasons: Sequence[str]) -> str:
    who = "one chain" if facts.n_chains == 1 else f"{facts.n_chains} chains"
    begin = f"Not converged over {facts.where} of {who} ({'; '.join(reasons)}): "
    if facts.kept.n_draws < FEWEST_DRAWS:
        more = math.ceil(facts.last * FEWEST_DRAWS / max(facts.kept.n_draws, 1)) - facts.last
        return f"{begin}run about {_rounded(more):,} more sweeps."
    if np.isnan(facts.numbers["log_joint"].ess):
        return f"{begin}add a move that changes the dishes to the schedule."
    if _apart(facts):
        return (
            f"{begin}each chain agrees with itself, but not with the others, so more sweeps alone may not "
            "help: add moves that change whole dishes (SplitMerge, DishGibbs), or summarise all chains."
        )
    rule, judged = facts.rule, [one for one in facts.numbers.values() if not math.isnan(one.ess)]
    factor = 2.0  # while a chain drifts, its effective draws don't predict the time needed
    if not any(one.rhat > rule.rhat or one.drift > rule.drift for one in judged):
        factor = 1.1 * rule.ess * facts.n_chains / max(min(one.ess for one in judged), 1.0)
    advice = f"run about {_rounded(facts.last * (factor - 1.0)):,} more sweeps"
    if facts.n_chains == 1:
        advice += ", and several chains to see whether they agree"
    return f"{begin}{advice}."


def _apart(facts: _Facts) -> bool:
    """Whether each chain is stationary but the chains don't agree with each other."""
    rule = facts.rule
    differ = [key for key, one in facts.numbers.items() if one.rhat > rule.rhat]
    if facts.n_chains == 1 or not differ:
        return False
    still = all(
        not joint_rhat(values[None]) > rule.rhat for key in differ for values in facts.kept.values[key]
    )
    return still and all(not one.drift > rule.drift for one in facts.numbers.values())


def _rounded(number: float) -> int:
    """A number of sweeps rounded to one or two leading digits."""
    step = 10 ** max(math.floor(math.log10(max(number, 1.0))) - 1, 0)
    return math.ceil(number / step) * step
