"""Proposals: changes of a state that are kept if they are accepted, and taken back exactly if not."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import choice, instance, whole_number
from hdpkit.errors import HdpkitError, StateError
from hdpkit.franchise.arguments import ARGUMENTS, check_birth
from hdpkit.franchise.guard import Locked, changes
from hdpkit.franchise.population import thaw_part
from hdpkit.franchise.scores import log_seating_of_restaurant
from hdpkit.numerics import add_up
from hdpkit.parts import IntegrablePart
from hdpkit.random import ChoiceSource
from hdpkit.steps.journal import Journal, can_copy
from hdpkit.steps.step import BY_STATE
from hdpkit.stores import TakesBack

_LARGEST = 2**31 - 2  # number of a slot or of a table


class Proposal(Locked):
    """A change of a state, which is taken back at the end of its block unless it is accepted.

    Returned by `Franchise.proposal`. Customers are data customers, in data order; dishes are slots, as
    `Franchise.unit_dishes` returns them; tables have the numbers of the seating
    (``state.seating.table_at(customer)``). Numbers of tables are the same after the change was taken back.

    A ParameterError or StateError of a method changes nothing, and the proposal can go on.
    """

    def __init__(self, state: Any, source: ChoiceSource | None) -> None:
        self._state = state
        self.access = state.access
        self._source = source
        self._unseated: set[int] = set()
        self._parts: dict[str, Any] | None = None  # frozen, once they may change
        log_base = state.bank.log_base.item if state.measure.atomic else None
        numbers, parent = state.hyperparameters, state.topology.parent
        self._journal = Journal(
            state._seating, state.bank, state.slots, parent, numbers, log_base, state.root.most_dishes
        )
        self._density = self._log_parts()  # before the change

    def _outside(self, aside: bool = False) -> None:
        state = self._state
        if state._proposal is not self:
            raise StateError(
                "proposal", "accepted, or its block has ended", "one whose block runs",
                "Change the state by it before accept(), inside `with state.proposal() as p:`.",
            )  # fmt: skip
        state._outside(aside=True)

    # ------------------------------------------------------------------ data customers

    @changes
    def unseat(self, customer: int) -> None:
        """Unseat a data customer, and remove tables that become empty and a dish without customers.

        Raises a StateError if the customer isn't seated, or is held.
        """
        state, customer = self._state, self._checked(customer, seated=True)
        self.access.change(self._unseat, customer, int(state._seating.dish_of(customer)))
        self._unseated.add(customer)

    def _unseat(self, customer: int, dish: int) -> None:
        block = np.array([customer], dtype=np.int32)
        self._journal.remove_values(dish, block)
        if self._journal.unseat(customer, self._home(customer), dish):
            self._keep_parts()
            self._journal.close_dish(dish)
        self._changed()

    @changes
    def seat(self, customer: int, table: int | None = None, dish: int | None = None) -> int:
        """Seat an unseated data customer at a given table.

        Nothing is drawn. A table of the customer's restaurant has one customer more. With a table of a
        restaurant above, a new table opens in each restaurant below that, and the highest of them sits at the
        given one. Without a table, new tables open in all restaurants up to the root. A latent dish has one
        table at the root, at which the last of them sits if the dish exists. Returns the slot of the
        customer's dish. Raises a StateError if the customer is seated, there is no such table on the way to
        the root, it serves another dish, or there is no such dish or no unused one.

        Parameters
        ----------
        customer : int
        table : int, optional
            Of the customer's restaurant, or of one above.
        dish : int, optional
            Slot of a dish for new tables. None: that of ``table``, otherwise a new dish; if dishes are
            observed, the customer's value.
        """
        state, customer = self._state, self._checked(customer, seated=False)
        if table is not None:
            dish = self._served(customer, table, dish)
        if state.measure.atomic:
            own = int(state.data.values[customer])
            if dish is not None and dish != own:
                raise StateError("dish", dish, f"{own}, the customer's value", "Observed dishes are given.")
            dish = own
        slot: int = self.access.change(self._seat, customer, table, self._checked_dish(dish))
        self._unseated.discard(customer)
        return slot

    def _seat(self, customer: int, table: int | None, dish: int | None) -> int:
        slot, block = self._dish_or_new(dish), np.array([customer], dtype=np.int32)
        self._journal.seat(customer, self._home(customer), slot, table)
        self._journal.add_values(slot, block)
        self._changed()
        return slot

    # ------------------------------------------------------------------ customers of the root

    @changes
    def move_units(self, units: Any, which: npt.ArrayLike, dish: int | None = None) -> int:
        """Change the dish of customers of the root, and of all customers below them.

        The units remain valid, also after the change was taken back. Returns the slot of the dish. Raises a
        StateError if a customer below is held, a unit is a known component, units are out of date, or there
        is no such dish or no unused one.

        Parameters
        ----------
        units : units
            What ``units(1)`` returned, of the current seating.
        which : int64 array, shape (n,)
            Places in ``units``, at least one.
        dish : int, optional
            Slot of a dish; None: a new one.
        """
        state = self._state
        units, places = ARGUMENTS["free places"].check(state, units, which)
        if (np.asarray(units.gather(places)) >= state.topology.n_customers).any() or not len(places):
            raise StateError(
                "which", which, "one or more units, without known components",
                "Compare unit_dishes with held_dishes().",
            )  # fmt: skip
        dish = self._checked_dish(dish)
        return self.access.change(self._move, units, places.tolist(), dish)

    def _move(self, units: Any, places: list[int], dish: int | None) -> int:
        store, journal = self._state._seating, self._journal
        new = self._dish_or_new(dish)
        journal.add(0.0, partial(units.renew, store))  # all numbers of tables are as they were
        codes = units.codes
        for u in places:
            block = units.customers(u)
            old = store.dish_of(block[0])
            if old != new:
                if store.customers(0, old) == 1:
                    self._keep_parts()
                journal.move(int(codes[u]), block, units.tables(u), old, new)
        units.renew(store)
        self._changed()
        return new

    # ------------------------------------------------------------------ hyperparameters and parts

    @changes
    def set_hyperparameters(
        self, name: str, concentration: npt.ArrayLike | None = None, discount: npt.ArrayLike | None = None
    ) -> None:
        """Set the concentration or the discount of a declaration, or both.

        The cost grows with the number of its restaurants and of their tables. Raises a ParameterError if
        there is no such declaration, or a value is outside 0 <= discount < 1, concentration > -discount.

        Parameters
        ----------
        name : str
            Name of the declaration.
        concentration, discount : float, or float array of shape (n,), optional
            The same for all its restaurants, or one each if they have separate values.
        """
        given = {"concentration": concentration, "discount": discount}
        values = {key: value for key, value in given.items() if value is not None}
        self.access.change(self._set, *self._state.hyperparameters.checked(name, **values))

    def _set(self, nodes: Any, theta: Any, d: Any) -> None:
        state, numbers = self._state, self._state.hyperparameters
        restaurants = np.arange(len(numbers.theta))[nodes].tolist()
        before = self._log_seating(restaurants) + state.log_prior()
        old = numbers.theta[nodes].copy(), numbers.d[nodes].copy()
        numbers.put(nodes, theta, d)
        after = self._log_seating(restaurants) + state.log_prior()
        self._journal.add(after - before, partial(numbers.put, nodes, *old))
        self._changed()

    def _log_seating(self, nodes: list[int]) -> float:
        """log p(seating) of some restaurants."""
        store, numbers, total = self._state._seating, self._state.hyperparameters, 0.0
        for node in nodes:
            sizes = [store.table_sizes(node, dish) for dish in store.node_dishes(node).tolist()]
            if sizes and not (node == 0 and self._journal.n_weights is not None):
                theta, d = float(numbers.theta[node]), float(numbers.d[node])
                total += log_seating_of_restaurant(np.concatenate(sizes), theta, d)
        return total

    @changes
    def set_part(self, name: str, frozen: Any) -> None:
        """Replace the values of a part of the state that was registered, or of the weights of the root.

        Raises a ParameterError if there is no such part, or the base measure has it; a DataError if the part
        doesn't accept the values; a StateError if it is integrated out.

        Parameters
        ----------
        name : str
            Its name in ``state.parts``.
        frozen : dict
            As its method ``freeze`` returns it.
        """
        state = self._state
        choice(
            "name", name, [name for name in state.parts if name not in state.measure_parts],
            remedy="A part of the state, but none of the base measure.",
        )  # fmt: skip
        if getattr(state.parts[name], "integrated", None) is not None:
            raise StateError(
                "part", name, "one that isn't integrated out", "Set it outside parts_integrated(rng)."
            )
        instance("frozen", frozen, dict, "a dict", remedy="What the part's freeze returns.")
        error = self.access.change(self._set_part, name, frozen)
        if error is not None:
            raise error

    def _set_part(self, name: str, frozen: dict[str, Any]) -> HdpkitError | None:
        part = self._state.parts[name]
        before = part.freeze()
        self._keep_parts()
        try:
            thaw_part(name, part, frozen)
        except HdpkitError as error:
            thaw_part(name, part, before)
            return error
        self._changed()
        return None

    # ------------------------------------------------------------------ the decision

    @property
    def log_ratio(self) -> float:
        """Log joint density of the state as changed, minus that before the proposal, in nats.

        It is the difference of `Franchise.log_joint`, up to rounding, computed from the changes: of log
        p(seating), of log p(data | dishes) for customers who are seated, of log priors, and of the log
        densities of the parts that aren't integrated out.
        """
        self._outside()
        return self._journal.log_ratio + self._log_parts() - self._density

    @changes
    def accept(self) -> None:
        """Keep the change. The rest of the block may change the state in any way.

        Raises a StateError if a customer whom the proposal unseated is not seated again.
        """
        if self._unseated:
            raise StateError(
                "customers", sorted(self._unseated), "seated again before accept()",
                "Call seat(customer, ...) for each of them.",
            )  # fmt: skip
        self._state._proposal = None

    def _end(self) -> None:
        """Take the change back, unless it was accepted or the whole state was replaced."""
        state = self._state
        if state._proposal is not self:
            return
        self._journal.take_back()
        if self._parts is not None:
            state.parts.reset()
            state.parts.thaw(self._parts)
        state._proposal = None
        state.n_changes += 1

    # ------------------------------------------------------------------ in common

    def _checked(self, customer: Any, seated: bool) -> int:
        """A data customer who is seated, or who isn't."""
        state = self._state
        last = state.topology.n_customers - 1
        customer = whole_number("customer", customer, 0, last, remedy="A data customer, in data order.")
        state.held.check_free(customer, customer + 1)
        if (state._seating.dish_of(customer) >= 0) != seated:
            raise StateError(
                "customer", customer, "seated" if seated else "not seated",
                "Call unseat(customer) once, then seat(customer, ...).",
            )  # fmt: skip
        return customer

    def _served(self, customer: int, table: Any, dish: Any) -> int:
        """The dish of a table at which a customer may sit."""
        store, parent = self._state._seating, self._state.topology.parent
        table = whole_number("table", table, 0, _LARGEST, remedy="See state.seating.table_at(customer).")
        served, node = int(store.table_dish(table)), self._home(customer)
        at = store.table_node(table) if served >= 0 else -1
        while node > at:  # parents have smaller numbers
            node = int(parent[node])
        if served < 0 or node != at or dish not in (None, served):
            raise StateError(
                "table", table, "one of the customer's restaurant, or of one above, that serves the dish",
                "Take the table of another customer: state.seating.table_at(customer).",
            )  # fmt: skip
        return served

    def _checked_dish(self, dish: Any) -> int | None:
        state = self._state
        if dish is not None:
            ARGUMENTS["dish"].check(state, dish)
        elif len(state.slots) == state.root.most_dishes:
            raise StateError("dish", None, "one that exists: no unused dish is left", "Give its slot.")
        else:
            check_birth(state, self._source, "proposal")
        return dish

    def _dish_or_new(self, dish: int | None) -> int:
        if dish is not None:
            return int(dish)
        self._keep_parts()
        return self._journal.open_dish(self._source)

    def _home(self, customer: int) -> int:
        return int(self._state.topology.home[customer])

    def _keep_parts(self) -> None:
        """Freeze all parts before the first birth or death of a dish."""
        if self._parts is None:
            self._parts = self._state.parts.freeze()

    def _changed(self) -> None:
        self._state.n_changes += 1
        self._state._raise_trouble()

    def _log_parts(self) -> float:
        """Log density of the parts that aren't integrated out."""
        state = self._state
        parts = [part for part in state.parts.values() if getattr(part, "integrated", None) is None]
        return add_up(part.log_density(state) for part in parts)


