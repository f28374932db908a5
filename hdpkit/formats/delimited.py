"""Tables of text and of numbers (CSV, TSV and similar): read by row, and written so that they are safe."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.errors import DataError, printable
from hdpkit.formats.records import Document, Fields, Layout, ReadingNotes, find_columns, text_lines
from hdpkit.formats.text_files import MAX_LINE_BYTES, place_of, unpacked_beginning

__all__ = [
    "NumberTable",
    "delimiter_of",
    "escaped",
    "read_delimited",
    "read_number_table",
    "read_rows",
    "table_of_rows",
    "unescaped",
]

_FORMULA = re.compile("[\\s\xad\u200c\u200d]*[-=+@\uff0d\uff1d\uff0b\uff20].*[^\\W_]", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
_ESCAPE = re.compile(r"\\(?:(\\)|x([0-9a-f]{2})|u([0-9a-f]{4})|U(000[0-9a-f]{5}|0010[0-9a-f]{4}))")


def escaped(text: str) -> str:
    r"""Return the cell for a text: safe in a spreadsheet and on a terminal. `unescaped` is the inverse.

    Cells that begin with ``'`` are escaped: after it, a backslash is written as ``\\``, and control
    characters are written as by `printable` (``\x1b``). All other cells are the text itself. A text is
    escaped if it begins with ``'`` or contains control characters, or if a spreadsheet could evaluate it: it
    begins with ``=``, ``+``, ``-`` or ``@`` (also after blanks), isn't a number, and has a letter or a digit.
    """
    formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    if not formula and not text.startswith("'") and printable(text) == text:
        return text
    return "'" + printable(text.replace("\\", "\\\\"))


def unescaped(text: str) -> str:
    """Return the text that `escaped` made into this cell.

    Parameters
    ----------
    text : str
    """
    if not text.startswith("'"):
        return text
    return _ESCAPE.sub(lambda found: found[1] or chr(int(found[2] or found[3] or found[4], 16)), text[1:])


def table_of_rows(rows: Iterable[Sequence[Any]], delimiter: str = ",", *, raw: bool = False) -> str:
    r"""Write rows as CSV, or with another delimiter. All CSV and TSV of the package passes here."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerows(rows if raw else ([_cell(value) for value in row] for row in rows))
    return out.getvalue()


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float) else escaped(str(value))


def read_delimited(
    path: Path, layout: Layout, notes: ReadingNotes, delimiter: str = ","
) -> Iterator[Document]:
    """Read a table of text, a row at a time."""
    fields: Fields | None = None
    width = 0
    for first, row in read_rows(path, layout, notes, delimiter):
        if fields is None:
            width = len(row)
            columns = row if layout.header else [str(number) for number in range(1, width + 1)]
            fields = find_columns(layout, columns, place_of(path, first), notes)
            if layout.header:
                continue
        if len(row) != width:
            told = "the header has" if layout.header else "the first row has"
            raise DataError(
                place_of(path, first), f"{len(row)} fields", f"a row of {width} fields, as {told}",
                "Put fields that hold the delimiter into double quotes, or give --delimiter or --no-quotes.",
            )  # fmt: skip
        yield _document(path, row, fields, first, notes.names is not None)
    if fields is None:
        raise DataError(place_of(path), "an empty file", "a table", "Check the path.")


def read_rows(
    path: Path, layout: Layout, notes: ReadingNotes, delimiter: str = ","
) -> Iterator[tuple[int, list[str]]]:
    """Read the rows of a table, the header among them, each with the number of its first line."""
    lines = _Lines(path, text_lines(path, layout.encoding, notes))
    # The csv module has one limit for the entire process. It is raised and never lowered, since another
    # thread may be reading.
    if csv.field_size_limit() < MAX_LINE_BYTES:
        csv.field_size_limit(MAX_LINE_BYTES)
    quoting: Any = csv.QUOTE_MINIMAL if layout.quotes else csv.QUOTE_NONE
    rows = csv.reader(lines, delimiter=layout.delimiter or delimiter, quoting=quoting, strict=True)
    while True:
        first = lines.begin_row()
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise _malformed(path, first, lines.number, str(error), layout) from error
        if row:
            yield first, [unescaped(field) for field in row] if layout.escaped else row


def _document(path: Path, row: list[str], fields: Fields, number: int, guessed: bool) -> Document:
    name = None if fields.name is None else row[fields.name]
    if name == "" and not guessed:
        raise DataError(
            f"{place_of(path, number)}, id", "", "an id in every row", "Fill it in, or leave out --id-column."
        )
    return Document(
        row[fields.text], number, name, tuple(None if at is None else row[at] or None for at in fields.groups)
    )


