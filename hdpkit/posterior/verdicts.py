"""Verdicts on a run: whether it can be read, and whether intervals and K can be quoted from it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats
from hdpkit.checks import flag, instance, items, whole_number
from hdpkit.errors import DataError, ParameterError, importing_extra
from hdpkit.posterior.comparison.convergence import (
    FEWEST_DRAWS,
    ConvergenceRule,
    LaterDraws,
    NumberDiagnosis,
    diagnosed,
    joint_rhat,
    reasons_of,
    severity_of,
)
from hdpkit.posterior.settled import far_enough
from hdpkit.run.runs import Run
from hdpkit.run.trace import ChainTrace, Trace, last_of_burn_in

_SHARES = "largest_shares"
_K = "n_dishes"
_REMEDY = "Scheduler.run returns a trace, hk.open_run(folder) a run."
PROGRESS = 0.75
"""Sweeps that leave more than this part of the severity made no progress."""
_MOST_CHAINS = 8  # 8 times 50 effective draws are the 400 of Vehtari et al. (2021), whatever the number is
_MANY = 30  # topics, of which a coarser view is proposed
_BROAD = 0.5  # eta with which chains agree on most corpora (benchmarks/results/default_topics.md)
_WORTH_IT = 10.0  # times as many sweeps; a longer run is not proposed

# Words of topics and signatures, for which there is more to say.
_TOPICS, _SIGNATURES, _TOKENS = "topics", "signatures", "tokens"


@attrs.frozen(eq=False, kw_only=True)
class Verdict:
    """The answer to one question about a run; ``str()`` is the sentence.

    Attributes
    ----------
    light : str
        "green" (yes), "amber" (in part), "red" (no), or "grey" if it could not be judged.
    sentence : str
        The answer in words, with its reason.
    figures : dict of float
        The numbers it is based on, by name.
    """

    light: str
    sentence: str
    figures: Mapping[str, float] = attrs.field(factory=dict, repr=False)

    def __str__(self) -> str:
        return self.sentence

    def as_data(self) -> dict[str, Any]:
        """The verdict as JSON-compatible data; figures that are not finite are None."""
        figures = {name: float(one) if math.isfinite(one) else None for name, one in self.figures.items()}
        return {"light": self.light, "sentence": self.sentence, "figures": figures}


@attrs.frozen(eq=False, kw_only=True)
class Diagnosis:
    """Verdicts on a run, what would improve them, and the numbers; ``str()`` is all of it in words.

    A single chain is judged by its two halves, which can't show whether another chain would agree, so its
    verdicts are at most amber.

    Attributes
    ----------
    readable : Verdict
        Can the components be read? Figures: "shared" (share of the data in components that all chains have),
        "components" (how many these are), "documents" (correlation of the chains over pairs of groups),
        "perplexity_lowest" and "perplexity_highest" (of left-out words, over the chains).
    quotable : Verdict
        Can intervals be quoted? Figures: "settled" (share of the data in components on whose shares the
        chains agree, `Components.settled`), "n_settled" and "components"; and of all recorded numbers but K
        the worst "rhat", "ess" and "drift", by which a run without samples is judged.
    number : Verdict
        Can K be quoted? Figures: "rhat", "ess" and "drift" of K, and the "lowest" and the "highest" mean of
        a chain.
    advice : str
        What would help; empty if the first two are green.
    settled : bool
        Whether the rule of convergence holds. False if it could not be judged.
    sentence : str
        One sentence: whether the run has converged, and what to do if it hasn't.
    reasons : tuple of str
        Why it hasn't; empty if it has.
    numbers : dict of NumberDiagnosis
        Mean, sd, R-hat, effective sample size and drift of "log_joint", "n_dishes", and "share_1" (of the
        data, of the largest dish) to "share_5".
    n_chains, n_draws : int
        Number of chains, and of recorded draws of each that were used.
    after, last : int
        Sweeps up to ``after`` were left out; ``last`` is the last sweep that all chains have.
    """

    readable: Verdict
    quotable: Verdict
    number: Verdict
    advice: str
    settled: bool
    sentence: str
    reasons: tuple[str, ...]
    numbers: Mapping[str, NumberDiagnosis] = attrs.field(repr=False)
    n_chains: int
    n_draws: int
    after: int
    last: int

    def __str__(self) -> str:
        lines = [f"{question} {verdict.sentence}" for question, verdict in self.verdicts]
        return "\n".join([*lines, *([f"What helps: {self.advice}"] if self.advice else [])])

    @property
    def verdicts(self) -> tuple[tuple[str, Verdict], ...]:
        """The questions, each with its verdict."""
        return (
            ("Can it be read?", self.readable),
            ("Can intervals be quoted?", self.quotable),
            ("Can K be quoted?", self.number),
        )

    def as_data(self) -> dict[str, Any]:
        """The verdicts and the advice as JSON-compatible data."""
        found = {name: getattr(self, name).as_data() for name in ("readable", "quotable", "number")}
        return found | {"advice": self.advice}

    @property
    def table(self) -> Any:
        """The numbers as a pandas.DataFrame: one row per number, columns mean, sd, rhat, ess, drift.

        Raises a MissingExtraError without pandas (``pip install 'hdpkit[pandas]'``).
        """
        with importing_extra("pandas", "pandas"):
            import pandas
        return pandas.DataFrame.from_dict(
            {key: attrs.asdict(one) for key, one in self.numbers.items()}, orient="index"
        )


def diagnose(
    trace: Any,
    after: int | None = None,
    *,
    rule: ConvergenceRule | None = None,
    data: Any = None,
    words: Any,
    commands: bool = False,
) -> Diagnosis:
    """See `hdpkit.kinds.diagnosis.diagnose`, which has the words of the kind."""
    nested = None
    if isinstance(trace, Sequence) and not isinstance(trace, str):
        trace, nested = _joined(trace)
    instance("trace", trace, (Trace, ChainTrace, Run), "a Trace, a ChainTrace or a Run", remedy=_REMEDY)
    if after is not None:
        after = whole_number("after", after, 0, remedy="Leave it out for the first half.")
    rule = ConvergenceRule() if rule is None else rule
    instance("rule", rule, ConvergenceRule, "a ConvergenceRule", remedy="Leave it out.")
    flag("commands", commands)
    for name in ("topics", "tokens", "documents"):
        if not isinstance(getattr(words, name, None), str):
            raise ParameterError(
                "words", words, "an object with the texts topics, tokens and documents", "Leave it out."
            )
    if data is not None and not hasattr(data, "n_documents"):
        raise ParameterError("data", data, "a Corpus, or None", "Give the corpus of the run.")
    run = trace if isinstance(trace, Run) else None
    trace = trace if run is None else run.trace
    if data is None:
        of_chains = getattr(trace, "franchises", ())
        data = run.data if run is not None else of_chains[0].data if of_chains else None
    chains = list(trace.chains) if nested else list(far_enough(trace).values())
    n = min((chain.n_draws for chain in chains), default=0)
    if n == 0:
        raise DataError("trace", trace, "a trace with a draw", "Run some sweeps first.")
    begun = len(getattr(trace, "chains", chains))
    sweeps = np.asarray(chains[0]["sweep"])[:n]
    if after is None:
        after = last_of_burn_in(sweeps)
    first = int(np.searchsorted(sweeps, after, side="right"))
    if first == n:
        raise DataError("after", after, f"below {sweeps[-1]}, the last sweep", "Leave less out, or run more.")
    facts = _Facts.of(chains, sweeps, first, rule, nested, begun)
    before = _Facts.of(chains, sweeps[:first], first // 2, rule, nested, begun) if first > 1 else None
    if before is not None and not before.judged:
        before = None
    readable = _readable(trace, run, data, facts, before, words, commands)
    quotable = _quotable(facts, readable.found, words)
    sentence, advice = _helps(facts, before, readable, quotable, run, words, commands)
    return Diagnosis(
        readable=readable.verdict,
        quotable=quotable,
        number=_number(facts, words),
        advice=advice,
        settled=not facts.reasons,
        sentence=sentence,
        reasons=facts.reasons,
        numbers=facts.numbers,
        n_chains=len(chains),
        n_draws=facts.kept.n_draws,
        after=after,
        last=int(sweeps[-1]),
    )


def _joined(traces: Sequence[Any]) -> tuple[ChainTrace, int]:
    """The chains of several traces as those of one, and how many each has."""
    given = items("trace", traces, "a sequence of ChainTrace", remedy=_REMEDY)
    for one in given:
        instance(
            "trace", one, ChainTrace, "a sequence of ChainTrace", remedy="run(..., chains=8) returns one."
        )
    sizes = {len(one.chains) for one in given}
    if len(given) < 2 or len(sizes) > 1:
        raise DataError(
            "trace", [len(one.chains) for one in given], "two traces or more, with equally many chains",
            "Run as many chains from each state.",
        )  # fmt: skip
    return ChainTrace([chain for one in given for chain in one.chains]), sizes.pop()


def _values(chains: Sequence[Trace], first: int, n: int) -> dict[str, Floats]:
    """The judged quantities by key: shape (n_chains, n_draws)."""
    values = {"log_joint": np.array([chain["log_joint"][first:n] for chain in chains], dtype=np.float64)}
    if all(_SHARES in chain for chain in chains):  # not recorded if dishes are observed
        values[_K] = np.array([chain[_K][first:n] for chain in chains], dtype=np.float64)
        shares = np.array([chain[_SHARES][first:n] for chain in chains])
        values |= {f"share_{i + 1}": shares[:, :, i] for i in range(shares.shape[2])}
    return values


@attrs.frozen
class _Facts:
    """The numbers of some sweeps, and what the rule says about them."""

    n_chains: int
    kept: LaterDraws
    numbers: Mapping[str, NumberDiagnosis]
    reasons: tuple[str, ...]
    after: int
    last: int
    rule: ConvergenceRule
    asked: int  # chains of which effective draws are asked for
    begun: int  # chains of the run

    @classmethod
    def of(
        cls,
        chains: Sequence[Trace],
        sweeps: Any,
        first: int,
        rule: ConvergenceRule,
        nested: int | None,
        begun: int,
    ) -> _Facts:
        """The facts of the recorded sweeps from this one on."""
        n = len(sweeps)
        kept = LaterDraws(_values(chains, first, n), math.nan)
        asked = min(len(chains) // (nested or 1), _MOST_CHAINS)
        after = int(sweeps[first - 1]) if first else 0
        numbers = {key: diagnosed(values, nested) for key, values in kept.values.items()}
        reasons = reasons_of(kept, numbers, asked, rule, nested is not None)
        return cls(len(chains), kept, numbers, reasons, after, int(sweeps[-1]), rule, asked, begun)

    @property
    def where(self) -> str:
        return f"sweeps {self.after + 1} to {self.last}"

    @property
    def who(self) -> str:
        if self.begun > self.n_chains:
            return (
                f"{self.n_chains} of {self.begun} chains (the others were stopped before half of the sweeps)"
            )
        return "one chain" if self.n_chains == 1 else f"{self.n_chains} chains"

    @property
    def judged(self) -> bool:
        """Whether there are enough draws for R-hat."""
        return any(not math.isnan(one.rhat) for one in self.numbers.values())

    @property
    def severity(self) -> float:
        """How far the numbers are from the rule: at most 1 if it holds."""
        return severity_of(self.numbers, self.asked, self.rule)

    @property
    def rhat(self) -> float:
        """The largest R-hat."""
        return max((one.rhat for one in self.numbers.values() if not math.isnan(one.rhat)), default=math.nan)

    @property
    def ess(self) -> float:
        """The fewest effective draws."""
        return min((one.ess for one in self.numbers.values() if not math.isnan(one.ess)), default=math.nan)

    @property
    def drift(self) -> float:
        """The largest difference of halves, in standard deviations."""
        return max(
            (one.drift for one in self.numbers.values() if not math.isnan(one.drift)), default=math.nan
        )

    @property
    def apart(self) -> bool:
        """Whether each chain is stationary but the chains don't agree with each other."""
        differ = [key for key, one in self.numbers.items() if one.rhat > self.rule.rhat]
        if self.n_chains == 1 or not differ or self.kept.n_draws < FEWEST_DRAWS:
            return False
        still = all(
            not joint_rhat(values[None]) > self.rule.rhat
            for key in differ
            for values in self.kept.values[key]
        )
        return still and all(not one.drift > self.rule.drift for one in self.numbers.values())

    @property
    def more(self) -> int:
        """The number of further sweeps after which the rule would hold, as far as these draws show."""
        if self.kept.n_draws < FEWEST_DRAWS:
            return math.ceil(self.last * FEWEST_DRAWS / max(self.kept.n_draws, 1)) - self.last
        factor = 2.0  # while a chain drifts, its effective draws don't predict the time needed
        judged = [one for one in self.numbers.values() if not math.isnan(one.ess)]
        if judged and not any(one.rhat > self.rule.rhat or one.drift > self.rule.drift for one in judged):
            factor = 1.1 * self.rule.ess * self.asked / max(min(one.ess for one in judged), 1.0)
        return math.ceil(self.last * (factor - 1.0))


