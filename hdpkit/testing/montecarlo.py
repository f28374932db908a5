"""One-step Monte Carlo from independent exact draws: production moves, whole, with their production source.

The exact-kernel test enumerates steps with a scripted source. What it can't see is the production source,
and whole sweeps, which have too many branches. Here a state is drawn from the exact posterior, the move is
applied once, and the state that results is counted; its law must be the posterior again. No burn-in, no
thinning: draws are independent and the p-value is one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hdpkit.errors import ParameterError
from hdpkit.franchise import Franchise
from hdpkit.moves import Move
from hdpkit.random import Streams
from hdpkit.testing.enumeration import lump_to_histograms
from hdpkit.testing.exact import ExactModel, check_exact
from hdpkit.testing.geweke import apply_moves
from hdpkit.testing.pvalues import one_sample_p
from hdpkit.testing.transitions import lump_matrix

__all__ = ["one_step", "one_step_counts", "sweep_matrix"]

_STARTS, _FROM_POSTERIOR, _FROM_STATE = 1, 2, 3  # places of the streams


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
    for number, start in enumerate(starts.tolist()):
        apply_moves(model.enter(start), schedule, streams.source(place, number))
        ends[number] = model.read()
    return np.bincount(ends, minlength=len(model.states))


def sweep_matrix(model: ExactModel, move: Move) -> npt.NDArray[np.float64]:
    """Exact transition matrix of a whole application: the product of its steps, each of which is checked.

    Over a store without table numbers a move that needs them seats customers out once for the whole sweep,
    not once a step. There the product is taken over labelled seatings, which are then lumped by the posterior.
    """
    if model.labelled or not move.needs_tables:
        return check_exact(model, move)
    own = model.franchise
    twin = Franchise(
        own.restaurant_declared, own.data, store="explicit", kernel=own.forced_kernel, measure=own.measure
    )
    for declaration in own.declarations:
        twin.set_concentration(declaration.name, own.concentration(declaration.name))
    labelled = ExactModel(twin)
    classes = [lump_to_histograms(key, labelled.shape) for key in labelled.states]
    lumped = lump_matrix(check_exact(labelled, move), classes, labelled.pi)
    order = [lumped.classes.index(state) for state in model.states]
    return lumped.matrix[np.ix_(order, order)]


def one_step(
    model: ExactModel,
    moves: Move | Sequence[Move],
    draws: int,
    seed: int,
    *,
    matrix: npt.ArrayLike | None = None,
    state: int | None = None,
) -> dict[str, float]:
    """P-values of the hypotheses that a whole move leaves the posterior invariant, and has this matrix.

    Parameters
    ----------
    model : ExactModel
    moves : Move or sequence of Move
        Applied whole, once, with a `RandomStream`.
    draws : int
        Independent draws (as many again for the row).
    seed : int
    matrix : array, shape (n_states, n_states), optional
        Exact transition matrix of the same application; for a sweep the product of its steps' matrices.
        A kernel that is invariant for the wrong reason, for one because it hardly moves, is seen by it alone.
    state : int, optional
        The state whose row is checked; by default the one whose row has the largest entropy.

    Returns
    -------
    dict of str to float
        "invariance" and, with a matrix, "row".
    """
    if draws < 1:
        raise ParameterError("draws", draws, "1 or more", "Some thousands are usual.")
    streams = Streams(seed)
    n_states = len(model.states)
    starts = streams.source(_STARTS).generator.choice(n_states, size=draws, p=model.pi / model.pi.sum())
    counts = one_step_counts(model, moves, starts.astype(np.int64), streams, _FROM_POSTERIOR)
    p_values = {"invariance": one_sample_p(counts, model.pi)}
    if matrix is not None:
        rows = np.asarray(matrix, dtype=np.float64)
        if rows.shape != (n_states, n_states):
            raise ParameterError("matrix", rows.shape, f"of shape {(n_states, n_states)}", "One row a state.")
        if state is None:
            with np.errstate(divide="ignore", invalid="ignore"):
                state = int(np.argmax(-np.nansum(np.where(rows > 0, rows * np.log(rows), 0.0), axis=1)))
        from_one = np.full(draws, state, dtype=np.int64)
        counts = one_step_counts(model, moves, from_one, streams, _FROM_STATE)
        p_values["row"] = one_sample_p(counts, np.maximum(rows[state], 0.0))
    return p_values
