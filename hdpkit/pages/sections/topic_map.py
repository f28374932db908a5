"""Topics in the plane; topics with similar terms are close to each other."""

from __future__ import annotations

import numpy as np

from hdpkit.pages.charts import AREAS, scatter
from hdpkit.pages.report_data import ReportData, coordinates, rounded
from hdpkit.pages.section import Content

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
    areas = AREAS[0] + (AREAS[1] - AREAS[0]) * report.shares / report.shares.max()
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


def _nearest(apart: np.ndarray) -> list[int]:
    own = apart + np.diag(np.full(len(apart), np.inf))
    return [int(k) for k in own.argmin(axis=1)]