# ---------------------------------------------------------------------- intervals and K


def _quotable(facts: _Facts, found: Any, words: Any) -> Verdict:
    """Whether intervals can be quoted: of the components on whose shares the chains agree."""
    others = attrs.evolve(facts, numbers={k: one for k, one in facts.numbers.items() if k != _K})
    figures = {"settled": math.nan, "rhat": others.rhat, "ess": others.ess, "drift": others.drift}
    over = f"over {facts.where} of {facts.who}"
    if not facts.judged:
        return Verdict(
            light="red",
            sentence=f"Not yet: {facts.kept.n_draws} states a chain were recorded after the burn-in.",
            figures=figures,
        )
    if found is None or math.isnan(found.settled):
        light, sentence = _by_numbers(others, over, words)
        return Verdict(light=light, sentence=sentence, figures=figures)
    figures |= {"settled": found.settled, "n_settled": found.n_settled, "components": found.components}
    every = found.n_settled == found.components
    those = f"all {found.components:,}" if every else f"{found.n_settled:,} of {found.components:,}"
    whose = "the halves of the chain" if found.halves else "the chains"
    told = (
        f"{whose} agree on the shares of {those} {_dishes(words)}, which hold {_part(found.settled)} of the "
        f"{words.tokens}, {over}"
    )
    told += "" if every or found.halves else "; tables mark the others"
    from hdpkit.posterior.readability import PARTLY, READABLE

    if found.halves and found.settled >= READABLE:
        light, answer, told = "amber", "With care", f"{told}. Another chain may differ from it"
    elif found.settled >= READABLE and found.alike:
        light, answer = "green", "Yes"
    elif found.settled >= PARTLY and not found.halves:
        light, answer = "amber", "In part"
    else:
        light, answer = "red", "Not yet" if found.halves else "No"
    return Verdict(light=light, sentence=f"{answer}: {told}.", figures=figures)


