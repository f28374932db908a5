"""Every seating of a small new group under fixed dishes, by brute force, and fold-in against it."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hdpkit.steps._new_groups import NewGroups

from hdpkit.arrays import Floats
from hdpkit.testing.enumeration import Shape, listed, log_prior
from hdpkit.testing.exact import outcomes


class State(NamedTuple):
    """The seating of a group."""

    tables: frozenset[tuple[frozenset[int], int]]
    repeated: frozenset[frozenset[int]] = frozenset()

    def without(self, i: int) -> "State":
        """Return the seating of the other customers."""
        return State(
            frozenset((customers - {i}, dish) for customers, dish in self.tables if customers != {i}),
            frozenset(block - {i} for block in self.repeated if block != {i}),
        )


class NewGroupLaw:
    """The exact distribution of the seating of one new group, given its values."""

    def __init__(
        self,
        density: npt.ArrayLike,
        share: npt.ArrayLike,
        concentration: float,
        discount: float,
        value: Sequence[int] = (),
        repeats: tuple[float, float] = (math.inf, 0.0),
    ) -> None:
        self.density, self.share = np.asarray(density, float), np.asarray(share, float)
        self.theta, self.d = concentration, discount
        self.value, self.repeats = tuple(value), repeats
        n, n_dishes = self.density.shape
        shape = Shape(parent=(-1,), home=(0,) * n)
        self.joint: dict[State, float] = {}
        for key in listed(shape):
            prior = math.exp(log_prior(key, shape, [concentration], [discount]))
            tables = [
                [i for i in range(n) if key[i][0] == first] for first in sorted({seat[0] for seat in key})
            ]
            for dishes in product(range(n_dishes), repeat=len(tables)):
                weight = prior * math.prod(self.share[dish] for dish in dishes)
                blocks = [(dish if discount == 0 else t, t, dish) for t, dish in enumerate(dishes)]
                merged = {
                    mark: [i for other, t, _ in blocks if other == mark for i in tables[t]]
                    for mark, _, _ in blocks
                }
                tables_of = frozenset((frozenset(merged[mark]), dish) for mark, _, dish in blocks)
                of_dish = [
                    [i for own, other in zip(tables, dishes, strict=True) if other == dish for i in own]
                    for dish in range(n_dishes)
                ]
                for chosen in product(*(self._values(own, dish) for dish, own in enumerate(of_dish))):
                    repeated = frozenset(block for found, _ in chosen for block in found if repeats[1] > 0)
                    state = State(tables_of, repeated)
                    self.joint[state] = self.joint.get(state, 0.0) + weight * math.prod(p for _, p in chosen)
        self.states = [state for state, weight in self.joint.items() if weight > 0]
        self.evidence = math.fsum(self.joint.values())

    def _values(self, customers: list[int], dish: int) -> list[tuple[list[frozenset[int]], float]]:
        """Partitions of a dish's customers into those who repeat one value, with p(partition, values)."""
        b, a = self.repeats
        if b == math.inf:
            return [([], math.prod(float(self.density[i, dish]) for i in customers))]
        found: list[tuple[list[frozenset[int]], float]] = [([], 1.0)]
        for n, i in enumerate(customers):
            longer = []
            for blocks, p in found:
                opened = (b + a * len(blocks)) / (b + n) * float(self.density[i, dish])
                longer.append(([*blocks, frozenset({i})], p * opened))
                for t, block in enumerate(blocks):
                    if self.value[min(block)] == self.value[i]:
                        joined = [*blocks[:t], block | {i}, *blocks[t + 1 :]]
                        longer.append((joined, p * (len(block) - a) / (b + n)))
            found = longer
        return found

    @property
    def pi(self) -> Floats:
        """Posterior probability of each of `states`."""
        return np.array([self.joint[state] for state in self.states]) / self.evidence

    def conditional(self, i: int) -> Floats:
        """Transition matrix of a step that draws customer i's seat given all others."""
        rest = [state.without(i) for state in self.states]
        same = np.array([[one == other for other in rest] for one in rest])
        matrix = same * self.pi
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))

    def weights_given(self, state: State) -> Floats:
        """Posterior mean of the group's weights given the seating: shape (K + 1,)."""
        n = len(self.density)
        if n == 0:
            return self.share.copy()
        opened = len(state.tables)
        mean = (self.theta + self.d * opened) * self.share
        for customers, dish in state.tables:
            mean[dish] += len(customers) - self.d
        return np.asarray(mean / (self.theta + n))

    def proportions(self) -> Floats:
        """Posterior mean of the group's weights given its values."""
        return np.asarray(sum(p * self.weights_given(s) for s, p in zip(self.states, self.pi, strict=True)))

    def moments_left_to_right(self) -> tuple[float, float]:
        """First and second moment of a particle's weight in left-to-right evaluation."""
        moments = []
        for power in (1, 2):
            weights: dict[State, float] = {State(frozenset()): 1.0}
            for n in range(len(self.density)):
                before, after = self.first(n), self.first(n + 1)
                row = np.array([weights.get(state, 0.0) for state in before.states])
                for i in range(n):
                    row = row @ before.conditional(i)
                weights = {}
                for state, weight in zip(before.states, row.tolist(), strict=True):
                    onwards = [s for s in after.states if s.without(n) == state]
                    predictive = sum(after.joint[s] for s in onwards) / before.joint[state]
                    for s in onwards:
                        chosen = after.joint[s] / before.joint[state] / predictive
                        weights[s] = weights.get(s, 0.0) + weight * predictive**power * chosen
            moments.append(math.fsum(weights.values()))
        return moments[0], moments[1]

    def first(self, n: int) -> "NewGroupLaw":
        """The distribution for the first n customers only."""
        return NewGroupLaw(self.density[:n], self.share, self.theta, self.d, self.value[:n], self.repeats)


