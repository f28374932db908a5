"""Allocations of customers to dishes: their exact posterior in finite models, and dishes by group."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import instance, number_array
from hdpkit.errors import DeclarationError, ParameterError, StateError
from hdpkit.franchise import FixedWeights, Franchise
from hdpkit.numerics import lgamma

__all__ = ["RankedAllocations", "dishes_per_group", "rank_allocations"]

_REMEDY = "Record them: record={'dishes': lambda franchise: franchise.dishes}, and pass trace['dishes']."


@attrs.frozen(eq=False, repr=False, kw_only=True)
class RankedAllocations:
    """Sampled allocations, the most probable first, as returned by `hdpkit.rank_allocations`.

    Dishes are numbered in order of their first customer, so that allocations that differ only in the
    numbering of dishes are the same.

    Attributes
    ----------
    dishes : int64 array, shape (n, n_customers)
        Dish of each customer, one row per allocation.
    log_posterior : float64 array, shape (n,)
        log p(z, data), which is log p(z | data) up to a constant: that of one allocation of customers to K
        numbered dishes, descending.
    log_partition : float64 array, shape (n,)
        The same for the partition: K! / (K - n)! numbered allocations are the same partition into n dishes.
    count : int64 array, shape (n,)
        Number of draws with each allocation.
    """

    dishes: Int64s
    log_posterior: Floats
    log_partition: Floats
    count: Int64s

    def __len__(self) -> int:
        return len(self.count)

    def __repr__(self) -> str:
        return f"<RankedAllocations: {len(self)} of {int(self.count.sum())} draws>"


def rank_allocations(franchise: Franchise, allocations: npt.ArrayLike) -> RankedAllocations:
    """Rank sampled allocations by exact posterior probability, with topics and proportions integrated out.

    For a finite model (Fuentes et al. 2011, equation 3, with the missing denominators): with weights
    1/K, concentration alpha of a group and marginal likelihood m of a dish, p(z, data) is

        prod_j G(alpha) / G(alpha + N_j) prod_k G(alpha/K + n_jk) / G(alpha/K) prod_k m(data of k).

    Parameters
    ----------
    franchise : Franchise
        At most two levels, ``root=hk.FixedWeights(K)``, a conjugate measure, no discounts. The current values
        of hyperparameters are used.
    allocations : int array, shape (n_draws, n_customers)
        The dish of each customer, in data order, in each draw: whole numbers >= 0.

    Returns
    -------
    RankedAllocations

    Raises
    ------
    DeclarationError
        If the model isn't finite, or the formula doesn't apply to it.
    ParameterError
        If the allocations are not those of the franchise's customers, or have more than K dishes.
    """
    instance("franchise", franchise, Franchise, "a Franchise", remedy="Pass the one that was sampled.")
    rows = _allocations(franchise, allocations)
    found: RankedAllocations = franchise._lock.call(_ranked, (franchise, rows), reading=True)
    return found


def dishes_per_group(
    franchise: Franchise, allocations: npt.ArrayLike, name: str | None = None
) -> npt.NDArray[np.int64]:
    """Number of distinct dishes of each group in each draw: topics of each document.

    Parameters
    ----------
    franchise : Franchise
    allocations : int array, shape (n_draws, n_customers)
        The dish of each customer, in data order, in each draw: whole numbers >= 0.
    name : str, optional
        Name of the declaration whose restaurants are the groups; by default the deepest.

    Returns
    -------
    int64 array, shape (n_draws, n_groups)
        Customers of restaurants above these are in no group.

    Raises
    ------
    ParameterError
        If the allocations are not those of the franchise's customers, or there is no such declaration.
    """
    instance("franchise", franchise, Franchise, "a Franchise", remedy="Pass the one that was sampled.")
    rows = _allocations(franchise, allocations)
    group, n_groups = _groups(franchise, name)
    counted = np.zeros((len(rows), n_groups), dtype=np.int64)
    inside = group >= 0
    for number, row in enumerate(rows):
        pairs = np.unique(np.column_stack([group[inside], row[inside]]), axis=0)
        counted[number] = np.bincount(pairs[:, 0], minlength=n_groups)
    return counted


def _groups(franchise: Franchise, name: str | None) -> tuple[Int64s, int]:
    """The group of each customer, -1 for none, and how many there are."""
    topology, names = franchise.topology, [one.name for one in franchise.declarations]
    if name is not None and not (isinstance(name, str) and name in names):
        raise ParameterError("name", name, f"one of {names}", "Leave it out for the deepest.")
    number = len(names) - 1 if name is None else names.index(name)
    nodes = np.arange(topology.n_nodes)[topology.nodes(number)]
    of_node = np.full(topology.n_nodes, -1, dtype=np.int64)
    of_node[nodes] = np.arange(len(nodes))
    for node in range(topology.n_nodes):  # parents come first
        if of_node[node] < 0 and topology.parent[node] >= 0:
            of_node[node] = of_node[topology.parent[node]]
    return of_node[topology.home], len(nodes)


def _allocations(franchise: Franchise, allocations: Any) -> Int64s:
    n = franchise.topology.n_customers
    given = number_array(allocations)
    if (
        given is None
        or given.ndim != 2
        or given.shape[1] != n
        or len(given) == 0
        or not np.all((given >= 0) & (given < 2**53) & (given == np.floor(given)))
    ):
        raise ParameterError("allocations", allocations, f"whole numbers >= 0, shape (n_draws, {n})", _REMEDY)
    return given.astype(np.int64)


def _ranked(franchise: Any, rows: Int64s) -> RankedAllocations:
    k = _check_finite(franchise)
    distinct, count = np.unique([_by_first(row) for row in rows], axis=0, return_counts=True)
    used = distinct.max(axis=1, initial=-1) + 1
    if used.max() > k:
        raise ParameterError("allocations", f"{used.max()} dishes", f"at most {k} dishes", _REMEDY)
    logs = _log_of_data(franchise, distinct) + [_log_of_dishes(franchise, row, k) for row in distinct]
    labellings = np.array([lgamma(k + 1.0) - lgamma(k + 1.0 - n) for n in used.tolist()])
    order = np.argsort(-logs, kind="stable")
    return RankedAllocations(
        dishes=distinct[order],
        log_posterior=logs[order],
        log_partition=(logs + labellings)[order],
        count=count[order],
    )


def _check_finite(franchise: Any) -> int:
    """K; raises a DeclarationError if the formula doesn't apply to the model."""
    declared, measure = franchise.root.declared, franchise.measure
    if not isinstance(declared, FixedWeights):
        raise DeclarationError(
            "root", declared, "hk.FixedWeights(K) where allocations are ranked",
            "The posterior of an allocation has no closed form where tables are summed out.",
        )  # fmt: skip
    if franchise.known is not None:
        raise DeclarationError(
            "known", franchise.known, "no known components where allocations are ranked",
            "Rank those of a franchise without them.",
        )  # fmt: skip
    if len(franchise.declarations) > 2 or np.any(franchise.hyperparameters.d != 0.0):
        raise DeclarationError(
            "restaurant", franchise, "two levels at most, without discounts, where allocations are ranked",
            "The posterior of an allocation has no closed form where tables are summed out.",
        )  # fmt: skip
    if not measure.conjugate:
        raise StateError(
            "measure", type(measure).__name__, "conjugate, where a dish's marginal is needed",
            "Use a conjugate measure.",
        )  # fmt: skip
    return declared.n_dishes


