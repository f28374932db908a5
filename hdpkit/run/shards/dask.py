"""Workers of a run as actors of a Dask cluster, driven by this process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from hdpkit.checks import positive_number, whole_number
from hdpkit.errors import LostPartError, MissingExtraError, ParameterError
from hdpkit.run.shards.backend import Backend, checked, too_slow
from hdpkit.run.shards.job import ShardedJob
from hdpkit.run.shards.source import spread
from hdpkit.run.shards.worker import Worker


class Dask(Backend):
    """Workers of a run as actors of the workers of a Dask cluster.

    They read their own shards and write their states: the folders of corpus and run must be at the same
    path for all. If a worker of the cluster is lost, a run with a folder continues from the last checkpoint
    with the available ones; the cluster may replace a lost worker (a nanny does so).

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

    Raises
    ------
    MissingExtraError
        If distributed is not installed: ``pip install "hdpkit[dask]"``.
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

    def _total(self) -> Any:
        return self._added_up(self._waited())

    def _collected(self) -> list[Any]:
        return checked(list(self._waited()))


def _lost(error: Exception) -> LostPartError:
    return LostPartError(
        "backend", repr(error), "a cluster that loses no workers",
        "The run goes on from its last checkpoint if it has a folder: give one, and run again.",
    )  # fmt: skip
