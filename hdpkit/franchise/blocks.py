"""Verbs that move customers in blocks: tables of a level, customers of the root, all customers of a group."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.generic_sweeps.units import Units
from hdpkit._compiled.support.turn import Block
from hdpkit.checks import array_in_place, as_float, flag, instance, items, whole_number, whole_numbers
from hdpkit.errors import ParameterError, StateError
from hdpkit.franchise.guard import changes, unguarded
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.reference import sweeps as reference
from hdpkit.franchise.verb_arguments import check_groups, check_range, check_source
from hdpkit.franchise.verbs import Verbs
from hdpkit.random import ChoiceSource
from hdpkit.random._source import Asked
from hdpkit.stores import Detail, detail_of

__all__ = ["Blocks"]

Ints = npt.NDArray[np.int32]

MOST_RESERVED = 1024  # most slots reserved at a time, for the statistics of a proposal
MOST_LAUNCHES = 10**6  # most scans of a proposal before the final one


class Blocks(Owner):
    """Verbs over blocks of customers. `Franchise` has the same methods, which take its turn."""

    def __init__(self, verbs: Verbs) -> None:
        self.verbs = verbs
        super().__init__(verbs.state)
        self.turns = verbs.turns

    def units(self, level: int, with_customers: bool = False) -> Any:
        """Tables of the restaurants of a level (1: the root's children), by their first customer.

        With ``with_customers`` also the data customers seated one level above; at level 1 the units are then
        all customers of the root. Table numbers are needed: call it inside `seated_out`.

        Units are valid for the present seating. They remain valid after `redish` and `move_units` of the same
        units. After any other change of the seating (verbs, moves of other units, `settle`, `thaw`, the end
        of `seated_out`) the verbs raise a StateError: call `units` again.

        Parameters
        ----------
        level : int
            1: tables of the root's children.
        with_customers : bool
            Whether data customers seated one level above are also units.

        Returns
        -------
        units
            For the verbs below; its length is their number.

        Raises
        ------
        StateError
            Outside `seated_out`, over a store that keeps no seats.
        """
        self._need_tables()
        flag("with_customers", with_customers)
        t = self.state.topology
        whole_number("level", level, 1, max(t.n_levels - 1, 1), remedy="1 is that of the root's children.")
        return self.verbs.run(
            "index_units",
            self.state.seating,
            t.home,
            t.parent,
            t.level,
            level,
            with_customers,
            walk=False,
        )

    def free_units(self, units: Any, level: int, first: int, last: int) -> list[tuple[int, int]]:
        """Return the ranges of units without held customers below them.

        A table is free if neither the data customers of its restaurant nor those of the restaurants below it
        are held. This depends only on the held groups, not on the seating.

        Parameters
        ----------
        units : units
            The result of `units`. level : int Level of the units. first, last : int Of units first .. last -
            1.

        Returns
        -------
        list of pairs of int
            Begin and end (excluded) of each range.
        """
        if not self.verbs.held.any:
            return [(first, last)]
        topology, below = self.state.topology, self.verbs.held.below()
        nodes = np.array(topology.home[units.firsts[first:last]])
        while np.any(higher := topology.level[nodes] > level):
            nodes[higher] = topology.parent[nodes[higher]]
        steps = np.flatnonzero(np.diff(below[nodes] == 0, prepend=False, append=False)) + first
        return list(zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True))

    def held_dishes(self) -> npt.NDArray[np.int64]:
        """Slots of dishes of held customers, and of known dishes: they are neither split nor merged."""
        known = self.state.topology.n_all - self.state.topology.n_customers
        return np.union1d(self.verbs.held.dishes(), np.arange(known))

    def unit_dishes(self, units: Any) -> Ints:
        """Slot of the dish of each unit."""
        self._check_units(units)
        dishes: Ints = self.verbs.run("unit_dishes", units)
        return dishes

    @changes
    def redish(self, units: Any, first: int, last: int, source: ChoiceSource) -> None:
        """Dish Gibbs for units first .. last - 1 (tables of one level), one after the other.

        Parameters
        ----------
        units : units
            What `units` returned, of the present seating.
        first, last : int
            Units first .. last - 1.
        source : ChoiceSource
            The ``rng`` that a move is given.

        Raises
        ------
        StateError
            If the units are out of date, or the store keeps no seats: call it inside `seated_out`.
        """
        self._check_units(units)
        check_range(first, last, len(units))
        check_source(source)
        self.verbs.run("redish", self.state.bank, units, first, last, source=source, prepare=True)

    @changes
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
        self.verbs.root._check_restaurant("scan_units")
        self._check_units(units)
        check_source(source)
        n = len(units)
        visited = whole_numbers("order", order, 0, n - 1, remedy="Give places in units.")
        array_in_place(
            "sides", sides, np.int8, n, remedy="Give one per unit, -1 where it is on neither side yet."
        )
        array_in_place("sizes", sizes, np.int64, 2, remedy="Units on each side.")
        if forced is not None:
            forced = whole_numbers("forced", forced, -1, 1, np.int8, length=n, remedy="None draws the sides.")
        pair = items("slots", slots, "two reserved slots", remedy="Work inside `reserved(2)`.")
        if len(pair) != 2 or pair[0] == pair[1]:
            raise ParameterError("slots", slots, "two reserved slots", "Work inside `reserved(2)`.")
        for slot in pair:
            self._check_reserved("slots", slot)
        if np.isnan(as_float(log_q)):
            raise ParameterError("log_q", log_q, "a number", "It is what the scan before this one returned.")
        done = self.verbs.run(
            "scan_units",
            self.state.bank,
            units,
            visited,
            sides,
            sizes,
            *pair,
            forced,
            Asked(source) if source.overridden else source,
            float(log_q),
        )
        return float(done)

    @changes
    def add_units(self, units: Any, which: npt.NDArray[np.int64], slot: int) -> None:
        """Add the values below these units to a reserved slot.

        Parameters
        ----------
        units : units
            What `units` returned, of the present seating.
        which : int64 array
            Places in ``units``.
        slot : int
            A reserved slot.

        Raises
        ------
        StateError
            If the units are out of date, or the store keeps no seats: call it inside `seated_out`.
        """
        self._check_units(units)
        places = whole_numbers("which", which, 0, len(units) - 1, remedy="Give places in units.")
        self._check_reserved("slot", slot)
        self.verbs.run("add_units", self.state.bank, units, places, slot, walk=False)

    @changes
    def move_units(self, units: Any, which: npt.NDArray[np.int64], dish: int, source: ChoiceSource) -> None:
        """Change the dish of these customers of the root and of all customers below them.

        Parameters
        ----------
        units : units
            What `units` returned, of the present seating.
        which : int64 array
            Places in ``units`` of customers of the root.
        dish : int
            An occupied slot.
        source : ChoiceSource
            The ``rng`` that a move is given.

        Raises
        ------
        StateError
            If the units are out of date, or the store keeps no seats: call it inside `seated_out`.
        """
        self.verbs.check_latent()
        self._check_units(units)
        check_source(source)
        places = whole_numbers("which", which, 0, len(units) - 1, remedy="Give places in units.")
        if units.level != 1:
            raise ParameterError("units", units, "customers of the root", "Index them with units(1).")
        if not self.state.slots.is_occupied(whole_number("dish", dish, 0, 2**31 - 2)):
            raise StateError("dish", dish, "an occupied slot", "Call open_dish() for a new one.")
        self.verbs.run("move_units", self.state.bank, units, places, dish, source=source)

    def groups(self) -> tuple[Ints, npt.NDArray[np.int64], Ints]:
        """Restaurants that have data customers, and these customers, without held ones.

        Returns
        -------
        nodes, begin, customers : arrays, shape (n,), (n + 1,), (n free customers,)
            Group g is customers[begin[g]:begin[g + 1]], all customers of restaurant nodes[g], in data order.
        """
        home = self.state.topology.home[: self.state.topology.n_customers]
        customers = np.argsort(home, kind="stable").astype(np.int32)
        held = self.verbs.held.nodes()
        if held is not None:
            customers = customers[held[home[customers]] == 0]
        of = home[customers]
        nodes = np.unique(of)
        begin = np.append(np.searchsorted(of, nodes), len(of)).astype(np.int64)
        return nodes, begin, customers

    @changes
    def reseat_groups(
        self,
        groups: tuple[Ints, npt.NDArray[np.int64], Ints],
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
        self.verbs.root._check_restaurant("reseat_groups")
        self._need_tables()
        check_source(source)
        nodes, begin, customers = check_groups(groups, first, last, self.state.topology)
        if np.isin(nodes[first:last], self.state.held_nodes).any():
            raise StateError("groups", nodes[first:last], "free ones", "Release them: franchise.release().")
        whole_number("launches", launches, 0, MOST_LAUNCHES, remedy="A few are enough.")
        if not self.state.measure.conjugate:
            raise StateError(
                "measure", type(self.state.measure).__name__, "conjugate, where a group's marginal is needed",
                "Use TableGibbs, DishGibbs and DishParameters.",
            )  # fmt: skip
        with self.reserved(1) as (scratch,):
            done = self.verbs.run(
                "reseat_groups",
                self.state.bank,
                nodes,
                begin,
                customers,
                first,
                last,
                scratch,
                launches,
                source=source,
            )
        return int(done)

    @unguarded
    def reserved(self, n: int) -> Block:
        """Slots for the statistics of a proposal, without dishes; they are freed at the end of the block."""
        self.verbs.check_latent()
        return Block(
            self.turns.turn,
            self.state,
            lambda: self._reserve(whole_number("n", n, 0, MOST_RESERVED)),
            self._release,
        )

    def _reserve(self, n: int) -> tuple[int, ...]:
        self.turns.outside()
        slots: list[int] = []
        try:
            for _ in range(n):
                slots.append(int(self.state.slots.reserve()))
        except BaseException:
            self._release(tuple(slots))
            raise
        return tuple(slots)

    def _release(self, slots: tuple[int, ...]) -> None:
        for slot in slots:
            if self.state.slots.is_reserved(slot):  # a state that was thawed meanwhile has no reserved slots
                self.state.slots.release(slot)

    def _check_units(self, units: Any) -> None:
        """Raise an error unless these are units of the present seating."""
        self._need_tables()
        kind = reference.Units if self.verbs.serving.of("index_units")[0] == "reference" else Units
        instance(
            "units", units, kind, "what units(level) returned", remedy="Index them: franchise.units(level)."
        )
        units.check(self.state.seating)

    def _check_reserved(self, name: str, slot: Any) -> None:
        if not self.state.slots.is_reserved(whole_number(name, slot, 0, 2**31 - 2)):
            raise StateError(
                name, slot, "a reserved slot", "Work inside `with franchise.reserved(n) as slots:`."
            )

    def _need_tables(self) -> None:
        if detail_of(self.state.seating) is not Detail.SEATS:
            raise StateError(
                "store", self.state.store_type.__name__, "a store with the table of every customer",
                "Call this verb inside `with franchise.seated_out(rng):`.",
            )  # fmt: skip
