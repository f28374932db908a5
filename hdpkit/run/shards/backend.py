"""Backends of a run over shards: scatter, sweep, reduce and gather, for any kind of processes."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from hdpkit.checks import whole_number
from hdpkit.errors import SlowPartError
from hdpkit.run.shards.job import ShardedJob
from hdpkit.run.shards.messages import Failed, Swept
from hdpkit.run.shards.source import spread
from hdpkit.run.shards.worker import Worker


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

    def _added_up(self, answers: Iterable[Any]) -> Any:
        """The sum of messages, added as they arrive; raises an error if one of them is an error."""
        total, sent = None, 0
        for answer in answers:
            if isinstance(answer, Swept):
                sent = max(sent, answer.changes.nbytes)
            total = answer if total is None else total.plus(answer)
        if isinstance(total, Failed):
            raise total.error
        self.sent += sent
        return total

    # ------------------------------------------------------------------ specific to each backend

    @abc.abstractmethod
    def _place(self, job: ShardedJob) -> None:
        """Create the workers."""

    @abc.abstractmethod
    def _call(self, method: str, *arguments: Any) -> None:
        """Start a method in every worker."""

    @abc.abstractmethod
    def _total(self) -> Any:
        """Wait for all results and return their sum; raise the error of a worker in every process."""

    @abc.abstractmethod
    def _collected(self) -> list[Any]:
        """Wait for all results and return them if this process leads; errors as in `_total`."""


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

    def _total(self) -> Any:
        return self._added_up(answer.result() for answer in self._answers)

    def _collected(self) -> list[Any]:
        return checked([answer.result() for answer in self._answers])
