"""Held groups: their customers keep their seats while all others are sampled.

Moves visit only what is free: `TableGibbs` ranges of customers (`free_ranges`), `DishGibbs` tables of
restaurants without held customers below them (`free_units`), `ReseatGroups` the free `groups`; sweeps over
documents draw only the tables of held ones. `SplitMerge` rejects a proposal that involves a dish of held
customers: no move creates or removes such a dish, so the reverse proposal would be rejected, too.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int64s
from hdpkit.checks import hashable, items, whole_number
from hdpkit.errors import DeclarationError, ParameterError, StateError
from hdpkit.franchise.declarations import number_of
from hdpkit.franchise.guard import changes
from hdpkit.franchise.state import State
from hdpkit.franchise.topology import Topology
from hdpkit.parts import unfitting

_CHUNK = 1 << 18  # customers checked at once
_REMEDY = "See franchise.keys(name), and franchise.release()."


class HeldNodes:
    """Restaurants whose data customers keep their seats; by default none."""

    # Computed from numbers and data, not from the seating (except the dishes): the units that a move skips
    # don't depend on the state.

    def __init__(self, nodes: Any = (), topology: Any = None) -> None:
        self.nodes: npt.NDArray[np.int32] = np.asarray(nodes).astype(np.int32)
        self._topology = topology
        self.mask: npt.NDArray[np.int8] | None = None  # for each restaurant, whether its customers are held
        if len(self.nodes):
            self.mask = np.zeros(topology.n_nodes, dtype=np.int8)
            self.mask[self.nodes] = 1

    def names(self, number: int) -> list[Any]:
        """Keys of the held restaurants of a declaration."""
        if self.mask is None:
            return []
        nodes, keys = self._topology.nodes(number), self._topology.keys_of(number)
        held = self.nodes[(self.nodes >= nodes.start) & (self.nodes < nodes.stop)]
        return [keys[node - nodes.start] for node in held.tolist()]

    def free_ranges(self, first: int, last: int) -> list[tuple[int, int]]:
        """The ranges of free customers among first .. last - 1."""
        if self.mask is None:
            return [(first, last)]
        ranges = self._ranges
        begin, end = np.maximum(ranges[:, 0], first), np.minimum(ranges[:, 1], last)
        there = begin < end
        return list(zip(begin[there].tolist(), end[there].tolist(), strict=True))

    @functools.cached_property
    def _ranges(self) -> Int64s:
        """All ranges of free customers, one per row."""
        changes_at, before, n = [], True, self._topology.n_customers
        for first in range(0, n, _CHUNK):
            here = self._is_held(self._topology.home[first : min(first + _CHUNK, n)])
            steps = np.flatnonzero(np.diff(here, prepend=before))
            changes_at.append(first + steps)
            before = bool(here[-1])
        ends = np.concatenate([np.empty(0, dtype=np.int64), *changes_at])
        return (np.append(ends, n) if len(ends) % 2 else ends).reshape(-1, 2)

    def _is_held(self, nodes: Any) -> npt.NDArray[np.bool_]:
        mask: Any = self.mask
        return mask[nodes] != 0

    @functools.cached_property
    def _below(self) -> npt.NDArray[np.bool_]:
        """For each restaurant, whether one of its customers, or of those below it, is held."""
        parent = self._topology.parent
        found = np.zeros(len(parent), dtype=bool)
        for node in self.nodes.tolist():
            while node >= 0 and not found[node]:
                found[node] = True
                node = int(parent[node])
        return found

    def free_units(self, units: Any, level: int, first: int, last: int) -> list[tuple[int, int]]:
        """The ranges of free units among first .. last - 1."""
        if self.mask is None:
            return [(first, last)]
        topology = self._topology
        nodes = np.array(topology.home[units.firsts[first:last]])
        while np.any(higher := topology.level[nodes] > level):
            nodes[higher] = topology.parent[nodes[higher]]
        steps = np.flatnonzero(np.diff(~self._below[nodes], prepend=False, append=False)) + first
        return list(zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True))

    def free(self, customers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Those of these data customers who are free."""
        return customers if self.mask is None else customers[~self._is_held(self._topology.home[customers])]

    def check_units(self, units: Any, places: Int64s | range) -> None:
        """Raise an error if any of the customers below these units is held."""
        if self.mask is None:
            return
        below = np.asarray(units.gather(np.asarray(places, dtype=np.int64)))
        if self._is_held(self._topology.home[below]).any():
            raise StateError(
                "units", below, "without customers of a group that is held",
                "Move those of free_units and of other dishes than held_dishes, or release the groups.",
            )  # fmt: skip

    def dishes(self, seating: Any) -> Int64s:
        """Slots of the dishes of held customers, ascending."""
        if self.mask is None:
            return np.empty(0, dtype=np.int64)
        return np.unique(self._eaten(seating)).astype(np.int64)

    def _eaten(self, seating: Any) -> Int64s:
        """Dishes of the held customers."""
        dishes = np.asarray(seating.dishes())  # over cells, without known components
        return dishes[self._is_held(self._topology.home[: len(dishes)])]

    def check_seated(self, seating: Any) -> None:
        """Raise an error if one of their customers is not seated."""
        if self.mask is None:
            return
        sizes, nodes = self._topology.sizes(), self.nodes
        # Restaurants without children: all their customers are data.
        if np.all(nodes > 0) and not np.isin(self._topology.parent, nodes).any():
            seated = [seating.node_customers(node) == sizes[node] for node in nodes.tolist()]
        else:
            seated = (self._eaten(seating) >= 0).tolist()
        if not all(seated):
            raise StateError(
                "groups", "with customers who are not seated", "seated", "Start the franchise first."
            )

    def check_free(self, first: int, last: int) -> None:
        """Raise an error if any of customers first .. last - 1 is held."""
        if first < last and self.free_ranges(first, last) != [(first, last)]:
            raise StateError(
                "customers", (first, last), "none of a group that is held",
                "Release their groups first: franchise.release(groups).",
            )  # fmt: skip

    def check_start(self, init: Any) -> None:
        """Raise an error for a start that would reseat all customers."""
        if self.mask is not None:
            raise StateError(
                "init", init, "None or a state, while groups are held",
                "Go on with init=None, or release them first: franchise.release().",
            )  # fmt: skip


