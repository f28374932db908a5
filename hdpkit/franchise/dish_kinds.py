"""The dishes of a state: latent or observed, and the parts that are notified of them.

Outside the kernels everything that depends on the kind of dishes is here: which dishes exist, which starts
are allowed, how data are simulated. If a base measure has atoms, a slot is an atom: all slots are always
occupied, no dish is created or removed, and the root may have several tables of a dish. A frozen state is
accepted only if its dishes are the values of the customers.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hdpkit.arrays import AnyInts
from hdpkit.checks import instance, one_of_kind, text
from hdpkit.errors import DataError, HdpkitError, ParameterError, ReturnValueError, StateError
from hdpkit.numerics import add_up
from hdpkit.parts import Attached, IntegrablePart, Part
from hdpkit.random import ChoiceSource
from hdpkit.stores import ObservesDishes


def cloned(name: str, part: Part, state: Any) -> Part:
    """Return a clone of a part for a franchise, or raise a ReturnValueError."""
    remedy = "Define clone(self, state): it returns a part for a copy of the franchise."
    try:
        made = part.clone(state)
    except (TypeError, copy.Error, NotImplementedError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ReturnValueError(f"clone() of the part {name!r}", what, "a part", remedy) from error
    if not isinstance(made, Part):
        raise ReturnValueError(f"clone() of the part {name!r}", made, "a part", remedy)
    return made


class Parts(Mapping[str, Part]):
    """The parts of one franchise, by name, in the order of registration."""

    def __init__(self, slots: Any) -> None:
        self.slots = slots
        self._by_name: dict[str, Part] = {}

    def __getitem__(self, name: str) -> Part:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return repr(self._by_name)

    def register(self, name: str, part: Part) -> None:
        """See `Franchise.register`."""
        text("name", name, remedy="It is the component's name in saved states.")
        instance("component", part, Part, "a Part", remedy="Derive it from hk.Part.")
        if name in self:
            raise ParameterError("name", name, "a name that is not taken", f"Taken: {sorted(self)}.")
        part.reset(self.slots.occupied_slots())  # first, because user code may fail
        self._by_name[name] = part
        self.slots.add_part(part)

    def reset(self) -> None:
        """Notify all parts of the occupied slots."""
        for part in self.values():
            part.reset(self.slots.occupied_slots())

    def freeze(self) -> dict[str, dict[str, Any]]:
        """The states of all parts by name."""
        return {
            name: one_of_kind(part, "freeze", part.freeze(), dict, "a dict") for name, part in self.items()
        }

    def thaw(self, frozen: Mapping[str, Any]) -> None:
        """Restore the state of every part that has one."""
        for name, part in self.items():
            if name in frozen:
                thaw_part(name, part, frozen[name])

    def start(self, state: Any, frozen: Mapping[str, Any], source: ChoiceSource) -> None:
        """Draw the parts that have no frozen state."""
        for name, part in self.items():
            if name not in frozen:
                part.started(state, source)

    def integrate(self, source: ChoiceSource, parts: Iterable[Any]) -> list[IntegrablePart]:
        """Integrate out those of these parts for which it is possible and not done yet; return them."""
        begun = [part for part in parts if isinstance(part, IntegrablePart) and part.integrated is None]
        for part in begun:
            part.integrated = source
        return begun

    def draw(self, begun: Sequence[IntegrablePart]) -> None:
        """Draw these parts again."""
        for part in begun:
            if part.integrated is not None:
                part.draw(part.integrated)
                part.integrated = None

    def log_density(self, state: Any) -> float:
        """Log density of all parts given the rest of the state, in nats."""
        return add_up(part.log_density(state) for part in self.values())


def thaw_part(name: str, part: Part, frozen: dict[str, Any]) -> None:
    """Restore the state of a part; raises a DataError if it doesn't accept this one."""
    try:
        part.thaw(frozen)
    except HdpkitError:
        raise
    except Exception as error:  # any exception of the part's code
        raise DataError(
            f"component {name!r}, in the frozen state", f"{type(error).__name__}: {error}",
            "what its freeze returned", "Thaw a state of the same part.",
        ) from error  # fmt: skip


