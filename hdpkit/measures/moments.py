"""Statistics of a normal distribution: number, mean and scatter, updated by Welford's method."""

from __future__ import annotations

from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats
from hdpkit.measures.vectors import LARGEST_VALUE


def finite(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which numbers are finite, and small enough for their squares."""
    return np.abs(np.asarray(values, dtype=float)) <= LARGEST_VALUE


@attrs.define
class Moments:
    """Statistics of a dish."""

    n: int
    mean: Floats  # shape (D,)
    scatter: Floats  # sum (x - mean)**2 by dimension, or sum (x - mean)(x - mean)'

    def copy(self) -> Self:
        """Return independent statistics."""
        return type(self)(self.n, self.mean.copy(), self.scatter.copy())

    def _products(self, a: Floats, b: Floats) -> Floats:
        return a * b if self.scatter.ndim == 1 else np.outer(a, b)

    def add(self, x: Floats) -> None:
        """Add one vector (Welford 1962). A sum of squares would lose digits by cancellation."""
        self.n += 1
        step = x - self.mean
        self.mean += step / self.n
        self.scatter += self._products(step, x - self.mean)

    def remove(self, x: Floats) -> None:
        """Remove one vector: the inverse of `add`."""
        self.n -= 1
        if self.n == 0:  # exact zeros, without accumulated rounding errors
            self.mean[:] = 0.0
            self.scatter[:] = 0.0
            return
        step = x - self.mean
        self.mean -= step / self.n
        self.scatter -= self._products(step, x - self.mean)
