"""Which franchises begin with counts by cell: customers of a document who have one term are not told apart.

Whether customers are told apart is no part of the model. A franchise that can begin without does; the first
verb that is about single customers has them told apart (`Seats.tell_apart`), once and for good.
"""

from __future__ import annotations

from typing import Any

from hdpkit._compiled.stores.counts import CountsStore
from hdpkit.base_measures import DirichletMultinomial

__all__ = ["BY_CELL", "begins_by_cell"]

BY_CELL = frozenset({"cell_sweep", "draw_tables", "draw_tables_by_dish"})
"""Verbs that run over cells. All others are about customers."""


def begins_by_cell(store: Any, root: str, kernel: str, topology: Any, measure: Any) -> bool:
    """Whether a franchise begins with counts by cell.

    Parameters
    ----------
    store : type
        Of the seating.
    root : str
        "restaurant", "weights" or "fixed".
    kernel : str
        As it was given to the franchise.
    topology : Topology
        With cells, if the data have some.
    measure : BaseMeasure
        Exactly `DirichletMultinomial`: a subclass may look at customers.
    """
    return (
        store is CountsStore
        and root in ("weights", "fixed")
        and kernel in ("auto", "fused")
        and getattr(topology, "cells", None) is not None
        and type(measure) is DirichletMultinomial
    )