def _by_numbers(facts: _Facts, over: str, words: Any) -> tuple[str, str]:
    """Light and sentence of a run of which there are no samples to compare: by its recorded numbers."""
    found = f"R-hat is at most {facts.rhat:.2f}, with at least {facts.ess:,.0f} effective draws, {over}"
    meets = facts.severity <= 1.0
    if meets and facts.n_chains > 1:
        return "green", f"Yes: {found}."
    if meets:
        return "amber", f"With care: the chain agrees with itself ({found}), but others may differ from it."
    if math.isnan(facts.ess):
        return "red", f"No: {facts.reasons[0]}, {over}."
    fewest = facts.rule.ess * facts.asked
    if not facts.rhat > facts.rule.rhat and not facts.drift > facts.rule.drift and facts.n_chains > 1:
        return "amber", (
            f"Roughly: the chains agree (R-hat is at most {facts.rhat:.2f}), but there are "
            f"{facts.ess:,.0f} effective draws where {fewest:,.0f} are needed, {over}."
        )
    failing = [key for key, one in facts.numbers.items() if one.rhat > facts.rule.rhat]
    failing = failing or [key for key, one in facts.numbers.items() if one.drift > facts.rule.drift]
    names = {"log_joint": "the log probability"}
    what = dict.fromkeys(names.get(key, f"shares of the largest {words.topics}") for key in failing)
    whose = "its halves" if facts.n_chains == 1 else "the chains"
    differ = f"{whose} differ in {' and '.join(what)}" if what else "there are too few effective draws"
    return "red", (
        f"No: {differ} (R-hat up to {facts.rhat:.2f}, at least {facts.ess:,.0f} effective draws), {over}."
    )


