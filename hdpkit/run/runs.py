"""Runs: the scheduler, which runs moves over a franchise, and runs in folders, which are continued."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import attrs
import filelock

from hdpkit.allowed import Allowed
from hdpkit.checks import LARGEST, MOST_CHAINS, absolute_path, instance, items, whole_number
from hdpkit.errors import LostPartError, ParameterError, RunError, ScheduleError, printable
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import kept_of
from hdpkit.moves import Move
from hdpkit.random import Seed, Streams
from hdpkit.run.chains import run_chains, run_chains_in_folder
from hdpkit.run.collect import (
    Checkpoint,
    CheckpointWriter,
    Plan,
    check_on_interrupt,
    checked_callbacks,
    collect,
    ended,
    warn_of_many_topics,
)
from hdpkit.run.describe import function_name
from hdpkit.run.progress import bar_of
from hdpkit.run.run_folder import ChainWriter, Checkpointed, RunFolder, Settings, versions
from hdpkit.run.samples import SampleFile, Samples, StoredSamples
from hdpkit.run.states import ChainState, state_of
from hdpkit.run.sweeps import Chain, Draws, OneProcess, Order, Progress
from hdpkit.run.trace import ChainTrace, Draw, Trace, own_functions, scalars

if TYPE_CHECKING:  # other runs don't need its modules
    from hdpkit.run.over_shards import OverShards
    from hdpkit.run.shards.backend import Backend
    from hdpkit.run.shards.franchise import ShardedFranchise


def chain_of(franchise: Any, moves: Sequence[Move], backend: Any, threads: int = 1) -> Chain:
    """The chain of these moves over a franchise; its start is computed on so many threads."""
    if not isinstance(franchise, Franchise):
        from hdpkit.run.shards.franchise import ShardedChain, ShardedFranchise

        kinds, remedy = (Franchise, ShardedFranchise), "hk.Franchise(restaurant, data)."
        instance("franchise", franchise, kinds, "a Franchise", remedy=remedy)
        return ShardedChain(franchise, moves, backend)
    if backend is not None:
        raise ParameterError(
            "backend", backend, "None, unless the corpus is in shards",
            "Leave it out; chains=4 runs four chains in processes. See hdpkit.shards.ShardedFranchise.",
        )  # fmt: skip
    franchise.data.check_unchanged()  # first: over changed data a closed franchise can't be opened again
    return OneProcess(moves, franchise, threads)


@contextmanager
def locked(chain: Chain, take: Callable[[], filelock.BaseFileLock]) -> Iterator[None]:
    """Hold a lock, which the leading process takes, until the end of the block."""
    locks = list[filelock.BaseFileLock]()
    chain.lead(lambda: locks.append(take()))
    try:
        yield
    finally:
        for lock in locks:
            lock.release()


@contextmanager
def begin_folder(
    path: Path, chain: Chain, sweeps: int, init: Any, plan: Plan, chains: int | None
) -> Iterator[RunFolder]:
    """Create a run folder for the block, with all that is needed to run, and to start again after a kill."""
    settings = Settings(
        target=sweeps + (chain.franchise.sweep if init is None else 0),
        seed=chain.streams.seed,
        stream=0 if chains is not None else chain.streams.chain,
        chains=chains,
        thin=plan.thin,
        audit_every=plan.audit_every,
        checkpoint_sweeps=plan.checkpoint.sweeps,
        checkpoint_seconds=plan.checkpoint.seconds,
        exact=all(move.exact for move in chain.moves),
        record={key: function_name(function) for key, function in plan.record.items()},
        samples=None if plan.samples is None else plan.samples.as_dict(),
        **chain.settings,
    )
    given = path, chain.declared, chain.moves, init, settings, chain.data
    with locked(chain, lambda: RunFolder.create(*given)[1]):
        yield RunFolder.open(path)


def run_folder_to(
    folder: RunFolder, chain: Chain, plan: Plan, target: int, processes: int | None
) -> Trace | ChainTrace:
    """Run every chain of a folder up to a sweep; the franchise is changed only if there is one chain."""
    chains = folder.settings.chains
    if chains is None:
        return run_in_folder(folder.path, 0, chain, plan, target)
    assert isinstance(chain, OneProcess)
    return run_chains_in_folder(folder.path, chain, plan, chains, target, processes)


MOST_LOSSES = 5  # consecutive losses of workers without a sweep in between


def run_in_folder(path: Path, number: int, chain: Chain, plan: Plan, target: int) -> Trace:
    """Start or continue one chain; returns its complete trace. If a worker is lost, it begins again."""
    losses = list[LostPartError]()
    plan = attrs.evolve(plan, callbacks=(*plan.callbacks, lambda draw: losses.clear()))
    while True:
        try:
            return _run_in_folder(path, number, chain, plan, target)
        except LostPartError as error:
            losses.append(error)
            if len(losses) > MOST_LOSSES:
                raise


def _run_in_folder(path: Path, number: int, chain: Chain, plan: Plan, target: int) -> Trace:
    folder = RunFolder.open(path)
    settings = folder.settings
    chain.streams = Streams(settings.seed, settings.stream + number)
    chain.folder = folder.chain(number)
    writers = list[ChainWriter]()  # one in the leading process
    given = chain.folder, chain.streams.seed, chain.streams.chain, target, plan.samples
    chain.lead(lambda: writers.append(ChainWriter(*given)))
    writer = writers[0] if writers else None
    try:
        loaded, trace = chain.folder.begun() if writer is None else (writer.loaded, writer.trace)
        checkpoints = CheckpointWriter(chain, writer, plan.checkpoint)
        init = None
        if loaded is not None:
            chain.thaw(loaded.frozen)
            sweep = chain.franchise.sweep
            wanted = plan.samples is not None and plan.samples.wanted(sweep)
            if wanted and not os.path.lexists(chain.folder.sample(sweep).path):  # it was removed
                checkpoints.keep(kept_of(chain.franchise))
        else:
            start = folder.start()
            init = start.init
            if start.frozen is not None:
                chain.thaw(start.frozen)
        sweeps = target - (chain.franchise.sweep if init is None else 0)
        if sweeps < 1:
            trace.seed, trace.exact = settings.seed, settings.exact
            return trace
        return collect(chain, sweeps, init, plan, trace, checkpoints)
    finally:
        if writer is not None:
            writer.close()


_BITS_DEPEND_ON = ("hdpkit", "numpy")


def open_run(folder: str | os.PathLike[str], allow: Iterable[Any] = ()) -> Run:
    """Open a run folder.

    Raises a RunError if there is no run in the folder; a CorruptRunError or RunVersionError if run.json or
    the data fail their checks.

    Parameters
    ----------
    folder : path
        The folder that was given to `Scheduler.run`.
    allow : iterable of str, class or function
        Code of your own that may be imported: names of modules, or classes and functions. What files of a run
        name from outside hdpkit runs only if you allow it; an error names the module to allow.
    """
    return Run(absolute_path("folder", folder, remedy="What was given to Scheduler.run as folder."), allow)


class InOneProcess:
    """The chains of a run over data that one process has."""

    def __init__(self, files: RunFolder, data: Any, allowed_imports: Allowed) -> None:
        self.files = files
        self.data = data
        self.allowed_imports = allowed_imports

    def declared(self) -> Franchise:
        """The franchise, without seated customers."""
        return self.files.franchise(self.allowed_imports, self.data)

    def check_own(self, franchise: Any) -> None:
        """Raise an error unless a franchise can be one of this run."""
        instance(
            "franchise",
            franchise,
            Franchise,
            "a Franchise, or None",
            remedy="Leave it out, or pass run.franchise().",
        )
        if len(franchise.data) != len(self.data):
            raise ParameterError(
                "franchise", franchise, f"one of this run, with {len(self.data)} customers",
                "Leave it out, or pass run.franchise().",
            )  # fmt: skip

    def franchise(self, number: int, loaded: Checkpointed) -> Franchise:
        """The franchise in the state of a checkpoint."""
        franchise = self.declared()
        franchise.thaw(loaded.frozen)
        franchise.streams = Streams(loaded.seed, loaded.chain)
        return franchise

    def state(self, number: int, loaded: Checkpointed) -> ChainState:
        """The state of a checkpoint."""
        return state_of(self.franchise(number, loaded))

    def files_of(self, loaded: Checkpointed) -> Iterator[tuple[str, Callable[[], str]]]:
        """Checks of the files besides the state that a checkpoint has: none."""
        yield from ()

    def audit(self, number: int, loaded: Checkpointed) -> tuple[str, dict[str, Any]]:
        """Recompute the counts of the state and compare them; and its scalars."""
        franchise = self.franchise(number, loaded)
        franchise.audit()
        detail = f"the state passes its audit: {franchise.n_dishes} dishes, {franchise.n_tables} tables"
        return detail, scalars(franchise)


def chains_of(files: RunFolder, data: Any, allowed_imports: Allowed) -> InOneProcess | OverShards:
    """The chains of a run, in one process or over shards."""
    if files.corpus_in_shards is None:
        return InOneProcess(files, data, allowed_imports)
    from hdpkit.run.over_shards import OverShards  # other runs don't need its modules

    return OverShards(files, data, allowed_imports)


class Run:
    """A run folder. See `open_run`.

    Attributes
    ----------
    folder : Path
    versions : dict
        Versions of hdpkit, NumPy, Python and the system that started the run.
    allowed : Allowed
        What may be imported because its files name it.
    """

    def __init__(self, folder: Path, allow: Iterable[Any] = ()) -> None:
        self.allowed = Allowed(allow)
        self._files = RunFolder.open(folder)
        self._data: Any = self._files.data()
        self._kind = chains_of(self._files, self._data, self.allowed)
        self.folder = folder
        self.versions = self._files.versions

    def __repr__(self) -> str:
        chains = self._files.settings.chains
        what = "one chain" if chains is None else f"{chains} chains"
        return (
            f"<Run in {printable(str(self.folder))}: {what}, planned to sweep {self._files.settings.target}>"
        )

    @property
    def trace(self) -> Trace | ChainTrace:
        """The trace up to the newest checkpoint; ``interrupted`` is set until the run is complete."""
        traces = [self._trace(number) for number in range(self._files.n_chains)]
        return traces[0] if self._files.settings.chains is None else ChainTrace(traces)

    def _trace(self, number: int) -> Trace:
        chain, settings = self._files.chain(number), self._files.settings
        state, trace = chain.begun()
        trace.seed, trace.exact = settings.seed, settings.exact
        trace.interrupted = state is None or (state.sweep < state.target and not state.stopped)
        return trace

    @property
    def samples(self) -> StoredSamples:
        """The samples up to the newest checkpoint of each chain, ordered by chain; each is read when used.

        A missing sample of a newest checkpoint, which resuming writes again, causes a warning; another one a
        CorruptRunError.
        """
        files, lost = list[SampleFile](), 0
        for number in range(self._files.n_chains):
            chain = self._files.chain(number)
            state = chain.state()
            files += chain.samples(state)
            missing = chain.missing_samples(state)
            lost += len(missing)
            if state is not None and set(missing) - {state.sweep}:
                raise chain.without_samples(missing)
        if lost:
            warnings.warn(
                f"{lost} samples that the run took are not in {printable(str(self.folder))}: "
                "their files were removed",
                UserWarning,
                stacklevel=2,
            )
        return StoredSamples(files)

    def franchise(self, chain: int = 0) -> Franchise:
        """A franchise in the state of a chain's newest checkpoint.

        Of a run over shards it has all documents; `state` needs one shard at a time. A RunError if there is
        no checkpoint yet, a class isn't allowed, or the documents of all shards don't fit into memory.
        """
        return self._kind.franchise(*self._newest(chain))

    def state(self, chain: int = 0) -> ChainState:
        """The state of a chain's newest checkpoint as summaries read it: topics, and documents in blocks.

        A RunError if there is no checkpoint yet, or a class isn't allowed.
        """
        return self._kind.state(*self._newest(chain))

    def _newest(self, chain: int) -> tuple[int, Checkpointed]:
        n = self._files.n_chains
        chain = whole_number("chain", chain, 0, n - 1, remedy="Chains are numbered from 0.")
        state = self._files.chain(chain).state()
        if state is None:
            raise RunError(
                "folder", str(self.folder), f"a run of which chain {chain} has a checkpoint",
                "It was ended before its first one; resume() begins it.",
            )  # fmt: skip
        return chain, state

    @property
    def data(self) -> Any:
        """The data; of a run over shards a ShardedCorpus, or a CutCorpus."""
        return self._data

    @property
    def about(self) -> dict[str, Any]:
        """What its run.json says beside its declarations: "command" (its arguments), "reading" and others."""
        return self._files.about

    @property
    def data_digest(self) -> str:
        """SHA-256 of the content of the data file, from run.json."""
        return self._files.data_digest

    @property
    def moves(self) -> list[Move]:
        """The schedule. Raises a RunError if a class isn't allowed."""
        return self._files.moves(self.allowed)

    @property
    def planned(self) -> int:
        """The sweep up to which the run was to run when it was begun; it may have been continued since."""
        return self._files.settings.target

    @property
    def sweeps(self) -> list[int | None]:
        """Sweep of each chain's newest checkpoint; None before its first."""
        states = [self._files.chain(number).state() for number in range(self._files.n_chains)]
        return [None if state is None else state.sweep for state in states]

    def franchises(self) -> list[Franchise]:
        """The franchises of all chains."""
        return [self.franchise(chain) for chain in range(self._files.n_chains)]

    def resume(
        self,
        sweeps: int | None = None,
        *,
        progress: Progress | bool | None = None,
        callbacks: Iterable[Callable[[Draw], Any]] = (),
        record: Mapping[str, Callable[[Franchise], Any]] | None = None,
        samples: int | Samples | None = None,
        checkpoint: Checkpoint | None = None,
        processes: int | None = None,
        franchise: Franchise | ShardedFranchise | None = None,
        on_interrupt: str = "return",
        backend: Backend | None = None,
    ) -> Trace | ChainTrace:
        """Continue from the newest checkpoint; the result equals an uninterrupted run bit for bit.

        Returns the complete trace, including earlier sweeps. Raises a RunError if a class isn't allowed,
        functions are missing, another process uses the folder (LockedRunError), or it can't be read or
        written.

        Parameters
        ----------
        sweeps : int, optional
            Number of additional sweeps, counted from the chain with the most sweeps; by default the rest of
            the planned ones.
        progress, callbacks, checkpoint, processes, on_interrupt, backend
            As in `Scheduler.run`; the default interval of checkpoints is that of the run.
        record : dict of functions, optional
            Needed for functions that can't be found by name (lambdas); with the same keys.
        samples : int or Samples, optional
            As in `Scheduler.run`, for these sweeps and later ones; by default as before. The first new sample
            replaces those up to ``samples.after``.
        franchise : Franchise, optional
            For a run without chains: one of this run (as returned by `franchise`; over shards a
            ShardedFranchise), which is changed in place. By default a new one is built.
        """
        if sweeps is not None:
            whole_number("sweeps", sweeps, 1, remedy="Leave it out to end what was planned.")
        bar, listeners = bar_of(progress), _checked(callbacks, checkpoint, processes, on_interrupt)
        settings = self._files.settings
        interval = checkpoint or Checkpoint(settings.checkpoint_sweeps, settings.checkpoint_seconds)
        plan = Plan(
            record=self._functions(record),
            thin=settings.thin,
            callbacks=listeners,
            audit_every=settings.audit_every,
            checkpoint=interval,
        )
        if franchise is None:
            franchise = self._kind.declared()
        else:
            if settings.chains is not None:
                raise ParameterError(
                    "franchise", franchise, "None, since this run has chains", "Each has one of its own."
                )
            self._kind.check_own(franchise)
        chain = chain_of(franchise, self.moves, backend)
        chain.check(samples=samples, processes=processes)
        self._warn_of_versions()
        chain.streams = Streams(settings.seed, settings.stream)
        with locked(chain, self._files.lock), bar as tell:
            target = chain.lead(lambda: self._target(sweeps))
            plan = attrs.evolve(plan, samples=self._rule(samples, target), progress=tell)
            trace = run_folder_to(self._files, chain, plan, target, processes)
        warn_of_many_topics(chain.declared, chain.n_customers, trace)
        return ended(trace, on_interrupt, f"sweeps up to {target}")

    def _states(self) -> list[Checkpointed]:
        """The newest checkpoints of the chains that have one."""
        states = [self._files.chain(number).state() for number in range(self._files.n_chains)]
        return [state for state in states if state is not None]

    def _begun(self) -> int:
        """The sweep of the chain with the most sweeps."""
        frozen = self._files.start().frozen
        begun = 0 if frozen is None else int(frozen["sweep"])
        return max([state.sweep for state in self._states()], default=begun)

    def _rule(self, samples: Any, target: int) -> Samples | None:
        """Which samples are taken up to a sweep: by a new rule, or as the run was last continued."""
        if samples is not None:
            begun = self._begun()
            return Samples.of(samples, begun, target - begun)
        first = self._files.settings.samples
        rules = [state.rule for state in self._states() if state.rule is not None]
        return rules[0] if rules else None if first is None else Samples(**first)

    def _target(self, sweeps: int | None) -> int:
        if sweeps is None:
            return max([self._files.settings.target, *(state.target for state in self._states())])
        begun = self._begun()
        remedy = f"The run is at sweep {begun}."
        return begun + whole_number("sweeps", sweeps, 1, LARGEST - begun, remedy=remedy)

    def _functions(self, given: Mapping[str, Callable[[Franchise], Any]] | None) -> dict[str, Any]:
        names = self._files.settings.record
        given = None if given is None else own_functions(given)
        if given is not None and set(given) != set(names):
            raise RunError(
                "record", sorted(given), f"functions for the keys of the run: {sorted(names)}",
                "A trace has the same keys from its first sweep to its last.",
            )  # fmt: skip
        if given is not None:
            return {key: given[key] for key in names}
        unnamed = [key for key, name in names.items() if name is None]
        if unnamed:
            raise RunError(
                "record", None, f"given, since these functions have no name to find them by: {unnamed}",
                f"resume(record={{...}}) with the keys {sorted(names)}.",
            )  # fmt: skip
        return {key: self.allowed.function(name) for key, name in names.items()}

    def _warn_of_versions(self) -> None:
        now = versions()
        changed = [printable(f"{name} {self.versions.get(name)} -> {now[name]}") for name in _BITS_DEPEND_ON
                   if self.versions.get(name) != now[name]]  # fmt: skip
        if changed:
            warnings.warn(
                f"other versions than the run began with ({', '.join(changed)}): it continues under the "
                "same law, but its draws may differ",
                UserWarning,
                stacklevel=3,
            )


