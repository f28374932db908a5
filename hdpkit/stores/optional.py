"""Verbs that a store may have besides those of every store: for speed and memory.

Whether a store has them is seen by `isinstance`; without one the same is done by the verbs of every store.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from hdpkit.checks import ByClass
from hdpkit.stores.protocol import Ints

__all__ = [
    "Compacts",
    "CountsInBulk",
    "CountsSizes",
    "KeepsCells",
    "ObservesDishes",
    "ReportsMemory",
    "ScoresSeating",
    "TotalsInBulk",
]

Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@runtime_checkable
class CountsInBulk(Protocol, metaclass=ByClass):
    """A store that returns all its counts at once."""

    def counts(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Restaurant, dish, customers and tables of every dish of every restaurant that serves it.

        Returns
        -------
        node, dish, customers, tables : int32 arrays, shape (n_entries,)
            Sorted by restaurant and dish.
        """


@runtime_checkable
class TotalsInBulk(Protocol, metaclass=ByClass):
    """A store that returns the totals of all restaurants at once."""

    def totals(self) -> tuple[Wide, Wide]:
        """Customers and tables of every restaurant: two int64 arrays, shape (n_nodes,)."""


@runtime_checkable
class ScoresSeating(Protocol, metaclass=ByClass):
    """A store that computes the log probability of its seating by itself."""

    def log_seating(self, concentration: Floats, discount: Floats) -> float:
        """Log joint of the seating of all restaurants given theta and d, one each a restaurant."""


@runtime_checkable
class CountsSizes(Protocol, metaclass=ByClass):
    """A store that counts tables by size by itself."""

    def size_counts(self, nodes: Wide) -> tuple[Wide, Wide]:
        """Sizes of the tables of these restaurants, ascending, and how many have each."""


@runtime_checkable
class Compacts(Protocol, metaclass=ByClass):
    """A store that gives memory back between sweeps."""

    def compact(self, share: float = 0.5) -> bool:
        """Give memory back where more than this share of it is unused; True if anything was given back.

        Nothing else changes.
        """


@runtime_checkable
class ReportsMemory(Protocol, metaclass=ByClass):
    """A store that says what its memory is for."""

    def memory_parts(self) -> dict[str, int]:
        """Bytes held by what they are for; `memory_bytes` is their sum."""


@runtime_checkable
class KeepsCells(Protocol, metaclass=ByClass):
    """A store that leaves open which customers of a document with one term eat what."""

    def cell_runs(self) -> tuple[Ints, Ints, Ints]:
        """How many dishes each cell has; the dishes; the customers of each: int32 arrays."""

    def count_into(self, bank: Any, slots: Ints, more: Any = None) -> None:
        """Count the statistics of dishes again, in a bank that counts by cell.

        Parameters
        ----------
        bank : DirichletMultinomialBank
        slots : int32 array
            The occupied slots.
        """

    def seated(self) -> int:
        """Number of data customers who are seated."""


@runtime_checkable
class ObservesDishes(Protocol, metaclass=ByClass):
    """A store that can take observed dishes from the data in place of keeping them."""

    def observe(self, values: Ints) -> None:
        """Dishes are observed: these are the data customers', those of customers to come included."""
