"""Parts of a run in this process."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from hdpkit.checks import whole_number
from hdpkit.shards.carrier import Carrier, checked
from hdpkit.shards.job import Job
from hdpkit.shards.source import spread
from hdpkit.shards.worker import Worker

__all__ = ["Local"]


class Local(Carrier):
    """Parts of a run in threads of this process.

    Every part has its own statistics, as in separate processes; one part with several threads takes less
    memory.

    Parameters
    ----------
    parts : int
        Number of parts, at most the number of shards.
    """

    def __init__(self, parts: int = 1) -> None:
        self.parts = whole_number("parts", parts, 1, 1024, remedy="One is enough.")
        self._workers: list[Worker] = []
        self._answers: list[Future[Any]] = []
        self._pool = ThreadPoolExecutor(self.parts, thread_name_prefix="hdpkit-part")

    def __repr__(self) -> str:
        return f"Local({self.parts})"

    def _place(self, job: Job) -> None:
        shards = [one for one in spread(job.source, self.parts) if len(one)]
        self._workers = [Worker(job, one, reports=i == 0) for i, one in enumerate(shards)]
        self._blocks = job.threads

    def _call(self, verb: str, *arguments: Any) -> None:
        self._answers = [self._pool.submit(worker.call, verb, *arguments) for worker in self._workers]

    def _total(self) -> Any:
        return self._added_up(answer.result() for answer in self._answers)

    def _collected(self) -> list[Any]:
        return checked([answer.result() for answer in self._answers])