_SWEEPS, _DEBUGGING = "Say how many to run now.", "Leave it out: it is for debugging."


class Scheduler:
    """Runs moves in the given order, each once per sweep unless its time table says otherwise.

    Parameters
    ----------
    moves : sequence of Move
        For instance ``[TableGibbs(), SplitMerge().until(50)]``.
    threads : int
        Number of threads for moves that can use several (`moves.SliceGibbs`) and for the start
        `init.TermClusters`, which is the default of topic models. The chain doesn't depend on it.
    """

    def __init__(self, moves: Iterable[Move], threads: int = 1) -> None:
        remedy = "For instance [hdpkit.moves.TableGibbs()]."
        self.moves: Sequence[Move] = items("moves", moves, "a sequence of moves", remedy=remedy)
        if not self.moves:
            raise ScheduleError("moves", moves, "at least one move", remedy)
        for move in self.moves:
            if not isinstance(move, Move):
                raise ScheduleError("moves", move, "moves", "Pass instances: TableGibbs(), not TableGibbs.")
        self._threads = whole_number("threads", threads, 1, remedy="One per processor is usual.")
        if threads > 1:
            self.moves = [move.threaded(threads) for move in self.moves]

    def __repr__(self) -> str:
        return f"Scheduler({list(self.moves)!r})"

    @property
    def exact(self) -> bool:
        """Whether every move leaves the posterior exactly invariant."""
        return all(move.exact for move in self.moves)

    @overload
    def run(
        self,
        franchise: Franchise | ShardedFranchise,
        sweeps: int,
        rng: Seed = None,
        init: Any = "auto",
        *,
        samples: int | Samples | None = None,
        record: Mapping[str, Callable[[Franchise], Any]] | None = None,
        thin: int = 1,
        callbacks: Iterable[Callable[[Draw], Any]] = (),
        progress: Progress | bool | None = None,
        audit_every: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        checkpoint: Checkpoint | None = None,
        chains: None = None,
        processes: int | None = None,
        backend: Backend | None = None,
        on_interrupt: str = "return",
    ) -> Trace: ...

    @overload
    def run(
        self,
        franchise: Franchise | ShardedFranchise,
        sweeps: int,
        rng: Seed = None,
        init: Any = "auto",
        *,
        samples: int | Samples | None = None,
        record: Mapping[str, Callable[[Franchise], Any]] | None = None,
        thin: int = 1,
        callbacks: Iterable[Callable[[Draw], Any]] = (),
        progress: Progress | bool | None = None,
        audit_every: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        checkpoint: Checkpoint | None = None,
        chains: int,
        processes: int | None = None,
        backend: Backend | None = None,
        on_interrupt: str = "return",
    ) -> ChainTrace: ...

    def run(
        self,
        franchise: Franchise | ShardedFranchise,
        sweeps: int,
        rng: Seed = None,
        init: Any = "auto",
        *,
        samples: int | Samples | None = None,
        record: Mapping[str, Callable[[Franchise], Any]] | None = None,
        thin: int = 1,
        callbacks: Iterable[Callable[[Draw], Any]] = (),
        progress: Progress | bool | None = None,
        audit_every: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        checkpoint: Checkpoint | None = None,
        chains: int | None = None,
        processes: int | None = None,
        backend: Backend | None = None,
        on_interrupt: str = "return",
    ) -> Trace | ChainTrace:
        """Run sweeps and record them.

        Returns a `Trace` or, with ``chains``, a `ChainTrace`: after Ctrl-C all completed sweeps, with
        ``interrupted`` set; the franchise is in the state after them. (Chains and workers finish their
        current sweep; a second Ctrl-C ends them at once.) A topic model with more topics than an average
        topic has tokens causes a warning (`hk.errors.ManyTopicsWarning`).

        With ``folder``, raises a RunError if something can't be saved, before the first sweep; if the folder
        already contains a run; if it can't be written (StorageError, at any time; ``error.trace`` is the
        trace so far) or another process uses it (LockedRunError). Over shards, raises a ShardError,
        LostPartError or SlowPartError if a shard is missing or damaged; if workers of a cluster are lost and
        there is no folder, or six in a row without a complete sweep; if one takes too long. Raises a
        ChainError if all chains failed. If only some failed, ``trace.failures`` has their errors.

        Parameters
        ----------
        franchise : Franchise or ShardedFranchise
            Changed in place, but with ``chains``. Over a corpus in shards there is one chain, bit for bit
            that over the entire corpus from the same state.
        sweeps : int
            Number of sweeps to run now.
        rng : int, SeedSequence, Generator or None
            None with ``init=None`` continues the random streams of the last run; otherwise None draws a new
            seed, which is in ``trace.seed``.
        init : start
            "auto" (``hk.init.TermClusters()`` for topic models that aren't sparse, else "sequential"),
            "sequential", "one", ``hk.init.Random(K)``, an array of dishes, or a state; None continues from
            the current state of the franchise, including its sweep counter.
        samples : int or Samples, optional
            Keep the state after some sweeps as a `Sample` for summaries: ``trace.samples``. A number n
            spreads at least n over the second half of these sweeps, if there are that many;
            ``hk.Samples(after=..., every=...)`` chooses the sweeps. Of observed dishes it is the seating,
            from which `hk.NGramModel` predicts.
        record : dict of functions, optional
            Additional keys of the trace: key -> function of the franchise.
        thin : int
            Record only every thin-th sweep.
        callbacks : iterable of functions
            Called with each `Draw` (with ``chains``, in the process of the chain); one that returns True ends
            the chain.
        progress : function or bool, optional
            True shows a bar, on a terminal or in a notebook (`hk.ProgressBar`). A function is called with a
            `Tick` several times a second.
        audit_every : int, optional
            Recompute and check the complete state after every ``audit_every`` sweeps (for debugging).
        folder : path, optional
            Save the run in this new folder: the trace, and the state, from which ``hk.open_run(folder)``
            continues bit for bit after any interruption.
        checkpoint : Checkpoint, optional
            How often the state is saved; by default every 60 seconds.
        chains : int, optional
            Run this many chains, each in its own process and with its own random streams from the same seed.
            Chain 0 equals the chain without ``chains``. Their final states are ``trace.franchises``.
        processes : int, optional
            How many chains run at the same time; by default the number of processors.
        backend : hdpkit.shards.Backend, optional
            Where the workers of a corpus in shards run, and how many; by default one in this process. On MPI
            every rank calls this method with the same arguments.
        on_interrupt : "return" or "raise"
            What Ctrl-C does: "return" ends the run early and warns (`hk.errors.InterruptedRunWarning`);
            "raise" raises KeyboardInterrupt when the state is consistent and the folder is written, with
            the trace as ``error.trace``. A KeyboardInterrupt that a move raises does the same.
        """
        whole_number("thin", thin, 1, remedy="1 records every sweep.")
        if chains is not None:
            whole_number("chains", chains, 1, MOST_CHAINS, remedy="Leave it out for one chain.")
        if audit_every is not None:
            whole_number("audit_every", audit_every, 1, remedy=_DEBUGGING)
        bar, listeners = bar_of(progress), _checked(callbacks, checkpoint, processes, on_interrupt)
        run_folder = None if folder is None else absolute_path("folder", folder, remedy="Name a new folder.")
        own = own_functions(record)
        chain = chain_of(franchise, self.moves, backend, self._threads)
        begun = franchise.sweep if init is None else 0
        whole_number("sweeps", sweeps, 1, LARGEST - begun, remedy=_SWEEPS)
        rule = Samples.of(samples, begun, sweeps)
        with bar as tell:
            plan = Plan(
                record=own,
                thin=thin,
                callbacks=listeners,
                progress=tell,
                audit_every=audit_every,
                checkpoint=checkpoint or Checkpoint(),
                samples=rule,
            )
            given = chain, sweeps, rng, init, plan, run_folder, chains, processes
            # Chains run on copies, and need no claim.
            trace = _begin(*given) if chains is not None else chain.prepare(_begin, *given)
        warn_of_many_topics(chain.declared, chain.n_customers, trace)
        return ended(trace, on_interrupt, f"{sweeps} sweeps")

    def sample(
        self,
        franchise: Franchise,
        sweeps: int,
        rng: Seed = None,
        init: Any = "auto",
        *,
        progress: Progress | bool | None = None,
        audit_every: int | None = None,
    ) -> Draws:
        """Yield a `Draw` after every sweep.

        Parameters
        ----------
        franchise, sweeps, rng, init, progress, audit_every
            As in `run`; checked before the first sweep, with the same errors.
        """
        chain = chain_of(franchise, self.moves, None, self._threads)
        whole_number("sweeps", sweeps, 1, LARGEST - (franchise.sweep if init is None else 0), remedy=_SWEEPS)
        # The caller may stop at any draw; the bar closes when it is no longer used.
        tell = bar_of(progress).__enter__()
        if audit_every is not None:
            whole_number("audit_every", audit_every, 1, remedy=_DEBUGGING)
        chain.streams = Streams(*_stream(franchise, rng, init))
        chain.check(audit_every=audit_every)
        chain.check_start(init)
        return chain.draws(Order(sweeps, init, tell, audit_every))


