"""Language models: hyperparameters by level, the declared restaurants and moves, texts as n-grams."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator
from itertools import pairwise
from typing import Any

import attrs
import numpy as np

from hdpkit.allowed import Allowed
from hdpkit.checks import flag, instance, is_missing, whole_number
from hdpkit.data import NGrams
from hdpkit.data.encode import as_sentences, check_hashable, check_markers, check_vocabulary
from hdpkit.data.files.sentences import read_sentences
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.declarations import Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.kinds.kind import Kind, setting, updates_of
from hdpkit.kinds.listing import Nouns
from hdpkit.kinds.values import OneOf, Placed, Stores, Values, Whole
from hdpkit.measures.atomic import AtomicMeasure, Uniform
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.moves import Move, TableGibbs
from hdpkit.priors import Beta, Gamma
from hdpkit.steps.step import KERNELS
from hdpkit.stores import stores

ORDER_LIMIT = 100
"""Largest order of a model; limited because declarations are nested."""


def as_declared(given: Any) -> Any:
    """Return an argument for all levels or for each level; lists and arrays are converted to tuples."""
    if isinstance(given, np.ndarray) and given.ndim == 1:
        given = given.tolist()
    return tuple(given) if isinstance(given, list) else given


def levels(name: str, given: Any, order: int, default: Any) -> tuple[Any, ...]:
    """A hyperparameter for each level, the root's first; given are one for all, one for each, or None."""
    declared = default if given is None else as_declared(given)
    if not isinstance(declared, tuple):
        return (declared,) * order
    if len(declared) != order:
        raise ParameterError(
            name, given, f"one value, or {order} of them, the root's first",
            f"Order {order} has {order} levels: contexts of 0 to {order - 1} symbols.",
        )  # fmt: skip
    return declared


def context_restaurants(
    measure: BaseMeasure, concentrations: tuple[Any, ...], discounts: tuple[Any, ...]
) -> Restaurant:
    """Declare a root and restaurants for each context of one symbol, of two, and so on."""
    made: Any = measure
    for level, (concentration, discount) in enumerate(zip(concentrations, discounts, strict=True)):
        each = f"context {level}" if level else None
        try:
            made = Restaurant(made, concentration=concentration, discount=discount, each=each)
        except ParameterError as error:
            where = f"of contexts of length {level}" if level else "of the root"
            name = f"{error.parameter}s ({where})"
            raise ParameterError(name, error.value, error.allowed, error.remedy) from None
    assert isinstance(made, Restaurant)
    return made


class Fixed(Values):
    """A vocabulary, which the data contain: whether it was given is kept."""

    def kept(self, name: str, value: Any) -> bool:
        """Whether there is one."""
        return value is not None

    def back(self, tree: Any, allowed: Allowed) -> Any:
        """An empty one, in whose place the reader puts that of the data, or None."""
        return () if flag("vocabulary", tree) else None


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Language(Kind):
    """Sentences as n-grams; `of` checks the settings, which are the parameters of `NGramModel`."""

    # discounts and concentrations have a value for each level, the root's first.

    name = "language model"
    nouns = Nouns("Language model", "word", "word", "token", "sentence", "word")

    order: int = setting(3, Whole(1, ORDER_LIMIT), "Length of an n-gram.")
    discounts: Any = setting(None, Placed("hyperparameter"), "Discount of each level.")
    concentrations: Any = setting(None, Placed("hyperparameter"), "Concentration of each level.")
    base: AtomicMeasure | None = setting(None, Placed("base measure"), "Base measure of words.")
    store: Any = setting("histogram", Stores(), "How seating is stored.")
    start: Any = setting(None, Values(), "Symbol before a sentence.")
    end: Any = setting(None, Values(), "Symbol after a sentence.")
    unknown: Any = setting(None, Values(), "Word for unknown words.")
    vocabulary: Any = setting(None, Fixed(), "The possible words.")
    kernel: str = setting(
        "auto", OneOf(KERNELS, "Leave it out for the fastest."), "Which implementation runs."
    )

    @classmethod
    def serves(cls, data: Any) -> bool:
        return isinstance(data, NGrams)

    @classmethod
    def of(cls, **given: Any) -> Language:
        """The settings of the arguments of `NGramModel`, checked."""
        remedy = "2 is a bigram model, 3 a trigram model."
        order = whole_number("order", given["order"], 1, ORDER_LIMIT, remedy=remedy)
        base, store, start, end = (given[name] for name in ("base", "store", "start", "end"))
        if base is not None:
            instance(
                "base", base, AtomicMeasure, "a base measure with atoms, or None",
                remedy="For instance hk.Uniform(V); None is hk.Uniform() over the vocabulary.",
            )  # fmt: skip
        if isinstance(store, str):
            store = stores[store].name
        elif not isinstance(store, type):
            raise ParameterError(
                "store", store, f"one of {sorted(stores)} or a SeatingStore class", "See hdpkit.stores."
            )
        words = check_vocabulary(given["vocabulary"])
        if words is not None and end is not None and check_hashable("end", end) not in words:
            words = (*words, end)
        check_markers(start, end, words)
        unknown = given["unknown"]
        if unknown is not None and check_hashable("unknown", unknown) in (start, end):
            raise ParameterError(
                "unknown", unknown, "different from the symbols of the sentence's start and end",
                "Choose another one, or None.",
            )  # fmt: skip
        read = {"order": order, "store": store, "vocabulary": words}
        for name, usual in (("discounts", Beta(1.0, 1.0)), ("concentrations", Gamma(1.0, 1.0))):
            read[name] = levels(name, given[name], order, usual)
        made = cls(**given | read)
        made.declare()
        return made

    def declare(self, data: Any = None) -> Restaurant:
        base = Uniform() if self.base is None else self.base
        return context_restaurants(base, self.concentrations, self.discounts)

    def moves(self, restaurant: Restaurant) -> list[Move]:
        return [TableGibbs(), *updates_of(restaurant)]

    def franchise(self, data: Any) -> Franchise:
        return Franchise(self.declare(), data, store=self.store, kernel=self.kernel)


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
