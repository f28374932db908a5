"""The franchise, which owns the mutable seating and the dish ids, and grows with its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from hdpkit._franchise_lock import Block
from hdpkit.arrays import Int64s
from hdpkit.checks import instance, whole_number
from hdpkit.data import Corpus, GroupedData, Groups, NGrams
from hdpkit.errors import RUN_FIRST, BusyError, ClosedError, DataError, DeclarationError, printable
from hdpkit.franchise.arguments import check_source
from hdpkit.franchise.as_html import franchise_table
from hdpkit.franchise.declarations import FixedWeights, Restaurant, number_of
from hdpkit.franchise.freezing import Freezing, Snapshot, maker
from hdpkit.franchise.guard import changes, guarded, reopens, unguarded
from hdpkit.franchise.known import Known, KnownValues
from hdpkit.franchise.population import bank_for
from hdpkit.franchise.proposals import Proposal, check_proposal, propose
from hdpkit.franchise.several_parents import GraphTopology
from hdpkit.franchise.state import measure_of, unserved
from hdpkit.franchise.topology import ContextTopology, Topology
from hdpkit.franchise.view import RestaurantView
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.parts import IntegrablePart
from hdpkit.random import ChoiceSource, Purpose, Seed
from hdpkit.steps.sweeps import reseat
from hdpkit.stores import CellsStore, FrozenSeating

_LABELLED = (Topology, GraphTopology)


def _grown(franchise: Any, data: Corpus | Groups) -> Any:
    """A franchise like this one with new customers unseated."""
    before = franchise.data
    if not isinstance(before, Corpus | Groups) or not isinstance(franchise.topology, _LABELLED):
        raise DeclarationError(
            "franchise", franchise, "over a Corpus or Groups",
            "N-grams grow by extend; for other data build a new franchise over all of them.",
        )  # fmt: skip
    if isinstance(before, Groups):
        if not isinstance(data, Groups) or not _continues(data, before):
            raise DataError(
                "data", data, f"the {len(before)} current customers first",
                "Build them with franchise.data.plus(groups).",
            )  # fmt: skip
    elif not isinstance(data, Corpus) or not _continues(data, before):
        raise DataError(
            "data", data, f"the {before.n_documents} current documents first, with the same terms",
            "Build them with franchise.data.plus(documents).",
        )  # fmt: skip
    made = maker(franchise, data)()
    made.thaw(_moved(franchise, made))
    return made


def _moved(franchise: Any, made: Any) -> dict[str, Any]:
    """The frozen state of a franchise, converted to one with more documents."""
    if franchise.measure.seats_values and isinstance(franchise.store, CellsStore):
        franchise = franchise.copy()
        franchise.expand_cells()  # tables of values are kept customer by customer below
    frozen = franchise.freeze()
    to = _numbers_in(franchise.topology, made.topology, franchise.declarations)
    seating = FrozenSeating.of(frozen["seating"])
    seating = seating.to(seating.DETAIL, franchise.topology)  # with a dish for each customer
    more = made.topology.n_customers - franchise.topology.n_customers
    seating = seating.with_customers(more, made.topology.known).without(slice(0, 0), to)
    numbers = franchise.hyperparameters
    numbers = numbers.over(made.topology, to, numbers.theta, numbers.d)
    held = {"held_groups": np.sort(to[franchise.held.nodes]).astype(np.int32)}
    bank = frozen["bank"]
    if franchise.measure.seats_values:  # new customers have no tables yet
        bank = {**bank, "opens": np.pad(bank["opens"], (0, more))}
    return {
        **frozen, "seating": seating.arrays(), "bank": bank, "concentration": numbers.theta,
        "discount": numbers.d, **held,
    }  # fmt: skip


def _numbers_in(before: Any, after: Any, declarations: Any) -> Int64s:
    """Number in the larger tree of each restaurant."""
    to = np.empty(before.n_nodes, dtype=np.int64)
    for number, declaration in enumerate(declarations):
        nodes = before.nodes(number)
        if declaration.each in (None, "document"):  # documents are in the order of both corpora
            new = np.arange(nodes.stop - nodes.start)
        else:
            place = {key: i for i, key in enumerate(after.keys[number])}
            new = np.array([place[key] for key in before.keys[number]], dtype=np.int64)
        to[nodes] = after.first[number] + new
    if isinstance(before, GraphTopology):
        before.map_arms(after, to)
    return to


def _continues(data: Any, before: Any) -> bool:
    """Whether the first customers of data, with their labels, are those of the previous data."""
    if not np.array_equal(data.values[: len(before)], before.values):
        return False
    if isinstance(before, Groups):
        names, old, new = before.label_names, before.labels, data.labels
    else:
        lengths = data.document_lengths[: before.n_documents]
        same = data.n_terms == before.n_terms and data.vocabulary == before.vocabulary
        if not same or not np.array_equal(lengths, before.document_lengths):
            return False
        names = tuple(name for name in before.label_names if name != "document")
        old, new = before.document_labels, data.document_labels
    return all(name in data.label_names and _continue_codes(new[name], old[name]) for name in names)


def _continue_codes(label: Any, before: Any) -> bool:
    """Whether the codes of a label begin with values of the previous ones; -1 is a missing value."""
    (codes, keys), (old, old_keys) = label, before
    place = {key: i for i, key in enumerate(keys)}
    to = np.array([*(place.get(key, -2) for key in old_keys), -1])
    return np.array_equal(np.asarray(codes)[: len(old)], to[np.asarray(old)])


def _continues_ngrams(data: NGrams, before: NGrams) -> bool:
    """Whether the first customers of data, with their contexts, are those of the previous data."""
    n = len(before)
    if data.order != before.order or len(data) < n or not np.array_equal(data.values[:n], before.values):
        return False
    if tuple(data.vocabulary[: len(before.vocabulary)]) != tuple(before.vocabulary):
        return False
    step = 1 << 16
    return all(
        np.array_equal(data.contexts(i, min(i + step, n)), before.contexts(i, min(i + step, n)))
        for i in range(0, n, step)
    )


def take_values(state: Any, values: Any, changes: Mapping[str, Any]) -> None:
    """Replace the values of the customers, whose seats don't change, and the frozen bank if it does."""
    state.access.change(state._replace_values, values, changes)


