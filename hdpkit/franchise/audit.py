"""The audit: recomputes everything from the seating, O(customers)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int32s
from hdpkit.errors import AuditError
from hdpkit.franchise.customers import bank_for, restaurants_of
from hdpkit.franchise.dish_kinds import Parts
from hdpkit.franchise.frozen import Disagreement, check_tables
from hdpkit.franchise.scores import totals
from hdpkit.franchise.state import State
from hdpkit.measures.by_restaurant import ByRestaurant
from hdpkit.stores import Detail, FrozenCells, FrozenSeating, FrozenSeats, FrozenSizes

_CHUNK = 1 << 18  # customers counted at once
RELATIVE = 1e-9  # tolerance of cached log probabilities against recomputed ones


def _require(condition: Any, what: str, value: Any, *allowed: Any) -> None:
    """Raise an error unless the condition holds. The message is made only then: formatting arrays is slow."""
    if not condition:
        words = " ".join(str(word) for word in allowed)
        raise AuditError(what, value, words, "The state is inconsistent: report the move that ran last.")


def audit(state: State, parts: Parts) -> None:
    """Raise an AuditError unless counts, tables, dishes, statistics and components agree."""
    store = state.seating
    t: Any = state.topology.placed(store)
    frozen = FrozenSeating.of(store.freeze())
    if isinstance(frozen, FrozenSeats):
        try:
            check_tables(frozen.seat, frozen.table_node, frozen.table_dish, frozen.table_seat, t, None)
        except Disagreement as error:
            _require(False, error.key, getattr(frozen, error.key), error.allowed)
    if isinstance(frozen, FrozenSizes):
        size, count = frozen.bin_size, frozen.bin_count
        _require(np.all(size >= 1) and np.all(count >= 1), "bins", (size, count), "positive")
    by_cell = isinstance(frozen, FrozenCells)
    counted: Any = frozen if by_cell else frozen.to(Detail.COUNTS, t)
    customers: Counter[tuple[int, int]] = Counter()
    tables: Counter[tuple[int, int]] = Counter()
    columns = (counted.count_node, counted.count_dish, counted.count_customers, counted.count_tables)
    for n, k, c, m in zip(*(column.tolist() for column in columns), strict=True):
        _require(1 <= m <= c, f"tables of dish {k} in {n}", m, f"from 1 to {c}, the customers")
        customers[n, k] += c
        tables[n, k] += m
    live = state.slots.occupied_slots()
    of_customer = np.asarray(counted.run_dish if by_cell else counted.dish)
    eaten = _eaten_by_cell(counted, t) if by_cell else _eaten(of_customer, t.home)
    _require({k for _, k in eaten} <= set(live.tolist()), "dishes", of_customer, "occupied slots")

    # A restaurant's customers: its seated data and the tables of its children, dish by dish.
    expected = Counter(eaten)
    for (n, k), c in tables.items():
        if n > 0:
            expected[int(t.parent[n]), k] += c
    seated: Counter[tuple[int, int]] = Counter()
    for (n, k), c in customers.items():
        seated[int(t.restaurants(n)), k] += c
    _require(expected == seated, "customers", seated, "data and tables of children,", expected)

    by_node_customers, by_node_tables = totals(store, t.n_nodes)
    for n in range(t.n_nodes):
        dishes = sorted(k for m, k in customers if m == n) if t.n_nodes < 200 else None
        if dishes is not None:
            _require(
                store.node_dishes(n).tolist() == dishes, f"dishes of restaurant {n}", dishes, "as counted"
            )
    for what, reported, recount in (
        ("customers", by_node_customers, customers),
        ("tables", by_node_tables, tables),
    ):
        recounted = np.zeros(t.n_nodes, dtype=np.int64)
        for (n, _), c in recount.items():
            recounted[n] += c
        _require(np.array_equal(reported, recounted), f"{what} of restaurants", reported, recounted)
    for (n, k), c in customers.items():
        _require(store.customers(n, k) == c, f"customers of dish {k} in {n}", store.customers(n, k), c)
        _require(store.tables(n, k) == tables[n, k], f"tables of dish {k} in {n}", store.tables(n, k), "")

    root = {k: c for (n, k), c in tables.items() if n == 0}
    _DISHES[state.dish_kind.name](state, of_customer, root, live)
    for component in parts.values():
        component.audit(live)
    state.topology.audit(store)


def _latent(state: State, of_customer: Int32s, root: dict[int, int], live: Int32s) -> None:
    """Check that the root serves the live dishes, at one table each, and that statistics are correct.

    A dish that `open_dish` has just made has no customers yet.
    """
    expected = dict.fromkeys(
        (slot for slot in live.tolist() if slot in root or slot not in state._waiting), 1
    )
    _require(root == expected, "tables of the root", root, "one each of", live.tolist())
    _statistics(state, of_customer, live)


def _observed(state: State, of_customer: Int32s, root: dict[int, int], live: Int32s) -> None:
    """Check that the dishes of customers are their values."""
    seated = of_customer >= 0
    own = np.asarray(state.data.values)[seated]
    _require(np.array_equal(of_customer[seated], own), "dishes", of_customer, "the customers' values")


_DISHES = {"latent": _latent, "observed": _observed}


def _eaten(of_customer: npt.NDArray[np.int32], home: npt.NDArray[np.int32]) -> Counter[tuple[int, int]]:
    """Data customers of each restaurant and dish."""
    found: Counter[tuple[int, int]] = Counter()
    for first in range(0, len(of_customer), _CHUNK):
        dish = of_customer[first : first + _CHUNK]
        pairs = np.stack([home[first : first + _CHUNK], dish], axis=1)[dish >= 0]
        keys, counts = np.unique(np.ascontiguousarray(pairs).view(np.int64), return_counts=True)
        for (node, k), count in zip(
            keys.view(np.int32).reshape(-1, 2).tolist(), counts.tolist(), strict=True
        ):
            found[node, k] += count
    return found


def _eaten_by_cell(frozen: FrozenCells, t: Any) -> Counter[tuple[int, int]]:
    """Data customers of each restaurant and dish, by cell; all customers of a cell are seated, or none."""
    cells, runs = t.cells, frozen.cell_runs
    of = np.repeat(np.arange(len(runs)), runs)
    seated = np.bincount(of, weights=frozen.run_count, minlength=len(runs))
    _require(np.all((runs == 0) | (seated == cells.count)), "customers of cells", seated, str(cells.count))
    found: Counter[tuple[int, int]] = Counter()
    nodes = cells.documents()[of].astype(np.int64) + t.first[-1]
    for node, k, n in zip(nodes.tolist(), frozen.run_dish.tolist(), frozen.run_count.tolist(), strict=True):
        found[node, k] += n
    for j in range(t.known):
        found[0, j] += 1
    return found


def _statistics(state: State, dishes: npt.NDArray[np.int32], live: npt.NDArray[np.int32]) -> None:
    """Check that cached statistics give the same log marginals as recomputed ones."""
    counted = state.population.dishes()
    cached = np.asarray(state.bank.log_marginals(live, counted))
    fresh_bank = bank_for(state, state.measure, state.data)
    fresh_bank.thaw(state.bank.freeze())
    state.population.recount(fresh_bank, live)
    fresh = np.asarray(fresh_bank.log_marginals(live, counted))
    scale = np.maximum(np.abs(fresh), 1.0)
    with np.errstate(invalid="ignore"):
        same = (cached == fresh) | (np.abs(cached - fresh) <= RELATIVE * scale)  # both may be -inf
    _require(np.all(same), "log marginals", cached, fresh)
    # Marginals may be computed from the data alone; predictives use the statistics.
    slots = live.tolist()[: 50 if state.measure.conjugate and state.population.single else 0]
    witnesses = [int(np.argmax(dishes == slot)) for slot in slots]
    if (
        isinstance(state.measure, ByRestaurant) and state.population.single
    ):  # statistics of every dish in every restaurant
        witnesses += np.unique(restaurants_of(state, state.measure), return_index=True)[1].tolist()
    for i in witnesses:
        a, b = (np.asarray(bank.log_predictive(i, live)) for bank in (state.bank, fresh_bank))
        a_ratios, b_ratios = a - a[-1], b - b[-1]
        with np.errstate(invalid="ignore"):
            near = bool(np.all(np.abs(a_ratios - b_ratios) <= RELATIVE))
        # `allclose` is slow, so it is used only for large values and infinities.
        near = near or np.allclose(a_ratios, b_ratios, rtol=RELATIVE, atol=RELATIVE)
        _require(near, "predictives", a, b)
