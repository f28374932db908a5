"""The topics of a run, as shown and written: of one chain's newest state, or aligned over chains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.errors import DataError
from hdpkit.franchise import Sample
from hdpkit.franchise.sample import rows_at_once
from hdpkit.schedule import Run
from hdpkit.schedule.states import ChainState
from hdpkit.summaries.aligned import AlignedTopics
from hdpkit.summaries.alignment import align_topics
from hdpkit.summaries.consensus import Consensus, consensus
from hdpkit.summaries.diagnosis import states_of_run
from hdpkit.summaries.vectors import ComponentSet

__all__ = ["DocumentShares", "RunTopics", "component_set_of_run", "topics_of_run"]


_BLOCK = 1 << 14  # documents of which there are shares at once, at most
_SHARES = 1 << 22  # shares of documents that are in memory at once


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
        lower, upper = self.aligned._ends_of(int(self.common[topic]))
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


def _largest(row: Floats, n_terms: int) -> Int64s:
    """The terms with the largest values, in descending order; ties by lower id."""
    n_terms = min(n_terms, len(row))
    some = np.argpartition(-row, n_terms - 1)[:n_terms] if n_terms < len(row) else np.arange(len(row))
    return np.asarray(some[np.lexsort((some, -row[some]))], dtype=np.int64)


def topics_of_run(
    run: Run, chain: int | None = None, *, intervals: bool = False
) -> tuple[RunTopics, list[ChainState]]:
    """The topics of a run, and the newest states of its chains."""
    standing = [number for number, sweep in enumerate(run.sweeps) if sweep is not None]
    numbers = [standing[0] if standing else 0] if chain is None and len(standing) < 2 else [chain]
    if numbers != [None]:
        number = numbers[0] or 0
        state = _of_documents(run.state(number))
        source = f"the newest state of chain {numbers[0]} (sweep {state.sample.sweep})"
        topics = _of_state(state, source)
        return (_with_intervals(topics, run, number, state.sample) if intervals else topics), [state]
    samples, states = states_of_run(run)
    for state in states:
        _of_documents(state)
    agreed = consensus(align_topics(samples))
    source = f"the consensus of {len(standing)} chains ({len(samples)} samples of {agreed.sweeps})"
    return _of_chains(agreed, states, source), states


def component_set_of_run(run: Run, source: str) -> ComponentSet:
    """The topics of a run, or its components if its data are numbers, to be matched with those of another."""
    if hasattr(run.data, "n_documents"):
        return topics_of_run(run)[0].component_set(source)
    samples, states = states_of_run(run)
    agreed = consensus(align_topics(samples))
    measure, columns = states[0].franchise.measure, getattr(run.data, "columns", None)
    parameters = agreed.named_parameters(measure, columns)

    def words(component: int, n: int) -> list[str]:
        shown = [f"{name}={values[component, 0]:.3g}" for name, values in parameters.items()]
        return shown[:n]

    return attrs.evolve(agreed.component_set(source), words=words, data=run.data_digest)


def _of_documents(state: ChainState) -> ChainState:
    """The state, if the groups at its deepest level are the documents of a corpus."""
    state.check_corpus()
    deepest = state.franchise.declarations[-1].each
    if deepest != "document":
        raise DataError(
            "restaurants", deepest, "with the documents as the groups of the deepest level",
            "hdpkit topics RUN --chain 0 prints the topics; hk.open_run(folder).franchise().sample() has the "
            "shares of the groups.",
        )  # fmt: skip
    return state


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


def _with_intervals(topics: RunTopics, run: Run, number: int, newest: Sample) -> RunTopics:
    """The topics of a state, with means and intervals over it and the samples that its chain kept.

    The numbers of the topics are those of the state alone.
    """
    samples, _ = states_of_run(run, number)
    if len(samples) < 2:
        return topics
    aligned = align_topics(samples, min_occurrence=0.0)  # so that each topic of the state is included
    common = aligned.which(newest)[np.argsort(topics.places[0])]
    columns = np.append(common, len(aligned))
    return attrs.evolve(
        topics,
        source=f"{topics.source}, with means and intervals over {len(samples)} samples ({aligned.sweeps})",
        shares=aligned.shares[common],
        rows=lambda which: aligned._topic_rows(common[which]),
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


def _of_chains(agreed: Consensus, states: Sequence[ChainState], source: str) -> RunTopics:
    newest, data = states[0].sample, states[0].data
    return RunTopics(
        source=source,
        shares=agreed.shares,
        rows=agreed._topic_rows,
        documents=_in_blocks(data, newest.names, agreed._group_rows, _width(agreed.samples, agreed.n_topics)),
        data=data,
        term_counts=np.asarray(newest.counts.sum(axis=0), dtype=np.int64),
        places=tuple(agreed.which(state.sample) for state in states),
        occurrence=agreed.occurrence,
        intervals=np.column_stack([agreed.shares_lower, agreed.shares_upper]),
        aligned=agreed,
        common=np.arange(agreed.n_topics),
    )


def _of_state(state: ChainState, source: str) -> RunTopics:
    sample = state.sample
    order = np.argsort(-sample.sizes, kind="stable")
    columns, place = np.append(order, len(order)), np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))

    def documents() -> Iterator[DocumentShares]:
        for block in state.documents():
            found = block.sample
            assert found is not None  # `_of_documents`

            def shares(chosen: slice, found: Sample = found) -> Floats:
                return found.group_weights(chosen)[:, columns]

            yield from _in_blocks(block.corpus, found.names, shares, 2 * sample.n_dishes)()

    return RunTopics(
        source=source,
        shares=sample.shares()[order],
        rows=lambda which: sample._topics_of(order[which]),
        documents=documents,
        data=state.data,
        term_counts=np.asarray(sample.counts.sum(axis=0), dtype=np.int64),
        places=(place,),
    )
