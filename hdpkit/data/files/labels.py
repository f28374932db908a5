"""Labels of documents from a separate table, a check that labels are nested, and dates of documents."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import hashable, items, text
from hdpkit.checks import path as path_of
from hdpkit.data.files.tables import Table, missing
from hdpkit.data.files.text_files import Layout, place_of, reading
from hdpkit.errors import DataError, ParameterError

_SHOWN = 5


def read_labels(
    path: str | os.PathLike[str],
    names: Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    delimiter: str | None = None,
) -> dict[str, list[str]]:
    """Read labels of documents, for ``groups`` of a corpus, from a table with a row per document.

    Returns a dict: label -> one value for each of `names`. Raises a DataError if a document has no row or
    several, a value is missing (with the line), or a column doesn't exist; a ParameterError if an argument
    isn't valid.

    Parameters
    ----------
    path : path
        CSV, TSV, Parquet, JSON lines or xlsx. Rows of documents that aren't in `names` are left out.
    names : sequence of str
        The documents, in the order of the corpus: ``corpus.names``.
    columns : sequence of str, optional
        Columns that become labels, the largest groups first; by default all except that of the names, in
        their order.
    id_column : str, optional
        The column of the names; by default the first.
    delimiter : str, optional
        By default it is detected.
    """
    given = items("names", names, "names of documents", remedy="Pass corpus.names.")
    if not all(map(hashable, given)):
        raise ParameterError("names", names, "names of documents", "Pass corpus.names.")
    wanted = [str(name) for name in given]
    if id_column is not None:
        text("id_column", id_column, remedy="Give the name of a column.")
    asked = None if columns is None else items("columns", columns, "names of columns", remedy="Give a list.")
    place = path_of("path", path)
    with reading(place):
        table = Table(place, Layout(delimiter=delimiter), header=True)
        own, chosen = _columns(table, wanted, asked, id_column)
        rows: dict[str, tuple[int, Sequence[Any]]] = {}
        for number, (name, *values) in table.rows([own, *chosen]):
            if str(name) in rows:
                raise DataError(
                    table.place(number), name,
                    f"one row per document; {table.place(rows[str(name)][0])} is of the same document",
                    "Remove one of the two.",
                )  # fmt: skip
            rows[str(name)] = (number, values)
    _check_rows(table, wanted, rows, chosen)
    return {table.names[at]: [str(rows[name][1][i]) for name in wanted] for i, at in enumerate(chosen)}


def _columns(
    table: Table, names: Sequence[str], columns: Sequence[str] | None, id_column: str | None
) -> tuple[int, list[int]]:
    """Indices of the column of the names, and of those that become labels."""
    header = table.names
    if len(header) < 2:
        raise DataError(
            table.place(table.first), header, "a header of two columns at least: names, and a label",
            "Say what separates the columns (--delimiter).",
        )  # fmt: skip
    if header[0] in names:
        raise DataError(
            table.place(table.first), header, "a header, with the names of the columns",
            "Add a first line with names, such as name,label.",
        )  # fmt: skip
    own = 0 if id_column is None else table.column("id_column", id_column)
    if columns is not None:
        return own, [table.column("columns", name) for name in columns]
    return own, [at for at, name in enumerate(header) if at != own and name != ""]


def _check_rows(
    table: Table, names: Sequence[str], rows: Mapping[str, tuple[int, Sequence[Any]]], chosen: Sequence[int]
) -> None:
    absent = [name for name in names if name not in rows]
    if absent:
        shown = ", ".join(map(repr, absent[:_SHOWN]))
        more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
        told = f"the table has {next(iter(rows))!r}" if rows else "the table has no row"
        raise DataError(
            place_of(table.path), f"no row for {shown}{more}",
            f"a row for each of {len(names)} documents ({told})",
            "Add them, or name the documents as the corpus does.",
        )  # fmt: skip
    for name in names:
        number, values = rows[name]
        for at, value in zip(chosen, values, strict=True):
            if missing(value):
                remedy = "Fill it in, for instance with 'unknown'."
                raise table.refused(number, at, value, f"a value for {name!r}", remedy)


def check_nested(groups: Mapping[str, Sequence[Any]]) -> None:
    """Raise a DataError unless each value of a label lies within one value of the label before it.

    The message names a value that lies within several, and what to do.

    Parameters
    ----------
    groups : mapping
        Label -> one value per document, the largest groups first.
    """
    if not isinstance(groups, Mapping):
        raise DataError("groups", groups, "a dict of labels", 'Write it as {"author": authors}.')
    labels = list(groups)
    for outer, inner in pairwise(labels):
        within: dict[Any, Any] = {}
        for above, below in zip(groups[outer], groups[inner], strict=True):
            if within.setdefault(below, above) != above:
                raise DataError(
                    f"label {inner!r}", below,
                    f"within one {outer!r}; it is in {within[below]!r} and in {above!r}",
                    _way_out(groups, outer, inner),
                )  # fmt: skip


def _way_out(groups: Mapping[str, Sequence[Any]], outer: str, inner: str) -> str:
    within: dict[Any, set[Any]] = {}
    for above, below in zip(groups[outer], groups[inner], strict=True):
        within.setdefault(above, set()).add(below)
    if all(len(found) == 1 for found in within.values()):
        return f"Each {outer!r} has one {inner!r}: name {inner!r} first."
    return (
        f"Levels form a tree. Keep one of the two as a level, or include in the values of {inner!r} their "
        f"{outer!r} (lung/batch 1, skin/batch 1)."
    )


_PATTERNS = (
    (re.compile(r"(\d{4})(?:\.0)?"), (1,)),
    (re.compile(r"(\d{4})[-/.](\d{1,2})"), (1, 2)),
    (re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})"), (1, 2, 3)),
    (re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})"), (3, 2, 1)),
)
_ISO = re.compile(r"(\d{4})(-\d{2})?(-\d{2})?")
_MOST = 40  # periods that are chosen without being asked for
PERIODS = ("day", "month", "quarter", "year", "5 years", "decade", "century")
"""Lengths of periods, ascending."""


def iso_date(value: Any) -> str:
    """A date as YYYY, YYYY-MM or YYYY-MM-DD, as exact as given; a ValueError if it is none, or ambiguous."""
    if isinstance(value, datetime.date):
        return value.isoformat()[:10]
    text = str(value).strip()
    for pattern, order in _PATTERNS:
        if found := pattern.fullmatch(text):
            parts = [int(found[group]) for group in order]
            date = datetime.date(*[*parts, 1, 1][:3]).isoformat()  # also a ValueError for month 13
            return date[: (4, 7, 10)[len(parts) - 1]]
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except (TypeError, ValueError, IndexError, OverflowError):
            raise ValueError(f"{text!r} is no date") from None
    return moment.date().isoformat()


def date_keys(keys: Iterable[Any]) -> bool:
    """Whether all values of a label are ISO dates or years, from 1400 to 2100, of which two differ."""
    seen = [str(key) for key in keys]
    found = [_ISO.fullmatch(key) for key in seen]
    if len(set(seen)) < 2 or not all(found):
        return False
    if not all(1400 <= int(one[1]) <= 2100 for one in found if one):
        return False
    try:
        days_of(seen)
    except ValueError:
        return False
    return True


def days_of(dates: Sequence[Any]) -> npt.NDArray[np.datetime64]:
    """The first day of each ISO date, NaT for None: datetime64[D]; a ValueError if one is no date."""
    return np.array(["NaT" if date is None else str(date) for date in dates], dtype="datetime64[D]")


def periods_of(dates: Sequence[Any], by: str | None = None) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Names of all periods from the first to the last date, and the number of each date's, -1 for none."""
    days = days_of(dates)
    there = ~np.isnat(days)
    if not there.any():
        return [], np.full(len(days), -1, dtype=np.int64)
    if by is None:
        exact = min(len(str(date)) for date in dates if date is not None)
        begin = {10: 0, 7: 1}.get(exact, 3)
        by = next((by for by in PERIODS[begin:] if _legible(_numbers(days[there], by))), PERIODS[-1])
    numbers = _numbers(days[there], by)
    first, last = int(numbers.min()), int(numbers.max())
    which = np.full(len(days), -1, dtype=np.int64)
    which[there] = numbers - first
    return [_name(number, by) for number in range(first, last + 1)], which


def _legible(numbers: npt.NDArray[np.int64]) -> bool:
    """Whether these periods are few, and most of them have a date."""
    span = int(np.ptp(numbers)) + 1
    return span <= _MOST and 2 * len(np.unique(numbers)) >= span


_YEARS = {"year": 1, "5 years": 5, "decade": 10, "century": 100}


def _numbers(days: npt.NDArray[np.datetime64], by: str) -> npt.NDArray[np.int64]:
    """The number of the period of each day, ascending with time."""
    if by == "day":
        return days.astype(np.int64)
    months = days.astype("datetime64[M]").astype(np.int64)
    if by in ("month", "quarter"):
        return months // (1 if by == "month" else 3)
    return np.asarray((months // 12 + 1970) // _YEARS[by])


def _name(number: int, by: str) -> str:
    if by == "day":
        return str(np.datetime64(number, "D"))
    if by == "month":
        return str(np.datetime64(number, "M"))
    if by == "quarter":
        return f"{1970 + number // 4} Q{number % 4 + 1}"
    width = _YEARS[by]
    return str(number) if width == 1 else f"{number * width}–{number * width + width - 1}"
