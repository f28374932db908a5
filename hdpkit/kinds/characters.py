"""A model of strings: an n-gram franchise over their characters, and probabilities of any string."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int32s
from hdpkit.checks import DAMAGED, fitting
from hdpkit.data import GroupedData, NGrams
from hdpkit.data.encode import NO_SYMBOL, UNKNOWN_SYMBOL, contexts_of
from hdpkit.franchise.declarations import Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import Snapshot
from hdpkit.franchise.topology import ContextTopology
from hdpkit.kinds.language import moves_for
from hdpkit.measures.atomic import AtomicMeasure
from hdpkit.numerics import exp_each, log, log_each
from hdpkit.random import ChoiceSource
from hdpkit.run.runs import Scheduler

_CODE_POINTS = 0x110000  # of Unicode, including surrogates, which a Python string may contain
_CHUNK = 1 << 16  # characters whose contexts are computed at once
_IMPOSSIBLE = UNKNOWN_SYMBOL + 1  # the number of a character outside the alphabet


@attrs.frozen(eq=False)
class Characters(AtomicMeasure):
    """The uniform distribution over an alphabet and the end of a string.

    Atoms are the symbols that occur, so the length of arrays is their number, not the size of the alphabet;
    all other symbols are the remainder.

    Parameters
    ----------
    alphabet : str or None
        The possible characters; None: all of Unicode.
    n_terms : int
        Number of symbols that occur, including the end.
    """

    alphabet: str | None
    n_terms: int = 1

    def for_data(self, data: GroupedData) -> Self:
        """Set the number of symbols from the data."""
        assert isinstance(data, NGrams)
        ready: Self = attrs.evolve(self, n_terms=data.n_terms)
        return ready

    @property
    def n_symbols(self) -> int:
        """Number of characters, plus one for the end."""
        return 1 + (_CODE_POINTS if self.alphabet is None else len(self.alphabet))

    def log_probabilities(self) -> Floats:
        """Return log H of the symbols that occur: shape (n_terms,), nats."""
        return np.full(self.n_terms, -log(self.n_symbols))

    @property
    def remainder(self) -> float:
        """Probability of all others."""
        return (self.n_symbols - self.n_terms) / self.n_symbols

    def draw_other(self, known: Iterable[str], source: ChoiceSource) -> str:
        """Draw a character that isn't among the known ones (of which there are n_terms - 1)."""
        number = source.index(self.n_symbols - self.n_terms)
        if self.alphabet is not None:
            return [character for character in self.alphabet if character not in set(known)][number]
        for code in sorted(map(ord, known)):
            number += code <= number
        return chr(number)


