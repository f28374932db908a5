"""Topics in the plane; topics with similar terms are close to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hdpkit.canvas import alt, colours, layered, named, over, rounded, told
from hdpkit.kinds.listing import Nouns
from hdpkit.pages.report_data import ReportData, coordinates
from hdpkit.pages.section import Content

_AREAS = (25, 1600)
"""Areas of the circles for share zero and for the largest share, in square pixels."""
_MOST = 150
_NAMED = 60  # at most; the page leaves out those that would overlap larger ones


def read_map(report: ReportData) -> Content | None:
    """The largest topics as circles; None if there are fewer than three topics."""
    if report.n_topics < 3:
        return None
    n = min(report.n_topics, _MOST)
    group, apart = report.group, report.apart(n)
    n_groups = int(group.max()) + 1
    places = coordinates(apart)
    names = [f"{g}  {name}" for g, name in enumerate(report.group_names(3), start=1)] or ["1"]
    areas = _AREAS[0] + (_AREAS[1] - _AREAS[0]) * report.shares / report.shares.max()
    radii = np.sqrt(areas / np.pi)
    values = [
        {
            "number": report.numbers[k],
            "label": report.labels[k],
            "short": report.given_labels[k] or " ".join(report.words[v] for v in report.top_terms(k, 2)),
            "share": rounded([report.shares[k]])[0],
            "group": names[group[k]],
            "x": x,
            "y": y,
            "named": k < _NAMED,
            "up": 3 + round(float(radii[k])),
        }
        for k, (x, y) in enumerate(rounded(places))
    ]
    near = _nearest(apart)
    rows = [
        {"number": report.numbers[k], "label": report.labels[k], "group": group[k] + 1,
         "near": report.numbers[near[k]],
         "near_label": report.labels[near[k]], "share": float(report.shares[k])}
        for k in range(n)
    ]  # fmt: skip
    return Content(
        values={"rows": rows, "n": n, "n_topics": report.n_topics, "n_groups": n_groups},
        charts={"map": scatter(values, names, report.nouns)},
    )


def scatter(values: Sequence[Any], groups: Sequence[str], nouns: Nouns) -> Any:
    """The map: topics as circles with area by share and colour by group; the largest have words."""

    def place(channel: str) -> Any:
        scale = {"zero": False, "nice": False, "padding": 34}
        return getattr(alt, channel)(field=channel.lower(), type="quantitative", axis=None, scale=scale)

    tooltip = [
        told("number", nouns.topic), named("label", nouns.terms), told("share", form=".2%"), named("group"),
    ]  # fmt: skip
    legend = {
        "title": "group", "orient": "bottom", "labelLimit": 190,
        "columns": {"expr": "max(1, floor(width / 230))"},
    }  # fmt: skip
    scale = {"domain": list(groups), "range": colours(len(groups))}
    chosen = "datum.number === chosen"
    circle = over().mark_circle(cursor="pointer").encode(
        place("X"), place("Y"),
        alt.Size(field="share", type="quantitative", scale={"range": list(_AREAS)}, legend=None),
        alt.Color(field="group", type="nominal", scale=scale, legend=legend),
        opacity={"condition": {"test": chosen, "value": 1}, "value": 0.65},
        stroke={"condition": {"test": chosen, "value": "currentColor"}, "value": None},
        strokeWidth=alt.value(2.5), tooltip=tooltip,
    )  # fmt: skip
    words = (
        over()
        .mark_text(dy={"expr": "-datum.up"}, baseline="bottom", limit=130, style="on-chart")
        .encode(place("X"), place("Y"), text=alt.Text(field="short", type="nominal"), tooltip=tooltip)
        .transform_filter(f"datum.named || {chosen}")
    )
    return layered(values, 460, circle, words).add_params(alt.param("chosen", value=0))


def _nearest(apart: np.ndarray) -> list[int]:
    own = apart + np.diag(np.full(len(apart), np.inf))
    return [int(k) for k in own.argmin(axis=1)]
