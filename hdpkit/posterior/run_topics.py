"""The topics of a run, as shown and written: of one chain's newest state, or aligned over chains."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.data.files.dates import date_keys, periods_of
from hdpkit.errors import DataError
from hdpkit.franchise.sample import Sample, rows_at_once
from hdpkit.posterior.aligned import AlignedTopics
from hdpkit.posterior.alignment import align_topics
from hdpkit.posterior.consensus import in_common
from hdpkit.posterior.grouping import TopicGroups, frequent_terms, group_topics, jensen_shannon, usual_groups
from hdpkit.posterior.merging import merged_alignment, merged_sample
from hdpkit.posterior.salso import canonical_by
from hdpkit.posterior.settled import states_of_run
from hdpkit.posterior.topic_labels import LABELS, LabelRow, heaviest_terms, labels_for, read_topic_labels
from hdpkit.posterior.trends import Trends, shares_in
from hdpkit.posterior.vectors import ComponentSet
from hdpkit.run.runs import Run
from hdpkit.run.states import ChainState, Documents

_BLOCK = 1 << 14  # documents of which there are shares at once, at most
_SHARES = 1 << 22  # shares of documents that are in memory at once
_NAMED_BY = 3  # words
_FEWEST = 4  # topics that are grouped
_VALUES = 1000  # of a label by which shares are written, at most
_IN_TREE = 500  # topics whose distances are computed; each further one joins the nearest group


@attrs.frozen(eq=False)
class DocumentShares:
    """Shares of the topics in consecutive documents."""

    names: Sequence[Any]  # or numbers
    lengths: Int64s  # in tokens
    shares: Floats  # posterior means (n, K + 1), the rest in the last column; rows sum to one


@attrs.frozen(eq=False, kw_only=True)
class RunTopics:
    """Topics of a run, numbered from the largest to the smallest."""

    source: str  # where the topics are from, in words
    shares: Floats  # share of the tokens of each topic
    # given numbers of topics, posterior mean probabilities (n, n_terms), whose rows sum to one; see `blocks`
    rows: Callable[[Int64s], Floats]
    # all documents in order; one block is in memory at a time
    documents: Callable[[], Iterator[DocumentShares]]
    data: Any  # the corpus of the run
    term_counts: Int64s  # tokens of each term in the corpus
    # for each chain's newest state the topic of each dish; -1 for dishes in no topic
    places: tuple[Int64s, ...]
    occurrence: Floats | None = None  # share of the samples that have each topic, if aligned
    intervals: Floats | None = None  # of the shares (K, 2), if aligned
    aligned: AlignedTopics | None = None  # from which intervals are computed
    common: Int64s | None = None  # number of each topic in ``aligned``
    everything: AlignedTopics | None = None  # all topics that were aligned, of which some are left out
    merged_from: int | None = None  # number of topics before similar ones were merged; None if none were
    given_labels: tuple[str, ...] = ()  # label of each topic, "" for none; empty if nobody gave any
    label_rows: tuple[LabelRow, ...] = ()  # of the file with the labels
    folder: Path | None = None  # of the run
    sample: Sample | None = None  # the state, if they are of a state

    @property
    def n_topics(self) -> int:
        """Number of topics, K."""
        return len(self.shares)

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return int(self.data.n_terms)

    @property
    def topics(self) -> Floats:
        """All `rows`: float64, shape (K, n_terms), computed at each access."""
        return self.rows(np.arange(self.n_topics))

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """The `rows` of all topics in order, some at a time, with the number of the first of them."""
        step = rows_at_once(self.n_terms)
        for first in range(0, self.n_topics, step):
            yield first, self.rows(np.arange(first, min(first + step, self.n_topics)))

    def top_by_topic(self, n_terms: int) -> Iterator[tuple[int, Int64s, Floats]]:
        """The number of each topic, its most probable terms (see `top_terms`), and their probabilities."""
        for first, rows in self.blocks():
            for topic, row in enumerate(rows, start=first):
                terms = _largest(row, n_terms)
                yield topic, terms, row[terms]

    @property
    def labels(self) -> tuple[str, ...]:
        """Label that somebody gave to each topic, "" for none."""
        return self.given_labels or ("",) * self.n_topics

    @cached_property
    def names(self) -> list[str]:
        """The label of each topic, or else its first three words."""
        top = self.top_by_topic(_NAMED_BY)
        return [label or _words(self, terms) for label, (_, terms, _) in zip(self.labels, top, strict=True)]

    def heaviest(self) -> tuple[Int64s, Floats]:
        """The heaviest terms of each topic, by which labels find their topics."""
        found = [heaviest_terms(rows) for _, rows in self.blocks()]
        if not found:
            return np.empty((0, 1), np.int64), np.empty((0, 1))
        return np.concatenate([ids for ids, _ in found]), np.concatenate([weights for _, weights in found])

    @property
    def document_labels(self) -> dict[str, tuple[Int64s, Sequence[Any]]]:
        """Labels of the documents, such as dates and groups: name -> (codes, keys)."""
        names = [name for name in getattr(self.data, "label_names", ()) if name != "document"]
        return {name: self.data.document_labels[name] for name in names}

    @cached_property
    def _dated(self) -> str | None:
        """The first label of documents that has dates."""
        return next((name for name, own in self.document_labels.items() if date_keys(own[1])), None)

    def trends(self, labels: Int64s | None = None, by: str | None = None) -> Trends | None:
        """Shares of the topics, or of their groups, by the first label of documents that has dates.

        None if there is none, or the groups of the deepest level aren't documents. Periods: see `trends`.
        """
        if self._dated is None:
            return None
        codes, keys = self.document_labels[self._dated]
        return self._shares_in(*periods_of([None if c < 0 else keys[c] for c in codes.tolist()], by), labels)

    def shares_by_label(self) -> dict[str, Trends]:
        """Shares of the topics by each label but that with dates, if it has at most 1,000 values."""
        made = {
            name: self._shares_in(list(map(str, keys)), codes)
            for name, (codes, keys) in self.document_labels.items()
            if name != self._dated and 0 < len(keys) <= _VALUES
        }
        return {name: shares for name, shares in made.items() if shares is not None}

    def _shares_in(self, names: Sequence[str], which: Int64s, labels: Int64s | None = None) -> Trends | None:
        topics = self.sample if self.aligned is None else self.aligned
        if topics is None:
            return None
        samples = (topics,) if isinstance(topics, Sample) else topics.samples
        if any(sample.n_groups != len(which) for sample in samples):
            return None
        own = np.arange(self.n_topics) if labels is None else labels
        n = int(own.max()) + 1
        if isinstance(topics, Sample):
            to = own[self.places[0]]
        else:
            # Aligned topics that aren't of the run have the number n, which is left out below.
            to = np.full(len(topics), n, dtype=np.int64)
            to[self.common] = own
        made = shares_in(topics, names, which, to)
        ends = [None if end is None else end[:, :n] for end in (made.lower, made.upper)]
        return attrs.evolve(made, shares=made.shares[:, :n], lower=ends[0], upper=ends[1])

    def in_groups(self) -> GroupedTopics | None:
        """The topics in the usual number of groups; None for fewer than four, and for merged topics."""
        return None if self.n_topics < _FEWEST or self.merged_from is not None else self.grouped()

    def grouped(self, n_groups: int | None = None) -> GroupedTopics:
        """The topics in this many groups of similar ones, by default the usual number of them."""
        k = self.n_topics
        rows = [frequent_terms(rows, self.term_counts) for _, rows in self.blocks()]
        compared = np.concatenate(rows) if rows else np.empty((0, 1))
        n = min(k, usual_groups(k) if n_groups is None else n_groups, _IN_TREE)
        tree = group_topics(compared[:_IN_TREE], self.shares[:_IN_TREE], n)
        near = jensen_shannon(compared[_IN_TREE:], tree.means()).argmin(axis=1)
        group = canonical_by(np.append(tree.cut(), near), self.shares)
        return GroupedTopics(tree=tree, group=group, topics=self)

    def words(self, terms: Iterable[Any]) -> list[Any]:
        """The words of terms, or their numbers if the corpus has no vocabulary."""
        vocabulary = self.data.vocabulary
        return [int(v) if vocabulary is None else vocabulary[int(v)] for v in terms]

    def top_terms(self, topic: int, n_terms: int) -> Int64s:
        """The most probable terms of a topic in descending order of probability, ties by lower id."""
        return _largest(self.rows(np.array([topic]))[0], n_terms)

    def term_intervals(self, topic: int, terms: Int64s) -> tuple[Floats, Floats] | None:
        """Ends of the credible intervals of terms' probabilities in a topic; None if there are no samples."""
        if self.aligned is None or self.common is None:
            return None
        lower, upper = self.aligned.ends_of(int(self.common[topic]))
        return lower[terms], upper[terms]

    def component_set(self, source: str) -> ComponentSet:
        """The topics, to be matched with those of another run; names count from 1."""
        vocabulary = self.data.vocabulary
        return ComponentSet(
            source=source,
            names=tuple(str(k + 1) for k in range(self.n_topics)),
            shares=self.shares,
            columns=self.n_terms if vocabulary is None else vocabulary,
            rows=self.rows,
            words=lambda topic, n: list(map(str, self.words(self.top_terms(topic, n)))),
        )

    def gather(self, proportions: Sequence[Floats]) -> Floats:
        """Convert weights over dishes of the chains' states to mean weights over topics."""
        total = np.zeros((len(proportions[0]), self.n_topics + 1))
        for place, weights in zip(self.places, proportions, strict=True):
            at = np.append(np.where(place < 0, self.n_topics, place), self.n_topics)
            np.add.at(total.T, at, weights.T)
        return total / len(proportions)


