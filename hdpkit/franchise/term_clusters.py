"""A start for topic models: terms that occur in the same documents begin as one dish."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.base_measures import DirichletMultinomial, SparseDirichletMultinomial
from hdpkit.checks import validator, whole_number
from hdpkit.data import Corpus
from hdpkit.errors import ParameterError
from hdpkit.random import RandomStream

__all__ = ["TermClusters", "check_term_clusters", "prefers_term_clusters", "term_clusters"]

RANK = 50  # dimensions in which terms are compared
ROUNDS = 5  # of k-means; more have no benefit
COPIED = 0.8  # share of customers that begin with the cluster of another customer of their document
_NUMBERS = 1 << 24  # numbers of a block of terms: all terms of most corpora are one block
_SMALLEST = 1e-12  # of eigenvalues
FEWEST = 2_000  # customers; below this the sequential start is as good

Floats = npt.NDArray[np.float64]


@attrs.frozen
class TermClusters:
    """Customers begin with clusters of terms: their own term's, or that of another one of their document.

    Terms are placed by latent semantic analysis (a randomised one; Halko, Martinsson & Tropp 2011, algorithm
    4.4, on the logarithms of the counts) and grouped by spherical k-means. Four of five customers take the
    cluster of a random customer of their document, the others that of their own term: documents then begin
    with few topics, and terms with all topics in which they are used. Customers are seated from the prior
    given their dishes. This start is not part of the chain, which is exact from any start.

    Parameters
    ----------
    n_dishes : int, optional
        K, at least 1; by default the minimum of the square root of the number of customers, three times the
        square root of the number of terms that occur, and the K of `hdpkit.FixedWeights`.
    """

    n_dishes: int | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(
            validator(whole_number, 1, 2**31 - 1, remedy="For instance hk.init.TermClusters(100).")
        ),
    )


def serves_term_clusters(franchise: Any) -> bool:
    """Whether the data are documents of terms, the measure a Dirichlet-multinomial, plain or sparse."""
    kinds = (DirichletMultinomial, SparseDirichletMultinomial)
    return isinstance(franchise.data, Corpus) and isinstance(franchise.measure, kinds)


def prefers_term_clusters(franchise: Any) -> bool:
    """Whether this start is the default: for mixtures by group with enough data to compare terms.

    Sparse models keep too many of the topics with which they start (docs/startup.md).
    """
    return (
        serves_term_clusters(franchise)
        and not isinstance(franchise.measure, SparseDirichletMultinomial)
        and franchise.topology.n_levels > 1
        and len(franchise.data) >= FEWEST
    )


def check_term_clusters(start: TermClusters, franchise: Any) -> None:
    """Raise a ParameterError if the data aren't documents of terms."""
    if not serves_term_clusters(franchise):
        raise ParameterError(
            "init", start, "a start that fits: TermClusters is for a Corpus under a Dirichlet-multinomial",
            'For instance "sequential", or hk.init.Random(100).',
        )  # fmt: skip
    franchise.root._check_number("init", start.n_dishes or 1)


def term_clusters(start: TermClusters, franchise: Any, source: RandomStream) -> Any:
    """Dish of each customer: int32, shape (n_customers,)."""
    data: Any = franchise.data
    dishes = labels_of_terms(start, franchise, source)[data.terms]
    generator = source.generator
    offsets = np.concatenate([[0], np.cumsum(data.document_lengths)])
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        own, n = dishes[first:last], last - first
        other = (generator.random(n) * n).astype(np.int64)
        dishes[first:last] = np.where(generator.random(n) < COPIED, own[other], own)
    return dishes


def labels_of_terms(start: TermClusters, franchise: Any, source: RandomStream) -> npt.NDArray[np.int32]:
    """Cluster of each term: int32, shape (n_terms,); 0 for those that don't occur."""
    data: Any = franchise.data
    counts = scipy.sparse.csr_matrix(data.to_counts(), dtype=np.float64)
    counts.data = np.log1p(counts.data)
    generator = source.generator
    used = np.flatnonzero(np.bincount(counts.indices, minlength=counts.shape[1]))
    default = max(1, round(min(len(data) ** 0.5, 3 * len(used) ** 0.5)))
    n_dishes = start.n_dishes or min(default, franchise.root.most_dishes or default)
    labels = np.zeros(counts.shape[1], dtype=np.int32)
    across = counts[:, used].T.tocsr()
    del counts
    labels[used] = _k_means(_Places(across, generator, n_dishes), n_dishes, generator)
    return labels


class _Places:
    """Terms as unit vectors in the leading singular directions of the counts, computed in blocks of terms.

    Parameters
    ----------
    across : csr_matrix, shape (n_terms, n_documents)
    generator : Generator
    k : int
        Number of centres with which a block is compared.
    """

    def __init__(self, across: Any, generator: np.random.Generator, k: int) -> None:
        self._across = across
        n, rank = across.shape[0], min(RANK, *across.shape)
        size = max(1, _NUMBERS // max(k, rank))
        self.blocks = [slice(first, min(first + size, n)) for first in range(0, n, size)]
        self._directions = self._of_documents(generator, rank)

    def __len__(self) -> int:
        return int(self._across.shape[0])

    def of(self, terms: Any) -> Floats:
        """The vectors of some terms."""
        return _unit(self._across[terms] @ self._directions)

    def _of_documents(self, generator: np.random.Generator, rank: int) -> Floats:
        """What the rows of counts are multiplied by: shape (n_documents, rank)."""
        across, signs = self._across, [-1.0, 1.0]
        if len(self.blocks) == 1:
            counts = across.T.tocsr()
            basis = generator.choice(signs, size=(len(self), rank))
            for _ in range(2):
                basis, _ = np.linalg.qr(across @ (counts @ basis))
            return np.asarray(counts @ basis)
        found = np.zeros((across.shape[1], rank))
        for block in self.blocks:
            found += across[block].T @ generator.choice(signs, size=(block.stop - block.start, rank))
        for _ in range(2):  # an orthonormal basis of the terms would need a number for each term
            products, image = np.zeros((rank, rank)), np.zeros_like(found)
            for block in self.blocks:
                own = across[block] @ found
                products += own.T @ own
                image += across[block].T @ own
            values, vectors = np.linalg.eigh(products)
            kept = values > _SMALLEST * values[-1]
            found, rank = image @ (vectors[:, kept] / np.sqrt(values[kept])), int(kept.sum())
        return found


def _unit(rows: Floats) -> Floats:
    return rows / np.maximum(1e-300, np.sqrt(np.sum(rows * rows, axis=1, keepdims=True)))


def _k_means(places: _Places, k: int, generator: np.random.Generator) -> npt.NDArray[np.int32]:
    """Group unit vectors by their angles: int32 label of each."""
    n = len(places)
    k = min(k, n)
    centres = places.of(generator.choice(n, k, replace=False))
    labels = np.zeros(n, dtype=np.int32)
    for round_ in range(ROUNDS + 1):
        sums = np.zeros_like(centres)
        for block in places.blocks:
            points = places.of(block)
            labels[block] = np.argmax(points @ centres.T, axis=1)
            if round_ < ROUNDS:
                size = len(points)
                members = (np.ones(size), (labels[block], np.arange(size)))
                sums += scipy.sparse.csr_matrix(members, shape=(k, size)) @ points
        if round_ < ROUNDS:
            centres = _unit(sums)
    return labels
