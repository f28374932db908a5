"""The data of a run for the sections: topics in the order of the page, documents, traces."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import whole_number
from hdpkit.data import Corpus
from hdpkit.errors import printable
from hdpkit.franchise import Franchise, Sample
from hdpkit.record import ChainTrace, Trace
from hdpkit.report.layout import distances, frequent, number_of_groups
from hdpkit.schedule import Run
from hdpkit.signatures.nouns import Nouns, nouns_of
from hdpkit.summaries import AlignedTopics, TopicGroups, align_topics, group_topics
from hdpkit.summaries.states import settled_samples, states_of_run

__all__ = ["Material", "rounded"]

_CHUNK = 1 << 22


@attrs.define(slots=False, kw_only=True)
class Material:
    """The data of a run that the sections of its report use.

    Topics are numbered from 0 in descending order of their tokens; the page shows these numbers plus one.

    Attributes
    ----------
    franchise : Franchise
        The state that is shown.
    trace : Trace, ChainTrace or None
        The trace of the run.
    run : Run or None
        The run with its folder.
    chain : int or None
        Number of the chain of the state, if there are several.
    title : str
    command : str or None
        The command line that reproduces this run.
    kept : dict
        Results of sections that others can use.
    most_topics, n_terms, n_documents : int
        How many topics, and terms and documents of each, are shown.
    """

    franchise: Franchise
    trace: Trace | ChainTrace | None
    run: Run | None
    chain: int | None
    title: str
    command: str | None
    most_topics: int
    n_terms: int
    n_documents: int
    kept: dict[str, Any] = attrs.field(factory=dict, init=False)

    @property
    def corpus(self) -> Corpus:
        """The data."""
        return self.franchise.data  # type: ignore[return-value]

    @cached_property
    def nouns(self) -> Nouns:
        """What topics, tokens, documents and terms are called: of mutations their own words."""
        return nouns_of(self.corpus, None if self.run is None else self.run.folder)

    @cached_property
    def words(self) -> list[str]:
        """Word of each term, without control characters."""
        vocabulary = self.corpus.vocabulary
        if vocabulary is None:
            return [f"{self.nouns.term} {v}" for v in range(self.corpus.n_terms)]
        return [printable(word) for word in vocabulary]

    @cached_property
    def names(self) -> list[str]:
        """Name of each document, without control characters."""
        names = self.corpus.names
        if names is None:
            return [f"{self.nouns.document.capitalize()} {d + 1}" for d in range(self.corpus.n_documents)]
        return [printable(str(name)) for name in names]

    @cached_property
    def _order(self) -> npt.NDArray[np.int64]:
        return np.argsort(-np.asarray(self._all_counts.sum(axis=1)), kind="stable")[: self.most_topics]

    @cached_property
    def _all_counts(self) -> scipy.sparse.csr_array:
        """Tokens of each term in every topic, sparse."""
        counts = self.shown.counts
        return scipy.sparse.csr_array(self.franchise.dish_counts) if counts is None else counts

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """Tokens of each term in each topic, shape (K, V)."""
        return np.asarray(self._all_counts[self._order].toarray())

    @cached_property
    def weights(self) -> npt.NDArray[np.float64]:
        """Posterior mean weights of terms in topics, shape (K, V), rows sum to one."""
        if self.shown.counts is not None:
            return self.shown._topics_of(self._order)
        return np.asarray(self.franchise.dish_parameters()[self._order], dtype=np.float64)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Tokens of each topic, shape (K,)."""
        return self.counts.sum(axis=1)

    @property
    def n_topics(self) -> int:
        """Topics that are shown."""
        return len(self.sizes)

    @cached_property
    def shares(self) -> npt.NDArray[np.float64]:
        """Share of all tokens in each topic, shape (K,)."""
        return self.sizes / max(int(self._all_counts.sum()), 1)

    @cached_property
    def term_counts(self) -> npt.NDArray[np.int64]:
        """Tokens of each term, shape (V,)."""
        return np.asarray(self._all_counts.sum(axis=0))

    @cached_property
    def document_counts(self) -> scipy.sparse.csr_array:
        """Tokens of each topic in each document, shape (n_documents, K)."""
        held = self.franchise.sample()
        if held.label == "document" and held.n_groups == self.corpus.n_documents:
            return scipy.sparse.csr_array(held.group_counts[:, self._order], dtype=np.int64)
        rank = np.full(self._all_counts.shape[0] + 1, -1, dtype=np.int64)  # the last is for -1, the unseated
        rank[self._order] = np.arange(len(self._order))
        dishes, shape = self.franchise.dishes, (self.corpus.n_documents, self.n_topics)
        total = scipy.sparse.csr_array(shape, dtype=np.int64)
        for first in range(0, len(dishes), _CHUNK):
            last = min(first + _CHUNK, len(dishes))
            topic = rank[dishes[first:last]]
            document = self.corpus.codes_between("document", first, last)
            there = topic >= 0
            ones = np.ones(int(there.sum()), dtype=np.int64)
            total = total + scipy.sparse.csr_array((ones, (document[there], topic[there])), shape=shape)
        return total

    @cached_property
    def document_shares(self) -> scipy.sparse.csc_array:
        """Share of the tokens of each document in each topic, shape (n_documents, K)."""
        lengths = np.maximum(self.corpus.document_lengths, 1)
        counts = self.document_counts.tocoo()
        shape = counts.shape
        return scipy.sparse.csc_array(
            (counts.data / lengths[counts.row], (counts.row, counts.col)), shape=shape
        )

    # ------------------------------------------------------------------ comparisons of topics

    @cached_property
    def _frequent(self) -> npt.NDArray[np.float64]:
        return frequent(self.weights, self.term_counts)

    @cached_property
    def apart(self) -> npt.NDArray[np.float64]:
        """Jensen-Shannon distances of the topics, shape (K, K)."""
        return distances(self._frequent)

    @cached_property
    def groups(self) -> TopicGroups:
        """The topics in groups, by Ward's method: `TopicGroups.cut` returns the group of each."""
        n_groups = number_of_groups(self.n_topics)
        return group_topics(self._frequent, self.sizes, n_groups)

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The states kept after the burn-in, the newest states of other chains, and last the state shown."""
        found: list[Sample] = []
        if self.run is not None:
            found = states_of_run(self.run)[0]
        elif self.trace is not None:
            found = [*settled_samples(self.trace)]
        # Samples with other terms are not of this state: the trace is that of another run.
        width = self.corpus.n_terms
        found = [one for one in found if one.counts is not None and one.counts.shape[1] == width]
        of = {(one.chain, one.sweep): one for one in found}
        of.pop((self.shown.chain, self.shown.sweep), None)
        return (*sorted(of.values(), key=lambda one: (one.chain, one.sweep)), self.shown)

    @cached_property
    def shown(self) -> Sample:
        """The state that is shown, as a sample."""
        return self.franchise.sample()

    @cached_property
    def aligned(self) -> AlignedTopics | None:
        """The topics that samples have in common; None if there is only the state that is shown."""
        return None if len(self.samples) < 2 else align_topics(self.samples)

    @cached_property
    def common(self) -> npt.NDArray[np.int64]:
        """For each topic its number among those that samples have in common, -1 for none: shape (K,)."""
        if self.aligned is None:
            return np.full(self.n_topics, -1, dtype=np.int64)
        return self.aligned.which(self.shown)[self._order]

    @cached_property
    def labels(self) -> list[str]:
        """A few words that name each topic."""
        return [" · ".join(self.words[v] for v in self.top_terms(k, 3)) for k in range(self.n_topics)]

    def top_terms(self, topic: int, n: int | None = None) -> list[int]:
        """The most frequent terms of a topic in descending order."""
        topic = whole_number("topic", topic, 0, self.n_topics - 1, remedy="Topics are numbered from 0.")
        most = self.n_terms if n is None else whole_number("n", n)
        row = self.counts[topic]
        order = np.argsort(-row, kind="stable")[:most]
        return [int(v) for v in order if row[v] > 0]

    @property
    def traces(self) -> list[tuple[int, Trace]]:
        """The chains with at least one recorded sweep, with their numbers."""
        if self.trace is None:
            return []
        if isinstance(self.trace, ChainTrace):
            chains = list(zip(self.trace.numbers, self.trace.chains, strict=True))
        else:
            chains = [(0, self.trace)]
        return [(number, chain) for number, chain in chains if chain.n_draws]


def rounded(values: Any, digits: int = 4) -> Any:
    """Numbers rounded to this many significant digits, as a list for JSON; NaN and infinity become None."""
    array = np.asarray(values, dtype=np.float64)
    found = [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in array.ravel()]
    return np.array(found, dtype=object).reshape(array.shape).tolist()
