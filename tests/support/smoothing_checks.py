"""Deterministic checks of separate smoothings of dishes, also used by the tests of planted bugs."""

import math
from typing import Any

import attrs
import numpy as np
from exact_points import check_balance, spread_of_log_joint
from exact_selection import ExactSmoothedSelectionModel
from hdpkit.numerics import log
from marginals import sparse_dirichlet_multinomial_log_marginal

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import Finite, SparseDirichletMultinomialReference
from hdpkit.testing.cases import Corner, tiny_franchise
from hdpkit.testing.exact import check_exact
from hdpkit.testing.exact_models import exact_model

SHAPES = (1.3, 0.8)


@attrs.frozen(eq=False)
class Grid(Finite):
    """A `Finite` prior of positive numbers that can be declared: hk.Each(Grid([0.2, 1.5]))."""

    @property
    def mean(self) -> float:
        """Expectation."""
        weights = np.asarray(self.weights, dtype=float)
        return float(np.dot(weights, self.values) / weights.sum())

    def log_density(self, x: float) -> float:
        """Log probability of a value."""
        if x not in self.values:
            return -math.inf
        return log(self.weights[list(self.values).index(x)]) - log(math.fsum(self.weights))

    def draw(self, generator: np.random.Generator, size: Any = None) -> Any:
        """Draw one value, or an array of them."""
        weights = np.asarray(self.weights, dtype=float)
        return generator.choice(np.asarray(self.values), size=size, p=weights / weights.sum())


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
    assert spread_of_log_joint(smoothed_model("2+1")) < 1e-9
