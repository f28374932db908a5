"""Files that are written under another name and then renamed, so they are complete or absent."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hdpkit.errors import StorageError

__all__ = ["OPEN_FLAGS", "storing", "sync_folder", "write_aside", "written_aside"]

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
def storing(folder: Path, what: str, remedy: str) -> Iterator[None]:
    """Turn errors of the operating system on writing ``what`` to a folder into StorageErrors."""
    try:
        yield
    except OSError as error:
        raise StorageError.of(
            error, "folder", str(folder), f"a place where {what} can be written", remedy
        ) from error