def _number(facts: _Facts, words: Any) -> Verdict:
    """Whether the number of components can be quoted."""
    if _K not in facts.numbers:
        return Verdict(light="grey", sentence=f"Not judged: it isn't recorded of these {words.topics}.")
    one, means = facts.numbers[_K], facts.kept.values[_K].mean(axis=1)
    figures = {"rhat": one.rhat, "ess": one.ess, "drift": one.drift}
    figures |= {"lowest": float(means.min()), "highest": float(means.max())}
    if not facts.judged:
        return Verdict(light="red", sentence="Not yet: too few states were recorded.", figures=figures)
    low, high = f"{means.min():.1f}", f"{means.max():.1f}"
    told = f"K, the number of {_dishes(words)}, is {low}{'' if low == high else f' to {high}'} on average"
    if len(means) > 1 and low != high:
        told += " in a chain"
    if np.ptp(facts.kept.values[_K]) == 0.0:
        light, told = "green", f"K, the number of {_dishes(words)}, is {means[0]:.0f} after every sweep"
    else:
        met = attrs.evolve(facts, numbers={_K: one}).severity <= 1.0
        light = "green" if met else "amber" if one.rhat <= facts.rule.rhat else "red"
        told += f" (R-hat {one.rhat:.2f}, {one.ess:,.0f} effective draws)"
    if light == "green" and facts.n_chains == 1:
        light, told = "amber", f"{told}; another chain may differ"
    answer = {"green": "Yes", "amber": "Roughly", "red": "No"}[light]
    return Verdict(light=light, sentence=f"{answer}: {told}.", figures=figures)


