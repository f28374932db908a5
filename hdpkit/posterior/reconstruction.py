"""Cosines between counts of groups and their reconstruction from components."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.arrays import Floats
from hdpkit.checks import number_array
from hdpkit.data import Corpus
from hdpkit.errors import DataError


def reconstruction(counts: Any, shares: Any, components: Any) -> Floats:
    """Cosine similarity between the counts of each group and their reconstruction from its components.

    Parameters
    ----------
    counts : Corpus or array, shape (n_groups, n_terms)
    shares : array, shape (n_groups, T)
        Exposures, or shares, of the components.
    components : array, shape (T, n_terms)

    Returns
    -------
    float64 array, shape (n_groups,)
        0 if a group has no counts or no exposure.

    Raises
    ------
    DataError
        If the shapes don't fit.
    """
    laws = _matrix("components", components, None, None)
    given = _matrix("shares", shares, None, len(laws))
    counted = counts.to_counts() if isinstance(counts, Corpus) else counts
    counted = counted.toarray() if hasattr(counted, "toarray") else counted
    there = _matrix("counts", counted, len(given), laws.shape[1])
    expected = given @ laws
    norms = np.linalg.norm(there, axis=1) * np.linalg.norm(expected, axis=1)
    products = np.einsum("ij,ij->i", there, expected)
    cosine: Floats = np.where(norms > 0, products / np.where(norms > 0, norms, 1.0), 0.0)
    return cosine


def _matrix(name: str, value: Any, rows: int | None, columns: int | None) -> Floats:
    """Check an array of numbers; its shape must match ``rows`` and ``columns`` unless they are None."""
    found = number_array(value)
    fits = found is not None and found.ndim == 2
    if not fits or rows not in (None, len(found)) or columns not in (None, found.shape[1]):  # type: ignore[arg-type,union-attr]
        shape = f"({'n' if rows is None else rows}, {'m' if columns is None else columns})"
        raise DataError(
            name, value, f"a matrix of numbers of shape {shape}",
            "Counts are (n, V), shares (n, T), components (T, V): leave the rest out of all, or of none.",
        )  # fmt: skip
    assert found is not None
    return found
