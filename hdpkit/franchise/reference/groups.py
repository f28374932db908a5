"""Reseating of groups in Python. Compiled twin: `hdpkit._compiled.generic_sweeps.groups`."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import numpy.typing as npt

import hdpkit._compiled.generic_sweeps.groups as compiled
from hdpkit._compiled.walk.slots import DishSlots
from hdpkit.arrays import Int32s
from hdpkit.base_measures import StatisticsBank
from hdpkit.errors import StateError
from hdpkit.franchise.kernels import (
    COMPILED_BANKS,
    COMPILED_STORES,
    Row,
    Verb,
    register_kernel,
    register_verb,
)
from hdpkit.franchise.reference.walk import ReferenceWalk
from hdpkit.numerics import add_up, exp
from hdpkit.random import ChoiceSource

__all__ = ["reseat_groups"]


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
    """One proposal for each of the groups first .. last - 1; returns how many were accepted.

    Group g is customers[begin[g]:begin[g + 1]], all data customers of restaurant nodes[g]; ``scratch`` is a
    reserved slot, ``launches`` the number of scans before the final one.
    """
    accepted = 0
    for g in range(first, last):
        group = customers[begin[g] : begin[g + 1]]
        frozen = walk.store.freeze()
        try:
            taken = _propose(walk, bank, int(nodes[g]), group, scratch, launches, source)
        except BaseException:
            walk.store.thaw(frozen)
            raise
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
    before = np.array([walk.store.dish_of(i) for i in group.tolist()], dtype=np.int32)
    if (before < 0).any():
        raise StateError(
            "customer", int(group[np.argmin(before)]), "seated", "Start the franchise, or seat all customers."
        )
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

    _change(bank, group, before, add=False)
    scale = walk.concentration[node] + walk.discount[node] + walk.store.node_customers(node)
    prior = scale * bare.prior_row(node)
    log_ratio = 0.0
    for forced, sign in ((None, 1.0), (current, -1.0)):
        # A separate launch state for each direction: with a common one, only proposals near it would be
        # accepted.
        launch, weights = np.full(len(group), -1, dtype=np.int32), prior.copy()
        for _ in range(launches):
            _scan(bank, group, launch, weights, slots, None, source)
        log_q = _scan(bank, group, launch, weights, slots, forced, source)
        _change(bank, group, slots[launch], add=False)
        log_ratio += sign * (_log_data(bank, group, launch, slots) - log_q)
        if forced is None:
            sides = launch
    log_ratio += _seat(bare, group, dishes[sides], source) - log_before
    if not log_ratio < np.inf:  # NaN too
        raise FloatingPointError(f"a log ratio of {log_ratio} can't be drawn from")
    if not (log_ratio >= 0.0 or (log_ratio > -np.inf and source.bernoulli(exp(log_ratio)))):
        _change(bank, group, before, add=True)
        return False
    born = aside.is_occupied(fresh) and not walk.slots.is_occupied(fresh)
    if born:
        walk.slots.open(group)  # in the slot `fresh`
    try:
        _change(bank, group, dishes[sides], add=True)
    except BaseException:
        if born:
            walk.slots.close(fresh)
        raise
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


def _scan(
    bank: StatisticsBank,
    group: Int32s,
    sides: Int32s,
    weights: npt.NDArray[np.float64],
    slots: Int32s,
    forced: Int32s | None,
    source: ChoiceSource,
) -> float:
    """A Gibbs scan of a group over some slots; returns the log probability of the resulting sides.

    ``sides`` are places in ``slots``, -1 if a customer has none yet. A side has probability proportional to
    its weight times f(x), and its weight then grows by one; with ``forced`` nothing is drawn.
    """
    log_q = 0.0
    for i, customer in enumerate(group.tolist()):
        if sides[i] >= 0:
            bank.remove(int(slots[sides[i]]), [customer])
            weights[sides[i]] -= 1.0
        with np.errstate(divide="ignore"):  # with fixed weights, that of a new dish may be 0
            logs = np.log(weights)
        logs += bank.log_predictive(customer, slots)[:-1]
        if not -np.inf < np.max(logs) < np.inf:  # NaN too
            raise FloatingPointError(f"log weights {logs} can't be drawn from")
        logs -= np.logaddexp.reduce(logs)
        side = int(forced[i]) if forced is not None else int(source.choose_log(logs))
        log_q += float(logs[side])
        bank.add(int(slots[side]), [customer])
        weights[side] += 1.0
        sides[i] = side
    return log_q


def _change(bank: StatisticsBank, group: Int32s, slots: Int32s, add: bool) -> None:
    """Add or remove the values of a group, each in its slot."""
    for slot in np.unique(slots).tolist():
        (bank.add if add else bank.remove)(slot, group[slots == slot])


def _log_data(bank: StatisticsBank, group: Int32s, sides: Int32s, slots: Int32s) -> float:
    """log p(values of the group | sides, all others); the group's values must be in no slot."""
    return add_up(
        float(bank.log_block(group[sides == side], slots[side : side + 1])[0])
        for side in np.unique(sides).tolist()
    )


register_verb("reseat_groups", Verb(needs_tables=True))
register_kernel(
    Row("generic", SimpleNamespace(reseat_groups=compiled.reseat_groups), COMPILED_STORES, COMPILED_BANKS)
)
register_kernel(Row("reference", SimpleNamespace(reseat_groups=reseat_groups)))
