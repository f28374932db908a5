"""Seating stores: data structures for the seating of a franchise.

A store has the seating of all restaurants by number. The compiled ones (`_NAME.pyx`; the first two have
readable twins in `NAME.py`) derive from `Seating`: a block of entries (dish, customers, tables) for each
restaurant, sorted by dish. `ExplicitStore` adds a list of tables and the table of each data customer;
`HistogramStore` adds numbers of tables by size, and the dish of each data customer; `CountsStore` adds only
the dish of each data customer, and `CellsStore` not even that. `hdpkit.franchise.declarations` says where a
store of counts can be used.
"""

from hdpkit.checks import instance
from hdpkit.registry import Registry
from hdpkit.stores._counts import CellsStore, CountsStore
from hdpkit.stores._explicit import ExplicitStore
from hdpkit.stores._histogram import HistogramStore
from hdpkit.stores.explicit import ExplicitReference
from hdpkit.stores.frozen import FrozenCells, FrozenCounts, FrozenSeating, FrozenSeats, FrozenSizes
from hdpkit.stores.histogram import HistogramReference
from hdpkit.stores.protocol import (
    Detail,
    Frozen,
    SeatingStore,
    TableStore,
    TakesBack,
    TallyStore,
    declared_detail,
    detail_of,
    missing_methods,
)

__all__ = [
    "CellsStore",
    "CountsStore",
    "Detail",
    "ExplicitReference",
    "ExplicitStore",
    "Frozen",
    "FrozenCells",
    "FrozenCounts",
    "FrozenSeating",
    "FrozenSeats",
    "FrozenSizes",
    "HistogramReference",
    "HistogramStore",
    "SeatingStore",
    "TableStore",
    "TakesBack",
    "TallyStore",
    "at_least",
    "detail_of",
    "missing_methods",
    "stores",
]


stores: Registry[type] = Registry("store", "hdpkit.stores:stores")
stores.register("explicit", ExplicitStore)
stores.register("histogram", HistogramStore)
stores.register("counts", CountsStore)
stores.register("explicit-reference", ExplicitReference)
stores.register("histogram-reference", HistogramReference)


def at_least(detail: Detail) -> list[str]:
    """Names of the registered stores that keep at least this detail, in the order of registration."""
    instance("detail", detail, Detail, "a Detail", remedy="For instance Detail.SIZES.")
    return [name for name, entry in stores.items() if (declared_detail(entry.thing) or 0) >= detail]
