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

from hdpkit.checks import function, instance, whole_number
from hdpkit.checks import path as path_of
from hdpkit.errors import LostPartError, ParameterError, RunError, short_repr
from hdpkit.files import to_json
from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.protocol import check_move
from hdpkit.run.describe import describe, described_franchise
from hdpkit.run.run_folder import RUN, ChainWriter, RunFolder, Settings
from hdpkit.run.shards.backend import Backend
from hdpkit.run.shards.common import check_served, one_document
from hdpkit.run.shards.files import FromFolder, Stored, remove_others, seating_folder
from hdpkit.run.shards.job import ShardedJob, as_moves, as_seed, check_job, differs
from hdpkit.run.shards.local import Local
from hdpkit.run.shards.shard_state import COLUMNS, OPENS
from hdpkit.run.shards.source import Source
from hdpkit.run.shards.starts import ShardedStart, as_start
from hdpkit.run.trace import Trace

MOST_LOSSES = 5  # consecutive losses of workers without a sweep in between

Progress = Callable[[int, dict[str, Any]], Any]


class ShardedRun:
    """A chain over shards at the end of `run`: its trace, and its current state.

    In a run on MPI every process has this object, and all must call its methods; `state` and
    `document_counts` return their results only at rank 0, and None elsewhere.

    Attributes
    ----------
    sweep : int
        Number of sweeps since the start of the chain.
    trace : Trace
        What a trace records, one row per sweep since the start of the chain.
    numbers : dict
        The columns of the trace by their keys.
    seconds : float64 array
        Seconds of each sweep since the last call of `run`.
    sent : int64 array
        Bytes that a worker sent in each of these sweeps, the largest among the workers known to this process.
    """

    def __init__(
        self, job: ShardedJob, backend: Backend, files: RunFolder | None = None, target: int = 0
    ) -> None:
        self._job = job
        self._backend = backend
        self._files = files
        self._target = target
        self._writer: ChainWriter | None = None
        self._saved = 0  # sweep of the last checkpoint
        self.sweep = 0
        self.trace = Trace()
        self._seconds: list[float] = []
        self._sent: list[int] = []

    def __repr__(self) -> str:
        return (
            f"<ShardedRun: {self.sweep} sweeps over {len(self._job.source.shards)} shards, {self._backend}>"
        )

    @property
    def numbers(self) -> dict[str, npt.NDArray[Any]]:
        """The columns of the trace, one entry per sweep."""
        return {key: self.trace[key] for key in self.trace}

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
        found = self._backend.gather("dish_counts")
        counts: npt.NDArray[np.int64] | None = _added(found).toarray() if found else None
        return counts

    def topic_counts(self) -> npt.NDArray[np.int64] | None:
        """Counts from which topics are learned: int64, shape (K, V); see `Franchise.topic_counts`."""
        if not differs(self._job.restaurant):
            return self.dish_counts()
        found = self._backend.gather("observed")
        counts: npt.NDArray[np.int64] | None = found[0][0].toarray() if found else None
        return counts

    def document_counts(self) -> npt.NDArray[np.int64] | None:
        """Customers of each document and dish: int64 rows of document, dish (0 .. K-1) and customers."""
        found = self._backend.gather("document_counts")
        if not found:
            return None
        by_shard = {number: own for part in found for number, own in part.items()}
        rows = [
            np.stack([own["document"].astype(np.int64) + info.first_document, own["dish"], own["customers"]])
            for info, own in ((self._job.source.shards[i], by_shard[i]) for i in sorted(by_shard))
        ]
        return np.concatenate(rows, axis=1).T

    def state(self) -> dict[str, Any] | None:
        """The state as returned by `Franchise.freeze` for the entire corpus in one process."""
        found, commons = self._backend.gather("states"), self._backend.gather("common")
        if not found:
            return None
        seatings = {i: own for part in found for i, own in part.items()}
        return whole_state(self._job.source, self._job.seed, seatings, commons[0])

    # ------------------------------------------------------------------ one step

    def _begin(self) -> None:
        """Set the state of all workers, from the newest checkpoint or the start; save a start."""
        job, loaded = self._job, None
        if self._files is not None:
            self._backend.lead(self._open)
            chain = self._files.chain(0)
            loaded, blocks = chain.load()
            if self._writer is None:
                self.trace = chain.trace(None if loaded is None else loaded.position, blocks)
            if loaded is not None:
                differ = differs(job.restaurant)
                stored = stored_state(self._files, job.source, loaded.frozen, differ)
                job = attrs.evolve(job, start=FromFolder.of(chain.path, stored))
        self._backend.scatter(job)
        self.sweep = int(job.start.common()["sweep"])
        if loaded is not None:
            self._backend.lead(partial(self._seal, loaded.frozen))
        elif self._files is not None:
            self._checkpoint()

    def _open(self) -> None:
        """Open the files of the chain, in the leading process."""
        assert self._files is not None
        self.close()
        self._writer = ChainWriter(self._files.chain(0), self._job.seed, 0, self._target)
        self.trace = self._writer.trace

    def _one_sweep(self) -> dict[str, Any]:
        began = time.perf_counter()
        numbers = self._backend.sweep()
        self.trace._append_row(numbers)
        self._seconds.append(time.perf_counter() - began)
        self._sent.append(self._backend.sent)
        self.sweep += 1
        if self._writer is not None:
            self._writer.swept()
        return numbers

    def _checkpoint(self) -> None:
        assert self._files is not None
        folder = seating_folder(self._files.chain(0).path, self.sweep)
        written = self._backend.gather("write", str(folder))
        commons, counts = self._backend.gather("common"), self._backend.gather("dish_counts")
        differ = differs(self._job.restaurant)
        observed = self._backend.gather("observed") if differ else []

        def seal() -> None:
            log_joint = float(self.trace["log_joint"][-1]) if self.trace.n_draws else float("nan")
            shards = {i: one for part in written for i, one in part.items()}
            stored = Stored.of(commons[0], _added(counts), log_joint, shards, *observed[:1])
            self._seal(stored.frozen())
            if self.sweep == 0:  # the other generation too: from now on one that is missing is missed
                self._seal(stored.frozen())

        self._backend.lead(seal)

    def _seal(self, frozen: dict[str, Any]) -> None:
        """Make a state the newest one, in the leading process."""
        assert self._writer is not None
        self._writer.checkpoint(frozen)
        remove_others(self._writer.folder.path, {self._saved, self.sweep})
        self._saved = self.sweep

    def close(self) -> None:
        """Close the files, without writing anything."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def run(
    restaurant: Restaurant,
    corpus: Source,
    moves: Any,
    *,
    sweeps: int,
    rng: int,
    backend: Backend | None = None,
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
    and initial state, for any backend and any numbers of workers and threads.

    Parameters
    ----------
    restaurant : Restaurant
        Documents below a root: ``hk.Restaurant(root, each="document", ...)``, with one concentration.
    corpus : ShardedCorpus or CutCorpus
        A corpus in shards: ``hk.ShardedCorpus.open(folder)``, or the result of `hdpkit.shards.cut`.
    moves : sequence of Move
        As for a `hdpkit.Scheduler`, each over documents or over totals (`Move.over`), in any order:
        `moves.SliceGibbs`, `moves.CountGibbs`, `moves.RootWeights`, `moves.Concentration`,
        `moves.BaseMeasureParameters`, over `Bursty` `moves.Discount`, and your own.
    sweeps : int
        Total number of sweeps of the chain; a run that continues from a checkpoint runs the remaining ones.
    rng : int
        The seed.
    backend : Backend, optional
        `Local`, `MPI` or `Dask`; by default one worker in this process.
    init : "auto", TermClusters, Random, state, or Franchise
        "auto": `hdpkit.init.TermClusters` of the first million tokens. Both draw the dishes of a document
        from its own stream, and give each dish one table there. A state is returned by `Franchise.freeze`,
        with distinguished customers (`Franchise.expand_cells`). As in `hdpkit.Scheduler.run`, every start
        resets hyperparameters and counts sweeps from 1; a run continues from its folder.
    root : str or FixedWeights
        "weights", or ``hk.FixedWeights(K)``.
    threads : int
        Number of threads of each worker.
    spool : path, optional
        Folder on a local disk where each worker keeps the terms and documents of its tokens in a file without
        a name, 8 bytes a token. By default they are in memory. The topics of tokens, 4 bytes each, are always
        in memory.
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
        Before the first sweep, and before a folder is made, if the measure isn't a `DirichletMultinomial`, or
        a `Bursty` around one.
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
    KeyboardInterrupt
        After Ctrl-C, or if a move raises it; its attribute ``trace`` is the trace so far.
    """
    backend = Local() if backend is None else backend
    instance("backend", backend, Backend, "a backend", remedy="hdpkit.shards.Local(2), MPI(), Dask(client).")
    whole_number("sweeps", sweeps, 0, remedy="Sweeps from the start of the chain.")
    whole_number("checkpoint", checkpoint, 1, remedy="For instance 10.")
    if progress is not None:
        function("progress", progress, remedy="Pass a function of the sweep and its numbers.")
    if not all(hasattr(corpus, name) for name in ("shards", "shard", "n_terms", "digest")):
        raise ParameterError(
            "corpus", corpus, "a corpus in shards", "hk.ShardedCorpus.open(folder), or shards.cut(corpus, n)."
        )
    place = None if spool is None else str(path_of("spool", spool, remedy="A folder on a local disk."))
    job = ShardedJob(restaurant, corpus, as_moves(moves), as_seed(rng), _Nothing(), root, threads, place)
    check_job(job)
    if folder is None:
        found = ShardedRun(attrs.evolve(job, start=_start(init, job)), backend)
        _carry_out(found, sweeps, checkpoint, progress)
        return found
    where = path_of("folder", folder, remedy="A new folder, or that of the same run.")
    with ExitStack() as stack:
        backend.lead(partial(_hold, stack, where, job, init, sweeps, checkpoint))
        return go_on(RunFolder.open(where), job, backend, sweeps, checkpoint, progress)


