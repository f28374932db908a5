"""The two kinds of dishes: latent ones, which are born and die, and observed ones, which are values.

The kind is chosen once, when a franchise is built (`dish_kind_of`); other code calls its methods. In kernels
the root has the corresponding functions (`hdpkit.franchise.reference.root`).
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import DataError, ParameterError, StateError
from hdpkit.stores import ObservesDishes

__all__ = ["LatentDishes", "ObservedDishes", "dish_kind_of"]

Ints = npt.NDArray[Any]


class LatentDishes:
    """Latent dishes: they are born with their first customer and die with their last.

    Parameters
    ----------
    state : State
        The state that the methods read, by a weak reference.
    """

    name = "latent"

    def __init__(self, state: Any) -> None:
        self._of = weakref.ref(state)  # weak, because the state refers to this object

    @property
    def state(self) -> Any:
        """The franchise that it belongs to."""
        return self._of()

    # ------------------------------------------------------------------ declarations

    def check_root(self, root: Any) -> None:
        """Raise an error if this root is not possible with these dishes."""

    def root_kind(self, kind: str) -> str:
        """Key of `ROOTS` for the distribution of the root's children; ``kind`` if dishes are latent."""
        return kind

    def show_to(self, store: Any, bank: Any) -> None:
        """Let an empty store read dishes from the data, if it can."""

    # ------------------------------------------------------------------ the present dishes

    def slots(self, slots: Any, bank: Any) -> Any:
        """The occupied slots, given those of a frozen state."""
        return slots

    def number(self) -> int:
        """Number of dishes that have customers, K."""
        return len(self.state.slots)

    def open(self) -> list[int]:
        """Dishes without customers."""
        state = self.state
        if state.seating.node_tables(0) == len(state.slots):
            return []
        served = {int(dish) for dish in state.seating.node_dishes(0)}
        return [slot for slot in state.slots.occupied_slots().tolist() if slot not in served]

    def close_open(self) -> None:
        """Close dishes that were opened for later customers."""
        for slot in self.state.slots.occupied_slots().tolist():
            if self.state.seating.tables(0, slot) == 0:
                self.state.slots.close(slot)

    def to_count(self, slots: Ints) -> Ints:
        """Dish of each customer, for computing statistics of dishes."""
        state = self.state
        return state._for_bank(state.seating.dishes()) if len(slots) else np.empty(0, dtype=np.int32)

    def check_latent(self) -> None:
        """Raise an error if dishes are observed, for verbs that propose dishes."""

    # ------------------------------------------------------------------ given dishes

    def check_start(self, init: Any) -> None:
        """Raise an error if this start, which assigns dishes, is not possible."""

    def check_given(self, given: Ints, first: int, last: int) -> None:
        """Raise an error if customers first .. last - 1 can't have these dishes."""

    def chosen(self, customer: int, dish: int | None) -> int | None:
        """The dish that a user assigns to a customer; None if it is drawn or follows from the data."""
        return dish

    def frozen(self) -> tuple[Ints, int] | None:
        """Each customer's dish in any frozen state, and the number of dishes; None if states differ."""
        return None

    # ------------------------------------------------------------------ repair of a seating

    def agree(self, root: Ints) -> bool:
        """Whether the occupied slots fit a root that serves these dishes."""
        return bool(self.state.slots.occupied_slots().tolist() == root.tolist())

    def for_lost(self, dishes: Ints, lost: Ints, most: int | None) -> Ints:
        """Dishes for customers who have lost theirs: one each, or a common one if there would be too many."""
        there = np.unique(dishes[dishes >= 0])
        if most is not None and len(there) + len(lost) > most:
            return np.full(len(lost), there[0] if len(there) else 0)
        first = int(dishes.max(initial=-1)) + 1
        return np.arange(first, first + len(lost))

    def root_agrees(self, tables: Ints) -> bool:
        """Whether the root may have these numbers of tables."""
        return bool(np.all(tables == 1))

    # ------------------------------------------------------------------ scores

    def check_counted(self) -> None:
        """Raise an error if terms can't be counted by dish."""

    def log_likelihood(self, fresh_bank: Callable[[], Any]) -> float:
        """log p(data | dishes), dish parameters integrated out."""
        slots, statistics = self.state.slots.occupied_slots(), fresh_bank()
        whole = getattr(statistics, "log_marginal_total", None)
        total = None if whole is None else whole(slots)
        if total is None:
            dishes = self.state.dishes_for_bank() if getattr(statistics, "needs_dishes", True) else None
            total = np.sum(statistics.log_marginals(slots, dishes))
        return float(total)


