"""Restaurants that depend on the state: the home of a customer is computed from the dishes of others."""

from __future__ import annotations

import abc
import heapq
import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Int32s
from hdpkit.checks import LARGEST, as_float, instance, whole_number
from hdpkit.data import Sequences
from hdpkit.errors import DeclarationError, ParameterError, StateError
from hdpkit.parts import Part, inconsistent, unfitting
from hdpkit.priors import Prior, log_density_at, mean_of, support_of
from hdpkit.random import ChoiceSource
from hdpkit.steps.walk import NEW, Eaten


class DishRows(Part):
    """The restaurant of each dish: a new dish takes the smallest free number from 0 to n_rows - 1."""

    name = "rows"
    enumerable = True

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.reset(np.empty(0, dtype=np.int32))

    def _take(self, rows: dict[int, int]) -> None:
        self._rows = rows
        self._dish_in = {row: slot for slot, row in rows.items()}
        self._free = sorted(set(range(self.n_rows)) - set(rows.values()))  # a sorted list is a heap

    def row(self, dish: int) -> int:
        """Row of a dish, or of `NEW`; raises a StateError if there is no such dish, or no free row."""
        if dish in self._rows:
            return self._rows[dish]
        if dish != NEW:
            raise StateError(
                "dish", dish, "that of a seated customer", "Seat the customers on whom a home depends first."
            )
        return self._vacant()

    def dish_in(self, row: int) -> int:
        """Slot of the dish of a row, -1 if there is none."""
        return self._dish_in.get(row, -1)

    def of_slots(self, slots: Int32s) -> Int32s:
        """Row of each of these dishes."""
        return np.array([self._rows[slot] for slot in np.asarray(slots).tolist()], dtype=np.int32)

    def _vacant(self) -> int:
        if not self._free:
            raise StateError(
                "dishes", len(self._rows), f"at most {self.n_rows}, one for each restaurant",
                "Open no dish without seating a customer.",
            )  # fmt: skip
        return self._free[0]

    def born(self, slot: int, source: ChoiceSource | None, customers: Int32s) -> None:
        """Give the dish the smallest free row."""
        row = self._rows[slot] = self._vacant()
        self._dish_in[row] = slot
        heapq.heappop(self._free)

    def died(self, slot: int) -> None:
        row = self._rows.pop(slot)
        del self._dish_in[row]
        heapq.heappush(self._free, row)

    def relabelled(self, mapping: Int32s) -> None:
        """Dishes keep their rows."""
        self._rows = {int(mapping[slot]): row for slot, row in self._rows.items()}
        self._dish_in = {row: slot for slot, row in self._rows.items()}

    def reset(self, slots: Int32s) -> None:
        """Give the dishes rows 0, 1, ... in the order of their slots."""
        self._take({slot: row for row, slot in enumerate(np.asarray(slots).tolist())})

    def freeze(self) -> dict[str, Any]:
        """Rows in the order of slots."""
        return {"rows": np.array([self._rows[slot] for slot in sorted(self._rows)], dtype=np.int32)}

    def thaw(self, frozen: Mapping[str, Any]) -> None:
        """Take rows in the order of the occupied slots."""
        self._take(self.checked(frozen, sorted(self._rows))._rows)

    def checked(self, frozen: Any, slots: Sequence[int]) -> DishRows:
        """Rows of a frozen state with these occupied slots, or a DataError unless each dish has its own."""
        rows = np.asarray(frozen.get("rows") if isinstance(frozen, Mapping) else None)
        whole = rows.shape == (len(slots),) and (rows.dtype.kind in "iu" or rows.size == 0)
        if not whole or np.any((rows < 0) | (rows >= self.n_rows)) or len(np.unique(rows)) < len(slots):
            allowed = f"a different number from 0 to {self.n_rows - 1} for each of {len(slots)} dishes"
            raise unfitting("rows", frozen, allowed)
        found = DishRows(self.n_rows)
        found._take(dict(zip(slots, rows.tolist(), strict=True)))
        return found

    def audit(self, slots: Int32s) -> None:
        """Check that exactly these dishes have rows, and no two the same."""
        rows = self._rows
        if sorted(rows) != np.asarray(slots).tolist() or len(set(rows.values())) < len(rows):
            raise inconsistent("rows", rows, f"one for each of {slots}")


