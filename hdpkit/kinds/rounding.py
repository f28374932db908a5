"""Values that are rounded: they are spread over the intervals that they stand for.

Of points that are equal in a column, for instance in a pixel that is 0, a normal component has a density
without bound, so components would be patterns of equal values. Spread evenly, values have the density of what
was rounded.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats

_EQUAL = 1e-9  # difference of values that are the same but for floating-point error, relative to the largest


@attrs.frozen(eq=False)
class Rounding:
    """To what the columns of points are rounded.

    Attributes
    ----------
    widths : float64 array, shape (D,)
        Smallest difference of two values of each column with at most half as many values as points; 0 for
        others, and where all values are equal.
    """

    widths: Floats

    @classmethod
    def from_data(cls, widths: Any) -> Rounding:
        """The widths that a file has."""
        return cls(np.asarray(widths, dtype=float))

    @classmethod
    def of(cls, values: Floats) -> Rounding:
        """The widths of points, shape (n, D)."""
        widths = np.zeros(values.shape[1])
        for j, column in enumerate(values.T):
            gaps = np.diff(np.unique(column))
            gaps = gaps[gaps > _EQUAL * np.abs(column).max()]
            if 0 < len(gaps) < len(column) // 2:
                widths[j] = gaps.min()
        return cls(widths)

    def spread(self, data: Any, before: int = 0) -> Any:
        """Points with values moved at random within their intervals, alike after as many others before."""
        if not self.widths.any():
            return data
        moves = np.random.default_rng(before).uniform(-0.5, 0.5, size=data.values.shape)
        return data.with_values(data.values + self.widths * moves)
