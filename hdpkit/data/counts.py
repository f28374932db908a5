"""Counts of terms in documents, checked, and the tokens that they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hdpkit.data.labels import is_missing
from hdpkit.errors import DataError

__all__ = [
    "ID_LIMIT",
    "TOKEN_LIMIT",
    "Counts",
    "as_numbers",
    "check_total",
    "first_not_whole",
    "frame_names",
    "read_matrix",
]

TOKEN_LIMIT = 2**31
"""A corpus has fewer tokens than this: the compiled layer numbers customers in 32 bits."""

ID_LIMIT = 2**31 - 1
"""Ids of terms are below this: they are int32, and so is their number."""


@attrs.frozen(eq=False)
class Counts:
    """Counts as (document, term, count) triples, in any order; triples of one cell add up.

    Attributes
    ----------
    document, term, count : ndarray of int64, shape (nnz,)
        Each count is in 0..2^31 - 1.
    n_documents, n_terms : int
        Shape of the matrix.
    """

    document: npt.NDArray[np.int64]
    term: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    n_documents: int
    n_terms: int

    def tokens(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the term of each token and the length of each document.

        Tokens come in the order of documents, terms ascending within one, repeats adjacent.

        Returns
        -------
        terms : ndarray of int32, shape (n_tokens,)
        lengths : ndarray of int64, shape (n_documents,)

        Raises
        ------
        DataError
            If there are 2^31 tokens or more; found out before they are written out.
        """
        check_total(self.n_tokens)
        pieces, lengths = self.pieces(max(self.n_tokens, 1))
        terms = [terms for terms, _ in pieces]
        return terms[0] if terms else np.empty(0, np.int32), lengths

    @property
    def n_tokens(self) -> int:
        """Number of tokens: each count is below 2^31 and there are fewer than 2^32, so an int64 holds it."""
        return int(self.count.sum(dtype=np.int64))

    def pieces(
        self, size: int
    ) -> tuple[Iterator[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]], npt.NDArray[np.int64]]:
        """Return the same in pieces of so many tokens, each the terms and the documents; and the lengths."""
        shape = (self.n_documents, self.n_terms)
        # From coordinates, scipy sums duplicates, in the int64 of the data; it promises sorted terms only
        # after sum_duplicates(), which costs nothing where they are.
        matrix = sp.csr_array((self.count, (self.document, self.term)), shape=shape)
        matrix.sum_duplicates()
        ends = np.zeros(matrix.nnz + 1, np.int64)
        np.cumsum(matrix.data, out=ends[1:])
        lengths = np.diff(ends[matrix.indptr])
        return _expand(matrix, ends, size), lengths


def _expand(
    matrix: Any, ends: npt.NDArray[np.int64], size: int
) -> Iterator[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]:
    entries: Any = np.diff(matrix.indptr)
    rows = np.repeat(np.arange(len(entries), dtype=np.int32), entries)
    terms = matrix.indices.astype(np.int32, copy=False)
    for first in range(0, int(ends[-1]), size):
        last = min(first + size, int(ends[-1]))
        begin = int(np.searchsorted(ends, first, side="right")) - 1
        end = int(np.searchsorted(ends, last, side="left"))
        repeats: Any = np.diff(np.clip(ends[begin : end + 1], first, last))
        yield np.repeat(terms[begin:end], repeats), np.repeat(rows[begin:end], repeats)


def check_total(n_tokens: int) -> None:
    """Raise a DataError if so many tokens are too many."""
    if n_tokens >= TOKEN_LIMIT:
        raise DataError(
            "number of tokens", n_tokens, f"below 2^31 = {TOKEN_LIMIT}", "Drop documents or frequent terms."
        )


