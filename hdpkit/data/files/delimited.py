"""Tables of text and of numbers (CSV, TSV and similar): read by row, and written so that they are safe."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.data.files.records import Document, Fields, Layout, ReadingNotes, find_columns, text_lines
from hdpkit.data.files.text_files import MAX_LINE_BYTES, place_of
from hdpkit.errors import DataError, printable

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


def read_delimited(path: Path, layout: Layout, notes: ReadingNotes, usual: str = ",") -> Iterator[Document]:
    """Read a table of text, a row at a time."""
    fields: Fields | None = None
    width = 0
    for first, row in read_rows(path, layout, notes, usual):
        if fields is None:
            width = len(row)
            columns = row if layout.header else [str(number) for number in range(1, width + 1)]
            fields = find_columns(layout, columns, place_of(path, first), notes)
            notes.text, notes.n_columns = columns[fields.text], width
            if layout.header:
                _check_header(layout, notes.text, place_of(path, first))
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


def _check_header(layout: Layout, name: str, place: str) -> None:
    """Refuse a name of the column of texts that is itself a text, unless it was given."""
    if (len(name.split()) > 5 or len(name) > 40) and name != layout.text_column:
        raise DataError(
            f"{place}, text_column", name, "the name of a column, not a text",
            "Give --no-header if the first row is a document, and --text-column with the whole name if not.",
        )  # fmt: skip


def read_rows(
    path: Path, layout: Layout, notes: ReadingNotes, usual: str | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Read the rows of a table, the header among them, each with the number of its first line.

    Unless the layout has a delimiter, it is detected; ``usual`` is that of the format, by default of the
    file's suffix.
    """
    # The csv module has one limit for the entire process. It is raised and never lowered, since another
    # thread may be reading.
    if csv.field_size_limit() < MAX_LINE_BYTES:
        csv.field_size_limit(MAX_LINE_BYTES)
    quoting: Any = csv.QUOTE_MINIMAL if layout.quotes else csv.QUOTE_NONE
    source = text_lines(path, layout.encoding, notes)
    begun: list[tuple[int, str]] = []
    for one in source:
        begun.append(one)
        if len(begun) == _BEGINNING[0] or sum(len(line) for _, line in begun) > _BEGINNING[1]:
            break
    told = _TOLD.fullmatch(begun[0][1].rstrip("\r\n")) if begun else None
    if told:
        del begun[0]
    notes.delimiter = layout.delimiter or (
        told[1] if told else _detected(path, [line for _, line in begun], quoting, usual)
    )
    lines = _Lines(path, itertools.chain(begun, source), number=1 if told else 0)
    rows = csv.reader(lines, delimiter=notes.delimiter, quoting=quoting, strict=True)
    while True:
        first = lines.begin_row()
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise _malformed(path, first, lines.number, str(error), layout) from error
        if row:
            yield first, row


_BEGINNING = (200, 1 << 20)  # lines, and characters, from which the delimiter is detected
_DELIMITERS = ("\t", ",", ";", "|")
_SUFFIXES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PACKED = (".gz", ".bz2", ".xz")
_TOLD = re.compile('"?sep=(.)"?\\1*', re.IGNORECASE)  # a first line by which Excel is told the delimiter


def _detected(path: Path, lines: Sequence[str], quoting: Any, usual: str | None) -> str:
    """The delimiter by which most rows have as many fields as the first; of several, that with most fields.

    A delimiter must be in the first row: commas and semicolons of texts below a single name separate nothing.
    """
    name = path.name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    usual = usual or next((letter for suffix, letter in _SUFFIXES.items() if name.endswith(suffix)), None)
    letters = [*([usual] if usual else []), *_DELIMITERS]
    share, _, _, best = max((*_fit(lines, one, quoting), -place, one) for place, one in enumerate(letters))
    if share >= 0.5:
        return best
    first = lines[0] if lines else ""
    return usual or next((letter for letter in ("\t", ",", ";") if letter in first), " ")


def _fit(lines: Sequence[str], delimiter: str, quoting: Any) -> tuple[float, int]:
    """The share of rows with as many fields as the first by a delimiter, and how many these are.

    The first may have up to three fewer, which are columns with names of rows, as in tables of R.
    """
    widths: list[int] = []
    try:
        for row in csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True):
            if row:
                widths.append(len(row))
    except csv.Error:
        widths.append(0)
    first, *rest = widths or [0]
    if first < 2 or not rest:
        return 0.0, 0
    most = max(set(rest), key=rest.count)
    return rest.count(most) / len(rest) if first <= most <= first + 3 else 0.0, first


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

    def __init__(self, path: Path, lines: Iterator[tuple[int, str]], number: int) -> None:
        self._path = path
        self._lines = lines
        self._taken = 0
        self.number = number

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


