"""The steps of a franchise, which moves call: what they take, how it is checked, and how a step runs."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

import hdpkit.steps.counts_walk
import hdpkit.steps.state_homes  # noqa: F401 - they attach kernels
from hdpkit._franchise_lock import Block
from hdpkit.arrays import Int32s
from hdpkit.checks import (
    array_in_place,
    as_float,
    flag,
    function,
    instance,
    items,
    whole_number,
    whole_numbers,
)
from hdpkit.errors import ParameterError, StateError
from hdpkit.franchise.declarations import kind_of_root, tables_at_end
from hdpkit.franchise.guard import aside, changes, unguarded
from hdpkit.franchise.held import Held
from hdpkit.random import ChoiceSource
from hdpkit.random._source import Asked
from hdpkit.steps import sweeps, table_counts
from hdpkit.steps import units as blocks
from hdpkit.steps._sweeps import Units
from hdpkit.steps.groups import reseat_groups
from hdpkit.steps.step import STEPS, Step
from hdpkit.stores import Detail, detail_of

MOST_THREADS = 1024
_LARGEST = 2**31 - 2  # number of a slot


def check_source(source: Any) -> None:
    """Raise an error unless it is a choice source."""
    instance("source", source, ChoiceSource, "a choice source", remedy="Pass the rng that the move is given.")


def check_range(first: Any, last: Any, n: int) -> None:
    """Raise an error unless first .. last - 1 is a range within 0 .. n - 1."""
    if type(first) is int and type(last) is int and 0 <= first <= last <= n:
        return
    whole_number("first", first, 0, n, remedy=f"A range lies within 0 .. {n}.")
    whole_number("last", last, first, n, remedy=f"A range lies within 0 .. {n}; last is excluded.")


def check_units(state: Any, units: Any) -> None:
    """Raise an error unless these are units of the current seating."""
    state._need_tables()
    kind = blocks.Units if state.kernel(blocks.index_units) == "reference" else Units
    instance("units", units, kind, "what units(level) returned", remedy="Index them: franchise.units(level).")
    units.check(state.seating)


def check_reserved(state: Any, name: str, slot: Any) -> None:
    """Raise an error unless a slot is reserved."""
    if not state.slots.is_reserved(whole_number(name, slot, 0, _LARGEST)):
        raise StateError(name, slot, "a reserved slot", "Work inside `with franchise.reserved(n) as slots:`.")


def _source(state: Any, source: Any) -> tuple[Any, ...]:
    check_source(source)
    return (source,)


def _customers(state: Any, first: Any, last: Any) -> tuple[Any, ...]:
    check_range(first, last, state.topology.n_customers)
    return first, last


def _free_customers(state: Any, first: Any, last: Any) -> tuple[Any, ...]:
    check_range(first, last, state.topology.n_customers)
    state.held.check_free(first, last)
    return first, last


def _given_dishes(state: Any, dishes: Any, first: Any, last: Any) -> tuple[Any, ...]:
    n = state.topology.n_customers
    check_range(first, last, n)
    # Only these customers are checked, because a start runs in pieces.
    if isinstance(dishes, np.ndarray) and dishes.dtype == np.int32 and dishes.shape == (n,):
        given = np.ascontiguousarray(dishes)
    else:
        remedy = "Give one slot per customer: see open_dish."
        given = whole_numbers("dishes", dishes, -1, _LARGEST, np.int32, length=n, remedy=remedy)
    if not np.isin(given[first:last], state.slots.occupied_slots()).all():
        raise ParameterError("dishes", dishes, "occupied slots, one per customer", "See open_dish.")
    state.dish_kind.check_given(given, first, last)
    state.known_dishes.check_possible(state.data, given[first:last], "dishes", first)
    return state.known_dishes.with_own(given), first, last


def _restaurants(state: Any, first: Any, last: Any) -> tuple[Any, ...]:
    check_range(first, last, state.topology.n_nodes)
    return first, last


def _units(state: Any, units: Any) -> tuple[Any, ...]:
    check_units(state, units)
    return (units,)


def _free_units(state: Any, units: Any, first: Any, last: Any) -> tuple[Any, ...]:
    check_units(state, units)
    check_range(first, last, len(units))
    state.held.check_units(units, range(first, last))
    return units, first, last


def _places(state: Any, units: Any, which: Any) -> tuple[Any, ...]:
    check_units(state, units)
    return units, whole_numbers("which", which, 0, len(units) - 1, remedy="Give places in units.")


def _free_places(state: Any, units: Any, which: Any) -> tuple[Any, ...]:
    state.dish_kind.check_latent()
    units, places = _places(state, units, which)
    if units.level != 1:
        raise ParameterError("units", units, "customers of the root", "Index them with units(1).")
    state.held.check_units(units, places)
    return units, places


def _dish(state: Any, dish: Any) -> tuple[Any, ...]:
    if not state.slots.is_occupied(whole_number("dish", dish, 0, _LARGEST)):
        raise StateError("dish", dish, "an occupied slot", "Call open_dish() for a new one.")
    return (dish,)


def _slot(state: Any, slot: Any) -> tuple[Any, ...]:
    check_reserved(state, "slot", slot)
    return (slot,)


def _slots(state: Any, slots: Any) -> tuple[Any, ...]:
    reserved = items("slots", slots, "reserved slots", remedy="Work inside `reserved(n)`.")
    for slot in reserved:
        check_reserved(state, "slots", slot)
    return (np.array(reserved, dtype=np.int32),)


@attrs.frozen
class Argument:
    """A kind of argument: for how many parameters it stands, its check, and what its docstring says."""

    n: int
    check: Callable[..., tuple[Any, ...]]
    text: str


_UNITS = "units : units\n    What `units` returned, of the current seating."
_WHICH = f"{_UNITS}\nwhich : int64 array, shape (n,)\n    Places in ``units``"
ARGUMENTS = {
    "source": Argument(1, _source, "source : ChoiceSource\n    The ``rng`` that a move is given."),
    "customers": Argument(
        2, _customers, "first, last : int\n    Customers first .. last - 1, in data order."
    ),
    "free customers": Argument(
        2, _free_customers,
        "first, last : int\n    Customers first .. last - 1, in data order; a StateError if some are held.",
    ),
    "dishes of customers": Argument(
        3, _given_dishes,
        "dishes : int32 array, shape (n_customers,)\n    Slot of each customer's dish, which is occupied; "
        "only those of the range are used.\n    If dishes are observed, the customer's value.\n"
        "first, last : int\n    Customers first .. last - 1, in data order.",
    ),
    "restaurants": Argument(
        2, _restaurants, "first, last : int\n    Restaurants first .. last - 1, by number."
    ),
    "units": Argument(1, _units, _UNITS),
    "free units": Argument(
        3, _free_units,
        f"{_UNITS}\nfirst, last : int\n    Units first .. last - 1; a StateError if one has held customers.",
    ),
    "places": Argument(2, _places, f"{_WHICH}."),
    "free places": Argument(
        2, _free_places, f"{_WHICH} of customers of the root; a StateError if a customer below is held."
    ),
    "dish": Argument(1, _dish, "dish : int\n    An occupied slot."),
    "slot": Argument(1, _slot, "slot : int\n    A reserved slot."),
    "slots": Argument(1, _slots, "slots : tuple of int\n    Reserved slots."),
}  # fmt: skip
"""By the name that a step declares in ``takes``."""


def method_of(step: Step) -> Callable[..., Any]:
    """The method of a franchise that checks a step's arguments and runs it."""
    parameters = list(inspect.signature(step.body).parameters.values())  # type: ignore[arg-type]
    own = [one for one in parameters if one.name not in ("walk", "bank")]
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    signature = inspect.Signature([me, *own])

    # A step without a source draws nothing, and changes at most reserved slots.
    @(changes if "source" in (step.takes or ()) else aside)
    def method(self: Any, /, *arguments: Any, **named: Any) -> Any:
        if named or len(arguments) != len(own):
            arguments = signature.bind(self, *arguments, **named).args[1:]
        return self._run_step(step, *arguments)

    texts = "\n".join(ARGUMENTS[name].text for name in step.takes or ())
    doc = f"{inspect.cleandoc(step.__doc__ or '')}\n\nParameters\n----------\n{texts}\n"
    method.__dict__["__signature__"] = signature
    method.__name__, method.__doc__ = step.name, doc
    return method