class ObservedDishes(LatentDishes):
    """Observed dishes: each possible value is a dish that always exists; a customer's dish is its value."""

    name = "observed"

    def check_root(self, root: Any) -> None:
        """Raise an error for roots with weights, which are assigned at births of dishes."""
        if root != "restaurant":
            raise ParameterError(
                "root", root, '"restaurant" over a measure with atoms',
                "All observed dishes exist from the start: no new dish is opened that could draw a weight.",
            )  # fmt: skip

    def root_kind(self, kind: str) -> str:
        """The root of atoms."""
        return "atoms"

    def show_to(self, store: Any, bank: Any) -> None:
        """Let the store read the values, if it can."""
        if isinstance(store, ObservesDishes):
            store.observe(bank.values)

    def slots(self, slots: Any, bank: Any) -> Any:
        """All atoms."""
        return np.arange(len(bank.log_base))

    def number(self) -> int:
        """The root's dishes."""
        return len(self.state.seating.node_dishes(0))

    def open(self) -> list[int]:
        """None: atoms exist without customers."""
        return []

    def close_open(self) -> None:
        """Does nothing: atoms are never closed."""

    def to_count(self, slots: Ints) -> Ints:
        """No dishes: atoms have no statistics."""
        return np.empty(0, dtype=np.int32)

    def check_latent(self) -> None:
        """Raise a StateError."""
        raise StateError(
            "dishes", "observed", "latent, where dishes are proposed or opened",
            "A customer's dish is its value: check(state) of the move should refuse it.",
        )  # fmt: skip

    def check_start(self, init: Any) -> None:
        """Raise a ParameterError."""
        raise ParameterError(
            "init", init, '"auto", "sequential", a state, or None: dishes are observed',
            "Use the default, which seats each customer with its own value.",
        )  # fmt: skip

    def check_given(self, given: Ints, first: int, last: int) -> None:
        """Raise an error for dishes that are not the customers' values."""
        if not np.array_equal(given[first:last], self.state.data.values[first:last]):
            raise ParameterError("dishes", given, "the customers' values", "Observed dishes can't be chosen.")

    def chosen(self, customer: int, dish: int | None) -> int | None:
        """Raise an error for a dish that is not the customer's value."""
        own = int(self.state.data.values[customer])
        if dish is not None and dish != own:
            raise ParameterError("dish", dish, f"{own}, the customer's value", "Leave it out.")
        return None

    def frozen(self) -> tuple[Ints, int] | None:
        """The values."""
        bank = self.state.bank
        return bank.values, len(bank.log_base)

    def agree(self, root: Ints) -> bool:
        """True: all atoms always exist."""
        return True

    def for_lost(self, dishes: Ints, lost: Ints, most: int | None) -> Ints:
        """Their values."""
        found: Ints = np.asarray(self.state.data.values)[lost]
        return found

    def root_agrees(self, tables: Ints) -> bool:
        """Several tables of the root may serve a value."""
        return True

    def check_counted(self) -> None:
        """Raise a DataError."""
        raise DataError(
            "base", type(self.state.measure).__name__, "a measure over latent dishes",
            "Observed dishes are the terms themselves: count franchise.dishes.",
        )  # fmt: skip

    def log_likelihood(self, fresh_bank: Callable[[], Any]) -> float:
        """Each table of the root is a draw from H: the sum of log H over them."""
        served = self.state.seating.node_dishes(0)
        tables = [self.state.seating.tables(0, dish) for dish in served.tolist()]
        return math.fsum(np.array(tables) * self.state.bank.log_base[served])


def dish_kind_of(state: Any) -> LatentDishes:
    """Return the kind of dishes of a state's measure."""
    return (ObservedDishes if state.measure.atomic else LatentDishes)(state)
