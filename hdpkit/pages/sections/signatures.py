"""Mutational signatures in place of topics: what a cohort has, spectra, exposures, cosines, samples."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from hdpkit.data.top_terms import largest
from hdpkit.errors import printable
from hdpkit.kinds.signatures.channels import plain_channels
from hdpkit.kinds.signatures.extraction import COVER, REST, Signatures
from hdpkit.kinds.signatures.pictures import QUANTILES, labels_of, levels_of, ordered_samples
from hdpkit.kinds.signatures.runs import Settings
from hdpkit.pages.charts import boxes, by_rank, channel_bars, cosines, samples, stacked
from hdpkit.pages.report_data import ReportData, diagnosis_of, progress_of, rounded
from hdpkit.pages.section import Content
from hdpkit.posterior.vectors import unit_rows

_MOST = 40  # signatures that are drawn
_MOST_LEVELS = 40
_MOST_SAMPLES = 500  # rows of the table of samples
_MOST_DRAWN = 400  # samples that are drawn
_MOST_NAMED = 70  # of which there are names below the bars
_MOST_KNOWN = 60
_MOST_LABELLED = 100  # channels that have labels
_LEAST = 0.002  # share of a sample that is drawn
_IN_PAGE = 15
_PARTS = 6


def read_cohort(report: ReportData) -> Content | None:
    """Sizes of a cohort, and its largest signatures; None for other data."""
    if report.signatures is None:
        return None
    found, settings = report.signatures
    corpus, nouns = report.corpus, report.nouns
    tiles = [
        (f"{nouns.topics} found", f"{len(found):,}"),
        (nouns.documents, f"{corpus.n_documents:,}"),
        (nouns.tokens, f"{corpus.n_tokens:,}"),
        (nouns.terms, f"{corpus.n_terms:,}"),
        *progress_of(report),
    ]
    return Content(
        values={
            "tiles": tiles,
            "verdict": diagnosis_of(report),
            "rows": _rows(report),
            "rest": found.components.rest,
            "known": settings.known is not None,
        }
    )


def _rows(report: ReportData) -> list[dict[str, Any]]:
    """A row of `Signatures.overview` for each signature that is drawn."""
    if "signatures" not in report.kept:
        assert report.signatures is not None
        found, settings = report.signatures
        table = found.overview(settings.known)
        report.kept["signatures"] = [
            {name: values[k] for name, values in table.items()} for k in range(min(len(found), _MOST))
        ]
    rows: list[dict[str, Any]] = report.kept["signatures"]
    return rows


def read_signatures_section(report: ReportData) -> Content | None:
    """Spectra of the signatures, and a table; None for other data."""
    if report.signatures is None:
        return None
    found, settings = report.signatures
    channels = found.channels or plain_channels(found.vocabulary)
    order, charts, rows = found.in_order, {}, []
    strips = [
        {"label": block.label, "colour": block.colour, "first": block.first, "end": block.first + block.width}
        for block in channels.blocks
    ]
    headings = [
        {"label": heading, "first": some[0].first, "end": some[-1].first + some[-1].width}
        for heading, some in ((h, list(g)) for h, g in groupby(channels.blocks, lambda one: one.heading))
        if heading
    ]
    names = [printable(name) for name in channels.names]
    labels = (
        [printable(label) for label in channels.labels] if len(names) <= _MOST_LABELLED else [""] * len(names)
    )
    for k, row in enumerate(_rows(report)):
        values = [
            {"channel": name, "label": label, "group": group, "colour": channels.colours[group],
             "share": share, "low": low, "high": high}
            for name, label, group, share, low, high in zip(
                names, labels, channels.groups, rounded(found.matrix[k, order]),
                rounded(found.lower[k, order]), rounded(found.upper[k, order]), strict=True,
            )
        ]  # fmt: skip
        charts[f"signatures-{k}"] = channel_bars(values, strips, headings)
        top = largest(found.matrix[k], 5)
        rows.append(
            row
            | {
                "chart": f"signatures-{k}",
                "channels": [(printable(found.vocabulary[v]), float(found.matrix[k, v])) for v in top],
            }
        )
    if len(found) > 1 or (len(found) == 1 and settings.known is not None):
        charts["signatures-cosines"] = _cosines(found, settings)
    charts |= _ranks(settings)
    return Content(
        values={
            "rows": rows,
            "classification": "" if found.channels is None else found.channels.name,
            "n_hidden": max(0, len(found) - _MOST),
            "rest": found.components.rest,
            "n_samples": len(found.components.samples),
            "sweeps": found.components.sweeps,
            "choice": None if settings.ranks is None else str(settings.ranks),
            "stable": "signatures-stability" in charts,
            "n_chains": len(found.components.chain_numbers),
            "settings": settings,
            "known": settings.known is not None,
            "cover": COVER,
            "has_cosines": "signatures-cosines" in charts,
        },
        charts=charts,
        data={
            "named": True,
            "topics": [
                {"number": k, "label": printable(name)} for k, name in enumerate(found.names, start=1)
            ],  # also those that aren't drawn: samples have them
            **_searched(found, len(rows)),
        },
    )


def _searched(found: Signatures, n: int) -> dict[str, Any]:
    """For each channel the signatures of its mutations, the most frequent first: [signature, share, ...]."""
    weights = found.matrix[:n] * found.components.shares[:n, None]
    weights = weights / np.maximum(weights.sum(axis=0), 1e-300)
    rows: list[list[float]] = []
    for column in weights.T:
        top = [int(k) for k in np.argsort(-column, kind="stable")[:3] if column[k] > 0]
        rows.append([part for k in top for part in (k + 1, *rounded([column[k]], 2))])
    return {"words": [printable(name) for name in found.vocabulary], "searched": rows}


def read_exposures(report: ReportData) -> Content | None:
    """Shares of the signatures in single samples, by level as boxes, and as means; None for other data."""
    if report.signatures is None:
        return None
    found, _ = report.signatures
    keys, members = levels_of(found, None)
    label = next(iter(labels_of(found)), None)
    charts: dict[str, Any] = {}
    charts["exposures-samples"], n_drawn = _drawn(found, keys, members, label)
    levels = [
        (f"{printable(key)} ({len(group):,})", group)
        for key, group in list(zip(keys, members, strict=True))[:_MOST_LEVELS]
    ]
    panels = []
    for k, name in enumerate(found.names[:_MOST]):
        charts[f"exposures-{k}"] = boxes(_boxes(found, k, levels), printable(label or "samples"))
        panels.append({"chart": f"exposures-{k}", "name": printable(name)})
    if len(levels) > 1:
        charts["exposures-levels"] = _means(found, levels)
    lengths = report.document_lengths
    return Content(
        values={
            "label": None if label is None else printable(label),
            "panels": panels,
            "n_drawn": n_drawn,
            "n_samples": report.corpus.n_documents,
            "n_levels": len(levels),
            "n_all_levels": len(keys),
            "extrapolated": 0 if found.totals is None else int((found.totals > lengths).sum()),
            "level": found.exposures.level,
            "samples": _samples(found, report),
            "n_hidden": max(0, report.corpus.n_documents - _MOST_SAMPLES),
        },
        charts=charts,
    )


def _drawn(found: Signatures, keys: Any, members: Any, label: str | None) -> tuple[dict[str, Any], int]:
    """Samples by level and, within a level, by their largest signature; and how many there are."""
    shares, totals = found.exposures.shares, found.exposures.totals
    names = _names_of_parts(found)
    values, columns, ends, place = [], [], [], 0
    for key, chosen in zip(keys, ordered_samples(shares, members, _MOST_DRAWN), strict=True):
        level = printable(key)
        ends.append({"level": level, "first": place, "middle": place + len(chosen) / 2})
        for i in chosen.tolist():
            name = printable(str(found.exposures.names[i]))
            columns.append({"name": name, "middle": place + 0.5})
            # The first sample has all parts, so that colours are in the order of the parts.
            values += [
                {"place": place, "sample": name, "level": level, "signature": part, "share": share,
                 "mutations": round(share * float(totals[i]))}
                for part, share in zip(names, rounded(shares[i], 3), strict=True)
                if share >= _LEAST or place == 0
            ]  # fmt: skip
            place += 1
    named = columns if len(columns) <= _MOST_NAMED else []
    return samples(values, named, ends if label is not None else [], len(names)), place


def _names_of_parts(found: Signatures) -> list[str]:
    """Names of the signatures and, last, of what is in none."""
    return [printable(name) for name in (*found.names, f"component {REST}")]


def _boxes(found: Signatures, k: int, levels: Any) -> list[dict[str, Any]]:
    """Quartiles of the share of a signature in the samples of each level."""
    column, there = found.exposures.shares[:, k], ~found.exposures.zero[:, k]
    parts = ("low", "first", "middle", "third", "high")
    return [
        {"level": name, "samples": int(there[group].sum())}
        | dict(zip(parts, rounded(np.quantile(column[group], QUANTILES), 3), strict=True))
        for name, group in levels
    ]


def _means(found: Signatures, levels: Any) -> dict[str, Any]:
    shares, names = found.exposures.shares, _names_of_parts(found)
    values = [
        {"level": level, "signature": name, "share": share}
        for level, group in levels
        for name, share in zip(names, rounded(shares[group].mean(axis=0)), strict=True)
    ]
    return stacked(values, len(levels), len(names))


def _ranks(settings: Settings) -> dict[str, Any]:
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
    charts = {"signatures-ranks": by_rank(values, "score", "held-out score (nats)", "signatures")}
    stable = [row for row in values if row["stability"] is not None]
    if stable:
        charts["signatures-stability"] = by_rank(
            stable, "stability", "stability (cosine)", "signatures", ".2f"
        )
    return charts


def _cosines(found: Signatures, settings: Settings) -> dict[str, Any]:
    unit = unit_rows(found.matrix)
    if settings.known is None:
        names, products = list(found.names), unit @ unit.T
    else:
        products = found.match(settings.known).cosines
        kept = np.sort(np.argsort(-products.max(axis=0), kind="stable")[:_MOST_KNOWN])
        names, products = [settings.known.names[i] for i in kept], products[:, kept]
    values = [
        {"signature": printable(one), "known": printable(other), "cosine": value}
        for one, row in zip(found.names, rounded(products, 3), strict=True)
        for other, value in zip(names, row, strict=True)
    ]
    return cosines(values, len(found))


def _samples(found: Signatures, report: ReportData) -> list[dict[str, Any]]:
    """The samples with the worst reconstruction, with their signatures."""
    held, rows = found.exposures, []
    for i in np.argsort(found.cosine, kind="stable")[:_MOST_SAMPLES].tolist():
        order = np.argsort(-held.mean[i, :-1], kind="stable")
        parts = [
            {
                "name": found.names[k], "share": float(held.shares[i, k]),
                "low": float(held.lower[i, k]), "high": float(held.upper[i, k]),
            }
            for k in order.tolist() if not held.zero[i, k]
        ]  # fmt: skip
        rows.append(
            {
                "name": report.names[i], "mutations": round(float(held.totals[i])),
                "cosine": float(found.cosine[i]), "parts": parts, "rest": float(held.shares[i, -1]),
            }
        )  # fmt: skip
    return rows


def read_cohort_samples(report: ReportData) -> Content | None:
    """All samples with their largest signatures, for the script, which shows them in pages."""
    if report.signatures is None:
        return None
    held = report.signatures[0].exposures
    rows = []
    for i, name in enumerate(report.names):
        order = np.argsort(-held.mean[i, :-1], kind="stable")[:_PARTS]
        parts = [
            part
            for k in order
            if not held.zero[i, k]
            for part in (int(k) + 1, *rounded([held.shares[i, k]], 2))
        ]
        rows.append([name, round(float(held.totals[i])), *parts])
    return Content(
        values={"n_documents": len(rows), "n_shown": len(rows), "in_page": _IN_PAGE},
        data={"documents": rows, "numbers": None},
    )
