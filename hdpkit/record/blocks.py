"""The append-only file of a trace: blocks of length, checksum and payload.

The file begins with magic (8 bytes), version (uint32), chain (uint32), the run's id (16 bytes) and the CRC32
of these (uint32). A block is the payload's length (uint32), a CRC32 (uint32) and the payload. The CRC covers
length and payload and starts from that of the previous block (of the header for the first), so lost or
swapped blocks are detected; the CRC of the last block identifies everything before it.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

import attrs

from hdpkit.errors import CorruptRunError, RunError, RunVersionError
from hdpkit.formats.writing import sync_folder
from hdpkit.record.files import FORMAT_VERSION, open_own, refusals, refuse_others

__all__ = ["BlockReader", "BlockWriter", "Position"]

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
    """Reads blocks from the beginning and stops before the first that isn't intact.

    Parameters
    ----------
    path : Path
        An absent file has no blocks.
    run : bytes
        The run's id, which the file must contain.
    chain : int
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
    """Appends blocks.

    Parameters
    ----------
    path : Path
    run : bytes
        The run's id, 16 bytes.
    chain : int
    at : Position, optional
        Continue from here, truncating the rest of the file; None begins a new file.
    """

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
