"""The state of a franchise: what it is made of, and who may use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import Any

from hdpkit._franchise_lock import FranchiseLock, Inside
from hdpkit.checks import choice, instance, one_of_kind
from hdpkit.data import GroupedData
from hdpkit.errors import BusyError, DataError, ParameterError, StateError
from hdpkit.franchise.customers import bank_for, customers_of
from hdpkit.franchise.declarations import (
    FixedWeights,
    Restaurant,
    check_counts_store,
    check_no_discount,
    kind_of_root,
    tables_at_end,
)
from hdpkit.franchise.dish_kinds import Parts, dish_kind_of
from hdpkit.franchise.guard import Locked
from hdpkit.franchise.hyperparameters import Hyperparameters
from hdpkit.franchise.known import Known, KnownValues, known_of
from hdpkit.franchise.root import Root, check_root
from hdpkit.franchise.state_topology import Tree, build_topology
from hdpkit.franchise.whole_corpus import WholeCorpus
from hdpkit.measures._slots import DishSlots
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.parts import Part, SharedValue
from hdpkit.priors import mean_of
from hdpkit.random import ChoiceSource, Purpose, Seed, Streams, as_source
from hdpkit.steps.step import KERNELS, Step
from hdpkit.stores import missing_methods, stores


class State(Locked):
    """Data, tree, seating, slots, statistics, hyperparameters and the position of the chain of a franchise.

    `Franchise` derives from it by way of the classes that define its methods.
    """

    # What compiled code changes within a step: only the thread that holds the lock may use it.
    store: Any = Inside()
    slots: DishSlots = Inside()
    bank: StatisticsBank = Inside()
    hyperparameters: Hyperparameters = Inside()

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
        self.access = FranchiseLock()
        self.declarations: tuple[Restaurant, ...] = tuple(restaurant.chain())
        self.data: GroupedData = data
        declared = measure or restaurant.measure
        if not declared.takes_terms and hasattr(data, "n_terms"):
            raise DataError(
                "data", data, f"numbers, which {type(declared).__name__} is a measure over, not words",
                "The base measure for words is hk.DirichletMultinomial; pass numbers as hk.Groups.",
            )  # fmt: skip
        self.measure: BaseMeasure = measure_of(declared, "for_data", declared.for_data(data))
        self.known_dishes = known_of(known, self.measure, data)
        self.topology: Tree = build_topology(self.declarations, data, self.known_dishes.n)
        self.store_type: Any = _store_class(store)
        check_counts_store(self.store_type, kind_of_root(root), self.declarations, declared.atomic)
        at_end = tables_at_end(self.store_type, kind_of_root(root), self.topology.n_levels)
        self.topology.check_tables(at_end)
        self.population = customers_of(self, kind_of_root(root), kernel)
        self.dish_kind = dish_kind_of(self)
        self.dish_kind.check_root(root)
        self.forced_kernel = kernel
        self._starting = {name: mean_of(prior) for name, prior in self.measure.priors.items()}
        self.slots = DishSlots()
        self._brought = _parts_of(self.measure, self)
        self.prepared: BaseMeasure = self.measure  # at starting values, from which copies are made
        self.measure = measure_given(self.measure, self._brought)
        self.bank = bank_for(self, self.measure, data)
        self.store = self.population.store(self.topology, self.bank)
        self.lent: Any = None  # the labelled seating within `labelled_seating`, over a store with less detail
        self._check_discount = partial(check_no_discount, self.store_type, kind_of_root(root))
        self.hyperparameters = Hyperparameters(self.declarations, self.topology, self._check_discount)
        self.sweep: int = 0
        self._seeded_calls = 0
        self.streams: Streams | None = None
        self.on_pulse: Callable[[float], None] | None = None
        self.whole_corpus: WholeCorpus | None = None  # a franchise over a part of a corpus
        self.workspaces: dict[type, Any] = {}  # what moves keep between sweeps, by its class
        self._waiting: set[int] = set()  # slots of dishes that `open_dish` made, until they have customers
        self.n_changes = 0  # increased by steps, and when the complete seating is replaced
        self._step: Step | None = None  # that is running
        self._proposal: Any = None  # that is neither accepted nor taken back
        self.parts = Parts(self.slots)
        self.root = Root(self, self.parts, root)

    @property
    def seating(self) -> Any:
        """The store that holds the seating: the franchise's own, or that of a `labelled_seating` block."""
        return self._seating

    @property
    def _seating(self) -> Any:
        """The same, for methods that run within the lock."""
        return self.store if self.lent is None else self.lent

    # ------------------------------------------------------------------ who may use it

    def _outside(self, aside: bool = False) -> None:
        """Raise an error inside a step: methods of measures and parts can't use the franchise.

        Within a proposal only what is ``aside`` of the state may change by other ways.
        """
        if self._step is not None and self.access.held and not self.access.closed:
            raise BusyError(
                "franchise", f"inside the step {self._step.name!r}", "used by one step at a time",
                "A method that a step calls may read its arguments and franchise.slots only.",
            )  # fmt: skip
        if self._proposal is not None and not aside and not self.access.closed:
            raise StateError(
                "franchise", "within a proposal", "changed by the methods of the proposal",
                "Call p.accept() before other changes, or leave `with state.proposal() as p:`.",
            )  # fmt: skip

    def _own_source(self, rng: ChoiceSource | Seed, purpose: Purpose) -> ChoiceSource:
        """Return the source of a call that changes the franchise: a repeated seed gives other numbers."""
        source = as_source(rng, purpose, self._seeded_calls)
        if source is not rng:
            self._seeded_calls += 1
        return source

    def _not_lent(self, done: str) -> None:
        """Raise an error for an operation that is not possible within `labelled_seating`."""
        if self.lent is not None and not self.access.closed:
            raise StateError(
                "franchise", "a labelled seating", f"{done} outside a move", "Wait until the move is over."
            )


def measure_of(before: BaseMeasure, method: str, returned: Any) -> BaseMeasure:
    """Return the measure that a method of this one returned; raises an error if it isn't a measure."""
    made: BaseMeasure = one_of_kind(before, method, returned, BaseMeasure, "a base measure")
    one_of_kind(made, "parameters", made.parameters, Mapping, "a mapping of names to values")
    return made


def measure_given(measure: BaseMeasure, parts: Mapping[str, Part]) -> BaseMeasure:
    """Return the measure at the present values of its parts."""
    return measure_of(measure, "given", measure.given(parts)) if parts else measure


def _parts_of(measure: BaseMeasure, state: State) -> dict[str, Part]:
    """The parts of the state that a measure provides."""
    brought = dict(
        one_of_kind(measure, "parts", measure.parts(state), Mapping, "a mapping of names to parts")
    )
    for part in brought.values():
        one_of_kind(measure, "parts", part, Part, "parts by name")
        state.known_dishes.require_none(
            "no components where dishes keep parameters in the state",
            f"Integrate out what dishes of {type(measure).__name__} keep, or leave known out.",
        )
    # A measure may keep its values: each franchise has its own.
    return {name: copy(part) if isinstance(part, SharedValue) else part for name, part in brought.items()}


def _store_class(store: str | type) -> Any:
    kind: Any = stores[store].thing if isinstance(store, str) else store
    missing = missing_methods(kind) if isinstance(kind, type) else []
    if missing or not isinstance(kind, type):
        raise ParameterError(
            "store", store, f"one of {sorted(stores)} or a SeatingStore class",
            f"It lacks {', '.join(missing)}." if missing else "See hdpkit.stores.",
        )  # fmt: skip
    return kind
