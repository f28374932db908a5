"""Tables of text, CSV, TSV and similar: read with a document per row, and written so that they are safe."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hdpkit.errors import DataError, printable
from hdpkit.formats.lines import MAX_LINE_BYTES, place_of
from hdpkit.formats.records import Document, Fields, Layout, ReadingNotes, find_columns
from hdpkit.formats.text_lines import text_lines

__all__ = ["escaped", "read_delimited", "read_rows", "table_of_rows", "unescaped"]

_FORMULA = re.compile("[\\s\xad\u200c\u200d]*[-=+@\uff0d\uff1d\uff0b\uff20].*[^\\W_]", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
_ESCAPE = re.compile(r"\\(?:(\\)|x([0-9a-f]{2})|u([0-9a-f]{4})|U(000[0-9a-f]{5}|0010[0-9a-f]{4}))")


def escaped(text: str) -> str:
    r"""Return the cell for a text: safe in a spreadsheet and on a terminal. `unescaped` is the inverse.

    Cells that begin with ``'`` are escaped: after it, a backslash is written as ``\\``, and control
    characters are written as by `printable` (``\x1b``). All other cells are the text itself. A text is
    escaped if it begins with ``'`` or contains control characters, or if a spreadsheet could evaluate it: it
    begins with ``=``, ``+``, ``-`` or ``@`` (also after blanks), isn't a number, and has a letter or a digit.

    Parameters
    ----------
    text : str
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
    r"""Write rows as CSV, or with another delimiter. All CSV and TSV of the package passes here.

    Numbers are unchanged; texts are escaped (`escaped`).

    Parameters
    ----------
    rows : iterable of sequences
    delimiter : str
    raw : bool
        Don't escape: the reader must neither be a spreadsheet nor a terminal.
    """
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerows(rows if raw else ([_cell(value) for value in row] for row in rows))
    return out.getvalue()


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float) else escaped(str(value))


def read_delimited(
    path: Path, layout: Layout, notes: ReadingNotes, delimiter: str = ","
) -> Iterator[Document]:
    """Read a table of text, a row at a time.

    Parameters
    ----------
    path : Path
        Plain, or compressed by gzip, bzip2 or xz.
    layout : Layout
        Its columns, encoding, delimiter, quotes and header are used. Empty fields are missing labels; empty
        rows are left out.
    notes : ReadingNotes
    delimiter : str
        Used if the layout has none.

    Raises
    ------
    DataError
        If a row has more or fewer fields than the header, unmatched quotes, no id, or more than 64 MiB (with
        the line in which it ends); also as for `text_lines` and `find_columns`.
    """
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
        yield _document(path, row, fields, first)
    if fields is None:
        raise DataError(place_of(path), "an empty file", "a table", "Check the path.")


def read_rows(
    path: Path, layout: Layout, notes: ReadingNotes, delimiter: str = ","
) -> Iterator[tuple[int, list[str]]]:
    """Read the rows of a table, the header among them, each with the number of its first line.

    Parameters
    ----------
    path, layout, notes, delimiter
        As in `read_delimited`; columns of the layout aren't used. Empty rows are left out.

    Raises
    ------
    DataError
        With the line, if quotes don't match or a row is longer than 64 MiB; also as for `text_lines`.
    """
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


def _document(path: Path, row: list[str], fields: Fields, number: int) -> Document:
    name = None if fields.name is None else row[fields.name]
    if name == "":
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
