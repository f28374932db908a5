"""Frozen seatings: one form for each `Detail`, and how one form becomes another.

A store freezes its state as a plain dict of int32 arrays, which is also what a saved state has on disk. The
classes here give such a dict a type:

- `FrozenSeats`: ``seat`` (table of each data customer, -1 unseated), ``table_node``, ``table_dish``,
  ``table_seat`` (the table of the parent where this table sits, -1 at the root), one entry a table; tables of
  one restaurant and dish in the store's order;
- `FrozenSizes`: ``dish`` (of each data customer, -1 unseated) and ``bin_node``, ``bin_dish``, ``bin_size``,
  ``bin_count``, sorted by restaurant, dish and size;
- `FrozenCounts`: ``dish`` and ``count_node``, ``count_dish``, ``count_customers``, ``count_tables``, sorted
  by restaurant and dish;
- `FrozenCells`: ``cell_runs``, ``run_dish``, ``run_count`` and ``cell_key`` in the place of ``dish``.

A form of less detail follows from one of more. The other way what is missing is drawn, given all that is
there, so that a chain may go from one to the other between any two steps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit._compiled.stores import seating_out as compiled
from hdpkit._compiled.stores.cells import dishes_of
from hdpkit.errors import StateError
from hdpkit.random import ChoiceSource
from hdpkit.stores.detail import Detail
from hdpkit.stores.protocol import Frozen, Ints
from hdpkit.stores.reference import seating_out as readable
from hdpkit.stores.seating_out import lump

Floats = npt.NDArray[np.float64]

__all__ = [
    "COMPILED",
    "READABLE",
    "Draws",
    "FrozenCells",
    "FrozenCounts",
    "FrozenSeating",
    "FrozenSeats",
    "FrozenSizes",
]


class Tree(Protocol):
    """The restaurants of a franchise: a `Topology`, or what has these arrays."""

    @property
    def home(self) -> Any:
        """Restaurant of each data customer."""

    @property
    def parent(self) -> Any:
        """Parent of each restaurant, -1 for the root."""

    @property
    def level(self) -> Any:
        """Level of each restaurant, 0 for the root."""


@attrs.frozen
class Draws:
    """The functions that draw what a form of less detail leaves open: compiled, or the ones to read."""

    draw_sizes: Callable[[Frozen, ChoiceSource, Floats | None], Frozen]
    seat_out: Callable[[Frozen, Ints, Ints, Ints, ChoiceSource], Frozen]


COMPILED = Draws(compiled.draw_sizes, compiled.seat_out)
READABLE = Draws(readable.draw_sizes, readable.seat_out)


@attrs.frozen(eq=False)
class FrozenSeating:
    """A frozen seating of some `Detail`."""

    DETAIL: ClassVar[Detail]

    @staticmethod
    def of(arrays: Mapping[str, Any]) -> FrozenSeating:
        """Return the typed form of what a store froze.

        Parameters
        ----------
        arrays : mapping
            Arrays by name. Which of them are there says which form it is.

        Returns
        -------
        FrozenCounts, FrozenSizes or FrozenSeats
        """
        kind = FrozenSeating.kind_of(arrays)
        return kind(*(arrays[name] for name in kind.names()))

    @staticmethod
    def kind_of(arrays: Mapping[str, Any]) -> type[FrozenSeating]:
        """Return the class that fits the names of the arrays; that of sizes if none does."""
        if "seat" in arrays:
            return FrozenSeats
        if "cell_runs" in arrays:
            return FrozenCells
        return FrozenCounts if "count_node" in arrays else FrozenSizes

    @classmethod
    @functools.cache  # every block of `seated_out` freezes twice
    def names(cls) -> tuple[str, ...]:
        """Names of the arrays: that with an entry a customer, then restaurants, dishes and all others."""
        return tuple(field.name for field in attrs.fields(cls))

    def arrays(self) -> Frozen:
        """The plain dict of arrays, as stores take it over."""
        return {name: getattr(self, name) for name in self.names()}

    @property
    def dishes(self) -> Ints:
        """Dish of each data customer, -1 for those who are not seated."""
        dishes: Ints = getattr(self, self.names()[0])
        return dishes

    def with_customers(self, more: int, known: int = 0) -> Self:
        """Return the same seating with so many more data customers, unseated, after those that are there.

        The last ones, ``known`` of them, are customers of known components, who stay the last.
        """
        name = self.names()[0]
        there = np.asarray(getattr(self, name))
        end = len(there) - known
        all_ = np.concatenate([there[:end], np.full(more, -1, dtype=np.int32), there[end:]])
        return attrs.evolve(self, **{name: all_})

    def without(self, gone: slice, to: npt.NDArray[Any]) -> Self:
        """Return the same seating without some data customers, who are not seated, in another tree.

        Parameters
        ----------
        gone : slice
            Of data customers.
        to : int array
            New number of each restaurant.
        """
        customer, node = self.names()[:2]
        moved = np.ascontiguousarray(to[getattr(self, node)], dtype=np.int32)
        return attrs.evolve(self, **{customer: np.delete(getattr(self, customer), gone), node: moved})

    def to(
        self,
        detail: Detail,
        tree: Tree | None = None,
        source: ChoiceSource | None = None,
        draws: Draws = COMPILED,
        discount: Floats | None = None,
    ) -> FrozenSeating:
        """Return the form of another `Detail`.

        Parameters
        ----------
        detail : Detail
            The present one returns the seating itself.
        tree : Topology, optional
            The restaurants. Needed for a form of more detail.
        source : ChoiceSource, optional
            The same: what is missing is drawn given what is there. Labelled seatings that fit sizes of tables
            are alike; sizes that fit counts have the law of the model.
        draws : Draws
            The functions to draw by.
        discount : float64 array, shape (n_nodes,), optional
            That of each restaurant, for sizes; None: 0.

        Raises
        ------
        StateError
            If a form of more detail is asked for without a tree and a source.
        """
        found = self._told_apart(tree)
        while detail < found.DETAIL:
            found = found._lower()
        if detail is found.DETAIL:
            return found
        if source is None or tree is None:
            missing = "source" if source is None else "tree"
            allowed = f"given, to draw seats of customers from {_WORDS[found.DETAIL]}"
            raise StateError(missing, None, allowed, "Pass a choice source or an rng.")
        while detail > found.DETAIL:
            found = found._higher(tree, source, draws, discount)
        return found

    def _told_apart(self, tree: Tree | None) -> FrozenSeating:
        """The same with a dish for each data customer."""
        return self

    def _lower(self) -> FrozenSeating:
        raise NotImplementedError

    def _higher(
        self, tree: Tree, source: ChoiceSource, draws: Draws, discount: Floats | None
    ) -> FrozenSeating:
        raise NotImplementedError


_WORDS = {Detail.COUNTS: "counts", Detail.SIZES: "histograms", Detail.SEATS: "seats"}


@attrs.frozen(eq=False)
class FrozenSeats(FrozenSeating):
    """Who sits where, tables as customers of the parent included."""

    DETAIL = Detail.SEATS

    seat: Ints
    table_node: Ints
    table_dish: Ints
    table_seat: Ints

    @property
    def dishes(self) -> Ints:
        """Dish of each data customer, -1 for those who are not seated."""
        seat = np.asarray(self.seat)
        return np.where(seat >= 0, np.append(self.table_dish, -1)[seat], -1).astype(np.int32)

    def _lower(self) -> FrozenSizes:
        return FrozenSizes(**lump(self.arrays()))


@attrs.frozen(eq=False)
class FrozenSizes(FrozenSeating):
    """Dishes, and how many tables of each restaurant and dish have each size."""

    DETAIL = Detail.SIZES

    dish: Ints
    bin_node: Ints
    bin_dish: Ints
    bin_size: Ints
    bin_count: Ints

    def _lower(self) -> FrozenCounts:
        node, dish = self.bin_node, self.bin_dish
        begins = np.flatnonzero(
            np.append(True, (node[1:] != node[:-1]) | (dish[1:] != dish[:-1]))[: len(node)]
        )
        customers = self.bin_size.astype(np.int64) * self.bin_count
        totals = [np.add.reduceat(c, begins) if len(node) else begins for c in (customers, self.bin_count)]
        return FrozenCounts(self.dish, node[begins], dish[begins], *(t.astype(np.int32) for t in totals))

    def _higher(self, tree: Tree, source: ChoiceSource, draws: Draws, discount: Floats | None) -> FrozenSeats:
        return FrozenSeats(**draws.seat_out(self.arrays(), tree.home, tree.parent, tree.level, source))


@attrs.frozen(eq=False)
class FrozenCounts(FrozenSeating):
    """Dishes, and customers and tables by restaurant and dish."""

    DETAIL = Detail.COUNTS

    dish: Ints
    count_node: Ints
    count_dish: Ints
    count_customers: Ints
    count_tables: Ints

    def _higher(self, tree: Tree, source: ChoiceSource, draws: Draws, discount: Floats | None) -> FrozenSizes:
        return FrozenSizes(**draws.draw_sizes(self.arrays(), source, discount))


@attrs.frozen(eq=False)
class FrozenCells(FrozenSeating):
    """The same by cell: how many dishes each has, and the customers of each; and the order of customers.

    Which customer of a cell eats what follows from the key.
    """

    DETAIL = Detail.COUNTS
    OWN: ClassVar[tuple[str, ...]] = ("cell_runs", "run_dish", "run_count", "cell_key")

    cell_runs: Ints
    run_dish: Ints
    run_count: Ints
    cell_key: Ints
    count_node: Ints
    count_dish: Ints
    count_customers: Ints
    count_tables: Ints

    @property
    def dishes(self) -> Ints:
        """Not to be had without the cells: a StateError."""
        raise StateError("seating", "by cell", "one of customers", "Take to(Detail.COUNTS, topology).")

    def _told_apart(self, tree: Tree | None) -> FrozenCounts:
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
