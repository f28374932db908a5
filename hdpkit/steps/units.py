"""Steps over blocks in Python: tables with one dish, and customers of the root.

Their compiled twins are in `hdpkit.steps._sweeps`, with the same distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

import hdpkit.steps._sweeps as compiled
import hdpkit.steps.fused._fused_blocks as fused_blocks
from hdpkit.arrays import Int32s
from hdpkit.errors import StateError
from hdpkit.measures._bursty import BurstyBank
from hdpkit.measures._dirichlet_multinomial import DirichletMultinomialBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.bursty import BurstyReferenceBank
from hdpkit.random import ChoiceSource
from hdpkit.steps.step import (
    COMPILED_BANKS,
    COMPILED_STORES,
    FIXED,
    PYTHON_BANKS,
    TWO,
    TWO_OR_MORE,
    of_package,
    step,
)
from hdpkit.steps.sweeps import _add, _choose_dish, _draw
from hdpkit.steps.walk import ReferenceWalk


@attrs.define
class Units:
    """Tables of one level (and data customers of the level above) as blocks, by their first customer."""

    codes: list[int]
    nodes: list[int]
    blocks: list[list[int]]
    below: list[list[int]]
    level: int = 0
    seating: Any = None  # the seating in which they were found
    seen: Any = None  # its number of changes then

    def check(self, store: Any) -> None:
        """Raise a StateError unless these units are valid for the current seating."""
        again = "Index the units again: franchise.units(level)."
        if store is not self.seating:
            raise StateError(
                "units", "of another seating", "units of this franchise, as it is seated now", again
            )
        if self.seen != getattr(store, "changes_of_seats", None):
            raise StateError("units", "out of date", "units of the current seating", again)

    def renew(self, store: Any) -> None:
        """Record that only these units have moved."""
        self.seating, self.seen = store, getattr(store, "changes_of_seats", None)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def firsts(self) -> Int32s:
        """Smallest data customer below each unit, ascending."""
        return np.array([block[0] for block in self.blocks], dtype=np.int32)

    def customers(self, unit: int) -> Int32s:
        """Data customers below a unit, ascending."""
        return np.array(self.blocks[unit], dtype=np.int32)

    def gather(self, which: Sequence[int]) -> Int32s:
        """Data customers below several units, unit by unit."""
        return np.array([i for u in which for i in self.blocks[u]], dtype=np.int32)

    def tables(self, unit: int) -> Int32s:
        """Tables from a unit downwards (none for a data customer)."""
        return np.array(self.below[unit], dtype=np.int32)


@step(takes=(), given=(), needs_tables=True, trees=FIXED)
def index_units(
    store: Any, home: Int32s, parent: Int32s, node_level: Int32s, level: int, with_customers: bool
) -> Units:
    """Units of a level: the tables of its restaurants, and data customers seated one level above."""
    units = Units([], [], [], [], level)
    number: dict[int, int] = {}
    for i in range(len(home)):
        climbed: list[int] = []
        if node_level[home[i]] < level:
            if not with_customers or node_level[home[i]] != level - 1 or store.table_at(i) < 0:
                continue
            code, node = i, int(home[i])
        else:
            table = store.table_at(i)
            if table < 0:
                continue
            while node_level[store.table_node(table)] > level:
                climbed.append(table)
                table = store.table_at(~table)
            if node_level[store.table_node(table)] < level:  # its parent is above that level
                continue
            climbed.append(table)
            code, node = ~table, int(parent[store.table_node(table)])
        u = number.setdefault(code, len(units.codes))
        if u == len(units.codes):
            units.codes.append(code)
            units.nodes.append(node)
            units.blocks.append([])
            units.below.append([])
        units.blocks[u].append(i)
        units.below[u].extend(t for t in climbed if t not in units.below[u])
    units.renew(store)
    return units


@step(takes=("units",), given=("walk",), needs_tables=True, trees=FIXED)
def unit_dishes(walk: ReferenceWalk, units: Units) -> Int32s:
    """Dish of each unit: shape (n,)."""
    return np.array([walk.store.dish_of(block[0]) for block in units.blocks], dtype=np.int32)


@step(takes=("free units", "source"), needs_tables=True, trees=FIXED)
def resample_dish(
    walk: ReferenceWalk, bank: StatisticsBank, units: Units, first: int, last: int, source: ChoiceSource
) -> None:
    """Dish Gibbs: remove a table from its parent, draw from P_r(k) DM(n_k + c)/DM(n_k), seat it again."""
    store: Any = walk.store
    for u in range(first, last):
        code, node, block = units.codes[u], units.nodes[u], units.customers(u)
        dish = store.dish_of(block[0])
        bank.remove(dish, block)
        if walk.unseat(code, node, dish, source):
            walk.slots.close(dish)
        dish = _choose_dish(walk, node, block, bank.log_block(block, walk.slots.occupied_slots()), source)
        _add(walk, bank, dish, block)
        _serve(store, units, u, dish)
        walk.seat(code, node, dish, source)
    units.renew(store)


def _serve(store: Any, units: Units, u: int, dish: int) -> None:
    for table in units.below[u]:
        store.serve_dish(table, dish)


@step(takes=(), needs_tables=True)
def scan_units(
    walk: ReferenceWalk,
    bank: StatisticsBank,
    units: Units,
    order: npt.NDArray[np.int64],
    sides: npt.NDArray[np.int8],
    sizes: npt.NDArray[np.int64],
    slot_a: int,
    slot_b: int,
    forced: npt.NDArray[np.int8] | None,
    source: ChoiceSource,
    log_q: float = 0.0,
) -> float:
    """A restricted Gibbs scan of units over two dishes; returns log_q plus log p of the result."""
    # Sequential allocation if `sides` is -1 (Dahl 2003), a Gibbs scan if it is 0 or 1 (Jain & Neal 2004).
    # Weights are (size - d0) DM(n + c)/DM(n); with `forced` (sides by unit) nothing is drawn.
    slots = [slot_a, slot_b]
    for u in order:
        block = units.customers(u)
        if sides[u] >= 0:
            bank.remove(slots[sides[u]], block)
            sizes[sides[u]] -= 1
        logs = np.log(sizes - walk.discount[0]) + bank.log_block(block, slots)[:2]
        if not np.max(logs) > -np.inf:  # NaN too
            raise FloatingPointError(f"log weights {logs} can't be drawn from")
        logs -= np.logaddexp(logs[0], logs[1])
        side = int(forced[u]) if forced is not None else _draw(source, logs)
        log_q += float(logs[side])
        bank.add(slots[side], block)
        sizes[side] += 1
        sides[u] = side
    return log_q


@step(takes=("places", "slot"), given=("bank",), needs_tables=True)
def add_units(bank: StatisticsBank, units: Units, which: Sequence[int], slot: int) -> None:
    """Add the values below these units to a slot."""
    for u in which:
        bank.add(slot, units.customers(u))


@step(takes=("places", "slots"), given=("bank",), needs_tables=True)
def log_units(
    bank: StatisticsBank, units: Units, which: Sequence[int], slots: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64]:
    """Log predictives of the values below these units, each alone: shape (n, slots + 1); the last is new."""
    logs = [bank.log_block(units.customers(u), slots) for u in which]
    return np.array(logs, dtype=np.float64).reshape(len(logs), len(slots) + 1)


@step(takes=("free places", "dish", "source"), needs_tables=True)
def move_units(
    walk: ReferenceWalk,
    bank: StatisticsBank,
    units: Units,
    which: Sequence[int],
    dish: int,
    source: ChoiceSource,
) -> None:
    """Change the dish of these customers of the root and of all below them. Nothing is drawn."""
    store: Any = walk.store
    for u in which:
        code, block = units.codes[u], units.customers(u)
        old = store.dish_of(block[0])
        if old == dish and store.table_size(store.table_at(code)) == 1:
            continue  # the dish has no other customers and would die in between
        bank.remove(old, block)
        closed, _ = store.remove(0, old, code, source)
        if closed:
            walk.slots.close(old)
        _serve(store, units, u, dish)
        if store.tables(0, dish) == 0:
            store.open(0, dish, code)
        else:
            store.join(0, dish, code, 0.0, source)
        bank.add(dish, block)
    units.renew(store)


_RESTAURANT, _PLAIN = frozenset({"restaurant"}), frozenset({DirichletMultinomialBank, BurstyBank})
resample_dish.kernel(
    "fused", fused_blocks.resample_dish,
    stores=COMPILED_STORES, banks=_PLAIN, depths=TWO, roots=frozenset({"restaurant", "weights", "fixed"}),
    within=lambda bank, numbers: bank.serves_blocks,
)  # fmt: skip
# With weights, which split-merge integrates out, and with tables of words it uses the generic code.
scan_units.kernel(
    "fused", fused_blocks.scan_units,
    stores=COMPILED_STORES, banks=frozenset({DirichletMultinomialBank}), depths=TWO, roots=_RESTAURANT,
    within=lambda bank, numbers: bank.serves_blocks,
)  # fmt: skip
for _step in (index_units, unit_dishes):  # for the banks of the steps over these units
    for _banks in (COMPILED_BANKS, PYTHON_BANKS):
        _step.kernel(
            "generic", getattr(compiled, _step.name), stores=COMPILED_STORES, banks=_banks, trees=FIXED
        )
resample_dish.compiled(compiled.resample_dish, stores=COMPILED_STORES, trees=FIXED)
for _step in (scan_units, add_units, log_units, move_units):
    _step.compiled(getattr(compiled, _step.name), stores=COMPILED_STORES)
# Values that sit at tables of their own sit at those of the proposal (`BurstyReferenceBank`).
move_units.kernel(
    "generic", lambda walk, bank, *given: bank.settle(lambda: compiled.move_units(walk, bank, *given)),
    stores=COMPILED_STORES, banks=frozenset({BurstyBank}), depths=TWO_OR_MORE,
)  # fmt: skip
move_units.kernel(
    "reference", lambda walk, bank, *given: bank.settle(lambda: move_units(walk, bank, *given)),
    banks=frozenset({BurstyBank, BurstyReferenceBank}),
)  # fmt: skip
of_package(index_units, unit_dishes, resample_dish, scan_units, add_units, log_units, move_units)
