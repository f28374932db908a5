"""The tree as steps see it, and the walk through it in Python. The compiled twin is `hdpkit.steps._walk`."""

from __future__ import annotations

from typing import Any, Protocol

from hdpkit.arrays import Floats
from hdpkit.errors import StateError
from hdpkit.measures._slots import DishSlots
from hdpkit.random import ChoiceSource
from hdpkit.steps.root import LatentRoot
from hdpkit.stores import Detail, SeatingStore, detail_of

NEW = -2
"""In place of a dish: one that would be born next."""


class Eaten(Protocol):
    """An object that knows the dish of each data customer, for instance a seating store."""

    def dish_of(self, customer: int) -> int:
        """Slot of a customer's dish, -1 while the customer is not seated, `NEW` for a dish that is tried."""


class ReferenceWalk:
    """Seats customers of a franchise over any store."""

    # Rows are computed from the root down, customers are seated from their restaurant up (Chinese
    # restaurant franchise, Teh et al. 2006, section 5.1; discounts as in Teh 2006). `root` is what the
    # root's children draw from.

    may_wait = True  # whether tables over counts of customers are drawn at the end of a step

    def __init__(
        self,
        store: SeatingStore,
        slots: DishSlots,
        topology: Any,  # the tree: `hdpkit.franchise.topology.Restaurants`
        concentration: Floats,
        discount: Floats,
        root: LatentRoot | None = None,
    ) -> None:
        self.store = store
        self.slots = slots
        self.topology = topology
        self.concentration = concentration
        self.discount = discount
        self.root = LatentRoot() if root is None else root
        self.tables_at_end = self.may_wait and detail_of(store) is Detail.COUNTS

    def dish(self, customer: int) -> int:
        """Dish of a data customer; raises a StateError if the customer is not seated."""
        dish = self.store.dish_of(customer)
        if dish < 0:
            raise StateError(
                "customer", customer, "seated", "Start the franchise, or seat the customer first."
            )
        return dish

    def home(self, customer: int) -> int:
        """Current restaurant of a data customer."""
        return self.topology.home_of(customer, self.store)

    def prior_row(self, node: int) -> Floats:
        """P_node of every live dish, ascending, and of a new dish: shape (K + 1,)."""
        # P_r(k) = [c_rk - d t_rk + (theta + d T_r) P_parent(k)] / (theta + c_r); an empty restaurant has
        # its parent's row. One that favours a dish adds to the dish's count and to theta + c_r.
        live = self.slots.occupied_slots()
        row = self.root.row(live)
        for r in reversed(self.root.restaurants(self.topology.path(node))):
            total = self.store.node_customers(r)
            own, extra = self.topology.favoured(r)
            if total == 0 and extra == 0.0:
                continue
            theta, d = self.concentration[r], self.discount[r]
            row *= theta + d * self.store.node_tables(r)
            for i, dish in enumerate(live):
                row[i] += self.store.customers(r, dish) - d * self.store.tables(r, dish)
                row[i] += extra if dish == own else 0.0
            row /= theta + extra + total
        return row

    def probability(self, node: int, dish: int) -> float:
        """P_node of one dish, or of a new dish if the slot is not occupied."""
        place = self.slots.place(dish)
        return float(self.prior_row(node)[place if place >= 0 else -1])

    def seat(self, customer: int, node: int, dish: int, source: ChoiceSource) -> None:
        """Seat a customer (a data customer, or ~t for table t) who eats this dish."""
        # At each restaurant: join a table of size s with weight s - d, or open one with weight (theta + d
        # T) P_parent(dish); a new table is a customer of the parent.
        opened, at = [], node  # all draws are made before anything changes, because a draw may fail
        while node >= 0:
            at, opens = self._place(node, dish, source)
            if not opens:
                break
            opened.append(at)
            node = int(self.topology.parent[at])
        for r in opened:
            customer = self.store.open(r, dish, customer)
        if node >= 0:
            self.store.join(at, dish, customer, self.discount[node], source)

    def _place(self, node: int, dish: int, source: ChoiceSource) -> tuple[int, bool]:
        """Node of the store where a customer of a restaurant sits, and whether at a new table."""
        return node, self._opens(node, int(self.topology.parent[node]), dish, source)

    def _place_of(self, customer: int, node: int, dish: int, source: ChoiceSource) -> int:
        """Node of the store where a customer of a restaurant sits."""
        return node

    def _opens(self, node: int, parent: int, dish: int, source: ChoiceSource) -> bool:
        tables = self.store.tables(node, dish)
        if tables == 0:
            return True
        if parent < 0 and not self.root.opens_again():
            return False  # latent dishes: each table of the root is a separate dish
        if self.tables_at_end:
            return False
        theta, d = self.concentration[node], self.discount[node]
        share = self.store.customers(node, dish) - d * tables
        above = self.root.above(dish) if parent < 0 else self.probability(parent, dish)
        fresh = (theta + d * self.store.node_tables(node)) * above
        return source.bernoulli(fresh / (fresh + share))

    def unseat(self, customer: int, node: int, dish: int, source: ChoiceSource) -> bool:
        """Remove a customer; True if a latent dish has lost its last one."""
        closed = True
        while closed and node >= 0:
            at = self._place_of(customer, node, dish, source)
            closed, customer = self.store.remove(at, dish, customer, source)
            node = int(self.topology.parent[at])
        return closed and self.root.loses_dishes()
