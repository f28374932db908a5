"""Text files, plain or compressed: read in blocks or in lines, with their encodings; layouts of documents.

Errors name the line. The length of a line and the expanded size of a compressed file are limited. Numbers are
converted by NumPy only after the complete text has matched a pattern, so the conversion is unambiguous and
cannot fail.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import attrs
from attrs.converters import optional

from hdpkit.checks import flag, items, text, validator
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
    """Yield a file, plain or gzip, in blocks of complete lines, each with the number of its first line."""
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
            raise DataError("standard input", None, "open", "Give a file.")
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


TEXT_COLUMNS = ("text", "body", "content", "abstract", "document", "message", "review")
"""Names of the column used as text if none is given and there are several columns."""
NAME_COLUMNS = (
    *("title", "name", "headline", "subject", "filename", "file", "url", "id"),
    *("doc_id", "document_id", "post_id", "article_id", "key"),
)
"""Names of columns that name the documents if no id column is given; otherwise the first column does."""


class Document(NamedTuple):
    """A document from a file."""

    text: str
    place: int | str  # line or row in which it begins, from 1, or path of its file
    name: str | None = None  # its id
    labels: tuple[Any, ...] = ()  # a value for each group column; None if it is missing


def _column(name: str, value: Any) -> str:
    remedy = "Give the name of a column, or its number, from 1."
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return text(name, value, remedy=remedy)


def _one_column(name: str) -> Any:
    return attrs.field(default=None, converter=optional(partial(_column, name)))


def _columns(values: Any) -> tuple[str, ...]:
    given = items("group_columns", values, "a sequence of columns", remedy="Put a single one in a list.")
    columns = tuple(_column("group_columns", value) for value in given)
    if len(set(columns)) < len(columns):
        raise ParameterError("group_columns", values, "different from each other", "Remove duplicates.")
    return columns


def _delimiter(value: Any) -> str:
    named = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
    letter = named.get(value, value) if isinstance(value, str) else value
    if not isinstance(letter, str) or len(letter) != 1 or letter in '\r\n"\0':
        raise ParameterError("delimiter", value, "one character", "For instance ';' or 'tab'.")
    return letter


def _flag(default: bool) -> Any:
    return attrs.field(default=default, validator=validator(flag))


@attrs.frozen(kw_only=True)
class Layout:
    """Layout of documents in a file of texts, or in a folder of such files.

    Raises a ParameterError if an argument isn't valid.

    Parameters
    ----------
    text_column : str or int, optional
        Name of the column (of JSON lines: of the key) with the text, or its number, from 1. By default the
        only column, or one called "text", "body" or similar (`TEXT_COLUMNS`).
    id_column : str or int, optional
        Name of the column with the id of each document, or its number. By default documents of a table are
        named by a column called "title", "name", "id" or similar (`NAME_COLUMNS`), or else by the first
        column, unless it has the text; a name that occurs twice gets the number of its line.
    group_columns : sequence of str or int
        Columns that become labels of the corpus, for shares by group; a name that is also a number is a name.
    date_column : str or int, optional
        Column with the date or the year of each document, for shares over time: a label of the corpus, in ISO
        8601.
    encoding : str, optional
        Encoding of the texts, by default detected. It is UTF-8, the encoding given by a byte order mark, or
        else the most probable of the encodings in use, by charset-normalizer.
    delimiter : str, optional
        For tables: one character between fields, or "tab"; by default it is detected.
    quotes : bool
        For tables: whether a field may be in double quotes, and then contain delimiters and line ends.
    header : bool
        For tables: whether the first row has the names of the columns.
    files : str
        For folders: the pattern of the file names.
    strict : bool
        For folders: whether a file that can't be decoded is an error; otherwise it is left out.
    optional_groups : bool
        Whether columns of groups and dates may be missing: documents then lack the label.
    """

    text_column: str | None = _one_column("text_column")
    id_column: str | None = _one_column("id_column")
    group_columns: tuple[str, ...] = attrs.field(default=(), converter=_columns)
    date_column: str | None = _one_column("date_column")
    encoding: str | None = attrs.field(default=None, converter=optional(check_encoding))
    delimiter: str | None = attrs.field(default=None, converter=optional(_delimiter))
    quotes: bool = _flag(True)
    header: bool = _flag(True)
    files: str = attrs.field(default="*.txt", validator=validator(text, remedy="For instance *.md."))
    strict: bool = _flag(False)
    optional_groups: bool = _flag(False)

    def as_data(self) -> dict[str, Any]:
        """Return the fields as JSON-compatible data."""
        return attrs.asdict(self) | {"group_columns": list(self.group_columns)}

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Columns that become labels: those of groups, and last that of dates unless it is one of them."""
        date = () if self.date_column in (None, *self.group_columns) else (self.date_column,)
        return (*self.group_columns, *date)


