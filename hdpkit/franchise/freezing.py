"""The frozen state of a franchise, and what it is for: transactions, copies, pickles, snapshots."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Self, cast

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit._franchise_lock import Transaction
from hdpkit.arrays import Floats, Int32s
from hdpkit.checks import (
    DAMAGED,
    fitting,
    instance,
    numbers_between,
    positive_number,
    whole_number,
    whole_numbers,
)
from hdpkit.data import GroupedData
from hdpkit.errors import BusyError, ParameterError, StateError
from hdpkit.franchise.frozen import FrozenState, check_frozen, check_opens
from hdpkit.franchise.guard import reopens, unguarded
from hdpkit.franchise.population import cloned
from hdpkit.franchise.reading import Reading
from hdpkit.franchise.sample import seating_arrays
from hdpkit.franchise.state import unserved
from hdpkit.measures._slots import DishSlots
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.parts import IntegrablePart
from hdpkit.random import ChoiceSource, Streams
from hdpkit.steps.step import COMPILED_STORES
from hdpkit.stores import detail_of
from hdpkit.stores._seating import Seating

# Objects of a franchise that some changes replace, rather than change.
_REPLACED = (
    "data", "topology", "measure", "bank", "store", "hyperparameters", "population", "prepared",
    "_untempered",
)  # fmt: skip


@attrs.frozen(eq=False)
class Kept:
    """The state that a failed change goes back to: the objects that may be replaced, and what is in them."""

    objects: Mapping[str, Any]
    frozen: FrozenState
    lent: Any = None  # the seating of `labelled_seating`, frozen
    integrated: Mapping[str, ChoiceSource | None] = attrs.field(factory=dict)  # by part

    @classmethod
    def of(cls, state: Any) -> Self:
        """The current state."""
        objects = {name: vars(state)[name] for name in _REPLACED}
        if state.lent is None:
            lent, seating = None, state.store.freeze(state.data.empty_row)
        else:
            lent = state.lent.freeze()
            seating = state._in_detail(lent, detail_of(state.store))
        parts = state.parts.items()
        integrated = {name: part.integrated for name, part in parts if isinstance(part, IntegrablePart)}
        return cls(objects, state._frozen(seating), lent, integrated)

    def restore(self, state: Any) -> None:
        """Go back to it; called by `FranchiseLock.reopen`."""
        vars(state).update(self.objects)
        state.streams = None  # unless the kept state has streams
        state._restore(self.frozen, None, True)
        vars(state).update(self.objects)  # within a block of `at_power` the measure is again at the power
        for name, source in self.integrated.items():
            state.parts[name].integrated = source
        if self.lent is not None:
            state.lent = state._table_store()
            state.lent.thaw(self.lent)


class Freezing(Reading):
    """Freezes and thaws the state of a franchise, and makes others in the same state."""

    def __init__(self, *declared: Any) -> None:
        super().__init__(*declared)
        self.kept: Kept | None = None  # within a run or a transaction
        self._requests: list[Future[Any]] = []  # of `look` in other threads

    def freeze(self) -> FrozenState:
        """The complete state as arrays and numbers; a franchise that thaws it continues exactly."""
        self._not_lent("frozen")
        return self._frozen(self.store.freeze(self.data.empty_row))

    def _frozen(self, seating: dict[str, Any]) -> FrozenState:
        """The complete state, with this seating."""
        if empty := self._open_dishes():
            raise unserved(empty, "the state is frozen")
        streams, slots = self.streams, self.slots
        frozen = {
            "seating": seating,
            "slots": slots.occupied_slots(),
            "held": np.array(slots.held_slots(), dtype=np.int32),
            # Observed dishes are atoms, whose ids are their numbers.
            **({} if self.measure.atomic else {"dish_ids": slots.ids(), "births": slots.n_births()}),
            "concentration": self.hyperparameters.theta.copy(),
            "discount": self.hyperparameters.d.copy(),
            "measure": self.base_parameters,
            "bank": self.bank.freeze(),
            "sweep": self.sweep,
            # No call had a seed in most states.
            **({"seeded_calls": self._seeded_calls} if self._seeded_calls else {}),
            **({"held_groups": self.held.nodes} if len(self.held.nodes) else {}),
            "streams": None if streams is None else {"seed": streams.seed, "chain": streams.chain},
            "components": self.parts.freeze(),
        }
        return cast(FrozenState, frozen)

    @reopens
    def thaw(self, frozen: Mapping[str, Any], source: ChoiceSource | None = None) -> None:
        """Restore a state returned by `freeze`, of a franchise of this shape; also of a closed franchise.

        A state from a store with more detail (sizes have more than counts, seats more than sizes) is reduced
        to that of this store. In the opposite case the missing detail is drawn, which requires a ``source``.
        Missing weights of the root are also drawn. If this fails half way, the franchise is closed. Raises a
        DataError if it is not a state of a franchise of this shape; a StateError if something is missing, and
        there is no source.

        Parameters
        ----------
        frozen : mapping
            The result of `freeze`.
        source : ChoiceSource, optional
            For drawing missing parts of the state.
        """
        seating = check_state(self, frozen)
        if source is not None:
            instance(
                "source", source, ChoiceSource, "a choice source, or None", remedy="Moves are given one."
            )
        for name, part in self.parts.items():
            if isinstance(part, IntegrablePart) and source is None and name not in frozen["components"]:
                raise StateError(
                    "source", None, f"a choice source, where a frozen state has no {name}",
                    "They are drawn. Pass one: thaw(state, source).",
                )  # fmt: skip
        take_over(self, {**frozen, "seating": seating}, source)

    def _restore(self, frozen: Mapping[str, Any], source: ChoiceSource | None, failed: bool) -> None:
        """Replace everything that changes. If a change ``failed``, nothing is assumed of the state before."""
        if failed:
            self._abandon()
        self.slots.trouble = None  # an error of a part that no step has raised yet
        streams = Streams(**frozen["streams"]) if frozen["streams"] else self.streams
        discount = np.asarray(frozen["discount"], dtype=np.float64)
        seating = self.population.adapted(frozen["seating"], source, discount)
        values = frozen["measure"]
        if values != self.base_parameters:
            self.measure = self._with_parameters(values)
        self.bank.adopt(self.measure)
        self.store.thaw(seating)
        self.hyperparameters.replace(frozen["concentration"], frozen["discount"])
        self.sweep = int(frozen["sweep"])
        self._seeded_calls = int(frozen.get("seeded_calls", 0))
        self.streams = streams
        self.held = self._held_in(frozen)
        slots, parts = np.asarray(frozen["slots"], dtype=np.int32), frozen["components"]
        ids, births = (None, 0) if self.measure.atomic else (frozen["dish_ids"], frozen["births"])
        bank = self.population.bank_state(frozen, seating)
        self._replaced(slots, frozen["held"], bank, parts, source, ids, births)

    def _abandon(self) -> None:
        """End what a failed change had begun outside the seating."""
        self.data.check_unchanged()  # mapped data that have changed must not be read
        self._step = self._proposal = self.lent = self.on_pulse = None
        self.slots.source = None
        self._walks = {}
        self._lower()
        for part in self.parts.values():
            if isinstance(part, IntegrablePart):
                part.integrated = None

    # ------------------------------------------------------------------ transactions

    @unguarded
    def transaction(self) -> Transaction:
        """Return a block that either completes or leaves the franchise as it was.

        A step that fails outside a run leaves the franchise closed: every use raises a ClosedError until
        `thaw`, or a start, replaces the state. After an exception in this block the state at its beginning
        is restored instead, and the exception is passed on. The state is copied at the beginning. Blocks can
        be nested. At its beginning, a franchise that was closed within a run or a transaction goes back to
        the state at the last end of a sweep, or at the beginning of that transaction.

        Examples
        --------
        >>> with franchise.transaction():  # doctest: +SKIP
        ...     franchise.reseat(0, 10, source)
        """
        self._outside()
        return Transaction(self.access, self, Kept.of)

    # ------------------------------------------------------------------ franchises in the same state

    def copy(self) -> Self:
        """Return an independent franchise in the same state, with clones of the parts."""
        return maker(self, self.data)(self.freeze())

    @unguarded
    def look(self, timeout: float | None = None) -> Self:
        """An independent copy of the state at the end of a sweep, from any thread: for watching a run.

        During a run in another thread this waits for the end of the current sweep. Between the draws of
        `Scheduler.sample`, outside a run, or when the run ends or fails it returns at once. The run is not
        affected, and has no extra work unless `look` is called. Raises a BusyError if no sweep ends in time;
        a StateError if the running thread calls it within a move, inside `labelled_seating`.

        ``timeout`` is the largest number of seconds to wait; None: until the sweep ends.
        """
        if timeout is not None:
            positive_number("timeout", timeout, remedy="Seconds; None waits as long as it takes.")
        make, frozen = _state(self, timeout)
        return make(frozen)  # in this thread

    def _standing(self) -> tuple[Callable[..., Any], FrozenState]:
        """The current state and a function that makes a franchise from it, for `look`."""
        return maker(self, self.data), self.freeze()

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Data and declarations don't change, so copies share them.
        twin = memo[id(self)] = self.copy()
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        # The frozen state; users' classes are pickled as usual.
        return self.access.call(_reduced, (self,), {}, True)

    def __setstate__(self, kept: dict[str, Any]) -> None:
        # Parts are added after the franchise was created, because they may refer to it.
        with fitting("pickle of Franchise", "the state of a franchise", remedy=DAMAGED):
            for name, part in kept["components"].items():
                self.register(name, part)
            self.thaw(kept["frozen"])


def check_state(state: Any, frozen: Any) -> dict[str, npt.NDArray[np.int32]]:
    """Raise a DataError unless a state is consistent and has this shape; returns its seating for a store."""
    observed = state.dish_kind.frozen()
    shared = state.hyperparameters.sharers
    seating = check_frozen(frozen, state.topology, state._starting, observed, shared)
    state._check_discount(np.asarray(frozen["discount"])[1:], frozen=True)
    state.root._check_number("slots, in the frozen state", len(frozen["slots"]), frozen=True)
    state._held_in(frozen)
    state.known_dishes.check_frozen(frozen, seating)
    if not state.measure.conjugate:
        state.bank.check_frozen(frozen["bank"], frozen["slots"])
    if state.measure.seats_values:
        check_opens(frozen["bank"], state.topology.n_customers)
    return seating


def take_over(state: Any, frozen: Mapping[str, Any], source: ChoiceSource | None = None) -> None:
    """Restore a state that was already checked (exact tests restore the same states very often)."""
    state._outside()
    state._not_lent("thawed")
    state.access.reopen(state._restore, frozen, source, state.access.closed)


def _arguments(franchise: Any) -> tuple[Any, GroupedData, dict[str, Any]]:
    """Declaration, data and options of a franchise."""
    options = {
        "store": franchise.store_type, "kernel": franchise.forced_kernel, "root": franchise.root.declared,
        "measure": franchise.prepared, "known": franchise.known,
    }  # fmt: skip
    return franchise.declarations[-1], franchise.data, options


def _reduced(franchise: Any) -> tuple[Any, ...]:
    kept = {"components": dict(franchise.components), "frozen": franchise.freeze()}
    return _unpickled, (type(franchise), *_arguments(franchise)), kept


def _unpickled(kind: Any, restaurant: Any, data: GroupedData, options: dict[str, Any]) -> Any:
    """A franchise without seated customers."""
    with fitting("pickle of Franchise", "a franchise's arguments", remedy=DAMAGED):
        return kind(restaurant, data, **options)


def maker(franchise: Any, data: GroupedData, measure: BaseMeasure | None = None) -> Callable[..., Any]:
    """Return a function that makes a `Franchise` like this one over other data, in a given state."""
    # Parts are cloned twice: now, because the franchise may continue in another thread, and for each copy.
    kind, (declared, _, options) = type(franchise), _arguments(franchise)
    options |= {} if measure is None else {"measure": measure}
    parts = {name: cloned(name, part, franchise) for name, part in franchise.components.items()}
    whole = franchise.store_type in COMPILED_STORES  # what they freeze is complete

    def make(frozen: dict[str, Any] | None = None, source: ChoiceSource | None = None) -> Any:
        twin = kind(declared, data, **options)
        for name, part in parts.items():
            twin.register(name, cloned(name, part, twin))
        if frozen is None:
            return twin
        if whole:
            take_over(twin, frozen, source)
        else:
            twin.thaw(frozen, source)
        return twin

    return make


class Snapshot:
    """Counts by restaurant and dish, and the hyperparameters, of a franchise at one moment."""

    def __init__(self, franchise: Any, arrays: Mapping[str, Any] | None = None) -> None:
        self._lock = threading.Lock()  # calls of the walk use its working memory
        franchise.access.call(self._take, (franchise, arrays))

    def _take(self, franchise: Any, arrays: Mapping[str, Any] | None) -> None:
        t = franchise.topology
        kept = seating_arrays(franchise) if arrays is None else arrays
        self.concentration: Floats = np.array(kept["concentration"], dtype=np.float64)
        self.discount: Floats = np.array(kept["discount"], dtype=np.float64)
        if not len(self.concentration) == len(self.discount) == t.n_nodes or kept["dish"].max(
            initial=-1
        ) >= len(franchise.slots):
            raise ValueError("of other restaurants or dishes")
        self._counts = Seating(0, t.n_nodes)
        self._counts.take_counts(*(np.ascontiguousarray(kept[name], dtype=np.int32) for name in _COUNTS))
        slots = DishSlots()
        slots.reset(franchise.slots.occupied_slots())
        root: Any
        root, self.base = franchise.root._kept()
        theta, d = self.concentration, self.discount
        self.weights = t.current_weights() if arrays is None else kept.get("weights")
        self._walk = t.walk(self._counts, slots, t.home, theta, d, root, arms=self.weights)

    def probabilities(self, nodes: Int32s, dishes: Int32s, above: Floats) -> Floats:
        """P_node(dish) for pairs of restaurant and dish: shape (n,)."""
        # `above` is H of each dish, which may be an atom without customers (any number that is not a slot).
        remedy = "Give three arrays of one length."
        nodes = whole_numbers("nodes", nodes, 0, len(self.concentration) - 1, np.int32, remedy=remedy)
        n = len(nodes)
        dishes = whole_numbers("dishes", dishes, -(2**31), 2**31 - 1, np.int32, length=n, remedy=remedy)
        above = np.ascontiguousarray(numbers_between("above", above, 0.0, np.inf, remedy=remedy)).ravel()
        if len(above) != n:
            raise ParameterError("above", above, f"{n} numbers, one for each pair", remedy)
        with self._lock:
            found: Floats = self._walk.probabilities(nodes, dishes, above)
        return found

    def row(self, node: int) -> Floats:
        """P_node of every dish and, last, of a new one (of all other atoms): shape (K + 1,)."""
        whole_number("node", node, 0, len(self.concentration) - 1, remedy="See Franchise.topology.nodes.")
        with self._lock:
            row: Floats = self._walk.prior_row(node)
        return row

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The snapshot as arrays."""
        counts = dict(zip(_COUNTS, self._counts.counts(), strict=True))
        own = {} if self.weights is None else {"weights": self.weights}
        return {**counts, "concentration": self.concentration, "discount": self.discount, **own}

    def memory_bytes(self) -> int:
        """Bytes held."""
        return int(self._counts.memory_bytes() + self.concentration.nbytes + self.discount.nbytes)


