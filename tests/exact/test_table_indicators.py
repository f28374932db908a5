"""Table indicators: counts under a root restaurant, by enumeration and compared with the other stores."""

import pytest
from indicator_checks import (
    TWINS,
    check_formulas_of_indicators,
    check_leaving_counts,
    model_of,
)

from hdpkit import moves
from hdpkit.testing.cases import Corner, TinyShape
from hdpkit.testing.exact import check_exact, check_irreducible


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
    whole = check_exact(model, moves.TableGibbs())
    check_irreducible(model, whole, "a sweep of table Gibbs")