@attrs.define(eq=False)
class ReadingNotes:
    """Notes of readers about the files; filled while documents are read."""

    encodings: dict[str, int] = attrs.Factory(dict)  # detected ones other than UTF-8 -> number of files
    skipped: list[tuple[str, str]] = attrs.Factory(list)  # paths of files that were left out, and why
    groups: tuple[str, ...] = ()  # names of the group columns and of that of dates, from the header
    names: str | None = None  # the column that names the documents although none was requested
    delimiter: str = ""  # of a table
    text: str | None = None  # its column of the texts
    n_columns: int = 0
    function_words: tuple[str, int] | None = None  # the language found, and how many were left out

    def detected(self, encoding: str) -> None:
        """Count a file with a detected encoding."""
        if encoding not in ("utf-8", "utf-8-sig"):
            self.encodings[encoding] = self.encodings.get(encoding, 0) + 1


class Fields(NamedTuple):
    """Indices of the text, the id and the groups in a row; None if there is none."""

    text: int
    name: int | None
    groups: tuple[int | None, ...]


def find_columns(
    layout: Layout, columns: Sequence[str], place: str, notes: ReadingNotes, *, what: str = "column"
) -> Fields:
    """Find the columns of a table that are named by a layout."""
    find = partial(find_column, columns, place, what=what)
    own = [number for number, column in enumerate(columns) if not is_index(column)]
    if layout.text_column is not None:
        chosen = find("text_column", layout.text_column)
    elif len(columns) == 1 or len(own) == 1:
        chosen = [*own, 0][0]
    else:
        lower = [column.strip().lower() for column in columns]
        known = [name for name in TEXT_COLUMNS if name in lower]
        if not known:
            raise DataError(
                f"{place}, text_column", list(columns), f"one {what}, or one that is called 'text'",
                f"Say which {what} holds the text: --text-column NAME, or a number, from 1. Of tables also "
                "--no-header if the first row is a document, and --delimiter.",
            )  # fmt: skip
        chosen = lower.index(known[0])
    name = None if layout.id_column is None else find("id_column", layout.id_column)
    groups: list[int | None] = []
    for column in layout.label_columns:
        try:
            groups.append(find("group_columns" if column in layout.group_columns else "date_column", column))
        except DataError:
            if not layout.optional_groups:
                raise
            groups.append(None)
    notes.groups = tuple(
        wanted if at is None else columns[at] for wanted, at in zip(layout.label_columns, groups, strict=True)
    )
    if name is None:
        name = _naming(columns, {chosen, *groups})
        notes.names = None if name is None else columns[name]
    return Fields(chosen, name, tuple(groups))


def _naming(columns: Sequence[str], others: set[int | None]) -> int | None:
    """The column that names documents if none was requested; None if there is none."""
    lower = [column.strip().lower() for column in columns]
    for known in NAME_COLUMNS:
        if known in lower and lower.index(known) not in others:
            return lower.index(known)
    return 0 if len(columns) > 1 and 0 not in others else None


def find_name(columns: Sequence[str]) -> int:
    """The column of names in a table that has nothing else by which rows are known: the first by default."""
    found = _naming(columns, set())
    return 0 if found is None else found


def find_column(columns: Sequence[str], place: str, parameter: str, wanted: str, what: str = "column") -> int:
    """Index of the column that has this name, or else this number, from 1."""
    same = [number for number, column in enumerate(columns) if column == wanted]
    if len(same) > 1:
        numbers = " and ".join(str(number + 1) for number in same[:2])
        raise DataError(
            f"{place}, {parameter}", wanted, f"the name of one {what}; {numbers} have this name",
            "Give the number.",
        )  # fmt: skip
    if same:
        return same[0]
    if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted[:9]) <= len(columns):
        return int(wanted[:9]) - 1
    raise DataError(
        f"{place}, {parameter}", wanted, f"one of the {what}s {shown_names(columns)}, or a number from 1",
        "Check the name; if the file separates columns by something else, give --delimiter.",
    )  # fmt: skip


_INDEX = re.compile(r"(Unnamed: [0-9]+|__index_level_[0-9]+__)?")  # as pandas writes and reads it


def is_index(name: str) -> bool:
    """Whether a column is an index without a name."""
    return _INDEX.fullmatch(name) is not None


def shown_names(columns: Iterable[str], most: int = 12) -> str:
    """Names in a sentence, the first of them if they are many."""
    names = [repr(column) for column in columns]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


_BEGINNING = 1 << 20
"""Number of bytes used to check whether a file is UTF-8."""


def read_document_lines(path: Path, layout: Layout, notes: ReadingNotes) -> Iterator[Document]:
    """Read a file with a document per line; an empty line is a document without words."""
    for number, line in text_lines(path, layout.encoding, notes):
        yield Document(line.rstrip("\r\n"), number)


def text_lines(path: Path, encoding: str | None, notes: ReadingNotes) -> Iterator[tuple[int, str]]:
    r"""Read lines of text with their numbers, from 1, and their ends; lines end with ``\n``."""
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
    """Detect the encoding of a text file from its beginning."""
    content = unpacked_beginning(path, _BEGINNING + 1)
    encoding = detect_encoding(content[:_BEGINNING], whole=len(content) <= _BEGINNING)
    if encoding is None:
        raise DataError(
            place_of(path), content[:SAMPLE][:40], "a text in a known encoding",
            "Is it a text file? If it is, give its encoding.",
        )  # fmt: skip
    return encoding
