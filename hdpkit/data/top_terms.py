"""The most frequent, or most probable, terms of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import check_unmasked
from hdpkit.data.corpus import check_width
from hdpkit.data.matrices import sparse_entries
from hdpkit.errors import DataError, ParameterError


def largest(row: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
    """Numbers of the n largest entries, in descending order; ties by the lower number."""
    n = min(n, len(row))
    if n < 1:
        return np.empty(0, dtype=np.int64)
    some = np.flatnonzero(row >= np.partition(row, len(row) - n)[len(row) - n])
    # A copy, as a view would keep all that are equally large.
    return np.array(some[np.argsort(-row[some], kind="stable")[:n]], dtype=np.int64)


RELEVANCE = 0.4
"""Weight of a term's probability in its relevance; that of its lift is the rest (Sievert & Shirley 2014)."""


def typical(row: npt.NDArray[Any], every: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
    """The n terms of most relevance, given the probabilities of the terms in a topic and in all of them."""
    there = np.flatnonzero(row)
    relevance = RELEVANCE * np.log(row[there]) + (1.0 - RELEVANCE) * np.log(row[there] / every[there])
    return np.asarray(there[np.argsort(-relevance, kind="stable")[:n]], dtype=np.int64)


def top_terms(
    dish_counts: Any, vocabulary: Sequence[str] | None = None, n_terms: int = 10
) -> list[tuple[str, ...]]:
    """The most frequent terms of each topic."""
    counts = _checked_counts(dish_counts)
    if n_terms < 1:
        raise ParameterError("n_terms", n_terms, "at least 1", "10 is usual.")
    check_width(vocabulary, counts.shape[1], "", "Pass the vocabulary of the corpus.")
    tables = []
    for k in range(counts.shape[0]):
        row = counts[[k]].toarray()[0]
        order = [term for term in largest(row, n_terms).tolist() if row[term] > 0]
        tables.append(tuple(str(term) if vocabulary is None else str(vocabulary[term]) for term in order))
    return tables


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
