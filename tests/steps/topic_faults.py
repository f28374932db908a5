"""Checks of the fused sweep of topic models, which planted faults name."""

import itertools

import numpy as np
from audited_steps import enumerate_steps
from fused_cases import lockstep, many_dishes, many_weights
from marginals import dirichlet_multinomial_log_marginal, sparse_dirichlet_multinomial_log_marginal

import hdpkit as hk
from hdpkit import moves
from hdpkit.testing.cases import Corner, TinyShape, tiny_franchise
from hdpkit.testing.exact import ExactModel, step_matrices

ETA = [0.3, 1.1, 0.6]
THREE = TinyShape({"document": [0, 0, 0, 1]}, 4)  # without one customer, two tables of one dish
FOUR = TinyShape({"document": [0] * 4}, 4)  # without one of them, tables of sizes 1 and 2


def model_of(shape, corner="discounts", store="explicit"):
    measure = hk.DirichletMultinomial(ETA, n_terms=3)
    franchise = tiny_franchise(shape, measure, store=store, kernel="fused", corner=corner)
    return ExactModel(franchise, dirichlet_multinomial_log_marginal(ETA, 3))


def audited(franchise, source, steps=None):
    moves.TableGibbs().apply(franchise, source, steps)
    franchise.audit()


def exact_steps(model):
    return enumerate_steps(model, moves.TableGibbs())


def check_steps():
    for store in ("explicit", "histogram"):
        exact_steps(model_of("2+1", store=store))  # the smallest come first: many faults show there
    for store in ("explicit", "histogram"):
        exact_steps(model_of("2+1", "middle", store))
        exact_steps(model_of(THREE, store=store))
        exact_steps(model_of(FOUR, store=store))


def check_concentrations_below_zero():
    for below in (0.0, -0.2):
        exact_steps(model_of("2+1", Corner(-0.1, below, 0.3, 0.6)))


def check_neighbours(of=model_of):
    """A call for two customers is the product of their steps: what one leaves to the next is right."""
    for shape in ("2+2", TinyShape({"document": [0, 0, 0]}, 3)):
        model = of(shape)
        steps = step_matrices(model, moves.TableGibbs())
        for i, (first, second) in enumerate(itertools.pairwise(steps)):
            both = model.matrix(lambda f, source, i=i: audited(f, source, (i, i + 2)))
            assert np.abs(both - first @ second).max() <= 1e-12


def check_sites():
    """Sixty dishes, in doubles: the generic kernel's law at every customer of a sweep."""
    for store in ("explicit", "histogram"):
        lockstep(many_dishes(store), seed=3)


def check_weights():
    """The same under a root with weights, over each store."""
    for store in ("counts", "explicit", "histogram"):
        lockstep(many_weights(store), seed=3)


SPARSE = hk.SparseDirichletMultinomial(0.3, hk.Beta(2.0, 0.7), n_terms=3)


def sparse_model(shape, store="explicit"):
    franchise = tiny_franchise(shape, SPARSE, store=store, kernel="fused", corner="discounts")
    return ExactModel(franchise, sparse_dirichlet_multinomial_log_marginal(0.3, 3, (2.0, 0.7)))


def check_sparse_steps():
    for store in ("explicit", "histogram"):
        exact_steps(sparse_model("2+1", store))
        exact_steps(sparse_model(THREE, store))


def check_sparse_neighbours():
    """Of three customers a dish keeps one after two have changed it."""
    check_neighbours(sparse_model)
