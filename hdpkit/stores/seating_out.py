"""A labelled seating reduced to dishes and histograms; the way back is drawn (`reference.seating_out`)."""

from __future__ import annotations

import numpy as np

from hdpkit.stores.protocol import Frozen

__all__ = ["lump"]


def lump(labelled: Frozen) -> Frozen:
    """Dishes and histograms of a labelled seating. Nothing is drawn."""
    seat, node, dish = labelled["seat"], labelled["table_node"], labelled["table_dish"]
    seated = np.concatenate([seat[seat >= 0], labelled["table_seat"][labelled["table_seat"] >= 0]])
    size = np.bincount(seated, minlength=len(node))
    # By hand: np.unique compares records, and an exception of a signal handler becomes a TypeError there.
    bins = np.stack([node, dish, size.astype(np.int32)])
    bins = bins[:, np.lexsort(bins[::-1])]
    begins = np.flatnonzero(np.append(True, np.any(bins[:, 1:] != bins[:, :-1], axis=0))[: bins.shape[1]])
    bins, counts = bins[:, begins], np.diff(np.append(begins, bins.shape[1]))
    return {
        "dish": np.where(seat >= 0, np.append(dish, -1)[seat], -1).astype(np.int32),
        "bin_node": np.ascontiguousarray(bins[0]),
        "bin_dish": np.ascontiguousarray(bins[1]),
        "bin_size": np.ascontiguousarray(bins[2]),
        "bin_count": counts.astype(np.int32),
    }
