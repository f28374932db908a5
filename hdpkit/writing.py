"""Files that are complete or absent: written under another name and renamed, and JSON with a checksum.

A sealed JSON file (run.json, manifest.json, others) is an object whose last key, on a line of
its own, is ``"checksum"``: the SHA-256 (hex) of the bytes before the comma that precedes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from hdpkit.errors import StorageError

# Flags that the system lacks are zero (Windows doesn't follow links by default, and has no pipes as files).
OPEN_FLAGS = 0
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    OPEN_FLAGS |= getattr(os, _flag, 0)


@contextmanager
def written_aside(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file next to `path` that replaces it on success, and is removed otherwise.

    For files named by a user: if the path is a link, its target is replaced, not the link. An existing path
    that isn't a regular file (a device, a pipe) can't be replaced and is written to directly.
    """
    if path.exists() and not path.is_file():
        with open(path, "wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))
    # A random name, since the user may have another file called NAME.tmp.
    with write_aside(path, path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")) as file:
        yield file


@contextmanager
def write_aside(path: Path, aside: Path) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` on success, and is removed otherwise."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(aside)  # a file left by a killed process, or a link, which isn't followed
    number = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_FLAGS, 0o666)
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
    """Flush the entries of a folder to disk, if the system supports it."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def storage_errors(parameter: str, path: object, allowed: str, remedy: str) -> Iterator[None]:
    """Turn errors of the operating system into StorageErrors."""
    try:
        yield
    except OSError as error:
        raise StorageError.of(error, parameter, str(path), allowed, remedy) from error


_END = re.compile(rb',\n"checksum": "([0-9a-f]{64})"\}\n\Z')


def sealed_text(fields: Mapping[str, Any], indent: int | None = None) -> bytes:
    """Return fields as JSON in UTF-8 with a checksum at its end."""
    text = json.dumps(dict(fields), ensure_ascii=False, indent=indent)
    body = text[:-1].rstrip("\n").encode("utf-8", "surrogatepass")  # which the reader of JSON accepts
    return body + f',\n"checksum": "{hashlib.sha256(body).hexdigest()}"}}\n'.encode()


def opened_text(content: bytes) -> tuple[Any, str | None]:
    """Return what the JSON says without its checksum, and the checksum; None if the checksum isn't right.

    The caller checks format and version before it refuses a wrong checksum. Raises a ValueError or a
    RecursionError if it isn't JSON.
    """
    found = json.loads(content)
    if isinstance(found, dict):
        found.pop("checksum", None)
    end = _END.search(content[-128:])
    if end is None:
        return found, None
    said = end[1].decode()
    body = memoryview(content)[: len(content) - len(end[0])]
    return found, said if hashlib.sha256(body).hexdigest() == said else None


_PLACE, _REMEDY = "a place where a file can be written", "Choose another one."


def check_place(path: Path) -> None:
    """Raise a StorageError if no file can be written there: its parent is no folder, or it is itself one."""
    with storage_errors("path", path, _PLACE, _REMEDY):  # a name that is too long
        why = "it is a folder" if path.is_dir() else "its folder does not exist"
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise StorageError("path", str(path), f"{_PLACE} ({why})", _REMEDY)


def save(path: Path, data: bytes) -> None:
    """Write a file named by a user, completely or not at all."""
    check_place(path)
    with storage_errors("path", path, _PLACE, _REMEDY), written_aside(path) as file:
        file.write(data)
