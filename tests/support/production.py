"""The law of one step of production, from its own draws."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from choice_sources import GivenWords
from sites import NEW

from hdpkit.errors import StateError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import take_over

Law = dict[int, float]
_HIGH, _LOW = 40, 24  # bits of the fused sweep's first word: for the parts, and within the shared tables
_BITS = 53  # of a uniform number
# With probability 2**-25 a threshold in floats is rounded up to the sum, and the last place in memory is
# chosen. So the last words are not evaluated.


def intervals(
    outcome: Callable[[int], int], first: int, last: int, spared: int = 0
) -> list[tuple[int, int, int]]:
    """Return (outcome, first place, end) of a function whose values are each taken on one interval."""
    begins = [(first, outcome(first))]

    def split(low: int, before: int, high: int, behind: int) -> None:
        if before == behind:
            return
        if high == low + 1:
            begins.append((high, behind))
            return
        middle = (low + high) // 2
        between = outcome(middle)
        split(low, before, middle, between)
        split(middle, between, high, behind)

    end = last - 1 - spared
    split(first, begins[0][1], end, outcome(end))
    ends = [*(place for place, _ in begins[1:]), last]
    return [(code, place, end) for (place, code), end in zip(begins, ends, strict=True)]


def production_law(franchise: Franchise, customer: int) -> Law:
    """Return the probability of each seat of a customer in production, by the kernel that is used."""
    step = _Step(franchise, customer)
    try:
        return step.fused() if franchise.kernel("reseat") == "fused" else step.generic()
    finally:
        take_over(franchise, step.state)


class _Step:
    def __init__(self, franchise: Franchise, customer: int) -> None:
        store, node = franchise.seating, int(franchise.topology.home[customer])
        dish = int(store.dish_of(customer))
        if store.tables(node, dish) != 1:
            raise StateError("customer", customer, "at the only table of its dish", "Choose another one.")
        self.franchise, self.customer, self.node = franchise, customer, node
        self.tables = store.node_tables(node) - (store.customers(node, dish) == 1)
        self.state = franchise.freeze()
        self.source = GivenWords()
        self.walk, self.bank = franchise.walk(), franchise.bank

    def outcome(self, *words: int) -> int:
        franchise, customer = self.franchise, self.customer
        take_over(franchise, self.state)
        self.source.give(*words)
        franchise.reseat(customer, customer + 1, self.source)
        store: Any = franchise.seating
        dish = int(store.dish_of(customer))
        if store.customers(0, dish) == 1 and store.customers(self.node, dish) == 1:
            return NEW
        return 2 * dish + int(store.node_tables(self.node) > self.tables)

    def below(self, top: int, low: int) -> int:
        return self.outcome(top | low)

    def second(self, first: int, second: int) -> int:
        return self.outcome(first << (64 - _BITS), second << (64 - _BITS))

    def fused(self) -> Law:
        """One word: 40 bits for the part, 24 for the shared table. A second word for a new table's dish."""

        def part(high: int) -> int:
            where = self.outcome(high << _LOW)
            return 2 if where == NEW else where % 2

        law: Law = {}
        for which, first, last in intervals(part, 0, 1 << _HIGH):
            width = (last - first) / 2.0**_HIGH
            if which == 2:
                law[NEW] = width
            elif which == 0:
                for code, a, b in intervals(partial(self.below, first << _LOW), 0, 1 << _LOW, 4):
                    law[code] = law.get(code, 0.0) + width * (b - a) / 2.0**_LOW
            else:
                for code, share in self._opened(first, last).items():
                    law[code] = law.get(code, 0.0) + width * share
        return law

    def _opened(self, first: int, last: int) -> Law:
        """Law of the dish of a new table: first by the counts of the term, then by eta."""

        def pick(high: int, word: int) -> int:
            return self.outcome(high << _LOW, word << (64 - _BITS))

        def by_second(high: int) -> list[tuple[int, int, int]]:
            return intervals(partial(pick, high), 0, 1 << _BITS, 1 << (_BITS - 22))

        ends = by_second(first), by_second(last - 1)
        edges = sorted({a for each in ends for _, a, _ in each})
        border = last
        for word in edges:
            here = [next(code for code, a, b in each if a <= word < b) for each in ends]
            if here[0] != here[1]:
                border = intervals(partial(pick, word=word), first, last)[0][2]
                break
        law: Law = {}
        for each, width in zip(ends, (border - first, last - border), strict=True):
            for code, a, b in each:
                law[code] = law.get(code, 0.0) + width / (last - first) * (b - a) / 2.0**_BITS
        return law

    def generic(self) -> Law:
        """One word for the dish, and one for whether a table of it is opened."""

        def dish(word: int) -> int:
            where = self.outcome(word << (64 - _BITS))
            return NEW if where == NEW else where // 2

        law: Law = {}
        for which, first, last in intervals(dish, 0, 1 << _BITS):
            width = (last - first) / 2.0**_BITS
            if which == NEW:
                law[NEW] = width
                continue
            for code, a, b in intervals(partial(self.second, first), 0, 1 << _BITS):
                law[code] = law.get(code, 0.0) + width * (b - a) / 2.0**_BITS
        return law


