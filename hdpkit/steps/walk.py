"""The tree as steps see it, and the walk through it in Python. The compiled twin is `hdpkit.steps._walk`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from hdpkit.arrays import Floats, Int32s
from hdpkit.measures._slots import DishSlots
from hdpkit.random import ChoiceSource
from hdpkit.steps.root import ReferenceRoot
from hdpkit.stores import Detail, SeatingStore, detail_of

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
        """A restaurant and those above it, up to the root, each before its parents."""

    def arms(self, node: int) -> Sequence[int]:
        """Nodes of the store that have the tables of a restaurant, one for each of its parents."""

    def weight(self, arm: int) -> float:
        """Probability that a table of the restaurant chooses the parent of this arm."""


class ReferenceWalk:
    """Seats customers of a franchise over any store.

    Predictive rows are computed from the root down, and customers are seated from their restaurant up
    (Chinese restaurant franchise, Teh et al. 2006, section 5.1; discounts as in Teh 2006). ``root`` is the
    distribution from which the root's children draw; None: latent dishes.

    A restaurant has an arm for each of its parents, with the tables that chose this parent. In the store an
    arm is a restaurant; its number is that of the restaurant itself for the first parent.
    """

    def __init__(
        self,
        store: SeatingStore,
        slots: DishSlots,
        topology: Tree,
        concentration: Floats,
        discount: Floats,
        root: ReferenceRoot | None = None,
    ) -> None:
        self.store = store
        self.slots = slots
        self.topology = topology
        self.concentration = concentration
        self.discount = discount
        self.root = ReferenceRoot() if root is None else root
        # Tables are drawn at the end of a step, given counts of customers.
        self.tables_at_end = detail_of(store) is Detail.COUNTS
        self.seats_known = detail_of(store) is Detail.SEATS

    def home(self, customer: int) -> int:
        """Current restaurant of a data customer."""
        return self.topology.home_of(customer, self.store)

    def prior_row(self, node: int) -> Floats:
        """P_node of every live dish, ascending, and of a new dish: shape (K + 1,).

        P_r(k) = [c_rk - d t_rk + (theta + d T_r) sum_a w_a P_parent(a)(k)] / (theta + c_r), with a sum over
        arms of one term for one parent; the row of an empty restaurant is that sum. A restaurant that favours
        a dish adds to the dish's count and to theta + c_r.
        """
        live, tree, store = self.slots.occupied_slots(), self.topology, self.store
        above = self.root.row(live)
        rows: dict[int, Floats] = {}
        for r in reversed(self.root.restaurants(tree.path(node))):
            arms = tree.arms(r)
            row = np.sum([tree.weight(a) * rows.get(int(tree.parent[a]), above) for a in arms], axis=0)
            rows[r] = row
            total = sum(store.node_customers(a) for a in arms)
            own, extra = tree.favoured(r)
            if total == 0 and extra == 0.0:
                continue
            theta, d = self.concentration[r], self.discount[r]
            row *= theta + d * sum(store.node_tables(a) for a in arms)
            for i, dish in enumerate(live):
                row[i] += self._share(r, dish)
                row[i] += extra if dish == own else 0.0
            row /= theta + extra + total
        return rows.get(node, above)

    def _share(self, node: int, dish: int) -> float:
        """Customers of a dish in a restaurant, minus the discount for each of its tables."""
        arms, store = self.topology.arms(node), self.store
        tables = sum(store.tables(a, dish) for a in arms)
        return float(sum(store.customers(a, dish) for a in arms) - self.discount[node] * tables)

    def probability(self, node: int, dish: int) -> float:
        """P_node of one dish, or of a new dish if the slot is not occupied."""
        place = self.slots.place(dish)
        return float(self.prior_row(node)[place if place >= 0 else -1])

    def seat(self, customer: int, node: int, dish: int, source: ChoiceSource) -> None:
        """Seat a customer (a data customer, or ~t for table t) who eats this dish.

        At each restaurant: join a table of size s with weight s - d, or open one in arm a with weight
        (theta + d T) w_a P_parent(a)(dish); a new table is a customer of the parent.
        """
        opened = []  # all draws are made before anything changes, because a draw may fail
        while node >= 0:
            arm, opens = self._choose_arm(node, dish, source)
            if not opens:
                break
            opened.append(arm)
            node = int(self.topology.parent[arm])
        for r in opened:
            customer = self.store.open(r, dish, customer)
        if node >= 0:
            self.store.join(arm, dish, customer, self.discount[node], source)

    def _choose_arm(self, node: int, dish: int, source: ChoiceSource) -> tuple[int, bool]:
        """Draw in which arm a customer sits, and whether at a new table."""
        arms, parent = self.topology.arms(node), self.topology.parent
        if len(arms) == 1:
            return node, self._opens(node, int(parent[node]), dish, source)
        store, d = self.store, self.discount[node]
        joins = [store.customers(a, dish) - d * store.tables(a, dish) for a in arms]
        fresh = 1.0
        if any(store.node_customers(a) for a in arms):
            fresh = self.concentration[node] + d * sum(store.node_tables(a) for a in arms)
        opens = [fresh * self.topology.weight(a) * self._chance(int(parent[a]), dish) for a in arms]
        place = source.choose(np.array(joins + opens))
        return arms[place % len(arms)], place >= len(arms)

    def _chance(self, node: int, dish: int) -> float:
        """P_node of a dish that is being seated; of a new dish, if it was just born and nobody eats it."""
        row, place = self.prior_row(node), self.slots.place(dish)
        return float(row[place] if row[place] > 0.0 else row[-1])

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
        """Remove a customer; True if a latent dish has lost its last one.

        A table that becomes empty is removed as a customer of the parent. Observed dishes always exist.
        """
        closed = True
        while closed and node >= 0:
            arm = self._arm_of(customer, node, dish, source)
            closed, customer = self.store.remove(arm, dish, customer, source)
            node = int(self.topology.parent[arm])
        return closed and self.root.loses_dishes()

    def _arm_of(self, customer: int, node: int, dish: int, source: ChoiceSource) -> int:
        """The arm where a customer sits; drawn, if seats aren't known: all customers of a dish are alike."""
        arms, store = self.topology.arms(node), self.store
        if len(arms) == 1:
            return node
        if self.seats_known:
            seats: Any = store
            return int(seats.table_node(seats.table_at(customer)))
        return arms[source.choose(np.array([float(store.customers(a, dish)) for a in arms]))]
