"""Documents as lists of tokens, checked and concatenated."""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import as_sequence
from hdpkit.data.files.counts import ID_LIMIT, check_total, first_not_whole
from hdpkit.errors import DataError

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
