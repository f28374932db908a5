"""Lines of files, plain or compressed, of standard input and of open files; errors name the line."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from hdpkit.errors import DataError
from hdpkit.formats.blocks import LINE_LIMIT, check_expansion, open_regular

__all__ = [
    "MAX_LINE_BYTES",
    "Progress",
    "Source",
    "decode_line",
    "place_of",
    "read_lines",
    "unpacked_beginning",
]

MAX_LINE_BYTES = LINE_LIMIT
"""Default limit of the length of a line (64 MiB); a file with longer lines is hardly text."""

Source = str | os.PathLike[str] | IO[str] | IO[bytes]
"""Source of lines: a path, "-" for standard input, or an open file."""

Progress = Callable[[int, int | None], object]
"""Takes the number of bytes read and their total (None if it isn't known)."""

_STEP = 2**20  # progress is reported about once in this many bytes

_PACKED: dict[str, tuple[bytes, Callable[..., Any], str]] = {
    ".gz": (b"\x1f\x8b", gzip.open, "gzip"),
    ".bz2": (b"BZh", bz2.open, "bzip2"),
    ".xz": (b"\xfd7zXZ\0", lzma.open, "xz"),
}
_BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")  # text may begin with BZh

_TROUBLE = (OSError, ValueError, EOFError, zlib.error, lzma.LZMAError)


def place_of(source: Any, number: int | None = None) -> str:
    """Name a source, or one of its lines, for errors."""
    if isinstance(source, str) and source == "-":
        name = "standard input"
    elif isinstance(source, str | os.PathLike):
        name = f"file {os.fspath(source)}"
    else:
        given = getattr(source, "name", None)
        name = f"file {given}" if isinstance(given, str) else "open file"
    return name if number is None else f"{name}, line {number}"


def read_lines(
    source: Any,
    limit: int | None = MAX_LINE_BYTES,
    progress: Progress | None = None,
    encoding: str | None = None,
) -> Iterator[tuple[int, int, Any]]:
    r"""Yield lines, read on demand.

    Parameters
    ----------
    source : Path, "-" or open file
        A file may be compressed by gzip, bzip2 or xz, which is detected by its name or its first bytes.
    limit : int or None
        Longest line in bytes (for a file opened as text: characters), including its end.
    progress : callable, optional
        Called about once per megabyte and at the end; bytes are those of the compressed file.
    encoding : str, optional
        For a file given by its path, if lines must be found in its decoded text because the encoding isn't
        compatible with ASCII, such as UTF-16. Lines are then strings, and positions count characters.

    Yields
    ------
    int
        Number of the line, from 1.
    int
        Position of its beginning in the uncompressed file, from 0.
    bytes or str
        The line, with its end; lines end with ``\n``.

    Raises
    ------
    DataError
        If a file can't be read, is damaged or truncated, or has a longer line.
    """
    if isinstance(source, Path):
        try:
            raw = open(source, "rb")  # noqa: SIM115 - closed below
        except _TROUBLE as error:
            raise _told(error, source) from error
        with raw:
            info = os.fstat(raw.fileno())
            total = info.st_size if stat.S_ISREG(info.st_mode) else None
            file, packed = _unpacked(source, raw)
            tell = raw.tell if total is not None else None
            if encoding is not None:
                file = io.TextIOWrapper(file, encoding, newline="\n")
            with file:
                yield from _lines(file, source, packed, limit, progress, tell, total)
    elif source == "-":
        if sys.stdin is None:
            raise DataError("standard input", None, "there", "Give a file.")
        yield from _lines(getattr(sys.stdin, "buffer", sys.stdin), source, "", limit, progress)
    else:
        yield from _lines(source, source, "", limit, progress)


def _lines(
    file: Any,
    source: Any,
    packed: str,
    limit: int | None,
    progress: Progress | None,
    tell: Callable[[], int] | None = None,
    total: int | None = None,
) -> Iterator[tuple[int, int, Any]]:
    number = read = told = 0
    size = -1 if limit is None else limit + 1
    while True:
        number += 1
        try:
            line = file.readline(size)
        except _TROUBLE as error:
            raise _told(error, source, number, packed) from error
        if not line:
            break
        if limit is not None and len(line) > limit:
            raise DataError(
                place_of(source, number), f"more than {limit} bytes", f"at most {limit} bytes long",
                "Check that the file is text, split the line, or allow longer lines (max_line_bytes).",
            )  # fmt: skip
        if packed and tell is not None:
            check_expansion(place_of(source, number), read + len(line), tell())
        yield number, read, line
        read += len(line)
        if progress is not None and read >= told + _STEP:
            told = read
            progress(read if tell is None else tell(), total)
    if progress is not None:
        progress(read if tell is None else tell(), total)


def unpacked_beginning(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, plain or compressed, uncompressed; errors as in `read_lines`."""
    try:
        with open_regular(path) as raw:
            file, packed = _unpacked(path, raw)
            with file:
                try:
                    return bytes(file.read(size))
                except _TROUBLE as error:
                    raise _told(error, path, 1, packed) from error
    except OSError as error:
        raise _told(error, path) from error


def decode_line(
    line: bytes, source: Any, number: int, begin: int, encoding: str = "utf-8", errors: str = "strict"
) -> str:
    """Return a line of bytes, which begins at `begin`, as text.

    Raises a DataError that names line and byte.
    """
    try:
        return line.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{place_of(source, number)}, byte {begin + error.start}", line[error.start : error.end],
            f"valid {encoding}",
            'Convert the file; where they can be given, give its encoding or errors="replace".',
        ) from error  # fmt: skip


def _unpacked(source: Path, raw: Any) -> tuple[Any, str]:
    """Return the file, decompressed if its name or first bytes say so, and the format ("" if plain)."""
    try:
        head = raw.peek(16)
    except _TROUBLE as error:
        raise _told(error, source) from error
    for suffix, (magic, opener, name) in _PACKED.items():
        if head.startswith(magic) and (suffix != ".bz2" or _BZIP2.match(head) is not None):
            return opener(raw), name
        if source.name.lower().endswith(suffix):  # an empty file would count as compressed
            raise _damaged(place_of(source), f"begins with {head[:6]!r}", name)
    return raw, ""


def _damaged(place: str, value: Any, packed: str) -> DataError:
    return DataError(place, value, f"a complete {packed} file", "Download or compress the file again.")


def _told(error: Exception, source: Any, number: int | None = None, packed: str = "") -> Exception:
    """Return the error for a failure to open a source or to read a line, which names the source and line."""
    if isinstance(error, DataError):
        return error
    place = place_of(source, number)
    if isinstance(error, UnicodeDecodeError):  # from a file opened as text, which reads ahead
        return DataError(
            f"{place} or after it", error.object[error.start : error.end], f"valid {error.encoding}",
            'Open it with its encoding, or with errors="replace".',
        )  # fmt: skip
    number_of_error = getattr(error, "errno", None)
    if packed and not number_of_error:
        return _damaged(place, str(error), packed)
    return DataError(
        place_of(source), getattr(error, "strerror", None) or str(error), "a file that can be read",
        "Check the path and its permissions." if number_of_error else "Pass a file that is open for reading.",
    )  # fmt: skip
