"""What a frozen state must be before it is taken over: compiled code follows its numbers without asking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import number_array, real_number, whole_number
from hdpkit.errors import DataError, short_repr
from hdpkit.franchise.contexts import ContextTopology
from hdpkit.franchise.topology import Topology

__all__ = ["check_frozen"]

_TABLES = ("table_node", "table_dish", "table_seat")
_BINS = ("bin_node", "bin_dish", "bin_size", "bin_count")
_LARGEST = 2**31 - 1


def check_frozen(
    frozen: Any,
    topology: Topology | ContextTopology,
    parameters: Mapping[str, Any],
    observed: tuple[npt.NDArray[np.int32], int] | None = None,
) -> None:
    """Raise a DataError unless `frozen` is a state of a franchise of this shape.

    Parameters
    ----------
    frozen : object
        What should be a result of `Franchise.freeze`.
    topology : Topology
    parameters : mapping
        The base measure's parameters that have a prior, by name.
    observed : (array, int), optional
        Where dishes are observed: each customer's, and the number of atoms.
    """
    keys = ("seating", "slots", "held", "concentration", "discount", "sweep", "attempt")
    missing = [key for key in keys if not isinstance(frozen, Mapping) or key not in frozen]
    seating = {} if missing else frozen["seating"]
    if not missing and not isinstance(seating, Mapping):
        missing = ["seating"]
    labelled = not missing and "seat" in seating
    arrays = ("seat", *_TABLES) if labelled else ("dish", *_BINS)
    missing += [] if missing else [f"seating/{key}" for key in arrays if key not in seating]
    if missing:
        raise DataError(
            "frozen state",
            frozen,
            f"what Franchise.freeze returns (without: {missing})",
            "Pass it unchanged.",
        )
    n, n_nodes = topology.n_customers, topology.n_nodes
    slots = _ints("slots", frozen["slots"], 0, _LARGEST)
    if np.any(np.diff(slots) <= 0):
        raise _wrong("slots", frozen["slots"], "ascending")
    held = _ints("held", frozen["held"], 0, _LARGEST)
    if observed is not None and (len(held) or (len(slots) and slots[-1] >= observed[1])):
        raise _wrong("slots", frozen["slots"], f"atoms, from 0 to {observed[1] - 1}, none held")
    entries = {key: seating[key] for key in arrays[1:]}
    lengths = {len(entry) if np.ndim(entry) == 1 else -1 for entry in entries.values()}
    if len(lengths) != 1:
        raise _wrong("seating", seating, "arrays of one length")
    n_entries = lengths.pop()
    node = _ints(arrays[1], entries[arrays[1]], 0, n_nodes - 1)
    _among(arrays[2], entries[arrays[2]], slots)
    if labelled:
        seat = _ints("seat", seating["seat"], -1, n_entries - 1, n)
        dish = np.append(entries["table_dish"], -1)[seat] if n_entries else seat
        above = _ints("table_seat", entries["table_seat"], -1, n_entries - 1)
        if np.any(np.where(above < 0, -1, node[above]) != topology.parent[node] if n_entries else False):
            raise _wrong("table_seat", entries["table_seat"], "tables of the parent restaurant")
    else:
        dish = _ints("dish", seating["dish"], -1, _LARGEST, n)
        _among("dish", dish[dish >= 0], slots)
        _ints("bin_size", entries["bin_size"], 1, _LARGEST)
        _ints("bin_count", entries["bin_count"], 1, _LARGEST)
    if observed is not None and np.any((dish >= 0) & (dish != observed[0])):
        raise _wrong("dish", dish, "the customers' values: dishes are observed")
    theta, d = (_numbers(key, frozen[key], n_nodes) for key in ("concentration", "discount"))
    if not np.all((d >= 0.0) & (d < 1.0)):
        raise _wrong("discount", d, "in [0, 1)")
    if not np.all(np.isfinite(theta) & (theta > -d)):
        raise _wrong("concentration", theta, "finite and above -discount")
    whole_number("sweep, in the frozen state", frozen["sweep"], remedy="Pass the state unchanged.")
    whole_number("attempt, in the frozen state", frozen["attempt"], remedy="Pass the state unchanged.")
    measure = frozen.get("measure", {})
    if not isinstance(measure, Mapping) or not set(measure) <= set(parameters):
        raise _wrong("measure", measure, f"a dict of {sorted(parameters)}")
    for name, value in measure.items():
        real_number(f"{name}, in the frozen state", value, remedy="Pass the state unchanged.")


def _wrong(key: str, value: Any, allowed: str) -> DataError:
    return DataError(
        f"{key}, in the frozen state", value, allowed, "Thaw a state over the same data and declarations."
    )


def _ints(key: str, value: Any, low: int, high: int, n: int | None = None) -> npt.NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        array = np.empty(())
    if array.size == 0 and array.ndim == 1 and n in (None, 0):
        return array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (n is not None and len(array) != n):
        what = "whole numbers" if n is None else f"{n} whole numbers, one a customer"
        raise _wrong(key, value, what)
    if not low <= int(array.min()) <= int(array.max()) <= high:
        raise _wrong(key, value, f"from {low} to {high}")
    return array


def _among(key: str, value: Any, slots: npt.NDArray[Any]) -> None:
    dishes = _ints(key, value, 0, _LARGEST)
    if not np.isin(dishes, slots).all():
        raise _wrong(key, value, f"dishes among the slots {short_repr(slots.tolist())}")


def _numbers(key: str, value: Any, n_nodes: int) -> npt.NDArray[np.float64]:
    array = number_array(value)
    if array is None or array.shape != (n_nodes,):
        raise _wrong(key, value, f"{n_nodes} numbers, one a restaurant")
    return array
