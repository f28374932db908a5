"""The scheduler: runs any moves over any franchise, sweep by sweep."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from hdpkit.checks import function, items, whole_number
from hdpkit.errors import ParameterError, ScheduleError, StateError
from hdpkit.franchise import Franchise, check_start, start
from hdpkit.moves import Move
from hdpkit.random import STARTS, Seed, Streams
from hdpkit.record import Draw, MoveRecord, Trace, make_draw
from hdpkit.schedule.clock import Clock
from hdpkit.schedule.interrupt import deferred_interrupt
from hdpkit.schedule.ticks import Tick

__all__ = ["Scheduler"]

Progress = Callable[[Tick], Any]


class Scheduler:
    """Runs moves in the order given, once a sweep each unless their time table says otherwise.

    Parameters
    ----------
    moves : sequence of Move
        For instance ``[TableGibbs(), SplitMerge().until(50)]``.
    """

    def __init__(self, moves: Iterable[Move]) -> None:
        remedy = "For instance [hdpkit.moves.TableGibbs()]."
        self.moves: Sequence[Move] = items("moves", moves, "a sequence of moves", remedy=remedy)
        if not self.moves:
            raise ScheduleError("moves", moves, "at least one move", remedy)
        for move in self.moves:
            if not isinstance(move, Move):
                raise ScheduleError("moves", move, "moves", "Pass instances: TableGibbs(), not TableGibbs.")

    def __repr__(self) -> str:
        return f"Scheduler({list(self.moves)!r})"

    @property
    def exact(self) -> bool:
        """Whether every move leaves the posterior exactly invariant."""
        return all(move.exact for move in self.moves)

    def run(
        self,
        franchise: Franchise,
        sweeps: int,
        rng: Seed = None,
        init: Any = "sequential",
        *,
        record: Mapping[str, Callable[[Franchise], Any]] | None = None,
        thin: int = 1,
        callbacks: Iterable[Callable[[Draw], Any]] = (),
        progress: Progress | None = None,
        audit_every: int | None = None,
    ) -> Trace:
        """Run sweeps and record them.

        Parameters
        ----------
        franchise : Franchise
            Changed in place.
        sweeps : int
            How many to run now.
        rng : int, SeedSequence, Generator or None
            None with ``init=None`` goes on with the streams of the last run; otherwise it takes a fresh
            seed, which ``trace.seed`` tells.
        init : start
            "sequential", "one", ``hk.init.Random(K)``, an array of dishes, or a state; None goes on from
            where the franchise stands, sweep counter included.
        record : dict of functions, optional
            More to record: key -> function of the franchise.
        thin : int
            Record every thin-th sweep.
        callbacks : iterable of functions
            Called with each `Draw`; one that returns True ends the run.
        progress : function, optional
            Called with a `Tick` several times a second (for instance ``hk.ProgressBar()``).
        audit_every : int, optional
            Recount the whole state every so many sweeps (for debugging).

        Returns
        -------
        Trace
            After Ctrl-C all sweeps that were completed, with ``interrupted`` set; the franchise is whole.
        """
        whole_number("thin", thin, 1, remedy="1 records every sweep.")
        listeners = items(
            "callbacks", callbacks, "a sequence of functions", remedy="Put a single one in a list."
        )
        for listener in listeners:
            function("callbacks", listener)
        trace = Trace(record, exact=self.exact)
        draws = self.sample(franchise, sweeps, rng, init, progress=progress, audit_every=audit_every)
        try:
            for draw in draws:
                with deferred_interrupt():  # all of a draw or nothing
                    trace.append_moves(draw)
                    if draw.sweep % thin == 0:
                        trace.append(draw)
                answers = [listener(draw) for listener in listeners]
                if any(answer is True for answer in answers):
                    break
        except KeyboardInterrupt:
            trace.interrupted = True
        finally:
            draws.close()
            trace.seed = franchise.streams.seed if franchise.streams is not None else None
        return trace

    def sample(
        self,
        franchise: Franchise,
        sweeps: int,
        rng: Seed = None,
        init: Any = "sequential",
        *,
        progress: Progress | None = None,
        audit_every: int | None = None,
    ) -> _Draws:
        """Yield a `Draw` after every sweep. Parameters as in `run`; checked before the first sweep."""
        whole_number("sweeps", sweeps, 1, remedy="Say how many to run now.")
        if audit_every is not None:
            whole_number("audit_every", audit_every, 1, remedy="Leave it out: it is for debugging.")
        if progress is not None:
            function("progress", progress, remedy="For instance hk.ProgressBar().")
        if not isinstance(franchise, Franchise):
            raise ParameterError("franchise", franchise, "a Franchise", "hk.Franchise(restaurant, data).")
        for move in self.moves:
            move.check(franchise)
        if init is None and bool((franchise.dishes < 0).any()):
            raise StateError(
                "init", None, "a start, since customers are unseated", 'For instance "sequential".'
            )
        check_start(init, franchise)
        fresh = rng is not None or init is not None or franchise.streams is None
        streams = Streams(rng) if fresh else None
        return _Draws(self._sweeps(franchise, sweeps, streams, init, progress, audit_every))

    def _sweeps(
        self,
        franchise: Franchise,
        sweeps: int,
        fresh: Streams | None,
        init: Any,
        progress: Progress | None,
        audit_every: int | None,
    ) -> Iterator[Draw]:
        with franchise.claimed():
            franchise.streams = fresh or franchise.streams
            yield from self._claimed_sweeps(franchise, sweeps, init, progress, audit_every)

    def _claimed_sweeps(
        self, franchise: Franchise, sweeps: int, init: Any, progress: Progress | None, audit_every: int | None
    ) -> Iterator[Draw]:
        streams = franchise.streams
        assert streams is not None
        clock = Clock(progress, franchise.topology.n_customers, sweeps)
        if init is not None:
            with deferred_interrupt() as answer, franchise.turn():
                _pulsing(franchise, lambda fraction: answer())
                try:
                    start(franchise, init, streams.source(STARTS))
                finally:
                    franchise.on_pulse = None
        clock.begin()
        last = franchise.sweep + sweeps
        while franchise.sweep < last:
            draw, late = None, False
            try:
                with deferred_interrupt() as answer:
                    draw = self._sweep(franchise, streams, clock, answer)
            except KeyboardInterrupt:
                if draw is None:
                    raise
                late = True  # the sweep was done: it belongs to the trace
            if audit_every is not None and draw.sweep % audit_every == 0:
                franchise.audit()
            clock.swept(draw.values, finished=franchise.sweep == last)
            yield draw
            if late:
                raise KeyboardInterrupt

    def _sweep(
        self, franchise: Franchise, streams: Streams, clock: Clock, answer: Callable[[], None]
    ) -> Draw:
        sweep = franchise.sweep + 1
        records = []
        places = [place for place, move in enumerate(self.moves) if move.runs_in(sweep)]
        with franchise.turn():
            try:
                for done, place in enumerate(places):
                    move = self.moves[place]

                    def pulse(fraction: float, done: int = done) -> None:
                        clock.pulse((done + fraction) / len(places), franchise.n_dishes)
                        answer()

                    _pulsing(franchise, pulse)
                    began = time.perf_counter()
                    source = streams.source(place + 1, sweep, attempt=franchise.attempt)
                    info = move.apply(franchise, source)
                    seconds = time.perf_counter() - began
                    records.append(MoveRecord(move.name, sweep, info.tried, info.accepted, seconds))
                    answer()
            except BaseException:
                # The words of this sweep's streams were used in part; none may be used again.
                franchise.attempt += 1
                raise
            finally:
                franchise.on_pulse = None
            franchise.settle()
            franchise.sweep = sweep
            return make_draw(franchise, tuple(records))


class _Draws(Iterator[Draw]):
    """The generator of draws, started already: its checks have been made."""

    def __init__(self, draws: Iterator[Draw]) -> None:
        self._draws = draws

    def __next__(self) -> Draw:
        return next(self._draws)

    def close(self) -> None:
        """End the run."""
        self._draws.close()  # type: ignore[attr-defined]


def _pulsing(franchise: Franchise, pulse: Callable[[float], None]) -> None:
    franchise.on_pulse = pulse
