"""`TopicModel` and `SparseTopicModel`: two-level topic models as scikit-learn estimators."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hdpkit.arrays import Floats
from hdpkit.checks import choice, flag, positive_number, whole_number
from hdpkit.data import Corpus
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.kinds.sampled import SampledModel, at_once, best_chain, seed_of, seed_of_chain
from hdpkit.kinds.topic_input import are_texts, checked_counts, counter_of, whole_counts
from hdpkit.kinds.topic_parts import (
    PURPOSES,
    default_moves,
    for_purpose,
    root_of,
    topic_measure,
    topic_restaurants,
)
from hdpkit.posterior.evaluation.fixed_topics import (
    FixedTopics,
    completion,
    halves,
    mean_log_probability,
    repeats_in,
)
from hdpkit.posterior.fold_in import without_restaurants
from hdpkit.posterior.topic_labels import LabelRow, heaviest_terms, match_labels
from hdpkit.priors import Each
from hdpkit.run.chain_trace import ChainTrace
from hdpkit.run.trace import Trace


class TopicModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SampledModel):
    """Topic model with an inferred number of topics: a scikit-learn estimator.

    Topics ~ Dirichlet(eta), G0 ~ DP(root_concentration, topics), a document's Gj ~ DP(concentration, G0). See
    docs/topic_model.md.

    Parameters
    ----------
    purpose : "reading" or "prediction"
        What chooses settings that are None. For reading: eta = 0.2, ``bursty``, and two chains that run until
        the topics can be read. For prediction: more and narrower topics, with eta = 0.05, in one chain,
        without bursts. See docs/default_topics.md.
    eta : float, array of shape (n_terms,), or prior, optional
        Dirichlet parameter of topics over terms. A smaller value gives more and narrower topics.
    concentration, root_concentration : float or prior, optional
        A number is fixed, a prior is resampled. None: Gamma(1, 1).
    n_components : int, optional
        A finite model with this many topics of equal weight. None: the number is inferred.
    sparse : bool
        Each topic selects its own terms (Wang & Blei 2009); eta is not used then.
    smoothing, selection : optional
        Parameters of the sparse model: see `SparseDirichletMultinomial`. None: its defaults.
    bursty : bool, float or prior, optional
        Topics differ by document, so that a term that has occurred in a document occurs there again (see
        `Bursty`). A number or a prior is the concentration: the larger it is, the less terms repeat. True:
        that with the prior Gamma(1, 0.01). None: as the purpose is, and False with ``sparse``.
    sweeps : int, optional
        Sweeps of `fit`. With ``until``: ten times those of the first round. None: 500.
    until : "readable" or "quotable", optional
        Run in rounds, each with as many sweeps as all before it, until this verdict of `diagnosis_` is green,
        two rounds in a row made no progress, or ``at_most`` is over. There are at least two chains, since
        a single one can't show what another would find. None: "readable" where the purpose is reading and
        ``sweeps`` is None, else all sweeps.
    at_most : float or str, optional
        With ``until``: the longest time, in seconds or with a unit ("10min"). None: at most ``sweeps``.
    partial_sweeps : int
        Sweeps of each further `partial_fit`.
    samples : int or Samples
        Number of states of the second half of the sweeps that are kept for summaries and scores.
    chains : int, optional
        Number of chains; each has its own process and random streams. None: 2 for reading, 1 for prediction.
    schedule : sequence of Move, optional
        Moves of a sweep. None: table Gibbs, dish Gibbs, split-merge for 50 sweeps, and updates of all
        parameters with a prior.
    init : start
        As in `Scheduler.run`.
    store : str or type
        How seating is stored: see `Franchise`.
    root : "restaurant" or "weights"
        As in `Franchise`; `moves.SliceGibbs` needs weights.
    known : Known, optional
        Topics that are known in advance, with the terms in the order of the columns: see `Known`.
    text : TextOptions or TextCounter, optional
        How raw texts become counts; by default without the function words of their language, which
        ``counter_.function_words`` names.
    transform_method : "em" or "gibbs"
        How proportions of new documents are computed: the fixed point of EM, or posterior means by
        collapsed Gibbs sampling, which takes about ten times as long.
    transform_tolerance : float
        EM stops when no proportion changes by more than this in one step.
    transform_sweeps : int
        Sweeps that Gibbs sampling averages, after half as many for burn-in.
    score_method : "learned", "fixed" or "joint"
        Topics in `score` and `perplexity`: "learned" adds the observed words of a document to the counts of
        the topics, separately for each document; "fixed" doesn't change the topics, as in
        `hdpkit.evaluate`; "joint" adds the observed halves of all documents to a copy of the model, as
        `partial_fit` does.
    random_state : int, RandomState, Generator or None
        The same seed gives the same model.
    n_jobs : int, optional
        Number of chains that run at once; for a single chain the number of threads, for moves that can use
        them (`moves.SliceGibbs`). None: 1. -1: the number of processors.
    progress : function, optional
        Called with a `Tick` several times a second, for instance ``hk.ProgressBar()``.

    Attributes
    ----------
    components_ : float64 array, shape ``(n_components_, n_terms)``
        Topics, the largest first: posterior mean probabilities of terms in the state of `franchise_`. Rows
        sum to one.
    n_components_ : int
        Number of topics.
    component_shares_ : float64 array, shape ``(n_components_,)``
        Share of the tokens of each topic.
    labels_ : tuple of str
        Label of each topic: that of the file labels.csv in the folder from which the model was loaded
        (``hdpkit labels FOLDER`` writes it, for people to edit), or else its first three terms.
    dishes_ : int64 array, shape ``(n_components_,)``
        Number of each topic in `franchise_`.
    franchise_ : Franchise
        The last state of the chain whose mean log joint over the second half of its sweeps is the highest.
    franchises_ : list of Franchise
        The last states of all chains.
    trace_ : Trace or ChainTrace
        Trace of the sweeps of the last call.
    samples_ : tuple of Sample
        States of the second half of these sweeps, ordered by chain, for summaries.
    diagnosis_ : Diagnosis
        Whether the model can be read (``diagnosis_.readable``) and intervals and K can be quoted from it
        (``diagnosis_.quotable``).
    terms_ : tuple of str, or None
        Term of each column, if known from texts, a data frame or a corpus.
    counter_ : TextCounter, or None
        The counter for the texts of the first call.
    n_features_in_, feature_names_in_, n_iter_
        As in scikit-learn; ``n_iter_`` is the number of completed sweeps.
    """

    _kind = "topics"
    _last: Sample  # the state of which the attributes are
    _label_rows: Sequence[LabelRow] = ()  # of labels.csv in the folder that the model is from
    _components: Floats | None

    def __init__(
        self,
        *,
        purpose: Any = "reading",
        eta: Any = None,
        concentration: Any = None,
        root_concentration: Any = None,
        n_components: Any = None,
        sparse: Any = False,
        smoothing: Any = None,
        selection: Any = None,
        bursty: Any = None,
        sweeps: Any = None,
        partial_sweeps: Any = 50,
        samples: Any = 20,
        chains: Any = None,
        until: Any = None,
        at_most: Any = None,
        schedule: Any = None,
        init: Any = "auto",
        store: Any = "histogram",
        root: Any = "restaurant",
        known: Any = None,
        text: Any = None,
        transform_method: Any = "em",
        transform_tolerance: Any = 1e-4,
        transform_sweeps: Any = 50,
        score_method: Any = "learned",
        random_state: Any = None,
        n_jobs: Any = None,
        progress: Any = None,
    ) -> None:
        self.purpose = purpose
        self.eta = eta
        self.concentration = concentration
        self.root_concentration = root_concentration
        self.n_components = n_components
        self.sparse = sparse
        self.smoothing = smoothing
        self.selection = selection
        self.bursty = bursty
        self.sweeps = sweeps
        self.partial_sweeps = partial_sweeps
        self.samples = samples
        self.chains = chains
        self.until = until
        self.at_most = at_most
        self.schedule = schedule
        self.init = init
        self.store = store
        self.root = root
        self.known = known
        self.text = text
        self.transform_method = transform_method
        self.transform_tolerance = transform_tolerance
        self.transform_sweeps = transform_sweeps
        self.score_method = score_method
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    @property
    def _settings(self) -> Mapping[str, Any]:
        return for_purpose(self.purpose, vars(self))

    # ------------------------------------------------------------------ fitting

    @at_once
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : counts of shape (n_documents, n_terms), texts, or Corpus
            Counts as an array, a sparse matrix or a data frame; texts as a list of strings or a column of a
            data frame. Fractions are rounded, with a warning.
        y : ignored

        Returns
        -------
        TopicModel
            This model.

        Raises
        ------
        ValueError
            (DataError, ParameterError) If counts are negative or missing, there is nothing to count, or a
            parameter is out of range.
        """
        self._check_parameters()
        corpus, counter = self._corpus(X)
        if self.sparse and corpus.n_terms == 1:
            raise DataError(
                "X", "n_features = 1", "two terms or more for topics that select terms", "Use TopicModel."
            )
        eta, bursty = self._settings["eta"], self._settings["bursty"]
        measure = topic_measure(
            eta, bool(self.sparse), bursty, smoothing=self.smoothing, selection=self.selection
        )
        restaurant = topic_restaurants(
            measure, self.concentration, self.root_concentration, self.n_components
        )
        franchise = Franchise(
            restaurant,
            corpus,
            store=self.store,
            root=root_of(self.root, self.n_components),
            known=self.known,
        )
        trace, franchises = self._sampled(restaurant, franchise)
        self.counter_ = counter
        self.terms_ = corpus.vocabulary
        self._finish(franchises, trace)
        return self

    @at_once
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add new documents and continue sampling; the first call is `fit`.

        The tokens of the new documents are seated one by one given the current state. Then `partial_sweeps`
        sweeps reseat all tokens, including those of old documents. Terms are those of the first call.

        Parameters
        ----------
        X : counts, texts or Corpus
            Documents that are not in the model yet.
        y : ignored

        Returns
        -------
        TopicModel
            This model.

        Raises
        ------
        ValueError
            As for `fit`. After this and any other exception the model is what it was before.
        """
        return self._extend(X) if hasattr(self, "franchises_") else self.fit(X)

    def _extend(self, X: Any, record: Mapping[str, Any] | None = None) -> Self:
        """Add documents to the fitted model, and continue its chains."""
        self._check_parameters()
        counts = self._counts(X, whole=True)
        if not counts.data.any():
            grown = [one.copy() for one in self.franchises_]  # empty documents have no customers to seat
        else:
            more = Corpus.from_counts(counts, vocabulary=self.terms_)
            before: Any = self.franchise_.data
            corpus = before.plus(more)
            grown = [one.with_documents(corpus, seed_of_chain(one)) for one in self.franchises_]
        trace, franchises = self._go_on(grown, self.partial_sweeps, record)
        self._finish(franchises, trace)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit the model, and return ``transform(X)``. Parameters and errors as in `fit`.

        The proportions are those that new documents with these tokens would get; `franchise_.group_weights`
        has the posterior means of the documents in the model.
        """
        return self.fit(X, y, **fit_params).transform(X)

    # ------------------------------------------------------------------ new documents

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
            return self._joint_completion(observed, held, new_terms)
        return completion(self._states(method == "learned"), observed, held, tolerance, new_terms)

    def _joint_completion(self, observed: Any, held: Any, new_terms: bool) -> float:
        """The score of a copy of the model with the observed halves as documents, and their shares in it."""
        new, first = _new_topic(self.franchise_), self.franchise_.sample().n_groups
        if self._topics.repeats.differ:
            from hdpkit.kinds.joint_score import joint_scores

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

    # ------------------------------------------------------------------ parameters and input

    def _check_parameters(self) -> None:
        """Raise a ParameterError for invalid parameters that aren't checked elsewhere."""
        choice("purpose", self.purpose, tuple(PURPOSES), remedy="What the model is for.")
        self._check_run()
        whole_number("partial_sweeps", self.partial_sweeps, 1, remedy="Give a whole number.")
        flag("sparse", self.sparse)
        if not isinstance(self.bursty, bool | None):
            try:
                if not topic_measure(0.5, False, self.bursty).conjugate:
                    raise ParameterError("bursty", self.bursty, "one for all topics", "Leave hk.Each out.")
            except ParameterError as error:
                raise ParameterError(
                    "bursty", self.bursty, "None, False, True, a positive number, or a prior of such numbers",
                    "True is the usual prior of the concentration.",
                ) from error  # fmt: skip
        if self.n_components is not None:
            whole_number("n_components", self.n_components, 1, remedy="None: the number is inferred.")
            if self.root_concentration is not None:
                raise ParameterError(
                    "root_concentration", self.root_concentration, "None with n_components",
                    "Topics of a finite model weigh the same: concentration is K alpha.",
                )  # fmt: skip
        if isinstance(self.concentration, Each):
            raise ParameterError(
                "concentration", self.concentration, "one for all documents: a number or a prior",
                "New documents have none of their own.",
            )  # fmt: skip
        self._check_transform()
        self._check_score()

    def _check_transform(self) -> tuple[str, float, int]:
        return (
            choice("transform_method", self.transform_method, ("em", "gibbs"), remedy="Leave it out."),
            positive_number("transform_tolerance", self.transform_tolerance),
            whole_number("transform_sweeps", self.transform_sweeps, 1, remedy="50 are usual."),
        )

    def _check_score(self) -> str:
        return choice(
            "score_method", self.score_method, ("learned", "fixed", "joint"), remedy="Leave it out."
        )

    def _corpus(self, X: Any) -> tuple[Corpus, Any]:
        """The documents of a first call, and the counter of their texts."""
        if isinstance(X, Corpus):
            self._forget_names(X.n_terms)
            return X, None
        if are_texts(X):
            counter = counter_of(self.text)
            counts = counter.fit_count(X)
            self._forget_names(counts.shape[1])
            return Corpus.from_counts(counts, vocabulary=counter.vocabulary), counter
        counts = whole_counts(checked_counts(self, X, reset=True))
        names = getattr(self, "feature_names_in_", None)
        return Corpus.from_counts(counts, vocabulary=None if names is None else [*map(str, names)]), None

    def _forget_names(self, n_terms: int) -> None:
        self.n_features_in_ = n_terms
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

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
        """Probabilities of terms in the topics, computed at the first access: K x V may not fit in memory."""
        if not hasattr(self, "_last"):
            raise AttributeError("components_: fit the model first")
        if self._components is None:
            topics = np.ascontiguousarray(self._last.topics_of(self.dishes_))
            topics /= topics.sum(axis=1, keepdims=True)
            self._components = topics
        return self._components

    @property
    def labels_(self) -> tuple[str, ...]:
        """Label of each topic: that of the file labels.csv of its folder, or else its first three terms."""
        if not hasattr(self, "_last"):
            raise AttributeError("labels_: fit the model first")
        ids, weights = heaviest_terms(self._last.topic_blocks(self.dishes_))
        rows = [row for row in self._label_rows if row.topic is not None]
        given = match_labels(rows, ids, weights, self.n_features_in_).labels
        words = self.terms_
        return tuple(
            label or " · ".join(str(v) if words is None else words[v] for v in top[:3].tolist())
            for label, top in zip(given, ids, strict=True)
        )

    def _moves(self, restaurant: Any) -> list[Any]:
        """The default schedule."""
        return default_moves(restaurant)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _finish(self, franchises: list[Franchise], trace: Trace | ChainTrace) -> None:
        """Keep the fitted states, and set the attributes for predictions."""
        self.franchises_, self.trace_, self.samples_ = list(franchises), trace, tuple(trace.samples)
        self.franchise_ = franchise = self.franchises_[best_chain(trace)]
        sample = franchise.sample()
        sizes = sample.sizes
        self.dishes_ = np.argsort(-sizes, kind="stable")
        self._last = sample
        self._components = None
        self.n_components_ = len(self.dishes_)
        self.component_shares_ = sizes[self.dishes_] / sizes.sum()
        self.n_iter_ = int(franchise.sweep)
        weights, rest = franchise.root_weights()
        alpha = float(franchise.concentration("document"))
        prior = alpha * np.append(weights[self.dishes_], rest)
        blocks = (block / block.sum(axis=1, keepdims=True) for block in sample.topic_blocks(self.dishes_))
        self._topics = FixedTopics.of(blocks, _new_topic(franchise), prior, None, repeats_in(sample))


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


