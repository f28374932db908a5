"""Input of a topic model: counts of any kind, or texts."""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy
from joblib import effective_n_jobs
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_non_negative, validate_data

from hdpkit.checks import DAMAGED, check_unmasked, choice, fitting, flag, positive_number, whole_number
from hdpkit.data import Corpus
from hdpkit.data.matrices import check_whole
from hdpkit.errors import DataError, ParameterError
from hdpkit.formats.sparse_entries import sparse_entries
from hdpkit.io.text_options import TextOptions
from hdpkit.io.vectorizer import TextCounter
from hdpkit.models.topic_parts import default_moves
from hdpkit.priors import Each
from hdpkit.record.samples import Samples
from hdpkit.schedule import Scheduler

__all__ = ["TopicInput", "are_texts", "checked_counts", "counter_of", "seed_of", "whole_counts"]


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
        return TextCounter.from_data(text.as_data(), allow=_functions(text.options.tokenizer))
    if text is None or isinstance(text, TextOptions):
        return TextCounter(text)
    raise ParameterError(
        "text", text, "hdpkit.io.text_options.TextOptions, a TextCounter, or None",
        'text=TextOptions(stop_words="english", min_documents=2).',
    )  # fmt: skip


def _functions(tokenizer: Any) -> list[Any]:
    return [] if tokenizer is None else [tokenizer]


def checked_counts(model: Any, X: Any, *, reset: bool) -> Any:
    """Counts of documents by term as a CSR matrix of floats, by scikit-learn's rules.

    Parameters
    ----------
    model : estimator
        With `reset`, its ``n_features_in_`` and, from the columns of a data frame, ``feature_names_in_`` are
        set; otherwise they are compared.
    X : array-like, sparse matrix or data frame, shape (n_documents, n_terms)
    reset : bool

    Raises
    ------
    DataError
        With scikit-learn's message, for NaN, negative numbers, or another number of columns; also if a sparse
        matrix is inconsistent, or values are masked.
    """
    if scipy.sparse.issparse(X):
        X = sparse_entries("X", X).matrix()
    check_unmasked("X", X)
    try:
        if scipy.sparse.issparse(X) and X.nnz:  # before entries of one cell are added up
            check_non_negative(X, type(model).__name__)
        checked = validate_data(
            model, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32, np.int64, np.int32],
            accept_large_sparse=True,
        )  # fmt: skip
        check_non_negative(checked, type(model).__name__)
    except (ValueError, OverflowError, RecursionError) as error:
        raise DataError("X", f"<{type(X).__name__}>", "counts of documents by term", str(error)) from error
    counts = scipy.sparse.csr_array(checked)
    if not counts.has_canonical_format:
        counts = counts.copy()
        counts.sum_duplicates()
    return counts


def whole_counts(counts: Any) -> Any:
    """Counts in whole numbers.

    Parameters
    ----------
    counts : csr_array

    Returns
    -------
    csr_array of int64
        The same numbers or, if some are fractions, all rounded to the nearest integers.

    Raises
    ------
    DataError
        If the sum of the rounded numbers would be less than half of the given sum, or a number is too large.

    Warns
    -----
    DataConversionWarning
        If numbers were rounded.
    """
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


def seed_of(random_state: Any) -> Any:
    """The seed for a scheduler from scikit-learn's ``random_state``."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    return whole_number("random_state", random_state, remedy="A number, RandomState, Generator or None.")


class TopicInput:
    """Checks of parameters and input, for `TopicModel`, which derives from this class."""

    # Parameters of the constructor, and attributes that fit sets.
    sweeps: Any
    partial_sweeps: Any
    samples: Any
    chains: Any
    sparse: Any
    n_components: Any
    root_concentration: Any
    concentration: Any
    transform_method: Any
    transform_tolerance: Any
    transform_sweeps: Any
    score_method: Any
    schedule: Any
    n_jobs: Any
    text: Any
    n_features_in_: int
    terms_: tuple[str, ...] | None
    counter_: TextCounter | None

    def _check_parameters(self) -> None:
        """Raise a ParameterError for invalid parameters that aren't checked elsewhere."""
        for name in ("sweeps", "partial_sweeps", "chains"):
            whole_number(name, getattr(self, name), 1, remedy="Give a whole number.")
        if not isinstance(self.samples, Samples):
            whole_number("samples", self.samples, 0, remedy="0 keeps none.")
        flag("sparse", self.sparse)
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle's state; parameters added since get their defaults."""
        given = inspect.signature(type(self)).parameters.values()
        known = {one.name: one.default for one in given if one.default is not one.empty}
        with fitting(f"pickle of {type(self).__name__}", "the state of an estimator", remedy=DAMAGED):
            super().__setstate__({**known, **state})  # type: ignore[misc]

    def _scheduler(self, restaurant: Any) -> Scheduler:
        document, root = restaurant, restaurant.base
        concentrations = [document.concentration, root.concentration]
        moves = default_moves(root.base, concentrations) if self.schedule is None else self.schedule
        return Scheduler(moves, threads=effective_n_jobs(self.n_jobs) if self.chains == 1 else 1)

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