def _dishes(words: Any) -> str:
    """What the components of states are called: not signatures, which are selected from them."""
    return str(getattr(words, "dishes", words.topics))


def _part(share: float) -> str:
    """A share in percent, which isn't 100 % where something is left out."""
    return f"{min(share, 0.999):.1%}" if 0.995 <= share < 1.0 - 1e-9 else f"{share:.0%}"


# ---------------------------------------------------------------------- components


@attrs.frozen
class _Read:
    """The first verdict, and the share of the data in shared components in the sweeps before."""

    verdict: Verdict
    earlier: float = math.nan
    eta: Any = None  # Dirichlet parameter of topics over terms, a number where all have one
    found: Any = None  # what the chains have in common, if there was anything to compare


def _readable(
    trace: Trace | ChainTrace,
    run: Run | None,
    data: Any,
    facts: _Facts,
    before: _Facts | None,
    words: Any,
    commands: bool,
) -> _Read:
    """Whether components can be read."""
    if facts.kept.n_draws < FEWEST_DRAWS:
        return _unread(f"{facts.kept.n_draws} states a chain were recorded after the burn-in.")
    from hdpkit.posterior import readability  # runs that are too short for it don't need it

    pieces, halves = readability.pieces_of(trace if run is None else run)
    if len(pieces) < 2:
        option = "--samples 10" if commands else "samples=10"
        return _unread(f"no samples of this part of the run were kept ({option}).")
    similar = 0.0 if words.topics == _SIGNATURES else None  # a signature like another has a remark
    found = readability.agreement(pieces, halves, data, similar)
    earlier = math.nan
    if before is not None and not math.isnan(found.shared):
        then, _ = readability.pieces_of(trace if run is None else run, before.after, before.last)
        if len(then) == len(pieces):
            past = readability.components_of_pieces(then, halves)
            earlier = math.nan if past is None else float(past.shares[past.in_all_chains].sum())
    eta = pieces[0][-1].hyperparameters.get("base/eta")
    return _Read(_read_as(found, words), earlier, eta, found)


def _unread(why: str) -> _Read:
    return _Read(Verdict(light="grey", sentence=f"Not judged: {why}"))


