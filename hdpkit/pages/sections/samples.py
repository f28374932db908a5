"""Topics that samples have in common, over sweeps and chains, with credible intervals."""

from __future__ import annotations

from typing import Any

from hdpkit.canvas import ROW, alt, colour, layered, named, names, number, over, rounded, told
from hdpkit.kinds.listing import Nouns
from hdpkit.pages.report_data import ReportData
from hdpkit.pages.section import Content

_TERMS = 8
_IN_CHART = 30
_MOST = 500


def read_samples(report: ReportData) -> Content | None:
    """A row for each topic, with intervals; None if the run has fewer than two states."""
    found = report.components
    if len(found.samples) < 2 or not len(found):
        return None
    has = found.occurrence_by_chain > 0
    rows: list[dict[str, Any]] = [
        {
            "number": k + 1,
            "terms": [report.words[v] for v in report.top_terms(k, _TERMS)],
            "share": float(found.shares[k]),
            "lower": float(found.shares_lower[k]),
            "upper": float(found.shares_upper[k]),
            "occurrence": float(found.occurrence[k]),
            "chains": int(has[:, k].sum()),
        }
        for k in range(min(report.n_topics, _MOST))
    ]
    values = [
        {
            "topic": f"{row['number']}  {' '.join(row['terms'][:3])}",
            "colour": colour(row["number"]),
            **dict(
                zip(
                    ("share", "lower", "upper", "occurrence"),
                    rounded([row["share"], row["lower"], row["upper"], row["occurrence"]], 3),
                    strict=True,
                )
            ),
        }
        for row in rows[:_IN_CHART]
    ]
    return Content(
        values={
            "rows": rows,
            "n_common": len(found),
            "n_samples": len(found.samples),
            "sweeps": found.sweeps,
            "n_chains": len(found.chain_numbers),
            "n_agreed": len(found.in_all_chains),
            "level": found.level,
            "rest": found.rest,
            "n_charted": len(values),
        },
        charts={"samples-shares": _intervals(values, report.nouns)},
        data={"common": _terms(report), "level": found.level},
    )


def _terms(report: ReportData) -> list[list[Any]]:
    """For each topic of the page its occurrence, its share with the interval,
    and for each of its most frequent terms the mean and the interval of the probability.
    """
    found, rows = report.components, []
    for k in range(report.n_topics):
        facts = [found.occurrence[k], found.shares[k], found.shares_lower[k], found.shares_upper[k]]
        terms = report.top_terms(k)
        ends = [row[terms] for row in (report.weights[k], *found.ends_of(k))]
        words = [x for one in zip(*ends, strict=True) for x in one]
        rows.append([*rounded(facts, 3), rounded(words, 3)])
    return rows


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
