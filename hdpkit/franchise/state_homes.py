"""Restaurants that depend on the state: the home of a customer is computed from the dishes of others."""

from __future__ import annotations

import abc
import heapq
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from hdpkit.arrays import Int32s
from hdpkit.checks import LARGEST, whole_number
from hdpkit.errors import AuditError, DataError, ParameterError, StateError
from hdpkit.parts import Part
from hdpkit.random import ChoiceSource

__all__ = ["NEW", "DishRows", "Eaten", "HomeState", "StateHomes"]

NEW = -2
"""In place of a dish: one that would be born next."""


class Eaten(Protocol):
    """An object that knows the dish of each data customer, for instance a seating store."""

    def dish_of(self, customer: int) -> int:
        """Slot of a customer's dish, -1 while the customer is not seated, `NEW` for a dish that is tried."""


class DishRows(Part):
    """The restaurant of each dish: a new dish takes the smallest free number from 0 to n_rows - 1."""

    name = "rows"
    enumerable = True

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.reset(np.empty(0, dtype=np.int32))

    def _take(self, rows: dict[int, int]) -> None:
        self._rows = rows
        self._free = sorted(set(range(self.n_rows)) - set(rows.values()))  # a sorted list is a heap

    def row(self, dish: int) -> int:
        """Row of a dish, or of `NEW`; raises a StateError if there is no such dish, or no free row."""
        if dish in self._rows:
            return self._rows[dish]
        if dish != NEW:
            raise StateError(
                "dish", dish, "that of a seated customer", "Seat the customers on whom a home depends first."
            )
        return self._vacant()

    def _vacant(self) -> int:
        if not self._free:
            raise StateError(
                "dishes", len(self._rows), f"at most {self.n_rows}, one for each restaurant",
                "Open no dish without seating a customer.",
            )  # fmt: skip
        return self._free[0]

    def born(self, slot: int, source: ChoiceSource | None, customers: Int32s) -> None:
        """Give the dish the smallest free row."""
        self._rows[slot] = self._vacant()
        heapq.heappop(self._free)

    def died(self, slot: int) -> None:
        """Free its row."""
        heapq.heappush(self._free, self._rows.pop(slot))

    def relabelled(self, mapping: Int32s) -> None:
        """Dishes keep their rows."""
        self._rows = {int(mapping[slot]): row for slot, row in self._rows.items()}

    def reset(self, slots: Int32s) -> None:
        """Give the dishes rows 0, 1, ... in the order of their slots."""
        self._take({slot: row for row, slot in enumerate(np.asarray(slots).tolist())})

    def freeze(self) -> dict[str, Any]:
        """Rows in the order of slots."""
        return {"rows": np.array([self._rows[slot] for slot in sorted(self._rows)], dtype=np.int32)}

    def thaw(self, frozen: Mapping[str, Any]) -> None:
        """Take rows in the order of the occupied slots."""
        self._take(self.checked(frozen, sorted(self._rows))._rows)

    def checked(self, frozen: Any, slots: Sequence[int]) -> DishRows:
        """Rows of a frozen state with these occupied slots, or a DataError unless each dish has its own."""
        rows = np.asarray(frozen.get("rows") if isinstance(frozen, Mapping) else None)
        whole = rows.shape == (len(slots),) and (rows.dtype.kind in "iu" or rows.size == 0)
        if not whole or np.any((rows < 0) | (rows >= self.n_rows)) or len(np.unique(rows)) < len(slots):
            raise DataError(
                "rows, in the frozen state", frozen,
                f"a different number from 0 to {self.n_rows - 1} for each of {len(slots)} dishes",
                "Thaw a state over the same data and declarations, unchanged.",
            )  # fmt: skip
        found = DishRows(self.n_rows)
        found._take(dict(zip(slots, rows.tolist(), strict=True)))
        return found

    def audit(self, slots: Int32s) -> None:
        """Check that exactly these dishes have rows, and no two the same."""
        rows = self._rows
        if sorted(rows) != np.asarray(slots).tolist() or len(set(rows.values())) < len(rows):
            raise AuditError("rows", rows, f"one for each of {slots}", "Report the move that ran last.")

    def memory_bytes(self) -> int:
        """Not measured for Python objects: 0."""
        return 0


