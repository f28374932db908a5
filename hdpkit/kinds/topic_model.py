"""The estimators of topic models: their input, fits and scores."""

from __future__ import annotations

import copy
import itertools
import math
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from hdpkit.arrays import Floats
from hdpkit.checks import flag
from hdpkit.data import Corpus
from hdpkit.data.files.corpora import ReadingSettings
from hdpkit.data.files.text_files import Layout
from hdpkit.data.files.text_options import TextCounter, TextOptions
from hdpkit.data.matrices import check_whole, sparse_entries
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.kinds.estimators import Estimator, at_once, checked_by_sklearn, seed_of
from hdpkit.kinds.topics import SparseTopics, Topics
from hdpkit.posterior.evaluation.completion import (
    FixedTopics,
    completion,
    halves,
    mean_log_probability,
    repeats_in,
)
from hdpkit.posterior.fold_in import without_restaurants
from hdpkit.posterior.topic_labels import LABELS, read_topic_labels
from hdpkit.run.run_folder import RUN
from hdpkit.run.runs import Run
from hdpkit.run.samples import Samples
from hdpkit.run.trace import chains_in


def are_texts(X: Any) -> bool:
    """Whether this is a sequence of strings: a list, a column of a data frame, a one-dimensional array."""
    if isinstance(X, str | bytes | Corpus) or scipy.sparse.issparse(X) or not isinstance(X, Iterable):
        return False
    if len(getattr(X, "shape", (0,))) != 1:
        return False
    if not isinstance(X, list | tuple) and not hasattr(X, "__len__"):
        return False  # looking into a generator would consume it
    missing = (type(None), float)  # a column may begin with empty rows
    there = (item for item in X if not isinstance(item, missing))
    return any(isinstance(item, str) for item in itertools.islice(there, 1))


def counter_of(text: Any) -> TextCounter:
    """A separate counter for each fit: from options, or a copy of a given counter."""
    if isinstance(text, TextCounter):
        return copy.copy(text)
    if text is None or isinstance(text, TextOptions):
        return TextCounter(text)
    raise ParameterError(
        "text", text, "hdpkit.io.TextOptions, a TextCounter, or None",
        'text=TextOptions(min_documents=2).',
    )  # fmt: skip


def checked_counts(model: Any, X: Any, *, reset: bool) -> Any:
    """Counts of documents by term as a CSR matrix of floats, by scikit-learn's rules."""
    if scipy.sparse.issparse(X):
        X = sparse_entries("X", X).matrix()
    with checked_by_sklearn(X, "counts of documents by term, or a list of texts"):
        if scipy.sparse.issparse(X) and X.nnz:  # before entries of one cell are added up
            check_non_negative(X, type(model).__name__)
        checked = validate_data(
            model, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32, np.int64, np.int32],
            accept_large_sparse=True,
        )  # fmt: skip
        check_non_negative(checked, type(model).__name__)
    counts = scipy.sparse.csr_array(checked)
    if not counts.has_canonical_format:
        counts = counts.copy()
        counts.sum_duplicates()
    return counts


def whole_counts(counts: Any) -> Any:
    """Counts in whole numbers."""
    if counts.dtype.kind == "f":
        rounded = np.rint(counts.data)
        if not np.array_equal(rounded, counts.data):
            before, after = float(counts.data.sum()), float(rounded.sum())
            if after < before / 2:
                raise DataError(
                    "X", f"fractions, {after / before:.0%} of their sum left when rounded", "counts of words",
                    "A topic model needs counts: use CountVectorizer, not TfidfVectorizer.",
                )  # fmt: skip
            warnings.warn(
                "a topic model needs counts: fractions were rounded to whole numbers "
                f"(their sum was {before:.6g}, and is {after:.6g})",
                DataConversionWarning,
                stacklevel=4,
            )
        counts = scipy.sparse.csr_array((rounded, counts.indices, counts.indptr), shape=counts.shape)
    entries = counts.tocoo()
    check_whole("X", entries.row, entries.col, entries.data, None)
    counts = counts.astype(np.int64)
    counts.eliminate_zeros()
    return counts


class TopicModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Topic model with an inferred number of topics: a scikit-learn estimator.

    Topics ~ Dirichlet(eta), G0 ~ DP(gamma, topics), a document's Gj ~ DP(concentration, G0). See
    docs/documents.md.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_components_ : int
        Number of topics that the samples of all chains have in common; those in fewer than half of them are
        left out.
    franchise_ : Franchise
        The last state of the chain whose mean log joint over the second half of its sweeps is the highest.
    franchises_ : list of Franchise
        The last states of all chains.
    trace_ : Trace or ChainTrace
        Trace of the sweeps of the last call.
    samples_ : tuple of Sample
        States of the second half of these sweeps, ordered by chain, for summaries.
    diagnosis_ : Diagnosis
        Whether the model can be read (``diagnosis_.readable``), and intervals and K can be quoted from it
        (``diagnosis_.quotable``).
    terms_ : tuple of str, or None
        Term of each column, if known from texts, a data frame or a corpus.
    counter_ : TextCounter, or None
        The counter for the texts of the first call.
    n_features_in_, feature_names_in_, n_iter_
        As in scikit-learn; ``n_iter_`` is the number of completed sweeps.
    """

    kind: ClassVar[type[Topics]] = Topics
    kind_: Topics
    text: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    @at_once
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model.

        Raises a ValueError (DataError, ParameterError) if counts are negative or missing, there is nothing to
        count, or a parameter is out of range.

        Parameters
        ----------
        X : counts of shape (n_documents, n_terms), texts, or Corpus
            Counts as an array, a sparse matrix or a data frame; texts as a list of strings or a column of a
            data frame. Fractions are rounded, with a warning.
        y : ignored
        """
        self.kind_ = self._made()
        corpus, self.counter_ = self._corpus(X)
        self.terms_ = corpus.vocabulary
        return self._begin(corpus)

    @at_once
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add new documents and continue sampling; the first call is `fit`.

        The tokens of the new documents are seated one by one given the current state. Then `partial_sweeps`
        sweeps reseat all tokens, including those of old documents. Terms are those of the first call. Raises
        a ValueError as for `fit`. After this and any other exception the model is what it was before.

        Parameters
        ----------
        X : counts, texts or Corpus
            Documents that are not in the model yet.
        y : ignored
        """
        return self._extend(X) if hasattr(self, "franchises_") else self.fit(X)

    def _extend(self, X: Any, record: Mapping[str, Any] | None = None) -> Self:
        """Add documents to the fitted model, and continue its chains."""
        self._made()
        self._check_run()
        counts = self._counts(X, whole=True)
        if not counts.data.any():  # empty documents have no customers to seat
            return self._grow(None, record)
        before: Any = self.franchise_.data
        return self._grow(before.plus(Corpus.from_counts(counts, vocabulary=self.terms_)), record)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit the model, and return ``transform(X)``. Parameters and errors as in `fit`.

        The proportions are those that new documents with these tokens would get; `franchise_.group_weights`
        has the posterior means of the documents in the model.
        """
        return self.fit(X, y, **fit_params).transform(X)

    # ------------------------------------------------------------------ new documents

    def transform(self, X: Any) -> Floats:
        """Shares of the topics of ``components_`` in documents, shape ``(n_documents, n_components_)``.

        Rows sum to one: the share of everything else is left out; ``aligned_.fold_in`` returns it. A document
        without words has the mean shares of a new document.

        Parameters
        ----------
        X : counts, texts or Corpus
            As in `fit`. Words outside the vocabulary are not counted. EM uses fractions without rounding.
        """
        check_is_fitted(self)
        made = self._made()
        method, tolerance, sweeps = made.transform_method, made.transform_tolerance, made.transform_sweeps
        topics = self.aligned_.fixed_topics
        if method == "em":
            theta = topics.fit(self._counts(X, whole=False), tolerance)
        else:
            rng = seed_of(self.random_state)
            theta = topics.sample(self._counts(X, whole=True), sweeps, sweeps // 2, rng)
        shares = theta[:, :-1]
        return np.divide(shares, shares.sum(axis=1, keepdims=True))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log probability of a held-out token, in nats: higher is better.

        Document completion: half of the tokens of each document, always the same ones, are observed,
        proportions are fitted to them, and the other half is scored. Probabilities are averaged over
        `samples_`; if there are none, they are those of the last state. By default topics learn from the
        observed words of a document (`score_method`), as in a fit: a rare word in it is likely to occur
        again. Documents don't influence each other, except with ``score_method="joint"``, which continues a
        copy of the chains for `partial_sweeps` sweeps. See docs/documents.md.

        Parameters
        ----------
        X : counts, texts or Corpus
            Documents to which the model was not fitted.
        y : ignored
        """
        return self._completion(X, None)

    def perplexity(self, X: Any, held_out: Any = None, *, new_terms: bool = False) -> float:
        """Perplexity by document completion: exp(-score).

        Parameters
        ----------
        X : counts, texts or Corpus
            Documents or, with ``held_out``, the observed halves of documents.
        held_out : counts, texts or Corpus, optional
            The held-out halves, in the same order. None: documents are split as in `score`.
        new_terms : bool
            Score only the held-out tokens whose term is not in the observed half of their document, given
            that it is not (`Evaluation.new_perplexity`).
        """
        return math.exp(-self._completion(X, held_out, new_terms))

    def _completion(self, X: Any, held_out: Any, new_terms: bool = False) -> float:
        check_is_fitted(self)
        flag("new_terms", new_terms)
        made = self._made()
        tolerance = made.transform_tolerance
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
        method = made.score_method
        if method == "joint" and observed.data.any():
            return self._joint_completion(observed, held, new_terms)
        return completion(self._states(method == "learned"), observed, held, tolerance, new_terms)

    def _joint_completion(self, observed: Any, held: Any, new_terms: bool) -> float:
        """The score of a copy of the model with the observed halves as documents, and their shares in it."""
        new, first = _new_topic(self.franchise_), self.franchise_.sample().n_groups
        if repeats_in(self._fitted.states[0].sample).differ:
            return mean_log_probability(
                lambda cells: joint_scores(copy.copy(self), observed, cells, new), observed, held, new_terms
            )
        joint = copy.copy(self).partial_fit(observed)

        def scores_of_states(cells: Any) -> Iterator[tuple[Floats, Floats]]:
            for sample in joint.samples_ or (joint.franchise_.sample(),):
                topics = FixedTopics.of(_blocks(sample), new, sample.root_weights, None)
                yield topics.score_under(sample.group_weights(slice(first, None)), observed, cells)

        return mean_log_probability(scores_of_states, observed, held, new_terms)

    def _states(self, learning: bool) -> Iterator[FixedTopics]:
        """Topics of the samples, one state at a time; of the last state if there are no samples."""
        new = _new_topic(self.franchise_)
        for sample in self.samples_ or (self.franchise_.sample(),):
            prior = float(sample.hyperparameters["concentration/document"]) * sample.root_weights
            mass = _mass(sample) if learning else None
            yield FixedTopics.of(_blocks(sample), new, prior, mass, repeats_in(sample))

    # ------------------------------------------------------------------ input

    def _corpus(self, X: Any) -> tuple[Corpus, Any]:
        """The documents of a first call, and the counter of their texts."""
        if isinstance(X, Corpus):
            self._check_width(X.n_terms, True)
            return X, None
        if are_texts(X):
            counter = counter_of(self.text)
            counts = counter.fit_count(X)
            self._check_width(counts.shape[1], True)
            return Corpus.from_counts(counts, vocabulary=counter.vocabulary), counter
        counts = whole_counts(checked_counts(self, X, reset=True))
        names = getattr(self, "feature_names_in_", None)
        return Corpus.from_counts(counts, vocabulary=None if names is None else [*map(str, names)]), None

    def _counts(self, X: Any, *, whole: bool) -> Any:
        """Counts of documents of a later call."""
        if isinstance(X, Corpus):
            return self._counts_of(X)
        if are_texts(X):
            if self.counter_ is None:
                raise DataError(
                    "X", "texts", "counts, as in the call of fit",
                    "Fit the model to texts, or count these texts in the same way.",
                )  # fmt: skip
            return scipy.sparse.csr_array(self.counter_.count(X))
        counts = checked_counts(self, X, reset=False)
        return whole_counts(counts) if whole else counts

    def _counts_of(self, corpus: Corpus) -> Any:
        """Counts of a corpus; if both vocabularies are known, terms are matched by word."""
        counts = corpus.to_counts()
        if corpus.vocabulary is not None and self.terms_ is not None and corpus.vocabulary != self.terms_:
            column = {term: v for v, term in enumerate(self.terms_)}
            to = np.array([column.get(term, -1) for term in corpus.vocabulary])
            known = np.flatnonzero(to >= 0)
            place = (np.ones(len(known), dtype=np.int64), (known, to[known]))
            counts = counts @ scipy.sparse.csr_array(place, shape=(corpus.n_terms, self.n_features_in_))
        if counts.shape[1] != self.n_features_in_:
            raise DataError(
                "X", f"{counts.shape[1]} terms", f"the {self.n_features_in_} terms of the model",
                "Build the corpus with vocabulary=model.terms_.",
            )  # fmt: skip
        return counts

    # ------------------------------------------------------------------ the parts

    @property
    def components_(self) -> Floats:
        """Mean probabilities of terms, the largest topic first: shape ``(n_components_, n_terms)``.

        Means over the samples that have the topic; rows sum to one. They are computed at the first access:
        K x V may not fit in memory.
        """
        return self._found("components_").rows

    @property
    def component_shares_(self) -> Floats:
        """Mean share of the tokens of each topic: shape ``(n_components_,)``. The rest is in none."""
        return self._found("component_shares_").shares

    @property
    def labels_(self) -> tuple[str, ...]:
        """Label of each topic, or else its three most typical terms.

        Labels are those of the file labels.csv in the folder from which the model was loaded, which
        ``hdpkit labels FOLDER`` writes for people to edit.
        """
        return tuple(self._found("labels_").titles)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    # ------------------------------------------------------------------ folders

    def _about(self) -> dict[str, Any]:
        """How texts are counted, for `hdpkit infer`."""
        if self.counter_ is None:
            return {}
        return {"reading": ReadingSettings(format="csv", layout=Layout(), counter=self.counter_).as_data()}

    def _restore(self, run: Run) -> None:
        """Set the counter, the terms and the labels."""
        counter = run.about.get("reading", {}).get("counter")
        where = str(run.folder / RUN)
        self.counter_ = None if counter is None else TextCounter.from_data(counter, run.allowed, where=where)
        self.terms_ = run.data.vocabulary
        if os.path.lexists(run.folder / LABELS):
            self._label_rows = read_topic_labels(run.folder / LABELS, run.data.n_terms)


def _blocks(sample: Sample) -> Iterator[Floats]:
    return sample.topic_blocks(np.arange(sample.n_dishes))


def _mass(sample: Sample) -> Floats | None:
    """Tokens plus pseudo-counts of each topic and, last, of a new one; None if topics have none."""
    means = sample.term_means
    if means is None:
        return None
    new = float(np.mean(means.smoothing)) * sample.counts.shape[1]
    mass: Floats = np.append(1.0 / np.asarray(means.inside, dtype=np.float64), new)
    return mass


def _new_topic(franchise: Franchise) -> Floats:
    """Mean of a new topic, over terms."""
    eta = getattr(without_restaurants(franchise).measure, "eta_vector", None)
    n_terms = franchise.data.n_terms  # type: ignore[attr-defined]
    values = np.full(n_terms, 1.0) if eta is None else np.asarray(eta, dtype=np.float64)
    new: Floats = values / values.sum()
    return new


class SparseTopicModel(TopicModel):
    """The sparse topic model of Wang & Blei (2009): `TopicModel` with ``sparse=True``.

    Each topic selects its own terms and is a distribution over these.

    Parameters
    ----------
    {parameters}
    """

    kind = SparseTopics


_KEY = "probability/held-out"


def joint_probabilities(cells: Any, after: int, new: Floats, franchise: Franchise) -> Floats:
    """Probability of each term of the last documents of a franchise, for ``record`` of a run: (n_cells,)."""
    # Given a state, document j has the topic phi_jk ~ PY(a, b, phi_k) for each dish: the predictive of the
    # state is that of the next word. ``new`` is the mean of a new topic.
    if franchise.sweep <= after:
        return np.full(cells.nnz, np.nan)
    data: Any = franchise.data
    sample, n = franchise.sample(), cells.shape[0]
    lengths = np.asarray(data.document_lengths)[-n:]
    begin = len(data) - int(lengths.sum())
    document, values = np.repeat(np.arange(n), lengths), np.asarray(data.values[begin:])
    dish = np.asarray(franchise.dishes[begin:])
    opens = without_restaurants(franchise).dishes[begin : len(data)] >= 0
    tokens, tables = np.zeros((2, n, sample.n_dishes + 1))
    np.add.at(tokens, (document, dish), 1.0)
    np.add.at(tables, (document[opens], dish[opens]), 1.0)
    b, a = repeats_in(sample)
    of_one = sample.group_weights(slice(-n, None)) / (b + tokens)
    rows = sample.topic_blocks(np.arange(sample.n_dishes))
    topics = FixedTopics.of(rows, new, sample.root_weights)
    found = np.exp(topics.log_probabilities(of_one * (b + a * tables), cells))
    shared = of_one[document, dish] * (1.0 - a * opens)
    own = scipy.sparse.csr_array((shared, (document, values)), shape=cells.shape)
    return found + _entries(own, cells)


def _entries(matrix: Any, cells: Any) -> Floats:
    """Values of a sparse matrix at the entries of another."""
    places = cells.tocoo()
    return np.asarray(matrix[places.row, places.col], dtype=np.float64).ravel()


def joint_scores(model: Any, observed: Any, held: Any, new: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Scores of held-out cells, as of `FixedTopics.score`, of each sample of a model that is continued."""
    cells = scipy.sparse.csr_array((observed + held) > 0)
    begun, sweeps = model.franchise_.sweep, model.partial_sweeps
    rule = Samples.of(model.samples or None, begun, sweeps)
    after = begun + sweeps - 1 if rule is None else rule.after
    score = partial(joint_probabilities, cells, after, new)
    model._extend(observed, record={_KEY: score})
    rows = [
        trace[_KEY][trace["sweep"] == sample.sweep][0]
        for trace in chains_in(model.trace_).values()
        for sample in trace.samples
    ]
    for row in rows or [score(model.franchise_)]:
        found = scipy.sparse.csr_array((row, cells.indices, cells.indptr), shape=cells.shape)
        yield np.log(_entries(found, held)), np.asarray(found.multiply(observed > 0).sum(axis=1))