def _number_or_prior(value: Any) -> tuple[float, Prior | None]:
    """The starting value and the prior of a declared number; not a number if it is neither."""
    prior = None if isinstance(value, float | int | type) or not isinstance(value, Prior) else value
    if prior is not None:
        return (mean_of(prior), prior) if support_of(prior)[0] >= 0.0 else (math.nan, None)
    return as_float(value), None


def read_sticky(value: Any) -> tuple[float, Prior | None]:
    """The starting value and the prior of a declared kappa, or a ParameterError."""
    start, prior = _number_or_prior(value)
    if not 0.0 <= start < math.inf:
        raise ParameterError(
            "sticky", value, "a finite number >= 0 (fixed), or a prior of positive numbers (resampled)",
            "For instance 10.0 or hk.Gamma(10, 1); 0 is a model that is not sticky.",
        )  # fmt: skip
    return start, prior


def read_start(value: Any) -> tuple[float, Prior | None] | None:
    """The same of a declared concentration of the start row; None: it has none of its own."""
    if value is None:
        return None
    start, prior = _number_or_prior(value)
    if not 0.0 < start < math.inf:
        raise ParameterError(
            "start_concentration", value,
            "a finite number > 0 (fixed), a prior of positive numbers (resampled), or None",
            "For instance hk.Gamma(1, 1). None: the concentration of the rows.",
        )  # fmt: skip
    return start, prior


class StickyRows(Part):
    """kappa, by which the row of a dish favours the dish, and its override tables (`StickyTopology`)."""

    name = "sticky"
    enumerable = True

    def __init__(self, declared: Any, first_row: int) -> None:
        self.start, self.prior = read_sticky(declared)
        self.kappa = self.start
        self.tables: dict[int, int] = {}
        self._first_row = first_row

    def born(self, slot: int, source: ChoiceSource | None, customers: Int32s) -> None:
        self.tables[slot] = 0

    def died(self, slot: int) -> None:
        del self.tables[slot]

    def relabelled(self, mapping: Int32s) -> None:
        """Dishes keep their override tables."""
        self.tables = {int(mapping[slot]): w for slot, w in self.tables.items()}

    def reset(self, slots: Int32s) -> None:
        """No override tables, until tables are drawn."""
        self.tables = dict.fromkeys(np.asarray(slots).tolist(), 0)

    def freeze(self) -> dict[str, Any]:
        """kappa, and the override tables of the dishes in the order of slots."""
        tables = [self.tables[slot] for slot in sorted(self.tables)]
        return {"kappa": self.kappa, "overrides": np.array(tables, dtype=np.int32)}

    def thaw(self, frozen: Mapping[str, Any]) -> None:
        slots = sorted(self.tables)
        there = isinstance(frozen, Mapping) and {"kappa", "overrides"} <= set(frozen)
        kappa = as_float(frozen["kappa"]) if there else math.nan
        found = np.asarray(frozen["overrides"] if there else None)
        fits = found.shape == (len(slots),) and (found.dtype.kind in "iu" or found.size == 0)
        if not 0.0 <= kappa < math.inf or not fits or np.any(found < 0):
            allowed = f"kappa, and numbers of override tables of {len(slots)} dishes"
            raise unfitting("sticky", frozen, allowed)
        self.kappa = kappa
        self.tables = dict(zip(slots, found.tolist(), strict=True))

    def audit(self, slots: Int32s) -> None:
        if sorted(self.tables) != np.asarray(slots).tolist():
            raise inconsistent("override tables", self.tables, f"of {slots}")

    def log_density(self, state: Any) -> float:
        """Log prior density of kappa, if it has a prior."""
        return 0.0 if self.prior is None else float(log_density_at(self.prior, self.kappa))

    def scalars(self, state: Any) -> Mapping[str, float]:
        """kappa, and kappa / (alpha + kappa)."""
        alpha = float(state.hyperparameters.theta[self._first_row])
        return {"kappa": self.kappa, "share": self.kappa / (alpha + self.kappa)}

    def key(self) -> Any:
        """Override tables in the order of slots."""
        return tuple(self.tables[slot] for slot in sorted(self.tables))


