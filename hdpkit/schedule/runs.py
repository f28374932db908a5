"""Existing run folders: reading and continuing them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from hdpkit.checks import LARGEST, absolute_path, function, instance, items, made_by, whole_number
from hdpkit.data import GroupedData
from hdpkit.errors import ParameterError, RunError, printable
from hdpkit.franchise import Franchise
from hdpkit.moves import Move
from hdpkit.random import Streams
from hdpkit.record import ChainTrace, Draw, Samples, StoredSamples, Trace
from hdpkit.record.leave import Leave
from hdpkit.record.run_folder import RunFolder, versions
from hdpkit.record.sample_files import SampleFile
from hdpkit.record.trace import own_functions
from hdpkit.schedule.checkpoint import Checkpoint
from hdpkit.schedule.collect import Plan
from hdpkit.schedule.interrupt import check_on_interrupt, ended
from hdpkit.schedule.jobs import Job
from hdpkit.schedule.many_topics import warn_of_many_topics
from hdpkit.schedule.progress_bar import bar_of
from hdpkit.schedule.sweeps import Progress

__all__ = ["Run", "open_run"]

_BITS_DEPEND_ON = ("hdpkit", "numpy")


def open_run(folder: str | os.PathLike[str], allow: Iterable[Any] = ()) -> Run:
    """Open a run folder.

    Parameters
    ----------
    folder : path
        The folder that was given to `Scheduler.run`.
    allow : iterable of str, class or function
        Code of your own that may be imported: names of modules, or the classes and functions themselves.
        Moves, measures, stores and recorded functions from outside hdpkit are saved by name, and code named
        in a file runs only if you allow it. An error names the module to allow when it is needed.

    Returns
    -------
    Run

    Raises
    ------
    RunError
        If there is no run in the folder.
    CorruptRunError, RunVersionError
        If run.json or the data fail their checks.
    """
    return Run(absolute_path("folder", folder, remedy="What was given to Scheduler.run as folder."), allow)


@made_by("open_run")
class Run:
    """A run folder. See `open_run`.

    Attributes
    ----------
    folder : Path
    versions : dict
        Versions of hdpkit, NumPy, Python and the system that started the run.
    """

    def __init__(self, folder: Path, allow: Iterable[Any] = ()) -> None:
        self._leave = Leave(allow)
        self._files = RunFolder.open(folder)
        self._data = self._files.data()
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
        """The trace on disk, also while a process runs; ``interrupted`` is set until the run is complete."""
        traces = [self._trace(number) for number in range(self._files.n_chains)]
        return traces[0] if self._files.settings.chains is None else ChainTrace(traces)

    def _trace(self, number: int) -> Trace:
        chain, settings = self._files.chain(number), self._files.settings
        state, blocks = chain.load()
        trace = chain.trace(None, blocks)
        for file in chain.samples(state):
            trace.keep(file)
        trace.seed, trace.exact = settings.seed, settings.exact
        trace.interrupted = state is None or (state.sweep < state.target and not state.stopped)
        return trace

    @property
    def samples(self) -> StoredSamples:
        """The samples up to the newest checkpoint of each chain, ordered by chain; each is read when used.

        Missing samples cause a warning.
        """
        files, lost = list[SampleFile](), 0
        for number in range(self._files.n_chains):
            chain = self._files.chain(number)
            state, _ = chain.load()
            there = chain.samples(state)
            lost += 0 if state is None else len(state.samples) - len(there)
            files += there
        if lost:
            warnings.warn(
                f"{lost} samples that the run took are not in {printable(str(self.folder))}: "
                "their files were removed",
                UserWarning,
                stacklevel=2,
            )
        return StoredSamples(files)

    def _rule(self) -> Samples | None:
        rule = self._files.settings.samples
        return None if rule is None else Samples(**rule)

    def franchise(self, chain: int = 0) -> Franchise:
        """A franchise in the state of a chain's newest checkpoint.

        Raises
        ------
        RunError
            If there is no checkpoint yet, or a class isn't allowed.
        """
        n = self._files.n_chains
        chain = whole_number("chain", chain, 0, n - 1, remedy="Chains are numbered from 0.")
        state, _ = self._files.chain(chain).load()
        if state is None:
            raise RunError(
                "folder", str(self.folder), f"a run of which chain {chain} has a checkpoint",
                "It was ended before its first one; resume() begins it.",
            )  # fmt: skip
        franchise = self._files.franchise(self._leave, self._data)
        franchise.thaw(state.frozen)
        franchise.streams = Streams(state.seed, state.chain)
        return franchise

    @property
    def data(self) -> GroupedData:
        """The data."""
        return self._data

    @property
    def data_digest(self) -> str:
        """SHA-256 of the content of the data file, from run.json."""
        return self._files.data_digest

    @property
    def moves(self) -> list[Move]:
        """The schedule. Raises a RunError if a class isn't allowed."""
        return self._files.moves(self._leave)

    @property
    def sweeps(self) -> list[int | None]:
        """Sweep of each chain's newest checkpoint; None before its first."""
        states = [self._files.chain(number).load()[0] for number in range(self._files.n_chains)]
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
        checkpoint: Checkpoint | None = None,
        processes: int | None = None,
        franchise: Franchise | None = None,
        on_interrupt: str = "return",
    ) -> Trace | ChainTrace:
        """Continue from the newest checkpoint; the result equals an uninterrupted run bit for bit.

        Parameters
        ----------
        sweeps : int, optional
            Number of additional sweeps, counted from the chain with the most sweeps. None: the rest of the
            planned sweeps.
        progress, callbacks, checkpoint, processes, on_interrupt
            As in `Scheduler.run`; the default interval of checkpoints is that of the run.
        record : dict of functions, optional
            Needed for functions that can't be found by name (lambdas); with the same keys.
        franchise : Franchise, optional
            For a run without chains: a franchise of this run (as returned by `franchise`), which is changed
            in place. By default a new one is built.

        Returns
        -------
        Trace or ChainTrace
            The complete trace, including earlier sweeps.

        Raises
        ------
        RunError
            If a class isn't allowed, functions are missing, another process uses the folder
            (LockedRunError), or it can't be read or written.
        """
        check_on_interrupt(on_interrupt)
        if sweeps is not None:
            whole_number("sweeps", sweeps, 1, remedy="Leave it out to end what was planned.")
        if processes is not None:
            whole_number("processes", processes, 1, remedy="Leave it out for one per processor.")
        if progress is not None and not isinstance(progress, bool):
            function("progress", progress, remedy="True shows a bar.")
        listeners = items(
            "callbacks", callbacks, "a sequence of functions", remedy="Put a single one in a list."
        )
        for listener in listeners:
            function("callbacks", listener)
        if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
            raise ParameterError("checkpoint", checkpoint, "an hk.Checkpoint, or None", "Leave it out.")
        if franchise is not None:
            self._check_franchise(franchise)
        settings = self._files.settings
        plan = Plan(
            record=self._functions(record),
            thin=settings.thin,
            callbacks=tuple(listeners),
            audit_every=settings.audit_every,
            checkpoint=checkpoint or Checkpoint(settings.checkpoint_sweeps, settings.checkpoint_seconds),
            samples=self._rule(),
        )
        moves = self.moves
        if franchise is None:
            franchise = self._files.franchise(self._leave, self._data)
        for move in moves:
            move.check(franchise)
        self._warn_of_versions()
        lock = self._files.lock()
        try:
            target = self._target(sweeps)
        except BaseException:
            lock.release()
            raise
        with Job(self._files, lock, moves, target) as job, bar_of(progress) as tell:
            trace = job.run(franchise, attrs.evolve(plan, progress=tell), processes)
        warn_of_many_topics(franchise, trace)
        return ended(trace, on_interrupt, f"sweeps up to {target}")

    def _check_franchise(self, franchise: Any) -> None:
        instance(
            "franchise",
            franchise,
            Franchise,
            "a Franchise, or None",
            remedy="Leave it out, or pass run.franchise().",
        )
        if self._files.settings.chains is not None:
            raise ParameterError(
                "franchise", franchise, "None, since this run has chains", "Each chain has one of its own."
            )
        if len(franchise.data) != len(self._data):
            raise ParameterError(
                "franchise", franchise, f"one of this run, with {len(self._data)} customers",
                "Leave it out, or pass run.franchise().",
            )  # fmt: skip

    def _target(self, sweeps: int | None) -> int:
        states = [self._files.chain(number).load()[0] for number in range(self._files.n_chains)]
        there = [state for state in states if state is not None]
        if sweeps is None:
            return max([self._files.settings.target, *(state.target for state in there)])
        if there:
            begun = max(state.sweep for state in there)
        else:
            frozen = self._files.start().frozen
            begun = 0 if frozen is None else int(frozen["sweep"])
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
        return {key: self._leave.find(name, "function") for key, name in names.items()}

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