@attrs.frozen(eq=False)
class NumberTable:
    """A table of finite numbers."""

    place: str  # the file, for errors
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: npt.NDArray[np.float64]
    lines: tuple[int, ...]  # where each row begins, from 1
    header: int  # line of the names of the columns
    delimiter: str

    def cell(self, row: int, column: int) -> str:
        """Name a cell, for errors: the line and the names of its row and column."""
        return (
            f"{self.place}, line {self.lines[row]}, row {self.rows[row]!r}, column {self.columns[column]!r}"
        )


def _one(fields: Sequence[str]) -> int:
    return 0


def number_of(cell: str, delimiter: str = ",") -> float:
    """The number in a cell; NaN if there is none. Between semicolons it may have a decimal comma."""
    if delimiter == ";" and _COMMA.fullmatch(cell.strip()):
        cell = cell.replace(",", ".")
    try:
        return float(cell) if "_" not in cell else math.nan  # since Python accepts 1_000
    except ValueError:
        return math.nan


_COMMA = re.compile(r"[-+]?\d*,\d+(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)


def without_empty(row: list[str], width: int) -> list[str]:
    """A row without the empty fields at its end that are more than ``width``."""
    while len(row) > width and not row[-1].strip():
        row = row[:-1]
    return row


def read_number_table(
    path: Path,
    *,
    delimiter: str | None = None,
    names: Callable[[Sequence[str]], int] = _one,
    join: Callable[[Sequence[str]], str] = "".join,
) -> NumberTable:
    """Read a table whose first columns name the rows and whose other columns are numbers.

    ``names`` says how many fields at the beginning of a row name it; 0 if it doesn't know them: then one.
    """
    notes = ReadingNotes()
    header: tuple[int, list[str]] | None = None
    columns: list[str] = []
    rows: list[str] = []
    lines: list[int] = []
    values: list[npt.NDArray[np.float64]] = []
    n_names = 1
    for line, row in read_rows(path, Layout(delimiter=delimiter), notes):
        if header is None:
            header = (line, without_empty(row, 1))
            begun = names(row)
            if begun and all(math.isfinite(number_of(cell, notes.delimiter)) for cell in header[1][begun:]):
                raise DataError(
                    place_of(path, line), row[:4], "a header, with the names of the columns",
                    "Add a first line with names.",
                )  # fmt: skip
            continue
        row = without_empty(row, len(header[1]) if not rows else n_names + len(columns))
        if not rows:
            n_names = names(row) or 1
            columns = _columns(path, header, len(row), n_names)
        if len(row) != n_names + len(columns):
            raise DataError(
                place_of(path, line), f"{len(row)} fields", f"{n_names + len(columns)} fields, as before",
                "Complete the row, or say what separates the columns (--delimiter).",
            )  # fmt: skip
        rows.append(join([field.strip() for field in row[:n_names]]))
        lines.append(line)
        values.append(_numbers(path, line, rows[-1], columns, row[n_names:], notes.delimiter))
    if header is None or not rows:
        raise DataError(place_of(path), "no rows", "a table with a header", "Check the path.")
    return NumberTable(
        place_of(path), tuple(rows), tuple(columns), np.array(values), tuple(lines), header[0],
        notes.delimiter,
    )  # fmt: skip


def _columns(path: Path, header: tuple[int, list[str]], width: int, n_names: int) -> list[str]:
    line, fields = header
    missing = width - len(fields)
    if missing not in (0, n_names):
        raise DataError(
            place_of(path, line), f"{len(fields)} fields, and {width} in the next row", "as many in both",
            "Correct the header, or say what separates the columns (--delimiter).",
        )  # fmt: skip
    columns = [field.strip() for field in fields[n_names - missing :]]
    if not columns:
        raise DataError(
            place_of(path, line), "no columns of numbers", "at least one",
            "Check the file, or say what separates the columns (--delimiter).",
        )  # fmt: skip
    return columns


def _numbers(
    path: Path, line: int, row: str, columns: list[str], fields: list[str], delimiter: str
) -> npt.NDArray[np.float64]:
    found = np.array([number_of(field, delimiter) for field in fields])
    if not np.isfinite(found).all():
        bad = int(np.argmin(np.isfinite(found)))
        raise DataError(
            f"{place_of(path, line)}, row {row!r}, column {columns[bad]!r}", fields[bad], "a finite number",
            comma_remedy(fields[bad])
            or "Fill the cell in: a count that is missing is not the same as 0.",
        )  # fmt: skip
    return found


def comma_remedy(cell: str) -> str:
    """What to do about a cell that is no number because of its commas; otherwise nothing."""
    digits = cell.strip().replace(",", "").replace(".", "")
    if "," not in cell or not math.isfinite(number_of(digits)):
        return ""
    return "Write decimals with a point (1.5) and thousands without commas (1000)."
