"""New groups under dishes with fixed statistics, in Python.

The compiled twin, with the same distributions, is in `hdpkit.steps._new_groups`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.random import ChoiceSource


class NewGroups:
    """Groups of customers whose parents' rows and whose dishes' densities are fixed."""

    def __init__(
        self,
        density: Floats,
        share: Floats,
        row: Int64s,
        begins: Int64s,
        parent: Int64s,
        concentration: float,
        discount: float,
        repeat_concentration: float = math.inf,
        repeat_discount: float = 0.0,
    ) -> None:
        self.density, self.share, self.row = density, share, row
        self.begins, self.parent = begins, parent
        self.theta, self.d = concentration, discount
        self.b, self.a = repeat_concentration, repeat_discount

    def begin(self, group: int) -> None:
        """Make this group the current one, with all customers unseated."""
        self.first, end = int(self.begins[group]), int(self.begins[group + 1])
        self.n = end - self.first
        self.above = self.share[self.parent[group]]
        self.clear()

    def clear(self) -> None:
        """Unseat all customers."""
        self.at: list[int] = [-1] * self.n  # table of each customer
        self.dish: dict[int, int] = {}  # of each table
        self.size: Counter[int] = Counter()  # of each table
        self._next = 0
        # Tables at which the customers of a dish repeat a value: that of each customer; row, dish and size of
        # each. Without a discount all such tables of a row and a dish are one.
        self.source: list[int] = [-1] * self.n
        self.repeated: dict[int, tuple[int, int]] = {}
        self.copies: Counter[int] = Counter()

    def leave(self, i: int) -> None:
        """Remove a customer, and its table if it becomes empty."""
        if self.b < math.inf:
            value, self.source[i] = self.source[i], -1
            self.copies[value] -= 1
            if self.copies[value] == 0:
                del self.copies[value], self.repeated[value]
        table, self.at[i] = self.at[i], -1
        self.size[table] -= 1
        if self.size[table] == 0:
            del self.size[table], self.dish[table]

    def densities(self, row: int) -> Floats:
        """Density of a value under each dish for the next customer of the group."""
        f = self.density[row]
        if self.b == math.inf:
            return f
        customers, opened = np.zeros(len(f)), np.zeros(len(f))
        shared = np.zeros(len(f))
        for value, (of_row, dish) in self.repeated.items():
            customers[dish] += self.copies[value]
            opened[dish] += 1
            if of_row == row:
                shared[dish] += self.copies[value] - self.a
        return (shared + (self.b + self.a * opened) * f) / (self.b + customers)

    def weights(self, row: int) -> tuple[list[int], Floats, Floats]:
        """Tables, the weight of each table for a value, and its weights of new tables by dish."""
        f = self.densities(row)
        tables = sorted(self.dish)
        joins = np.array([(self.size[t] - self.d) * f[self.dish[t]] for t in tables])
        fresh = self.theta + self.d * len(tables) if tables else 1.0
        return tables, joins, fresh * self.above * f

    def predictive(self, row: int) -> float:
        """Density of the next customer's value given the seating."""
        _, joins, opens = self.weights(row)
        seated = sum(self.size.values())
        norm = self.theta + seated if seated else 1.0  # the row of an empty group is its parent's
        return float((joins.sum() + opens.sum()) / norm)

    def sit(self, i: int, source: ChoiceSource) -> None:
        """Draw a customer's table and dish given those of the others."""
        tables, joins, opens = self.weights(self.row[self.first + i])
        chosen = source.choose(np.append(joins, opens.sum()))
        if chosen < len(tables):
            self.join(i, tables[chosen])
        else:
            self.open(i, source.choose(opens))
        if self.b < math.inf:
            self.repeat(i, source)

    def repeat(self, i: int, source: ChoiceSource) -> None:
        """Draw the table at which a customer, whose dish is drawn, repeats its value, or open one."""
        row, dish = int(self.row[self.first + i]), self.dish[self.at[i]]
        there = [value for value in sorted(self.repeated) if self.repeated[value] == (row, dish)]
        if self.a > 0 and there:
            opened = sum(other == dish for _, other in self.repeated.values())
            joins = [self.copies[value] - self.a for value in there]
            chosen = source.choose(np.append(joins, (self.b + self.a * opened) * self.density[row, dish]))
            there = there[chosen : chosen + 1]
        self.source[i] = there[0] if there else max(self.repeated, default=-1) + 1
        self.repeated[self.source[i]] = row, dish
        self.copies[self.source[i]] += 1

    def join(self, i: int, table: int) -> None:
        """Seat a customer at a table."""
        self.at[i] = table
        self.size[table] += 1

    def open(self, i: int, dish: int) -> None:
        """Seat a customer at a new table of a dish; without a discount, at the dish's only "table"."""
        shared = [table for table, other in self.dish.items() if other == dish]
        if self.d == 0 and shared:
            self.join(i, shared[0])
            return
        self.dish[self._next] = dish
        self.join(i, self._next)
        self._next += 1

    def seat(
        self,
        group: int,
        dishes: Sequence[int],
        tables: Sequence[int],
        sources: Sequence[int] | None = None,
    ) -> None:
        """Make a group the current one and seat its customers, given their dishes and tables."""
        # Customers with the same number in `tables` share a table; in `sources` those of one dish and row
        # that repeat the same value have the same number.
        self.begin(group)
        there: dict[int, int] = {}
        for i, (dish, table) in enumerate(zip(dishes, tables, strict=True)):
            if table in there and self.d > 0:
                self.join(i, there[table])
            else:
                self.open(i, dish)
                there[table] = self.at[i]
        if self.b < math.inf:
            assert sources is not None
            places: dict[tuple[int, ...], int] = {}
            for i, (dish, source) in enumerate(zip(dishes, sources, strict=True)):
                row = int(self.row[self.first + i])
                key = (row, dish, source) if self.a > 0 else (row, dish)
                self.source[i] = places.setdefault(key, len(places))
                self.repeated[self.source[i]] = row, dish
                self.copies[self.source[i]] += 1

    def reseat(self, first: int, last: int, source: ChoiceSource) -> None:
        """A Gibbs sweep over customers first .. last - 1 of the current group."""
        for i in range(first, last):
            if self.at[i] >= 0:
                self.leave(i)
            self.sit(i, source)

    def dishes(self) -> Int64s:
        """Dish of each customer of the current group; K is a new dish, -1 unseated."""
        return np.array([self.dish.get(table, -1) for table in self.at], dtype=np.int64)

    def tables(self) -> Int64s:
        """Table of each customer of the current group; without a discount, its dish."""
        return np.array(self.at, dtype=np.int64)

    def sources(self) -> Int64s:
        """Number of the table at which each customer repeats its value; -1 for none."""
        return np.array(self.source, dtype=np.int64)

    def weights_of_group(self) -> Floats:
        """Posterior mean of the group's weights given the seating: shape (K + 1,)."""
        if self.n == 0:
            return self.above.copy()
        mean = (self.theta + self.d * len(self.dish)) * self.above
        for table, dish in self.dish.items():
            mean[dish] += self.size[table] - self.d
        return mean / (self.theta + self.n)

    def fold_in(
        self,
        first: int,
        last: int,
        burn_in: int,
        sweeps: int,
        source: ChoiceSource,
        proportions: Floats,
        dishes: Int64s,
    ) -> None:
        """Seat the customers of groups first .. last - 1, sweep over them, and average proportions."""
        for group in range(first, last):
            self.begin(group)
            means = []
            for sweep in range(1 + burn_in + sweeps):  # the first one seats all customers
                self.reseat(0, self.n, source)
                if sweep > burn_in:
                    means.append(self.weights_of_group())
            proportions[group] = np.mean(means, axis=0)
            dishes[self.first : self.first + self.n] = self.dishes()

    def complete(
        self,
        first: int,
        last: int,
        burn_in: int,
        sweeps: int,
        source: ChoiceSource,
        held_begins: Int64s,
        held_row: Int64s,
        found: Floats,
    ) -> None:
        """Average the density of the next customer's value over sweeps, for held-out values of the groups."""
        for group in range(first, last):
            self.begin(group)
            held = slice(int(held_begins[group]), int(held_begins[group + 1]))
            found[held] = 0.0
            for sweep in range(1 + burn_in + sweeps):
                self.reseat(0, self.n, source)
                if sweep >= 1 + burn_in:
                    found[held] += [self.predictive(row) / sweeps for row in held_row[held]]

    def left_to_right(self, group: int, particles: int, source: ChoiceSource) -> Floats:
        """Log weights of particles whose mean weight estimates a group's evidence without bias."""
        # Before each customer all earlier ones are reseated; a particle's weight is the product of the
        # predictive probabilities in order (Wallach et al. 2009; Buntine 2009), up to `density`.
        self.begin(group)
        logs = np.zeros(particles)
        for particle in range(particles):
            self.clear()
            for i in range(self.n):
                self.reseat(0, i, source)
                logs[particle] += math.log(self.predictive(self.row[self.first + i]))
                self.sit(i, source)
        return logs
