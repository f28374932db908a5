"""The walk over counts whose tables are part of the state, and table Gibbs over it, in Python.

The compiled twins are `hdpkit.steps._counts_walk` and `hdpkit.steps._sweeps`.

The distribution of dishes and counts is that of labelled seatings, summed over the assignments of customers
to tables: n customers of a dish at t tables of a restaurant have total weight S_d(n, t), a generalised
Stirling number. Table indicators u (Chen, Du & Buntine 2011) mark t of the n customers as representatives of
tables. Given the counts all choices are equally probable: p(z, u) = p(z, t) / prod C(n, t).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.arrays import Floats
from hdpkit.measures.bank import StatisticsBank
from hdpkit.random import ChoiceSource
from hdpkit.steps import sweeps
from hdpkit.steps.step import MORE
from hdpkit.steps.sweeps import _add, _draw
from hdpkit.steps.walk import ReferenceWalk
from hdpkit.stirling import one_alone, one_opens, one_shares
from hdpkit.stores import Detail, detail_of

ANONYMOUS = -1  # a table as a customer of the parent


class CountsReferenceWalk(ReferenceWalk):
    """Seats customers over a store of counts, under a restaurant of latent dishes or weights of these."""

    # Predictives depend on counts alone, so customers are added as in any store. If a customer is removed,
    # a table closes with the probability that the customer sat alone.

    may_wait = False

    # ------------------------------------------------------------------ customers who leave

    def unseat(self, customer: int, node: int, dish: int, source: ChoiceSource) -> bool:
        """Remove a customer; True if the dish has lost its last one."""
        return self.take_out(customer, node, dish, self.closings(node, dish, source), source)

    def closings(self, node: int, dish: int, source: ChoiceSource) -> int:
        """Draw at how many restaurants, from this one up, a table closes if a customer of the dish leaves."""
        # One of n customers at t tables sits alone with probability S_d(n - 1, t - 1) / S_d(n, t).
        closes = 0
        while node > 0:
            n, t = self.store.customers(node, dish), self.store.tables(node, dish)
            if t < n and (t == 1 or not source.bernoulli(one_alone(n, t, self.discount[node]))):
                break
            closes += 1
            node = int(self.topology.parent[node])
        return closes

    def indicators(self, node: int, dish: int, source: ChoiceSource) -> int | None:
        """Draw a customer's indicators: at how many restaurants, from this one up, it represents a table."""
        # u = 1 with probability t / n. None if the customer represents the only table of a dish with
        # several customers: given the others, any other dish and u = 0 have probability 0.
        closes = 0
        while node > 0:
            n, t = self.store.customers(node, dish), self.store.tables(node, dish)
            if t < n:
                if not source.bernoulli(t / n):
                    break
                if t == 1:
                    return None
            closes += 1
            node = int(self.topology.parent[node])
        return closes

    def take_out(self, customer: int, node: int, dish: int, closes: int, source: ChoiceSource) -> bool:
        """Remove a customer, with a table at this many restaurants; True if the dish is gone."""
        store: Any = self.store
        for closing in range(closes + 1):
            tables = store.tables(node, dish)
            closed, _ = store.remove(node, dish, customer, source)  # draws nothing
            if closing < closes and not closed:
                store.set_tables(node, dish, tables - 1, -1)  # the parent's customer is removed next
            customer, node = ANONYMOUS, int(self.topology.parent[node])
        return store.tables(0, dish) == 0

    # ------------------------------------------------------------------ customers who enter, with indicators

    def sharing(self, node: int, dish: int) -> float:
        """Factor of p(z, u) for a customer with u = 0, without the denominator theta + c."""
        n, t = self.store.customers(node, dish), self.store.tables(node, dish)
        return one_shares(n, t, self.discount[node]) * (n - t + 1) / (n + 1) if t > 0 else 0.0

    def opening(self, node: int, dish: int) -> float:
        """Factor of p(z, u) for a customer with u = 1, without the denominator and the parent's factor."""
        n, t = self.store.customers(node, dish), self.store.tables(node, dish)
        factor = self.concentration[node] + self.discount[node] * self.store.node_tables(node)
        return float(factor * one_opens(n, t, self.discount[node]) * (t + 1) / (n + 1))

    def weight(self, node: int, dish: int) -> float:
        """W_r = [(u = 0) + (u = 1) W_parent] / (theta + c): the sum of both, with the restaurants above."""
        if node == 0:
            place = self.slots.place(dish)
            return float(self.prior_row(0)[place if place >= 0 else -1])
        above = self.weight(int(self.topology.parent[node]), dish)
        customers = self.store.node_customers(node)
        if customers == 0:
            return above  # it certainly opens a table
        own = self.sharing(node, dish) + self.opening(node, dish) * above
        return float(own / (self.concentration[node] + customers))

    def weights(self, node: int) -> Floats:
        """`weight` of every live dish, ascending, and of a new one: shape (K + 1,)."""
        live = self.slots.occupied_slots().tolist()
        return np.array([self.weight(node, dish) for dish in [*live, self.slots.vacant()]])

    def seat_indicated(self, customer: int, node: int, dish: int, source: ChoiceSource) -> None:
        """Seat a customer with this dish; its indicators are drawn from this restaurant up."""
        opened = []
        while node >= 0:
            if self.store.tables(node, dish) > 0:
                if node == 0:
                    break
                fresh = self.opening(node, dish) * self.weight(int(self.topology.parent[node]), dish)
                if not source.bernoulli(fresh / (fresh + self.sharing(node, dish))):
                    break
            opened.append(node)
            node = int(self.topology.parent[node])
        for r in opened:
            customer = self.store.open(r, dish, customer)
        if node >= 0:
            self.store.join(node, dish, customer, self.discount[node], source)


