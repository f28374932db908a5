"""`TopicModel`: the two-level hierarchical Dirichlet process as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from hdpkit.data import Corpus
from hdpkit.errors import DataError
from hdpkit.evaluation.fixed_topics import FixedTopics
from hdpkit.franchise import Franchise, Sample
from hdpkit.models import topic_saved
from hdpkit.models.topic_input import seed_of
from hdpkit.models.topic_parts import root_of, topic_measure, topic_restaurants
from hdpkit.models.topic_predictions import TopicPredictions, new_topic
from hdpkit.record import ChainTrace, Trace
from hdpkit.schedule import Scheduler
from hdpkit.summaries import Diagnosis, diagnose

__all__ = ["TopicModel"]

Floats = npt.NDArray[np.float64]


class TopicModel(ClassNamePrefixFeaturesOutMixin, TopicPredictions, BaseEstimator):
    """Topic model with an inferred number of topics: a scikit-learn estimator.

    Topics ~ Dirichlet(eta), G0 ~ DP(root_concentration, topics), a document's Gj ~ DP(concentration, G0). See
    docs/topic_model.md.

    Parameters
    ----------
    eta : float, array of shape (n_terms,), or prior
        Dirichlet parameter of topics over terms. A smaller value gives more and narrower topics.
    concentration, root_concentration : float or prior, optional
        A number is fixed, a prior is resampled. None: Gamma(1, 1).
    n_components : int, optional
        A finite model with this many topics of equal weight. None: the number is inferred.
    sparse : bool
        Each topic selects its own terms (Wang & Blei 2009); eta is not used then.
    smoothing, selection : optional
        Parameters of the sparse model: see `SparseDirichletMultinomial`. None: its defaults.
    sweeps : int
        Sweeps of `fit`.
    partial_sweeps : int
        Sweeps of each further `partial_fit`.
    samples : int or Samples
        Number of states of the second half of the sweeps that are kept for summaries and scores.
    chains : int
        Number of chains; each has its own process and random streams.
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
        How raw texts become counts.
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
        Whether the chains have converged.
    terms_ : tuple of str, or None
        Term of each column, if known from texts, a data frame or a corpus.
    counter_ : TextCounter, or None
        The counter for the texts of the first call.
    n_features_in_, feature_names_in_, n_iter_
        As in scikit-learn; ``n_iter_`` is the number of completed sweeps.
    """

    _last: Sample  # the state of which the attributes are
    _components: Floats | None

    def __init__(
        self,
        *,
        eta: Any = 0.05,
        concentration: Any = None,
        root_concentration: Any = None,
        n_components: Any = None,
        sparse: Any = False,
        smoothing: Any = None,
        selection: Any = None,
        sweeps: Any = 500,
        partial_sweeps: Any = 50,
        samples: Any = 20,
        chains: Any = 1,
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
        self.eta = eta
        self.concentration = concentration
        self.root_concentration = root_concentration
        self.n_components = n_components
        self.sparse = sparse
        self.smoothing = smoothing
        self.selection = selection
        self.sweeps = sweeps
        self.partial_sweeps = partial_sweeps
        self.samples = samples
        self.chains = chains
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

    # ------------------------------------------------------------------ fitting

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
        measure = topic_measure(self.eta, bool(self.sparse), self.smoothing, self.selection)
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
        trace = self._scheduler(restaurant).run(
            franchise,
            self.sweeps,
            rng=seed_of(self.random_state),
            init=self.init,
            samples=self.samples or None,
            chains=self.chains if self.chains > 1 else None,
            processes=effective_n_jobs(self.n_jobs),
            progress=self.progress,
        )
        self.counter_ = counter
        self.terms_ = corpus.vocabulary
        franchises = trace.franchises if isinstance(trace, ChainTrace) else [franchise]
        self._finish(franchises, trace)
        return self

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
            As for `fit`; the model doesn't change.
        """
        if not hasattr(self, "franchises_"):
            return self.fit(X)
        self._check_parameters()
        counts = self._counts(X, whole=True)
        scheduler = self._scheduler(self.franchise_.restaurant_declared)
        if not counts.data.any():
            grown = self.franchises_  # empty documents have no customers to seat
        else:
            more = Corpus.from_counts(counts, vocabulary=self.terms_)
            before: Any = self.franchise_.data
            corpus = before.plus(more)
            grown = [one.with_documents(corpus, _seed_of_chain(one)) for one in self.franchises_]
        progress = self.progress if len(grown) == 1 else None
        swept = Parallel(n_jobs=self.n_jobs)(
            delayed(_go_on)(scheduler, one, self.partial_sweeps, self.samples or None, progress)
            for one in grown
        )
        franchises = [franchise for franchise, _ in swept]
        traces = [trace for _, trace in swept]
        self._finish(franchises, ChainTrace(traces, None, franchises) if len(traces) > 1 else traces[0])
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit the model, and return ``transform(X)``. Parameters and errors as in `fit`.

        The proportions are those that new documents with these tokens would get; `franchise_.group_weights`
        has the posterior means of the documents in the model.
        """
        return self.fit(X, y, **fit_params).transform(X)

    # ------------------------------------------------------------------ folders

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model to a run folder, which contains no pickle.

        ``hdpkit topics``, ``hdpkit resume`` and `open_run` accept it as a run; `load` restores the model.

        Parameters
        ----------
        folder : path
            New or empty.

        Raises
        ------
        RunError
            If the folder isn't empty, or something can't be saved.
        """
        check_is_fitted(self)
        moves = self._scheduler(self.franchise_.restaurant_declared).moves
        topic_saved.save(self, folder, moves)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], allow: Iterable[Any] = ()) -> Self:
        """Load a model from a folder written by `save`.

        Parameters
        ----------
        folder : path
        allow : iterable of str, class or function
            Code of your own that may be imported: see `open_run`.

        Raises
        ------
        RunError
            If there is no topic model in the folder.
        CorruptRunError, RunVersionError
            If a file fails its checks.
        """
        kept = topic_saved.load(folder, allow)
        names = set(cls._get_param_names())
        model = cls(**{name: value for name, value in kept.parameters.items() if name in names})
        for name, value in kept.attributes.items():
            setattr(model, name, value)
        model._finish(kept.franchises, kept.trace)
        return model

    # ------------------------------------------------------------------ the parts

    @property
    def diagnosis_(self) -> Diagnosis:
        """Whether the chains have converged, as a sentence and a table: see `hdpkit.summaries.diagnose`."""
        if not hasattr(self, "trace_"):
            raise AttributeError("diagnosis_: fit the model first")
        return diagnose(self.trace_)

    @property
    def components_(self) -> Floats:
        """See the attributes. Computed at the first access: K x V numbers may not fit in memory."""
        if not hasattr(self, "_last"):
            raise AttributeError("components_: fit the model first")
        if self._components is None:
            topics = np.ascontiguousarray(self._last._topics_of(self.dishes_))
            topics /= topics.sum(axis=1, keepdims=True)
            self._components = topics
        return self._components

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _finish(self, franchises: list[Franchise], trace: Trace | ChainTrace) -> None:
        """Keep the fitted states, and set the attributes for predictions."""
        self.franchises_, self.trace_, self.samples_ = list(franchises), trace, tuple(trace.samples)
        self.franchise_ = franchise = self.franchises_[_best(trace)]
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
        blocks = (block / block.sum(axis=1, keepdims=True) for block in sample._topic_blocks(self.dishes_))
        self._topics = FixedTopics.of(blocks, new_topic(franchise), prior)


def _go_on(
    scheduler: Scheduler, franchise: Franchise, sweeps: int, samples: int | None, progress: Any
) -> tuple[Any, Any]:
    """Further sweeps of one chain, in this process or another."""
    return franchise, scheduler.run(franchise, sweeps, init=None, samples=samples, progress=progress)


def _seed_of_chain(franchise: Franchise) -> int:
    """A seed for seating new documents, different for each chain."""
    streams = franchise.streams
    assert streams is not None  # set, since it has been run
    return streams.seed + streams.chain


def _best(trace: Trace | ChainTrace) -> int:
    """Number of the chain whose mean log joint over the second half of its draws is the highest."""
    if not isinstance(trace, ChainTrace):
        return 0
    means = [np.mean(chain["log_joint"][chain.n_draws // 2 :]) for chain in trace.chains]
    return int(np.argmax(means))
