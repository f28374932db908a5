"""The topics that chains have in common, and all other topics as one."""

from __future__ import annotations

import itertools
import math
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats
from hdpkit.checks import check_unmasked, instance, real_number
from hdpkit.data import Corpus
from hdpkit.data.matrices import check_whole, sparse_entries
from hdpkit.errors import DataError, ParameterError, StateError
from hdpkit.measures.by_restaurant import Repeats
from hdpkit.posterior.aligned import AlignedTopics
from hdpkit.posterior.evaluation.completion import TOLERANCE, completion_perplexity
from hdpkit.posterior.evaluation.fixed_topics import FixedTopics, completion, repeats_in
from hdpkit.posterior.vectors import MIN_COSINE, TermVectors


class Consensus(AlignedTopics):
    """The topics that enough samples of enough chains have. See `consensus`, which makes it.

    It has all attributes of `AlignedTopics`. For topics over terms it is also a model: the topics, the rest
    as an additional topic, their weights in a new group, and the concentration, all of them posterior means.

    Attributes
    ----------
    number : int64 array, shape (T,)
        Number of each topic among the aligned topics.
    concentration : float
        Posterior mean of the concentration of the groups.
    """

    number: npt.NDArray[np.int64]

    def selected(self, topics: Any) -> Consensus:
        """A consensus with only some of the topics; the others belong to the rest.

        Parameters
        ----------
        topics : sequence of int
            Numbers of the topics to keep.

        Returns
        -------
        Consensus
        """
        made = Consensus(self.samples, self._kept(topics), self._vectors, self.level)
        number = np.full(len(made), -1, dtype=np.int64)
        # The new topics are in descending order of their shares, independent of the order of those given.
        for new, old in zip(made._labels, self._labels, strict=True):
            number[new[new >= 0]] = self.number[old[new >= 0]]
        made.number = number
        return made

    @cached_property
    def _root_weights(self) -> Floats:
        """Mean weights of the topics in the root and, last, of the rest."""
        weights = np.zeros((len(self.samples), len(self) + 1))
        for row, sample, own in zip(weights, self.samples, self._labels, strict=True):
            row[own[own >= 0]] = sample.root_weights[:-1][own >= 0]
            row[-1] = sample.root_weights.sum() - row[:-1].sum()
        mean: Floats = weights.mean(axis=0)
        return np.maximum(mean, 0.0) / mean.sum()

    @property
    def weights(self) -> Floats:
        """Weight of each topic and, last, of the rest in the root: float64, shape (T + 1,), sums to one."""
        return self._root_weights

    @cached_property
    def concentration(self) -> float:
        """Posterior mean of the concentration of the groups."""
        if not self.samples[0].levels:
            raise StateError(
                "samples",
                "of a flat mixture",
                "of a model with groups",
                "New groups need a level of their own.",
            )
        return float(np.mean([np.mean(sample.levels[-1].concentration) for sample in self.samples]))

    @cached_property
    def rest_topic(self) -> Floats:
        """Everything outside the topics of the consensus, as one topic: float64, shape (n_terms,).

        The mean over samples of their other dishes, weighted by their weight in the root, and of a new dish,
        which has the mean of the base measure.
        """
        self._need_terms()
        assert isinstance(self._vectors, TermVectors)
        total, base = np.zeros(self._vectors.n_terms), np.zeros(self._vectors.n_terms)
        for sample, own in zip(self.samples, self._labels, strict=True):
            others = np.flatnonzero(own < 0)
            rows, weights = (
                self._vectors.take(self._vectors.rows(sample), others),
                sample.root_weights[others],
            )
            total += weights @ rows.matrix + float(weights @ rows.base) * self._vectors.shape
            base += sample.root_weights[-1] * self._vectors.shape / self._vectors.shape.sum()
        found: Floats = total + base
        return found / found.sum()

    @property
    def topics_and_rest(self) -> Floats:
        """`topics`, and `rest_topic` as the last row: shape (T + 1, n_terms)."""
        return np.vstack([self.topics, self.rest_topic])

    # ------------------------------------------------------------------ new groups

    def fold_in(self, data: Any) -> Floats:
        """Shares of the topics in new groups: float64, shape (n_groups, T + 1); the last column is the rest.

        The mode of each group's proportions given the topics and the concentration times ``weights``, found
        by EM (`hdpkit.evaluate` has the formula). Rows sum to one.

        Parameters
        ----------
        data : Corpus, or array of counts of shape (n_groups, n_terms)
            New documents, with the terms of the samples' corpus.

        Returns
        -------
        float64 array
        """
        counts = self._counts("data", data)
        return self._fixed_topics().fit(counts, TOLERANCE)

    def _fixed_topics(self) -> FixedTopics:
        """The model that this is; if topics differ by document, with posterior means of how they do."""
        repeats = Repeats(*np.mean([repeats_in(sample) for sample in self.samples], axis=0).tolist())
        prior = self.concentration * self.weights
        return FixedTopics.of(self.topics, self.rest_topic, prior, repeats=repeats)

    def perplexity(self, observed: Any, held: Any) -> float:
        """Perplexity of the held-out halves of new groups, with shares fitted to the observed halves.

        Computed as by `hdpkit.evaluate` with method="completion" for a state, so the two can be compared.

        Parameters
        ----------
        observed, held : Corpus, or arrays of counts of shape (n_groups, n_terms)
            The two halves of each group, in the same order.

        Returns
        -------
        float
        """
        halves = self._counts("observed", observed), self._counts("held", held)
        fixed = self._fixed_topics()
        if fixed.repeats.differ:
            return math.exp(-completion([fixed], *halves, TOLERANCE))
        return completion_perplexity(self.topics_and_rest, self.concentration * self.weights, *halves)

    def _counts(self, name: str, given: Any) -> Any:
        self._need_terms()
        check_unmasked(name, given)
        if scipy.sparse.issparse(given):
            given = sparse_entries(name, given).matrix()
        try:
            counts = scipy.sparse.coo_array(given.to_counts() if isinstance(given, Corpus) else given)
        except (TypeError, ValueError, OverflowError, RecursionError):
            raise DataError(name, given, "a Corpus, or a matrix of counts", "See Corpus.to_counts.") from None
        n_terms = self.topics.shape[1]
        wrong = counts.ndim != 2 or counts.shape[1] != n_terms or counts.dtype.kind not in "iufb"
        if wrong:
            raise DataError(
                name, f"counts of shape {counts.shape}", f"whole numbers, none negative, of {n_terms} terms",
                "Build new documents with vocabulary=corpus.vocabulary, or with n_terms.",
            )  # fmt: skip
        check_whole(name, counts.row, counts.col, counts.data, None)  # before entries of one cell add up
        return scipy.sparse.csr_array(counts)

    def _need_terms(self) -> None:
        if not isinstance(self._vectors, TermVectors):
            raise StateError(
                "consensus", "of components by a function", "of topics by cosine",
                "Other components have no distributions over terms that could be mixed.",
            )  # fmt: skip


