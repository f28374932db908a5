"""Messages between the workers of a run, and the memory that those on one machine share.

Messages of one kind can be added, in any order. The memory is pages of a file in the file system that Linux
keeps in memory, which workers open by its name. Those that opened the same file are on one machine. As soon
as all have opened it, the name is removed, so that the memory is released when the last of the processes has
ended in any way. Processes that were killed before leave an empty file, which the next run removes: a file in
use is locked.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import weakref
from pathlib import Path
from typing import Any, Protocol

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit._count_changes import add_up_sparse
from hdpkit.errors import ScheduleError, StorageError
from hdpkit.files import OPEN_FLAGS
from hdpkit.franchise.whole_corpus import Changes
from hdpkit.numerics import add_up

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


class Message(Protocol):
    """A summand. A sum with a `Failed` message is `Failed`."""

    def plus(self, other: Any) -> Any:
        """Return the sum of both."""


@attrs.frozen(eq=False)
class Failed:
    """The error of a worker."""

    error: BaseException

    def plus(self, other: Any) -> Failed:
        """Return this error, so that the sum is the first error."""
        return self


@attrs.frozen(eq=False)
class Opening:
    """Message of a worker at the start."""

    changes: Changes  # its counts
    # distinct numbers of customers of its documents, ascending, and how many have each
    sizes: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    # customers of each document, by the number of the first document, if a move needs them
    lengths: dict[int, npt.NDArray[np.int64]]
    name: str  # proposed for `hdpkit.run.shards.messages.Meeting`; the smallest one is used

    def plus(self, other: Any) -> Any:
        """Return the opening of both workers."""
        if isinstance(other, Failed):
            return other
        both = np.concatenate([self.sizes, other.sizes], axis=1)
        distinct, place = np.unique(both[0], return_inverse=True)
        counts = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(counts, place, both[1])
        return Opening(
            self.changes.plus(other.changes),
            (distinct, counts),
            self.lengths | other.lengths,
            min(self.name, other.name),
        )

    def all_lengths(self) -> npt.NDArray[np.int64] | None:
        """Number of customers of every document, in order; None if no move needs them."""
        if not self.lengths:
            return None
        return np.concatenate([self.lengths[first] for first in sorted(self.lengths)])


@attrs.frozen(eq=False)
class Swept:
    """Changes of a worker in a sweep."""

    changes: Changes

    def plus(self, other: Any) -> Any:
        """Return the changes of both workers."""
        return other if isinstance(other, Failed) else Swept(self.changes.plus(other.changes))


@attrs.frozen(eq=False)
class CountBlock:
    """Changes of the counts of a block of terms."""

    counts: bytes

    def plus(self, other: Any) -> Any:
        """Return the changes of both workers."""
        return other if isinstance(other, Failed) else CountBlock(add_up_sparse(self.counts, other.counts))


@attrs.frozen(eq=False)
class Done:
    """A worker has finished a step."""

    # for the trace, at the end of a sweep: equal in all workers, empty in all but one; None within a sweep
    values: dict[str, Any] | None = None
    # by the number of a shard of the worker: its term of the log joint, which ``values`` lacks
    logs: dict[int, float] = attrs.field(factory=dict)
    # of the common state after each move over totals in this step
    digests: tuple[tuple[str, bytes], ...] = ()

    def plus(self, other: Any) -> Any:
        """Return a message for both, with the numbers of either."""
        if isinstance(other, Failed):
            return other
        for (name, one), (_, two) in zip(self.digests, other.digests, strict=True):
            if one != two:
                error = ScheduleError(
                    "moves", name, "moves over totals that have the same result in every worker",
                    "Let it use only what is common to all workers (see hdpkit.moves.Move) and its rng, or "
                    "run it with hk.Scheduler.",
                )  # fmt: skip
                return Failed(error)
        values = other.values if self.values is None or other.values else self.values
        return Done(values, self.logs | other.logs, self.digests)

    def numbers(self) -> dict[str, Any]:
        """The numbers for the trace: the terms of all shards are added in the order of shards."""
        assert self.values is not None
        of_shards = add_up(self.logs[i] for i in sorted(self.logs))
        return {**self.values, "log_joint": self.values["log_joint"] + of_shards}
