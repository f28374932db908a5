"""Dates of documents: read in the usual notations, kept as ISO 8601 texts, and counted by period."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

import numpy as np
import numpy.typing as npt

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
    """A date as YYYY, YYYY-MM or YYYY-MM-DD, as exact as it was given; a ValueError if it is none.

    Accepts years, ISO 8601 with or without a time, 2024/5/31, 31.5.2024, and dates of e-mails. 5/6/2024,
    which is read differently in different countries, is refused.
    """
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
    """Names of all periods from the first to the last date, and the number of each date's, -1 for none.

    Without ``by`` the shortest periods are chosen of which there are at most 40, at least half of them with a
    date, and that no date is too inexact for.
    """
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