def go_on(
    files: RunFolder,
    job: ShardedJob,
    backend: Backend,
    sweeps: int,
    checkpoint: int | None,
    progress: Progress | None,
) -> ShardedRun:
    """Run the chain of a folder, whose lock is held, up to a sweep counted from its start.

    The job is as the run was begun, with any numbers of workers and threads; its start isn't used.
    ``checkpoint`` None: one after the last sweep. ``progress`` is called in every process.
    """
    if files.chain(0).load()[0] is None:
        job = attrs.evolve(job, start=_start(files.start().init, job))
    found = ShardedRun(job, backend, files, sweeps)
    try:
        _carry_out(found, sweeps, checkpoint, progress)
    finally:
        found.close()
    found.trace.seed = job.seed
    return found


def _start(init: Any, job: ShardedJob) -> ShardedStart:
    most = job.root.n_dishes if isinstance(job.root, FixedWeights) else None
    bursts = job.restaurant.measure.starting_parameters if differs(job.restaurant) else None
    return as_start(init, job.source, most, job.streams(), bursts)


def _hold(stack: ExitStack, path: Path, job: ShardedJob, init: Any, sweeps: int, checkpoint: int) -> None:
    """Hold the lock of the folder of a run until the end of the stack; make it if there is none."""
    franchise = Franchise(job.restaurant, one_document(job.source), store="counts", root=job.root)
    franchise.expand_cells()
    if os.path.lexists(path / RUN):
        files = RunFolder.open(path)
        stack.callback(files.lock().release)
        _check_same(files, franchise, job)
        return
    for move in job.moves:
        check_move(move, franchise)
    check_served(franchise)
    _start(init, job)  # what can't be a start is refused before the folder is made
    settings = Settings(
        target=sweeps, seed=job.seed, stream=0, chains=None, thin=1, audit_every=None,
        checkpoint_sweeps=checkpoint, checkpoint_seconds=None, exact=all(move.exact for move in job.moves),
        record={}, threads=job.threads, spool=job.spool,
    )  # fmt: skip
    _, lock = RunFolder.create(path, franchise, job.moves, init, settings, job.source)  # type: ignore[arg-type]
    stack.callback(lock.release)


