"""The verbs of a franchise: what moves are made of. Each runs on the kernel that the table picks for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.turn import Block
from hdpkit.checks import number_array, whole_number
from hdpkit.errors import ParameterError, StateError
from hdpkit.franchise.core import FranchiseCore
from hdpkit.franchise.guard import changes, unguarded
from hdpkit.random import ChoiceSource

__all__ = ["FranchiseVerbs"]

Ints = npt.NDArray[np.int32]


class FranchiseVerbs(FranchiseCore):
    """Verbs at the size of a sweep. Customers are data customers, in data order."""

    def _run(self, verb: str, *arguments: Any, walk: bool = True) -> Any:
        kernel, function = self._served(verb)
        if self._stale:
            self.catch_up()
        before = self._before_failure()
        reseated = arguments[1:3] if verb == "reseat" else (0, 0)
        given = (self.walk(kernel), *arguments) if walk else arguments
        try:
            done = self._changing(function, *given, reseated=reseated)
        except BaseException as error:
            # Kernels leave the seating whole; statistics may be half done where a measure failed.
            self._mend(error, before)
            raise
        if self.slots.trouble is not None:
            self.surface()
        return done

    @changes
    def enter(self, first: int, last: int, source: ChoiceSource) -> None:
        """Seat unseated customers one after the other by their predictive given those who are seated."""
        self._check_range(first, last, self.topology.n_customers)
        self.bank.prepare(source)
        self._run("enter", self.bank, first, last, source)

    @changes
    def enter_given(self, dishes: Ints, first: int, last: int, source: ChoiceSource) -> None:
        """Seat unseated customers one after the other by the prior, given their dishes (occupied slots)."""
        self._check_range(first, last, self.topology.n_customers)
        given = dishes if isinstance(dishes, np.ndarray) else number_array(dishes)
        fits = given is not None and given.shape == (self.topology.n_customers,)
        # Only these customers are looked at: a start comes through all of them in pieces.
        if not fits or number_array(dishes[first:last]) is None or not self._occupied(dishes[first:last]):
            raise ParameterError("dishes", dishes, "occupied slots, one a customer", "See open_dish.")
        if self.measure.atomic and not np.array_equal(dishes[first:last], self.data.values[first:last]):
            raise ParameterError(
                "dishes", dishes, "the customers' values", "Observed dishes can't be chosen."
            )
        self._run("enter_given", self.bank, dishes, first, last, source)

    @changes
    def reseat(self, first: int, last: int, source: ChoiceSource) -> None:
        """Table Gibbs for customers first .. last - 1, one after the other."""
        self._check_range(first, last, self.topology.n_customers)
        self.bank.prepare(source)
        self._run("reseat", self.bank, first, last, source)

    @changes
    def leave(self, first: int, last: int, source: ChoiceSource) -> None:
        """Unseat customers first .. last - 1, those who are seated, and every table that closes."""
        self._check_range(first, last, self.topology.n_customers)
        self._run("leave", self.bank, first, last, source)

    def units(self, level: int, with_customers: bool = False) -> Any:
        """Tables of the restaurants of a level (1: the root's children), by their first customer.

        With ``with_customers`` also the data customers who sit one level above; at level 1 these are all
        customers of the root. Needs table numbers: call it inside `seated_out`.
        """
        self._need_tables()
        t = self.topology
        whole_number("level", level, 1, max(t.n_levels - 1, 1), remedy="1 is that of the root's children.")
        return self._run(
            "index_units", self.seating, t.home, t.parent, t.level, level, with_customers, walk=False
        )

    def unit_dishes(self, units: Any) -> Ints:
        """Slot of the dish of each unit."""
        return self._run("unit_dishes", units)

    @changes
    def redish(self, units: Any, first: int, last: int, source: ChoiceSource) -> None:
        """Dish Gibbs for units first .. last - 1 (tables of one level), one after the other."""
        self._need_tables()
        self._check_range(first, last, len(units))
        self.bank.prepare(source)
        self._run("redish", self.bank, units, first, last, source)

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
            Side of each unit (-1: on neither yet) and units on each side; updated in place, as are the
            statistics of the slots.
        forced : int8 array or None
            Sides to take instead of drawing.
        log_q : float
            Carried on from the pieces of the scan before this one.

        Returns
        -------
        float
            ``log_q`` plus the log probability of the sides taken, each given those before it.
        """
        return self._run("scan_units", self.bank, units, order, sides, sizes, *slots, forced, source, log_q)

    @changes
    def add_units(self, units: Any, which: npt.NDArray[np.int64], slot: int) -> None:
        """Add the values below these units to a reserved slot."""
        self._run("add_units", self.bank, units, which, slot, walk=False)

    @changes
    def move_units(self, units: Any, which: npt.NDArray[np.int64], dish: int, source: ChoiceSource) -> None:
        """Give these customers of the root another dish (an occupied slot), with all below them."""
        self._need_tables()
        self._latent()
        if not self.slots.is_occupied(dish):
            raise StateError("dish", dish, "an occupied slot", "Call open_dish() for a new one.")
        self._run("move_units", self.bank, units, which, dish, source)

    def groups(self) -> tuple[Ints, npt.NDArray[np.int64], Ints]:
        """Restaurants that have data customers of their own, and these customers.

        Returns
        -------
        nodes, begin, customers : arrays, shape (n,), (n + 1,), (n_customers,)
            Group g are customers[begin[g]:begin[g + 1]], all of restaurant nodes[g], in data order.
        """
        home = self.topology.home
        customers = np.argsort(home, kind="stable").astype(np.int32)
        nodes = np.unique(home)
        begin = np.append(np.searchsorted(home[customers], nodes), len(home)).astype(np.int64)
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
        """One Metropolis proposal for each of the groups first .. last - 1: all its customers seated anew.

        The final scan of a proposal starts from a state that ``launches`` scans have made, or from nothing.
        See `hdpkit.moves.ReseatGroups`. Returns how many proposals were accepted.
        """
        self._need_tables()
        self._check_range(first, last, len(groups[0]))
        if not self.measure.conjugate:
            raise StateError(
                "measure", type(self.measure).__name__, "conjugate, where a group's marginal is needed",
                "Use TableGibbs, DishGibbs and DishParameters.",
            )  # fmt: skip
        with self.reserved(1) as (scratch,):
            done = self._run("reseat_groups", self.bank, *groups, first, last, scratch, launches, source)
        return int(done)

    @changes
    def open_dish(self) -> int:
        """A dish is born, without customers: whoever calls seats some at once."""
        self._latent()
        slot = self.slots.open()
        try:
            self.bank.born(slot)
        except BaseException:
            self.slots.close(slot)
            raise
        finally:
            self.surface()
        return int(slot)

    @unguarded
    def reserved(self, n: int) -> Block:
        """Slots for the statistics of a proposal; they are no dishes, and gone at the end of the block."""
        self._latent()
        return Block(self._turn, self, lambda: self._reserve(whole_number("n", n)), self._release)

    def _reserve(self, n: int) -> tuple[int, ...]:
        slots: list[int] = []
        try:
            for _ in range(n):
                slots.append(int(self.slots.reserve()))
                self.bank.born(slots[-1])
        except BaseException:
            self._release(tuple(slots[:-1]))
            raise
        return tuple(slots)

    def _release(self, slots: tuple[int, ...]) -> None:
        for slot in slots:
            self.slots.release(slot)
            self.bank.died(slot)

    def _occupied(self, dishes: Ints) -> bool:
        return bool(np.isin(dishes, self.slots.occupied_slots()).all())

    @staticmethod
    def _check_range(first: int, last: int, n: int) -> None:
        whole_number("first", first, 0, n, remedy=f"A range lies within 0 .. {n}.")
        whole_number("last", last, first, n, remedy=f"A range lies within 0 .. {n}; last is excluded.")

    def _latent(self) -> None:
        if self.measure.atomic:
            raise StateError(
                "dishes", "observed", "latent, where dishes are proposed or born",
                "A customer's dish is its value: check(state) of the move should refuse it.",
            )  # fmt: skip

    def _need_tables(self) -> None:
        if not self.seating.TABLE_IDS:
            raise StateError(
                "store", self.store_type.__name__, "one that knows who sits where",
                "Call this verb inside `with franchise.seated_out(rng):`.",
            )  # fmt: skip
