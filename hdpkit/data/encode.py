"""Words and contexts as numbers: documents, sentences, pairs of a word and a context, contexts as labels."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import chain
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int32s
from hdpkit.checks import Codes, as_sequence, check_names, check_unmasked, is_missing, plain
from hdpkit.data.files.counts import ID_LIMIT, check_total, first_not_whole
from hdpkit.data.groups import encode
from hdpkit.errors import DataError, ParameterError

NO_SYMBOL = -(2**31)
"""Number in contexts for positions before the sentence's start."""

UNKNOWN_SYMBOL = NO_SYMBOL + 1
"""Number in contexts for a symbol that doesn't occur in the data, and so in no restaurant."""


def as_context(context: Any) -> tuple[Any, ...]:
    """Return a context as a tuple of symbols; a single symbol is a context of one."""
    check_unmasked("context", context)
    if isinstance(context, np.ndarray):
        context = context.tolist()
    return tuple(context) if isinstance(context, list | tuple) else (context,)


def contexts_of(
    history: Int32s, offsets: npt.NDArray[np.int64], first: int, last: int, width: int, start: int
) -> Int32s:
    """Return the contexts of the tokens first..last-1 of sentences."""
    contexts = np.full((last - first, width), NO_SYMBOL, np.int32)
    if first == last or width == 0:
        return contexts
    token = np.arange(first, last)
    # of several equal offsets (empty sentences), the last one begins the sentence of a token
    place = token - offsets[np.searchsorted(offsets, token, side="right") - 1]
    longest = min(width, int(place.max()) + 1)
    for j in range(longest):
        inside = np.flatnonzero(place > j)
        contexts[inside, j] = history[token[inside] - (j + 1)]
        contexts[place == j, j] = start
    return contexts


def context_labels(contexts: Int32s, names: Sequence[str], symbol: Callable[[int], Any]) -> dict[str, Codes]:
    """Return contexts as labels: the first symbol, the first two, and so on."""
    code = np.zeros(len(contexts), np.int64)  # of the context with one symbol less, at first the empty one
    keys: list[tuple[Any, ...]] = [()]
    labels: dict[str, Codes] = {}
    for j, name in enumerate(names):
        there = np.flatnonzero(contexts[:, j] != NO_SYMBOL)
        # combined in one number: a longer context is the shorter one and one more symbol
        packed = code[there] * 2**32 + (contexts[there, j].astype(np.int64) - NO_SYMBOL)
        found, numbers = encode(name, packed, len(there), "customer")
        code = np.full(len(contexts), -1, np.int64)
        code[there] = found
        code.setflags(write=False)
        keys = [(symbol(number % 2**32 + NO_SYMBOL), *keys[number >> 32]) for number in numbers]
        labels[name] = code, keys
    return labels


_REMEDY = "Drop sentences."


class _Refused(Exception):
    """A token that can't be encoded, with what is allowed and what to do."""


_NO_MARKER = (
    "a word, not the symbol of a sentence's start or end",
    "Leave these symbols out of the sentences (they are added), or choose others: start=, end=.",
)


class WordIds(dict[Any, int]):
    """Word -> id; a new word gets the next one after ``known`` unless fixed; the ``markers`` are none."""

    def __init__(self, known: Mapping[Any, int], fixed: bool, markers: tuple[Any, ...]) -> None:
        self.words: list[Any] = []  # new ones
        self._n_known = len(known)
        self._fixed = fixed
        self._markers = markers
        super().__init__(known)
        for marker in markers:
            self.pop(marker, None)  # so that every lookup of it calls __missing__

    def __missing__(self, word: Any) -> int:
        if word in self._markers:
            raise _Refused(*_NO_MARKER)
        if self._fixed:
            raise _Refused(
                "a word of the vocabulary",
                "Add it to the vocabulary, replace it by a word that stands for unknown ones, or leave the "
                "vocabulary out.",
            )
        if is_missing(word):
            raise _Refused("a word, not None or NaN", "Drop missing words, or give them a name.")
        number = self[word] = self.append(word)
        return number

    def append(self, word: Any) -> int:
        """Give a word an id without adding it to the dict."""
        self.words.append(plain(word))
        return self._n_known + len(self.words) - 1


@attrs.frozen(eq=False)
class EncodedSentences:
    """Ids of the words of sentences, including ends; sentence s is ids[offsets[s] : offsets[s + 1]]."""

    ids: Int32s
    offsets: npt.NDArray[np.int64]
    words: tuple[Any, ...]  # new ones


