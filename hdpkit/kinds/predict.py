"""Predictions of a language model, averaged over samples of the posterior; and as a back-off model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Bools, Floats, Int32s, Int64s
from hdpkit.data import NGrams
from hdpkit.data.encode import NO_SYMBOL, UNKNOWN_SYMBOL, check_hashable
from hdpkit.data.files.sentences import Row
from hdpkit.data.ngrams import HeldOut
from hdpkit.errors import BusyError, DataError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import Snapshot
from hdpkit.measures.atomic import AtomicMeasure, Uniform
from hdpkit.random import ChoiceSource, Purpose, Streams


@attrs.frozen(eq=False, repr=False)
class Scores:
    """Scores of a text, one entry per token, including ends of sentences. Returned by `NGramModel.score`.

    Attributes
    ----------
    log_probability : float64 array, shape (n,)
        log P(token | context), nats; NaN for a token that can't be predicted.
    word : object array, shape (n,)
        The tokens.
    sentence : int64 array, shape (n,)
        Number of each token's sentence, from 0.
    is_unknown : bool array, shape (n,)
        Whether the token is outside the model's vocabulary.
    n_sentences : int
    """

    log_probability: Floats
    word: npt.NDArray[Any]
    sentence: Int64s
    is_unknown: Bools
    n_sentences: int

    def __len__(self) -> int:
        return len(self.log_probability)

    def __repr__(self) -> str:
        left_out = f", {self.n_unpredicted} of them left out" if self.n_unpredicted else ""
        return (
            f"<Scores: perplexity {self.perplexity:.6g} over {self.n_tokens} tokens of {self.n_sentences} "
            f"sentences, {self.n_unknown} unknown{left_out}>"
        )

    @property
    def n_tokens(self) -> int:
        """Number of tokens, including ends of sentences and unknown words."""
        return len(self)

    @property
    def n_unknown(self) -> int:
        """Number of tokens outside the vocabulary."""
        return int(np.count_nonzero(self.is_unknown))

    @property
    def is_predicted(self) -> Bools:
        """Whether each token has a probability: shape (n,)."""
        return ~np.isnan(self.log_probability)

    @property
    def n_unpredicted(self) -> int:
        """Number of tokens without a probability: unknown words, if the model has no word for them."""
        return len(self) - int(np.count_nonzero(self.is_predicted))

    @property
    def perplexity(self) -> float:
        """exp(- mean log_probability) of the tokens that have one ("without OOVs"); NaN if none has."""
        there = self.log_probability[self.is_predicted]
        with np.errstate(over="ignore"):
            return float(np.exp(-there.mean())) if len(there) else math.nan

    def by_sentence(self) -> npt.NDArray[Any]:
        """Scores by sentence: a structured array with sums, numbers and perplexity, shape (n_sentences,)."""
        there, n = self.is_predicted, self.n_sentences
        numbers = [(name, np.int64) for name in ("n_tokens", "n_unknown", "n_unpredicted")]
        rows = np.zeros(n, [("log_probability", np.float64), *numbers, ("perplexity", np.float64)])
        total = np.bincount(self.sentence[there], self.log_probability[there], n)
        predicted = np.bincount(self.sentence[there], minlength=n)
        rows["log_probability"] = total
        rows["n_tokens"] = np.bincount(self.sentence, minlength=n)
        rows["n_unknown"] = np.bincount(self.sentence[self.is_unknown], minlength=n)
        rows["n_unpredicted"] = rows["n_tokens"] - predicted
        mean = np.divide(total, predicted, out=np.full(n, np.nan), where=predicted > 0)
        with np.errstate(over="ignore"):
            rows["perplexity"] = np.exp(-mean)
        return rows


_NOBODY = -1  # a dish in no restaurant: its probability comes only from H


@attrs.frozen(eq=False)
class Posterior:
    """Samples of a franchise over n-grams, and predictions from their average."""

    franchise: Franchise
    samples: Sequence[Snapshot]
    unknown: int  # id of the word that replaces words outside the vocabulary, or -1
    # Stored once, since another thread may sweep, which is harmless here, or change the data.
    data: NGrams = attrs.field(init=False, default=attrs.Factory(lambda own: own.franchise.data, True))
    measure: AtomicMeasure = attrs.field(
        init=False, default=attrs.Factory(lambda own: own.franchise.measure, True)
    )
    topology: Any = attrs.field(init=False, default=attrs.Factory(lambda own: own.franchise.topology, True))

    def __attrs_post_init__(self) -> None:
        n_nodes = {self.topology.n_nodes, *(len(sample.concentration) for sample in self.samples)}
        if len(n_nodes) > 1:
            raise BusyError(
                "model", "given other data by another thread", "used by one thread while its data change",
                "Wait until add() or remove() is over.",
            )  # fmt: skip

    @property
    def base(self) -> Floats:
        """H of each atom and, last, of all others."""
        base = self.samples[-1].base
        assert base is not None
        return base

    # ------------------------------------------------------------------ words of a text

    def log_probabilities(self, text: HeldOut) -> Floats:
        """Log P(word | context) of every token: shape (n,), nats; NaN if a word can't be predicted."""
        dishes, above, log_new = self._dishes(text)
        total = np.zeros(len(text))
        for piece, contexts in text.contexts():
            nodes = self._nodes(contexts)
            for sample in self.samples:
                total[piece] += sample.probabilities(nodes, dishes[piece], above[piece])
        with np.errstate(divide="ignore"):
            found: Floats = np.log(total / len(self.samples)) + log_new
        return found

    def _dishes(self, text: HeldOut) -> tuple[Int32s, Floats, Floats]:
        """Dish of each token, its probability above the root, and a term to add to log P."""
        n_terms = self.data.n_terms
        above = np.append(self.base[:n_terms], np.ones(len(text.outside)))
        log_new = np.zeros(len(above))
        dishes = np.minimum(text.ids, n_terms)
        if self.unknown >= 0:
            above[n_terms:] = above[self.unknown]
            dishes[dishes == n_terms] = self.unknown
        else:
            log_new[n_terms:] = [self.log_new_word(word) for word in text.outside]
            dishes[dishes == n_terms] = _NOBODY
        return dishes.astype(np.int32), above[text.ids], log_new[text.ids]

    def log_new_word(self, word: Any) -> float:
        """Log H of a word outside the vocabulary, nats; NaN if it can't be predicted."""
        measure: Any = self.measure
        if measure.supports("log_probability_of"):
            return float(measure.log_probability_of(word))
        n = measure.n_terms or 0 if isinstance(measure, Uniform) else 0
        return -float(np.log(n)) if n > self.data.n_terms else math.nan  # an atom without a word in the text

    def unpredicted(self, parameter: str, word: Any) -> DataError:
        """The error for a word that can't be predicted."""
        return DataError(
            parameter, word, f"one of the {self.data.n_terms} words of the vocabulary",
            "Give an open base (base=hk.Uniform(V) with more atoms than words), or train with a word that "
            "stands for unknown ones (unknown=). score() leaves such words out and counts them.",
        )  # fmt: skip

    # ------------------------------------------------------------------ one context

    def context(self, context: Any) -> Int32s:
        """Numbers of a context's symbols, shape (1, order - 1), nearest first."""
        numbers = self.data.symbol_ids(context)
        if self.unknown >= 0:
            numbers[numbers == UNKNOWN_SYMBOL] = self.unknown
        laid = np.full((1, self.data.order - 1), NO_SYMBOL, np.int32)
        laid[0, : len(numbers)] = numbers
        return laid

    def node(self, context: Any) -> int:
        """The deepest existing restaurant for a context."""
        return int(self._nodes(self.context(context))[0])

    def _nodes(self, contexts: Int32s) -> Int32s:
        found: Int32s = self.topology.deepest(contexts)
        return found

    def probability(self, word: Any, context: Any) -> float:
        """P(word | context)."""
        dish = self.data.word_id(word)
        if dish < 0:
            dish = self.unknown
        above = float(self.base[dish] if dish >= 0 else np.exp(self.log_new_word(word)))
        if np.isnan(above):
            raise self.unpredicted("word", word)
        asked = (np.array([self.node(context)], np.int32), np.array([dish], np.int32), np.array([above]))
        return float(np.mean([sample.probabilities(*asked)[0] for sample in self.samples]))

    def row(self, node: int) -> tuple[Floats, float]:
        """P of every word of the vocabulary in a restaurant, shape (V,), and of all others."""
        mean = np.mean([sample.row(node) for sample in self.samples], axis=0)
        n_terms = self.data.n_terms
        return mean[:n_terms], float(mean[n_terms:].sum())


