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
import numpy.typing as npt
import scipy

from hdpkit.arrays import Bools, Floats, Int64s
from hdpkit.checks import (
    LARGEST,
    flag,
    instance,
    items,
    real_number,
    whole_number,
    whole_numbers,
)
from hdpkit.data.top_terms import largest, typical
from hdpkit.errors import DataError, ParameterError, StateError
from hdpkit.franchise.sample import Sample, rows_at_once
from hdpkit.measures.by_restaurant import Repeats
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.posterior.alignment import MIN_COSINE, TermVectors, Vectors, joined
from hdpkit.posterior.component_tables import pandas_rows, table_of
from hdpkit.posterior.documents import DocumentShares, Trends, chooser, documents, trends_of
from hdpkit.posterior.effects import Effects, effects_of
from hdpkit.posterior.evaluation.completion import (
    TOLERANCE,
    FixedTopics,
    completion,
    counts_of,
    repeats_in,
)
from hdpkit.posterior.grouping import ComponentGroups, grouped
from hdpkit.posterior.intervals import (
    halves_of,
    interval,
    interval_of_shares,
    interval_of_terms,
    moved_out,
    topic_interval,
)
from hdpkit.posterior.matching import ComponentSet, TopicMatch, matched_components
from hdpkit.posterior.point_groups import PointGroups, point_groups
from hdpkit.posterior.settled import sweeps_text
from hdpkit.posterior.topic_labels import LabelRow, heaviest_terms, labels_for
from hdpkit.random import Purpose, as_source
from hdpkit.run.states import ChainState
from hdpkit.run.tables import arviz_data, cut_to, data_frame

_AT_ONCE = 1 << 24  # shares of groups that are in memory at once
_DRAWS = 400  # of the shares of each group, for intervals
_DRAWS_OF_A_STATE = 5  # at least
_SEED = 0
_NOBODY = -1
_NAMED_BY = 3  # words
_NAMED_OF = 50  # the most probable
_FEWEST = 4  # components that are grouped
_ONE = 0.5  # a number of customers below this rounds to zero
_MOST = 0.8  # share of a component that counts as most of it
_FEW = 0.05  # share of the groups that are few
SETTLED = 0.2
"""Chains agree on a share of which their means differ by at most this part of it, whatever their spread."""


def placed(values: npt.NDArray[Any], own: Int64s, n: int, empty: int = 0) -> npt.NDArray[Any]:
    """Values of dishes at the places of their components, shape (n,)."""
    found = np.full(n, empty, dtype=values.dtype)
    found[own[own >= 0]] = values[own >= 0]
    return found


@attrs.frozen(eq=False, slots=False, kw_only=True)
class Origin:
    """What components are of beside samples: data, newest states of a run, labels that people gave."""

    data: Any = None
    states: tuple[ChainState, ...] = ()
    label_rows: tuple[LabelRow, ...] = ()
    folder: Path | None = None
    digest: str | None = None  # of the data, so that customers of other data aren't compared
    merged_from: int | None = None  # number of components before similar ones were merged on request
    named: tuple[str, ...] = ()  # names of the components, of kinds that give them names
    totals: Int64s | None = None  # customers of each group, where the samples have only a part of them


