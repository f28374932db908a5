"""Components of one to n samples of one to n chains: topics, states, clusters, signatures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import (
    LARGEST,
    check_unmasked,
    choice,
    flag,
    instance,
    items,
    real_number,
    whole_number,
    whole_numbers,
)
from hdpkit.data import Corpus
from hdpkit.data.files.dates import date_keys, periods_of
from hdpkit.data.matrices import check_whole, sparse_entries
from hdpkit.data.top_terms import largest
from hdpkit.errors import DataError, ParameterError, StateError
from hdpkit.franchise.sample import Sample, rows_at_once
from hdpkit.measures.by_restaurant import Repeats
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.posterior.alignment import (
    DEFAULT_THRESHOLDS,
    Distance,
    assigned,
    distance_of,
    matched,
    vectors_of,
)
from hdpkit.posterior.evaluation.completion import TOLERANCE, completion_perplexity
from hdpkit.posterior.evaluation.fixed_topics import FixedTopics, completion, repeats_in
from hdpkit.posterior.given import samples_of
from hdpkit.posterior.grouping import ComponentGroups, grouped
from hdpkit.posterior.intervals import central, central_of_terms, checked_level, holding, topic_interval
from hdpkit.posterior.merging import SIMILAR, clusters, merged_sample, observed
from hdpkit.posterior.partitions import point_partition
from hdpkit.posterior.point_groups import PointGroups, point_groups
from hdpkit.posterior.settled import sweeps_text
from hdpkit.posterior.topic_labels import LabelRow, heaviest_terms, labels_for
from hdpkit.posterior.trends import Trends, shares_in
from hdpkit.posterior.vectors import MIN_COSINE, ComponentSet, MemberVectors, TermVectors, Vectors
from hdpkit.random import Purpose, as_source
from hdpkit.run.states import ChainState
from hdpkit.run.tables import data_frame

_AT_ONCE = 1 << 24  # shares of groups that are in memory at once
_DRAWS = 400  # of the shares of each group, for intervals
_DRAWS_OF_A_STATE = 5  # at least
_SEED = 0
_TABLES = ("topics", "parameters", "shares", "weights", "transitions", "trace")
_NOBODY = -1
_BLOCK = 1 << 14  # documents of which there are shares at once, at most
_SHARES = 1 << 22  # shares of documents that are in memory at once
_NAMED_BY = 3  # words
_FEWEST = 4  # components that are grouped
_VALUES = 1000  # of a label by which shares are written, at most
PRESENT = 0.05
"""A component counts as present in a document if it has at least this share of the document's tokens."""
_MANY = 2_000  # points, of whose partition two searches are enough: the first begins from the best sample


@attrs.frozen(eq=False, slots=False, kw_only=True)
class Origin:
    """What components are of beside samples: data, newest states of a run, labels that people gave."""

    data: Any = None
    states: tuple[ChainState, ...] = ()
    label_rows: tuple[LabelRow, ...] = ()
    folder: Path | None = None
    digest: str | None = None  # of the data, so that customers of other data aren't compared
    merged_from: int | None = None  # number of components before similar ones were merged on request


@attrs.frozen(eq=False)
class DocumentShares:
    """Shares of the components in consecutive documents."""

    names: Sequence[Any]  # or numbers
    lengths: Int64s  # in tokens
    shares: Floats  # posterior means (n, T + 1), the rest in the last column; rows sum to one


@attrs.frozen(eq=False)
class DocumentCounts:
    """Tokens of the components in consecutive documents, averaged over the samples."""

    names: Sequence[Any]  # or numbers
    lengths: Int64s  # in tokens
    labels: dict[str, tuple[Int64s, Sequence[Any]]]  # such as dates and groups: codes and keys
    counts: Any  # csr_array (n, T)


