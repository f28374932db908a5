"""Workers of a run in this process."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from hdpkit.checks import whole_number
from hdpkit.run.shards.backend import Backend, checked
from hdpkit.run.shards.job import ShardedJob
from hdpkit.run.shards.source import spread
from hdpkit.run.shards.worker import Worker


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