class LatentDishes(Attached):
    """Latent dishes: they are born with their first customer and die with their last."""

    name = "latent"

    # ------------------------------------------------------------------ declarations

    def check_root(self, root: Any) -> None:
        """Raise an error if this root is not possible with these dishes."""

    def root_kind(self, kind: str) -> str:
        """Key of `ROOTS` for the distribution of the root's children; ``kind`` if dishes are latent."""
        return kind

    def show_to(self, store: Any, bank: Any) -> None:
        """Let an empty store read dishes from the data, if it can."""

    # ------------------------------------------------------------------ the current dishes

    def slots(self, slots: Any, bank: Any) -> Any:
        """The occupied slots, given those of a frozen state."""
        return slots

    def number(self) -> int:
        """Number of dishes that have customers, K."""
        return len(self.state.slots)

    def open(self) -> list[int]:
        """Dishes without customers."""
        state = self.state
        if state._seating.node_tables(0) == len(state.slots):
            return []
        served = {int(dish) for dish in state.seating.node_dishes(0)}
        return [slot for slot in state.slots.occupied_slots().tolist() if slot not in served]

    def to_count(self, slots: AnyInts) -> AnyInts:
        """Dish of each customer, for computing statistics of dishes."""
        state = self.state
        return state.population.dishes() if len(slots) else np.empty(0, dtype=np.int32)

    def check_latent(self) -> None:
        """Raise an error if dishes are observed, for steps that propose dishes."""

    # ------------------------------------------------------------------ given dishes

    def check_start(self, init: Any) -> None:
        """Raise an error if this start, which assigns dishes, is not possible."""

    def check_given(self, given: AnyInts, first: int, last: int) -> None:
        """Raise an error if customers first .. last - 1 can't have these dishes."""

    def chosen(self, customer: int, dish: int | None) -> int | None:
        """The dish that a user assigns to a customer; None if it is drawn or follows from the data."""
        return dish

    def frozen(self) -> tuple[AnyInts, int] | None:
        """Each customer's dish in any frozen state, and the number of dishes; None if states differ."""
        return None

    # ------------------------------------------------------------------ scores

    def check_counted(self) -> None:
        """Raise an error if terms can't be counted by dish."""

    def log_likelihood(self) -> float:
        """log p(data | dishes), dish parameters integrated out."""
        slots, statistics = self.state.slots.occupied_slots(), self.state.bank
        whole = getattr(statistics, "log_marginal_total", None)
        total = None if whole is None else whole(slots)
        if total is None:
            dishes = self.state.population.dishes() if getattr(statistics, "needs_dishes", True) else None
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
        return "atoms"

    def show_to(self, store: Any, bank: Any) -> None:
        """Let the store read the values, if it can."""
        if isinstance(store, ObservesDishes):
            store.observe(bank.values)

    def slots(self, slots: Any, bank: Any) -> Any:
        return np.arange(len(bank.log_base))

    def number(self) -> int:
        return len(self.state.seating.node_dishes(0))

    def open(self) -> list[int]:
        """None: atoms exist without customers."""
        return []

    def to_count(self, slots: AnyInts) -> AnyInts:
        """No dishes: atoms have no statistics."""
        return np.empty(0, dtype=np.int32)

    def check_latent(self) -> None:
        raise StateError(
            "dishes", "observed", "latent, where dishes are proposed or opened",
            "A customer's dish is its value: check(state) of the move should refuse it.",
        )  # fmt: skip

    def check_start(self, init: Any) -> None:
        raise ParameterError(
            "init", init, '"auto", "sequential", a state, or None: dishes are observed',
            "Use the default, which seats each customer with its own value.",
        )  # fmt: skip

    def check_given(self, given: AnyInts, first: int, last: int) -> None:
        if not np.array_equal(given[first:last], self.state.data.values[first:last]):
            raise ParameterError("dishes", given, "the customers' values", "Observed dishes can't be chosen.")

    def chosen(self, customer: int, dish: int | None) -> int | None:
        own = int(self.state.data.values[customer])
        if dish is not None and dish != own:
            raise ParameterError("dish", dish, f"{own}, the customer's value", "Leave it out.")
        return None

    def frozen(self) -> tuple[AnyInts, int] | None:
        bank = self.state.bank
        return bank.values, len(bank.log_base)

    def check_counted(self) -> None:
        raise DataError(
            "base", type(self.state.measure).__name__, "a measure over latent dishes",
            "Observed dishes are the terms themselves: count franchise.dishes.",
        )  # fmt: skip

    def log_likelihood(self) -> float:
        """Each table of the root is a draw from H: the sum of log H over them."""
        seating = self.state.seating
        served = seating.node_dishes(0)
        tables = [seating.tables(0, dish) for dish in served.tolist()]
        return math.fsum(np.array(tables) * self.state.bank.log_base[served])


def dish_kind_of(state: Any) -> LatentDishes:
    """Return the kind of dishes of a state's measure."""
    return (ObservedDishes if state.measure.atomic else LatentDishes)(state)
