"""What steps take besides the walk and the statistics of dishes, and how it is checked, once, at the door."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Int32s
from hdpkit.checks import array_in_place, as_float, instance, items, whole_number, whole_numbers
from hdpkit.errors import ParameterError, StateError
from hdpkit.franchise.guard import aside, changes
from hdpkit.random import ChoiceSource
from hdpkit.steps import units as blocks
from hdpkit.steps._sweeps import Units
from hdpkit.steps.step import Step

MOST_THREADS = 1024
_LARGEST = 2**31 - 2  # number of a slot


def check_source(source: Any) -> None:
    """Raise an error unless it is a choice source."""
    instance("source", source, ChoiceSource, "a choice source", remedy="Pass the rng that the move is given.")


def check_birth(state: Any, source: Any, asked: str) -> None:
    """Raise an error unless a dish can be opened with this source, or without one."""
    if source is not None:
        check_source(source)
    elif state.root.kind == "weights":
        raise StateError(
            "source", None, "a choice source where the root has weights: the weight of the dish is drawn",
            f"Pass the rng that the move is given: {asked}(rng).",
        )  # fmt: skip


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