F = TypeVar("F", bound=Callable[..., Any])


class _Later:
    """A method that the module of a later room offers: it is imported when the method is first asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        import_module(self._module)  # replaces this object
        return getattr(owner if instance is None else instance, self._name)


class Franchise(Freezing):
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
        "auto" uses the fastest code for each step; "fused", "generic" or "reference" forces one. If there is
        no fused sweep for a step, or it is too inaccurate at the current hyperparameters, the next fastest
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
    `look`. A change that fails outside a run leaves the franchise closed (see `transaction`).

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

    # Functions of a state, which later rooms offer as methods: see `offered`.
    simulate = _Later("hdpkit.posterior.simulate")
    fold_in = _Later("hdpkit.posterior.fold_in")
    transitions = _Later("hdpkit.posterior.hidden_states")
    start = _Later("hdpkit.posterior.hidden_states")
    state_probabilities = _Later("hdpkit.posterior.hidden_states")
    draw_sequences = _Later("hdpkit.posterior.hidden_states")
    _summed_out = _Later("hdpkit.posterior.hidden_states")

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
        if kernel in ("generic", "fused"):
            self._kernel_of(reseat)  # raises an error if the kernel doesn't support the franchise
        self.reset_hyperparameters()
        for name, part in self.topology.parts().items():  # first, because weights depend on them
            self.parts.register(name, part)
        if self.root.weights is not None:
            self.parts.register(self.root.weights.name, self.root.weights)
        for name, part in self._brought.items():
            self.parts.register(name, part)
        self.known_dishes.enter(self)

    def __repr__(self) -> str:
        names = " > ".join(printable(declaration.name) for declaration in self.declarations)
        try:
            n = self.n_tables
            counts = f"{self.n_dishes} dishes, {n} tables" if n else f"no dishes ({RUN_FIRST[:-1]})"
        except BusyError:
            counts = "in use by another thread"
        except ClosedError:
            counts = "closed"
        return (
            f"<Franchise {names}: {self.topology.n_customers} customers, {counts}, "
            f"store {self.store_type.__name__}>"
        )

    def _repr_html_(self) -> str:
        return franchise_table(self)

    @property
    def known(self) -> Any:
        """The known components (`Known`, `KnownValues`), which are the first dishes, or None."""
        return self.known_dishes.declared

    def restaurant(self, name: str, key: Any = None) -> RestaurantView:
        """Live view of one restaurant. ``key`` may be omitted if there is only one.

        Raises a ParameterError if there is no such restaurant.

        Parameters
        ----------
        name : str
            Name of the declaration.
        key : object, optional
            Value of its label.
        """
        return RestaurantView(self, number_of(self.declarations, name), name, key)

    def snapshot(self) -> Snapshot:
        """The part of the current state that predictions need; it doesn't change with the franchise.

        Raises a StateError if a dish was opened and has no customers.
        """
        if empty := self._open_dishes():
            raise unserved(empty, "a snapshot")
        return Snapshot(self)

    # ------------------------------------------------------------------ blocks

    @unguarded
    def lock(self) -> Block:
        """Reserve the franchise for one thread within a block.

        Another thread gets a BusyError, and so does this one if another is using the franchise. It waits only
        for a read that is in progress.
        """
        return Block(self.access)

    @unguarded
    def root_integrated(self, source: ChoiceSource) -> Block:
        """Integrate out the weights of the root within a block, and draw them again at its end.

        Within the block the root is a Chinese restaurant. A move that leaves the posterior of seating and
        hyperparameters invariant then leaves the joint posterior invariant. If the root has no weights, or
        fixed ones, the block does nothing; nested blocks have no additional effect.
        """
        return self.root.integrated(source)

    @unguarded
    def parts_integrated(self, source: ChoiceSource) -> Block:
        """Integrate out all parts that can be integrated out within a block, and draw them again at its end.

        For moves that propose dishes. A move in this block that leaves the posterior of everything else
        invariant also leaves the complete posterior invariant. Nested blocks have no additional effect.
        """
        instance("source", source, ChoiceSource, "a choice source", remedy="Moves are given one.")
        self._outside()
        return Block(self.access, lambda: self.access.change(self._integrate, source), self.parts.draw)

    @unguarded
    def proposal(self, source: ChoiceSource | None = None) -> Block:
        """A block that receives a `Proposal`: changes that are taken back at its end unless it is accepted.

        The state is then exactly as before, after an exception in the block, too: seats, slots and ids of
        dishes, statistics, hyperparameters and parts. The cost grows with the change, not with the state,
        except for densities of parts, and for freezing them when a dish is born or dies or a part is set.
        Numbers that were drawn from ``source``, for parts at the birth of a dish (needed if the root has
        weights), are not given back. Until it is accepted nothing else may change the state; blocks can't be
        nested. A StateError is raised in a proposal; outside `labelled_seating`, over a store that keeps no
        seats or can't take changes back; in hidden Markov models; over a measure that is not conjugate;
        outside `parts_integrated`, over one that has parts.

        Examples
        --------
        >>> with state.proposal() as p:  # doctest: +SKIP
        ...     p.move_units(units, [a], dish)
        ...     if accepts(p.log_ratio + log_hastings, rng):
        ...         p.accept()
        """
        if source is not None:
            check_source(source)
        return Block(self.access, lambda: self._propose(source), Proposal._end)

    def _propose(self, source: ChoiceSource | None) -> Proposal:
        check_proposal(self)
        return self.access.change(propose, self, source)

    def _integrate(self, source: ChoiceSource) -> list[IntegrablePart]:
        return self.parts.integrate(source, self.parts.values())

    # ------------------------------------------------------------------ hyperparameters

    @changes
    def reset_hyperparameters(self) -> None:
        """Set every hyperparameter to its starting value: the number, or the prior's mean."""
        for part in self._brought.values():
            part.begin()
        self.access.change(self._give)
        self.set_base_parameters(**self._starting)
        self.hyperparameters.reset()
        self.topology.begin()

    def concentration(self, name: str) -> Any:
        """Concentration of a declaration: a float, or shape (n,) if restaurants have separate values."""
        return self.hyperparameters.values_of(name)[0]

    def discount(self, name: str) -> Any:
        """Discount of a declaration: a float, or shape (n,) if restaurants have separate values."""
        return self.hyperparameters.values_of(name)[1]

    @changes
    def set_concentration(self, name: str, value: npt.ArrayLike) -> None:
        """Set theta of a declaration: one number, or one per restaurant if they have separate values.

        Raises a ParameterError if there is no such declaration, or a value is outside 0 <= discount < 1,
        concentration > -discount.

        Parameters
        ----------
        name : str
            Name of the declaration.
        value : float, or float array of shape (n,)
            The same for all its restaurants, or one each.
        """
        self.access.change(self.hyperparameters.put, *self.hyperparameters.checked(name, concentration=value))

    @changes
    def set_discount(self, name: str, value: npt.ArrayLike) -> None:
        """Set d of a declaration: one number, or one per restaurant if they have separate values.

        Parameters
        ----------
        name, value
            As in `set_concentration`, with the same errors.
        """
        self.access.change(self.hyperparameters.put, *self.hyperparameters.checked(name, discount=value))

    # ------------------------------------------------------------------ the complete state

    @reopens
    def clear(self) -> None:
        """Unseat all customers; hyperparameters don't change. A closed franchise is open again."""
        self._not_lent("cleared")
        self.held.check_start("clear()")
        self.access.reopen(self._clear, self.access.closed)

    def _clear(self, failed: bool = False) -> None:
        if failed:
            self._abandon()
        slots = self.known_dishes.stay(self)
        self._replaced(slots, (), ids=slots, births=len(slots))

    # ------------------------------------------------------------------ other data

    @unguarded
    def with_documents(self, data: Corpus | Groups, rng: ChoiceSource | Seed = None) -> Self:
        """Return a franchise over more documents, or more observations in groups.

        Present seats are kept. Each new customer is seated in order by its predictive given all seated
        customers. This is a start for further sweeps, not a draw from the posterior. This franchise doesn't
        change. Hyperparameters, sweep counter and streams are those of this one; hyperparameters with
        separate values begin at the starting value in new restaurants. Raises a DataError if the first
        documents or customers are not the current ones; a DeclarationError if the data are neither documents
        nor groups.

        Parameters
        ----------
        data : Corpus or Groups
            ``franchise.data.plus(documents)``: the current documents, followed by new ones. Of groups the
            current customers, followed by new ones, in these groups or others.
        rng : seed, Generator or choice source
            For seating the new customers. Calls with a seed are counted as in `extend`.
        """
        made: Self = self.access.call(_grown, (self, data), {}, True)
        n, n_all = self.topology.n_customers, made.topology.n_customers
        source = made._own_source(rng, Purpose.EXTEND)
        made.in_chunks(n, n_all, lambda first, last: made.enter(first, last, source))
        made.settle()
        return made

    @changes
    def extend(self, data: GroupedData, rng: ChoiceSource | Seed = None) -> None:
        """Replace the data by a continuation, and seat the new customers with their predictive probabilities.

        Restaurants are created for new contexts. If it fails or is interrupted, nothing has changed. Raises a
        DataError if the first customers are not those of the current data.

        Parameters
        ----------
        data : NGrams
            For instance ``franchise.data.plus(sentences)``: the same customers, followed by others.
        rng : seed, Generator or choice source
            The same seed gives the same state after the same calls. A second call with this seed uses other
            random numbers: calls with a seed are counted, and the count is part of the state.
        """
        topology = self._growing()
        before, n = self.data, topology.n_customers
        assert isinstance(before, NGrams)
        if not isinstance(data, NGrams) or not _continues_ngrams(data, before):
            raise DataError(
                "data", data, f"n-grams of order {before.order}, the {n} current customers first",
                "Build them with franchise.data.plus(sentences).",
            )  # fmt: skip
        with self.transaction():
            source = self._own_source(rng, Purpose.EXTEND)
            same = np.arange(topology.n_nodes)
            grown = topology.extended(data)
            seating = FrozenSeating.of(self.store.freeze()).with_customers(grown.n_customers - n).arrays()
            self.access.change(self._replace_data, grown, data, seating, same)
            self.in_chunks(n, grown.n_customers, lambda first, last: self.enter(first, last, source))

    @changes
    def discard(self, first: int, last: int, rng: ChoiceSource | Seed = None) -> None:
        """Remove sentences first .. last - 1 permanently.

        Later customers are renumbered, and empty contexts are freed.

        Parameters
        ----------
        first, last : int
            Sentences of `data`; ``last`` is excluded.
        rng : seed, Generator or choice source
            A store of sizes draws the table that a customer leaves. Calls with a seed are counted as in
            `extend`.
        """
        topology = self._growing()
        data: Any = self.data
        whole_number("first", first, 0, data.n_sentences, remedy="Sentences are numbered from 0.")
        whole_number(
            "last", last, first, data.n_sentences, remedy="Sentences are numbered from 0; last is excluded."
        )
        shorter = data.without(first, last)
        gone = slice(int(data.offsets[first]), int(data.offsets[last]))
        with self.transaction():
            source = self._own_source(rng, Purpose.DISCARD)
            self.leave(gone.start, gone.stop, source)
            fewer = ContextTopology(topology.n_levels, shorter)
            to = topology.numbers_in(fewer)
            seating = FrozenSeating.of(self.store.freeze()).without(gone, to).arrays()
            self.access.change(self._replace_data, fewer, shorter, seating, to)

    def _growing(self) -> ContextTopology:
        self._not_lent("given other data")
        if not isinstance(self.topology, ContextTopology):
            raise DeclarationError(
                "franchise", self, "over n-grams, with restaurants each='context 1', 'context 2', ...",
                "Build a new franchise over all the data.",
            )  # fmt: skip
        return self.topology

    def _replace_values(self, values: Any, changes: Mapping[str, Any]) -> None:
        slots, held, bank, parts = self._current_dishes()
        self.data = self.data.with_values(values)
        self.prepared = measure_of(self.prepared, "for_data", self.prepared.for_data(self.data))
        self.measure = measure_of(self.measure, "for_data", self.measure.for_data(self.data))
        self.bank = bank_for(self, self.measure, self.data)
        self._replaced(slots, held, changes.get("bank", bank), parts)

    def _replace_data(
        self, topology: ContextTopology, data: NGrams, seating: dict[str, Any], to: npt.NDArray[Any]
    ) -> None:
        """Change to a tree in which restaurant r of the current one is to[r], and to a seating there."""
        dishes, values = self._current_dishes(), self.base_parameters
        self.topology, self.data = topology, data
        measure = self.prepared = self.declarations[-1].measure.for_data(data)
        self.measure = measure.with_parameters(**values) if values else measure
        self.bank = bank_for(self, self.measure, data)
        self.store = self.population.store(topology, self.bank)
        self.store.thaw(seating)
        before = self.hyperparameters
        self.hyperparameters = before.over(topology, to, before.theta, before.d)
        self._replaced(*dishes)

    def _current_dishes(self) -> tuple[Any, Any, Any, Any]:
        """Occupied slots, held slots, and the frozen states of the bank and of parts."""
        return (
            self.slots.occupied_slots(),
            self.slots.held_slots(),
            self.bank.freeze(),
            self.parts.freeze(),
        )


def offered(function: F) -> F:
    """Make a function of a state a method of every franchise; for rooms that this one may not import."""
    setattr(Franchise, function.__name__, guarded(function))
    return function
