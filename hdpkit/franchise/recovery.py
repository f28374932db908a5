"""A franchise made whole again after an exception that came in the midst of a change.

Compiled verbs are one step to Python: no handler of a signal runs within them. What is written in Python is
many steps, and an exception between two of them leaves a customer without a seat, a dish without customers,
or slots that are not those of the store. Then the store is what counts: its counts are checked, and where
they contradict themselves everybody is seated anew given who eats what.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.stores.seating import Seating
from hdpkit._compiled.walk import table_counts
from hdpkit.base_measures.bank import KeepsParameters
from hdpkit.franchise.audit import check_labelled
from hdpkit.franchise.counts import columns_of
from hdpkit.franchise.reference import table_counts as readable
from hdpkit.random import STARTS, Streams
from hdpkit.stores import Detail, detail_of

if TYPE_CHECKING:
    from hdpkit.franchise.core import FranchiseCore

__all__ = ["restore"]

Ints = npt.NDArray[np.int64]

_UNIT = 2**62  # of the streams: no sweep and no start draws from it


def restore(franchise: FranchiseCore, everybody: bool, reseated: tuple[int, int]) -> None:
    """Make slots, statistics and components fit the store, and the store itself whole.

    May be begun again after an exception. ``everybody``: nobody may be left without a seat; ``reseated`` is
    the range of customers of whom that is so in any case.
    """
    dishes, consistent = _read(franchise)
    must = np.zeros(len(dishes), dtype=bool)
    must[slice(*((0, len(dishes)) if everybody else reseated))] = True
    lost = np.flatnonzero(must & (dishes < 0))
    if len(lost) or not consistent:
        _seat_anew(franchise, dishes, lost)
    root = np.asarray(franchise.seating.node_dishes(0), dtype=np.int32)
    slots = franchise.slots
    if not franchise.measure.atomic and slots.occupied_slots().tolist() != root.tolist():
        held = [slot for slot in slots.held_slots() if slot not in root]
        franchise._reset_slots(root, held)
        franchise._lost = list(franchise._components.values())
        with contextlib.suppress(Exception):  # of a user's; told again later
            franchise._find_lost()
    theta, d = franchise._concentration, franchise._discount
    theta[:] = np.maximum(theta, np.nextafter(-d, 1.0))  # one of the two may be new, and the other not yet
    franchise._uncounted = True
    bank: Any = franchise.bank
    bank.adopt(franchise.measure)  # a change of parameters may have come half way
    keeps = isinstance(bank, KeepsParameters)
    if keeps:
        for slot in root.tolist():
            if not bank.has_parameter(slot):
                bank.born(slot)


def _read(franchise: FranchiseCore) -> tuple[Ints, bool]:
    """Dish of each customer, and whether the store agrees with itself."""
    store, t = franchise.seating, franchise.topology
    dishes = np.asarray(store.dishes(), dtype=np.int64)
    try:
        node, dish, customers, tables = (np.asarray(c, dtype=np.int64) for c in columns_of(store, t.n_nodes))
        width = int(max(dish.max(initial=0), dishes.max(initial=0))) + 1
        seated, below = dishes >= 0, node > 0
        keys = np.concatenate([
            t.home[seated].astype(np.int64) * width + dishes[seated],
            np.asarray(t.parent, dtype=np.int64)[node[below]] * width + dish[below],
        ])  # fmt: skip
        weights = np.concatenate([np.ones(np.count_nonzero(seated), dtype=np.int64), tables[below]])
        wanted, place = np.unique(keys, return_inverse=True)
        counted = np.bincount(place, weights=weights, minlength=len(wanted)).astype(np.int64)
        own = node * width + dish
        consistent = np.array_equal(own, wanted) and np.array_equal(customers, counted)
        consistent &= bool(np.all((tables >= 1) & (tables <= customers)))
        consistent &= franchise.measure.atomic or bool(np.all(tables[node == 0] == 1))
        if consistent and not isinstance(store, Seating):
            # A store in Python: what it keeps of tables may contradict its counts.
            consistent = _sizes_agree(store, node, dish, customers, tables)
            consistent &= all(
                store.node_customers(n) == customers[node == n].sum()
                and store.node_tables(n) == tables[node == n].sum()
                for n in range(t.n_nodes)
            )
            if consistent and detail_of(store) is Detail.SEATS:
                check_labelled(store.freeze(), t)
    except Exception:  # a store that was left in the midst of a change may fail in any way
        return dishes, False
    return dishes, consistent


def _sizes_agree(store: Any, node: Ints, dish: Ints, customers: Ints, tables: Ints) -> bool:
    """Whether the sizes of tables that a store keeps, if it does, are those of its counts."""
    if detail_of(store) is Detail.COUNTS:
        return True
    sizes = [store.table_sizes(n, k) for n, k in zip(node.tolist(), dish.tolist(), strict=True)]
    return all(len(s) == n and int(np.sum(s)) == c for s, n, c in zip(sizes, tables, customers, strict=True))


def _seat_anew(franchise: FranchiseCore, dishes: Ints, lost: Ints) -> None:
    """Seat everybody by the prior given the dishes; those who have lost theirs get one of their own."""
    dishes = dishes.astype(np.int32)
    if franchise.measure.atomic:
        dishes[lost] = np.asarray(franchise.data.values)[lost]
    else:
        first = int(dishes.max(initial=-1)) + 1
        dishes[lost] = np.arange(first, first + len(lost))
    streams = franchise.streams or Streams(0)
    source = Streams(streams.seed, streams.chain).source(STARTS, franchise.sweep, _UNIT, franchise.attempt)
    seated_out = franchise._seated_out is not None
    store, slots = franchise._new_store(seated_out), type(franchise.slots)()
    atoms = len(franchise.bank.log_base) if franchise.measure.atomic else 0  # type: ignore[attr-defined]
    slots.reset(np.arange(atoms) if atoms else np.unique(dishes[dishes >= 0]))
    walk = franchise.walk_over(store, slots, "auto" if isinstance(store, Seating) else "reference")
    home = franchise.topology.home
    for customer in np.flatnonzero(dishes >= 0).tolist():
        walk.seat(customer, int(home[customer]), int(dishes[customer]), source)
    if detail_of(store) is Detail.COUNTS:
        draw = table_counts.draw_tables if isinstance(store, Seating) else readable.draw_tables
        draw(walk, 0, franchise.topology.n_nodes, source)
    vars(franchise).update({"_seated_out" if seated_out else "store": store, "_walks": {}})
