"""The trace on disk: files of a number of sweeps each, of which the last is written again as it grows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import CorruptRunError, RunError
from hdpkit.files import ChainFiles, reading
from hdpkit.run.trace import OF_ANY_SHAPE, MoveRecord, Trace, is_standard

_KINDS = "biufc"
_SWEEPS = 500
"""Sweeps in a file: a checkpoint writes those of the last one again."""

PREFIX = "trace"
_COUNTS = ("sweep", "tried", "accepted", "seconds")


def file_of_trace(number: int) -> str:
    """Name of the file with the sweeps from 500 * number + 1 to 500 * (number + 1)."""
    return f"{PREFIX}-{number:06d}.npz"


def check_columns(trace: Trace) -> None:
    """Raise a RunError unless everything recorded so far can be kept in a run folder."""
    for key, values in trace.columns().items():
        _column(key, values)


def write_trace(files: ChainFiles, trace: Trace, written: int, sweep: int) -> tuple[int, int]:
    """Write the trace up to a sweep, of which what is up to the sweep ``written`` is there.

    Returns the numbers of draws and of records of moves up to this sweep.
    """
    for number in range(max(written - 1, 0) // _SWEEPS, (sweep - 1) // _SWEEPS + 1):
        first, last = _up_to(trace, number * _SWEEPS), _up_to(trace, min((number + 1) * _SWEEPS, sweep))
        rows, records = slice(first[0], last[0]), trace.records()[first[1] : last[1]]
        if first == last:  # before the first sweep of the chain
            continue
        names = list(dict.fromkeys(record.move for record in records))
        code = {name: place for place, name in enumerate(names)}
        tree = {
            "values": {key: _column(key, values[rows]) for key, values in trace.columns().items()},
            "names": names,
            "move": np.array([code[record.move] for record in records], np.int32),
            **{name: np.array([getattr(record, name) for record in records]) for name in _COUNTS},
        }
        files.write(file_of_trace(number), "trace", tree)
    return _up_to(trace, sweep)


def _up_to(trace: Trace, sweep: int) -> tuple[int, int]:
    """Numbers of draws and of records of moves up to a sweep."""
    of_moves = bisect_right(trace.records(), sweep, key=lambda record: record.sweep)
    return bisect_right(trace.columns().get("sweep", ()), sweep), of_moves


def read_trace(files: ChainFiles, sweep: int, n_draws: int, n_records: int) -> Trace:
    """The trace up to a sweep; a CorruptRunError unless it has these numbers of draws and records."""
    trace = Trace()
    for number in files.numbers(PREFIX):
        if number * _SWEEPS < sweep:
            append_rows(trace, files, number, sweep)
    found = trace.n_draws, len(trace.records())
    if found != (n_draws, n_records):
        raise CorruptRunError(
            str(files.path / f"{PREFIX}-*.npz"), f"{found[0]} draws and {found[1]} records of moves",
            f"{n_draws} and {n_records} up to sweep {sweep}",
            "Restore a copy of them, or delete the chain's folder to begin the chain again.",
        )  # fmt: skip
    return trace


def append_rows(trace: Trace, files: ChainFiles, number: int, last: int) -> None:
    """Append to a trace what a file has up to the sweep ``last``."""
    name = file_of_trace(number)
    tree = files.read(name, "trace")
    with reading(files.path / name):
        names, columns = tree["names"], trace.columns()
        for key, column in tree["values"].items():
            _check_column(key, column, columns.get(key, ()))
        whole = all(isinstance(name, str) for name in names) and int(tree["move"].min(initial=0)) >= 0
        if not whole or len({len(column) for column in tree["values"].values()}) > 1:
            raise ValueError("columns of different lengths, or other names of moves")
        if trace.n_draws and tree["values"].keys() != columns.keys():
            raise ValueError("columns of other names than in the files before")
        rows = bisect_right(tree["values"].get("sweep", ()), last)
        for key, column in tree["values"].items():
            columns.setdefault(key, []).extend(column[:rows])
        trace.records().extend(
            MoveRecord(names[move], *numbers)
            for move, *numbers in zip(*(tree[name].tolist() for name in ("move", *_COUNTS)), strict=True)
            if numbers[0] <= last
        )


def _check_column(key: str, column: Any, before: Sequence[Any]) -> None:
    """Raise an error unless this can be a column of a block; ``before`` has the values of earlier blocks."""
    arrays = column if isinstance(column, list) else [column]
    if not all(isinstance(array, np.ndarray | np.generic) and array.dtype.kind in _KINDS for array in arrays):
        raise TypeError(f"{key}: not numbers")
    if is_standard(key) and len(column):
        row = np.shape(column[0])
        wanted = np.shape(before[0]) if len(before) else row if key.startswith(OF_ANY_SHAPE) else ()
        if not isinstance(column, np.ndarray) or column.dtype.kind not in "iuf" or row != wanted:
            raise TypeError(f"{key}: numbers of another type or shape")


def _column(key: str, values: Sequence[Any]) -> npt.NDArray[Any] | list[npt.NDArray[Any]]:
    """Values of one key, one per row: an array, or a list of arrays if their shapes differ."""
    arrays = [np.asarray(value) if not _ragged(value) else np.empty(0, object) for value in values]
    for array in arrays:
        if array.dtype.kind not in _KINDS or (array.dtype.kind in "fc" and array.dtype.itemsize > 16):
            raise RunError(
                f"record[{key!r}]",
                array if array.dtype.kind not in "O" else values[0],
                "a number or an array of numbers, where a run folder keeps it",
                "Return numbers from the function, or record it without a folder.",
            )
    if len({array.shape for array in arrays}) > 1:
        return arrays
    return np.asarray(values)


def _ragged(value: Any) -> bool:
    try:
        np.asarray(value)
    except ValueError:
        return True
    return False