def state_of(dishes: Sequence[Any], tables: Sequence[Any], sources: Sequence[Any] = ()) -> "State":
    """The state in which customers have these dishes and share tables of the same number."""

    def blocks(numbers: Sequence[Any]) -> set[frozenset[int]]:
        return {frozenset(i for i, other in enumerate(numbers) if other == one) for one in numbers}

    tables_of = frozenset((block, int(dishes[min(block)])) for block in blocks(list(tables)))
    return State(tables_of, frozenset(blocks(list(sources))))


DENSITY = np.array([[0.9, 0.2, 0.4], [0.1, 1.0, 0.3], [0.5, 0.25, 1.0]])
SHARES = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
SAME = (math.inf, 0.0)  # dishes are the same in all groups
ROWS = (0, 1, 2)
# Concentration and discount of a group; those of a dish in it; rows of the customers' values.
CASES = [
    (1.3, 0.0, SAME, ROWS),
    (0.7, 0.4, SAME, ROWS),
    (-0.2, 0.5, SAME, ROWS),
    (1.3, 0.0, (0.1, 0.0), (0, 1, 0)),
    (1.3, 0.0, (0.8, 0.3), (0, 0, 0)),
    (0.7, 0.4, (2.0, 0.0), (1, 1, 0)),
    (0.7, 0.4, (100.0, 0.3), (0, 1, 0)),
    (-0.2, 0.5, (0.4, 0.3), (0, 0, 1)),
]
SHORT = [*CASES[:3], (1.3, 0.0, (0.1, 0.0), (0, 0))]


def law(theta, d, repeats=SAME, rows=ROWS, parent=0):
    return NewGroupLaw(DENSITY[list(rows)], SHARES[parent], theta, d, rows, repeats)


def groups(theta, d, repeats=SAME, rows=ROWS, parent=0):
    # The group is the second of two: the first has other customers and another parent.
    row = np.array([2, 0, *rows])
    begins = np.array([0, 2, len(row)])
    return NewGroups(DENSITY, SHARES, row, begins, np.array([1 - parent, parent]), theta, d, *repeats)


def seated(these, state):
    """Put the second group into a state."""
    where = {i: (dish, t) for t, (customers, dish) in enumerate(state.tables) for i in customers}
    # Without a discount all those with one dish and value repeat it: any number will do.
    sources = {i: t for t, block in enumerate(state.repeated) for i in block} or dict.fromkeys(where, 0)
    dishes, tables = zip(*(where[i] for i in range(len(where))), strict=True)
    these.seat(1, dishes, tables, [sources[i] for i in range(len(where))])


