"""Scores of a state: log probabilities and weights; scores that are the same for every sampling scheme."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int64s, sums_by_key
from hdpkit.numerics import add_up, lgamma, log
from hdpkit.random import ChoiceSource
from hdpkit.stores._labelled_seating import draw_sizes
from hdpkit.stores._seating import Seating
from hdpkit.stores.frozen import count_columns


def columns_of(store: Any, n_nodes: int) -> Any:
    """Restaurant, dish, customers and tables: four int32 arrays, sorted by restaurant and dish."""
    if hasattr(store, "counts"):
        return store.counts()
    rows = [
        (node, dish, store.customers(node, dish), store.tables(node, dish))
        for node in range(n_nodes)
        for dish in store.node_dishes(node).tolist()
    ]
    return tuple(np.array(rows, dtype=np.int32).reshape(-1, 4).T.copy())


def log_seating(
    store: Any, concentration: npt.NDArray[np.float64], discount: npt.NDArray[np.float64]
) -> float:
    """Log probability of the labelled seating of all restaurants including the root, in nats."""
    if hasattr(store, "log_seating"):
        return float(store.log_seating(concentration, discount))
    total = 0.0
    for node in range(len(concentration)):
        sizes = [store.table_sizes(node, dish) for dish in store.node_dishes(node)]
        if sizes:
            total += log_seating_of_restaurant(
                np.concatenate(sizes), float(concentration[node]), float(discount[node])
            )
    return total


def log_seating_of_restaurant(sizes: npt.NDArray[Any], theta: float, d: float) -> float:
    """log of [theta+d]_d^(T-1) / [theta+1]_1^(c-1) prod_t [1-d]_1^(n_t-1) for the sizes n_t of T tables."""
    opened = add_up(log(theta + i * d) for i in range(1, len(sizes)))
    seated = lgamma(theta + float(sizes.sum())) - lgamma(theta + 1.0) if sizes.sum() > 1 else 0.0
    shared = add_up(lgamma(int(n) - d) - lgamma(1.0 - d) for n in sizes)
    return opened - seated + shared


def size_counts(store: Any, nodes: Int64s) -> tuple[Int64s, Int64s]:
    """Sizes of the tables of these restaurants, ascending, and the number of tables of each size."""
    if hasattr(store, "size_counts"):
        sizes, counts = store.size_counts(nodes)
        return sizes, counts
    found = [store.table_sizes(node, dish) for node in nodes.tolist() for dish in store.node_dishes(node)]
    sizes, counts = np.unique(np.concatenate([[], *found]).astype(np.int64), return_counts=True)
    return sizes, counts


def totals(store: Any, n_nodes: int) -> tuple[Int64s, Int64s]:
    """Customers and tables of every restaurant by number: two int64 arrays, shape (n_nodes,)."""
    if hasattr(store, "totals"):
        customers, tables = store.totals()
        return customers, tables
    return (
        np.array([store.node_customers(node) for node in range(n_nodes)], dtype=np.int64),
        np.array([store.node_tables(node) for node in range(n_nodes)], dtype=np.int64),
    )


def totals_in_dishes(bank: Any) -> tuple[Int64s, Int64s]:
    """Customers and tables of every restaurant in a dish; sorted, since a bank has them in any order."""
    return _sorted(*bank.totals())


def draw_size_counts_in_dishes(bank: Any, d: float, source: ChoiceSource) -> tuple[Int64s, Int64s]:
    """Draw the sizes of the tables of restaurants in dishes; ascending, and the number of tables of each."""
    customers, tables = _sorted(*bank.cells())
    here = np.zeros(len(tables), dtype=np.int32)
    dish = np.empty(int(customers.max(initial=0)), dtype=np.int32)
    drawn = draw_sizes({"dish": dish, **count_columns(here, here, customers, tables)}, source, np.array([d]))
    sizes, counts = sums_by_key(drawn["bin_size"].astype(np.int64), drawn["bin_count"])
    return sizes, counts


def _sorted(customers: Int64s, tables: Int64s) -> tuple[Int64s, Int64s]:
    order = np.lexsort((tables, customers))
    return customers[order], tables[order]


ROOT_WEIGHTS = "root weights"
"""Name of the part that has the weights of the root."""

INTEGRATED_OUT = frozenset({ROOT_WEIGHTS})
"""Names of parts that are integrated out by omitting their density.

Given the rest of the state and the likelihood, their density is normalised. Schedules with and without such a
part have the same model.
"""


def log_joint_of_counts(franchise: Any) -> float:
    """log p(dishes, numbers of tables, data | hyperparameters) + log priors, in nats."""
    # Seats and weights of the root are summed out. If dishes are observed: the log joint of the seating.
    with franchise.lock():
        total: float = _log_joint_of_counts(franchise)
    return total


def _log_joint_of_counts(franchise: Any) -> float:
    if franchise.measure.atomic:
        return float(franchise.log_joint())
    total = log_counts(franchise) + franchise.log_likelihood() + franchise.log_prior()
    parts = (part for name, part in franchise.parts.items() if name not in INTEGRATED_OUT)
    return float(total + add_up(part.log_density(franchise) for part in parts))


def log_counts(franchise: Any) -> float:
    """log p(dishes, numbers of tables | hyperparameters), drawn weights of the root integrated out."""
    theta, d = franchise.hyperparameters.concentration, franchise.hyperparameters.discount
    counts = Seating(0, franchise.topology.n_nodes)
    columns = columns_of(franchise.seating, franchise.topology.n_nodes)
    counts.take_counts(*columns)
    total = float(counts.log_counts(theta, d))
    total += float(franchise.topology.log_seating(franchise.seating, theta, d))
    total += franchise.topology.log_splits(*columns[:3])
    return total + float(franchise.root._log_of_dishes(franchise.seating))


def dish_sizes(franchise: Any) -> Int64s:
    """Data customers of each dish that has any, without an array as large as the data."""
    with franchise.lock():
        sizes: Int64s = data_sizes(franchise.seating, franchise.topology.n_nodes)
    return sizes


def data_sizes(store: Any, n_nodes: int) -> Int64s:
    """Data customers of each dish that has any, from a store; int64."""
    if hasattr(store, "dish_sizes"):
        return store.dish_sizes()
    node, dish, customers, tables = columns_of(store, n_nodes)
    # A table is a customer of the parent; the others are data.
    found = np.bincount(dish, weights=customers - tables * (node > 0)).astype(np.int64)
    return found[found > 0]
