"""Chains over shards, from the start or from a checkpoint to a given sweep."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import instance, whole_number
from hdpkit.checks import path as path_of
from hdpkit.errors import LostPartError, ParameterError, RunError
from hdpkit.franchise import FixedWeights, Restaurant
from hdpkit.franchise.part import COLUMNS
from hdpkit.record.chain_folder import locked_folder
from hdpkit.shards.carrier import Carrier
from hdpkit.shards.files import FromFolder, read_run, remove_others, state_folder, write_run
from hdpkit.shards.job import Job, as_moves, as_seed, check_job
from hdpkit.shards.local import Local
from hdpkit.shards.source import Source
from hdpkit.shards.starts import as_start

__all__ = ["ShardedRun", "run"]

MOST_LOSSES = 5  # consecutive losses of workers without a sweep in between

Progress = Callable[[int, dict[str, Any]], Any]


class ShardedRun:
    """A chain over shards at the end of `run`: its recorded numbers, and its current state.

    In a run on MPI every process has this object, and all must call its methods; `state` and
    `document_counts` return their results only at rank 0, and None elsewhere.

    Attributes
    ----------
    sweep : int
        Number of sweeps since the start of the chain.
    numbers : dict
        The numbers that a trace records, under the same keys: one entry per sweep.
    seconds : float64 array
        Seconds of each sweep since the last call of `run`.
    sent : int64 array
        Bytes that a part sent in each of these sweeps, the largest among the parts known to this process.
    """

    def __init__(self, job: Job, carrier: Carrier) -> None:
        self._job = job
        self._carrier = carrier
        self.sweep = 0
        self._rows: list[dict[str, Any]] = []
        self._seconds: list[float] = []
        self._sent: list[int] = []

    def __repr__(self) -> str:
        return (
            f"<ShardedRun: {self.sweep} sweeps over {len(self._job.source.shards)} shards, {self._carrier}>"
        )

    @property
    def numbers(self) -> dict[str, npt.NDArray[Any]]:
        """The numbers that a trace records, one entry per sweep."""
        keys = self._rows[0] if self._rows else {}
        return {key: np.array([row[key] for row in self._rows]) for key in keys}

    @property
    def seconds(self) -> npt.NDArray[np.float64]:
        """Seconds of each sweep."""
        return np.array(self._seconds)

    @property
    def sent(self) -> npt.NDArray[np.int64]:
        """Bytes sent in each sweep."""
        return np.array(self._sent, dtype=np.int64)

    def dish_counts(self) -> npt.NDArray[np.int64] | None:
        """Counts of each term in each dish: int64, shape (K, V)."""
        found = self._carrier.gather("dish_counts")
        return found[0] if found else None

    def document_counts(self) -> npt.NDArray[np.int64] | None:
        """Customers of each document and dish: int64 rows of document, dish (0 .. K-1) and customers."""
        found = self._carrier.gather("document_counts")
        if not found:
            return None
        by_shard = {number: own for part in found for number, own in part.items()}
        rows = [
            np.stack([own["document"].astype(np.int64) + info.first_document, own["dish"], own["customers"]])
            for info, own in ((self._job.source.shards[i], by_shard[i]) for i in sorted(by_shard))
        ]
        return np.concatenate(rows, axis=1).T

    def write_document_counts(self, folder: str | os.PathLike[str]) -> None:
        """Write a file per shard, ``shard-0000.npz``, with the arrays "document", "dish" and "customers".

        Every part writes the files of its own shards. Documents are numbered from 0 in each shard, dishes
        like the rows of `dish_counts`.
        """
        where = path_of("folder", folder, remedy="A folder for the files.")
        self._carrier.gather("write_counts", str(where))

    def state(self) -> dict[str, Any] | None:
        """The state as returned by `Franchise.freeze` for the entire corpus in one process."""
        found, commons = self._carrier.gather("states"), self._carrier.gather("common")
        if not found:
            return None
        return whole_state(self._job, {i: own for part in found for i, own in part.items()}, commons[0])

    def _one_sweep(self) -> None:
        began = time.perf_counter()
        self._carrier.sweep()
        self._rows.append(self._carrier.reduce())
        self._seconds.append(time.perf_counter() - began)
        self._sent.append(self._carrier.sent)
        self.sweep += 1

    def _checkpoint(self, folder: Path) -> None:
        written = self._carrier.gather("write", str(state_folder(folder, self.sweep)))
        commons = self._carrier.gather("common")

        def seal() -> None:
            digests = {str(i): digest for part in written for i, digest in part.items()}
            state = {"common": commons[0], "digests": digests, "rows": self._rows}
            write_run(folder, self._job.settings(), state)
            remove_others(folder, self.sweep)

        self._carrier.lead(seal)


def run(
    restaurant: Restaurant,
    corpus: Source,
    moves: Any,
    *,
    sweeps: int,
    rng: int,
    carrier: Carrier | None = None,
    init: Any = "auto",
    root: str | FixedWeights = "weights",
    threads: int = 1,
    spool: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    checkpoint: int = 10,
    progress: Progress | None = None,
) -> ShardedRun:
    """Run a chain over the shards of a corpus.

    The chain is bit for bit that of `hdpkit.Scheduler.run` over the entire corpus with the same moves, seed
    and initial state, for any carrier and any numbers of parts and threads.

    Parameters
    ----------
    restaurant : Restaurant
        Documents below a root: ``hk.Restaurant(root, each="document", ...)``, with one concentration.
    corpus : ShardedCorpus or CutCorpus
        A corpus in shards: ``hk.ShardedCorpus.open(folder)``, or the result of `hdpkit.shards.cut`.
    moves : sequence of Move
        `moves.SliceGibbs` or `moves.CountGibbs` once; `moves.RootWeights`, `moves.Concentration` and
        `moves.BaseMeasureParameters` as for a `hdpkit.Scheduler`.
    sweeps : int
        Total number of sweeps of the chain; a run that continues from a checkpoint runs the remaining ones.
    rng : int
        The seed.
    carrier : Carrier, optional
        `Local`, `MPI` or `Dask`; by default one part in this process.
    init : "auto", TermClusters, Random, state, or Franchise
        "auto": `hdpkit.init.TermClusters` of the first million tokens. Both draw the dishes of a document
        from its own stream, and give each dish one table there. A state is returned by `Franchise.freeze`,
        with distinguished customers (`Franchise.tell_apart`). As in `hdpkit.Scheduler.run`, every start
        resets hyperparameters and counts sweeps from 1; a run continues from its folder.
    root : str or FixedWeights
        "weights", or ``hk.FixedWeights(K)``.
    threads : int
        Number of threads of each part.
    spool : path, optional
        Folder on a local disk where each part keeps the terms and documents of its tokens in a file without a
        name, 8 bytes a token. By default they are in memory; the topics of tokens, 4 bytes each, always are.
    folder : path, optional
        Folder for checkpoints. If it has one of a run with the same arguments, the run continues from it.
    checkpoint : int
        Number of sweeps between checkpoints; there is always one after the last sweep.
    progress : callable, optional
        Called after each sweep with its number and its numbers, in every process.

    Returns
    -------
    ShardedRun

    Raises
    ------
    ParameterError, ScheduleError
        Before any work is done.
    KernelError
        Before the first sweep, if the measure isn't a `DirichletMultinomial`.
    ShardError
        If a shard, or its state, is missing or damaged; the message names the shard.
    RunError
        If the folder has a run with other arguments; a LockedRunError if another process is using it. Errors
        are raised in every process.
    LostPartError
        If a worker of a cluster is lost and there is no folder, or several are lost in a row without a
        complete sweep.
    StorageError
        If the disk is full; the message names the shard whose state can't be written.
    """
    carrier = Local() if carrier is None else carrier
    instance("carrier", carrier, Carrier, "a carrier", remedy="hdpkit.shards.Local(2), MPI(), Dask(client).")
    whole_number("sweeps", sweeps, 0, remedy="Sweeps from the start of the chain.")
    whole_number("checkpoint", checkpoint, 1, remedy="For instance 10.")
    if not all(hasattr(corpus, name) for name in ("shards", "shard", "n_terms", "digest")):
        raise ParameterError(
            "corpus", corpus, "a corpus in shards", "hk.ShardedCorpus.open(folder), or shards.cut(corpus, n)."
        )
    place = None if spool is None else str(path_of("spool", spool, remedy="A folder on a local disk."))
    job = Job(restaurant, corpus, as_moves(moves), as_seed(rng), _Nothing(), root, threads, place)
    check_job(job)
    where = (
        None if folder is None else path_of("folder", folder, remedy="A new folder, or that of the same run.")
    )
    with ExitStack() as stack:
        if where is not None:
            carrier.lead(partial(_hold, stack, where))
        if _kept(job, where) is None:
            most = root.n_dishes if isinstance(root, FixedWeights) else None
            job = attrs.evolve(job, start=as_start(init, corpus, most, job.streams()))
        found = ShardedRun(job, carrier)
        _carry_out(found, sweeps, where, checkpoint, progress)
    return found


def _hold(stack: ExitStack, folder: Path) -> None:
    """Hold the lock of a folder until the end of the stack."""
    stack.callback(locked_folder(folder).release)


def _carry_out(
    run: ShardedRun, sweeps: int, where: Path | None, checkpoint: int, progress: Progress | None
) -> None:
    """Begin, and sweep until a given number; if a worker is lost, begin again."""
    begun, losses = False, 0
    while not begun or run.sweep < sweeps:
        try:
            if not begun:
                _begin(run, where, _kept(run._job, where))
                begun = True
                continue
            run._one_sweep()
            losses = 0
            if progress is not None:
                progress(run.sweep, run._rows[-1])
            if where is not None and (run.sweep % checkpoint == 0 or run.sweep == sweeps):
                run._checkpoint(where)
        except LostPartError:
            losses += 1
            if where is None or losses > MOST_LOSSES:
                raise
            begun = False


@attrs.frozen
class _Nothing:
    """Placeholder for a start that is not known yet."""

    def common(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def seating(self, *shard: Any) -> dict[str, Any]:
        """Nothing."""
        return {}


def _kept(job: Job, folder: Path | None) -> dict[str, Any] | None:
    """The checkpoint of a folder; a RunError if it is of another run."""
    found = None if folder is None else read_run(folder)
    if found is None:
        return None
    settings, state = found
    for name, value in job.settings().items():
        if settings.get(name) != value:
            raise RunError(
                f"{name}, in {folder}", settings.get(name), f"the argument given now, {value}",
                "Give the arguments that the run began with, or another folder.",
            )  # fmt: skip
    return state


def _begin(run: ShardedRun, folder: Path | None, kept: dict[str, Any] | None) -> None:
    """Set the state of all parts from a checkpoint or the start."""
    job = run._job
    if kept is not None:
        assert folder is not None
        at = state_folder(folder, kept["common"]["sweep"])
        job = attrs.evolve(job, start=FromFolder(str(at), kept["common"], kept["digests"]))
    run._rows = [] if kept is None else list(kept["rows"])
    run._carrier.scatter(job)
    run.sweep = int(job.start.common()["sweep"])


def whole_state(
    job: Job, seatings: dict[int, dict[str, npt.NDArray[np.int32]]], common: dict[str, Any]
) -> dict[str, Any]:
    """Return the state of all documents in the form of `Franchise.freeze`."""
    columns: dict[str, list[Any]] = {name: [] for name in ("dish", *COLUMNS)}
    for i in sorted(seatings):
        for name in columns:
            first = job.source.shards[i].first_document if name == "count_node" else 0
            columns[name].append(seatings[i][name] + np.int32(first))
    slots = common["slots"]
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    tables = np.bincount(joined["count_dish"], weights=joined["count_tables"], minlength=int(slots.max()) + 1)
    root = dict(zip(COLUMNS, (np.zeros_like(slots), slots, tables[slots], np.ones_like(slots)), strict=True))
    seating = {"dish": joined["dish"]}
    seating |= {name: np.append(root[name], joined[name]).astype(np.int32) for name in COLUMNS}
    n_documents = job.source.shards[-1].first_document + job.source.shards[-1].n_documents
    of_root, of_documents = common["concentration"]
    return {
        "seating": seating,
        "slots": slots,
        "held": np.empty(0, dtype=np.int32),
        "dish_ids": common["dish_ids"],
        "births": common["births"],
        "concentration": np.append(of_root, np.full(n_documents, of_documents)),
        "discount": np.zeros(n_documents + 1),
        "measure": common["measure"],
        "bank": {},
        "sweep": common["sweep"],
        "attempt": 0,
        "streams": {"seed": job.seed, "chain": 0},
        "components": common["components"],
    }
