"""Seating stores: how a franchise remembers who sits where."""

from hdpkit._compiled.stores.explicit import ExplicitStore
from hdpkit._compiled.stores.histogram import HistogramStore
from hdpkit.stores.protocol import Frozen, SeatingStore, TableStore, missing_verbs
from hdpkit.stores.reference.explicit import ExplicitReference
from hdpkit.stores.reference.histogram import HistogramReference
from hdpkit.stores.registry import stores

__all__ = [
    "ExplicitReference",
    "ExplicitStore",
    "Frozen",
    "HistogramReference",
    "HistogramStore",
    "SeatingStore",
    "TableStore",
    "missing_verbs",
    "stores",
]
