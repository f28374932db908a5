"""Optional methods of a store, which save time or memory.

They are detected by `isinstance`. Without them the methods of `SeatingStore` are used.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.checks import ByClass


@runtime_checkable
class CountsInBulk(Protocol, metaclass=ByClass):
    """A store that returns all its counts at once."""

    def counts(self) -> tuple[Int32s, Int32s, Int32s, Int32s]:
        """Restaurant, dish, customers and tables of every dish of every restaurant that serves it.

        Returns
        -------
        node, dish, customers, tables : int32 arrays, shape (n_entries,)
            Sorted by restaurant and dish.
        """


@runtime_checkable
class CountsDishes(Protocol, metaclass=ByClass):
    """A store that counts the data customers of its dishes."""

    def dish_sizes(self) -> Int64s:
        """Data customers of each dish that has any, in the order of dishes: int64."""


@runtime_checkable
class TotalsInBulk(Protocol, metaclass=ByClass):
    """A store that returns the totals of all restaurants at once."""

    def totals(self) -> tuple[Int64s, Int64s]:
        """Customers and tables of every restaurant: two int64 arrays, shape (n_nodes,)."""


@runtime_checkable
class ScoresSeating(Protocol, metaclass=ByClass):
    """A store that computes the log probability of its seating."""

    def log_seating(self, concentration: Floats, discount: Floats) -> float:
        """Log probability of the seating of all restaurants in nats, given theta and d of each restaurant."""


@runtime_checkable
class CountsSizes(Protocol, metaclass=ByClass):
    """A store that counts its tables by size."""

    def size_counts(self, nodes: Int64s) -> tuple[Int64s, Int64s]:
        """Sizes of the tables of these restaurants, ascending, and the number of tables of each size."""


@runtime_checkable
class Compacts(Protocol, metaclass=ByClass):
    """A store that can release unused memory between sweeps."""

    def compact(self, share: float = 0.5) -> bool:
        """Release unused memory where it is more than this share; True if any was released.

        Nothing else changes.
        """


@runtime_checkable
class ReportsMemory(Protocol, metaclass=ByClass):
    """A store that reports its memory by purpose."""

    def memory_parts(self) -> dict[str, int]:
        """Bytes held, by purpose; `memory_bytes` is their sum."""


@runtime_checkable
class KeepsCells(Protocol, metaclass=ByClass):
    """A store that doesn't record which of the customers with one term in a document eats which dish."""

    def cell_runs(self) -> tuple[Int32s, Int32s, Int32s]:
        """The number of dishes of each cell, the dishes, and the customers of each dish: int32 arrays."""

    def count_into(self, bank: Any, slots: Int32s, more: Any = None) -> None:
        """Recompute the statistics of dishes in a bank that counts by cell.

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
    """A store that can read observed dishes from the data instead of storing them."""

    def observe(self, values: Int32s) -> None:
        """Set the observed dishes of the data customers."""
