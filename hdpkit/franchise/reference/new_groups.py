"""New groups under dishes with fixed statistics, in Python.

The compiled twin, with the same distributions, is in `hdpkit._compiled.fixed_dishes.new_groups`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.random import ChoiceSource

__all__ = ["NewGroups"]


class NewGroups:
    """Groups of customers whose parents' rows and whose dishes' densities are fixed.

    Without a discount only the dishes of a group's customers matter, and all customers of a dish share one
    "table": n_jk - d t_jk is then n_jk, and theta + d T is theta.

    Parameters
    ----------
    density : float64 array, shape (n_rows, K + 1)
        Density of a value under each dish and, last, a new one; each row up to a factor.
    share : float64 array, shape (n_parents, K + 1)
        Probability of each dish and, last, a new one in the parent restaurants.
    row : int64 array, shape (n_customers,)
        Row of `density` of each customer. The customers of a group are consecutive.
    begins : int64 array, shape (n_groups + 1,)
        First customer of each group, and the number of customers.
    parent : int64 array, shape (n_groups,)
        Row of `share` of each group.
    concentration, discount : float
        Of all groups.
    """

    def __init__(
        self,
        density: Floats,
        share: Floats,
        row: Int64s,
        begins: Int64s,
        parent: Int64s,
        concentration: float,
        discount: float,
    ) -> None:
        self.density, self.share, self.row = density, share, row
        self.begins, self.parent = begins, parent
        self.theta, self.d = concentration, discount

    # ------------------------------------------------------------------ the current group

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

    def leave(self, i: int) -> None:
        """Remove a customer, and its table if it becomes empty."""
        table, self.at[i] = self.at[i], -1
        self.size[table] -= 1
        if self.size[table] == 0:
            del self.size[table], self.dish[table]

    def weights(self, i: int) -> tuple[list[int], Floats, Floats]:
        """Tables, a customer's weight of each table, and its weights of new tables by dish."""
        f = self.density[self.row[self.first + i]]
        tables = sorted(self.dish)
        joins = np.array([(self.size[t] - self.d) * f[self.dish[t]] for t in tables])
        fresh = self.theta + self.d * len(tables) if tables else 1.0
        return tables, joins, fresh * self.above * f

    def predictive(self, i: int) -> float:
        """Density of a customer's value given the seating."""
        _, joins, opens = self.weights(i)
        seated = sum(self.size.values())
        norm = self.theta + seated if seated else 1.0  # the row of an empty group is its parent's
        return float((joins.sum() + opens.sum()) / norm)

    def sit(self, i: int, source: ChoiceSource) -> None:
        """Draw a customer's table and dish given those of the others."""
        tables, joins, opens = self.weights(i)
        chosen = source.choose(np.append(joins, opens.sum()))
        if chosen < len(tables):
            self.join(i, tables[chosen])
        else:
            self.open(i, source.choose(opens))

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

    # ------------------------------------------------------------------ as in the twin

    def seat(self, group: int, dishes: Sequence[int], tables: Sequence[int]) -> None:
        """Make a group the current one and seat its customers, given their dishes and tables.

        Customers with the same number in ``tables`` share a table. Without a discount only dishes matter.
        """
        self.begin(group)
        there: dict[int, int] = {}
        for i, (dish, table) in enumerate(zip(dishes, tables, strict=True)):
            if table in there and self.d > 0:
                self.join(i, there[table])
            else:
                self.open(i, dish)
                there[table] = self.at[i]

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
        """Seat the customers of groups first .. last - 1, sweep over them, and average proportions.

        ``proportions`` is filled with means over ``sweeps`` after the burn-in, ``dishes`` with those at the
        end.
        """
        for group in range(first, last):
            self.begin(group)
            means = []
            for sweep in range(1 + burn_in + sweeps):  # the first one seats all customers
                self.reseat(0, self.n, source)
                if sweep > burn_in:
                    means.append(self.weights_of_group())
            proportions[group] = np.mean(means, axis=0)
            dishes[self.first : self.first + self.n] = self.dishes()

    def left_to_right(self, group: int, particles: int, source: ChoiceSource) -> Floats:
        """Log weights of particles whose mean weight is an unbiased estimate of a group's evidence, in nats.

        Before each customer all earlier ones are reseated; a particle's weight is the product of the
        predictive probabilities of the values in their order (Wallach et al. 2009; Buntine 2009), up to the
        factors of the rows of `density`.
        """
        self.begin(group)
        logs = np.zeros(particles)
        for particle in range(particles):
            self.clear()
            for i in range(self.n):
                self.reseat(0, i, source)
                logs[particle] += math.log(self.predictive(i))
                self.sit(i, source)
        return logs