class Components:
    """Components that samples have in common: topics, states, clusters. See `components`, which makes them.

    Component j is the same in every sample and chain. They are in descending order of their shares.
    Everything else in a sample is its *rest*: dishes that too few samples have, and new dishes. Components
    over terms are also a model of new groups, with posterior means (`fold_in`, `perplexity`).

    Attributes
    ----------
    samples : tuple of Sample
    level : float
        Probability of the intervals: ``X_lower`` begins at the smallest and ``X_upper`` at the largest
        quantile of X in a half of a chain: over its samples and, for ``rows``, parameters, ``group_shares``
        and ``transitions``, over draws given each of them. Of all but parameters these ends are moved out
        where means of halves are farther from each other than their samples explain, by four standard
        deviations between halves. An end beyond which the mean lies is moved to the mean.
    shares, shares_lower, shares_upper : float64 arrays, shape (T,)
        Share of the customers in each topic: mean and interval over all samples; 0 in samples without it.
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
        pairs = [*zip(self.samples, labels, strict=True)]
        shares = np.array([placed(sample.shares(), own, n) for sample, own in pairs])
        order = np.argsort(-shares.mean(axis=0), kind="stable")
        rank = np.append(np.argsort(order, kind="stable"), _NOBODY)  # the last is that of -1
        self._of_dishes = [rank[one] for one in labels]
        # Samples before similar dishes were one, with the component of each dish.
        self._before = [(sample, rank[one]) for sample, one in before]
        shares = shares[:, order]
        if self._of.named:
            self._of = attrs.evolve(self._of, named=tuple(self._of.named[k] for k in order))
        # Rounding mustn't give a negative rest, which would be shown as -0.0 %.
        self.shares_by_sample = np.column_stack([shares, np.maximum(1.0 - shares.sum(axis=1), 0.0)])
        pairs = [*zip(self.samples, self._of_dishes, strict=True)]
        self.ids_by_sample = np.array([placed(sample.ids, own, n, _NOBODY) for sample, own in pairs])
        there = self.ids_by_sample >= 0
        self.chain_numbers = tuple(dict.fromkeys(sample.chain for sample in self.samples))
        of_chain = np.array([sample.chain for sample in self.samples])
        self.occurrence: Floats = there.mean(axis=0)
        self.occurrence_by_chain: Floats = np.array(
            [there[of_chain == c].mean(axis=0) for c in self.chain_numbers]
        )
        self.shares: Floats = shares.mean(axis=0)
        self._halves = halves_of(self.samples)
        self.shares_lower, self.shares_upper = self._ends(shares[:, None], self.shares)
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

    @property
    def has_transitions(self) -> bool:
        """Whether components are states of sequences, whose weights are those of the next state."""
        return self.has_groups and self.samples[0].levels[-1].n_fixed is not None

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

    def _ends(self, values: Floats, point: Floats | float) -> tuple[Floats, Floats]:
        """Interval of draws from each sample: shape (n_samples, n_draws, ...)."""
        return interval_of_shares(values, self.level, self._halves, point)

    # ------------------------------------------------------------------ who is who

    def which(self, sample: Sample) -> Int64s:
        """Topic of each dish of a sample: int64, shape (K,); -1 for a dish in no topic.

        Parameters
        ----------
        sample : Sample
            One of the aligned samples (or an equal sample of the same chain and sweep), else a ParameterError
            is raised.
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

    @property
    def originals(self) -> tuple[Sample, ...]:
        """The samples as they were before dishes of one component were merged."""
        before = {(sample.chain, sample.sweep): sample for sample, _ in self._before}
        return tuple(before.get((sample.chain, sample.sweep), sample) for sample in self.samples)

    @cached_property
    def _dishes(self) -> tuple[Int64s, Int64s]:
        """Dishes in topics, by topic: place, sample, dish, topic; the first of each topic, and the end."""
        labels = np.concatenate(self._of_dishes)
        order = np.argsort(labels, kind="stable")
        order = order[labels[order] >= 0]
        sizes = [len(one) for one in self._of_dishes]
        sample = np.repeat(np.arange(len(sizes)), sizes)
        dish = np.concatenate([np.arange(n) for n in sizes])
        begins = np.searchsorted(labels[order], np.arange(len(self) + 1))
        return np.column_stack([np.arange(len(labels)), sample, dish, labels])[order], begins

    def _rows(self) -> Any:
        rows = self._vectors.stack([self._vectors.rows(sample) for sample in self.samples])
        return self._vectors.take(rows, self._dishes[0][:, 0])

    @cached_property
    def _member_rows(self) -> Any:
        return self._rows()

    @cached_property
    def _means(self) -> Any:
        return self._vectors.means(self._rows(), self._dishes[0][:, 3], len(self))

    def _chain_means(self, chain: int, topics: Int64s) -> Any:
        """Means of some topics over the samples of one chain, which has them: rows of its `Vectors`."""
        place = np.full(len(self), _NOBODY, dtype=np.int64)
        place[topics] = np.arange(len(topics))
        of_chain = np.array([sample.chain == chain for sample in self.samples])
        _, sample, _, topic = self._dishes[0].T
        wanted = np.flatnonzero(of_chain[sample] & (place[topic] >= 0))
        rows = self._vectors.take(self._member_rows, wanted)
        return self._vectors.means(rows, place[topic[wanted]], len(topics))

    @cached_property
    def spread(self) -> Floats:
        """Mean distance of a topic's dishes from their mean."""
        labels = self._dishes[0][:, 3]
        apart = self._vectors.paired(self._rows(), self._vectors.take(self._means, labels))
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
        lower, upper = self._interval_of(topic)
        point = self.rows_of(np.array([topic]))[0]
        return np.minimum(lower, point), np.maximum(upper, point)

    def _interval_of(self, topic: int) -> tuple[Floats, Floats]:
        members, begins = self._dishes
        first, last = begins[topic : topic + 2].tolist()
        halves = self._halves_of(topic)
        if self.samples[0].counts is not None:
            of_topic = [(self.samples[i], k) for _, i, k, _ in members[first:last].tolist()]
            ends = topic_interval(of_topic, topic, self.level, _DRAWS, halves)
            if ends is not None:
                return ends
        drawn = self._drawn_parameters(topic)
        if drawn is not None:
            return interval(drawn, self.level, halves)
        here = self._vectors.take(self._member_rows, np.arange(first, last))
        if isinstance(self._vectors, TermVectors):
            return interval_of_terms(here, self._vectors.shape, self.level, halves)
        return interval(self._vectors.dense(here)[:, None], self.level, halves)

    def _halves_of(self, topic: int) -> Int64s:
        """Half of its chain that each dish of a topic is in."""
        members, begins = self._dishes
        return self._halves[members[begins[topic] : begins[topic + 1], 1]]

    def _drawn_parameters(self, topic: int) -> Floats | None:
        """Draws of the parameters of a topic, as many from each of its dishes: shape (n, n_draws, ...)."""
        members, begins = self._dishes
        first, last = begins[topic : topic + 2].tolist()
        found = []
        for _, i, k, _ in members[first:last].tolist():
            drawn = self.samples[i].parameters.get("drawn")
            if drawn is None:
                return None
            found.append(drawn[k])
        each = min(len(drawn) for drawn in found)
        return np.array([drawn[:each] for drawn in found])

    @property
    def rows_lower(self) -> Floats:
        """Lower ends of the intervals of `rows`: shape (T, n_terms).

        They are from draws of the topic given each sample that has it (`Sample.draw_topics`), at least 400 in
        total,
        with fixed seeds. So they include the variation within a state and between states. For data other than
        terms
        the draws are those that the samples have, ``Sample.parameters["drawn"]``, or else their means.
        Computed once.
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

    def of_run(self, data: Any, states: Sequence[ChainState], totals: Int64s | None = None) -> Components:
        """These components with what is known of the run of the samples.

        Parameters
        ----------
        data : Corpus, Groups or Sequences
        states : sequence of ChainState
            The newest state of each chain.
        totals : int64 array, shape (n_groups,), optional
            Customers of each group, if the samples have only a part of them.
        """
        self._of = attrs.evolve(self._of, data=data, states=tuple(states), totals=totals)
        return self

    def named(self, names: Sequence[str]) -> Components:
        """The same components with these names.

        Parameters
        ----------
        names : sequence of str, length T
        """
        same = np.append(np.arange(len(self)), _NOBODY)
        return self._changed(self.samples, self._of_dishes, same, named=tuple(names))

    def term_means(self) -> Any:
        """Tokens of each term in each component, averaged over the samples: csr_array, shape (T, n_terms)."""
        pairs = zip(self.samples, self._of_dishes, strict=True)
        total = sum(chooser(own, len(self)).T @ sample.counts for sample, own in pairs)
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

    @property
    def own_names(self) -> list[Any]:
        """Names of the components, of kinds that give them names, or else their numbers from 1."""
        return list(self._of.named) or list(range(1, len(self) + 1))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Name of each component, or the label that somebody gave it (`hdpkit labels`); "" for none."""
        if self._of.named:
            return self._of.named
        if not self._of.label_rows:
            return ("",) * len(self)
        # Groups of components can only be components if these were merged.
        rows = [row for row in self._of.label_rows if self.merged_from is not None or row.topic is not None]
        return labels_for(self._of.folder, rows, *self.heaviest(), self.n_terms)

    @cached_property
    def typical_terms(self) -> list[Int64s]:
        """The three most relevant (Sievert & Shirley 2014) of each component's 50 most probable terms."""
        every = np.maximum(sum(self.shares[n] * row for n, row in enumerate(self)), 1e-300)
        both = (
            (terms, typical(weights, every[terms], _NAMED_BY))
            for _, terms, weights in self.top_terms(_NAMED_OF)
        )
        return [terms[chosen] for terms, chosen in both]

    @cached_property
    def titles(self) -> list[str]:
        """The label of each component, or else its three most typical words."""
        if all(self.labels):
            return list(self.labels)
        both = zip(self.labels, self.typical_terms, strict=True)
        return [label or " ".join(map(str, self.words(terms))) for label, terms in both]

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

    def documents(self) -> Iterator[DocumentShares]:
        """Shares of the components in all documents in order; a DataError if groups aren't documents."""
        return documents(self)

    def trends(self, by: str | None = None, labels: Int64s | None = None) -> Trends | None:
        """Shares by the first label of documents that has dates; None if there is none, or groups aren't
        documents.

        Parameters
        ----------
        by : str, optional
            Length of the periods, as in `hdpkit.summaries.trends`.
        labels : int64 array, shape (T,), optional
            Group of each component: shares are then those of the groups.
        """
        return trends_of(self, by, labels)

    def gather(self, proportions: Sequence[Floats]) -> Floats:
        """Mean weights of the components from weights of the dishes of the newest state of each chain.

        Parameters
        ----------
        proportions : sequence of float64 arrays, shape (n, K + 1)
            Of each of `states`.
        """
        pairs = zip(self.states, proportions, strict=True)
        each = [self.by_component(self.which(state.sample), weights) for state, weights in pairs]
        return np.asarray(np.mean(each, axis=0), dtype=np.float64)

    # ------------------------------------------------------------------ customers

    @property
    def memberships(self) -> Floats:
        """Posterior probability of each topic for each customer: float64, shape (n_customers, T + 1).

        The share of the samples in which the customer is in the component; the last column is the rest. In a
        `partition` a dish belongs to components by the shares of its points that they have. Computed at each
        access.
        A StateError if samples don't have the dishes of customers: of words in documents, or of too many
        customers.
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
            mean[groups] = self.group_rows(groups)
        return mean

    def group_rows(self, groups: slice) -> Floats:
        """Rows of `group_shares` for some groups."""
        found = self._of_components([sample.group_weights(groups) for sample in self.samples])
        return np.asarray(found.mean(axis=0), dtype=np.float64)

    @property
    def group_shares_lower(self) -> Floats:
        """Lower ends of the intervals of the shares in each group: shape (n_groups, T + 1).

        They are from draws given each sample by `Sample.draw_group_weights`, at least 400 in total, with a
        fixed
        seed. So they include the variation within a state and between states. Computed once.
        """
        return self._group_ends[0]

    @property
    def group_shares_upper(self) -> Floats:
        """Upper ends of the intervals of the shares in each group: shape (n_groups, T + 1)."""
        return self._group_ends[1]

    @cached_property
    def _group_ends(self) -> tuple[Floats, Floats, Floats]:
        """Lower and upper ends, and the lower ends before they are moved out."""
        lower, upper, found = (np.empty((self._n_groups, len(self) + 1)) for _ in range(3))
        each = max(_DRAWS_OF_A_STATE, -(-_DRAWS // len(self.samples)))
        source = as_source(_SEED, Purpose.OTHER)
        for groups in self._chunks(each):
            drawn = [
                self._of_components([sample.draw_group_weights(source, groups) for sample in self.samples])
                for _ in range(each)
            ]
            values, point = np.stack(drawn, axis=1), self.group_rows(groups)
            ends = interval(values, self.level, self._halves, point)
            lower[groups], upper[groups] = moved_out(ends, values, self._halves)
            found[groups] = ends[0]
        return lower, upper, found

    @property
    def group_totals(self) -> Int64s:
        """Customers of each group, also those that the samples don't have: int64, shape (n_groups,)."""
        if self._of.totals is not None:
            return self._of.totals
        return np.asarray(self.samples[0].group_counts.sum(axis=1), dtype=np.int64).ravel()

    @property
    def exposures(self) -> Floats:
        """`group_shares` times `group_totals`: customers by group and component (last the rest)."""
        return self.group_shares * self.group_totals[:, None]

    @property
    def exposures_lower(self) -> Floats:
        """Lower ends of the intervals of `exposures`: shape (n_groups, T + 1)."""
        return self.group_shares_lower * self.group_totals[:, None]

    @property
    def exposures_upper(self) -> Floats:
        """Upper ends of the intervals of `exposures`: shape (n_groups, T + 1)."""
        return self.group_shares_upper * self.group_totals[:, None]

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Where exposures are above 0 in each half of each chain: a lower end rounds to a customer or more.

        It is the end before it is moved out: a component isn't absent because chains differ on its share.
        """
        return np.asarray(self._group_ends[2] * self.group_totals[:, None] >= _ONE, dtype=np.bool_)

    @property
    def most_in(self) -> Int64s:
        """The fewest groups that have 80 % of the customers of each component: int64, shape (T,)."""
        largest_first = np.cumsum(-np.sort(-self.exposures[:, :-1], axis=0), axis=0)
        return 1 + np.count_nonzero(largest_first < _MOST * largest_first[-1:], axis=0)

    @property
    def in_few(self) -> npt.NDArray[np.bool_]:
        """Whether 80 % of a component are in 5 % of the groups, of at least 20: shape (T,)."""
        return np.asarray(self.most_in <= _FEW * self._n_groups, dtype=np.bool_)

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
            out[:] = self.by_component(own, of_dishes)
        return found

    def by_component(self, own: Int64s, of_dishes: Floats) -> Floats:
        """Weights of the dishes of a sample, of which ``own`` are the topics: shape (n, T + 1)."""
        out = np.zeros((len(of_dishes), len(self) + 1))
        out[:, :-1] = of_dishes[:, :-1] @ chooser(own, len(self))
        out[:, -1] = np.maximum(1.0 - out[:, :-1].sum(axis=1), 0.0)
        return out

    def effects(self, formula: str, table: Any = None) -> Effects:
        """How the shares of the components in groups depend on covariates of the groups, with intervals.

        The method of composition (Treier & Jackman 2008), as in ``estimateEffect`` of R's stm: the shares of
        the groups are drawn given each sample (at least 100 times in total) and regressed on the covariates
        by least squares, and the coefficients are drawn from their sampling law, a t distribution with
        standard errors that allow for unequal variances (HC3). So intervals include that groups are a sample
        of those that there could be. Each group counts the same. The model doesn't know the covariates: in a
        group of n customers it draws effects towards 0, by about the concentration divided by n plus the
        concentration.

        Raises a ParameterError if the formula can't be read, or has other names; a DataError if columns don't
        fit the groups, or the coefficients can't be told from each other; a StateError if there are no groups
        that have shares; a MissingExtraError without formulaic (``pip install 'hdpkit[effects]'``).

        Parameters
        ----------
        formula : str
            Terms on the right of a formula as formulaic reads it: ``"year + section"``, ``"year * section"``,
            ``"C(year)"``, ``"log(year)"``, ``"`a name`"`` for names with spaces.
        table : dict or pandas.DataFrame, optional
            Covariates by name, a value for each group in the order of ``names``; None, NaN or an empty text
            where it is not known. Numbers, and texts that are numbers, are numbers; dates become years with a
            fraction; other texts are categories. The labels of documents that a run keeps are there without
            it.
        """
        return effects_of(self, formula, table)

    # ------------------------------------------------------------------ hidden Markov models

    @cached_property
    def transitions(self) -> Floats:
        """Mean transition probabilities between the topics of a hidden Markov model, which are its states.

        float64, shape (T + 1, T + 1): row j is the mean of `Sample.transitions` over the samples that have
        topic j; the last row is that of the first observation of a sequence. The last column is the rest;
        rows sum to one. A StateError if the model isn't one of `hk.PreviousDish`.
        """
        rows = [np.concatenate([one.transitions(), one.start()[None]]) for one in self.samples]
        found: Floats = np.nanmean(self._between_components(rows), axis=0)
        return found

    @property
    def transitions_lower(self) -> Floats:
        """Lower ends of the intervals of `transitions`, from draws (`Sample.draw_transitions`)."""
        return self._transition_ends[0]

    @property
    def transitions_upper(self) -> Floats:
        """Upper ends of the intervals of `transitions`: shape (T + 1, T + 1)."""
        return self._transition_ends[1]

    @cached_property
    def _transition_ends(self) -> tuple[Floats, Floats]:
        each = max(_DRAWS_OF_A_STATE, -(-_DRAWS // len(self.samples)))
        source = as_source(_SEED, Purpose.OTHER)
        drawn = [
            self._between_components([sample.draw_transitions(source) for sample in self.samples])
            for _ in range(each)
        ]
        lower, upper = np.empty_like(self.transitions), np.empty_like(self.transitions)
        for j, rows in enumerate(np.moveaxis(np.stack(drawn, axis=1), 2, 0)):
            there = ~np.isnan(rows[:, 0, 0])
            ends = interval_of_shares(rows[there], self.level, self._halves[there], self.transitions[j])
            lower[j], upper[j] = ends
        return lower, upper

    def _between_components(self, rows: list[Floats]) -> Floats:
        """Rows of dishes and of the start, an array for each sample, by topic: (n_samples, T + 1, T + 1)."""
        found = np.full((len(rows), len(self) + 1, len(self) + 1), np.nan)
        for out, own, of_dishes in zip(found, self._of_dishes, rows, strict=True):
            by_topic = self.by_component(own, of_dishes)
            out[own[own >= 0]] = by_topic[:-1][own >= 0]
            out[-1] = by_topic[-1]
        return found

    # ------------------------------------------------------------------ fewer of them

    def agreed(self, occurrence: float = 0.5, chains: float = 0.5, cosine: float = 0.0) -> Int64s:
        """Numbers of the components that enough chains have, ascending.

        A chain has a component that is in at least the share ``occurrence`` of its samples. At least the
        share ``chains`` of the chains must have it, and at least two if there are several. ``selected`` keeps
        these. Returns an int64 array.

        Parameters
        ----------
        occurrence : float
            The smallest share of a chain's samples, from 0 to 1. A component must occur in at least one.
        chains : float
            The smallest share of the chains, from 0 to 1. 1: all chains; 0: at least one, also of several.
        cosine : float
            The smallest cosine between the means of a component in any two chains that have it, from 0 to 1;
            of components compared by another distance 1 minus the largest distance.
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

    @cached_property
    def settled(self) -> Bools:
        """Whether the chains agree on the share of each component: bool, shape (T,).

        Each chain has it in at least half of its samples, and the means of its share in any two chains differ
        by at most a standard deviation of the samples of a chain, or by a fifth of the share. A single chain
        can't show whether another would agree; its components are not settled.
        """
        of_chain = np.array([sample.chain for sample in self.samples])
        own = [self.shares_by_sample[of_chain == c, :-1] for c in self.chain_numbers]
        apart = np.ptp([one.mean(axis=0) for one in own], axis=0)
        within = np.sqrt(np.mean([one.var(axis=0) for one in own], axis=0))
        near = apart <= np.maximum(within, SETTLED * self.shares)
        everywhere = (self.occurrence_by_chain >= 0.5).all(axis=0)
        return np.asarray(near & everywhere & (len(own) > 1))

    @property
    def unsettled(self) -> Bools:
        """Where several chains don't agree on the share of a component (`settled`): bool, shape (T,)."""
        return np.asarray(~self.settled & (len(self.chain_numbers) > 1))

    def selected(self, which: Any) -> Components:
        """Some of the components, in descending order of their shares; the others belong to the rest.

        Parameters
        ----------
        which : sequence of int
            Numbers of the components to keep.
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
        names: dict[int, str] = {}  # of merged components that of the largest
        for name, number in zip(self._of.named, to.tolist(), strict=False):
            names.setdefault(number, name)
        names.pop(_NOBODY, None)
        changed = {"named": tuple(names[number] for number in sorted(names))} | changed
        vectors = self._vectors if samples is self.samples else self._vectors.over(tuple(samples))
        return Components(samples, labels, vectors, self.level, before=before, **(vars(self._of) | changed))

    def merged(self, labels: Any) -> Components:
        """Components with the same label as one, for instance those of a group of `group_topics`.

        Their customers are counted together. Merged components show less detail; they are no draw from the
        posterior of a model with fewer of them. Returns `Components` in descending order of their shares.

        Parameters
        ----------
        labels : array of int, shape (T,)
            Label of each component, for instance ``group_topics(found).cut(30)``; -1 for those that become
            part of the rest.
        """
        remedy = "group_topics(found).cut(30)."
        given = whole_numbers("labels", labels, -1, LARGEST, length=len(self), remedy=remedy)
        own = np.unique(given[given >= 0])
        return self.merged_by(np.where(given >= 0, np.searchsorted(own, given), -1))[0]

    def merged_by(self, to: Int64s, apart: int = 0) -> tuple[Components, Int64s]:
        """As `merged`, by labels 0, 1, ..., and for each label the number of its component."""
        n, samples, labels = int(to.max(initial=-1)) + 1, [], []
        for sample, component in zip(self.samples, self._of_dishes, strict=True):
            of_sample, own = joined(sample, np.where(component >= 0, to[component], -1), apart)
            samples.append(of_sample)
            labels.append(own)
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
        pairs = zip(self.samples, self._of_dishes, strict=True)
        weights = np.array([placed(one.root_weights[:-1], own, len(self) + 1) for one, own in pairs])
        weights[:, -1] = [one.root_weights.sum() for one in self.samples] - weights[:, :-1].sum(axis=1)
        mean: Floats = weights.mean(axis=0)
        return np.maximum(mean, 0.0) / mean.sum()

    @cached_property
    def concentration(self) -> float:
        """Posterior mean of the concentration of the groups."""
        if not self.samples[0].levels:
            remedy = "New groups need a level of their own."
            raise StateError("samples", "of a flat mixture", "of a model with groups", remedy)
        return float(np.mean([np.mean(sample.levels[-1].concentration) for sample in self.samples]))

    @cached_property
    def rest_row(self) -> Floats:
        """Everything in none of the components, as one topic: float64, shape (n_terms,).

        The mean over samples of their other dishes and of a new dish, by their weights in the root.
        """
        self._need_terms()
        assert isinstance(self._vectors, TermVectors)
        total, base = np.zeros(self._vectors.n_terms), np.zeros(self._vectors.n_terms)
        for sample, own in zip(self.samples, self._of_dishes, strict=True):
            others = np.flatnonzero(own < 0)
            rows = self._vectors.take(self._vectors.rows(sample), others)
            weights = sample.root_weights[others]
            total += weights @ rows.matrix + float(weights @ rows.base) * self._vectors.shape
            base += sample.root_weights[-1] * self._vectors.shape / self._vectors.shape.sum()
        found: Floats = total + base
        if not found.any():  # a finite model, all of whose dishes are components
            found = self._vectors.shape
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
        """
        return self.fixed_topics.fit(self._counts("data", data), TOLERANCE)

    @cached_property
    def fixed_topics(self) -> FixedTopics:
        """The model that this is; if topics differ by document, with posterior means of how they do."""
        repeats = Repeats(*np.mean([repeats_in(sample) for sample in self.samples], axis=0).tolist())
        prior = self.concentration * self.weights
        return FixedTopics.of((rows for _, rows in self.blocks()), self.rest_row, prior, repeats=repeats)

    def perplexity(self, observed: Any, held: Any) -> float:
        """Perplexity of the held-out halves of new groups, with shares fitted to the observed halves.

        Computed as by `hdpkit.evaluate` with method="completion" for a state, so the two can be compared.

        Parameters
        ----------
        observed, held : Corpus, or arrays of counts of shape (n_groups, n_terms)
            The two halves of each group, in the same order.
        """
        halves = self._counts("observed", observed), self._counts("held", held)
        return math.exp(-completion([self.fixed_topics], *halves, TOLERANCE))

    def _counts(self, name: str, given: Any) -> Any:
        self._need_terms()
        return counts_of(name, given, self.n_terms)

    def _need_terms(self) -> None:
        if not isinstance(self._vectors, TermVectors):
            raise StateError(
                "components", "of components by a function", "of topics by cosine",
                "Other components have no distributions over terms that could be mixed.",
            )  # fmt: skip

    # ------------------------------------------------------------------ tables

    def named_parameters(self, measure: BaseMeasure, columns: Any = None) -> dict[str, Floats]:
        """Parameters of the topics by name, with intervals, for data other than documents of terms.

        Where they are states of sequences of terms, the parameters are the probabilities of the terms.
        Returns a dict: name -> float64 array, shape (T, 3): the average of the posterior means over the
        samples that have the topic, and the ends of the interval, from draws of the parameters given each of
        these samples (``Sample.parameters["drawn"]``), or without draws from the posterior means.

        Parameters
        ----------
        measure : BaseMeasure
            That of the model, ``franchise.measure``, which gives the names: "mean[0]", "sd[0]".
        columns : sequence of str, optional
            Names of the dimensions of the data: ``franchise.data.columns``.
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
            drawn, halves = self._drawn_parameters(topic), self._halves_of(topic)
            varied = means if drawn is None else measure.named_parameters(np.concatenate(drawn), columns)
            for name, numbers in found.items():
                point = np.asarray(means[name], dtype=np.float64).mean()
                values = np.asarray(varied[name], dtype=np.float64).reshape(len(halves), -1)
                numbers[topic] = point, *interval(values, self.level, halves, point)
        return found

    def to_pandas(
        self,
        table: str = "topics",
        *,
        n_terms: int | None = 20,
        vocabulary: Any = None,
        measure: BaseMeasure | None = None,
    ) -> Any:
        """A tidy table: one row per observation; topics are numbered from 1, signatures have their names.

        Returns a ``pandas.DataFrame``. Raises a MissingExtraError without pandas
        (``pip install 'hdpkit[pandas]'``); a StateError if "topics" is requested for data other than terms.

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
            Words of the terms, for "topics", by default numbers; for "parameters" names of the dimensions.
        measure : BaseMeasure, optional
            For "parameters": ``franchise.measure``.
        """
        rows = pandas_rows(self, table, n_terms=n_terms, vocabulary=vocabulary, measure=measure)
        return data_frame(rows)

    def table(self, n_terms: int = 10) -> dict[str, Any]:
        """Columns of a table with a row for each component, as commands, exports and pages have it.

        Parameters
        ----------
        n_terms : int
            Number of terms of each component.

        Returns
        -------
        dict
            Name -> values: the number, from 1; of topics the group of similar ones and the label; of a
            partition of points the group; share, share_low, share_high, occurrence; of several chains
            settled; of topics in the documents of a run also tokens, document_share (of the documents, those
            of which at least 5 % of the tokens are of the topic), where topics select terms distinct_terms
            and sparsity, and the terms; of a run over numbers or sequences the parameters with the ends of
            their intervals.
        """
        return table_of(self, n_terms)

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
        # Of a topic that no newest state has: the distinct ones.
        selected = np.where(n > 0, selected / np.maximum(n, 1), distinct)
        sparsity = np.maximum(1.0 - selected / max(self.n_terms, 1), 0.0)
        return np.rint(distinct).astype(np.int64), sparsity

    def to_inference_data(self, *, rows: bool = True) -> Any:
        """Convert to data of ArviZ: the components in each sample, over chains and draws.

        Raises a MissingExtraError without ArviZ (``pip install 'hdpkit[arviz]'``).

        Parameters
        ----------
        rows : bool
            Whether to include the components themselves, which take 8 bytes for each sample, component and
            term.

        Returns
        -------
        xarray.DataTree, or arviz.InferenceData by ArviZ 0.x
            Coordinates ``chain``, ``draw`` (the sweep of the first chain), ``component`` (from 1) and, of
            topics, ``term``; in the group ``posterior`` ``share`` and ``rest`` (shares of the customers in
            each component, and in none), ``occurrence`` (1 where the sample has the component) and ``row``
            (probabilities of terms, or parameters; NaN in samples without the component). If chains have
            different numbers of samples, the first ones of each, with a warning.
        """
        of_chain = np.array([sample.chain for sample in self.samples])
        places = [np.flatnonzero(of_chain == chain) for chain in self.chain_numbers]
        n = cut_to([len(place) for place in places])
        draws = np.array([place[:n] for place in places])
        shares = self.shares_by_sample[draws]
        values: dict[str, Any] = {
            "share": shares[..., :-1], "rest": shares[..., -1],
            "occurrence": (self.ids_by_sample[draws] >= 0).astype(np.int64),
        }  # fmt: skip
        coords: dict[str, Any] = {
            "chain": list(self.chain_numbers),
            "draw": [self.samples[i].sweep for i in draws[0]],
            "component": np.arange(1, len(self) + 1),
        }
        if flag("rows", rows):
            values["row"] = np.stack([self._rows_in(i) for i in draws.ravel()]).reshape(
                *draws.shape, *self.rows.shape
            )
            if self.samples[0].counts is not None:
                coords["term"] = self.words(range(self.n_terms))
        dims = {name: ["component"] for name in ("share", "occurrence", "row")}
        dims["row"] += ["term"] if "term" in coords else []
        return arviz_data({"posterior": values}, coords, dims)

    def _rows_in(self, sample: int) -> Floats:
        """The components in a sample: shape (T, ...), NaN where it doesn't have one."""
        own, found = self._of_dishes[sample], np.full(self.rows.shape, np.nan)
        found[own[own >= 0]] = self._vectors.dense(self._vectors.rows(self.samples[sample]))[own >= 0]
        return found

    def match(self, other: Any, *, min_cosine: float = MIN_COSINE) -> TopicMatch:
        """Match these components with others, as `hdpkit.summaries.match_topics` does for runs.

        The first run of the result is these components.

        Parameters
        ----------
        other : Components or Signatures
        min_cosine : float
            The smallest cosine of two components that are the same, from 0 to 1.
        """
        return matched_components(self, other, min_cosine)

    def component_set(self, source: str) -> ComponentSet:
        """The topics as `hdpkit.summaries.match_topics` compares them: by terms, or else by customers.

        Parameters
        ----------
        source : str
            What they are topics of, in messages.
        """
        names = tuple(map(str, self.own_names))
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
