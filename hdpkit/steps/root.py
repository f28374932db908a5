"""Distributions from which the root's children draw, in Python.

The compiled twins are in `hdpkit.steps._walk`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hdpkit.arrays import Floats, Int32s
from hdpkit.steps._walk import WeightTable


class LatentRoot:
    """A root restaurant of latent dishes: each of its tables is a new dish."""

    def opens_again(self) -> bool:
        """Whether a dish may have several tables at the root."""
        return False

    def loses_dishes(self) -> bool:
        """Whether a dish dies when it has no tables at the root."""
        return True

    def row(self, live: Int32s) -> Floats:
        """Probability of each live dish and, last, of a new one above the first of `restaurants`."""
        return np.append(np.zeros(len(live)), 1.0)

    def above(self, dish: int) -> float:
        """Probability of a dish for a new table of the root."""
        return 1.0

    def restaurants(self, path: Sequence[int]) -> Sequence[int]:
        """The restaurants of a path to the root that change the row."""
        return path


class AtomRoot(LatentRoot):
    """A root restaurant of observed dishes, whose tables draw from H."""

    # `base` is H of each atom and, last, of all others.

    def __init__(self, base: Floats) -> None:
        self.base = base

    def opens_again(self) -> bool:
        """True: several tables may draw the same atom."""
        return True

    def loses_dishes(self) -> bool:
        """False: all atoms always exist."""
        return False

    def row(self, live: Int32s) -> Floats:
        """H."""
        return self.base.copy()

    def above(self, dish: int) -> float:
        """H of the dish."""
        return float(self.base[dish])


class WeightedRoot(LatentRoot):
    """Weights that are part of the state, for the root's predictive (Teh et al. 2006, section 5.2)."""

    def __init__(self, table: WeightTable) -> None:
        self.table = table

    def row(self, live: Int32s) -> Floats:
        """The weights of the dishes and the remainder."""
        return self.table.many(live)

    def restaurants(self, path: Sequence[int]) -> Sequence[int]:
        """All but the root."""
        return path[:-1]


class FixedRoot(LatentRoot):
    """K dishes of weight 1/K each; dishes without customers are one outcome, a new dish."""

    def __init__(self, n_dishes: int) -> None:
        self.n_dishes = n_dishes

    def row(self, live: Int32s) -> Floats:
        """1/K for each dish, and the total of the K - n others."""
        return np.append(np.ones(len(live)), max(self.n_dishes - len(live), 0)) / self.n_dishes

    def restaurants(self, path: Sequence[int]) -> Sequence[int]:
        """All but the root."""
        return path[:-1]
