"""Distances between topics, and their coordinates on the map."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.errors import MissingExtraError

__all__ = ["coordinates", "distances", "frequent", "number_of_groups"]

_TERMS = 2_000


def distances(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Jensen-Shannon distances of topics (square roots of divergences in nats), shape (K, K)."""
    apart = scipy.spatial.distance.pdist(weights, "jensenshannon")
    return np.asarray(scipy.spatial.distance.squareform(np.maximum(np.nan_to_num(apart), 0.0)))


def frequent(weights: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Weights of the 2,000 most frequent terms, all others as one term; this never increases a distance.

    Parameters
    ----------
    weights : array, shape (K, n_terms)
    counts : array, shape (n_terms,)
    """
    if weights.shape[1] <= _TERMS:
        return weights
    order = np.argsort(-counts, kind="stable")
    return np.column_stack([weights[:, order[:_TERMS]], weights[:, order[_TERMS:]].sum(axis=1)])


def coordinates(apart: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Coordinates in the plane, shape (K, 2): classical scaling, improved by stress majorisation (SMACOF)."""
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
    """Number of groups for this number of topics: few enough to read, 2 to 20."""
    return int(np.clip(round(np.sqrt(n_topics)), min(2, n_topics), 20))
