"""The LDA-C format: one document per line, ``N id:count id:count ...`` with N pairs and ids from 0."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from hdpkit.checks import check_names
from hdpkit.data.files.counts import ID_LIMIT, TOKEN_LIMIT, Counts, Limits
from hdpkit.data.files.text_files import line_blocks, split_lines
from hdpkit.errors import DataError

TERM_LIMIT = 1 << 20
"""Largest length of a term in bytes."""

# At most 18 digits, so that the number fits int64. Possessive (+): no backtracking over megabytes.
_LINE = re.compile(rb"[ \t]*+[0-9]{1,18}+(?:[ \t]++[0-9]{1,18}+:[0-9]{1,18}+)*+[ \t\r]*+")
_LINES = re.compile(rb"(?:" + _LINE.pattern + rb"(?:\n|$))*+")
_WHOLE = re.compile(r"[0-9]{1,18}")


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
        _complain(path, number, line)
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


def _complain(path: str | os.PathLike[str], number: int, line: bytes) -> NoReturn:
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
    if _WHOLE.fullmatch(fields[0]) is None:
        raise DataError(place, fields[0], "the number of pairs, as the first field", remedy)
    for field in fields[1:]:
        term, _, count = field.partition(":")
        if _WHOLE.fullmatch(term) is None or _WHOLE.fullmatch(count) is None:
            raise DataError(place, field, "id:count, two whole numbers from 0, of at most 18 digits", remedy)
    raise DataError(place, text, "numbers separated by spaces or tabs", remedy)
