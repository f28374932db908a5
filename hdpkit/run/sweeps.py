"""The sweeps of one chain, over one franchise or an ensemble."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from hdpkit._franchise_lock import Claim
from hdpkit.checks import one_of_kind
from hdpkit.errors import ScheduleError, StateError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import Kept, answer_looks
from hdpkit.franchise.starts import start
from hdpkit.moves import Move, MoveInfo
from hdpkit.moves.protocol import applied, check_move
from hdpkit.random import STARTS, Streams
from hdpkit.run.interrupt import deferred_interrupt
from hdpkit.run.progress import Clock, Tick
from hdpkit.run.trace import Draw, MoveRecord, make_draw


@attrs.frozen
class Ensemble:
    """Applies each move of a schedule to every franchise of a run, and ensemble moves to the run's own."""

    franchise: Franchise  # the run's own, to which trace and samples belong
    others: tuple[tuple[Franchise, Streams], ...]  # with streams of their own

    @classmethod
    def of(cls, moves: Sequence[Move], franchise: Franchise, streams: Streams) -> Ensemble:
        """Return the franchises that these moves see; a schedule may have one ensemble."""
        each = [_others(move, franchise) for move in moves]
        found = {id(other): other for others in each for other in others}
        if any(0 < len(others) < len(found) for others in each):
            raise ScheduleError(
                "moves", [move.name for move in moves], "moves of one ensemble of franchises",
                "Leave all but one of the ensemble moves out.",
            )  # fmt: skip
        for other in found.values():
            for move in moves:
                if not move.ensemble:
                    check_move(move, other)
        keyed = [Streams(streams.seed, streams.chain, member + 1) for member in range(len(found))]
        return cls(franchise, tuple(zip(found.values(), keyed, strict=True)))

    def expand_cells(self) -> None:
        """See `Franchise.expand_cells`."""
        for franchise in self:
            franchise.expand_cells()

    def __iter__(self) -> Iterator[Franchise]:
        """All franchises, the run's own first."""
        return iter((self.franchise, *[other for other, _ in self.others]))

    def start(self, init: Any, streams: Streams, threads: int) -> None:
        """Put all franchises into their initial states."""
        start(self.franchise, init, streams.source(STARTS), threads)
        for other, own in self.others:
            start(other, init, own.source(STARTS), threads)

    def apply(self, move: Move, place: int, sweep: int, streams: Streams) -> MoveInfo:
        """Apply a move of a schedule; returns the result for the run's own franchise."""
        info = applied(move, self.franchise, streams.source(place, sweep))
        for other, own in () if move.ensemble else self.others:
            applied(move, other, own.source(place, sweep))
        return info

    def on_pulse(self, pulse: Callable[[float], None] | None) -> None:
        """Report the progress of a move over all franchises."""
        n = 1 + len(self.others)
        for number, franchise in enumerate(self):
            franchise.on_pulse = None if pulse is None else _share(pulse, number, n)

    def settle(self, sweep: int) -> None:
        """End a sweep of all franchises; the run counts those of its own."""
        for franchise in self:
            franchise.settle()
        for other, _ in self.others:
            other.sweep = sweep


def _others(move: Move, franchise: Franchise) -> tuple[Franchise, ...]:
    """The further franchises of a move, if it returns franchises."""
    others = one_of_kind(move, "others", move.others(franchise), (list, tuple), "a list of franchises")
    for other in others:
        one_of_kind(move, "others", other, Franchise, "a list of franchises")
    return tuple(others)


