"""`hdpkit.check_mixing`: do chains disagree because the model doesn't fit, or because the sampler is slow?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats
from hdpkit.checks import choice, function, instance, positive_number, text, whole_number
from hdpkit.errors import DeclarationError, HdpkitError, ParameterError, StateError, printable
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves import (
    BaseMeasureParameters,
    BeamSampler,
    Concentration,
    CountGibbs,
    Discount,
    DishGibbs,
    DishParameters,
    Move,
    RootWeights,
    SelectorCounts,
    Smoothing,
    SplitMergeStates,
    Sticky,
    TableGibbs,
)
from hdpkit.moves.protocol import check_move
from hdpkit.posterior.comparison.chains import (
    CLOCKS,
    Candidate,
    ChainRecord,
    Limit,
    ProgressFailed,
    Standing,
    run_chain,
    shown,
    starts_of,
    teller,
)
from hdpkit.posterior.comparison.convergence import (
    FEWEST_DRAWS,
    ConvergenceRule,
    NumberDiagnosis,
    diagnosed,
    later_draws,
    reasons_of,
)
from hdpkit.posterior.comparison.predictive import (
    BEYOND,
    CELLS,
    COUNTS,
    COVARIANCE,
    FOURTH,
    GROUPS,
    VARIANCE,
    StatisticCheck,
    check_statistics,
    predictive_checks,
)
from hdpkit.posterior.comparison.result import markdown
from hdpkit.random import Purpose, Seed, Streams
from hdpkit.run.runs import Run, Scheduler

NAMES = {"data": "data", "simulated": "simulated copy", "redrawn": "redrawn copy"}
"""What the three sides of a check are called, by attribute."""

WORDS = {"document": "document", "term": "term", "topic": "dish"}
"""What documents, terms and dishes are called; commands pass those of the field."""

_LABELS = {
    CELLS: "different pairs of {document} and {term}",
    COUNTS: "variance of counts within a {topic} (independent draws: 1)",
    VARIANCE: "variance within a {topic}",
    FOURTH: "fourth moment within a {topic}",
    GROUPS: "variance of the means of groups within a {topic}",
    COVARIANCE: "variance of the sum of coordinates within a {topic}",
}


def label_of(name: str, words: Mapping[str, str]) -> str:
    """What a statistic is called."""
    return _LABELS[name].format(**words) if name in _LABELS else printable(name)


def sentence(check: Any, words: Mapping[str, str] = WORDS) -> str:
    """The verdict, why, and what helps."""
    write = {"misfit": _misfit, "slow": _slow, "converged": _converged}
    return write[check.verdict](check, words)


def _misfit(check: Any, words: Mapping[str, str]) -> str:
    name, checks = check.misfits[0], check.data.checks[-1]
    here, there = checks[name], check.simulated.checks[-1][name]
    found = (
        f"The model does not fit: {label_of(name, words)}: {_shown(here.observed)} in the data, "
        f"{_shown(here.expected)} (standard deviation {_shown(here.sd)}) in copies drawn from the model in "
        "its fitted state"
    )
    right = (
        f"In a copy that was simulated from the model, these numbers are {_shown(there.observed)} and "
        f"{_shown(there.expected)}."
    )
    more = [
        _compared(other, one, words)
        for other, one in checks.items()
        if other != name and abs(one.distance) > BEYOND
    ]
    also = f" Also: {'; '.join(more)}." if more else ""
    chains = (
        f"The chains over the data agree {_in(check)}."
        if check.data.agree
        else f"The chains over the data are {_nats(check.data)} apart {_in(check)}, those over that copy "
        f"{_nats(check.simulated)}."
    )
    repeats = (name == CELLS and here.distance < 0) or (name == COUNTS and here.distance > 0)
    helps = (
        f"Values repeat within a {words['document']} more than it allows: let every {words['document']} have "
        f"its own version of each {words['topic']} (--bursty, in Python hk.Bursty)."
        if repeats
        else "It needs something else to explain what it finds."
    )
    return f"{found}. {right}{also} {chains} More sweeps don't change this. {helps}"


def _slow(check: Any, words: Mapping[str, str]) -> str:
    starts = ", ".join(check.data.starts)
    begin = (
        f"The sampler is too slow for these data: {_in(check)} chains from different starts ({starts}) don't "
        f"agree ({_agreement(check.data)}); they are {_nats(check.data)} apart."
    )
    if check.simulated.agree:
        rest = (
            f"Over a copy simulated from the model they agree, so these data are harder than data of the "
            f"model, but no statistic says in what they differ ({_statistics(check, words)})."
        )
    else:
        rest = (
            f"Over a copy simulated from the model, for which it is right, they don't agree either "
            f"({_nats(check.simulated)} apart), and no statistic contradicts the model "
            f"({_statistics(check, words)})."
        )
    return f"{begin} {rest} Run longer, add moves that change many customers at once, or read several chains."


def _converged(check: Any, words: Mapping[str, str]) -> str:
    return (
        f"Converged: {_in(check)} chains from different starts ({', '.join(check.data.starts)}) agree "
        f"({_agreement(check.data)}), and no statistic contradicts the model ({_statistics(check, words)})."
    )


def _agreement(side: Any) -> str:
    """The largest R-hat and the smallest number of effective draws."""
    judged = [one for one in side.diagnoses.values() if not np.isnan(one.ess)]
    if not judged:
        return side.reasons[0] if side.reasons else "nothing changes"
    rhat, ess = max(one.rhat for one in judged), min(one.ess for one in judged)
    return f"R-hat up to {rhat:.2f}, at least {ess:,.0f} effective draws"


def _statistics(check: Any, words: Mapping[str, str]) -> str:
    """The statistics of the chain that goes on, in words."""
    return "; ".join(_compared(name, one, words) for name, one in check.data.checks[-1].items())


def _compared(name: str, check: Any, words: Mapping[str, str]) -> str:
    """A statistic of the data and of copies, in words."""
    observed, expected = _shown(check.observed), _shown(check.expected)
    return f"{label_of(name, words)}: {observed} in the data, {expected} in copies"


def _in(check: Any) -> str:
    return f"after {check.seconds:g} s" if check.sweeps is None else f"after {check.sweeps:,} sweeps"


def _nats(side: Any) -> str:
    return f"{side.apart:,.0f} nats" if np.isfinite(side.apart) else "an unknown number of nats"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def report(check: Any, words: Mapping[str, str] = WORDS) -> str:
    """The sentence, both tables, and what they show."""
    n_copies = next(iter(check.data.checks[0].values())).n_copies
    lines = [
        sentence(check, words),
        "",
        f"Statistics at the end of each chain, and in {n_copies} copies drawn "
        "given its state (mean; in brackets the distance in standard deviations):",
        "",
        checks_table(check, words),
        "",
        "Chains (distance of the mean log probability from that of the best chain, in nats):",
        "",
        check.chains_table(),
        "",
        "Simulated copy: drawn from the model, with the fitted hyperparameters; its own state is a draw from "
        "its posterior. Redrawn copy: the fitted seating, every value drawn again; its own state is no draw "
        "from its posterior, and the verdict doesn't depend on it.",
    ]
    return "\n".join(lines)


def checks_table(check: Any, words: Mapping[str, str] = WORDS) -> str:
    """A row for each statistic and start: `MixingCheck.table`."""
    head = ["statistic", "start"]
    for label in NAMES.values():
        head += [label, "expected"]
    rows = []
    for name in check.data.checks[0]:
        for c, start in enumerate(check.data.starts):
            cells = []
            for side in NAMES:
                one = getattr(check, side).checks[c][name]
                cells += [_shown(one.observed), f"{_shown(one.expected)} ({one.distance:+.1f})"]
            rows.append([label_of(name, words), printable(start), *cells])
    return markdown(head, rows)


SECONDS = 10.0
SHARES = 5
_COPIES = {"simulated": "hyperparameters", "redrawn": "dishes"}  # what each keeps
BURN_IN = 0.5  # of each chain's time
TIMES = 3.0  # how many times farther from its copies than where the model is right
OWN = "own state"
"""The start of the chain that continues from the state of its franchise."""


@attrs.frozen(eq=False, kw_only=True)
class CheckedChains:
    """The chains over the data, or over a copy of them, and their statistics.

    Attributes
    ----------
    starts : tuple of str
        The start of each chain; the last one, "own state", continues from the state that was given, from
        which a
        copy was simulated, or the seating with redrawn values.
    chains : tuple of ChainRecord
    log_joint : float64 array, shape (n_chains,)
        Mean log joint of each chain after burn-in, in nats; NaN if no state is left.
    within : float
        Standard deviation of the log joint within a chain, after burn-in: the mean over the chains.
    diagnoses, reasons
        As in `ScheduleResult`, over all chains.
    checks : tuple of dict of StatisticCheck
        For each chain, the statistics of its data and of copies drawn given its last state, by name.
    """

    starts: tuple[str, ...]
    chains: tuple[ChainRecord, ...] = attrs.field(repr=False)
    log_joint: Floats
    within: float
    diagnoses: Mapping[str, NumberDiagnosis] = attrs.field(repr=False)
    reasons: tuple[str, ...]
    checks: tuple[Mapping[str, StatisticCheck], ...] = attrs.field(repr=False)

    @property
    def agree(self) -> bool:
        """Whether the chains agree by the rule of the check."""
        return not self.reasons

    @property
    def apart(self) -> float:
        """The largest distance between the mean log joints of two chains, in nats."""
        return float(np.ptp(self.log_joint))


@attrs.frozen(eq=False, kw_only=True)
class MixingCheck:
    """The result of `check_mixing`; ``str()`` is the sentence with the tables.

    Attributes
    ----------
    verdict : "converged", "slow" or "misfit"
        "misfit": the model does not fit. "slow": the sampler is too slow for these data in this time.
    misfits : tuple of str
        Names of the statistics by which the model doesn't fit; the one that differs most is the first.
    data, simulated, redrawn : CheckedChains
        The chains over the data and over the two copies of `check_mixing`.
    seconds : float
        Time of the moves of each chain, unless a number of sweeps was given.
    sweeps : int or None
    seed : int
    clock : str
    """

    verdict: str
    misfits: tuple[str, ...]
    data: CheckedChains
    simulated: CheckedChains
    redrawn: CheckedChains
    seconds: float
    sweeps: int | None
    seed: int
    clock: str

    @property
    def sentence(self) -> str:
        """The verdict, why, and what helps."""
        return sentence(self)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the chains over the data don't agree; empty if they do."""
        return self.data.reasons

    def __str__(self) -> str:
        return report(self)

    def table(self) -> str:
        """A Markdown table of the statistics, with a row for each statistic and start, as text."""
        return checks_table(self)

    def chains_table(self) -> str:
        """A Markdown table of the chains, with a row for each start, as text."""
        head = ["start"]
        sides = {label: getattr(self, name) for name, label in NAMES.items()}
        for name in sides:
            head += [name, "sweeps", "K"]
        rows = []
        for c, start in enumerate(self.data.starts):
            cells = []
            for side in sides.values():
                record, joint = side.chains[c], side.log_joint
                cells += [
                    f"{joint[c] - np.max(joint):,.0f}" if np.isfinite(joint[c]) else "-",
                    f"{int(record.sweeps[-1] - record.sweeps[0]):,}",
                    f"{int(record.n_dishes[-1]):,}",
                ]
            rows.append([printable(start), *cells])
        agreed = []
        for side in sides.values():
            agreed += ["agree" if side.agree else "don't agree", "", ""]
        return markdown(head, [*rows, ["all", *agreed]])

    def to_dict(self) -> dict[str, Any]:
        """The result as numbers, texts and lists, which ``json.dumps`` accepts; NaN and infinity are None."""
        sides = {name: _as_dict(getattr(self, name)) for name in NAMES}
        return {
            "verdict": self.verdict,
            "sentence": self.sentence,
            "misfits": list(self.misfits),
            "seconds": None if self.sweeps is not None else self.seconds,
            "sweeps": self.sweeps,
            "seed": self.seed,
            **sides,
        }


