"""Sizes, verdicts on the run, groups of topics, and the largest topics."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.kinds.listing import background_told
from hdpkit.pages.report_data import ReportData, diagnosis_of, progress_of
from hdpkit.pages.section import Content
from hdpkit.posterior.repetition import repetition

_BURSTS = "concentration/bursts"


def read_overview(report: ReportData) -> Content:
    """Sizes, the largest topics, and whether the run has converged."""
    corpus, nouns = report.corpus, report.nouns
    found = report.components
    merged = found.merged_from
    tiles = [
        *([] if merged is None else [(f"{nouns.topics} found", f"{merged:,}")]),
        (f"{nouns.topics}{'' if merged is None else ', merged'}", f"{len(found):,}"),
        (nouns.documents, f"{corpus.n_documents:,}"),
        (nouns.tokens, f"{corpus.n_tokens:,}"),
        (f"different {nouns.terms}", f"{corpus.n_terms:,}"),
        *progress_of(report),
    ]
    largest = sorted(report.listed, key=lambda one: -one["share"])
    half = int((np.cumsum([one["share"] for one in largest]) < 0.5).sum()) + 1
    return Content(
        values={
            "merged": merged,
            "tiles": tiles,
            "half": min(half, len(largest)),
            "largest": largest[:5],
            "source": found.source,
            "rest": found.rest,
            "groups": _groups(report),
            "background": background_told(found, report.present, report.nouns),
            "boilerplate": report.model.hint(report.state, None if report.run is None else report.run.folder),
            "repetition": _repetition(report),
            "verdict": diagnosis_of(report),
        }
    )


def _repetition(report: ReportData) -> str | None:
    """How often terms repeat within documents, and the concentration of that; None if it isn't known."""
    often, sample, nouns = report.state.document_frequency(), report.shown, report.nouns
    if often is None or sample.n_groups != report.corpus.n_documents:
        return None
    found = repetition(sample, int(np.sum(often)))
    if found is None:
        return None
    said = found.sentence(nouns.term, nouns.document, nouns.topic)
    settled = [chain[_BURSTS][chain.n_draws // 2 :] for _, chain in report.traces if _BURSTS in chain]
    if found.bursty is None or not settled:
        return said
    low, middle, high = np.quantile(np.concatenate(settled).astype(np.float64), [0.05, 0.5, 0.95])
    spread = "" if low == high else f" (90 % of the sweeps of the second half: {low:,.3g} to {high:,.3g})"
    return (
        f"{said} Concentration of bursts: {middle:,.3g}{spread}; the larger, the less {nouns.terms} repeat."
    )


def _groups(report: ReportData) -> list[dict[str, Any]]:
    """The groups of similar topics, with their labels or first terms; none without groups."""
    if report.groups is None:
        return []
    shares = report.groups.shares
    return [
        {"number": g + 1, "label": name, "share": float(shares[g])}
        for g, name in enumerate(report.group_names(4))
    ]
