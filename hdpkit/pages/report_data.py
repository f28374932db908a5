"""What the sections of a report show: components in their order, documents, points, traces, the verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import whole_number
from hdpkit.data.files.tables import rows_of
from hdpkit.data.sharded import n_customers
from hdpkit.data.top_terms import largest
from hdpkit.errors import HdpkitError, ParameterError, importing_extra, printable
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.kinds.diagnosis import diagnose
from hdpkit.kinds.kind import Kind
from hdpkit.kinds.listing import Nouns
from hdpkit.pages.plots.components import Plane
from hdpkit.posterior.components import Components
from hdpkit.posterior.documents import PRESENT, dated_label, document_counts, of_documents
from hdpkit.posterior.grouping import ComponentGroups, frequent_terms, jensen_shannon
from hdpkit.run.runs import Run
from hdpkit.run.states import ChainState
from hdpkit.run.trace import ChainTrace, Trace, chains_in

_GROUP_TERMS = 6
_SMALLEST = 0.00005
"""Topics with a smaller share, which would be shown as 0.00 %, are only counted."""


def coordinates(apart: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Coordinates in the plane, shape (K, 2): classical scaling, improved by stress majorisation (SMACOF)."""
    n = len(apart)
    if n < 3:
        return np.array([[0.0, 0.0], [1.0, 0.0]])[:n]
    centring = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centring @ apart**2 @ centring)
    start = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-12))
    with importing_extra("scikit-learn", "report"):
        from sklearn.manifold import smacof
    places, _ = smacof(apart, n_components=2, init=start, n_init=1, max_iter=300, normalized_stress=False)
    # Signs and order of eigenvectors depend on the processor; the page should not.
    places = places * np.where(places[np.argmax(np.abs(places), axis=0), [0, 1]] < 0, -1.0, 1.0)
    return np.asarray(places)


