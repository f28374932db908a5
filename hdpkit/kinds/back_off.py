"""Conversion of language models to back-off models, for other tools."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int32s
from hdpkit.data import NGrams
from hdpkit.data.encode import UNKNOWN_SYMBOL
from hdpkit.data.files.sentences import Row
from hdpkit.errors import DataError
from hdpkit.franchise.freezing import Snapshot
from hdpkit.kinds.predict import Posterior

START, END, UNKNOWN = "<s>", "</s>", "<unk>"  # names in the format

_START = -1  # number of the start among the symbols of contexts


@attrs.frozen(eq=False)
class _Entries:
    """The n-grams that occur: pairs of a restaurant and a dish in it, sorted by restaurant and dish.

    They are the same in every sample: a restaurant has the dishes of its data and of the restaurants below
    it.

    Attributes
    ----------
    node, dish : int32 arrays, shape (n,)
    probability : float64 array, shape (n,)
        P(dish | context of the restaurant), averaged over the samples.
    backoff : float64 array, shape (n_nodes,)
        Weight of each restaurant's parent for the dishes that are not in the restaurant.
    """

    node: Int32s
    dish: Int32s
    probability: Floats
    backoff: Floats


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
    total, weighted, left, shares = (
        np.zeros(len(node)),
        np.zeros(n_nodes),
        np.zeros(n_nodes),
        np.zeros(n_nodes),
    )
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
