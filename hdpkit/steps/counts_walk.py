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
from hdpkit.errors import StateError
from hdpkit.measures.bank import StatisticsBank
from hdpkit.random import ChoiceSource
from hdpkit.steps import sweeps
from hdpkit.steps._sweeps import reseat_indicated
from hdpkit.steps.step import MORE
from hdpkit.steps.sweeps import _add, _draw
from hdpkit.steps.walk import ReferenceWalk
from hdpkit.stirling import one_alone, one_opens, one_shares
from hdpkit.stores import Detail
from hdpkit.stores._counts import CountsStore

ANONYMOUS = -1  # a table as a customer of the parent


class CountsReferenceWalk(ReferenceWalk):
    """Seats customers over a store of counts, under a restaurant of latent dishes or weights of these.

    Predictives depend on counts alone, so customers are added as in any store. If a customer is removed, a
    table closes with the probability that the customer sat alone.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.tables_at_end = False

    # ------------------------------------------------------------------ customers who leave

    def unseat(self, customer: int, node: int, dish: int, source: ChoiceSource) -> bool:
        """Remove a customer; True if the dish has lost its last one."""
        return self.take_out(customer, node, dish, self.closings(node, dish, source), source)

    def closings(self, node: int, dish: int, source: ChoiceSource) -> int:
        """Draw at how many restaurants, from this one up, a table closes if a customer of the dish leaves.

        One of n customers at t tables sits alone with probability S_d(n - 1, t - 1) / S_d(n, t).
        """
        closes = 0
        while node > 0:
            n, t = self.store.customers(node, dish), self.store.tables(node, dish)
            if t < n and (t == 1 or not source.bernoulli(one_alone(n, t, self.discount[node]))):
                break
            closes += 1
            node = int(self.topology.parent[node])
        return closes

    def indicators(self, node: int, dish: int, source: ChoiceSource) -> int | None:
        """Draw a customer's indicators: at how many restaurants, from this one up, it represents a table.

        u = 1 with probability t / n; a customer with u = 1 is also a customer of the parent and has an
        indicator there. None if the customer represents the only table of a dish with several customers:
        given the others, any other dish and u = 0 then have probability 0, so the customer isn't moved.
        """
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


def reseat(
    walk: CountsReferenceWalk, bank: StatisticsBank, first: int, last: int, source: ChoiceSource
) -> None:
    """Table Gibbs by indicators: dish and indicators of each customer given those of all others."""
    for i in range(first, last):
        node, dish = walk.home(i), walk.store.dish_of(i)
        if dish < 0:
            raise StateError("customer", i, "seated", "Start the franchise, or seat the customer first.")
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
    sweeps.reseat.compiled(reseat_indicated, stores=frozenset({CountsStore}), depths=_depths, roots=_roots)
    sweeps.reseat.kernel("reference", reseat, depths=_depths, roots=_roots, detail=Detail.COUNTS)
