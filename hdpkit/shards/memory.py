"""Memory that the parts of a run on one machine have in common: pages of a file that loses its name at once.

Parts open a file of one name in the file system that Linux keeps in memory. Those who opened the same file
are on one machine. As soon as all have it open the name is removed, so that the memory is free again when the
last of the processes has ended, however it ended.
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

__all__ = ["CommonMemory", "Meeting"]

FOLDER = Path("/dev/shm")
NUMBER = 20  # bytes of a part's number in the file


class Meeting:
    """The file of one name, open.

    Parameters
    ----------
    name : str
        The same for all parts of a run.
    number : int
        Of this part.
    """

    def __init__(self, name: str, number: int) -> None:
        self.path = FOLDER / f"hdpkit-{name}"
        self.number = number
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._close = weakref.finalize(self, _close, self._file, self.path)
        os.write(self._file, b"%*d" % (NUMBER, number))

    @classmethod
    def at(cls, name: str, number: int) -> Meeting | None:
        """Open the file; None where there is no such file system, or the part may not write there."""
        try:
            return cls(name, number)
        except OSError:
            return None

    def end(self) -> tuple[CommonMemory, int, int] | None:
        """Return the memory, this part's place among those that have it, and their number.

        All parts have the file open by now. None if this part is alone.
        """
        data = os.pread(self._file, os.fstat(self._file).st_size, 0)
        numbers = sorted(int(data[at : at + NUMBER]) for at in range(0, len(data), NUMBER))
        found = None
        if len(numbers) > 1:
            found = CommonMemory(os.dup(self._file)), numbers.index(self.number), len(numbers)
        self._close()
        return found


def _close(file: int, path: Path) -> None:
    os.close(file)
    with contextlib.suppress(OSError):  # another part has removed it
        path.unlink()


class CommonMemory:
    """Memory that grows where one of its parts needs more.

    Parameters
    ----------
    file : int
        Descriptor, which is the memory's from here on.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._pages: mmap.mmap | None = None
        weakref.finalize(self, os.close, file)

    def room(self, n: int) -> np.ndarray[Any, np.dtype[np.int8]]:
        """Its first n bytes. Raises a StorageError if the machine has no memory for them."""
        if self._pages is None or len(self._pages) < n:
            try:
                os.posix_fallocate(self._file, 0, n)  # else a write may end the process
                self._pages = mmap.mmap(self._file, n)
            except OSError as error:
                raise StorageError(
                    str(FOLDER), error.strerror, f"room for the topics, {n:,} bytes",
                    "Give it more (docker run --shm-size), or start one process with more threads.",
                ) from error  # fmt: skip
            self._pages.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(self._pages, dtype=np.int8, count=n)
