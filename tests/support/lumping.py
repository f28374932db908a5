"""The chain of a function of the state: its exact transition matrix from that of the states."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hdpkit.errors import ParameterError

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


def lump_matrix(P: ArrayLike, classes: Sequence[Hashable], pi: ArrayLike | None = None) -> Lumped:
    """The chain of a function of the state (Kemeny & Snell 1976, section 6.3)."""
    matrix = np.asarray(P, dtype=np.float64)
    if len(classes) != matrix.shape[0]:
        raise ParameterError("classes", len(classes), f"of length {matrix.shape[0]}", "Give one per state.")
    number: dict[Any, int] = {}
    member = np.array([number.setdefault(value, len(number)) for value in classes], dtype=np.intp)
    indicator = np.zeros((matrix.shape[0], len(number)))
    indicator[np.arange(matrix.shape[0]), member] = 1.0

    law = None if pi is None else np.asarray(pi)
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
    return Lumped(list(number), lumped, None if law is None else totals, float(np.max(spread, initial=0.0)))
