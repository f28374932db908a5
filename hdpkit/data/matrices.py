"""Counts and ids given as matrices, data frames and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import check_unmasked
from hdpkit.errors import DataError
from hdpkit.formats.counts import TOKEN_LIMIT, Counts, first_not_whole
from hdpkit.formats.names import is_missing
from hdpkit.formats.sparse_entries import sparse_entries

__all__ = ["as_numbers", "check_whole", "frame_names", "read_matrix"]


def as_numbers(values: Any, shape: tuple[int, ...], what: str, unit: str) -> npt.NDArray[Any]:
    """Return ids as an array of numbers of this shape, or raise a DataError; ranges are checked elsewhere.

    ``what`` names the ids, and ``unit`` the objects that have one each, for the error.
    """
    check_unmasked("values", values)
    try:
        array = np.asarray(values)
    except ValueError:  # ragged
        array = np.empty(0, object)
    if array.shape != shape or array.dtype.kind not in "iuf":
        raise DataError(
            "values", f"{array.dtype} array of shape {array.shape}",
            f"{what} ids of shape {shape}", f"Give one {what} id per {unit}.",
        )  # fmt: skip
    return array


def read_matrix(matrix: Any, names: tuple[str, ...] | None) -> Counts:
    """Read a matrix of counts, documents x terms.

    Parameters
    ----------
    matrix : array-like or scipy.sparse, shape (n_documents, n_terms)
        Nonnegative integers, of an integer, float or bool type. Not changed.
    names : tuple of str or None
        Names of the documents, for errors.

    Raises
    ------
    DataError
        With document and term, if a count is negative, fractional, NaN or infinite.
    """
    if scipy.sparse.issparse(matrix):
        entries = sparse_entries("counts", matrix)
        document, term, count = entries.row, entries.column, entries.value
        n_documents, n_terms = entries.shape
    else:
        dense = _dense(matrix)
        n_documents, n_terms = dense.shape
        document, term = np.nonzero(dense)
        count = dense[document, term]
    if count.dtype.kind not in "biuf":
        raise DataError("counts", f"type {count.dtype}", "whole numbers", "Convert the counts to integers.")
    check_whole("counts", document, term, count, names)
    return Counts(
        document.astype(np.int64, copy=False),
        term.astype(np.int64, copy=False),
        count.astype(np.int64, copy=False),
        int(n_documents),
        int(n_terms),
    )


def check_whole(
    name: str,
    document: npt.NDArray[Any],
    term: npt.NDArray[Any],
    count: npt.NDArray[Any],
    names: tuple[str, ...] | None,
) -> None:
    """Raise a DataError, with document and term, if a count isn't a whole number from 0 to 2^31 - 1."""
    bad = first_not_whole(count, TOKEN_LIMIT)
    if bad is not None:
        d = int(document[bad])
        of = "" if names is None or d >= len(names) else f" ({names[d]!r})"
        raise DataError(
            f"{name}[document {d}{of}, term {int(term[bad])}]",
            count[bad].item(),
            "a whole number from 0 to 2^31 - 1",
            "Pass raw counts, not weights such as tf-idf or frequencies.",
        )


def frame_names(frame: Any, axis: str) -> list[Any] | None:
    """Return the names of a data frame's columns or rows; None if it has none, or numbers them from 0.

    Other values are converted to strings, except missing ones, which raise an error in a later check.
    """
    labels = getattr(frame, axis, None)
    if scipy.sparse.issparse(frame) or not hasattr(frame, "columns") or callable(labels) or labels is None:
        return None
    names = list(labels)
    if names == list(range(len(names))):
        return None
    return [name if isinstance(name, str) or is_missing(name) else str(name) for name in names]


def _dense(matrix: Any) -> npt.NDArray[Any]:
    check_unmasked("counts", matrix)
    try:
        dense = np.asarray(matrix)
    except ValueError:
        raise _not_a_matrix("rows of different lengths") from None
    if dense.ndim != 2:
        raise _not_a_matrix(f"an array of shape {dense.shape}")
    if dense.dtype.kind == "O":  # np.nonzero would test truth, not numbers
        dense = _numbers(dense)
    return dense


def _numbers(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an object array as float64; strings aren't numbers, even if they could be parsed."""
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
