"""A start for a cohort from chains over a part of its mutations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats
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

_TINY = 1e-300
_LEAST = 1e-3  # smallest initial weight of a signature in the root


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

    Over all mutations of a cohort, chains mix slowly: superfluous signatures, which contain parts of flat
    ones, persist. Over a few hundred mutations of each sample, Table Gibbs and Dish Gibbs mix in a few
    hundred sweeps. The signatures that all of these chains agree on are fitted to all mutations by
    variational updates with the number of signatures fixed (mean field; Blei, Ng & Jordan 2003, section 5.2,
    with Dirichlet distributions for the topics too). A chain over all mutations begins with these signatures.
    All chains with this start begin with the same signatures, so their later agreement is weaker evidence of
    convergence than agreement from different starts.

    Parameters
    ----------
    sample : Restaurant
        The model, as in ``hk.Franchise(sample, corpus)``.
    corpus : Corpus
    known : Known, optional
        Known components, as in ``hk.Franchise(sample, corpus, known=known)``: the start contains only the
        other signatures of the samples.
    max_per_sample : int
        The largest number of mutations drawn from each sample.
    sweeps : int
        Number of sweeps of each chain; the second half is used.
    chains : int
        Number of chains, at least 1; each runs in its own process.
    similarity : float
        As in `extract_signatures`.
    updates : int
        Number of variational updates; 0 for none.
    rng : int, Generator or None
    progress : function or bool, optional
        As in `hdpkit.Scheduler.run`, for the chains.

    Returns
    -------
    hdpkit.init.Factors
        With the signatures, without the known ones, as ``topics``. If the chains agree on no signature and
        none is known, ``Factors()``: a factorisation of all counts.

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
    whole_number("updates", updates, 0, 10_000_000, remedy="5000 is usual.")
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
    if not len(found) and known is None:
        return Factors()
    eta = np.asarray(franchise.measure.eta_vector, dtype=np.float64)  # type: ignore[attr-defined]
    return Factors(topics=_fitted(found, corpus, eta, known, updates))


def _fitted(found: Consensus, corpus: Corpus, eta: Floats, known: Known | None, updates: int) -> Floats:
    """Topics of a consensus other than the known ones, fitted to all counts."""
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
    """Means of topics after this many updates of a mean-field approximation."""
    if frozen.all():
        return topics
    means = topics
    # Expected customers by sample and topic; the first guess is equal for all topics.
    expected = np.repeat(counts.sum(axis=1, keepdims=True) / len(topics), len(topics), axis=1)
    for _ in range(updates):
        # Geometric means; each row (sample) is correct up to a factor.
        proportions = np.exp(scipy.special.digamma(expected + shares))
        ratios = counts / np.maximum(proportions @ topics, _TINY)
        expected = proportions * (ratios @ topics.T)
        by_topic = topics * (proportions.T @ ratios) + prior
        sums = by_topic.sum(axis=1, keepdims=True)
        means = np.where(frozen[:, None], means, by_topic / sums)
        geometric = np.exp(scipy.special.digamma(by_topic) - scipy.special.digamma(sums))
        topics = np.where(frozen[:, None], topics, geometric)
    return means
