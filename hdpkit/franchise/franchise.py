"""The franchise, which owns the mutable seating and the dish ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.support.turn import Block
from hdpkit.base_measures import BaseMeasure
from hdpkit.checks import instance
from hdpkit.data import GroupedData
from hdpkit.errors import RUN_FIRST, BusyError, printable
from hdpkit.franchise.as_html import franchise_table
from hdpkit.franchise.audit import audit
from hdpkit.franchise.blocks import Blocks
from hdpkit.franchise.copies import Copied
from hdpkit.franchise.declarations import FixedWeights, Restaurant, number_of
from hdpkit.franchise.drawn import Drawn
from hdpkit.franchise.fold_in import fold_in as fold_in_new_groups
from hdpkit.franchise.freezing import Freezing
from hdpkit.franchise.growth import Growth
from hdpkit.franchise.guard import changes, unguarded
from hdpkit.franchise.held import Held
from hdpkit.franchise.joining import with_documents as with_more_documents
from hdpkit.franchise.known import Known, KnownValues
from hdpkit.franchise.look import Requests
from hdpkit.franchise.look import look as look_at
from hdpkit.franchise.parts import Parts
from hdpkit.franchise.reading import Reading
from hdpkit.franchise.recovery import Recovery
from hdpkit.franchise.root import Root
from hdpkit.franchise.seats import Seats
from hdpkit.franchise.serving import Serving
from hdpkit.franchise.simulate import simulate
from hdpkit.franchise.slices import Slices
from hdpkit.franchise.snapshot import Snapshot
from hdpkit.franchise.statistics import Statistics
from hdpkit.franchise.turns import Turns
from hdpkit.franchise.verbs import Verbs
from hdpkit.franchise.view import RestaurantView
from hdpkit.parts import IntegrablePart, Part
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source

__all__ = ["Franchise"]

Ints = npt.NDArray[np.int64]
P = ParamSpec("P")
R = TypeVar("R")


def _of(owner: str, function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Franchise, P], R]:
    """A method of the franchise that calls one of an owner, with the same parameters and documentation."""

    @wraps(function)
    def method(self: Franchise, /, *arguments: P.args, **named: P.kwargs) -> R:
        return function(getattr(self, owner), *arguments, **named)

    return method


class Franchise(Copied):
    """A tree of restaurants with its data: the state of a chain.

    Parameters
    ----------
    restaurant : Restaurant
        The deepest declaration, which includes its bases. A single restaurant is a mixture without groups.
    data : Corpus or Groups
        With the labels that the declarations name.
    store : str or type
        How seating is stored: "histogram", "explicit", "counts", or a SeatingStore class.
    kernel : str
        "auto" uses the fastest code for each verb; "fused", "generic" or "reference" forces one. If there is
        no fused sweep for a verb, or it is too inaccurate at the current hyperparameters, the next fastest
        code runs. The method `kernel` returns which one.
    root : str or FixedWeights
        "restaurant": the weights of the dishes are integrated out, the root is a Chinese restaurant (Teh et
        al. 2006, section 5.1). "weights": they are part of the state (section 5.2); schedule
        `hdpkit.moves.RootWeights`. ``hk.FixedWeights(K)``: a finite model of K dishes of weight 1/K each.
    known : Known or KnownValues, optional
        Components that are known in advance: dishes 0, 1, ..., which exist during the entire chain.

    Notes
    -----
    Dishes are numbered 0 .. K-1 in every returned array; the numbers may change with the next sweep. Only one
    thread at a time may use a franchise, even to read it; a second one gets a BusyError. Any thread may call
    `look`.

    Attributes
    ----------
    data, declarations, measure, topology
        The arguments; ``measure`` has been prepared for the data.
    sweep : int
        Number of sweeps since the last start.
    root : Root
        The distribution from which the children of the root draw.
    hyperparameters : Hyperparameters
        Concentration and discount of every restaurant, by its number.
    """

    def __init__(
        self,
        restaurant: Restaurant,
        data: GroupedData,
        *,
        store: str | type = "histogram",
        kernel: str = "auto",
        root: str | FixedWeights = "restaurant",
        measure: BaseMeasure | None = None,
        known: Known | KnownValues | None = None,
    ) -> None:
        # `measure` overrides the declared one: a copy with simulated data keeps the size of the vocabulary.
        super().__init__(restaurant, data, store, kernel, root, measure, known)
        turns = self._turns = Turns(self)
        parts = self._parts = Parts(self.slots)
        self.root = Root(self, turns, parts, root)
        serving = self._serving = Serving(self, self.root)
        seats = self._seats = Seats(self, turns, self.root, serving)
        statistics = self._statistics = Statistics(self, turns, parts)
        held = self._held = Held(self)
        self._verbs = Verbs(self, turns, self.root, serving, seats, statistics, held)
        self._blocks = Blocks(self._verbs)
        self._slices = Slices(self, self._verbs)
        self._drawn = Drawn(self, self.root, statistics)
        self._reading = Reading(self, seats, statistics, self._slices)
        self._freezing = Freezing(self, turns, seats, statistics, parts, held)
        self._growth = Growth(self, turns, statistics, parts, self._verbs)
        self._recovery = Recovery(self, turns, seats, statistics)
        self._requests = Requests()
        serving.check()
        self.reset_hyperparameters()
        if self.root.weights is not None:
            parts.register(self.root.weights.name, self.root.weights)
        for name, part in self._brought.items():
            parts.register(name, part)
        if known is not None:
            self.root._check_number("known", known.n_components)
            self._clear()

    def _outside(self) -> None:
        self._turns.outside()

    def _make_whole(self) -> None:
        self._growth.go_over()
        self._recovery.make_whole()

    def __repr__(self) -> str:
        names = " > ".join(printable(declaration.name) for declaration in self.declarations)
        try:
            n = self.n_tables
            counts = f"{self.n_dishes} dishes, {n} tables" if n else f"no dishes ({RUN_FIRST[:-1]})"
        except BusyError:
            counts = "in use by another thread"
        return (
            f"<Franchise {names}: {self.topology.n_customers} customers, {counts}, "
            f"store {self.store_type.__name__}>"
        )

    def _repr_html_(self) -> str:
        return franchise_table(self)

    # ------------------------------------------------------------------ the state

    @property
    def dishes(self) -> Ints:
        """Dish of each customer, in data order: int64, shape (n_customers,); -1 while unseated.

        If dishes are observed they are the values themselves.
        """
        return self._reading.dishes()

    @property
    def known(self) -> Any:
        """The known components (`Known`, `KnownValues`), which are the first dishes, or None."""
        return None if self._known is None else self._known.declared

    @property
    def n_dishes(self) -> int:
        """Number of dishes that have customers, K; known components count."""
        return self._reading.n_dishes()

    @property
    def dish_ids(self) -> Ints:
        """Lasting id of each dish: int64, shape (K,), in the order of all arrays.

        A dish keeps its id as long as it exists, through sweeps, copies, frozen states and run folders. Ids
        are given in the order in which dishes are created since the start of the chain, 0, 1, 2, ..., and
        none is used twice. If dishes are observed, the ids are the atoms.
        """
        return self._reading.dish_ids()

    @property
    def n_tables(self) -> int:
        """Total number of tables in all restaurants except the root, or of the root if it is the only one."""
        return self._reading.n_tables()

    @property
    def dish_counts(self) -> Ints:
        """Counts of terms by dish: int64, shape (K, V). For data that are terms."""
        return self._reading.dish_counts()

    tables_of = _of("_reading", Reading.tables_of)
    totals = _of("_reading", Reading.totals)
    totals_of = _of("_reading", Reading.totals_of)
    counted_totals_of = _of("_reading", Reading.counted_totals_of)
    size_counts = _of("_reading", Reading.size_counts)
    dish_parameters = _of("_reading", Reading.dish_parameters)
    selected_terms = _of("_reading", Reading.selected_terms)
    root_weights = _of("_reading", Reading.root_weights)
    group_weights = _of("_reading", Reading.group_weights)
    keys = _of("_reading", Reading.keys)
    log_likelihood = _of("_reading", Reading.log_likelihood)
    log_seating = _of("_reading", Reading.log_seating)
    log_prior = _of("_reading", Reading.log_prior)
    log_joint = _of("_reading", Reading.log_joint)
    log_parts = _of("_reading", Reading.log_parts)
    memory_bytes = _of("_reading", Reading.memory_bytes)
    memory_parts = _of("_reading", Reading.memory_parts)
    hold = _of("_held", Held.hold)
    release = _of("_held", Held.release)
    held_groups = _of("_held", Held.keys)
    free_ranges = _of("_held", Held.free)
    # ------------------------------------------------------------------ restaurants

    def restaurant(self, name: str, key: Any = None) -> RestaurantView:
        """Live view of one restaurant. ``key`` may be omitted if there is only one.

        Parameters
        ----------
        name : str
            Name of the declaration.
        key : object, optional
            Value of its label.

        Returns
        -------
        RestaurantView

        Raises
        ------
        ParameterError
            If there is no such restaurant.
        """
        return RestaurantView(self, self._verbs, number_of(self.declarations, name), name, key)

    sample = _of("_reading", Reading.sample)

    def snapshot(self) -> Snapshot:
        """The part of the current state that predictions need; it doesn't change with the franchise."""
        return Snapshot(self)

    look = look_at  # it takes the turn itself
    fold_in = fold_in_new_groups  # this also takes the turn, while it reads
    # ------------------------------------------------------------------ verbs, which moves call

    enter = _of("_verbs", Verbs.enter)
    enter_given = _of("_verbs", Verbs.enter_given)
    reseat = _of("_verbs", Verbs.reseat)
    reseat_documents = _of("_slices", Slices.reseat_documents)
    draw_topics = _of("_drawn", Drawn.draw_topics)
    draw_proportions = _of("_drawn", Drawn.draw_proportions)
    drawn_topics = _of("_drawn", Drawn.topics)
    drawn_proportions = _of("_drawn", Drawn.proportions)
    leave = _of("_verbs", Verbs.leave)
    draw_tables = _of("_verbs", Verbs.draw_tables)
    draw_tables_by_dish = _of("_verbs", Verbs.draw_tables_by_dish)
    units = _of("_blocks", Blocks.units)
    free_units = _of("_blocks", Blocks.free_units)
    held_dishes = _of("_blocks", Blocks.held_dishes)
    unit_dishes = _of("_blocks", Blocks.unit_dishes)
    redish = _of("_blocks", Blocks.redish)
    scan_units = _of("_blocks", Blocks.scan_units)
    add_units = _of("_blocks", Blocks.add_units)
    move_units = _of("_blocks", Blocks.move_units)
    groups = _of("_blocks", Blocks.groups)
    reseat_groups = _of("_blocks", Blocks.reseat_groups)
    open_dish = _of("_verbs", Verbs.open_dish)
    reserved = _of("_blocks", Blocks.reserved)
    in_chunks = _of("_verbs", Verbs.in_chunks)
    tell_apart = _of("_seats", Seats.tell_apart)

    @property
    def draws_tables(self) -> bool:
        """Whether tables are drawn given the customers (`draw_tables`): over counts, two levels, weights."""
        return self._verbs.draws_tables

    @property
    def counts_tables(self) -> bool:
        """Whether tables are in the state, by their numbers: over any other store of counts."""
        return self._verbs.counts_tables

    def kernel(self, verb: str) -> str:
        """Name of the kernel that runs a verb: "fused", "generic" or "reference"."""
        return self._serving.of(verb)[0]

    def walk(self, kernel: str | None = None) -> Any:
        """The walk through the tree over the present seating, compiled or (kernel "reference") readable."""
        return self._seats.walk(kernel)

    @unguarded
    def turn(self) -> Block:
        """Reserve the franchise for one thread within a block.

        Another thread gets a BusyError, and so does this one if another is using the franchise. It waits only
        for a read that is in progress.
        """
        return Block(self._turn, self)

    @unguarded
    def seated_out(self, source: ChoiceSource, sizes: bool = False) -> Block:
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
        return self._seats.out(source, sizes)

    @unguarded
    def root_integrated(self, source: ChoiceSource) -> Block:
        """Integrate out the weights of the root within a block: see `Root.integrated`."""
        return self.root.integrated(source)

    @unguarded
    def parts_integrated(self, source: ChoiceSource) -> Block:
        """Integrate out all parts that can be integrated out within a block, and draw them again at its end.

        For moves that propose dishes. A move in this block that leaves the posterior of everything else
        invariant also leaves the complete posterior invariant. Nested blocks have no additional effect.
        """
        instance("source", source, ChoiceSource, "a choice source", remedy="Moves are given one.")
        return Block(self._turn, self, lambda: self._integrate(source), self._parts.draw)

    def _integrate(self, source: ChoiceSource) -> list[IntegrablePart]:
        self._outside()
        return self._parts.integrate(source, self._parts.values())

    # ------------------------------------------------------------------ hyperparameters

    @changes
    def reset_hyperparameters(self) -> None:
        """Set every hyperparameter to its starting value: the number, or the prior's mean."""
        self._statistics.set_base_parameters(**self._starting)
        self.hyperparameters.reset()

    def concentration(self, name: str) -> Any:
        """Concentration of a declaration: a float, or shape (n,) if restaurants have separate values."""
        return self.hyperparameters.present(name)[0]

    def discount(self, name: str) -> Any:
        """Discount of a declaration: a float, or shape (n,) if restaurants have separate values."""
        return self.hyperparameters.present(name)[1]

    @changes
    def set_concentration(self, name: str, value: npt.ArrayLike) -> None:
        """Set theta of a declaration: one number, or one per restaurant if they have separate values.

        Parameters
        ----------
        name : str
            Name of the declaration.
        value : float, or float array of shape (n,)
            The same for all its restaurants, or one each.

        Raises
        ------
        ParameterError
            If there is no such declaration, or a value is outside 0 <= discount < 1, concentration >
            -discount.
        """
        self.hyperparameters.assign(name, concentration=value)

    @changes
    def set_discount(self, name: str, value: npt.ArrayLike) -> None:
        """Set d of a declaration: one number, or one per restaurant if they have separate values.

        Parameters
        ----------
        name : str
            Name of the declaration.
        value : float, or float array of shape (n,)
            The same for all its restaurants, or one each.

        Raises
        ------
        ParameterError
            If there is no such declaration, or a value is outside 0 <= discount < 1, concentration >
            -discount.
        """
        self.hyperparameters.assign(name, discount=value)

    @property
    def base_parameters(self) -> dict[str, float]:
        """Present values of the base measure's parameters that have a prior."""
        return self._statistics.base_parameters

    @changes
    def set_base_parameters(self, **values: float) -> None:
        """Set parameters of the base measure that have a prior. A ParameterError changes nothing."""
        self._statistics.set_base_parameters(**values)

    # ------------------------------------------------------------------ parts of the state

    @property
    def components(self) -> Mapping[str, Part]:
        """The parts that were registered, by name."""
        weights = self.root.weights
        own = {*self._brought} if weights is None else {weights.name, *self._brought}
        return {name: part for name, part in self._parts.by_name.items() if name not in own}

    @property
    def measure_parts(self) -> Mapping[str, Part]:
        """The parts that the base measure provides, by name."""
        return dict(self._brought)

    @property
    def parts(self) -> Mapping[str, Part]:
        """All parts by name, including the weights of the root and the parts of the base measure."""
        return dict(self._parts.by_name)

    @changes
    def register(self, name: str, component: Part) -> None:
        """Add a part to the state; it is notified of every dish that is born, dies or is relabelled.

        Parameters
        ----------
        name : str
            Its name in saved states; its numbers in the trace are named "<name>/<key>".
        component : Part

        Raises
        ------
        ParameterError
            If the name is taken.
        """
        self._parts.register(name, component)

    settle = _of("_statistics", Statistics.settle)

    @changes
    def clear(self) -> None:
        """Unseat all customers; hyperparameters don't change."""
        self._not_lent("cleared")
        self._held.check_start("clear()")
        self._turns.changing(self._clear)

    def _clear(self) -> None:
        slots = self._seats.clear()
        self._statistics.replaced(slots, (), ids=slots, births=len(slots))

    freeze = _of("_freezing", Freezing.freeze)
    thaw = _of("_freezing", Freezing.thaw)

    def check_frozen(self, frozen: Any) -> dict[str, npt.NDArray[np.int32]]:
        """Raise a DataError unless a state is consistent and has this shape, before its arrays are used.

        Returns the seating as arrays for a store.
        """
        return self._freezing.check(frozen)

    def _answer_looks(self) -> None:
        """Answer requests of `look` from other threads, if there are any."""
        self._requests.answer(self._standing)

    # ------------------------------------------------------------------ the complete state

    extend = _of("_growth", Growth.extend)
    with_documents = with_more_documents

    discard = _of("_growth", Growth.discard)

    def simulate(self, rng: ChoiceSource | Seed, keep: str | None = None) -> Self:
        """Return a franchise of the same shape with all quantities drawn from the model.

        Parameters
        ----------
        rng : seed, Generator or random stream
            The same seed gives the same data. The random numbers differ from those of a run with this seed.
        keep : None, "hyperparameters" or "seating"
            "hyperparameters" keeps their present values; "seating" keeps them and the seating, and draws
            only the data given it (the resampling step of Geweke's test). If dishes are observed, the data
            are the atoms of the root's tables; a measure with a remainder raises an error, because its other
            values have no numbers.
        """
        return simulate(self, as_source(rng, Purpose.SIMULATE), keep)

    def audit(self) -> None:
        """Recompute everything from the seating, and raise an AuditError if the state is inconsistent."""
        self._statistics.fresh_bank()
        audit(self, self._parts)
