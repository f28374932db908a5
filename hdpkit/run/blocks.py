"""The trace on disk: blocks that are only appended, and the conversion of rows to their columns."""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.errors import CorruptRunError, RunError, RunVersionError
from hdpkit.files import FORMAT_VERSION, open_own, pack, reading, refusals, refuse_others, sync_folder, unpack
from hdpkit.run.trace import OF_ANY_SHAPE, MoveRecord, Trace, is_standard

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
        if trace.n_draws and block["values"].keys() != columns.keys():
            raise ValueError("columns of other names than in the blocks before")
        for key, column in block["values"].items():
            columns.setdefault(key, []).extend(column)
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


MAGIC = b"hdpTRACE"
_HEAD = struct.Struct("<8sII16s")
_CRC = struct.Struct("<I")
_BLOCK = struct.Struct("<II")
HEADER_BYTES = _HEAD.size + _CRC.size


@attrs.frozen
class Position:
    """A position between blocks: number of bytes before it, and CRC of the last block before it."""

    length: int
    crc: int


def _header(run: bytes, chain: int) -> tuple[bytes, int]:
    head = _HEAD.pack(MAGIC, FORMAT_VERSION, chain, run)
    crc = zlib.crc32(head)
    return head + _CRC.pack(crc), crc


class BlockReader:
    """Reads blocks of a run's id and a chain, and stops before the first that isn't intact.

    An absent file has no blocks.
    """

    def __init__(self, path: Path, run: bytes, chain: int) -> None:
        self.path = path
        header, crc = _header(run, chain)
        if not os.path.lexists(path):
            raise CorruptRunError(
                str(path), "missing", "there", "Restore it, or delete the chain's folder to begin it again."
            )
        with refusals(path, "read a file"), open(open_own(path, os.O_RDONLY), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            found = file.read(HEADER_BYTES)
            if found != header:
                raise _other(path, found)
            self.blocks: list[bytes] = []
            self.ends: list[Position] = [Position(HEADER_BYTES, crc)]
            while self._read_block(file, size):
                pass

    def _read_block(self, file: BinaryIO, size: int) -> bool:
        end = self.ends[-1]
        head = file.read(_BLOCK.size)
        if len(head) < _BLOCK.size:
            return False
        length, crc = _BLOCK.unpack(head)
        if length > size - end.length - _BLOCK.size:  # before memory is allocated
            return False
        payload = file.read(length)
        if len(payload) != length or zlib.crc32(payload, zlib.crc32(head[:4], end.crc)) != crc:
            return False
        self.blocks.append(payload)
        self.ends.append(Position(end.length + _BLOCK.size + length, crc))
        return True


def _other(path: Path, found: bytes) -> RunError:
    """The error about a header that doesn't match."""
    whole = len(found) == HEADER_BYTES and found[: len(MAGIC)] == MAGIC
    if whole and zlib.crc32(found[: _HEAD.size]) == _CRC.unpack_from(found, _HEAD.size)[0]:
        version = _HEAD.unpack_from(found)[1]
        if version != FORMAT_VERSION:
            return RunVersionError(
                str(path), version, f"version {FORMAT_VERSION}", "Use the hdpkit that wrote it."
            )
    return CorruptRunError(
        str(path), found[: len(MAGIC)], "the trace of this run and chain",
        "The file was damaged or is of another run; restore a copy of it.",
    )  # fmt: skip


class BlockWriter:
    """Appends blocks to a file: from a position on, truncating the rest, or (None) to a new file."""

    def __init__(self, path: Path, run: bytes, chain: int, at: Position | None) -> None:
        self.path = path
        header, crc = _header(run, chain)
        with refusals(path, "write a file"):
            if at is None:
                refuse_others(path)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)  # not truncated, since it may have another hard link
                number = open_own(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
                self._file: BinaryIO = open(number, "wb", buffering=0)  # noqa: SIM115 - stays open
                self.position = Position(len(header), crc)
                self._file.write(header)
                sync_folder(path.parent)
            else:
                number = open_own(path, os.O_RDWR, one_name=True)
                self._file = open(number, "r+b", buffering=0)  # noqa: SIM115
                self._file.truncate(at.length)
                self._file.seek(at.length)
                self.position = at

    def append(self, payload: bytes) -> None:
        """Write a block. It is durable after `sync`."""
        length = struct.pack("<I", len(payload))
        crc = zlib.crc32(payload, zlib.crc32(length, self.position.crc))
        data = memoryview(length + _CRC.pack(crc) + payload)
        with refusals(self.path, "write a file"):
            while data:  # an unbuffered file may write only a part
                data = data[self._file.write(data) :]
        self.position = Position(self.position.length + _BLOCK.size + len(payload), crc)

    def sync(self) -> None:
        """Flush everything to disk."""
        with refusals(self.path, "write a file"):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
