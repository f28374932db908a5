"""What a sample has of topics and of restaurants below the root."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

__all__ = ["Level", "TermMeans"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@attrs.frozen(eq=False, kw_only=True)
class TermMeans:
    """How posterior mean topics follow from counts.

    Term v of dish k has (n_kv + smoothing) inside_k where n_kv > 0, and smoothing outside_k elsewhere.

    Attributes
    ----------
    smoothing : float64 array, shape (), (n_terms,) or (K, 1)
        Dirichlet parameter.
    inside, outside : float64 arrays, shape (K,)
        Of one value unless topics select terms of their own (`BaseMeasure.term_means`).
    """

    smoothing: Floats
    inside: Floats
    outside: Floats


@attrs.frozen(eq=False, kw_only=True)
class Level:
    """Restaurants of one declaration below the root, by number, as far as weights depend on them.

    Attributes
    ----------
    name : str
        Of the declaration.
    parent : int64 array, shape (n,)
        Number of the restaurant above each, among the root (0) and those of the levels before.
    counts, tables : csr_array of int64, shape (n, K)
        Customers and tables of each dish. ``tables`` is None where no restaurant has a discount.
    concentration, discount : float64 array, shape () or (n,)
    """

    name: str
    parent: Ints = attrs.field(repr=False)
    counts: Any = attrs.field(repr=False)
    tables: Any = attrs.field(repr=False)
    concentration: Floats
    discount: Floats
