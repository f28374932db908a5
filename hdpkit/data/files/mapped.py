"""Files of arrays mapped into memory: headers and sizes are checked, and later that files haven't changed.

The state of the files is noted when they are opened. Sweeps compare it (`GroupedData.check_unchanged`) before
every move, whenever they report progress, and at their end.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hdpkit.errors import ChangedDataError, DataError
from hdpkit.files import opened_text

CHUNK = 1 << 18
"""Number of numbers checked at once."""

Signature = tuple[int, int, int, int]


def signature(info: os.stat_result) -> Signature:
    """Signature that changes when a file changes: device, inode, size, time of the last change."""
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


class MappedFiles:
    """The files of a mapped corpus: by path, signature when mapped, and SHA-256."""

    def __init__(self, seen: Mapping[Path, Signature], digests: Mapping[Path, str]) -> None:
        self._seen = dict(seen)
        self._digests = digests

    def check(self) -> None:
        """Raise a ChangedDataError if the files have changed.

        This takes a few microseconds if no file was modified. A file with another time or inode and the same
        content counts as unchanged.
        """
        for path, before in self._seen.items():
            try:
                now = signature(os.stat(path))
            except OSError as error:
                _changed(path, error.strerror or "not there", error)
            if now == before:
                continue
            if now[2] != before[2]:
                _changed(path, f"{now[2]} bytes, {before[2]} before")
            if self._digest(path) != self._digests[path]:
                _changed(path, "other numbers than before")
            self._seen[path] = now

    def _digest(self, path: Path) -> str:
        found = hashlib.sha256()
        try:
            with open(path, "rb") as file:
                while piece := file.read(8 * CHUNK):
                    found.update(piece)
        except OSError as error:
            _changed(path, error.strerror or str(error), error)
        return found.hexdigest()


def _changed(
    path: Path,
    value: str,
    error: BaseException | None = None,
    allowed: str = "unchanged since the corpus was opened",
) -> NoReturn:
    raise ChangedDataError(
        f"file {path}", value, allowed,
        "Restore it, or convert the corpus again, then resume. Files must not change while they are mapped.",
    ) from error  # fmt: skip


Damage = Callable[[Path, Any, str], DataError]
"""Makes the error about a file from its content and from what is allowed."""

# NumPy's header of an array of one dimension, in version 1.0 of its format.
_MAGIC = b"\x93NUMPY\x01\x00"
_ARRAY = re.compile(rb"\{'descr': '(<i[48])', 'fortran_order': False, 'shape': \(([0-9]{1,18}),\), \}[ ]*\n")


class ArrayMapping:
    """Maps arrays of a folder, and records the signatures of their files; ``damaged`` makes errors."""

    def __init__(self, folder: Path, damaged: Damage) -> None:
        self._folder = folder
        self._damaged = damaged
        self._seen: dict[Path, Signature] = {}
        self.starts: dict[Path, int] = {}

    def files(self, digests: Mapping[Path, str]) -> MappedFiles:
        """The mapped files, with the SHA-256 of each file."""
        return MappedFiles(self._seen, digests)

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


def array_on_disk(shape: int | tuple[int, ...], folder: str | None = None) -> npt.NDArray[np.int32]:
    """An int32 array in a file without a name (in ``TMPDIR`` by default), which is gone with the array.

    An OSError if the file can't be made, or there is no room for it.
    """
    size = 4 * int(np.prod(shape))
    with tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate") and size:  # else a full disk ends the process
            os.posix_fallocate(file.fileno(), 0, size)
        return np.memmap(file, np.int32, shape=shape) if size else np.empty(shape, np.int32)


def read_head(path: Path, content: bytes, what: str, form: str, version: int) -> dict[str, Any]:
    """The JSON of a sealed header (``what``, in errors) of a converted corpus, without its checksum."""
    try:
        head, checksum = opened_text(content)
    except (ValueError, RecursionError) as error:
        raise damaged(path, str(error), "JSON") from error
    if not isinstance(head, dict) or head.get("format") != form:
        raise damaged(path, "something else", f'{what} ("format": "{form}")')
    if type(head.get("version")) is not int or head["version"] != version:
        raise DataError(
            f"file {path}, version",
            head.get("version"),
            f"version {version}",
            "Use the hdpkit that wrote it.",
        )
    if checksum is None:
        raise damaged(path, "a wrong checksum", "unchanged since it was written")
    return head


def damaged(path: Path, value: Any, allowed: str) -> DataError:
    """The error about a file of a converted corpus that has changed since it was written."""
    return DataError(
        f"file {path}",
        value,
        allowed,
        "The file was damaged or changed: restore it, or convert the corpus again.",
    )
