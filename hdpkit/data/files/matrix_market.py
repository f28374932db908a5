"""Matrices of counts in the Matrix Market format, documents x terms.

A banner ``%%MatrixMarket matrix LAYOUT FIELD SYMMETRY``, comments (lines that begin with ``%``), a line of
sizes, and entries, one per line: for a "coordinate" layout ``row column value`` with indices from 1 (without
a value if the field is "pattern"); for an "array" layout only the values, column by column. Every byte is
checked before conversion to numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.data.files.counts import TOKEN_LIMIT, Limits, first_not_whole
from hdpkit.data.files.text_files import line_blocks, split_lines
from hdpkit.errors import DataError

Entries = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]

_COMMENTS = 1 << 20  # bytes of comments before the sizes

# Possessive (+): no backtracking over megabytes.
_WHOLE = rb"[+-]?[0-9]{1,18}+"
_REAL = rb"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eEdD][+-]?[0-9]{1,9}+)?"
_INDEX = rb"[0-9]{1,18}+[ \t]++"
_REMEDY = "Write it again, for instance by scipy.io.mmwrite."


def _line(*fields: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Patterns of one line, and of many lines, which may include blank ones."""
    one = rb"[ \t]*+" + b"".join(fields) + rb"[ \t\r]*+"
    return re.compile(one), re.compile(rb"(?:(?:" + one + rb"|[ \t\r]*+)(?:\n|\Z))*+")


_ENTRIES = {
    ("coordinate", "integer"): _line(_INDEX, _INDEX, _WHOLE),
    ("coordinate", "real"): _line(_INDEX, _INDEX, _REAL),
    ("coordinate", "pattern"): _line(rb"[0-9]{1,18}+[ \t]++[0-9]{1,18}+"),
    ("array", "integer"): _line(_WHOLE),
    ("array", "real"): _line(_REAL),
}


@attrs.frozen
class _Head:
    layout: str
    field: str
    symmetric: bool
    n_rows: int
    n_columns: int
    n_entries: int

    @property
    def width(self) -> int:
        """Number of numbers per line."""
        return 1 if self.layout == "array" else 2 if self.field == "pattern" else 3


def read_matrix_market(
    path: str | os.PathLike[str], limits: Limits | None = None
) -> scipy.sparse.coo_array | npt.NDArray[Any]:
    """Read a matrix of counts, plain or gzip."""
    limits = limits or Limits()
    head, blocks = _begun(path, limits)
    parts = list(blocks)
    numbers = np.concatenate(parts) if parts else np.empty((0, head.width))
    values = numbers[:, -1] if head.field != "pattern" else np.ones(len(numbers), np.int64)
    limits.check_tokens(f"file {path}", int(values.sum(dtype=np.float64)), len(values))
    if head.layout == "array":
        return _dense(values, head)
    return _sparse(numbers[:, :2].astype(np.int64), values, head)


def matrix_entries(
    path: str | os.PathLike[str], limits: Limits | None = None
) -> tuple[tuple[int, int], Iterator[Entries]]:
    """Read a matrix of counts block by block."""
    head, blocks = _begun(path, limits or Limits())
    return (head.n_rows, head.n_columns), (_placed(rows, first, head) for first, rows in _counted(blocks))


def _begun(path: str | os.PathLike[str], limits: Limits) -> tuple[_Head, Iterator[npt.NDArray[Any]]]:
    """The head of a file, and its entries, checked, in blocks."""
    lines = _Lines(path)
    head = _read_head(path, lines)
    limits.check(f"file {path}", head.n_columns, head.n_rows)
    return head, _blocks(path, lines, head)


def _blocks(path: str | os.PathLike[str], lines: _Lines, head: _Head) -> Iterator[npt.NDArray[Any]]:
    seen = 0
    for first, content in lines.rest():
        rows = _entries(path, first, content, head)
        seen += len(rows)
        if seen > head.n_entries:
            break
        _check(path, first, content, rows, head)
        yield rows
    if seen != head.n_entries:
        _damaged(
            f"file {path}", f"{'more' if seen > head.n_entries else seen} lines of entries",
            f"a Matrix Market file with {head.n_entries} entries, as its line of sizes says",
        )  # fmt: skip


