"""Components that samples have in common, with credible intervals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import choice, instance, items, whole_number
from hdpkit.errors import DataError, ParameterError, StateError
from hdpkit.franchise.sample import Sample
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.posterior.intervals import central, central_of_terms, holding, topic_interval
from hdpkit.posterior.settled import sweeps_text
from hdpkit.posterior.vectors import ComponentSet, TermVectors, Vectors
from hdpkit.random import Purpose, as_source
from hdpkit.run.tables import data_frame

_AT_ONCE = 1 << 24  # shares of groups that are in memory at once
_DRAWS = 400  # of the shares of each group, for intervals
_DRAWS_OF_A_STATE = 5  # at least
_SEED = 0
_TABLES = ("topics", "parameters", "shares", "weights", "transitions", "trace")
_NOBODY = -1


class AlignedTopics:
    """Topics (components of any measure) that samples have in common. See `align_topics`, which makes them.

    Topic j is the same in every sample and chain. The topics are in descending order of their shares.
    Everything else in a sample is its *rest*: dishes that too few samples have, and new dishes.

    Attributes
    ----------
    samples : tuple of Sample
    level : float
        Probability of the intervals: ``X_lower`` and ``X_upper`` are quantiles of X over the samples and, for
        ``topics``, parameters and ``group_shares``, over draws of them given each sample. An end beyond which
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
        Mean distance of a topic's dishes from their mean, as `align_topics` compared them.
    label, names
        What the groups are, and their names, as in the samples.
    """

    def __init__(
        self, samples: Sequence[Sample], labels: Sequence[Int64s], vectors: Vectors, level: float
    ) -> None:
        self.samples = tuple(samples)
        self.level = level
        self._vectors = vectors
        n = int(max((one.max(initial=_NOBODY) for one in labels), default=_NOBODY)) + 1
        shares = np.zeros((len(self.samples), n))
        for row, sample, own in zip(shares, self.samples, labels, strict=True):
            row[own[own >= 0]] = sample.shares()[own >= 0]
        order = np.argsort(-shares.mean(axis=0), kind="stable")
        rank = np.append(np.argsort(order, kind="stable"), _NOBODY)  # the last is that of -1
        self._labels = [rank[one] for one in labels]
        shares = shares[:, order]
        # Rounding mustn't give a negative rest, which would be shown as -0.0 %.
        self.shares_by_sample = np.column_stack([shares, np.maximum(1.0 - shares.sum(axis=1), 0.0)])
        self.ids_by_sample = np.full((len(self.samples), n), _NOBODY, dtype=np.int64)
        for ids, sample, own in zip(self.ids_by_sample, self.samples, self._labels, strict=True):
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
            f"{len(self.chain_numbers)} chains, {self.rest:.1%} of the data in no topic>"
        )

    @property
    def n_topics(self) -> int:
        """Number of topics, T."""
        return len(self)

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
        instance("sample", sample, Sample, "one of the samples", remedy="See AlignedTopics.samples.")
        # Samples of several runs can have the same chain, sweep and ids, so the sample itself goes first.
        pairs = list(zip(self.samples, self._labels, strict=True))
        found = [labels for one, labels in pairs if one is sample] or [
            labels
            for one, labels in pairs
            if (one.chain, one.sweep) == (sample.chain, sample.sweep) and np.array_equal(one.ids, sample.ids)
        ]
        if not found:
            raise ParameterError(
                "sample", sample, "one of the samples that were aligned",
                "Align the topics with it among them.",
            )  # fmt: skip
        return found[0].copy()

    def _members(self) -> tuple[Any, Int64s]:
        """Rows of all dishes that are in a topic, ordered by topic, and the topic of each."""
        rows = self._vectors.stack([self._vectors.rows(sample) for sample in self.samples])
        labels = np.concatenate(self._labels)
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
        labels = np.concatenate([place[self._labels[i]] for i, _ in of_chain])
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
    def topics(self) -> Floats:
        """Mean of each topic over the samples that have it: float64, shape (T, n_terms); rows sum to one.

        For data other than terms, the mean of the parameters, shape (T, ...).
        """
        return self.topic_rows(np.arange(len(self)))

    def topic_rows(self, which: Int64s) -> Floats:
        """Rows of `topics` for some topics: all of them may not fit in memory."""
        return self._vectors.dense(self._vectors.take(self._means, which))

    @cached_property
    def _topic_ends(self) -> tuple[Floats, Floats]:
        lower, upper = np.empty_like(self.topics), np.empty_like(self.topics)
        for topic in range(len(self)):
            lower[topic], upper[topic] = self.ends_of(topic)
        return lower, upper

    def ends_of(self, topic: int) -> tuple[Floats, Floats]:
        """Rows of `topics_lower` and `topics_upper` for one topic."""
        return holding(self._quantiles_of(topic), self.topic_rows(np.array([topic]))[0])

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
        labels = np.concatenate(self._labels)
        order = np.argsort(labels, kind="stable")
        order = order[labels[order] >= 0]
        sizes = [len(one) for one in self._labels]
        sample = np.repeat(np.arange(len(sizes)), sizes)
        dish = np.concatenate([np.arange(n) for n in sizes])
        begins = np.searchsorted(labels[order], np.arange(len(self) + 1))
        return np.column_stack([sample, dish])[order], begins

    @cached_property
    def _member_rows(self) -> Any:
        return self._members()[0]

    @property
    def topics_lower(self) -> Floats:
        """Lower ends of the intervals of `topics`: shape (T, n_terms).

        They are quantiles over draws of the topic from its posterior (`Sample.draw_topics`): the same number
        for each sample that has it, and at least 400 in total. So they include the variation within a state
        and between states. For data other than terms the draws are those that the samples have,
        ``Sample.parameters["drawn"]``. If a sample has only the means of its components, the ends are
        quantiles of these means. The seeds of the draws are fixed. Computed once.
        """
        return self._topic_ends[0]

    @property
    def topics_upper(self) -> Floats:
        """Upper ends of the intervals of `topics`: shape (T, n_terms)."""
        return self._topic_ends[1]

    # ------------------------------------------------------------------ customers

    @property
    def memberships(self) -> Floats:
        """Posterior probability of each topic for each customer: float64, shape (n_customers, T + 1).

        The share of the samples in which the customer is in the topic; the last column is the rest, and rows
        sum to one. Computed at each access.

        Raises
        ------
        StateError
            If samples don't have the dishes of customers: of words in documents, or of too many customers.
        """
        return self._memberships(np.arange(len(self) + 1)).T

    def _memberships(self, which: Int64s) -> Floats:
        """Rows of some topics, shape (n, n_customers); number T is the rest."""
        place = np.full(len(self) + 1, -1, dtype=np.int64)
        place[which] = np.arange(len(which))
        found: Floats | None = None
        for sample, own in zip(self.samples, self._labels, strict=True):
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
        found = self._of_topics([sample.group_weights(groups) for sample in self.samples])
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
                self._of_topics([sample.draw_group_weights(source, groups) for sample in self.samples])
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

    def _of_topics(self, weights: list[Floats]) -> Floats:
        """Weights of dishes, an array for each sample, summed by topic: shape (n_samples, n, T + 1)."""
        found = np.zeros((len(weights), len(weights[0]), len(self) + 1))
        for out, own, of_dishes in zip(found, self._labels, weights, strict=True):
            out[:] = self._by_topic(own, of_dishes)
        return found

    def _by_topic(self, own: Int64s, of_dishes: Floats) -> Floats:
        """Weights of the dishes of a sample, of which ``own`` are the topics: shape (n, T + 1)."""
        out = np.zeros((len(of_dishes), len(self) + 1))
        out[:, own[own >= 0]] = of_dishes[:, :-1][:, own >= 0]
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
        found: Floats = np.nanmean(self._between_topics(rows), axis=0)
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
                self._between_topics([sample.draw_transitions(source) for sample in self.samples])
                for _ in range(each)
            ]
        )
        lower, upper = np.empty_like(self.transitions), np.empty_like(self.transitions)
        for j, rows in enumerate(np.moveaxis(drawn, 1, 0)):
            there = rows[~np.isnan(rows[:, 0])]
            lower[j], upper[j] = holding(central(there, self.level), self.transitions[j])
        return lower, upper

    def _between_topics(self, rows: list[Floats]) -> Floats:
        """Rows of dishes and of the start, an array for each sample, by topic: (n_samples, T + 1, T + 1).

        Rows of topics that a sample doesn't have are NaN.
        """
        found = np.full((len(rows), len(self) + 1, len(self) + 1), np.nan)
        for out, own, of_dishes in zip(found, self._labels, rows, strict=True):
            by_topic = self._by_topic(own, of_dishes)
            out[own[own >= 0]] = by_topic[:-1][own >= 0]
            out[-1] = by_topic[-1]
        return found

    # ------------------------------------------------------------------ fewer of them

    def selected(self, topics: Any) -> AlignedTopics:
        """Return the alignment with only some of its topics; the others belong to the rest.

        Parameters
        ----------
        topics : sequence of int
            Numbers of the topics to keep.

        Returns
        -------
        AlignedTopics
        """
        return AlignedTopics(self.samples, self._kept(topics), self._vectors, self.level)

    def _kept(self, topics: Any) -> list[Int64s]:
        """Labels in which these topics are 0, 1, ... and the others -1."""
        given = items("topics", topics, "a sequence of numbers of topics", remedy="For instance range(10).")
        to = np.full(len(self) + 1, _NOBODY, dtype=np.int64)
        for place, topic in enumerate(given):
            topic = whole_number("topics", topic, 0, len(self) - 1, remedy="See AlignedTopics.n_topics.")
            if to[topic] != _NOBODY:
                raise ParameterError("topics", topics, "each topic once", "Leave the second one out.")
            to[topic] = place
        return [to[one] for one in self._labels]

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
                raise StateError("samples", "of terms", "of numbers", "See AlignedTopics.topics.")
            numbers = np.stack([self.topics, self.topics_lower, self.topics_upper], axis=-1)
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
            raise StateError("table", "topics", "of data that are terms", "See AlignedTopics.topics.")
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
            row = self.topic_rows(np.array([topic]))[0]
            terms[topic] = np.argsort(-row, kind="stable")[:most]
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
            return ComponentSet(
                source=source, names=names, shares=self.shares, columns=last.shape[1], rows=self._memberships,
                words=lambda topic, n: [],
            )  # fmt: skip

        def words(topic: int, n: int) -> list[str]:
            row = self.topic_rows(np.array([topic]))[0]
            return [str(v) for v in np.argsort(-row, kind="stable")[:n]]

        return ComponentSet(
            source=source,
            names=names,
            shares=self.shares,
            columns=int(self.samples[0].counts.shape[1]),
            rows=self.topic_rows,
            words=words,
        )

    def __iter__(self) -> Iterator[Floats]:
        return (self.topic_rows(np.array([topic]))[0] for topic in range(len(self)))
