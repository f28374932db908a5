"""Credible intervals: quantiles over samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.summaries.vectors import Rows

__all__ = ["central", "central_of_terms"]

Floats = npt.NDArray[np.float64]


def central(values: Floats, level: float) -> tuple[Floats, Floats]:
    """Lower and upper ends of the central interval of each column: quantiles over the first axis.

    Parameters
    ----------
    values : float64 array, shape (n, ...)
    level : float
        Probability of the interval.

    Returns
    -------
    lower, upper : float64 arrays, shape (...)
        Linear between order statistics, as in `numpy.quantile`.
    """
    place = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0]) * (len(values) - 1)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, len(values) - 1)
    # Along rows, where the values of a column then lie beside each other.
    ordered = np.moveaxis(np.partition(np.moveaxis(values, 0, -1), np.unique([below, above]), axis=-1), -1, 0)
    lower, upper = (
        ordered[b] + (p - b) * (ordered[a] - ordered[b])
        for p, b, a in zip(place.tolist(), below.tolist(), above.tolist(), strict=True)
    )
    return lower, upper


def central_of_terms(rows: Rows, shape: Floats, level: float) -> tuple[Floats, Floats]:
    """The same for topics as rows of `TermVectors`: terms without customers are handled together."""
    lower, upper = (end * shape for end in central(rows.base, level))
    matrix: Any = rows.matrix.tocsc()
    terms = np.flatnonzero(np.diff(matrix.indptr))
    here = matrix[:, terms].toarray() + rows.base[:, None] * shape[terms]
    lower[terms], upper[terms] = central(here, level)
    return lower, upper