def _as_dict(side: CheckedChains) -> dict[str, Any]:
    chains = [
        {
            "start": start,
            "sweeps": int(record.sweeps[-1] - record.sweeps[0]),
            "seconds": _plain(float(record.seconds[-1])),
            "log_joint": _plain(float(mean)),
            "n_dishes": int(record.n_dishes[-1]),
            "statistics": {
                name: {key: _plain(value) for key, value in attrs.asdict(check).items()}
                for name, check in checks.items()
            },
        }
        for start, record, mean, checks in zip(
            side.starts, side.chains, side.log_joint, side.checks, strict=True
        )
    ]
    return {
        "agree": side.agree, "reasons": list(side.reasons), "apart": _plain(side.apart),
        "within": _plain(side.within), "chains": chains,
    }  # fmt: skip


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_mixing(
    franchise: Franchise | Run,
    schedule: Any = None,
    *,
    seconds: float | None = None,
    sweeps: int | None = None,
    rng: Seed = 0,
    inits: Any = None,
    chain: int = 0,
    copies: int = 20,
    statistics: Mapping[str, Callable[[Any, Any], float]] | None = None,
    rule: ConvergenceRule | None = None,
    clock: str = "wall",
    progress: Callable[[Standing], Any] | None = None,
) -> MixingCheck:
    """Find out whether chains disagree because the model doesn't fit the data, or the sampler is too slow.

    Chains from the same starts run for the same time over the data and over two copies of them:

    - "simulated": seating, dishes and values are drawn from the model with the current hyperparameters. The
      model is right for this copy, and a chain that continues from its state shows where others should
      arrive.
    - "redrawn": the same seating; parameters of the dishes are drawn given the data, and every value is drawn
      again from its dish. It is as difficult as the data would be if the model were right for this seating,
      but
      its state is no draw from its posterior, so the verdict doesn't depend on it.

    At the end of each chain, statistics of its data are compared with those of ``copies`` copies drawn given
    its state. For documents of terms they are the number of different pairs of document and term
    ("distinct_cells"), and the variance of the counts of terms within a dish over documents, divided by what
    a multinomial has ("count_variance"). For numbers and vectors they are the variance ("variance") and the
    fourth moment ("fourth_moment") around the means of the dishes, the variance of the means of groups
    ("group_variance") and of the sums of the coordinates ("covariance").

    The verdict is "misfit" if a statistic of the data is more than 5 standard deviations of a copy away from
    its mean at the end of every chain over the data, on the same side, and even the nearest of these chains
    is relatively 3 times farther away than the nearest chain from a start over the simulated copy. Otherwise
    it is "converged" if the chains over the data agree by ``rule``, and "slow" if they don't. Raises a
    DeclarationError if the measure can't simulate, dishes are observed, components are known in advance, or
    values have no statistics; a ParameterError, ScheduleError or StateError if an argument is out of range,
    the franchise doesn't support a move or a start, customers are unseated, or groups are held.

    Parameters
    ----------
    franchise : Franchise or Run
        In a state of the fitted model. Not changed.
    schedule : Scheduler or sequence of Move, optional
        By default that of the run; for a franchise table Gibbs (by cell where customers are counted by cell),
        DishGibbs in every tenth sweep, and updates of everything that has a prior.
    seconds : float, optional
        Time of the moves of each chain, 10 by default. With S starts 3 (S + 1) chains run, one after another.
    sweeps : int, optional
        Sweeps of each chain in place of a time: the same seed then gives the same result.
    rng : seed
        Chain c of the data and of each copy has the seed rng + c.
    chain : int
        Of a run: the chain whose newest state is checked.
    copies : int
        Copies for each statistic, at least 10.
    statistics : dict of functions, optional
        More statistics, by name: each is called with the values and the dish of each (int64 array), and
        returns a number. Required for values that aren't numbers.
    inits, rule, clock, progress : optional
        As in `compare_schedules`.
    """
    instance("franchise", franchise, (Franchise, Run), "a Franchise or a Run", remedy="hk.open_run(folder).")
    chain = whole_number("chain", chain, 0, remedy="Chains are numbered from 0.")
    limit = _limit(seconds, sweeps, clock)
    copies = whole_number("copies", copies, 10, 100_000, remedy="20 are usual.")
    if rule is None:
        rule = ConvergenceRule()
    instance("rule", rule, ConvergenceRule, "a ConvergenceRule, or None", remedy="Leave it out.")
    own = _functions(statistics)
    if progress is not None:
        function("progress", progress, remedy="Give a function of a Standing.")
    if isinstance(franchise, Run):
        schedule = franchise.moves if schedule is None else schedule
        franchise = franchise.franchise(chain)
    elif chain:
        raise ParameterError("chain", chain, "0 for a franchise, which has one chain", "Leave it out.")
    _check_franchise(franchise)
    check_statistics(franchise, own)
    scheduler = schedule if isinstance(schedule, Scheduler) else None
    if scheduler is None:
        scheduler = Scheduler(usual_moves(franchise) if schedule is None else schedule)
    fitted = Candidate(franchise, scheduler)
    for move in scheduler.moves:
        with franchise.lock():
            check_move(move, franchise)
    starts = starts_of(inits, {"data": fitted})
    seed = Streams(rng).seed
    candidates = {
        "data": fitted,
        **{
            name: Candidate(
                franchise.simulate(Streams(seed).source(Purpose.SIMULATE, place), keep), scheduler
            )
            for place, (name, keep) in enumerate(_COPIES.items())
        },
    }
    sides = _run_all(candidates, limit, (*starts, None), seed, copies, own, rule, progress)
    misfits = _misfits(sides["data"], sides["simulated"])
    verdict = "misfit" if misfits else "converged" if sides["data"].agree else "slow"
    return MixingCheck(
        verdict=verdict, misfits=misfits, seconds=limit.seconds, sweeps=limit.sweeps, seed=seed, clock=clock,
        **sides,
    )  # fmt: skip


