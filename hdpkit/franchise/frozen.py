"""The frozen form of a state, and its checks: compiled code uses its numbers as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int32s, Int64s, sums_by_key
from hdpkit.checks import LARGEST_SEED, number_array, real_number, whole_number, whole_numbers
from hdpkit.data.corpus import Cells
from hdpkit.errors import DataError, ParameterError, short_repr
from hdpkit.franchise.hyperparameters import Sharers
from hdpkit.franchise.state_topology import Tree
from hdpkit.franchise.topology import ContextTopology, Dishes, Topology
from hdpkit.parts import unfitting
from hdpkit.stores import FrozenCells, FrozenSeating, FrozenSeats, FrozenSizes

_UNCHANGED = "Pass the state unchanged."


class FrozenState(TypedDict):
    """Everything that influences a chain, as arrays and numbers: `Franchise.freeze`."""

    seating: dict[str, Any]  # arrays of the store, see `hdpkit.stores.frozen`
    slots: Int32s  # occupied ones, ascending
    held: Int32s  # slots that parts keep while they are empty
    dish_ids: NotRequired[Int64s]  # with latent dishes only, as births
    births: NotRequired[int]
    concentration: Floats  # by restaurant, as discount
    discount: Floats
    measure: dict[str, float]  # parameters of the base measure that have a prior
    bank: Any  # what can't be computed from data and dishes
    sweep: int
    seeded_calls: NotRequired[int]
    held_groups: NotRequired[Int32s]  # restaurants
    streams: dict[str, Any] | None  # seed and chain
    components: dict[str, dict[str, Any]]  # parts, by name


def check_values(
    frozen: Mapping[str, Any], topology: Tree, parameters: Mapping[str, Any], sharers: Sequence[Sharers]
) -> None:
    """Raise a DataError unless the numbers of a frozen state are valid."""
    numbers = []
    for key in ("concentration", "discount"):
        array = number_array(frozen[key])
        if array is None or array.shape != (topology.n_nodes,):
            raise unfitting(key, frozen[key], f"{topology.n_nodes} numbers, one per restaurant")
        numbers.append(array)
    theta, d = numbers
    if not np.all((d >= 0.0) & (d < 1.0)):
        raise unfitting("discount", d, "in [0, 1)")
    if not np.all(np.isfinite(theta) & (theta > -d)):
        raise unfitting("concentration", theta, "finite and above -discount")
    for one in sharers:
        nodes = topology.nodes(one.number)
        for key, values, declared in zip(one.named, numbers, one.hyperparameters, strict=False):
            own = values[nodes][one.own]
            if not declared.each and len(own) and np.any(own != own[0]):
                raise unfitting(key, own, f"one number for all restaurants of {one.name!r}")
    measure, streams = frozen["measure"], frozen["streams"]
    if not isinstance(measure, Mapping) or not set(measure) <= set(parameters):
        raise unfitting("measure", measure, f"a dict of {sorted(parameters)}")
    if streams is not None and (not isinstance(streams, Mapping) or set(streams) != {"seed", "chain"}):
        raise unfitting("streams", streams, "None, or a dict of seed and chain")
    whole = {
        "sweep": (frozen["sweep"], 2**62),
        "seeded_calls": (frozen.get("seeded_calls", 0), 2**62),
    }
    for key, value in (streams or {}).items():
        whole[f"{key} of streams"] = value, LARGEST_SEED if key == "seed" else 2**32 - 1
    try:
        for key, (value, high) in whole.items():
            whole_number(f"{key}, in the frozen state", value, 0, high, remedy=_UNCHANGED)
        for key, value in measure.items():
            real_number(f"{key}, in the frozen state", value, remedy=_UNCHANGED)
    except ParameterError as error:
        raise DataError(error.parameter, error.value, error.allowed, error.remedy) from None
    if not isinstance(frozen["components"], Mapping):
        raise unfitting("components", frozen["components"], "a dict of the components' states")


_CHUNK = 1 << 20  # customers counted at once
_CELLS = 1 << 14  # cells counted at once
LARGEST = 2**31 - 1
_NOBODY = np.int32(-1)
_ONE_EACH = "one table of the root for each of the slots"


class Disagreement(Exception):
    """Arrays contradict each other; has the name of one, and the allowed value."""

    def __init__(self, key: str, allowed: str) -> None:
        super().__init__(key, allowed)
        self.key = key
        self.allowed = allowed


def check_tables(
    seat: Int32s,
    node: Int32s,
    dish: Int32s,
    above: Int32s,
    topology: Topology | ContextTopology,
    slots: npt.NDArray[Any] | None,
) -> None:
    """Raise a Disagreement unless a labelled seating (``above``: ``table_seat``) fits the customers."""
    # `slots` are the occupied ones, each served at one table of the root; None if dishes are observed.
    n_tables = len(node)
    sizes = np.zeros(n_tables, dtype=np.int64)
    for first in range(0, len(seat), _CHUNK):
        seats = seat[first : first + _CHUNK]
        seated = seats >= 0
        there = topology.restaurants(node[seats[seated]])
        if not np.array_equal(there, topology.home[first : first + _CHUNK][seated]):
            raise Disagreement("seat", "tables of the customers' own restaurants")
        sizes += np.bincount(seats[seated], minlength=n_tables)
    lower = topology.parent[node] >= 0
    if not np.array_equal(above >= 0, lower):
        raise Disagreement("table_seat", "a table of the parent for every table below the root, else -1")
    upper = above[lower]
    # Parents have smaller numbers than their children, so this also excludes cycles.
    if not np.array_equal(topology.restaurants(node[upper]), topology.parent[node[lower]]):
        raise Disagreement("table_seat", "tables of the parent restaurant")
    if not np.array_equal(dish[upper], dish[lower]):
        raise Disagreement("table_dish", "the dish of the parent's table where a table sits")
    sizes += np.bincount(upper, minlength=n_tables)
    if n_tables and int(sizes.min()) < 1:
        raise Disagreement("table_node", "tables with at least one customer each")
    if int(sizes.sum()) > LARGEST:
        raise Disagreement("table_node", f"restaurants with at most {LARGEST} customers in all")
    if slots is not None and not np.array_equal(np.sort(dish[~lower]), slots):
        raise Disagreement("table_dish", _ONE_EACH)


def check_bins(
    dish: Int32s,
    columns: Sequence[Int32s],
    topology: Topology | ContextTopology,
    slots: npt.NDArray[Any] | None,
) -> None:
    """Raise a Disagreement unless dishes and the columns of histograms fit customers and restaurants."""
    node, served, size, count = (column.astype(np.int64) for column in columns)
    base = int(max(served.max(initial=0), dish.max(initial=0))) + 1
    pair = node * base + served
    step = np.diff(pair)
    if np.any(step < 0) or np.any((step == 0) & (np.diff(size) <= 0)):
        raise Disagreement("bin_node", "sorted by restaurant, dish and size, without repeats")
    if np.any(size * count > LARGEST):
        raise Disagreement("bin_count", f"tables for at most {LARGEST} customers")
    begin = np.flatnonzero(np.append(True, step > 0)) if len(pair) else np.empty(0, dtype=np.int64)
    keys = pair[begin]
    customers = np.add.reduceat(size * count, begin) if len(pair) else begin
    tables = np.add.reduceat(count, begin) if len(pair) else begin
    names = ("bin_dish", "bin_size", "bin_count")
    data = data_counts(dish, topology, base)
    _check_against_data(data, base, (keys, customers, tables), topology, slots, names)


def check_columns(
    columns: Sequence[Int32s],
    eaten: Int32s,
    data: Callable[[int], tuple[Int64s, Int64s]],
    topology: Topology | ContextTopology,
    slots: npt.NDArray[Any] | None,
) -> None:
    """Check counts against the result of `data`, which is called with a number above all dishes."""
    node, served, customers, tables = (column.astype(np.int64) for column in columns)
    base = int(max(served.max(initial=0), eaten.max(initial=0))) + 1
    keys = node * base + served
    if np.any(np.diff(keys) <= 0):
        raise Disagreement("count_node", "sorted by restaurant and dish, without repeats")
    if np.any(tables > customers):
        raise Disagreement("count_tables", "from 1 to the number of customers")
    names = ("count_dish", "count_customers", "count_tables")
    _check_against_data(data(base), base, (keys, customers, tables), topology, slots, names)


def cell_counts(
    runs: Mapping[str, Int32s], cells: Cells, topology: Topology, base: int
) -> tuple[Int64s, Int64s]:
    """`data_counts` from counts by cell, with known components, each of which is a customer of the root."""
    known = np.arange(topology.known)
    documents, found, begin = cells.documents(), [(known, np.ones_like(known))], 0
    for first in range(0, len(documents), _CELLS):
        of = runs["cell_runs"][first : first + _CELLS]
        end = begin + int(of.sum(dtype=np.int64))
        nodes = documents[first : first + _CELLS].astype(np.int64) + topology.first[-1]
        keys = np.repeat(nodes, of) * base
        found.append(sums_by_key(keys + runs["run_dish"][begin:end], runs["run_count"][begin:end]))
        begin = end
    return _together(found)


def with_one_table_each(
    keys: Int64s, customers: Int64s, base: int, topology: Topology
) -> tuple[Int64s, Int64s]:
    """Customers of all restaurants if every dish of a restaurant has one table, given the data customers."""
    found = []
    for level in range(topology.n_levels - 1, 0, -1):
        here = topology.level[keys // base] == level
        own = keys[here]
        found.append((own, customers[here]))
        above = topology.parent[own // base].astype(np.int64) * base + own % base
        new = np.append(customers[~here], np.ones_like(above))
        keys, customers = sums_by_key(np.append(keys[~here], above), new)
    return _together([*found, (keys, customers)])


def _together(found: list[tuple[Int64s, Int64s]]) -> tuple[Int64s, Int64s]:
    """Sum of the counts of pieces by key, keys ascending."""
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if len(found) == 1:
        return found[0]
    keys, counts = sums_by_key(*(np.concatenate(pieces) for pieces in zip(*found, strict=True)))
    return keys, counts


def _check_against_data(
    data: tuple[Int64s, Int64s],
    base: int,
    counts: tuple[Int64s, Int64s, Int64s],
    topology: Topology | ContextTopology,
    slots: npt.NDArray[Any] | None,
    names: tuple[str, str, str],
) -> None:
    keys, customers, tables = counts
    check_counts(keys, base, customers, tables, data, topology, names)
    if slots is not None:
        root = keys < base
        if np.any(tables[root] != 1):
            raise Disagreement(names[2], "one table of the root for each dish")
        if not np.array_equal(keys[root], slots):
            raise Disagreement(names[0], _ONE_EACH)


def data_counts(dish: Int32s, topology: Topology | ContextTopology, base: int) -> tuple[Int64s, Int64s]:
    """Seated data customers by restaurant and dish: ascending keys, restaurant * base + dish, and counts."""
    found = []
    for first in range(0, len(dish), _CHUNK):
        here = dish[first : first + _CHUNK]
        seated = here >= 0
        keys = topology.home[first : first + _CHUNK][seated].astype(np.int64) * base + here[seated]
        found.append(np.unique(keys, return_counts=True))
    return _together(found)


def check_counts(
    keys: Int64s,
    base: int,
    customers: Int64s,
    tables: Int64s,
    data: tuple[Int64s, Int64s],
    topology: Topology | ContextTopology,
    names: tuple[str, str, str] = ("bin_dish", "bin_size", "bin_count"),
) -> None:
    """Raise a Disagreement unless a restaurant's customers are its data and the tables of its children."""
    if len(keys) and (int(customers.sum()) > LARGEST or int(tables.sum()) > LARGEST):
        raise Disagreement(names[2], f"restaurants with at most {LARGEST} customers in all")
    node = keys // base
    parent = topology.parent[node].astype(np.int64)
    lower = parent >= 0
    upward = parent[lower] * base + keys[lower] % base
    if topology.lead is not None:  # customers of a restaurant may sit in any of its arms
        own = topology.restaurants(node).astype(np.int64) * base + keys % base
        keys, customers = sums_by_key(own, customers)
    expected = np.zeros(len(keys), dtype=np.int64)
    for wanted, counts in (data, (upward, tables[lower])):
        place = np.searchsorted(keys, wanted)
        there = place < len(keys)
        if not there.all() or not np.array_equal(keys[place], wanted):
            raise Disagreement(names[0], "all dishes of a restaurant's customers, and no others")
        np.add.at(expected, place, counts)
    if not np.array_equal(expected, customers):
        raise Disagreement(names[1], "tables for a restaurant's data and its children's tables")


