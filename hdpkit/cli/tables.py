"""Tables of observations: columns by name, and cells as numbers, with the place of each mistake."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from hdpkit.errors import DataError, ParameterError
from hdpkit.formats.delimited import delimiter_of, read_rows
from hdpkit.formats.records import Layout, ReadingNotes
from hdpkit.formats.text_files import place_of

__all__ = ["Table", "is_missing", "number_of"]

_MISSING = ("", "na", "nan", "null", "none")


class Table:
    """The rows of a table with a header (CSV or TSV, plain or compressed)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows = read_rows(path, Layout(delimiter=delimiter_of(path)), ReadingNotes())
        self._first, header = next(self._rows, (0, []))
        self.names = [name.strip() for name in header]
        if not self.names:
            raise DataError(place_of(path), "no rows", "a table with a header", "Check the path.")

    def place(self, parameter: str, name: str) -> int:
        """Number of the column of this name."""
        if self.names.count(name) != 1:
            raise ParameterError(
                parameter, name, f"the name of one column of {place_of(self.path)}: {', '.join(self.names)}",
                "Names of columns are in the first line.",
            )  # fmt: skip
        return self.names.index(name)

    def columns(self, parameter: str, chosen: Sequence[str], key: int | None) -> list[int]:
        """Numbers of the chosen columns; none are chosen: all but that of the key."""
        every = [i for i in range(len(self.names)) if i != key]
        return [self.place(parameter, name) for name in chosen] or every

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """The line of each row, and its cells without space around them."""
        for line, row in self._rows:
            if len(row) != len(self.names):
                raise DataError(
                    place_of(self.path, line), f"{len(row)} fields",
                    f"{len(self.names)} fields, as in line {self._first}", "Complete the row.",
                )  # fmt: skip
            yield line, [cell.strip() for cell in row]

    def refused(self, line: int, column: int, cell: str, allowed: str, remedy: str) -> DataError:
        """The error for a cell."""
        return DataError(f"{place_of(self.path, line)}, column {self.names[column]!r}", cell, allowed, remedy)


def is_missing(cell: str) -> bool:
    """Whether a cell is empty, or a word for it."""
    return cell.lower() in _MISSING


def number_of(cell: str) -> float:
    """The number in a cell; NaN if there is none."""
    try:
        return float(cell) if "_" not in cell else math.nan
    except ValueError:
        return math.nan
