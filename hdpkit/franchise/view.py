"""Live views of single restaurants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import whole_number
from hdpkit.errors import BusyError, ClosedError, ParameterError, StateError, printable
from hdpkit.franchise.guard import Locked, changes
from hdpkit.franchise.steps import Steps
from hdpkit.random import ChoiceSource, Purpose, Seed


class RestaurantView(Locked):
    """A live view of one restaurant of a franchise, without copies; dishes are numbered as in `dishes`.

    Returned by `Franchise.restaurant`.
    """

    def __init__(self, state: Steps, declaration: int, name: str, key: Any) -> None:
        self._state = state
        self.access = state.access
        self.name = name
        self.key = key
        self._declaration = declaration
        self.node  # noqa: B018 - raises an error if there is no such restaurant

    def _outside(self, aside: bool = False) -> None:
        self._state._outside(aside)

    @property
    def node(self) -> int:
        """Current number of the restaurant; those of contexts are created and removed, so it can change."""
        return self._state.topology.node(self._declaration, self.key, self.name)

    def __repr__(self) -> str:
        label = self.name if self.key is None else f"{self.name} {self.key!r}"
        try:
            counts = f"{self.n_customers} customers at {self.n_tables} tables, {len(self.dishes)} dishes"
        except BusyError:
            counts = "in use by another thread"
        except ClosedError:
            counts = "closed"
        return f"<{printable(label)}: {counts}>"

    def _slot(self, dish: int) -> int:
        live = self._state.slots.occupied_slots()
        return int(live[whole_number("dish", dish, 0, len(live) - 1, remedy="See franchise.n_dishes.")])

    def _n_dishes(self) -> int:
        return self._state.dish_kind.number()

    @property
    def concentration(self) -> float:
        """Concentration of the restaurant."""
        return float(self._state.hyperparameters.theta[self.node])

    @property
    def discount(self) -> float:
        """Discount of the restaurant."""
        return float(self._state.hyperparameters.d[self.node])

    @property
    def n_customers(self) -> int:
        """Number of customers: its data and the tables of its children."""
        return sum(map(self._state.seating.node_customers, self._arms))

    @property
    def n_tables(self) -> int:
        """Number of tables."""
        return sum(map(self._state.seating.node_tables, self._arms))

    @property
    def tables_by_parent(self) -> dict[str, int]:
        """Number of tables that chose each parent, by the parent's declaration."""
        state = self._state
        base, topology = state.declarations[self._declaration].base, state.topology
        above = [int(topology.parent[arm]) for arm in self._arms if topology.parent[arm] >= 0]
        names = [state.declarations[int(topology.declaration[node])].name for node in above]
        if len(above) > 1:
            names = [one.name for one in base.restaurants]
        return dict(zip(names, map(state.seating.node_tables, self._arms), strict=False))

    @property
    def _arms(self) -> Sequence[int]:
        """Nodes of the store that have its tables."""
        return self._state.topology.arms(self.node)

    @property
    def customers(self) -> npt.NDArray[np.int64]:
        """Numbers of the data customers of this restaurant, seated or not, ascending."""
        topology = self._state.topology.placed(self._state.seating)
        return np.flatnonzero(topology.home[: topology.n_customers] == self.node)

    @property
    def dishes(self) -> npt.NDArray[np.int64]:
        """Dishes in this restaurant, ascending."""
        place = self._state.slots.place
        served = [self._state.seating.node_dishes(arm) for arm in self._arms]
        return np.array([place(k) for k in np.unique(np.concatenate(served))], dtype=np.int64)

    def customers_of(self, dish: int) -> int:
        """Customers of a dish in this restaurant."""
        slot = self._slot(dish)
        return sum(self._state.seating.customers(arm, slot) for arm in self._arms)

    def tables_of(self, dish: int) -> int:
        """Tables of a dish in this restaurant."""
        slot = self._slot(dish)
        return sum(self._state.seating.tables(arm, slot) for arm in self._arms)

    def table_sizes(self, dish: int | None = None) -> npt.NDArray[np.int32]:
        """Sizes of the tables of a dish (or of all tables, dish by dish), ascending within a dish."""
        store, arms = self._state.seating, self._arms
        if dish is not None:
            served = [self._slot(dish)]
        else:
            served = np.unique(np.concatenate([store.node_dishes(arm) for arm in arms])).tolist()
        sizes = [np.sort(np.concatenate([store.table_sizes(arm, k) for arm in arms])) for k in served]
        return np.concatenate([np.empty(0, dtype=np.int32), *sizes])

    def probability(self, dish: int | None = None) -> float:
        """Predictive probability that a new customer of this restaurant has this dish; None: a new dish."""
        walk = self._state.walk()
        if dish is None:
            return float(walk.prior_row(self.node)[-1])
        return float(walk.probability(self.node, self._slot(dish)))

    def probabilities(self) -> npt.NDArray[np.float64]:
        """Predictive probability of each dish and, last, of a new one: shape (K + 1,)."""
        return self._state.walk().prior_row(self.node)

    @changes
    def unseat(self, customer: int, rng: ChoiceSource | Seed = None) -> None:
        """Unseat a data customer of this restaurant, and remove tables that become empty.

        Calls with a seed are counted: a second call with the same seed uses other random numbers. Raises a
        StateError if the customer is not seated.

        Parameters
        ----------
        customer : int
            Its number among all data customers.
        rng : seed, Generator or choice source
        """
        dish = self._check(customer, seated=True)
        source = self._state._own_source(rng, Purpose.UNSEAT)
        self._state.access.change(self._take_out, customer, dish, source)

    def _take_out(self, customer: int, dish: int, source: ChoiceSource) -> None:
        self._state.bank.remove(dish, [customer])
        if self._state.walk().unseat(customer, self.node, dish, source):
            self._state.slots.close(dish)
        self._state._raise_trouble()

    @changes
    def seat(self, customer: int, dish: int | None = None, rng: ChoiceSource | Seed = None) -> None:
        """Seat an unseated data customer of this restaurant.

        With ``dish`` (``n_dishes`` for a new one) at a table of that dish; otherwise the dish is drawn from
        its conditional distribution given all seated customers. Over a `NonConjugate` measure, a customer who
        was the last of a dish takes its parameter to a new dish; any other new dish draws its parameter.
        Calls with a seed are counted, as in `unseat`. Raises a StateError if the customer is seated.

        Parameters
        ----------
        customer : int
            Its number among all data customers.
        dish : int, optional
            As in `Franchise.dishes`; ``n_dishes`` is a new one.
        rng : seed, Generator or choice source
        """
        self._check(customer, seated=False)
        dish = self._state.dish_kind.chosen(customer, dish)
        if dish is not None:
            dish = whole_number("dish", dish, 0, self._n_dishes(), remedy="n_dishes is a new one.")
        source = self._state._own_source(rng, Purpose.SEAT)
        if dish is None:
            self._state.enter(customer, customer + 1, source)
            return
        self._state.access.change(self._put_in, customer, dish, source)

    def _put_in(self, customer: int, dish: int, source: ChoiceSource) -> None:
        bank: Any = self._state.bank
        bank.prepare(source)
        if dish == self._n_dishes():
            if not self._state.measure.conjugate:
                bank.bring_back(customer)
            slot = self._state.open_dish(source)
        else:
            slot = self._slot(dish)
        self._state.walk().seat(customer, self.node, slot, source)
        if self._state.draws_tables:
            self._state.draw_tables(self.node, self.node + 1, source)
        bank.add(slot, [customer])
        self._state._waiting.discard(slot)

    def _check(self, customer: int, seated: bool) -> int:
        whole_number("customer", customer, 0, self._state.topology.n_customers - 1, remedy="See .customers.")
        if self._state.topology.home[customer] != self.node:
            raise ParameterError(
                "customer", customer, "a data customer of this restaurant", "See .customers."
            )
        self._state.expand_cells()
        dish = int(self._state.seating.dish_of(customer))
        if (dish >= 0) != seated:
            state = "seated" if seated else "unseated"
            raise StateError("customer", customer, state, "Check franchise.dishes (-1: unseated).")
        return dish