def check_opens(frozen: Any, n_customers: int) -> None:
    """Raise a DataError unless a bank whose values sit at tables of their own froze this, or it is None."""
    # What a bank of cells froze is checked when it is used.
    if frozen is None or (isinstance(frozen, Mapping) and "run_tables" in frozen):
        return
    opens = frozen.get("opens") if isinstance(frozen, Mapping) else None
    array = np.asarray(opens)
    whole = array.shape == (n_customers,) and array.dtype.kind in "biu"
    if not whole or not np.all((array == 0) | (array == 1)):
        raise unfitting("opens", opens, f"0 or 1 for each of {n_customers} customers")


def check_frozen(
    frozen: Any,
    topology: Tree,
    parameters: Mapping[str, Any],
    observed: tuple[npt.NDArray[np.int32], int] | None = None,
    sharers: Sequence[Sharers] = (),
) -> dict[str, npt.NDArray[np.int32]]:
    """Raise a DataError unless `frozen` fits a franchise of this shape; returns its seating for a store."""
    # If dishes are observed, `observed` has the dish of each customer and the number of atoms.
    keys = ["seating", "slots", "held", "concentration", "discount", "measure", "bank", "sweep", "streams"]
    keys += ["components", *([] if observed is not None else ["dish_ids", "births"])]
    missing = [key for key in keys if not isinstance(frozen, Mapping) or key not in frozen]
    seating = {} if missing else frozen["seating"]
    if not missing and not isinstance(seating, Mapping):
        missing, seating = ["seating"], {}
    kind = FrozenSeating.kind_of(seating)
    arrays, labelled = kind.names(), kind is FrozenSeats
    missing += [] if missing else [f"seating/{key}" for key in arrays if key not in seating]
    by_cell = kind is FrozenCells
    cells: Any = getattr(topology, "cells", None)
    if by_cell and not missing and cells is None:
        missing = ["seating/dish: these data have no cells"]
    if missing:
        raise DataError(
            "frozen state",
            frozen,
            f"what Franchise.freeze returns (without: {missing})",
            "Pass it unchanged.",
        )
    n, n_nodes = topology.n_all, topology.n_nodes
    slots, held = check_dishes(frozen, n, observed is not None)
    if observed is not None and (len(held) or (len(slots) and slots[-1] >= observed[1])):
        raise unfitting("slots", frozen["slots"], f"atoms, from 0 to {observed[1] - 1}, none held")
    own: tuple[str, ...] = FrozenCells.OWN if by_cell else arrays[:1]
    arrays = (own[0], *arrays[len(own) :])
    entries = {key: seating[key] for key in arrays[1:]}
    lengths = {len(entry) if np.ndim(entry) == 1 else -1 for entry in map(_array, entries.values())}
    if len(lengths) != 1:
        raise unfitting("seating", seating, "arrays of one length")
    n_entries = lengths.pop()
    node = ints_of(arrays[1], entries[arrays[1]], 0, n_nodes - 1)
    served = _among(arrays[2], entries[arrays[2]], slots)
    runs: dict[str, npt.NDArray[np.int32]] = {}
    if by_cell:
        runs = _cell_runs(seating, cells, slots)
        seat = dish = runs["cell_runs"]
        rest = [ints_of(name, entries[name], 1, LARGEST) for name in arrays[3:]]
    elif labelled:
        seat = ints_of("seat", seating["seat"], -1, n_entries - 1, n)
        dish = np.append(served, _NOBODY)[seat] if n_entries else seat
        rest = [ints_of("table_seat", entries["table_seat"], -1, n_entries - 1)]
    else:
        seat = dish = ints_of("dish", seating["dish"], -1, LARGEST, n)
        _among("dish", dish, np.append(_NOBODY, slots))
        rest = [ints_of(name, entries[name], 1, LARGEST) for name in arrays[3:]]
    if observed is not None and np.any((dish >= 0) & (dish != observed[0])):
        raise unfitting("dish", dish, "the customers' values: dishes are observed")
    latent = None if observed is not None else slots
    topology = topology.placed(Dishes(dish), slots, frozen["components"])
    try:
        columns = [node, served, *rest]
        if by_cell:
            assert isinstance(topology, Topology)  # it has cells
            data = partial(cell_counts, runs, cells, topology)
            check_columns(columns, runs["run_dish"], data, topology, slots)
        elif labelled:
            check_tables(seat, node, served, rest[0], topology, latent)
        elif kind is FrozenSizes:
            check_bins(dish, columns, topology, latent)
        else:
            check_columns(columns, dish, partial(data_counts, dish, topology), topology, latent)
    except Disagreement as error:
        raise unfitting(error.key, seating[error.key], error.allowed) from None
    check_values(frozen, topology, parameters, sharers)
    return {**dict(zip(arrays, (seat, node, served, *rest), strict=True)), **runs}