def encode_sentences(
    sentences: Any, words: Mapping[Any, int], *, fixed: bool, start: Any, end: Any, n_before: int = 0
) -> EncodedSentences:
    """Encode sentences one by one, without keeping all of them in memory."""
    known = WordIds(words, fixed, tuple(marker for marker in (start, end) if marker is not None))
    end_id = -1 if end is None else words.get(end, -1)
    ids, offsets = array("i"), array("q", [0])
    for number, tokens in enumerate(as_sentences(sentences)):
        _encode(tokens, known, ids, partial("sentence {}, position {}".format, number))
        if end is not None:
            if end_id < 0:
                end_id = known.append(end)
            ids.append(end_id)
        offsets.append(len(ids))
        check_total(n_before + len(ids), _REMEDY)
    return EncodedSentences(_array(ids, np.int32), _array(offsets, np.int64), tuple(known.words))


def as_sentences(sentences: Any) -> Iterator[Sequence[Any]]:
    """Tokens of each sentence, one by one."""
    if not _in_order(sentences):
        raise DataError(
            "sentences", sentences, "an iterable of sentences, each a list of tokens",
            "Split a text into lines and lines into tokens, as in [s.split() for s in text.splitlines()].",
        )  # fmt: skip
    return (_tokens(number, sentence) for number, sentence in enumerate(sentences))


def _tokens(number: int, sentence: Any) -> Sequence[Any]:
    if isinstance(sentence, list | tuple):
        return sentence
    if isinstance(sentence, str | bytes):
        raise DataError(
            f"sentence {number}", sentence, "a list of tokens, not one string",
            "Split the sentence, as in sentence.split(); for a sentence of characters pass list(sentence).",
        )  # fmt: skip
    remedy = "Pass a list, a tuple or a one-dimensional array of tokens."
    if not _in_order(sentence) or np.ma.is_masked(sentence):
        raise DataError(f"sentence {number}", sentence, "a list of tokens without masked entries", remedy)
    if hasattr(sentence, "__array__"):
        tokens = np.asarray(sentence)
        if tokens.ndim != 1:
            raise DataError(
                f"sentence {number}", f"an array of shape {tokens.shape}", "a list of tokens", remedy
            )
        return list(tokens.tolist())
    return list(sentence)


def _in_order(values: Any) -> bool:
    """Whether values can be iterated over in a defined order."""
    if isinstance(values, str | bytes | Set | Mapping | type):
        return False
    try:
        iter(values)
    except (TypeError, ValueError):  # ValueError: a closed file
        return False
    return True


class SymbolIds(dict[Any, int]):
    """Symbol of a context -> number, negative for what isn't a word; it is kept if it becomes one."""

    def __init__(self, words: Mapping[Any, int], symbols: Iterable[Any]) -> None:
        self.symbols = list(symbols)
        self._words = words
        super().__init__((symbol, -1 - number) for number, symbol in enumerate(self.symbols))

    def __missing__(self, symbol: Any) -> int:
        number = self._words.get(symbol)
        if number is None:
            if is_missing(symbol):
                raise _Refused("a symbol, not None or NaN", "Write an empty context as ().")
            self.symbols.append(plain(symbol))
            number = -len(self.symbols)
        self[symbol] = number
        return number


@attrs.frozen(eq=False)
class EncodedPairs:
    """Ids of words, shape (n,), and of the symbols of their contexts, shape (n, width), nearest first."""

    ids: Int32s
    contexts: Int32s
    words: tuple[Any, ...]  # new ones
    symbols: tuple[Any, ...]  # that aren't words


def encode_pairs(
    words: Any,
    contexts: Any,
    known: Mapping[Any, int],
    symbols: Iterable[Any],
    *,
    fixed: bool,
    width: int | None,
) -> EncodedPairs:
    """Encode one word and one context per observation."""
    listed = list(as_sequence("words", words, "words"))
    if isinstance(contexts, np.ndarray) and contexts.ndim == 2:
        contexts = list(contexts)
    given = list(as_sequence("contexts", contexts, "contexts, one per word"))
    if len(listed) != len(given):
        raise DataError(
            "contexts", f"{len(given)} contexts", f"{len(listed)} contexts, one per word",
            "Give one context per word; an empty one is ().",
        )  # fmt: skip
    check_total(len(listed), _REMEDY)
    numbers = WordIds(known, fixed, ())
    ids = array("i")
    _encode(listed, numbers, ids, "words, pair {}".format)
    known_symbols = SymbolIds(numbers, symbols)
    flat, lengths = array("i"), array("q")
    for pair, context in enumerate(given):
        near = as_context(context)[::-1][:width]
        _encode(near, known_symbols, flat, partial("contexts, pair {}".format, pair))
        lengths.append(len(near))
    n_symbols = _array(lengths, np.int64)
    if width is None:
        width = int(n_symbols.max(initial=0))
    table = np.full((len(ids), width), NO_SYMBOL, np.int32)
    ends = np.cumsum(n_symbols)
    row = np.repeat(np.arange(len(ids)), n_symbols)
    table[row, np.arange(len(flat)) - np.repeat(ends - n_symbols, n_symbols)] = _array(flat, np.int32)
    return EncodedPairs(_array(ids, np.int32), table, tuple(numbers.words), tuple(known_symbols.symbols))


