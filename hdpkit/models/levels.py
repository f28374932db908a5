"""Restaurants of n-gram models: one declaration for each length of a context."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.base_measures import BaseMeasure
from hdpkit.errors import ParameterError
from hdpkit.franchise import Restaurant
from hdpkit.moves import Concentration, Discount, Move, TableGibbs

__all__ = ["ORDER_LIMIT", "as_declared", "context_restaurants", "levels", "moves_for"]

ORDER_LIMIT = 100
"""Largest order of a model; limited because declarations are nested."""


def as_declared(given: Any) -> Any:
    """Return an argument for all levels or for each level; lists and arrays are converted to tuples."""
    if isinstance(given, np.ndarray) and given.ndim == 1:
        given = given.tolist()
    return tuple(given) if isinstance(given, list) else given


def levels(name: str, given: Any, order: int, default: Any) -> tuple[Any, ...]:
    """Return a hyperparameter for each level, the root's first.

    Parameters
    ----------
    name : str
        Name of the parameter, for the error.
    given : number, prior, sequence of these, or None
        One for all levels, or one for each.
    order : int
        Number of levels: contexts of 0 to order - 1 symbols.
    default : number or prior
        Used instead of None.

    Raises
    ------
    ParameterError
        If it is a sequence of another length.
    """
    declared = default if given is None else as_declared(given)
    if not isinstance(declared, tuple):
        return (declared,) * order
    if len(declared) != order:
        raise ParameterError(
            name, given, f"one value, or {order} of them, the root's first",
            f"Order {order} has {order} levels: contexts of 0 to {order - 1} symbols.",
        )  # fmt: skip
    return declared


def context_restaurants(
    measure: BaseMeasure, concentrations: tuple[Any, ...], discounts: tuple[Any, ...]
) -> Restaurant:
    """Declare a root and restaurants for each context of one symbol, of two, and so on; returns the deepest.

    Parameters
    ----------
    measure : BaseMeasure
        H, the base measure of the root.
    concentrations, discounts : tuple
        One for each level, the root's first.

    Raises
    ------
    ParameterError
        If one of them isn't valid; the message names its level.
    """
    made: Any = measure
    for level, (concentration, discount) in enumerate(zip(concentrations, discounts, strict=True)):
        each = f"context {level}" if level else None
        try:
            made = Restaurant(made, concentration=concentration, discount=discount, each=each)
        except ParameterError as error:
            where = f"of contexts of length {level}" if level else "of the root"
            name = f"{error.parameter}s ({where})"
            raise ParameterError(name, error.value, error.allowed, error.remedy) from None
    assert isinstance(made, Restaurant)
    return made


def moves_for(restaurant: Restaurant) -> list[Move]:
    """Return moves for every customer's table and for every hyperparameter that has a prior."""
    declared = [declaration.hyperparameters for declaration in restaurant.chain()]
    chosen: list[Move] = [TableGibbs()]
    if any(concentration.prior is not None for concentration, _ in declared):
        chosen.append(Concentration())
    if any(discount.prior is not None for _, discount in declared):
        chosen.append(Discount())
    return chosen
