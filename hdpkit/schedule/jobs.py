"""Runs in folders: starting a run, and continuing its chains to their target."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import attrs
import filelock

from hdpkit.franchise import Franchise
from hdpkit.moves import Move
from hdpkit.random import Streams
from hdpkit.record import ChainTrace, Trace
from hdpkit.record.chain_folder import ChainWriter
from hdpkit.record.describe import function_name
from hdpkit.record.run_folder import RunFolder, Settings
from hdpkit.schedule.chains import run_chains_in_folder
from hdpkit.schedule.collect import Plan, collect

__all__ = ["Job", "begin_folder", "run_in_folder"]


class Job:
    """A run folder with its lock taken, until the end of the block."""

    def __init__(
        self, folder: RunFolder, lock: filelock.BaseFileLock, moves: Sequence[Move], target: int
    ) -> None:
        self._folder = folder
        self._lock = lock
        self._moves = moves
        self._target = target

    def __enter__(self) -> Job:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()

    def run(self, franchise: Franchise, plan: Plan, processes: int | None) -> Trace | ChainTrace:
        """Run every chain to its end; the franchise is changed only if there is one chain."""
        path, chains = self._folder.path, self._folder.settings.chains
        if chains is None:
            return run_in_folder(path, 0, self._moves, franchise, plan, self._target)
        return run_chains_in_folder(path, self._moves, franchise, plan, chains, self._target, processes)


def begin_folder(
    path: Path,
    moves: Sequence[Move],
    franchise: Franchise,
    sweeps: int,
    streams: Streams,
    init: Any,
    plan: Plan,
    chains: int | None,
) -> Job:
    """Create a run folder with all that is needed to run, and to start again after a kill."""
    target = sweeps + (franchise.sweep if init is None else 0)
    settings = Settings(
        target=target,
        seed=streams.seed,
        stream=0 if chains is not None else streams.chain,
        chains=chains,
        thin=plan.thin,
        audit_every=plan.audit_every,
        checkpoint_sweeps=plan.checkpoint.sweeps,
        checkpoint_seconds=plan.checkpoint.seconds,
        exact=all(move.exact for move in moves),
        record={key: function_name(function) for key, function in plan.record.items()},
        samples=None if plan.samples is None else attrs.asdict(plan.samples),
    )
    folder, lock = RunFolder.create(path, franchise, moves, init, settings)
    return Job(folder, lock, moves, target)


def run_in_folder(
    path: Path, number: int, moves: Sequence[Move], franchise: Franchise, plan: Plan, target: int
) -> Trace:
    """Start or continue one chain in this process; returns its complete trace."""
    folder = RunFolder.open(path)
    settings = folder.settings
    streams = Streams(settings.seed, settings.stream + number)
    writer = ChainWriter(folder.chain(number), streams.seed, streams.chain, target)
    try:
        init = None
        if writer.loaded is not None:
            franchise.thaw(writer.loaded.frozen)
            franchise.streams = streams
            _keep_missing(franchise, writer, plan)
        else:
            start = folder.start()
            init = start.init
            if start.frozen is not None:
                franchise.thaw(start.frozen)
        sweeps = target - (franchise.sweep if init is None else 0)
        if sweeps < 1:
            franchise.streams = streams
            writer.trace.seed, writer.trace.exact = streams.seed, settings.exact
            return writer.trace
        return collect(moves, franchise, sweeps, streams, init, plan, writer.trace, writer)
    finally:
        writer.close()


def _keep_missing(franchise: Franchise, writer: ChainWriter, plan: Plan) -> None:
    """Write the sample of a checkpoint again if it is missing."""
    sweep = franchise.sweep
    wanted = plan.samples is not None and plan.samples.wanted(sweep)
    if wanted and not os.path.lexists(writer.folder.sample(sweep).path):
        writer.keep(franchise.sample())
