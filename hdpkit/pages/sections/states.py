"""States of a hidden Markov model: the states of sequences over time, and the transitions between them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from hdpkit.canvas import ROW, alt, chart, colours, heat, named, told
from hdpkit.canvas import names as names_on
from hdpkit.errors import printable
from hdpkit.pages.plots.components import NOBODY
from hdpkit.pages.report_data import ReportData, distinct
from hdpkit.pages.section import Content

_MOST_SEQUENCES = 40  # in the picture
_MOST_RUNS = 4_000  # of observations of one state in a row


def _of_states(report: ReportData) -> bool:
    """Whether groups are the states of sequences, whose transitions are weights."""
    found = report.components
    return found.has_groups and found.samples[0].levels[-1].n_fixed is not None


def read_states(report: ReportData) -> Content | None:
    """The most probable state of each observation, over time; None for sequences in another model."""
    if not _of_states(report):
        return None
    data = report.corpus
    members, n = report.memberships, report.n_topics
    best = np.minimum(members.argmax(axis=1), n)
    names = distinct(data.names)
    runs: list[dict[str, Any]] = []
    drawn = 0
    for s, (first, last) in enumerate(itertools.pairwise(data.offsets.tolist())):
        if s >= _MOST_SEQUENCES or len(runs) >= _MOST_RUNS:
            break
        own = best[first:last]
        begins = np.flatnonzero(np.append(True, own[1:] != own[:-1])) if last > first else np.empty(0, int)
        ends = np.append(begins[1:], len(own))[: len(begins)]
        for begin, end in list(zip(begins.tolist(), ends.tolist(), strict=True))[: _MOST_RUNS - len(runs)]:
            runs.append(
                {
                    "sequence": names[s],
                    "begin": begin + 1,
                    "end": end + 1,
                    "last": end,
                    "component": str(own[begin] + 1) if own[begin] < n else NOBODY,
                    "probability": round(float(members[first + begin : first + end].max(axis=1).mean()), 3),
                }
            )
        drawn = s + 1
    sure = float(members.max(axis=1).mean())
    return Content(
        values={
            "n_drawn": drawn,
            "n_sequences": data.n_sequences,
            "n_observations": len(data),
            "n_missing": int(data.missing.sum()),
            "sure": sure,
            "cut": len(runs) >= _MOST_RUNS,
        },
        charts={"states": over_time(runs, n, drawn)},
    )


def over_time(runs: list[dict[str, Any]], n: int, n_rows: int) -> Any:
    """Sequences as rows, of which each run of observations of one state has the state's colour."""
    numbers = [str(k + 1) for k in range(n)]
    rest = any(run["component"] == NOBODY for run in runs)
    scale = {"domain": [*numbers, *([NOBODY] if rest else [])], "range": colours(n, rest=rest)}
    whole = {"zero": False, "nice": False}
    legend = {"title": "state", "orient": "bottom", "columns": 12}
    return (
        chart(runs, max(ROW * n_rows, 40))
        .mark_rect()
        .encode(
            names_on("Y", "sequence"), alt.X2(field="end"),
            alt.X(field="begin", type="quantitative", title="observation", scale=whole),
            alt.Color(field="component", type="nominal", legend=legend, scale=scale),
            tooltip=[named("sequence"), named("component", "state"), told("begin", "from"),
                     told("last", "to"), told("probability", form=".0%")],
        )
    )  # fmt: skip


def read_transitions(report: ReportData) -> Content | None:
    """Transition probabilities between the states, with intervals; None for sequences in another model."""
    if not _of_states(report):
        return None
    found, n = report.components, report.n_topics
    rows = [*range(n), len(found)]  # states that are left out are in the rest; the last row is the start
    names = [*(str(k + 1) for k in range(n)), "start"]
    ends = (found.transitions, found.transitions_lower, found.transitions_upper)
    values = [
        {"from": name, "to": names[k], "share": round(float(ends[0][j, k]), 4)}
        for j, name in zip(rows, names, strict=True)
        for k in range(n)
    ]
    cells = [
        {
            "name": name,
            "cells": [
                {"value": value, "lower": lower, "upper": upper}
                for value, lower, upper in zip(*(end[j, :n].tolist() for end in ends), strict=True)
            ],
            "rest": float(ends[0][j, n:].sum()),
            "stay": None if j == len(found) else 1.0 / max(1.0 - float(ends[0][j, j]), 1e-12),
        }
        for j, name in zip(rows, names, strict=True)
    ]
    hyperparameters = [sample.hyperparameters for sample in found.samples]
    kappa = [float(one["sticky/kappa"]) for one in hyperparameters if "sticky/kappa" in one]
    drawn = heat(
        values, ("from", "from"), ("to", "to"), ("share", "probability", ".0%"), n + 1, title="next state",
        labelAngle=0,
    )  # fmt: skip
    return Content(
        values={
            "rows": cells,
            "numbers": [k + 1 for k in range(n)],
            "level": found.level,
            "kappa": float(np.mean(kappa)) if kappa else None,
            "label": printable(found.label),
        },
        charts={"transitions": drawn},
    )
