"""An open vocabulary: a base measure over all strings, by their spelling."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Self

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.checks import DAMAGED, choice, fitting, instance, items, text, validator, whole_number
from hdpkit.data import GroupedData, NGrams
from hdpkit.data.encode import NO_SYMBOL, UNKNOWN_SYMBOL, contexts_of
from hdpkit.errors import DataError, DeclarationError, ParameterError
from hdpkit.franchise.declarations import Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import Snapshot
from hdpkit.franchise.topology import ContextTopology
from hdpkit.kinds.kind import updates_of
from hdpkit.kinds.language import ORDER_LIMIT, as_declared, context_restaurants, levels
from hdpkit.measures.atomic import AtomicMeasure
from hdpkit.measures.protocol import base_measures
from hdpkit.moves import TableGibbs
from hdpkit.numerics import exp, exp_each, log, log_each
from hdpkit.priors import Beta, Gamma
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source
from hdpkit.run.runs import Scheduler
from hdpkit.stores import stores

_CODE_POINTS = 0x110000  # of Unicode, including surrogates, which a Python string may contain
_CHUNK = 1 << 16  # characters whose contexts are computed at once
_IMPOSSIBLE = UNKNOWN_SYMBOL + 1  # the number of a character outside the alphabet


@attrs.frozen(eq=False)
class Characters(AtomicMeasure):
    """The uniform distribution over an alphabet and the end of a string; None: all of Unicode."""

    # Atoms are the symbols that occur; all others are the remainder.

    alphabet: str | None
    n_terms: int = 1

    def for_data(self, data: GroupedData) -> Self:
        assert isinstance(data, NGrams)
        ready: Self = attrs.evolve(self, n_terms=data.n_terms)
        return ready

    @property
    def n_symbols(self) -> int:
        """Number of characters, plus one for the end."""
        return 1 + (_CODE_POINTS if self.alphabet is None else len(self.alphabet))

    def log_probabilities(self) -> Floats:
        return np.full(self.n_terms, -log(self.n_symbols))

    @property
    def remainder(self) -> float:
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
    """Probabilities of strings by an n-gram franchise over characters, averaged over some states."""

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
        draws = Scheduler([TableGibbs(), *updates_of(restaurant)]).sample(franchise, sweeps, rng=seed)
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
            if chosen < len(symbols):
                drawn.append(symbols[chosen])
            else:
                known = [symbol for symbol in symbols if symbol != self._data.end]
                drawn.append(self._characters.draw_other(known, source))

    def _nodes(self, ids: Int32s, offsets: Int64s, first: int, last: int) -> Int32s:
        """The deepest restaurant of the context of each of the symbols first .. last - 1."""
        if not isinstance(self._topology, ContextTopology):  # order 1: there is only the root
            return np.zeros(last - first, dtype=np.int32)
        return self._topology.deepest(contexts_of(ids, offsets, first, last, self._data.order - 1, -1))


def _restored(restaurant: Restaurant, data: NGrams, arrays: list[dict[str, Any]]) -> StringModel:
    with fitting("pickle of Spelling", "the samples of a spelling", remedy=DAMAGED):
        franchise = Franchise(restaurant, data)
        return StringModel(franchise, [Snapshot(franchise, one) for one in arrays])


Words = tuple[str, ...]


def _words(value: Any) -> Words | None:
    if value is None:
        return None
    allowed, remedy = (
        "a sequence of different strings, at least one",
        "Leave it out for the data's own words.",
    )
    words = items("words", value, allowed, remedy=remedy)
    if not words or not all(isinstance(word, str) for word in words) or len(set(words)) < len(words):
        raise ParameterError("words", value, allowed, remedy)
    return tuple(map(str, words))


def _alphabet(instance: Any, attribute: Any, value: Any) -> None:
    remedy = "None allows every character of Unicode."
    if value is not None and len(set(text("alphabet", value, remedy=remedy))) < len(value):
        raise ParameterError("alphabet", value, "a string of different characters", remedy)


@attrs.frozen
class _Atoms:
    """The words of the data with log H of each, and the probability of all other strings."""

    words: Words
    types: list[str]
    model: StringModel
    log_probabilities: Floats
    remainder: float


@attrs.frozen(eq=False)
class Spelling(AtomicMeasure):
    """A distribution over all strings by their spelling: the base measure of an open vocabulary.

    H(word) = average over samples of prod_i P(c_i | c_i-n+1 .. c_i-1) P(end | ...), where P is that of a
    Pitman-Yor n-gram franchise over characters (Teh 2006), fitted to the distinct words of the data, each
    once. Its base measure is uniform over all code points of Unicode and the end, so every string has a
    positive probability, and the probabilities of all strings sum to one.

    H is fitted before the franchise over words runs and is then fixed, as in empirical Bayes: given H the
    chain over words is exact. (Otherwise H would change with each table in the root of the words.) When the
    vocabulary grows, as by `Franchise.extend`, H is fitted again, unless ``words`` are given.

    Parameters
    ----------
    order : int
        Length n of a character n-gram.
    concentrations, discounts : number, prior, or sequence of these
        Of the restaurants of characters, as in `NGramModel`. By default Gamma(1, 1) and Beta(1, 1).
    alphabet : str, optional
        The possible characters; by default all of Unicode. Words with other characters raise an error.
    words : sequence of str, optional
        The words to fit to, for example a lexicon; by default the vocabulary of the data. If the data have
        no vocabulary, these words are the values 0, 1, ....
    sweeps : int
        Sweeps over the franchise of characters.
    samples : int
        Number of its states to average, at most ``sweeps``; the last state is one of them.
    seed : int
        Seed of these sweeps. H depends only on the set of words and on these arguments, bit for bit.
    store : str
        How the seating of characters is stored.

    Notes
    -----
    The end of a sentence is treated as a word with the spelling of its symbol ("</s>"), but H isn't fitted
    to it. Words that aren't strings raise an error.
    """

    order: int = attrs.field(
        default=4,
        validator=validator(whole_number, 1, ORDER_LIMIT, remedy="4 uses the three characters before."),
    )
    concentrations: Any = attrs.field(default=None, kw_only=True, converter=as_declared)
    discounts: Any = attrs.field(default=None, kw_only=True, converter=as_declared)
    alphabet: str | None = attrs.field(default=None, kw_only=True, validator=_alphabet)
    words: Words | None = attrs.field(
        default=None, kw_only=True, converter=_words, repr=lambda words: words and f"<{len(words)}>"
    )
    sweeps: int = attrs.field(
        default=30, kw_only=True, validator=validator(whole_number, 1, remedy="30 is a good start.")
    )
    samples: int = attrs.field(
        default=10, kw_only=True, validator=validator(whole_number, 1, remedy="At most the sweeps.")
    )
    seed: int = attrs.field(default=0, kw_only=True, validator=validator(whole_number, 0))
    store: str = attrs.field(default="histogram", kw_only=True)
    _atoms: _Atoms | None = attrs.field(default=None, init=False, repr=False)
    # The last fits, shared by all copies of a declaration, since copies, chains and run folders fit again.
    _last: dict[str, _Atoms] = attrs.field(factory=dict, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.samples > self.sweeps:
            raise ParameterError("samples", self.samples, f"at most {self.sweeps}, the sweeps", "Take fewer.")
        choice("store", self.store, stores, remedy="Leave it out.")
        self._restaurant()

    def _restaurant(self) -> Restaurant:
        return context_restaurants(
            Characters(self.alphabet),
            levels("concentrations", self.concentrations, self.order, Gamma(1.0, 1.0)),
            levels("discounts", self.discounts, self.order, Beta(1.0, 1.0)),
        )

    # ------------------------------------------------------------------ fitting

    def for_data(self, data: GroupedData) -> Self:
        """Fit to the words of the data, or reuse the last fit if the words are the same.

        Raises a DataError if the data have no vocabulary, or not one of strings (over the alphabet).
        """
        words = getattr(data, "vocabulary", None)
        words = self.words if words is None else tuple(words)
        if words is None:
            raise DataError(
                "data", data, "with a vocabulary of strings", "Say which words the values are: words=[...]."
            )
        atoms = self._atoms_for(words, getattr(data, "end", None))
        if atoms is self._atoms:
            return super().for_data(data)
        ready: Self = attrs.evolve(self)
        object.__setattr__(ready, "_atoms", atoms)
        object.__setattr__(ready, "_last", self._last)
        return super(Spelling, ready).for_data(data)

    def _atoms_for(self, words: Words, end: Any = None) -> _Atoms:
        self._check(words)
        types = sorted(self.words or [word for word in words if word != end] or words)
        known = [last for last in self._last.values() if last.types == types]
        for last in known:
            if last.words == words:
                return last
        model = known[0].model if known else self._fitted(types)
        log_h = model.log_probabilities(words)
        log_h.setflags(write=False)
        rest = 1.0 - math.fsum(map(exp, log_h.tolist()))
        atoms = self._last["data"] = _Atoms(words, types, model, log_h, max(0.0, rest))
        return atoms

    def _fitted(self, types: list[str]) -> StringModel:
        self._check(types)
        return StringModel.fitted(types, self._restaurant(), self.store, self.sweeps, self.samples, self.seed)

    def _check(self, words: Iterable[Any]) -> None:
        possible = None if self.alphabet is None else set(self.alphabet)
        for word in words:
            if not isinstance(word, str):
                raise DataError(
                    "vocabulary", word, "strings, because other values have no spelling",
                    "Write words (and the symbol of the sentence's end) as strings.",
                )  # fmt: skip
            if possible is not None and not possible.issuperset(word):
                raise DataError(
                    "vocabulary", word, f"of the characters {self.alphabet!r}",
                    "Add the others to alphabet, or leave it out.",
                )  # fmt: skip

    # ------------------------------------------------------------------ the measure

    def _ready(self) -> _Atoms:
        if self._atoms is not None:
            return self._atoms
        if self.words is None:
            raise DeclarationError(
                "words", None, "known", "Build a Franchise, or say which words to fit to: words=[...]."
            )
        if "own" not in self._last:
            self._last["own"] = self._atoms_for(self.words)
        return self._last["own"]

    @property
    def n_terms(self) -> int:
        """Number of words of the data, V."""
        return len(self._ready().words)

    def log_probabilities(self) -> Floats:
        """Return log H of the words of the data: shape (V,), nats."""
        return self._ready().log_probabilities

    @property
    def remainder(self) -> float:
        """Probability of all other strings."""
        return self._ready().remainder

    def log_probability_of(self, word: str) -> float:
        """Return log H of any string, nats; -inf only if a character isn't in the ``alphabet``."""
        instance("word", word, str, "a string", remedy="Other values have no spelling.")
        return float(self._ready().model.log_probabilities([word])[0])

    def sample(self, n: int = 1, rng: Seed = None) -> list[str]:
        """Draw strings from H, which may be words of the data or new.

        Parameters
        ----------
        n : int
            Number of strings.
        rng : seed, Generator or choice source
            The same seed gives the same strings.
        """
        source, model = as_source(rng, Purpose.SPELL), self._ready().model
        return [model.draw(source) for _ in range(whole_number("n", n))]


base_measures.register(
    "spelling", Spelling, lambda: [Spelling(2, words=["a", "ab", "b"], sweeps=2, samples=2)]
)
