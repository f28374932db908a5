"""Input of a topic model: counts of any kind, or texts."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_non_negative, validate_data

from hdpkit.checks import check_unmasked
from hdpkit.data import Corpus
from hdpkit.data.files.text_options import TextCounter, TextOptions
from hdpkit.data.matrices import check_whole, sparse_entries
from hdpkit.errors import DataError, ParameterError
from hdpkit.kinds.estimators import NotNumbersError


def are_texts(X: Any) -> bool:
    """Whether this is a sequence of strings: a list, a column of a data frame, a one-dimensional array."""
    if isinstance(X, str | bytes | Corpus) or scipy.sparse.issparse(X) or not isinstance(X, Iterable):
        return False
    if len(getattr(X, "shape", (0,))) != 1:
        return False
    if not isinstance(X, list | tuple) and not hasattr(X, "__len__"):
        return False  # looking into a generator would consume it
    missing = (type(None), float)  # a column may begin with empty rows
    there = (item for item in X if not isinstance(item, missing))
    return any(isinstance(item, str) for item in itertools.islice(there, 1))


def counter_of(text: Any) -> TextCounter:
    """A separate counter for each fit: from options, or a copy of a given counter."""
    if isinstance(text, TextCounter):
        return copy.copy(text)
    if text is None or isinstance(text, TextOptions):
        return TextCounter(text)
    raise ParameterError(
        "text", text, "hdpkit.io.TextOptions, a TextCounter, or None",
        'text=TextOptions(min_documents=2).',
    )  # fmt: skip


def checked_counts(model: Any, X: Any, *, reset: bool) -> Any:
    """Counts of documents by term as a CSR matrix of floats, by scikit-learn's rules."""
    if scipy.sparse.issparse(X):
        X = sparse_entries("X", X).matrix()
    check_unmasked("X", X)
    try:
        if scipy.sparse.issparse(X) and X.nnz:  # before entries of one cell are added up
            check_non_negative(X, type(model).__name__)
        checked = validate_data(
            model, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32, np.int64, np.int32],
            accept_large_sparse=True,
        )  # fmt: skip
        check_non_negative(checked, type(model).__name__)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        kind = NotNumbersError if isinstance(error, TypeError) else DataError
        raise kind("X", X, "counts of documents by term, or a list of texts", str(error)) from error
    counts = scipy.sparse.csr_array(checked)
    if not counts.has_canonical_format:
        counts = counts.copy()
        counts.sum_duplicates()
    return counts


def whole_counts(counts: Any) -> Any:
    """Counts in whole numbers."""
    if counts.dtype.kind == "f":
        rounded = np.rint(counts.data)
        if not np.array_equal(rounded, counts.data):
            before, after = float(counts.data.sum()), float(rounded.sum())
            if after < before / 2:
                raise DataError(
                    "X", f"fractions, {after / before:.0%} of their sum left when rounded", "counts of words",
                    "A topic model needs counts: use CountVectorizer, not TfidfVectorizer.",
                )  # fmt: skip
            warnings.warn(
                "a topic model needs counts: fractions were rounded to whole numbers "
                f"(their sum was {before:.6g}, and is {after:.6g})",
                DataConversionWarning,
                stacklevel=4,
            )
        counts = scipy.sparse.csr_array((rounded, counts.indices, counts.indptr), shape=counts.shape)
    entries = counts.tocoo()
    check_whole("X", entries.row, entries.col, entries.data, None)
    counts = counts.astype(np.int64)
    counts.eliminate_zeros()
    return counts
