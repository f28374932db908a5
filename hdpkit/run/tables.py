"""Traces as tables: HTML for notebooks, and pandas, if it is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hdpkit.errors import importing_extra
from hdpkit.franchise.as_html import html_table


def data_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas.DataFrame of these columns, or a MissingExtraError that names the extra."""
    with importing_extra("pandas", "pandas"):
        import pandas
    return pandas.DataFrame(dict(columns))


def trace_frame(chains: Sequence[Any], numbers: Sequence[int]) -> Any:
    """One row per recorded sweep and chain: ``chain`` and every recorded key.

    An array with the same shape in every sweep gives one column per entry, "key[0]", "key[1]"; arrays of
    varying shapes are one column of arrays.
    """
    columns: dict[str, Any] = {
        "chain": [n for n, c in zip(numbers, chains, strict=True) for _ in range(c.n_draws)]
    }
    for key in chains[0] if chains else ():
        parts = [chain[key] for chain in chains]
        if len({part.shape[1:] for part in parts}) > 1 or any(part.dtype == object for part in parts):
            columns[key] = [value for part in parts for value in part]
            continue
        values = np.concatenate(parts)
        if values.ndim == 1:
            columns[key] = values
            continue
        for place in np.ndindex(values.shape[1:]):
            columns[f"{key}[{','.join(map(str, place))}]"] = values[(slice(None), *place)]
    return data_frame(columns)


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