def _limit(seconds: Any, sweeps: Any, clock: Any) -> Limit:
    choice("clock", clock, CLOCKS, remedy="Leave it out for the wall clock.")
    if seconds is not None:
        seconds = positive_number("seconds", seconds)
    if sweeps is None:
        return Limit(SECONDS if seconds is None else seconds, clock)
    least = 2 * FEWEST_DRAWS
    sweeps = whole_number("sweeps", sweeps, least, 2**31, remedy=f"At least {least}: half are left out.")
    if seconds is not None:
        raise ParameterError("seconds", seconds, "left out with sweeps", "Give one of the two.")
    return Limit(math.inf, clock, sweeps)


def _functions(statistics: Any) -> dict[str, Any]:
    if statistics is None:
        return {}
    remedy = "For instance {'range': lambda values, dishes: np.ptp(values)}."
    instance("statistics", statistics, Mapping, "a dict of functions by name, or None", remedy=remedy)
    for name, one in statistics.items():
        text("statistics", name, remedy="Names are strings.")
        function(f"statistics[{name!r}]", one, remedy=remedy)
    return dict(statistics)


def _check_franchise(franchise: Franchise) -> None:
    """Raise an error if copies of the data can't be drawn, or would say nothing."""
    kind = type(franchise.measure).__name__
    if franchise.measure.atomic:
        raise DeclarationError(
            "base", kind, "a measure of latent dishes, where mixing is checked",
            "If dishes are observed, every value is a dish: starts differ in tables only, and there is no "
            "dish from which values could be drawn again. Compare held-out scores (hk.evaluate).",
        )  # fmt: skip
    if not franchise.population.all_seated():
        raise StateError(
            "franchise", "with unseated customers", "in a state of the fitted model", "Run some sweeps first."
        )
    if len(franchise.held.nodes):
        remedy = "Release them: franchise.release()."
        raise StateError("franchise", "with held groups", "one whose groups all change", remedy)
    franchise.known_dishes.require_none(
        "no known components where copies of the data are drawn",
        "Their earlier observations are fixed: check a run without known components.",
    )
    if not franchise.measure.supports("simulate"):
        raise DeclarationError("base", kind, "a base measure with simulate()", "Define simulate().")


