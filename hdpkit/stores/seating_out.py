"""Reduction of a labelled seating to dishes and histograms; `reference.seating_out` draws the converse."""

from __future__ import annotations

import numpy as np

from hdpkit.stores.protocol import Frozen

__all__ = ["lump"]


def lump(labelled: Frozen) -> Frozen:
    """Dishes and histograms of a labelled seating. Nothing is drawn."""
    seat, node, dish = labelled["seat"], labelled["table_node"], labelled["table_dish"]
    seated = np.concatenate([seat[seat >= 0], labelled["table_seat"][labelled["table_seat"] >= 0]])
    size = np.bincount(seated, minlength=len(node))
    # Not np.unique: it compares records, and an exception in a signal handler becomes a TypeError there.
    order = np.lexsort((size, dish, node))
    columns = [column[order] for column in (node, dish, size)]
    first = np.ones(len(node), dtype=bool)
    first[1:] = False
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    begins = first.nonzero()[0]
    ends = np.empty_like(begins)
    ends[:-1], ends[-1:] = begins[1:], len(node)
    of_customer = np.full(len(seat), -1, dtype=np.int32)
    of_customer[seat >= 0] = dish[seat[seat >= 0]]
    names = ("bin_node", "bin_dish", "bin_size", "bin_count")
    bins = [*(column[begins] for column in columns), ends - begins]
    found = {name: column.astype(np.int32) for name, column in zip(names, bins, strict=True)}
    return {"dish": of_customer, **found}