def _read_as(found: Any, words: Any) -> Verdict:
    """The verdict for what pieces of a run have in common (`hdpkit.posterior.readability.Agreement`)."""
    from hdpkit.posterior.alignment import MIN_COSINE
    from hdpkit.posterior.readability import EVERYWHERE, PARTLY, READABLE, REPEATS

    who = "both halves of the chain" if found.halves else "both chains" if found.n_pieces == 2 else (
        f"all {found.n_pieces} chains"
    )  # fmt: skip
    parts, of_text = [], words.topics == _TOPICS
    if not math.isnan(found.shared):
        which = "all" if found.in_all == found.components else f"{found.in_all:,} of the"
        number = "" if words.topics == _SIGNATURES else f"{found.components:,} "  # they are selected further
        parts.append(
            f"{which} {number}{words.topics} are in {who} (cosine at least {MIN_COSINE:g}) and "
            f"hold {_part(found.shared)} of the {words.tokens}"
        )
    if not math.isnan(found.documents):
        grouped = words.tokens if found.of_customers else words.documents
        parts.append(f"{grouped} are grouped alike with a correlation of {found.documents:.2f}")
    if found.perplexities:
        lowest, highest = min(found.perplexities), max(found.perplexities)
        parts.append(f"left-out {words.tokens} have a perplexity of {lowest:,.4g} to {highest:,.4g}")
    if of_text and found.everywhere > EVERYWHERE:
        parts.append(
            f"{_part(found.everywhere)} of the {words.tokens} are in {words.topics} that most "
            f"{words.documents} have, and which hardly distinguish them"
        )
    doubts = not of_text and found.in_few + found.repeats > 0
    if doubts and found.in_few:
        parts.append(f"some of them have 80 % of their {words.tokens} in 5 % of the {words.documents}")
    if doubts and found.repeats:
        parts.append(f"some of them are nearly the same as another (cosine at least {REPEATS:g})")
    if not parts:
        return _unread("there is nothing to compare between the chains.").verdict
    told = "; ".join(parts)
    if found.unseen:
        unseen = ", ".join(found.unseen).replace("components", words.topics)
        unseen = unseen if words.tokens == _TOKENS else unseen.replace("words", words.tokens)
        told += f" (not looked at: {unseen})"
    share = found.shared if not math.isnan(found.shared) else 1.0
    agrees = share >= READABLE and found.alike
    if found.halves:
        light, answer = ("amber", "With care") if agrees else ("red", "Not yet")
        told += (
            f". One chain can't show whether another would find the same {words.topics}"
            if agrees
            else ". The chain is still changing"
        )
    elif agrees and doubts:
        light, answer = "amber", "With care"
    elif agrees:
        light, answer = "green", "Yes"
    elif share >= PARTLY:
        light, answer = "amber", f"In part: read the {words.topics} that the chains share"
    else:
        light, answer = "red", f"No: another run would find other {words.topics}"
    separator = ". " if ":" in answer else ": "
    told = told[0].upper() + told[1:] if separator == ". " else told
    return Verdict(light=light, sentence=f"{answer}{separator}{told}.", figures=found.figures)


# ---------------------------------------------------------------------- what helps


def _helps(
    facts: _Facts,
    before: _Facts | None,
    readable: _Read,
    quotable: Verdict,
    run: Run | None,
    words: Any,
    commands: bool,
) -> tuple[str, str]:
    """Whether the run has converged and what to do if not; and what would improve the verdicts."""

    def named(command: str, python: str) -> str:
        return command if commands else python

    folder = "RUN" if run is None else shlex.quote(str(run.folder))
    chains, check = named("--chains 4", "chains=4"), named(f"hdpkit check {folder}", "hk.check_mixing")
    more, apart = f"run about {_rounded(facts.more):,} more sweeps", facts.apart
    few = facts.kept.n_draws < FEWEST_DRAWS
    constant = math.isnan(facts.numbers["log_joint"].ess) and not few  # the log joint never changes
    extended = run is not None and facts.last > run.planned
    # More sweeps are never proposed a second time, nor where they can't help.
    asks = few or (not extended and not apart and facts.more <= _WORTH_IT * facts.last)
    in_vain = _in_vain(facts, before, readable, extended, apart)
    if not facts.reasons:
        sentence = _converged(facts, chains)
    else:
        share = named(f"hdpkit topics {folder}", "hk.summaries.components")
        alone = ", and several chains to see whether they agree" if facts.n_chains == 1 else ""
        if few:
            told = more
        elif constant:
            told = "add a move that changes K to the schedule"
        elif apart:
            told = (
                "each chain agrees with itself, but not with the others, so more sweeps alone won't help: "
                f"see what the chains share ({share}), or {check}"
            )
        else:
            told = f"{more}{alone}" if asks else in_vain
        why = "; ".join(facts.reasons)
        sentence = f"Not converged over {facts.where} of {facts.who} ({why}): {told}."
    light = readable.verdict.light
    if quotable.light == "green" and light in ("green", "grey"):
        return sentence, ""
    if constant:
        return sentence, "Add a move that changes K to the schedule."
    advice = "This is enough for reading. For intervals " if light == "green" else ""
    if facts.n_chains == 1:
        first = f"{more}, and " if facts.reasons and asks else ""
        advice = f"{first}begin again with several chains ({chains}), which show what another run would find."
    elif asks and facts.reasons:
        how = named(f"hdpkit resume {folder} --sweeps N", "run.resume(sweeps=N)")
        advice += f"{more}{f' ({how})' if run else ''}."
    else:
        advice += f"{in_vain}. What does: {_others(facts, readable, words, named, check)}."
    return sentence, advice[0].upper() + advice[1:]


