"""Repair of a franchise after an exception in the middle of a change.

Compiled verbs are a single step for Python: no signal handler runs within them. Python code has many steps,
and an exception between two of them may leave a customer without a seat, a dish without customers, or slots
that don't fit the store. Then the state is repaired from the store: its counts are checked, and if they are
inconsistent, all customers are reseated given their dishes.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.stores.seating import Seating
from hdpkit._compiled.walk import table_counts
from hdpkit.base_measures.bank import KeepsParameters
from hdpkit.errors import ChangedDataError
from hdpkit.franchise.audit import check_labelled
from hdpkit.franchise.counts import columns_of
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.reference import table_counts as readable
from hdpkit.franchise.seats import Seats
from hdpkit.franchise.state import State
from hdpkit.franchise.statistics import Statistics
from hdpkit.franchise.turns import Turns
from hdpkit.random import STARTS, Streams
from hdpkit.stores import Detail, detail_of

__all__ = ["Recovery"]

Ints = npt.NDArray[np.int64]

_UNIT = 2**62  # of streams for repairs; sweeps and starts don't use it


class Recovery(Owner):
    """Undoes changes of a franchise that were begun and not completed."""

    def __init__(self, state: State, turns: Turns, seats: Seats, statistics: Statistics) -> None:
        super().__init__(state)
        self.turns = turns
        self.seats = seats
        self.statistics = statistics

    def make_whole(self) -> None:
        """Undo a change that was begun and not completed.

        A signal handler can raise an exception at any byte code, also during the repair. So the pending
        repair is recorded in the state until it is complete, and the next use of the franchise begins it
        again or continues it.
        """
        state, turns = self.state, self.turns
        state.on_pulse = None
        turns.at_rest()
        try:
            state.data.check_unchanged()
        except ChangedDataError:  # mapped data must not be read any more
            return
        for slot in state.slots.reserved_slots():
            self.statistics.uncounted = True
            with contextlib.suppress(Exception):  # errors of the bank
                state.slots.release(slot)
        if turns.torn is not None:
            self.restore(*turns.torn)
            turns.torn = None
        self.seats.give_back(True)
        self.statistics.parts.draw_all()
        if self.statistics.uncounted:
            with contextlib.suppress(Exception):  # the measure fails; the next verb tries again
                self.statistics.recount()
        turns.turn.whole = True

    def restore(self, everybody: bool, reseated: tuple[int, int]) -> None:
        """Make the store consistent, and slots, statistics and parts consistent with it.

        It can be repeated after an exception. ``everybody``: all customers must be seated; ``reseated`` is a
        range of customers who must be seated in any case.
        """
        state, statistics = self.state, self.statistics
        dishes, consistent = _read(state)
        must = np.zeros(len(dishes), dtype=bool)
        must[slice(*((0, len(dishes)) if everybody else reseated))] = True
        lost = np.flatnonzero(must & (dishes < 0))
        if len(lost) or not consistent:
            self._seat_anew(dishes, lost)
        root = np.asarray(state.seating.node_dishes(0), dtype=np.int32)
        slots = state.slots
        if not state._dish_kind.agree(root):
            held = [slot for slot in slots.held_slots() if slot not in root]
            statistics.reset_slots(root, held)
            statistics.parts.lost = statistics.parts.values()
            with contextlib.suppress(Exception):  # errors of user code; notified again later
                statistics.parts.find_lost()
        state.hyperparameters.restore()
        statistics.uncounted = True
        bank: Any = state.bank
        bank.adopt(state.measure)  # a change of parameters may be incomplete
        keeps = isinstance(bank, KeepsParameters)
        if keeps:
            for slot in root.tolist():
                if not bank.has_parameter(slot):
                    bank.born(slot)

    def _seat_anew(self, dishes: Ints, lost: Ints) -> None:
        """Seat all customers from the prior given the dishes; those without a dish get a new one each."""
        state = self.state
        dishes = dishes.astype(np.int32)
        dishes[lost] = state._dish_kind.for_lost(dishes, lost, self.seats.root.most_dishes)
        streams = state.streams or Streams(0)
        source = Streams(streams.seed, streams.chain).source(STARTS, state.sweep, _UNIT, state.attempt)
        if state._by_cell:  # inconsistent cells: from now on there is a dish for each customer
            state._by_cell = False
            bank = state._bank_for(state.measure, state.data)
            state.slots.attach(bank)
            state.bank = bank
        lent = state._lent is not None
        store, slots = self.seats.new_store(lent), type(state.slots)()
        slots.reset(state._dish_kind.slots(np.unique(dishes[dishes >= 0]), state.bank))
        walk = self.seats.over(store, slots, "auto" if isinstance(store, Seating) else "reference")
        home = state.topology.home
        for customer in np.flatnonzero(dishes >= 0).tolist():
            walk.seat(customer, int(home[customer]), int(dishes[customer]), source)
        if walk.tables_at_end:
            draw = table_counts.draw_tables if isinstance(store, Seating) else readable.draw_tables
            draw(walk, 0, state.topology.n_nodes, source)
        if lent:
            state._lent = store
        else:
            state.store = store


def _read(state: State) -> tuple[Ints, bool]:
    """Dish of each customer, and whether the store is consistent."""
    store, t = state.seating, state.topology
    known = np.arange(t.n_all - t.n_customers)
    dishes = np.append(np.asarray(store.dishes(), dtype=np.int64)[: t.n_customers], known)
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
        consistent &= state._dish_kind.root_agrees(tables[node == 0])
        if consistent and not isinstance(store, Seating):
            # A store in Python: its tables may contradict its counts.
            consistent = _sizes_agree(store, node, dish, customers, tables)
            consistent &= all(
                store.node_customers(n) == customers[node == n].sum()
                and store.node_tables(n) == tables[node == n].sum()
                for n in range(t.n_nodes)
            )
            if consistent and detail_of(store) is Detail.SEATS:
                check_labelled(store.freeze(), t)
    except Exception:  # a store with an incomplete change may fail in any way
        return dishes, False
    return dishes, consistent


def _sizes_agree(store: Any, node: Ints, dish: Ints, customers: Ints, tables: Ints) -> bool:
    """Whether the sizes of tables of a store, if it keeps them, agree with its counts."""
    if detail_of(store) is Detail.COUNTS:
        return True
    sizes = [store.table_sizes(n, k) for n, k in zip(node.tolist(), dish.tolist(), strict=True)]
    return all(len(s) == n and int(np.sum(s)) == c for s, n, c in zip(sizes, tables, customers, strict=True))