def _by_first(row: Int64s) -> Int64s:
    """Renumber the dishes of an allocation in the order of their first customers."""
    _, first, inverse = np.unique(row, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _log_of_dishes(franchise: Any, row: Int64s, k: int) -> float:
    """log p(z): a Dirichlet-multinomial for each group, 1/K for each customer who sits at the root."""
    home, theta = franchise.topology.home, franchise.hyperparameters.theta
    terms = [-float(np.count_nonzero(home == 0)) * math.log(k)]
    cells, counts = np.unique(np.column_stack([home, row])[home > 0], axis=0, return_counts=True)
    for node, n in zip(*np.unique(home[home > 0], return_counts=True), strict=True):
        a = float(theta[node])
        of_group = counts[cells[:, 0] == node]
        terms.append(lgamma(a) - lgamma(a + int(n)))
        terms += [lgamma(a / k + int(c)) - lgamma(a / k) for c in of_group]
    return math.fsum(terms)


def _log_of_data(franchise: Any, rows: Int64s) -> Floats:
    """log p(data | z) of each allocation, by the code that samples."""
    bank = franchise._bank_for(franchise.measure, franchise.data)
    found = []
    for row in rows:
        dishes, slots = row.astype(np.int32), np.unique(row).astype(np.int32)
        bank.rebuild(dishes, slots)
        found.append(math.fsum(np.asarray(bank.log_marginals(slots, dishes), dtype=float)))
    return np.array(found)