def consensus(
    aligned: AlignedTopics, *, occurrence: float = 0.5, chains: float = 0.5, cosine: float = 0.0
) -> Consensus:
    """Keep the topics that enough chains have.

    A chain has a topic if the topic occurs in at least the share ``occurrence`` of the chain's samples. The
    topic is kept if at least the share ``chains`` of the chains have it, and at least two if there are
    several: of two chains both. Everything else, and all that is new, is the rest.

    Parameters
    ----------
    aligned : AlignedTopics
    occurrence : float
        The smallest share of a chain's samples, from 0 to 1. A topic must occur in at least one sample.
    chains : float
        The smallest share of the chains, from 0 to 1. 1 means all chains, 0 at least one, also of several.
    cosine : float
        The smallest cosine between the means of a topic in any two chains that have it, from 0 to 1. For
        components that are compared by another distance: 1 minus the largest distance.

    Returns
    -------
    Consensus

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    instance("aligned", aligned, AlignedTopics, "what align_topics returned", remedy="align_topics(trace).")
    for name, value in (("occurrence", occurrence), ("chains", chains), ("cosine", cosine)):
        if not 0.0 <= real_number(name, value) <= 1.0:
            raise ParameterError(name, value, "from 0 to 1", "Leave it out for the usual one.")
    has = (aligned.occurrence_by_chain >= occurrence) & (aligned.occurrence_by_chain > 0)
    fewest = max(min(2, len(has)) if chains > 0 else 1, chains * len(has) - 1e-9)
    number = np.flatnonzero(has.sum(axis=0) >= fewest)
    if cosine > 0 and len(has) > 1:
        apart = np.zeros(len(number))
        for pair in itertools.combinations(range(len(has)), 2):
            both = np.flatnonzero(has[pair[0], number] & has[pair[1], number])
            means = [aligned._chain_means(aligned.chain_numbers[row], number[both]) for row in pair]
            apart[both] = np.maximum(apart[both], aligned._vectors.paired(*means))
        number = number[apart <= 1.0 - cosine]
    made = Consensus(aligned.samples, aligned._kept(number), aligned._vectors, aligned.level)
    made.number = number
    return made


def in_common(aligned: AlignedTopics) -> Consensus:
    """The topics that all chains have, with similar means: those that verdicts count and runs show."""
    return consensus(aligned, chains=1.0, cosine=MIN_COSINE)