def exact_law(franchise: Franchise, customer: int) -> Law:
    """Return the same law by the formula (Teh et al. 2006, eq. 32-33; discounts as in Teh 2006) in
    fractions.
    """
    store, node = franchise.seating, int(franchise.topology.home[customer])
    slots = franchise.slots.occupied_slots()
    term, own = int(franchise.data.values[customer]), int(store.dish_of(customer))
    theta0, theta = (Fraction(float(franchise.hyperparameters.theta[i])) for i in (0, node))
    d0, d = (Fraction(float(franchise.hyperparameters.d[i])) for i in (0, node))
    bank: Any = franchise.bank
    counts = dict(zip(slots.tolist(), np.asarray(bank.counts(slots)).tolist(), strict=True))
    counts[own][term] -= 1
    c = {k: int(store.customers(node, k)) - (k == own) for k in counts}
    t = {k: int(store.tables(node, k)) for k in counts}
    m = {k: int(store.customers(0, k)) for k in counts}
    if c[own] == 0:
        t[own] -= 1
        m[own] -= 1
    root = {k: m[k] - d0 for k in counts if m[k] > 0}
    below = theta0 + sum(m.values()) if root else Fraction(1)
    fresh = theta0 + d0 * len(root) if root else Fraction(1)
    if franchise.root.declared == "weights":
        table: Any = franchise.root.weights
        *given, rest = (Fraction(weight) for weight in table.table.many(slots).tolist())
        beta = dict(zip(slots.tolist(), given, strict=True))
        below, fresh = Fraction(1), rest + sum(weight for k, weight in beta.items() if k not in root)
        root = {k: beta[k] for k in root}
    f, f_new = _densities(franchise, {k: counts[k] for k in root}, term)
    seated, opened = sum(c.values()), sum(t.values())
    opens = theta + d * opened if seated else Fraction(1)
    weights = {2 * k: (c[k] - d * t[k]) * f[k] for k in root if t[k] > 0}
    weights.update({2 * k + 1: opens * root[k] / below * f[k] for k in root})
    weights[NEW] = opens * fresh / below * f_new
    whole = sum(weights.values())
    return {code: float(weight / whole) for code, weight in weights.items()}


def _densities(
    franchise: Franchise, counts: dict[int, list[int]], term: int
) -> tuple[dict[int, Fraction], Fraction]:
    """Probability of a term under each dish with these counts, and under a new one."""
    measure: Any = franchise.measure
    if hasattr(measure, "smoothing"):  # sums over selected terms are computed by the measure
        bank: Any = franchise.bank
        f = {}
        for k, n in counts.items():
            inside, outside = measure.law(bank.begin(k).given).coefficients(sum(map(bool, n)), sum(n))
            smoothed = Fraction(float(measure.smoothing)) + n[term]
            f[k] = smoothed * Fraction(inside) if n[term] else Fraction(outside)
        return f, Fraction(measure.law().coefficients(0, 0)[1])
    etas = measure.eta_vector
    values, times = np.unique(etas, return_counts=True)
    total = sum(Fraction(value) * n for value, n in zip(values.tolist(), times.tolist(), strict=True))
    eta = Fraction(float(etas[term]))
    return {k: (n[term] + eta) / (sum(n) + total) for k, n in counts.items()}, eta / total
