"""Files that a comparison writes, completely or not at all, and checks of their paths in advance."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from hdpkit.errors import StorageError
from hdpkit.formats.writing import written_aside

__all__ = ["check_place", "saved"]

_PLACE, _REMEDY = "a place where a file can be written", "Choose another one."


def check_place(path: Path) -> None:
    """Raise a StorageError if no file can be written there: its parent is no folder, or it is itself one."""
    with _refusals(path):  # a name that is too long
        if path.is_dir():
            raise _refused(path, "it is a folder")
        if not path.absolute().parent.is_dir():
            raise _refused(path, "its folder does not exist")


def saved(path: Path, data: bytes) -> None:
    """Write a file."""
    check_place(path)
    with _refusals(path), written_aside(path) as file:
        file.write(data)


@contextlib.contextmanager
def _refusals(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError.of(error, "path", str(path), _PLACE, _REMEDY) from error


def _refused(path: Path, why: str) -> StorageError:
    return StorageError("path", str(path), f"{_PLACE} ({why})", _REMEDY)