@attrs.frozen(eq=False, kw_only=True)
class GroupedTopics:
    """Topics of a run in groups of similar topics, which are numbered from the largest to the smallest."""

    tree: TopicGroups  # of the 500 largest topics
    group: Int64s  # of each topic
    topics: RunTopics

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group.max()) + 1

    @property
    def shares(self) -> Floats:
        """Share of the tokens of each group."""
        return np.asarray(np.bincount(self.group, weights=self.topics.shares), dtype=np.float64)

    @property
    def members(self) -> list[list[int]]:
        """Numbers of the topics of each group, from 1."""
        return [(np.flatnonzero(self.group == g) + 1).tolist() for g in range(self.n_groups)]

    def means(self) -> Floats:
        """Mean topic of each group, weighting its topics by their shares; rows sum to one."""
        total = np.zeros((self.n_groups, self.topics.n_terms))
        for first, rows in self.topics.blocks():
            of = slice(first, first + len(rows))
            np.add.at(total, self.group[of], rows * self.topics.shares[of, None])
        return total / np.maximum(total.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)

    def top_terms(self, n_terms: int) -> list[Int64s]:
        """The most probable terms of each group."""
        return [_largest(row, n_terms) for row in self.means()]

    def heaviest(self) -> tuple[Int64s, Floats]:
        """The heaviest terms of each group, by which labels find their groups."""
        return heaviest_terms(self.means())

    @cached_property
    def names(self) -> list[str]:
        """The label of each group, or else its first three words."""
        both = zip(self.labels, self.top_terms(_NAMED_BY), strict=True)
        return [label or _words(self.topics, terms) for label, terms in both]

    @property
    def labels(self) -> tuple[str, ...]:
        """Label that somebody gave to each group, "" for none."""
        rows = [row for row in self.topics.label_rows if row.topic is None]
        if not rows or self.topics.folder is None:
            return ("",) * self.n_groups
        return labels_for(self.topics.folder, rows, *self.heaviest(), self.topics.n_terms)

    def nearest(self, rows: Floats) -> Int64s:
        """The group that is nearest to each of other topics, given as probabilities of terms."""
        compared = frequent_terms(rows, self.topics.term_counts)
        # Groups of the tree are in another order if small topics outside it have changed their sizes.
        to = np.zeros(self.n_groups, dtype=np.int64)
        cut = self.tree.cut()
        to[cut] = self.group[: len(cut)]
        return np.asarray(to[jensen_shannon(compared, self.tree.means()).argmin(axis=1)])


