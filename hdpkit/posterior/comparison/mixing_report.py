"""A check of mixing as text: the sentence and the tables, in the words of the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hdpkit.errors import printable
from hdpkit.posterior.comparison.predictive import BEYOND, CELLS, COUNTS, COVARIANCE, FOURTH, GROUPS, VARIANCE
from hdpkit.posterior.comparison.report import markdown

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
    lines = [
        sentence(check, words),
        "",
        f"Statistics at the end of each chain, and in {_n_copies(check)} copies drawn "
        "given its state (mean; in brackets the distance in standard deviations):",
        "",
        checks_table(check, words),
        "",
        "Chains (distance of the mean log probability from that of the best chain, in nats):",
        "",
        chains_table(check),
        "",
        "Simulated copy: drawn from the model, with the fitted hyperparameters; its own state is a draw from "
        "its posterior. Redrawn copy: the fitted seating, every value drawn again; its own state is no draw "
        "from its posterior, and the verdict doesn't depend on it.",
    ]
    return "\n".join(lines)


def _n_copies(check: Any) -> int:
    return int(next(iter(check.data.checks[0].values())).n_copies)


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


def chains_table(check: Any) -> str:
    """A row for each start, and one for the largest distance: `MixingCheck.chains_table`."""
    head = ["start"]
    sides = {label: getattr(check, name) for name, label in NAMES.items()}
    for name in sides:
        head += [name, "sweeps", "K"]
    rows = []
    for c, start in enumerate(check.data.starts):
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
