"""What is compared, schedules over the same model and data; their chains, one after the other, and records of
them by the time that moves have taken."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from hdpkit._franchise_lock import HeldInterrupt
from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import instance, text
from hdpkit.errors import ParameterError, printable, short_repr
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.scores import INTEGRATED_OUT, dish_sizes, log_joint_of_counts
from hdpkit.franchise.starts import check_start, start
from hdpkit.random import STARTS, Streams
from hdpkit.run.runs import Scheduler
from hdpkit.run.trace import Draw

USUAL_STARTS = ("auto", "one", "sequential")
"""Default starts of chains: many dishes, one dish, customers seated one after another."""


def shown(init: Any) -> str:
    """Short text for a start."""
    return printable(init) if isinstance(init, str) else short_repr(init)


def _scheduler(schedule: Any) -> Scheduler:
    return schedule if isinstance(schedule, Scheduler) else Scheduler(schedule)


def _franchise(instance_: Any, attribute: Any, value: Any) -> None:
    instance(attribute.name, value, Franchise, "a Franchise", remedy="hk.Franchise(restaurant, data).")


@attrs.frozen(eq=False)
class Candidate:
    """A schedule with its own franchise, which may have another store, root or kernel.

    Parameters
    ----------
    franchise : Franchise
        Not changed: chains run on copies.
    schedule : Scheduler or sequence of Move
    """

    franchise: Franchise = attrs.field(validator=_franchise)
    schedule: Scheduler = attrs.field(converter=_scheduler)


def candidates_of(schedules: Any, franchise: Any) -> dict[str, Candidate]:
    """Check the schedules of `compare_schedules`; return candidates by name, all with one model and data."""
    remedy = "For instance {'tables': [hk.moves.TableGibbs()]}."
    if not isinstance(schedules, Mapping) or not schedules:
        raise ParameterError("schedules", schedules, "a dict of schedules by name", remedy)
    if franchise is not None:
        instance("franchise", franchise, Franchise, "a Franchise, or None", remedy="hk.Franchise(...).")
    found = {}
    for name, given in schedules.items():
        text("schedules", name, remedy="Names are strings.")
        if isinstance(given, Candidate):
            found[name] = given
            continue
        scheduler = _scheduler(given)
        if franchise is None:
            raise ParameterError(
                "franchise", None, f"a Franchise, for the schedule {name!r} has none of its own",
                "Pass one, or write hk.Candidate(franchise, moves).",
            )  # fmt: skip
        found[name] = Candidate(franchise, scheduler)
    first = next(iter(found))
    for name, candidate in found.items():
        _check_model(first, found[first].franchise, name, candidate.franchise)
        for move in candidate.schedule.moves:
            with candidate.franchise.lock():
                move.check(candidate.franchise)
    return found


def starts_of(inits: Any, candidates: Mapping[str, Candidate]) -> tuple[Any, ...]:
    """Starts of the chains in turn; every candidate must support each."""

    def check(init: Any) -> Any:
        for candidate in candidates.values():
            with candidate.franchise.lock():
                check_start(init, candidate.franchise)
        return init

    if inits is None:
        usual = []
        for init in USUAL_STARTS:
            with contextlib.suppress(ParameterError):
                usual.append(check(init))
        return tuple(usual)
    if not isinstance(inits, (list, tuple)) or not inits:
        raise ParameterError(
            "inits", inits, "a list of starts, or None", 'For instance ["auto", "one", hk.init.Random(50)].'
        )
    if any(init is None for init in inits):
        raise ParameterError("inits", None, "starts, not None", "Every chain begins at a start.")
    return tuple(map(check, inits))


def _check_model(first: str, one: Franchise, name: str, other: Franchise) -> None:
    """Raise a ParameterError unless two franchises have the same posterior; their stores may differ."""
    if one is other:
        return
    parts = set(one.parts) ^ set(other.parts)
    held = np.array_equal(one.held.nodes, other.held.nodes)
    differ = {
        "data": not _same_data(one, other),
        "restaurants or base measures": not (
            _same(one.declarations, other.declarations) and _same(one.measure, other.measure)
        ),
        "roots": not _same(_root_of(one), _root_of(other)),
        "known components or held groups": not (_same(one.known, other.known) and held),
        "parts of the state": bool(parts - INTEGRATED_OUT),
    }
    if any(differ.values()):
        what = next(name for name, found in differ.items() if found)
        raise ParameterError(
            "schedules", name, f"of the same model and data as {first!r}: they have different {what}",
            "Build all franchises from the same restaurants and data: they must have one posterior. "
            "Store, kernel and root='weights' may differ.",
        )  # fmt: skip


def _root_of(franchise: Franchise) -> Any:
    """The root's part of the model; drawn weights ("weights") count as integrated ones ("restaurant")."""
    declared: Any = franchise.root.declared
    return "restaurant" if isinstance(declared, str) and declared == "weights" else declared


