"""Reseating of groups in Python. Compiled twin: `hdpkit.steps._sweeps`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import hdpkit.steps._sweeps as compiled
from hdpkit.arrays import Int32s
from hdpkit.measures._slots import DishSlots
from hdpkit.measures.bank import StatisticsBank
from hdpkit.numerics import add_up, exp
from hdpkit.random import ChoiceSource
from hdpkit.steps.step import BANKS_WITHOUT_TABLES, COMPILED_STORES, of_package, step
from hdpkit.steps.walk import ReferenceWalk


@step(needs_tables=True)
def reseat_groups(
    walk: ReferenceWalk,
    bank: StatisticsBank,
    nodes: Int32s,
    begin: npt.NDArray[np.int64],
    customers: Int32s,
    first: int,
    last: int,
    scratch: int,
    launches: int,
    source: ChoiceSource,
) -> int:
    """One proposal for each of the groups first .. last - 1; returns how many were accepted."""
    # Group g is customers[begin[g]:begin[g + 1]], all data customers of restaurant nodes[g]; `scratch` is a
    # reserved slot, `launches` the number of scans before the final one.
    accepted = 0
    for g in range(first, last):
        group = customers[begin[g] : begin[g + 1]]
        frozen = walk.store.freeze()
        taken = _propose(walk, bank, int(nodes[g]), group, scratch, launches, source)
        if not taken:
            walk.store.thaw(frozen)
        accepted += taken
    return accepted


def _propose(
    walk: ReferenceWalk,
    bank: StatisticsBank,
    node: int,
    group: Int32s,
    scratch: int,
    launches: int,
    source: ChoiceSource,
) -> bool:
    """One proposal. If it is rejected, the caller restores the seating; statistics are restored here."""
    before = np.array([walk.dish(i) for i in group.tolist()], dtype=np.int32)
    # Births and deaths of a proposal are not reported: these slots have no bank and no parts.
    aside = DishSlots()
    aside.reset(walk.slots.occupied_slots())
    bare = ReferenceWalk(walk.store, aside, walk.topology, walk.concentration, walk.discount, walk.root)
    log_before = _unseat(bare, group, source)
    others = aside.occupied_slots()
    own = np.setdiff1d(before, others)  # dishes that no other customer has
    if len(own) > 1:
        return False  # the reverse proposal can open at most one new dish
    fresh = int(own[0]) if len(own) else walk.slots.vacant()
    slots = np.append(others, scratch).astype(np.int32)
    dishes = np.append(others, fresh).astype(np.int32)
    current = np.searchsorted(others, before).astype(np.int32)
    current[np.isin(before, own)] = len(others)

    data = _SeatedData(bank, group) if hasattr(bank, "take_out") else _Data(bank, group)
    data.take_out(before)
    scale = walk.concentration[node] + walk.discount[node] + walk.store.node_customers(node)
    prior = scale * bare.prior_row(node)
    log_ratio = 0.0
    for forced, sign in ((None, 1.0), (current, -1.0)):
        # A separate launch state for each direction: with a common one, only proposals near it would be
        # accepted.
        launch, weights = np.full(len(group), -1, dtype=np.int32), prior.copy()
        for _ in range(launches):
            data.scan(launch, weights, slots, None, source)
        log_q = data.scan(launch, weights, slots, forced, source)
        log_ratio += sign * (data.log_data(launch, slots) - log_q)
        if forced is None:
            sides = launch
    log_ratio += _seat(bare, group, dishes[sides], source) - log_before
    if not log_ratio < np.inf:  # NaN too
        raise FloatingPointError(f"a log ratio of {log_ratio} can't be drawn from")
    if not (log_ratio >= 0.0 or (log_ratio > -np.inf and source.bernoulli(exp(log_ratio)))):
        data.put(before, proposed=False)
        return False
    if aside.is_occupied(fresh) and not walk.slots.is_occupied(fresh):
        walk.slots.open(group)  # in the slot `fresh`
    data.put(dishes[sides], proposed=True)
    for slot in own.tolist():
        if not aside.is_occupied(slot):
            walk.slots.close(slot)
    return True


def _unseat(walk: ReferenceWalk, group: Int32s, source: ChoiceSource) -> float:
    """Unseat a group, the last first; sum of log P_node(its dish) after each removal."""
    log_p = 0.0
    for i in reversed(group.tolist()):
        node, dish = walk.home(i), walk.store.dish_of(i)
        if walk.unseat(i, node, dish, source):
            walk.slots.close(dish)
        log_p += float(np.log(walk.probability(node, dish)))
    return log_p


def _seat(walk: ReferenceWalk, group: Int32s, dishes: Int32s, source: ChoiceSource) -> float:
    """Seat a group in order by the prior, given its dishes; sum of log P_node(dish) before each."""
    log_p = 0.0
    for i, dish in zip(group.tolist(), dishes.tolist(), strict=True):
        node = walk.home(i)
        log_p += float(np.log(walk.probability(node, dish)))
        walk.seat(i, node, dish, source)
        if not walk.slots.is_occupied(dish):
            walk.slots.open_in(dish)
    return log_p


class _Data:
    """The values of a group, which are added to slots and removed."""

    def __init__(self, bank: Any, group: Int32s) -> None:
        self.bank = bank
        self.group = group

    def take_out(self, slots: Int32s) -> None:
        """Remove the values of the present state, each from its slot."""
        self._change(slots, add=False)

    def put(self, slots: Int32s, proposed: bool) -> None:
        """Add the values, as proposed or as in the present state."""
        self._change(slots, add=True)

    def _change(self, slots: Int32s, add: bool) -> None:
        for slot in np.unique(slots).tolist():
            (self.bank.add if add else self.bank.remove)(slot, self.group[slots == slot])

    def scan(
        self,
        sides: Int32s,
        weights: npt.NDArray[np.float64],
        slots: Int32s,
        forced: Int32s | None,
        source: ChoiceSource,
    ) -> float:
        """A Gibbs scan of the group over some slots; returns the log probability of the resulting sides."""
        # A side has probability proportional to its weight times f(x), and its weight then grows by one.
        log_q = 0.0
        for i, customer in enumerate(self.group.tolist()):
            if sides[i] >= 0:
                self.bank.remove(int(slots[sides[i]]), [customer])
                weights[sides[i]] -= 1.0
            with np.errstate(divide="ignore"):  # with fixed weights, that of a new dish may be 0
                logs = np.log(weights)
            logs += self.bank.log_predictive(customer, slots)[:-1]
            if not -np.inf < np.max(logs) < np.inf:  # NaN too
                raise FloatingPointError(f"log weights {logs} can't be drawn from")
            logs -= np.logaddexp.reduce(logs)
            side = int(forced[i]) if forced is not None else int(source.choose_log(logs))
            log_q += float(logs[side])
            self._sit(customer, int(slots[side]), forced is not None)
            weights[side] += 1.0
            sides[i] = side
        return log_q

    def _sit(self, customer: int, slot: int, current: bool) -> None:
        self.bank.add(slot, [customer])

    def log_data(self, sides: Int32s, slots: Int32s) -> float:
        """log p(values | sides, all others) after a scan; the values are removed from their slots."""
        self._change(slots[sides], add=False)
        group = self.group
        return add_up(
            float(self.bank.log_block(group[sides == side], slots[side : side + 1])[0])
            for side in np.unique(sides).tolist()
        )


class _SeatedData(_Data):
    """The same if values sit at tables, which are drawn in the order of the group."""

    # log p(values, tables | sides, all others) over the density of the tables is the sum of log f(x).

    def __init__(self, bank: Any, group: Int32s) -> None:
        super().__init__(bank, group)
        self.current: dict[int, bool] = {}  # who opens a table in the present state,
        self.proposed: dict[int, bool] = {}  # in the proposal,
        self.seated: dict[int, bool] = {}  # and after the last scan
        self.log_p = 0.0

    def take_out(self, slots: Int32s) -> None:
        """Remove the values, whose tables are drawn given their numbers."""
        self.current, _ = self.bank.take_out(self.group.tolist())

    def put(self, slots: Int32s, proposed: bool) -> None:
        """Add the values at the tables proposed, or at those of the present state."""
        opens = self.proposed if proposed else self.current
        for customer, slot in zip(self.group.tolist(), slots.tolist(), strict=True):
            self.bank.sit(customer, slot, opens[customer])

    def _sit(self, customer: int, slot: int, current: bool) -> None:
        opens, log_p = self.bank.sit(customer, slot, self.current[customer] if current else None)
        self.log_p += log_p
        self.seated[customer] = opens
        if not current:
            self.proposed[customer] = opens

    def log_data(self, sides: Int32s, slots: Int32s) -> float:
        """Sum of log f(x) of the scan; the values are removed from their slots."""
        found, self.log_p = self.log_p, 0.0
        for customer in reversed(self.group.tolist()):
            self.bank.rise(customer, self.seated[customer])
        return found


reseat_groups.compiled(compiled.reseat_groups, stores=COMPILED_STORES, banks=BANKS_WITHOUT_TABLES)
of_package(reseat_groups)
