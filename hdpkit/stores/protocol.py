"""The contract of seating stores, and how much of a seating a store keeps."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from inspect import isfunction
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int32s
from hdpkit.checks import ByClass
from hdpkit.errors import ParameterError
from hdpkit.random import ChoiceSource
from hdpkit.stores._seating import empty_row

Frozen = dict[str, npt.NDArray[np.int32]]


class Detail(enum.IntEnum):
    """What a store keeps, from the least to the most."""

    COUNTS = 1
    """The dish of each data customer, and customers and tables by restaurant and dish."""

    SIZES = 2
    """The dish of each data customer, customers and tables by restaurant and dish, and sizes of tables."""

    SEATS = 3
    """The table of each data customer, and the table of the parent restaurant at which each table sits."""


_NAMES = {detail.name.lower(): detail for detail in Detail}


@functools.lru_cache(maxsize=128)
def declared_detail(store: type) -> Detail | None:
    """The declared `Detail` of a class, None if it declares none."""
    declared: Any = getattr(store, "DETAIL", None)
    return declared if isinstance(declared, Detail) else _NAMES.get(str(declared))


def detail_of(store: Any) -> Detail:
    """What a store, or a store class, keeps."""
    kind = store if isinstance(store, type) else type(store)
    detail = declared_detail(kind)
    if detail is None:
        raise ParameterError(
            "store", store, "a SeatingStore that declares DETAIL", 'For instance DETAIL = "sizes".'
        )
    return detail


class SeatingStore(Protocol):
    """The methods of every store. ``Store(n_customers, n_nodes)`` returns an empty store."""

    # A store may also have, for speed (docs/extending.md): totals(), customers and tables of restaurants;
    # counts(), four columns by restaurant and dish; dish_sizes(), data customers of each dish that has any;
    # log_seating(concentration, discount); size_counts(nodes), sizes of tables and how many have each;
    # memory_parts(), bytes by purpose; compact(), release memory; observe(values), read observed dishes.

    DETAIL: ClassVar[Detail]
    """What it keeps: counts, sizes or seats, as a `Detail` or its name. It freezes states of this form, and
    one of seats has the methods of `TableStore` too."""

    def join(self, node: int, dish: int, customer: int, discount: float, source: ChoiceSource) -> None:
        """Seat a customer at a table of the dish, drawn with weight size - discount.

        Parameters
        ----------
        node, dish : int
            Number of the restaurant, slot of the dish.
        customer : int
            A data customer, or ~t for table t of a child.
        discount : float
            Discount of the restaurant.
        source : ChoiceSource
            For the draw of the table.
        """

    def open(self, node: int, dish: int, customer: int) -> int:
        """Seat a customer at a new table; returns that table as a customer of the parent.

        Parameters
        ----------
        node, dish : int
            Number of the restaurant, slot of the dish.
        customer : int
            A data customer, or ~t for table t of a child.
        """

    def remove(self, node: int, dish: int, customer: int, source: ChoiceSource) -> tuple[bool, int]:
        """Remove a customer.

        A store of sizes draws the table by customer: size s with probability proportional to s times the
        number of tables of this size, independent of the discount. Returns whether the table closed, and the
        table as a customer of the parent.

        Parameters
        ----------
        node, dish : int
            Number of the restaurant, slot of the dish.
        customer : int
            A data customer, or ~t for table t of a child.
        source : ChoiceSource
            For the draw of the table.
        """

    def clear(self) -> None:
        """Remove all customers."""

    def dish_of(self, customer: int) -> int:
        """Dish of a data customer, -1 while it is not seated."""

    def dishes(self, empty: Callable[[int], Int32s] = empty_row) -> Int32s:
        """Dish of every data customer, shape (n_customers,); ``empty`` as in `freeze`."""

    def customers(self, node: int, dish: int) -> int:
        """Customers of a restaurant who eat a dish.

        Parameters
        ----------
        node, dish : int
            Number of the restaurant, slot of the dish.
        """

    def tables(self, node: int, dish: int) -> int:
        """Tables of a restaurant that serve a dish.

        Parameters
        ----------
        node, dish : int
            Number of the restaurant, slot of the dish.
        """

    def node_customers(self, node: int) -> int:
        """Customers of a restaurant."""

    def node_tables(self, node: int) -> int:
        """Tables of a restaurant."""

    def node_dishes(self, node: int) -> Int32s:
        """Dishes that a restaurant serves, ascending."""

    def table_sizes(self, node: int, dish: int) -> Int32s:
        """Sizes of the tables that serve a dish in a restaurant, ascending.

        Returns an int32 array.

        Parameters
        ----------
        node, dish : int
            Number of the restaurant, slot of the dish.
        """

    def relabel_dishes(self, mapping: Int32s) -> None:
        """Rename dishes; the mapping keeps their order."""

    def freeze(self, empty: Callable[[int], Int32s] = empty_row) -> Frozen:
        """The complete state as arrays: a thawed copy continues exactly as the original would.

        Parameters
        ----------
        empty : callable, optional
            Makes the array of one number a data customer, given their number. A franchise over a corpus that
            is mapped into memory passes one whose arrays are in a file.
        """

    def thaw(self, frozen: Frozen) -> None:
        """Replace the state by a frozen one."""

    def memory_bytes(self) -> int:
        """Bytes of memory held, as far as they are known."""


class TallyStore(SeatingStore, Protocol):
    """The additional method of a store of counts, whose `join` and `remove` draw nothing."""

    # `remove` also removes a table if there would be more tables than customers. `table_sizes` is an error.

    def set_tables(self, node: int, dish: int, tables: int, parent: int) -> None:
        """Set the number of tables of a dish; the parent's number of customers changes as much."""


