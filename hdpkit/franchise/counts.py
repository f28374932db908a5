"""Counts of any store by restaurant and dish."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.stores import CountsInBulk

__all__ = ["columns_of"]


def columns_of(store: Any, n_nodes: int) -> Any:
    """Restaurant, dish, customers and tables: four int32 arrays, sorted by restaurant and dish."""
    if isinstance(store, CountsInBulk):
        return store.counts()
    rows = [
        (node, dish, store.customers(node, dish), store.tables(node, dish))
        for node in range(n_nodes)
        for dish in store.node_dishes(node).tolist()
    ]
    return tuple(np.array(rows, dtype=np.int32).reshape(-1, 4).T)