def checked(state: Any, step: Step, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a step as its kernels take them; raises a typed error before anything is done."""
    given: list[Any] = []
    for name in step.takes or ():
        kind = ARGUMENTS[name]
        at = len(given)
        given += kind.check(state, *arguments[at : at + kind.n])
    return (*given, *arguments[len(given) :])


def check_scan(
    state: Any, units: Any, order: Any, sides: Any, sizes: Any, slots: Any, forced: Any, log_q: Any
) -> tuple[Any, ...]:
    """The arguments of a scan of units."""
    check_units(state, units)
    n = len(units)
    visited = whole_numbers("order", order, 0, n - 1, remedy="Give places in units.")
    array_in_place(
        "sides", sides, np.int8, n, remedy="Give one per unit, -1 where it is on neither side yet."
    )
    array_in_place("sizes", sizes, np.int64, 2, remedy="Units on each side.")
    if forced is not None:
        forced = whole_numbers("forced", forced, -1, 1, np.int8, length=n, remedy="None draws the sides.")
        if (forced[visited] < 0).any():
            raise ParameterError("forced", forced, "0 or 1 where a unit is visited", "None draws the sides.")
    here = sides[visited]
    if (abs(here) > 1).any() or any(np.count_nonzero(here == side) > sizes[side] for side in (0, 1)):
        raise ParameterError(
            "sides, sizes", (sides, sizes), "0, 1 or -1 for each unit, and how many are on each side",
            "Count them: np.count_nonzero(sides == 0).",
        )  # fmt: skip
    pair = _slots(state, slots)[0].tolist()
    if len(pair) != 2 or pair[0] == pair[1]:
        raise ParameterError("slots", slots, "two reserved slots", "Work inside `reserved(2)`.")
    if np.isnan(as_float(log_q)):
        raise ParameterError("log_q", log_q, "a number", "It is what the scan before this one returned.")
    return units, visited, sides, sizes, *pair, forced, float(log_q)


_OF_GROUPS = "Pass what franchise.groups() returned."


def check_groups(state: Any, groups: Any, first: Any, last: Any) -> tuple[Int32s, Any, Int32s]:
    """Check the arrays of groups first .. last - 1; only these, because a sweep runs in pieces."""
    arrays = items("groups", groups, "three arrays", remedy=_OF_GROUPS)
    if len(arrays) != 3 or not all(
        isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu" for array in arrays
    ):
        raise ParameterError("groups", groups, "nodes, begin and customers, three arrays", _OF_GROUPS)
    nodes, begin, customers = arrays
    check_range(first, last, len(nodes))
    if len(begin) != len(nodes) + 1:
        raise ParameterError("groups", begin, f"begin of length {len(nodes) + 1}", _OF_GROUPS)
    bounds = whole_numbers("groups", begin[first : last + 1], 0, len(customers), remedy=_OF_GROUPS)
    sizes = np.diff(bounds)
    if (sizes < 1).any():
        raise ParameterError("groups", bounds, "ascending bounds of groups", _OF_GROUPS)
    t = state.topology
    here = whole_numbers("groups", nodes[first:last], 0, t.n_nodes - 1, remedy=_OF_GROUPS)
    low, high = (int(bounds[0]), int(bounds[-1])) if len(sizes) else (0, 0)
    who = whole_numbers("groups", customers[low:high], 0, t.n_customers - 1, remedy=_OF_GROUPS)
    inner = np.ones(max(len(who) - 1, 0), dtype=bool)
    inner[bounds[1:-1] - low - 1] = False  # between groups
    if not np.array_equal(t.home[who], np.repeat(here, sizes)) or (np.diff(who) <= 0)[inner].any():
        raise ParameterError("groups", who, "each restaurant's data customers, ascending", _OF_GROUPS)
    if np.isin(here, state.held.nodes).any():
        raise StateError("groups", here, "free ones", "Release them: franchise.release().")
    return (
        np.ascontiguousarray(nodes, dtype=np.int32),
        np.ascontiguousarray(begin, dtype=np.int64),
        np.ascontiguousarray(customers, dtype=np.int32),
    )


MOST_RESERVED = 1024  # most slots reserved at a time, for the statistics of a proposal
MOST_LAUNCHES = 10**6  # most scans of a proposal before the final one
CHUNK_SECONDS = 0.1  # a step over many customers returns to Python about this often (Ctrl-C, progress)
# By kernel, if it must not depend on the clock.
LARGEST_CHUNK = {"fused": 1 << 16, "generic": 1 << 12, "reference": 1 << 8}


class Steps(Held):
    """Steps over many customers. Customers are data customers, in data order."""

    @changes
    def run_step(self, step: Step, *arguments: Any, source: ChoiceSource | None = None) -> Any:
        """Run a step (`hdpkit.step`) on its fastest kernel; if it fails, the franchise is closed.

        Parameters
        ----------
        step : Step
            What the decorator ``@step(...)`` made.
        arguments
            Those of the function after the walk and the statistics of dishes. They are checked if the step
            declares what it ``takes``.
        source : ChoiceSource, optional
            The ``rng`` of a move; the function's last argument.

        Returns
        -------
        object
            What the function returns.

        Raises
        ------
        ParameterError
            If it is no step, or an argument is not what the step takes.
        KernelError
            If no kernel serves it over this store, measure, tree and root.
        """
        instance("step", step, Step, "a step", remedy="Declare it: @hk.step(...) above its function.")
        if not step.takes and STEPS.get(step.name) is step:
            raise ParameterError(
                "step", step, "a step of your own", "Call the franchise's method or the move that runs it."
            )
        if step.takes is None:
            check_source(source)
        return self._run_step(step, *arguments, source=source)

    def _run_step(self, step: Step, *arguments: Any, source: ChoiceSource | None = None) -> Any:
        """Run a step; the source is an argument like others where the step says what it takes."""
        if step.needs_tables:
            self._need_tables()
        if step.needs_counts:
            self._need_counts()
        if step.takes:
            given = checked(self, step, arguments if source is None else (*arguments, source))
            arguments, source = (given[:-1], given[-1]) if "source" in step.takes else (given, None)
        if not (self.population.single or step.by_cell):
            self.expand_cells()
        kernel, function = self._kernel_of(step)
        if kernel == "reference" and source is not None and source.overridden:
            source = Asked(source)
        given = (self._walk_of(kernel),) if "walk" in step.given else ()
        if "bank" in step.given:
            given = (*given, self.bank)
        given = (*given, *arguments) if source is None else (*given, *arguments, source)
        return self.access.change(self._run_kernel, step, function, given, source)

    def _run_kernel(
        self, step: Step, function: Any, given: tuple[Any, ...], source: ChoiceSource | None
    ) -> Any:
        """Call a kernel; until its end nothing else may use the franchise."""
        slots = self.slots
        self.n_changes += 1
        try:
            self._step = step
            slots.source = source
            if source is not None and "bank" in step.given:
                self.bank.prepare(source)  # parameters may be drawn
            done = function(*given)
        except FloatingPointError:
            drawn = next((one for one in given if isinstance(one, ChoiceSource)), None)
            failure = None if drawn is None else drawn._failure()
            if failure is None:
                raise
            raise failure from None
        finally:
            self._step = slots.source = None
        if slots.trouble is not None:
            self._raise_trouble()
        if self._waiting:
            self._waiting.intersection_update(self._open_dishes())
        return done

    enter, enter_given, reseat, leave, draw_tables, draw_tables_by_dish = map(
        method_of,
        (
            sweeps.enter, sweeps.enter_given, sweeps.reseat, sweeps.leave, table_counts.draw_tables,
            table_counts.draw_tables_by_dish,
        ),
    )  # fmt: skip

    @aside
    def in_chunks(self, first: int, last: int, step: Callable[[int, int], None]) -> None:
        """Run a step over first .. last - 1 in short pieces, between which Ctrl-C and progress are handled.

        Parameters
        ----------
        first, last : int
            The range.
        step : callable
            Called with the begin and end (excluded) of each piece.
        """
        function("step", step, remedy="Pass a function of the begin and the end of a piece.")
        first = whole_number("first", first, remedy="The begin of the range.")
        last = whole_number("last", last, remedy="The end of the range, excluded.")
        start, total, size = first, max(last - first, 1), 256
        while start < last:
            began = time.perf_counter()
            end = min(start + size, last)
            step(start, end)
            if end < last:
                size = self._next_size(size, time.perf_counter() - began)
            start = end
            if self.on_pulse is not None:
                self.on_pulse((start - first) / total)

    def _next_size(self, size: int, took: float) -> int:
        """Number of customers in the piece after one of this size, which took so many seconds."""
        if self.draws_tables:
            # Each piece ends with draws of tables, and the chain must not depend on the machine's speed.
            return min(2 * size, LARGEST_CHUNK[self._kernel_of(sweeps.reseat)[0]])
        if took < CHUNK_SECONDS / 2:
            return 2 * size
        return max(1, size // 2) if took > CHUNK_SECONDS else size

    @property
    def draws_tables(self) -> bool:
        """Whether tables are drawn given the customers (`draw_tables`).

        True for a store of counts with two levels, unless the root is a restaurant.
        """
        return tables_at_end(self._seating, kind_of_root(self.root.declared), self.topology.n_levels)

    @property
    def counts_tables(self) -> bool:
        """Whether the state has only numbers of tables.

        True for a store of counts under a restaurant, or with more than two levels.
        """
        return detail_of(self._seating) is Detail.COUNTS and not self.draws_tables

    @changes
    def open_dish(self, source: ChoiceSource | None = None) -> int:
        """Create a dish without customers; the caller must seat some immediately.

        Until it has customers, `freeze`, `copy`, `snapshot`, `settle`, runs and steps that need the seating
        of customers raise a StateError. `clear` and `thaw` remove it.

        Parameters
        ----------
        source : ChoiceSource, optional
            For draws of parts of the state at a birth; needed if the root has weights.

        Returns
        -------
        int
            Its slot.

        Raises
        ------
        StateError
            If there is no source and the root has weights.
        """
        self.dish_kind.check_latent()
        if source is not None:
            check_source(source)
        elif self.root.kind == "weights":
            raise StateError(
                "source", None, "a choice source where the root has weights: the weight of the dish is drawn",
                "Pass the rng that the move is given: open_dish(rng).",
            )  # fmt: skip
        return int(self.access.change(self._open_dish, source))

    def _open_dish(self, source: ChoiceSource | None) -> int:
        self.slots.source = source
        try:
            slot: int = self.slots.open()
        finally:
            self.slots.source = None
        self._raise_trouble()
        self._waiting.add(slot)
        return slot

    def _need_tables(self) -> None:
        if detail_of(self._seating) is not Detail.SEATS:
            raise StateError(
                "store", self.store_type.__name__, "a store with the table of every customer",
                "Call this step inside `with franchise.labelled_seating(rng):`.",
            )  # fmt: skip

    def _need_counts(self) -> None:
        if not self.draws_tables:
            raise StateError(
                "store", type(self._seating).__name__, "one of counts, two levels, root='weights'",
                "With any other, tables are part of the state: leave the call out.",
            )  # fmt: skip

    # ------------------------------------------------------------------ blocks of customers

    unit_dishes, resample_dish, add_units, log_units, move_units = map(
        method_of,
        (blocks.unit_dishes, blocks.resample_dish, blocks.add_units, blocks.log_units, blocks.move_units),
    )

    def units(self, level: int, with_customers: bool = False) -> Any:
        """Tables of the restaurants of a level (1: the root's children), by their first customer.

        With ``with_customers`` also the data customers seated one level above; at level 1 the units are then
        all customers of the root. Table numbers are needed: call it inside `labelled_seating`.

        Units are valid for the current seating. They stay valid after `resample_dish` and `move_units` of
        the same units. After any other change of the seating (steps, moves of other units, `settle`, `thaw`,
        the end of `labelled_seating`) the steps raise a StateError: call `units` again.

        Parameters
        ----------
        level : int
            1: tables of the root's children.
        with_customers : bool
            Whether data customers seated one level above are also units.

        Returns
        -------
        units
            For the steps below; its length is their number.

        Raises
        ------
        StateError
            Outside `labelled_seating`, over a store that keeps no seats.
        """
        self._need_tables()
        flag("with_customers", with_customers)
        t = self.topology
        whole_number("level", level, 1, max(t.n_levels - 1, 1), remedy="1 is that of the root's children.")
        return self._run_step(
            blocks.index_units, self._seating, t.home, t.parent, t.level, level, with_customers
        )

    def free_units(self, units: Any, level: int, first: int, last: int) -> list[tuple[int, int]]:
        """Return the ranges of units without held customers below them.

        A table is free if neither the data customers of its restaurant nor those of the restaurants below it
        are held. This depends only on the held groups, not on the seating.

        Parameters
        ----------
        units : units
            The result of `units`.
        level : int
            Level of the units.
        first, last : int
            Of units first .. last - 1.

        Returns
        -------
        list of pairs of int
            Begin and end (excluded) of each range.
        """
        check_units(self, units)
        check_range(first, last, len(units))
        return self.held.free_units(units, level, first, last)

    def held_dishes(self) -> npt.NDArray[np.int64]:
        """Slots of dishes of held customers, and of known dishes: they are neither split nor merged."""
        return np.union1d(self.held.dishes(self.seating), np.arange(self.known_dishes.n))

    @aside
    def scan_units(
        self,
        units: Any,
        order: npt.NDArray[np.int64],
        sides: npt.NDArray[np.int8],
        sizes: npt.NDArray[np.int64],
        slots: tuple[int, ...],
        forced: npt.NDArray[np.int8] | None,
        source: ChoiceSource,
        log_q: float = 0.0,
    ) -> float:
        """Restricted Gibbs scan of customers of the root over two reserved slots.

        Parameters
        ----------
        units : units of level 1, with customers
        order : int64 array
            The units to visit.
        sides, sizes : int8 array (n_units,), int64 array (2,)
            Side of each unit (-1: none yet) and number of units on each side. These and the statistics of the
            slots are updated in place.
        forced : int8 array or None
            Sides to take instead of drawing.
        log_q : float
            Result of the previous pieces of the scan.

        Returns
        -------
        float
            ``log_q`` plus the log probability of the sides, each given those before it, in nats.
        """
        self.root._check_restaurant("scan_units")
        check_source(source)
        *before, log_q = check_scan(self, units, order, sides, sizes, slots, forced, log_q)
        given = Asked(source) if source.overridden else source
        return float(self._run_step(blocks.scan_units, *before, given, log_q))

    def groups(self) -> tuple[Int32s, npt.NDArray[np.int64], Int32s]:
        """Restaurants that have data customers, and these customers, without held ones.

        Returns
        -------
        nodes, begin, customers : arrays, shape (n,), (n + 1,), (n free customers,)
            Group g is customers[begin[g]:begin[g + 1]], all customers of restaurant nodes[g], in data order.
        """
        home = self.topology.home[: self.topology.n_customers]
        customers = np.argsort(home, kind="stable").astype(np.int32)
        customers = self.held.free(customers)
        of = home[customers]
        nodes = np.unique(of)
        begin = np.append(np.searchsorted(of, nodes), len(of)).astype(np.int64)
        return nodes, begin, customers

    @changes
    def reseat_groups(
        self,
        groups: tuple[Int32s, npt.NDArray[np.int64], Int32s],
        first: int,
        last: int,
        launches: int,
        source: ChoiceSource,
    ) -> int:
        """One Metropolis proposal for each of the groups first .. last - 1, which reseats all its customers.

        The final scan of a proposal starts from the result of ``launches`` scans, or with all customers
        unseated. See `hdpkit.moves.ReseatGroups`.

        Parameters
        ----------
        groups : tuple of three arrays
            The result of `groups`.
        first, last : int
            Groups first .. last - 1.
        launches : int
            Number of scans for the launch state; 0: the final scan starts with all customers unseated.
        source : ChoiceSource
            The ``rng`` that a move is given.

        Returns
        -------
        int
            Number of accepted proposals.

        Raises
        ------
        StateError
            If the measure is not conjugate, the root has weights, or the store keeps no seats.
        """
        self.root._check_restaurant("reseat_groups")
        self._need_tables()
        check_source(source)
        nodes, begin, customers = check_groups(self, groups, first, last)
        whole_number("launches", launches, 0, MOST_LAUNCHES, remedy="A few are enough.")
        if not self.measure.conjugate:
            raise StateError(
                "measure", type(self.measure).__name__, "conjugate, where a group's marginal is needed",
                "Use TableGibbs, DishGibbs and DishParameters.",
            )  # fmt: skip
        with self.reserved(1) as (scratch,):
            given = nodes, begin, customers, first, last, scratch, launches
            return int(self._run_step(reseat_groups, *given, source=source))

    @unguarded
    def reserved(self, n: int) -> Block:
        """Slots for the statistics of a proposal, without dishes; they are freed at the end of the block."""
        self.dish_kind.check_latent()
        n = whole_number("n", n, 0, MOST_RESERVED)
        return Block(self.access, lambda: self.access.change(self._reserve, n), self._release_slots)

    def _reserve(self, n: int) -> tuple[int, ...]:
        return tuple(int(self.slots.reserve()) for _ in range(n))

    def _release_slots(self, slots: tuple[int, ...]) -> None:
        for slot in slots:
            if self.slots.is_reserved(slot):  # a state that was thawed meanwhile has no reserved slots
                self.slots.release(slot)


def run_unchecked(state: Any, step: Step, *arguments: Any, source: ChoiceSource | None = None) -> Any:
    """Run a step of the package for a move that made its arguments."""
    with state.lock():
        return state._run_step(step, *arguments, source=source)
