"""Table Gibbs over a tree of which homes depend on the state, in Python.

A customer and its followers, who keep their dishes but change their restaurants, are removed and seated
again together. Given the seats of all others the candidates are the joint seats: for the customer a dish and
the restaurants in which it opens a table, and for each follower the restaurants in which it opens a table.
Predictives depend only on counts, so each candidate is weighed by counts that include the seats before it.
The compiled twin for hidden Markov models over counts and weights of the root is
`hdpkit.steps.fused._state_sequences`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.errors import StateError
from hdpkit.measures.bank import StatisticsBank
from hdpkit.random import ChoiceSource
from hdpkit.steps import sweeps
from hdpkit.steps.step import BANKS_WITHOUT_TABLES, BY_STATE, CHAINS, TWO
from hdpkit.steps.sweeps import _add, _draw
from hdpkit.steps.table_counts import draw_tables_of
from hdpkit.steps.walk import NEW, Eaten, ReferenceWalk
from hdpkit.stores._counts import CountsStore


@attrs.frozen
class _Tried:
    """Dishes of customers, some of whom are removed and have these dishes."""

    eaten: Eaten
    given: Mapping[int, int]

    def dish_of(self, customer: int) -> int:
        return self.given[customer] if customer in self.given else self.eaten.dish_of(customer)


@attrs.frozen
class _Seat:
    """A seat of a customer: a dish of a restaurant, and the number of restaurants in which a table opens."""

    node: int
    dish: int
    opens: int


class _Counts:
    """Counts of a store, and of customers who are seated on trial."""

    def __init__(self, walk: ReferenceWalk) -> None:
        self.walk = walk
        self.customers: Counter[tuple[int, int]] = Counter()
        self.tables: Counter[tuple[int, int]] = Counter()
        self.node_customers: Counter[int] = Counter()
        self.node_tables: Counter[int] = Counter()
        live = walk.slots.occupied_slots()
        keys = [*live.tolist(), NEW]
        self._above = dict(zip(keys, walk.root.row(live).tolist(), strict=True))
        if len(walk.root.restaurants([0])) > 0:  # the root is a restaurant, and each of its tables a dish
            self._above = dict.fromkeys(keys, 1.0)

    def _at(self, node: int, dish: int) -> tuple[int, int]:
        """Customers and tables of a dish."""
        store, key = self.walk.store, (node, dish)
        known = (0, 0) if dish == NEW else (store.customers(node, dish), store.tables(node, dish))
        return known[0] + self.customers[key], known[1] + self.tables[key]

    def seats(self, node: int, dish: int) -> Iterator[tuple[_Seat, float]]:
        """The seats of a customer with this dish, and their probabilities, all positive."""
        walk, opened, joins, favoured, theta, total = self.walk, 1.0, 0.0, 0.0, 0.0, 0.0
        restaurants = walk.root.restaurants(walk.topology.path(node))
        for opens, r in enumerate(restaurants):
            theta, d = walk.concentration[r], walk.discount[r]
            own, kappa = walk.topology.favoured(r)
            total = walk.store.node_customers(r) + self.node_customers[r] + kappa
            customers, tables = self._at(r, dish)
            favoured = kappa if dish == own else 0.0
            if tables > 0:
                joins = opened * (customers - d * tables + favoured) / (theta + total)
                if not walk.tables_at_end:
                    yield _Seat(node, dish, opens), joins
            if r == 0 and tables > 0:
                return  # a second table of the root would be another dish
            if total > 0:
                opened *= (theta + d * (walk.store.node_tables(r) + self.node_tables[r])) / (theta + total)
            if walk.tables_at_end and tables > 0:  # two levels, and whether a table opens is drawn later
                yield _Seat(node, dish, 0), joins + opened * self._above[dish]
                return
        opens = opened * self._above[dish]
        if favoured > 0.0:  # then there are two levels, and any table that opens is one of the restaurant
            opens += favoured / (theta + total)
        if opens > 0.0:
            yield _Seat(node, dish, len(restaurants)), opens

    def count(self, seat: _Seat, by: int) -> None:
        """Add a customer in this seat (by 1), or remove it (by -1)."""
        for level, r in enumerate(self.walk.topology.path(seat.node)[: seat.opens + 1]):
            self.customers[r, seat.dish] += by
            self.node_customers[r] += by
            if level < seat.opens:
                self.tables[r, seat.dish] += by
                self.node_tables[r] += by

    def joint_seats(self, wanted: Sequence[tuple[int, int]]) -> Iterator[tuple[list[_Seat], float]]:
        """Seats of customers with these homes and dishes, one after the other, and their probabilities."""
        if not wanted:
            yield [], 1.0
            return
        for seat, probability in self.seats(*wanted[0]):
            self.count(seat, 1)
            for others, further in self.joint_seats(wanted[1:]):
                yield [seat, *others], probability * further
            self.count(seat, -1)


def _sit(walk: ReferenceWalk, customer: int, seat: _Seat, dish: int, source: ChoiceSource) -> None:
    """Seat a data customer; at the last restaurant it joins a table, which may be drawn."""
    path = walk.topology.path(seat.node)
    for r in path[: seat.opens]:
        customer = walk.store.open(r, dish, customer)
    if seat.opens < len(path):
        r = path[seat.opens]
        if walk.store.tables(r, dish) == 0:  # the root has weights, and the first table of the dish
            walk.store.open(r, dish, customer)
        else:
            walk.store.join(r, dish, customer, walk.discount[r], source)


def _candidates(
    walk: ReferenceWalk, customer: int, node: int, followers: Sequence[tuple[int, int]], log_likelihood: Any
) -> tuple[list[list[_Seat]], list[float]]:
    """Joint seats of a customer and its followers (each with its dish), and their log weights."""
    counts = _Counts(walk)
    seats: list[list[_Seat]] = []
    logs: list[float] = []
    for place, dish in enumerate([*walk.slots.occupied_slots().tolist(), NEW]):
        state = _Tried(walk.store, {customer: dish, **dict(followers)})
        wanted = [(walk.topology.home_of(j, state), own) for j, own in followers]
        for joint, probability in counts.joint_seats([(node, dish), *wanted]):
            seats.append(joint)
            logs.append(math.log(probability) + float(log_likelihood[place]))
    return seats, logs


def reseat(walk: ReferenceWalk, bank: StatisticsBank, first: int, last: int, source: ChoiceSource) -> None:
    """Table Gibbs: each customer's dish and table, and the tables of its followers, given all others."""
    changed: set[int] = set()
    for i in range(first, last):
        walk.dish(i)
        dishes = {j: walk.store.dish_of(j) for j in [i, *walk.topology.followers(i)]}
        followers = [(j, dish) for j, dish in dishes.items() if j != i and dish >= 0]
        homes = {j: walk.home(j) for j in [i, *(j for j, _ in followers)]}
        bank.remove(dishes[i], [i])
        for j, node in homes.items():
            walk.unseat(j, node, dishes[j], source)
        kept = {dish for _, dish in followers}
        if walk.store.tables(0, dishes[i]) == 0 and dishes[i] not in kept:
            walk.slots.close(dishes[i])
        log_likelihood = bank.log_predictive(i, walk.slots.occupied_slots())
        seats, logs = _candidates(walk, i, homes[i], followers, log_likelihood)
        chosen = seats[_draw(source, np.array(logs))]
        new = chosen[0].dish
        dish = int(walk.slots.open([i])) if new == NEW else new
        _add(walk, bank, dish, [i])
        _sit(walk, i, chosen[0], dish, source)
        for (j, own), seat in zip(followers, chosen[1:], strict=True):
            _sit(walk, j, seat, own, source)
        changed.update(homes.values(), (seat.node for seat in chosen))
    draw_tables_of(walk, changed, source)