def propose(state: Any, source: ChoiceSource | None) -> Proposal:
    """Begin a proposal."""
    state._proposal = Proposal(state, source)
    return state._proposal


def check_proposal(state: Any) -> None:
    """Raise an error unless a state can take changes back."""
    state._outside()
    state._need_tables()
    store, measure = state._seating, state.measure
    if not isinstance(store, TakesBack):
        raise StateError(
            "store", type(store).__name__, "one that takes changes back",
            "Define the methods of hdpkit.stores.protocol.TakesBack, or use store='explicit'.",
        )  # fmt: skip
    if state.topology.kind in BY_STATE:
        raise StateError(
            "each", state.topology.kind, "a label, where a proposal changes seats",
            "In a hidden Markov model use TableGibbs, SplitMergeStates or BeamSampler.",
        )  # fmt: skip
    if state.topology.lead is not None:
        raise StateError(
            "base", "several parents", "one restaurant, where a proposal changes seats",
            "With hk.MixtureOf use TableGibbs, DishGibbs and ParentWeights.",
        )  # fmt: skip
    kept = [part for part in state.measure_parts.values() if not isinstance(part, IntegrablePart)]
    kept += [part for part in state.measure_parts.values() if getattr(part, "integrated", None) is None]
    copied = measure.exact_statistics or can_copy(state.bank)
    if not measure.conjugate or measure.seats_values or kept:
        raise StateError(
            "measure", type(measure).__name__, "conjugate, without values of its own in the state",
            "Work inside parts_integrated(rng) if it keeps proportions; a SharedValue is not served.",
        )  # fmt: skip
    if not copied:
        raise StateError(
            "measure", type(measure).__name__, "one whose statistics can be copied",
            "Work outside at_power(). A measure in C needs exact_statistics = True.",
        )  # fmt: skip
