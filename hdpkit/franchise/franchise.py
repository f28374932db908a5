"""The franchise, which owns the mutable seating and the dish ids."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import numpy.typing as npt

from hdpkit._franchise_lock import Block
from hdpkit.checks import instance
from hdpkit.data import GroupedData
from hdpkit.errors import RUN_FIRST, BusyError, ClosedError, printable
from hdpkit.franchise.as_html import franchise_table
from hdpkit.franchise.audit import audit
from hdpkit.franchise.declarations import FixedWeights, Restaurant, number_of
from hdpkit.franchise.extending import Extending
from hdpkit.franchise.freezing import Snapshot
from hdpkit.franchise.guard import changes, guarded, reopens, unguarded
from hdpkit.franchise.known import Known, KnownValues
from hdpkit.franchise.proposals import Proposal, check_proposal, propose
from hdpkit.franchise.state import unserved
from hdpkit.franchise.steps import check_source
from hdpkit.franchise.view import RestaurantView
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.parts import IntegrablePart
from hdpkit.random import ChoiceSource

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


def _later(module: str) -> Any:
    return _Later(module)


class Franchise(Extending):
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
    simulate: Callable[..., Any] = _later("hdpkit.posterior.simulate")
    fold_in: Callable[..., Any] = _later("hdpkit.posterior.fold_in")
    transitions: Callable[..., Any] = _later("hdpkit.posterior.hidden_states")
    start: Callable[..., Any] = _later("hdpkit.posterior.hidden_states")
    state_probabilities: Callable[..., Any] = _later("hdpkit.posterior.hidden_states")
    draw_sequences: Callable[..., Any] = _later("hdpkit.posterior.hidden_states")
    _summed_out: Callable[..., float] = _later("hdpkit.posterior.hidden_states")

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
        self._check_forced_kernel()
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
        return RestaurantView(self, number_of(self.declarations, name), name, key)

    def snapshot(self) -> Snapshot:
        """The part of the current state that predictions need; it doesn't change with the franchise.

        Raises
        ------
        StateError
            If a dish was opened and has no customers.
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
        """Integrate out the weights of the root within a block: see `Root.integrated`."""
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
        dishes, statistics, hyperparameters and parts. The cost grows with the change, not with the state;
        but the parts of the state are asked for their densities, and all of them are frozen when a dish is
        born or dies or a part is set. Numbers that were drawn from ``source`` are not given back. Until the
        proposal is accepted nothing else may change the state, and blocks can't be nested.

        Parameters
        ----------
        source : ChoiceSource, optional
            For draws of parts of the state at the birth of a dish; needed if the root has weights.

        Raises
        ------
        StateError
            In a proposal; outside `labelled_seating`, over a store that keeps no seats; over a store that
            can't take changes back; in hidden Markov models; over a measure that is not conjugate; outside
            `parts_integrated`, over one that has parts.

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
        made: Proposal = self.access.change(propose, self, source)
        return made

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
        self.access.change(self.hyperparameters.put, *self.hyperparameters.checked(name, concentration=value))

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

    def audit(self) -> None:
        """Recompute everything from the seating, and raise an AuditError if the state is inconsistent."""
        audit(self, self.parts)


def offered(function: F) -> F:
    """Make a function of a state a method of every franchise; for rooms that this one may not import."""
    setattr(Franchise, function.__name__, guarded(function))
    return function