def _cell_runs(
    seating: Mapping[str, Any], cells: Cells, slots: npt.NDArray[np.int32]
) -> dict[str, npt.NDArray[np.int32]]:
    """Check dishes of cells: each is in range, and all customers of a cell are seated or none."""
    runs = ints_of("cell_runs", seating["cell_runs"], 0, LARGEST, len(cells.term))
    n = int(runs.sum(dtype=np.int64))
    dish = _among("run_dish", seating["run_dish"], slots)
    count = ints_of("run_count", seating["run_count"], 1, LARGEST, n)
    key = ints_of("cell_key", seating["cell_key"], -LARGEST - 1, LARGEST, 4)
    if len(dish) != n:
        raise unfitting("run_dish", seating["run_dish"], f"{n} dishes, as many as cell_runs has")
    of = np.repeat(np.arange(len(runs)), runs)
    seated = np.bincount(of, weights=count, minlength=len(runs))
    if np.any((runs > 0) & (seated != cells.count)):
        raise unfitting("run_count", seating["run_count"], "all customers of a cell, or none")
    base = int(slots[-1]) + 1 if len(slots) else 1
    if len(np.unique(of * base + dish)) != n:
        raise unfitting("run_dish", seating["run_dish"], "different dishes in each cell")
    return {"cell_runs": runs, "run_dish": dish, "run_count": count, "cell_key": key}