def _begin(
    chain: Chain,
    sweeps: int,
    rng: Seed,
    init: Any,
    plan: Plan,
    run_folder: Path | None,
    chains: int | None,
    processes: int | None,
) -> Trace | ChainTrace:
    chain.streams = Streams(*chain.lead(partial(_stream, chain.franchise, rng, init)))
    chain.check(samples=plan.samples, audit_every=plan.audit_every, chains=chains, processes=processes)
    chain.check_start(init)
    if run_folder is not None:
        with begin_folder(run_folder, chain, sweeps, init, plan, chains) as folder:
            return run_folder_to(folder, chain, plan, folder.settings.target, processes)
    if chains is not None:
        assert isinstance(chain, OneProcess)
        return run_chains(chain, sweeps, init, plan, chains, processes)
    return collect(chain, sweeps, init, plan, Trace())


def _checked(callbacks: Any, checkpoint: Any, processes: Any, on_interrupt: Any) -> tuple[Any, ...]:
    """Check arguments of `Scheduler.run` and `Run.resume`; returns the callbacks."""
    if checkpoint is not None:
        remedy = "Leave it out, or hk.Checkpoint(seconds=60.0)."
        instance("checkpoint", checkpoint, Checkpoint, "an hk.Checkpoint, or None", remedy=remedy)
    if processes is not None:
        whole_number("processes", processes, 1, remedy="Leave it out for one per processor.")
    check_on_interrupt(on_interrupt)
    return tuple(checked_callbacks(callbacks))


def _stream(franchise: Any, rng: Seed, init: Any) -> tuple[int, int]:
    """The seed and the number of the chain."""
    going_on = rng is None and init is None and franchise.streams is not None
    streams = franchise.streams if going_on else Streams(rng)
    return streams.seed, streams.chain
