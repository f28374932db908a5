"""Text files, plain or compressed: read in blocks or in lines, with their encodings. Errors name the line.

The length of a line and the expanded size of a compressed file are limited. Numbers are converted by NumPy
only after the complete text has matched a pattern, so the conversion is unambiguous and can't fail.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from hdpkit.checks import path as checked_path
from hdpkit.errors import DataError, ParameterError, importing_extra

BLOCK = 1 << 22
"""Number of bytes of text read at once."""

MAX_LINE_BYTES = 1 << 26
"""Largest length of a line (64 MiB), by default; a file with longer lines is hardly text."""

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
    """Open a file to read bytes."""
    with reading(path):
        path = checked_path("path", path)
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


def line_blocks(path: str | os.PathLike[str], limit: int = MAX_LINE_BYTES) -> Iterator[tuple[int, bytes]]:
    """Yield a file, plain or gzip, in blocks of complete lines, each with the number of its first line.

    A byte order mark of UTF-8 is left out.
    """
    place = f"file {os.fspath(path)}"
    number, held, size, unpacked = 1, [], 0, 0
    with open_regular(path) as raw:
        with reading(path):
            packed = raw.peek(2)[:2] == b"\x1f\x8b"
        try:
            with reading(path), gzip.GzipFile(fileobj=raw, mode="rb") if packed else raw as file:
                while piece := file.read(BLOCK).removeprefix(b"" if unpacked else codecs.BOM_UTF8):
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
    r"""Yield lines, read on demand."""
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
    """Return a line of bytes, which begins at `begin`, as text."""
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


SAMPLE = 1 << 16
"""Number of bytes used to detect an encoding other than UTF-8."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

# The encodings in use other than UTF-8; of two that fit equally well, the more frequent one comes first.
# Without such a list a French text in Latin-1 would be detected as Turkish in an old Macintosh encoding.
_IN_USE = (
    *("cp1252", "cp1250", "cp1251", "koi8_r", "koi8_u", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
    *("cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *("iso8859_2", "iso8859_5", "iso8859_7", "mac_roman", "cp866"),
)
_AS_CLEAN = 0.02  # difference in charset-normalizer's "chaos" that counts as zero
_AS_COHERENT = 0.15  # and in its "coherence"


def check_encoding(encoding: Any) -> str:
    """Check and return the name of an encoding of texts, or raise a ParameterError."""
    try:
        if isinstance(encoding, str) and "a".encode(encoding).decode(encoding) == "a":
            return codecs.lookup(encoding).name
    except (LookupError, UnicodeError, ValueError, TypeError):  # not an encoding, or not one of text
        pass
    raise ParameterError(
        "encoding", encoding, "the name of an encoding that Python supports",
        "For instance utf-8, cp1252, latin-1, utf-16, gb18030. Leave it out to have it detected.",
    )  # fmt: skip


def agrees_with_ascii(encoding: str) -> bool:
    """Whether the ASCII bytes have their ASCII meaning in an encoding, so that lines end with one byte."""
    ascii = bytes(range(128))
    try:
        return ascii.decode(encoding) == ascii.decode("ascii")
    except UnicodeError:
        return False


def detect_encoding(content: bytes, *, whole: bool) -> str | None:
    """Detect the encoding of a text."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    if b"\0" in content:
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(content, final=whole)
    except UnicodeDecodeError:
        return _guess(content[:SAMPLE])
    return "utf-8"


def _guess(sample: bytes) -> str | None:
    purpose, way_out = ", to read text that isn't UTF-8", " Or give the encoding."
    with importing_extra("charset-normalizer", "text", purpose, way_out):
        from charset_normalizer import from_bytes
    found = [match for match in from_bytes(sample, cp_isolation=list(_IN_USE)) if match.encoding in _IN_USE]
    for measure, margin, sign in (("chaos", _AS_CLEAN, 1), ("coherence", _AS_COHERENT, -1)):
        best = min((sign * getattr(match, measure) for match in found), default=0.0)
        found = [match for match in found if sign * getattr(match, measure) <= best + margin]
    return min((match.encoding for match in found), key=_IN_USE.index, default=None)
