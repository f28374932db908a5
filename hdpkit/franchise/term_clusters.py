"""A start for topic models: terms that keep the same company begin as one dish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt
from scipy import sparse

from hdpkit.base_measures import DirichletMultinomial
from hdpkit.checks import validator, whole_number
from hdpkit.data import Corpus
from hdpkit.errors import ParameterError
from hdpkit.random import RandomStream

if TYPE_CHECKING:
    from hdpkit.franchise.franchise import Franchise

__all__ = ["TermClusters", "check_term_clusters", "prefers_term_clusters", "term_clusters"]

RANK = 50  # directions in which terms are compared
ROUNDS = 5  # of k-means; more don't pay
FEWEST = 2_000  # customers below whom the sequential start is as good

Floats = npt.NDArray[np.float64]


@attrs.frozen
class TermClusters:
    """Each term's customers begin with one dish, terms of similar documents with the same.

    Terms are placed by latent semantic analysis (a randomised one; Halko, Martinsson & Tropp 2011, algorithm
    4.4, on the logarithms of the counts) and grouped by spherical k-means; then customers sit by the prior
    given their dishes. Not part of the chain: what comes after is exact from any start.

    Parameters
    ----------
    n_dishes : int, optional
        K, at least 1; by default half the square root of the number of customers.
    """

    n_dishes: int | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(
            validator(whole_number, 1, 2**31 - 1, remedy="For instance hk.init.TermClusters(100).")
        ),
    )


def serves_term_clusters(franchise: Franchise) -> bool:
    """Whether the data are documents of terms, the measure a Dirichlet-multinomial."""
    return isinstance(franchise.data, Corpus) and isinstance(franchise.measure, DirichletMultinomial)


def prefers_term_clusters(franchise: Franchise) -> bool:
    """Whether this start is the default: mixtures by group of enough data to place terms by."""
    return (
        serves_term_clusters(franchise) and franchise.topology.n_levels > 1 and len(franchise.data) >= FEWEST
    )


def check_term_clusters(start: TermClusters, franchise: Franchise) -> None:
    """Raise a ParameterError if the data aren't documents of terms."""
    if not serves_term_clusters(franchise):
        raise ParameterError(
            "init", start, "a start that fits: TermClusters is for a Corpus under a Dirichlet-multinomial",
            'For instance "sequential", or hk.init.Random(100).',
        )  # fmt: skip


def term_clusters(start: TermClusters, franchise: Franchise, source: RandomStream) -> Any:
    """Dish of each customer: int32, shape (n_customers,)."""
    data: Any = franchise.data
    counts = sparse.csr_matrix(data.to_counts(), dtype=np.float64)
    n_dishes = start.n_dishes or max(1, round(len(data) ** 0.5 / 2))
    counts.data = np.log1p(counts.data)
    generator = source.generator
    used = np.flatnonzero(np.diff(counts.tocsc().indptr))
    labels = np.zeros(counts.shape[1], dtype=np.int32)
    labels[used] = _k_means(_placed(counts[:, used], generator), n_dishes, generator)
    return labels[data.terms]


def _placed(counts: Any, generator: np.random.Generator) -> Floats:
    """Terms as unit vectors in the leading directions of counts' counts."""
    rank = min(RANK, *counts.shape)
    basis = generator.choice([-1.0, 1.0], size=(counts.shape[1], rank))
    across = counts.T.tocsr()
    basis, _ = np.linalg.qr(across @ (counts @ basis))
    basis, _ = np.linalg.qr(across @ (counts @ basis))
    return _unit(across @ (counts @ basis))


def _unit(rows: Floats) -> Floats:
    return rows / np.maximum(1e-300, np.sqrt(np.sum(rows * rows, axis=1, keepdims=True)))


def _k_means(points: Floats, k: int, generator: np.random.Generator) -> npt.NDArray[np.int32]:
    """Group unit vectors by their angles: int32 label of each."""
    k = min(k, len(points))
    centres = points[generator.choice(len(points), k, replace=False)]
    labels = np.zeros(len(points), dtype=np.int32)
    for round_ in range(ROUNDS + 1):
        labels = np.argmax(points @ centres.T, axis=1).astype(np.int32)
        if round_ < ROUNDS:
            members = sparse.csr_matrix(
                (np.ones(len(points)), (labels, np.arange(len(points)))), shape=(k, len(points))
            )
            centres = _unit(members @ points)
    return labels
