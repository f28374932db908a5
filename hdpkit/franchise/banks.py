"""The statistics of the dishes of a state, for its data or others."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.data import GroupedData
from hdpkit.errors import DeclarationError
from hdpkit.measures.bank import ReadsParts, observed_bank
from hdpkit.measures.by_restaurant import ByRestaurant, ReadsCells, ReadsRestaurants
from hdpkit.measures.protocol import BaseMeasure


def bank_for(state: Any, measure: BaseMeasure, data: GroupedData) -> Any:
    """The measure's bank for data."""
    bank = state.population.bank(measure, data)
    if isinstance(bank, ReadsParts):
        bank.read(state._brought)
    if isinstance(measure, ByRestaurant):
        place(state, bank, measure)
    return observed_bank(bank, data)


def place(state: Any, bank: Any, measure: ByRestaurant) -> None:
    """Give a bank the restaurants by which the dishes of its measure differ."""
    kind = type(measure).__name__
    if not measure.seats_values:  # otherwise earlier observations are tables
        state.known_dishes.require_none(
            "no components where dishes differ by restaurant",
            f"Their earlier observations have no restaurant: leave known out, or {kind}.",
        )
    if isinstance(bank, ReadsCells):
        return
    if not isinstance(bank, ReadsRestaurants):
        raise DeclarationError(
            f"bank of {kind}", type(bank).__name__, "one that reads the restaurants of customers",
            "Define read_restaurants(restaurants), or leave bank() and compiled() of the measure out.",
        )  # fmt: skip
    bank.read_restaurants(restaurants_of(state, measure))


def restaurants_of(state: Any, measure: ByRestaurant) -> npt.NDArray[np.int32]:
    """Restaurant of each data customer, among those by which the dishes of a measure differ."""
    names = [declaration.name for declaration in state.declarations]
    if measure.differ_by not in names:
        raise DeclarationError(
            f"differ_by of {type(measure).__name__}", measure.differ_by,
            f"the name of a declaration, one of {names}",
            "Name the restaurants by which dishes differ, for instance 'document'.",
        )  # fmt: skip
    return state.topology.restaurants_at(names.index(measure.differ_by))
