"""The verbs of a franchise: what moves are made of. Each runs on the kernel that the table picks for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.generic_sweeps.units import Units
from hdpkit._compiled.support.turn import Block
from hdpkit.checks import array_in_place, as_float, flag, instance, items, whole_number, whole_numbers
from hdpkit.errors import HdpkitError, ParameterError, StateError
from hdpkit.franchise.core import FranchiseCore
from hdpkit.franchise.counts_rules import check_weights
from hdpkit.franchise.guard import changes, unguarded
from hdpkit.franchise.reference import sweeps as reference
from hdpkit.random import ChoiceSource
from hdpkit.random._source import Asked
from hdpkit.stores import Detail, detail_of

__all__ = ["FranchiseVerbs"]

Ints = npt.NDArray[np.int32]

_DRAW_TABLES = frozenset({"enter", "enter_given", "reseat", "leave", "draw_tables", "draw_tables_by_dish"})
MOST_RESERVED = 1024  # slots at a time, for the statistics of a proposal
MOST_LAUNCHES = 10**6  # scans before the final one of a proposal
_OF_GROUPS = "Pass what franchise.groups() returned."


class FranchiseVerbs(FranchiseCore):
    """Verbs at the size of a sweep. Customers are data customers, in data order."""

    def _run(
        self,
        verb: str,
        *arguments: Any,
        walk: bool = True,
        source: ChoiceSource | None = None,
        prepare: bool = False,
    ) -> Any:
        kernel, function = self._served(verb)
        self._outside()
        if verb in _DRAW_TABLES:
            check_weights(self.seating, self._root_kind, verb)
        if self._stale:
            self.catch_up()
        if kernel != "reference":
            self._trust_seating()
        if kernel == "reference" and source is not None and source.overridden:
            source = Asked(source)
        if prepare and source is not None:
            self.bank.prepare(source)
        self.slots.source = source
        before = self._before_failure()
        reseated = arguments[1:3] if verb == "reseat" else (0, 0)
        given = (self.walk(kernel), *arguments) if walk else arguments
        outermost = self._torn is None
        if source is not None:
            given = (*given, source)
        try:
            done = self._changing(self._inside, verb, kernel, function, *given, reseated=reseated)
        except BaseException as error:
            # Kernels leave the seating whole; statistics may be half done where a measure failed.
            self._mend(error, before)
            if outermost and isinstance(error, HdpkitError):
                # A refusal, not an exception from outside: a customer who stood before may stand again.
                self._torn = None
            drawn = next((a for a in given if isinstance(a, ChoiceSource)), None)
            failure = None if drawn is None else drawn._failure()
            if failure is not None and isinstance(error, FloatingPointError):
                raise failure from None
            raise
        if self.slots.trouble is not None:
            self.surface()
        return done

    @changes
    def enter(self, first: int, last: int, source: ChoiceSource) -> None:
        """Seat unseated customers one after the other by their predictive given those who are seated."""
        self._check_range(first, last, self.topology.n_customers)
        self._check_source(source)
        self._run("enter", self.bank, first, last, source=source, prepare=True)

    @changes
    def enter_given(self, dishes: Ints, first: int, last: int, source: ChoiceSource) -> None:
        """Seat unseated customers one after the other by the prior, given their dishes (occupied slots)."""
        self._check_range(first, last, self.topology.n_customers)
        self._check_source(source)
        n = self.topology.n_customers
        # Only these customers are looked at: a start comes through all of them in pieces.
        if isinstance(dishes, np.ndarray) and dishes.dtype == np.int32 and dishes.shape == (n,):
            given = np.ascontiguousarray(dishes)
        else:
            given = whole_numbers(
                "dishes",
                dishes,
                -1,
                2**31 - 2,
                np.int32,
                length=n,
                remedy="One slot a customer: see open_dish.",
            )
        if not self._occupied(given[first:last]):
            raise ParameterError("dishes", dishes, "occupied slots, one a customer", "See open_dish.")
        if self.measure.atomic and not np.array_equal(given[first:last], self.data.values[first:last]):
            raise ParameterError(
                "dishes", dishes, "the customers' values", "Observed dishes can't be chosen."
            )
        self._run("enter_given", self.bank, given, first, last, source=source)

    @changes
    def reseat(self, first: int, last: int, source: ChoiceSource) -> None:
        """Table Gibbs for customers first .. last - 1, one after the other."""
        self._check_range(first, last, self.topology.n_customers)
        self._check_source(source)
        self._run("reseat", self.bank, first, last, source=source, prepare=True)

    @property
    def draws_tables(self) -> bool:
        """Whether tables are drawn given the customers (`draw_tables`): over a store of counts."""
        return detail_of(self.seating) is Detail.COUNTS

    @changes
    def draw_tables(self, first: int, last: int, source: ChoiceSource) -> None:
        """Draw the tables of restaurants first .. last - 1 given their customers. For a store of counts.

        Verbs that seat or unseat customers do so at their end for the restaurants of these.
        """
        self._check_range(first, last, self.topology.n_nodes)
        self._check_source(source)
        self._need_counts()
        self._run("draw_tables", first, last, source=source)

    @changes
    def draw_tables_by_dish(self, source: ChoiceSource) -> None:
        """The same for all restaurants by binomial draws: they have one concentration."""
        self._check_source(source)
        self._need_counts()
        self._run("draw_tables_by_dish", source=source)

    @changes
    def leave(self, first: int, last: int, source: ChoiceSource) -> None:
        """Unseat customers first .. last - 1, those who are seated, and every table that closes."""
        self._check_range(first, last, self.topology.n_customers)
        self._check_source(source)
        self._run("leave", self.bank, first, last, source=source)

    def units(self, level: int, with_customers: bool = False) -> Any:
        """Tables of the restaurants of a level (1: the root's children), by their first customer.

        With ``with_customers`` also the data customers who sit one level above; at level 1 these are all
        customers of the root. Needs table numbers: call it inside `seated_out`.

        Units belong to the seating as it is now. `redish` and `move_units` leave those good that they move;
        whatever else seats or unseats somebody (verbs, moves of other units, `settle`, `thaw`, the end of
        `seated_out`) makes them out of date, and the verbs refuse them with a StateError: index them again.
        """
        self._need_tables()
        flag("with_customers", with_customers)
        t = self.topology
        whole_number("level", level, 1, max(t.n_levels - 1, 1), remedy="1 is that of the root's children.")
        return self._run(
            "index_units", self.seating, t.home, t.parent, t.level, level, with_customers, walk=False
        )

    def unit_dishes(self, units: Any) -> Ints:
        """Slot of the dish of each unit."""
        self._check_units(units)
        dishes: Ints = self._run("unit_dishes", units)
        return dishes

    @changes
    def redish(self, units: Any, first: int, last: int, source: ChoiceSource) -> None:
        """Dish Gibbs for units first .. last - 1 (tables of one level), one after the other."""
        self._check_units(units)
        self._check_range(first, last, len(units))
        self._check_source(source)
        self._run("redish", self.bank, units, first, last, source=source, prepare=True)

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
        self._integrated("scan_units")
        self._check_units(units)
        self._check_source(source)
        n = len(units)
        visited = whole_numbers("order", order, 0, n - 1, remedy="Give places in units.")
        array_in_place("sides", sides, np.int8, n, remedy="One a unit, -1 where it is on neither side yet.")
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
        done = self._run(
            "scan_units",
            self.bank,
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
        """Add the values below these units to a reserved slot."""
        self._check_units(units)
        places = whole_numbers("which", which, 0, len(units) - 1, remedy="Give places in units.")
        self._check_reserved("slot", slot)
        self._run("add_units", self.bank, units, places, slot, walk=False)

    @changes
    def move_units(self, units: Any, which: npt.NDArray[np.int64], dish: int, source: ChoiceSource) -> None:
        """Give these customers of the root another dish (an occupied slot), with all below them."""
        self._latent()
        self._check_units(units)
        self._check_source(source)
        places = whole_numbers("which", which, 0, len(units) - 1, remedy="Give places in units.")
        if units.level != 1:
            raise ParameterError("units", units, "customers of the root", "Index them with units(1).")
        if not self.slots.is_occupied(whole_number("dish", dish, 0, 2**31 - 2)):
            raise StateError("dish", dish, "an occupied slot", "Call open_dish() for a new one.")
        self._run("move_units", self.bank, units, places, dish, source=source)

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
        self._integrated("reseat_groups")
        self._need_tables()
        self._check_source(source)
        nodes, begin, customers = self._check_groups(groups, first, last)
        whole_number("launches", launches, 0, MOST_LAUNCHES, remedy="A few are enough.")
        if not self.measure.conjugate:
            raise StateError(
                "measure", type(self.measure).__name__, "conjugate, where a group's marginal is needed",
                "Use TableGibbs, DishGibbs and DishParameters.",
            )  # fmt: skip
        with self.reserved(1) as (scratch,):
            done = self._run(
                "reseat_groups",
                self.bank,
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

    @changes
    def open_dish(self, source: ChoiceSource | None = None) -> int:
        """A dish is born, without customers: whoever calls seats some at once.

        Parameters
        ----------
        source : ChoiceSource, optional
            For what parts of the state draw at a birth; needed where the root has weights.

        Returns
        -------
        int
            Its slot.

        Raises
        ------
        StateError
            If there is no source, and the root has weights. What a part raises comes as it is; the dish is
            closed then.
        """
        self._latent()
        if source is not None:
            self._check_source(source)
        elif self._root_kind == "weights":
            raise StateError(
                "source", None, "a choice source where the root has weights: that of the dish is drawn",
                "Pass the rng that the move is given: open_dish(rng).",
            )  # fmt: skip
        self.slots.source = source
        try:
            slot = int(self.slots.open())
        finally:
            self.slots.source = None
        if self.slots.trouble is not None:
            self.slots.close(slot)
            self.surface()
        return slot

    @unguarded
    def reserved(self, n: int) -> Block:
        """Slots for the statistics of a proposal; they are no dishes, and gone at the end of the block."""
        self._latent()
        return Block(
            self._turn, self, lambda: self._reserve(whole_number("n", n, 0, MOST_RESERVED)), self._release
        )

    def _reserve(self, n: int) -> tuple[int, ...]:
        self._outside()
        slots: list[int] = []
        try:
            for _ in range(n):
                slots.append(int(self.slots.reserve()))
        except BaseException:
            self._release(tuple(slots))
            raise
        return tuple(slots)

    def _release(self, slots: tuple[int, ...]) -> None:
        for slot in slots:
            if self.slots.is_reserved(slot):  # a state that was thawed meanwhile has no reserved slots
                self.slots.release(slot)

    def _occupied(self, dishes: Ints) -> bool:
        return bool(np.isin(dishes, self.slots.occupied_slots()).all())

    @staticmethod
    def _check_source(source: Any) -> None:
        instance(
            "source", source, ChoiceSource, "a choice source", remedy="Pass the rng that the move is given."
        )

    def _check_units(self, units: Any) -> None:
        """Refuse what are no units of the present seating."""
        self._need_tables()
        kind = reference.Units if self.kernel("index_units") == "reference" else Units
        instance(
            "units", units, kind, "what units(level) returned", remedy="Index them: franchise.units(level)."
        )
        units.check(self.seating)

    def _check_reserved(self, name: str, slot: Any) -> None:
        if not self.slots.is_reserved(whole_number(name, slot, 0, 2**31 - 2)):
            raise StateError(
                name, slot, "a reserved slot", "Work inside `with franchise.reserved(n) as slots:`."
            )

    def _check_groups(self, groups: Any, first: Any, last: Any) -> tuple[Ints, npt.NDArray[np.int64], Ints]:
        """The arrays of groups first .. last - 1; only these are looked at, for a sweep comes in pieces."""
        arrays = items("groups", groups, "three arrays", remedy=_OF_GROUPS)
        if len(arrays) != 3 or not all(
            isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu" for array in arrays
        ):
            raise ParameterError("groups", groups, "nodes, begin and customers, three arrays", _OF_GROUPS)
        nodes, begin, customers = arrays
        self._check_range(first, last, len(nodes))
        if len(begin) != len(nodes) + 1:
            raise ParameterError("groups", begin, f"begin of length {len(nodes) + 1}", _OF_GROUPS)
        bounds = whole_numbers("groups", begin[first : last + 1], 0, len(customers), remedy=_OF_GROUPS)
        sizes = np.diff(bounds)
        if (sizes < 1).any():
            raise ParameterError("groups", bounds, "ascending bounds of groups", _OF_GROUPS)
        t = self.topology
        here = whole_numbers("groups", nodes[first:last], 0, t.n_nodes - 1, remedy=_OF_GROUPS)
        low, high = (int(bounds[0]), int(bounds[-1])) if len(sizes) else (0, 0)
        who = whole_numbers("groups", customers[low:high], 0, t.n_customers - 1, remedy=_OF_GROUPS)
        inner = np.ones(max(len(who) - 1, 0), dtype=bool)
        inner[bounds[1:-1] - low - 1] = False  # between groups
        if not np.array_equal(t.home[who], np.repeat(here, sizes)) or (np.diff(who) <= 0)[inner].any():
            raise ParameterError("groups", who, "each restaurant's data customers, ascending", _OF_GROUPS)
        return (
            np.ascontiguousarray(nodes, dtype=np.int32),
            np.ascontiguousarray(begin, dtype=np.int64),
            np.ascontiguousarray(customers, dtype=np.int32),
        )

    @staticmethod
    def _check_range(first: int, last: int, n: int) -> None:
        whole_number("first", first, 0, n, remedy=f"A range lies within 0 .. {n}.")
        whole_number("last", last, first, n, remedy=f"A range lies within 0 .. {n}; last is excluded.")

    def _integrated(self, verb: str) -> None:
        if self._root_kind == "weights":
            raise StateError(
                "root", "weights", "a restaurant for the length of this verb, whose law needs it",
                f"Call {verb} inside `with franchise.root_integrated(rng):`.",
            )  # fmt: skip

    def _latent(self) -> None:
        if self.measure.atomic:
            raise StateError(
                "dishes", "observed", "latent, where dishes are proposed or born",
                "A customer's dish is its value: check(state) of the move should refuse it.",
            )  # fmt: skip

    def _need_counts(self) -> None:
        if not self.draws_tables:
            raise StateError(
                "store", type(self.seating).__name__, "one of counts",
                "Any other store has tables as they are drawn: leave the call out.",
            )  # fmt: skip

    def _need_tables(self) -> None:
        if detail_of(self.seating) is not Detail.SEATS:
            raise StateError(
                "store", self.store_type.__name__, "one that knows who sits where",
                "Call this verb inside `with franchise.seated_out(rng):`.",
            )  # fmt: skip