def _counted(blocks: Iterator[npt.NDArray[Any]]) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Blocks, each with the number of entries before it."""
    first = 0
    for rows in blocks:
        yield first, rows
        first += len(rows)


def _placed(rows: npt.NDArray[Any], first: int, head: _Head) -> Entries:
    """Rows, columns and counts of a block of entries."""
    if head.layout == "coordinate":
        row, column = (rows[:, i].astype(np.int64) - 1 for i in (0, 1))
    else:
        place = np.arange(first, first + len(rows), dtype=np.int64)
        if head.symmetric:  # the lower triangle, column by column
            all_columns = np.arange(head.n_rows, dtype=np.int64)
            begins = all_columns * head.n_rows - all_columns * (all_columns - 1) // 2
            column = np.searchsorted(begins, place, side="right") - 1
            row = column + place - begins[column]
        else:
            column, row = np.divmod(place, head.n_rows)
    count = np.ones(len(rows), np.int64) if head.field == "pattern" else rows[:, -1].astype(np.int64)
    if head.symmetric:
        below = row > column
        row, column = np.append(row, column[below]), np.append(column, row[below])
        count = np.append(count, count[below])
    there = count > 0
    return row[there], column[there], count[there]


class _Lines:
    """The lines of the head one by one, then the rest in blocks."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._blocks = line_blocks(path)
        self._number, self._content, self._at = 1, b"", 0

    def next(self) -> tuple[int, bytes] | None:
        """The next line and its number."""
        if self._at >= len(self._content):
            found = next(self._blocks, None)
            if found is None:
                return None
            (self._number, self._content), self._at = found, 0
        end = self._content.find(b"\n", self._at)
        end = len(self._content) if end < 0 else end
        line = self._content[self._at : end]
        self._number, self._at = self._number + 1, end + 1
        return self._number - 1, line

    def rest(self) -> Iterator[tuple[int, bytes]]:
        """The unread lines in blocks, with the number of each block's first line."""
        if self._at < len(self._content):
            yield self._number, self._content[self._at :]
        yield from self._blocks


def _read_head(path: str | os.PathLike[str], lines: _Lines) -> _Head:
    found = lines.next()
    words = found[1][:200].lower().split() if found is not None else []
    place = f"{os.fspath(path)}, line 1"
    if len(words) != 5 or words[0] != b"%%matrixmarket" or words[1] != b"matrix":
        _damaged(place, found and found[1][:60], "the banner of a matrix in Matrix Market format")
    layout, field, symmetry = (word.decode("latin-1") for word in words[2:])
    field = {"double": "real", "unsigned-integer": "integer"}.get(field, field)
    if (layout, field) not in _ENTRIES:
        _damaged(place, f"{layout} {field}", "a banner of whole numbers: coordinate or array, integer, real "
                 "or pattern (coordinate only)")  # fmt: skip
    if symmetry not in ("general", "symmetric"):
        _damaged(place, symmetry, "a banner of a general or a symmetric matrix")
    comments = 0
    while (found := lines.next()) is not None:
        number, line = found
        if line.strip() and not line.lstrip().startswith(b"%"):
            break
        comments += len(line) + 1
        if comments > _COMMENTS:
            _damaged(
                f"{os.fspath(path)}, line {number}", f"{comments} bytes", "comments of at most 2^20 bytes"
            )
    else:
        _damaged(f"file {path}", "no sizes", "a Matrix Market file, with a line of sizes after the banner")
    place = f"{os.fspath(path)}, line {number}"
    sizes = line.split()
    if len(sizes) != (2 if layout == "array" else 3) or not all(
        re.fullmatch(rb"[0-9]{1,18}", n) for n in sizes
    ):
        _damaged(place, line[:60], "the numbers of rows and columns, and of entries if it has coordinates")
    n_rows, n_columns = int(sizes[0]), int(sizes[1])
    symmetric = symmetry == "symmetric"
    if symmetric and n_rows != n_columns:
        _damaged(place, f"{n_rows} x {n_columns}", "square, since the matrix is symmetric")
    if layout == "coordinate":
        n_entries = int(sizes[2])
    else:
        n_entries = n_rows * (n_rows + 1) // 2 if symmetric else n_rows * n_columns
    return _Head(layout, field, symmetric, n_rows, n_columns, n_entries)