def _check_same(files: RunFolder, franchise: Franchise, job: ShardedJob) -> None:
    """Raise a RunError unless the folder is that of a run with these arguments."""
    declared, moves = files.declared()
    given = described_franchise(franchise)
    for name, kept, now, shown in (
        ("corpus", files.corpus_in_shards, job.source.digest, job.source.digest),
        ("root", declared["root"], given["root"], job.root),
        ("restaurant", declared, given, job.restaurant),
        ("moves", moves, [describe(move, "moves") for move in job.moves], list(job.moves)),
        ("rng, the seed", files.settings.seed, job.seed, job.seed),
    ):
        if to_json(kept) != to_json(now):
            raise RunError(
                f"{name}, in {files.path}", short_repr(kept), f"the argument given now, {shown}",
                "Give the arguments that the run began with, or another folder.",
            )  # fmt: skip


def _carry_out(run: ShardedRun, sweeps: int, checkpoint: int | None, progress: Progress | None) -> None:
    """Begin, and sweep until a given number; if a worker is lost, begin again."""
    begun, losses = False, 0
    while not begun or run.sweep < sweeps:
        try:
            if not begun:
                run._begin()
                begun = True
                continue
            numbers = run._one_sweep()
            losses = 0
            if progress is not None:
                progress(run.sweep, numbers)
            due = run.sweep == sweeps or (checkpoint is not None and run.sweep % checkpoint == 0)
            if run._files is not None and due:
                run._checkpoint()
        except LostPartError:
            losses += 1
            if run._files is None or losses > MOST_LOSSES:
                raise
            begun = False
        except KeyboardInterrupt as error:
            run.trace.interrupted = True
            error.trace = run.trace  # type: ignore[attr-defined]
            raise


