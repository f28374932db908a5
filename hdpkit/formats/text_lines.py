"""Lines of text in any encoding, and files with a document per line."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from hdpkit.errors import DataError
from hdpkit.formats.encodings import SAMPLE, agrees_with_ascii, detect_encoding
from hdpkit.formats.lines import MAX_LINE_BYTES, decode_line, place_of, read_lines, unpacked_beginning
from hdpkit.formats.records import Document, Layout, ReadingNotes

__all__ = ["encoding_of", "read_document_lines", "text_lines"]

_BEGINNING = 1 << 20
"""Number of bytes used to check whether a file is UTF-8."""


def read_document_lines(path: Path, layout: Layout, notes: ReadingNotes) -> Iterator[Document]:
    """Read a file with a document per line; an empty line is a document without words.

    Parameters
    ----------
    path : Path
        Plain, or packed by gzip, bzip2 or xz.
    layout : Layout
        Only its encoding is used.
    notes : ReadingNotes

    Raises
    ------
    DataError
        With the line number, as for `text_lines`.
    """
    for number, line in text_lines(path, layout.encoding, notes):
        yield Document(line.rstrip("\r\n"), number)


def text_lines(path: Path, encoding: str | None, notes: ReadingNotes) -> Iterator[tuple[int, str]]:
    r"""Read lines of text with their numbers, from 1, and their ends; lines end with ``\n``.

    Parameters
    ----------
    path : Path
        Plain, or packed by gzip, bzip2 or xz.
    encoding : str or None
        If None, it is detected from the beginning of the file.
    notes : ReadingNotes

    Raises
    ------
    DataError
        With the line number, if a line isn't in the encoding, contains a zero byte or is longer than 64 MiB;
        with the file name, if the file can't be read, isn't text, or is compressed and damaged.
    """
    if encoding is None:
        encoding = encoding_of(path)
        notes.detected(encoding)
    name = codecs.lookup(encoding).name
    bytewise = agrees_with_ascii(name)
    for number, begin, raw in read_lines(path, MAX_LINE_BYTES, encoding=None if bytewise else name):
        line = decode_line(raw, path, number, begin, name) if bytewise else raw
        if "\0" in line:
            raise DataError(
                place_of(path, number), "\0", "text without NUL characters",
                "Is it a text file? Give its encoding if it is UTF-16 or UTF-32.",
            )  # fmt: skip
        yield number, line.removeprefix("\ufeff") if number == 1 else line


def encoding_of(path: Path) -> str:
    """Detect the encoding of a text file from its beginning.

    Raises
    ------
    DataError
        If the encoding isn't one of those supported, or the file isn't text.
    """
    content = unpacked_beginning(path, _BEGINNING + 1)
    encoding = detect_encoding(content[:_BEGINNING], whole=len(content) <= _BEGINNING)
    if encoding is None:
        raise DataError(
            place_of(path), content[:SAMPLE][:40], "a text in a known encoding",
            "Is it a text file? If it is, give its encoding.",
        )  # fmt: skip
    return encoding
