"""The sweeps of one chain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hdpkit.errors import ChangedDataError, StateError
from hdpkit.franchise import Franchise
from hdpkit.franchise.starts import start
from hdpkit.moves import Move
from hdpkit.moves.protocol import checked_info
from hdpkit.random import STARTS, Streams
from hdpkit.record import Draw, MoveRecord
from hdpkit.record.trace import make_draw
from hdpkit.schedule.clock import Clock
from hdpkit.schedule.interrupt import deferred_interrupt
from hdpkit.schedule.ticks import Tick

__all__ = ["Draws", "Progress", "sweep_by_sweep"]

Progress = Callable[[Tick], Any]


def sweep_by_sweep(
    moves: Sequence[Move],
    franchise: Franchise,
    sweeps: int,
    streams: Streams,
    init: Any,
    progress: Progress | None,
    audit_every: int | None,
    begun: Callable[[], None] | None = None,
) -> Iterator[Draw]:
    """Yield a draw after every sweep. `Draws` holds the claim of the franchise from the first to the last.

    Parameters
    ----------
    streams : Streams
        Streams for the franchise.
    init : start
        As in `Scheduler.run`.
    begun : callable, optional
        Called when the franchise is in its initial state.
    """
    franchise.data.check_unchanged()
    # A copy, since callers must not change the position of the run's own streams.
    franchise.streams = Streams(streams.seed, streams.chain)
    if not all(move.by_cell for move in moves):
        franchise.tell_apart()
    clock = Clock(progress, franchise.topology.n_customers, sweeps, franchise.measure.atomic)
    if init is not None:
        with deferred_interrupt() as answer, franchise.turn():
            _pulsing(franchise, lambda fraction: answer())
            try:
                start(franchise, init, streams.source(STARTS))
            finally:
                franchise.on_pulse = None
                # A state given as start may have set its own streams.
                franchise.streams = Streams(streams.seed, streams.chain)
    if begun is not None:
        with deferred_interrupt():
            begun()
    clock.begin()
    stands = franchise.sweep
    last = stands + sweeps
    while stands < last:
        _check_untouched(franchise, stands)
        draw, late = None, False
        try:
            with deferred_interrupt() as answer:
                draw = _sweep(moves, franchise, streams, clock, answer)
        except KeyboardInterrupt:
            if draw is None:
                raise
            late = True  # the sweep was complete, so it belongs to the trace
        stands = draw.sweep
        if audit_every is not None and draw.sweep % audit_every == 0:
            franchise.audit()
        try:
            clock.swept(draw.values, finished=stands == last)
        except KeyboardInterrupt:
            late = True
        _check_untouched(franchise, stands)
        franchise._answer_looks()
        yield draw
        if late:
            raise KeyboardInterrupt


def _check_untouched(franchise: Franchise, stands: int) -> None:
    """Raise a StateError if a callback changed the franchise between two sweeps."""
    if franchise.sweep != stands:
        raise StateError(
            "franchise.sweep", franchise.sweep, f"{stands} here: a run counts its own sweeps",
            "A callback changed it, or thawed a state: end the run (return True), and begin another one.",
        )  # fmt: skip
    if franchise.n_dishes == 0:
        raise StateError(
            "franchise", "without a seated customer", "unchanged since the sweep before",
            "A callback cleared it: end the run (return True), and begin another one.",
        )  # fmt: skip


def _sweep(
    moves: Sequence[Move],
    franchise: Franchise,
    streams: Streams,
    clock: Clock,
    answer: Callable[[], None],
) -> Draw:
    draw: Draw = franchise._turns.within(
        lambda: franchise._turns.changing(_swept, moves, franchise, streams, clock, answer, everybody=True)
    )
    return draw


def _swept(
    moves: Sequence[Move],
    franchise: Franchise,
    streams: Streams,
    clock: Clock,
    answer: Callable[[], None],
) -> Draw:
    sweep, attempt = franchise.sweep + 1, franchise.attempt
    records = []
    places = [place for place, move in enumerate(moves) if move.runs_in(sweep)]
    before = franchise.freeze() if franchise.foreign_store else None
    # Draws of a sweep that isn't completed count as used, since no word of a stream may be used twice.
    franchise.attempt += 1
    try:
        for done, place in enumerate(places):
            move = moves[place]

            franchise.data.check_unchanged()

            def pulse(fraction: float, done: int = done) -> None:
                franchise.data.check_unchanged()
                clock.pulse((done + fraction) / len(places), franchise.n_dishes)
                answer()

            _pulsing(franchise, pulse)
            began = time.perf_counter()
            source = streams.source(place + 1, sweep, attempt=attempt)
            info = checked_info(move, move.apply(franchise, source))
            seconds = time.perf_counter() - began
            records.append(MoveRecord(move.name, sweep, info.tried, info.accepted, seconds))
            answer()
        franchise.data.check_unchanged()  # a sweep over changed data isn't valid
        franchise.on_pulse = None
        franchise.settle()
    except BaseException as error:
        if not isinstance(error, ChangedDataError):  # mapped data must not be read any more
            if before is not None:  # a user's store may have stopped half way up the tree
                franchise.thaw({**before, "attempt": franchise.attempt})
            if not isinstance(error, KeyboardInterrupt):  # raised only where the state is consistent
                franchise._statistics.mend(error)
        raise
    finally:
        franchise.on_pulse = None
    franchise.sweep = sweep
    draw = make_draw(franchise, tuple(records))
    franchise.attempt = attempt
    return draw


class Draws(Iterator[Draw]):
    """Draws of a run, one per sweep. The franchise is claimed from the first request to the last.

    The run belongs to the thread that requests the next draw.
    """

    def __init__(self, franchise: Franchise, draws: Iterator[Draw]) -> None:
        self._claim = franchise._turns.claim()
        self._draws = draws

    def __next__(self) -> Draw:
        draw: Draw = self._claim.step(self._draws)
        return draw

    def close(self) -> None:
        """End the run."""
        self._claim.close(self._draws)


def _pulsing(franchise: Franchise, pulse: Callable[[float], None]) -> None:
    franchise.on_pulse = pulse