class StringModel:
    """Predictive probabilities of strings by an n-gram franchise over characters, averaged over some states.

    A string's probability is the average over these states of prod_i P(c_i | characters before it). All
    factors are given the same state, which the string doesn't change. The last factor is that of the end.

    Parameters
    ----------
    franchise : Franchise
        Its data are strings as sentences; its measure is a `Characters`.
    samples : sequence of Snapshot
        Its states.
    """

    def __init__(self, franchise: Franchise, samples: Sequence[Snapshot]) -> None:
        assert isinstance(franchise.data, NGrams)
        assert isinstance(franchise.measure, Characters)
        self._restaurant = franchise.declarations[-1]
        self._data = franchise.data
        self._characters = franchise.measure
        self._topology = franchise.topology
        self._samples = samples
        self._ids = {symbol: number for number, symbol in enumerate(self._data.vocabulary)}
        self._lock = threading.Lock()  # copies of a franchise in several threads share a model

    @classmethod
    def fitted(
        cls, words: Iterable[str], restaurant: Restaurant, store: str, sweeps: int, samples: int, seed: int
    ) -> StringModel:
        """Run a franchise over these words, each a sentence, and keep states of its second half."""
        # The symbols of start and end are longer than one character, so no character equals them.
        data = NGrams.from_sentences(map(list, words), order=len(restaurant.chain()))
        franchise = Franchise(restaurant, data, store=store)
        step = max(1, sweeps // (2 * samples))
        kept = range(sweeps, 0, -step)[:samples]
        draws = Scheduler(moves_for(restaurant)).sample(franchise, sweeps, rng=seed)
        return cls(franchise, [franchise.snapshot() for draw in draws if draw.sweep in kept])

    def __reduce__(self) -> Any:
        return _restored, (self._restaurant, self._data, [sample.arrays() for sample in self._samples])

    def log_probabilities(self, words: Sequence[str]) -> Floats:
        """Return log H of strings, known or new: shape (n,), nats; -inf if a character isn't possible."""
        offsets = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum([len(word) + 1 for word in words], out=offsets[1:])
        n, end = int(offsets[-1]), self._data.end
        symbols = itertools.chain.from_iterable((*word, end) for word in words)
        ids = np.fromiter((self._id(symbol) for symbol in symbols), np.int32, n)
        logs = np.zeros((len(self._samples), len(words)))
        for first in range(0, n, _CHUNK):
            last = min(first + _CHUNK, n)
            nodes, these = self._nodes(ids, offsets, first, last), ids[first:last]
            above = np.where(these == _IMPOSSIBLE, 0.0, 1.0 / self._characters.n_symbols)
            owner = np.searchsorted(offsets, np.arange(first, last), side="right") - 1
            into = slice(owner[0], owner[-1] + 1)
            for number, sample in enumerate(self._samples):
                with self._lock:
                    factors = sample.probabilities(nodes, these, above)
                logs[number, into] += np.bincount(owner - owner[0], log_each(factors))
        highest = np.maximum(logs.max(axis=0), -np.finfo(np.float64).max)  # -inf - -inf is NaN
        total = np.zeros(len(words))
        for one in logs:
            total += exp_each(one - highest)
        return highest + log_each(total / len(logs))

    def _id(self, symbol: str) -> int:
        found = self._ids.get(symbol)
        if found is not None:
            return found
        possible = self._characters.alphabet
        return UNKNOWN_SYMBOL if possible is None or symbol in possible else _IMPOSSIBLE

    def draw(self, source: ChoiceSource) -> str:
        """Draw a string."""
        sample = self._samples[source.index(len(self._samples))]
        symbols, order = self._data.vocabulary, self._data.order
        drawn: list[str] = []
        while True:
            # enough preceding characters to determine whether the context reaches the start
            near = [self._ids.get(character, UNKNOWN_SYMBOL) for character in drawn[-order:]]
            history = np.array([*near, NO_SYMBOL], dtype=np.int32)
            n = len(history)
            node = int(self._nodes(history, np.array([0, n]), n - 1, n)[0])
            with self._lock:
                row = sample.row(node)
            chosen = source.choose(row)
            if chosen < len(symbols) and symbols[chosen] == self._data.end:
                return "".join(drawn)
            known = chosen < len(symbols)
            drawn.append(symbols[chosen] if known else self._draw_other(source))

    def _draw_other(self, source: ChoiceSource) -> str:
        known = [symbol for symbol in self._data.vocabulary if symbol != self._data.end]
        return self._characters.draw_other(known, source)

    def _nodes(self, ids: Int32s, offsets: npt.NDArray[np.int64], first: int, last: int) -> Int32s:
        """The deepest restaurant of the context of each of the symbols first .. last - 1."""
        if not isinstance(self._topology, ContextTopology):  # order 1: there is only the root
            return np.zeros(last - first, dtype=np.int32)
        return self._topology.deepest(contexts_of(ids, offsets, first, last, self._data.order - 1, -1))


def _restored(restaurant: Restaurant, data: NGrams, arrays: list[dict[str, Any]]) -> StringModel:
    with fitting("pickle of Spelling", "the samples of a spelling", remedy=DAMAGED):
        franchise = Franchise(restaurant, data)
        return StringModel(franchise, [Snapshot(franchise, one) for one in arrays])
