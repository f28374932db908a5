"""The data customers of a state and its dishes, latent or observed, and the parts that are told of them.

Everything outside the kernels that depends on how customers are kept (each with a dish, or as numbers by
document, term and dish) and on the kind of dishes is here. If a base measure has atoms, a slot is an atom:
all slots are always occupied, no dish is created or removed, and the root may have several tables of a dish.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import AnyInts
from hdpkit.checks import instance, one_of_kind, text
from hdpkit.data import GroupedData
from hdpkit.errors import (
    DataError,
    DeclarationError,
    HdpkitError,
    ParameterError,
    ReturnValueError,
    StateError,
)
from hdpkit.franchise.frozen import cell_counts, with_one_table_each
from hdpkit.measures.bank import observed_bank, powered_bank
from hdpkit.measures.bursty import Bursty
from hdpkit.measures.by_restaurant import ByRestaurant
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.measures.protocol import BaseMeasure, Tempered
from hdpkit.numerics import add_up
from hdpkit.parts import Attached, IntegrablePart, Part
from hdpkit.random import ChoiceSource
from hdpkit.steps.documents import reseat_cells, reseat_documents
from hdpkit.steps.step import COUNTING_BANKS
from hdpkit.stores import (
    Detail,
    FrozenCells,
    FrozenCounts,
    FrozenSeating,
    FrozenSeats,
    detail_of,
)
from hdpkit.stores._counts import CellsStore, CountsStore
from hdpkit.stores.frozen import count_columns


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

    def check_root(self, root: Any) -> None:
        """Raise an error if this root is not possible with these dishes."""

    def root_kind(self, kind: str) -> str:
        """Key of `ROOTS` for the distribution of the root's children; ``kind`` if dishes are latent."""
        return kind

    def show_to(self, store: Any, bank: Any) -> None:
        """Let an empty store read dishes from the data, if it can."""

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
        if hasattr(store, "observe"):
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


def bank_for(state: Any, measure: BaseMeasure, data: GroupedData) -> Any:
    """The measure's bank for data."""
    if isinstance(measure, Tempered):
        return powered_bank(bank_for(state, measure.measure, data), measure.power)
    bank = state.population.bank(measure, data)
    if hasattr(bank, "read"):
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
    if hasattr(bank, "read_cells"):
        return
    if not hasattr(bank, "read_restaurants"):
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


_STATISTICS = frozenset({"make", "add", "remove", "log_predictive", "log_block", "log_marginal"})
_NOBODY = np.empty(0, dtype=np.int32)
_CHUNK = 1 << 18  # customers counted at once


