"""Files of counts: LDA-C, bags of words of the UCI repository, Matrix Market.

LDA-C has one document per line, ``N id:count id:count ...`` with N pairs and ids from 0.

The bag-of-words format has three lines with the numbers of documents, terms and entries, then one entry per
line, ``document term count``, with ids from 1, sorted by document.

Matrix Market has a banner ``%%MatrixMarket matrix LAYOUT FIELD SYMMETRY``, comments (lines that begin with
``%``), a line of sizes, and entries, one per line: for a "coordinate" layout ``row column value``, indices
from 1 (without a value if the field is "pattern"); for an "array" layout only the values, column by column.

Every byte is checked before conversion to numbers."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NoReturn

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import check_names
from hdpkit.data.files.counts import ID_LIMIT, TOKEN_LIMIT, Counts, Limits, first_not_whole
from hdpkit.data.files.text_files import line_blocks, split_lines
from hdpkit.errors import DataError

TERM_LIMIT = 1 << 20
"""Largest length of a term in bytes."""

# At most 18 digits, so that the number fits int64. Possessive (+): no backtracking over megabytes.
_LINE = re.compile(rb"[ \t]*+[0-9]{1,18}+(?:[ \t]++[0-9]{1,18}+:[0-9]{1,18}+)*+[ \t\r]*+")
_LINES = re.compile(rb"(?:" + _LINE.pattern + rb"(?:\n|$))*+")
_FIELD = re.compile(r"[0-9]{1,18}")


def read_vocabulary(path: str | os.PathLike[str], limits: Limits | None = None) -> tuple[str, ...]:
    """Read a vocabulary: a term per line, UTF-8, plain or gzip; the id is the line number, from 0."""
    limits = limits or Limits()
    terms: list[str] = []
    for first, content in line_blocks(path, TERM_LIMIT):
        lines = split_lines(content)
        limits.check(f"vocabulary of {os.fspath(path)}", n_terms=len(terms) + len(lines))
        for number, line in enumerate(lines, start=first):
            place = f"{os.fspath(path)}, line {number}"
            try:
                term = line.decode("utf-8").removesuffix("\r")
            except UnicodeDecodeError:
                raise DataError(place, line, "valid UTF-8", "Convert the file to UTF-8.") from None
            if "\0" in term:
                raise DataError(place, term, "text without NUL bytes", "Convert the file to UTF-8.")
            if not term.strip():
                raise DataError(
                    place, term, "a term", "A vocabulary has one term per line and no empty line."
                )
            terms.append(term)
    return check_names(f"vocabulary of {os.fspath(path)}", terms, None, "term")


def read_ldac(path: str | os.PathLike[str], n_terms: int | None = None) -> Iterator[Counts]:
    """Read an LDA-C file, plain or gzip, in blocks of documents."""
    empty = True
    for first, content in line_blocks(path):
        empty = False
        yield _read_block(path, first, content, n_terms)
    if empty:
        raise DataError(
            f"file {os.fspath(path)}", "an empty file", "at least one document", "Check the path."
        )


def _read_block(path: str | os.PathLike[str], first: int, content: bytes, n_terms: int | None) -> Counts:
    if _LINES.fullmatch(content) is None:
        number, line = next(
            (i, one) for i, one in enumerate(split_lines(content), first) if _LINE.fullmatch(one) is None
        )
        _complain_of_ldac(path, number, line)
    pairs = _colons_by_line(content)
    # All lines have been checked, so the file contains only numbers: one N per line, two numbers per pair.
    numbers = np.fromstring(content.replace(b":", b" ").decode("ascii"), np.int64, sep=" ")
    heads = np.zeros(len(pairs), np.int64)
    np.cumsum(1 + 2 * pairs[:-1], out=heads[1:])
    stated = numbers[heads]
    if (stated != pairs).any():
        d = int(np.argmax(stated != pairs))
        raise DataError(
            f"{os.fspath(path)}, line {first + d}",
            f"N = {stated[d]}",
            f"the number of id:count pairs on the line ({pairs[d]})",
            "Each line reads `N id:count id:count ...`.",
        )
    rest = np.delete(numbers, heads)
    term, count = rest[::2], rest[1::2]
    document = np.repeat(np.arange(len(pairs), dtype=np.int64), pairs)
    for what, values, limit in (
        ("id", term, ID_LIMIT if n_terms is None else n_terms),
        ("count", count, TOKEN_LIMIT),
    ):
        if len(values) and values.max() >= limit:
            bad = int(np.argmax(values >= limit))
            raise DataError(
                f"{os.fspath(path)}, line {first + document[bad]}, {what}",
                int(values[bad]),
                f"at most {limit - 1}",
                "Ids are from 0 to n_terms - 1, where n_terms is the length of the vocabulary."
                if what == "id"
                else "Check the file.",
            )
    if n_terms is None:
        n_terms = int(term.max()) + 1 if len(term) else 1
    return Counts(document, term, count, len(pairs), n_terms)


def _colons_by_line(content: bytes) -> npt.NDArray[np.int64]:
    data = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    if not content.endswith(b"\n"):
        ends = np.append(ends, len(data))
    colons = np.searchsorted(np.flatnonzero(data == ord(":")), ends)
    return np.diff(colons, prepend=0).astype(np.int64)


def _complain_of_ldac(path: str | os.PathLike[str], number: int, line: bytes) -> NoReturn:
    """Raise the DataError about an invalid line."""
    place = f"{os.fspath(path)}, line {number}"
    remedy = "Each line reads `N id:count id:count ...`; an empty document is the line `0`."
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(place, line, "valid UTF-8", "LDA-C files hold digits, colons and spaces.") from None
    fields = text.split()
    if not fields:
        raise DataError(place, text, "a document: the line is empty", remedy)
    if _FIELD.fullmatch(fields[0]) is None:
        raise DataError(place, fields[0], "the number of pairs, as the first field", remedy)
    for field in fields[1:]:
        term, _, count = field.partition(":")
        if _FIELD.fullmatch(term) is None or _FIELD.fullmatch(count) is None:
            raise DataError(place, field, "id:count, two whole numbers from 0, of at most 18 digits", remedy)
    raise DataError(place, text, "numbers separated by spaces or tabs", remedy)


# At most 18 digits, so that the number fits int64. Possessive (+): no backtracking over megabytes.
_NUMBER = rb"[ \t]*+[0-9]{1,18}+[ \t\r]*+"
_HEAD = re.compile(rb"(" + _NUMBER + rb")\n(" + _NUMBER + rb")\n(" + _NUMBER + rb")(?:\n|$)")
_BAG_ENTRY = re.compile(rb"[ \t]*+[0-9]{1,18}[ \t]++[0-9]{1,18}[ \t]++[0-9]{1,18}[ \t\r]*+")
_BAG = re.compile(rb"(?:" + _BAG_ENTRY.pattern + rb"(?:\n|$))*+")
_REMEDY_OF_BAG = (
    "Each line reads `document term count`, ids from 1, after three lines with the numbers of each."
)


def is_uci(path: str | os.PathLike[str]) -> bool:
    """Whether a file, plain or gzip, begins with three lines of one number each, the first not 0."""
    # A line of LDA-C with a single number is an empty document: that number is 0.
    with contextlib.suppress(DataError):  # reading the file will raise the error
        for _, content in line_blocks(path):
            head = _HEAD.match(content)
            return head is not None and int(head[1]) > 0
    return False


def read_uci(path: str | os.PathLike[str], n_terms: int | None = None) -> Iterator[Counts]:
    """Read a bag-of-words file, plain or gzip, in blocks of documents."""
    blocks = line_blocks(path)
    head = b""
    for _, content in blocks:  # a block has at least one complete line
        head += content
        if head.count(b"\n") >= 3:
            break
    shape = _bag_shape(path, head, n_terms)
    begun = head.split(b"\n", 3)[3] if head.count(b"\n") >= 3 else b""
    seen, done = 0, 0  # numbers of entries read, and of documents yielded
    held = np.empty((0, 3), np.int64)  # entries of the last document, which may continue in the next block
    for first, content in chain([(4, begun)], blocks):
        rows = _bag_entries(path, first, content)
        seen += len(rows)
        _check_bag(path, first, rows, shape, int(held[-1, 0]) if len(held) else done)
        rows = np.concatenate([held, rows])
        end = int(rows[-1, 0]) - 1 if len(rows) else done
        ready = int(np.searchsorted(rows[:, 0], end, side="right"))
        if end > done:
            yield _bag_counts(rows[:ready], done, end, shape[1])
            done = end
        held = rows[ready:]
    if seen != shape[2]:
        raise DataError(
            f"{os.fspath(path)}, line 3", f"{shape[2]} entries", f"the number of entries after it ({seen})",
            "The file is truncated, or was joined from parts: download it again.",
        )  # fmt: skip
    if shape[0] > done:
        yield _bag_counts(held, done, shape[0], shape[1])


def _bag_shape(path: Any, content: bytes, n_terms: int | None) -> tuple[int, int, int]:
    if not content:
        raise DataError(
            f"file {os.fspath(path)}", "an empty file", "at least one document", "Check the path."
        )
    place = f"{os.fspath(path)}, lines 1 to 3"
    head = _HEAD.match(content)
    if head is None:
        shown = content[:60].split(b"\n")[:3]
        raise DataError(place, shown, "three numbers: documents, terms and entries", _REMEDY_OF_BAG)
    documents, terms, entries = (int(part) for part in head.groups())
    if not 1 <= terms <= ID_LIMIT:
        place = f"{os.fspath(path)}, line 2, terms"
        raise DataError(place, terms, f"from 1 to {ID_LIMIT}", "Check the file.")
    if n_terms is not None and terms != n_terms:
        raise DataError(
            "vocabulary", f"{n_terms} terms", f"{terms} terms, as line 2 of {os.fspath(path)} says",
            "Give the vocabulary of this file.",
        )  # fmt: skip
    # Before memory is allocated for the declared sizes.
    most = 1000 + 100 * entries
    if not 1 <= documents <= most:
        raise DataError(
            f"{os.fspath(path)}, line 1, documents", documents, f"from 1 to {most}, for {entries} entries",
            "Nearly all documents would be empty: check the file.",
        )  # fmt: skip
    return documents, terms, entries


def _bag_entries(path: Any, first: int, content: bytes) -> npt.NDArray[np.int64]:
    if _BAG.fullmatch(content) is None:
        _complain_of_bag(path, first, content)
    return np.fromstring(content.decode("ascii"), np.int64, sep=" ").reshape(-1, 3)


def _complain_of_bag(path: Any, first: int, content: bytes) -> NoReturn:
    """Raise the DataError that names the invalid line."""
    lines = content.split(b"\n")
    number, line = next((i, one) for i, one in enumerate(lines) if _BAG_ENTRY.fullmatch(one) is None)
    raise DataError(
        f"{os.fspath(path)}, line {first + number}",
        line[:60],
        "three whole numbers of at most 18 digits",
        _REMEDY_OF_BAG,
    )


def _check_bag(path: Any, first: int, rows: Any, shape: tuple[int, int, int], last: int) -> None:
    """Check that ids are in range, and documents ascend from ``last``."""
    for column, what, low, high in (
        (0, "document", 1, shape[0]),
        (1, "term", 1, shape[1]),
        (2, "count", 0, TOKEN_LIMIT - 1),
    ):
        wrong = (rows[:, column] < low) | (rows[:, column] > high)
        if wrong.any():
            i = int(np.argmax(wrong))
            place = f"{os.fspath(path)}, line {first + i}, {what}"
            raise DataError(place, int(rows[i, column]), f"from {low} to {high}", _REMEDY_OF_BAG)
    falls = np.diff(rows[:, 0], prepend=last) < 0
    if falls.any():
        i = int(np.argmax(falls))
        raise DataError(
            f"{os.fspath(path)}, line {first + i}, document", int(rows[i, 0]),
            "at least that of the line before", "Sort the lines after the third by document: sort -n.",
        )  # fmt: skip


def _bag_counts(rows: Any, begin: int, end: int, n_terms: int) -> Counts:
    """Counts of documents begin .. end - 1, numbered from 0, from entries that number them from 1."""
    return Counts(rows[:, 0] - (begin + 1), rows[:, 1] - 1, rows[:, 2], end - begin, n_terms)


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


def read_matrix_market(path: str | os.PathLike[str], limits: Limits | None = None) -> Counts:
    """Read a matrix of counts, plain or gzip."""
    limits = limits or Limits()
    (n_rows, n_columns), entries = matrix_entries(path, limits)
    columns = list(zip(*entries, strict=True)) or [()] * 3
    row, column, count = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in columns)
    counts = Counts(row, column, count, n_rows, n_columns)
    limits.check_tokens(f"file {path}", counts.n_tokens, len(count))
    return counts


def matrix_entries(
    path: str | os.PathLike[str], limits: Limits | None = None
) -> tuple[tuple[int, int], Iterator[Entries]]:
    """Read a matrix of counts block by block."""
    blocks = line_blocks(path)
    head, rest = _read_head(path, blocks)
    (limits or Limits()).check(f"file {path}", head.n_columns, head.n_rows)
    return (head.n_rows, head.n_columns), _entries_of(path, chain([rest], blocks), head)


def _entries_of(path: Any, blocks: Iterable[tuple[int, bytes]], head: _Head) -> Iterator[Entries]:
    """Entries, checked, in blocks; their number is that of the line of sizes."""
    seen = 0
    for first, content in blocks:
        rows = _entries(path, first, content, head)
        if seen + len(rows) <= head.n_entries:
            _check(path, first, content, rows, head)
            yield _placed(rows, seen, head)
        seen += len(rows)
        if seen > head.n_entries:
            break
    if seen != head.n_entries:
        _damaged(
            f"file {path}", f"{'more' if seen > head.n_entries else seen} lines of entries",
            f"a Matrix Market file with {head.n_entries} entries, as its line of sizes says",
        )  # fmt: skip


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


def _lines(blocks: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes, bytes, int]]:
    """Lines with their numbers, and the block of each with the place where the next line begins."""
    for number, content in blocks:
        at = 0
        while at < len(content):
            end = content.find(b"\n", at)
            end = len(content) if end < 0 else end
            yield number, content[at:end], content, end + 1
            number, at = number + 1, end + 1


def _read_head(path: Any, blocks: Iterator[tuple[int, bytes]]) -> tuple[_Head, tuple[int, bytes]]:
    """The head, and what is left of its last block, with the number of the line."""
    lines = _lines(blocks)
    _, banner, content, at = next(lines, (1, b"", b"", 0))
    words = banner[:200].lower().split()
    place = f"{os.fspath(path)}, line 1"
    if len(words) != 5 or words[0] != b"%%matrixmarket" or words[1] != b"matrix":
        _damaged(place, banner[:60] or None, "the banner of a matrix in Matrix Market format")
    layout, field, symmetry = (word.decode("latin-1") for word in words[2:])
    field = {"double": "real", "unsigned-integer": "integer"}.get(field, field)
    if (layout, field) not in _ENTRIES:
        _damaged(place, f"{layout} {field}", "a banner of whole numbers: coordinate or array, integer, real "
                 "or pattern (coordinate only)")  # fmt: skip
    if symmetry not in ("general", "symmetric"):
        _damaged(place, symmetry, "a banner of a general or a symmetric matrix")
    comments = 0
    for number, line, content, at in lines:  # noqa: B007 - used below
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
    return _Head(layout, field, symmetric, n_rows, n_columns, n_entries), (number + 1, content[at:])


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


def _damaged(place: str, value: Any, allowed: str) -> NoReturn:
    raise DataError(place, value, allowed, _REMEDY)
