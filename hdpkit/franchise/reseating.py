"""Many customers seated anew on a copy of the seating: a proposal that may be taken over or forgotten.

Nobody hears of a proposal that is forgotten: no component meets its births and deaths, and an error on the
way leaves the franchise as it was.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit._compiled.slots import DishSlots
from hdpkit.errors import StateError
from hdpkit.franchise.core import FranchiseCore
from hdpkit.random import ChoiceSource

__all__ = ["Reseating", "reseating"]

Ints = npt.NDArray[np.int32]


@attrs.define
class Reseating:
    """A copy of the seating in which some data customers sit anew.

    Attributes
    ----------
    customers, before, after : int32 arrays, shape (n,)
        Data customers in the order of their seating; slots of their dishes in the franchise and in the copy.
    log_ratio : float
        Sum over the customers of log P_home(dish), given those seated before them, in the copy less that in
        the franchise: what is left of the prior when the tables are drawn from it (nats).
    """

    customers: Ints
    before: Ints
    after: Ints
    log_ratio: float
    _franchise: FranchiseCore
    _store: Any

    def adopt(self) -> None:
        """Make the copy the seating of the franchise; bank and components are told.

        Raises
        ------
        StateError
            If the franchise has changed since.
        """
        f = self._franchise
        with f.turn():
            live = set(f.slots.occupied_slots().tolist())
            if not np.array_equal(f.seating.dishes()[self.customers], self.before):
                raise StateError(
                    "franchise", "changed", "as it was when the proposal was made", "Propose again."
                )
            born = [f.slots.open() for _ in set(self.after.tolist()) - live]
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
            for slot in sorted(set(self.before.tolist()) - set(f.seating.dishes().tolist())):
                f.slots.close(slot)
                f.bank.died(slot)


def reseating(franchise: FranchiseCore, customers: Ints, dishes: Ints, source: ChoiceSource) -> Reseating:
    """Unseat customers, the last first, and seat them in order at these dishes (-1: a new one), on a copy."""
    kernel, unseat = franchise._served("unseat_each")
    _, seat = franchise._served("seat_each")
    with franchise.turn():
        t = franchise.topology
        held = franchise.slots.held_slots()
        fresh = int(franchise.slots.reserve())  # only to learn where the next dish will be born
        franchise.slots.release(fresh)
        after = np.where(dishes < 0, fresh, dishes).astype(np.int32)
        before = franchise.seating.dishes()[customers]
        slots = DishSlots()
        slots.reset(franchise.slots.occupied_slots(), held)
        store = type(franchise.seating)(t.n_customers, t.n_nodes)
        store.thaw(franchise.seating.freeze())
        walk = franchise.walk_over(store, slots, kernel)
        log_before = log_after = 0.0

        def leave(first: int, last: int) -> None:
            nonlocal log_before
            n = len(customers)
            log_before = unseat(walk, customers[n - last : n - first], source, log_before)

        def enter(first: int, last: int) -> None:
            nonlocal log_after
            log_after = seat(walk, customers[first:last], after[first:last], source, log_after)

        franchise.in_chunks(0, len(customers), leave)
        franchise.in_chunks(0, len(customers), enter)
    return Reseating(customers, before, after, log_after - log_before, franchise, store)
