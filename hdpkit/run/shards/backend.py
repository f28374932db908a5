"""Backends of a run over shards: scatter, sweep, reduce and gather, for any kind of processes.

Workers are in this process, ranks of MPI (all run the same program), or actors of a Dask cluster, driven by
this process.
"""

from __future__ import annotations

import abc
import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs

from hdpkit.checks import positive_number, whole_number
from hdpkit.errors import LostPartError, MissingExtraError, ParameterError, SlowPartError
from hdpkit.franchise.whole_corpus import Changes
from hdpkit.run.shards.state import ShardedJob, spread
from hdpkit.run.shards.worker import CountBlock, Failed, Worker, added


class Backend(abc.ABC):
    """Workers of a run in threads or processes, each with the documents of some shards.

    A worker is a ``hdpkit.run.shards.worker.Worker``. A backend calls its methods (`_call`), and sums or
    collects the results; backends differ only in how they do this.

    Attributes
    ----------
    leads : bool
        Whether this process gets the results of `gather`, and writes files.
    sent : int
        Bytes that a worker sent in the last sweep, the largest among the workers known to this process.
    """

    leads: bool = True
    sent: int = 0
    _blocks: int = 1  # number of blocks of terms in which changes of counts are sent

    def scatter(self, job: ShardedJob) -> None:
        """Give every worker its shards and the initial state of the chain.

        From then on, workers on one machine share the memory of topics, and each draws some of them.
        """
        self._place(job)
        self._call("enter")
        self._call("begin", self._total())
        self._total()
        self._call("share")
        self._total()

    def sweep(self) -> dict[str, Any]:
        """Run every move once in all workers; returns the numbers for a trace.

        For each move over documents: when all workers have begun it, each runs over its documents; then all
        get the sum of the changes.
        """
        self.sent = 0
        self._call("start")
        done = self._total()
        while done.values is None:
            self._call("sweep", self._blocks)
            self._call("go_on", self._swept())
            done = self._total()
        numbers: dict[str, Any] = done.numbers()
        return numbers

    def gather(self, what: str, *arguments: Any) -> list[Any]:
        """Collect a method's results from all workers, in order; an empty list unless this process leads."""
        self._call(what, *arguments)
        return self._collected()

    def lead(self, act: Callable[[], Any]) -> Any:
        """Call a function in the leading process; all processes get its result, or raise its error."""
        return act()

    def agreed(self, wishes: Sequence[bool]) -> Sequence[bool]:
        """Which of these any process wishes; every process calls it."""
        return wishes

    def give_up(self) -> None:  # noqa: B027 - a driving process ends the others anyway
        """End the other processes when this one ends with an error that is unknown to them."""

    def _swept(self) -> Any:
        """Wait for the sweep of all workers and return their changes."""
        return self._total()

    # ------------------------------------------------------------------ specific to each backend

    @abc.abstractmethod
    def _place(self, job: ShardedJob) -> None:
        """Create the workers."""

    @abc.abstractmethod
    def _call(self, method: str, *arguments: Any) -> None:
        """Start a method in every worker."""

    def _waited(self) -> Iterator[Any]:
        """Wait for the result of each worker, where this process drives all of them."""
        raise NotImplementedError

    def _total(self) -> Any:
        """Wait for all results and return their sum; raise the error of a worker in every process."""
        total, sent = None, 0
        for answer in self._waited():
            if isinstance(answer, Changes):
                sent = max(sent, answer.nbytes)
            total = answer if total is None else added(total, answer)
        self.sent += sent
        return checked([total])[0]

    def _collected(self) -> list[Any]:
        """Wait for all results and return them if this process leads; errors as in `_total`."""
        return checked(list(self._waited()))