class Components:
    """Components that samples have in common: topics, states, clusters. See `components`, which makes them.

    Component j is the same in every sample and chain. They are in descending order of their shares.
    Everything else in a sample is its *rest*: dishes that too few samples have, and new dishes. Components
    over terms are also a model: they, the rest as one more, their weights in a new group, and the
    concentration, all of them posterior means (`fold_in`, `perplexity`).

    Attributes
    ----------
    samples : tuple of Sample
    level : float
        Probability of the intervals: ``X_lower`` and ``X_upper`` are quantiles of X over the samples and, for
        ``rows``, parameters and ``group_shares``, over draws of them given each sample. An end beyond which
        the mean lies, as it can for a long tail, is moved to the mean.
    shares, shares_lower, shares_upper : float64 arrays, shape (T,)
        Share of the customers in each topic: mean and interval over all samples; 0 in samples without the
        topic.
    occurrence : float64 array, shape (T,)
        Share of the samples that have each topic.
    occurrence_by_chain : float64 array, shape (n_chains, T)
        The same in each chain; rows in the order of ``chain_numbers``.
    chain_numbers : tuple of int
    shares_by_sample : float64 array, shape (n_samples, T + 1)
        Share of each topic in each sample; the last column is the rest. This is a trace of the topics.
    ids_by_sample : int64 array, shape (n_samples, T)
        Permanent id of the dish that is the topic in each sample; -1 if there is none.
    spread : float64 array, shape (T,)
        Mean distance of a topic's dishes from their mean, as `components` compared them.
    label, names
        What the groups are, and their names, as in the samples.
    partition : int64 array, shape (n_customers,), or None
        Component of each point, if components are the clusters of a partition of the points.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        labels: Sequence[Int64s],
        vectors: Vectors,
        level: float,
        partition: Int64s | None = None,
        *,
        before: Sequence[tuple[Sample, Int64s]] = (),
        **of: Any,
    ) -> None:
        self.samples = tuple(samples)
        self.partition = partition
        self._of = Origin(**of)
        self.level = level
        self._vectors = vectors
        n = int(max((one.max(initial=_NOBODY) for one in labels), default=_NOBODY)) + 1
        shares = np.zeros((len(self.samples), n))
        for row, sample, own in zip(shares, self.samples, labels, strict=True):
            row[own[own >= 0]] = sample.shares()[own >= 0]
        order = np.argsort(-shares.mean(axis=0), kind="stable")
        rank = np.append(np.argsort(order, kind="stable"), _NOBODY)  # the last is that of -1
        self._of_dishes = [rank[one] for one in labels]
        # Samples before similar dishes were one, with the component of each dish.
        self._before = [(sample, rank[one]) for sample, one in before]
        shares = shares[:, order]
        # Rounding mustn't give a negative rest, which would be shown as -0.0 %.
        self.shares_by_sample = np.column_stack([shares, np.maximum(1.0 - shares.sum(axis=1), 0.0)])
        self.ids_by_sample = np.full((len(self.samples), n), _NOBODY, dtype=np.int64)
        for ids, sample, own in zip(self.ids_by_sample, self.samples, self._of_dishes, strict=True):
            ids[own[own >= 0]] = sample.ids[own >= 0]
        there = self.ids_by_sample >= 0
        self.chain_numbers = tuple(dict.fromkeys(sample.chain for sample in self.samples))
        of_chain = np.array([sample.chain for sample in self.samples])
        self.occurrence: Floats = there.mean(axis=0)
        self.occurrence_by_chain: Floats = np.array(
            [there[of_chain == c].mean(axis=0) for c in self.chain_numbers]
        )
        self.shares: Floats = shares.mean(axis=0)
        self.shares_lower, self.shares_upper = holding(central(shares, level), self.shares)
        self.label, self.names = self.samples[0].label, self.samples[0].names
        for array in (self.shares_by_sample, self.ids_by_sample, self.shares, self.occurrence):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.shares)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self)} of {len(self.samples)} samples ({self.sweeps}), "
            f"{len(self.chain_numbers)} chains, {self.rest:.1%} of the data in none>"
        )

    @property
    def has_groups(self) -> bool:
        """Whether customers are in groups, which have weights of their own."""
        return bool(self.samples[0].levels)

    def places(self, keys: Sequence[Any]) -> Int64s:
        """Numbers of groups by their names; -1 for others.

        Parameters
        ----------
        keys : sequence
        """
        place = {name: i for i, name in enumerate(self.names)}
        return np.array([place.get(key, -1) for key in keys], dtype=np.int64)

    @property
    def sweeps(self) -> str:
        """The sweeps of the samples in words: "sweeps 310 to 600"."""
        return sweeps_text(self.samples)

    @property
    def rest(self) -> float:
        """Mean share of the customers that are in no topic."""
        return float(self.shares_by_sample[:, -1].mean())

    # ------------------------------------------------------------------ who is who

    def which(self, sample: Sample) -> Int64s:
        """Topic of each dish of a sample: int64, shape (K,); -1 for a dish in no topic.

        Parameters
        ----------
        sample : Sample
            One of the aligned samples (or an equal sample of the same chain and sweep).

        Returns
        -------
        int64 array, shape (K,)

        Raises
        ------
        ParameterError
            If the sample was not aligned.
        """
        instance("sample", sample, Sample, "one of the samples", remedy="See Components.samples.")
        # Samples of several runs can have the same chain, sweep and ids, so the sample itself goes first.
        pairs = [*zip(self.samples, self._of_dishes, strict=True), *self._before]
        found = [labels for one, labels in pairs if one is sample] or [
            labels
            for one, labels in pairs
            if (one.chain, one.sweep) == (sample.chain, sample.sweep) and np.array_equal(one.ids, sample.ids)
        ]
        if not found:
            raise ParameterError(
                "sample", sample, "one of the samples that were aligned",
                "Give it to components, too.",
            )  # fmt: skip
        return found[0].copy()

    def _members(self) -> tuple[Any, Int64s]:
        """Rows of all dishes that are in a topic, ordered by topic, and the topic of each."""
        rows = self._vectors.stack([self._vectors.rows(sample) for sample in self.samples])
        labels = np.concatenate(self._of_dishes)
        order = np.argsort(labels, kind="stable")
        order = order[labels[order] >= 0]
        return self._vectors.take(rows, order), labels[order]

    @cached_property
    def _means(self) -> Any:
        rows, labels = self._members()
        return self._vectors.means(rows, labels, len(self))

    def _chain_means(self, chain: int, topics: Int64s) -> Any:
        """Means of some topics over the samples of one chain, which has them: rows of its `Vectors`."""
        of_chain = [(i, sample) for i, sample in enumerate(self.samples) if sample.chain == chain]
        place = np.full(len(self) + 1, _NOBODY, dtype=np.int64)
        place[topics] = np.arange(len(topics))
        labels = np.concatenate([place[self._of_dishes[i]] for i, _ in of_chain])
        rows = self._vectors.stack([self._vectors.rows(sample) for _, sample in of_chain])
        wanted = np.flatnonzero(labels >= 0)
        return self._vectors.means(self._vectors.take(rows, wanted), labels[wanted], len(topics))

    @cached_property
    def spread(self) -> Floats:
        """Mean distance of a topic's dishes from their mean."""
        rows, labels = self._members()
        apart = self._vectors.paired(rows, self._vectors.take(self._means, labels))
        return np.bincount(labels, weights=apart, minlength=len(self)) / np.bincount(
            labels, minlength=len(self)
        )

    # ------------------------------------------------------------------ what the topics are

    @cached_property
    def rows(self) -> Floats:
        """Mean of each topic over the samples that have it: float64, shape (T, n_terms); rows sum to one.

        For data other than terms, the mean of the parameters, shape (T, ...).
        """
        return self.rows_of(np.arange(len(self)))

    def rows_of(self, which: Int64s) -> Floats:
        """Rows of `topics` for some topics: all of them may not fit in memory."""
        return self._vectors.dense(self._vectors.take(self._means, which))

    @cached_property
    def _row_ends(self) -> tuple[Floats, Floats]:
        lower, upper = np.empty_like(self.rows), np.empty_like(self.rows)
        for topic in range(len(self)):
            lower[topic], upper[topic] = self.ends_of(topic)
        return lower, upper

    def ends_of(self, topic: int) -> tuple[Floats, Floats]:
        """Rows of `rows_lower` and `rows_upper` for one topic."""
        return holding(self._quantiles_of(topic), self.rows_of(np.array([topic]))[0])

    def _quantiles_of(self, topic: int) -> tuple[Floats, Floats]:
        members, begins = self._dishes
        first, last = begins[topic : topic + 2].tolist()
        of_topic = [(self.samples[i], k) for i, k in members[first:last].tolist()]
        if self.samples[0].counts is not None:
            ends = topic_interval(of_topic, topic, self.level, _DRAWS)
            if ends is not None:
                return ends
        drawn = self._drawn_parameters(topic)
        if drawn is not None:
            return central(drawn, self.level)
        here = self._vectors.take(self._member_rows, np.arange(first, last))
        if isinstance(self._vectors, TermVectors):
            return central_of_terms(here, self._vectors.shape, self.level)
        return central(self._vectors.dense(here), self.level)

    def _drawn_parameters(self, topic: int) -> Floats | None:
        """Draws of the parameters of a topic, as many from each sample that has it: shape (n, ...).

        None if one of these samples has none.
        """
        members, begins = self._dishes
        first, last = begins[topic : topic + 2].tolist()
        found = []
        for i, k in members[first:last].tolist():
            drawn = self.samples[i].parameters.get("drawn")
            if drawn is None:
                return None
            found.append(drawn[k])
        each = min(len(drawn) for drawn in found)
        return np.concatenate([drawn[:each] for drawn in found])

    @cached_property
    def _dishes(self) -> tuple[Int64s, Int64s]:
        """Sample and dish of each row of `_members`, and the first row of each topic, and the end."""
        labels = np.concatenate(self._of_dishes)
        order = np.argsort(labels, kind="stable")
        order = order[labels[order] >= 0]
        sizes = [len(one) for one in self._of_dishes]
        sample = np.repeat(np.arange(len(sizes)), sizes)
        dish = np.concatenate([np.arange(n) for n in sizes])
        begins = np.searchsorted(labels[order], np.arange(len(self) + 1))
        return np.column_stack([sample, dish])[order], begins

    @cached_property
    def _member_rows(self) -> Any:
        return self._members()[0]

    @property
    def rows_lower(self) -> Floats:
        """Lower ends of the intervals of `topics`: shape (T, n_terms).

        They are quantiles over draws of the topic from its posterior (`Sample.draw_topics`): the same number
        for each sample that has it, and at least 400 in total. So they include the variation within a state
        and between states. For data other than terms the draws are those that the samples have,
        ``Sample.parameters["drawn"]``. If a sample has only the means of its components, the ends are
        quantiles of these means. The seeds of the draws are fixed. Computed once.
        """
        return self._row_ends[0]

    @property
    def rows_upper(self) -> Floats:
        """Upper ends of the intervals of `topics`: shape (T, n_terms)."""
        return self._row_ends[1]

    # ------------------------------------------------------------------ terms, and names of components

    @property
    def data(self) -> Any:
        """The data of the run; None if only samples were given."""
        return self._of.data

    @property
    def states(self) -> tuple[ChainState, ...]:
        """The newest states of the chains of a run; empty if only samples were given."""
        return self._of.states

    @property
    def merged_from(self) -> int | None:
        """Number of components before they were `merged`; None if they weren't."""
        return self._of.merged_from

    def of_run(self, data: Any, states: Sequence[ChainState]) -> Components:
        """These components with what is known of the run of the samples.

        Parameters
        ----------
        data : Corpus, Groups or Sequences
        states : sequence of ChainState
            The newest state of each chain.
        """
        self._of = attrs.evolve(self._of, data=data, states=tuple(states))
        return self

    def term_means(self) -> Any:
        """Tokens of each term in each component, averaged over the samples: csr_array, shape (T, n_terms)."""
        pairs = zip(self.samples, self._of_dishes, strict=True)
        total = sum(_chooser(own, len(self)).T @ sample.counts for sample, own in pairs)
        return scipy.sparse.csr_array(total) / len(self.samples)

    @property
    def source(self) -> str:
        """Where the components are from, in words."""
        n, chains = len(self.samples), len(self.chain_numbers)
        of = f"{chains} chains" if chains > 1 else f"chain {self.chain_numbers[0]}"
        told = f"{n} {'sample' if n == 1 else 'samples'} of {of} ({self.sweeps})"
        if self.merged_from is None:
            return told
        return f"a cut of the tree of the {self.merged_from} components of {told}: similar ones are merged"

    @property
    def n_terms(self) -> int:
        """Number of terms; a StateError if the data are no terms."""
        counts = self.samples[0].counts
        if counts is None:
            raise StateError("components", "of numbers", "of data that are terms", "See named_parameters.")
        return int(counts.shape[1])

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """The `rows` in order, some at a time, with the number of the first of them."""
        step = rows_at_once(self.n_terms)
        for first in range(0, len(self), step):
            yield first, self.rows_of(np.arange(first, min(first + step, len(self))))

    def top_terms(self, n_terms: int) -> Iterator[tuple[int, Int64s, Floats]]:
        """Number of each component, its most probable terms in descending order, and their probabilities.

        Parameters
        ----------
        n_terms : int
            All terms if there are fewer; ties go to the lower number.
        """
        for first, rows in self.blocks():
            for component, row in enumerate(rows, start=first):
                terms = largest(row, n_terms)
                yield component, terms, row[terms]

    def words(self, terms: Iterable[Any]) -> list[Any]:
        """The words of terms, or their numbers if the data have no vocabulary.

        Parameters
        ----------
        terms : iterable of int
        """
        vocabulary = getattr(self.data, "vocabulary", None)
        return [int(v) if vocabulary is None else vocabulary[int(v)] for v in terms]

    def heaviest(self) -> tuple[Int64s, Floats]:
        """The heaviest terms of each component, by which labels find their components, and their weights."""
        return heaviest_terms([rows for _, rows in self.blocks()])

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Label that somebody gave to each component (`hdpkit labels`), "" for none."""
        if self._of.folder is None or not self._of.label_rows:
            return ("",) * len(self)
        # Groups of components can only be components if these were merged.
        rows = [row for row in self._of.label_rows if self.merged_from is not None or row.topic is not None]
        return labels_for(self._of.folder, rows, *self.heaviest(), self.n_terms)

    @cached_property
    def titles(self) -> list[str]:
        """The label of each component, or else its first three words."""
        both = zip(self.labels, self.top_terms(_NAMED_BY), strict=True)
        return [label or " ".join(map(str, self.words(terms))) for label, (_, terms, _) in both]

    @cached_property
    def parameters(self) -> dict[str, Floats]:
        """`named_parameters` under the measure of a run over numbers or sequences."""
        columns = getattr(self.data, "columns", None) or getattr(self.data, "vocabulary", None)
        return self.named_parameters(self.states[0].franchise.measure, columns)

    # ------------------------------------------------------------------ groups of similar components

    def groups(self, n_groups: int | None = None) -> ComponentGroups:
        """Components in groups of similar ones, so that hundreds can be read as about twenty.

        Parameters
        ----------
        n_groups : int, optional
            Number of groups; by default about one for three components, 2 to 20.

        Returns
        -------
        ComponentGroups
        """
        return grouped(self, n_groups)

    def about(self, n: int | None) -> Components:
        """About so many components: similar ones are `merged` by a cut of the tree of `groups`.

        Parameters
        ----------
        n : int, optional
            None, or as many as there are: these components.
        """
        if n is not None:
            _ = self.n_terms  # a StateError if the data are no terms
        return self if n is None or n >= len(self) else self.merged(self.groups(n).of)

    @cached_property
    def usual_groups(self) -> ComponentGroups | None:
        """`groups` as tables and pages show them; None for fewer than four components, or merged ones."""
        return None if len(self) < _FEWEST or self.merged_from is not None else self.groups()

    @cached_property
    def term_counts(self) -> Int64s:
        """Tokens of each term in the data: int64, shape (n_terms,)."""
        return np.asarray(self.samples[0].counts.sum(axis=0), dtype=np.int64)

    # ------------------------------------------------------------------ documents

    @property
    def of_documents(self) -> bool:
        """Whether the groups of all samples are the documents of the data; a StateError if there are none."""
        n = getattr(self.data, "n_documents", None)
        if n is None:
            raise StateError("components", "of other data", "of documents", "See group_shares.")
        return all(one.label == "document" and one.n_groups == n for one in self.samples)

    def document_counts(self) -> Iterator[DocumentCounts]:
        """Tokens of the components in all documents in order; one block is in memory at a time.

        Where samples don't have the documents as their groups (over shards, and in models whose deepest
        groups are others), they are those of the newest state.
        """
        if self.of_documents:
            choosers = [_chooser(own, len(self)) for own in self._of_dishes]
            step = max(1, _AT_ONCE // (len(self.samples) * max(max(one.n_dishes for one in self.samples), 1)))
            for first in range(0, self.data.n_documents, step):
                here = slice(first, min(first + step, self.data.n_documents))
                of = zip(self.samples, choosers, strict=True)
                total = sum(one.group_counts[here] @ chooser for one, chooser in of)
                counts = scipy.sparse.csr_array(total) / len(self.samples)
                yield _counted(self.data, here, 0, scipy.sparse.csr_array(counts))
        else:
            state = self.states[0]
            chooser = _chooser(self.which(state.sample), len(self))
            for block in state.documents():
                counts = scipy.sparse.csr_array(block.counts @ chooser, dtype=np.float64)
                yield _counted(block.corpus, slice(0, block.corpus.n_documents), block.first, counts)

    def check_documents(self) -> None:
        """Raise a DataError unless the groups of the deepest level are the documents."""
        deepest = self.states[0].franchise.declarations[-1].each
        if deepest != "document":
            raise DataError(
                "restaurants", deepest, "with the documents as the groups of the deepest level",
                "hk.summaries.components(folder).group_shares has the shares of the groups.",
            )  # fmt: skip

    def documents(self) -> Iterator[DocumentShares]:
        """Shares of the components in all documents in order; one block is in memory at a time.

        Raises
        ------
        DataError
            If the groups of the deepest level aren't the documents.
        """
        if self.of_documents:
            data, names = self.data, self.names
            width = sum(2 * sample.n_dishes + len(self) for sample in self.samples)
            step = max(1, min(_BLOCK, _SHARES // (width + 1)))
            for first in range(0, data.n_documents, step):
                here = slice(first, min(first + step, data.n_documents))
                yield DocumentShares(names[here], data.document_lengths[here], self._group_rows(here))
            return
        self.check_documents()
        state = self.states[0]
        own = self.which(state.sample)
        for block in state.documents():
            found, lengths = block.sample, block.corpus.document_lengths
            assert found is not None  # as the deepest groups are documents
            step = max(1, min(_BLOCK, _SHARES // (2 * found.n_dishes + len(self) + 1)))
            for first in range(0, len(lengths), step):
                here = slice(first, min(first + step, len(lengths)))
                shares = self._by_component(own, found.group_weights(here))
                yield DocumentShares(found.names[here], lengths[here], shares)

    @cached_property
    def document_shares(self) -> Floats:
        """Share of the documents with tokens in which each component has at least 5 % of them: (T,)."""
        present, filled = np.zeros(len(self)), 0
        for block in self.document_counts():
            cells = block.counts.tocoo()
            enough = cells.data >= PRESENT * block.lengths[cells.row]
            present += np.bincount(cells.col[enough], minlength=len(self))
            filled += int((block.lengths > 0).sum())
        return present / max(filled, 1)

    @property
    def document_labels(self) -> dict[str, tuple[Int64s, Sequence[Any]]]:
        """Labels of the documents, such as dates and groups: name -> (codes, keys)."""
        names = [name for name in getattr(self.data, "label_names", ()) if name != "document"]
        return {name: self.data.document_labels[name] for name in names}

    @cached_property
    def dated(self) -> str | None:
        """The first label of documents that has dates; None if there is none."""
        return next((name for name, own in self.document_labels.items() if date_keys(own[1])), None)

    def trends(self, by: str | None = None, labels: Int64s | None = None) -> Trends | None:
        """Shares by the first label of documents that has dates, of components or of groups of them.

        None if there is none, or the groups of the deepest level aren't documents.

        Parameters
        ----------
        by : str, optional
            Length of the periods, as in `hdpkit.summaries.trends`.
        labels : int64 array, shape (T,), optional
            Group of each component.
        """
        if self.dated is None or not self.of_documents:
            return None
        codes, keys = self.document_labels[self.dated]
        periods, which = periods_of([None if c < 0 else keys[c] for c in codes.tolist()], by)
        return shares_in(self, periods, which, np.arange(len(self)) if labels is None else labels)

    def shares_by_label(self) -> dict[str, Trends]:
        """Shares by each label of documents but that with dates, if it has at most 1,000 values."""
        if not self.of_documents:
            return {}
        each = np.arange(len(self))
        return {
            name: shares_in(self, list(map(str, keys)), codes, each)
            for name, (codes, keys) in self.document_labels.items()
            if name != self.dated and 0 < len(keys) <= _VALUES
        }

    def gather(self, proportions: Sequence[Floats]) -> Floats:
        """Mean weights of the components from weights of the dishes of the newest state of each chain.

        Parameters
        ----------
        proportions : sequence of float64 arrays, shape (n, K + 1)
            Of each of `states`.
        """
        pairs = zip(self.states, proportions, strict=True)
        each = [self._by_component(self.which(state.sample), weights) for state, weights in pairs]
        return np.asarray(np.mean(each, axis=0), dtype=np.float64)

    # ------------------------------------------------------------------ customers

    @property
    def memberships(self) -> Floats:
        """Posterior probability of each topic for each customer: float64, shape (n_customers, T + 1).

        The share of the samples in which the customer is in the component; the last column is the rest, and
        rows sum to one. In a `partition` a dish belongs to components by the shares of its points that they
        have. Computed at each access.

        Raises
        ------
        StateError
            If samples don't have the dishes of customers: of words in documents, or of too many customers.
        """
        if self.partition is None:
            return self._memberships(np.arange(len(self) + 1)).T
        found = np.zeros((len(self.partition), len(self) + 1))
        for sample in self.samples:
            found[:, :-1] += self._of_points(sample)[sample.dishes]
        return found / len(self.samples)

    @cached_property
    def point_groups(self) -> PointGroups:
        """Groups of the components of a partition of points."""
        assert self.partition is not None
        return point_groups(self.partition, self.samples)

    def _of_points(self, sample: Sample) -> Floats:
        """Share of each component of a partition among the points of each dish: shape (n_dishes, T)."""
        assert self.partition is not None
        k = len(self)
        cells = np.asarray(sample.dishes, dtype=np.int64) * k + self.partition
        counts = np.bincount(cells, minlength=sample.n_dishes * k).reshape(sample.n_dishes, k)
        return np.asarray(counts / counts.sum(axis=1, keepdims=True), dtype=np.float64)

    def _memberships(self, which: Int64s) -> Floats:
        """Rows of some topics, shape (n, n_customers); number T is the rest."""
        place = np.full(len(self) + 1, -1, dtype=np.int64)
        place[which] = np.arange(len(which))
        found: Floats | None = None
        for sample, own in zip(self.samples, self._of_dishes, strict=True):
            if sample.dishes is None:
                raise StateError(
                    "samples", "without the dishes of customers", "of numbers, or of a flat mixture",
                    "See group_shares for documents and other groups.",
                )  # fmt: skip
            if found is None:
                found = np.zeros((len(which), len(sample.dishes)))
            of_dish = np.where(own >= 0, own, len(self))
            rows = place[np.append(of_dish, len(self))[sample.dishes]]
            there = np.flatnonzero(rows >= 0)
            found[rows[there], there] += 1.0 / len(self.samples)
        assert found is not None
        return found

    # ------------------------------------------------------------------ groups

    @cached_property
    def group_shares(self) -> Floats:
        """Mean share of each topic in each group: float64, shape (n_groups, T + 1), with the rest last.

        It is the mean of `Sample.group_weights` over all samples; rows sum to one. Computed once.
        """
        mean = np.empty((self._n_groups, len(self) + 1))
        for groups in self._chunks(1):
            mean[groups] = self._group_rows(groups)
        return mean

    def _group_rows(self, groups: slice) -> Floats:
        """Rows of `group_shares` for some groups."""
        found = self._of_components([sample.group_weights(groups) for sample in self.samples])
        return np.asarray(found.mean(axis=0), dtype=np.float64)

    @property
    def group_shares_lower(self) -> Floats:
        """Lower ends of the intervals of the shares in each group: shape (n_groups, T + 1).

        They are quantiles over draws of the shares from their posterior by `Sample.draw_group_weights`: the
        same number for each sample, and at least 400 in total. So they include the variation within a state
        and between states. The seed of the draws is fixed. Computed once.
        """
        return self._group_ends[0]

    @property
    def group_shares_upper(self) -> Floats:
        """Upper ends of the intervals of the shares in each group: shape (n_groups, T + 1)."""
        return self._group_ends[1]

    @cached_property
    def _group_ends(self) -> tuple[Floats, Floats]:
        lower, upper = (np.empty((self._n_groups, len(self) + 1)) for _ in range(2))
        each = max(_DRAWS_OF_A_STATE, -(-_DRAWS // len(self.samples)))
        source = as_source(_SEED, Purpose.OTHER)
        for groups in self._chunks(each):
            drawn = [
                self._of_components([sample.draw_group_weights(source, groups) for sample in self.samples])
                for _ in range(each)
            ]
            ends = central(np.concatenate(drawn), self.level)
            lower[groups], upper[groups] = holding(ends, self._group_rows(groups))
        return lower, upper

    @property
    def _n_groups(self) -> int:
        n = self.samples[0].n_groups
        if any(sample.n_groups != n for sample in self.samples):
            raise DataError(
                "samples", "of different groups", "of the same groups", "Align samples of one corpus."
            )
        return n

    def _chunks(self, each: int) -> Iterator[slice]:
        """Slices of groups, small enough for ``each`` arrays per sample."""
        n = self._n_groups
        step = max(1, _AT_ONCE // ((len(self) + 1) * len(self.samples) * each))
        return (slice(first, min(first + step, n)) for first in range(0, n, step))

    def _of_components(self, weights: list[Floats]) -> Floats:
        """Weights of dishes, an array for each sample, summed by topic: shape (n_samples, n, T + 1)."""
        found = np.zeros((len(weights), len(weights[0]), len(self) + 1))
        for out, own, of_dishes in zip(found, self._of_dishes, weights, strict=True):
            out[:] = self._by_component(own, of_dishes)
        return found

    def _by_component(self, own: Int64s, of_dishes: Floats) -> Floats:
        """Weights of the dishes of a sample, of which ``own`` are the topics: shape (n, T + 1)."""
        out = np.zeros((len(of_dishes), len(self) + 1))
        out[:, :-1] = of_dishes[:, :-1] @ _chooser(own, len(self))
        out[:, -1] = np.maximum(1.0 - out[:, :-1].sum(axis=1), 0.0)
        return out

    # ------------------------------------------------------------------ hidden Markov models

    @cached_property
    def transitions(self) -> Floats:
        """Mean transition probabilities between the topics of a hidden Markov model, which are its states.

        float64, shape (T + 1, T + 1): row j is the mean of `Sample.transitions` over the samples that have
        topic j; the last row is that of the first observation of a sequence. The last column is the rest;
        rows sum to one.

        Raises
        ------
        StateError
            If the model isn't one of `hk.PreviousDish`.
        """
        rows = [np.concatenate([one.transitions(), one.start()[None]]) for one in self.samples]
        found: Floats = np.nanmean(self._between_components(rows), axis=0)
        return found

    @property
    def transitions_lower(self) -> Floats:
        """Lower ends of the intervals of `transitions`: shape (T + 1, T + 1).

        They are quantiles over draws of the rows from their posterior by `Sample.draw_transitions`: the same
        number for each sample, and at least 400 in total. The seed of the draws is fixed. Computed once.
        """
        return self._transition_ends[0]

    @property
    def transitions_upper(self) -> Floats:
        """Upper ends of the intervals of `transitions`: shape (T + 1, T + 1)."""
        return self._transition_ends[1]

    @cached_property
    def _transition_ends(self) -> tuple[Floats, Floats]:
        each = max(_DRAWS_OF_A_STATE, -(-_DRAWS // len(self.samples)))
        source = as_source(_SEED, Purpose.OTHER)
        drawn = np.concatenate(
            [
                self._between_components([sample.draw_transitions(source) for sample in self.samples])
                for _ in range(each)
            ]
        )
        lower, upper = np.empty_like(self.transitions), np.empty_like(self.transitions)
        for j, rows in enumerate(np.moveaxis(drawn, 1, 0)):
            there = rows[~np.isnan(rows[:, 0])]
            lower[j], upper[j] = holding(central(there, self.level), self.transitions[j])
        return lower, upper

    def _between_components(self, rows: list[Floats]) -> Floats:
        """Rows of dishes and of the start, an array for each sample, by topic: (n_samples, T + 1, T + 1).

        Rows of topics that a sample doesn't have are NaN.
        """
        found = np.full((len(rows), len(self) + 1, len(self) + 1), np.nan)
        for out, own, of_dishes in zip(found, self._of_dishes, rows, strict=True):
            by_topic = self._by_component(own, of_dishes)
            out[own[own >= 0]] = by_topic[:-1][own >= 0]
            out[-1] = by_topic[-1]
        return found

    # ------------------------------------------------------------------ fewer of them

    def agreed(self, occurrence: float = 0.5, chains: float = 0.5, cosine: float = 0.0) -> Int64s:
        """Numbers of the components that enough chains have, ascending.

        A chain has a component if it occurs in at least the share ``occurrence`` of the chain's samples. At
        least the share ``chains`` of the chains must have it, and at least two if there are several: of two
        chains both. ``selected`` keeps these; everything else is then the rest.

        Parameters
        ----------
        occurrence : float
            The smallest share of a chain's samples, from 0 to 1. A component must occur in at least one.
        chains : float
            The smallest share of the chains, from 0 to 1. 1: all chains; 0: at least one, also of several.
        cosine : float
            The smallest cosine between the means of a component in any two chains that have it, from 0 to 1.
            For components that are compared by another distance: 1 minus the largest distance.

        Returns
        -------
        int64 array

        Raises
        ------
        ParameterError
            If an argument is out of range.
        """
        for name, value in (("occurrence", occurrence), ("chains", chains), ("cosine", cosine)):
            if not 0.0 <= real_number(name, value) <= 1.0:
                raise ParameterError(name, value, "from 0 to 1", "Leave it out for the usual one.")
        has = (self.occurrence_by_chain >= occurrence) & (self.occurrence_by_chain > 0)
        fewest = max(min(2, len(has)) if chains > 0 else 1, chains * len(has) - 1e-9)
        number = np.flatnonzero(has.sum(axis=0) >= fewest)
        if cosine > 0 and len(has) > 1:
            apart = np.zeros(len(number))
            for pair in itertools.combinations(range(len(has)), 2):
                both = np.flatnonzero(has[pair[0], number] & has[pair[1], number])
                means = [self._chain_means(self.chain_numbers[row], number[both]) for row in pair]
                apart[both] = np.maximum(apart[both], self._vectors.paired(*means))
            number = number[apart <= 1.0 - cosine]
        return number

    @property
    def in_all_chains(self) -> Int64s:
        """Numbers of the components that all chains have with similar means: those that verdicts count."""
        return self.agreed(chains=1.0, cosine=MIN_COSINE)

    def selected(self, which: Any) -> Components:
        """Some of the components; the others belong to the rest.

        Parameters
        ----------
        which : sequence of int
            Numbers of the components to keep.

        Returns
        -------
        Components
            In descending order of their shares.
        """
        given = items("which", which, "a sequence of numbers of components", remedy="For instance range(10).")
        to = np.full(len(self) + 1, _NOBODY, dtype=np.int64)
        for place, one in enumerate(given):
            number = whole_number("which", one, 0, len(self) - 1, remedy="They are numbered from 0.")
            if to[number] != _NOBODY:
                raise ParameterError("which", number, "each component once", "Leave the second one out.")
            to[number] = place
        return self._changed(self.samples, [to[one] for one in self._of_dishes], to)

    def _changed(
        self, samples: Sequence[Sample], labels: Sequence[Int64s], to: Int64s, **changed: Any
    ) -> Components:
        """Other components of these samples; ``to`` has the new number of each, and of the rest."""
        every = [*zip(self.samples, self._of_dishes, strict=True), *self._before]
        kept = {id(sample) for sample in samples}
        before = [(sample, to[own]) for sample, own in every if id(sample) not in kept]
        vectors = self._vectors if samples is self.samples else self._vectors.over(tuple(samples))
        return Components(samples, labels, vectors, self.level, before=before, **(vars(self._of) | changed))

    def merged(self, labels: Any) -> Components:
        """Components with the same label as one, for instance those of a group of `group_topics`.

        Their customers are counted together. Merged components show less detail; they are no draw from the
        posterior of a model with fewer of them.

        Parameters
        ----------
        labels : array of int, shape (T,)
            Label of each component, for instance ``group_topics(found).cut(30)``; -1 for those that become
            part of the rest.

        Returns
        -------
        Components
            In descending order of their shares; credible intervals are those of the merged components.

        Raises
        ------
        ParameterError
            If the labels don't fit.

        Examples
        --------
        >>> fewer = found.merged(group_topics(found).cut(30))  # doctest: +SKIP
        """
        remedy = "group_topics(found).cut(30)."
        given = whole_numbers("labels", labels, -1, LARGEST, length=len(self), remedy=remedy)
        own = np.unique(given[given >= 0])
        return self.merged_by(np.where(given >= 0, np.searchsorted(own, given), -1))[0]

    def merged_by(self, to: Int64s, apart: int = 0) -> tuple[Components, Int64s]:
        """As `merged`, by labels 0, 1, ..., and for each label the number of its component."""
        n, samples, labels = int(to.max(initial=-1)) + 1, [], []
        for sample, component in zip(self.samples, self._of_dishes, strict=True):
            own = np.where(component >= 0, to[component], -1)
            rest = np.flatnonzero(own < 0)
            own[rest] = n + np.arange(len(rest))  # dishes of the rest stay as they are
            samples.append(merged_sample(sample, own, apart))
            seen = np.unique(own)
            labels.append(np.where(seen < n, seen, -1))
        changed = {"merged_from": len(self) if n < len(self) else self.merged_from}
        made = self._changed(samples, labels, np.append(to, _NOBODY), **changed)
        place = np.full(n, -1, dtype=np.int64)
        for before, after in zip(labels, made._of_dishes, strict=True):
            place[before[before >= 0]] = after[before >= 0]
        return made, place

    # ------------------------------------------------------------------ a model of new groups

    @cached_property
    def weights(self) -> Floats:
        """Weight of each component and, last, of the rest in the root: (T + 1,), sums to one."""
        weights = np.zeros((len(self.samples), len(self) + 1))
        for row, sample, own in zip(weights, self.samples, self._of_dishes, strict=True):
            row[own[own >= 0]] = sample.root_weights[:-1][own >= 0]
            row[-1] = sample.root_weights.sum() - row[:-1].sum()
        mean: Floats = weights.mean(axis=0)
        return np.maximum(mean, 0.0) / mean.sum()

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
    def rest_row(self) -> Floats:
        """Everything in none of the components, as one topic: float64, shape (n_terms,).

        The mean over samples of their other dishes, weighted by their weight in the root, and of a new dish,
        which has the mean of the base measure.
        """
        self._need_terms()
        assert isinstance(self._vectors, TermVectors)
        total, base = np.zeros(self._vectors.n_terms), np.zeros(self._vectors.n_terms)
        for sample, own in zip(self.samples, self._of_dishes, strict=True):
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
    def rows_and_rest(self) -> Floats:
        """`rows`, and `rest_row` as the last row: shape (T + 1, n_terms)."""
        return np.vstack([self.rows, self.rest_row])

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
        return FixedTopics.of(self.rows, self.rest_row, prior, repeats=repeats)

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
        return completion_perplexity(self.rows_and_rest, self.concentration * self.weights, *halves)

    def _counts(self, name: str, given: Any) -> Any:
        self._need_terms()
        check_unmasked(name, given)
        if scipy.sparse.issparse(given):
            given = sparse_entries(name, given).matrix()
        try:
            counts = scipy.sparse.coo_array(given.to_counts() if isinstance(given, Corpus) else given)
        except (TypeError, ValueError, OverflowError, RecursionError):
            raise DataError(name, given, "a Corpus, or a matrix of counts", "See Corpus.to_counts.") from None
        n_terms = self.rows.shape[1]
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
                "components", "of components by a function", "of topics by cosine or Hellinger distance",
                "Other components have no distributions over terms that could be mixed.",
            )  # fmt: skip

    # ------------------------------------------------------------------ tables

    def named_parameters(self, measure: BaseMeasure, columns: Any = None) -> dict[str, Floats]:
        """Parameters of the topics by name, with intervals, for data other than documents of terms.

        Where they are states of sequences of terms, the parameters are the probabilities of the terms.

        Parameters
        ----------
        measure : BaseMeasure
            That of the model, ``franchise.measure``, which gives the names: "mean[0]", "sd[0]".
        columns : sequence of str, optional
            Names of the dimensions of the data: ``franchise.data.columns``.

        Returns
        -------
        dict
            Name -> float64 array, shape (T, 3): the average of the posterior means over the samples that have
            the topic, and the ends of the interval. They are quantiles over draws of the parameters given
            each of these samples (``Sample.parameters["drawn"]``), or without draws over the posterior means.

        Raises
        ------
        StateError
            If the data are terms.
        """
        instance("measure", measure, BaseMeasure, "a base measure", remedy="franchise.measure.")
        if columns is not None:
            columns = items("columns", columns, "names of the dimensions", remedy="Leave it out for numbers.")
        if self.samples[0].counts is not None:
            if self.samples[0].dishes is None:
                raise StateError("samples", "of terms", "of numbers", "See Components.topics.")
            numbers = np.stack([self.rows, self.rows_lower, self.rows_upper], axis=-1)
            words = range(numbers.shape[1]) if columns is None else columns
            return {f"p({word})": numbers[:, v] for v, word in enumerate(words)}
        rows = self._vectors.dense(self._member_rows)
        found = {name: np.empty((len(self), 3)) for name in measure.named_parameters(rows, columns)}
        for topic, (first, last) in enumerate(itertools.pairwise(self._dishes[1].tolist())):
            means = measure.named_parameters(rows[first:last], columns)
            drawn = self._drawn_parameters(topic)
            varied = means if drawn is None else measure.named_parameters(drawn, columns)
            for name, numbers in found.items():
                point = np.asarray(means[name], dtype=np.float64).mean()
                ends = central(np.asarray(varied[name], dtype=np.float64)[:, None], self.level)
                numbers[topic] = point, *np.ravel(holding(ends, point))
        return found

    def to_pandas(
        self,
        table: str = "topics",
        *,
        n_terms: int | None = 20,
        vocabulary: Any = None,
        measure: BaseMeasure | None = None,
    ) -> Any:
        """A tidy table: one row per observation; topics are numbered from 1, as in exports and on the page.

        Parameters
        ----------
        table : str
            "topics": a row per topic and probable term: topic, term, probability, lower, upper. "parameters":
            a row per topic and parameter, for data other than terms: topic, parameter, value, lower, upper
            (`named_parameters`). "shares": a row per topic: topic, share, lower, upper, occurrence, chains
            (that have it), spread. "weights": a row per group and topic: the name of the groups, topic,
            share, lower, upper; the rest is topic "rest". "transitions": a row per pair of topics: from, to,
            probability, lower, upper, where the first observation of a sequence is from "start". "trace": a
            row per sample and topic that it has: chain, sweep, topic, id, share.
        n_terms : int, optional
            Number of terms per topic in "topics"; None for all.
        vocabulary : sequence of str, optional
            Words of the terms, for "topics": ``corpus.vocabulary``. Without it terms are numbers. For
            "parameters" names of the dimensions.
        measure : BaseMeasure, optional
            For "parameters": ``franchise.measure``.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        MissingExtraError
            Without pandas: ``pip install 'hdpkit[pandas]'``.
        StateError
            If "topics" is requested for data other than terms.
        """
        choice("table", table, _TABLES, remedy="Leave it out for the topics.")
        if n_terms is not None:
            whole_number("n_terms", n_terms, 1, remedy="None for all of them.")
        if vocabulary is not None:
            vocabulary = items("vocabulary", vocabulary, "a sequence of words", remedy="corpus.vocabulary.")
        if table == "parameters":
            return data_frame(self._parameters_table(measure, vocabulary))
        rows = getattr(self, f"_{table}_table")
        return data_frame(rows(n_terms, vocabulary) if table == "topics" else rows())

    def _parameters_table(self, measure: Any, columns: Any) -> dict[str, Any]:
        found = self.named_parameters(measure, columns)
        n = len(found)
        values = np.array(list(found.values())).reshape(n, len(self), 3)
        return {
            "topic": np.repeat(np.arange(1, len(self) + 1), n),
            "parameter": list(found) * len(self),
            **{key: values[:, :, i].T.ravel() for i, key in enumerate(("value", "lower", "upper"))},
        }

    def _topics_table(self, n_terms: int | None, vocabulary: Any) -> dict[str, Any]:
        if any(sample.counts is None for sample in self.samples):
            raise StateError("table", "topics", "of data that are terms", "See Components.topics.")
        all_terms = int(self.samples[0].counts.shape[1])
        if vocabulary is not None and len(vocabulary) != all_terms:
            raise DataError(
                "vocabulary",
                f"{len(vocabulary)} words",
                f"{all_terms} words",
                "Pass the vocabulary of the corpus.",
            )
        most = all_terms if n_terms is None else min(n_terms, all_terms)
        terms, numbers = np.empty((len(self), most), dtype=np.int64), np.empty((3, len(self), most))
        for topic in range(len(self)):
            row = self.rows_of(np.array([topic]))[0]
            terms[topic] = largest(row, most)
            for out, values in zip(numbers, (row, *self.ends_of(topic)), strict=True):
                out[topic] = values[terms[topic]]
        words = terms.ravel()
        probability, lower, upper = (values.ravel() for values in numbers)
        return {
            "topic": np.repeat(np.arange(1, len(self) + 1), most),
            "term": words if vocabulary is None else [vocabulary[term] for term in words.tolist()],
            "probability": probability,
            "lower": lower,
            "upper": upper,
        }

    def _shares_table(self) -> dict[str, Any]:
        return {
            "topic": np.arange(1, len(self) + 1),
            "share": self.shares,
            "lower": self.shares_lower,
            "upper": self.shares_upper,
            "occurrence": self.occurrence,
            "chains": (self.occurrence_by_chain > 0).sum(axis=0),
            "spread": self.spread,
        }

    def _weights_table(self) -> dict[str, Any]:
        n, width = self.group_shares.shape
        return {
            self.label: [name for name in self.names for _ in range(width)],
            "topic": [*range(1, width), "rest"] * n,
            "share": self.group_shares.ravel(),
            "lower": self.group_shares_lower.ravel(),
            "upper": self.group_shares_upper.ravel(),
        }

    def _transitions_table(self) -> dict[str, Any]:
        n = len(self) + 1
        return {
            "from": [name for name in [*range(1, n), "start"] for _ in range(n)],
            "to": [*range(1, n), "rest"] * n,
            "probability": self.transitions.ravel(),
            "lower": self.transitions_lower.ravel(),
            "upper": self.transitions_upper.ravel(),
        }

    def _trace_table(self) -> dict[str, Any]:
        sample, topic = np.nonzero(self.ids_by_sample >= 0)
        of = [self.samples[i] for i in sample.tolist()]
        return {
            "chain": [one.chain for one in of],
            "sweep": [one.sweep for one in of],
            "topic": topic + 1,
            "id": self.ids_by_sample[sample, topic],
            "share": self.shares_by_sample[sample, topic],
        }

    def table(self, n_terms: int = 10) -> dict[str, Any]:
        """Columns of a table with a row for each component, as commands, exports and pages have it.

        Parameters
        ----------
        n_terms : int
            Number of terms of each component.

        Returns
        -------
        dict
            Name -> values: the number, from 1; of topics the group of similar ones and the label (that
            somebody gave, or the first words); of a partition of points the group; share, share_low,
            share_high, occurrence; of topics in the documents of a run also tokens, the share of the
            documents in which at least 5 % of the tokens are of the topic, where topics select terms
            distinct_terms and sparsity, and the terms; of a run over numbers or sequences the parameters with
            the ends of their intervals.
        """
        of_topics = self.samples[0].counts is not None and self.samples[0].dishes is None
        columns: dict[str, Any] = {"topic" if of_topics else "component": np.arange(1, len(self) + 1)}
        if of_topics:
            if self.usual_groups is not None:
                columns["group"] = self.usual_groups.of + 1
            columns["label"] = self.titles
        elif self.partition is not None:
            columns["group"] = self.point_groups.of + 1
        columns |= {
            "share": self.shares, "share_low": self.shares_lower, "share_high": self.shares_upper,
            "occurrence": self.occurrence,
        }  # fmt: skip
        if not of_topics:
            for name, values in (self.parameters if self.states else {}).items():
                columns |= {f"{name}{end}": values[:, i] for i, end in enumerate(("", " low", " high"))}
            return columns
        if hasattr(self.data, "n_documents"):
            columns["tokens"] = np.rint(self.shares * self.data.n_tokens).astype(np.int64)
            if self.states:
                columns["document_share"] = self.document_shares
        if self.selected_terms is not None:
            columns["distinct_terms"], columns["sparsity"] = self.selected_terms
        columns["terms"] = [" ".join(map(str, self.words(terms))) for _, terms, _ in self.top_terms(n_terms)]
        return columns

    @cached_property
    def selected_terms(self) -> tuple[Int64s, Floats] | None:
        """Mean number of terms with tokens, and the expected share of the vocabulary that is not selected.

        Of topics that select terms; the share is that in the newest states that have it. None for others.
        """
        if not self.states or not self.states[0].franchise.measure.supports("selected_terms"):
            return None
        distinct, selected, n = (np.zeros(len(self)) for _ in range(3))
        for sample, own in zip(self.samples, self._of_dishes, strict=True):
            np.add.at(distinct, own[own >= 0], np.diff(sample.counts.indptr)[own >= 0])
        distinct /= np.maximum(self.occurrence * len(self.samples), 1.0)
        for state in self.states:
            own = self.which(state.sample)
            np.add.at(selected, own[own >= 0], np.asarray(state.franchise.selected_terms())[own >= 0])
            np.add.at(n, own[own >= 0], 1)
        selected = np.where(
            n > 0, selected / np.maximum(n, 1), distinct
        )  # of a topic that no newest state has
        sparsity = np.maximum(1.0 - selected / max(self.n_terms, 1), 0.0)
        return np.rint(distinct).astype(np.int64), sparsity

    def component_set(self, source: str) -> ComponentSet:
        """The topics as `hdpkit.summaries.match_topics` compares them: by terms, or else by customers.

        Parameters
        ----------
        source : str
            What they are topics of, in messages.

        Raises
        ------
        StateError
            If the samples have neither terms nor the dishes of customers.
        """
        names = tuple(str(topic + 1) for topic in range(len(self)))
        if self.samples[0].counts is None:
            last = self._memberships(np.array([len(self)]))  # raises a StateError if there are none
            named = self.parameters if self.states else {}
            digest = self._of.digest
            return ComponentSet(
                source=source, names=names, shares=self.shares, columns=last.shape[1], rows=self._memberships,
                words=lambda k, n: [f"{name}={own[k, 0]:.3g}" for name, own in named.items()][:n],
                data=digest,
            )  # fmt: skip
        vocabulary = getattr(self.data, "vocabulary", None)
        return ComponentSet(
            source=source,
            names=names,
            shares=self.shares,
            columns=self.n_terms if vocabulary is None else vocabulary,
            rows=self.rows_of,
            words=lambda k, n: list(map(str, self.words(largest(self.rows_of(np.array([k]))[0], n)))),
        )

    def __iter__(self) -> Iterator[Floats]:
        return (self.rows_of(np.array([topic]))[0] for topic in range(len(self)))


def components(
    given: Any,
    *,
    chain: int | None = None,
    min_occurrence: float = 0.5,
    distance: str | Distance = "cosine",
    threshold: float | None = None,
    similar: float | None = None,
    apart: int = 0,
    level: float = 0.9,
    partition: bool | None = None,
) -> Components:
    """Find the components that samples have in common, by matching the dishes of different samples.

    Dishes are numbered differently in every sample and every chain. Within a chain they are followed by their
    permanent ids as long as they remain similar. The rest is assigned so that the sum of similarities is
    largest (`scipy.optimize.linear_sum_assignment`), along each chain, between chains, and then once more
    against the mean of each component over all samples, until nothing changes. No two dishes of a sample are
    the same component, unless they are nearly the same (``similar``). Of points, components are the clusters
    of the partition of least expected loss over all samples (`point_partition`), and a dish belongs to the
    cluster with which it shares most customers.

    Parameters
    ----------
    given : Run, path, Trace, ChainTrace, estimator, Franchise or sequence of Sample
        A run or its folder, a trace with samples, a fitted model, a state, or samples of one chain or several
        over the same data. Of a run or a trace the samples after the burn-in are used, with the newest states
        of the chains: after the first half of its recorded sweeps, as in `diagnose`, or later, if the log
        joint of a chain was still on its way (docs/summaries.md). Of a sequence all are used.
    chain : int, optional
        Number of a chain of a run or a trace, to use its samples alone.
    min_occurrence : float
        Components that occur in a smaller share of the samples belong to the rest.
    distance : "cosine" or function
        Dissimilarity of two components: 1 - cosine of their distributions over terms, or the Hellinger
        distance between them. For data other than terms, "cosine" compares the customers of two components
        (of at most 2**20); or give a function that takes the parameters of two sets of components, shape (n,
        ...) and (m, ...), and returns distances, shape (n, m).
    threshold : float, optional
        The largest distance between dishes of the same component: by default 0.5 for cosine, 0.6 for
        Hellinger; required for a function.
    similar : float, optional
        Dishes of a sample, and components, that are closer to each other than this are one (average linkage);
        0: none. By default 0.1 for cosines of topics in documents, otherwise 0: states with the same
        observations can differ by their transitions, and points are in a partition.
    apart : int
        Dishes with permanent ids below this are never one with each other: known components, which have the
        ids 0, 1, ... A dish that is one with them has their id.
    level : float
        Probability of the credible intervals.
    partition : bool, optional
        Whether components are clusters of the partition of the customers. By default of points that are
        compared by cosine.

    Returns
    -------
    Components

    Raises
    ------
    ParameterError
        If an argument is out of range.
    DataError
        If there is no sample, or samples are of different data.
    ReturnValueError
        If a distance function returns anything other than such an array.
    """
    samples, of = samples_of(given, chain)
    level = checked_level(level)
    if not 0.0 <= real_number("min_occurrence", min_occurrence) <= 1.0:
        raise ParameterError("min_occurrence", min_occurrence, "from 0 to 1", "0 keeps every component.")
    threshold = distance_of(distance, threshold)
    if similar is not None and real_number("similar", similar) < 0.0:
        raise ParameterError("similar", similar, "at least 0", "0.1 is usual for cosines.")
    apart = whole_number("apart", apart, 0, remedy="The number of known components.")
    first = samples[0]
    if partition is None:
        sequences = bool(first.levels) and first.levels[-1].n_fixed is not None
        of_points = first.counts is None and not sequences and distance == "cosine"
        partition = of_points and all(sample.dishes is not None for sample in samples)
    if flag("partition", partition):
        return _of_partition(samples, level, min_occurrence, of)
    vectors, before = vectors_of(samples, distance, members=True), []
    if similar is None:
        similar = (
            SIMILAR if distance == "cosine" and first.counts is not None and first.dishes is None else 0.0
        )
    if similar > 0.0:
        merged = []
        for sample in samples:
            to = clusters(vectors, observed(vectors.rows(sample)), similar, sample.ids < apart)
            merged.append(sample if to is None else merged_sample(sample, to, apart))
            before.append(None if to is None else np.unique(to, return_inverse=True)[1].ravel())
        samples, originals = tuple(merged), samples
        vectors = vectors.over(samples)
    labels = matched(samples, vectors, threshold)
    kept = (
        [
            (sample, own[to])
            for sample, own, to in zip(originals, labels, before, strict=True)
            if to is not None
        ]
        if similar > 0.0
        else []
    )
    found = Components(samples, labels, vectors, level, before=kept, **of)
    if similar > 0.0:
        known = ((found.ids_by_sample >= 0) & (found.ids_by_sample < apart)).any(axis=0)
        to = clusters(vectors, observed(found._means), similar, np.asarray(known))
        if to is not None:
            found = found.merged_by(np.unique(to, return_inverse=True)[1].ravel(), apart)[0]
            found._of = attrs.evolve(found._of, merged_from=None)
    often = np.flatnonzero(found.occurrence >= min_occurrence - 1e-9)
    return found if len(often) == len(found) else found.selected(often)


def _counted(corpus: Any, here: slice, before: int, counts: Any) -> DocumentCounts:
    """Some documents of a corpus, before which there are ``before`` others in corpora of their own."""
    names = corpus.names or range(before, before + corpus.n_documents)
    labels = {
        name: (own[0][here], own[1]) for name, own in corpus.document_labels.items() if name != "document"
    }
    return DocumentCounts(names[here], corpus.document_lengths[here], labels, counts)


def _chooser(own: Int64s, n: int) -> Any:
    """A matrix that adds up the columns of the dishes of each component: shape (n_dishes, n)."""
    there = np.flatnonzero(own >= 0)
    return scipy.sparse.csr_array((np.ones(len(there)), (there, own[there])), shape=(len(own), n))


def dishes_of(samples: Sequence[Sample]) -> Int64s:
    """Dish of each customer in each sample, shape (n_samples, n)."""
    if any(sample.dishes is None for sample in samples):
        raise DataError(
            "samples", "without the dishes of the points", "of at most 2**20 points, which have them",
            "Fit a part of the points, and predict the others.",
        )  # fmt: skip
    return np.array([sample.dishes for sample in samples], dtype=np.int64)


def _of_partition(
    samples: Sequence[Sample], level: float, min_occurrence: float, of: dict[str, Any]
) -> Components:
    """The clusters of the partition of least expected loss."""
    dishes = dishes_of(samples)
    runs = 8 if dishes.shape[1] <= _MANY else 2
    most = max(sample.n_dishes for sample in samples)
    labels = point_partition(dishes, max_clusters=most, runs=runs).labels
    return of_clusters(samples, labels, level, min_occurrence, **of)


def of_clusters(
    samples: Sequence[Sample], labels: Int64s, level: float = 0.9, min_occurrence: float = 0.0, **of: Any
) -> Components:
    """Components of samples as the clusters of a partition of their customers.

    Clusters that are like dishes of too few samples are none: their customers get the label of the component
    that they are in most often.
    """
    found = [_of_clusters(sample, labels) for sample in samples]
    if max(int(one.max(initial=-1)) for one in found) < 0:
        labels = np.unique(np.asarray(samples[-1].dishes), return_inverse=True)[1].astype(np.int64)
        found = [_of_clusters(sample, labels) for sample in samples]
    n = int(labels.max()) + 1
    shares = np.zeros((len(found), n))
    for row, sample, own in zip(shares, samples, found, strict=True):
        row[own[own >= 0]] = sample.shares()[own >= 0]
    often = np.bincount(np.concatenate([own[own >= 0] for own in found]), minlength=n) / len(found)
    there = (often > 0) & (often >= min_occurrence - 1e-9)
    there = there if there.any() else often > 0
    order = np.argsort(np.where(there, -shares.mean(axis=0), 1.0), kind="stable")
    rank = np.argsort(order, kind="stable")
    to = np.append(np.where(there, rank, -1), -1)
    numbered = np.asarray(to[labels], dtype=np.int64)
    made = Components(samples, [to[own] for own in found], MemberVectors(samples), level, numbered, **of)
    left = np.flatnonzero(numbered < 0)
    if len(left):
        numbered[left] = made._memberships(np.arange(len(made)))[:, left].argmax(axis=0)
    return made


def _of_clusters(sample: Sample, labels: Int64s) -> Int64s:
    """Cluster of each dish of a sample; -1 for none."""
    n = int(labels.max()) + 1
    cells = np.asarray(sample.dishes, dtype=np.int64) * n + labels
    common = np.bincount(cells, minlength=sample.n_dishes * n).reshape(sample.n_dishes, n)
    sizes = common.sum(axis=1, keepdims=True) * np.bincount(labels, minlength=n)
    return assigned(1.0 - common / np.sqrt(np.maximum(sizes, 1)), DEFAULT_THRESHOLDS["cosine"])