# ----------------------------------------------------------------- restaurants with several parents
# The compiled twin is `hdpkit.steps._counts_walk`; see `hdpkit.franchise.several_parents`.


class GraphReferenceWalk(ReferenceWalk):
    """Seats customers of restaurants with several parents over any store of sizes or seats."""

    # The path of a restaurant has all restaurants above it, each before its parents. A restaurant has an arm
    # for each parent, the first of which has its number.

    topology: Any

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seats_known = detail_of(self.store) is Detail.SEATS

    def prior_row(self, node: int) -> Floats:
        """P_node of every live dish, ascending, and of a new dish: shape (K + 1,)."""
        # P_r(k) = [c_rk - d t_rk + (theta + d T_r) sum_a w_a P_parent(a)(k)] / (theta + c_r), with sums
        # over the arms a of r; the row of an empty restaurant is the mixture of its parents'.
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

    def _place(self, node: int, dish: int, source: ChoiceSource) -> tuple[int, bool]:
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

    def _place_of(self, customer: int, node: int, dish: int, source: ChoiceSource) -> int:
        """The arm where a customer sits; drawn, if seats aren't known: all customers of a dish are alike."""
        arms, store = self.topology.arms(node), self.store
        if len(arms) == 1:
            return node
        if self.seats_known:
            seats: Any = store
            return int(seats.table_node(seats.table_at(customer)))
        return arms[source.choose(np.array([float(store.customers(a, dish)) for a in arms]))]


class GraphCountsReferenceWalk(GraphReferenceWalk):
    """The same over a store of counts, under a restaurant of latent dishes."""

    may_wait = False

    def unseat(self, customer: int, node: int, dish: int, source: ChoiceSource) -> bool:
        """Remove a customer; True if the dish has lost its last one."""
        store: Any = self.store
        while True:
            arm = self._place_of(customer, node, dish, source)
            n, t = store.customers(arm, dish), store.tables(arm, dish)
            closes = t == n or (t > 1 and source.bernoulli(one_alone(n, t, self.discount[node])))
            closed, _ = store.remove(arm, dish, customer, source)  # draws nothing
            if closes and not closed:
                store.set_tables(arm, dish, t - 1, -1)  # the parent's customer is removed next
            if not closes or node == 0:
                return bool(closes) and self.root.loses_dishes()
            customer, node = ANONYMOUS, int(self.topology.parent[arm])


def reseat(
    walk: CountsReferenceWalk, bank: StatisticsBank, first: int, last: int, source: ChoiceSource
) -> None:
    """Table Gibbs by indicators: dish and indicators of each customer given those of all others."""
    for i in range(first, last):
        node, dish = walk.home(i), walk.dish(i)
        closes = walk.indicators(node, dish, source)
        if closes is None:
            continue
        bank.remove(dish, [i])
        if walk.take_out(i, node, dish, closes, source):
            walk.slots.close(dish)
        live = walk.slots.occupied_slots()
        with np.errstate(divide="ignore"):  # with fixed weights, that of a new dish may be 0
            log_weights = np.log(walk.weights(node))
        place = _draw(source, log_weights + bank.log_predictive(i, live))
        dish = int(live[place]) if place < len(live) else int(walk.slots.open([i]))
        _add(walk, bank, dish, [i])
        walk.seat_indicated(i, node, dish, source)


# Levels and roots of franchises whose state has numbers of tables, over counts.
for _depths, _roots in ((None, frozenset({"restaurant"})), (MORE, frozenset({"weights", "fixed"}))):
    sweeps.reseat.kernel("reference", reseat, depths=_depths, roots=_roots, detail=Detail.COUNTS)
