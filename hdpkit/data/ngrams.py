"""Words of sentences with their contexts: the words before them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int32s
from hdpkit.checks import Codes, check_unmasked, whole_number
from hdpkit.data.encode import (
    NO_SYMBOL,
    UNKNOWN_SYMBOL,
    as_context,
    check_hashable,
    check_markers,
    check_vocabulary,
    context_labels,
    contexts_of,
    encode_pairs,
    encode_sentences,
)
from hdpkit.data.files.counts import check_total, first_not_whole
from hdpkit.data.groups import GroupedData
from hdpkit.data.matrices import as_numbers
from hdpkit.errors import DataError

ORDER_LIMIT = 1000
"""Largest order; contexts are arrays with order - 1 columns."""


@attrs.frozen(eq=False, repr=False, kw_only=True)
class NGrams(GroupedData):
    """Words with their contexts: a customer is a word to predict, and its context is the words before it.

    Built by `NGrams.from_sentences` or `NGrams.from_pairs`; the constructor checks nothing. A customer's
    restaurant is that of its context: the order - 1 words before it, fewer near the start of a sentence.
    All arrays are read-only. A word of a sentence takes 4 bytes; contexts are computed on demand.

    Attributes
    ----------
    values : ndarray of int32, shape (n_customers,)
        Ids of the words to predict, including ends of sentences, in the order of the text.
    order : int
        Length of an n-gram: at most order - 1 symbols of context and a word.
    vocabulary : tuple
        Word of each id.
    n_terms : int
        Number of words in the vocabulary.
    start, end : hashable or None
        Symbols of the sentence's start (in contexts only) and end (a word); None: there is none.
    fixed_vocabulary : bool
        Whether the vocabulary was given; then other words are not allowed.
    offsets : ndarray of int64, shape (n_sentences + 1,)
        Sentence s is values[offsets[s] : offsets[s + 1]]. Each pair of `from_pairs` is a separate sentence.
    context_symbols : tuple
        Symbols in contexts that aren't words: that of the start of a sentence, or those of pairs.
    labels : dict
        "context 1" (one symbol, the nearest) to "context {order - 1}"; see `GroupedData.labels`. The keys
        are contexts as tuples in reading order; a code is -1 if the context is shorter. Computed on demand.
    """

    values: Int32s
    order: int
    vocabulary: tuple[Any, ...]
    start: Any = None
    end: Any = None
    fixed_vocabulary: bool = False
    offsets: npt.NDArray[np.int64]
    context_symbols: tuple[Any, ...] = ()
    # Source of the contexts: the original sentences (values may have been replaced since), or for pairs the
    # contexts themselves.
    _history: Int32s | None = None
    _explicit: Int32s | None = None
    _word_ids: dict[Any, int] = attrs.field(init=False)
    _symbol_ids: dict[Any, int] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        symbols = {symbol: -1 - number for number, symbol in enumerate(self.context_symbols)}
        object.__setattr__(self, "_word_ids", _numbered(self.vocabulary))
        object.__setattr__(self, "_symbol_ids", symbols)
        for array in (self.values, self.offsets, self._history, self._explicit):
            if array is not None:
                array.setflags(write=False)

    @classmethod
    def from_sentences(
        cls, sentences: Any, *, order: int, start: Any = "<s>", end: Any = "</s>", vocabulary: Any = None
    ) -> NGrams:
        """Build from sentences.

        Raises a DataError if there is no token, or one isn't hashable, is missing (None, NaN), equals `start`
        or `end`, or isn't in the vocabulary (the message names sentence and position, both from 0); a
        ParameterError if the order isn't valid, or `start` and `end` can't be symbols.

        Parameters
        ----------
        sentences : iterable of sequences
            Tokens of each sentence, any hashable values. Read once, one sentence at a time, so it can be a
            generator over a large file. In an empty sentence only the end is predicted.
        order : int
            Length of an n-gram, 1 to 1000.
        start : hashable or None
            Symbol that precedes each sentence once, in contexts only: the first word's context is
            (start,), the second's (start, first word). None: the first word's context is empty.
        end : hashable or None
            Word that is predicted after each sentence; None: there is none.
        vocabulary : sequence, optional
            Words in the order of their ids; some may never occur, and `end` must be among them. Without it,
            ids are in order of first appearance.
        """
        order = _check_order(order)
        words = check_markers(start, end, vocabulary)
        fixed = words is not None
        known = _numbered(words or ())
        encoded = encode_sentences(sentences, known, fixed=fixed, start=start, end=end)
        if len(encoded.ids) == 0:
            raise _empty("sentences", f"{len(encoded.offsets) - 1} sentences without a token")
        return cls(
            values=encoded.ids,
            labels={},
            order=order,
            vocabulary=(*known, *encoded.words),
            start=start,
            end=end,
            fixed_vocabulary=fixed,
            offsets=encoded.offsets,
            context_symbols=() if start is None else (start,),
            history=encoded.ids,
        )

    @classmethod
    def from_pairs(
        cls, words: Any, contexts: Any, *, order: int | None = None, vocabulary: Any = None
    ) -> NGrams:
        """Build from single observations: a word in a context.

        Raises a DataError if there is no word, a word has no context, or one of them isn't valid (the message
        names the pair, from 0); a ParameterError if the order isn't valid.

        Parameters
        ----------
        words : sequence
            Words, any hashable values.
        contexts : sequence
            Context of each word: a tuple or list of symbols in reading order (the nearest last), of any
            length, or a single symbol. A symbol needn't be a word.
        order : int, optional
            Length of an n-gram, 1 to 1000: only the nearest order - 1 symbols of a context are used. By
            default 1 + the length of the longest context.
        vocabulary : sequence, optional
            As in `from_sentences`.
        """
        width = None if order is None else _check_order(order) - 1
        given = check_vocabulary(vocabulary)
        fixed, known = given is not None, _numbered(given or ())
        encoded = encode_pairs(words, contexts, known, (), fixed=fixed, width=width)
        if len(encoded.ids) == 0:
            raise _empty("words", "no word")
        return cls(
            values=encoded.ids,
            labels={},
            order=_check_order(encoded.contexts.shape[1] + 1),
            vocabulary=(*known, *encoded.words),
            fixed_vocabulary=fixed,
            offsets=np.arange(len(encoded.ids) + 1),
            context_symbols=encoded.symbols,
            explicit=encoded.contexts,
        )

    @property
    def n_terms(self) -> int:
        """Number of words in the vocabulary."""
        return len(self.vocabulary)

    @property
    def n_sentences(self) -> int:
        """Number of sentences, including empty ones; for pairs, the number of pairs."""
        return len(self.offsets) - 1

    @property
    def is_sentences(self) -> bool:
        """Whether these are sentences (and not pairs)."""
        return self._explicit is None

    @property
    def word_ids(self) -> Mapping[Any, int]:
        """Id of each word."""
        return self._word_ids

    @property
    def symbol_numbers(self) -> Mapping[Any, int]:
        """Number of each symbol in `context_symbols`: -1, -2, ..."""
        return self._symbol_ids

    def word_id(self, word: Any) -> int:
        """Return the id of a word, or -1 if it isn't in the vocabulary."""
        return int(self._word_ids.get(check_hashable("word", word), -1))

    def symbol_ids(self, context: Any) -> Int32s:
        """Return the numbers of a context's symbols.

        Returns an int32 array, shape (min(len(context), order - 1),): the nearest symbol first;
        UNKNOWN_SYMBOL for a symbol that the data don't have.

        Parameters
        ----------
        context : tuple or list
            Symbols in reading order, of any length; only the nearest order - 1 are used. For order 2 also a
            single symbol.
        """
        if not isinstance(context, tuple | list | np.ndarray) and self.order != 2:
            raise DataError("context", context, "a tuple of symbols", 'Write it as ("of", "the").')
        near = as_context(context)[::-1][: self.order - 1]
        numbers = [
            self._symbol_ids.get(symbol, self._word_ids.get(symbol, UNKNOWN_SYMBOL))
            for symbol in (check_hashable("context", symbol) for symbol in near)
        ]
        return np.array(numbers, np.int32)

    def context_of(self, ids: Any) -> tuple[Any, ...]:
        """Return a context's symbols in reading order.

        Raises a DataError if one of them isn't a symbol of these data.

        Parameters
        ----------
        ids : array-like of int, shape (k,)
            Numbers of the symbols, nearest first, as in a row of `contexts`; NO_SYMBOL at the end is ignored.
        """
        check_unmasked("ids", ids)
        try:
            numbers = np.asarray(ids)
        except ValueError:  # ragged
            numbers = np.empty((0, 0))
        if numbers.ndim != 1 or (len(numbers) and numbers.dtype.kind not in "iu"):
            raise DataError("ids", ids, "a list of symbols' numbers", "Pass a row of contexts().")
        listed = numbers.tolist()
        while listed and listed[-1] == NO_SYMBOL:
            listed.pop()
        for number in listed:
            if not -len(self.context_symbols) <= number < self.n_terms:
                raise DataError(
                    "ids", number, f"from {-len(self.context_symbols)} to {self.n_terms - 1}",
                    "Pass a row of contexts().",
                )  # fmt: skip
        return tuple(self._symbol(number) for number in reversed(listed))

    def _symbol(self, number: int) -> Any:
        return self.vocabulary[number] if number >= 0 else self.context_symbols[-1 - number]

    def contexts(self, first: int = 0, last: int | None = None) -> Int32s:
        """Return the contexts of the customers first..last-1 (by default of all). They are not stored.

        Returns an int32 array, shape (last - first, order - 1): numbers of symbols, the nearest first, and
        NO_SYMBOL if the context is shorter. The number of a word is its id; other symbols have -1, -2, ... in
        the order of `context_symbols`.

        Parameters
        ----------
        first : int
            The first customer.
        last : int, optional
            The customer after the last one; by default the end of the data.
        """
        n = len(self)
        remedy = "Customers are numbered from 0."
        first = whole_number("first", first, 0, n, remedy=remedy)
        last = n if last is None else whole_number("last", last, first, n, remedy=remedy)
        if self._explicit is not None:
            return self._explicit[first:last].copy()
        start = NO_SYMBOL if self.start is None else -1
        assert self._history is not None
        return contexts_of(self._history, self.offsets, first, last, self.order - 1, start)

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels: "context 1" to "context {order - 1}"."""
        return tuple(f"context {length}" for length in range(1, self.order))

    @property
    def labels(self) -> dict[str, Codes]:
        """Labels: name -> (codes, keys); see `GroupedData.labels`."""
        return {name: self._label(name) for name in self.label_names}

    def _label(self, name: str) -> Codes:
        if isinstance(name, str) and name in self.label_names and name not in self._labels:
            found = context_labels(self.contexts(), self.label_names, self._symbol)
            self._labels.update(found)
        return super()._label(name)

    def text_arrays(self) -> dict[str, npt.NDArray[Any] | None]:
        """Return the arrays from which contexts are computed, for a run folder; None for absent ones.

        ``offsets`` and, if values were replaced, ``history`` (the words of the original sentences); for pairs
        their ``contexts``, as returned by `contexts`.
        """
        return {
            "offsets": self.offsets if self.is_sentences else None,
            "history": None if self._history is self.values else self._history,
            "contexts": self._explicit,
        }

    def plus(self, sentences: Any) -> Self:
        """Return these sentences followed by others; new words are added at the end of the vocabulary.

        Sentences and errors are as in `from_sentences`, but there may be none; also a DataError for pairs.
        """
        if not self.is_sentences:
            raise DataError("data", self, "made of sentences", "Use plus_pairs.")
        encoded = encode_sentences(
            sentences,
            self._word_ids,
            fixed=self.fixed_vocabulary,
            start=self.start,
            end=self.end,
            n_before=len(self),
        )
        values = np.concatenate([self.values, encoded.ids])
        # simulated values have contexts of the original words, so both are kept
        history = values if self._history is self.values else np.concatenate([self._history, encoded.ids])
        return attrs.evolve(
            self,
            values=values,
            labels={},
            vocabulary=(*self.vocabulary, *encoded.words),
            offsets=np.concatenate([self.offsets, encoded.offsets[1:] + len(self)]),
            history=history,
        )

    def plus_pairs(self, words: Any, contexts: Any) -> Self:
        """Return these pairs followed by others; the order doesn't change.

        Raises a DataError as in `from_pairs` (there may be no pair here), and if these data are sentences.

        Parameters
        ----------
        words, contexts : sequence
            As in `from_pairs`. A symbol that had a number before keeps it, also if it becomes a word.
        """
        if self._explicit is None:
            raise DataError("data", self, "made of pairs", "Use plus.")
        encoded = encode_pairs(
            words,
            contexts,
            self._word_ids,
            self.context_symbols,
            fixed=self.fixed_vocabulary,
            width=self.order - 1,
        )
        n = len(self) + len(encoded.ids)
        check_total(n, "Drop sentences.")
        return attrs.evolve(
            self,
            values=np.concatenate([self.values, encoded.ids]),
            labels={},
            vocabulary=(*self.vocabulary, *encoded.words),
            offsets=np.arange(n + 1),
            context_symbols=encoded.symbols,
            explicit=np.concatenate([self._explicit, encoded.contexts]),
        )

    def without(self, first: int, last: int) -> Self:
        """Return the data without the sentences first..last-1 (for pairs: without these pairs).

        The vocabulary doesn't change. Raises a DataError if nothing would be left; a ParameterError if it
        isn't a range of sentences.

        Parameters
        ----------
        first, last : int
            Sentences first .. last - 1.
        """
        remedy = f"There are {self.n_sentences} sentences, numbered from 0."
        first = whole_number("first", first, 0, self.n_sentences, remedy=remedy)
        last = whole_number("last", last, first, self.n_sentences, remedy=remedy)
        out = slice(int(self.offsets[first]), int(self.offsets[last]))
        if out.stop - out.start == len(self):
            raise _empty("last", f"{last} sentences left out of {self.n_sentences}")

        def rest(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return np.concatenate([array[: out.start], array[out.stop :]])

        values = rest(self.values)
        history = None if self._history is None else rest(self._history)
        return attrs.evolve(
            self,
            values=values,
            labels={},
            offsets=np.concatenate(
                [self.offsets[: first + 1], self.offsets[last + 1 :] - (out.stop - out.start)]
            ),
            history=values if self._history is self.values else history,
            explicit=None if self._explicit is None else rest(self._explicit),
        )

    def with_order(self, order: int) -> Self:
        """Return the same words with longer or shorter contexts.

        Contexts of sentences are extended or cut to the order, 1 to 1000. Contexts of pairs are only cut,
        since they can't be longer than they were given.
        """
        width = _check_order(order) - 1
        explicit = self._explicit
        if explicit is not None:
            explicit = np.full((len(self), width), NO_SYMBOL, np.int32)
            both = min(width, self.order - 1)
            explicit[:, :both] = self._explicit[:, :both]  # type: ignore[index]
        return attrs.evolve(self, order=order, labels={}, explicit=explicit)

    def with_values(self, values: Any) -> Self:
        """Return the same contexts with other words (used to simulate data).

        The contexts don't change, so the context of a word is no longer the words before it. Raises a
        DataError if their number isn't n_customers or an id isn't a whole number from 0 to n_terms - 1.

        Parameters
        ----------
        values : array-like of int, shape (n_customers,)
            Ids of words.
        """
        array = as_numbers(values, self.values.shape, "word", "customer")
        bad = first_not_whole(array, self.n_terms)
        if bad is not None:
            raise DataError(
                f"values, customer {bad}", array[bad].item(),
                f"a word id: a whole number from 0 to {self.n_terms - 1}", "Ids start at 0.",
            )  # fmt: skip
        return attrs.evolve(self, values=array.astype(np.int32))

    def __repr__(self) -> str:
        made_of = f", {self.n_sentences} sentences" if self.is_sentences else ""
        return f"<NGrams: order {self.order}, {len(self)} tokens{made_of}, {self.n_terms} words>"


def _numbered(words: Iterable[Any]) -> dict[Any, int]:
    return {word: number for number, word in enumerate(words)}


def _empty(parameter: str, what: str) -> DataError:
    return DataError(parameter, what, "at least one token: the text is empty", "Check how it was read.")


def _check_order(order: Any) -> int:
    return whole_number("order", order, 1, ORDER_LIMIT, remedy="2 is a bigram model, 3 a trigram model.")


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
        """Slices of the text and the contexts of their tokens; UNKNOWN_SYMBOL for symbols not in the data."""
        for first in range(0, len(self), _CHUNK):
            last = min(first + _CHUNK, len(self))
            yield slice(first, last), self._contexts(first, last)


def held_out(data: NGrams, text: Any, unknown: int = -1) -> HeldOut:
    """A text with vocabulary, order and markers of other data; ``unknown``: the id of other words, or -1."""
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
    encoded = encode_sentences(text, words, fixed=False, start=data.start, end=data.end)
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
