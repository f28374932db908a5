"""Checks on the exact transition matrix of a Markov kernel: plain linear algebra, no tolerance built in.

A matrix P has a row for each state that a step starts from and a column for each that it ends in; pi has the
probability of each state, in the same order. Every error is a number to be compared with a tolerance (1e-12
in the tests of this package); it is infinite if anything in it isn't finite, so that NaN never passes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hdpkit.errors import ParameterError

__all__ = [
    "Lumped",
    "detailed_balance_error",
    "is_irreducible",
    "lump_matrix",
    "row_error",
    "stationary_error",
]

FloatArray = NDArray[np.float64]


class Lumped(NamedTuple):
    """A function of the state of a chain."""

    classes: list[Any]
    """The value of each class, in order of first appearance."""
    matrix: FloatArray
    """Transition matrix between classes."""
    pi: FloatArray | None
    """Probability of each class; None if no distribution was given."""
    error: float
    """By how much rows of one class differ: 0 if and only if the chain is (strongly) lumpable."""


def _matrix(P: ArrayLike) -> FloatArray:
    matrix = np.asarray(P, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ParameterError("P", matrix.shape, "a square matrix, not empty", "Give a row for each state.")
    return matrix


def _law(pi: ArrayLike, n_states: int) -> FloatArray:
    law = np.asarray(pi, dtype=np.float64)
    if law.shape != (n_states,):
        raise ParameterError("pi", law.shape, f"of shape ({n_states},)", "Give a probability for each state.")
    # An invalid distribution could let a wrong kernel pass: every kernel leaves pi = 0 invariant.
    if not (np.all(law >= 0) and abs(float(law.sum()) - 1) <= 1e-9):
        raise ParameterError("pi", law, "probabilities that sum to one", "Normalise it.")
    return law


def _largest(differences: FloatArray) -> float:
    if not np.all(np.isfinite(differences)):
        return float("inf")
    return float(np.max(np.abs(differences), initial=0.0))


def row_error(P: ArrayLike) -> float:
    """By how much P fails to be a transition matrix: row sums off one, or entries below zero."""
    matrix = _matrix(P)
    return max(_largest(matrix.sum(axis=1) - 1.0), _largest(np.minimum(matrix, 0.0)))


def stationary_error(P: ArrayLike, pi: ArrayLike) -> float:
    """max_j |(pi P)_j - pi_j|: zero if and only if the kernel leaves pi invariant."""
    matrix = _matrix(P)
    law = _law(pi, matrix.shape[0])
    return _largest(law @ matrix - law)


def detailed_balance_error(P: ArrayLike, pi: ArrayLike) -> float:
    """max_ij |pi_i P_ij - pi_j P_ji|: zero if and only if the kernel is reversible with respect to pi."""
    matrix = _matrix(P)
    flow = _law(pi, matrix.shape[0])[:, None] * matrix
    return _largest(flow - flow.T)


def is_irreducible(P: ArrayLike) -> bool:
    """Whether every state can be reached from every other: the graph of P > 0 is strongly connected."""
    matrix = _matrix(P)
    graph = csr_array((matrix > 0).astype(np.int8))
    n_components, _ = connected_components(graph, directed=True, connection="strong")
    return int(n_components) == 1


def lump_matrix(P: ArrayLike, classes: Sequence[Hashable], pi: ArrayLike | None = None) -> Lumped:
    """The chain of a function of the state (Kemeny & Snell 1976, section 6.3).

    Parameters
    ----------
    P : array, shape (S, S)
        Transition matrix between states.
    classes : sequence, length S
        The value of the function at each state.
    pi : array, shape (S,), optional
        Weights of the states within their classes: the lumped matrix is then that of one step from a state
        drawn from pi given its class. By default all weights are equal.

    Returns
    -------
    Lumped
        ``(classes, matrix, pi, error)``. If ``error`` is zero the function of the chain is itself a Markov
        chain with this matrix and the weights don't matter. If not, it is the matrix of the kernel that first
        draws the state from pi given its class, which is what a move does that seats customers out.
    """
    matrix = _matrix(P)
    if len(classes) != matrix.shape[0]:
        raise ParameterError("classes", len(classes), f"of length {matrix.shape[0]}", "Give one per state.")
    number: dict[Any, int] = {}
    member = np.array([number.setdefault(value, len(number)) for value in classes], dtype=np.intp)
    indicator = np.zeros((matrix.shape[0], len(number)))
    indicator[np.arange(matrix.shape[0]), member] = 1.0

    law = None if pi is None else _law(pi, matrix.shape[0])
    weights = np.ones(matrix.shape[0]) if law is None else law
    totals = indicator.T @ weights
    if np.any(totals == 0):
        empty = list(number)[int(np.argmin(totals))]
        raise ParameterError("pi", empty, "positive for some state of every class", "Leave the class out.")

    into_classes = matrix @ indicator  # one row per state: where it goes, by class
    lumped = (indicator.T @ (weights[:, None] * into_classes)) / totals[:, None]
    spread = np.zeros_like(lumped)
    for place in range(len(number)):
        rows = into_classes[member == place]
        spread[place] = rows.max(axis=0) - rows.min(axis=0)
    return Lumped(list(number), lumped, None if law is None else totals, _largest(spread))
