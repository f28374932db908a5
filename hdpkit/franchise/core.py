"""The state of a franchise: who owns what, who may touch it, how it is frozen and thawed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.measures.measure import CompiledBank
from hdpkit._compiled.stores.seating import Seating
from hdpkit._compiled.support.turn import Turn
from hdpkit._compiled.walk.root import WeightTable
from hdpkit._compiled.walk.slots import DishSlots
from hdpkit._compiled.walk.walk import Walk
from hdpkit.base_measures import BaseMeasure
from hdpkit.base_measures.bank import KeepsParameters
from hdpkit.checks import choice, instance, real_number, text
from hdpkit.data import GroupedData
from hdpkit.errors import DataError, ParameterError, StateError
from hdpkit.franchise import hyperparameters
from hdpkit.franchise.callers import Callers
from hdpkit.franchise.copies import maker
from hdpkit.franchise.counts_rules import check_counts_store, check_no_discount
from hdpkit.franchise.declarations import Restaurant
from hdpkit.franchise.frozen import check_frozen
from hdpkit.franchise.guard import changes
from hdpkit.franchise.kernels import KERNELS, VERBS, choose_kernel, is_compiled
from hdpkit.franchise.look import Requests
from hdpkit.franchise.parts import Part, thaw_part
from hdpkit.franchise.reference.walk import ReferenceWalk
from hdpkit.franchise.roots import ROOTS
from hdpkit.franchise.topology import build_topology
from hdpkit.franchise.turns import FranchiseTurns
from hdpkit.franchise.weights import NAME, Weights
from hdpkit.priors import mean_of
from hdpkit.random import ChoiceSource, Purpose, Seed, Streams, as_source
from hdpkit.returned import one_of_kind
from hdpkit.stores import (
    Compacts,
    CountsReference,
    CountsStore,
    Detail,
    ExplicitReference,
    ExplicitStore,
    HistogramReference,
    HistogramStore,
    ObservesDishes,
    detail_of,
    missing_verbs,
    stores,
)

__all__ = ["FranchiseCore"]

OWN_STORES = frozenset(
    {CountsStore, HistogramStore, ExplicitStore, CountsReference, HistogramReference, ExplicitReference}
)


class FranchiseCore(Callers, FranchiseTurns):
    """Mutable seating with one owner. See `Franchise`, the public face.

    A method or property of this class or a subclass is under the turn unless it says otherwise (`Guarded`).
    """

    def __init__(
        self,
        restaurant: Restaurant,
        data: GroupedData,
        *,
        store: str | type = "histogram",
        kernel: str = "auto",
        root: str = "restaurant",
        measure: BaseMeasure | None = None,
    ) -> None:
        # `measure` overrides the declared one: a twin with simulated data keeps the size of the vocabulary.
        if not isinstance(restaurant, Restaurant):
            raise ParameterError(
                "restaurant", restaurant, "a Restaurant", "Declare one: hk.Restaurant(base=...)."
            )
        if not isinstance(data, GroupedData):
            raise ParameterError(
                "data", data, "a Corpus or Groups", "For instance hk.Corpus.from_documents(...)."
            )
        choice("kernel", kernel, KERNELS, remedy="Leave it out for the fastest.")
        choice("root", root, ("restaurant", "weights"), remedy="Leave it out for a Chinese restaurant.")
        if measure is not None:
            instance("measure", measure, BaseMeasure, "a base measure, or None", remedy="Leave it out.")
        if len(data) >= 2**31 - 1:
            raise ParameterError("data", len(data), "fewer than 2**31 - 1 customers", "Split the data.")
        data.check_unchanged()  # before anything follows a number of a mapped file
        self._turn = Turn()
        self.restaurant_declared = restaurant
        self.declarations: tuple[Restaurant, ...] = tuple(restaurant.chain())
        self.data = data
        declared = measure or restaurant.measure
        if not declared.takes_terms and hasattr(data, "n_terms"):
            raise DataError(
                "data", data, f"numbers, which {type(declared).__name__} is a measure over, not words",
                "The base measure for words is hk.DirichletMultinomial; numbers come as hk.Groups.",
            )  # fmt: skip
        self.measure = self._measure_of(declared, "for_data", declared.for_data(data))
        self.topology = build_topology(self.declarations, data)
        self.store_type: Any = stores[store].thing if isinstance(store, str) else store
        missing = missing_verbs(self.store_type) if isinstance(self.store_type, type) else []
        if missing or not isinstance(self.store_type, type):
            raise ParameterError(
                "store", store, f"one of {sorted(stores)} or a SeatingStore class",
                f"It lacks {', '.join(missing)}." if missing else "See hdpkit.stores.",
            )  # fmt: skip
        check_counts_store(self.store_type, root, self.declarations, declared.atomic)
        self.foreign_store = self.store_type not in OWN_STORES
        self.forced_kernel = kernel
        if root == "weights" and self.measure.atomic:
            raise ParameterError(
                "root", root, '"restaurant" over a measure with atoms',
                "Observed dishes are always all there: there is no weight to draw at a birth.",
            )  # fmt: skip
        self.root = root
        self._starting = {name: mean_of(prior) for name, prior in self.measure.priors.items()}
        self.slots = self._own(DishSlots())
        self.bank = self._new_bank(self.measure, data)
        self.slots.attach(self.bank)
        self._reset_slots((), ())
        self.store = self._new_store()
        self._seated_out: Any = None
        self._going_over: Any = None  # other data, which were decided on
        self._requests = Requests()
        self._walks: dict[Any, Any] = {}
        self._functions: dict[str, tuple[str, Callable[..., Any]]] = {}
        self._longest = -1  # customers of the largest restaurant below the root, -1: not counted yet
        self._components: dict[str, Part] = {}
        self._torn: tuple[bool, tuple[int, int]] | None = None  # a change that is not at its end (`restore`)
        self._verb: str | None = None  # that is under way
        self._lost: list[Part] = []  # components that failed when they were told of a new seating
        self._uncounted = False  # a verb failed and statistics could not be counted again yet
        self._concentration = np.zeros(self.topology.n_nodes)
        self._discount = np.zeros(self.topology.n_nodes)
        self.sweep = 0
        self.attempt = 0
        self.seeded_calls = 0
        self.streams = None
        self.on_pulse = None
        self._weights = Weights(self) if root == "weights" else None
        self._check_kernel()
        self.reset_hyperparameters()
        if self._weights is not None:
            self._register(NAME, self._weights)

    @staticmethod
    def _measure_of(before: BaseMeasure, method: str, returned: Any) -> BaseMeasure:
        """The measure that a method of this one returned."""
        made: BaseMeasure = one_of_kind(before, method, returned, BaseMeasure, "a base measure")
        one_of_kind(made, "parameters", made.parameters, Mapping, "a mapping of names to values")
        return made

    def _new_store(self, with_tables: bool = False) -> Any:
        """An empty store of the right size; ``with_tables`` one that knows who sits where."""
        if with_tables:
            return self._own(self.table_store_type(self.topology.n_customers, self.topology.n_nodes))
        return self._store_for(self.topology, self.measure, self.bank)

    def _store_for(self, topology: Any, measure: BaseMeasure, bank: Any) -> Any:
        """An empty store of the right size; one that can take dishes from the data is shown them."""
        store = self._own(self.store_type(topology.n_customers, topology.n_nodes))
        if measure.atomic and isinstance(store, ObservesDishes):
            store.observe(bank.values)
        return store

    def _own(self, part: Any) -> Any:
        """Put a part that compiled code reads under the turn of the franchise, wherever it is kept."""
        if isinstance(part, Seating | DishSlots | CompiledBank | WeightTable):
            part.turn = self._turn
        return part

    # ------------------------------------------------------------------ hyperparameters

    @changes
    def reset_hyperparameters(self) -> None:
        """Set every hyperparameter to its starting value: the number, or the prior's mean."""
        self.set_base_parameters(**self._starting)
        hyperparameters.reset(self)

    def declaration_number(self, name: str) -> int:
        """Number of the declaration with this name, from the root's, 0."""
        names = [declaration.name for declaration in self.declarations]
        return names.index(choice("name", name, names, remedy="These are the declared restaurants."))

    @changes
    def set_concentration(self, name: str, value: npt.ArrayLike) -> None:
        """Set theta of a declaration: one number, or one each a restaurant where each has its own."""
        hyperparameters.assign(self, name, concentration=value)

    @changes
    def set_discount(self, name: str, value: npt.ArrayLike) -> None:
        """Set d of a declaration: one number, or one each a restaurant where each has its own."""
        hyperparameters.assign(self, name, discount=value)

    @property
    def base_parameters(self) -> dict[str, float]:
        """Present values of the base measure's parameters that have a prior."""
        return {name: float(self.measure.parameters[name]) for name in self._starting}

    @changes
    def set_base_parameters(self, **values: float) -> None:
        """Set parameters of the base measure that have a prior. A ParameterError leaves all as it was."""
        unknown = set(values) - set(self._starting)
        if unknown:
            raise ParameterError(
                "base parameters", sorted(unknown), f"among {sorted(self._starting)}",
                "Declare a prior in the base measure for what shall change.",
            )  # fmt: skip
        for name, value in values.items():
            real_number(name, value)
        if values:
            changed = self.measure.with_parameters(**values)
            self._changing(self._adopt, self._measure_of(self.measure, "with_parameters", changed))

    def _adopt(self, measure: BaseMeasure) -> None:
        self._functions.clear()  # what runs a verb may depend on the values
        counted = self.bank.adopt(measure)
        self.measure = measure
        if not counted:
            self.recount()

    # ------------------------------------------------------------------ kernels and walks

    @property
    def seating(self) -> Any:
        """The store that holds the seating now: the franchise's own, or the labelled one while seated out."""
        return self.store if self._seated_out is None else self._seated_out

    @property
    def table_store_type(self) -> Any:
        """The type of store that verbs which need table numbers run on."""
        if detail_of(self.store_type) is Detail.SEATS:
            return self.store_type
        by_default = ExplicitStore if is_compiled(self.store_type) else ExplicitReference
        return getattr(self.store_type, "SEATED_OUT", by_default)

    def _served(self, verb: str) -> tuple[str, Callable[..., Any]]:
        if not isinstance(verb, str) or verb not in self._functions:
            choice("verb", verb, VERBS, remedy="See docs/architecture.md.")
            kind = self.table_store_type if VERBS[verb] else self.store_type
            numbers = hyperparameters.Numbers(self)
            self._functions[verb] = choose_kernel(
                verb, self.forced_kernel, kind, self.bank, self.topology.n_levels, numbers, self._root_kind
            )
        return self._functions[verb]

    def _check_kernel(self) -> None:
        if self.forced_kernel in ("generic", "fused"):
            self._served("reseat")

    def kernel(self, verb: str) -> str:
        """Name of the kernel that runs a verb: "fused", "generic" or "reference"."""
        return self._served(verb)[0]

    def walk(self, kernel: str | None = None) -> Any:
        """The walk through the tree over the present seating, compiled or (kernel "reference") readable."""
        kernel = (
            self.kernel("reseat")
            if kernel is None
            else choice("kernel", kernel, KERNELS, remedy="Leave it out.")
        )
        key = (kernel == "reference", self._seated_out is None, self._root_kind)
        if key not in self._walks:
            self._walks[key] = self.walk_over(self.seating, self.slots, kernel)
        self._outside()
        return self._walks[key]

    def walk_over(self, store: Any, slots: DishSlots, kernel: str) -> Any:
        """Return a new walk over this store and these slots."""
        t, root = self.topology, ROOTS[self._root_kind]
        theta, d = self._concentration, self._discount
        if kernel == "reference":
            return ReferenceWalk(store, slots, t, theta, d, root.readable(self))
        return Walk(store, slots, t.parent, t.home, theta, d, root.compiled(self))

    @property
    def _root_kind(self) -> str:
        """What the root's children draw from now: a key of `ROOTS`."""
        if self.measure.atomic:
            return "atoms"
        instantiated = self._weights is not None and self._weights.integrated is None
        return "weights" if instantiated else "restaurant"

    # ------------------------------------------------------------------ components and slots

    @property
    def components(self) -> Mapping[str, Part]:
        """The parts that were registered, by name."""
        return {name: part for name, part in self._components.items() if part is not self._weights}

    @changes
    def register(self, name: str, component: Part) -> None:
        """Make a part one of the state: every dish that is born, dies or is relabelled is announced to it.

        Parameters
        ----------
        name : str
            Its name in saved states and, with a slash and a key, of its numbers in the trace.
        component : Part

        Raises
        ------
        ParameterError
            If the name is taken.
        """
        text("name", name, remedy="It is the component's name in saved states.")
        instance("component", component, Part, "a Part", remedy="Derive it from hk.Part.")
        if name in self._components:
            raise ParameterError(
                "name", name, "a name that is not taken", f"Taken: {sorted(self._components)}."
            )
        self._register(name, component)

    def _register(self, name: str, component: Part) -> None:
        component.reset(self.slots.occupied_slots())  # first: it is a user's, and may fail
        self._components[name] = component
        self.slots.add_part(component)

    @changes
    def settle(self) -> None:
        """Squeeze free slots out, give memory back, count rounded statistics again. Between sweeps only.

        The state is then what `freeze` keeps, to the last bit. The order of dishes stays.
        """
        with self.kept_whole():  # which closes dishes without customers
            if empty := self._open_dishes():
                raise _unserved(empty, "the end of a sweep; they are closed now")
            mapping = self.slots.compaction()
            if mapping is not None:
                self._changing(self._relabel, mapping)
            if isinstance(self.store, Compacts):
                self.store.compact()
            if not self.measure.exact_statistics:
                self.recount()

    def _relabel(self, mapping: npt.NDArray[np.int32]) -> None:
        self.seating.relabel_dishes(mapping)
        self.bank.relabelled(mapping)
        self.slots.relabel(mapping)

    # ------------------------------------------------------------------ frozen states

    @changes
    def clear(self) -> None:
        """Unseat everybody; hyperparameters stay."""
        self._not_seated_out("cleared")
        self._changing(self._clear)

    def _clear(self) -> None:
        self.store.clear()
        self._replaced(np.empty(0, dtype=np.int32), ())

    def _reset_slots(self, slots: Any, held: Any) -> None:
        """Occupy these slots; observed dishes are always all there."""
        bank: Any = self.bank
        self.slots.reset(np.arange(len(bank.log_base)) if self.measure.atomic else slots, held)

    def _replaced(
        self,
        slots: npt.NDArray[np.int32],
        held: Any,
        bank: Any = None,
        parts: Mapping[str, Any] | None = None,
        source: ChoiceSource | None = None,
    ) -> None:
        """All seating was replaced: make slots, statistics and parts fit it, and thaw the parts if given."""
        self.slots.attach(self.bank)
        self._reset_slots(slots, held)
        self.bank.thaw(bank)
        self._lost = list(self._components.values())
        self._tell_all(self._found, self.recount)
        if parts is not None:
            names = {id(part): name for name, part in self._components.items()}
            self._tell_all(lambda one: thaw_part(self, names[id(one)], one, parts, source))

    def _own_source(self, rng: ChoiceSource | Seed, purpose: Purpose) -> ChoiceSource:
        """Return the source of a call that changes the franchise: a seed given twice has other words then."""
        source = as_source(rng, purpose, self.seeded_calls)
        if source is not rng:
            self.seeded_calls += 1
        return source

    def freeze(self) -> dict[str, Any]:
        """The whole state as arrays and numbers; `thaw` goes on from it exactly."""
        self._not_seated_out("frozen")
        if empty := self._open_dishes():
            raise _unserved(empty, "the state is frozen")
        streams = self.streams
        return {
            "seating": self.store.freeze(),
            "slots": self.slots.occupied_slots(),
            "held": np.array(self.slots.held_slots(), dtype=np.int32),
            "concentration": self._concentration.copy(),
            "discount": self._discount.copy(),
            "measure": self.base_parameters,
            "bank": self.fresh_bank().freeze(),
            "sweep": self.sweep,
            "attempt": self.attempt,
            # States of before have none: no call had a seed.
            **({"seeded_calls": self.seeded_calls} if self.seeded_calls else {}),
            "streams": None if streams is None else {"seed": streams.seed, "chain": streams.chain},
            "components": {
                name: one_of_kind(component, "freeze", component.freeze(), dict, "a dict")
                for name, component in self._components.items()
            },
        }

    def _open_dishes(self) -> list[int]:
        """Dishes without customers; between sweeps there are none."""
        if self.measure.atomic or self.seating.node_tables(0) == len(self.slots):
            return []
        served = {int(dish) for dish in self.seating.node_dishes(0)}
        return [slot for slot in self.slots.occupied_slots().tolist() if slot not in served]

    @changes
    def thaw(self, frozen: Mapping[str, Any], source: ChoiceSource | None = None) -> None:
        """Take over a state that `freeze` returned, of a franchise of this shape.

        A state of a store of more detail (counts, sizes, seats) is reduced to what this one keeps; the other
        way what is missing is drawn, for which a ``source`` is needed.
        """
        seating = self.check_frozen(frozen)
        if source is not None:
            instance(
                "source", source, ChoiceSource, "a choice source, or None", remedy="Moves are given one."
            )
        self._thaw({**frozen, "seating": seating}, source)

    def _thaw(self, frozen: Mapping[str, Any], source: ChoiceSource | None = None) -> None:
        """Take over a state that was checked before (exact tests enter the same states very often)."""
        self._not_seated_out("thawed")
        self._turn.call(self, self._changing, (self._take_over, frozen, source))

    def _take_over(self, frozen: Mapping[str, Any], source: ChoiceSource | None) -> None:
        streams = Streams(**frozen["streams"]) if frozen.get("streams") else self.streams
        seating = self._in_detail(frozen["seating"], detail_of(self.store), source)
        self.set_base_parameters(**frozen.get("measure", {}))
        self.store.thaw(seating)
        hyperparameters.replace(self, frozen["concentration"], frozen["discount"])
        self.sweep = int(frozen["sweep"])
        self.attempt = int(frozen["attempt"])
        self.seeded_calls = int(frozen.get("seeded_calls", 0))
        self.streams = streams
        slots, parts = np.asarray(frozen["slots"], dtype=np.int32), frozen.get("components", {})
        self._replaced(slots, frozen["held"], frozen.get("bank"), parts, source)

    def check_frozen(self, frozen: Any) -> dict[str, npt.NDArray[np.int32]]:
        """Raise a DataError unless a state is whole and of this shape, before any array of it is followed.

        Returns the seating as arrays that a store takes over.
        """
        bank: Any = self.bank
        observed = (bank.values, len(bank.log_base)) if self.measure.atomic else None
        seating = check_frozen(frozen, self.topology, self._starting, observed, self.declarations)
        check_no_discount(self.store, np.asarray(frozen["discount"])[1:], frozen=True)
        if isinstance(bank, KeepsParameters):
            bank.check_frozen(frozen.get("bank"), frozen["slots"])
        return seating

    def copy(self) -> Self:
        """Return an independent franchise in the same state, with clones of the parts."""
        return self._twin(self.data, self.freeze())

    def _twin(self, data: GroupedData, frozen: dict[str, Any]) -> Self:
        """Return a franchise like this one over data of the same shape, in this state."""
        twin: Self = self._maker(data)(frozen)
        return twin

    def _maker(self, data: GroupedData) -> Callable[[dict[str, Any]], Any]:
        """What makes franchises like the present one over data of the same shape, in a given state."""
        return maker(self, data)

    def _standing(self) -> tuple[Callable[[dict[str, Any]], Any], dict[str, Any]]:
        """The present state, and what makes a franchise of it: an answer to `look`."""
        return self._maker(self.data), self.freeze()


def _unserved(slots: list[int], before: str) -> StateError:
    return StateError(
        "open_dish", slots, f"followed by customers for these dishes before {before}",
        "A move opened a dish and gave it to nobody: seat a customer at it in the same move.",
    )  # fmt: skip