def _share(pulse: Callable[[float], None], number: int, n: int) -> Callable[[float], None]:
    """A pulse of one of n franchises that a move updates in turn."""
    return pulse if n == 1 else lambda fraction: pulse((number + fraction) / n)


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
    threads: int = 1,
) -> Iterator[Draw]:
    """Yield a draw after every sweep. `Draws` holds the claim of the franchise from the first to the last.

    A sweep is a transaction: after any exception the franchise is in the state after the sweep before.
    ``begun`` is called when the franchise is in its initial state, which is computed on so many threads.
    """
    franchise.data.check_unchanged()
    # A copy, since callers must not change the position of the run's own streams.
    franchise.streams = Streams(streams.seed, streams.chain)
    ensemble = Ensemble.of(moves, franchise, streams)
    if not all(move.by_cell for move in moves):
        ensemble.expand_cells()
    clock = Clock(progress, franchise.topology.n_customers, sweeps, franchise.measure.atomic)
    if init is not None:
        with deferred_interrupt() as answer, franchise.lock():
            ensemble.on_pulse(lambda fraction: answer())
            try:
                ensemble.start(init, streams, threads)
            finally:
                ensemble.on_pulse(None)
                # A state given as start may have set its own streams.
                franchise.streams = Streams(streams.seed, streams.chain)
    franchise.kept = Kept.of(franchise)
    if begun is not None:
        with deferred_interrupt():
            begun()
    clock.begin()
    stands = franchise.sweep
    last = stands + sweeps
    try:
        while stands < last:
            _check_untouched(franchise, stands)
            before, draw, late = franchise.kept, None, False
            try:
                try:
                    with deferred_interrupt() as answer:
                        draw = franchise.access.change(_sweep, moves, ensemble, streams, clock, answer)
                except KeyboardInterrupt:
                    if draw is None:
                        raise
                    late = True  # the sweep was complete, so it belongs to the trace
                stands = draw.sweep
                if audit_every is not None and stands % audit_every == 0:
                    franchise.audit()
                try:
                    clock.swept(draw.values, finished=stands == last)
                except KeyboardInterrupt:
                    late = True
                _check_untouched(franchise, stands)
                franchise.kept = Kept.of(franchise)
            except BaseException:
                franchise.kept = before
                ensemble.on_pulse(None)
                with deferred_interrupt():
                    franchise.access.reopen(before.restore, franchise)
                raise
            answer_looks(franchise)
            yield draw
            if late:
                raise KeyboardInterrupt
    finally:
        if not franchise.access.closed:
            franchise.kept = None


def _check_untouched(franchise: Franchise, stands: int) -> None:
    """Raise a StateError if a callback changed the franchise between two sweeps."""
    if franchise.sweep != stands:
        raise StateError(
            "franchise.sweep", franchise.sweep, f"{stands} here: a run counts its own sweeps",
            "A callback changed it, or thawed a state: end the run (return True), and begin another one.",
        )  # fmt: skip
    if franchise.dish_kind.number() == 0:
        raise StateError(
            "franchise", "without a seated customer", "unchanged since the sweep before",
            "A callback cleared it: end the run (return True), and begin another one.",
        )  # fmt: skip


def _sweep(
    moves: Sequence[Move],
    ensemble: Ensemble,
    streams: Streams,
    clock: Clock,
    answer: Callable[[], None],
) -> Draw:
    franchise = ensemble.franchise
    sweep = franchise.sweep + 1
    records = list[MoveRecord]()
    places = [place for place, move in enumerate(moves) if move.runs_in(sweep)]
    done = 0

    def pulse(fraction: float) -> None:
        franchise.data.check_unchanged()
        clock.pulse((done + fraction) / len(places), franchise.dish_kind.number)
        answer()

    ensemble.on_pulse(pulse)
    for place in places:
        move = moves[place]
        franchise.data.check_unchanged()
        began = time.perf_counter()
        info = ensemble.apply(move, place + 1, sweep, streams)
        records += _records(move, sweep, info, time.perf_counter() - began)
        answer()
        done += 1
    franchise.data.check_unchanged()  # a sweep over changed data isn't valid
    ensemble.on_pulse(None)
    ensemble.settle(sweep)
    franchise.sweep = sweep
    return make_draw(franchise, tuple(records))


def _records(move: Move, sweep: int, info: MoveInfo, seconds: float) -> list[MoveRecord]:
    """The rows of the trace for an application of a move: one, or one for each kind of update."""
    if not info.details:
        return [MoveRecord(move.name, sweep, info.tried, info.accepted, seconds)]
    each = seconds / len(info.details)
    return [
        MoveRecord(f"{move.name} {kind}", sweep, one.tried, one.accepted, each) for kind, one in info.details
    ]


class Draws(Iterator[Draw]):
    """Draws of a run, one per sweep. The franchise is claimed from the first request to the last.

    The run belongs to the thread that requests the next draw.
    """

    def __init__(self, franchise: Franchise, draws: Iterator[Draw]) -> None:
        self._claim = Claim(franchise.access)
        self._draws = draws

    def __next__(self) -> Draw:
        draw: Draw = self._claim.step(self._draws)
        return draw

    def close(self) -> None:
        """End the run."""
        self._claim.close(self._draws)
