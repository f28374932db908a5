"""Topics, shares of documents and held-out scores of a run over shards, one shard after another."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import flag, instance, positive_number, whole_number
from hdpkit.checks import path as path_of
from hdpkit.data import Corpus
from hdpkit.errors import DataError, ParameterError, RunError
from hdpkit.evaluation.completion import TOLERANCE
from hdpkit.evaluation.fixed_topics import FixedTopics, completion, halves, repeats_in
from hdpkit.franchise import FixedWeights, Restaurant
from hdpkit.franchise.sample import rows_at_once
from hdpkit.random import Purpose, Seed, as_source
from hdpkit.schedule import open_run
from hdpkit.schedule.states import ChainState
from hdpkit.shards.source import Source

__all__ = ["HeldOutScore", "ShardedState", "numbers_of"]

_CHUNK = 1 << 20


@attrs.frozen(kw_only=True, eq=False)
class HeldOutScore:
    """The result of `ShardedState.score`.

    Attributes
    ----------
    shards : int64 array, shape (n,)
        Numbers of the shards that were scored.
    log_probability : float64 array, shape (n,)
        Sum over the held-out tokens of each shard, in nats.
    tokens : int64 array, shape (n,)
        Number of held-out tokens of each shard.
    """

    shards: Int64s
    log_probability: Floats
    tokens: Int64s

    @property
    def perplexity(self) -> float:
        """exp(- mean log probability of a held-out token) over all these shards."""
        return float(np.exp(-self.log_probability.sum() / self.tokens.sum()))


@attrs.frozen(kw_only=True, eq=False)
class ShardedState:
    """The state of a run over shards at its last checkpoint. Topics are in descending order of size.

    Opened by `ShardedState.open`. Documents of only one shard are in memory at a time.

    Attributes
    ----------
    sweep : int
    counts : csr_array of int64, shape (K, n_terms)
        Number of tokens of each term in each topic.
    topic_counts : csr_array of int64, shape (K, n_terms)
        Counts from which topics are learned: tables of terms over a `Bursty` measure, otherwise `counts`.
    weights : float64 array, shape (K + 1,)
        Weights of the topics at the root; the last entry is the weight of all other topics.
    concentration : float
        Concentration of the documents.
    eta : float64 array, shape (n_terms,)
        Pseudo-counts of the terms in each topic.
    corpus : ShardedCorpus or CutCorpus
        The corpus of the run.
    """

    sweep: int
    counts: Any
    topic_counts: Any
    weights: Floats
    concentration: float
    eta: Floats
    corpus: Source
    _order: Int64s  # dish of each topic
    _state: ChainState

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        restaurant: Restaurant | None = None,
        corpus: Source | None = None,
        root: str | FixedWeights | None = None,
    ) -> ShardedState:
        """Read the last checkpoint of a run.

        Parameters
        ----------
        folder : path
            Folder of the run: ``hdpkit.shards.run(..., folder=folder)`` or ``hdpkit fit --shards``.
        restaurant : Restaurant, optional
        corpus : ShardedCorpus or CutCorpus, optional
        root : "weights" or FixedWeights, optional
            All three are compared with those of the run; it has its own.

        Raises
        ------
        RunError
            If the folder has no run over shards, or the run has no checkpoint or is another one.
        ShardError
            If a shard, or its state, is missing or damaged, when it is needed; the message names the shard.
        """
        place = path_of("folder", folder, remedy="Name the folder of a run over shards.")
        if restaurant is not None:
            instance("restaurant", restaurant, Restaurant, "a Restaurant", remedy="As for hdpkit.shards.run.")
        if corpus is not None:
            _check_source("corpus", corpus)
        run = open_run(place)
        if not hasattr(run.data, "shards"):
            raise RunError(
                "folder", str(place), "the folder of a run over shards", "hdpkit.shards.run(..., folder=...)."
            )
        state = run.state()
        declared = state.franchise
        for name, kept, given in (
            ("restaurant", declared.declarations[-1], restaurant),
            ("corpus", run.data.digest, None if corpus is None else corpus.digest),
            ("root", declared.root.declared, root),
        ):
            if given is not None and repr(kept) != repr(given):
                raise RunError(
                    f"{name}, in {place}", kept, f"the argument given now, {given}", "Leave it out."
                )
        sample = state.sample
        order = np.argsort(-sample.sizes, kind="stable")
        measure: Any = declared.measure
        return cls(
            sweep=sample.sweep, counts=sample.counts[order], topic_counts=sample.topic_counts[order],
            weights=sample.root_weights[[*order.tolist(), -1]],
            concentration=float(declared.concentration("document")),
            eta=np.asarray(measure.eta_vector, np.float64),
            corpus=run.data, order=order, state=state,
        )  # fmt: skip

    @property
    def n_topics(self) -> int:
        """K."""
        return int(self.counts.shape[0])

    @property
    def dish_counts(self) -> Int64s:
        """`counts` as an array: int64, shape (K, n_terms), computed at each access."""
        found: Int64s = self.counts.toarray()
        return found

    def topics(self) -> Floats:
        """Posterior means of the topics over terms given the state: float64, shape (K, n_terms)."""
        return self._rows(slice(None))

    def _rows(self, topics: slice) -> Floats:
        """Rows of `topics`: all of them may not fit in memory."""
        rows: Floats = self.topic_counts[topics].toarray() + self.eta
        rows /= rows.sum(axis=1, keepdims=True)
        return rows

    def top_terms(self, n: int = 10) -> list[list[Any]]:
        """The most probable terms of each topic: words, or ids where the corpus has no vocabulary.

        Parameters
        ----------
        n : int
            Number of terms per topic.
        """
        n = whole_number("n", n, 1, remedy="How many terms of a topic.")
        words = getattr(self.corpus, "vocabulary", None)
        step = rows_at_once(len(self.eta))
        blocks = (self._rows(slice(first, first + step)) for first in range(0, self.n_topics, step))
        found = (np.argsort(-topic, kind="stable")[:n].tolist() for rows in blocks for topic in rows)
        return [[v if words is None else words[v] for v in terms] for terms in found]

    def shares(self, number: int) -> dict[str, Any]:
        """Return the topics of the documents of a shard: for each document those to which its tokens belong.

        A document's share of each other topic k is ``concentration * weights[k] / (n + concentration)``, with
        n the number of its tokens. Documents without tokens are left out.

        Parameters
        ----------
        number : int
            Number of the shard, from 0.

        Returns
        -------
        dict
            Columns of one length: "document" (its name, or its number in the corpus, from 0), "topic" (from
            1), "tokens", and "share", the posterior mean given the state.

        Raises
        ------
        ShardError
            If the shard's state is missing or damaged.
        """
        block = self._state.blocks[self._number(number)]()
        cells = block.counts[:, self._order].tocoo()
        order = np.lexsort((cells.col, cells.row))
        document, topic, tokens = cells.row[order], cells.col[order], cells.data[order]
        total = np.asarray(block.corpus.document_lengths)[document] + self.concentration
        share = (tokens + self.concentration * self.weights[topic]) / total
        names: Any = document.astype(np.int64) + block.first
        if block.corpus.names is not None:
            names = [block.corpus.names[d] for d in document.tolist()]
        return {"document": names, "topic": topic.astype(np.int64) + 1, "tokens": tokens, "share": share}

    def score(
        self,
        data: Source,
        held_out: Source | None = None,
        *,
        shards: Sequence[int] | None = None,
        learn: bool = True,
        tolerance: float = TOLERANCE,
        rng: Seed = 0,
    ) -> HeldOutScore:
        """Score new documents by document completion, shard by shard.

        Proportions are fitted to the observed half of each document, and each token of the other half is
        scored: `TopicModel.score` of this state. Several processes can each score some of the shards.

        Parameters
        ----------
        data : ShardedCorpus or CutCorpus
            New documents over the terms of the run: complete or, with ``held_out``, their observed halves.
        held_out : ShardedCorpus or CutCorpus, optional
            The held-out halves: the same documents in the same shards. By default each document is split at
            random, half of its tokens (rounded down) observed; the split doesn't depend on the shards.
        shards : sequence of int, optional
            Numbers of the shards to score; by default all.
        learn : bool
            Whether topics learn the observed words of each document, or remain fixed.
        tolerance : float
            EM ends when no proportion changes by more than this.
        rng : seed
            For the split.

        Raises
        ------
        DataError
            If the terms differ from those of the run, the halves don't fit, or there is nothing to score.
        ShardError
            If a shard is missing or damaged.
        """
        flag("learn", learn)
        positive_number("tolerance", tolerance)
        numbers = numbers_of(shards, len(_check_source("data", data).shards))
        if held_out is not None:
            _check_halves(data, _check_source("held_out", held_out))
        for name, source in (("data", data), ("held_out", held_out or data)):
            if source.n_terms != len(self.eta):
                raise DataError(
                    name, f"{source.n_terms} terms", f"{len(self.eta)} terms, those of the run",
                    "Give the same terms in the same order.",
                )  # fmt: skip
        topics = self._fixed(learn)
        found = []
        for number, observed, held in _halves(data, held_out, numbers, rng):
            n = int(held.sum())
            mean = completion([topics], observed, held, tolerance) if n else 0.0
            found.append((number, mean * n, n))
        places, sums, tokens = (np.array(column) for column in zip(*found, strict=True))
        if not tokens.any():
            raise DataError(
                "data", "no token", "documents with at least one token to be scored", "All of them are empty."
            )
        return HeldOutScore(shards=places, log_probability=sums, tokens=tokens)

    def _fixed(self, learn: bool) -> FixedTopics:
        prior = self.concentration * self.weights
        mass = np.append(self.topic_counts.sum(axis=1), 0) + self.eta.sum()
        new, repeats = self.eta / self.eta.sum(), repeats_in(self._state.sample)
        return FixedTopics.of(self.topics(), new, prior, mass if learn else None, repeats)

    def _number(self, number: Any) -> int:
        return whole_number(
            "number", number, 0, len(self.corpus.shards) - 1, remedy="Shards are numbered from 0."
        )


def _check_source(name: str, source: Any) -> Source:
    if not all(hasattr(source, part) for part in ("shards", "shard", "n_terms", "digest")):
        raise ParameterError(
            name, source, "a corpus in shards",
            "hk.ShardedCorpus.open(folder), or hdpkit.shards.cut(corpus, n).",
        )  # fmt: skip
    checked: Source = source
    return checked


def _check_halves(data: Source, held_out: Source) -> None:
    one, other = ([info.n_documents for info in source.shards] for source in (data, held_out))
    if one != other:
        raise DataError(
            "held_out", f"shards of {other} documents", f"shards of {one} documents, as the data",
            "Give the same documents in the same shards.",
        )  # fmt: skip


def numbers_of(shards: Any, n: int) -> list[int]:
    """Return the chosen numbers of n shards, ascending; for None all of them."""
    if shards is None:
        return list(range(n))
    remedy = "Give numbers of shards, from 0, each once."
    given = list(shards) if isinstance(shards, Sequence | range) and not isinstance(shards, str) else []
    numbers = [whole_number("shards", one, 0, n - 1, remedy=remedy) for one in given]
    if not numbers or len(set(numbers)) < len(numbers):
        raise ParameterError("shards", shards, "a list of different numbers", remedy)
    return sorted(numbers)


def _halves(
    data: Source, held_out: Source | None, numbers: Sequence[int], rng: Seed
) -> Iterator[tuple[int, Any, Any]]:
    """Number, observed and held-out counts of each shard."""
    source = as_source(rng, Purpose.SPLIT)
    for number, info in enumerate(data.shards):
        if held_out is None and number not in numbers:
            for first in range(0, info.n_tokens, _CHUNK):  # halves don't depend on which shards are scored
                source.generator.random(min(_CHUNK, info.n_tokens - first))
        if number not in numbers:
            continue
        observed: Corpus = data.shard(number)
        if held_out is None:
            yield number, *halves(_matrix(observed), source)
        else:
            yield number, _matrix(observed), _matrix(held_out.shard(number))


def _matrix(corpus: Corpus) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array(corpus.to_counts())