def too_slow(method: str, seconds: float, workers: Iterable[tuple[str, range]]) -> SlowPartError:
    """The error about workers that have not answered, with their names and shards if these are known."""
    late = [f"shards {shards[0]} to {shards[-1]} ({name})" for name, shards in workers]
    return SlowPartError(
        ", ".join(late) or "shards of another worker", f"no answer to {method!r}",
        f"one within {seconds:g} s",
        "Check if its machine is overloaded or hangs, or give a larger patience. Run again: the run goes on "
        "from its last checkpoint.",
    )  # fmt: skip


def checked(answers: list[Any]) -> list[Any]:
    """Return the results; raise an error if one of them is an error."""
    for answer in answers:
        if isinstance(answer, Failed):
            raise answer.error
    return answers


class Local(Backend):
    """Workers of a run in threads of this process.

    Every worker has its own statistics, as in separate processes; one worker with several threads takes less
    memory.

    Parameters
    ----------
    workers : int
        Number of workers, at most the number of shards.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = whole_number("workers", workers, 1, 1024, remedy="One is enough.")
        self._workers: list[Worker] = []
        self._answers: list[Future[Any]] = []
        self._pool = ThreadPoolExecutor(self.workers, thread_name_prefix="hdpkit-worker")

    def __repr__(self) -> str:
        return f"Local({self.workers})"

    def _place(self, job: ShardedJob) -> None:
        shards = [one for one in spread(job.source, self.workers) if len(one)]
        self._workers = [Worker(job, one, reports=i == 0) for i, one in enumerate(shards)]
        self._blocks = job.threads

    def _call(self, method: str, *arguments: Any) -> None:
        self._answers = [self._pool.submit(worker.call, method, *arguments) for worker in self._workers]

    def _waited(self) -> Iterator[Any]:
        return (answer.result() for answer in self._answers)


class Dask(Backend):
    """Workers of a run as actors of the workers of a Dask cluster.

    They read their own shards and write their states: the folders of corpus and run must be at the same path
    for all. If a worker of the cluster is lost, a run with a folder continues from the last checkpoint with
    the available ones; the cluster may replace a lost worker (a nanny does so). Raises a MissingExtraError if
    distributed is not installed (``pip install "hdpkit[dask]"``).

    Parameters
    ----------
    client : dask.distributed.Client
        Client of any cluster: ``Client(LocalCluster(...))``, ``Client("tcp://...")``.
    workers : int, optional
        Number of actors, by default that of the cluster's workers; at most the number of shards.
    patience : float, optional
        Seconds that a worker may take for a step of the run, for instance a sweep or a checkpoint; then a
        SlowPartError names its shards. By default there is no limit.
    wait : float
        Seconds to wait for the first worker, and for a method whose worker doesn't respond.
    """

    def __init__(
        self, client: Any, workers: int | None = None, wait: float = 60.0, patience: float | None = None
    ) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise MissingExtraError(
                "hdpkit.shards.Dask", None, "with distributed installed", 'pip install "hdpkit[dask]"'
            ) from error
        if not isinstance(client, Client):
            raise ParameterError(
                "client", client, "a dask.distributed.Client", "Client(LocalCluster()), Client('tcp://...')."
            )
        if workers is not None:
            whole_number("workers", workers, 1, remedy="Leave it out for one per worker of the cluster.")
        self.client = client
        self.workers = workers
        self.wait = positive_number("wait", wait, remedy="60 seconds is usual.")
        if patience is not None:
            positive_number("patience", patience, remedy="Leave it out for no limit.")
        self.patience = patience
        self._shards: list[range] = []
        self._method = ""
        self._workers: list[Any] = []
        self._answers: list[Any] = []

    def __repr__(self) -> str:
        return f"Dask({self.client!r})"

    def _place(self, job: ShardedJob) -> None:
        self._workers = []
        self._blocks = job.threads
        self.client.wait_for_workers(1, timeout=self.wait)
        addresses = sorted(self.client.ncores())
        self._shards = spread(job.source, min(self.workers or len(addresses), len(job.source.shards)))
        try:
            made = [
                self.client.submit(
                    Worker, job, shards, i == 0, actor=True, pure=False, workers=addresses[i % len(addresses)]
                )
                for i, shards in enumerate(self._shards)
            ]
            self._workers = [one.result(timeout=self.wait) for one in made]
        except Exception as error:
            raise _lost(error) from error

    def _call(self, method: str, *arguments: Any) -> None:
        self._method = method
        try:
            self._answers = [worker.call(method, *arguments) for worker in self._workers]
        except Exception as error:
            raise _lost(error) from error

    def _waited(self) -> Iterator[Any]:
        end = None if self.patience is None else time.monotonic() + self.patience
        for answer in self._answers:
            try:
                yield answer.result(timeout=None if end is None else max(end - time.monotonic(), 0.0))
            except TimeoutError:
                late = [i for i, one in enumerate(self._answers) if not one.done()]
                assert self.patience is not None
                raise too_slow(
                    self._method, self.patience, [(f"worker {i}", self._shards[i]) for i in late]
                ) from None
            except Exception as error:  # from the cluster; errors of workers are results
                raise _lost(error) from error


def _lost(error: Exception) -> LostPartError:
    return LostPartError(
        "backend", repr(error), "a cluster that loses no workers",
        "The run goes on from its last checkpoint if it has a folder: give one, and run again.",
    )  # fmt: skip


COMING = 1  # tag of the messages by which a rank says that it has done its step
PAUSE = 5e-4  # seconds between two looks at who has
MPICH = re.compile(r"/dev/shm/mpich_shm_[0-9a-f]+_0$", re.MULTILINE)


class MPI(Backend):
    """One worker per rank.

    Every rank calls `hdpkit.Scheduler.run` with the same arguments, and callbacks are called in every rank.
    Rank 0 has the results, reports the progress, and writes the file of the run; each rank reads its own
    shards, and writes their states. An error of a rank is raised in all. If a rank is killed, ``mpiexec``
    ends the others: continue from the last checkpoint with `hdpkit.Run.resume` and any number of ranks.
    Raises a MissingExtraError if mpi4py, or a runtime of MPI, is not installed
    (``pip install "hdpkit[mpi]"``).

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        By default all ranks.
    patience : float, optional
        Seconds that ranks may wait for each other after a step of the run, for instance a sweep or a
        checkpoint; then rank 0 raises a SlowPartError that names the shards, and all ranks end when a process
        ends that got it. By default there is no limit.

    Attributes
    ----------
    rank : int
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
        return checked([self._comm.allreduce(self._answer, op=added)])[0]

    def _swept(self) -> Any:
        """Each rank sums a block of terms, while it prepares and sends others, and sends the sum."""
        comm, own, n = self._comm, self.rank, self._comm.Get_size()
        total = self._total()
        summed, underway = self._worker.call("block", own, n), []
        self.sent += total.nbytes + _bytes(summed)
        for step in range(1, n + 1):
            if step < n:
                block = self._worker.call("block", (own + step) % n, n)
                self.sent += _bytes(block)
                underway.append(comm.isend(block, dest=(own + step) % n))
            if step > 1:
                summed = added(summed, comm.recv(source=(own - step + 1) % n))
        blocks = checked(comm.allgather(summed))
        for request in underway:
            request.wait()
        return attrs.evolve(total, counts=tuple(block.counts for block in blocks))

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
    """Remove the name of the memory that MPICH's ranks share, which would stay if a rank were killed."""
    with contextlib.suppress(OSError):
        for path in set(MPICH.findall(Path("/proc/self/maps").read_text())):
            Path(path).unlink(missing_ok=True)


def _bytes(block: Any) -> int:
    return len(block.counts) if isinstance(block, CountBlock) else 0


def _world() -> Any:
    try:
        from mpi4py.MPI import COMM_WORLD
    except (ImportError, RuntimeError) as error:
        raise MissingExtraError(
            "hdpkit.shards.MPI", str(error), "with mpi4py and a runtime of MPI installed",
            'pip install "hdpkit[mpi]"',
        ) from error  # fmt: skip
    return COMM_WORLD
