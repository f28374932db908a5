"""Sections of numbers and sequences: mixtures, components, weights by group, states over time."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from hdpkit.canvas import ROW, alt, chart, colours, evenly, heat, named, told
from hdpkit.canvas import names as names_on
from hdpkit.data.files.tables import rows_of
from hdpkit.errors import printable
from hdpkit.pages.plots.components import MOST_POINTS, NOBODY, by_group, picture
from hdpkit.pages.plots.topics import together
from hdpkit.pages.report_data import ReportData, distinct
from hdpkit.pages.section import Content
from hdpkit.pages.sections.run import opening
from hdpkit.posterior.finding import dishes_of
from hdpkit.posterior.partitions import co_clustering

_MOST_PARAMETERS = 60
_IN_A_LABEL = 2
_MOST_GROUPS = 40  # in the chart
_MOST_ROWS = 300  # groups in the table
_MOST_TOGETHER = 120  # rows and columns


def read_mixture(report: ReportData) -> Content:
    """Sizes, numbers of components, and whether the run has converged."""
    found = report.components
    return opening(
        report,
        [(report.nouns.topics, len(found)), *report.model.sizes(report.corpus)],
        found.rest,
        numbers=report.state_sizes[:4],
        n_samples=len(found.samples),
        n_chains=len(found.chain_numbers),
        rows=_rows(report)[:8],
    )


def _rows(report: ReportData) -> list[dict[str, Any]]:
    """A row for each component, with the group and the first parameters."""
    first = list(report.parameters.items())[:_IN_A_LABEL]
    group = None if report.partition is None else report.components.point_groups.of
    return [
        row
        | {
            "group": None if group is None else int(group[k]) + 1,
            "label": ", ".join(f"{name} {values[k, 0]:,.3g}" for name, values in first),
        }
        for k, row in enumerate(report.rows(report.n_topics))
    ]


def read_components(report: ReportData) -> Content:
    """Points and components in the plane, shares, and parameters."""
    names, shown = _parameters(report)
    return Content(
        values={
            "rows": _rows(report),
            "rest": report.components.rest,
            "level": report.components.level,
            "n_samples": len(report.components.samples),
            "n_chains": len(report.components.chain_numbers),
            "n_hidden": len(report.components) - report.n_topics,
            "n_components": len(report.components),
            "n_groups": None if report.partition is None else len(report.components.point_groups),
            "titles": () if report.plane is None else report.plane.titles,
            "n_drawn": min(report.n_customers, MOST_POINTS),
            "n_points": report.n_customers,
            "has_ellipses": report.franchise.measure.supports("moments"),
            "parameters": shown,
            "n_parameters": len(names),
        },
        charts={} if report.plane is None else {"components-plane": _picture(report)},
    )


def _cells(values: Any) -> list[dict[str, float]]:
    """Cells of a table, from a mean and the ends of its interval for each: shape (n, 3)."""
    return rows_of(dict(zip(("value", "lower", "upper"), np.asarray(values).T.tolist(), strict=True)))


def _parameters(report: ReportData) -> tuple[list[str], list[dict[str, Any]]]:
    """Names of all parameters, and rows of those in which components differ most, in their order."""
    named = report.parameters
    names, n = list(named), report.n_topics
    clear = []
    for values in named.values():
        width = float(np.mean(values[:n, 2] - values[:n, 1])) if n else 0.0
        clear.append(float(np.ptp(values[:n, 0])) / max(width, 1e-12) if n else 0.0)
    kept = np.sort(np.argsort(-np.array(clear), kind="stable")[:_MOST_PARAMETERS])
    rows = [
        {
            "name": names[i],
            "cells": _cells(named[names[i]][:n]),
        }
        for i in kept.tolist()
    ]
    return names, rows


def _picture(report: ReportData) -> Any:
    """The chart of points and components."""
    assert report.plane is not None
    measure, members, n = report.franchise.measure, report.memberships, report.n_topics
    best = members.argmax(axis=1)
    moments = None
    if measure.supports("moments"):
        mean, covariance = measure.moments(report.components.rows[:n])
        moments = report.plane.moments(np.asarray(mean), np.asarray(covariance))
    labels = np.where(best < n, best, -1)
    return picture(report.plane, report.values, labels, members.max(axis=1), n, moments)


def read_together(report: ReportData) -> Content | None:
    """Probabilities that two points are together, in the order of the partition; None without one."""
    if report.partition is None or report.n_customers < 2:
        return None
    labels = report.partition
    own = report.memberships[np.arange(len(labels)), labels]
    # Evenly from each component, its surest points first.
    chosen = np.lexsort((-own, labels))[evenly(len(labels), _MOST_TOGETHER)]
    found = co_clustering(dishes_of(report.components.samples), items=chosen)
    shown, sizes = np.unique(labels[chosen], return_counts=True)
    ends = np.cumsum(sizes)
    texts = [(str(k + 1), at) for k, at in zip(shown.tolist(), (ends - sizes / 2).tolist(), strict=True)]
    inside = labels[chosen][:, None] == labels[chosen][None, :]
    np.fill_diagonal(inside, False)
    return Content(
        values={
            "n": report.n_customers,
            "n_drawn": len(chosen),
            "n_components": int(labels.max()) + 1,
            "within": float(found[inside].mean()) if inside.any() else 1.0,
        },
        charts={"together": together(found, chosen, ends[:-1].tolist(), texts)},
    )


def read_weights(report: ReportData) -> Content | None:
    """Weights of the components in each group; None without groups, or if they are the states themselves."""
    found, n = report.components, report.n_topics
    if not found.has_groups or found.has_transitions:
        return None
    names = distinct(found.names)
    sizes = np.asarray(found.samples[-1].group_counts.sum(axis=1)).ravel()
    order = np.argsort(-sizes, kind="stable")
    drawn = np.sort(order[:_MOST_GROUPS])
    shares = found.group_shares
    ends = np.stack([shares, found.group_shares_lower, found.group_shares_upper], axis=-1)
    rows = [
        {
            "name": names[j],
            "size": int(sizes[j]),
            "cells": _cells(ends[j, :n]),
            "rest": float(shares[j, n:].sum()),
        }
        for j in np.sort(order[:_MOST_ROWS]).tolist()
    ]
    label = printable(str(found.label))
    numbers = [str(k + 1) for k in range(n)]
    drawn_map = by_group(shares[drawn, :n], numbers, [names[j] for j in drawn], report.nouns, label)
    return Content(
        values={
            "label": label,
            "rows": rows,
            "numbers": [k + 1 for k in range(n)],
            "level": found.level,
            "n_groups": len(names),
            "n_drawn": len(drawn),
        },
        charts={"weights": drawn_map},
    )


_MOST_SEQUENCES = 40  # in the picture
_MOST_RUNS = 4_000  # of observations of one state in a row


def read_states(report: ReportData) -> Content | None:
    """The most probable state of each observation, over time; None for sequences in another model."""
    if not report.components.has_transitions:
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
    if not report.components.has_transitions:
        return None
    found, n = report.components, report.n_topics
    rows = [*range(n), len(found)]  # states that are left out are in the rest; the last row is the start
    names = [*(str(k + 1) for k in range(n)), "start"]
    means = found.transitions
    ends = np.stack([means, found.transitions_lower, found.transitions_upper], axis=-1)
    values = [
        {"from": name, "to": names[k], "share": round(float(means[j, k]), 4)}
        for j, name in zip(rows, names, strict=True)
        for k in range(n)
    ]
    cells = [
        {
            "name": name,
            "cells": _cells(ends[j, :n]),
            "rest": float(means[j, n:].sum()),
            "stay": None if j == len(found) else 1.0 / max(1.0 - float(means[j, j]), 1e-12),
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