class Customers(Attached):
    """Each data customer has a dish; a step may seat any of them."""

    single = True
    sweep = reseat_documents  # over documents

    def store(self, topology: Any, bank: Any) -> Any:
        """An empty store of the right size; it reads dishes from the data if it can."""
        state = self.state
        store = state.store_type(topology.n_all, topology.n_nodes)
        state.dish_kind.show_to(store, bank)
        return store

    def bank(self, measure: BaseMeasure, data: GroupedData) -> Any:
        """The measure's bank for data, in Python if the measure overrides what a compiled one computes."""
        known = self.state.known_dishes
        bank = known.bank(measure, data)
        readable = type(bank) in COUNTING_BANKS and _overrides_bank(type(measure))
        return known.readable(measure, data) if readable else bank

    def homes(self) -> Any:
        """Restaurants of the customers that a walk seats."""
        return self.state.topology.home

    def values(self) -> Any:
        """Values of the customers, for a sweep over documents."""
        return self.state.data.values

    def expand(self) -> None:
        """From now on keep a dish for each customer; see `Franchise.expand_cells`."""

    def dishes(self) -> Any:
        """Dish of each value of a bank; -1 for a missing observation, as while its customer is unseated."""
        dishes = self.state.known_dishes.to_count(self.state.seating.dishes(), self.state.topology)
        missing = getattr(self.state.data, "missing", None)
        return dishes if missing is None else np.where(missing, np.int32(-1), dishes)

    def recount(self, bank: Any, slots: AnyInts) -> None:
        """Recompute the statistics of these dishes in a bank, in data order."""
        bank.rebuild(self.state.dish_kind.to_count(slots), slots)

    def all_seated(self) -> bool:
        """Whether every data customer is seated."""
        return not bool((self.state.seating.dishes() < 0).any())

    def term_counts(self) -> npt.NDArray[np.int64]:
        """Counts of terms by dish: shape (K, V)."""
        state = self.state
        n_terms = getattr(state.data, "n_terms", None) or getattr(state.measure, "n_terms", None)
        if n_terms is None:
            raise DataError(
                "data", type(state.data).__name__, "terms of a vocabulary", "See dish_parameters()."
            )
        values, n_dishes = np.asarray(state.data.values), state.n_dishes
        dishes = self.dishes()[: len(values)]
        rank, counts = state._ranks(), np.zeros(n_dishes * n_terms, dtype=np.int64)
        for first in range(0, len(dishes), _CHUNK):
            places = rank[dishes[first : first + _CHUNK]]
            seated = places >= 0
            np.add.at(counts, places[seated] * n_terms + values[first : first + _CHUNK][seated], 1)
        return counts.reshape(n_dishes, n_terms)

    def bank_state(self, frozen: Mapping[str, Any], seating: Mapping[str, Any]) -> Any:
        """What is frozen of the bank, for customers whose ``seating`` is adapted from the frozen one."""
        bank, given = frozen["bank"], frozen["seating"]
        if not isinstance(bank, Mapping) or "run_tables" not in bank:
            return bank
        from hdpkit.measures.bursty_cells import opens_of_customers

        dishes = np.asarray(FrozenSeating.of(seating).dishes[: self.state.topology.n_customers])
        runs = given["cell_runs"], given["run_dish"], bank["run_tables"]
        return {"opens": opens_of_customers(self.state.topology.cells, *runs, dishes)}

    def adapted(self, seating: dict[str, Any], source: ChoiceSource | None, discount: Any) -> dict[str, Any]:
        """A frozen seating in the form of the store, which changes if it can't have one of this form."""
        return self.state._in_detail(seating, detail_of(self.state.store), source, discount)

    def only_known(self, n: int) -> dict[str, Any]:
        """The frozen seating of n known components, each at a table of the root, without data customers."""
        j, detail = np.arange(n, dtype=np.int32), detail_of(self.state.store)
        one = np.ones_like(j)
        dish = np.append(np.full(self.state.topology.n_customers, -1, dtype=np.int32), j)
        if detail is Detail.COUNTS:
            return FrozenCounts(dish, np.zeros_like(j), j, one, one).arrays()
        return FrozenSeats(dish, np.zeros_like(j), j, np.full_like(j, -1)).to(detail).arrays()


