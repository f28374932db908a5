"""The scheduler: runs any moves over any franchise, sweep by sweep."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from hdpkit.checks import LARGEST, MOST_CHAINS, absolute_path, function, items, whole_number
from hdpkit.errors import ParameterError, ScheduleError
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves import Move
from hdpkit.random import Seed, Streams
from hdpkit.run.chains import run_chains
from hdpkit.run.collect import Checkpoint, Plan, checked_callbacks, collect
from hdpkit.run.interrupt import check_on_interrupt, ended, warn_of_many_topics
from hdpkit.run.progress import bar_of
from hdpkit.run.runs import begin_folder, run_folder_to
from hdpkit.run.samples import Samples
from hdpkit.run.sweeps import Chain, Draws, OneProcess, Progress, chain_of
from hdpkit.run.trace import ChainTrace, Draw, Trace, own_functions

if TYPE_CHECKING:  # other runs don't need its modules
    from hdpkit.run.shards.backend import Backend
    from hdpkit.run.shards.franchise import ShardedFranchise

_SWEEPS = "Say how many to run now."


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

        Parameters
        ----------
        franchise : Franchise or ShardedFranchise
            Changed in place. With ``chains`` it isn't changed: the final states are ``trace.franchises``.
            Over a corpus in shards (`hdpkit.shards.ShardedFranchise`) there is one chain, bit for bit that
            over the entire corpus from the same state.
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
            Called with each `Draw`; one that returns True ends the run (with ``chains``: that chain, in
            whose process it is called).
        progress : function or bool, optional
            True shows a bar, on a terminal or in a notebook (`hk.ProgressBar`). A function is called with a
            `Tick` several times a second.
        audit_every : int, optional
            Recompute and check the complete state after every ``audit_every`` sweeps (for debugging).
        folder : path, optional
            Save the run in this folder: the trace during the run, and the state, from which
            ``hk.open_run(folder)`` continues bit for bit after any interruption. The folder must not
            contain a run.
        checkpoint : Checkpoint, optional
            How often the state is saved; by default every 60 seconds.
        chains : int, optional
            Run this many chains, each in its own process and with its own random streams from the same
            seed. Chain 0 equals the chain that is run without ``chains``. Their final states are
            ``trace.franchises``; ``franchise`` is as it was.
        processes : int, optional
            How many chains run at the same time; by default the number of processors.
        backend : hdpkit.shards.Backend, optional
            Where the workers of a corpus in shards run, and how many; by default one in this process. On MPI
            every rank calls this method with the same arguments.
        on_interrupt : "return" or "raise"
            What Ctrl-C does: "return" ends the run early and warns (`hk.errors.InterruptedRunWarning`);
            "raise" raises KeyboardInterrupt when the state is consistent and the folder is written, with
            the trace as ``error.trace``. A KeyboardInterrupt that a move raises does the same.

        Returns
        -------
        Trace or, with ``chains``, ChainTrace
            After Ctrl-C all completed sweeps, with ``interrupted`` set; the franchise is consistent. (With
            a folder its state is that at the end of the trace. Chains and workers finish their current
            sweep; a second Ctrl-C ends them at once.) A topic model that ends with more topics than an
            average topic has tokens causes a warning (`hk.errors.ManyTopicsWarning`).

        Raises
        ------
        RunError
            With ``folder``: if something can't be saved, before the first sweep; if the folder already
            contains a run; if it can't be written (StorageError, at any time; ``error.trace`` is the trace
            so far) or another process uses it (LockedRunError).
        ShardError, LostPartError, SlowPartError
            Over shards: if a shard is missing or damaged; if workers of a cluster are lost and there is no
            folder, or six in a row without a complete sweep; if one takes too long.
        ChainError
            If all chains failed. If only some failed, ``trace.failures`` has their errors.
        """
        whole_number("thin", thin, 1, remedy="1 records every sweep.")
        listeners = checked_callbacks(callbacks)
        if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
            raise ParameterError("checkpoint", checkpoint, "an hk.Checkpoint", "hk.Checkpoint(seconds=60.0).")
        if chains is not None:
            whole_number("chains", chains, 1, MOST_CHAINS, remedy="Leave it out for one chain.")
        if processes is not None:
            whole_number("processes", processes, 1, remedy="Leave it out for one per processor.")
        check_on_interrupt(on_interrupt)
        run_folder = None if folder is None else absolute_path("folder", folder, remedy="Name a new folder.")
        own = own_functions(record)
        chain = chain_of(franchise, self.moves, backend, self._threads)
        begun = franchise.sweep if init is None else 0
        whole_number("sweeps", sweeps, 1, LARGEST - begun, remedy=_SWEEPS)
        rule = Samples.of(samples, begun, sweeps)
        with bar_of(progress) as tell:
            _check_reports(audit_every, tell)
            plan = Plan(
                record=own,
                thin=thin,
                callbacks=tuple(listeners),
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
        """Yield a `Draw` after every sweep. Parameters as in `run`; checked before the first sweep.

        Parameters
        ----------
        franchise, sweeps, rng, init, progress, audit_every
            As in `run`.

        Returns
        -------
        Draws
            An iterator of `Draw`.

        Raises
        ------
        ScheduleError, ParameterError
            Before the first sweep, as `run` does.
        """
        chain = chain_of(franchise, self.moves, None, self._threads)
        whole_number("sweeps", sweeps, 1, LARGEST - (franchise.sweep if init is None else 0), remedy=_SWEEPS)
        # The caller may stop at any draw; the bar closes when it is no longer used.
        tell = bar_of(progress).__enter__()
        _check_reports(audit_every, tell)
        chain.streams = Streams(*_stream(franchise, rng, init))
        chain.check(audit_every=audit_every)
        chain.check_start(init)
        return chain.draws(sweeps, init, tell, audit_every)


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


def _check_reports(audit_every: int | None, progress: Progress | None) -> None:
    if audit_every is not None:
        whole_number("audit_every", audit_every, 1, remedy="Leave it out: it is for debugging.")
    if progress is not None:
        function("progress", progress, remedy="For instance hk.ProgressBar().")


def _stream(franchise: Any, rng: Seed, init: Any) -> tuple[int, int]:
    """The seed and the number of the chain."""
    going_on = rng is None and init is None and franchise.streams is not None
    streams = franchise.streams if going_on else Streams(rng)
    return streams.seed, streams.chain