def _encode(
    items: Sequence[Any], numbers: dict[Any, int], into: array[int], place: Callable[[int], str]
) -> None:
    """Append the numbers of items; `place` returns the name of the i-th item for errors."""
    before = len(into)
    try:
        into.extend(map(numbers.__getitem__, items))
    except (_Refused, TypeError) as error:  # a TypeError if an item isn't hashable
        position = len(into) - before
        allowed, remedy = (
            error.args
            if isinstance(error, _Refused)
            else ("hashable", "Use strings, numbers or tuples of them.")
        )
        raise DataError(place(position), items[position], allowed, remedy) from None


def _array(buffer: array[int], dtype: Any) -> npt.NDArray[Any]:
    # Copied, since a buffer that has grown is up to an eighth larger than its content.
    return np.array(buffer, dtype) if len(buffer) else np.zeros(0, dtype)


def check_hashable(parameter: str, item: Any) -> Any:
    """Return the item if it is hashable, or raise a DataError."""
    try:
        hash(item)
    except TypeError:
        raise DataError(parameter, item, "hashable", "Use strings, numbers or tuples of them.") from None
    return item


def check_vocabulary(vocabulary: Any) -> tuple[Any, ...] | None:
    """Return a vocabulary as a tuple of words, all different; None stays None."""
    return None if vocabulary is None else check_names("vocabulary", vocabulary, None, "word", strings=False)


def check_markers(start: Any, end: Any, vocabulary: Any) -> tuple[Any, ...] | None:
    """Check the symbols of the sentence's start and end; return the vocabulary, which has only the end."""
    for name, marker in (("start", start), ("end", end)):
        if marker is not None and is_missing(check_hashable(name, marker)):
            raise DataError(name, marker, "a symbol, or None", "NaN is not a symbol.")
    if start is not None and start == end:
        raise ParameterError(
            "start", start, "different from the symbol of the end", "Choose another one, or None."
        )
    words = check_vocabulary(vocabulary)
    for name, marker, wanted in (("start", start, False), ("end", end, True)):
        if words is not None and marker is not None and (marker in words) != wanted:
            raise DataError(
                "vocabulary",
                f"{'without' if wanted else 'with'} {marker!r}",
                f"{'with' if wanted else 'without'} the symbol of the sentence's {name}",
                "The end is predicted like a word, the start never is. "
                f"Correct the vocabulary, or give another {name}= (None: no such symbol).",
            )
    return words


Words = list[str]


def locate(flat: int, lengths: npt.NDArray[np.int64], names: tuple[str, ...] | None) -> str:
    """Name the position of token number `flat`: "document 3 ('moby'), position 17" (both from 0)."""
    offsets = np.cumsum(lengths)
    d = int(np.searchsorted(offsets, flat, side="right"))
    return _place(d, flat - int(offsets[d] - lengths[d]), names)


def _place(d: int, position: int | None, names: tuple[str, ...] | None) -> str:
    name = "" if names is None or d >= len(names) else f" ({names[d]!r})"
    return f"document {d}{name}" + ("" if position is None else f", position {position}")


def check_ids(
    ids: npt.NDArray[Any], n_terms: int | None, lengths: npt.NDArray[np.int64], names: tuple[str, ...] | None
) -> npt.NDArray[np.int32]:
    """Return ids of terms as int32."""
    limit = ID_LIMIT if n_terms is None else n_terms
    bad = first_not_whole(ids, limit)
    if bad is not None:
        raise DataError(
            locate(bad, lengths, names),
            ids[bad].item(),
            f"a term id: a whole number from 0 to {limit - 1}",
            "Ids start at 0; check them against n_terms or the vocabulary.",
        )
    return ids.astype(np.int32)


