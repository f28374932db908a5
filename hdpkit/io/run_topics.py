"""The topics of a run, as shown and written: of one chain's newest state, or aligned over chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.data import Corpus
from hdpkit.errors import DataError
from hdpkit.franchise import Franchise, Sample
from hdpkit.schedule import Run
from hdpkit.summaries.aligned import AlignedTopics
from hdpkit.summaries.alignment import align_topics
from hdpkit.summaries.consensus import Consensus, consensus
from hdpkit.summaries.states import states_of_run

__all__ = ["RunTopics", "topics_of_run"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@attrs.frozen(eq=False, kw_only=True)
class RunTopics:
    """Topics of a run, numbered from the largest to the smallest.

    Attributes
    ----------
    source : str
        Where the topics are from, in words.
    shares : float64 array, shape (K,)
        Share of the tokens of each topic.
    topics : float64 array, shape (K, n_terms)
        Posterior mean probabilities of the terms; rows sum to one.
    groups : float64 array, shape (n_documents, K + 1)
        Posterior mean shares of the topics in the documents, with the rest in the last column; rows sum to
        one.
    names : tuple
        Names of the documents.
    places : tuple of int64 arrays
        For each chain's newest state the topic of each dish; -1 for dishes in no topic.
    occurrence : float64 array, shape (K,), or None
        Share of the samples that have each topic, if topics are aligned.
    intervals : float64 array, shape (K, 2), or None
        Intervals of the shares, if topics are aligned.
    aligned : AlignedTopics or None
        The alignment from which intervals are computed.
    common : int64 array, shape (K,), or None
        Number of each topic in ``aligned``.
    """

    source: str
    shares: Floats
    topics: Floats
    groups: Floats
    names: tuple[Any, ...]
    places: tuple[Ints, ...]
    occurrence: Floats | None = None
    intervals: Floats | None = None
    aligned: AlignedTopics | None = None
    common: Ints | None = None

    @property
    def n_topics(self) -> int:
        """Number of topics, K."""
        return len(self.shares)

    def top_terms(self, topic: int, n_terms: int) -> Ints:
        """The most probable terms of a topic in descending order of probability, ties by lower id.

        Parameters
        ----------
        topic : int
            Number of the topic, from 0.
        n_terms : int
            The largest number of terms.
        """
        row = self.topics[topic]
        n_terms = min(n_terms, len(row))
        some = np.argpartition(-row, n_terms - 1)[:n_terms] if n_terms < len(row) else np.arange(len(row))
        return np.asarray(some[np.lexsort((some, -row[some]))], dtype=np.int64)

    def term_intervals(self, topic: int, terms: Ints) -> tuple[Floats, Floats] | None:
        """Ends of the credible intervals of terms' probabilities in a topic; None if there are no samples.

        Parameters
        ----------
        topic : int
            Number of the topic, from 0.
        terms : int64 array

        Returns
        -------
        lower, upper : float64 arrays
        """
        if self.aligned is None or self.common is None:
            return None
        at = int(self.common[topic])
        return self.aligned.topics_lower[at, terms], self.aligned.topics_upper[at, terms]

    def gather(self, proportions: Sequence[Floats]) -> Floats:
        """Convert weights over dishes of the chains' states to weights over topics, averaged over the chains.

        Parameters
        ----------
        proportions : sequence of float64 arrays, shape (n, K_chain + 1)
            One for each of `places`; the last column is for new dishes.

        Returns
        -------
        float64 array, shape (n, K + 1)
            The last column is the rest; rows sum to one.
        """
        total = np.zeros((len(proportions[0]), self.n_topics + 1))
        for place, weights in zip(self.places, proportions, strict=True):
            at = np.append(np.where(place < 0, self.n_topics, place), self.n_topics)
            np.add.at(total.T, at, weights.T)
        return total / len(proportions)


def topics_of_run(
    run: Run, chain: int | None = None, *, intervals: bool = False
) -> tuple[RunTopics, list[Franchise]]:
    """The topics of a run, and the newest states of its chains.

    For one chain they are the dishes of its newest state, in descending order of their shares in it. For
    several chains the samples that the run kept after its burn-in and the newest states are aligned
    (`summaries.align_topics`), and the consensus is used: topics that occur in at least half of the samples
    of at least half of the chains.

    Parameters
    ----------
    run : Run
    chain : int, optional
        Number of a chain, to use only this one.
    intervals : bool
        For one chain: compute intervals and occurrence by comparing its newest state with the samples that it
        kept. Shares of topics, terms and documents are then means over the same samples. For several chains
        these are always computed.

    Raises
    ------
    RunError
        If no chain has a checkpoint.
    DataError
        If the data are not a corpus.
    """
    if not isinstance(run.data, Corpus):
        raise DataError(
            "data", type(run.data).__name__, "a Corpus, whose dishes are topics",
            "See hk.open_run(folder).franchise().dish_parameters().",
        )  # fmt: skip
    standing = [number for number, sweep in enumerate(run.sweeps) if sweep is not None]
    numbers = [standing[0] if standing else 0] if chain is None and len(standing) < 2 else [chain]
    if numbers != [None]:
        number = numbers[0] or 0
        franchise = _of_documents(run.franchise(number))
        source = f"the newest state of chain {numbers[0]} (sweep {franchise.sweep})"
        newest = franchise.sample()
        topics = _of_state(newest, source)
        return (_with_intervals(topics, run, number, newest) if intervals else topics), [franchise]
    samples, franchises = states_of_run(run)
    for franchise in franchises:
        _of_documents(franchise)
    states = [franchise.sample() for franchise in franchises]
    agreed = consensus(align_topics(samples))
    source = f"the consensus of {len(standing)} chains ({len(samples)} samples of {agreed.sweeps})"
    return _of_chains(agreed, states, source), franchises


def _of_documents(franchise: Franchise) -> Franchise:
    """The franchise, if the groups at its deepest level are the documents."""
    deepest = franchise.declarations[-1].each
    if deepest != "document":
        raise DataError(
            "restaurants", deepest, "with the documents as the groups of the deepest level",
            "hdpkit topics RUN --chain 0 prints the topics; hk.open_run(folder).franchise().sample() has the "
            "shares of the groups.",
        )  # fmt: skip
    return franchise


def _with_intervals(topics: RunTopics, run: Run, number: int, newest: Sample) -> RunTopics:
    """The topics of a state, with means and intervals over it and the samples that its chain kept.

    The numbers of the topics are those of the state alone.
    """
    samples, _ = states_of_run(run, number)
    if len(samples) < 2:
        return topics
    aligned = align_topics(samples, min_occurrence=0.0)  # so that each topic of the state is included
    common = aligned.which(newest)[np.argsort(topics.places[0])]
    return attrs.evolve(
        topics,
        source=f"{topics.source}, with means and intervals over {len(samples)} samples ({aligned.sweeps})",
        shares=aligned.shares[common],
        topics=aligned.topics[common],
        groups=aligned.group_shares[:, np.append(common, len(aligned))],
        occurrence=aligned.occurrence[common],
        intervals=np.column_stack([aligned.shares_lower, aligned.shares_upper])[common],
        aligned=aligned,
        common=common,
    )


def _of_chains(agreed: Consensus, newest: Sequence[Sample], source: str) -> RunTopics:
    return RunTopics(
        source=source,
        shares=agreed.shares,
        topics=agreed.topics,
        groups=agreed.group_shares,
        names=newest[0].names,
        places=tuple(agreed.which(sample) for sample in newest),
        occurrence=agreed.occurrence,
        intervals=np.column_stack([agreed.shares_lower, agreed.shares_upper]),
        aligned=agreed,
        common=np.arange(agreed.n_topics),
    )


def _of_state(sample: Sample, source: str) -> RunTopics:
    order = np.argsort(-sample.sizes, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return RunTopics(
        source=source,
        shares=sample.shares()[order],
        topics=sample.topics()[order],
        groups=sample.group_weights()[:, np.append(order, len(order))],
        names=sample.names,
        places=(place,),
    )
