"""The exact-kernel test if dishes have drawn numbers: a state is a seating and a point."""

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from one_sample import one_sample_p

from hdpkit.arrays import Floats
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves import Move
from hdpkit.random import ScriptedSource, Streams
from hdpkit.testing.exact import TOLERANCE, ExactFailure, ExactModel
from hdpkit.testing.geweke import apply_moves

Numbers = Sequence[float] | Floats
Point = tuple[int, tuple[float, ...]]

DRAWN = 0.37  # value drawn by the births of a script
DIGITS = 11  # of the rounding by which points are distinguished
BINS = 10  # of uniform numbers


class PointModel(ExactModel, abc.ABC):
    """A tiny franchise whose dishes have numbers: every seating, and the law of the numbers given it."""

    P_VALUES: ClassVar[tuple[str, ...]]
    """Names of the p-values of `one_step_of_points`: of the seating, and of each of the `uniform` numbers."""

    @abc.abstractmethod
    def enter(self, state: int, numbers: Numbers | None = None) -> Franchise:
        """Put the franchise into a state, with these numbers."""

    @abc.abstractmethod
    def numbers(self) -> Floats:
        """Numbers that the franchise has now, dishes in order of their first customer."""

    @abc.abstractmethod
    def generic_numbers(self, state: int) -> Floats:
        """Numbers that are all different."""

    @abc.abstractmethod
    def density(self, state: int, numbers: Numbers) -> float:
        """p(seating, numbers | data), with respect to the numbers."""

    @abc.abstractmethod
    def exact_draws(self, state: int, generator: np.random.Generator) -> Floats:
        """Exact draws of the numbers given a seating."""

    @abc.abstractmethod
    def uniform(self, state: int, numbers: Floats) -> Sequence[float | None]:
        """Uniform numbers, if the numbers have their law given the seating; None where there is no law."""

    @abc.abstractmethod
    def drawn(self, numbers: Floats, ends: Floats) -> float | None:
        """The number that a birth must draw to return from the second point to the first, if a dish died."""

    def jacobian(self, drawn: float, after: Floats) -> float:
        """Derivative of the new dish's number with respect to the drawn number."""
        return 1.0

    def transitions(
        self, move: Move, step: int, state: int, numbers: Numbers, drawn: float
    ) -> dict[Point, tuple[float, Floats]]:
        """Density of every possible end of a step in which all births draw this number."""
        ends: dict[Point, tuple[float, Floats]] = {}
        source, total = ScriptedSource(continuous=[drawn]), 0.0
        with self.franchise.lock():  # taken once, as by a scheduler, not by each step
            while True:
                move.apply(self.enter(state, numbers), source, (step, step + 1))
                after = self.numbers()
                flow = source.probability
                total += flow
                if source.values:
                    flow *= math.exp(source.log_density) * self.jacobian(drawn, after)
                point = self.read(), tuple(np.round(after, DIGITS).tolist())
                ends[point] = ends.get(point, (0.0, after))[0] + flow, after
                if not source.advance():
                    break
        if not abs(total - 1.0) <= TOLERANCE:
            raise ExactFailure(f"{move.name}, step {step}: probabilities sum to {total!r}")
        return ends


def check_balance(model: PointModel, move: Move, *, tolerance: float = TOLERANCE) -> int:
    """Check detailed balance of every step of a move with respect to p(seating, numbers | data)."""
    pairs = 0
    for step in range(move.n_steps(model.franchise)):
        known: dict[Any, Any] = {}  # many ways back begin at one point

        def transitions(
            state: int, numbers: Numbers, drawn: float, step: int = step, known: Any = known
        ) -> Any:
            point = state, *np.round([*numbers, drawn], DIGITS).tolist()
            if point not in known:
                known[point] = model.transitions(move, step, state, numbers, drawn)
            return known[point]

        for state in range(len(model.states)):
            given = model.generic_numbers(state)
            here: Point = state, tuple(np.round(given, DIGITS).tolist())
            for (after, _), (flow, ends) in transitions(state, given, DRAWN).items():
                if after < state:  # the pair was checked in the other direction
                    continue
                # On the way back, a dish that died is born again with the number that it had.
                drawn = model.drawn(given, ends)
                back = transitions(after, ends, DRAWN if drawn is None else drawn)
                there = model.density(state, given) * flow
                again = model.density(after, ends) * back.get(here, (0.0, ends))[0]
                if not abs(there - again) <= tolerance * max(1.0, there):
                    raise ExactFailure(
                        f"{move.name}, step {step}, {model.franchise!r}: detailed balance of seating and "
                        f"numbers: {model.states[state]} to {model.states[after]}: {there!r} and {again!r}"
                    )
                pairs += 1
    return pairs


