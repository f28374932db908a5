"""Mutational signatures, if the terms are channels: spectra, exposures by level, cosines."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.errors import printable
from hdpkit.report.charts import channel_bars, cosines, stacked
from hdpkit.report.report_data import ReportData, rounded
from hdpkit.report.section import Content
from hdpkit.signatures import Signatures, channels_of, extract_signatures
from hdpkit.signatures.extraction import REST
from hdpkit.signatures.pictures import levels_of
from hdpkit.signatures.runs import Settings, signatures_of_run
from hdpkit.summaries.diagnosis import settled_samples

__all__ = ["read_signatures_section"]

_MOST = 40  # signatures that are drawn
_MOST_LEVELS = 40
_MOST_SAMPLES = 500  # rows of the table of samples
_MOST_KNOWN = 60


def read_signatures_section(report: ReportData) -> Content | None:
    """The section for a run over channels of mutations; None for any other."""
    channels = channels_of(report.corpus.vocabulary or ())
    if channels is None or hasattr(report.corpus, "shards"):  # signatures need all samples at once
        return None
    found, settings = _found(report)
    charts: dict[str, Any] = {}
    rows = []
    table = found.overview(settings.known)
    for k in range(min(len(found), _MOST)):
        values = [
            {"channel": name, "group": group, "share": share, "low": low, "high": high}
            for name, group, share, low, high in zip(
                channels.names, channels.groups, rounded(found.matrix[k]), rounded(found.lower[k]),
                rounded(found.upper[k]), strict=True,
            )
        ]  # fmt: skip
        charts[f"signatures-{k}"] = channel_bars(values, channels.colours)
        top = np.argsort(-found.matrix[k], kind="stable")[:5]
        rows.append(
            {name: values[k] for name, values in table.items()}
            | {
                "chart": f"signatures-{k}",
                "channels": [(channels.names[v], float(found.matrix[k, v])) for v in top],
            }
        )
    charts["signatures-levels"] = _levels(found)
    if len(found) > 1 or (len(found) == 1 and settings.known is not None):
        charts["signatures-cosines"] = _cosines(found, settings)
    lengths = report.document_lengths
    label = next((name for name in report.corpus.label_names if name != "document"), None)
    return Content(
        values={
            "rows": rows,
            "classification": channels.name,
            "n_hidden": max(0, len(found) - _MOST),
            "rest": found.components.rest,
            "extrapolated": 0 if found.totals is None else int((found.totals > lengths).sum()),
            "n_samples": len(found.components.samples),
            "sweeps": found.components.sweeps,
            "n_chains": len(found.components.chain_numbers),
            "settings": settings,
            "known": settings.known is not None,
            "label": printable(label or "all samples"),
            "samples": _samples(found, report),
            "n_hidden_samples": max(0, report.corpus.n_documents - _MOST_SAMPLES),
            "has_cosines": "signatures-cosines" in charts,
        },
        charts=charts,
    )


def _found(report: ReportData) -> tuple[Signatures, Settings]:
    if report.run is not None:
        return signatures_of_run(report.run)
    samples = () if report.trace is None else settled_samples(report.trace)
    samples = samples or [report.franchise.sample()]
    return extract_signatures(samples, report.corpus, declared=report.franchise.known), Settings()


def _levels(found: Signatures) -> dict[str, Any]:
    keys, members = levels_of(found, None)
    shares = found.exposures.shares
    names = [*found.names, REST]
    columns = [f"{printable(key)} ({len(group)})" for key, group in zip(keys, members, strict=True)]
    values = [
        {"level": column, "signature": name, "share": share}
        for column, group in zip(columns[:_MOST_LEVELS], members, strict=False)
        for name, share in zip(names, rounded(shares[group].mean(axis=0)), strict=True)
    ]
    return stacked(values, min(len(columns), _MOST_LEVELS), len(names))


def _cosines(found: Signatures, settings: Settings) -> dict[str, Any]:
    unit = found.matrix / np.linalg.norm(found.matrix, axis=1, keepdims=True)
    if settings.known is None:
        names, products = list(found.names), unit @ unit.T
    else:
        products = found.match(settings.known).cosines
        kept = np.sort(np.argsort(-products.max(axis=0), kind="stable")[:_MOST_KNOWN])
        names, products = [printable(settings.known.names[i]) for i in kept], products[:, kept]
    values = [
        {"signature": one, "known": other, "cosine": value}
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
