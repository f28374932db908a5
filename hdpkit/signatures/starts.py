"""A start of a cohort by chains over a part of its mutations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import instance, real_number, whole_number
from hdpkit.data import Corpus, downsample
from hdpkit.errors import ParameterError
from hdpkit.franchise import Franchise, Known, Restaurant
from hdpkit.init import Factors
from hdpkit.moves import Concentration, DishGibbs, TableGibbs
from hdpkit.schedule import Scheduler
from hdpkit.schedule.sweeps import Progress
from hdpkit.signatures.extraction import extract_signatures
from hdpkit.summaries import Consensus

__all__ = ["start_from_part"]

Floats = npt.NDArray[np.float64]

_TINY = 1e-300
_LEAST = 1e-3  # weight of a signature in the root, to begin with


def start_from_part(
    sample: Restaurant,
    corpus: Corpus,
    *,
    known: Known | None = None,
    max_per_sample: int = 300,
    sweeps: int = 100,
    chains: int = 2,
    similarity: float = 0.95,
    updates: int = 5000,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> Factors:
    """Find a start for a cohort with many mutations by chains over few mutations of each sample.

    Over all mutations of a cohort chains mix slowly: superfluous signatures, which hold parts of flat ones,
    stay. Over some hundred mutations of each sample Table Gibbs and Dish Gibbs mix in some hundred sweeps.
    The signatures that all of these chains agree on are fitted to all mutations by variational updates, with
    the number of signatures as it is (mean field; Blei, Ng & Jordan 2003, section 5.2, with topics that have
    a Dirichlet law, too). They are what a chain over all mutations begins with. All
    chains that are given this start begin with the same signatures: that they agree afterwards says less than
    after starts that differ.

    Parameters
    ----------
    sample : Restaurant
        The model, as ``hk.Franchise(sample, corpus)`` takes it.
    corpus : Corpus
    known : Known, optional
        Components that are known, as ``hk.Franchise(sample, corpus, known=known)`` takes them: the start has
        the signatures that the samples have besides.
    max_per_sample : int
        Mutations of each sample that are drawn.
    sweeps : int
        Of each chain; the last half is looked at.
    chains : int
        A process each, from 1.
    similarity : float
        As in `extract_signatures`.
    updates : int
        How many variational updates; 0 for none.
    rng : int, Generator or None
    progress : function or bool, optional
        As in `hdpkit.Scheduler.run`, for the chains.

    Returns
    -------
    hdpkit.init.Factors
        With the signatures as its ``topics``; known ones are not among these.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    KeyboardInterrupt
        After Ctrl-C.
    """
    instance("corpus", corpus, Corpus, "a Corpus", remedy="read_spectra(path) returns one.")
    whole_number("chains", chains, 1, remedy="2 is usual.")
    whole_number("sweeps", sweeps, 2, remedy="100 is usual.")
    whole_number("updates", updates, 0, remedy="5000 is usual.")
    if not 0.0 < real_number("similarity", similarity) < 1.0:
        raise ParameterError("similarity", similarity, "above 0 and below 1", "0.95 is usual.")
    part = downsample(corpus, max_per_sample, rng=rng)
    franchise = Franchise(sample, part, known=known)
    trace = Scheduler([TableGibbs(), DishGibbs(), Concentration()]).run(
        franchise, sweeps=sweeps, rng=rng, init="one" if known is None else "auto", samples=10,
        chains=chains if chains > 1 else None, on_interrupt="raise", progress=progress,
    )  # fmt: skip
    found = extract_signatures(
        trace, part, similarity=similarity, chains=1.0, min_samples=0, declared=known
    ).components
    eta = np.asarray(franchise.measure.eta_vector, dtype=np.float64)  # type: ignore[attr-defined]
    return Factors(topics=_fitted(found, corpus, eta, known, updates))


def _fitted(found: Consensus, corpus: Corpus, eta: Floats, known: Known | None, updates: int) -> Floats:
    """Topics of a consensus that are not known ones, fitted to all counts."""
    n = 0 if known is None else known.n_components
    ids = found.ids_by_sample
    new = ~((ids >= 0) & (ids < n)).any(axis=0)
    own_weights = np.maximum(found.weights[:-1], _LEAST)
    topics, weights = found.topics[new], own_weights[new]
    prior = np.tile(eta, (n + len(topics), 1))
    frozen = np.zeros(len(prior), dtype=bool)
    if known is not None:
        topics = np.vstack([known.matrix, topics])
        prior[:n] += known.pseudo_counts
        frozen[:n] = known.is_frozen
        own = np.full(n, _LEAST)
        for column, weight in zip(ids.T[~new], own_weights[~new], strict=True):
            own[column[(column >= 0) & (column < n)][0]] = weight
        weights = np.append(own, weights)
    counts = np.asarray(corpus.to_counts().toarray(), dtype=np.float64)
    means = _mean_field(counts, topics, found.concentration * weights, prior, frozen, updates)
    return means[n:]


def _mean_field(
    counts: Floats, topics: Floats, shares: Floats, prior: Floats, frozen: npt.NDArray[np.bool_], updates: int
) -> Floats:
    """Means of topics after so many updates of a mean-field approximation.

    Parameters
    ----------
    counts : shape (n_samples, n_channels)
    topics : shape (K, n_channels)
        To begin with; frozen ones stay.
    shares : shape (K,)
        Dirichlet parameters of the proportions of samples.
    prior : shape (K, n_channels)
        Those of topics.
    frozen : shape (K,)
    updates : int
    """
    if frozen.all():
        return topics
    means = topics
    # Expected customers by sample and topic; what samples have in each topic is unknown at first.
    expected = np.repeat(counts.sum(axis=1, keepdims=True) / len(topics), len(topics), axis=1)
    for _ in range(updates):
        # Geometric means, each of a sample up to a factor.
        proportions = np.exp(scipy.special.digamma(expected + shares))
        ratios = counts / np.maximum(proportions @ topics, _TINY)
        expected = proportions * (ratios @ topics.T)
        by_topic = topics * (proportions.T @ ratios) + prior
        sums = by_topic.sum(axis=1, keepdims=True)
        means = np.where(frozen[:, None], means, by_topic / sums)
        geometric = np.exp(scipy.special.digamma(by_topic) - scipy.special.digamma(sums))
        topics = np.where(frozen[:, None], topics, geometric)
    return means