def one_step_of_points(
    model: PointModel, moves: Move | Sequence[Move], draws: int, seed: int
) -> dict[str, float]:
    """P-values of the hypothesis that moves leave p(seating, numbers | data) invariant."""
    schedule = [moves] if isinstance(moves, Move) else list(moves)
    streams = Streams(seed)
    exact = streams.source(1).generator
    law = model.pi / model.pi.sum()
    starts = exact.choice(len(law), size=draws, p=law)
    ends = np.empty(draws, dtype=np.int64)
    found: list[list[float]] = [[] for _ in model.P_VALUES[1:]]
    for number, start in enumerate(starts.tolist()):
        franchise = model.enter(start, model.exact_draws(start, exact))
        apply_moves(franchise, schedule, streams.source(2, number))
        ends[number] = state = model.read()
        for values, u in zip(found, model.uniform(state, model.numbers()), strict=True):
            if u is not None:
                values.append(u)
    p_values = [one_sample_p(np.bincount(ends, minlength=len(law)), law)]
    for values in found:
        counts = np.bincount(np.minimum(np.array(values) * BINS, BINS - 1).astype(int), minlength=BINS)
        p_values.append(one_sample_p(counts, np.full(BINS, 1.0 / BINS)))
    return dict(zip(model.P_VALUES, p_values, strict=True))


def spread_of_log_joint(model: ExactModel) -> float:
    """How far the log joint of the states is from the log of the enumerated posterior plus a constant."""
    offsets = []
    for state in range(len(model.states)):
        if isinstance(model, PointModel):
            given = model.generic_numbers(state)
            franchise, p = model.enter(state, given), model.density(state, given)
        else:
            franchise, p = model.enter(state), float(model.pi[state])
        offsets.append(franchise.log_joint() - math.log(p))
        franchise.audit()
    return float(np.ptp(offsets))


def distribution(log_density: Callable[[float], float], grid: Floats) -> Floats:
    """Distribution function at exp(grid), of a number with this log density up to a constant."""
    logs = np.array([log_density(math.exp(y)) + y for y in grid])
    cdf = np.cumsum(np.exp(logs - logs.max()))
    return cdf / cdf[-1]


def p_values_of_updates(
    franchise: Franchise, move: Move, laws: Sequence[Floats], grid: Floats, draws: int, seed: int,
    put: Callable[[int, float], Any], get: Callable[[int], float],
) -> list[float]:  # fmt: skip
    """P-values of the hypothesis that a move leaves these laws of numbers alone, from exact draws of them."""
    streams = Streams(seed)
    starts = streams.source(1).uniform((draws, len(laws)))
    found: list[list[float]] = [[] for _ in laws]
    for number, row in enumerate(starts.tolist()):
        for place, (u, law) in enumerate(zip(row, laws, strict=True)):
            put(place, math.exp(float(np.interp(u, law, grid))))
        move.apply(franchise, streams.source(2, number))
        for place, law in enumerate(laws):
            found[place].append(float(np.interp(math.log(get(place)), grid, law)))
    bins = [np.minimum(np.array(own) * BINS, BINS - 1).astype(int) for own in found]
    return [one_sample_p(np.bincount(own, minlength=BINS), np.full(BINS, 1.0 / BINS)) for own in bins]
