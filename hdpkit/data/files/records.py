"""Documents, as yielded by the readers of text; their layout in files; files with a document per line."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import attrs

from hdpkit.checks import flag, items, text
from hdpkit.data.files.text_files import (
    MAX_LINE_BYTES,
    SAMPLE,
    agrees_with_ascii,
    check_encoding,
    decode_line,
    detect_encoding,
    place_of,
    read_lines,
    unpacked_beginning,
)
from hdpkit.errors import DataError, ParameterError

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


def _optional_column(instance: Any, attribute: Any, value: Any) -> None:
    if value is not None:
        _column(attribute.name, value)


def _columns(values: Any) -> tuple[str, ...]:
    given = items("group_columns", values, "a sequence of columns", remedy="Put a single one in a list.")
    columns = tuple(_column("group_columns", value) for value in given)
    if len(set(columns)) < len(columns):
        raise ParameterError("group_columns", values, "different from each other", "Remove duplicates.")
    return columns


def _delimiter(value: Any) -> str | None:
    if value is None:
        return None
    named = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
    letter = named.get(value, value) if isinstance(value, str) else value
    if not isinstance(letter, str) or len(letter) != 1 or letter in '\r\n"\0':
        raise ParameterError("delimiter", value, "one character", "For instance ';' or 'tab'.")
    return letter


def _encoding(value: Any) -> str | None:
    return None if value is None else check_encoding(value)


def _files(instance: Any, attribute: Any, value: Any) -> None:
    text("files", value, remedy="For instance *.md.")


@attrs.frozen(kw_only=True)
class Layout:
    """Layout of documents in a file of texts, or in a folder of such files.

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

    Raises
    ------
    ParameterError
    """

    text_column: str | None = attrs.field(default=None, validator=_optional_column)
    id_column: str | None = attrs.field(default=None, validator=_optional_column)
    group_columns: tuple[str, ...] = attrs.field(default=(), converter=_columns)
    date_column: str | None = attrs.field(default=None, validator=_optional_column)
    encoding: str | None = attrs.field(default=None, converter=_encoding)
    delimiter: str | None = attrs.field(default=None, converter=_delimiter)
    quotes: bool = attrs.field(default=True)
    header: bool = attrs.field(default=True)
    files: str = attrs.field(default="*.txt", validator=_files)
    strict: bool = attrs.field(default=False)
    optional_groups: bool = attrs.field(default=False)

    def __attrs_post_init__(self) -> None:
        for name in ("quotes", "header", "strict", "optional_groups"):
            flag(name, getattr(self, name))
        for name in ("text_column", "id_column", "date_column"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _column(name, value))

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
