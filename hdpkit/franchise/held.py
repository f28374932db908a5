"""Held groups: their customers keep their seats while all others are sampled.

Moves visit only what is free: `TableGibbs` ranges of customers (`free_ranges`), `DishGibbs` tables of
restaurants without held customers below them (`free_units`), `ReseatGroups` the free `groups`; sweeps over
documents draw only the tables of held ones. `SplitMerge` rejects a proposal that involves a dish of held
customers: no move creates or removes such a dish, so the reverse proposal would be rejected, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import hashable, items, whole_number
from hdpkit.errors import DataError, DeclarationError, ParameterError, StateError
from hdpkit.franchise.declarations import number_of
from hdpkit.franchise.guard import changes
from hdpkit.franchise.statistics import Statistics
from hdpkit.franchise.topology import Topology

__all__ = ["Held"]

Ints = npt.NDArray[np.int64]

_CHUNK = 1 << 18  # customers checked at once
_REMEDY = "See franchise.keys(name), and franchise.release()."


class Held(Statistics):
    """Held restaurants, and the free parts of the data and of the tree.

    `State.held_nodes` has the numbers of the restaurants whose data customers keep their seats. Everything
    else is computed from them and the data, not from the seating, so the units that a move skips don't depend
    on the state.
    """

    def __init__(self, *declared: Any) -> None:
        super().__init__(*declared)
        self._ranges_for: tuple[Any, Any] = (None, None)  # held restaurants and tree of the ranges
        self._ranges: Ints = np.empty((0, 2), dtype=np.int64)

    # ------------------------------------------------------------------ for users

    @changes
    def hold(self, groups: Any, level: str | None = None) -> None:
        """Hold groups: their customers keep their seats, and moves sample all others given these.

        Tables of restaurants that have held customers below them also keep their dishes, and a dish with
        held customers is neither split nor merged. Hyperparameters, weights of the root and drawn topics
        are updated given all data. Over ``store="counts"`` with weights of the root so are the numbers of
        tables of held restaurants: by `SliceGibbs` and `CountGibbs` at any depth, by `TableGibbs` and
        `TableCounts` with two levels. Otherwise held customers keep their tables, and the posterior is that
        given these, too. Groups that are already held remain held. The hold is part of the state: copies,
        frozen states and run folders include it.

        Parameters
        ----------
        groups : list
            Groups by name (see `keys`), or by number, from 0, if no group has such a name.
        level : str, optional
            Name of the declaration whose restaurants they are; all data customers below are held. By default
            the deepest one.

        Raises
        ------
        ParameterError
            If there is no such group, or no customer would be free.
        StateError
            If one of their customers is not seated.
        """
        self._not_lent("held")
        fresh = self._nodes_of_groups(groups, level)
        nodes = np.union1d(self.held_nodes, fresh).astype(np.int32)
        sizes = self.topology.sizes()
        sizes[nodes] = 0
        if not sizes.any():
            raise ParameterError(
                "groups", groups, "groups that leave at least one customer free", "Hold fewer groups."
            )
        self._check_seated(nodes)
        self.held_nodes = nodes

    @changes
    def release(self, groups: Any = None, level: str | None = None) -> None:
        """Release held groups; all of them by default.

        Parameters
        ----------
        groups : list, optional
            As in `hold`. Groups that are not held are ignored.
        level : str, optional
            As in `hold`.

        Raises
        ------
        ParameterError
            If there is no such group.
        """
        self._not_lent("released")
        gone = self.held_nodes if groups is None else self._nodes_of_groups(groups, level)
        self.held_nodes = np.setdiff1d(self.held_nodes, gone).astype(np.int32)

    def held_groups(self, level: str | None = None) -> list[Any]:
        """Names of the held groups.

        Parameters
        ----------
        level : str, optional
            Name of a declaration; by default the deepest one. A restaurant is held if its own data customers
            are.
        """
        held, number = self.held_nodes, self._number_of_level(level)
        if not self._any_held:
            return []
        nodes, keys = self._tree_of_labels().nodes(number), self._tree_of_labels().keys_of(number)
        return [keys[node - nodes.start] for node in held[(held >= nodes.start) & (held < nodes.stop)]]

    # ------------------------------------------------------------------ for moves and verbs

    @property
    def _any_held(self) -> bool:
        """Whether any group is held."""
        return bool(len(self.held_nodes))

    def free_ranges(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the ranges of free customers.

        Parameters
        ----------
        first, last : int
            Of customers first .. last - 1.

        Returns
        -------
        list of pairs of int
            Begin and end (excluded) of each range. Without held groups there is one range.
        """
        if not self._any_held:
            return [(first, last)]
        ranges = self._free_ranges()
        begin, end = np.maximum(ranges[:, 0], first), np.minimum(ranges[:, 1], last)
        there = begin < end
        return list(zip(begin[there].tolist(), end[there].tolist(), strict=True))

    def _check_free(self, first: int, last: int) -> None:
        """Raise an error if any of these customers is held."""
        if first < last and self._any_held and self.free_ranges(first, last) != [(first, last)]:
            raise StateError(
                "customers", (first, last), "none of a group that is held",
                "Release their groups first: franchise.release(groups).",
            )  # fmt: skip

    def _held_below(self) -> npt.NDArray[np.int8]:
        """For each restaurant, whether one of its customers, or of those below it, is held."""
        parent = self.topology.parent
        found = np.zeros(len(parent), dtype=np.int8)
        for node in self.held_nodes.tolist():
            while node >= 0 and not found[node]:
                found[node] = 1
                node = int(parent[node])
        return found

    def _held_nodes(self) -> npt.NDArray[np.int8] | None:
        """For each restaurant, whether its data customers are held; None if none are."""
        if not self._any_held:
            return None
        found = np.zeros(self.topology.n_nodes, dtype=np.int8)
        found[self.held_nodes] = 1
        return found

    def _held_slots(self) -> Ints:
        """Slots of the dishes of held customers, ascending."""
        if not self._any_held:
            return np.empty(0, dtype=np.int64)
        held = np.zeros(self.topology.n_nodes, dtype=bool)
        held[self.held_nodes] = True
        return np.unique(self._eaten(held)).astype(np.int64)

    def _eaten(self, held: npt.NDArray[np.bool_]) -> Ints:
        """Dishes of the data customers of these restaurants."""
        dishes = np.asarray(self.seating.dishes())  # over cells, without known components
        eaten: Ints = dishes[held[self._tree_of_labels().home[: len(dishes)]]]
        return eaten

    def _check_start_held(self, init: Any) -> None:
        """Raise an error for a start that would reseat all customers."""
        if self._any_held:
            raise StateError(
                "init", init, "None or a state, while groups are held",
                "Go on with init=None, or release them first: franchise.release().",
            )  # fmt: skip

    # ------------------------------------------------------------------ frozen states

    def _check_frozen_held(self, frozen: Any) -> Any:
        """Numbers of the held restaurants of a frozen self."""
        nodes = np.asarray(frozen.get("held_groups", np.empty(0, dtype=np.int32)))
        n = self.topology.n_nodes
        whole = nodes.ndim == 1 and (nodes.dtype.kind in "iu" or nodes.size == 0)
        if not whole or np.any(np.diff(nodes) <= 0) or np.any((nodes < 0) | (nodes >= n)):
            raise DataError(
                "held_groups, in the frozen state", nodes, f"different restaurants, ascending, below {n}",
                "Thaw a state over the same data and declarations.",
            )  # fmt: skip
        return nodes.astype(np.int32)

    # ------------------------------------------------------------------

    def _tree_of_labels(self) -> Topology:
        topology = self.topology
        if not isinstance(topology, Topology):
            raise DeclarationError(
                "groups", "contexts of n-grams", "restaurants of a label",
                "Sentences are added by extend and removed by discard; n-grams have no held groups.",
            )  # fmt: skip
        return topology

    def _number_of_level(self, level: str | None) -> int:
        declarations = self.declarations
        return len(declarations) - 1 if level is None else number_of(declarations, level, "level")

    def _nodes_of_groups(self, groups: Any, level: str | None) -> npt.NDArray[np.int32]:
        """Numbers of these restaurants, and of all below them, that have data customers."""
        topology, number = self._tree_of_labels(), self._number_of_level(level)
        these = items("groups", groups, "a list of groups", remedy=_REMEDY)
        nodes, keys = topology.nodes(number), topology.keys_of(number)
        place = {key: i for i, key in enumerate(keys)}
        chosen = np.zeros(topology.n_nodes, dtype=bool)
        for one in these:
            named = hashable(one) and not isinstance(one, bool | np.bool_)
            found = place.get(one) if named else None
            if found is None:
                found = whole_number("groups", one, 0, len(keys) - 1, remedy=_REMEDY)
            chosen[nodes.start + found] = True
        for lower in range(number + 1, len(topology.keys)):
            below = topology.nodes(lower)
            chosen[below] |= chosen[topology.parent[below]]
        return np.flatnonzero(chosen & (topology.sizes() > 0)).astype(np.int32)

    def _check_seated(self, nodes: npt.NDArray[np.int32]) -> None:
        seating, topology = self.seating, self._tree_of_labels()
        sizes = topology.sizes()
        # Restaurants without children: all their customers are data.
        if np.all(nodes > 0) and not np.isin(topology.parent, nodes).any():
            seated = [seating.node_customers(node) == sizes[node] for node in nodes.tolist()]
        else:
            held = np.zeros(topology.n_nodes, dtype=bool)
            held[nodes] = True
            seated = (self._eaten(held) >= 0).tolist()
        if not all(seated):
            raise StateError(
                "groups", "with customers who are not seated", "seated", "Start the franchise first."
            )

    def _free_ranges(self) -> Ints:
        """Ranges of free customers, one per row; computed once for the held groups."""
        if self._ranges_for[0] is self.held_nodes and self._ranges_for[1] is self.topology:
            return self._ranges
        held = np.zeros(self.topology.n_nodes, dtype=bool)
        held[self.held_nodes] = True
        changes_at, before, n = [], True, self.topology.n_customers
        for first in range(0, n, _CHUNK):
            here = held[self.topology.home[first : min(first + _CHUNK, n)]]
            steps = np.flatnonzero(np.diff(here, prepend=before))
            changes_at.append(first + steps)
            before = bool(here[-1])
        ends = np.concatenate([np.empty(0, dtype=np.int64), *changes_at])
        if len(ends) % 2:
            ends = np.append(ends, n)
        self._ranges, self._ranges_for = ends.reshape(-1, 2), (self.held_nodes, self.topology)
        return self._ranges
