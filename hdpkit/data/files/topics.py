"""Summaries of the topics of a fitted corpus, in plain NumPy: top terms and shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from hdpkit.checks import check_unmasked
from hdpkit.data.matrices import sparse_entries
from hdpkit.errors import DataError, ParameterError


@attrs.frozen
class TopicSummary:
    """Summary of a topic."""

    dish: int  # its row in the counts
    terms: tuple[str, ...]  # most frequent first; only terms with at least one token
    tokens: int
    token_share: float  # of all tokens
    document_share: float  # of the documents in which the topic has at least a given share of the tokens
    distinct_terms: int = 0  # among its tokens
    # expected share of the vocabulary not selected (Wang & Blei 2009), if topics select terms
    sparsity: float | None = None
    # share of the samples that have the topic, if topics are aligned over samples
    occurrence: float | None = None
    group: int | None = None  # of similar topics, from 1; None if topics aren't grouped
    label: str | None = None  # that somebody gave to it, "" for none; None if no topic has one


def top_terms(
    dish_counts: Any, vocabulary: Sequence[str] | None = None, n_terms: int = 10
) -> list[tuple[str, ...]]:
    """The most frequent terms of each topic.

    Parameters
    ----------
    dish_counts : array_like or sparse matrix of int, shape (K, V)
        Tokens of each term in each topic.
    vocabulary : sequence of str, length V, optional
        The terms' words; by default their numbers.
    n_terms : int
        The largest number of terms per topic.

    Returns
    -------
    list of tuple of str
        One for each topic; equally frequent terms are in the order of the vocabulary.
    """
    counts = _checked_counts(dish_counts)
    if n_terms < 1:
        raise ParameterError("n_terms", n_terms, "at least 1", "10 is usual.")
    if vocabulary is not None and len(vocabulary) != counts.shape[1]:
        raise DataError(
            "vocabulary",
            len(vocabulary),
            f"of length {counts.shape[1]}",
            "Pass the vocabulary of the corpus.",
        )
    tables = []
    for k in range(counts.shape[0]):
        row = counts[[k]].toarray()[0]
        order = [int(term) for term in np.argsort(-row, kind="stable")[:n_terms] if row[term] > 0]
        tables.append(tuple(str(term) if vocabulary is None else str(vocabulary[term]) for term in order))
    return tables


def token_shares(dish_counts: Any) -> NDArray[np.float64]:
    """Share of all tokens in each topic, shape (K,); zeros if there are no tokens."""
    sizes = np.asarray(_checked_counts(dish_counts).sum(axis=1))
    return np.asarray(sizes / max(int(sizes.sum()), 1), dtype=np.float64)


def document_shares(
    dishes: ArrayLike, document: ArrayLike, n_dishes: int, n_documents: int, at_least: float = 0.05
) -> NDArray[np.float64]:
    """Share of the documents with tokens in which each topic has at least a share ``at_least``.

    ``dishes`` and ``document`` have an entry per token. With ``at_least=0`` a single token is enough.
    """
    topic = np.asarray(dishes, dtype=np.int64)
    where = np.asarray(document, dtype=np.int64)
    if topic.ndim != 1 or topic.shape != where.shape:
        raise DataError(
            "dishes", topic.shape, f"of the shape of document, {where.shape}", "Give one entry per token."
        )
    if not 0 <= at_least <= 1:
        raise ParameterError("at_least", at_least, "a share, 0 to 1", "For instance 0.05.")
    lengths = np.bincount(where, minlength=n_documents)
    pairs, tokens = np.unique(where * max(n_dishes, 1) + topic, return_counts=True)
    pair_document, pair_topic = np.divmod(pairs, max(n_dishes, 1))
    present = tokens >= at_least * lengths[pair_document]
    documents = np.bincount(pair_topic[present], minlength=n_dishes)
    return np.asarray(documents / max(int((lengths > 0).sum()), 1), dtype=np.float64)


def summarise_topics(
    dish_counts: Any,
    dishes: ArrayLike,
    document: ArrayLike,
    vocabulary: Sequence[str] | None = None,
    *,
    n_documents: int | None = None,
    n_terms: int = 10,
    at_least: float = 0.05,
    selected_terms: ArrayLike | None = None,
    document_counts: Any = None,
    topic_counts: Any = None,
) -> list[TopicSummary]:
    """Terms and shares of all topics, the largest first (ties by lower row).

    ``dish_counts`` has the tokens of each term in each topic (K, V); ``dishes`` and ``document`` have an
    entry per token. Instead of these two, ``document_counts`` yields the tokens of each topic in each
    document, as csr_arrays of some documents each. Terms of a topic are in the order of ``topic_counts``, by
    default ``dish_counts``.
    """
    counts = _checked_counts(dish_counts)
    where = np.asarray(document, dtype=np.int64)
    if n_documents is None:
        n_documents = int(where.max()) + 1 if where.size else 0
    terms = top_terms(counts if topic_counts is None else topic_counts, vocabulary, n_terms)
    sizes, tokens, n_topics = np.asarray(counts.sum(axis=1)), token_shares(counts), counts.shape[0]
    if document_counts is None:
        documents = document_shares(dishes, where, n_topics, n_documents, at_least)
    else:
        there, filled = np.zeros(n_topics, dtype=np.int64), 0
        for block in document_counts:
            lengths, cells = np.asarray(block.sum(axis=1)).ravel(), block.tocoo()
            there += np.bincount(cells.col[cells.data >= at_least * lengths[cells.row]], minlength=n_topics)
            filled += int((lengths > 0).sum())
        documents = there / max(filled, 1)
    distinct = np.diff(counts.indptr)
    if selected_terms is None:
        sparsity: list[float] | list[None] = [None] * n_topics
    else:
        sparsity = (1.0 - np.asarray(selected_terms, dtype=float) / max(counts.shape[1], 1)).tolist()
    return [
        TopicSummary(
            int(k),
            terms[k],
            int(sizes[k]),
            float(tokens[k]),
            float(documents[k]),
            int(distinct[k]),
            sparsity[k],
        )
        for k in np.argsort(-sizes, kind="stable")
    ]


def _checked_counts(dish_counts: Any) -> scipy.sparse.csr_array:
    """Counts as a sparse matrix without entries of zero: there may be many topics with few terms each."""
    if scipy.sparse.issparse(dish_counts):
        counts = scipy.sparse.csr_array(sparse_entries("dish_counts", dish_counts).matrix())
    else:
        check_unmasked("dish_counts", dish_counts)
        counts = np.asarray(dish_counts)
    values = counts.data if scipy.sparse.issparse(counts) else counts
    if counts.ndim != 2 or (values.size and (values.dtype.kind not in "iu" or values.min() < 0)):
        what = f"{counts.dtype} of shape {counts.shape}"
        raise DataError(
            "dish_counts",
            what,
            "counts of shape (topics, terms)",
            "Pass franchise.dish_counts, or sample.counts.",
        )
    made = scipy.sparse.csr_array(counts.astype(np.int64))
    made.eliminate_zeros()
    return made
