"""Scores of a state: log probabilities and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.numerics import add_up, lgamma, log
from hdpkit.stores import CountsSizes, ScoresSeating, TotalsInBulk

__all__ = ["log_seating", "log_seating_of_restaurant", "size_counts", "totals"]


Ints = npt.NDArray[np.int64]


def log_seating(
    store: Any, concentration: npt.NDArray[np.float64], discount: npt.NDArray[np.float64]
) -> float:
    """Log probability of the labelled seating of all restaurants including the root, in nats.

    It depends only on table sizes, so it is the same for all stores.
    """
    if isinstance(store, ScoresSeating):
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


def size_counts(store: Any, nodes: Ints) -> tuple[Ints, Ints]:
    """Sizes of the tables of these restaurants, ascending, and the number of tables of each size."""
    if isinstance(store, CountsSizes):
        sizes, counts = store.size_counts(nodes)
        return sizes, counts
    found = [store.table_sizes(node, dish) for node in nodes.tolist() for dish in store.node_dishes(node)]
    sizes, counts = np.unique(np.concatenate([[], *found]).astype(np.int64), return_counts=True)
    return sizes, counts


def totals(store: Any, n_nodes: int) -> tuple[Ints, Ints]:
    """Customers and tables of every restaurant by number: two int64 arrays, shape (n_nodes,)."""
    if isinstance(store, TotalsInBulk):
        customers, tables = store.totals()
        return customers, tables
    return (
        np.array([store.node_customers(node) for node in range(n_nodes)], dtype=np.int64),
        np.array([store.node_tables(node) for node in range(n_nodes)], dtype=np.int64),
    )
