"""Direct assignment: steps over a store of counts given the root's weights leave the posterior invariant."""

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from marginals import dirichlet_multinomial_log_marginal, stirling

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.freezing import take_over
from hdpkit.franchise.starts import start
from hdpkit.random import RandomStream, ScriptedSource
from hdpkit.testing.exact import outcomes

TOLERANCE = 1e-12
KINDS = {
    "compiled": ("counts", "generic"),
    "fused": ("counts", "fused"),
    "readable": ("counts", "reference"),
}
VALUES = [0, 1, 1, 2, 0, 0, 2]
DOCUMENT = [0, 0, 0, 1, 1, None, None]  # the last two sit at the root, one with each dish
HOME = [1, 1, 1, 2, 2, 0, 0]
ALPHA, ETA, BETA = 0.7, 0.5, (0.65, 0.35)
N = 5  # customers below the root


def franchise_of(twin, root="weights"):
    kind, kernel = KINDS[twin]
    restaurant = hk.Restaurant(hk.DirichletMultinomial(ETA, n_terms=3), concentration=1.5)
    restaurant = hk.Restaurant(restaurant, each="document", concentration=ALPHA)
    data = hk.Groups.from_labels(VALUES, {"document": DOCUMENT})
    franchise = hk.Franchise(restaurant, data, store=kind, kernel=kernel, root=root)
    start(franchise, "one", RandomStream((1, 1)))
    return franchise


def states():
    """(dishes, counts) -> probability: prod s(n, t) (alpha beta_k)^t over entries, times the likelihood."""
    found, log_marginal = {}, dirichlet_multinomial_log_marginal(ETA, 3)
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
    slots, parts = np.arange(2, dtype=np.int32), template["components"]
    parts = {name: {"weights": np.array([*BETA, 0.0])} for name in parts}
    template |= {"slots": slots, "dish_ids": slots, "births": 2, "components": parts}
    names = ("count_node", "count_dish", "count_customers", "count_tables")
    for dishes, rows in STATES:
        columns = dict(zip(names, np.array(rows, dtype=np.int32).T.copy(), strict=True))
        seating = {"dish": np.array(dishes, dtype=np.int32), **columns}
        yield {**template, "seating": seating}


def read(franchise):
    frozen = franchise.store.freeze()
    names = ("count_node", "count_dish", "count_customers", "count_tables")
    rows = sorted(zip(*(frozen[name].tolist() for name in names), strict=True))
    return NUMBER[tuple(frozen["dish"].tolist()), tuple(rows)]


def matrix(franchise, apply):
    P = np.zeros((len(PI), len(PI)))
    for row, frozen in enumerate(frozen_states(franchise)):
        franchise.thaw(frozen)  # which checks it: once is enough

        def run(source, frozen=frozen):
            with franchise.lock():  # taken once, as a scheduler does, and not by each step
                take_over(franchise, frozen)
                apply(franchise, source)
            # The least remainder is not 0, but a new dish has next to no probability.
            return read(franchise) if source.probability > 1e-200 else 0

        for after, probability in outcomes(run, ScriptedSource(continuous=[0.5] * N)):
            P[row, after] += probability
    return P


def leave_and_enter(franchise, source):
    franchise.leave(1, 2, source)
    franchise.enter(1, 2, source)


def assert_invariant(P):
    assert np.max(np.abs(P.sum(axis=1) - 1.0)) <= TOLERANCE
    assert np.max(np.abs(PI @ P - PI)) <= TOLERANCE


def check_direct_assignment():
    """Table Gibbs over counts, one customer and two of different restaurants, leaves the posterior alone."""
    franchise = franchise_of("readable")
    for first, last in ((0, 1), (2, 4)):
        assert_invariant(matrix(franchise, lambda f, s, first=first, last=last: f.reseat(first, last, s)))


def check_tables_given_customers():
    """From every state TableCounts draws tables by their law given who eats what."""
    dishes = [state[0] for state in STATES]
    same = np.array([[a == b for b in dishes] for a in dishes])
    expected = np.where(same, PI, 0.0)
    expected /= expected.sum(axis=1, keepdims=True)
    for method in ("bernoulli", "binomial"):
        P = matrix(franchise_of("readable"), lambda f, s, how=method: moves.TableCounts(how).apply(f, s))
        assert np.max(np.abs(P - expected)) <= TOLERANCE


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
        assert_invariant(P)
    assert max(np.max(np.abs(matrices[0] - P)) for P in matrices[1:]) <= TOLERANCE


class Told(RandomStream):
    """The same draws, by a method that is given each probability."""

    def bernoulli(self, p):
        return super().bernoulli(p)


@pytest.mark.parametrize("alpha", [1e-9, 0.05, 0.7, 4.0, 60.0, 1e4])
def test_a_probability_that_is_not_worked_out_changes_no_table(alpha):
    restaurant = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.5)
    restaurant = hk.Restaurant(restaurant, each="document", concentration=alpha)
    sizes = [*range(1, 70), 129, 1000] * 3
    data = hk.Corpus.from_documents([[0] * n for n in sizes], n_terms=2)
    franchise = hk.Franchise(restaurant, data, store="counts", root="weights")
    start(franchise, "one", RandomStream((1, 1)))
    dish = int(franchise.slots.occupied_slots()[0])

    def drawn(source):
        franchise.draw_tables(1, len(sizes) + 1, source)
        return [franchise.store.tables(1 + j, dish) for j in range(len(sizes))], source.uniform()

    for seed in range(20):
        assert drawn(RandomStream((seed, 1))) == drawn(Told((seed, 1)))