class HomeState:
    """What the home of a customer may depend on: the dishes of other customers, and the restaurants.

    Parameters
    ----------
    eaten : Eaten
    rows : DishRows
    first : int
        Number of the first restaurant that belongs to no dish; those of dishes follow.
    n_fixed : int
    """

    def __init__(self, eaten: Eaten, rows: DishRows, first: int, n_fixed: int) -> None:
        if not hasattr(eaten, "dish_of") or not isinstance(rows, DishRows):
            remedy = "The package makes it and gives it to home()."
            raise ParameterError("eaten, rows", (eaten, rows), "a seating and rows of dishes", remedy)
        self._eaten = eaten
        self._rows = rows
        self._first = first
        self._n_fixed = n_fixed

    def dish_of(self, customer: int) -> int:
        """Slot of the dish of a data customer.

        Parameters
        ----------
        customer : int

        Raises
        ------
        StateError
            If the customer is not seated.
        """
        number = whole_number("customer", customer, remedy="The number of a data customer.")
        dish = int(self._eaten.dish_of(number))
        if dish == -1:
            raise StateError(
                "customer", customer, "seated: the home of another customer depends on its dish",
                "Seat customers in data order, and unseat them in the opposite order.",
            )  # fmt: skip
        return dish

    def row(self, dish: int) -> int:
        """Number of the restaurant of a dish.

        Parameters
        ----------
        dish : int
            What `dish_of` returned.
        """
        return self._first + self._n_fixed + self._rows.row(dish)

    def fixed(self, number: int) -> int:
        """Number of a restaurant that belongs to no dish.

        Parameters
        ----------
        number : int
            From 0 to ``n_fixed`` - 1.

        Raises
        ------
        StateError
            If there is no such restaurant.
        """
        number = whole_number("number", number, -LARGEST, remedy="Return state.fixed(j), from 0.")
        if not 0 <= number < self._n_fixed:
            raise StateError(
                "number", number, f"from 0 to {self._n_fixed - 1}, below n_fixed", "Declare more in n_fixed."
            )
        return self._first + number


class StateHomes(abc.ABC):
    """Restaurants, one for each dish, whose customers are determined by the dishes of other customers.

    Pass an object of a subclass as ``each`` of the deepest `Restaurant`. In a hidden Markov model the home of
    a customer is the restaurant of the dish of the customer before (Teh et al. 2006, section 7). All these
    restaurants have the same parent. A dish that is born gets an empty restaurant, and loses it when it dies.

    When a move changes the dish of a customer, its `followers` change their restaurants and keep their
    dishes. The move multiplies the weight of each candidate by the predictive probability of the followers'
    dishes in their new restaurants, given the candidate's seat.

    Attributes
    ----------
    name : str
        Default name of the declaration.
    n_fixed : int
        Number of restaurants that belong to no dish, for instance that of the first customers of sequences.
    """

    name: str = "state"
    n_fixed: int = 0

    def for_data(self, data: Any) -> StateHomes:
        """Return the rule for these data; by default the rule itself.

        Parameters
        ----------
        data : GroupedData
            Data of the franchise.
        """
        return self

    @abc.abstractmethod
    def home(self, customer: int, state: HomeState) -> int:
        """Number of the restaurant of a customer: ``state.fixed(j)`` or ``state.row(dish)``.

        Parameters
        ----------
        customer : int
        state : HomeState
            Only dishes of customers with smaller numbers may be used, because customers enter in data order.
            The customer's own dish is not available.
        """

    @abc.abstractmethod
    def followers(self, customer: int) -> Sequence[int]:
        """All customers whose home depends on the dish of this customer, ascending; not on the state.

        Parameters
        ----------
        customer : int
        """
