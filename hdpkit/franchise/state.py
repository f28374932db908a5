"""The state of a franchise: what it is made of, who may use it; its stores, kernels, walks and statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hdpkit._franchise_lock import Block, FranchiseLock, Inside
from hdpkit.checks import choice, flag, instance, one_of_kind, real_number
from hdpkit.data import GroupedData
from hdpkit.errors import BusyError, DataError, KernelError, ParameterError, StateError
from hdpkit.franchise.declarations import (
    FixedWeights,
    Restaurant,
    check_counts_store,
    check_no_discount,
    check_weights,
    kind_of_root,
    tables_at_end,
)
from hdpkit.franchise.guard import Locked, changes, unguarded
from hdpkit.franchise.hyperparameters import Hyperparameters
from hdpkit.franchise.known import Known, KnownDishes, KnownValues
from hdpkit.franchise.population import LatentDishes, ObservedDishes, Parts, bank_for, customers_of
from hdpkit.franchise.root import ROOTS, Root, check_root
from hdpkit.franchise.state_topology import Tree, build_topology
from hdpkit.franchise.whole_corpus import WholeCorpus
from hdpkit.measures._slots import DishSlots
from hdpkit.measures.bank import StatisticsBank, powered_bank
from hdpkit.measures.protocol import BaseMeasure, Tempered, check_power
from hdpkit.parts import Part, SharedValue
from hdpkit.priors import mean_of
from hdpkit.random import ChoiceSource, Purpose, Seed, Streams, as_source
from hdpkit.steps.step import (
    BY_STATE,
    COMPILED_STORES,
    KERNELS,
    STEPS,
    Kernel,
    Step,
)
from hdpkit.steps.sweeps import reseat
from hdpkit.stores import (
    Detail,
    ExplicitReference,
    ExplicitStore,
    FrozenSeating,
    HistogramStore,
    detail_of,
    missing_methods,
    stores,
)
from hdpkit.stores import _labelled_seating as compiled

_FEW = 256  # with fewer customers and restaurants memory is kept: the next sweep would allocate it again


class State(Locked):
    """Data, tree, seating, slots, statistics, parts, hyperparameters and position of a chain.

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
        remedy = "Declare one: hk.Restaurant(base=...)."
        instance("restaurant", restaurant, Restaurant, "a Restaurant", remedy=remedy)
        allowed = "a Corpus, Groups, Sequences or NGrams"
        remedy = "For instance hk.Corpus.from_documents(documents), or hk.Groups.from_labels(values)."
        instance("data", data, GroupedData, allowed, remedy=remedy)
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
        self.known_dishes = KnownDishes(known, self.measure, data)
        self.topology: Tree = build_topology(self.declarations, data, self.known_dishes.n)
        self.store_type: Any = _store_class(store)
        check_counts_store(self.store_type, kind_of_root(root), self.declarations, declared.atomic)
        at_end = tables_at_end(self.store_type, kind_of_root(root), self.topology.n_levels)
        self.topology.check_tables(at_end)
        self.population = customers_of(self, kind_of_root(root), kernel)
        self.dish_kind = (ObservedDishes if self.measure.atomic else LatentDishes)(self)
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
        # Kernels by step, type of seating and bank, and whether weights are integrated out; and those at the
        # current hyperparameters, which change in every sweep.
        self._serving: dict[tuple[Any, ...], list[Kernel]] = {}
        self._kernels: dict[tuple[Any, ...], tuple[str, Callable[..., Any]]] = {}
        self._kernels_for: tuple[Any, ...] = (None,) * 4  # hyperparameters, their version, bank, measure
        self._untempered: tuple[Any, ...] = ()  # the banks outside of the blocks of `at_power`
        self._walks: dict[Any, tuple[Any, Any, Any]] = {}
        self.slots.attach(self.bank)
        occupy(self, (), ())

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
        """Raise an error inside a step: methods of measures and parts can't use the franchise."""
        # Within a proposal only what is `aside` of the state may change by other ways.
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

    def kernel(self, step: str | Step) -> str:
        """Name of the kernel that runs a step: "fused", "generic" or "reference"."""
        if not isinstance(step, Step):
            step = STEPS[choice("step", step, STEPS, remedy="Or the step itself.")]
        return self._kernel_of(step)[0]

    @property
    def _table_store_type(self) -> Any:
        """The type of store that steps which need table numbers run on."""
        kind = self.store_type
        if detail_of(kind) is Detail.SEATS:
            return kind
        return getattr(
            kind, "LABELLED_STORE", ExplicitStore if kind in COMPILED_STORES else ExplicitReference
        )

    def _kernel_of(self, step: Step) -> tuple[str, Callable[..., Any]]:
        """Name and function of the kernel that runs a step."""
        numbers, bank, measure = self.hyperparameters, self.bank, self.measure
        of, version, by, under = self._kernels_for
        if of is not numbers or version != numbers.version or by is not bank or under is not measure:
            self._kernels, self._kernels_for = {}, (numbers, numbers.version, bank, measure)
        integrated = getattr(self.root._weights, "integrated", None) is not None
        key = step, type(self._seating), type(bank), integrated
        kernel = self._kernels.get(key)
        if kernel is None:
            if key not in self._serving:
                self._serving[key] = self._serving_kernels(step)
            one = next((one for one in self._serving[key] if one.within(bank, numbers)), None)
            if one is None:
                raise KernelError(
                    "kernel", self._serving[key][0].name,
                    f"one that implements {step.name!r} accurately at these hyperparameters",
                    "Use kernel='auto'.",
                )  # fmt: skip
            kernel = self._kernels[key] = one.name, one.run
        return kernel

    def _serving_kernels(self, step: Step) -> list[Kernel]:
        """Kernels that serve a step, whatever the hyperparameters are."""
        root, levels = self.root._kind(), self.topology.n_levels
        if step.draws_tables:
            check_weights(self._seating, kind_of_root(self.root.declared), root, step.name, levels)
        lent = self.lent is not None and step.draws_tables  # a step over customers
        store = self._table_store_type if step.needs_tables or lent else self.store_type
        # Fused kernels serve no bank at a power, in a block of a franchise for which they are forced.
        forced = "auto" if self._untempered and self.forced_kernel == "fused" else self.forced_kernel
        return step.serving(forced, store, self.bank, levels, root, self.topology.kind)

    # ------------------------------------------------------------------ walks

    def walk(self, kernel: str | None = None) -> Any:
        """The walk through the tree over the current seating, compiled or (kernel "reference") readable."""
        self._outside(aside=True)
        return self._walk_of(kernel)

    def _walk_of(self, kernel: str | None = None) -> Any:
        """The walk of a kernel."""
        if not isinstance(kernel, str) or kernel not in KERNELS:
            kernel = self._kernel_of(reseat)[0] if kernel is None else kernel
            choice("kernel", kernel, KERNELS, remedy="Leave it out.")
        if self.topology.kind in BY_STATE:  # compiled walks need homes that don't change
            kernel = "reference"
        readable, integrated = kernel == "reference", getattr(self.root._weights, "integrated", None)
        seating = self._seating
        key = readable, self.lent is None, integrated is None
        kept = self._walks.get(key)
        if kept is None or kept[0] is not seating or kept[1] is not self.hyperparameters:
            walk = self._walk_over(seating, self.slots, kernel)
            kept = self._walks[key] = seating, self.hyperparameters, walk
        return kept[2]

    def _walk_over(self, store: Any, slots: DishSlots, kernel: str) -> Any:
        """Return a new walk over this store and these slots."""
        t, theta, d = self.topology, self.hyperparameters.theta, self.hyperparameters.d
        above = ROOTS[self.root.kind][kernel == "reference"](self.bank, self.root._weights)
        # A walk that seats no single customers needs no distribution of tables.
        counts = self.population.single and detail_of(store) is Detail.COUNTS
        counts = counts and not tables_at_end(store, self.root.kind, t.n_levels)
        if kernel == "reference":
            return t.reference_walks[counts](store, slots, t, theta, d, above)
        return t.walk(store, slots, self.population.homes(), theta, d, above, counts=counts)

    # ------------------------------------------------------------------ stores

    def _in_detail(
        self,
        seating: dict[str, Any],
        detail: Detail,
        source: ChoiceSource | None = None,
        discount: Any = None,
    ) -> dict[str, Any]:
        """Return a frozen seating in the form of a store with this detail."""
        return FrozenSeating.of(seating).to(detail, self.topology, source, discount).arrays()

    # ------------------------------------------------------------------ customers of cells

    @changes
    def expand_cells(self) -> None:
        """From now on store the dish of each customer, if only numbers of customers were stored.

        With ``store="counts"``, weights of the root and a corpus made from counts, a franchise keeps the
        number of customers for each document, term and dish. All orders of them are equally likely; the order
        is drawn from a key that each sweep over cells draws. Steps for single customers call this method.
        """
        self.population.expand()

    # ------------------------------------------------------------------ labelled seatings

    @unguarded
    def labelled_seating(self, source: ChoiceSource, sizes: bool = False) -> Block:
        """Use a labelled seating within a block.

        For a store of counts or sizes, a labelled seating is drawn given its state, and reduced to counts or
        sizes again at the end. Nested blocks share one seating.

        Parameters
        ----------
        source : ChoiceSource
            The ``rng`` of a move.
        sizes : bool
            Whether sizes of tables are enough; a store of sizes then needs no labelled seating.
        """
        instance("source", source, ChoiceSource, "a choice source", remedy="Moves are given one.")
        flag("sizes", sizes)
        enough = Detail.SIZES if sizes else Detail.SEATS
        return Block(self.access, lambda: self.access.change(self._lend, source, enough), self._give_back)

    def _lend(self, source: ChoiceSource, enough: Detail) -> bool:
        """Begin a block; returns whether there is anything to undo at its end."""
        if detail_of(self.store) >= enough or self.lent is not None:
            return False
        self.expand_cells()
        working = self._table_store()
        self._draw_seats(working, source)
        self.lent = working
        return True

    def _draw_seats(self, labelled: Any, source: ChoiceSource) -> None:
        """Draw the seats that the store doesn't keep, in a labelled one."""
        t = self.topology
        if self.store_type is HistogramStore and t.kind == "fixed":
            compiled.draw_seats(self.store, labelled, t.home, t.parent, t.level, source)
        else:
            seats = self._in_detail(self.store.freeze(), Detail.SEATS, source, self.hyperparameters.d)
            labelled.thaw(seats)

    def _aggregate_seats(self, labelled: Any) -> None:
        """Replace the seating of the store by a labelled one."""
        if self.store_type is HistogramStore:
            compiled.aggregate_seats(labelled, self.store)
        else:
            self.store.thaw(self._in_detail(labelled.freeze(), detail_of(self.store)))

    def _table_store(self) -> Any:
        """An empty store of seats for this franchise."""
        return self._table_store_type(self.topology.n_all, self.topology.n_nodes)

    def _give_back(self, lent: bool) -> None:
        """End a block, unless a state was thawed meanwhile. A proposal that still runs is taken back."""
        if lent and self._proposal is not None:
            self._proposal._end()
        if lent and self.lent is not None:
            self._aggregate_seats(self.lent)
            self._walks = {key: kept for key, kept in self._walks.items() if key[1]}
            self.lent = None

    # ------------------------------------------------------------------ the base measure

    @property
    def base_parameters(self) -> dict[str, float]:
        """Current values of the base measure's parameters that have a prior."""
        return {name: float(self.measure.parameters[name]) for name in self._starting}

    @changes
    def set_base_parameters(self, **values: float) -> None:
        """Set parameters of the base measure that have a prior. A ParameterError changes nothing."""
        starting = self._starting
        unknown = set(values) - set(starting)
        if unknown:
            raise ParameterError(
                "base parameters", sorted(unknown), f"among {sorted(starting)}",
                "Declare a prior in the base measure for each parameter that changes.",
            )  # fmt: skip
        for name, value in values.items():
            real_number(name, value)
        if values:
            self.access.change(self._adopt, self._with_parameters(values))

    def _with_parameters(self, values: Mapping[str, float]) -> BaseMeasure:
        """Return the measure with these values of its parameters."""
        return measure_of(self.measure, "with_parameters", self.measure.with_parameters(**values))

    def _adopt(self, measure: BaseMeasure) -> None:
        self.n_changes += 1
        counted = self.bank.adopt(measure)
        self.measure = measure
        if not counted:
            recount(self)

    @unguarded
    def at_power(self, power: float) -> Block:
        """Raise the probability of data given their dishes to a power within a block.

        With L this probability, parameters of dishes integrated out, a step that leaves the posterior p(z)
        L(z) invariant leaves p(z) L(z) ** power invariant within the block: use it for proposals. The state
        is not copied. Steps run on kernels for a measure at a power (`BaseMeasure.tempered`). In nested
        blocks the powers are multiplied. Raises a StateError if the measure has no powers, or dishes keep
        parameters in the state.

        ``power`` is above 0, up to 1.
        """
        check_power(self, None, power)
        return Block(self.access, lambda: self.access.change(self._raise_to, power), self._lower)

    def _raise_to(self, power: float) -> int:
        """Begin a block; returns how many there are."""
        if self.keeps_parameters or not self.measure.has_powers:
            raise StateError(
                "measure", type(self.measure).__name__,
                "one whose parameters of dishes are integrated out, at a power",
                "See BaseMeasure.has_powers.",
            )  # fmt: skip
        measure, bank = Tempered(self.measure, power), powered_bank(self.bank, power)
        self._untempered = (*self._untempered, self.bank)
        self.measure, self.bank = measure, bank
        return len(self._untempered)

    def _lower(self, depth: int = 1) -> None:
        """End the blocks from this one on, of which the first is 1."""
        while len(self._untempered) >= depth:
            *outer, self.bank = self._untempered
            self._untempered = tuple(outer)
            self.measure = cast(Tempered, self.measure).measure

    # ------------------------------------------------------------------ slots and parts

    @property
    def measure_parts(self) -> Mapping[str, Part]:
        """The parts that the base measure provides, by name."""
        return dict(self._brought)

    @property
    def dish_parts(self) -> Mapping[str, Part]:
        """Those of them that keep something of each dish (`Part.of_dishes`)."""
        return {name: part for name, part in self._brought.items() if part.of_dishes}

    @property
    def keeps_parameters(self) -> bool:
        """Whether dishes have parameters that are part of the state."""
        return bool(self.dish_parts) or not self.measure.conjugate

    @changes
    def set_shared_value(self, part: str | SharedValue, value: npt.ArrayLike) -> None:
        """Change a value that the measure reads; statistics of dishes are recomputed given the new one.

        A ParameterError, also one of the measure's `BaseMeasure.given`, changes nothing.

        Parameters
        ----------
        part : str or SharedValue
            A shared value of the measure (`measure_parts`), or its name.
        value : float or array
            Of the shape of the present one.
        """
        found: Any = self._brought.get(part) if isinstance(part, str) else part
        if not isinstance(found, SharedValue) or not any(found is one for one in self._brought.values()):
            names = [name for name, one in self._brought.items() if isinstance(one, SharedValue)]
            remedy = "BaseMeasure.parts returns them by name."
            raise ParameterError("part", part, f"a shared value of the measure, one of {names}", remedy)
        before = found.value
        found.take(value)
        try:
            measure_given(self.measure, self._brought)
        except BaseException:
            found.take(before)
            raise
        self.access.change(self._give)

    def _read_parts(self) -> None:
        """Take the measure at the present values of its parts."""
        measure = measure_given(self.measure, self._brought)
        if measure is not self.measure:
            self.measure = measure
            self.bank.adopt(measure)

    def _give(self) -> None:
        """The same, with the statistics of all dishes."""
        before = self.measure
        self._read_parts()
        if self.measure is not before:
            self.n_changes += 1
            recount(self)

    @property
    def components(self) -> Mapping[str, Part]:
        """The parts that were registered, by name, except those of a run."""
        weights = self.root.weights
        own = {*self._brought, *self.topology.parts()} | (set() if weights is None else {weights.name})
        return {name: part for name, part in self.parts.items() if name not in own and not part.of_run}

    @changes
    def register(self, name: str, component: Part) -> None:
        """Add a part to the state; it is notified of every dish that is born, dies or is relabelled.

        Raises a ParameterError if the name is taken.

        Parameters
        ----------
        name : str
            Its name in saved states; its numbers in the trace are named "<name>/<key>".
        component : Part
        """
        self.parts.register(name, component)

    def _replaced(
        self,
        slots: npt.NDArray[np.int32],
        held: Any,
        bank: Any = None,
        parts: Mapping[str, Any] | None = None,
        source: ChoiceSource | None = None,
        ids: Any = None,
        births: int = 0,
    ) -> None:
        """Make slots, parts and statistics, which may depend on these, fit a replaced seating."""
        self.n_changes += 1
        self._waiting.clear()
        self.slots.attach(self.bank)
        occupy(self, slots, held, ids, births)
        self.parts.reset()
        self.parts.thaw(parts or {})
        self._read_parts()
        self.bank.thaw(bank)
        recount(self)
        if parts is not None and source is not None:
            self.parts.start(self, parts, source)

    def _open_dishes(self) -> list[int]:
        """Dishes without customers; between sweeps there are none."""
        return self.dish_kind.open()

    def _raise_trouble(self) -> None:
        """Raise the exception of a part at a birth, death or renumbering of dishes, if there was one."""
        if self.slots.trouble is not None:
            _, error = self.slots.trouble
            self.slots.trouble = None
            raise error

    @changes
    def settle(self) -> None:
        """Remove free slots, release memory and recompute rounded statistics. Between sweeps only.

        The state is then exactly what `freeze` returns. The order of dishes doesn't change. Raises a
        StateError if a dish has no customers: a move opened it and seated nobody.
        """
        self.access.change(self._settle)

    def _settle(self) -> None:
        if empty := self._open_dishes():
            raise unserved(empty, "the end of a sweep")
        mapping = self.slots.compaction()
        if mapping is not None:
            self._seating.relabel_dishes(mapping)
            self.bank.relabelled(mapping)
            self.slots.relabel(mapping)
        if hasattr(self.store, "compact") and max(self.topology.n_customers, self.topology.n_nodes) >= _FEW:
            self.store.compact()
        if not self.measure.exact_statistics:
            recount(self)
        self._raise_trouble()


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


def recount(state: Any) -> None:
    """Recompute the statistics of all dishes, in data order."""
    state.population.recount(state.bank, state.slots.occupied_slots())


def occupy(state: Any, slots: Any, held: Any, ids: Any = None, births: int = 0) -> None:
    """Occupy these slots, with ids as in `DishSlots.reset`; ids of observed dishes are the atoms."""
    ids = None if state.measure.atomic else ids
    state.slots.reset(state.dish_kind.slots(slots, state.bank), held, ids, births)


def unserved(slots: list[int], before: str) -> StateError:
    """The error for dishes that were opened and got no customers."""
    return StateError(
        "open_dish", slots, f"followed by customers for these dishes before {before}",
        "Seat a customer at a dish as soon as it is open; clear() or thaw(frozen) removes an empty one.",
    )  # fmt: skip
