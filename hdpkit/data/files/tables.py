"""Tables in files: CSV and similar, JSON lines, Parquet, arrays of NumPy, workbooks; by rows."""

from __future__ import annotations

import csv
import enum
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from hdpkit.checks import is_missing
from hdpkit.data.files.text_files import (
    MAX_LINE_BYTES,
    Layout,
    ReadingNotes,
    check_expansion,
    find_column,
    is_index,
    open_regular,
    place_of,
    text_lines,
)
from hdpkit.errors import DataError, ParameterError, importing_extra, printable
from hdpkit.files import refusals, written_aside

TABLES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl",
    ".ndjson": "jsonl", ".json": "jsonl", ".npy": "npy", ".xlsx": "xlsx",
}  # fmt: skip
"""Suffix -> format of a table; files with other suffixes are CSV or similar."""

_PACKED = (".gz", ".bz2", ".xz")
_ROWS_IN = 1024  # at once, from formats with columns
_MISSING = ("", "na", "nan", "null", "none", "#n/a")
_COMMA = re.compile(r"[-+]?\d*,\d+(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
_Rows = Callable[[Sequence[int]], Iterator[tuple[int, Sequence[Any]]]]


class Absent(enum.Enum):
    """What an object of JSON lines without a key has in place of a cell."""

    KEY = "no such key"


def suffix_of(path: Path) -> str:
    """The suffix of a file's name in lower case, without that of a compression."""
    name = path.name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return os.path.splitext(name)[1]


def missing(cell: Any) -> bool:
    """Whether a cell has no value: it is empty, or a word for it."""
    if isinstance(cell, str):
        return cell.strip().lower() in _MISSING
    return cell is Absent.KEY or is_missing(cell)


def number_of(cell: Any, delimiter: str = ",") -> float:
    """The number in a cell; NaN if there is none. Unless commas separate cells, decimals may have one."""
    if isinstance(cell, bool):
        return math.nan
    if isinstance(cell, str):
        if "_" in cell:  # since Python accepts 1_000
            return math.nan
        if delimiter != "," and _COMMA.fullmatch(cell.strip()):
            cell = cell.replace(",", ".")
    try:
        return float(cell)
    except (ValueError, TypeError, OverflowError):
        return math.nan


class Table:
    """A table in a file; its first row has names if ``header``; if it is None, numbers there are an error."""

    def __init__(
        self,
        path: Path,
        layout: Layout | None = None,
        notes: ReadingNotes | None = None,
        *,
        header: bool | None = None,
        format: str | None = None,
    ) -> None:
        self.path = path
        self.layout = layout or Layout()
        self.notes = ReadingNotes() if notes is None else notes
        self.format = format or TABLES.get(suffix_of(path), "text")
        self.delimiter = ""  # of text
        self.first = 1  # number of the row with the names
        self.chosen: list[int] = []  # indices of the columns that `columns` chose
        self._decimal = ""  # the first character of the table for it
        own = {"parquet": self._parquet, "npy": self._npy, "jsonl": self._json}.get(self.format)
        self.names, self._rows = self._with_header(header) if own is None else own()

    def place(self, number: int) -> str:
        """Name a row, for errors."""
        return (
            place_of(self.path)
            + f", {'row' if self.format in ('parquet', 'npy', 'xlsx') else 'line'} {number}"
        )

    def column(self, parameter: str, wanted: str) -> int:
        """Index of the column that has this name, or else this number, from 1."""
        return find_column(self.names, place_of(self.path), parameter, wanted)

    def columns(self, parameter: str, chosen: Sequence[str], key: int | None) -> list[int]:
        """Indices of the chosen columns; if none are, of all with a name except ``key``."""
        found = [self.column(parameter, name) for name in chosen] or [
            i for i, name in enumerate(self.names) if i != key and not is_index(name)
        ]
        if not found:
            raise DataError(
                self.place(self.first), self.names, "a column with a name, beside that of the key",
                "Name the columns in the first line, or give --no-header.",
            )  # fmt: skip
        self.chosen = found
        return found

    def rows(self, wanted: Sequence[int]) -> Iterator[tuple[int, Sequence[Any]]]:
        """The number of each row, and its cells in the columns with these indices."""
        return self._rows(wanted)

    def number(self, cell: Any) -> float:
        """The number in a cell; NaN if there is none, or if its decimals aren't written as those before."""
        value = number_of(cell, self.delimiter)
        if isinstance(cell, str) and math.isfinite(value):
            mark = next((one for one in ",." if one in cell), self._decimal)
            if self._decimal not in ("", mark):
                return math.nan
            self._decimal = mark
        return value

    def refused(self, number: int, column: int | str, cell: Any, allowed: str, remedy: str) -> DataError:
        """The error for a cell of a row; ``column`` is an index, or words for one."""
        digits = re.sub("[.,]", "", str(cell))
        if math.isnan(self.number(cell)) and digits != str(cell) and math.isfinite(number_of(digits)):
            remedy = (
                "Write decimals with a point (1.5), or all with a comma where commas don't separate columns; "
                "and thousands without either (1000)."
            )
        named = f"column {self.names[column]!r}" if isinstance(column, int) else column
        return DataError(f"{self.place(number)}, {named}", cell, allowed, remedy)

    # ---------------------------------------------------------------- text and workbooks: a row with names

    def _with_header(self, header: bool | None) -> tuple[list[str], _Rows]:
        rows = self._workbook() if self.format == "xlsx" else self._text()
        begun = list(islice(rows, 3))
        if not begun:
            raise DataError(place_of(self.path), "an empty file, no rows", "a table", "Check the path.")
        self.first, cells = begun[0]
        names = ["" if cell is None else str(cell).strip() for cell in cells]
        if header is False:
            names = [str(number) for number in range(1, len(names) + 1)]
        else:
            if header is None:
                self._check_names(names)
            del begun[0]
            # R's write.table gives no names to columns of names. Between commas, numbers there may as well be
            # the whole parts of numbers with decimal commas.
            more = {len(_shortened(row, len(names))) - len(names) for _, row in begun}
            n = more.pop() if len(more) == 1 else 0
            if 0 < n <= _NAMES and (
                self.delimiter != "," or all(math.isnan(number_of(cell)) for cell in begun[0][1][:n])
            ):
                names = [""] * n + names

        def read(wanted: Sequence[int]) -> Iterator[tuple[int, Sequence[Any]]]:
            for number, row in chain(begun, rows):
                row = _shortened(row, len(names))
                if len(row) != len(names):
                    raise DataError(
                        self.place(number), f"{len(row)} fields",
                        f"a row of {len(names)} fields, as in line {self.first}",
                        "Put fields that hold the delimiter into double quotes, complete the row or the "
                        "first one, or give --delimiter or --no-quotes.",
                    )  # fmt: skip
                yield number, [row[i] for i in wanted]

        return names, read

    def _check_names(self, names: Sequence[str]) -> None:
        """Refuse a row with numbers, unless they count columns from 0 or 1, as pandas does."""
        numbers = [number_of(name, self.delimiter) for name in names]
        numbers = [number for number in numbers if math.isfinite(number)]
        if numbers and numbers not in [[first + i for i in range(len(numbers))] for first in (0, 1)]:
            raise DataError(
                self.place(self.first), list(names), "a header, with the names of the columns",
                "Give --no-header if it is a row of data, and --header if these are names.",
            )  # fmt: skip

    def _text(self) -> Iterator[tuple[int, list[Any]]]:
        # The csv module has one limit for the entire process. It is raised and never lowered, since another
        # thread may be reading.
        if csv.field_size_limit() < MAX_LINE_BYTES:
            csv.field_size_limit(MAX_LINE_BYTES)
        quoting: Any = csv.QUOTE_MINIMAL if self.layout.quotes else csv.QUOTE_NONE
        source = text_lines(self.path, self.layout.encoding, self.notes)
        begun: list[tuple[int, str]] = []
        for one in source:
            begun.append(one)
            if len(begun) == _BEGINNING[0] or sum(len(line) for _, line in begun) > _BEGINNING[1]:
                break
        told = _TOLD.fullmatch(begun[0][1].rstrip("\r\n")) if begun else None
        if told:
            del begun[0]
        self.delimiter = self.layout.delimiter or (
            told[1] if told else _detected([line for _, line in begun], quoting, _USUAL.get(self.format))
        )
        number = int(told is not None)  # of the last line
        taken = 0  # characters of the row

        def lines() -> Iterator[str]:
            nonlocal number, taken
            for number, line in chain(begun, source):
                taken += len(line)
                if taken > MAX_LINE_BYTES:
                    raise DataError(
                        self.place(number), f"a row of more than {MAX_LINE_BYTES} characters",
                        f"at most {MAX_LINE_BYTES} long",
                        "Check for a missing closing quote, or give --no-quotes.",
                    )  # fmt: skip
                yield line

        rows = csv.reader(lines(), delimiter=self.delimiter, quoting=quoting, strict=True)
        while True:
            first, taken = number + 1, 0
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                begins = f" (in a row that begins in line {first})" if number > first else ""
                raise DataError(
                    f"{self.place(number)}{begins}", str(error), "a row of a table",
                    "Correct the row. A quote inside a quoted field is doubled; give --no-quotes if quotes "
                    "have no meaning here.",
                ) from error  # fmt: skip
            if row:
                yield first, row

    def _workbook(self) -> Iterator[tuple[int, list[Any]]]:
        """The rows of the first sheet."""
        with importing_extra("openpyxl", "pandas", ", to read workbooks of Excel", " Or write CSV."):
            import openpyxl
        width = 0
        with open_regular(self.path) as raw:
            try:
                parts = zipfile.ZipFile(raw).infolist()
                packed = sum(part.compress_size for part in parts)
                check_expansion(place_of(self.path), sum(part.file_size for part in parts), packed)
                book = openpyxl.load_workbook(raw, read_only=True, data_only=True)
                sheet = book.worksheets[0]
                sheet.reset_dimensions()
                for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
                    if number > _SHEET_ROWS:
                        raise ValueError(f"more than {_SHEET_ROWS} rows")
                    row = _shortened(list(cells), 0)
                    if row:
                        width = width or len(row)
                        yield number, [*row, *[None] * (width - len(row))]
            except DataError:
                raise
            except Exception as error:  # openpyxl raises errors of many types for damaged files
                raise self._damaged("workbook of Excel", error) from error

    def _damaged(self, what: str, error: Exception, row: int = 0) -> DataError:
        return DataError(
            place_of(self.path) + (f", after row {row}" if row else ""), f"{type(error).__name__}: {error}",
            f"a whole {what}", "Download or write the file again.",
        )  # fmt: skip

    # ---------------------------------------------------------------- formats that name their columns

    def _json(self) -> tuple[list[str], _Rows]:
        lines = text_lines(self.path, self.layout.encoding, self.notes)
        objects = ((number, self._object(number, line)) for number, line in lines if line.strip())
        begun = list(islice(objects, 1))
        if not begun:
            raise DataError(
                place_of(self.path), "an empty file, no rows", "one object per line", "Check the path."
            )
        # The key of a label may be missing in any object, even the first.
        added = [name for name in self.layout.label_columns if not name.isdigit()]
        names = list(dict.fromkeys([*begun[0][1], *added]))

        def read(wanted: Sequence[int]) -> Iterator[tuple[int, Sequence[Any]]]:
            for number, row in chain(begun, objects):
                yield number, [row.get(names[i], Absent.KEY) for i in wanted]

        return names, read

    def _object(self, number: int, line: str) -> dict[str, Any]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            whole = (
                " The file is an array: write one object per line." if line.lstrip().startswith("[") else ""
            )
            raise DataError(
                self.place(number), f"{type(error).__name__}: {error}", "a JSON object", f"Correct it.{whole}"
            ) from error
        if not isinstance(row, dict):
            remedy = "Write one object per line."
            raise DataError(self.place(number), row, 'a JSON object, such as {"text": "..."}', remedy)
        return row

    def _parquet(self) -> tuple[list[str], _Rows]:
        with importing_extra("pyarrow", "parquet", ", to read Parquet files"):
            import pyarrow
            import pyarrow.parquet
        errors = (pyarrow.ArrowException, OSError, ValueError, LookupError, OverflowError)
        with open_regular(self.path) as raw:
            try:
                names = list(pyarrow.parquet.ParquetFile(raw).schema_arrow.names)
            except errors as error:
                raise self._damaged("Parquet file", error) from error

        def read(wanted: Sequence[int]) -> Iterator[tuple[int, Sequence[Any]]]:
            row = 0
            needed = [names[i] for i in wanted]
            with open_regular(self.path) as raw:
                try:
                    file = pyarrow.parquet.ParquetFile(raw)
                    for batch in file.iter_batches(batch_size=_ROWS_IN, columns=list(dict.fromkeys(needed))):
                        for cells in zip(*(batch.column(name).to_pylist() for name in needed), strict=True):
                            row += 1
                            yield row, cells
                except errors as error:
                    raise self._damaged("Parquet file", error, row) from error

        return names, read

    def _npy(self) -> tuple[list[str], _Rows]:
        with open_regular(self.path):
            pass
        try:
            with np.errstate(over="ignore"):
                array = np.load(self.path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # NumPy raises errors of many types for a damaged header
            raise self._damaged(".npy file with numbers", error) from error
        if not isinstance(array, np.ndarray):  # a file of several arrays
            raise DataError(place_of(self.path), array, "one array", "Write it with numpy.save.")
        named = array.dtype.names
        if array.ndim not in ((1,) if named else (1, 2)) or not (named or array.dtype.kind in "iufU"):
            raise DataError(
                place_of(self.path), f"{array.dtype}, {array.shape}",
                "an array of numbers with one or two dimensions", "Write such an array with numpy.save.",
            )  # fmt: skip
        cells = array if named else array.reshape(len(array), array.size // max(1, len(array)))
        names = list(named or (str(number) for number in range(1, cells.shape[1] + 1)))

        def read(wanted: Sequence[int]) -> Iterator[tuple[int, Sequence[Any]]]:
            for start in range(0, len(cells), _ROWS_IN):
                for number, row in enumerate(cells[start : start + _ROWS_IN].tolist(), start + 1):
                    yield number, [row[i] for i in wanted]

        return names, read


def _shortened(row: list[Any], width: int) -> list[Any]:
    """A row without the empty cells at its end that are more than ``width``."""
    while len(row) > width and (row[-1] is None or not str(row[-1]).strip()):
        row = row[:-1]
    return row


_NAMES = 3  # the most columns of names that the header may leave out
_BEGINNING = (200, 1 << 20)  # lines, and characters, from which the delimiter is detected
_DELIMITERS = ("\t", ",", ";", "|")
_USUAL = {"csv": ",", "tsv": "\t"}
_TOLD = re.compile('"?sep=(.)"?\\1*', re.IGNORECASE)  # a first line by which Excel is told the delimiter


def _detected(lines: Sequence[str], quoting: Any, usual: str | None) -> str:
    """The delimiter by which most rows have as many fields as the first; of several, with most fields."""
    letters = [*([usual] if usual else []), *_DELIMITERS]
    share, _, _, best = max((*_fit(lines, one, quoting), -place, one) for place, one in enumerate(letters))
    if share >= 0.5:
        return best
    first = lines[0] if lines else ""
    return usual or next((letter for letter in ("\t", ",", ";") if letter in first), " ")


def _fit(lines: Sequence[str], delimiter: str, quoting: Any) -> tuple[float, int]:
    """The share of rows with as many fields as the first by a delimiter, and how many these are."""
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
    return rest.count(most) / len(rest) if first <= most <= first + _NAMES else 0.0, first


_FORMULA = re.compile("[\\s\xad\u200c\u200d]*[-=+@\uff0d\uff1d\uff0b\uff20].*[^\\W_]", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
_ESCAPE = re.compile(r"\\(?:(\\)|x([0-9a-f]{2})|u([0-9a-f]{4})|U(000[0-9a-f]{5}|0010[0-9a-f]{4}))")


def escaped(text: str) -> str:
    """Return the cell for a text: safe in a spreadsheet and on a terminal. `unescaped` is the inverse."""
    # A text is escaped if it begins with ``'`` or contains control characters, or if a spreadsheet could
    # evaluate it.
    formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    if not formula and not text.startswith("'") and printable(text) == text:
        return text
    return "'" + printable(text.replace("\\", "\\\\"))


def unescaped(text: str) -> str:
    """Return the text that `escaped` made into this cell."""
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


TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl")
"""File suffixes of the table formats."""

Columns = Mapping[str, Any]
"""Name -> values: a sequence or an array with one value per row; all of the same length."""

_ROWS = 4096
"""Number of rows written at once."""


def rows_of(columns: Columns) -> list[dict[str, Any]]:
    """The rows of a table, each a dict of column name -> value."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def table_suffix(path: Path, parameter: str = "out") -> str:
    """Return the suffix that gives a file's format, or raise a ParameterError."""
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise ParameterError(
            parameter, str(path), f"a file that ends in one of {', '.join(TABLE_SUFFIXES)}",
            "The end of its name determines the format.",
        )  # fmt: skip
    return suffix


def write_table(path: Path, columns: Columns, *, raw: bool = False) -> None:
    """Write a table to a file in the format of its suffix, completely or not at all."""
    write_blocks(path, [columns], raw=raw)


def write_blocks(path: Path, blocks: Iterable[Columns], *, raw: bool = False) -> None:
    """Write a table that comes in blocks of rows, with the same columns each, as `write_table` does."""
    suffix = table_suffix(path)
    with refusals(path, "write a file"), written_aside(path) as file:
        if suffix == ".parquet":
            _write_parquet(file, blocks)
            return
        for number, columns in enumerate(blocks):
            for text in _texts(columns, suffix, raw, head=number == 0):
                file.write(text.encode("utf-8", "backslashreplace"))


_SHEET_ROWS, _SHEET_COLUMNS, _CELL_LETTERS = 1_048_576, 16_384, 32_767
"""Size of a sheet of Excel, and the most characters of a cell."""


def write_workbook(path: Path, sheets: Mapping[str, Iterable[Columns]]) -> None:
    """Write tables, each in blocks of rows, as sheets of a workbook of Excel; nothing is evaluated."""
    with importing_extra("openpyxl", "pandas", ", to write workbooks of Excel", " Or write CSV."):
        import openpyxl
        from openpyxl.cell import WriteOnlyCell
    if path.suffix.lower() != ".xlsx":
        raise ParameterError("out", str(path), "a file that ends in .xlsx", "Choose such a name.")

    def cell(sheet: Any, value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if not isinstance(value, str):
            return value
        written = printable(value)
        if len(written) > _CELL_LETTERS:  # openpyxl would cut it
            raise DataError(
                f"sheet {sheet.title}", f"a text of {len(written):,} characters",
                f"at most {_CELL_LETTERS:,} characters in a cell", "Write CSV.",
            )  # fmt: skip
        made = WriteOnlyCell(sheet, value=written)
        made.data_type = "s"  # otherwise "=1+1" is a formula
        return made

    book = openpyxl.Workbook(write_only=True)
    for title, blocks in sheets.items():
        with closing(book.create_sheet(title)) as sheet:  # an open one complains when it is forgotten
            for row in _sheet_rows(title, blocks):
                sheet.append([cell(sheet, value) for value in row])
    with refusals(path, "write a file"), written_aside(path) as file:
        book.save(file)


def _sheet_rows(title: str, blocks: Iterable[Columns]) -> Iterator[Sequence[Any]]:
    """The rows of a sheet; the names of the columns are the first."""
    n = 0
    for number, columns in enumerate(blocks):
        head = [list(columns)] if number == 0 else []
        for row in chain(head, (row for piece in _pieces(columns) for row in zip(*piece, strict=True))):
            n += 1
            if n > _SHEET_ROWS or len(row) > _SHEET_COLUMNS:
                raise DataError(
                    f"sheet {title}", f"{n:,} rows of {len(row):,} columns or more",
                    f"at most {_SHEET_ROWS:,} rows and {_SHEET_COLUMNS:,} columns", "Write CSV.",
                )  # fmt: skip
            yield row


def table_text(columns: Columns) -> Iterator[str]:
    """Yield a table as CSV, in chunks of rows."""
    return _texts(columns, ".csv", raw=False)


def _pieces(columns: Columns) -> Iterator[list[Sequence[Any]]]:
    n_rows = min((len(column) for column in columns.values()), default=0)
    for first in range(0, n_rows, _ROWS):
        yield [_plain(column[first : first + _ROWS]) for column in columns.values()]


def _plain(values: Any) -> Sequence[Any]:
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "f":
            return [float(f"{value:.9g}") for value in values.tolist()]
        return values.tolist()
    return list(values)


def _texts(columns: Columns, suffix: str, raw: bool, head: bool = True) -> Iterator[str]:
    names = list(columns)
    delimiter = "\t" if suffix == ".tsv" else ","
    if head and suffix != ".jsonl":
        yield table_of_rows([names], delimiter, raw=raw)
    for piece in _pieces(columns):
        rows = zip(*piece, strict=True)
        if suffix == ".jsonl":
            yield "".join(_json_line(dict(zip(names, row, strict=True))) for row in rows)
        else:
            yield table_of_rows(rows, delimiter, raw=raw)


def _json_line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False, default=str) + "\n"


def _write_parquet(file: IO[bytes], blocks: Iterable[Columns]) -> None:
    with importing_extra("pyarrow", "parquet", ", to write Parquet files", " Or write CSV."):
        import pyarrow
        import pyarrow.parquet
    writer, schema = None, None
    try:
        for columns in blocks:
            arrays = {
                name: _arrow(pyarrow, name, values, None if schema is None else schema.field(name).type)
                for name, values in columns.items()
            }
            table = pyarrow.table(arrays)
            if writer is None:
                schema = table.schema
                writer = pyarrow.parquet.ParquetWriter(file, schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _arrow(pyarrow: Any, name: str, values: Any, kind: Any) -> Any:
    """A column as an array of Arrow, of this type if the table has begun."""
    given = values if isinstance(values, np.ndarray) else list(values)
    try:
        name.encode()
        return pyarrow.array(given, type=kind)
    except UnicodeEncodeError as error:
        surrogate = error.object[error.start]
        word = next(word for word in error.object.split(" ") if surrogate in word)
        raise DataError(
            f"column {name!r}", word, "text without lone surrogates, which UTF-8 can't hold",
            "Write CSV or JSON lines, which escape them, or correct the text.",
        ) from error  # fmt: skip
    except (pyarrow.ArrowException, OverflowError) as error:
        raise DataError(
            f"column {name!r}", str(error), "values of one type", "Write CSV or JSON lines."
        ) from error
