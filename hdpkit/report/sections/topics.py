"""Topics with their terms and documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.report.charts import bars
from hdpkit.report.material import Material, rounded
from hdpkit.report.section import Content

__all__ = ["read_topics"]

_PRESENT = 0.05
_RELEVANCE = 0.4  # Sievert & Shirley 2014: lambda; 1 is the weight alone
_SIMILAR = 5
_IN_TABLE = 8
_MOST_SEARCHED = 15_000
_TOPICS_OF_A_TERM = 3


def read_topics(material: Material) -> Content:
    """A row for each topic, and for the script terms in two orders, documents, and similar topics."""
    shares, nouns = material.document_shares, material.nouns
    lengths = material.corpus.document_lengths
    present = np.asarray((shares >= _PRESENT).sum(axis=0)).ravel() / max(int((lengths > 0).sum()), 1)
    rows = [
        {
            "number": k + 1,
            "terms": [material.words[v] for v in material.top_terms(k, _IN_TABLE)],
            "tokens": int(material.sizes[k]),
            "share": float(material.shares[k]),
            "documents": float(present[k]),
        }
        for k in range(material.n_topics)
    ]
    data = {"topics": _details(material), "words": _used(material), "searched": _searched(material)}
    return Content(
        values={
            "rows": rows,
            "present": _PRESENT,
            "n_hidden": material.franchise.n_dishes - material.n_topics,
            "has_common": material.aligned is not None and len(material.aligned) > 0,
            "largest_share": float(material.shares.max(initial=0.0)),
        },
        charts={
            "topic-terms": bars(
                [], "term", "weight", f"share of the {nouns.topic}", ".1%", height=0, noun=nouns.term
            )
        },
        data=data,
    )


def _used(material: Material) -> list[str]:
    """The words that the page can show: those in the search index, and the top terms of the topics."""
    return [material.words[v] for v in _numbers(material)]


def _numbers(material: Material) -> list[int]:
    if "numbers" not in material.kept:
        order = np.argsort(-material.term_counts, kind="stable")
        frequent = [int(v) for v in order[:_MOST_SEARCHED] if material.term_counts[v] > 0]
        seen = set(frequent)
        both = (top for k in range(material.n_topics) for top in _orders(material, k))
        more = [v for top in both for v in top if v not in seen]
        material.kept["numbers"] = frequent + list(dict.fromkeys(more))
    numbers: list[int] = material.kept["numbers"]
    return numbers


def _orders(material: Material, topic: int) -> tuple[list[int], list[int]]:
    """A topic's terms by weight, and by relevance: 0.4 log weight + 0.6 log lift."""
    key = f"orders {topic}"
    if key not in material.kept:
        counts = material.counts[topic]
        there = np.flatnonzero(counts)
        share = counts[there] / counts.sum()
        lift = share / (material.term_counts[there] / material.term_counts.sum())
        relevance = _RELEVANCE * np.log(share) + (1 - _RELEVANCE) * np.log(lift)
        apart = there[np.argsort(-relevance, kind="stable")[: material.n_terms]]
        material.kept[key] = (material.top_terms(topic), apart.tolist())
    orders: tuple[list[int], list[int]] = material.kept[key]
    return orders


def _details(material: Material) -> list[dict[str, Any]]:
    place = {v: i for i, v in enumerate(_numbers(material))}
    every = material.term_counts / max(int(material.term_counts.sum()), 1)
    unit = material.weights / np.linalg.norm(material.weights, axis=1, keepdims=True)
    similar = unit @ unit.T
    details = []
    for k in range(material.n_topics):
        total = max(int(material.sizes[k]), 1)
        terms = [
            [
                [
                    place[v],
                    *rounded([material.counts[k, v] / total, material.counts[k, v] / total / every[v]], 3),
                ]
                for v in order
            ]
            for order in _orders(material, k)
        ]
        column = material.document_shares[:, [k]].tocoo()
        # Many short documents have only one topic; among equal shares the longer document comes first.
        lengths = material.corpus.document_lengths[column.row]
        order = np.lexsort((column.row, -lengths, -column.data))[: material.n_documents]
        near = [int(j) for j in np.argsort(-similar[k], kind="stable") if j != k][:_SIMILAR]
        details.append(
            {
                "tokens": int(material.sizes[k]),
                "share": rounded([material.shares[k]])[0],
                "label": material.labels[k],
                "terms": terms[0],
                "apart": terms[1],
                "documents": [[int(column.row[i]), *rounded([column.data[i]], 3)] for i in order],
                "similar": [[j + 1, *rounded([similar[k, j]], 2)] for j in near],
            }
        )
    return details


def _searched(material: Material) -> list[list[float]]:
    """For each word the topics with the largest shares of it: [topic, share, topic, ...]."""
    found = []
    for v in _numbers(material):
        column = material.counts[:, v]
        order = np.argsort(-column, kind="stable")[:_TOPICS_OF_A_TERM]
        row: list[float] = []
        for k in order:
            if column[k] > 0:
                row += [int(k) + 1, *rounded([column[k] / material.term_counts[v]], 2)]
        found.append(row)
    return found