def usual_moves(franchise: Franchise) -> list[Move]:
    """The moves of a default check that run over a franchise."""
    single = franchise.population.single
    gibbs: list[Move] = [TableGibbs(), DishGibbs().every(10)] if single else [CountGibbs()]
    if _serves(SplitMergeStates(), franchise):
        whole = [BeamSampler()] if _serves(BeamSampler(), franchise) else []
        gibbs = [*whole, SplitMergeStates().repeat(3), TableGibbs().every(10) if whole else TableGibbs()]
    kinds = (RootWeights, Concentration, Discount, BaseMeasureParameters, SelectorCounts, DishParameters)
    others = [kind() for kind in (*kinds, Sticky, *(() if franchise.measure.conjugate else (Smoothing,)))]
    return [move for move in [*gibbs, *others] if _serves(move, franchise)]


def _serves(move: Move, franchise: Franchise) -> bool:
    try:
        with franchise.lock():
            check_move(move, franchise)
    except HdpkitError:
        return False
    return True


def _run_all(
    candidates: Mapping[str, Candidate],
    limit: Limit,
    starts: tuple[Any, ...],
    seed: int,
    copies: int,
    own: Mapping[str, Any],
    rule: ConvergenceRule,
    progress: Callable[[Standing], Any] | None,
) -> dict[str, CheckedChains]:
    """Run all chains over the data and the copies, by start, so that slow periods don't fall on one."""
    records: dict[str, list[ChainRecord]] = {name: [] for name in candidates}
    checks: dict[str, list[Mapping[str, StatisticCheck]]] = {name: [] for name in candidates}
    names = tuple(OWN if init is None else shown(init) for init in starts)
    try:
        for c, init in enumerate(starts):
            for place, (name, candidate) in enumerate(candidates.items()):
                source = Streams(seed, c).source(Purpose.EVALUATE, place)

                def ended(state: Franchise, name: str = name, source: Any = source) -> None:
                    with state.lock():
                        found = predictive_checks(state, copies, source, own)
                    checks[name].append(found)

                known = {"schedule": NAMES[name], "init": names[c], "chain": c, "chains": len(starts)}
                known |= {"place": place, "schedules": len(candidates), "budget": limit.seconds}
                tell = teller(progress, known)
                record = run_chain(candidate, init, seed + c, limit, SHARES, tell, ended)
                if not record.finished:
                    raise KeyboardInterrupt
                records[name].append(record)
    except ProgressFailed as failed:
        raise failed.error from None
    return {
        name: _judged(names, tuple(records[name]), tuple(checks[name]), limit, rule) for name in candidates
    }


