"""HTML tables of traces for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hdpkit.html_tables import html_table

__all__ = ["trace_table"]


def trace_table(caption: str, chains: Sequence[Any]) -> str:
    """A table with one row per key: shape, first and last value, mean of the second half of the sweeps."""
    if not any(chain.n_draws for chain in chains):
        return html_table(caption, ["key"], [])
    chains = [chain for chain in chains if chain.n_draws]
    rows = []
    for key in chains[0]:
        columns = [chain[key] for chain in chains if key in chain]
        if key == "sweep" or any(column.dtype.kind not in "iufb" for column in columns):
            continue
        if any(column.ndim != 1 for column in columns):
            rows.append([key, "an array of shape " + str(columns[0].shape[1:]) + " per sweep", "", ""])
            continue
        halves = [column[len(column) // 2 :] for column in columns]
        ends = (columns[0][0], columns[0][-1], np.mean([half.mean() for half in halves]))
        rows.append([key, *(float(value) for value in ends)])
    many = len(chains) > 1
    first, last = ("first (chain 0)", "last (chain 0)") if many else ("first", "last")
    mean = "mean of the second half" + (", all chains" if many else "")
    return html_table(caption, ["key", first, last, mean], rows)
