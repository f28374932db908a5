"""Files that are whole or not there: sealed by a checksum, written aside, synced, renamed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hdpkit.errors import CorruptRunError, RunVersionError, StorageError

__all__ = [
    "FORMAT_VERSION",
    "read_bytes",
    "read_sealed",
    "refusals",
    "seal",
    "sync_folder",
    "write_whole",
    "written_aside",
]

FORMAT_VERSION = 1
"""Of every file of a run folder; they change together."""

_HEAD = struct.Struct("<8sIIQ")  # magic, version, zero, length of the payload
_DIGEST = 32


@contextmanager
def refusals(path: os.PathLike[str] | str, doing: str) -> Iterator[None]:
    """Turn the file system's refusals into a StorageError that names the file."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            "folder",
            str(path),
            f"a place where this can be done: {doing} ({error.strerror or error})",
            "Free some space, or choose another folder; a run that was under way goes on from its last "
            "checkpoint with hk.open_run(folder).resume().",
        ) from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that at any moment either the old one or the new one is there, whole."""
    with refusals(path, "write a file"), written_aside(path) as file:
        file.write(data)


@contextmanager
def written_aside(path: Path) -> Iterator[IO[bytes]]:
    """Open a file beside `path` that takes its place when all went well, and otherwise goes.

    What is there and no regular file (a device, a pipe) is written to as it is: it can't be replaced.
    """
    if path.exists() and not path.is_file():
        with open(path, "wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))  # not a link, which stays, but what it leads to
    aside = path.with_name(path.name + ".tmp")
    try:
        with open(aside, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable, where the system can."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def seal(magic: bytes, payload: bytes) -> bytes:
    """Magic (8 bytes), version, zero (uint32), length (uint64), payload, SHA-256 of all before it."""
    body = _HEAD.pack(magic, FORMAT_VERSION, 0, len(payload)) + payload
    return body + hashlib.sha256(body).digest()


def read_bytes(path: Path) -> bytes:
    """Contents of a file; StorageError if it can't be read."""
    with refusals(path, "read a file"), open(path, "rb") as file:
        return file.read()


def read_sealed(path: Path, magic: bytes) -> tuple[memoryview, str]:
    """Payload of a sealed file and its digest (hex).

    Raises a CorruptRunError or a RunVersionError that names the file.
    """
    data = memoryview(read_bytes(path))
    if len(data) < _HEAD.size + _DIGEST:
        raise _corrupt(path, f"{len(data)} bytes", "at least a header and a checksum")
    found, version, _, length = _HEAD.unpack_from(data)
    if found != magic:
        raise _corrupt(path, found, f"a file that begins with {magic!r}")
    if version != FORMAT_VERSION:
        raise RunVersionError(
            str(path), version, f"version {FORMAT_VERSION}", "Use the hdpkit that wrote it, or a newer one."
        )
    if length != len(data) - _HEAD.size - _DIGEST:
        raise _corrupt(path, f"{len(data)} bytes", f"{length} bytes of payload, a header and a checksum")
    digest = bytes(data[-_DIGEST:])
    if hashlib.sha256(data[:-_DIGEST]).digest() != digest:
        raise _corrupt(path, "a wrong checksum", "as it was written")
    return data[_HEAD.size : -_DIGEST], digest.hex()


def _corrupt(path: Path, value: object, allowed: str) -> CorruptRunError:
    return CorruptRunError(
        str(path), value, allowed, "The file was damaged or changed; restore a copy of it."
    )