class TableStore(SeatingStore, Protocol):
    """The additional methods of a store of seats."""

    def table_at(self, customer: int) -> int:
        """Number of the table where a customer sits (a data customer, or ~t for table t), -1 for none."""

    def table_size(self, table: int) -> int:
        """Customers of a table."""

    def table_node(self, table: int) -> int:
        """Restaurant of a table."""

    def serve_dish(self, table: int, dish: int) -> None:
        """Change the dish of a table within its restaurant; its seat in the parent doesn't change."""


@runtime_checkable
class TakesBack(Protocol, metaclass=ByClass):
    """A store of seats that seats customers at given tables, and whose changes can be taken back exactly."""

    # The tables of a restaurant and dish are in a list. Its order, part of a frozen state, may be any.

    def table_dish(self, table: int) -> int:
        """Dish of a table, -1 if no table has this number."""

    def sit(self, customer: int, table: int) -> None:
        """Seat a customer (a data customer, or ~t for table t of a child) at a table, which has others."""

    def reopen(self, node: int, dish: int, customer: int, table: int) -> None:
        """Open a closed table again under its number, with this customer and first in its list."""

    def table_before(self, table: int) -> int:
        """The table before this one in its list, -1 if it is the first."""

    def place_after(self, table: int, before: int) -> None:
        """Move a table behind another one of its list; with -1 it becomes the first."""


def missing_methods(store: type) -> list[str]:
    """Names of the methods of a store that a class lacks."""
    if not isinstance(store, type):
        raise ParameterError("store", store, "a class", "Pass the class of the store.")
    detail = declared_detail(store)
    if detail is None:
        return ['DETAIL ("counts", "sizes" or "seats")']
    return [name for name in _methods(detail) if not callable(getattr(store, name, None))]


@functools.cache
def _methods(detail: Detail) -> tuple[str, ...]:
    """Public methods that a store of this kind must have."""
    further = {Detail.SEATS: (TableStore,), Detail.COUNTS: (TallyStore,), Detail.SIZES: ()}
    protocols = (SeatingStore, *further[detail])
    methods = [
        name for protocol in protocols for name, method in vars(protocol).items() if isfunction(method)
    ]
    return tuple(name for name in methods if not name.startswith("_"))
