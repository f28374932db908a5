"""Direct assignment: table Gibbs over a store of counts, given the root's weights, leaves the posterior alone.

Weights are fixed here and leave nothing for a new dish; customers at the root keep both dishes alive, so that every
branch of a verb can be enumerated.
"""

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise import Restaurant, start
from hdpkit.random import RandomStream, ScriptedSource
from hdpkit.stores import CountsReference, CountsStore

TOLERANCE = 1e-12
KINDS = {"compiled": (CountsStore, "generic"), "readable": (CountsReference, "reference")}
VALUES = [0, 1, 1, 2, 0, 0, 2]
DOCUMENT = [0, 0, 0, 1, 1, None, None]  # the last two sit at the root, one with each dish
HOME = [1, 1, 1, 2, 2, 0, 0]
ALPHA, ETA, BETA = 0.7, 0.5, (0.65, 0.35)
N = 5  # customers below the root


def franchise_of(twin, root="weights"):
    kind, kernel = KINDS[twin]
    restaurant = Restaurant(hk.DirichletMultinomial(ETA, n_terms=3), concentration=1.5)
    restaurant = Restaurant(restaurant, each="document", concentration=ALPHA)
    data = hk.Groups.from_labels(VALUES, {"document": DOCUMENT})
    franchise = hk.Franchise(restaurant, data, store=kind, kernel=kernel, root=root)
    start(franchise, "one", RandomStream((1, 1)))
    return franchise


def stirling(n, t):
    row = [1]
    for i in range(n):
        row = [(row[j - 1] if j else 0) + (i * row[j] if j <= i else 0) for j in range(i + 2)]
    return row[t]


def log_marginal(values):
    counts, total = np.bincount(values, minlength=3), 0.0
    total += math.lgamma(3 * ETA) - math.lgamma(3 * ETA + len(values))
    return total + sum(math.lgamma(ETA + n) - math.lgamma(ETA) for n in counts)


def states():
    """(dishes, counts) -> weight: prod s(n, t) (alpha beta_k)^t over restaurants and dishes, and the likelihood."""
    found = {}
    for z in product([0, 1], repeat=N):
        dishes = (*z, 0, 1)
        likelihood = sum(
            log_marginal([x for x, k in zip(VALUES, dishes, strict=True) if k == dish]) for dish in (0, 1)
        )
        cells = defaultdict(int)
        for i in range(N):
            cells[HOME[i], z[i]] += 1
        for tables in product(*(range(1, n + 1) for n in cells.values())):
            weight, root = likelihood, [1, 1]
            for (cell, n), t in zip(cells.items(), tables, strict=True):
                weight += math.log(stirling(n, t)) + t * math.log(ALPHA * BETA[cell[1]])
                root[cell[1]] += t
            rows = [(0, 0, root[0], 1), (0, 1, root[1], 1)]
            rows += [(*cell, n, t) for (cell, n), t in zip(cells.items(), tables, strict=True)]
            found[dishes, tuple(sorted(rows))] = weight
    largest = max(found.values())
    total = sum(math.exp(weight - largest) for weight in found.values())
    return {state: math.exp(weight - largest) / total for state, weight in found.items()}


STATES = states()
NUMBER = {state: i for i, state in enumerate(STATES)}
PI = np.array(list(STATES.values()))


def frozen_states(franchise):
    template = franchise.freeze()
    parts = {name: {"weights": np.array([*BETA, 0.0])} for name in template["components"]}
    names = ("count_node", "count_dish", "count_customers", "count_tables")
    for dishes, rows in STATES:
        columns = dict(zip(names, np.array(rows, dtype=np.int32).T.copy(), strict=True))
        seating = {"dish": np.array(dishes, dtype=np.int32), **columns}
        yield {**template, "seating": seating, "slots": np.arange(2, dtype=np.int32), "components": parts}


def read(franchise):
    frozen = franchise.store.freeze()
    names = ("count_node", "count_dish", "count_customers", "count_tables")
    rows = sorted(zip(*(frozen[name].tolist() for name in names), strict=True))
    return NUMBER[tuple(frozen["dish"].tolist()), tuple(rows)]


def matrix(franchise, apply):
    P = np.zeros((len(PI), len(PI)))
    for row, frozen in enumerate(frozen_states(franchise)):
        source = ScriptedSource()
        while True:
            franchise.thaw(frozen)
            apply(franchise, source)
            P[row, read(franchise)] += source.probability
            if not source.advance():
                break
    return P


def leave_and_enter(franchise, source):
    franchise.leave(1, 2, source)
    franchise.enter(1, 2, source)


STEPS = {
    **{f"reseat customer {i}": lambda f, s, i=i: f.reseat(i, i + 1, s) for i in range(N)},
    "reseat two at once": lambda f, s: f.reseat(2, 4, s),
    "leave and enter": leave_and_enter,
    "tables": lambda f, s: moves.TableCounts().apply(f, s),
    "tables of one restaurant": lambda f, s: moves.TableCounts().apply(f, s, (1, 2)),
    "tables by binomial draws": lambda f, s: moves.TableCounts("binomial").apply(f, s),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_leaves_the_posterior_alone(step):
    matrices = [matrix(franchise_of(twin), STEPS[step]) for twin in KINDS]
    for P in matrices:
        assert np.max(np.abs(P.sum(axis=1) - 1.0)) <= TOLERANCE
        assert np.max(np.abs(PI @ P - PI)) <= TOLERANCE
    assert np.max(np.abs(matrices[0] - matrices[1])) <= TOLERANCE


def test_states_are_states():
    franchise = franchise_of("compiled")
    for frozen in frozen_states(franchise):
        franchise.thaw(frozen)
        franchise.audit()
        assert franchise.dishes.tolist() == frozen["seating"]["dish"].tolist()


def test_a_dish_is_born_and_dies_with_its_weight():
    franchise = franchise_of("compiled")
    for sweep in range(200):
        moves.TableGibbs().apply(franchise, RandomStream((2, sweep)))
        franchise.audit()
    births = set()
    for sweep in range(200):
        franchise.reseat(0, 7, RandomStream((3, sweep)))
        births.add(franchise.n_dishes)
        franchise.audit()
    assert len(births) > 2
