"""The readable sweeps over customers in Python. Their compiled twins are in `hdpkit.steps._sweeps`.

Every function has the same signature and distribution as its twin, but may make its choices in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import hdpkit.steps._sweeps as compiled
import hdpkit.steps.fused._fused_observed as fused_observed
import hdpkit.steps.fused._fused_topics as fused_topics
from hdpkit.arrays import Int32s
from hdpkit.errors import StateError
from hdpkit.measures._bursty import BurstyBank
from hdpkit.measures._dirichlet_multinomial import DirichletMultinomialBank
from hdpkit.measures._measure import AtomicBank
from hdpkit.measures._sparse_dirichlet_multinomial import SparseDirichletMultinomialBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.random import ChoiceSource
from hdpkit.steps.step import ALL_TREES, COMPILED_STORES, FIXED, TWO, of_package, step
from hdpkit.steps.table_counts import draw_tables_of
from hdpkit.steps.walk import ReferenceWalk


def _add(walk: ReferenceWalk, bank: StatisticsBank, dish: int, block: Any) -> None:
    """Add a block to a dish, which may be new; if the measure fails, no empty dish is left."""
    try:
        bank.add(dish, block)
    except BaseException:
        if walk.store.tables(0, dish) == 0:
            walk.slots.close(dish)
        raise


def _draw(source: ChoiceSource, logs: npt.NDArray[np.float64]) -> int:
    if not np.max(logs) < np.inf or np.max(logs) == -np.inf:  # NaN too
        raise FloatingPointError(f"log weights {logs} can't be drawn from")
    return int(source.choose_log(logs))


def _choose_dish(
    walk: ReferenceWalk,
    node: int,
    customers: Sequence[int] | Int32s,
    log_likelihood: Any,
    source: ChoiceSource,
) -> int:
    """Draw a dish with probability P_node(k) exp(log_likelihood_k); the last is new and is opened."""
    with np.errstate(divide="ignore"):
        place = _draw(source, np.log(walk.prior_row(node)) + log_likelihood)
    live = walk.slots.occupied_slots()
    return int(live[place]) if place < len(live) else int(walk.slots.open(customers))


@step(takes=("free customers", "source"), draws_tables=True, trees=FIXED)
def reseat(walk: ReferenceWalk, bank: StatisticsBank, first: int, last: int, source: ChoiceSource) -> None:
    """Table Gibbs: remove each customer, draw its dish with P_home(k) f_k(x), seat it again."""
    for i in range(first, last):
        node, dish = walk.home(i), walk.dish(i)
        bank.remove(dish, [i])
        if walk.unseat(i, node, dish, source):
            walk.slots.close(dish)
        dish = _choose_dish(walk, node, [i], bank.log_predictive(i, walk.slots.occupied_slots()), source)
        _add(walk, bank, dish, [i])
        walk.seat(i, node, dish, source)
    draw_tables_of(walk, map(walk.home, range(first, last)), source)


@step(takes=("customers", "source"), draws_tables=True, trees=ALL_TREES)
def enter(walk: ReferenceWalk, bank: StatisticsBank, first: int, last: int, source: ChoiceSource) -> None:
    """Seat unseated customers in order, from their predictive given the seated ones."""
    for i in range(first, last):
        node = walk.home(i)
        _unseated(walk, i)
        dish = _choose_dish(walk, node, [i], bank.log_predictive(i, walk.slots.occupied_slots()), source)
        _add(walk, bank, dish, [i])
        walk.seat(i, node, dish, source)
    draw_tables_of(walk, map(walk.home, range(first, last)), source)


@step(takes=("dishes of customers", "source"), draws_tables=True, trees=ALL_TREES)
def enter_given(
    walk: ReferenceWalk, bank: StatisticsBank, dishes: Int32s, first: int, last: int, source: ChoiceSource
) -> None:
    """Seat unseated customers in order, from the prior given their dishes."""
    for i in range(first, last):
        _unseated(walk, i)
        node = walk.home(i)
        _add(walk, bank, int(dishes[i]), [i])
        walk.seat(i, node, int(dishes[i]), source)
    draw_tables_of(walk, map(walk.home, range(first, last)), source)


@step(takes=("free customers", "source"), draws_tables=True, trees=FIXED)
def leave(walk: ReferenceWalk, bank: StatisticsBank, first: int, last: int, source: ChoiceSource) -> None:
    """Unseat the seated ones of customers first .. last - 1."""
    for i in range(first, last):
        dish = walk.store.dish_of(i)
        if dish < 0:
            continue
        home = walk.home(i)
        bank.remove(dish, [i])
        if walk.unseat(i, home, dish, source):
            walk.slots.close(dish)
    draw_tables_of(walk, map(walk.home, range(first, last)), source)


def _unseated(walk: ReferenceWalk, customer: int) -> None:
    if walk.store.dish_of(customer) >= 0:
        raise StateError("customer", customer, "unseated", "Unseat the customer first.")


# ---------------------------------------------------------------------- which kernels serve which franchises

_RESTAURANT, _WEIGHTS = frozenset({"restaurant"}), frozenset({"weights", "fixed"})
_PLAIN = frozenset({DirichletMultinomialBank, BurstyBank})

reseat.kernel(
    "fused", fused_topics.reseat,
    stores=frozenset(fused_topics.STORES), banks=_PLAIN, depths=TWO, roots=_RESTAURANT,
    within=lambda bank, numbers: bank.in_floats(numbers.ends(), numbers.longest()),
)  # fmt: skip
reseat.kernel(
    "fused", fused_topics.reseat,
    stores=frozenset(fused_topics.STORES), banks=frozenset({SparseDirichletMultinomialBank}), depths=TWO,
    roots=_RESTAURANT, within=lambda bank, numbers: bank.in_floats(numbers.ends(), numbers.least()),
)  # fmt: skip
reseat.kernel(
    "fused", fused_topics.reseat,
    stores=frozenset(fused_topics.STORES_UNDER_WEIGHTS), banks=_PLAIN, depths=TWO, roots=_WEIGHTS,
    # For any weights, because they change within the step.
    within=lambda bank, numbers: bank.in_floats_given_weights(numbers.ends()),
)  # fmt: skip
reseat.kernel(
    "fused", fused_observed.reseat,
    stores=frozenset(fused_observed.STORES), banks=frozenset({AtomicBank}),
)  # fmt: skip
for _step in (enter, enter_given, reseat, leave):
    _step.compiled(getattr(compiled, _step.name), stores=COMPILED_STORES, trees=FIXED)
of_package(enter, enter_given, reseat, leave)