def state_in(these, repeats):
    """The state of the group."""
    return state_of(these.dishes(), these.tables(), these.sources() if repeats[1] > 0 else ())


def check_fold_in_steps():
    """One step of fold-in draws from the exact conditional of who sits where."""
    for theta, d, repeats, rows in CASES:
        exact, these = law(theta, d, repeats, rows), groups(theta, d, repeats, rows)
        number = {state: s for s, state in enumerate(exact.states)}
        for i in range(3):
            matrix = np.zeros((len(number), len(number)))
            for state, s in number.items():

                def step(source, i=i, state=state, these=these, repeats=repeats):
                    seated(these, state)
                    these.reseat(i, i + 1, source)
                    return number[state_in(these, repeats)]  # noqa: B023

                for after, probability in outcomes(step):
                    matrix[s, after] += probability
            assert np.abs(matrix - exact.conditional(i)).max() <= 1e-12
            assert np.abs(exact.pi @ matrix - exact.pi).max() <= 1e-12


def after_two_sweeps(exact):
    """Probabilities of states of two customers, seated one after the other and swept over twice."""
    one = exact.first(1)
    # The first customer from its law alone, the second given it.
    begun = dict(zip(one.states, one.pi, strict=True))
    onwards = np.array([begun[state.without(1)] for state in exact.states]) * exact.pi
    for state, p in begun.items():
        inside = [s.without(1) == state for s in exact.states]
        onwards[inside] *= p / onwards[inside].sum()
    for _ in range(2):
        onwards = onwards @ exact.conditional(0) @ exact.conditional(1)
    return onwards


def check_fold_in():
    """Seating, sweeps and averages: the expectation of what fold-in returns, over all branches."""
    for theta, d, repeats, rows in SHORT:
        exact, these = law(theta, d, repeats, rows[:2]), groups(theta, d, repeats, rows[:2])
        onwards = after_two_sweeps(exact)
        expected = sum(p * exact.weights_given(s) for s, p in zip(exact.states, onwards, strict=True))

        def run(source, these=these):
            proportions, dishes = np.full((2, 3), np.nan), np.full(4, -1)
            these.fold_in(1, 2, 1, 1, source, proportions, dishes)
            assert np.isnan(proportions[0]).all()
            assert (dishes[:2] == -1).all()
            assert dishes[2:].tolist() == these.dishes().tolist()
            return proportions[1]

        found = sum(probability * outcome for outcome, probability in outcomes(run))
        assert found == pytest.approx(expected, abs=1e-12)


def check_predictions():
    """Densities of held-out values after two sweeps, one of them averaged, given the seating."""
    held = [0, 1, 2]
    for theta, d, repeats, rows in [*SHORT, (1.3, 0.0, (0.8, 0.3), (0, 0))]:
        exact, these = law(theta, d, repeats, rows[:2]), groups(theta, d, repeats, rows[:2])
        onwards = after_two_sweeps(exact)
        expected = [0.0, 0.0, 0.0]
        for value in held:
            longer = law(theta, d, repeats, (*rows[:2], value))
            for state, p in zip(exact.states, onwards, strict=True):
                together = sum(w for other, w in longer.joint.items() if other.without(2) == state)
                expected[value] += p * together / exact.joint[state]

        def run(source, these=these):
            found = np.full(4, np.nan)
            these.complete(1, 2, 1, 1, source, np.array([0, 1, 4]), np.array([2, *held]), found)
            assert np.isnan(found[0])
            return found[1:]

        found = sum(probability * outcome for outcome, probability in outcomes(run))
        assert found == pytest.approx(expected, abs=1e-12)


def check_left_to_right():
    """A particle's weight has the evidence as its mean, exactly, and the second moment of its scheme."""
    for theta, d, repeats, rows in CASES[:-2]:
        exact, these = law(theta, d, repeats, rows), groups(theta, d, repeats, rows)
        moments = np.zeros(2)
        for logs, probability in outcomes(lambda source, these=these: these.left_to_right(1, 1, source)):
            moments += probability * np.exp(logs[0] * np.array([1, 2]))
        assert moments[0] == pytest.approx(exact.evidence, rel=1e-12)
        assert moments == pytest.approx(exact.moments_left_to_right(), rel=1e-11)
