"""The state of a franchise: the record that its components share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.measures.measure import CompiledBank
from hdpkit._compiled.stores.cells import CellsStore
from hdpkit._compiled.stores.seating import Seating
from hdpkit._compiled.support.turn import Inside, Turn
from hdpkit._compiled.walk.root import WeightTable
from hdpkit._compiled.walk.slots import DishSlots
from hdpkit.base_measures import BaseMeasure, DirichletMultinomial, StatisticsBank
from hdpkit.base_measures.bank import ReadsParts
from hdpkit.checks import choice, instance
from hdpkit.data import GroupedData
from hdpkit.errors import DataError, DeclarationError, ParameterError, StateError
from hdpkit.franchise.by_cell import begins_by_cell
from hdpkit.franchise.contexts import ContextTopology
from hdpkit.franchise.counts_rules import check_counts_store, check_no_discount
from hdpkit.franchise.declarations import FixedWeights, Restaurant, kind_of_root
from hdpkit.franchise.dish_kinds import dish_kind_of
from hdpkit.franchise.elsewhere import Elsewhere
from hdpkit.franchise.guard import Guarded
from hdpkit.franchise.hyperparameters import Hyperparameters
from hdpkit.franchise.kernels import COUNTING_BANKS, KERNELS
from hdpkit.franchise.known import Known, KnownDishes, KnownValues
from hdpkit.franchise.root_rules import check_root
from hdpkit.franchise.topology import Topology, build_topology
from hdpkit.parts import Part
from hdpkit.priors import mean_of
from hdpkit.random import ChoiceSource, Purpose, Seed, Streams, as_source
from hdpkit.returned import one_of_kind
from hdpkit.stores import (
    CountsReference,
    CountsStore,
    ExplicitReference,
    ExplicitStore,
    HistogramReference,
    HistogramStore,
    KeepsCells,
    missing_verbs,
    stores,
)

__all__ = ["State", "measure_of"]

OWN_STORES = frozenset(
    {CountsStore, HistogramStore, ExplicitStore, CountsReference, HistogramReference, ExplicitReference}
)
_STATISTICS = frozenset({"make", "add", "remove", "log_predictive", "log_block", "log_marginal"})


class State(Guarded):
    """Data, tree, seating, slots, statistics, hyperparameters and the position of the chain of a franchise.

    `Franchise` derives from it. The owners (`Seats`, `Statistics`, `Parts`, ...) share this record, and each
    changes only its own data; `Franchise.__init__` creates them.
    """

    # Attributes that change with the state are accessible only to the thread that has the turn.
    store: Any = Inside()
    slots: DishSlots = Inside()
    bank: StatisticsBank = Inside()
    hyperparameters: Hyperparameters = Inside()
    # Values that are replaced but never changed: any thread may read them, but not replace them.
    data: GroupedData = Inside(readable=True)
    measure: BaseMeasure = Inside(readable=True)
    topology: Topology | ContextTopology = Inside(readable=True)
    sweep: int = Inside(readable=True)
    attempt: int = Inside(readable=True)
    seeded_calls: int = Inside(readable=True)
    streams: Streams | None = Inside(readable=True)
    held_nodes: npt.NDArray[np.int32] = Inside(readable=True)
    on_pulse: Callable[[float], None] | None = Inside()

    def __init__(
        self,
        restaurant: Restaurant,
        data: GroupedData,
        store: str | type,
        kernel: str,
        root: str | FixedWeights,
        measure: BaseMeasure | None,
        known: Known | KnownValues | None = None,
    ) -> None:
        if not isinstance(restaurant, Restaurant):
            raise ParameterError(
                "restaurant", restaurant, "a Restaurant", "Declare one: hk.Restaurant(base=...)."
            )
        if not isinstance(data, GroupedData):
            raise ParameterError(
                "data", data, "a Corpus or Groups", "For instance hk.Corpus.from_documents(...)."
            )
        choice("kernel", kernel, KERNELS, remedy="Leave it out for the fastest.")
        check_root(root, restaurant)
        if measure is not None:
            instance("measure", measure, BaseMeasure, "a base measure, or None", remedy="Leave it out.")
        if len(data) >= 2**31 - 1:
            raise ParameterError("data", len(data), "fewer than 2**31 - 1 customers", "Split the data.")
        data.check_unchanged()  # before any number of a mapped file is used
        self._turn = Turn()
        self.restaurant_declared = restaurant
        self.declarations: tuple[Restaurant, ...] = tuple(restaurant.chain())
        self.data = data
        declared = measure or restaurant.measure
        if not declared.takes_terms and hasattr(data, "n_terms"):
            raise DataError(
                "data", data, f"numbers, which {type(declared).__name__} is a measure over, not words",
                "The base measure for words is hk.DirichletMultinomial; pass numbers as hk.Groups.",
            )  # fmt: skip
        self.measure = measure_of(declared, "for_data", declared.for_data(data))
        if known is not None:
            instance(
                "known",
                known,
                (Known, KnownValues),
                "hk.Known, or None",
                remedy="hk.Known(matrix, counts=...).",
            )
        self._known = None if known is None else KnownDishes(known, self.measure, data)
        self.topology = build_topology(self.declarations, data, 0 if known is None else known.n_components)
        if known is not None and isinstance(self.topology, ContextTopology):
            raise DeclarationError(
                "known", known, "no components over contexts of n-grams", "Leave known out."
            )
        self.store_type: Any = _store_type(store)
        check_counts_store(self.store_type, kind_of_root(root), self.declarations, declared.atomic)
        self._by_cell = begins_by_cell(
            self.store_type, kind_of_root(root), kernel, self.topology, self.measure
        )
        self._dish_kind = dish_kind_of(self)
        self._dish_kind.check_root(root)
        self.foreign_store = self.store_type not in OWN_STORES
        self.forced_kernel = kernel
        self._starting = {name: mean_of(prior) for name, prior in self.measure.priors.items()}
        self.slots = self._own(DishSlots())
        self._brought = _parts_of(self.measure, self)
        if known is not None and self._brought:
            raise DeclarationError(
                "known", known, "no components where dishes keep parameters in the state",
                f"Integrate out what dishes of {type(self.measure).__name__} keep, or leave known out.",
            )  # fmt: skip
        self.bank = self._bank_for(self.measure, data)
        self.store = self._store_for(self.topology, self.measure, self.bank)
        self._lent: Any = None  # the labelled seating within `seated_out`, over a store with less detail
        self._check_discount = partial(check_no_discount, self.store_type, kind_of_root(root))
        self.hyperparameters = Hyperparameters(self.declarations, self.topology, self._check_discount)
        self.sweep = 0
        self.attempt = 0
        self.seeded_calls = 0
        self.streams = None
        self.on_pulse = None
        self.held_nodes = np.empty(0, dtype=np.int32)
        self._elsewhere: Elsewhere | None = None  # a franchise over a part of a corpus
        self._waiting: set[int] = set()  # slots of dishes that `open_dish` made, until they have customers
        self._changes = 0  # increased by verbs, and when the complete seating is replaced

    @property
    def seating(self) -> Any:
        """The store that holds the seating: the franchise's own, or the labelled one within `seated_out`."""
        return self.store if self._lent is None else self._lent

    # ------------------------------------------------------------------ for the owners

    def dishes_for_bank(self) -> Any:
        """Dish of each customer, for a bank that uses them; a bank that counts by cell needs none."""
        if isinstance(self.seating, KeepsCells):
            return np.empty(0, dtype=np.int32)
        return self._for_bank(self.seating.dishes())

    def _for_bank(self, dishes: Any) -> Any:
        """Dishes of the customers of a store, or of more values, in the order of a bank.

        Instead of the customers of known components, a bank has their earlier observations.
        """
        if self._known is None:
            return dishes
        n = self.topology.n_customers
        return self._known.to_count(dishes[:n] if len(dishes) == self.topology.n_all else dishes)

    def _seen_by_cell(self) -> tuple[Any, ...]:
        """Observations of known components for a store that counts by cell: an empty or 1-element tuple."""
        return () if self._known is None else (self._known.cells(),)

    def _bank_for(self, measure: BaseMeasure, data: GroupedData) -> Any:
        """The measure's bank for data."""
        if self._by_cell and data is self.data and isinstance(measure, DirichletMultinomial):
            cells = self._own(measure.bank_of_cells())
            return cells if self._known is None else self._known.fixed(cells)
        bank: Any = measure.bank(data) if self._known is None else self._known.bank(measure, data)
        if type(bank) in COUNTING_BANKS and _overrides_bank(type(measure)):
            known = self._known
            bank = measure.readable_bank(data) if known is None else known.readable(measure, data)
        self._own(bank)
        if isinstance(bank, ReadsParts):
            bank.read(self._brought)
        return bank

    def _store_for(self, topology: Any, measure: BaseMeasure, bank: Any) -> Any:
        """An empty store of the right size; it reads dishes from the data if it can."""
        if self._by_cell:
            cells = self._own(CellsStore(topology.n_customers, topology.n_nodes))
            cells.observe_cells(topology.cells)
            return cells
        store = self._own(self.store_type(topology.n_all, topology.n_nodes))
        self._dish_kind.show_to(store, bank)
        return store

    def _own(self, thing: Any) -> Any:
        """Put an object that compiled code reads under the turn of the franchise."""
        if isinstance(thing, Seating | DishSlots | CompiledBank | WeightTable):
            thing.turn = self._turn
        return thing

    def _own_source(self, rng: ChoiceSource | Seed, purpose: Purpose) -> ChoiceSource:
        """Return the source of a call that changes the franchise: a repeated seed gives other numbers."""
        source = as_source(rng, purpose, self.seeded_calls)
        if source is not rng:
            self.seeded_calls += 1
        return source

    def _not_lent(self, done: str) -> None:
        """Raise an error for an operation that is not possible within `seated_out`."""
        if self._lent is not None:
            raise StateError(
                "franchise", "seated out", f"{done} outside a move", "Wait until the move is over."
            )


