"""Restaurants of n-gram models: one declaration for each length of a context."""

from __future__ import annotations

from typing import Any

from hdpkit.base_measures import BaseMeasure
from hdpkit.errors import ParameterError
from hdpkit.franchise import Restaurant

__all__ = ["as_levels", "context_restaurants"]


def as_levels(declared: Any) -> Any:
    """Return a hyperparameter as one would keep it: a list as a tuple, anything else as it is."""
    return tuple(declared) if isinstance(declared, list) else declared


def context_restaurants(measure: BaseMeasure, order: int, concentrations: Any, discounts: Any) -> Restaurant:
    """Declare the restaurants of an n-gram franchise; returns the deepest.

    Parameters
    ----------
    measure : BaseMeasure
        H, above the root.
    order : int
        Length of an n-gram: order levels of restaurants, from the root to those of order - 1 symbols.
    concentrations, discounts : number, prior, or tuple of these
        One for all levels, or one for each, from the root's.

    Raises
    ------
    ParameterError
        If their number isn't `order`, or one of them is none.
    """
    theta = _each_level("concentrations", concentrations, order)
    d = _each_level("discounts", discounts, order)
    restaurant = Restaurant(measure, concentration=theta[0], discount=d[0])
    for length in range(1, order):
        restaurant = Restaurant(
            restaurant, concentration=theta[length], discount=d[length], each=f"context {length}"
        )
    return restaurant


def _each_level(name: str, declared: Any, order: int) -> tuple[Any, ...]:
    if not isinstance(declared, tuple):
        return (declared,) * order
    if len(declared) != order:
        raise ParameterError(
            name, declared, f"one for all levels, or {order} of them (the order)", "Begin with the root's."
        )
    return declared
