"""Files, plain or gzip, read in blocks of complete lines; memory is limited by the size of a block."""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hdpkit.errors import DataError

__all__ = [
    "BLOCK",
    "LINE_LIMIT",
    "bad_gzip",
    "check_expansion",
    "line_blocks",
    "open_regular",
    "reading",
    "split_lines",
]

BLOCK = 1 << 22
"""Number of bytes of text read at once."""

LINE_LIMIT = 1 << 26
"""Largest length of a line in bytes."""

_FREE = 1 << 22  # uncompressed bytes that are accepted from any compressed file
_RATIO = 200  # and this many times its size; gzip reaches 1,032, but text hardly 20


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the operating system into DataErrors that name the file."""
    try:
        yield
    except gzip.BadGzipFile:  # an OSError too, but about the content
        raise
    except OSError as error:
        raise DataError(
            f"file {error.filename or path}", error.strerror or str(error), "a file that can be read",
            "Check the path and its permissions.",
        ) from error  # fmt: skip
    except MemoryError as error:
        raise DataError(
            f"file {path}", "more than there is memory for", "smaller", "Drop documents or terms."
        ) from error


def open_regular(path: str | os.PathLike[str]) -> Any:
    """Open a file to read bytes.

    Raises a DataError if it can't be opened, or is a pipe or a device, whose opening might block.
    """
    with reading(path):
        if not os.path.isdir(path) and not stat.S_ISREG(os.stat(path).st_mode):
            raise DataError(
                f"file {os.fspath(path)}", "a pipe or a device", "a regular file", "Write it to a file first."
            )
        return open(path, "rb")


def check_expansion(place: str, unpacked: int, packed: int) -> None:
    """Raise a DataError if a compressed file expands far too much."""
    if unpacked > _FREE and unpacked > _RATIO * packed:
        raise DataError(
            place, f"{unpacked} bytes from {packed}", f"at most {_RATIO} times as large when it is unpacked",
            "The file may be made to exhaust memory. If it is valid, "
            "unpack it first: uncompressed files have no such limit.",
        )  # fmt: skip


def bad_gzip(path: str | os.PathLike[str], error: Exception) -> DataError:
    """The error about a damaged gzip file."""
    return DataError(
        f"file {os.fspath(path)}", str(error), "a complete gzip file", "Download or compress the file again."
    )


def line_blocks(path: str | os.PathLike[str], limit: int = LINE_LIMIT) -> Iterator[tuple[int, bytes]]:
    """Yield a file, plain or gzip, in blocks of complete lines, each with the number of its first line.

    Raises a DataError if a line is longer than `limit`, or a gzip file is damaged or expands too much.
    """
    place = f"file {os.fspath(path)}"
    number, held, size, unpacked = 1, [], 0, 0
    with open_regular(path) as raw:
        with reading(path):
            packed = raw.peek(2)[:2] == b"\x1f\x8b"
        try:
            with reading(path), gzip.GzipFile(fileobj=raw, mode="rb") if packed else raw as file:
                while piece := file.read(BLOCK):
                    unpacked += len(piece)
                    if packed:
                        check_expansion(place, unpacked, raw.tell())
                    end = piece.rfind(b"\n") + 1
                    first = piece.find(b"\n") if end else len(piece)
                    if size + first > limit:
                        raise DataError(
                            f"{os.fspath(path)}, line {number}", f"more than {limit} bytes",
                            f"at most {limit} bytes long", "Check that the file is text, or split the line.",
                        )  # fmt: skip
                    if end:
                        held.append(piece[:end])
                        content = b"".join(held)
                        yield number, content
                        number += content.count(b"\n")
                        held, size = [piece[end:]], len(piece) - end
                    else:  # parts are joined once, when the line ends
                        held.append(piece)
                        size += len(piece)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise bad_gzip(path, error) from error
    if size:
        yield number, b"".join(held)


def split_lines(content: bytes) -> list[bytes]:
    """Lines without their ends. Not splitlines(), which also splits at form feeds and similar."""
    lines = content.split(b"\n")
    if not lines[-1]:  # an empty rest after the last newline isn't a line
        lines.pop()
    return lines
