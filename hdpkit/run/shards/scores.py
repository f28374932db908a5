"""The log joint of a state over shards: a sum over shards in their order, whatever the number of workers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from hdpkit.franchise.declarations import FixedWeights
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.root import log_dishes
from hdpkit.franchise.scores import columns_of, log_seating_of_restaurant
from hdpkit.numerics import add_up, lgamma, log
from hdpkit.stores._stirling import sum_of_logs


def seated_logs(franchise: Franchise, documents: Sequence[int]) -> list[float]:
    """Sum over documents and dishes of log S(customers, tables), for consecutive ranges of documents.

    The franchise has a store of counts and no discounts.
    """
    node, _, customers, tables = _columns(franchise)
    places = np.searchsorted(node, np.cumsum([1, *documents]))
    n, t = (np.asarray(column, dtype=np.int64) for column in (customers, tables))
    return [
        float(sum_of_logs(n[first:last], t[first:last]))
        for first, last in itertools.pairwise(places.tolist())
    ]


def log_joint_of_all(franchise: Franchise, log_likelihood: float) -> float:
    """The log joint of all documents without their `seated_logs`: the same bits in every worker."""
    root, documents = franchise.declarations
    node, _, customers, _ = _columns(franchise)
    served = np.asarray(customers[: np.searchsorted(node, 1)], dtype=np.int64)  # customers of the root
    declared, n_tables = franchise.root.declared, int(served.sum())
    if isinstance(declared, FixedWeights):
        seating = log_dishes(declared.n_dishes, len(served), n_tables)
    else:
        seating = log_seating_of_restaurant(served, _concentration(franchise, root.name), 0.0)
    theta = _concentration(franchise, documents.name)
    (sizes, with_size), _ = franchise.counted_totals_of(1)
    there = sizes > 0
    seating += (n_tables - int(with_size[there].sum())) * log(theta)
    alone = lgamma(theta + 1.0)
    seating -= add_up(
        n * (lgamma(theta + size) - alone)
        for size, n in zip(sizes[there].tolist(), with_size[there].tolist(), strict=True)
    )
    return float(seating + log_likelihood + franchise.log_prior() + franchise.parts.log_density(franchise))


def _concentration(franchise: Franchise, name: str) -> float:
    return float(np.asarray(franchise.concentration(name)).item())


def _columns(franchise: Franchise) -> Any:
    with franchise.lock():
        return columns_of(franchise.seating, franchise.topology.n_nodes)