def _judged(
    names: tuple[str, ...],
    chains: tuple[ChainRecord, ...],
    checks: tuple[Mapping[str, StatisticCheck], ...],
    limit: Limit,
    rule: ConvergenceRule,
) -> CheckedChains:
    kept = later_draws(chains, BURN_IN, "seconds" if limit.sweeps is None else "sweeps")
    diagnoses = {key: diagnosed(values) for key, values in kept.values.items()}
    joint = kept.values["log_joint"]
    some = joint.shape[1] > 0
    return CheckedChains(
        starts=names,
        chains=chains,
        log_joint=joint.mean(axis=1) if some else np.full(len(chains), math.nan),
        within=float(joint.std(axis=1).mean()) if some else math.nan,
        diagnoses=diagnoses,
        reasons=reasons_of(kept, diagnoses, len(chains), rule),
        checks=checks,
    )


def _misfits(data: CheckedChains, simulated: CheckedChains) -> tuple[str, ...]:
    """Statistics by which the model doesn't fit, by their distance at the end of the chain that goes on."""
    found = [name for name in data.checks[-1] if _contradicts(name, data, simulated)]
    return tuple(sorted(found, key=lambda name: -abs(data.checks[-1][name].distance)))


def _contradicts(name: str, data: CheckedChains, simulated: CheckedChains) -> bool:
    """The rule of `check_mixing` for one statistic."""
    of_data = [checks[name] for checks in data.checks]
    away = np.array([check.distance for check in of_data])
    if not (np.all(away > BEYOND) or np.all(away < -BEYOND)):
        return False
    nearest = min(abs(check.relative) for check in of_data)
    of_model = min(abs(checks[name].relative) for checks in simulated.checks[:-1])
    return nearest > TIMES * of_model
