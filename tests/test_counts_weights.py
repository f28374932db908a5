"""Direct assignment: verbs over a store of counts, given the root's weights, leave the posterior alone.

Weights are fixed here and leave nothing for a new dish; customers at the root keep both dishes alive, so that
every branch of a verb can be enumerated.
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

TOLERANCE = 1e-12
KINDS = {"compiled": ("counts", "generic"), "readable": ("counts-reference", "reference")}
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
    """(dishes, counts) -> probability: prod s(n, t) (alpha beta_k)^t over entries, times the likelihood."""
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


def test_the_number_of_dishes_has_its_posterior():
    # P(K) of three documents, by enumeration of the Chinese restaurant franchise.
    expected = np.array([0.03815, 0.31058, 0.43317, 0.18609, 0.03011])
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3)
    restaurant = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.5)
    restaurant = hk.Restaurant(restaurant, each="document", concentration=0.7)
    franchise = hk.Franchise(restaurant, corpus, store="counts", root="weights")
    schedule = [moves.TableGibbs(), moves.TableCounts("binomial"), moves.RootWeights()]
    found = np.zeros(8)
    for _ in hk.Scheduler(schedule).sample(franchise, 4000, 11):
        found[franchise.n_dishes] += 1
    assert 0.5 * np.abs(found[1:6] / 4000 - expected).sum() < 0.05


@pytest.mark.parametrize("other", ["histogram", "explicit", "counts-reference"])
def test_states_go_from_store_to_store_with_their_weights(other):
    franchise = franchise_of("compiled")
    moves.TableGibbs().apply(franchise, RandomStream((5, 5)))
    frozen = franchise.freeze()
    there = hk.Franchise(franchise.restaurant_declared, franchise.data, store=other, root="weights")
    there.thaw(frozen, RandomStream((5, 6)))
    there.audit()
    assert np.array_equal(there.dishes, franchise.dishes)
    assert there.root_weights()[1] == franchise.root_weights()[1]
    franchise.thaw(there.freeze())
    again = franchise.freeze()
    assert all(np.array_equal(again["seating"][name], a) for name, a in frozen["seating"].items())


def test_a_run_over_counts_is_saved_and_resumed(tmp_path):
    schedule = [moves.TableGibbs(), moves.TableCounts(), moves.RootWeights()]
    whole = hk.Scheduler(schedule).run(franchise_of("compiled"), 6, rng=3, folder=tmp_path / "whole")
    hk.Scheduler(schedule).run(franchise_of("compiled"), 3, rng=3, folder=tmp_path / "run")
    run = hk.open_run(tmp_path / "run")
    run.resume(3)
    assert hk.open_run(tmp_path / "run").trace["log_joint"].tolist() == whole["log_joint"].tolist()
