"""One chain of a comparison: what is recorded of it, by the time that its moves have taken."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.comparison.candidates import Candidate
from hdpkit.franchise import Franchise, start
from hdpkit.franchise.common_scores import dish_sizes, log_joint_of_counts
from hdpkit.random import STARTS, Streams
from hdpkit.record import Draw, MoveRecord
from hdpkit.schedule.interrupt import deferred_interrupt

__all__ = ["CLOCKS", "ChainRecord", "MoveTotals", "Standing", "run_chain"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CLOCKS = ("wall", "processor")

_NO_END = 2**62
_MOST = 20_000  # recorded states of a chain; more are thinned out to half of them
_WALL = 20  # a chain whose records take longer than its moves ends after so many times its seconds
_BETWEEN_TELLING = 0.1


@attrs.frozen
class MoveTotals:
    """What one move of a schedule did in a chain, or in several.

    Attributes
    ----------
    turns : int
        Sweeps in which it ran.
    tried, accepted : int
        Updates; Gibbs updates are always accepted.
    seconds : float
    """

    turns: int = 0
    tried: int = 0
    accepted: int = 0
    seconds: float = 0.0

    def __add__(self, other: MoveTotals) -> MoveTotals:
        return MoveTotals(
            self.turns + other.turns,
            self.tried + other.tried,
            self.accepted + other.accepted,
            self.seconds + other.seconds,
        )

    @property
    def acceptance(self) -> float:
        """Share of the updates that were accepted; NaN where none was tried."""
        return self.accepted / self.tried if self.tried else float("nan")


@attrs.frozen(eq=False, kw_only=True)
class ChainRecord:
    """A chain of a comparison. The first entry of each array is the start.

    Attributes
    ----------
    init : object
        The start.
    seed : int
        ``Scheduler(moves).run(franchise, sweeps, rng=seed, init=init)`` is the same chain.
    sweeps : int64 array, shape (n,)
        Number of the sweep after which the entry was recorded.
    seconds : float64 array, shape (n,)
        Time that the moves had taken since the start.
    n_dishes : int64 array, shape (n,)
    log_joint : float64 array, shape (n,)
        log p(dishes, numbers of tables, data), see `compare_schedules`.
    shares : float64 array, shape (n, n_shares)
        Shares of the data that the largest dishes have, largest first.
    moves : dict of MoveTotals
        By the name of the move.
    wall_seconds, processor_seconds : float
        By the wall clock and on processors, records included.
    finished : bool
        False where Ctrl-C ended it.
    """

    init: Any
    seed: int
    sweeps: Ints = attrs.field(repr=False)
    seconds: Floats = attrs.field(repr=False)
    n_dishes: Ints = attrs.field(repr=False)
    log_joint: Floats = attrs.field(repr=False)
    shares: Floats = attrs.field(repr=False)
    moves: dict[str, MoveTotals] = attrs.field(repr=False)
    wall_seconds: float
    processor_seconds: float
    finished: bool


@attrs.frozen
class Standing:
    """How far a comparison is.

    Attributes
    ----------
    schedule, init : str
    chain, chains, place, schedules : int
        Number of the chain and of the schedule, of how many.
    seconds, budget : float
        Time of its moves, and what each chain has.
    sweeps, n_dishes : int
    log_joint : float
    finished : bool
    """

    schedule: str
    init: str
    chain: int
    chains: int
    place: int
    schedules: int
    seconds: float
    budget: float
    sweeps: int
    n_dishes: int
    log_joint: float
    finished: bool


class _Rows:
    """States as they are recorded; every second one goes where they become too many."""

    def __init__(self, n_shares: int) -> None:
        self.n_shares = n_shares
        self.thin = 1
        self.rows: list[tuple[int, float, int, float, Floats]] = []

    def record(self, franchise: Franchise, seconds: float) -> None:
        sizes = np.sort(dish_sizes(franchise))[::-1]
        shares = np.zeros(self.n_shares)
        largest = sizes[: self.n_shares]
        shares[: len(largest)] = largest / sizes.sum()
        row = (franchise.sweep, seconds, len(sizes), log_joint_of_counts(franchise), shares)
        self.rows.append(row)
        if len(self.rows) > _MOST:
            self.thin *= 2
            self.rows = [row for row in self.rows if row[0] % self.thin == 0]


def run_chain(
    candidate: Candidate,
    init: Any,
    seed: int,
    seconds: float,
    n_shares: int,
    clock: str,
    tell: Callable[[float, int, int, float, bool], Any],
) -> ChainRecord:
    """Run one chain until its moves have taken this many seconds; the sweep under way is ended.

    Parameters
    ----------
    candidate : Candidate
    init : start
    seed : int
    seconds : float
    n_shares : int
        How many of the largest shares are recorded.
    clock : str
        One of `CLOCKS`.
    tell : callable
        Called at times with the seconds so far, sweeps, dishes, log joint, and whether that was all.

    Returns
    -------
    ChainRecord
        After Ctrl-C what was done so far, unless that was less than the start.
    """
    franchise = candidate.franchise.copy()
    start(franchise, init, Streams(seed).source(STARTS))
    rows = _Rows(n_shares)
    rows.record(franchise, 0.0)
    moves: dict[str, MoveTotals] = {}
    spent, finished, told = 0.0, False, -1.0
    begun, on_processors = time.perf_counter(), time.process_time()
    draws = candidate.schedule.sample(franchise, _NO_END, rng=seed, init=None)
    try:
        while not finished:
            before = time.perf_counter(), time.process_time()
            draw = next(draws)
            share = 1.0 if clock == "wall" else _share_since(*before)
            with deferred_interrupt():
                spent += share * seconds_of(draw)
                for record in draw.moves:
                    moves[record.move] = moves.get(record.move, MoveTotals()) + _totals(record, share)
                now = time.perf_counter()
                finished = spent >= seconds or now - begun >= _WALL * seconds
                if draw.moves and draw.sweep % rows.thin == 0:  # where no move had a turn nothing is new
                    rows.record(franchise, spent)
            if finished or now - told >= _BETWEEN_TELLING:
                told = now
                _, _, n_dishes, log_joint, _ = rows.rows[-1]
                tell(spent, draw.sweep, n_dishes, log_joint, finished)
    except KeyboardInterrupt:
        pass
    finally:
        draws.close()
    sweeps, times, dishes, log_joints, shares = zip(*rows.rows, strict=True)
    return ChainRecord(
        init=init,
        seed=seed,
        sweeps=_kept(sweeps, np.int64),
        seconds=_kept(times, np.float64),
        n_dishes=_kept(dishes, np.int64),
        log_joint=_kept(log_joints, np.float64),
        shares=_kept(shares, np.float64),
        moves=moves,
        wall_seconds=time.perf_counter() - begun,
        processor_seconds=time.process_time() - on_processors,
        finished=finished,
    )


def seconds_of(draw: Draw) -> float:
    """Time that the moves of a sweep took."""
    return sum(record.seconds for record in draw.moves)


def _share_since(wall: float, processor: float) -> float:
    """How much of a processor this process has had since then."""
    passed = time.perf_counter() - wall
    return (time.process_time() - processor) / passed if passed > 0.0 else 1.0


def _totals(record: MoveRecord, share: float) -> MoveTotals:
    return MoveTotals(1, record.tried, record.accepted, share * record.seconds)


def _kept(values: Any, dtype: Any) -> npt.NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array
