"""Files that are complete or absent: with a checksum, written under another name, synced, renamed."""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hdpkit.errors import CorruptRunError, MissingExtraError, RunError, RunVersionError, StorageError
from hdpkit.formats.sealed_text import opened_text, sealed_text
from hdpkit.formats.writing import OPEN_FLAGS, write_aside

__all__ = [
    "FORMAT_VERSION",
    "open_own",
    "read_bytes",
    "read_sealed",
    "read_text",
    "reading",
    "refusals",
    "refuse_others",
    "seal",
    "text_of",
    "write_whole",
]

FORMAT_VERSION = 1
"""Version of every file of a run folder; all change together."""

_HEAD = struct.Struct("<8sIIQ")  # magic, version, zero, length of the payload
_DIGEST = 32


@contextmanager
def refusals(path: os.PathLike[str] | str, doing: str) -> Iterator[None]:
    """Turn errors of the file system into a StorageError that names the file."""
    try:
        yield
    except OSError as error:
        raise StorageError.of(
            error, "folder", str(path), f"a place where this can be done: {doing}",
            "Choose another folder; a run that was under way goes on from its last checkpoint with "
            "hk.open_run(folder).resume().",
        ) from error  # fmt: skip


def write_whole(path: Path, data: bytes) -> None:
    """Write a file of a run folder so that at any time either the old or the new one exists, complete.

    Raises
    ------
    StorageError
        If the file system raises an error.
    RunError
        If the path is a link or anything other than a file.
    """
    refuse_others(path)
    with refusals(path, "write a file"), write_aside(path, path.with_name(path.name + ".tmp")) as file:
        file.write(data)


def refuse_others(path: Path, *, folder: bool = False, one_name: bool = False) -> None:
    """Raise a RunError if the path exists and isn't a file (or a folder) within the run folder.

    A run folder copied from someone else may contain links, through which files outside of it would be
    written or read. The path of the run folder itself may be a link, since the user chose it.

    Parameters
    ----------
    path : Path
        Path below a run folder, which need not exist.
    folder : bool
        Whether a folder is expected.
    one_name : bool
        Whether hard links are errors too, because the file is written in place.
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
        value = f"not a {own}"
    elif one_name and found.st_nlink > 1:
        value = f"a file with {found.st_nlink} names (hard links)"
    else:
        return
    raise RunError(
        str(path), value, f"a {own} in the run folder itself, if it exists",
        "Files outside a run folder are neither read nor written: replace it by a copy of the original.",
    )  # fmt: skip


def _never(path: object) -> bool:
    return False


def open_own(path: Path, flags: int, *, one_name: bool = False) -> int:
    """Open a file of a run folder without following links or blocking on a pipe; returns its descriptor.

    Raises a RunError if it isn't a regular file. Parameters as in `refuse_others`.
    """
    refuse_others(path, one_name=one_name)
    number = os.open(path, flags | OPEN_FLAGS)
    try:
        _check_kind(path, os.fstat(number), False, one_name)
    except BaseException:
        os.close(number)
        raise
    return number


def seal(magic: bytes, payload: bytes) -> bytes:
    """Magic (8 bytes), version, zero (uint32), length (uint64), payload, SHA-256 of everything before it."""
    body = _HEAD.pack(magic, FORMAT_VERSION, 0, len(payload)) + payload
    return body + hashlib.sha256(body).digest()


def read_bytes(path: Path) -> bytes:
    """Contents of a file of a run folder; StorageError if it can't be read, RunError if it is a link."""
    with refusals(path, "read a file"), open(open_own(path, os.O_RDONLY), "rb") as file:
        try:
            return file.read()
        except MemoryError as error:
            size = os.fstat(file.fileno()).st_size
            raise RunError(
                str(path), f"{size} bytes", "a file that fits into memory",
                "The file may have been changed; or use a machine with more memory.",
            ) from error  # fmt: skip


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
        raise _corrupt(path, "a wrong checksum", "unchanged since it was written")
    return data[_HEAD.size : -_DIGEST], digest.hex()


def text_of(format: str, content: Any) -> bytes:
    """The bytes of a JSON file: its format, the version, the content, and a checksum of all of it."""
    return sealed_text({"format": format, "version": FORMAT_VERSION, "content": content}, indent=1)


def read_text(path: Path, format: str) -> tuple[Any, str]:
    """Content of a file that `text_of` made, and its checksum (hex). Errors as in `read_sealed`."""
    raw = read_bytes(path)
    with reading(path):
        text, checksum = opened_text(raw)
        if not isinstance(text, dict) or text["format"] != format:
            raise ValueError(f"not of the format {format!r}")
        if type(text["version"]) is not int or text["version"] != FORMAT_VERSION:
            raise RunVersionError(
                str(path), text["version"], f"version {FORMAT_VERSION}", "Use the hdpkit that wrote it."
            )
        if checksum is None:
            raise ValueError("a wrong checksum")
        return text["content"], checksum


@contextmanager
def reading(path: os.PathLike[str] | str) -> Iterator[None]:
    """Turn errors that changed content causes into a CorruptRunError that names the file."""
    try:
        yield
    except (RunError, MissingExtraError):
        raise
    except Exception as error:  # content may be anything, and so may the error
        raise _corrupt(path, f"{type(error).__name__}: {error}", "what hdpkit wrote") from error


def _corrupt(path: os.PathLike[str] | str, value: object, allowed: str) -> CorruptRunError:
    return CorruptRunError(
        str(path), value, allowed, "The file was damaged or changed; restore a copy of it."
    )
