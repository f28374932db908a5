"""Tables for other tools: pandas, if it is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hdpkit.errors import MissingExtraError

__all__ = ["data_frame", "trace_frame"]


def data_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas.DataFrame of these columns, or a MissingExtraError that names the extra."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError(
            "pandas", None, "installed", "It is an extra: pip install 'hdpkit[pandas]'."
        ) from error
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
