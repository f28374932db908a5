"""Shares of groups and topics over time, for corpora whose documents have dates."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.canvas import alt, colour, layered, over, rounded, told
from hdpkit.errors import printable
from hdpkit.pages.report_data import ReportData
from hdpkit.pages.section import Content
from hdpkit.posterior.trends import Trends

_MOST = 12  # topics, those whose shares change most


def read_trends(report: ReportData) -> Content | None:
    """A chart of shares by period for each group, and for the topics that change most; None without dates."""
    name = report.dated
    if name is None:
        return None
    codes, _ = report.document_labels[name]
    found = report.components
    charts: dict[str, Any] = {}
    panels: list[dict[str, Any]] = []
    table: dict[str, Any] | None = None
    if report.groups is not None and len(report.groups) > 1:
        of_groups = found.trends(report.by, report.groups.of)
        assert of_groups is not None
        names = [f"{g}  {name}" for g, name in enumerate(report.group_names(3, " · "), start=1)]
        names = names[: of_groups.shares.shape[1]]
        own = range(1, len(names) + 1)
        panels += _panels(charts, of_groups, names, range(len(names)), own, "group")
        table = {"names": names, "rows": _rows(of_groups)}
    single = found.trends(report.by)
    assert single is not None
    change = np.nanmax(single.shares, axis=0) - np.nanmin(single.shares, axis=0)
    most = sorted(sorted(range(report.n_topics), key=lambda k: -float(change[k]))[:_MOST])
    names = [f"{report.numbers[k]}  {report.labels[k]}" for k in most]
    numbers = [report.numbers[k] for k in most]
    topic_panels = _panels(charts, single, names, most, numbers, report.nouns.topic)
    return Content(
        values={
            "name": printable(name),
            "panels": panels,
            "topic_panels": topic_panels,
            "table": table,
            "n_dated": int((codes >= 0).sum()),
            "n_documents": len(codes),
            "first": single.periods[0],
            "last": single.periods[-1],
            "n_samples": len(found.samples),
            "level": 0.9,
        },
        charts=charts,
    )


def _panels(
    charts: dict[str, Any], found: Trends, names: list[str], columns: Any, numbers: Any, kind: str
) -> list[dict[str, Any]]:
    """A chart for each of these columns, each with its own scale."""
    lines = {"share": found.shares, "lower": found.lower, "upper": found.upper}
    drawn = {name: line for name, line in lines.items() if line is not None}
    panels = []
    for title, column, own in zip(names, columns, numbers, strict=True):
        rows = zip(*(rounded(line[:, column], 3) for line in drawn.values()), strict=True)
        values = [
            {"period": period, **dict(zip(drawn, row, strict=True))}
            for period, row in zip(found.periods, rows, strict=True)
        ]
        highest = max(float(np.nanmax(line[:, column])) for line in drawn.values())
        chart = f"trends-{len(charts)}"
        charts[chart] = trend(values, highest, "lower" in drawn, colour(own))
        panels.append({"chart": chart, "title": f"{kind} {title}"})
    return panels


def trend(values: list[dict[str, Any]], highest: float, banded: bool, fill: str) -> Any:
    """A share by period, with a band from ``lower`` to ``upper``; the scale ends at ``highest``."""
    x = alt.X(
        field="period", type="ordinal", sort=None,
        axis={"title": None, "labelAngle": 0, "labelOverlap": "greedy", "labelLimit": 90, "ticks": False},
    )  # fmt: skip

    def y(field: str) -> Any:
        axis = {"title": None, "tickCount": 3, "format": ".1~%"}
        return alt.Y(field=field, type="quantitative", axis=axis, scale={"domain": [0, max(highest, 0.001)]})

    tooltip = [
        alt.Tooltip(field="period", type="ordinal"),
        *(told(one, form=".2%") for one in ("share", *(("lower", "upper") if banded else ()))),
    ]
    line = over().mark_line(interpolate="linear", point={"size": 22, "color": fill}, color=fill)
    line = line.encode(x, y("share"), tooltip=tooltip)
    band = over().mark_area(opacity=0.25, color=fill).encode(x, y("lower"), alt.Y2(field="upper"))
    return layered(values, 110, *([band, line] if banded else [line]))


def _rows(found: Trends) -> list[dict[str, Any]]:
    return [
        {"period": period, "documents": int(documents), "shares": [None if s is None else s for s in shares]}
        for period, documents, shares in zip(
            found.periods, found.documents.tolist(), rounded(found.shares, 3), strict=True
        )
    ]
