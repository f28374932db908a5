"""Text to be predicted, encoded with the fixed vocabulary of other data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int32s
from hdpkit.data.encode import NO_SYMBOL, UNKNOWN_SYMBOL, contexts_of, outside_sentences
from hdpkit.data.ngrams import NGrams

_CHUNK = 1 << 16  # tokens whose contexts are computed at once


@attrs.frozen(eq=False)
class HeldOut:
    """Tokens to be predicted, with their contexts, encoded with the ids of other data."""

    ids: Int32s  # from the data's n_terms on they are those of the words in ``outside``
    offsets: npt.NDArray[np.int64]  # sentence s is ids[offsets[s] : offsets[s + 1]]
    outside: tuple[Any, ...]  # words outside the data's vocabulary, each once
    _contexts: Callable[[int, int], Int32s]

    def __len__(self) -> int:
        return len(self.ids)

    def contexts(self) -> Iterator[tuple[slice, Int32s]]:
        """Yield slices of the text and the contexts of their tokens.

        Contexts are as in `NGrams.contexts`, with the symbols of the data; UNKNOWN_SYMBOL for others.
        """
        for first in range(0, len(self), _CHUNK):
            last = min(first + _CHUNK, len(self))
            yield slice(first, last), self._contexts(first, last)


def held_out(data: NGrams, text: Any, unknown: int = -1) -> HeldOut:
    """Encode a text with the vocabulary, the order and the markers of other data.

    The text is as in `NGrams.from_sentences`, or NGrams with another vocabulary. ``unknown`` is the id that
    replaces words outside the vocabulary in contexts; -1 for none.
    """
    words, symbols = data.word_ids, data.symbol_numbers
    if isinstance(text, NGrams):
        ids, outside = _renumbered(text.vocabulary, words)
        mine = text.with_order(data.order)
        values = ids[mine.values]
        # Numbers of symbols in contexts: first those of words, then -1, -2, ...
        numbers = _as_symbols(text.vocabulary, words, symbols, unknown)
        others = _as_symbols(text.context_symbols, words, symbols, unknown)[::-1]
        table = np.concatenate([numbers, others]) if len(numbers) + len(others) else np.zeros(1, np.int32)

        def contexts(first: int, last: int) -> Int32s:
            found = mine.contexts(first, last)
            return np.where(found == NO_SYMBOL, NO_SYMBOL, table[np.where(found == NO_SYMBOL, 0, found)])

        return HeldOut(values, text.offsets, outside, contexts)
    encoded = outside_sentences(text, words, start=data.start, end=data.end)
    history = _in_contexts(encoded.ids, data, unknown)
    start = NO_SYMBOL if data.start is None else symbols[data.start]
    return HeldOut(
        encoded.ids,
        encoded.offsets,
        encoded.words,
        lambda first, last: contexts_of(history, encoded.offsets, first, last, data.order - 1, start),
    )


def _renumbered(vocabulary: tuple[Any, ...], words: Mapping[Any, int]) -> tuple[Int32s, tuple[Any, ...]]:
    """Id of each word of another vocabulary, and the words that have no id yet."""
    outside: list[Any] = []
    ids = np.empty(len(vocabulary), np.int32)
    for number, word in enumerate(vocabulary):
        own = words.get(word)
        if own is None:
            own = len(words) + len(outside)
            outside.append(word)
        ids[number] = own
    return ids, tuple(outside)


def _as_symbols(
    given: tuple[Any, ...], words: Mapping[Any, int], symbols: Mapping[Any, int], unknown: int
) -> Int32s:
    """Number of each of these symbols in the data's contexts."""
    none = unknown if unknown >= 0 else UNKNOWN_SYMBOL
    return np.array([symbols.get(one, words.get(one, none)) for one in given], np.int32)


def _in_contexts(ids: Int32s, data: NGrams, unknown: int) -> Int32s:
    """Numbers of words as symbols of contexts: their ids, except for symbols of pairs that are words too."""
    table = np.arange(data.n_terms, dtype=np.int32) if not data.is_sentences else None
    if table is not None:
        for symbol, number in data.symbol_numbers.items():
            if symbol in data.word_ids:
                table[data.word_ids[symbol]] = number
    inside = ids < data.n_terms
    known = ids if table is None else table[np.where(inside, ids, 0)]
    return np.where(inside, known, unknown if unknown >= 0 else UNKNOWN_SYMBOL).astype(np.int32)
