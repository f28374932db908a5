"""`hdpkit.compare_schedules`: chains of several schedules for the same time."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hdpkit.checks import (
    MOST_CHAINS,
    choice,
    function,
    instance,
    positive_number,
    real_number,
    whole_number,
)
from hdpkit.errors import InterruptedRunWarning, ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.posterior.comparison.chains import (
    CLOCKS,
    Runs,
    Standing,
    candidates_of,
    run_all,
    starts_of,
)
from hdpkit.posterior.comparison.convergence import (
    ConvergenceRule,
    LaterDraws,
    diagnosed,
    joint_rhat,
    later_draws,
    reasons_of,
    worst_of,
)
from hdpkit.posterior.comparison.result import Comparison, ScheduleResult
from hdpkit.random import Seed, Streams
from hdpkit.run.collect import check_on_interrupt


def compare_schedules(
    schedules: Mapping[str, Any],
    franchise: Franchise | None = None,
    *,
    seconds: float = 60.0,
    chains: int = 2,
    rng: Seed = 0,
    inits: Any = None,
    burn_in: float = 0.5,
    within: float = 0.001,
    shares: int = 5,
    rule: ConvergenceRule | None = None,
    clock: str = "wall",
    progress: Callable[[Standing], Any] | None = None,
    on_interrupt: str = "return",
) -> Comparison:
    """Run several schedules for the same time, and compare their draws.

    Chains run one after the other in this process, chain 0 of every schedule before any chain 1, so that slow
    periods of the machine don't fall on one schedule. Only the time of the moves counts; a sweep that has
    begun is completed. (A chain whose recording is slow ends after twenty times ``seconds`` by the wall
    clock.) A schedule that has not converged by ``rule`` has no effective sample size, and the result says
    why. Raises, before the first chain, a ParameterError or ScheduleError if an argument is out of range, a
    franchise doesn't support a move or a start, or the franchises have different models. The error that a
    move raised is raised if no schedule has a chain without errors; otherwise it is in
    ``comparison.failures``.

    Parameters
    ----------
    schedules : dict
        Name -> a sequence of moves or a `Scheduler`, which run on copies of ``franchise``, or an
        `hk.Candidate`, which has its own franchise. All franchises must have the same restaurants and data;
        stores, kernels, and ``root="weights"`` in place of ``"restaurant"`` may differ.
    franchise : Franchise, optional
        Not changed. Required unless every schedule is a `Candidate`.
    seconds : float
        Time of the moves of each chain.
    chains : int
        Number of chains of each schedule. With one chain, R-hat is that of its two halves.
    rng : seed
        Chain c of every schedule has the seed rng + c.
    inits : list of starts, optional
        Chain c starts from entry c, modulo their number; starts should be overdispersed. By default those of
        "auto", "one" and "sequential" that the model supports.
    burn_in : float
        Share of each chain's time that is left out, from 0 to below 1.
    within : float
        The target is the best chain's mean log joint minus this share of its absolute value.
    shares : int
        The number of largest dishes whose shares of the data are compared.
    rule : ConvergenceRule, optional
        When a schedule counts as converged: by default R-hat at most 1.05, 50 effective draws per chain and
        halves of a chain within one standard deviation, for K, log joint and shares.
    clock : "wall" or "processor"
        How time is measured. "processor" counts the time that all threads of this process had a processor:
        use it on a machine that runs other programs.
    progress : function, optional
        Called with a `Standing` several times a second and at the end of each chain.
    on_interrupt : "return" or "raise"
        What Ctrl-C does: "return" returns the comparison so far and warns
        (`hk.errors.InterruptedRunWarning`); "raise" raises KeyboardInterrupt, whose attribute ``comparison``
        is the comparison so far. If no chain has begun, KeyboardInterrupt is always raised.

    Notes
    -----
    The log joint is log p(dishes of the customers, numbers of tables of each restaurant and dish, data,
    hyperparameters with a prior), with seatings summed out, and weights of the root and parameters of dishes
    integrated out (docs/mixing.md), since not all states have these. It is higher than ``trace["log_joint"]``
    of
    a store that keeps table sizes, and equals that of a store of counts apart from the weights.
    """
    seconds = positive_number("seconds", seconds)
    chains = whole_number("chains", chains, 1, MOST_CHAINS)
    shares = whole_number("shares", shares, 1, 1000, remedy="5 are usual.")
    burn_in = _share("burn_in", burn_in, "0.5 leaves out the first half.")
    within = _share("within", within, "0.001 is one in a thousand.")
    if rule is None:
        rule = ConvergenceRule()
    instance("rule", rule, ConvergenceRule, "a ConvergenceRule, or None", remedy="Leave it out.")
    choice("clock", clock, CLOCKS, remedy="Leave it out for the wall clock.")
    if progress is not None:
        function("progress", progress, remedy="Give a function of a Standing.")
    check_on_interrupt(on_interrupt)
    candidates = candidates_of(schedules, franchise)
    starts = starts_of(inits, candidates)
    seed = Streams(rng).seed
    runs = run_all(candidates, seconds, chains, seed, starts, shares, clock, progress)
    if not runs.whole:
        if runs.interrupted:
            raise KeyboardInterrupt
        raise next(iter(runs.failures.values()))
    comparison = _compared(runs, seconds, burn_in, within, rule, seed, clock)
    return _ended(comparison, on_interrupt)


def _share(name: str, value: Any, remedy: str) -> float:
    number = real_number(name, value, remedy=remedy)
    if not 0.0 <= number < 1.0:
        raise ParameterError(name, value, "a number from 0 to below 1", remedy)
    return number


def _compared(
    runs: Runs, seconds: float, burn_in: float, within: float, rule: ConvergenceRule, seed: int, clock: str
) -> Comparison:
    done = runs.whole
    kept = {name: later_draws(chains, burn_in) for name, chains in done.items()}
    diagnoses = {
        name: {key: diagnosed(values) for key, values in own.values.items()} for name, own in kept.items()
    }
    reasons = {name: reasons_of(kept[name], diagnoses[name], len(done[name]), rule) for name in done}
    reasons |= _disagreements(kept, reasons, rule)
    best, best_chain = _best(kept)
    target = best - within * abs(best)
    results = {
        name: ScheduleResult(
            name=name,
            chains=chains,
            kept=kept[name].values,
            n_draws=kept[name].n_draws,
            kept_seconds=kept[name].seconds,
            diagnoses=diagnoses[name],
            reasons=reasons[name],
            seconds_to_target=np.array(
                [np.min(chain.seconds[chain.log_joint >= target], initial=math.inf) for chain in chains]
            ),
        )
        for name, chains in done.items()
    }
    return Comparison(
        results=results, seconds=seconds, burn_in=burn_in, rule=rule, best=best, best_chain=best_chain,
        within=within, target=target, seed=seed, interrupted=runs.interrupted, failures=runs.failures,
        clock=clock,
    )  # fmt: skip


def _disagreements(
    kept: Mapping[str, LaterDraws], reasons: Mapping[str, tuple[str, ...]], rule: ConvergenceRule
) -> dict[str, tuple[str, ...]]:
    """Reasons for schedules whose chains agree with each other, but not with those of most others."""
    settled = [name for name, own in reasons.items() if not own]
    apart: dict[str, dict[str, dict[str, float]]] = {name: {} for name in settled}
    for one, other in itertools.combinations(settled, 2):
        n = min(kept[one].n_draws, kept[other].n_draws)
        together = {
            key: joint_rhat(np.concatenate([values[:, -n:], kept[other].values[key][:, -n:]]))
            for key, values in kept[one].values.items()
        }
        beyond = {key: rhat for key, rhat in together.items() if rhat > rule.rhat}
        if beyond:
            apart[one][other] = apart[other][one] = beyond
    return {
        name: tuple(
            f"its chains agree with each other, but not with those of {other}: R-hat of both together: "
            f"{worst_of(beyond, max)}"
            for other, beyond in others.items()
        )
        for name, others in apart.items()
        if 2 * len(others) > len(settled) - 1
    }


def _best(kept: Mapping[str, LaterDraws]) -> tuple[float, tuple[str, int] | None]:
    """The highest mean log joint of a chain, and its schedule and number."""
    means = {
        (name, c): float(values.mean())
        for name, own in kept.items()
        for c, values in enumerate(own.values["log_joint"])
        if own.n_draws
    }
    if not means:
        return math.nan, None
    best = max(means, key=lambda which: means[which])
    return means[best], best


def _ended(comparison: Comparison, on_interrupt: str) -> Comparison:
    if not comparison.interrupted:
        return comparison
    text = "Ctrl-C ended the comparison early: what was done so far is compared"
    if on_interrupt == "raise":
        error: Any = KeyboardInterrupt(text)
        error.comparison = comparison
        raise error
    warnings.warn(text, InterruptedRunWarning, stacklevel=3)
    return comparison
