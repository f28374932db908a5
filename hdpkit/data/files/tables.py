"""Tables written for other programs: CSV, TSV, Parquet, JSON lines, in chunks of rows."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from hdpkit.errors import DataError, ParameterError, importing_extra, printable
from hdpkit.files import refusals, written_aside

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
    """Write tables, each in blocks of rows, as the sheets of a workbook of Excel (.xlsx).

    Texts are cells of text, so nothing is evaluated; control characters are escaped.
    """
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
