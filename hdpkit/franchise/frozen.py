"""Checks of a frozen state before it is restored: compiled code uses its numbers without checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.data.cells import Cells
from hdpkit.errors import DataError, short_repr
from hdpkit.franchise.contexts import ContextTopology
from hdpkit.franchise.declarations import Restaurant
from hdpkit.franchise.frozen_seating import Disagreement, check_bins, check_cells, check_tables, check_tallies
from hdpkit.franchise.frozen_values import check_values
from hdpkit.franchise.topology import Topology
from hdpkit.stores import FrozenCells, FrozenSeating, FrozenSeats, FrozenSizes

__all__ = ["LARGEST", "check_dishes", "check_frozen", "ints_of"]

LARGEST = 2**31 - 1
_NOBODY = np.int32(-1)


def check_frozen(
    frozen: Any,
    topology: Topology | ContextTopology,
    parameters: Mapping[str, Any],
    observed: tuple[npt.NDArray[np.int32], int] | None = None,
    declarations: Sequence[Restaurant] = (),
) -> dict[str, npt.NDArray[np.int32]]:
    """Raise a DataError unless `frozen` is a state of a franchise of this shape.

    Parameters
    ----------
    frozen : object
        Expected to be a result of `Franchise.freeze`.
    topology : Topology
    parameters : mapping
        The base measure's parameters that have a prior, by name.
    observed : (array, int), optional
        If dishes are observed: the dish of each customer, and the number of atoms.
    declarations : sequence of Restaurant
        They determine which restaurants share hyperparameters.

    Returns
    -------
    dict of int32 arrays
        The seating, for a store.
    """
    keys = ("seating", "slots", "held", "concentration", "discount", "sweep", "attempt")
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
    slots, held = check_dishes(frozen, n)
    if observed is not None and (len(held) or (len(slots) and slots[-1] >= observed[1])):
        raise _wrong("slots", frozen["slots"], f"atoms, from 0 to {observed[1] - 1}, none held")
    own: tuple[str, ...] = FrozenCells.OWN if by_cell else arrays[:1]
    arrays = (own[0], *arrays[len(own) :])
    entries = {key: seating[key] for key in arrays[1:]}
    lengths = {len(entry) if np.ndim(entry) == 1 else -1 for entry in map(_array, entries.values())}
    if len(lengths) != 1:
        raise _wrong("seating", seating, "arrays of one length")
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
        raise _wrong("dish", dish, "the customers' values: dishes are observed")
    latent = None if observed is not None else slots
    try:
        if by_cell:
            assert isinstance(topology, Topology)  # it has cells
            check_cells(runs, [node, served, *rest], cells, topology, slots)
        elif labelled:
            check_tables(seat, node, served, rest[0], topology, latent)
        else:
            check = check_bins if kind is FrozenSizes else check_tallies
            check(dish, [node, served, *rest], topology, latent)
    except Disagreement as error:
        raise _wrong(error.key, seating[error.key], error.allowed) from None
    check_values(frozen, topology, parameters, declarations)
    return {**dict(zip(arrays, (seat, node, served, *rest), strict=True)), **runs}


def check_dishes(frozen: Mapping[str, Any], n_customers: int) -> tuple[npt.NDArray[np.int32], ...]:
    """Check occupied and held slots and the lasting ids of dishes; returns these slots."""
    slots, held = _slots(frozen, n_customers)
    _check_ids(frozen, len(slots))
    return slots, held


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
        raise _wrong("run_dish", seating["run_dish"], f"{n} dishes, as many as cell_runs has")
    of = np.repeat(np.arange(len(runs)), runs)
    seated = np.bincount(of, weights=count, minlength=len(runs))
    if np.any((runs > 0) & (seated != cells.count)):
        raise _wrong("run_count", seating["run_count"], "all customers of a cell, or none")
    base = int(slots[-1]) + 1 if len(slots) else 1
    if len(np.unique(of * base + dish)) != n:
        raise _wrong("run_dish", seating["run_dish"], "different dishes in each cell")
    return {"cell_runs": runs, "run_dish": dish, "run_count": count, "cell_key": key}


def _wrong(key: str, value: Any, allowed: str) -> DataError:
    return DataError(
        f"{key}, in the frozen state", value, allowed, "Thaw a state over the same data and declarations."
    )


def _array(value: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(value)
    except ValueError:  # ragged
        return np.empty(())


def _slots(frozen: Mapping[str, Any], n_customers: int) -> tuple[npt.NDArray[np.int32], ...]:
    """Check occupied and held slots. A dish is born in the smallest free slot, so slots are bounded."""
    held = ints_of("held", frozen["held"], 0, LARGEST)
    limit = min(4 * (n_customers + len(held)) + (1 << 16), LARGEST)
    if len(held) and int(held.max()) > limit:
        raise _wrong("held", frozen["held"], f"from 0 to {limit}")
    slots = ints_of("slots", frozen["slots"], 0, limit)
    for key, values in (("slots", slots), ("held", held)):
        if np.any(np.diff(values) <= 0):
            raise _wrong(key, frozen[key], "ascending")
    if len(np.intersect1d(slots, held)):
        raise _wrong("held", frozen["held"], "other slots than those of dishes")
    return slots, held


def _check_ids(frozen: Mapping[str, Any], n_dishes: int) -> None:
    """Check lasting ids of the dishes, if the state has them: distinct and below the number of births."""
    if "dish_ids" not in frozen and "births" not in frozen:
        return
    births, ids = frozen.get("births"), _array(frozen.get("dish_ids"))
    if isinstance(births, bool) or not isinstance(births, int | np.integer) or not 0 <= births <= 2**62:
        raise _wrong("births", births, "the number of dishes opened so far")
    whole = ids.dtype.kind in "iu" or ids.size == 0
    if ids.shape != (n_dishes,) or not whole or len(np.unique(ids)) < n_dishes:
        raise _wrong("dish_ids", frozen.get("dish_ids"), f"{n_dishes} different numbers, one per dish")
    if n_dishes and not 0 <= int(ids.min()) <= int(ids.max()) < births:
        raise _wrong("dish_ids", frozen["dish_ids"], f"from 0 to {births - 1}: births before this state")


def ints_of(key: str, value: Any, low: int, high: int, n: int | None = None) -> npt.NDArray[np.int32]:
    """An entry of a frozen state as whole numbers of this range, or a DataError."""
    array = _array(value)
    if array.size == 0 and array.ndim == 1 and n in (None, 0):
        return array.astype(np.int32) if array.dtype.kind in "iuf" else np.empty(0, dtype=np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (n is not None and len(array) != n):
        what = "whole numbers" if n is None else f"{n} whole numbers, one per customer"
        raise _wrong(key, value, what)
    if not low <= int(array.min()) <= int(array.max()) <= high:
        raise _wrong(key, value, f"from {low} to {high}")
    return np.ascontiguousarray(array, dtype=np.int32)


def _among(key: str, value: Any, slots: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    dishes = ints_of(key, value, -1 if len(slots) and slots[0] < 0 else 0, LARGEST)
    known = np.zeros((int(slots[-1]) if len(slots) else 0) + 2, dtype=bool)
    known[slots] = True  # slots are ascending; the last entry is for -1
    known[-1] = len(slots) > 0 and slots[0] < 0
    if len(dishes) and (int(dishes.max()) >= len(known) - 1 or not known[dishes].all()):
        raise _wrong(key, value, f"dishes among the slots {short_repr(slots[slots >= 0].tolist())}")
    return dishes