def _words(topics: RunTopics, terms: Int64s) -> str:
    return " ".join(map(str, topics.words(terms)))


def _largest(row: Floats, n_terms: int) -> Int64s:
    """The terms with the largest values, in descending order; ties by lower id."""
    n_terms = min(n_terms, len(row))
    least = np.partition(row, len(row) - n_terms)[len(row) - n_terms] if n_terms else np.inf
    some = np.flatnonzero(row >= least)
    return np.asarray(some[np.argsort(-row[some], kind="stable")][:n_terms], dtype=np.int64)


def topics_of_run(
    run: Run,
    chain: int | None = None,
    *,
    intervals: bool = False,
    about: int | None = None,
    documents: bool = True,
    labelled: bool = True,
) -> tuple[RunTopics, list[ChainState]]:
    """The topics of a run, and the newest states of its chains.

    With ``about`` similar topics are merged until so many are left. Unless ``documents`` is False, the groups
    of the deepest level must be documents; otherwise `RunTopics.documents` can't be used. Topics have the
    labels of the file labels.csv in the folder of the run, unless ``labelled`` is False.
    """
    topics, states = _topics_of_run(run, chain, intervals, about, documents)
    return (_labelled(topics, run) if labelled else topics), states


def _labelled(topics: RunTopics, run: Run) -> RunTopics:
    """The topics with the labels that the file in the folder of the run has for them, if there is one."""
    if not os.path.lexists(run.folder / LABELS):
        return topics
    rows = read_topic_labels(run.folder / LABELS, topics.n_terms)
    # Groups can only be topics if topics were merged.
    own = rows if topics.merged_from is not None else [row for row in rows if row.topic is not None]
    labels = labels_for(run.folder, own, *topics.heaviest(), topics.n_terms)
    return attrs.evolve(topics, given_labels=labels, label_rows=tuple(rows), folder=run.folder)