class HomeState:
    """What the home of a customer may depend on: the dishes of other customers, and the restaurants."""

    def __init__(self, eaten: Eaten, rows: DishRows, first: int, n_fixed: int) -> None:
        # `first`: number of the first restaurant that belongs to no dish; those of dishes follow.
        self._eaten, self._rows, self._first, self._n_fixed = eaten, rows, first, n_fixed

    def dish_of(self, customer: int) -> int:
        """Slot of the dish of a data customer. Raises a StateError if the customer is not seated."""
        number = whole_number("customer", customer, remedy="The number of a data customer.")
        dish = int(self._eaten.dish_of(number))
        if dish == -1:
            raise StateError(
                "customer", customer, "seated: the home of another customer depends on its dish",
                "Seat customers in data order, and unseat them in the opposite order.",
            )  # fmt: skip
        return dish

    def row(self, dish: int) -> int:
        """Number of the restaurant of a dish.

        ``dish`` is what `dish_of` returned.
        """
        return self._first + self._n_fixed + self._rows.row(dish)

    def fixed(self, number: int) -> int:
        """Number of a restaurant that belongs to no dish.

        Raises a StateError if there is no such restaurant.

        ``number`` is from 0 to ``n_fixed`` - 1.
        """
        number = whole_number("number", number, -LARGEST, remedy="Return state.fixed(j), from 0.")
        if not 0 <= number < self._n_fixed:
            raise StateError(
                "number", number, f"from 0 to {self._n_fixed - 1}, below n_fixed", "Declare more in n_fixed."
            )
        return self._first + number


class StateHomes(abc.ABC):
    """Restaurants, one for each dish, whose customers are determined by the dishes of other customers.

    Pass an object of a subclass as ``each`` of one `Restaurant`; in a hidden Markov model, `PreviousDish`.
    All these restaurants have the same parent. A dish that is born gets an empty restaurant, and loses it
    when it dies. There can be 16,384 dishes at a time.

    Declarations below it are labels of the data: each label has a copy of all these restaurants, and a
    customer with the label sits in the copy of its home. In a hidden Markov model of several persons
    ``Restaurant(Restaurant(G0, each=PreviousDish()), each="person")`` gives each person transition
    probabilities around those that all share. The keys of copies are pairs (label, number).
    `moves.TableGibbs` and moves of hyperparameters serve it; `moves.BeamSampler` and `moves.SplitMergeStates`
    need the rule in the deepest declaration. There can be 262,144 restaurants of dishes and copies.

    When a move changes the dish of a customer, its `followers` change their restaurants and keep their
    dishes. The move multiplies the weight of each candidate by the predictive probability of the followers'
    dishes in their new restaurants, given the candidate's seat.

    Attributes
    ----------
    name : str
        Default name of the declaration.
    n_fixed : int
        Number of restaurants that belong to no dish, for instance that of the first customers of sequences.
    sticky : float or prior
        kappa: what the restaurant of a dish favours this dish by. It then draws from (alpha G0 + kappa
        delta_dish) / (alpha + kappa) with concentration alpha + kappa, where G0 is the distribution above it
        and alpha the declared concentration (Fox et al. 2008). It needs ``store="counts"``, two levels and a
        root with weights.
    start_concentration : float, prior or None
        Concentration of the restaurants that belong to no dish. None: that of the declaration.
    """

    name: str = "state"
    n_fixed: int = 0
    sticky: Any = 0.0
    start_concentration: Any = None

    def for_data(self, data: Any) -> StateHomes:
        """Return the rule for these data; by default the rule itself."""
        return self

    @abc.abstractmethod
    def home(self, customer: int, state: HomeState) -> int:
        """Number of the restaurant of a customer: ``state.fixed(j)`` or ``state.row(dish)``.

        Parameters
        ----------
        customer : int
        state : HomeState
            Only dishes of customers with smaller numbers may be used, because customers enter in data order.
            The customer's own dish is not available.
        """

    @abc.abstractmethod
    def followers(self, customer: int) -> Sequence[int]:
        """All customers whose home depends on the dish of this customer, ascending; not on the state."""