def as_numbers(values: Any, shape: tuple[int, ...], what: str, unit: str) -> npt.NDArray[Any]:
    """Return ids as an array of numbers of this shape, or raise a DataError; first_not_whole does the rest.

    ``what`` the ids are of, and the ``unit`` that has one each, are for the error.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # ragged
        array = np.empty(0, object)
    if array.shape != shape or array.dtype.kind not in "iuf":
        raise DataError(
            "values", f"{array.dtype} array of shape {array.shape}",
            f"{what} ids of shape {shape}", f"Give one {what} id a {unit}.",
        )  # fmt: skip
    return array


def first_not_whole(numbers: npt.NDArray[Any], limit: int) -> int | None:
    """Return the first place where `numbers` (real) aren't whole or not in 0..limit-1, None if none."""
    # Compared in the type they came in: a cast to an integer would hide fractions, NaN and overflow.
    if numbers.dtype == np.float16:  # whose range ends below the limit
        numbers = numbers.astype(np.float32)
    good = (numbers >= 0) & (numbers < limit)
    if numbers.dtype.kind == "f":
        good &= numbers == np.floor(numbers)
    return None if good.all() else int(np.argmin(good))


def read_matrix(matrix: Any, names: tuple[str, ...] | None) -> Counts:
    """Read a matrix of counts, documents x terms.

    Parameters
    ----------
    matrix : array-like or scipy.sparse, shape (n_documents, n_terms)
        Non-negative whole numbers, of an integer, float or bool type. Never changed.
    names : tuple of str or None
        Names of the documents, for errors.

    Raises
    ------
    DataError
        Naming document and term, if a count is negative, fractional, NaN or infinite.
    """
    if sp.issparse(matrix):
        if matrix.ndim != 2:
            raise _not_a_matrix(f"a sparse array of {matrix.ndim} dimension(s)")
        n_documents, n_terms = matrix.shape
        coordinates = matrix.tocoo(copy=False)
        document, term, count = coordinates.row, coordinates.col, coordinates.data
        # Sparse arrays can be put together from parts that don't fit, and scipy believes them.
        if len(count) and (term.min() < 0 or term.max() >= n_terms):
            raise DataError("counts", matrix, "a consistent sparse matrix", "Run its check_format().")
    else:
        dense = _dense(matrix)
        n_documents, n_terms = dense.shape
        document, term = np.nonzero(dense)
        count = dense[document, term]
    if count.dtype.kind == "O":
        count = _numbers(count)
    if count.dtype.kind not in "biuf":
        raise DataError("counts", f"type {count.dtype}", "whole numbers", "Convert the counts to integers.")
    bad = first_not_whole(count, TOKEN_LIMIT)
    if bad is not None:
        d = int(document[bad])
        name = "" if names is None or d >= len(names) else f" ({names[d]!r})"
        raise DataError(
            f"counts[document {d}{name}, term {int(term[bad])}]",
            count[bad].item(),
            "a whole number from 0 to 2^31 - 1",
            "Pass raw counts, not weights such as tf-idf or frequencies.",
        )
    return Counts(
        document.astype(np.int64, copy=False),
        term.astype(np.int64, copy=False),
        count.astype(np.int64, copy=False),
        int(n_documents),
        int(n_terms),
    )


def frame_names(frame: Any, axis: str) -> list[Any] | None:
    """Return the names of a data frame's columns or rows; None where it has none, or numbers them from 0.

    What isn't a string is written as one, but for what is missing, which is left for its check to refuse.
    """
    labels = getattr(frame, axis, None)
    if sp.issparse(frame) or not hasattr(frame, "columns") or callable(labels) or labels is None:
        return None
    names = list(labels)
    if names == list(range(len(names))):
        return None
    return [name if isinstance(name, str) or is_missing(name) else str(name) for name in names]


def _dense(matrix: Any) -> npt.NDArray[Any]:
    if np.ma.is_masked(matrix):
        raise DataError("counts", matrix, "without masked entries", "Fill masked counts first.")
    try:
        dense = np.asarray(matrix)
    except ValueError:
        raise _not_a_matrix("rows of different lengths") from None
    if dense.ndim != 2:
        raise _not_a_matrix(f"an array of shape {dense.shape}")
    if dense.dtype.kind == "O":  # np.nonzero would look for truth, and numbers are wanted
        dense = _numbers(dense)
    return dense


def _numbers(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an object array as float64; strings are no numbers, even those that could be read as such."""
    try:
        if not any(isinstance(value, str | bytes) for value in array.flat):
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataError("counts", "an array of objects", "whole numbers", "Convert the counts to integers.")


def _not_a_matrix(what: str) -> DataError:
    return DataError(
        "counts",
        what,
        "a matrix, documents x terms (dense or scipy.sparse)",
        "For lists of tokens use Corpus.from_documents.",
    )