def _converged(facts: _Facts, chains: str) -> str:
    """That the rule holds."""
    ess = f"at least {facts.ess:.0f} effective draws"
    found = f"R-hat is at most {facts.rhat:.2f}, with {ess}, for {_what(facts)}"
    if facts.n_chains > 1:
        return f"Converged: over {facts.where} of {facts.who} {found}."
    return (
        f"One chain has converged by itself over {facts.where} (split {found}), but it can't show "
        f"if other chains agree with it: run several ({chains})."
    )


def _in_vain(facts: _Facts, before: _Facts | None, readable: _Read, extended: bool, apart: bool) -> str:
    """That more sweeps don't help, with what the last ones brought."""
    if facts.reasons and not extended and not apart:
        times = math.ceil((facts.last + facts.more) / max(facts.last, 1))
        return f"more sweeps would take too long (about {times} times as many)"
    # Whether the later half of the sweeps came nearer to the rule than the quarter before it.
    gained = before is None or facts.severity <= PROGRESS * before.severity
    begin = "more sweeps help only slowly" if extended and gained and not apart else (
        "more sweeps alone won't help"
    )  # fmt: skip
    if before is None:
        return begin
    brought = [f"R-hat from {before.rhat:.2f} to {facts.rhat:.2f}"] if facts.reasons else []
    share, then = readable.verdict.figures.get("shared", math.nan), readable.earlier
    if not math.isnan(share) and not math.isnan(then):
        brought.insert(0, f"the share in common from {_part(then)} to {_part(share)}")
    if not brought:
        return begin
    return f"{begin}: the last {facts.last - facts.after:,} brought {' and '.join(brought)}"


def _others(facts: _Facts, readable: _Read, words: Any, named: Any, check: str) -> str:
    """What helps in place of more sweeps."""
    from hdpkit.posterior.readability import EVERYWHERE

    ways = [
        f"{check}, which tells a slow sampler from a model that doesn't fit",
        f"reading only the {words.topics} that all chains share",
    ]
    if words.topics == _TOPICS:
        many = np.median(facts.kept.values.get("n_dishes", 0.0)) > _MANY
        view = named(f"--topics about:{_MANY}", f"group_topics, {_MANY} groups")
        ways += [f"a coarser view ({view})"] if many else []
        if readable.verdict.figures.get("everywhere", 0.0) > EVERYWHERE:
            ways += ["another run with narrower topics (a smaller eta)"]
        elif isinstance(readable.eta, float) and readable.eta < _BROAD:
            wider = named(f"hdpkit fit --eta {_BROAD}", f"eta={_BROAD}")
            ways += [f"another run with fewer, broader topics ({wider})"]
        share = named("--max-document-share 0.3", "max_document_share=0.3")
        ways += [f"leaving out words that most documents have ({share})"]
    return "; ".join(ways)


def _what(facts: _Facts) -> str:
    n_shares = sum(key.startswith("share_") for key in facts.numbers)
    if not n_shares:
        return "the log probability" if len(facts.numbers) == 1 else "the log probability and K"
    return f"the log probability, K and the {n_shares} largest shares"


def _rounded(number: float) -> int:
    """A number of sweeps rounded to one or two leading digits."""
    step = 10 ** max(math.floor(math.log10(max(number, 1.0))) - 1, 0)
    return math.ceil(number / step) * step
