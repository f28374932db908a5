"""Snapshots: the parts of a state that predictions need, independent of the franchise."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.stores.seating import Seating
from hdpkit._compiled.walk.slots import DishSlots
from hdpkit._compiled.walk.walk import Walk
from hdpkit.checks import made_by
from hdpkit.franchise.counts import columns_of

__all__ = ["Snapshot"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@made_by("Franchise.snapshot")
class Snapshot:
    """Counts by restaurant and dish, and the hyperparameters, of a franchise at one moment.

    Averages over snapshots are averages over the posterior. A snapshot has the restaurants of that moment,
    and its arrays don't change. Threads may share it; calls are executed one at a time.

    Parameters
    ----------
    franchise : Franchise
        The module of that class imports this one, hence the annotation.
    arrays : mapping of arrays, optional
        The result of `arrays` for a franchise with the same restaurants; None: the present state.
    """

    def __init__(self, franchise: Any, arrays: Mapping[str, Any] | None = None) -> None:
        self._turn = threading.Lock()  # calls of the walk use its working memory
        franchise._turn.call(franchise, self._take, (franchise, arrays))

    def _take(self, franchise: Any, arrays: Mapping[str, Any] | None) -> None:
        t = franchise.topology
        kept = _arrays_of(franchise) if arrays is None else arrays
        self.concentration: Floats = np.array(kept["concentration"], dtype=np.float64)
        self.discount: Floats = np.array(kept["discount"], dtype=np.float64)
        self._counts = Seating(0, t.n_nodes)
        self._counts.take_counts(*(np.ascontiguousarray(kept[name], dtype=np.int32) for name in _COUNTS))
        slots = DishSlots()
        slots.reset(franchise.slots.occupied_slots())
        root: Any
        root, self.base = franchise.root._kept()
        theta, d = self.concentration, self.discount
        self._walk = Walk(self._counts, slots, t.parent, t.home, theta, d, root)

    def probabilities(self, nodes: Ints, dishes: Ints, above: Floats) -> Floats:
        """P_node(dish) for pairs of restaurant and dish: shape (n,).

        ``above`` is H of each dish, which may be an atom without customers (any number that is not a slot).
        """
        with self._turn:
            found: Floats = self._walk.probabilities(nodes, dishes, above)
        return found

    def row(self, node: int) -> Floats:
        """P_node of every dish and, last, of a new one (of all other atoms): shape (K + 1,)."""
        with self._turn:
            row: Floats = self._walk.prior_row(node)
        return row

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The snapshot as arrays."""
        counts = dict(zip(_COUNTS, self._counts.counts(), strict=True))
        return {**counts, "concentration": self.concentration, "discount": self.discount}

    def memory_bytes(self) -> int:
        """Bytes held."""
        return int(self._counts.memory_bytes() + self.concentration.nbytes + self.discount.nbytes)


_COUNTS = ("node", "dish", "customers", "tables")


def _arrays_of(franchise: Any) -> dict[str, npt.NDArray[Any]]:
    columns = columns_of(franchise.seating, franchise.topology.n_nodes)
    counts = dict(zip(_COUNTS, columns, strict=True))
    return {
        **counts,
        "concentration": franchise.hyperparameters.theta,
        "discount": franchise.hyperparameters.d,
    }
