"""Sizes and a sentence about convergence."""

from __future__ import annotations

from hdpkit.report.diagnosis import diagnosis_of
from hdpkit.report.material import Material
from hdpkit.report.section import Content

__all__ = ["read_overview"]


def read_overview(material: Material) -> Content:
    """Sizes, the largest topics, and whether the run has converged."""
    corpus, franchise, nouns = material.corpus, material.franchise, material.nouns
    tiles = [
        (f"{nouns.topics} found", f"{franchise.n_dishes:,}"),
        (nouns.documents, f"{corpus.n_documents:,}"),
        (nouns.tokens, f"{corpus.n_tokens:,}"),
        (f"different {nouns.terms}", f"{corpus.n_terms:,}"),
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
