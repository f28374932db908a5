"""The statement of the page about convergence."""

from __future__ import annotations

import math
from typing import Any

import attrs

from hdpkit.errors import HdpkitError
from hdpkit.report.material import Material
from hdpkit.summaries import diagnose

__all__ = ["Verdict", "diagnosis_of"]

_COLUMNS = ("Quantity", "Mean", "Standard deviation", "R-hat", "Effective draws", "Drift")
_NAMES = {"log_joint": "log joint", **{f"share_{i}": f"share of number {i}" for i in range(2, 10)}}


@attrs.frozen
class Verdict:
    """The state of convergence: settled (None if unknown), a sentence, and a table."""

    settled: bool | None
    sentence: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()


def diagnosis_of(material: Material) -> Verdict:
    """The verdict on a run. If there can be no verdict, the sentence gives the reason."""
    if not material.traces:
        return Verdict(None, "Convergence is unknown: this state has no trace.")
    if "verdict" not in material.kept:
        material.kept["verdict"] = _reached(material)
    verdict: Verdict = material.kept["verdict"]
    return verdict


def _reached(material: Material) -> Verdict:
    try:
        diagnosis = diagnose(material.trace)
    except HdpkitError as error:
        return Verdict(None, f"Convergence could not be judged. {error.remedy}")
    nouns = material.nouns
    names = {**_NAMES, "n_dishes": nouns.topics, "share_1": f"share of the largest {nouns.topic}"}
    rows = tuple(
        (names.get(key, key), *map(_shown, (one.mean, one.sd, one.rhat, one.ess, one.drift)))
        for key, one in diagnosis.numbers.items()
    )
    return Verdict(diagnosis.settled, diagnosis.sentence, _COLUMNS if rows else (), rows)


def _shown(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.4g}"
