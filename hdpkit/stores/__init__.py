"""Seating stores: data structures for the seating of a franchise."""

from hdpkit._compiled.stores.counts import CountsStore
from hdpkit._compiled.stores.explicit import ExplicitStore
from hdpkit._compiled.stores.histogram import HistogramStore
from hdpkit.stores.detail import Detail, detail_of
from hdpkit.stores.frozen import FrozenCells, FrozenCounts, FrozenSeating, FrozenSeats, FrozenSizes
from hdpkit.stores.optional import (
    Compacts,
    CountsInBulk,
    CountsSizes,
    KeepsCells,
    ObservesDishes,
    ReportsMemory,
    ScoresSeating,
    TotalsInBulk,
)
from hdpkit.stores.protocol import Frozen, SeatingStore, TableStore, TallyStore, missing_verbs
from hdpkit.stores.reference.explicit import ExplicitReference
from hdpkit.stores.reference.histogram import HistogramReference
from hdpkit.stores.reference.tallies import CountsReference
from hdpkit.stores.registry import at_least, stores

__all__ = [
    "Compacts",
    "CountsInBulk",
    "CountsReference",
    "CountsSizes",
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
    "KeepsCells",
    "ObservesDishes",
    "ReportsMemory",
    "ScoresSeating",
    "SeatingStore",
    "TableStore",
    "TallyStore",
    "TotalsInBulk",
    "at_least",
    "detail_of",
    "missing_verbs",
    "stores",
]
