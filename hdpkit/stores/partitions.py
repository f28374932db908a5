"""Sizes of tables given the numbers of customers and tables: the readable functions.

Their compiled twins are in `hdpkit.stores._labelled_seating`. Given n customers at t tables of a
restaurant without a discount, the partition into tables is that of a uniformly random permutation with t
cycles: it has probability proportional to the product of (size - 1)! over its tables; with a discount, of
[1-d]_1^(size-1).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from hdpkit.numerics import log
from hdpkit.random import ChoiceSource
from hdpkit.stirling import one_alone

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
    """Draw the sizes of t tables where n customers sit, in the order in which they opened, discount d.

    Customers arrive in order. First the customers who open a table are drawn. Each of the others then joins
    the table of a uniformly drawn earlier customer or, with a discount, a table drawn with probability
    proportional to its size - d.
    """
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
    """Let customer i open with probability a / (a + i - 1); None unless exactly t do.

    Given that t open, the distribution of the openings doesn't depend on a.
    """
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