def measure_of(before: BaseMeasure, method: str, returned: Any) -> BaseMeasure:
    """Return the measure that a method of this one returned; raises an error if it isn't a measure."""
    made: BaseMeasure = one_of_kind(before, method, returned, BaseMeasure, "a base measure")
    one_of_kind(made, "parameters", made.parameters, Mapping, "a mapping of names to values")
    return made


def _parts_of(measure: BaseMeasure, state: State) -> dict[str, Part]:
    """The parts of the state that a measure provides."""
    brought = dict(
        one_of_kind(measure, "parts", measure.parts(state), Mapping, "a mapping of names to parts")
    )
    for part in brought.values():
        one_of_kind(measure, "parts", part, Part, "parts by name")
    return brought


def _store_type(store: str | type) -> Any:
    kind: Any = stores[store].thing if isinstance(store, str) else store
    missing = missing_verbs(kind) if isinstance(kind, type) else []
    if missing or not isinstance(kind, type):
        raise ParameterError(
            "store", store, f"one of {sorted(stores)} or a SeatingStore class",
            f"It lacks {', '.join(missing)}." if missing else "See hdpkit.stores.",
        )  # fmt: skip
    return kind


def _overrides_bank(kind: type) -> bool:
    """Whether a measure overrides methods that the compiled bank of its base class doesn't call."""
    for parent in kind.__mro__:
        if "bank" in vars(parent):
            return False
        if not _STATISTICS.isdisjoint(vars(parent)):
            return True
    return False
