"""Numbers of tables given the customers, over a store of counts, in Python.

The compiled twins, with the same distributions, are in `hdpkit.steps._table_counts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

import hdpkit.steps._table_counts as compiled
from hdpkit.errors import ParameterError
from hdpkit.random import ChoiceSource
from hdpkit.steps.step import ALL_TREES, COMPILED_STORES, of_package, step
from hdpkit.steps.walk import ReferenceWalk


def draw_tables_of(walk: ReferenceWalk, nodes: Iterable[int], source: ChoiceSource) -> None:
    """At the end of a step: draw the tables of these restaurants, if they are drawn at the end."""
    if not walk.tables_at_end:
        return
    draw_tables_given(walk, nodes, _above(walk), source)


def draw_tables_given(
    walk: ReferenceWalk, nodes: Iterable[int], above: Mapping[int, float], source: ChoiceSource
) -> None:
    """Draw the tables of these restaurants given their customers and the root's weights of the dishes."""
    # Of n customers with a dish the ith opens a table with probability a / (a + i - 1), where a = theta
    # P_parent(dish); the first always does (Teh et al. 2006, section 5.3). A restaurant that favours a dish
    # adds b to a of this dish; each of its tables is an override with probability b / a (Fox et al. 2008).
    store: Any = walk.store
    for node in sorted(set(nodes) - {0}):
        own, extra = walk.topology.favoured(node)
        overrides = 0
        for dish in store.node_dishes(node).tolist():
            favoured = extra if dish == own else 0.0
            a = walk.concentration[node] * above[dish] + favoured
            opened = [source.bernoulli(a / (a + i)) for i in range(1, store.customers(node, dish))]
            store.set_tables(node, dish, 1 + sum(opened), 0)
            if favoured > 0.0:
                overrides = sum(source.bernoulli(extra / a) for _ in range(1 + sum(opened)))
        if own >= 0:
            walk.topology.take(own, overrides)


@step(
    takes=("restaurants", "source"),
    given=("walk",),
    needs_counts=True,
    draws_tables=True,
    by_cell=True,
    trees=ALL_TREES,
)
def draw_tables(walk: ReferenceWalk, first: int, last: int, source: ChoiceSource) -> None:
    """Draw the tables of restaurants first .. last - 1 given their customers."""
    draw_tables_given(walk, range(first, last), _above(walk), source)


@step(takes=("source",), given=("walk",), needs_counts=True, draws_tables=True, by_cell=True, trees=ALL_TREES)
def draw_tables_by_dish(walk: ReferenceWalk, source: ChoiceSource) -> None:
    """Draw the tables of all restaurants, by one binomial draw for each dish and i.

    The draw is the number of restaurants in which the ith customer of the dish opened a table, among those
    with at least i customers of the dish; these restaurants are then a uniformly random subset.
    """
    store: Any = walk.store
    above, theta = _above(walk), _one_concentration(walk)
    for dish, nodes in _served(walk).items():
        tables = dict.fromkeys(nodes, 1)
        for i, there in _at_least(walk, dish, nodes):
            a = theta * above[dish]
            n_open = int(source.binomial(len(there), a / (a + i - 1)))
            for place in source.permutation(len(there))[:n_open]:
                tables[there[place]] += 1
        for node, n in tables.items():
            store.set_tables(node, dish, n, 0)


def _above(walk: ReferenceWalk) -> dict[int, float]:
    """P_root of each live dish."""
    return dict(zip(walk.slots.occupied_slots().tolist(), walk.prior_row(0).tolist(), strict=False))


def _served(walk: ReferenceWalk) -> dict[int, list[int]]:
    """Restaurants below the root that serve each dish."""
    found: dict[int, list[int]] = {}
    for node in range(1, walk.topology.n_nodes):
        for dish in walk.store.node_dishes(node).tolist():
            found.setdefault(dish, []).append(node)
    return dict(sorted(found.items()))


def _at_least(walk: ReferenceWalk, dish: int, nodes: list[int]) -> Iterable[tuple[int, list[int]]]:
    """i = 2, 3, ... with the restaurants that have at least i customers of a dish."""
    i, there = 2, [node for node in nodes if walk.store.customers(node, dish) >= 2]
    while there:
        yield i, there
        i += 1
        there = [node for node in there if walk.store.customers(node, dish) >= i]


def _one_concentration(walk: ReferenceWalk) -> float:
    theta = np.asarray(walk.concentration)[1:]
    if len(theta) and np.any(theta != theta[0]):
        raise ParameterError(
            "concentration", theta, "one for all restaurants",
            "Where each restaurant has its own, use method='bernoulli'.",
        )  # fmt: skip
    return float(theta[0]) if len(theta) else 0.0


for _step in (draw_tables, draw_tables_by_dish):
    _step.kernel("generic", getattr(compiled, _step.name), stores=COMPILED_STORES)
of_package(draw_tables, draw_tables_by_dish)