_TRIES = 10_000


def generate(
    posterior: Posterior, n: int, streams: Streams, context: Any, max_length: int, unknown: Any
) -> list[list[Any]]:
    """Draw ``n`` sentences (see `NGramModel.sample`), each word given a sample that is drawn for it."""
    data = posterior.data
    if context is None:
        before = [] if data.start is None else [data.start]
    elif isinstance(context, Sequence) and not isinstance(context, str | bytes):
        before = [check_hashable("context", symbol) for symbol in context]
    else:
        raise DataError("context", context, "a sequence of symbols, or None", 'Write it as ("of", "the").')
    sentences = []
    for number in range(n):
        # A stream for each sentence, so that the first three of ten sentences equal three drawn alone.
        source = streams.source(Purpose.SENTENCES, unit=number)
        words: list[Any] = []
        ended = False
        while not ended and len(words) < max_length:
            word = _word(posterior, [*before, *words[-data.order :]], source, unknown)
            ended = data.end is not None and word == data.end
            if not ended:
                words.append(word)
        sentences.append(words)
    return sentences


def _word(posterior: Posterior, context: Any, source: ChoiceSource, unknown: Any) -> Any:
    sample = posterior.samples[source.index(len(posterior.samples))]
    data, measure = posterior.data, posterior.measure
    row = sample.row(posterior.node(context))
    draw: Any = getattr(measure, "sample", None)
    if draw is None and unknown is None:
        row = row[: data.n_terms]  # other words have no written form
    drawn = source.choose(row)
    if drawn < data.n_terms:
        return data.vocabulary[drawn]
    for _ in range(_TRIES if draw is not None else 0):
        (word,) = draw(1, source)
        if data.word_id(word) < 0 and word != data.start:
            return word
    return unknown


