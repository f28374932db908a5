"""Sizes and a sentence about convergence."""

from __future__ import annotations

from hdpkit.report.diagnosis import diagnosis_of
from hdpkit.report.material import Material
from hdpkit.report.section import Content

__all__ = ["read_overview"]


def read_overview(material: Material) -> Content:
    """Sizes, the largest topics, and whether the run has converged."""
    corpus, franchise = material.corpus, material.franchise
    tiles = [
        ("topics found", f"{franchise.n_dishes:,}"),
        ("documents", f"{corpus.n_documents:,}"),
        ("tokens", f"{corpus.n_tokens:,}"),
        ("different terms", f"{corpus.n_terms:,}"),
        ("sweeps", f"{franchise.sweep:,}"),
    ]
    if len(material.traces) > 1:
        tiles.append(("chains", str(len(material.traces))))
    half = int((material.shares.cumsum() < 0.5).sum()) + 1
    largest = [
        {"number": k + 1, "label": material.labels[k], "share": float(material.shares[k])}
        for k in range(min(5, material.n_topics))
    ]
    return Content(
        values={
            "tiles": tiles,
            "half": min(half, material.n_topics),
            "largest": largest,
            "verdict": diagnosis_of(material),
            "chain": material.chain,
            "n_chains": len(material.traces),
        }
    )
