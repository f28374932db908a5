"""Deterministic checks of separate smoothings of dishes, also used by the tests of planted bugs."""

import math

import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import SparseDirichletMultinomialReference
from hdpkit.testing.cases import Corner, tiny_franchise
from hdpkit.testing.exact import check_exact
from hdpkit.testing.exact_parameters import Grid, exact_model
from hdpkit.testing.exact_points import check_balance
from hdpkit.testing.exact_selection import ExactSmoothedSelectionModel
from hdpkit.testing.marginals import sparse_dirichlet_multinomial_log_marginal

__all__ = [
    "check_density_of_dish_smoothings",
    "check_dish_smoothings",
    "check_stored_dish_smoothings",
    "check_updates_of_dish_smoothings",
]

SHAPES = (1.3, 0.8)


def tiny_smoothed(shape, scheme="integrated", **options):
    """Readable, over two smoothings."""
    grid = Grid([0.2, 1.5], [1.0, 2.0])
    measure = SparseDirichletMultinomialReference(hk.Each(grid), hk.Beta(*SHAPES), scheme, n_terms=3)
    corner = Corner(0.9, 0.7, 0.3, 0.6)
    return tiny_franchise(shape, measure, store="explicit-reference", corner=corner, **options)


def smoothed_model(shape, **options):
    """Every seating and every smoothing of the dishes, by all subsets of the vocabulary."""
    return exact_model(
        tiny_smoothed(shape, **options),
        lambda values, one: sparse_dirichlet_multinomial_log_marginal(one, 3, SHAPES)(values),
    )


def check_dish_smoothings():
    """Steps of moves leave the posterior of seating and smoothings alone."""
    model = smoothed_model("2+1", values=[0, 0, 1])
    for move in (moves.TableGibbs(), moves.DishGibbs()):
        check_exact(model, move)


def check_updates_of_dish_smoothings():
    """An update of all smoothings leaves the posterior alone."""
    model = smoothed_model("flat 3", values=[0, 0, 1])
    P = model.matrix(moves.DishParameters().apply)
    assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(model.pi @ P - model.pi).max() < 1e-12


def check_stored_dish_smoothings():
    """Detailed balance of single steps in seating, smoothings and proportions."""
    model = ExactSmoothedSelectionModel(tiny_smoothed("2+1", "stored"))
    check_balance(model, moves.DishGibbs())


def check_density_of_dish_smoothings():
    """The log joint has the density of the smoothings, and the likelihood is given them."""
    model = smoothed_model("2+1")
    joint = [model.enter(state).log_joint() - math.log(p) for state, p in enumerate(model.pi.tolist())]
    assert np.ptp(joint) < 1e-9
