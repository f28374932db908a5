"""Arrays of one dimension in files, mapped into memory after a check of their headers and sizes."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import DataError
from hdpkit.formats.mapped import MappedFiles, Signature, signature

__all__ = ["ArrayMapping", "Damage", "damaged", "open_file", "read_file"]

Damage = Callable[[Path, Any, str], DataError]
"""Makes the error about a file from its content and from what is allowed."""

# NumPy's header of an array of one dimension, in version 1.0 of its format.
_MAGIC = b"\x93NUMPY\x01\x00"
_ARRAY = re.compile(rb"\{'descr': '(<i[48])', 'fortran_order': False, 'shape': \(([0-9]{1,18}),\), \}[ ]*\n")


class ArrayMapping:
    """Maps arrays of a folder, and records the signatures of their files.

    Parameters
    ----------
    folder : Path
    damaged : callable
        Makes the errors.
    """

    def __init__(self, folder: Path, damaged: Damage) -> None:
        self._folder = folder
        self._damaged = damaged
        self._seen: dict[Path, Signature] = {}
        self.starts: dict[Path, int] = {}

    def files(self, digests: Mapping[Path, str], *, whole: bool = False) -> MappedFiles:
        """The mapped files, with the SHA-256 of the numbers in each file, or of the entire files."""
        return MappedFiles(self._seen, dict.fromkeys(self.starts, 0) if whole else self.starts, digests)

    def array(self, name: str, dtype: str, n: int) -> npt.NDArray[Any]:
        """Map an array of `n` numbers of this type; raises the error made by `damaged`."""
        path = self._folder / name
        kind = np.dtype(dtype)
        try:
            with open_file(path, self._damaged) as file:
                head = file.read(len(_MAGIC) + 2)
                length = int.from_bytes(head[len(_MAGIC) :], "little")
                found = _ARRAY.fullmatch(file.read(length))
                info = os.fstat(file.fileno())
                size = info.st_size
                if not head.startswith(_MAGIC) or found is None or len(head) != len(_MAGIC) + 2:
                    raise self._damaged(path, "another header", f"an array of {n} numbers of type {dtype}")
                if found[1].decode() != dtype or int(found[2]) != n:
                    shown = f"{found[1].decode()} of shape ({int(found[2])},)"
                    raise self._damaged(path, shown, f"{dtype} of shape ({n},)")
                wanted = len(head) + length + n * kind.itemsize
                if size != wanted:
                    raise self._damaged(path, f"{size} bytes", f"{wanted} bytes long")
                array = np.memmap(file, kind, "r", len(head) + length, (n,))
        except OSError as error:
            raise self._damaged(path, error.strerror or str(error), f"{n} numbers of type {dtype}") from error
        self._seen[path], self.starts[path] = signature(info), len(head) + length
        return np.asarray(array)


@contextlib.contextmanager
def open_file(path: Path, damaged: Damage) -> Iterator[Any]:
    """Open a regular file to read bytes; anything else counts as damage (opening a pipe might block)."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise damaged(path, "no regular file", "a file")
    with open(path, "rb") as file:
        yield file


def read_file(path: Path, damaged: Damage) -> bytes:
    """Content of a regular file."""
    with open_file(path, damaged) as file:
        try:
            content: bytes = file.read()
        except MemoryError:
            size = os.fstat(file.fileno()).st_size
            raise damaged(path, f"{size} bytes", "a file that fits into memory") from None
    return content


def damaged(path: Path, value: Any, allowed: str) -> DataError:
    """The error about a file of a converted corpus that has changed since it was written."""
    return DataError(
        f"file {path}",
        value,
        allowed,
        "The file was damaged or changed: restore it, or convert the corpus again.",
    )
