"""Many customers seated anew on a copy of the seating: a proposal that may be taken over or forgotten.

Nobody hears of a proposal that is forgotten: no component meets its births and deaths, and an error on the
way leaves the franchise as it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.slots import DishSlots
from hdpkit.errors import StateError
from hdpkit.franchise.core import FranchiseCore
from hdpkit.random import ChoiceSource

__all__ = ["Reseating"]

Ints = npt.NDArray[np.int32]


class Reseating:
    """A copy of the seating in which some data customers are seated anew.

    Building it unseats them on the copy, the last first. Obtained from `Franchise.reseating`.

    Parameters
    ----------
    franchise : Franchise
    customers : int32 array, shape (n,)
        Data customers in the order of their seating; all are seated.
    source : ChoiceSource

    Attributes
    ----------
    before, after : int32 arrays, shape (n,)
        Slots of their dishes in the franchise and, once they are seated, in the copy.
    log_before, log_after : float
        Sum over the customers of log P_home(dish) given the seating without them and those seated before them
        (nats): what is left of the prior when the tables are drawn from it, given the dishes.
    """

    def __init__(self, franchise: FranchiseCore, customers: Ints, source: ChoiceSource) -> None:
        self.franchise = franchise
        self.customers = customers
        self.before: Ints = franchise.seating.dishes()[customers]
        self.after: Ints = np.full(len(customers), -1, dtype=np.int32)
        self.log_before = self.log_after = 0.0
        kernel, unseat = franchise._served("unseat_each")
        with franchise.turn():
            t = franchise.topology
            self._slots = DishSlots()
            self._slots.reset(franchise.slots.occupied_slots(), franchise.slots.held_slots())
            self._store: Any = type(franchise.seating)(t.n_customers, t.n_nodes)
            self._store.thaw(franchise.seating.freeze())
            self._walk = franchise.walk_over(self._store, self._slots, kernel)

            def leave(first: int, last: int) -> None:
                n = len(customers)
                self.log_before = unseat(
                    self._walk, customers[n - last : n - first], source, self.log_before
                )

            franchise.in_chunks(0, len(customers), leave)

    @property
    def dishes(self) -> Ints:
        """Slots of the dishes that live in the copy now, ascending."""
        slots: Ints = self._slots.occupied_slots()
        return slots

    def prior_row(self, node: int) -> npt.NDArray[np.float64]:
        """P_node of each of `dishes` and of a new one, in the copy: shape (K + 1,)."""
        row: npt.NDArray[np.float64] = self._walk.prior_row(node)
        return row

    def customers_of(self, node: int) -> int:
        """Customers of a restaurant in the copy."""
        return int(self._store.node_customers(node))

    def seat(self, dishes: Ints, source: ChoiceSource) -> float:
        """Seat the customers in order by the prior, given their dishes.

        Parameters
        ----------
        dishes : int32 array, shape (n,)
            Slots of dishes that live in the franchise, or -1 for one new dish.

        Returns
        -------
        float
            ``log_after - log_before``.
        """
        franchise = self.franchise
        _, seat = franchise._served("seat_each")
        self.after = np.where(dishes < 0, franchise.slots.vacant(), dishes).astype(np.int32)

        def enter(first: int, last: int) -> None:
            self.log_after = seat(
                self._walk, self.customers[first:last], self.after[first:last], source, self.log_after
            )

        with franchise.turn():
            franchise.in_chunks(0, len(self.customers), enter)
        return self.log_after - self.log_before

    def adopt(self) -> None:
        """Make the copy the seating of the franchise; bank and components are told.

        Raises
        ------
        StateError
            If the franchise has changed since, or the customers have not been seated.
        """
        f = self.franchise
        with f.turn():
            if (self.after < 0).any() or not np.array_equal(f.seating.dishes()[self.customers], self.before):
                raise StateError(
                    "proposal", "unseated, or made for another state", "seated and of this state",
                    "Adopt it before anything else changes.",
                )  # fmt: skip
            born = [f.slots.open() for _ in set(self.after.tolist()) - set(f.slots.occupied_slots().tolist())]
            try:
                for slot in born:
                    f.bank.born(slot)
                for old, new in sorted(set(zip(self.before.tolist(), self.after.tolist(), strict=True))):
                    if old != new:
                        block = self.customers[(self.before == old) & (self.after == new)]
                        f.bank.add(new, block)
                        f.bank.remove(old, block)
            except BaseException:
                for slot in born:
                    f.slots.close(slot)
                f.bank.rebuild(f.seating.dishes(), f.slots.occupied_slots())
                raise
            f.seating.thaw(self._store.freeze())
            for slot in np.setdiff1d(self.before, self._slots.occupied_slots()).tolist():
                f.slots.close(slot)
                f.bank.died(slot)
