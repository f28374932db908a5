"""Topics that samples have in common, over sweeps and chains, with credible intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hdpkit.canvas import ROW, alt, colour, layered, named, names, number, over, rounded, told
from hdpkit.kinds.kind import Nouns
from hdpkit.pages.report_data import ReportData
from hdpkit.pages.section import Content
from hdpkit.posterior.alignment import MIN_OCCURRENCE
from hdpkit.posterior.consensus import in_common

_TERMS = 8
_IN_CHART = 30
_MOST = 500


def read_samples(report: ReportData) -> Content | None:
    """A row for each topic that samples have in common; None if the run has fewer than two states."""
    aligned = report.aligned
    if aligned is None or not len(aligned):
        return None
    here = {
        int(j): number for number, j in zip(report.numbers, report.common.tolist(), strict=True) if j >= 0
    }
    agreed = in_common(aligned).number.tolist()
    if report.run_topics.everything is not None:
        here |= {j: number for number, j in enumerate(agreed, start=1)}
    n = min(len(aligned), _MOST)
    has = aligned.occurrence_by_chain > 0
    rows: list[dict[str, Any]] = [
        {
            "number": here.get(j),
            "terms": [report.words[v] for v in _first(aligned.topic_rows(np.array([j]))[0])],
            "share": float(aligned.shares[j]),
            "lower": float(aligned.shares_lower[j]),
            "upper": float(aligned.shares_upper[j]),
            "occurrence": float(aligned.occurrence[j]),
            "chains": int(has[:, j].sum()),
            "agreed": j in agreed,
        }
        for j in range(n)
    ]
    values = [
        {
            "topic": f"{row['number'] or '–'}  {' '.join(row['terms'][:3])}" + _again(rows, place),
            "colour": colour(row["number"]),
            **dict(
                zip(
                    ("share", "lower", "upper", "occurrence"),
                    rounded([row["share"], row["lower"], row["upper"], row["occurrence"]], 3),
                    strict=True,
                )
            ),
        }
        for place, row in enumerate(rows[:_IN_CHART])
    ]
    return Content(
        values={
            "rows": rows,
            "n_common": len(aligned),
            "n_least": max(1, math.ceil(MIN_OCCURRENCE * len(aligned.samples) - 1e-9)),
            "n_samples": len(aligned.samples),
            "sweeps": aligned.sweeps,
            "n_chains": len(aligned.chain_numbers),
            "n_agreed": len(agreed),
            "n_missing": int((report.common < 0).sum()),
            "level": aligned.level,
            "rest": aligned.rest,
            "n_charted": len(values),
        },
        charts={"samples-shares": _intervals(values, report.nouns)},
        data={"common": _terms(report), "level": aligned.level},
    )


def _first(row: Any) -> list[int]:
    order = np.argsort(-row, kind="stable")[:_TERMS]
    return [int(v) for v in order]


def _again(rows: list[dict[str, Any]], place: int) -> str:
    """A suffix that distinguishes a topic from an earlier one with the same first words and no number."""
    row = rows[place]
    same = [one for one in rows[:place] if one["number"] is None and one["terms"][:3] == row["terms"][:3]]
    return f" ({len(same) + 1})" if row["number"] is None and same else ""


def _terms(report: ReportData) -> list[list[Any] | None]:
    """For each topic of the page that samples have in common: its occurrence, its share with the interval,
    and for each of its most frequent terms the mean and the interval of the probability.
    """
    aligned = report.aligned
    assert aligned is not None
    found: list[list[Any] | None] = []
    for k, j in enumerate(report.common.tolist()):
        if j < 0:
            found.append(None)
            continue
        facts = [
            aligned.occurrence[j], aligned.shares[j], aligned.shares_lower[j], aligned.shares_upper[j],
        ]  # fmt: skip
        terms = report.top_terms(k)
        rows = (aligned.topic_rows(np.array([j]))[0], *aligned.ends_of(j))
        ends = [row[terms] for row in rows]
        words = [x for one in zip(*ends, strict=True) for x in one]
        found.append([*rounded(facts, 3), rounded(words, 3)])
    return found


def _intervals(values: list[dict[str, Any]], nouns: Nouns) -> Any:
    """Shares as points with intervals, one row per topic; topics that fewer samples have are fainter."""
    title = f"share of the {nouns.tokens}"
    y = names("Y", "topic", 260)
    faint = {"domain": [0, 1], "range": [0.35, 1]}
    opacity = alt.Opacity(field="occurrence", type="quantitative", legend=None, scale=faint)
    fill = alt.Color(field="colour", type="nominal", scale=None)
    tooltip = [
        named("topic", nouns.topic), *(told(one, form=".2%") for one in ("share", "lower", "upper")),
        told("occurrence", "states that have it", ".0%"),
    ]  # fmt: skip
    lower = number("X", "lower", title, ".1%", scale={"zero": True})
    rule = over().mark_rule(strokeWidth=2.5)
    rule = rule.encode(lower, alt.X2(field="upper"), y, opacity, fill, tooltip=tooltip)
    point = over().mark_circle(size=60, opacity=1)
    point = point.encode(number("X", "share", title, ".1%"), y, opacity, fill, tooltip=tooltip)
    return layered(values, ROW * len(values), rule, point)
