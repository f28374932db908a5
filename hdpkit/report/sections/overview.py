"""Sizes and a sentence about convergence."""

from __future__ import annotations

from hdpkit.report.report_data import ReportData, diagnosis_of
from hdpkit.report.section import Content

__all__ = ["read_overview"]


def read_overview(report: ReportData) -> Content:
    """Sizes, the largest topics, and whether the run has converged."""
    corpus, franchise, nouns = report.corpus, report.franchise, report.nouns
    tiles = [
        (f"{nouns.topics} found", f"{franchise.n_dishes:,}"),
        (nouns.documents, f"{corpus.n_documents:,}"),
        (nouns.tokens, f"{corpus.n_tokens:,}"),
        (f"different {nouns.terms}", f"{corpus.n_terms:,}"),
        ("sweeps", f"{franchise.sweep:,}"),
    ]
    if len(report.traces) > 1:
        tiles.append(("chains", str(len(report.traces))))
    half = int((report.shares.cumsum() < 0.5).sum()) + 1
    largest = [
        {"number": k + 1, "label": report.labels[k], "share": float(report.shares[k])}
        for k in range(min(5, report.n_topics))
    ]
    return Content(
        values={
            "tiles": tiles,
            "half": min(half, report.n_topics),
            "largest": largest,
            "verdict": diagnosis_of(report),
            "chain": report.chain,
            "n_chains": len(report.traces),
        }
    )
