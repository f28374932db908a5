"""Table indicators: counts under a root restaurant, by enumeration and by the formulas of the paper."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from marginals import dirichlet_multinomial_log_marginal, stirling

import hdpkit as hk
from hdpkit.moves import TableGibbs
from hdpkit.testing.cases import Corner, TinyShape, tiny_franchise
from hdpkit.testing.exact import ExactModel, check_exact, check_irreducible, checked_matrix
from hdpkit.testing.states import counts_key

TOLERANCE = 1e-12
TWINS = {
    "compiled": ("counts", "generic"),
    "readable": ("counts", "reference"),
}
#: Three customers of one table and more in the document, tables that several documents share.
SHAPES = {
    "4": TinyShape({"document": [0] * 4}, 4),
    "3+1": TinyShape({"document": [0, 0, 0, 1]}, 4),
    "three levels": TinyShape({"author": ["a", "a", "a", "b"], "document": [0, 0, 1, 2]}, 4),
}


def model_of(shape, corner, twin="readable"):
    store, kernel = TWINS[twin]
    tree = SHAPES[shape] if isinstance(shape, str) else shape
    measure = hk.DirichletMultinomial(0.5, n_terms=3)
    franchise = tiny_franchise(tree, measure, store=store, kernel=kernel, corner=corner)
    return ExactModel(franchise, dirichlet_multinomial_log_marginal(0.5, 3))


def audited(first, last):
    def apply(franchise, source):
        franchise.reseat(first, last, source)
        franchise.audit()

    return apply


def check_indicators():
    """Every step of table Gibbs leaves the posterior of dishes and counts alone, and states whole."""
    for shape, corner in (("4", "middle"), ("3+1", "discounts"), ("three levels", "discounts")):
        model = model_of(shape, corner)
        n = model.franchise.topology.n_customers
        matrices = (checked_matrix(model, audited(i, i + 1)) for i in range(n))
        check_exact(model, TableGibbs(), matrices=matrices)


def check_leaving_counts(twin="readable"):
    """A customer who leaves and enters again, each step by itself, leaves the posterior alone."""
    for shape, corner in (("4", "discounts"), ("3+1", "middle"), ("three levels", "discounts")):
        model = model_of(shape, corner, twin)
        for i in (1, 3):

            def leave_and_enter(franchise, source, i=i):
                franchise.leave(i, i + 1, source)
                franchise.enter(i, i + 1, source)

            P = checked_matrix(model, leave_and_enter)
            assert np.abs(P.sum(axis=1) - 1.0).max() <= TOLERANCE
            assert np.abs(model.pi @ P - model.pi).max() <= TOLERANCE


def by_hand(model, state, customer):
    """The law of a step in two levels, as Chen, Du & Buntine (2011) have it, in fractions: by state."""
    franchise = model.enter(state)
    store, home = franchise.store, int(franchise.topology.home[customer])
    dishes, new = store.dishes().tolist(), 99
    theta = [Fraction(franchise.root.concentration), Fraction(franchise.concentration("document"))]
    d = [Fraction(franchise.root.discount), Fraction(franchise.discount("document"))]
    counts = {
        (node, k): (store.customers(node, k), store.tables(node, k))
        for node in range(franchise.topology.n_nodes)
        for k in store.node_dishes(node).tolist()
    }
    law, old = Counter(), dishes[customer]
    n, m = counts[home, old]
    for u in (0, 1):
        p = Fraction(m, n) if u else 1 - Fraction(m, n)
        if u and m == 1 and n > 1:
            law[model.states[state]] += p  # it stays
            continue
        if p == 0:
            continue
        others = added(counts, home, old, -1, -u)
        here = {k: row for (node, k), row in others.items() if node == home}
        root = {k: row[0] for (node, k), row in others.items() if node == 0}
        T, M, K = sum(t for _, t in here.values()), sum(root.values()), len(root)
        opens = theta[1] + d[1] * T if here else Fraction(1)
        weights = {}
        for k in [*root, new]:
            c, t = here.get(k, (0, 0))
            f = likelihood(
                model, [x for i, x in enumerate(model.values) if i != customer and dishes[i] == k], customer
            )
            if t > 0:
                ratio = stirling(c + 1, t, d[1]) / stirling(c, t, d[1])
                weights[k, 0] = f * ratio * Fraction(c - t + 1, c + 1)
            if k != new:
                above = (root[k] - d[0]) / (theta[0] + M)
            else:
                above = (theta[0] + d[0] * K) / (theta[0] + M) if M else Fraction(1)
            ratio = stirling(c + 1, t + 1, d[1]) / stirling(c, t, d[1])
            weights[k, 1] = f * opens * above * ratio * Fraction(t + 1, c + 1)
        for (k, opened), weight in weights.items():
            rows = [(*pair, *row) for pair, row in added(others, home, k, 1, opened).items()]
            eaten = [k if i == customer else dish for i, dish in enumerate(dishes)]
            law[counts_key(eaten, rows)] += p * weight / sum(weights.values())
    return law


def added(counts, node, dish, customers, tables):
    """Counts of (node, dish), and of the root, where a customer came (or went) with a table or without."""
    found = dict(counts)
    n, t = found.get((node, dish), (0, 0))
    above, _ = found.get((0, dish), (0, 0))
    found[node, dish] = n + customers, t + tables
    found[0, dish] = above + tables, 1
    return {pair: row for pair, row in found.items() if row[0] > 0}


def likelihood(model, values, customer):
    """f_k(x), a fraction: terms 0, 1, 2 with eta = 1/2."""
    return (values.count(model.values[customer]) + Fraction(1, 2)) / (len(values) + Fraction(3, 2))


def check_formulas_of_indicators(twin="readable"):
    """The law of dishes and counts after a step is that of the formulas, worked out in fractions."""
    for shape, corner in (("4", "middle"), ("3+1", "discounts")):
        model = model_of(shape, corner, twin)
        for customer in (0, 3):
            P = model.matrix(lambda f, s, i=customer: f.reseat(i, i + 1, s))
            for state in range(len(model.states)):
                expected = by_hand(model, state, customer)
                row = np.array([float(expected.pop(other, 0)) for other in model.states])
                assert not expected, f"states that are none: {expected}"
                assert np.abs(P[state] - row).max() <= TOLERANCE, model.states[state]


@pytest.mark.parametrize("twin", TWINS)
def test_a_step_has_the_law_of_the_formulas(twin):
    check_formulas_of_indicators(twin)


@pytest.mark.parametrize("twin", TWINS)
def test_who_leaves_and_enters_leaves_the_posterior_alone(twin):
    check_leaving_counts(twin)


# A document whose only customer leaves, a franchise of one customer; theta below zero, 0 beside a discount.
EDGES = {
    "one customer": (TinyShape({"document": [0]}, 1), Corner(1.5, 0.7)),
    "one customer each": (TinyShape({"document": [0, 1, 2]}, 3), Corner(1.5, 0.7)),
    "one customer each, theta 0": (TinyShape({"document": [0, 1, 2]}, 3), Corner(0.0, 0.0, 0.4, 0.5)),
    "theta 0": (TinyShape({"document": [0, 0, 0, 1]}, 4), Corner(0.0, 0.0, 0.4, 0.5)),
    "theta below 0": (
        TinyShape({"author": [0, 0, 0], "document": [0, 0, 1]}, 3),
        Corner(-0.2, -0.1, 0.3, 0.6),
    ),
    "large discounts": (TinyShape({"document": [0, 0, 0, 1]}, 4), Corner(50.0, -0.8, 0.9, 0.95)),
    "four levels": (
        TinyShape({"country": [0, 0, 0], "author": [0, 0, 1], "document": [0, 1, 2]}, 3),
        Corner(0.8, 0.4, 0.3, 0.6),
    ),
}


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("edge", EDGES)
def test_edges(edge, twin):
    shape, corner = EDGES[edge]
    model = model_of(shape, corner, twin)
    whole = check_exact(model, TableGibbs())
    check_irreducible(model, whole, "a sweep of table Gibbs")