def _entries(path: Any, first: int, content: bytes, head: _Head) -> npt.NDArray[Any]:
    one, many = _ENTRIES[head.layout, head.field]
    if many.fullmatch(content) is None:
        lines = split_lines(content)
        number, line = next(
            (i, line)
            for i, line in enumerate(lines, first)
            if line.strip(b" \t\r") and not one.fullmatch(line)
        )
        shown = {1: "a value", 2: "row and column", 3: "row, column and value"}[head.width]
        _damaged(
            f"{os.fspath(path)}, line {number}", line[:60],
            f"{shown}, a whole number that is in the range of its type ({head.field}), and nothing else",
        )  # fmt: skip
    whole = head.field != "real"
    if not whole:
        content = content.replace(b"d", b"e").replace(b"D", b"e")
    text = content.decode("ascii")
    if not text.strip():
        return np.empty((0, head.width), np.int64 if whole else np.float64)
    return np.fromstring(text, np.int64 if whole else np.float64, sep=" ").reshape(-1, head.width)


def _check(path: Any, first: int, content: bytes, rows: npt.NDArray[Any], head: _Head) -> None:
    """Check that indices are in range and values are counts."""
    if head.layout == "coordinate":
        for column, what, most in ((0, "row", head.n_rows), (1, "column", head.n_columns)):
            wrong = (rows[:, column] < 1) | (rows[:, column] > most)
            if wrong.any():
                i = int(np.argmax(wrong))
                place = f"{os.fspath(path)}, line {_line_of(content, first, i)}, {what}"
                _damaged(place, int(rows[i, column]), f"an index from 1 to {most}")
        if head.symmetric and (rows[:, 1] > rows[:, 0]).any():
            i = int(np.argmax(rows[:, 1] > rows[:, 0]))
            place = f"{os.fspath(path)}, line {_line_of(content, first, i)}"
            _damaged(place, rows[i, :2].tolist(), "below the diagonal, since the matrix is symmetric")
    bad = None if head.field == "pattern" else first_not_whole(rows[:, -1], TOKEN_LIMIT)
    if bad is not None:
        raise DataError(
            f"{os.fspath(path)}, line {_line_of(content, first, bad)}", rows[bad, -1].item(),
            "a whole number from 0 to 2^31 - 1",
            "Pass raw counts, not weights such as tf-idf or frequencies.",
        )  # fmt: skip


def _line_of(content: bytes, first: int, entry: int) -> int:
    numbers = [i for i, line in enumerate(split_lines(content), first) if line.strip(b" \t\r")]
    return numbers[entry]


def _dense(values: npt.NDArray[Any], head: _Head) -> npt.NDArray[Any]:
    if not head.symmetric:
        return values.reshape(head.n_columns, head.n_rows).T
    matrix = np.zeros((head.n_rows, head.n_rows), values.dtype)
    row, column = np.triu_indices(head.n_rows)  # transposed: the lower triangle column by column
    matrix[row, column] = matrix[column, row] = values
    return matrix


def _sparse(places: npt.NDArray[np.int64], values: npt.NDArray[Any], head: _Head) -> scipy.sparse.coo_array:
    row, column = places[:, 0] - 1, places[:, 1] - 1
    if head.symmetric:
        below = row > column
        row, column = np.append(row, column[below]), np.append(column, row[below])
        values = np.append(values, values[below])
    return scipy.sparse.coo_array((values, (row, column)), shape=(head.n_rows, head.n_columns))


def _damaged(place: str, value: Any, allowed: str) -> NoReturn:
    raise DataError(place, value, allowed, _REMEDY)
