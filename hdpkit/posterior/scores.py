"""Scores of topics by their own terms: diversity, exclusivity, and what groups their shares reconstruct."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from hdpkit.arrays import Floats
from hdpkit.checks import choice, number_array, real_number, whole_number
from hdpkit.data import Corpus
from hdpkit.data.top_terms import largest
from hdpkit.errors import DataError, ParameterError
from hdpkit.posterior.readings import topic_weights


def diversity(topics: Any, *, n_terms: int = 25) -> float:
    """Share of distinct terms among the first terms of all topics.

    1 if no two topics have a first term in common, 1/K if all have the same (Dieng, Ruiz & Blei 2020).

    Parameters
    ----------
    topics : array of shape (K, V), Franchise or Sample
        Weights of terms in topics.
    n_terms : int
        Of each topic; all where there are fewer.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    n_terms = whole_number("n_terms", n_terms, 1, remedy="25 are usual.")
    weights = topic_weights(topics)
    first = np.array([largest(row, n_terms) for row in weights])
    return len(np.unique(first)) / first.size


def exclusivity(topics: Any, *, n_terms: int = 10, measure: str = "frex", weight: float = 0.7) -> Floats:
    r"""Exclusivity of each topic: how little its first terms belong to other topics.

    The share of term v in topic k is beta_kv / sum_j beta_jv.

    - ``"frex"``: the mean over the first terms of 1 / (w / F_k(share) + (1 - w) / F_k(beta)), where F_k are
      the ranks of a term within topic k divided by V (Bischof & Airoldi 2012). The R package stm uses the sum
      over terms (Roberts et al. 2014).
    - ``"share"``: the mean share of the first terms.

    Parameters
    ----------
    topics : array of shape (K, V), Franchise or Sample
        Weights of terms in topics.
    n_terms : int
        Of each topic; all where there are fewer.
    measure : "frex" or "share"
    weight : float
        w of FREX, from 0 (frequency alone) to 1 (exclusivity alone).

    Returns
    -------
    float64 array, shape (K,)
        From 0 to 1.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    n_terms = whole_number("n_terms", n_terms, 1, remedy="10 are usual.")
    choice("measure", measure, ("frex", "share"), remedy="Leave it out.")
    weight = real_number("weight", weight, remedy="0.7 is usual.")
    if not 0.0 <= weight <= 1.0:
        raise ParameterError("weight", weight, "from 0 to 1", "0.7 is usual.")
    weights = topic_weights(topics)
    first = np.array([largest(row, n_terms) for row in weights])
    totals = weights.sum(axis=0)
    share = weights / np.where(totals > 0.0, totals, 1.0)
    if measure == "share":
        return np.asarray(np.take_along_axis(share, first, axis=1).mean(axis=1))
    n = weights.shape[1]
    own = scipy.stats.rankdata(share, axis=1) / n
    frequent = scipy.stats.rankdata(weights, axis=1) / n
    frex = 1.0 / (weight / own + (1.0 - weight) / frequent)
    return np.asarray(np.take_along_axis(frex, first, axis=1).mean(axis=1))


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
