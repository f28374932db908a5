"""Checks on the exact transition matrix of a Markov kernel: plain linear algebra, no tolerance built in.

A matrix P has a row for each state that a step starts from and a column for each that it ends in; pi has the
probability of each state, in the same order. Every error is a number to be compared with a tolerance (1e-12
in the tests of this package); it is infinite if anything in it isn't finite, so that NaN never passes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hdpkit.errors import ParameterError

FloatArray = NDArray[np.float64]


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
    matrix = np.asarray(P, dtype=np.float64)
    return max(_largest(matrix.sum(axis=1) - 1.0), _largest(np.minimum(matrix, 0.0)))


def stationary_error(P: ArrayLike, pi: ArrayLike) -> float:
    """max_j |(pi P)_j - pi_j|: zero if and only if the kernel leaves pi invariant."""
    matrix = np.asarray(P, dtype=np.float64)
    law = _law(pi, matrix.shape[0])
    return _largest(law @ matrix - law)


def detailed_balance_error(P: ArrayLike, pi: ArrayLike) -> float:
    """max_ij |pi_i P_ij - pi_j P_ji|: zero if and only if the kernel is reversible with respect to pi."""
    matrix = np.asarray(P, dtype=np.float64)
    flow = _law(pi, matrix.shape[0])[:, None] * matrix
    return _largest(flow - flow.T)


def is_irreducible(P: ArrayLike) -> bool:
    """Whether every state can be reached from every other: the graph of P > 0 is strongly connected."""
    matrix = np.asarray(P, dtype=np.float64)
    graph = csr_array((matrix > 0).astype(np.int8))
    n_components, _ = connected_components(graph, directed=True, connection="strong")
    return int(n_components) == 1