class CustomersByCell(Customers):
    """Only the number of customers of each dish in each cell is kept: they are exchangeable."""

    single = False
    sweep = reseat_cells

    def store(self, topology: Any, bank: Any) -> Any:
        cells = CellsStore(topology.n_customers, topology.n_nodes)
        cells.observe_cells(topology.cells)
        if hasattr(bank, "read_cells"):
            bank.read_cells(cells)
        return cells

    def bank(self, measure: BaseMeasure, data: GroupedData) -> Any:
        """A bank without customers for the data of the state."""
        if data is not self.state.data or not isinstance(measure, DirichletMultinomial | Bursty):
            return super().bank(measure, data)
        return self.state.known_dishes.fixed(measure.bank_of_cells())

    def bank_state(self, frozen: Mapping[str, Any], seating: Mapping[str, Any]) -> Any:
        return frozen["bank"]

    def homes(self) -> Any:
        """None: a walk seats no single customers."""
        return _NOBODY

    def values(self) -> Any:
        """None: the store has the terms of the cells."""
        return None

    def enter(self, runs: AnyInts, dish: AnyInts, count: AnyInts, source: ChoiceSource) -> None:
        """Seat all customers of an empty franchise, given runs as of `CellsStore.cell_runs`."""
        # With more than two levels every dish of a restaurant has one table until a move draws the numbers.
        state = self.state
        state.access.change(self._enter, {"cell_runs": runs, "run_dish": dish, "run_count": count})
        if state.draws_tables:
            state.draw_tables(0, state.topology.n_nodes, source)

    def _enter(self, runs: dict[str, AnyInts]) -> None:
        state, topology = self.state, self.state.topology
        base = int(runs["run_dish"].max()) + 1
        data = cell_counts(runs, topology.cells, topology, base)
        keys, customers = with_one_table_each(*data, base, topology)
        counts = count_columns(keys // base, keys % base, customers, np.ones_like(keys))
        state.store.thaw({**runs, **counts, "cell_key": np.zeros(4, dtype=np.int32)})
        state.bank.thaw(None)
        state.n_changes += 1
        state.population.recount(state.bank, state.slots.occupied_slots())

    def expand(self) -> None:
        """Draw the order of the customers of each cell, and keep the dish of each."""
        self.state.access.change(self._expand)

    def _expand(self) -> None:
        state = self.state
        frozen = {"seating": state.store.freeze(), "bank": state.bank.freeze()}
        counts = state._in_detail(frozen["seating"], Detail.COUNTS)
        self._give_way()
        state.store.thaw(counts)
        state.bank.thaw(state.population.bank_state(frozen, counts))
        dishes = state.known_dishes.to_count(counts["dish"], state.topology)
        state.bank.rebuild(dishes, state.slots.occupied_slots())
        state.slots.attach(state.bank)

    def _give_way(self) -> None:
        """Replace the store by an empty one of customers, and the bank by one for it."""
        state = self.state
        state.population = Customers(state)
        state.bank = bank_for(state, state.measure, state.data)
        state.store = state.population.store(state.topology, state.bank)

    def dishes(self) -> Any:
        """None: the bank counts by cell."""
        return _NOBODY

    def recount(self, bank: Any, slots: AnyInts) -> None:
        """Recompute the statistics of all dishes in a bank, by cell."""
        if hasattr(bank, "read_cells"):
            bank.read_cells(self.state.seating)
        self.state.seating.count_into(bank, slots, self.state.known_dishes.cells())

    def all_seated(self) -> bool:
        return bool(self.state.seating.seated() == self.state.topology.n_customers)

    def term_counts(self) -> npt.NDArray[np.int64]:
        return self.state.known_dishes.without(self.state.bank.counts(self.state.slots.occupied_slots()))

    def adapted(self, seating: dict[str, Any], source: ChoiceSource | None, discount: Any) -> dict[str, Any]:
        """The seating itself, if it is by cell."""
        if isinstance(FrozenSeating.of(seating), FrozenCells):
            return seating
        self._give_way()
        return self.state.population.adapted(seating, source, discount)

    def only_known(self, n: int) -> dict[str, Any]:
        """The frozen seating of n known components, with empty cells."""
        runs = np.zeros(len(self.state.topology.cells.term), dtype=np.int32)
        j, key = np.arange(n, dtype=np.int32), np.zeros(4, dtype=np.int32)
        one = np.ones_like(j)
        return FrozenCells(runs, _NOBODY, _NOBODY, key, np.zeros_like(j), j, one, one).arrays()


def customers_of(state: Any, root: str, kernel: str) -> Customers:
    """How a new state keeps its customers: by cell, if store, root, kernel, data and measure allow it."""
    # The measure's own class must define `bank_of_cells`: a subclass may use customers.
    measure: Any = state.measure
    if type(measure) is Bursty:
        counted = measure.counts_by_cell(state.declarations[-1].name)
    else:
        counted = "bank_of_cells" in vars(type(measure))
    by_cell = (
        counted
        and state.store_type is CountsStore
        and root in ("weights", "fixed")
        and kernel in ("auto", "fused")
        and getattr(state.topology, "cells", None) is not None
    )
    return (CustomersByCell if by_cell else Customers)(state)


def _overrides_bank(kind: type) -> bool:
    """Whether a measure overrides methods that the compiled bank of its base class doesn't call."""
    for parent in kind.__mro__:
        if "bank" in vars(parent):
            return False
        if not _STATISTICS.isdisjoint(vars(parent)):
            return True
    return False