def _array(value: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(value)
    except ValueError:  # ragged
        return np.empty(())


def check_dishes(
    frozen: Mapping[str, Any], n_customers: int, observed: bool = False
) -> tuple[npt.NDArray[np.int32], ...]:
    """Check occupied and held slots and, unless dishes are observed, lasting ids; returns these slots."""
    held = ints_of("held", frozen["held"], 0, LARGEST)
    # A dish is born in the smallest free slot, so slots are bounded.
    limit = min(4 * (n_customers + len(held)) + (1 << 16), LARGEST)
    if len(held) and int(held.max()) > limit:
        raise unfitting("held", frozen["held"], f"from 0 to {limit}")
    slots = ints_of("slots", frozen["slots"], 0, limit)
    for key, values in (("slots", slots), ("held", held)):
        if np.any(np.diff(values) <= 0):
            raise unfitting(key, frozen[key], "ascending")
    if len(np.intersect1d(slots, held)):
        raise unfitting("held", frozen["held"], "other slots than those of dishes")
    if observed:
        return slots, held
    births, ids, n_dishes = frozen.get("births"), _array(frozen.get("dish_ids")), len(slots)
    if isinstance(births, bool) or not isinstance(births, int | np.integer) or not 0 <= births <= 2**62:
        raise unfitting("births", births, "the number of dishes opened so far")
    whole = ids.dtype.kind in "iu" or ids.size == 0
    if ids.shape != (n_dishes,) or not whole or len(np.unique(ids)) < n_dishes:
        raise unfitting("dish_ids", frozen.get("dish_ids"), f"{n_dishes} different numbers, one per dish")
    if n_dishes and not 0 <= int(ids.min()) <= int(ids.max()) < births:
        raise unfitting("dish_ids", frozen["dish_ids"], f"from 0 to {births - 1}: births before this state")
    return slots, held


def ints_of(key: str, value: Any, low: int, high: int, n: int | None = None) -> npt.NDArray[np.int32]:
    """An entry of a frozen state as whole numbers of this range, or a DataError."""
    try:
        return whole_numbers(key, value, low, high, np.int32, length=n, remedy=_UNCHANGED)
    except ParameterError as error:
        raise unfitting(key, value, error.allowed) from None


def _among(key: str, value: Any, slots: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    dishes = ints_of(key, value, -1 if len(slots) and slots[0] < 0 else 0, LARGEST)
    known = np.zeros((int(slots[-1]) if len(slots) else 0) + 2, dtype=bool)
    known[slots] = True  # slots are ascending; the last entry is for -1
    known[-1] = len(slots) > 0 and slots[0] < 0
    if len(dishes) and (int(dishes.max()) >= len(known) - 1 or not known[dishes].all()):
        raise unfitting(key, value, f"dishes among the slots {short_repr(slots[slots >= 0].tolist())}")
    return dishes
