"""What steps ask of a tree of restaurants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from hdpkit.arrays import Int32s

NEW = -2
"""In place of a dish: one that would be born next."""


class Eaten(Protocol):
    """An object that knows the dish of each data customer, for instance a seating store."""

    def dish_of(self, customer: int) -> int:
        """Slot of a customer's dish, -1 while the customer is not seated, `NEW` for a dish that is tried."""


class Tree(Protocol):
    """Restaurants by number: 0 is the root, and parents come first."""

    @property
    def parent(self) -> Int32s:
        """Parent of each restaurant, -1 for the root: shape (n_nodes,)."""

    @property
    def home(self) -> Any:
        """Restaurant of each data customer, if it doesn't depend on the state: shape (n_customers,)."""

    @property
    def n_nodes(self) -> Any:
        """Number of restaurants."""

    def home_of(self, customer: int, eaten: Any) -> int:
        """Restaurant of a data customer, given the dishes of others (`Eaten`)."""

    def followers(self, customer: int) -> Sequence[int]:
        """Customers whose home depends on the dish of this one."""

    def favoured(self, node: int) -> tuple[int, float]:
        """The dish that a restaurant favours (-1: none), and what is added to its count and concentration."""

    def take(self, dish: int, n: int) -> None:
        """Record how many tables of a dish came from what its restaurant adds: override tables."""

    def path(self, node: int) -> list[int]:
        """A restaurant and those above it, up to the root."""
