"""Texts of language models as n-grams."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator
from itertools import pairwise
from typing import Any

from hdpkit.checks import is_missing
from hdpkit.data import NGrams
from hdpkit.data.encode import as_sentences
from hdpkit.data.files.sentences import read_sentences
from hdpkit.errors import DataError
from hdpkit.kinds.language import Language


def sentences_of(text: Any) -> Any:
    """Sentences of a file (its path, "-" for standard input, or an open file); anything else unchanged."""
    if isinstance(text, str) and text != "-" and not os.path.exists(text):
        raise DataError(
            "text", text, "the path of a file that exists, or sentences as lists of words",
            "No such file: check the path. A sentence is written [['the', 'lord', 'said']].",
        )  # fmt: skip
    if isinstance(text, str | os.PathLike) or hasattr(text, "readline"):
        return read_sentences(text)
    return text


def first_data(text: Any, settings: Language) -> NGrams:
    """Training data as n-grams of the model's order."""
    if isinstance(text, NGrams):
        if settings.vocabulary is not None:
            raise DataError(
                "text", text, "sentences, since the model was given a vocabulary",
                "n-grams have their own vocabulary: leave out the vocabulary of the model.",
            )  # fmt: skip
        return text.with_order(settings.order)
    return NGrams.from_sentences(
        _spoken(sentences_of(text), settings.vocabulary, settings.unknown, settings.start),
        order=settings.order,
        start=settings.start,
        end=settings.end,
        vocabulary=settings.vocabulary,
    )


def more_data(text: Any, data: NGrams, unknown: Any) -> NGrams:
    """Training data followed by more text."""
    if isinstance(text, NGrams):
        words = [text.vocabulary[number] for number in text.values.tolist()]
        if data.is_sentences != text.is_sentences:
            raise DataError(
                "text", text, f"made of {'sentences' if data.is_sentences else 'pairs'}, as the others are",
                "See hk.NGrams.from_sentences and from_pairs.",
            )  # fmt: skip
        if not data.is_sentences:
            return data.plus_pairs(words, [text.context_of(row) for row in text.contexts()])
        last = 0 if text.end is None else 1
        text = [words[a : b - last] for a, b in pairwise(text.offsets.tolist())]
    fixed = data.vocabulary if data.fixed_vocabulary else None
    return data.plus(_spoken(sentences_of(text), fixed, unknown, data.start))


def _spoken(sentences: Any, vocabulary: Iterable[Any] | None, unknown: Any, start: Any) -> Any:
    """Sentences with unknown words replaced, if a vocabulary is given and has a word for them."""
    words = frozenset(vocabulary or ())
    if unknown is None or unknown not in words:
        return sentences
    return _replaced(as_sentences(sentences), words | {start}, unknown)  # NGrams refuses the start


def _replaced(sentences: Iterable[Any], words: Container[Any], unknown: Any) -> Iterator[Any]:
    def spoken(word: Any) -> Any:
        try:
            # For missing or unhashable tokens NGrams raises the error.
            return word if word in words or is_missing(word) else unknown
        except TypeError:
            return word

    for tokens in sentences:
        yield [spoken(word) for word in tokens]
