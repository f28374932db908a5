"""Franchises that begin with counts by cell: customers with the same document and term are not distinguished.

This choice is not part of the model. A franchise that can begin by cell does; the first verb for single
customers changes to a dish for each customer (`Seats.tell_apart`), permanently.
"""

from __future__ import annotations

from typing import Any

from hdpkit._compiled.stores.counts import CountsStore
from hdpkit.base_measures import DirichletMultinomial

__all__ = ["BY_CELL", "begins_by_cell"]

BY_CELL = frozenset({"cell_sweep", "draw_tables", "draw_tables_by_dish"})
"""Verbs that run over cells. All others need customers."""


def begins_by_cell(store: Any, root: str, kernel: str, topology: Any, measure: Any) -> bool:
    """Whether a franchise begins with counts by cell.

    Parameters
    ----------
    store : type
        Class of the store.
    root : str
        "restaurant", "weights" or "fixed".
    kernel : str
        As passed to the franchise.
    topology : Topology
        With cells, if the data have them.
    measure : BaseMeasure
        Must be exactly `DirichletMultinomial`, because a subclass may use customers.
    """
    return (
        store is CountsStore
        and root in ("weights", "fixed")
        and kernel in ("auto", "fused")
        and getattr(topology, "cells", None) is not None
        and type(measure) is DirichletMultinomial
    )
