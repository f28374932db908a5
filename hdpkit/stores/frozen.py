"""Frozen seatings: one form for each `Detail`, and conversions between the forms.

A store freezes its state as a plain dict of int32 arrays. Saved states contain the same arrays. The classes
here give such a dict a type:

- `FrozenSeats`: ``seat`` (table of each data customer, -1 unseated), ``table_node``, ``table_dish``,
  ``table_seat`` (the table of the parent where this table sits, -1 at the root), one entry per table; tables
  of one restaurant and dish in the store's order;
- `FrozenSizes`: ``dish`` (of each data customer, -1 unseated) and ``bin_node``, ``bin_dish``, ``bin_size``,
  ``bin_count``, sorted by restaurant, dish and size;
- `FrozenCounts`: ``dish`` and ``count_node``, ``count_dish``, ``count_customers``, ``count_tables``, sorted
  by restaurant and dish;
- `FrozenCells`: ``cell_runs``, ``run_dish``, ``run_count`` and ``cell_key`` in place of ``dish``.

A form with less detail is computed from one with more. In the other direction the missing detail is drawn
given the current one, so a chain may change the form between any two steps.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import AnyInts, Floats, Int32s
from hdpkit.errors import StateError
from hdpkit.random import ChoiceSource
from hdpkit.stores import _labelled_seating as compiled
from hdpkit.stores._counts import dishes_of
from hdpkit.stores.protocol import Detail, Frozen


@attrs.frozen(eq=False)
class FrozenSeating:
    """A frozen seating of some `Detail`."""

    DETAIL: ClassVar[Detail]

    @staticmethod
    def of(arrays: Mapping[str, Any]) -> FrozenSeating:
        """Return the typed form of a frozen state."""
        kind = FrozenSeating.kind_of(arrays)
        return kind(*(arrays[name] for name in kind.names()))

    @staticmethod
    def kind_of(arrays: Mapping[str, Any]) -> type[FrozenSeating]:
        """Return the class for these names of arrays; `FrozenSizes` if no other class fits."""
        if "seat" in arrays:
            return FrozenSeats
        if "cell_runs" in arrays:
            return FrozenCells
        return FrozenCounts if "count_node" in arrays else FrozenSizes

    @classmethod
    @functools.cache  # every block of `labelled_seating` freezes twice
    def names(cls) -> tuple[str, ...]:
        """Names of the arrays: those of customers, then of restaurants, of dishes, and the others."""
        return tuple(field.name for field in attrs.fields(cls))

    def arrays(self) -> Frozen:
        """The plain dict of arrays, as stores accept it."""
        return {name: getattr(self, name) for name in self.names()}

    @property
    def dishes(self) -> Int32s:
        """Dish of each data customer, -1 for those who are not seated."""
        return getattr(self, self.names()[0])

    def with_customers(self, more: int, known: int = 0) -> Self:
        """Return the same seating with ``more`` unseated data customers added at the end."""
        name = self.names()[0]
        there = np.asarray(getattr(self, name))
        end = len(there) - known
        all_ = np.concatenate([there[:end], np.full(more, -1, dtype=np.int32), there[end:]])
        return attrs.evolve(self, **{name: all_})

    def without(self, gone: slice, to: npt.NDArray[Any]) -> Self:
        """Return the same seating without some unseated data customers, in another tree."""
        customer, node = self.names()[:2]
        moved = np.ascontiguousarray(to[getattr(self, node)], dtype=np.int32)
        return attrs.evolve(self, **{customer: np.delete(getattr(self, customer), gone), node: moved})

    def to(
        self,
        detail: Detail,
        tree: Any = None,
        source: ChoiceSource | None = None,
        discount: Floats | None = None,
    ) -> FrozenSeating:
        """Return the form of another `Detail`; ``tree`` has arrays ``home``, ``parent`` and ``level``."""
        found = self._by_customer(tree)
        while detail < found.DETAIL:
            found = found._lower()
        if detail is found.DETAIL:
            return found
        if source is None or tree is None:
            missing = "source" if source is None else "tree"
            allowed = f"given, to draw seats of customers from {_WORDS[found.DETAIL]}"
            raise StateError(missing, None, allowed, "Pass a choice source or an rng.")
        while detail > found.DETAIL:
            found = found._higher(tree, source, discount)
        return found

    def _by_customer(self, tree: Any) -> FrozenSeating:
        """Return the seating with a dish for each data customer."""
        return self

    def _lower(self) -> FrozenSeating:
        raise NotImplementedError

    def _higher(self, tree: Any, source: ChoiceSource, discount: Floats | None) -> FrozenSeating:
        raise NotImplementedError


_WORDS = {Detail.COUNTS: "counts", Detail.SIZES: "histograms", Detail.SEATS: "seats"}


@attrs.frozen(eq=False)
class FrozenSeats(FrozenSeating):
    """Who sits where, tables as customers of the parent included."""

    DETAIL = Detail.SEATS

    seat: Int32s
    table_node: Int32s
    table_dish: Int32s
    table_seat: Int32s

    @property
    def dishes(self) -> Int32s:
        seat = np.asarray(self.seat)
        return np.where(seat >= 0, np.append(self.table_dish, -1)[seat], -1).astype(np.int32)

    def _lower(self) -> FrozenSizes:
        return FrozenSizes(**compiled.aggregate(self.arrays()))


@attrs.frozen(eq=False)
class FrozenSizes(FrozenSeating):
    """Dishes, and how many tables of each restaurant and dish have each size."""

    DETAIL = Detail.SIZES

    dish: Int32s
    bin_node: Int32s
    bin_dish: Int32s
    bin_size: Int32s
    bin_count: Int32s

    def _lower(self) -> FrozenCounts:
        node, dish = self.bin_node, self.bin_dish
        begins = np.flatnonzero(
            np.append(True, (node[1:] != node[:-1]) | (dish[1:] != dish[:-1]))[: len(node)]
        )
        customers = self.bin_size.astype(np.int64) * self.bin_count
        totals = [np.add.reduceat(c, begins) if len(node) else begins for c in (customers, self.bin_count)]
        return FrozenCounts(self.dish, node[begins], dish[begins], *(t.astype(np.int32) for t in totals))

    def _higher(self, tree: Any, source: ChoiceSource, discount: Floats | None) -> FrozenSeats:
        lead = getattr(tree, "lead", None)  # of restaurants with several parents
        return FrozenSeats(
            **compiled.seat_out(self.arrays(), tree.home, tree.parent, tree.level, source, lead)
        )


@attrs.frozen(eq=False)
class FrozenCounts(FrozenSeating):
    """Dishes, and customers and tables by restaurant and dish."""

    DETAIL = Detail.COUNTS

    dish: Int32s
    count_node: Int32s
    count_dish: Int32s
    count_customers: Int32s
    count_tables: Int32s

    def _higher(self, tree: Any, source: ChoiceSource, discount: Floats | None) -> FrozenSizes:
        return FrozenSizes(**compiled.draw_sizes(self.arrays(), source, discount))


@attrs.frozen(eq=False)
class FrozenCells(FrozenSeating):
    """Counts by cell: the number of dishes of each cell, the customers of each, and their order."""

    # The key determines which customer of a cell eats which dish.

    DETAIL = Detail.COUNTS
    OWN: ClassVar[tuple[str, ...]] = ("cell_runs", "run_dish", "run_count", "cell_key")

    cell_runs: Int32s
    run_dish: Int32s
    run_count: Int32s
    cell_key: Int32s
    count_node: Int32s
    count_dish: Int32s
    count_customers: Int32s
    count_tables: Int32s

    @property
    def dishes(self) -> Int32s:
        """Raises a StateError: the dishes of customers can't be computed without the cells."""
        raise StateError("seating", "by cell", "one of customers", "Take to(Detail.COUNTS, topology).")

    def _by_customer(self, tree: Any) -> FrozenCounts:
        cells = getattr(tree, "cells", None)
        if cells is None:
            raise StateError(
                "tree",
                tree,
                "one of documents with cells",
                "Pass the topology of the franchise it came from.",
            )
        dish = dishes_of(cells, self.cell_runs, self.run_dish, self.run_count, self.cell_key)
        known = getattr(tree, "known", 0)  # whose dishes are the first ones
        dish = np.append(dish, np.arange(known, dtype=np.int32)) if known else dish
        columns = (self.count_node, self.count_dish, self.count_customers, self.count_tables)
        return FrozenCounts(dish, *columns)


COUNTED = FrozenCounts.names()[1:]


def count_columns(node: AnyInts, dish: AnyInts, customers: AnyInts, tables: AnyInts) -> Frozen:
    """The arrays of counts, given the columns as whole numbers of any type."""
    columns = (column.astype(np.int32) for column in (node, dish, customers, tables))
    return dict(zip(COUNTED, columns, strict=True))
