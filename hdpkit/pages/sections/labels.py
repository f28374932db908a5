"""Shares of topics in the documents of each label."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from hdpkit.errors import printable
from hdpkit.pages.plots.components import by_group
from hdpkit.pages.report_data import ReportData, distinct
from hdpkit.pages.section import Content

_MOST_KEYS = 24
_MOST_TOPICS = 20
_MOST_LABELS = 4


def read_labels(report: ReportData) -> Content | None:
    """A heat map and a table for each label of the documents; None if documents have no labels."""
    shown_elsewhere = ("document", report.dated)
    labels = [name for name in report.corpus.label_names if name not in shown_elsewhere][:_MOST_LABELS]
    found = [one for place, name in enumerate(labels) if (one := _label(report, name, place))]
    if not found:
        return None
    charts = {one["chart"]: one.pop("specification") for one in found}
    return Content(values={"labels": found, "n_topics": report.n_topics}, charts=charts)


def _label(report: ReportData, name: str, place: int) -> dict[str, Any] | None:
    codes, keys = report.document_labels[name]
    if len(keys) < 2:
        return None
    there = codes >= 0
    members = scipy.sparse.csr_array(
        (np.ones(int(there.sum())), (codes[there], np.flatnonzero(there))),
        shape=(len(keys), report.corpus.n_documents),
    )
    tokens = members @ report.document_lengths
    counts = (members @ report.document_counts).toarray()
    kept = [int(i) for i in np.argsort(-tokens, kind="stable")[:_MOST_KEYS] if tokens[i] > 0]
    shares = counts[kept] / tokens[kept, None]
    # Topics for which labels differ most, not the largest topics.
    spread = np.abs(shares - report.shares).max(axis=0)
    topics = np.sort(np.argsort(-spread, kind="stable")[:_MOST_TOPICS])
    columns = distinct(keys[i] for i in kept)
    rows = [f"{report.numbers[k]}  {report.labels[k]}" for k in topics]
    return {
        "name": printable(name),
        "chart": f"labels-{place}",
        "columns": columns,
        "n_keys": len(keys),
        "documents": [int(members[[i]].sum()) for i in kept],
        "rows": [
            {"number": report.numbers[k], "label": report.labels[k], "shares": shares[:, k].tolist()}
            for k in topics
        ],
        "specification": by_group(shares[:, topics], rows, columns, report.nouns, printable(name)),
    }
