"""Files that are written beside their place and renamed: whole or not there."""

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

# Flags that a system lacks (Windows has no links that are followed unasked, and no pipes as files) are zero.
OPEN_FLAGS = 0
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    OPEN_FLAGS |= getattr(os, _flag, 0)


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
    with write_aside(path, path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")) as file:
        yield file


@contextmanager
def write_aside(path: Path, aside: Path) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of `path` when all went well, and otherwise goes."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(aside)  # what a kill left, or a link, which goes without being followed
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
    """Make names in a folder durable, where the system can."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def storing(folder: Path, what: str, remedy: str) -> Iterator[None]:
    """Turn the system's refusals to write ``what`` to a folder into StorageErrors."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            "folder", str(folder), f"a place where {what} can be written ({error.strerror or error})", remedy
        ) from error
