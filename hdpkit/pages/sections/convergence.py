"""Traces, the verdict on convergence, and statistics of the moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.pages.plots.moves import move_times
from hdpkit.pages.plots.traces import by_sweep
from hdpkit.pages.report_data import ReportData, diagnosis_of
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
        drawn = by_sweep(report.traces, key, title, most=_POINTS, legend=not panels)
        if drawn is None:
            continue
        name = f"trace-{len(charts)}"
        charts[name] = drawn
        panels.append({"chart": name, "title": title, "meaning": meaning, "ends": _ends(report, key)})
    moves = _moves(report)
    if moves:
        charts["move-times"] = move_times(report.trace)
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


def _ends(report: ReportData, key: str) -> list[dict[str, Any]]:
    """First and last values of each chain for the table."""
    ends = []
    for number, chain in report.traces:
        if key in chain:
            column = np.asarray(chain[key], dtype=np.float64)
            half = column[len(column) // 2 :]
            ends.append(
                {
                    "chain": number,
                    "first": column[0],
                    "last": column[-1],
                    "mean": half.mean(),
                    "sd": half.std(),
                }
            )
    return ends


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