START, END, UNKNOWN = "<s>", "</s>", "<unk>"  # names in the format

_START = -1  # number of the start among the symbols of contexts


@attrs.frozen(eq=False)
class _Entries:
    """The n-grams that occur: pairs of a restaurant and a dish in it, sorted, the same in every sample."""

    node: Int32s
    dish: Int32s
    probability: Floats  # P(dish | context of the restaurant), averaged over the samples: shape (n,)
    backoff: Floats  # (n_nodes,), weight of the parent for dishes that are not in the restaurant


def arpa_rows(posterior: Posterior, unknown: Any) -> list[Iterator[Row]]:
    """Rows of the unigrams, bigrams, ... for `write_arpa`."""
    if not posterior.data.is_sentences:
        raise DataError(
            "data", posterior.data, "made of sentences", "In pairs a context needn't be an n-gram itself."
        )
    words = _words(posterior.data, unknown)
    entries = _entries(posterior)
    topology: Any = posterior.franchise.topology
    longest = int(topology.level.max())  # text may be shorter than the order
    longer = (_longer(posterior, words, entries, length) for length in range(1, longest + 1))
    return [_unigrams(posterior, words, entries), *longer]


def _words(data: NGrams, unknown: Any) -> list[str]:
    """Words in the form of the file, with its names for the end and the unknown word."""
    names = {data.end: END, unknown: UNKNOWN}
    names.pop(None, None)
    words = [names.get(word, word) for word in data.vocabulary]
    taken: dict[str, Any] = {} if data.start is None else {START: data.start}
    for word, own in zip(words, data.vocabulary, strict=True):
        if not isinstance(word, str) or word in taken or (word == START and data.start is not None):
            raise DataError(
                "vocabulary", own, "strings, all different from the symbols of the format: <s>, </s>, <unk>",
                "Train on text in which words are strings.",
            )  # fmt: skip
        taken[word] = own
    return words