def leave(walk: ReferenceWalk, bank: StatisticsBank, first: int, last: int, source: ChoiceSource) -> None:
    """Unseat the seated ones of customers first .. last - 1, from the last to the first."""
    changed: set[int] = set()
    for i in range(last - 1, first - 1, -1):
        dish = walk.store.dish_of(i)
        if dish < 0:
            continue
        if any(walk.store.dish_of(j) >= 0 for j in walk.topology.followers(i)):
            raise StateError(
                "customer", i, "one on whose dish the home of no seated customer depends",
                "Unseat these customers first, or together with it.",
            )  # fmt: skip
        node = walk.home(i)
        bank.remove(dish, [i])
        if walk.unseat(i, node, dish, source):
            walk.slots.close(dish)
        changed.add(node)
    draw_tables_of(walk, changed, source)


def reseat_sites(walk: ReferenceWalk, bank: Any, first: int, last: int, source: ChoiceSource) -> None:
    """Table Gibbs over the states of a hidden Markov model, by compiled code."""
    from hdpkit.steps.fused._state_sequences import reseat  # few runs need it

    reseat(walk, getattr(bank, "of_all", bank), getattr(bank, "missing", None), first, last, source)


sweeps.reseat.kernel("reference", reseat, trees=BY_STATE)
sweeps.leave.kernel("reference", leave, trees=BY_STATE)
sweeps.reseat.kernel(
    "fused", reseat_sites,
    stores=frozenset({CountsStore}), depths=TWO, roots=frozenset({"weights", "fixed"}),
    within=lambda bank, numbers: type(getattr(bank, "of_all", bank)) in BANKS_WITHOUT_TABLES,
    trees=CHAINS,
)  # fmt: skip