def _topics_of_run(
    run: Run, chain: int | None, intervals: bool, about: int | None, documents: bool
) -> tuple[RunTopics, list[ChainState]]:
    standing = [number for number, sweep in enumerate(run.sweeps) if sweep is not None]
    if chain is None and len(standing) < 2:
        chain = standing[0] if standing else 0
    if chain is not None:
        state = run.state(chain)
        if documents:
            _of_documents(state)
        source = f"the newest state of chain {chain} (sweep {state.sample.sweep})"
        topics = _of_state(state, source)
        to = _cut(topics, about)
        if to is not None:
            topics = _merged(topics, state, to)
        return (_with_intervals(topics, run, chain, state.sample, to) if intervals else topics), [state]
    samples, states = states_of_run(run)
    for state in states if documents else ():
        _of_documents(state)
    everything = align_topics(samples)
    agreed = in_common(everything)
    source = f"the consensus of {len(standing)} chains ({len(samples)} samples of {agreed.sweeps})"
    topics = _of_chains(agreed, states, source, everything)
    to = _cut(topics, about)
    if to is not None:
        fewer, place = merged_alignment(agreed, to)
        places = tuple(np.append(place[to], -1)[of] for of in topics.places)
        made = _of_chains(fewer, states, _merged_source(topics), None, places)
        topics = attrs.evolve(made, merged_from=topics.n_topics)
    return topics, states


def _cut(topics: RunTopics, about: int | None) -> Int64s | None:
    """Number of the merged topic of each topic; None if there are no more topics than requested."""
    return None if about is None or about >= topics.n_topics else topics.grouped(about).group


