"""Drawing the missing detail of a state, in Python: the readable functions.

A move that needs seats runs on the labelled seating. Drawing this seating uniformly among those that fit
(dishes, histograms), or histograms among those that fit (dishes, counts), is a Gibbs step: nothing is
approximated. The compiled twins are in `hdpkit.stores._labelled_seating`.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int32s
from hdpkit.random import ChoiceSource
from hdpkit.stores._seating import COUNTS, SEATS, SIZES
from hdpkit.stores.counts import named_columns
from hdpkit.stores.partitions import draw_table_sizes
from hdpkit.stores.protocol import Frozen


def aggregate(labelled: Frozen) -> Frozen:
    """Dishes and histograms of a labelled seating, sorted by restaurant, dish and size. Nothing is drawn."""
    seat, node, dish = labelled["seat"], labelled["table_node"], labelled["table_dish"]
    seated = np.concatenate([seat[seat >= 0], labelled["table_seat"][labelled["table_seat"] >= 0]])
    size = np.bincount(seated, minlength=len(node))
    # Not np.unique: it compares records, and an exception in a signal handler becomes a TypeError there.
    order = np.lexsort((size, dish, node))
    columns = [column[order] for column in (node, dish, size)]
    first = np.ones(len(node), dtype=bool)
    first[1:] = False
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    begins = first.nonzero()[0]
    ends = np.empty_like(begins)
    ends[:-1], ends[-1:] = begins[1:], len(node)
    of_customer = np.full(len(seat), -1, dtype=np.int32)
    of_customer[seat >= 0] = dish[seat[seat >= 0]]
    bins = [*(column[begins] for column in columns), ends - begins]
    found = {name: column.astype(np.int32) for name, column in zip(SIZES, bins, strict=True)}
    return {"dish": of_customer, **found}


def draw_sizes(
    frozen: Frozen, source: ChoiceSource, discount: npt.NDArray[np.float64] | None = None
) -> Frozen:
    """Draw sizes of tables given dishes and counts, for the discount of each restaurant (None: 0).

    If seats are then drawn uniformly given the sizes (`seat_out`), the partition of the n customers of a
    restaurant and dish into t tables has the distribution of the model: without a discount that of the cycles
    of a uniformly random permutation with t cycles.
    """
    bins = [
        (node, dish, size, count)
        for node, dish, customers, tables in zip(*(frozen[name].tolist() for name in COUNTS), strict=True)
        for d in [0.0 if discount is None else float(discount[node])]
        for size, count in sorted(Counter(draw_table_sizes(customers, tables, source, d)).items())
    ]
    return {"dish": frozen["dish"], **named_columns(SIZES, bins)}


def seat_out(frozen: Frozen, home: Int32s, parent: Int32s, level: Int32s, source: ChoiceSource) -> Frozen:
    """Draw a labelled seating uniformly among those that fit dishes and histograms.

    From the leaves up: the customers of a restaurant who eat a dish are put in a uniformly random order and
    assigned to tables of the given sizes; these tables are then customers of the parent. (Every seating
    results from the same number of orders.)
    """
    sizes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for node, dish, size, count in zip(*(frozen[name].tolist() for name in SIZES), strict=True):
        sizes[node, dish].extend([size] * count)
    guests: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, dish in enumerate(frozen["dish"].tolist()):
        if dish >= 0:
            guests[int(home[i]), dish].append(i)
    seat = np.full(len(home), -1, dtype=np.int32)
    tables: list[list[int]] = []  # node, dish, seat in the parent
    for node, dish in sorted(sizes, key=lambda pair: (-level[pair[0]], pair)):
        who = guests[node, dish]
        plan = sizes[node, dish]
        if len(plan) > 1 and max(plan) > 1:
            who = [who[p] for p in source.permutation(len(who))]
        start = 0
        for size in plan:
            for customer in who[start : start + size]:
                if customer >= 0:
                    seat[customer] = len(tables)
                else:
                    tables[~customer][2] = len(tables)
            start += size
            if parent[node] >= 0:
                guests[int(parent[node]), dish].append(~len(tables))
            tables.append([node, dish, -1])
    return {SEATS[0]: seat, **named_columns(SEATS[1:], tables)}
