"""Topics with their terms and documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.canvas import bars, rounded
from hdpkit.data.top_terms import typical
from hdpkit.pages.report_data import ReportData
from hdpkit.pages.section import Content
from hdpkit.posterior.documents import PRESENT
from hdpkit.posterior.vectors import unit_rows

_SIMILAR = 5
_IN_TABLE = 8
_MOST_SEARCHED = 15_000
_TOPICS_OF_A_TERM = 3


def read_topics(report: ReportData) -> Content:
    """A row for each topic, and for the script terms in two orders, documents, and similar topics."""
    nouns = report.nouns
    rows: list[dict[str, Any]] = [
        {
            "number": report.numbers[k],
            "label": report.given_labels[k],
            "terms": [report.words[v] for v in report.top_terms(k, _IN_TABLE)],
            "share": float(report.shares[k]),
            "documents": float(report.present[k]),
            "unsettled": bool(report.components.unsettled[k]),
        }
        for k in range(report.n_topics)
    ]
    details = _details(report)
    data = {"topics": details, "words": _used(report), "searched": _searched(report)}
    if report.texts is not None:
        data["texts"] = {d: report.texts[d] for one in details for d, _ in one["documents"]}
    return Content(
        values={
            "rows": rows,
            "present": PRESENT,
            "n_hidden": len(report.components) - report.n_topics,
            "rest": report.components.rest,
            "has_common": len(report.samples) > 1,
            "largest_share": max(row["share"] for row in rows),
        },
        charts={"topic-terms": bars([], "term", "weight", f"share of the {nouns.topic}", noun=nouns.term)},
        data=data,
    )


def _used(report: ReportData) -> list[str]:
    """The words that the page can show: those in the search index, and the top terms of the topics."""
    return [report.words[v] for v in _numbers(report)]


def _numbers(report: ReportData) -> list[int]:
    if "numbers" not in report.kept:
        order = np.argsort(-report.term_counts, kind="stable")
        frequent = [int(v) for v in order[:_MOST_SEARCHED] if report.term_counts[v] > 0]
        seen = set(frequent)
        both = (top for k in range(report.n_topics) for top in _orders(report, k))
        more = [v for top in both for v in top if v not in seen]
        report.kept["numbers"] = frequent + list(dict.fromkeys(more))
    numbers: list[int] = report.kept["numbers"]
    return numbers


def _orders(report: ReportData, topic: int) -> tuple[list[int], list[int]]:
    """A topic's terms by weight, and by relevance: 0.4 log weight + 0.6 log lift."""
    key = f"orders {topic}"
    if key not in report.kept:
        weights = np.where(report.counts[topic] > 0, report.weights[topic], 0.0)
        report.kept[key] = (
            report.top_terms(topic),
            typical(weights, report.every_term, report.n_terms).tolist(),
        )
    orders: tuple[list[int], list[int]] = report.kept[key]
    return orders


def _details(report: ReportData) -> list[dict[str, Any]]:
    place = {v: i for i, v in enumerate(_numbers(report))}
    unit = unit_rows(report.weights)
    similar = unit @ unit.T
    details = []
    for k in range(report.n_topics):
        weights, lift = report.weights[k], report.weights[k] / np.maximum(report.every_term, 1e-300)
        terms = [
            [[place[v], *rounded([weights[v], lift[v]], 3)] for v in order] for order in _orders(report, k)
        ]
        column = report.document_shares[:, [k]].tocoo()
        # Many short documents have only one topic; among equal shares the longer document comes first.
        lengths = report.document_lengths[column.row]
        order = np.lexsort((column.row, -lengths, -column.data))[: report.n_documents]
        near = [int(j) for j in np.argsort(-similar[k], kind="stable") if j != k][:_SIMILAR]
        details.append(
            {
                "number": report.numbers[k],
                "tokens": round(float(report.shares[k]) * report.n_customers),
                "share": rounded([report.shares[k]])[0],
                "label": report.labels[k],
                "terms": terms[0],
                "apart": terms[1],
                "documents": [[int(column.row[i]), *rounded([column.data[i]], 3)] for i in order],
                "similar": [[report.numbers[j], *rounded([similar[k, j]], 2)] for j in near],
            }
        )
    return details


def _searched(report: ReportData) -> list[list[float]]:
    """For each word the topics with the largest shares of it: [topic, share, topic, ...]."""
    found = []
    for v in _numbers(report):
        column = report.counts[:, v]
        order = np.argsort(-column, kind="stable")[:_TOPICS_OF_A_TERM]
        row: list[float] = []
        for k in order:
            if column[k] > 0:
                row += [report.numbers[k], *rounded([column[k] / report.term_counts[v]], 2)]
        found.append(row)
    return found
