"""The bag-of-words format of the UCI repository.

Three lines with the numbers of documents, terms and entries, then one entry per line, ``document term
count``, with ids from 1, sorted by document.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hdpkit.data.files.counts import ID_LIMIT, TOKEN_LIMIT, Counts
from hdpkit.data.files.text_files import line_blocks
from hdpkit.errors import DataError

# At most 18 digits, so that the number fits int64. Possessive (+): no backtracking over megabytes.
_NUMBER = rb"[ \t]*+[0-9]{1,18}+[ \t\r]*+"
_HEAD = re.compile(rb"(" + _NUMBER + rb")\n(" + _NUMBER + rb")\n(" + _NUMBER + rb")(?:\n|$)")
_ENTRY = re.compile(rb"[ \t]*+[0-9]{1,18}[ \t]++[0-9]{1,18}[ \t]++[0-9]{1,18}[ \t\r]*+")
_ENTRIES = re.compile(rb"(?:" + _ENTRY.pattern + rb"(?:\n|$))*+")
_REMEDY = "Each line reads `document term count`, ids from 1, after three lines with the numbers of each."


def is_uci(path: str | os.PathLike[str]) -> bool:
    """Whether a file, plain or gzip, begins with three lines of one number each, the first not 0.

    (A line of LDA-C with a single number is an empty document: that number is 0.)
    """
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
    shape = _shape(path, head, n_terms)
    begun = head.split(b"\n", 3)[3] if head.count(b"\n") >= 3 else b""
    seen, done = 0, 0  # numbers of entries read, and of documents yielded
    held = np.empty((0, 3), np.int64)  # entries of the last document, which may continue in the next block
    for first, content in chain([(4, begun)], blocks):
        rows = _entries(path, first, content)
        seen += len(rows)
        _check(path, first, rows, shape, int(held[-1, 0]) if len(held) else done)
        rows = np.concatenate([held, rows])
        end = int(rows[-1, 0]) - 1 if len(rows) else done
        ready = int(np.searchsorted(rows[:, 0], end, side="right"))
        if end > done:
            yield _counts(rows[:ready], done, end, shape[1])
            done = end
        held = rows[ready:]
    if seen != shape[2]:
        raise DataError(
            f"{os.fspath(path)}, line 3", f"{shape[2]} entries", f"the number of entries after it ({seen})",
            "The file is truncated, or was joined from parts: download it again.",
        )  # fmt: skip
    if shape[0] > done:
        yield _counts(held, done, shape[0], shape[1])


def _shape(path: Any, content: bytes, n_terms: int | None) -> tuple[int, int, int]:
    if not content:
        raise DataError(
            f"file {os.fspath(path)}", "an empty file", "at least one document", "Check the path."
        )
    place = f"{os.fspath(path)}, lines 1 to 3"
    head = _HEAD.match(content)
    if head is None:
        shown = content[:60].split(b"\n")[:3]
        raise DataError(place, shown, "three numbers: documents, terms and entries", _REMEDY)
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


def _entries(path: Any, first: int, content: bytes) -> npt.NDArray[np.int64]:
    if _ENTRIES.fullmatch(content) is None:
        _complain(path, first, content)
    return np.fromstring(content.decode("ascii"), np.int64, sep=" ").reshape(-1, 3)


def _complain(path: Any, first: int, content: bytes) -> NoReturn:
    """Raise the DataError that names the invalid line."""
    lines = content.split(b"\n")
    number, line = next((i, one) for i, one in enumerate(lines) if _ENTRY.fullmatch(one) is None)
    raise DataError(
        f"{os.fspath(path)}, line {first + number}",
        line[:60],
        "three whole numbers of at most 18 digits",
        _REMEDY,
    )


def _check(path: Any, first: int, rows: Any, shape: tuple[int, int, int], last: int) -> None:
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
            raise DataError(place, int(rows[i, column]), f"from {low} to {high}", _REMEDY)
    falls = np.diff(rows[:, 0], prepend=last) < 0
    if falls.any():
        i = int(np.argmax(falls))
        raise DataError(
            f"{os.fspath(path)}, line {first + i}, document", int(rows[i, 0]),
            "at least that of the line before", "Sort the lines after the third by document: sort -n.",
        )  # fmt: skip


def _counts(rows: Any, begin: int, end: int, n_terms: int) -> Counts:
    """Counts of documents begin .. end - 1, numbered from 0, from entries that number them from 1."""
    return Counts(rows[:, 0] - (begin + 1), rows[:, 1] - 1, rows[:, 2], end - begin, n_terms)
