"""Every seating of a small new group under fixed dishes, by brute force: the reference for fold-in.

A group's customers sit at tables; each table has a dish from a fixed row of shares. Without a discount the
tables of a dish are combined, as in the samplers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats
from hdpkit.testing.enumeration import Shape, listed, log_prior

__all__ = ["NewGroupLaw", "State", "state_of"]

State = frozenset[tuple[frozenset[int], int]]
"""The customers of each table (of each dish, without a discount) and its dish."""


class NewGroupLaw:
    """The exact distribution of the seating of one new group, given its values.

    Parameters
    ----------
    density : float array, shape (n, K + 1)
        Density of each customer's value under each dish and, last, a new one.
    share : float array, shape (K + 1,)
        Probability of each of these for a new table.
    concentration, discount : float

    Attributes
    ----------
    joint : dict
        Density of the values and a state together, by state.
    evidence : float
        Density of the values.
    """

    def __init__(
        self, density: npt.ArrayLike, share: npt.ArrayLike, concentration: float, discount: float
    ) -> None:
        self.density, self.share = np.asarray(density, float), np.asarray(share, float)
        self.theta, self.d = concentration, discount
        n, n_dishes = self.density.shape
        shape = Shape(parent=(-1,), home=(0,) * n)
        self.joint: dict[State, float] = {}
        for key in listed(shape):
            prior = math.exp(log_prior(key, shape, [concentration], [discount]))
            tables = [
                [i for i in range(n) if key[i][0] == first] for first in sorted({seat[0] for seat in key})
            ]
            for dishes in product(range(n_dishes), repeat=len(tables)):
                weight = prior
                for customers, dish in zip(tables, dishes, strict=True):
                    weight *= self.share[dish] * math.prod(self.density[i, dish] for i in customers)
                blocks = [(dish if discount == 0 else t, t, dish) for t, dish in enumerate(dishes)]
                merged = {
                    mark: [i for other, t, _ in blocks if other == mark for i in tables[t]]
                    for mark, _, _ in blocks
                }
                state = frozenset((frozenset(merged[mark]), dish) for mark, _, dish in blocks)
                self.joint[state] = self.joint.get(state, 0.0) + weight
        self.states = [state for state, weight in self.joint.items() if weight > 0]
        self.evidence = math.fsum(self.joint.values())

    @property
    def pi(self) -> Floats:
        """Posterior probability of each of `states`."""
        return np.array([self.joint[state] for state in self.states]) / self.evidence

    def conditional(self, i: int) -> Floats:
        """Transition matrix of a step that draws customer i's seat given all others."""
        rest = [_without(state, i) for state in self.states]
        same = np.array([[one == other for other in rest] for one in rest])
        matrix = same * self.pi
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))

    def weights_given(self, state: State) -> Floats:
        """Posterior mean of the group's weights given the seating: shape (K + 1,)."""
        n = len(self.density)
        if n == 0:
            return self.share.copy()
        opened = len(state)
        mean = (self.theta + self.d * opened) * self.share
        for customers, dish in state:
            mean[dish] += len(customers) - self.d
        return np.asarray(mean / (self.theta + n))

    def proportions(self) -> Floats:
        """Posterior mean of the group's weights given its values."""
        return np.asarray(sum(p * self.weights_given(s) for s, p in zip(self.states, self.pi, strict=True)))

    def moments_left_to_right(self) -> tuple[float, float]:
        """First and second moment of a particle's weight in left-to-right evaluation.

        Before each customer all earlier ones are reseated in their order, from their exact conditionals.
        """
        moments = []
        for power in (1, 2):
            weights: dict[State, float] = {frozenset(): 1.0}
            for n in range(len(self.density)):
                before, after = self.first(n), self.first(n + 1)
                row = np.array([weights.get(state, 0.0) for state in before.states])
                for i in range(n):
                    row = row @ before.conditional(i)
                weights = {}
                for state, weight in zip(before.states, row.tolist(), strict=True):
                    onwards = [s for s in after.states if _without(s, n) == state]
                    predictive = sum(after.joint[s] for s in onwards) / before.joint[state]
                    for s in onwards:
                        chosen = after.joint[s] / before.joint[state] / predictive
                        weights[s] = weights.get(s, 0.0) + weight * predictive**power * chosen
            moments.append(math.fsum(weights.values()))
        return moments[0], moments[1]

    def first(self, n: int) -> NewGroupLaw:
        """The distribution for the first n customers only."""
        return NewGroupLaw(self.density[:n], self.share, self.theta, self.d)


def _without(state: State, i: int) -> State:
    return frozenset((customers - {i}, dish) for customers, dish in state if customers != {i})


def state_of(dishes: Sequence[Any], tables: Sequence[Any]) -> State:
    """The state in which customers have these dishes and share tables of the same number."""
    return frozenset(
        (
            frozenset(i for i, other in enumerate(tables) if other == table),
            int(dishes[list(tables).index(table)]),
        )
        for table in tables
    )
