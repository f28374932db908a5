"""Rows of a trace as columns: the content of a block of a trace's file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import RunError
from hdpkit.record.encode import pack, unpack
from hdpkit.record.files import reading
from hdpkit.record.scalars import OF_ANY_SHAPE, is_standard
from hdpkit.record.trace import MoveRecord, Trace

__all__ = ["append_block", "check_columns", "pack_rows"]

_KINDS = "biufc"


def check_columns(trace: Trace) -> None:
    """Raise a RunError unless everything recorded so far can be kept in a run folder."""
    for key, values in trace.columns().items():
        _column(key, values)


def pack_rows(trace: Trace, first_row: int, first_record: int) -> bytes:
    """Rows from ``first_row`` on, and statistics of the moves from ``first_record`` on."""
    records = trace.records()[first_record:]
    names = list(dict.fromkeys(record.move for record in records))
    code = {name: number for number, name in enumerate(names)}
    return pack(
        {
            "values": {key: _column(key, values[first_row:]) for key, values in trace.columns().items()},
            "names": names,
            "move": np.array([code[record.move] for record in records], np.int32),
            "sweep": np.array([record.sweep for record in records], np.int64),
            "tried": np.array([record.tried for record in records], np.int64),
            "accepted": np.array([record.accepted for record in records], np.int64),
            "seconds": np.array([record.seconds for record in records], np.float64),
        },
        "trace",
    )


def append_block(trace: Trace, payload: bytes, where: str) -> None:
    """Append to a trace the rows packed by `pack_rows`."""
    block = unpack(payload, where)
    with reading(where):
        names, columns = block["names"], trace.columns()
        for key, column in block["values"].items():
            _check_column(key, column, columns.get(key, ()))
        whole = all(isinstance(name, str) for name in names) and int(block["move"].min(initial=0)) >= 0
        if not whole or len({len(column) for column in block["values"].values()}) > 1:
            raise ValueError("columns of different lengths, or other names of moves")
        before = trace.n_draws
        for key, column in block["values"].items():
            if len(column):
                trace.column(key, column[0], before).extend(column)
            elif before == 0:
                trace.columns().setdefault(key, [])
        trace.records().extend(
            MoveRecord(names[move], *numbers)
            for move, *numbers in zip(
                *(block[name].tolist() for name in ("move", "sweep", "tried", "accepted", "seconds")),
                strict=True,
            )
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
