"""The sweeps of one chain, over one franchise or an ensemble, and what a run asks of any chain."""

from __future__ import annotations

import abc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import attrs

from hdpkit._franchise_lock import Claim, HeldInterrupt
from hdpkit.checks import one_of_kind
from hdpkit.errors import ScheduleError, StateError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import Kept, answer_looks
from hdpkit.franchise.frozen import FrozenState
from hdpkit.franchise.starts import check_start, start
from hdpkit.moves import Move, MoveInfo
from hdpkit.moves.protocol import applied, check_move
from hdpkit.random import STARTS, Streams
from hdpkit.run.progress import Clock, Tick
from hdpkit.run.run_folder import ChainFolder
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


@attrs.frozen
class Order:
    """What is asked of a chain."""

    sweeps: int
    init: Any  # None: go on from the state that it is in
    progress: Progress | None = None
    audit_every: int | None = None
    begun: Callable[[], None] | None = None  # called when it is in its initial state


class Chain(abc.ABC):
    """A chain as a run drives it: of a franchise in this process, or of one over the shards of a corpus.

    Every process of a run over shards drives it, so they decide together.
    """

    rescues = True  # whether the state is saved when a callback fails, which may happen in one process alone

    def __init__(
        self, moves: Sequence[Move], franchise: Any, declared: Franchise, data: Any, n_customers: int
    ) -> None:
        self.moves = moves
        self.franchise = franchise  # whose draws these are; its ``sweep`` is the position of the chain
        self.declared = declared
        self.data = data
        self.n_customers = n_customers
        self.streams = Streams(0)
        self.settings: Mapping[str, Any] = {}  # its own in run.json
        self.folder: ChainFolder  # in a run folder

    @abc.abstractmethod
    def check(self, **options: Any) -> None:
        """Raise an error unless the moves can run, with these options, of which some need one process."""

    @abc.abstractmethod
    def check_start(self, init: Any) -> None:
        """Raise an error unless the chain can start so."""

    @abc.abstractmethod
    def thaw(self, frozen: Mapping[str, Any]) -> None:
        """Set the state of a checkpoint."""

    @abc.abstractmethod
    def draws(self, order: Order) -> Any:
        """An iterator of draws, one after every sweep, with a method ``close``."""

    @abc.abstractmethod
    def state(self) -> Callable[[], Mapping[str, Any] | None]:
        """A function that returns the state after this sweep for a checkpoint; None if it is lost."""

    def saved(self, sweep: int) -> None:  # noqa: B027 - nothing else to do in this process
        """Called in the leading process when the checkpoint of a sweep has been written."""

    def prepare(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function; no other run of the franchise can begin meanwhile."""
        return function(*arguments)

    def lead(self, act: Callable[[], Any]) -> Any:
        """Call a function in the leading process; all get its result, or raise its error."""
        return act()

    def agreed(self, *wishes: bool) -> Sequence[bool]:
        """Which of these any process wishes."""
        return wishes

    def hold(self) -> AbstractContextManager[Callable[[], None]]:
        """Defer Ctrl-C, if it must not occur within a sweep; the block gets the function that raises it."""
        return nullcontext(lambda: None)


class OneProcess(Chain):
    """The chain of a franchise in this process; its start is computed on ``threads``."""

    def __init__(self, moves: Sequence[Move], franchise: Franchise, threads: int = 1) -> None:
        super().__init__(moves, franchise, franchise, franchise.data, len(franchise.data))
        self.threads = threads

    def check(self, **options: Any) -> None:
        """Raise an error unless the moves can run over this franchise, where every option is served."""
        with self.franchise.lock():
            for move in self.moves:
                check_move(move, self.franchise)

    def check_start(self, init: Any) -> None:
        """Raise an error unless the chain can start so."""
        with self.franchise.lock():
            if init is None and not self.franchise.population.all_seated():
                raise StateError(
                    "init", None, "a start, since customers are unseated", 'For instance "sequential".'
                )
            check_start(init, self.franchise)

    def prepare(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function while the franchise is claimed for a run."""
        return self.franchise.access.prepare(function, *arguments)

    def thaw(self, frozen: Mapping[str, Any]) -> None:
        """Set the state of a checkpoint, also of an ensemble."""
        Ensemble.of(self.moves, self.franchise, self.streams)
        self.franchise.thaw(frozen)
        self.franchise.streams = self.streams

    def draws(self, order: Order) -> Draws:
        """The draws, with the franchise claimed."""
        return Draws(self.franchise, sweep_by_sweep(self, order))

    def state(self) -> Callable[[], FrozenState]:
        """The state that the run keeps: the one after the last sweep."""
        kept = self.franchise.kept
        assert kept is not None  # within a run
        frozen = kept.frozen
        return lambda: frozen


def sweep_by_sweep(chain: OneProcess, order: Order) -> Iterator[Draw]:
    """Yield a draw after every sweep, which is a transaction. `Draws` holds the franchise's claim."""
    moves, franchise, streams = chain.moves, chain.franchise, chain.streams
    franchise.data.check_unchanged()
    # A copy, since callers must not change the position of the run's own streams.
    franchise.streams = Streams(streams.seed, streams.chain)
    ensemble = Ensemble.of(moves, franchise, streams)
    if not all(move.by_cell for move in moves):
        for each in ensemble:
            each.expand_cells()
    clock = Clock(order.progress, franchise.topology.n_customers, order.sweeps, franchise.measure.atomic)
    if order.init is not None:
        with HeldInterrupt() as answer, franchise.lock():
            ensemble.on_pulse(lambda fraction: answer())
            try:
                ensemble.start(order.init, streams, chain.threads)
            finally:
                ensemble.on_pulse(None)
                # A state given as start may have set its own streams.
                franchise.streams = Streams(streams.seed, streams.chain)
    franchise.kept = Kept.of(franchise)
    if order.begun is not None:
        with HeldInterrupt():
            order.begun()
    clock.begin()
    stands = franchise.sweep
    last = stands + order.sweeps
    try:
        while stands < last:
            _check_untouched(franchise, stands)
            before, draw, late = franchise.kept, None, False
            try:
                try:
                    with HeldInterrupt() as answer:
                        draw = franchise.access.change(_sweep, moves, ensemble, streams, clock, answer)
                except KeyboardInterrupt:
                    if draw is None:
                        raise
                    late = True  # the sweep was complete, so it belongs to the trace
                stands = draw.sweep
                if order.audit_every is not None and stands % order.audit_every == 0:
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
                with HeldInterrupt():
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
    """Draws of a run, one per sweep, for the thread that asks next. It claims the franchise meanwhile."""

    def __init__(self, franchise: Franchise, draws: Iterator[Draw]) -> None:
        self._claim = Claim(franchise.access)
        self._draws = draws

    def __next__(self) -> Draw:
        draw: Draw = self._claim.step(self._draws)
        return draw

    def close(self) -> None:
        """End the run."""
        self._claim.close(self._draws)