def _entries(posterior: Posterior) -> _Entries:
    first = posterior.samples[0].arrays()
    node, dish = first["node"], first["dish"]
    parent = posterior.franchise.topology.parent
    n_nodes, n = len(parent), len(posterior.samples)
    base = posterior.base[dish]
    above = np.where(parent[node] < 0, 0, parent[node]).astype(np.int32)
    total, (weighted, left, shares) = np.zeros(len(node)), np.zeros((3, n_nodes))
    for sample in posterior.samples:
        total += sample.probabilities(node, dish, base)
        # The weight of the parent's probability for dishes that a restaurant doesn't have.
        rest = 1.0 - np.bincount(node, sample.probabilities(above, dish, base), n_nodes)
        rest = np.maximum(rest, 0.0)
        share = _share(sample, n_nodes)
        weighted += share * rest
        left += rest
        shares += share
    backoff = np.divide(weighted, left, out=shares / n, where=left > 0.0)
    return _Entries(node, dish, total / n, backoff)


def _share(sample: Snapshot, n_nodes: int) -> Floats:
    """(theta + d T) / (theta + c) of every restaurant: the probability of a new table."""
    arrays = sample.arrays()
    customers = np.bincount(arrays["node"], arrays["customers"], n_nodes)
    tables = np.bincount(arrays["node"], arrays["tables"], n_nodes)
    theta, d = sample.concentration, sample.discount
    share: Floats = np.where(customers > 0, (theta + d * tables) / (theta + customers), 1.0)
    return share


def _log10(values: Floats) -> list[float]:
    with np.errstate(divide="ignore"):
        logs: list[float] = np.log10(values).tolist()
    return logs


def _unigrams(posterior: Posterior, words: list[str], entries: _Entries) -> Iterator[Row]:
    """All words of the vocabulary, the words outside it as one, and the start (which is never predicted)."""
    row, rest = posterior.row(0)
    contexts = np.arange(len(words), dtype=np.int32)
    if UNKNOWN not in words and rest > 0.0:
        row, words, contexts = np.append(row, rest), [*words, UNKNOWN], np.append(contexts, UNKNOWN_SYMBOL)
    if posterior.data.start is not None:
        row, words, contexts = np.append(row, 0.0), [*words, START], np.append(contexts, _START)
    weights = _weights(posterior, contexts[:, None].astype(np.int32), entries)
    return zip(_log10(row), zip(words), weights, strict=True)


def _longer(posterior: Posterior, words: list[str], entries: _Entries, length: int) -> Iterator[Row]:
    """The n-grams that occur: a context of ``length`` symbols and a word."""
    topology: Any = posterior.franchise.topology
    here = np.flatnonzero(topology.level[entries.node] == length)
    node, dish = entries.node[here], entries.dish[here]
    symbols = np.empty((len(here), 1 + length), np.int32)  # nearest first, as in contexts
    symbols[:, 0] = dish
    for place in range(length, 0, -1):
        symbols[:, place] = topology.tree.symbol[node]
        node = topology.parent[node]
    names = np.array([*words, START], dtype=object)  # index -1 is the start
    ngrams = zip(*names[symbols[:, ::-1].T].tolist(), strict=True)
    weights = _weights(posterior, symbols, entries)
    return zip(_log10(entries.probability[here]), ngrams, weights, strict=True)


def _weights(posterior: Posterior, contexts: Int32s, entries: _Entries) -> Iterator[float | None]:
    """log10 of the back-off weights of contexts; None for n-grams that aren't contexts."""
    length = contexts.shape[1]
    if length >= posterior.data.order:
        return repeat(None, len(contexts))
    topology: Any = posterior.franchise.topology
    node = topology.deepest(contexts)
    found = (topology.level[node] == length).tolist()
    weights = _log10(entries.backoff[node])
    return (weight if there else None for weight, there in zip(weights, found, strict=True))
