"""What the root's children draw from, in Python, as a readable reference.

Its twins are in `hdpkit._compiled.walk.root`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.walk.root import WeightTable

__all__ = ["AtomRoot", "FixedRoot", "LatentRoot", "ReferenceRoot", "WeightedRoot"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class ReferenceRoot:
    """Latent dishes: above the root restaurant everything is new."""

    def opens_again(self) -> bool:
        """Whether a dish that the root serves may get another table of the root."""
        return False

    def loses_dishes(self) -> bool:
        """Whether a dish without tables of the root is gone."""
        return True

    def complete(self, n_dishes: int) -> bool:
        """Whether there can be no further dish than these."""
        return False

    def row(self, live: Ints) -> Floats:
        """Probability of each live dish and, last, of a new one above the first of `restaurants`."""
        return np.append(np.zeros(len(live)), 1.0)

    def above(self, dish: int) -> float:
        """Probability of a dish for a new table of the root."""
        return 1.0

    def restaurants(self, path: Sequence[int]) -> Sequence[int]:
        """Which restaurants of a path that ends at the root change the row."""
        return path


LatentRoot = ReferenceRoot


class AtomRoot(ReferenceRoot):
    """Observed dishes: above the root restaurant stands H.

    ``base`` is H of each atom and, last, of all others.
    """

    def __init__(self, base: Floats) -> None:
        self.base = base

    def opens_again(self) -> bool:
        """H may give it to any of them."""
        return True

    def loses_dishes(self) -> bool:
        """All are there in any state."""
        return False

    def row(self, live: Ints) -> Floats:
        """H."""
        return self.base.copy()

    def above(self, dish: int) -> float:
        """H of the dish."""
        return float(self.base[dish])


class WeightedRoot(ReferenceRoot):
    """Weights that are part of the state, for the root's predictive (Teh et al. 2006, section 5.2)."""

    def __init__(self, table: WeightTable) -> None:
        self.table = table

    def row(self, live: Ints) -> Floats:
        """The weights of the dishes and the remainder."""
        weights: Floats = self.table.many(live)
        return weights

    def restaurants(self, path: Sequence[int]) -> Sequence[int]:
        """All but the root."""
        return path[:-1]


class FixedRoot(ReferenceRoot):
    """K dishes of weight 1/K each; those without customers are one outcome, all that is new."""

    def __init__(self, n_dishes: int) -> None:
        self.n_dishes = n_dishes

    def complete(self, n_dishes: int) -> bool:
        """Whether all K have customers."""
        return n_dishes >= self.n_dishes

    def row(self, live: Ints) -> Floats:
        """1/K for each dish, and what the K - n others have together."""
        return np.append(np.ones(len(live)), max(self.n_dishes - len(live), 0)) / self.n_dishes

    def restaurants(self, path: Sequence[int]) -> Sequence[int]:
        """All but the root."""
        return path[:-1]