_OF_ALL = inspect.signature(TopicModel.__init__)
_OF_SPARSE = _OF_ALL.replace(
    parameters=[p for name, p in _OF_ALL.parameters.items() if name not in ("eta", "sparse", "known")]
)


class SparseTopicModel(TopicModel):
    """The sparse topic model of Wang & Blei (2009): `TopicModel` with ``sparse=True``.

    Each topic selects its own terms and is a distribution over these.

    Parameters
    ----------
    purpose : "reading" or "prediction"
        As in `TopicModel`.
    smoothing : float or prior, optional
        Dirichlet parameter of the terms that a topic selects. ``hk.Each(prior)``: one per topic. None: 0.1.
    selection : prior or float, optional
        Prior of the share of terms that a topic selects, or a fixed share. None: Beta(1, 1).
    concentration, root_concentration, n_components, bursty, sweeps, partial_sweeps, samples, chains
        As in `TopicModel`.
    schedule, init
        As in `TopicModel`.
    until, at_most
        As in `TopicModel`.
    store, root, text, transform_method, transform_tolerance, transform_sweeps, score_method
        As in `TopicModel`.
    random_state, n_jobs, progress
        As in `TopicModel`.
    """

    def __init__(self, **parameters: Any) -> None:
        _OF_SPARSE.bind(self, **parameters)  # raises a TypeError for any other
        super().__init__(sparse=True, **parameters)

    __init__.__signature__ = _OF_SPARSE  # type: ignore[attr-defined]  # scikit-learn reads its names