def _merged_source(topics: RunTopics) -> str:
    return f"a cut of the tree of the {topics.n_topics} topics of {topics.source}: similar ones are merged"


def merged_state(state: ChainState, to: Int64s) -> ChainState:
    """A state whose dishes are merged by label; its franchise keeps them."""
    n = int(to.max(initial=-1)) + 1
    chooser = scipy.sparse.csr_array(
        (np.ones(len(to), dtype=np.int64), (np.arange(len(to)), to)), (len(to), n)
    )

    def merged(block: Callable[[], Documents]) -> Callable[[], Documents]:
        def documents() -> Documents:
            found = block()
            sample = None if found.sample is None else merged_sample(found.sample, to)
            return attrs.evolve(found, counts=scipy.sparse.csr_array(found.counts @ chooser), sample=sample)

        return documents

    return attrs.evolve(
        state, sample=merged_sample(state.sample, to), blocks=tuple(map(merged, state.blocks))
    )


def _merged(topics: RunTopics, state: ChainState, to: Int64s) -> RunTopics:
    """The topics of a state, merged by label."""
    of_dish = to[topics.places[0]]
    made = _of_state(merged_state(state, of_dish), _merged_source(topics))
    places = (made.places[0][of_dish],)
    return attrs.evolve(made, places=places, sample=state.sample, merged_from=topics.n_topics)


def component_set_of_run(run: Run, source: str) -> ComponentSet:
    """The topics of a run, or its components if its data are numbers, to be matched with those of another."""
    if hasattr(run.data, "n_documents"):
        return topics_of_run(run)[0].component_set(source)
    found = components_of_run(run)

    def words(component: int, n: int) -> list[str]:
        shown = [f"{name}={values[component, 0]:.3g}" for name, values in found.parameters.items()]
        return shown[:n]

    return attrs.evolve(found.agreed.component_set(source), words=words, data=run.data_digest)


@attrs.frozen(eq=False)
class RunComponents:
    """Components of numbers that the states of a run have in common."""

    agreed: AlignedTopics
    parameters: dict[str, Floats]  # by name: mean and ends of the interval of each component (T, 3)
    source: str  # where they are from, in words


def components_of_run(run: Run, chain: int | None = None) -> RunComponents:
    """The components of a run over numbers, or of one of its chains."""
    from hdpkit.posterior.points import components_in_common  # runs over documents don't need it

    samples, states = states_of_run(run, chain)
    agreed, _ = components_in_common(samples)
    measure = states[0].franchise.measure
    columns = getattr(run.data, "columns", None) or getattr(run.data, "vocabulary", None)
    n = len(states)
    of = f"chain {chain}" if chain is not None else f"{n} chains" if n > 1 else "one chain"
    source = f"{len(samples)} {'state' if len(samples) == 1 else 'states'} of {of} ({agreed.sweeps})"
    return RunComponents(agreed, agreed.named_parameters(measure, columns), source)


def _of_documents(state: ChainState) -> None:
    """Raise an error unless the groups at the state's deepest level are the documents of a corpus."""
    state.check_corpus()
    deepest = state.franchise.declarations[-1].each
    if deepest != "document":
        raise DataError(
            "restaurants", deepest, "with the documents as the groups of the deepest level",
            "hdpkit topics RUN --chain 0 prints the topics; hk.open_run(folder).franchise().sample() has the "
            "shares of the groups.",
        )  # fmt: skip


