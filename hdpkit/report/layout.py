"""How far topics are from each other, where they are on the map, and which groups they form."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.errors import MissingExtraError
from hdpkit.report.material import Material

__all__ = ["coordinates", "distances", "groups_of", "number_of_groups"]

_TERMS = 2_000


def distances(material: Material) -> npt.NDArray[np.float64]:
    """Jensen-Shannon distances of the topics (square roots of divergences in bits), shape (K, K), 0 to 1.

    Terms beyond the 2,000 most frequent count as one, which makes no distance larger.
    """
    weights = material.weights
    if weights.shape[1] > _TERMS:
        order = np.argsort(-material.term_counts, kind="stable")
        kept, rest = order[:_TERMS], order[_TERMS:]
        weights = np.column_stack([weights[:, kept], weights[:, rest].sum(axis=1)])
    n = len(weights)
    entropy = _entropy(weights)
    squares = np.zeros((n, n))
    for k in range(n - 1):
        mixed = _entropy(0.5 * (weights[k] + weights[k + 1 :]))
        squares[k, k + 1 :] = mixed - 0.5 * (entropy[k] + entropy[k + 1 :])
    return np.sqrt(np.clip(squares + squares.T, 0.0, 1.0))


def _entropy(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Entropy of each row, in bits."""
    return np.asarray(scipy.special.entr(weights).sum(axis=1) / np.log(2.0))


def coordinates(apart: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Places on a plane, shape (K, 2): classical scaling, improved by stress majorisation (SMACOF)."""
    n = len(apart)
    if n < 3:
        return np.array([[0.0, 0.0], [1.0, 0.0]])[:n]
    centring = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centring @ apart**2 @ centring)
    start = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-12))
    try:
        from sklearn.manifold import smacof
    except ImportError as error:
        raise MissingExtraError(
            "scikit-learn", None, "installed", "It is an extra: pip install 'hdpkit[report]'."
        ) from error
    places, _ = smacof(apart, n_components=2, init=start, n_init=1, max_iter=300, normalized_stress=False)
    # Signs and order of eigenvectors depend on the processor; the page should not.
    places = places * np.where(places[np.argmax(np.abs(places), axis=0), [0, 1]] < 0, -1.0, 1.0)
    return np.asarray(places)


def number_of_groups(n_topics: int) -> int:
    """Groups that so many topics are cut into: as many as one can read, 2 to 20."""
    return int(np.clip(round(np.sqrt(n_topics)), min(2, n_topics), 20))


def groups_of(
    apart: npt.NDArray[np.float64], shares: npt.NDArray[np.float64], n_groups: int
) -> tuple[npt.NDArray[np.int64], Any]:
    """Group of each topic, shape (K,), the group with the largest share first; and the linkage of the groups.

    Ward's method on the distances, cut where there are so many groups.
    """
    n = len(apart)
    if n < 2:
        return np.zeros(n, dtype=np.int64), None
    linkage = scipy.cluster.hierarchy.linkage(scipy.spatial.distance.squareform(apart, checks=False), "ward")
    found = scipy.cluster.hierarchy.fcluster(linkage, n_groups, "maxclust") - 1
    totals = np.bincount(found, shares)
    rank = np.empty(len(totals), dtype=np.int64)
    rank[np.argsort(-totals, kind="stable")] = np.arange(len(totals))
    return rank[found], linkage
