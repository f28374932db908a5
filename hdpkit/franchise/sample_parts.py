"""The parts of a sample for topics and for restaurants below the root."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

__all__ = ["Level", "TermMeans", "rows_at_once"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def rows_at_once(n_terms: int) -> int:
    """Number of topics of which there are dense rows at once: at most 64, in 32 MB where terms are many."""
    return max(1, min(64, (1 << 22) // max(n_terms, 1)))


@attrs.frozen(eq=False)
class TermMeans:
    """Posterior mean topics as functions of counts.

    Term v of dish k has mean (n_kv + smoothing) inside_k if n_kv > 0, and smoothing outside_k otherwise.

    Attributes
    ----------
    smoothing : float64 array, shape (), (n_terms,) or (K, 1)
        Dirichlet parameter.
    inside, outside : float64 arrays, shape (K,)
        They are equal unless topics select terms (`BaseMeasure.term_means`).
    selection : float64 array, shape (2,) or (K, 2), or None
        If topics select terms: r and s, where the proportion of selected terms has the prior Beta(r, s), or
        log pi_k and log(1 - pi_k), where that of each dish is given.
    """

    smoothing: Floats
    inside: Floats
    outside: Floats
    selection: Floats | None = None


@attrs.frozen(eq=False, kw_only=True)
class Level:
    """Restaurants of one declaration below the root, by number: the data that determine their weights.

    Attributes
    ----------
    name : str
        Name of the declaration.
    parent : int64 array, shape (n,)
        Number of the restaurant above each, among the root (0) and the restaurants of earlier levels.
    counts, tables : csr_array of int64, shape (n, K)
        Customers and tables of each dish. ``tables`` is None if no restaurant has a discount.
    concentration, discount : float64 array, shape () or (n,)
    """

    name: str
    parent: Ints = attrs.field(repr=False)
    counts: Any = attrs.field(repr=False)
    tables: Any = attrs.field(repr=False)
    concentration: Floats
    discount: Floats