def _in_blocks(
    data: Any, names: Sequence[Any], shares: Callable[[slice], Floats], width: int
) -> Callable[[], Iterator[DocumentShares]]:
    """The documents of a corpus in memory, in blocks, from a function that has the shares of some.

    ``width`` is the number of dishes or topics of which each document has a share.
    """
    step = max(1, min(_BLOCK, _SHARES // (width + 1)))

    def documents() -> Iterator[DocumentShares]:
        for first in range(0, data.n_documents, step):
            chosen = slice(first, min(first + step, data.n_documents))
            yield DocumentShares(names[chosen], data.document_lengths[chosen], shares(chosen))

    return documents


def _with_intervals(topics: RunTopics, run: Run, number: int, newest: Sample, to: Int64s | None) -> RunTopics:
    """The topics of a state, with means and intervals over it and the samples that its chain kept.

    The numbers of the topics are those of the state alone. ``to`` has the number of the merged topic of each.
    """
    samples, _ = states_of_run(run, number)
    if len(samples) < 2:
        return topics
    aligned = align_topics(samples, min_occurrence=0.0)  # so that each topic of the state is included
    common = aligned.which(newest)
    if to is None:
        common = common[np.argsort(topics.places[0])]
    else:
        labels = np.full(len(aligned), -1, dtype=np.int64)
        labels[common] = topics.places[0]
        aligned, common = merged_alignment(aligned, labels)
    columns = np.append(common, len(aligned))
    return attrs.evolve(
        topics,
        source=f"{topics.source}, with means and intervals over {len(samples)} samples ({aligned.sweeps})",
        shares=aligned.shares[common],
        rows=lambda which: aligned.topic_rows(common[which]),
        documents=_in_blocks(
            topics.data,
            newest.names,
            lambda chosen: aligned._group_rows(chosen)[:, columns],
            _width(samples, len(aligned)),
        ),
        occurrence=aligned.occurrence[common],
        intervals=np.column_stack([aligned.shares_lower, aligned.shares_upper])[common],
        aligned=aligned,
        common=common,
    )


def _width(samples: Sequence[Sample], n_topics: int) -> int:
    """Numbers that a block of shares needs for each document: dishes of all samples, and the topics."""
    return sum(2 * sample.n_dishes + n_topics for sample in samples)


def _of_chains(
    agreed: AlignedTopics,
    states: Sequence[ChainState],
    source: str,
    everything: AlignedTopics | None,
    places: tuple[Int64s, ...] | None = None,
) -> RunTopics:
    newest, data = states[0].sample, states[0].data
    return RunTopics(
        source=source,
        shares=agreed.shares,
        rows=agreed.topic_rows,
        documents=_in_blocks(data, newest.names, agreed._group_rows, _width(agreed.samples, len(agreed))),
        data=data,
        term_counts=np.asarray(newest.counts.sum(axis=0), dtype=np.int64),
        places=places or tuple(agreed.which(state.sample) for state in states),
        everything=everything,
        occurrence=agreed.occurrence,
        intervals=np.column_stack([agreed.shares_lower, agreed.shares_upper]),
        aligned=agreed,
        common=np.arange(agreed.n_topics),
    )


def topics_of_state(state: ChainState, source: str, about: int | None = None) -> RunTopics:
    """The topics of a state, the largest first; with ``about`` similar ones are merged to so many."""
    topics = _of_state(state, source)
    to = _cut(topics, about)
    return topics if to is None else _merged(topics, state, to)


def _of_state(state: ChainState, source: str) -> RunTopics:
    state.check_corpus()
    sample = state.sample
    order = np.argsort(-sample.sizes, kind="stable")
    columns, place = np.append(order, len(order)), np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))

    def documents() -> Iterator[DocumentShares]:
        for block in state.documents():
            found = block.sample
            if found is None:
                _of_documents(state)
            assert found is not None

            def shares(chosen: slice, found: Sample = found) -> Floats:
                return found.group_weights(chosen)[:, columns]

            yield from _in_blocks(block.corpus, found.names, shares, 2 * sample.n_dishes)()

    return RunTopics(
        source=source,
        shares=sample.shares()[order],
        rows=lambda which: sample.topics_of(order[which]),
        documents=documents,
        data=state.data,
        term_counts=np.asarray(sample.counts.sum(axis=0), dtype=np.int64),
        places=(place,),
        sample=sample,
    )
