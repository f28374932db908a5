"""Predictions of a fitted topic model for new documents: shares of the topics, and scores."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hdpkit.errors import DataError
from hdpkit.evaluation.fixed_topics import FixedTopics, completion, halves, mean_log_probability
from hdpkit.franchise import Franchise, Sample
from hdpkit.models.topic_input import TopicInput, seed_of

__all__ = ["TopicPredictions", "new_topic"]

Floats = npt.NDArray[np.float64]


class TopicPredictions(TransformerMixin, TopicInput):
    """Predictions of a fitted `TopicModel`, which derives from this class."""

    partial_fit: Callable[..., Self]
    franchise_: Franchise
    samples_: tuple[Sample, ...]
    _topics: FixedTopics

    def transform(self, X: Any) -> Floats:
        """Shares of the topics in documents.

        Parameters
        ----------
        X : counts, texts or Corpus
            As in `fit`. Words outside the vocabulary are not counted. EM uses fractions without rounding.

        Returns
        -------
        float64 array, shape ``(n_documents, n_components_)``
            Rows sum to one: proportions over the fitted topics. The share of a new topic is left out;
            `Franchise.fold_in` returns it. A document without words has the shares of the corpus.
        """
        check_is_fitted(self)
        method, tolerance, sweeps = self._check_transform()
        if method == "em":
            theta = self._topics.fit(self._counts(X, whole=False), tolerance)
        else:
            rng = seed_of(self.random_state)
            theta = self._topics.sample(self._counts(X, whole=True), sweeps, sweeps // 2, rng)
        shares = theta[:, :-1]
        return np.divide(shares, shares.sum(axis=1, keepdims=True))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log probability of a held-out token, in nats: higher is better.

        Document completion: half of the tokens of each document, always the same ones, are observed,
        proportions are fitted to them, and the other half is scored. Probabilities are averaged over
        `samples_`; if there are none, they are those of the last state. By default topics learn from the
        observed words of a document (`score_method`), as in a fit: a rare word in it is likely to occur
        again. Documents don't influence each other, except with ``score_method="joint"``, which continues a
        copy of the chains for `partial_sweeps` sweeps. See docs/topic_model.md.

        Parameters
        ----------
        X : counts, texts or Corpus
            Documents to which the model was not fitted.
        y : ignored
        """
        return self._completion(X, None)

    def perplexity(self, X: Any, held_out: Any = None) -> float:
        """Perplexity by document completion: exp(-score).

        Parameters
        ----------
        X : counts, texts or Corpus
            Documents or, with ``held_out``, the observed halves of documents.
        held_out : counts, texts or Corpus, optional
            The held-out halves, in the same order. None: documents are split as in `score`.
        """
        return math.exp(-self._completion(X, held_out))

    def _completion(self, X: Any, held_out: Any) -> float:
        check_is_fitted(self)
        tolerance = self._check_transform()[1]
        observed = self._counts(X, whole=True)
        if held_out is None:
            observed, held = halves(observed, 0)
        else:
            held = self._counts(held_out, whole=True)
            if held.shape != observed.shape:
                raise DataError(
                    "held_out", f"{held.shape[0]} documents", f"the halves of X, {observed.shape[0]}",
                    "Give the same documents in the same order.",
                )  # fmt: skip
        method = self._check_score()
        if method == "joint" and observed.data.any():
            return self._joint_completion(observed, held)
        return completion(self._states(method == "learned"), observed, held, tolerance)

    def _joint_completion(self, observed: Any, held: Any) -> float:
        """The score of a copy of the model with the observed halves as documents, and their shares in it."""
        joint = copy.copy(self).partial_fit(observed)
        new, first = new_topic(self.franchise_), self.franchise_.sample().n_groups

        def logs_of_states(cells: Any) -> Iterator[Floats]:
            for sample in joint.samples_ or (joint.franchise_.sample(),):
                topics = FixedTopics.of(_blocks(sample), new, sample.root_weights, None)
                yield topics.log_probabilities(sample.group_weights(slice(first, None)), cells)

        return mean_log_probability(logs_of_states, held)

    def _states(self, learning: bool) -> Iterator[FixedTopics]:
        """Topics of the samples, one state at a time; of the last state if there are no samples."""
        new = new_topic(self.franchise_)
        for sample in self.samples_ or (self.franchise_.sample(),):
            prior = float(sample.hyperparameters["concentration/document"]) * sample.root_weights
            yield FixedTopics.of(_blocks(sample), new, prior, _mass(sample) if learning else None)


def _blocks(sample: Sample) -> Iterator[Floats]:
    return sample._topic_blocks(np.arange(sample.n_dishes))


def _mass(sample: Sample) -> Floats | None:
    """Tokens plus pseudo-counts of each topic and, last, of a new one; None if topics have none."""
    means = sample.term_means
    if means is None:
        return None
    new = float(np.mean(means.smoothing)) * sample.counts.shape[1]
    mass: Floats = np.append(1.0 / np.asarray(means.inside, dtype=np.float64), new)
    return mass


def new_topic(franchise: Franchise) -> Floats:
    """Mean of a new topic, over terms."""
    eta = getattr(franchise.measure, "eta_vector", None)
    n_terms = franchise.data.n_terms  # type: ignore[attr-defined]
    values = np.full(n_terms, 1.0) if eta is None else np.asarray(eta, dtype=np.float64)
    new: Floats = values / values.sum()
    return new
