"""From draws to a trace: recording, callbacks, Ctrl-C, and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.errors import RunError
from hdpkit.franchise import Franchise, Sample
from hdpkit.franchise.sampling import sample_of
from hdpkit.moves import Move
from hdpkit.random import Streams
from hdpkit.record import Draw, Samples, Trace
from hdpkit.record.chain_folder import ChainWriter
from hdpkit.schedule.checkpoint import Checkpoint, Keeper
from hdpkit.schedule.interrupt import deferred_interrupt
from hdpkit.schedule.sweeps import Draws, Progress, sweep_by_sweep

__all__ = ["Plan", "collect"]


@attrs.frozen(kw_only=True)
class Plan:
    """What a run does besides its moves; attributes as the parameters of `Scheduler.run`.

    Attributes
    ----------
    samples : Samples or None
        The rule, with sweeps counted from the start of the chain.
    stop : callable
        Called after every sweep; returns whether to end the run early.
    """

    record: Mapping[str, Callable[[Franchise], Any]] = attrs.field(factory=dict)
    thin: int = 1
    callbacks: Sequence[Callable[[Draw], Any]] = ()
    progress: Progress | None = None
    audit_every: int | None = None
    checkpoint: Checkpoint = attrs.field(factory=Checkpoint)
    samples: Samples | None = None
    stop: Callable[[], bool] | None = None


def collect(
    moves: Sequence[Move],
    franchise: Franchise,
    sweeps: int,
    streams: Streams,
    init: Any,
    plan: Plan,
    trace: Trace,
    writer: ChainWriter | None = None,
) -> Trace:
    """Run one chain and record it in a trace; with a writer, also in its folder.

    A `RunError` (a full disk, a value that can't be stored) has the trace so far as its attribute.
    """
    collected: Trace = franchise._turns.prepare(
        _collect, moves, franchise, sweeps, streams, init, plan, trace, writer
    )
    return collected


def _collect(
    moves: Sequence[Move],
    franchise: Franchise,
    sweeps: int,
    streams: Streams,
    init: Any,
    plan: Plan,
    trace: Trace,
    writer: ChainWriter | None,
) -> Trace:
    keeper = None if writer is None else Keeper(franchise, writer, plan.checkpoint)
    begun = None if keeper is None else keeper.begun
    draws = Draws(
        franchise,
        sweep_by_sweep(moves, franchise, sweeps, streams, init, plan.progress, plan.audit_every, begun),
    )
    trace.own(plan.record)
    trace.exact = all(move.exact for move in moves)
    trace.interrupted = False
    trace.seed = streams.seed
    stopped = False
    try:
        try:
            for draw in draws:
                with deferred_interrupt():  # a draw is recorded completely or not at all
                    if draw.sweep % plan.thin == 0:
                        trace.append(draw)
                    trace.append_moves(draw)
                    if plan.samples is not None and plan.samples.wanted(draw.sweep):
                        (trace if writer is None else writer).keep(_sample(draw))
                    if keeper is not None:
                        keeper.swept()
                answers = [listener(draw) for listener in plan.callbacks]
                stopped = any(isinstance(answer, (bool, np.bool_)) and bool(answer) for answer in answers)
                trace.interrupted = plan.stop is not None and plan.stop()
                if stopped or trace.interrupted:
                    break
        except KeyboardInterrupt:
            trace.interrupted = True
        finally:
            draws.close()
        if keeper is not None:
            try:
                with deferred_interrupt():
                    keeper.undo()
                    keeper.end(stopped)
            except KeyboardInterrupt:  # during the last checkpoint, which is complete nevertheless
                trace.interrupted = True
    except RunError as error:
        error.trace = trace
        raise
    except BaseException as error:
        _rescue(keeper, error)
        raise
    return trace


def _sample(draw: Draw) -> Sample:
    franchise = draw.franchise
    sample: Sample = franchise._turns.within(sample_of, franchise._reading, draw.values["log_joint"])
    return sample


def _rescue(keeper: Keeper | None, error: BaseException) -> None:
    """Save the state after the last complete sweep when a move or a callback has failed."""
    if keeper is not None:
        try:
            keeper.end(False)
        except RunError as second:
            error.add_note(f"The state could not be saved either: {second}")
