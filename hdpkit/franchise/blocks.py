"""The steps of a franchise over blocks of customers: tables with one dish, customers of the root, groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._franchise_lock import Block
from hdpkit.arrays import Int32s
from hdpkit.checks import flag, whole_number
from hdpkit.errors import StateError
from hdpkit.franchise.arguments import (
    check_groups,
    check_range,
    check_scan,
    check_source,
    check_units,
    method_of,
)
from hdpkit.franchise.guard import aside, changes, unguarded
from hdpkit.franchise.steps import Steps
from hdpkit.random import ChoiceSource
from hdpkit.random._source import Asked
from hdpkit.steps import units as blocks
from hdpkit.steps.groups import reseat_groups

MOST_RESERVED = 1024  # most slots reserved at a time, for the statistics of a proposal
MOST_LAUNCHES = 10**6  # most scans of a proposal before the final one


class Blocks(Steps):
    """Steps over blocks of customers."""

    unit_dishes, resample_dish, add_units, log_units, move_units = map(
        method_of,
        (blocks.unit_dishes, blocks.resample_dish, blocks.add_units, blocks.log_units, blocks.move_units),
    )

    def units(self, level: int, with_customers: bool = False) -> Any:
        """Tables of the restaurants of a level (1: the root's children), by their first customer.

        Call it inside `labelled_seating`; otherwise a store without seats gives a StateError. Units are valid
        for the current seating, and after `resample_dish` and `move_units` of the same units. After any other
        change of the seating the steps raise a StateError: call `units` again. Returned for the steps below;
        its length is their number.

        Parameters
        ----------
        level : int
            1: tables of the root's children.
        with_customers : bool
            Whether data customers seated one level above are also units (at level 1: all customers of the
            root).
        """
        self._need_tables()
        flag("with_customers", with_customers)
        t = self.topology
        whole_number("level", level, 1, max(t.n_levels - 1, 1), remedy="1 is that of the root's children.")
        return self._run_step(
            blocks.index_units, self._seating, t.home, t.parent, t.level, level, with_customers
        )

    def free_units(self, units: Any, level: int, first: int, last: int) -> list[tuple[int, int]]:
        """Return the begin and end (excluded) of each range of units without held customers below them.

        Neither the data customers of their restaurant nor those of restaurants below are held, which depends
        on the held groups only, not on the seating.

        Parameters
        ----------
        units, level : units, int
            The result of `units`, and its level.
        first, last : int
            Of units first .. last - 1.
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

        Returns ``log_q`` plus the log probability of the sides, each given those before it, in nats.

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
        """
        self.root._check_restaurant("scan_units")
        check_source(source)
        *before, log_q = check_scan(self, units, order, sides, sizes, slots, forced, log_q)
        given = Asked(source) if source.overridden else source
        return float(self._run_step(blocks.scan_units, *before, given, log_q))

    def groups(self) -> tuple[Int32s, npt.NDArray[np.int64], Int32s]:
        """Restaurants that have data customers, and these customers, without held ones.

        Returns nodes, begin and customers: group g is customers[begin[g]:begin[g + 1]], all customers of
        restaurant nodes[g], in data order.
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
        """One Metropolis proposal for each of the groups first .. last - 1; returns how many were accepted.

        See `hdpkit.moves.ReseatGroups`. Raises a StateError if the measure is not conjugate, the root has
        weights, or the store keeps no seats.

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