def read_documents(
    docs: Any, n_terms: int | None, vocabulary: tuple[str, ...] | None, names: tuple[str, ...] | None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], tuple[str, ...] | None]:
    """Read documents of term ids or of words."""
    words: list[Words] = []
    ids: list[npt.NDArray[Any]] = []
    parts: list[Words | npt.NDArray[Any]] = []
    for d, doc in enumerate(_as_documents(docs)):
        part = _read_document(d, doc, names)
        parts.append(part)
        if len(part) == 0:  # neither ids nor words; NumPy would choose the type of an empty array
            continue
        if isinstance(part, list):
            words.append(part)
        else:
            ids.append(part)
        if words and ids:
            raise DataError(
                _place(d, 0, names),
                part[0] if isinstance(part, list) else part[0].item(),
                "of the same kind as the first tokens: all words or all ids",
                "Convert words to ids, or ids to words, in all documents.",
            )
    lengths = np.array([len(part) for part in parts], np.int64)
    check_total(int(lengths.sum()))
    if not words:
        flat = np.concatenate(ids) if ids else np.zeros(0, np.int64)
        return check_ids(flat, n_terms, lengths, names), lengths, vocabulary
    flat_words = chain.from_iterable(words)
    if vocabulary is None:
        known: dict[str, int] = {}
        codes = [known.setdefault(word, len(known)) for word in flat_words]
        return np.array(codes, np.int32), lengths, tuple(map(str, known))  # not NumPy strings
    place = {word: v for v, word in enumerate(vocabulary)}
    terms = np.array([place.get(word, -1) for word in flat_words], np.int32)
    if terms.min() < 0:
        flat_place = int(np.argmax(terms < 0))
        word = next(word for i, word in enumerate(chain.from_iterable(words)) if i == flat_place)
        raise DataError(
            locate(flat_place, lengths, names),
            word,
            "a word of the vocabulary",
            "Drop the word, add it to the vocabulary, or leave the vocabulary out.",
        )
    return terms, lengths, vocabulary


def _as_documents(docs: Any) -> list[Any]:
    if isinstance(docs, np.ndarray) and docs.ndim > 1:
        return list(docs)
    return list(as_sequence("docs", docs, "documents, each a list of tokens"))


def _read_document(d: int, doc: Any, names: tuple[str, ...] | None) -> Words | npt.NDArray[Any]:
    """Return a document's tokens: a list of words, or an array of numbers that aren't checked yet."""
    if isinstance(doc, str | bytes):
        raise DataError(
            _place(d, None, names),
            doc,
            "a list of tokens, not one string",
            "Split the text, as in doc.split().",
        )
    if isinstance(doc, Set | Mapping) or not hasattr(doc, "__iter__") or np.ma.is_masked(doc):
        raise DataError(
            _place(d, None, names),
            doc,
            "a list or a one-dimensional array of tokens without masked entries",
            "For counts use Corpus.from_counts.",
        )
    if hasattr(doc, "__array__"):
        array = np.asarray(doc)
        if array.ndim != 1:
            raise DataError(
                _place(d, None, names),
                f"array of shape {array.shape}",
                "a one-dimensional array of tokens",
                "Pass one array per document.",
            )
        if array.dtype.kind in "iuf":
            return array
        tokens = array.tolist()
    else:
        tokens = doc if isinstance(doc, list) else list(doc)
    if not tokens:
        return []
    if isinstance(tokens[0], str):
        for position, kind in enumerate(map(type, tokens)):
            if kind is not str and not issubclass(kind, str):
                raise DataError(
                    _place(d, position, names),
                    tokens[position],
                    "a word, like the first token",
                    "Pass strings only.",
                )
        return tokens
    try:
        array = np.asarray(tokens)
    except ValueError:  # ragged
        array = np.empty(0, object)
    # NumPy reads [True, 2] as [1, 2].
    if array.dtype.kind in "iuf" and array.ndim == 1 and {bool, np.bool_}.isdisjoint(map(type, tokens)):
        return array
    position = next((i for i, token in enumerate(tokens) if not _is_number(token)), 0)
    raise DataError(
        _place(d, position, names),
        tokens[position],
        "a term id (a whole number from 0) or a word",
        "Check the token.",
    )


def _is_number(token: Any) -> bool:
    if isinstance(token, bool) or not isinstance(token, int | float | np.integer | np.floating):
        return False
    return bool(-(2**63) <= token < 2**63)  # for larger numbers NumPy makes an object array
