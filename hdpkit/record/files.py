"""Files that are whole or not there: sealed by a checksum, written aside, synced, renamed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hdpkit.errors import CorruptRunError, RunError, RunVersionError, StorageError

__all__ = [
    "FORMAT_VERSION",
    "open_own",
    "read_bytes",
    "read_sealed",
    "refusals",
    "refuse_others",
    "seal",
    "sync_folder",
    "write_whole",
    "written_aside",
]

FORMAT_VERSION = 1
"""Of every file of a run folder; they change together."""

_HEAD = struct.Struct("<8sIIQ")  # magic, version, zero, length of the payload
_DIGEST = 32

# Flags that a system lacks (Windows has no links that are followed unasked, and no pipes as files) are zero.
_OWN = 0
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _OWN |= getattr(os, _flag, 0)


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
    """Write a file of a run folder so that at any moment either the old one or the new one is there, whole.

    Raises
    ------
    StorageError
        If the file system refuses. RunError: if a link or anything but a file is in its place.
    """
    refuse_others(path)
    with refusals(path, "write a file"), _aside(path, path.with_name(path.name + ".tmp")) as file:
        file.write(data)


@contextmanager
def written_aside(path: Path) -> Iterator[IO[bytes]]:
    """Open a file beside `path` that takes its place when all went well, and otherwise goes.

    For files that a user names, wherever they are: not a link is replaced, but what it leads to. What is
    there and no regular file (a device, a pipe) is written to as it is: it can't be replaced.
    """
    if path.exists() and not path.is_file():
        with open(path, "wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))
    # A name that nobody can guess: another file of the user's may be called NAME.tmp.
    with _aside(path, path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")) as file:
        yield file


@contextmanager
def _aside(path: Path, aside: Path) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of `path` when all went well, and otherwise goes."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(aside)  # what a kill left, or a link, which goes without being followed
    number = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OWN, 0o666)
    try:
        with open(number, "wb") as file:
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


def refuse_others(path: Path, *, folder: bool = False, one_name: bool = False) -> None:
    """Raise a RunError if anything but a file (or a folder) of the run folder's own is at this path.

    A run folder that is copied from somebody may hold links: through one, what is written or read would be
    outside of it. The run folder itself may be reached by a link, which is the user's.

    Parameters
    ----------
    path : Path
        Below a run folder. Nothing need be there.
    folder : bool
        Whether a folder belongs there.
    one_name : bool
        Whether a hard link is refused too: the file is written in place.
    """
    with refusals(path, "look at a file"):
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return
    _check_kind(path, found, folder, one_name)


def _check_kind(path: Path, found: os.stat_result, folder: bool, one_name: bool) -> None:
    own, other = ("folder", stat.S_ISDIR) if folder else ("file", stat.S_ISREG)
    if stat.S_ISLNK(found.st_mode) or getattr(os.path, "isjunction", _never)(path):
        value = "a link"
    elif not other(found.st_mode):
        value = f"no {own}"
    elif one_name and found.st_nlink > 1:
        value = f"a file with {found.st_nlink} names (hard links)"
    else:
        return
    raise RunError(
        str(path), value, f"a {own} of the run folder's own, if it is there",
        "Nothing outside a run folder is written or read: put a copy of what it leads to in its place.",
    )  # fmt: skip


def _never(path: object) -> bool:
    return False


def open_own(path: Path, flags: int, *, one_name: bool = False) -> int:
    """Open a file of a run folder, never through a link, never waiting for a pipe; returns its descriptor.

    Raises a RunError if it is no regular file. Parameters as in `refuse_others`.
    """
    refuse_others(path, one_name=one_name)
    number = os.open(path, flags | _OWN)
    try:
        _check_kind(path, os.fstat(number), False, one_name)
    except BaseException:
        os.close(number)
        raise
    return number


def seal(magic: bytes, payload: bytes) -> bytes:
    """Magic (8 bytes), version, zero (uint32), length (uint64), payload, SHA-256 of all before it."""
    body = _HEAD.pack(magic, FORMAT_VERSION, 0, len(payload)) + payload
    return body + hashlib.sha256(body).digest()


def read_bytes(path: Path) -> bytes:
    """Contents of a file of a run folder; StorageError if it can't be read, RunError if it is a link."""
    with refusals(path, "read a file"), open(open_own(path, os.O_RDONLY), "rb") as file:
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
