"""Mutational signatures in place of topics: what a cohort has, spectra, exposures, cosines, samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.canvas import alt, layered, number, over, rounded, told
from hdpkit.data.top_terms import largest
from hdpkit.errors import printable
from hdpkit.kinds.signatures.channels import channels_of
from hdpkit.kinds.signatures.cohort import Cohort
from hdpkit.kinds.signatures.extraction import COVER, channels_in, in_order, overview, reconstructed
from hdpkit.kinds.signatures.known import vocabulary_of
from hdpkit.kinds.signatures.pictures import (
    labels_of,
    levels_of,
    ordered_samples,
    plot_activity,
    plot_cosines,
    plot_exposures,
    spectrum,
)  # fmt: skip
from hdpkit.pages.report_data import ReportData
from hdpkit.pages.section import Content
from hdpkit.pages.sections.run import opening
from hdpkit.posterior.components import Components

_MOST = 40  # signatures that are drawn
_MOST_LEVELS = 40
_MOST_SAMPLES = 500  # rows of the table of samples
_MOST_DRAWN = 400  # samples that are drawn
_MOST_KNOWN = 60
_IN_PAGE = 15
_PARTS = 6


def read_cohort(report: ReportData) -> Content:
    """Sizes of a cohort, and its largest signatures."""
    found, settings = report.signatures
    sizes = [(f"{report.nouns.topics} found", len(found)), *report.model.sizes(report.corpus)]
    return opening(report, sizes, found.rest, rows=_rows(report), known=settings.compared is not None)


def _rows(report: ReportData) -> list[dict[str, Any]]:
    """A row of `overview` for each signature that is drawn."""
    if "signatures" not in report.kept:
        found, settings = report.signatures
        table = overview(found, settings.compared)
        report.kept["signatures"] = [
            {name: values[k] for name, values in table.items()} for k in range(min(len(found), _MOST))
        ]
    rows: list[dict[str, Any]] = report.kept["signatures"]
    return rows


def read_signatures_section(report: ReportData) -> Content:
    """Spectra of the signatures, and a table."""
    found, settings = report.signatures
    channels, words = channels_in(found), vocabulary_of(found)
    order, rows = in_order(found), []
    charts: dict[str, Any] = {}
    for k, row in enumerate(_rows(report)):
        values, low, high = (values[order] for values in (found.rows[k], *found.ends_of(k)))
        charts[f"signatures-{k}"] = spectrum(values, (low, high), channels)
        top = largest(found.rows[k], 5)
        rows.append(
            row
            | {
                "chart": f"signatures-{k}",
                "unsettled": bool(found.unsettled[k]),
                "channels": [(printable(words[v]), float(found.rows[k, v])) for v in top],
            }
        )
    if len(found) > 1 or (len(found) == 1 and settings.compared is not None):
        charts["signatures-cosines"] = plot_cosines(found, settings.compared, most=_MOST_KNOWN)
    charts |= _ranks(settings)
    return Content(
        values={
            "rows": rows,
            "classification": "" if channels_of(words) is None else channels.name,
            "n_hidden": max(0, len(found) - _MOST),
            "rest": found.rest,
            "n_samples": len(found.samples),
            "sweeps": found.sweeps,
            "choice": None if settings.ranks is None else str(settings.ranks),
            "stable": "signatures-stability" in charts,
            "n_chains": len(found.chain_numbers),
            "settings": settings,
            "known": settings.compared is not None,
            "cover": COVER,
            "has_cosines": "signatures-cosines" in charts,
        },
        charts=charts,
        data={
            "named": True,
            "topics": [
                {"number": k, "label": printable(name)} for k, name in enumerate(found.titles, start=1)
            ],  # also those that aren't drawn: samples have them
            **_searched(found, len(rows)),
        },
    )


def _searched(found: Components, n: int) -> dict[str, Any]:
    """For each channel the signatures of its mutations, the most frequent first: [signature, share, ...]."""
    weights = found.rows[:n] * found.shares[:n, None]
    weights = weights / np.maximum(weights.sum(axis=0), 1e-300)
    rows: list[list[float]] = []
    for column in weights.T:
        top = [int(k) for k in np.argsort(-column, kind="stable")[:3] if column[k] > 0]
        rows.append([part for k in top for part in (k + 1, *rounded([column[k]], 2))])
    return {"words": [printable(name) for name in vocabulary_of(found)], "searched": rows}


def read_exposures(report: ReportData) -> Content:
    """Shares of the signatures in single samples, by level as boxes, and as means."""
    found, _ = report.signatures
    keys, members = levels_of(found, None)
    label = next(iter(labels_of(found)), None)
    charts: dict[str, Any] = {}
    charts["exposures-samples"] = plot_exposures(found, most=_MOST_DRAWN)
    n_levels = min(len(keys), _MOST_LEVELS)
    panels = []
    for k, name in enumerate(found.titles[:_MOST]):
        charts[f"exposures-{k}"] = plot_activity(found, k, most=_MOST_LEVELS)
        panels.append({"chart": f"exposures-{k}", "name": printable(name)})
    if n_levels > 1:
        means = plot_exposures(found, by="level", most=_MOST_LEVELS)
        means.encoding.color.legend = None  # the samples have it
        charts["exposures-levels"] = means
    lengths = report.document_lengths
    return Content(
        values={
            "label": None if label is None else printable(label),
            "panels": panels,
            "n_drawn": sum(map(len, ordered_samples(found.group_shares, members, _MOST_DRAWN))),
            "n_samples": report.corpus.n_documents,
            "n_levels": n_levels,
            "n_all_levels": len(keys),
            "extrapolated": int((found.group_totals > lengths).sum()),
            "level": found.level,
            "samples": _samples(found, report),
            "n_hidden": max(0, report.corpus.n_documents - _MOST_SAMPLES),
        },
        charts=charts,
    )


def _ranks(settings: Cohort) -> dict[str, Any]:
    """Held-out score and stability by number of signatures, if the start was chosen by them."""
    if settings.ranks is None:
        return {}
    table = settings.ranks.table()
    columns = [rounded(table[name]) for name in ("score", "error", "stability")]
    values = [
        {"rank": rank, "score": score, "low": score - error, "high": score + error, "stability": stability,
         "chosen": chosen}
        for rank, score, error, stability, chosen in zip(
            table["rank"].tolist(), *columns, table["chosen"].tolist(), strict=True
        )
    ]  # fmt: skip
    charts = {"signatures-ranks": by_rank(values, "score", "held-out score (nats)")}
    stable = [row for row in values if row["stability"] is not None]
    if stable:
        charts["signatures-stability"] = by_rank(stable, "stability", "stability (cosine)", ".2f")
    return charts


def by_rank(values: list[dict[str, Any]], value: str, title: str, form: str = "~s") -> Any:
    """A value by the number of components, with its error where there is one; the chosen number is a disc."""
    axis = {"title": "signatures", "tickMinStep": 1}
    x = alt.X(field="rank", type="quantitative", axis=axis, scale={"zero": False})
    scale = {"type": "symlog", "constant": 10} if value == "score" else {"zero": False}
    tooltip = [told("rank", "signatures"), told(value, title, ",.4~g")]
    y = number("Y", value, title, form, scale=scale)
    layers = [
        over().mark_line(interpolate="linear").encode(x, y),
        over().mark_point(size=40, opacity=1).encode(x, y, tooltip=tooltip),
        over()
        .mark_circle(size=120, opacity=1)
        .encode(x, y, tooltip=tooltip)
        .transform_filter("datum.chosen"),
    ]
    if value == "score":
        low = number("Y", "low", title, form, scale=scale)
        layers.insert(0, over().mark_rule(opacity=0.6).encode(x, low, alt.Y2(field="high")))
    return layered(values, 190, *layers)


def _samples(found: Components, report: ReportData) -> list[dict[str, Any]]:
    """The samples with the worst reconstruction, with their signatures."""
    cosine, shares, there, rows = reconstructed(found), found.group_shares, found.present, []
    low, high, totals = found.exposures_lower, found.exposures_upper, found.group_totals
    for i in np.argsort(cosine, kind="stable")[:_MOST_SAMPLES].tolist():
        order = np.argsort(-shares[i, :-1], kind="stable")
        parts = [
            {
                "name": found.titles[k], "share": float(shares[i, k]),
                "low": float(low[i, k]), "high": float(high[i, k]),
            }
            for k in order.tolist() if there[i, k]
        ]  # fmt: skip
        rows.append(
            {
                "name": report.names[i], "mutations": int(totals[i]),
                "cosine": float(cosine[i]), "parts": parts, "rest": float(shares[i, -1]),
            }
        )  # fmt: skip
    return rows


def read_cohort_samples(report: ReportData) -> Content:
    """All samples with their largest signatures, for the script, which shows them in pages."""
    found, rows = report.signatures[0], []
    shares, there, totals = found.group_shares, found.present, found.group_totals
    for i, name in enumerate(report.names):
        order = np.argsort(-shares[i, :-1], kind="stable")[:_PARTS]
        parts = [part for k in order if there[i, k] for part in (int(k) + 1, *rounded([shares[i, k]], 2))]
        rows.append([name, int(totals[i]), *parts])
    return Content(
        values={"n_documents": len(rows), "n_shown": len(rows), "in_page": _IN_PAGE},
        data={"documents": rows, "numbers": None},
    )