@attrs.frozen
class _Nothing:
    """Placeholder for a start that is not known yet."""

    def common(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def seating(self, *shard: Any) -> dict[str, Any]:
        """Nothing."""
        return {}


def _added(counts: list[Any]) -> Any:
    """The sum of counts of terms by dish in some workers, sparse; None of those that leave them to others."""
    return sum((one for one in counts[1:] if one is not None), counts[0])


def stored_state(files: RunFolder, source: Any, frozen: dict[str, Any], differ: bool) -> Stored:
    """The state of a checkpoint of the run, checked; ``differ``: whether topics differ by document."""
    weights = files.declared()[0]["root"] == "weights"
    return Stored.read(frozen, source.n_terms, len(source.shards), weights, files.chain(0).path, differ)


def whole_state(
    source: Source, seed: int, seatings: dict[int, dict[str, npt.NDArray[np.int32]]], common: dict[str, Any]
) -> dict[str, Any]:
    """Return the state of all documents in the form of `Franchise.freeze`."""
    columns: dict[str, list[Any]] = {name: [] for name in next(iter(seatings.values()))}
    for i in sorted(seatings):
        for name in columns:
            first = source.shards[i].first_document if name == "count_node" else 0
            columns[name].append(seatings[i][name] + np.int32(first))
    slots = common["slots"]
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    tables = np.bincount(joined["count_dish"], weights=joined["count_tables"], minlength=int(slots.max()) + 1)
    root = dict(zip(COLUMNS, (np.zeros_like(slots), slots, tables[slots], np.ones_like(slots)), strict=True))
    seating = {"dish": joined["dish"]}
    seating |= {name: np.append(root[name], joined[name]).astype(np.int32) for name in COLUMNS}
    n_documents = source.shards[-1].first_document + source.shards[-1].n_documents
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
        "bank": {OPENS: joined[OPENS].astype(np.int8)} if OPENS in joined else {},
        "sweep": common["sweep"],
        "streams": {"seed": seed, "chain": 0},
        "components": common["components"],
    }
