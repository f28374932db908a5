"""Dishes that differ by restaurant: a predictive that depends on the restaurant of the customer."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import attrs
import numpy as np

from hdpkit.arrays import Int32s
from hdpkit.data import GroupedData
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.protocol import BaseMeasure, missing_method
from hdpkit.measures.python_bank import PythonBank


class Placed(NamedTuple):
    """An observation with the restaurant in which it is made; `ByRestaurant` measures are given these.

    Attributes
    ----------
    value : object
        The observation.
    restaurant : int
        Number of the restaurant in the tree of the franchise. Equal numbers mean the same restaurant; they
        have no other meaning.
    """

    value: Any
    restaurant: int


class Repeats(NamedTuple):
    """The distribution of a dish in a restaurant, PY(discount, concentration, dish); infinite: the dish."""

    concentration: float
    discount: float

    @property
    def differ(self) -> bool:
        """Whether dishes differ by restaurant."""
        return self.concentration < math.inf


SAME = Repeats(math.inf, 0.0)


@attrs.frozen(eq=False)
class NewRestaurants:
    """Dishes in restaurants without customers: PY(discount, concentration, phi_k)."""

    measure: BaseMeasure  # of phi_k
    bank: Any
    dishes: Int32s  # of each customer whose value is an observation of phi_k, -1 for the others
    repeats: Repeats


class ByRestaurant(BaseMeasure):
    """A base measure whose dishes differ by restaurant.

    The distribution of an observation depends on its dish and on a restaurant: phi_jk for dish k in
    restaurant j, for instance with phi_jk ~ PY(a, b, phi_k) (Doyle & Elkan 2009; Buntine & Mishra 2014). The
    statistics of a dish include what is needed of all restaurants that have customers with this dish.

    A subclass defines the methods of `BaseMeasure`. Each ``value`` that they are given is a `Placed`: an
    observation with its restaurant, that of the declaration named `differ_by` at or above which the customer
    sits; if there is none on its path to the root, the deepest one of an outer declaration. Observations of
    one dish must be exchangeable, also between restaurants.

    Every move that uses statistics of dishes only runs over such a measure, by the readable code. What needs
    observations that are independent given the parameters of their dish is refused, unless a class supports
    it as `Bursty` does: moves that draw these parameters (`moves.SliceGibbs`, `moves.CountGibbs`,
    `moves.DrawTopics`), and known components, whose earlier observations are tables of a class with
    ``seats_values``. New groups need `in_new_restaurants`.

    Attributes
    ----------
    differ_by : str
        Name of the declaration, for instance "document". A class attribute, or set by the constructor.

    Notes
    -----
    Arguments of the methods are as in `BaseMeasure`, and:

    restaurant : int, as in `Placed`.
    """

    differ_by: str = "document"
    has_powers = False

    def simulate_in(self, statistics: Any, restaurant: int, generator: np.random.Generator) -> Any:
        """Draw one observation, not a `Placed`, from the predictive distribution of a dish in a restaurant.

        It takes the place of `simulate`, and is optional as that method is.
        """
        raise missing_method(self, "simulate_in")

    def in_new_restaurants(self, bank: Any, dishes: Int32s) -> NewRestaurants:
        """Return the distribution of the dishes of a state in restaurants that have no customers.

        It is optional, for fold-in and held-out scores (`Franchise.fold_in`, `hdpkit.evaluate`).
        """
        raise missing_method(self, "in_new_restaurants")

    def supports(self, method: str) -> bool:
        """Whether this measure has an optional method. Parameters of dishes are never drawn for sweeps."""
        if method == "in_new_restaurants":
            return type(self).in_new_restaurants is not ByRestaurant.in_new_restaurants
        if method in ("draw_parameters", "log_likelihood"):
            return False
        if method in ("simulate", "simulate_in"):
            return type(self).simulate_in is not ByRestaurant.simulate_in
        return super().supports(method)

    def readable_bank(self, data: GroupedData) -> StatisticsBank:
        return RestaurantBank(self, data.values)


class PlacedValues:
    """Values with the restaurants of their customers; that of the ``n_earlier`` last ones nobody enters."""

    def __init__(self, values: Any, n_earlier: int = 0) -> None:
        self.values = values
        self.n_customers = len(values) - n_earlier
        self.restaurants: Int32s

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, customer: int) -> Placed:
        return Placed(self.values[customer], int(self.restaurants[customer]))

    def read(self, restaurants: Int32s) -> None:
        """Use these restaurants from now on, one for each data customer."""
        n_earlier, nobodys = len(self.values) - self.n_customers, restaurants.max(initial=-1) + 1
        self.restaurants = np.append(restaurants, np.full(n_earlier, nobodys, dtype=np.int32))


class RestaurantBank(PythonBank):
    """The bank of a `ByRestaurant` measure written in Python."""

    values: PlacedValues

    def __init__(self, measure: Any, values: Any, n_earlier: int = 0) -> None:
        super().__init__(measure, PlacedValues(values, n_earlier))

    def read_restaurants(self, restaurants: Int32s) -> None:
        """Use these restaurants, one for each data customer; called before any other method."""
        self.values.read(restaurants)
