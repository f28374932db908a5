"""Memory shared by the workers of a run on one machine: pages of a file whose name is removed immediately.

Workers open a file with the same name in the file system that Linux keeps in memory. Those that opened the
same file are on one machine. As soon as all have opened it, the name is removed, so that the memory is
released when the last of the processes has ended in any way. Processes that were killed before leave an
empty file, which the next run removes: a file in use is locked.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from hdpkit.errors import StorageError
from hdpkit.files import OPEN_FLAGS

FOLDER = Path("/dev/shm")
NUMBER = 20  # bytes of a worker's number in the file


class Meeting:
    """The open file by which workers on one machine find each other: one name, and a number for each."""

    def __init__(self, name: str, number: int) -> None:
        self.path = FOLDER / f"hdpkit-{name}"
        self.number = number
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._close = weakref.finalize(self, _close, self._file, self.path)
        lock(self._file, shared=True)
        _remove_dead(self.path)
        os.write(self._file, b"%*d" % (NUMBER, number))

    @classmethod
    def at(cls, name: str, number: int) -> Meeting | None:
        """Open the file; None if there is no such file system, or the worker can't write there."""
        try:
            return cls(name, number)
        except OSError:
            return None

    def end(self) -> tuple[CommonMemory, int, int] | None:
        """Return the memory, this worker's index among those that share it, and their number.

        Called when all workers have opened the file. None if this worker is alone.
        """
        data = os.pread(self._file, os.fstat(self._file).st_size, 0)
        numbers = sorted(int(data[at : at + NUMBER]) for at in range(0, len(data), NUMBER))
        found = None
        if len(numbers) > 1:
            found = CommonMemory(os.dup(self._file)), numbers.index(self.number), len(numbers)
        self._close()
        return found


def lock(file: int, *, shared: bool) -> None:
    """Lock an open file until it is closed; an OSError if it is locked in another way."""
    import fcntl  # not on Windows, which has no such file system

    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def _remove_dead(but: Path) -> None:
    """Remove the files of workers that were killed before they removed the name.

    If another run has opened its file and not yet locked it, its workers don't find each other. Then each
    draws all topics, and the chain is the same.
    """
    for path in FOLDER.glob("hdpkit-*"):
        if path != but:
            with contextlib.suppress(OSError):  # of somebody else, or in use, or gone
                file = os.open(path, os.O_RDWR | OPEN_FLAGS)
                try:
                    lock(file, shared=False)
                    path.unlink()
                finally:
                    os.close(file)


def _close(file: int, path: Path) -> None:
    os.close(file)
    with contextlib.suppress(OSError):  # another worker has removed it
        path.unlink()


class CommonMemory:
    """Shared memory that grows when a worker needs more. It owns the descriptor ``file``."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._pages: mmap.mmap | None = None
        weakref.finalize(self, os.close, file)

    def room(self, n: int) -> np.ndarray[Any, np.dtype[np.int8]]:
        """The first n bytes. Raises a StorageError if the machine has too little memory."""
        if self._pages is None or len(self._pages) < n:
            try:
                os.posix_fallocate(self._file, 0, n)  # otherwise a write may kill the process
                self._pages = mmap.mmap(self._file, n)
            except OSError as error:
                raise StorageError(
                    str(FOLDER), error.strerror, f"room for the topics, {n:,} bytes",
                    "Allow more shared memory (docker run --shm-size), "
                    "or start one process with more threads.",
                ) from error  # fmt: skip
            self._pages.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(self._pages, dtype=np.int8, count=n)
