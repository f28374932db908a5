"""Tables of numbers with names of rows and columns: CSV, TSV, and the output of R's write.table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.errors import DataError
from hdpkit.formats.delimited import read_rows
from hdpkit.formats.lines import place_of, unpacked_beginning
from hdpkit.formats.records import Layout, ReadingNotes

__all__ = ["NumberTable", "delimiter_of", "read_number_table"]

_BEGINNING = 1 << 20
_SUFFIXES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PACKED = (".gz", ".bz2", ".xz")


@attrs.frozen(eq=False)
class NumberTable:
    """A table of numbers.

    Attributes
    ----------
    place : str
        The file, for errors.
    rows, columns : tuple of str
        Names.
    values : float64 array, shape (n_rows, n_columns)
        Finite.
    lines : tuple of int
        Line in which each row begins, from 1.
    header : int
        Number of the line with the names of the columns.
    """

    place: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: npt.NDArray[np.float64]
    lines: tuple[int, ...]
    header: int

    def cell(self, row: int, column: int) -> str:
        """Name a cell, for errors: the line and the names of its row and column."""
        return (
            f"{self.place}, line {self.lines[row]}, row {self.rows[row]!r}, column {self.columns[column]!r}"
        )


def delimiter_of(path: Path) -> str:
    """Return the delimiter of a table, from its suffix or else from its first line.

    Parameters
    ----------
    path : Path
        Plain, or packed by gzip, bzip2 or xz.
    """
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
    """Read a table whose first columns name the rows and whose other columns are numbers.

    Parameters
    ----------
    path : Path
        Plain, or compressed by gzip, bzip2 or xz. The header may lack the names of the first columns, as in
        the output of R's ``write.table``.
    delimiter : str, optional
        By default the result of `delimiter_of`.
    names : callable
        Takes the first row; returns how many of its first fields name the row.
    join : callable
        Joins these fields into one name.

    Returns
    -------
    NumberTable

    Raises
    ------
    DataError
        If a field isn't a finite number (with line and column), if the number of fields of a row differs from
        the header, or there are no rows.
    """
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
