"""Workers of a run as ranks of MPI; every rank runs the same program."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from hdpkit.checks import positive_number
from hdpkit.errors import MissingExtraError, ParameterError
from hdpkit.run.shards.backend import Backend, checked, too_slow
from hdpkit.run.shards.job import ShardedJob
from hdpkit.run.shards.messages import CountBlock, Failed, Swept
from hdpkit.run.shards.source import spread
from hdpkit.run.shards.worker import Worker

COMING = 1  # tag of the messages by which a rank says that it has done its step
PAUSE = 5e-4  # seconds between two looks at who has
MPICH = re.compile(r"/dev/shm/mpich_shm_[0-9a-f]+_0$", re.MULTILINE)


class MPI(Backend):
    """One worker per rank.

    Every rank calls `hdpkit.Scheduler.run` with the same arguments. Rank 0 has the results, reports the
    progress, and writes the file of the run; each rank reads its own shards, and writes their states.
    Callbacks are called in every rank. Each rank sums the changes of counts of some terms; the other messages
    are summed along a tree. An error of a rank is raised in all. If a rank is killed, ``mpiexec`` ends the
    others: continue from the last checkpoint with `hdpkit.Run.resume` and any number of ranks.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        By default all ranks.
    patience : float, optional
        Seconds that ranks may wait for each other after a step of the run, for instance a sweep or a
        checkpoint; then rank 0 raises a SlowPartError that names the shards, and all ranks end when a
        process ends that got it. By default there is no limit.

    Attributes
    ----------
    rank : int

    Raises
    ------
    MissingExtraError
        If mpi4py, or a runtime of MPI, is not installed: ``pip install "hdpkit[mpi]"``.
    """

    def __init__(self, comm: Any = None, patience: float | None = None) -> None:
        if patience is not None:
            positive_number("patience", patience, remedy="Leave it out for no limit.")
        self.patience = patience
        given = _world() if comm is None else comm
        self._comm: Any = given.Dup()  # separate from messages of the user's program
        _remove_names()
        self.rank = int(self._comm.Get_rank())
        self.leads = self.rank == 0
        self._blocks = 0  # `_swept` gets blocks one by one
        self._shards: list[range] = []
        self._method = ""
        self._worker: Worker
        self._answer: Any = None

    def __repr__(self) -> str:
        return f"MPI({self._comm.Get_size()} ranks)"

    def _place(self, job: ShardedJob) -> None:
        n = self._comm.Get_size()
        if n > len(job.source.shards):
            raise ParameterError(
                "shards", len(job.source.shards), f"at least {n}, one per rank",
                "Start fewer ranks, or cut the corpus into more shards.",
            )  # fmt: skip
        self._shards = spread(job.source, n)
        self._worker = Worker(job, self._shards[self.rank], reports=self.leads)

    def _call(self, method: str, *arguments: Any) -> None:
        self._method = method
        self._answer = self._worker.call(method, *arguments)

    def _together(self) -> None:
        """Wait for all ranks, at most for the seconds of ``patience``."""
        if self.patience is None:
            return
        comm, end = self._comm, time.monotonic() + self.patience
        if self.leads:
            coming = {rank: comm.irecv(source=rank, tag=COMING) for rank in range(1, comm.Get_size())}
        else:
            comm.send(None, dest=0, tag=COMING)
            coming = {}
        barrier = comm.Ibarrier()
        while not barrier.Test():
            if time.monotonic() > end:
                late = [rank for rank, request in coming.items() if not request.test()[0]]
                self.give_up()  # MPI itself would wait for them at the end of this process
                raise too_slow(
                    self._method, self.patience, [(f"rank {rank}", self._shards[rank]) for rank in late]
                )
            time.sleep(PAUSE)
        for request in coming.values():
            request.wait()

    def _total(self) -> Any:
        self._together()
        total = self._comm.allreduce(self._answer, op=_plus)
        if isinstance(total, Failed):
            raise total.error
        return total

    def _swept(self) -> Any:
        """Each rank sums a block of terms, and sends the sum to the others.

        A block is prepared and sent while the previous one is being transferred.
        """
        comm, own, n = self._comm, self.rank, self._comm.Get_size()
        total = self._total()
        added, underway = self._worker.call("block", own, n), []
        self.sent += total.changes.nbytes + _bytes(added)
        for step in range(1, n + 1):
            if step < n:
                block = self._worker.call("block", (own + step) % n, n)
                self.sent += _bytes(block)
                underway.append(comm.isend(block, dest=(own + step) % n))
            if step > 1:
                added = added.plus(comm.recv(source=(own - step + 1) % n))
        blocks = checked(comm.allgather(added))
        for request in underway:
            request.wait()
        return Swept(attrs.evolve(total.changes, counts=tuple(block.counts for block in blocks)))

    def _collected(self) -> list[Any]:
        self._together()
        failed = isinstance(self._answer, Failed)
        for answer in self._comm.allgather(self._answer if failed else None):
            checked([answer])
        return self._comm.gather(self._answer) or []

    def lead(self, act: Callable[[], Any]) -> Any:
        """Call a function at rank 0; all ranks get its result, or raise its error."""
        found = failed = None
        if self.leads:
            try:
                found = act()
            except Exception as error:
                failed = error
        found, failed = self._comm.bcast((found, failed))
        if failed is not None:
            raise failed
        return found

    def agreed(self, wishes: Sequence[bool]) -> Sequence[bool]:
        """Which of these any rank wishes."""
        self._method = "agreed"
        self._together()
        found = self._comm.allgather(tuple(wishes))
        return [any(column) for column in zip(*found, strict=True)]

    def give_up(self) -> None:
        """End all ranks when this process ends."""
        from mpi4py.run import set_abort_status

        set_abort_status(1)


def _remove_names() -> None:
    """Remove the name of the memory that MPICH's ranks on this machine share; all have opened it by now.

    MPICH removes it at the end, but not when a rank is killed: 2 MB would stay in /dev/shm.
    """
    with contextlib.suppress(OSError):
        for path in set(MPICH.findall(Path("/proc/self/maps").read_text())):
            Path(path).unlink(missing_ok=True)


def _bytes(block: Any) -> int:
    return len(block.counts) if isinstance(block, CountBlock) else 0


def _plus(one: Any, other: Any) -> Any:
    return one.plus(other)


def _world() -> Any:
    try:
        from mpi4py.MPI import COMM_WORLD
    except (ImportError, RuntimeError) as error:
        raise MissingExtraError(
            "hdpkit.shards.MPI", str(error), "with mpi4py and a runtime of MPI installed",
            'pip install "hdpkit[mpi]"',
        ) from error  # fmt: skip
    return COMM_WORLD