def _same_data(one: Franchise, other: Franchise) -> bool:
    if one.data is not other.data:
        a, b = np.asarray(one.data.values), np.asarray(other.data.values)
        if a.shape != b.shape or not np.array_equal(a, b):
            return False
    same: bool = np.array_equal(one.topology.home, other.topology.home)
    return same and np.array_equal(one.topology.parent, other.topology.parent)


def _same(one: Any, other: Any) -> bool:
    """Whether two declarations are equal."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    if attrs.has(type(one)):
        return all(_same(getattr(one, f.name), getattr(other, f.name)) for f in attrs.fields(type(one)))
    return bool(one == other)


CLOCKS = ("wall", "processor")

_NO_END = 2**62
_MOST = 20_000  # recorded states of a chain; if there are more, every second one is dropped
_WALL = 20  # a chain whose recording is slow ends after this many times its seconds by the wall clock
_BETWEEN_TELLING = 0.1


@attrs.frozen
class Limit:
    """How long a chain runs: for seconds of its moves by a clock, or, if given, for a number of sweeps."""

    seconds: float
    clock: str = "wall"
    sweeps: int | None = None

    def reached(self, spent: float, passed: float, sweeps: int) -> bool:
        """Whether a chain ends, by the time of its moves, the time that has passed, and its sweeps."""
        if self.sweeps is not None:
            return sweeps >= self.sweeps
        return spent >= self.seconds or passed >= _WALL * self.seconds


@attrs.frozen
class MoveTotals:
    """Totals of one move of a schedule over one chain or several."""

    turns: int = 0  # sweeps in which it ran
    tried: int = 0  # updates
    accepted: int = 0  # Gibbs updates are always accepted
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
        """Share of the updates that were accepted; NaN if none was tried."""
        return self.accepted / self.tried if self.tried else float("nan")


@attrs.frozen(eq=False, kw_only=True)
class ChainRecord:
    """A chain of a comparison. The first entry of each array, of shape (n,), is the start."""

    init: Any  # the start
    seed: int  # ``Scheduler(moves).run(franchise, sweeps, rng=seed, init=init)`` is the same chain
    sweeps: Int64s = attrs.field(repr=False)  # after which each entry was recorded
    seconds: Floats = attrs.field(repr=False)  # that the moves had taken since the start
    n_dishes: Int64s = attrs.field(repr=False)
    log_joint: Floats = attrs.field(repr=False)  # log p(dishes, numbers of tables, data)
    shares: Floats = attrs.field(repr=False)  # of the data of the largest dishes, shape (n, n_shares)
    moves: dict[str, MoveTotals] = attrs.field(repr=False)  # by name
    wall_seconds: float  # including recording
    processor_seconds: float
    finished: bool  # False if Ctrl-C ended it


@attrs.frozen
class Standing:
    """Progress of a comparison: which chain of which schedule, and where it is."""

    schedule: str
    init: str
    chain: int
    chains: int
    place: int
    schedules: int
    seconds: float  # of the chain's moves so far
    budget: float  # allowed for each chain
    sweeps: int
    n_dishes: int
    log_joint: float
    finished: bool


class _Rows:
    """Recorded states; when there are too many, every second one is dropped."""

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
    limit: Limit,
    n_shares: int,
    tell: Callable[[float, int, int, float, bool], Any],
    ended: Callable[[Franchise], Any] = lambda franchise: None,
) -> ChainRecord:
    """Run one chain up to its limit, to the end of a sweep. Without ``init`` it begins in its state."""
    franchise = candidate.franchise.copy()
    if init is not None:
        start(franchise, init, Streams(seed).source(STARTS))
    begins = franchise.sweep
    rows = _Rows(n_shares)
    rows.record(franchise, 0.0)
    moves: dict[str, MoveTotals] = {}
    spent, finished, told = 0.0, False, -1.0
    begun, on_processors = time.perf_counter(), time.process_time()
    draws = candidate.schedule.sample(franchise, _NO_END - begins, rng=seed, init=None)
    try:
        while not finished:
            before = time.perf_counter(), time.process_time()
            draw = next(draws)
            # Average number of processors that this process has used in this sweep.
            passed, used = time.perf_counter() - before[0], time.process_time() - before[1]
            share = 1.0 if limit.clock == "wall" or passed <= 0.0 else used / passed
            with HeldInterrupt():
                spent += share * seconds_of(draw)
                for record in draw.moves:
                    own = MoveTotals(1, record.tried, record.accepted, share * record.seconds)
                    moves[record.move] = moves.get(record.move, MoveTotals()) + own
                now = time.perf_counter()
                finished = limit.reached(spent, now - begun, draw.sweep - begins)
                if draw.moves and draw.sweep % rows.thin == 0:  # if no move had a turn, nothing has changed
                    rows.record(franchise, spent)
            if finished or now - told >= _BETWEEN_TELLING:
                told = now
                _, _, n_dishes, log_joint, _ = rows.rows[-1]
                tell(spent, draw.sweep, n_dishes, log_joint, finished)
    except KeyboardInterrupt:
        pass
    finally:
        draws.close()
    wall_seconds = time.perf_counter() - begun
    processor_seconds = time.process_time() - on_processors
    if finished:
        ended(franchise)
    names = ("sweeps", "seconds", "n_dishes", "log_joint", "shares")
    recorded = {name: np.array(own) for name, own in zip(names, zip(*rows.rows, strict=True), strict=True)}
    for array in recorded.values():
        array.setflags(write=False)
    return ChainRecord(
        init=init,
        seed=seed,
        **recorded,
        moves=moves,
        wall_seconds=wall_seconds,
        processor_seconds=processor_seconds,
        finished=finished,
    )


def seconds_of(draw: Draw) -> float:
    """Time that the moves of a sweep took."""
    return sum(record.seconds for record in draw.moves)


@attrs.define
class Runs:
    """What was run."""

    records: dict[str, list[ChainRecord]]  # chains by the name of the schedule
    # by name: what a move or a franchise raised; such a schedule has no more chains
    failures: dict[str, Exception] = attrs.field(factory=dict)
    interrupted: bool = False  # by Ctrl-C

    @property
    def whole(self) -> dict[str, tuple[ChainRecord, ...]]:
        """Completed chains of each schedule; if it has none, the one that Ctrl-C ended."""
        found = {}
        for name, chains in self.records.items():
            ended = tuple(chain for chain in chains if chain.finished)
            if ended or chains:
                found[name] = ended or tuple(chains)
        return found


def run_all(
    candidates: Mapping[str, Candidate],
    seconds: float,
    chains: int,
    seed: int,
    starts: tuple[Any, ...],
    shares: int,
    clock: str,
    progress: Callable[[Standing], Any] | None,
) -> Runs:
    """Run every first chain, then every second one, and so on. Parameters as for `compare_schedules`."""
    runs, limit = Runs({name: [] for name in candidates}), Limit(seconds, clock)
    try:
        for c in range(chains):
            init = starts[c % len(starts)]
            for place, (name, candidate) in enumerate(candidates.items()):
                if name in runs.failures:
                    continue
                known = {"schedule": name, "init": shown(init), "chain": c, "chains": chains, "place": place}
                known |= {"schedules": len(candidates), "budget": seconds}
                tell = teller(progress, known)
                try:
                    record = run_chain(candidate, init, seed + c, limit, shares, tell)
                except Exception as error:  # of user code, for example: others' chains are kept
                    runs.failures[name] = error
                    continue
                runs.records[name].append(record)
                if not record.finished:
                    runs.interrupted = True
                    return runs
    except ProgressFailed as failed:
        raise failed.error from None
    except KeyboardInterrupt:
        runs.interrupted = True
    return runs


class ProgressFailed(BaseException):
    """Wraps an error of the progress function, to distinguish it from errors that a schedule raises."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def teller(progress: Callable[[Standing], Any] | None, known: Mapping[str, Any]) -> Callable[..., None]:
    """The function that a chain calls to report progress."""

    def tell(spent: float, sweeps: int, n_dishes: int, log_joint: float, finished: bool) -> None:
        if progress is None:
            return
        now = {"seconds": spent, "sweeps": sweeps, "n_dishes": n_dishes, "log_joint": log_joint}
        try:
            progress(Standing(**{**known, **now, "finished": finished}))
        except Exception as error:
            raise ProgressFailed(error) from error

    return tell