class Held(State):
    """Held restaurants, and the free parts of the data and of the tree."""

    def __init__(self, *declared: Any) -> None:
        super().__init__(*declared)
        self.held = HeldNodes()

    def _hold(self, nodes: Any) -> HeldNodes:
        """These restaurants as held ones."""
        return HeldNodes(nodes, self._tree_of_labels() if len(nodes) else None)

    @changes
    def hold(self, groups: Any, level: str | None = None) -> None:
        """Hold groups: their customers keep their seats, and moves sample all others given these.

        Tables of restaurants that have held customers below them also keep their dishes, and a dish with held
        customers is neither split nor merged. Hyperparameters, weights of the root and drawn topics are
        updated given all data. Over ``store="counts"`` with weights of the root so are the numbers of tables
        of held restaurants: by `SliceGibbs` and `CountGibbs` at any depth, by `TableGibbs` and `TableCounts`
        with two levels. Otherwise held customers keep their tables, and the posterior is that given these,
        too. Groups that are already held remain held. The hold is part of the state: copies, frozen states
        and run folders include it. Raises a ParameterError if there is no such group, or no customer would be
        free; a StateError if one of their customers is not seated.

        Parameters
        ----------
        groups : list
            Groups by name (see `keys`), or by number, from 0, if no group has such a name.
        level : str, optional
            Name of the declaration whose restaurants they are; all data customers below are held. By default
            the deepest one.
        """
        self._not_lent("held")
        fresh = self._nodes_of_groups(groups, level)
        nodes = np.union1d(self.held.nodes, fresh)
        sizes = self.topology.sizes()
        sizes[nodes] = 0
        if not sizes.any():
            raise ParameterError(
                "groups", groups, "groups that leave at least one customer free", "Hold fewer groups."
            )
        held = self._hold(nodes)
        held.check_seated(self.seating)
        self.held = held

    @changes
    def release(self, groups: Any = None, level: str | None = None) -> None:
        """Release held groups; all of them by default.

        Raises a ParameterError if there is no such group.

        Parameters
        ----------
        groups : list, optional
            As in `hold`. Groups that are not held are ignored.
        level : str, optional
            As in `hold`.
        """
        self._not_lent("released")
        gone = self.held.nodes if groups is None else self._nodes_of_groups(groups, level)
        self.held = self._hold(np.setdiff1d(self.held.nodes, gone))

    def held_groups(self, level: str | None = None) -> list[Any]:
        """Names of the held groups.

        ``level`` is the name of a declaration, by default the deepest one. A restaurant is held if its own
        data customers are.
        """
        return self.held.names(self._number_of_level(level))

    def free_ranges(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the ranges of free customers.

        Returns the begin and end (excluded) of each range; without held groups there is one.

        Parameters
        ----------
        first, last : int
            Of customers first .. last - 1.
        """
        return self.held.free_ranges(first, last)

    def _held_in(self, frozen: Any) -> HeldNodes:
        """The held restaurants of a frozen state."""
        nodes = np.asarray(frozen.get("held_groups", np.empty(0, dtype=np.int32)))
        n = self.topology.n_nodes
        whole = nodes.ndim == 1 and (nodes.dtype.kind in "iu" or nodes.size == 0)
        if not whole or np.any(np.diff(nodes) <= 0) or np.any((nodes < 0) | (nodes >= n)):
            raise unfitting("held_groups", nodes, f"different restaurants, ascending, below {n}")
        return self._hold(nodes)

    def _tree_of_labels(self) -> Topology:
        topology = self.topology
        if not isinstance(topology, Topology):
            raise DeclarationError(
                "groups", "contexts of n-grams, or below several parents", "restaurants of a label",
                "Sentences are added by extend and removed by discard; these have no held groups.",
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