def _as_declared(declared: Any) -> Any:
    return declared if isinstance(declared, Prior) and not isinstance(declared, float) else as_float(declared)


def _sticky(declared: Any) -> Any:
    read_sticky(declared)
    return _as_declared(declared)


def _start_concentration(declared: Any) -> Any:
    return None if read_start(declared) is None else _as_declared(declared)


@attrs.frozen(eq=False)
class PreviousDish(StateHomes):
    """A hidden Markov model: the home of an observation is the restaurant of the dish before it.

    Pass it as ``each`` of a `Restaurant`, over `hdpkit.Sequences`; labels may follow below. A dish is a state
    of the chain, its restaurant the row of its transition probabilities. The first observations of all
    sequences are in one restaurant of their own, the start row, which is not sticky. The model is that of Teh
    et al. 2006, section 7.

    Parameters
    ----------
    sticky : float or prior
        kappa >= 0, which favours staying in a state (`StateHomes`). A number is fixed; a prior is resampled
        by `moves.Sticky`.
    start_concentration : float, prior or None
        Concentration of the start row, "concentration/start" in a trace: a number is fixed, a prior is
        resampled by `moves.Concentration`. None: that of the rows. It needs rows without a discount.
    name : str
        Name of the declaration.

    Examples
    --------
    >>> import hdpkit as hk
    >>> data = hk.Sequences.from_arrays([[0, 0, 1, 1], [0, 1]], n_terms=2)
    >>> G0 = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1, 1))
    >>> rows = hk.Restaurant(G0, concentration=hk.Gamma(1, 1), each=hk.PreviousDish(sticky=2.0))
    >>> franchise = hk.Franchise(rows, data, store="counts", root="weights")
    """

    sticky: Any = attrs.field(default=0.0, converter=_sticky)
    start_concentration: Any = attrs.field(default=None, kw_only=True, converter=_start_concentration)
    name: str = attrs.field(default="state", kw_only=True)
    begins: frozenset[int] = attrs.field(init=False, default=frozenset(), repr=False)
    n_customers: int = attrs.field(init=False, default=0, repr=False)

    n_fixed = 1

    @name.validator
    def _check_name(self, attribute: Any, value: Any) -> None:
        instance("name", value, str, "a non-empty string", remedy="Leave it out.")

    def for_data(self, data: Any) -> PreviousDish:
        """Return the rule for these sequences."""
        if not isinstance(data, Sequences):
            raise DeclarationError(
                "data", data, "hk.Sequences, where each is hk.PreviousDish",
                "Give the observations in order: hk.Sequences.from_arrays([first, second, ...]).",
            )  # fmt: skip
        bound = attrs.evolve(self)
        object.__setattr__(bound, "begins", frozenset(data.offsets[:-1][data.lengths > 0].tolist()))
        object.__setattr__(bound, "n_customers", len(data))
        return bound

    def home(self, customer: int, state: HomeState) -> int:
        """The start row for the first observation of a sequence, otherwise the row of the dish before."""
        return state.fixed(0) if customer in self.begins else state.row(state.dish_of(customer - 1))

    def followers(self, customer: int) -> Sequence[int]:
        """The next observation of the sequence, if there is one."""
        after = customer + 1
        return [after] if after < self.n_customers and after not in self.begins else []