_COUNTS = ("node", "dish", "customers", "tables")


_SECONDS_BETWEEN_TRIES = 0.02


def answer_looks(state: Any) -> None:
    """Answer requests of `Franchise.look` from other threads, if there are any, with one state."""
    waiting = list(state._requests)
    if not waiting:
        return
    try:
        answer = state._standing()
    except Exception as failure:  # the requesting threads get the exception; the run continues
        for request in waiting:
            request.set_exception(failure)
    else:
        for request in waiting:
            request.set_result(answer)
    for request in waiting:
        with contextlib.suppress(ValueError):  # it was withdrawn meanwhile
            state._requests.remove(request)


def _state(franchise: Any, timeout: float | None) -> tuple[Callable[..., Any], dict[str, Any]]:
    until = None if timeout is None else time.monotonic() + timeout
    request: Future[tuple[Callable[..., Any], dict[str, Any]]] | None = None
    try:
        while True:
            try:
                return franchise.access.look(franchise._standing)
            except BusyError:
                if until is not None and time.monotonic() >= until:
                    raise BusyError(
                        "franchise", f"in one sweep for {timeout} s", "at the end of a sweep in that time",
                        "Give a longer timeout, or none.",
                    ) from None  # fmt: skip
            if request is None:
                request = Future()
                franchise._requests.append(request)
            left = _SECONDS_BETWEEN_TRIES if until is None else until - time.monotonic()
            with contextlib.suppress(TimeoutError):
                return request.result(max(0.0, min(left, _SECONDS_BETWEEN_TRIES)))
    finally:
        with contextlib.suppress(ValueError):  # it has been answered, or there is none
            franchise._requests.remove(request)
