"""Whether a run has settled, as the page says it."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from hdpkit.errors import HdpkitError
from hdpkit.report.material import Material

__all__ = ["Verdict", "diagnosis_of"]


@attrs.frozen
class Verdict:
    """What is known of convergence: settled (None: not known), a sentence, and a table."""

    settled: bool | None
    sentence: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()


def diagnosis_of(material: Material) -> Verdict:
    """The verdict on a run; what keeps it from being reached is the sentence then."""
    if not material.traces:
        return Verdict(None, "Nothing is known of convergence: no trace came with this state.")
    if "verdict" not in material.kept:
        material.kept["verdict"] = _reached(material)
    verdict: Verdict = material.kept["verdict"]
    return verdict


def _reached(material: Material) -> Verdict:
    try:
        from hdpkit.summaries import diagnose  # type: ignore[attr-defined,unused-ignore]
    except ImportError:
        return Verdict(None, "Judge by the traces below whether the run has settled.")
    try:
        diagnosis = diagnose(material.trace)
    except HdpkitError as error:
        return Verdict(None, f"No verdict on convergence could be reached: {error.remedy}")
    table = diagnosis.table
    columns = ("quantity", *map(str, table.columns))
    rows = tuple(
        (str(name), *(_shown(value) for value in row))
        for name, row in zip(table.index, table.itertuples(index=False), strict=True)
    )
    return Verdict(bool(diagnosis.settled), str(diagnosis), columns, rows)


def _shown(value: Any) -> str:
    number = isinstance(value, float | np.floating)
    return ("–" if np.isnan(value) else f"{value:,.4g}") if number else str(value)
