"""Traces, the verdict on convergence, and statistics of the moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.canvas import evenly
from hdpkit.pages.charts import bars, lines
from hdpkit.pages.report_data import ReportData, diagnosis_of, rounded
from hdpkit.pages.section import Content

_POINTS = 400


def read_convergence(report: ReportData) -> Content | None:
    """Traces of all chains; None if nothing was recorded."""
    if not report.traces:
        return None
    charts: dict[str, Any] = {}
    panels: list[dict[str, Any]] = []
    nouns = report.nouns
    first = (
        ("log_joint", "log probability (nats)", "Log probability of the model and the data together."),
        ("n_dishes", nouns.dishes, f"Number of {nouns.dishes} that have {nouns.tokens}."),
    )
    for key, title, meaning in [*first, *_hyperparameters(report)]:
        values, ends = _points(report, key)
        if not values:
            continue
        name = f"trace-{len(charts)}"
        several = "chain" if len(report.traces) > 1 else None
        charts[name] = lines(values, "value", title, several, legend=not panels)
        panels.append({"chart": name, "title": title, "meaning": meaning, "ends": ends})
    moves = _moves(report)
    if moves:
        values = [{"move": one["move"], "share": rounded([one["share"]])[0]} for one in moves]
        charts["move-times"] = bars(values, "move", "share", "share of the time", ".0%")
    return Content(values={"panels": panels, "moves": moves, "verdict": diagnosis_of(report)}, charts=charts)


def _hyperparameters(report: ReportData) -> list[tuple[str, str, str]]:
    """Keys of the trace with one number per sweep that is not constant."""
    _, chain = report.traces[0]
    found = []
    for key in chain:
        what, _, name = key.partition("/")
        if what in ("concentration", "discount", "base") and name:
            values = chain[key]
            if values.dtype != object and values.ndim == 1 and len(np.unique(values)) > 1:
                title = name if what == "base" else f"{what} of {report.nouns.level(name)}"
                found.append((key, title, "Resampled in every sweep."))
    return found[:6]


def _points(report: ReportData, key: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """At most 400 sweeps of each chain, and its first and last values for the table."""
    values, ends = [], []
    for number, chain in report.traces:
        if key not in chain:
            continue
        column, sweeps = np.asarray(chain[key], dtype=np.float64), chain["sweep"]
        places = evenly(len(column), _POINTS)
        name = f"chain {number}"
        values += [
            {"sweep": int(sweep), "value": value, "chain": name}
            for sweep, value in zip(sweeps[places], rounded(column[places], 7), strict=True)
        ]
        half = column[len(column) // 2 :]
        ends.append(
            {"chain": number, "first": column[0], "last": column[-1], "mean": half.mean(), "sd": half.std()}
        )
    return values, ends


def _moves(report: ReportData) -> list[dict[str, Any]]:
    """Proposals, acceptances and seconds of each move over all chains."""
    records = np.concatenate([chain.moves for _, chain in report.traces])
    if not len(records):
        return []
    names, which = np.unique(records["move"], return_inverse=True)
    seconds = np.bincount(which, records["seconds"])
    tried, accepted = (np.bincount(which, records[what]) for what in ("tried", "accepted"))
    total = max(float(seconds.sum()), 1e-300)
    return [
        {
            "move": str(names[i]), "seconds": float(seconds[i]), "share": float(seconds[i] / total),
            "tried": int(tried[i]), "rate": float(accepted[i] / tried[i]) if tried[i] else None,
        }
        for i in np.argsort(-seconds, kind="stable")
    ]  # fmt: skip
