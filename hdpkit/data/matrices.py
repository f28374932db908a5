"""Counts and ids given as matrices, data frames and arrays; sparse matrices are checked part by part.

SciPy doesn't check the parts of a sparse matrix, and its compiled conversions read and write outside of
arrays if these are inconsistent. So every sparse matrix from a caller is read here, with NumPy alone.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Int64s
from hdpkit.checks import check_unmasked, is_missing
from hdpkit.data.files.counts import TOKEN_LIMIT, Counts, first_not_whole
from hdpkit.errors import DataError

_MOST_ROWS = 2**31 - 1
"""SciPy makes an array of this length when it converts a matrix to rows."""

_LARGE = 2**31  # fewer than 2^31 entries below this have a sum below 2^63


class Entries(NamedTuple):
    """Entries of a matrix in any order; those of one cell add up."""

    row: Int64s
    column: Int64s
    value: npt.NDArray[Any]
    shape: tuple[int, int]

    def matrix(self) -> scipy.sparse.coo_array:
        """The entries as a matrix that is safe to use, of a type in which entries of a cell can add up."""
        small = self.value.dtype.kind in "biu" and not (len(self.value) and self.value.max() >= _LARGE)
        value = self.value.astype(np.int64 if small else np.float64)
        return scipy.sparse.coo_array((value, (self.row, self.column)), shape=self.shape)


class _Faulty(Exception):
    """What is wrong with a matrix."""


def sparse_entries(name: str, matrix: Any) -> Entries:
    """Return the entries of a sparse matrix or array of any format, or raise a DataError."""
    try:
        shape = _shape(getattr(matrix, "_shape", None))
        read = _READERS.get(str(matrix.format))
        if read is None:
            raise _Faulty(f"it has an unknown format, {matrix.format!r}")
        row, column, value = read(matrix, shape)
        return Entries(row, column, _real(value), shape)
    except _Faulty as fault:
        raise DataError(
            name, f"<{type(matrix).__name__}>", f"a consistent sparse matrix: {fault}",
            "Build it again, for instance scipy.sparse.coo_array((counts, (rows, columns)), shape=shape).",
        ) from None  # fmt: skip


def _shape(shape: Any) -> tuple[int, int]:
    sizes = isinstance(shape, tuple) and all(isinstance(n, int | np.integer) for n in shape)
    if not sizes or len(shape) != 2 or not all(0 <= n < 2**63 for n in shape):
        raise _Faulty(f"its shape is {shape}" if sizes else "its shape isn't a pair of whole numbers")
    if shape[0] > _MOST_ROWS:
        raise _Faulty(f"it has {shape[0]} rows, more than {_MOST_ROWS}")
    return int(shape[0]), int(shape[1])


def _array(what: str, part: Any, n_axes: int = 1) -> npt.NDArray[Any]:
    """Return a part as an array of its native type, if it has this many axes."""
    if not isinstance(part, np.ndarray) or part.ndim != n_axes:
        raise _Faulty(f"{what} isn't an array with {n_axes} {'axis' if n_axes == 1 else 'axes'}")
    if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
        raise _Faulty(f"{what} has masked entries")
    return np.asarray(part, dtype=part.dtype.newbyteorder("="))


def _places(what: str, part: Any, end: int) -> Int64s:
    """Return a part as whole numbers from 0 to end - 1."""
    array = _array(what, part)
    if array.dtype.kind not in "iu":
        raise _Faulty(f"{what} has type {array.dtype}, not whole numbers")
    least, most = (int(array.min()), int(array.max())) if len(array) else (0, -1)
    if least < 0 or most >= end:
        raise _Faulty(f"{what} has {least if least < 0 else most}, which is not from 0 to {end - 1}")
    return array.astype(np.int64, copy=False)


def _real(value: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if value.dtype.kind == "O":
        try:
            if any(isinstance(one, str | bytes) for one in value):
                raise TypeError
            value = value.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise _Faulty("its entries aren't numbers") from None
    if value.dtype.kind not in "biuf":
        raise _Faulty(f"its entries have type {value.dtype}, not real numbers")
    return value.astype(np.float32) if value.dtype == np.float16 else value


def _same_length(what: str, one: npt.NDArray[Any], other: npt.NDArray[Any]) -> None:
    if len(one) != len(other):
        raise _Faulty(f"{what} have {len(one)} and {len(other)} entries")


def _ends(part: Any, n: int, n_entries: int) -> Int64s:
    ends = _places("indptr", part, n_entries + 1)
    if len(ends) != n + 1:
        raise _Faulty(f"indptr has {len(ends)} entries, not {n + 1}")
    if ends[0] != 0 or (np.diff(ends) < 0).any():
        raise _Faulty("indptr doesn't begin with 0 or decreases")
    return ends


def _compressed(
    matrix: Any, n_major: int, n_minor: int, data: npt.NDArray[Any]
) -> tuple[Int64s, Int64s, npt.NDArray[Any]]:
    """Number along the compressed axis, index and entry of each; SciPy allows more after the last end."""
    indices = _places("indices", getattr(matrix, "indices", None), n_minor)
    _same_length("indices and data", indices, data)
    ends = _ends(getattr(matrix, "indptr", None), n_major, len(indices))
    return np.repeat(np.arange(n_major), np.diff(ends)), indices[: ends[-1]], data[: ends[-1]]


def _csr(matrix: Any, shape: tuple[int, int]) -> tuple[Int64s, Int64s, npt.NDArray[Any]]:
    return _compressed(matrix, *shape, _array("data", getattr(matrix, "data", None)))


def _csc(matrix: Any, shape: tuple[int, int]) -> tuple[Int64s, Int64s, npt.NDArray[Any]]:
    column, row, value = _compressed(matrix, *shape[::-1], _array("data", getattr(matrix, "data", None)))
    return row, column, value


def _bsr(matrix: Any, shape: tuple[int, int]) -> tuple[Int64s, Int64s, npt.NDArray[Any]]:
    data = _array("data", getattr(matrix, "data", None), 3)
    height, width = data.shape[1:]
    if not (height and width) or shape[0] % height or shape[1] % width:
        raise _Faulty(f"blocks of {height} x {width} don't divide {shape[0]} x {shape[1]}")
    above, left, value = _compressed(matrix, shape[0] // height, shape[1] // width, data)
    row = (above * height)[:, None, None] + np.arange(height)[:, None]
    column = (left * width)[:, None, None] + np.arange(width)
    row, column = (np.broadcast_to(place, value.shape).ravel() for place in (row, column))
    return row, column, value.ravel()


def _coo(matrix: Any, shape: tuple[int, int]) -> tuple[Int64s, Int64s, npt.NDArray[Any]]:
    value = _array("data", getattr(matrix, "data", None))
    pair = getattr(matrix, "coords", None) or (getattr(matrix, "row", None), getattr(matrix, "col", None))
    if len(pair) != 2:
        raise _Faulty(f"it has {len(pair)} arrays of coordinates")
    row, column = _places("row", pair[0], shape[0]), _places("col", pair[1], shape[1])
    _same_length("row and data", row, value)
    _same_length("col and data", column, value)
    return row, column, value


def _dia(matrix: Any, shape: tuple[int, int]) -> tuple[Int64s, Int64s, npt.NDArray[Any]]:
    data, offsets = _array("data", getattr(matrix, "data", None), 2), getattr(matrix, "offsets", None)
    kept = _array("offsets", offsets)
    if kept.dtype.kind not in "iu" or len(np.unique(kept)) != len(kept):
        raise _Faulty("offsets aren't whole numbers that differ")
    _same_length("offsets and data", kept, data)
    inside = (kept > -shape[0]) & (kept < shape[1])
    kept, data = kept[inside].astype(np.int64), data[inside, : shape[1]]
    column = np.broadcast_to(np.arange(data.shape[1]), data.shape)
    row = column - kept[:, None]
    there = (row >= 0) & (row < shape[0]) & (data != 0)
    return row[there], column[there], data[there]


def _lil(matrix: Any, shape: tuple[int, int]) -> tuple[Int64s, Int64s, npt.NDArray[Any]]:
    rows, data = (_array(name, getattr(matrix, name, None)) for name in ("rows", "data"))
    for name, lists in (("rows", rows), ("data", data)):
        if len(lists) != shape[0] or not all(isinstance(one, list) for one in lists):
            raise _Faulty(f"{name} isn't {shape[0]} lists")
    lengths = [len(one) for one in rows]
    if lengths != [len(one) for one in data]:
        raise _Faulty("rows and data have lists of different lengths")
    column = _places("rows", _listed(itertools.chain.from_iterable(rows)), shape[1])
    return np.repeat(np.arange(shape[0]), lengths), column, _values(itertools.chain.from_iterable(data))


def _dok(matrix: Any, shape: tuple[int, int]) -> tuple[Int64s, Int64s, npt.NDArray[Any]]:
    entries: Any = getattr(matrix, "_dict", None)
    keys: list[Any] = list(entries) if isinstance(entries, dict) else [None]
    if not all(isinstance(key, tuple) and len(key) == 2 for key in keys):
        raise _Faulty("a key isn't a row and a column")
    row, column = (_listed(key[axis] for key in keys) for axis in (0, 1))
    return _places("keys", row, shape[0]), _places("keys", column, shape[1]), _values(entries.values())


def _listed(values: Any) -> npt.NDArray[np.int64]:
    """Indices from a list, of which a bool or a number with a fraction is none."""
    listed = list(values)
    if not all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in listed):
        raise _Faulty("an index isn't a whole number")
    if not all(0 <= one < 2**63 for one in listed):
        raise _Faulty("an index is negative or too large")
    return np.array(listed, dtype=np.int64)


def _values(values: Any) -> npt.NDArray[Any]:
    """Entries from a list; of different types or no numbers, they are an array of objects."""
    listed = list(values)
    try:
        made = np.array(listed) if listed else np.empty(0)
    except (TypeError, ValueError, OverflowError):
        made = np.empty((0, 0))
    if made.ndim != 1:
        raise _Faulty("its entries aren't numbers")
    return made


_READERS = {
    "csr": _csr, "csc": _csc, "bsr": _bsr, "coo": _coo, "dia": _dia, "lil": _lil, "dok": _dok
}  # fmt: skip


def as_numbers(values: Any, shape: tuple[int, ...], what: str, unit: str) -> npt.NDArray[Any]:
    """Ids as an array of numbers of this shape, or a DataError about a ``what`` of a ``unit``."""
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
    """Read a matrix of counts, documents x terms."""
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
    """Names of a data frame's columns or rows as strings; None if it has none, or numbers them from 0."""
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
