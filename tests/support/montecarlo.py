"""One-step Monte Carlo from independent exact draws: complete production moves with their
production source.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from one_sample import one_sample_p

from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.starts import start
from hdpkit.moves import Move
from hdpkit.random import STARTS, ScriptedSource, Streams
from hdpkit.stores import Detail
from hdpkit.testing.exact import ExactModel, check_exact
from hdpkit.testing.geweke import apply_moves
from hdpkit.testing.states import to_histograms

_STARTS, _FROM_POSTERIOR, _FROM_STATE = 1, 2, 3  # places of the streams


class Lumped(NamedTuple):
    """Values of a function of the state, in order of first appearance, and the chain between them."""

    classes: list[Any]
    matrix: npt.NDArray[np.float64]


def lump_matrix(P: npt.ArrayLike, classes: Sequence[Hashable], pi: npt.ArrayLike) -> Lumped:
    """The chain of a function of the state in equilibrium (Kemeny & Snell 1976, section 6.3)."""
    number: dict[Any, int] = {}
    member = [number.setdefault(value, len(number)) for value in classes]
    indicator = np.eye(len(number))[member]
    weights = np.asarray(pi)
    flow = indicator.T @ (weights[:, None] * (np.asarray(P) @ indicator))
    return Lumped(list(number), flow / (indicator.T @ weights)[:, None])


def swept(
    schedule: Sequence[Move], franchise: Franchise, sweeps: int, seed: int, init: Any = "auto"
) -> Iterator[Franchise]:
    """Yield the franchise after every sweep of the chain of `Scheduler.run`."""
    streams = Streams(seed)
    if not all(move.by_cell for move in schedule):
        franchise.expand_cells()
    with franchise.lock():
        if init is not None:
            start(franchise, init, streams.source(STARTS))
        franchise.streams = Streams(seed)
        for _ in range(sweeps):
            sweep = franchise.sweep + 1
            for place, move in enumerate(schedule, start=1):
                if move.runs_in(sweep):
                    move.apply(franchise, streams.source(place, sweep))
            franchise.settle()
            franchise.sweep = sweep
            yield franchise


def one_step_counts(
    model: ExactModel,
    moves: Move | Sequence[Move],
    starts: npt.NDArray[np.int64],
    streams: Streams,
    place: int,
) -> npt.NDArray[np.int64]:
    """How often each state results when the moves are applied once from each of these states."""
    schedule = [moves] if isinstance(moves, Move) else list(moves)
    ends = np.empty(len(starts), dtype=np.int64)
    with model.franchise.lock():  # taken once, not by each step
        for number, start in enumerate(starts.tolist()):
            apply_moves(model.enter(start), schedule, streams.source(place, number))
            ends[number] = model.read()
    return np.bincount(ends, minlength=len(model.states))


def sweep_matrix(model: ExactModel, move: Move) -> npt.NDArray[np.float64]:
    """Exact transition matrix of a complete application: the product of its steps, each of which
    is checked.
    """
    if model.detail is Detail.SEATS or not move.needs_tables:
        return check_exact(model, move)
    own = model.franchise
    twin = Franchise(
        own.declarations[-1], own.data, store="explicit", kernel=own.forced_kernel, measure=own.measure
    )
    twin.hyperparameters.replace(own.hyperparameters.theta, own.hyperparameters.d)
    labelled = ExactModel(twin)
    classes = [to_histograms(key, labelled.shape, labelled.observed) for key in labelled.states]
    lumped = lump_matrix(check_exact(labelled, move), classes, labelled.pi)
    order = [lumped.classes.index(state) for state in model.states]
    return lumped.matrix[np.ix_(order, order)]


def exact_row(model: ExactModel, move: Move, state: int) -> npt.NDArray[np.float64]:
    """Distribution of the state after one complete application from this state, over all branches."""
    row, source = np.zeros(len(model.states)), ScriptedSource()
    while True:
        with model.franchise.lock():
            move.apply(model.enter(state), source)
        row[model.read()] += source.probability
        if not source.advance():
            return row


def one_step(
    model: ExactModel,
    moves: Move | Sequence[Move],
    draws: int,
    seed: int,
    *,
    state: int | None = None,
    row: npt.ArrayLike | None = None,
) -> dict[str, float]:
    """P-values of the hypotheses that a move leaves the posterior invariant, and has this distribution."""
    streams = Streams(seed)
    law = model.pi / model.pi.sum()
    starts = streams.source(_STARTS).generator.choice(len(law), size=draws, p=law).astype(np.int64)
    counts = one_step_counts(model, moves, starts, streams, _FROM_POSTERIOR)
    p_values = {"invariance": one_sample_p(counts, law)}
    if row is not None:
        from_one = np.full(draws, state, dtype=np.int64)
        counts = one_step_counts(model, moves, from_one, streams, _FROM_STATE)
        p_values["row"] = one_sample_p(counts, np.asarray(row, dtype=np.float64))
    return p_values
