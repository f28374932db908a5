"""Tables of observations: columns by name, and cells as numbers, with the place of each mistake."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from hdpkit.cli.corpus import given_layout, say_table, table_options
from hdpkit.cli.options import group
from hdpkit.data.files.delimited import comma_remedy, number_of, read_rows, without_empty
from hdpkit.data.files.records import Layout, ReadingNotes
from hdpkit.data.files.text_files import place_of
from hdpkit.errors import DataError, ParameterError

_MISSING = ("", "na", "nan", "null", "none")
_UNNAMED = re.compile(r"(Unnamed: [0-9]+)?")  # of the index, as pandas writes and reads it
options_of_table = group("Layout of the table", *table_options)


class Table:
    """The rows of a table (CSV, TSV or similar, plain or compressed), read as `options_of_table` say."""

    def __init__(self, path: Path, options: Mapping[str, Any] | None = None) -> None:
        self.path, self._options = path, options
        given = dict(options or {})
        self.notes = ReadingNotes()
        rows = read_rows(path, given_layout(given) or Layout(), self.notes)
        begun = list(islice(rows, 2))
        if not begun or not begun[0][1]:
            raise DataError(place_of(path), "no rows", "a table with a header", "Check the path.")
        self._first, header = begun[0]
        names = [name.strip() for name in header]
        if given.get("header") is False:
            names = [str(number) for number in range(1, len(names) + 1)]
        else:
            if given.get("header") is None:
                self._check_header(names)
            del begun[0]
            # R's write.table gives no name to the column of the names of rows. Numbers there may as well be
            # the whole parts of numbers with decimal commas.
            first = without_empty(begun[0][1], len(names)) if begun else []
            if len(first) == len(names) + 1 and math.isnan(self.number(first[0])):
                names.insert(0, "")
        self.names = names
        self._rows = chain(begun, rows)

    def _check_header(self, names: Sequence[str]) -> None:
        """Refuse a row with numbers, unless they count columns from 0 or 1, as pandas does."""
        numbers = [number for number in map(self.number, names) if math.isfinite(number)]
        counted = [[first + i for i in range(len(numbers))] for first in (0, 1)]
        if numbers and numbers not in counted:
            raise DataError(
                place_of(self.path, self._first), list(names), "a header, with the names of the columns",
                "Give --no-header if it is a row of data, and --header if these are names.",
            )  # fmt: skip

    def number(self, cell: str) -> float:
        """The number in a cell; NaN if there is none."""
        return number_of(cell, self.notes.delimiter)

    def place(self, parameter: str, name: str) -> int:
        """Number of the column of this name."""
        if self.names.count(name) != 1:
            raise ParameterError(
                parameter, name, f"the name of one column of {place_of(self.path)}: {', '.join(self.names)}",
                "Names of columns are in the first line; if something else separates them, give --delimiter.",
            )  # fmt: skip
        return self.names.index(name)

    def columns(self, parameter: str, chosen: Sequence[str], key: int | None) -> list[int]:
        """Numbers of the chosen columns; none are chosen: all but that of the key."""
        every = [i for i, name in enumerate(self.names) if i != key and not _UNNAMED.fullmatch(name)]
        found = [self.place(parameter, name) for name in chosen] or every
        if not found:
            raise DataError(
                place_of(self.path, self._first), self.names, "a column with a name, beside that of the key",
                "Name the columns in the first line, or give --no-header.",
            )  # fmt: skip
        return found

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """The line of each row, and its cells without space around them."""
        for line, row in self._rows:
            row = without_empty(row, len(self.names))
            if len(row) != len(self.names):
                raise DataError(
                    place_of(self.path, line), f"{len(row)} fields",
                    f"{len(self.names)} fields, as in line {self._first}",
                    "Complete the row or the first one, or give --delimiter.",
                )  # fmt: skip
            yield line, [cell.strip() for cell in row]

    def refused(self, line: int, column: int, cell: str, allowed: str, remedy: str) -> DataError:
        """The error for a cell."""
        return DataError(
            f"{place_of(self.path, line)}, column {self.names[column]!r}",
            cell,
            allowed,
            comma_remedy(cell) or remedy,
        )

    @property
    def where(self) -> str:
        """The table, in errors."""
        return place_of(self.path)

    def at(self, line: int) -> str:
        """A line, in errors."""
        return place_of(self.path, line)

    def missing(self, cell: str) -> bool:
        """Whether a cell is empty, or a word for it."""
        return cell.lower() in _MISSING

    def tell(self, chosen: Sequence[int]) -> None:
        """Print which columns are read, unless the options say quiet or there are none."""
        if self._options and not self._options["quiet"]:
            say_table([self.names[i] for i in chosen], self.notes.delimiter, len(self.names))
