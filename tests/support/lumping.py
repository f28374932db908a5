"""The chain of a function of the state: its exact transition matrix from that of the states."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Lumped(NamedTuple):
    """Values of a function of the state, in order of first appearance, and the chain between them."""

    classes: list[Any]
    matrix: NDArray[np.float64]


def lump_matrix(P: ArrayLike, classes: Sequence[Hashable], pi: ArrayLike) -> Lumped:
    """The chain of a function of the state in equilibrium (Kemeny & Snell 1976, section 6.3)."""
    number: dict[Any, int] = {}
    member = [number.setdefault(value, len(number)) for value in classes]
    indicator = np.eye(len(number))[member]
    weights = np.asarray(pi)
    flow = indicator.T @ (weights[:, None] * (np.asarray(P) @ indicator))
    return Lumped(list(number), flow / (indicator.T @ weights)[:, None])