def _malformed(path: Path, first: int, last: int, told: str, layout: Layout) -> DataError:
    begun = f" (in a row that begins in line {first})" if last > first else ""
    remedy = "Correct the row."
    if layout.quotes:
        remedy += (
            " A quote inside a quoted field is doubled; give --no-quotes if quotes have no meaning here."
        )
    return DataError(f"{place_of(path, last)}{begun}", told, "a row of a table", remedy)


class _Lines:
    """Lines for the csv module, with the number of the last line and a limit on the size of a row."""

    def __init__(self, path: Path, lines: Iterator[tuple[int, str]]) -> None:
        self._path = path
        self._lines = lines
        self._taken = 0
        self.number = 0

    def begin_row(self) -> int:
        """Begin to measure a row; returns the number of its first line."""
        self._taken = 0
        return self.number + 1

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        self.number, line = next(self._lines)
        self._taken += len(line)
        if self._taken > MAX_LINE_BYTES:
            raise DataError(
                place_of(self._path, self.number), f"a row of more than {MAX_LINE_BYTES} characters",
                "at most as long", "Check for a missing closing quote, or give --no-quotes.",
            )  # fmt: skip
        return line


_BEGINNING = 1 << 20
_SUFFIXES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PACKED = (".gz", ".bz2", ".xz")


@attrs.frozen(eq=False)
class NumberTable:
    """A table of finite numbers."""

    place: str  # the file, for errors
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: npt.NDArray[np.float64]
    lines: tuple[int, ...]  # where each row begins, from 1
    header: int  # line of the names of the columns

    def cell(self, row: int, column: int) -> str:
        """Name a cell, for errors: the line and the names of its row and column."""
        return (
            f"{self.place}, line {self.lines[row]}, row {self.rows[row]!r}, column {self.columns[column]!r}"
        )


def delimiter_of(path: Path) -> str:
    """Return the delimiter of a table, from its suffix or else from its first line."""
    name = path.name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    for suffix, letter in _SUFFIXES.items():
        if name.endswith(suffix):
            return letter
    first = unpacked_beginning(path, _BEGINNING).partition(b"\n")[0]
    return next((letter for letter in ("\t", ",", ";") if letter.encode() in first), " ")


def _one(fields: Sequence[str]) -> int:
    return 1


def read_number_table(
    path: Path,
    *,
    delimiter: str | None = None,
    names: Callable[[Sequence[str]], int] = _one,
    join: Callable[[Sequence[str]], str] = "".join,
) -> NumberTable:
    """Read a table whose first columns name the rows and whose other columns are numbers."""
    letter = delimiter_of(path) if delimiter is None else delimiter
    layout = Layout(delimiter=letter)
    header: tuple[int, list[str]] | None = None
    columns: list[str] = []
    rows: list[str] = []
    lines: list[int] = []
    values: list[npt.NDArray[np.float64]] = []
    n_names = 1
    for line, row in read_rows(path, layout, ReadingNotes()):
        if header is None:
            header = (line, row)
            continue
        if not rows:
            n_names = names(row)
            columns = _columns(path, header, len(row), n_names)
        if len(row) != n_names + len(columns):
            raise DataError(
                place_of(path, line), f"{len(row)} fields", f"{n_names + len(columns)} fields, as before",
                "Complete the row, or say what separates the columns.",
            )  # fmt: skip
        rows.append(join([field.strip() for field in row[:n_names]]))
        lines.append(line)
        values.append(_numbers(path, line, rows[-1], columns, row[n_names:]))
    if header is None or not rows:
        raise DataError(place_of(path), "no rows", "a table with a header", "Check the path.")
    return NumberTable(place_of(path), tuple(rows), tuple(columns), np.array(values), tuple(lines), header[0])


def _columns(path: Path, header: tuple[int, list[str]], width: int, n_names: int) -> list[str]:
    line, fields = header
    missing = width - len(fields)
    if missing not in (0, n_names):
        raise DataError(
            place_of(path, line), f"{len(fields)} fields, and {width} in the next row", "as many in both",
            "Correct the header, or say what separates the columns.",
        )  # fmt: skip
    columns = [field.strip() for field in fields[n_names - missing :]]
    if not columns:
        raise DataError(place_of(path, line), "no columns of numbers", "at least one", "Check the file.")
    return columns


def _numbers(path: Path, line: int, row: str, columns: list[str], fields: list[str]) -> Any:
    try:
        if not any("_" in field for field in fields):  # since Python accepts 1_000
            found = np.array([float(field) for field in fields])
            if np.isfinite(found).all():
                return found
    except ValueError:
        pass
    for column, field in zip(columns, fields, strict=True):
        try:
            good = "_" not in field and math.isfinite(float(field))
        except ValueError:
            good = False
        if not good:
            raise DataError(
                f"{place_of(path, line)}, row {row!r}, column {column!r}", field, "a finite number",
                "Fill the cell in: a count that is missing is not the same as 0.",
            )  # fmt: skip
    raise AssertionError(fields)
