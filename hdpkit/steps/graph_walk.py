"""The walk through restaurants of which some have several parents, in Python.

The compiled twin is `hdpkit.steps._graph_walk`; see `hdpkit.franchise.several_parents`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from hdpkit.arrays import Floats
from hdpkit.random import ChoiceSource
from hdpkit.steps import walk
from hdpkit.steps.counts_walk import ANONYMOUS
from hdpkit.steps.walk import ReferenceWalk
from hdpkit.stirling import one_alone
from hdpkit.stores import Detail, detail_of


class Tree(walk.Tree, Protocol):
    """Restaurants, each with an arm for each of its parents: a node of the store with its tables there."""

    def arms(self, node: int) -> Sequence[int]:
        """Arms of a restaurant; the first has its number."""

    def weight(self, arm: int) -> float:
        """Probability that a table of the restaurant chooses the parent of this arm."""


class GraphReferenceWalk(ReferenceWalk):
    """Seats customers of restaurants with several parents over any store of sizes or seats.

    The path of a restaurant has all restaurants above it, each before its parents.
    """

    topology: Tree

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seats_known = detail_of(self.store) is Detail.SEATS

    def prior_row(self, node: int) -> Floats:
        """P_node of every live dish, ascending, and of a new dish: shape (K + 1,).

        P_r(k) = [c_rk - d t_rk + (theta + d T_r) sum_a w_a P_parent(a)(k)] / (theta + c_r), with sums over
        the arms a of r; the row of an empty restaurant is the mixture of its parents'.
        """
        live, tree, store = self.slots.occupied_slots(), self.topology, self.store
        above = self.root.row(live)
        rows: dict[int, Floats] = {}
        for r in reversed(self.root.restaurants(tree.path(node))):
            arms = tree.arms(r)
            row = np.sum([tree.weight(a) * rows.get(int(tree.parent[a]), above) for a in arms], axis=0)
            total = sum(store.node_customers(a) for a in arms)
            if total > 0:
                row *= self._fresh(r)
                row[:-1] += [sum(self._shares(r, dish)) for dish in live]
                row /= self.concentration[r] + total
            rows[r] = row
        return rows.get(node, above)

    def _shares(self, node: int, dish: int) -> list[float]:
        """Customers of a dish in each arm, minus the discount for each of its tables."""
        store, d = self.store, self.discount[node]
        return [store.customers(a, dish) - d * store.tables(a, dish) for a in self.topology.arms(node)]

    def _fresh(self, node: int) -> float:
        """theta + d T of a restaurant."""
        tables = sum(self.store.node_tables(a) for a in self.topology.arms(node))
        return float(self.concentration[node] + self.discount[node] * tables)

    def seat(self, customer: int, node: int, dish: int, source: ChoiceSource) -> None:
        """Seat a customer (a data customer, or ~t for table t) who eats this dish.

        At each restaurant: join a table of size s with weight s - d, or open one in arm a with weight
        (theta + d T) w_a P_parent(a)(dish); a new table is a customer of the parent.
        """
        opened, arm = [], node  # all draws are made before anything changes, because a draw may fail
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
        fresh = self._fresh(node) if any(self.store.node_customers(a) for a in arms) else 1.0
        opens = [fresh * self.topology.weight(a) * self._chance(int(parent[a]), dish) for a in arms]
        place = source.choose(np.array(self._shares(node, dish) + opens))
        return arms[place % len(arms)], place >= len(arms)

    def _chance(self, node: int, dish: int) -> float:
        """P_node of a dish that is being seated; of a new dish, if it was just born and nobody eats it."""
        row, place = self.prior_row(node), self.slots.place(dish)
        return float(row[place] if row[place] > 0.0 else row[-1])

    def unseat(self, customer: int, node: int, dish: int, source: ChoiceSource) -> bool:
        """Remove a customer; True if a latent dish has lost its last one.

        A table that becomes empty is removed as a customer of the parent that it chose.
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


class GraphCountsReferenceWalk(GraphReferenceWalk):
    """The same over a store of counts, under a restaurant of latent dishes (compare `CountsReferenceWalk`).

    When a customer leaves an arm, a table closes with the probability that the customer sat alone there.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.tables_at_end = False

    def unseat(self, customer: int, node: int, dish: int, source: ChoiceSource) -> bool:
        """Remove a customer; True if the dish has lost its last one."""
        store: Any = self.store
        while True:
            arm = self._arm_of(customer, node, dish, source)
            n, t = store.customers(arm, dish), store.tables(arm, dish)
            closes = t == n or (t > 1 and source.bernoulli(one_alone(n, t, self.discount[node])))
            closed, _ = store.remove(arm, dish, customer, source)  # draws nothing
            if closes and not closed:
                store.set_tables(arm, dish, t - 1, -1)  # the parent's customer is removed next
            if not closes or node == 0:
                return bool(closes) and self.root.loses_dishes()
            customer, node = ANONYMOUS, int(self.topology.parent[arm])
