"""What the sections of a report show: topics in the order of the page, documents, traces, the verdict."""

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
from hdpkit.data.files.dates import date_keys
from hdpkit.errors import HdpkitError, importing_extra, printable
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.kinds.catalog import kind_of, kind_of_run
from hdpkit.kinds.kind import Kind, Nouns
from hdpkit.kinds.signatures.cohort import Cohort
from hdpkit.kinds.signatures.extraction import Signatures, extract_signatures
from hdpkit.posterior.aligned import AlignedTopics
from hdpkit.posterior.alignment import align_topics
from hdpkit.posterior.grouping import frequent_terms, jensen_shannon
from hdpkit.posterior.run_topics import GroupedTopics, RunTopics
from hdpkit.posterior.settled import settled_samples, states_of_run
from hdpkit.posterior.verdicts import diagnose
from hdpkit.run.chain_trace import ChainTrace
from hdpkit.run.runs import Run
from hdpkit.run.states import ChainState
from hdpkit.run.trace import Trace

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
    """The data of a run that the sections of its report use.

    Topics are in the order of their `numbers`, which are those of ``hdpkit topics`` and of exports.

    Attributes
    ----------
    state : ChainState
        The state that is shown.
    run_topics : RunTopics
        The topics that are numbered: those of the state, or those that the chains of a run agree on.
    place : int
        Place of the state in ``run_topics.places``.
    trace : Trace, ChainTrace or None
        The trace of the run.
    run : Run or None
        The run with its folder.
    chain : int or None
        Number of the chain of the state, if there are several.
    title : str
    command : str or None
        The command line that reproduces this run.
    by : str or None
        Length of the periods of shares over time.
    texts : tuple of str or None
        Beginnings of the documents.
    kept : dict
        Results of sections that others can use.
    most_topics, n_terms, n_documents : int
        How many topics, and terms and documents of each, are shown.
    """

    state: ChainState
    run_topics: RunTopics
    place: int
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
        for block in self.state.documents():
            labels = block.corpus.document_labels
            keys = {name: own[1] for name, own in labels.items()}
            found["names"] += block.corpus.names or range(block.first, block.first + block.corpus.n_documents)
            found["lengths"].append(block.corpus.document_lengths)
            found["counts"].append(scipy.sparse.csr_array(block.counts[:, self._order], dtype=np.int64))
            found["codes"].append({name: own[0] for name, own in labels.items() if name != "document"})
        names = found["codes"][0]
        return {
            "names": found["names"],
            "lengths": np.concatenate(found["lengths"]),
            "counts": scipy.sparse.csr_array(scipy.sparse.vstack(found["counts"], format="csr")),
            "labels": {n: (np.concatenate([own[n] for own in found["codes"]]), keys[n]) for n in names},
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
        if self.shown.n_groups != len(self.document_lengths):  # groups of the deepest level aren't documents
            return None
        return next((name for name, own in self.document_labels.items() if date_keys(own[1])), None)

    @cached_property
    def model(self) -> Kind:
        """The kind of model."""
        return kind_of(self.corpus) if self.run is None else kind_of_run(self.run)

    @property
    def is_text(self) -> bool:
        """Whether the page speaks of topics and documents, not of the words of another field."""
        return self.model.shown == "topics"

    @cached_property
    def nouns(self) -> Nouns:
        """What the page calls topics, tokens, documents and terms: of mutations their own words."""
        found = self.model.nouns
        return found if self.signatures is not None else attrs.evolve(found, topic=found.dish)

    @cached_property
    def signatures(self) -> tuple[Signatures, Cohort] | None:
        """Signatures of a cohort, and how they were found; None for other data, or a cohort in shards.

        A page of signatures shows these in place of the topics of one state.
        """
        if self.is_text or hasattr(self.corpus, "shards"):  # signatures need all samples at once
            return None
        if self.run is not None:
            kind: Any = self.model
            return kind.signatures(self.run), kind
        samples = () if self.trace is None else settled_samples(self.trace)
        samples = samples or [self.franchise.sample()]
        return extract_signatures(samples, self.corpus, declared=self.franchise.known), Cohort()

    @property
    def kind(self) -> str:
        """What the page shows: "topics" of a state, "signatures", or "components" of numbers."""
        return "topics" if self.signatures is None else "signatures"

    @property
    def n_customers(self) -> int:
        """Number of tokens."""
        return int(self.corpus.n_tokens)

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
    def _of_dishes(self) -> npt.NDArray[np.int64]:
        """Number of the topic of each dish of the state, from 1; dishes in no topic have the next numbers."""
        place = self.run_topics.places[self.place]
        if self.run_topics.merged_from is not None:  # dishes of the state are those topics already
            place = np.unique(place[place >= 0])
            place = np.append(place, np.full(self.shown.n_dishes - len(place), -1))
        numbers = place + 1
        others = np.flatnonzero(place < 0)
        ranks = np.argsort(np.argsort(-self.shown.sizes[others], kind="stable"), kind="stable")
        numbers[others] = self.run_topics.n_topics + 1 + ranks
        return np.asarray(numbers, dtype=np.int64)

    @cached_property
    def _order(self) -> npt.NDArray[np.int64]:
        sizes = np.asarray(self._all_counts.sum(axis=1))
        shown = sizes >= _SMALLEST * sizes.sum()
        shown[np.argmax(sizes)] = True
        order = np.argsort(self._of_dishes, kind="stable")
        return order[shown[order]][: self.most_topics]

    @cached_property
    def numbers(self) -> list[int]:
        """Number of each topic that is shown, ascending, from 1.

        Those above the number of topics that the chains agree on occur in the state of the page only.
        """
        return [int(number) for number in self._of_dishes[self._order]]

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
    def topic_counts(self) -> npt.NDArray[np.int64]:
        """Counts from which topics are computed, shape (K, V): tokens, or tables of terms that repeat."""
        tables = self.shown.tables
        return self.counts if tables is None else np.asarray(tables[self._order].toarray())

    @cached_property
    def topic_term_counts(self) -> npt.NDArray[np.int64]:
        """The same of each term in all topics, shape (V,)."""
        tables = self.shown.tables
        return self.term_counts if tables is None else np.asarray(tables.sum(axis=0))

    @cached_property
    def weights(self) -> npt.NDArray[np.float64]:
        """Posterior mean weights of terms in topics, shape (K, V), rows sum to one."""
        if self.shown.counts is not None:
            return self.shown.topics_of(self._order)
        return np.asarray(self.franchise.dish_parameters()[self._order], dtype=np.float64)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Tokens of each topic, shape (K,)."""
        return self.counts.sum(axis=1)

    @property
    def n_topics(self) -> int:
        """Topics that are shown."""
        return len(self.sizes)

    @property
    def agreed(self) -> bool:
        """Whether the numbered topics are those that chains agree on."""
        return self.run_topics.occurrence is not None

    @cached_property
    def shares_in_state(self) -> npt.NDArray[np.float64]:
        """Share of all tokens in each topic of the state, shape (K,)."""
        return self.sizes / max(int(self._all_counts.sum()), 1)

    @cached_property
    def shares(self) -> npt.NDArray[np.float64]:
        """The same; of topics that chains agree on that in all of them."""
        found = self.shares_in_state.copy()
        if self.agreed:
            numbers = np.array(self.numbers)
            numbered = numbers <= self.run_topics.n_topics
            found[numbered] = self.run_topics.shares[numbers[numbered] - 1]
        return found

    @cached_property
    def listed(self) -> list[dict[str, Any]]:
        """Number, label and share of the numbered topics, those that the state of the page lacks, too."""
        labels = dict(zip(self.numbers, self.labels, strict=True))
        shares = dict(zip(self.numbers, self.shares.tolist(), strict=True))
        if self.agreed:
            topics = self.run_topics
            for place in range(min(topics.n_topics, self.most_topics)):
                if place + 1 not in labels:
                    words = " · ".join(self.words[v] for v in topics.top_terms(place, 3).tolist())
                    labels[place + 1] = printable(topics.labels[place]) or words
                    shares[place + 1] = float(topics.shares[place])
        last = self.run_topics.n_topics if self.agreed else max(self.numbers)
        return [
            {"number": number, "label": labels[number], "share": shares[number]}
            for number in sorted(labels)
            if number <= last
        ]

    @cached_property
    def term_counts(self) -> npt.NDArray[np.int64]:
        """Tokens of each term, shape (V,)."""
        return np.asarray(self._all_counts.sum(axis=0))

    @cached_property
    def document_counts(self) -> scipy.sparse.csr_array:
        """Tokens of each topic in each document, shape (n_documents, K)."""
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

    @cached_property
    def groups(self) -> GroupedTopics | None:
        """The numbered topics in groups of similar ones; None for fewer than four, and for merged topics."""
        return self.run_topics.in_groups()

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

    @cached_property
    def group(self) -> npt.NDArray[np.int64]:
        """Group of each topic that is shown, from 0, shape (K,); zeros without groups.

        Topics without a number among those that chains agree on are in the nearest group.
        """
        if self.groups is None:
            return np.zeros(self.n_topics, dtype=np.int64)
        numbers = np.array(self.numbers)
        numbered = numbers <= self.run_topics.n_topics
        found = np.zeros(self.n_topics, dtype=np.int64)
        found[numbered] = self.groups.group[numbers[numbered] - 1]
        if not numbered.all():
            found[~numbered] = self.groups.nearest(self.weights[~numbered])
        return found

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The states kept after the burn-in, the newest states of other chains, and last the state shown."""
        found: list[Sample] = []
        if self.run is not None:
            found = states_of_run(self.run)[0]
        elif self.trace is not None:
            found = [*settled_samples(self.trace)]
        found = [one for one in found if self._is_of_the_data(one)]
        of = {(one.chain, one.sweep): one for one in found}
        of.pop((self.shown.chain, self.shown.sweep), None)
        return (*sorted(of.values(), key=lambda one: (one.chain, one.sweep)), self.shown)

    def _is_of_the_data(self, sample: Sample) -> bool:
        """Whether a sample is of the data shown; not if the trace is that of another run."""
        return sample.counts is not None and sample.counts.shape[1] == self.corpus.n_terms

    @cached_property
    def shown(self) -> Sample:
        """The state that is shown, as a sample."""
        return self.state.sample

    @cached_property
    def aligned(self) -> AlignedTopics | None:
        """The topics that samples have in common; None if there is only the state that is shown."""
        if self.run_topics.merged_from is not None:
            return self.run_topics.aligned
        if self.run_topics.everything is not None:
            return self.run_topics.everything
        return None if len(self.samples) < 2 else align_topics(self.samples)

    @cached_property
    def common(self) -> npt.NDArray[np.int64]:
        """For each topic its number among those that samples have in common, -1 for none: shape (K,)."""
        if self.aligned is None:
            return np.full(self.n_topics, -1, dtype=np.int64)
        if self.run_topics.merged_from is not None:
            assert self.run_topics.common is not None  # as there are aligned topics
            of = np.append(self.run_topics.common, -1)
            return np.asarray(of[np.minimum(self.numbers, len(of)) - 1], dtype=np.int64)
        return self.aligned.which(self.shown)[self._order]

    @cached_property
    def labels(self) -> list[str]:
        """The label that somebody gave to each topic, or its first terms."""
        return [
            self.given_labels[k] or " · ".join(self.words[v] for v in self.top_terms(k, 3))
            for k in range(self.n_topics)
        ]

    @cached_property
    def given_labels(self) -> list[str]:
        """Label that somebody gave to each topic, "" for none; without control characters."""
        labels = self.run_topics.labels
        return [printable(labels[n - 1]) if n <= len(labels) else "" for n in self.numbers]

    def top_terms(self, topic: int, n: int | None = None) -> list[int]:
        """The most frequent terms of a topic in descending order."""
        topic = whole_number("topic", topic, 0, self.n_topics - 1, remedy="Topics are numbered from 0.")
        most = self.n_terms if n is None else whole_number("n", n)
        row = self.topic_counts[topic]
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


def progress_of(report: ReportData) -> list[tuple[str, str]]:
    """The number of sweeps and, if there are several, of chains: the last tiles of every overview."""
    n = len(report.traces)
    return [("sweeps", f"{report.franchise.sweep:,}"), *([("chains", str(n))] if n > 1 else [])]


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
    """Both verdicts on a run as the page shows them, what helps, and a table of the numbers.

    If there can be no verdict, the sentence gives the reason.
    """
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
            corpus = report.corpus if hasattr(report.corpus, "n_documents") else None
            found = diagnose(report.trace, data=corpus, words=nouns)
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