@attrs.define(slots=False, kw_only=True)
class ReportData:
    """The data of a run that the sections of its report use; each asks for what its kind has.

    Topics are numbered as by ``hdpkit topics`` and exports.

    Attributes
    ----------
    state : ChainState
        The newest state of a chain, for hyperparameters.
    model : Kind
    components : Components
        The topics, or other components, that are shown.
    trace : Trace, ChainTrace or None
    run : Run or None
    chain : int or None
        Number of the chain of the state, if there are several.
    title : str
    command, by, texts, axes
        As for `write_report`.
    kept : dict
        Results of sections that others can use.
    most_topics, n_terms, n_documents : int
        How many topics, and terms and documents of each, are shown.
    """

    state: ChainState
    model: Kind
    components: Components
    trace: Trace | ChainTrace | None
    run: Run | None
    chain: int | None
    title: str
    command: str | None
    most_topics: int
    n_terms: int
    n_documents: int
    by: str | None = None
    texts: tuple[str, ...] | None = None
    axes: Any = None
    kept: dict[str, Any] = attrs.field(factory=dict, init=False)

    @property
    def franchise(self) -> Franchise:
        """The topics, weights and hyperparameters; over shards it has no documents."""
        return self.state.franchise

    @property
    def corpus(self) -> Any:
        """The corpus, perhaps in shards: its sizes, terms and names of labels."""
        return self.state.data

    @cached_property
    def _documents(self) -> dict[str, Any]:
        """Names, lengths, label codes and counts of all documents, read block by block."""
        found: dict[str, list[Any]] = {name: [] for name in ("names", "lengths", "counts", "codes")}
        keys: dict[str, Any] = {}
        for block in document_counts(self.components):
            keys = {name: own[1] for name, own in block.labels.items()}
            found["names"] += block.names
            found["lengths"].append(block.lengths)
            found["counts"].append(scipy.sparse.csr_array(block.counts[:, : self.n_topics]))
            found["codes"].append({name: own[0] for name, own in block.labels.items()})
        return {
            "names": found["names"],
            "lengths": np.concatenate(found["lengths"]),
            "counts": scipy.sparse.csr_array(scipy.sparse.vstack(found["counts"], format="csr")),
            "labels": {n: (np.concatenate([own[n] for own in found["codes"]]), keys[n]) for n in keys},
        }

    @property
    def document_lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each document, shape (n_documents,)."""
        lengths: npt.NDArray[np.int64] = self._documents["lengths"]
        return lengths

    @property
    def document_labels(self) -> dict[str, Any]:
        """Labels of the documents: name -> (codes, keys), codes of shape (n_documents,)."""
        labels: dict[str, Any] = self._documents["labels"]
        return labels

    @cached_property
    def dated(self) -> str | None:
        """The first label with dates, by which shares over time are shown; None if there is none."""
        return dated_label(self.components) if of_documents(self.components) else None

    @property
    def nouns(self) -> Nouns:
        """What the page calls topics, tokens, documents and terms: of mutations their own words."""
        return self.model.nouns

    @cached_property
    def signatures(self) -> tuple[Any, Any]:
        """Signatures of a cohort, and how they were found."""
        kind: Any = self.model
        if self.run is not None:
            return kind.signatures(self.run), kind
        return kind.extracted(self.samples, self.corpus, self.franchise.known), kind

    @property
    def n_customers(self) -> int:
        """Number of tokens, or of observations."""
        return n_customers(self.corpus)

    @cached_property
    def words(self) -> list[str]:
        """Word of each term, without control characters."""
        vocabulary = self.corpus.vocabulary
        if vocabulary is None:
            return [f"{self.nouns.term} {v}" for v in range(self.corpus.n_terms)]
        return [printable(word) for word in vocabulary]

    @property
    def named(self) -> bool:
        """Whether documents have names; otherwise they are numbered."""
        return not any(isinstance(name, int) for name in self._documents["names"][:1])

    @cached_property
    def names(self) -> list[str]:
        """Name of each document, without control characters."""
        noun = self.nouns.document.capitalize()
        return [
            f"{noun} {name + 1}" if isinstance(name, int) else printable(str(name))
            for name in self._documents["names"]
        ]

    @cached_property
    def n_topics(self) -> int:
        """Topics that are shown."""
        worth = int((self.components.shares >= _SMALLEST).sum())
        return min(max(worth, 1), self.most_topics, len(self.components))

    @property
    def numbers(self) -> list[int]:
        """Number of each topic that is shown, from 1."""
        return list(range(1, self.n_topics + 1))

    @cached_property
    def counts(self) -> npt.NDArray[np.float64]:
        """Tokens of each term in each topic, averaged over the states: shape (K, V)."""
        return np.asarray(self.components.term_means()[: self.n_topics].toarray(), dtype=np.float64)

    @cached_property
    def weights(self) -> npt.NDArray[np.float64]:
        """Posterior mean weights of terms in topics, shape (K, V), rows sum to one."""
        return self.components.rows_of(np.arange(self.n_topics))

    @cached_property
    def every_term(self) -> npt.NDArray[np.float64]:
        """Weights of the terms in all topics together, of which lifts are: shape (V,), with a sum of one."""
        counts = self.shown.topic_counts if self.shown.counts is not None else self.counts
        total = np.asarray(counts.sum(axis=0), dtype=np.float64)
        return total / max(total.sum(), 1.0)

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """Share of all tokens in each topic, shape (K,)."""
        return self.components.shares[: self.n_topics]

    @cached_property
    def present(self) -> npt.NDArray[np.float64]:
        """Share of the documents with tokens that have each topic with 5 % of theirs or more, shape (K,)."""
        there = np.asarray((self.document_shares >= PRESENT).sum(axis=0)).ravel()
        return np.asarray(there / max(int((self.document_lengths > 0).sum()), 1))

    @cached_property
    def listed(self) -> list[dict[str, Any]]:
        """Number, label and share of the topics."""
        return rows_of({"number": self.numbers, "label": self.labels, "share": self.shares.tolist()})

    @cached_property
    def term_counts(self) -> npt.NDArray[np.int64]:
        """Tokens of each term, shape (V,)."""
        return self.components.term_counts

    @cached_property
    def document_counts(self) -> scipy.sparse.csr_array:
        """Tokens of each topic in each document, averaged over the states: shape (n_documents, K)."""
        counts: scipy.sparse.csr_array = self._documents["counts"]
        return counts

    @cached_property
    def document_shares(self) -> scipy.sparse.csc_array:
        """Share of the tokens of each document in each topic, shape (n_documents, K)."""
        lengths = np.maximum(self.document_lengths, 1)
        counts = self.document_counts.tocoo()
        shape = counts.shape
        return scipy.sparse.csc_array(
            (counts.data / lengths[counts.row], (counts.row, counts.col)), shape=shape
        )

    # ------------------------------------------------------------------ comparisons of topics

    def apart(self, n: int) -> npt.NDArray[np.float64]:
        """Jensen-Shannon distances of the first n topics, shape (n, n)."""
        n = whole_number("n", n, 1, self.n_topics, remedy="At most the topics that are shown.")
        compared = frequent_terms(self.weights[:n], self.term_counts)
        return np.asarray(scipy.spatial.distance.squareform(jensen_shannon(compared)))

    @property
    def groups(self) -> ComponentGroups | None:
        """The topics in groups of similar ones; None for fewer than four, and for merged topics."""
        return self.components.usual_groups

    @cached_property
    def group_labels(self) -> list[str]:
        """Label that somebody gave to each group, "" for none; without control characters."""
        return [] if self.groups is None else [printable(label) for label in self.groups.labels]

    @cached_property
    def group_words(self) -> list[list[str]]:
        """The words of the most frequent terms of each group."""
        top = [] if self.groups is None else self.groups.top_terms(_GROUP_TERMS)
        return [[self.words[v] for v in terms] for terms in top]

    def group_names(self, n: int, between: str = " ") -> list[str]:
        """The label of each group, or its first n words; none without groups."""
        both = zip(self.group_labels, self.group_words, strict=True)
        return [label or between.join(words[:n]) for label, words in both]

    @property
    def group(self) -> npt.NDArray[np.int64]:
        """Group of each topic that is shown, from 0, shape (K,); zeros without groups."""
        none = np.zeros(self.n_topics, dtype=np.int64)
        return none if self.groups is None else self.groups.of[: self.n_topics]

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The states that are averaged over."""
        return self.components.samples

    @property
    def shown(self) -> Sample:
        """The newest state, as a sample."""
        return self.state.sample

    @cached_property
    def labels(self) -> list[str]:
        """The label that somebody gave to each topic, or its most typical terms."""
        both = zip(self.given_labels, self.components.typical_terms, strict=False)
        return [label or " · ".join(self.words[v] for v in terms) for label, terms in both]

    @cached_property
    def given_labels(self) -> list[str]:
        """Label that somebody gave to each topic, "" for none; without control characters."""
        return [printable(label) for label in self.components.labels[: self.n_topics]]

    def top_terms(self, topic: int, n: int | None = None) -> list[int]:
        """The most probable terms of a topic that have tokens in it, in descending order."""
        topic = whole_number("topic", topic, 0, self.n_topics - 1, remedy="Topics are numbered from 0.")
        most = self.n_terms if n is None else whole_number("n", n)
        top = largest(self.weights[topic], most).tolist()
        return [v for v in top if self.counts[topic, v] > 0.0]

    def rows(self, n: int) -> list[dict[str, Any]]:
        """Number, share with its interval, occurrence and number of chains of the first n components.

        Parameters
        ----------
        n : int
        """
        found = self.components
        columns = {
            "number": np.arange(1, len(found) + 1),
            "share": found.shares,
            "lower": found.shares_lower,
            "upper": found.shares_upper,
            "occurrence": found.occurrence,
            "chains": (found.occurrence_by_chain > 0).sum(axis=0),
            "unsettled": found.unsettled,
        }
        return rows_of({name: values[:n].tolist() for name, values in columns.items()})

    # ------------------------------------------------------------------ points

    @property
    def values(self) -> npt.NDArray[Any]:
        """The observations: shape (n,) or (n, D)."""
        return np.asarray(self.corpus.values)

    @property
    def partition(self) -> npt.NDArray[np.int64] | None:
        """Component of each point, shape (n,); None of sequences and documents."""
        return self.components.partition

    @cached_property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the dimensions, without control characters; None if they have none."""
        names = getattr(self.corpus, "columns", None) or getattr(self.corpus, "vocabulary", None)
        return None if names is None else tuple(printable(name) for name in names)

    @cached_property
    def parameters(self) -> dict[str, npt.NDArray[np.float64]]:
        """Name -> mean and ends of the interval of each component, shape (T, 3)."""
        return self.components.named_parameters(self.franchise.measure, self.columns)

    @cached_property
    def memberships(self) -> npt.NDArray[np.float64]:
        """Probability of each component for each observation and, last, of none: shape (n, T + 1)."""
        return self.components.memberships

    @cached_property
    def plane(self) -> Plane | None:
        """Where observations are drawn; None if they are no numbers."""
        if self.shown.counts is not None or self.values.dtype.kind not in "biuf" or self.values.ndim > 2:
            if self.axes is not None:
                raise ParameterError(
                    "axes", self.axes, f"None for {self.nouns.topics}, which are in no plane", "Leave it out."
                )
            return None
        axes = self.axes
        if axes is not None and self.columns is not None:
            axes = [printable(one) if isinstance(one, str) else one for one in axes]
        return Plane.of(self.values, axes, self.columns)

    @cached_property
    def state_sizes(self) -> list[tuple[int, float]]:
        """Numbers of components of the states, the most frequent first, with the share of the states."""
        counted = Counter(sample.n_dishes for sample in self.samples)
        ordered = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
        return [(k, n / len(self.samples)) for k, n in ordered]

    @property
    def traces(self) -> list[tuple[int, Trace]]:
        """The chains with at least one recorded sweep, with their numbers."""
        chains = {} if self.trace is None else chains_in(self.trace)
        return [(number, chain) for number, chain in chains.items() if chain.n_draws]


def distinct(names: Iterable[Any]) -> list[str]:
    """Names without control characters; those that occur more than once have their place, from 0, added."""
    shown = [printable(str(name)) for name in names]
    n = Counter(shown)
    return [name if n[name] == 1 else f"{name} ({i})" for i, name in enumerate(shown)]


_COLUMNS = ("Quantity", "Mean", "Standard deviation", "R-hat", "Effective draws", "Drift")
_NAMES = {
    "log_joint": "log probability of model and data",
    **{f"share_{i}": f"share of number {i}" for i in range(2, 10)},
}


def diagnosis_of(report: ReportData) -> dict[str, Any]:
    """Both verdicts on a run as the page shows them, what helps, and a table of the numbers."""
    if "verdict" not in report.kept:
        report.kept["verdict"] = _reached(report)
    verdict: dict[str, Any] = report.kept["verdict"]
    return verdict


def _reached(report: ReportData) -> dict[str, Any]:
    if not report.traces:
        return _unknown("Convergence is unknown: this state has no trace.")
    nouns = report.nouns
    try:
        if report.run is None:
            found = diagnose(report.trace, data=report.model.diagnosed(report.corpus), words=nouns)
        else:
            found = diagnose(report.run, words=nouns, commands=True)
    except HdpkitError as error:
        return _unknown(f"Convergence could not be judged. {error.remedy}")
    names = {**_NAMES, "n_dishes": nouns.dishes, "share_1": f"share of the largest {nouns.dish}"}
    rows = tuple(
        (names.get(key, key), *map(_shown, (one.mean, one.sd, one.rhat, one.ess, one.drift)))
        for key, one in found.numbers.items()
    )
    shown = [{"question": question, **one.as_data()} for question, one in found.verdicts]
    return {"verdicts": shown, "advice": found.advice, "columns": _COLUMNS if rows else (), "rows": rows}


def _unknown(why: str) -> dict[str, Any]:
    """What is shown where there is no verdict."""
    one = {"question": "Can it be read?", "light": "grey", "sentence": why, "figures": {}}
    return {"verdicts": [one], "advice": "", "columns": (), "rows": ()}


def _shown(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.4g}"
