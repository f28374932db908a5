"""Drawing the missing detail of a state, in Python: the readable functions.

A move that needs seats runs on the labelled seating. Drawing this seating uniformly among those that fit
(dishes, histograms), or histograms among those that fit (dishes, counts), is a Gibbs step: nothing is
approximated. Given n customers at t tables of a restaurant without a discount, the partition into tables is
that of a uniformly random permutation with t cycles: it has probability proportional to the product of
(size - 1)! over its tables; with a discount, of [1-d]_1^(size-1). The compiled twins are in
`hdpkit.stores._labelled_seating`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from math import sqrt

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int32s
from hdpkit.numerics import log
from hdpkit.random import ChoiceSource
from hdpkit.stirling import one_alone
from hdpkit.stores._seating import COUNTS, SEATS, SIZES
from hdpkit.stores.counts import named_columns
from hdpkit.stores.protocol import Frozen

SMALL = 64
"""Largest number of customers for which Stirling numbers are used; for more, openings are drawn by trials."""


def _stirling() -> list[list[float]]:
    """Unsigned Stirling numbers of the first kind: s(n, t) permutations of n have t cycles."""
    table = [[1.0] + [0.0] * SMALL]
    for n in range(SMALL):
        before = table[-1]
        table.append([0.0] + [before[t - 1] + n * before[t] for t in range(1, SMALL + 1)])
    return table


_S = _stirling()


def draw_table_sizes(n: int, t: int, source: ChoiceSource, d: float = 0.0) -> list[int]:
    """Draw the sizes of t tables where n customers sit, in the order in which they opened, discount d."""
    # Customers arrive in order. First those who open a table are drawn; each other joins the table of a
    # uniformly drawn earlier customer or, with a discount, a table with probability prop. to its size - d.
    if t == 1 or t == n:
        return [n] if t == 1 else [1] * n
    if d > 0.0:
        return _discounted_sizes(n, t, source, d)
    table: list[int] = []
    sizes: list[int] = []
    for i, opens in enumerate(openings(n, t, source)):
        if opens:
            table.append(len(sizes))
            sizes.append(1)
        else:
            table.append(table[source.index(i)])
            sizes[table[-1]] += 1
    return sizes


def _discounted_sizes(n: int, t: int, source: ChoiceSource, d: float) -> list[int]:
    sizes: list[int] = []
    for alone in openings_in_turn(n, t, source, d):
        if alone:
            sizes.append(1)
        else:
            sizes[int(source.choose(np.array(sizes) - d))] += 1
    return sizes


def openings(n: int, t: int, source: ChoiceSource) -> list[bool]:
    """Draw which of n customers open a table, given that t do; the first always does."""
    return openings_in_turn(n, t, source) if n <= SMALL else openings_by_trial(n, t, source)


def openings_in_turn(n: int, t: int, source: ChoiceSource, d: float = 0.0) -> list[bool]:
    """`openings`, from the last customer to the first: i opens with probability `one_alone`."""
    opens = [False] * n
    for i in range(n, 0, -1):
        opens[i - 1] = t == i
        if 1 < t < i:
            opens[i - 1] = source.bernoulli(one_alone(i, t, d) if d > 0.0 else _S[i - 1][t - 1] / _S[i][t])
        t -= opens[i - 1]
    return opens


def openings_by_trial(n: int, t: int, source: ChoiceSource) -> list[bool]:
    """`openings` by rejection: drawn independently until exactly t open. O(n) memory."""
    a = _concentration(n, t)
    while True:
        opens = trial(n, t, a, source)
        if opens is not None:
            return opens


def trial(n: int, t: int, a: float, source: ChoiceSource) -> list[bool] | None:
    """Let customer i open with probability a / (a + i - 1); None unless exactly t do."""
    # Given that t open, the distribution of the openings doesn't depend on a.
    opens = [True]
    more = t - 1
    for i in range(1, n):
        opens.append(source.bernoulli(a / (a + i)))
        more -= opens[-1]
        if not 0 <= more < n - i:
            return None
    return opens if more == 0 else None


def _concentration(n: int, t: int) -> float:
    """A concentration at which about t of n customers open a table, so that few trials are rejected."""
    low, high = 1e-6, 1e3 * n * n
    for _ in range(60):
        a = sqrt(low * high)
        if 1.0 + a * log((a + n - 0.5) / (a + 0.5)) < t:
            low = a
        else:
            high = a
    return sqrt(low * high)


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
    """Draw sizes of tables given dishes and counts, for the discount of each restaurant (None: 0)."""
    # With seats drawn uniformly given the sizes (`seat_out`), the partition of n customers into t tables
    # has the distribution of the model.
    bins = [
        (node, dish, size, count)
        for node, dish, customers, tables in zip(*(frozen[name].tolist() for name in COUNTS), strict=True)
        for d in [0.0 if discount is None else float(discount[node])]
        for size, count in sorted(Counter(draw_table_sizes(customers, tables, source, d)).items())
    ]
    return {"dish": frozen["dish"], **named_columns(SIZES, bins)}


def seat_out(
    frozen: Frozen,
    home: Int32s,
    parent: Int32s,
    level: Int32s,
    source: ChoiceSource,
    lead: Int32s | None = None,
) -> Frozen:
    """Draw a labelled seating uniformly among those that fit dishes and histograms."""
    # From the leaves up: the customers of a restaurant and dish in a uniformly random order are assigned to
    # tables of the given sizes; these are then customers of the parent. (Every seating results from the
    # same number of orders.) `lead` is the restaurant of each node, if some have several.
    sizes: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for node, dish, size, count in zip(*(frozen[name].tolist() for name in SIZES), strict=True):
        sizes[node if lead is None else int(lead[node]), dish].extend([(size, node)] * count)
    guests: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, dish in enumerate(frozen["dish"].tolist()):
        if dish >= 0:
            guests[int(home[i]), dish].append(i)
    seat = np.full(len(home), -1, dtype=np.int32)
    tables: list[list[int]] = []  # node, dish, seat in the parent
    for restaurant, dish in sorted(sizes, key=lambda pair: (-level[pair[0]], pair)):
        who = guests[restaurant, dish]
        plan = sizes[restaurant, dish]
        if len(plan) > 1 and (lead is not None or max(plan)[0] > 1):
            who = [who[p] for p in source.permutation(len(who))]
        start = 0
        for size, node in plan:
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
