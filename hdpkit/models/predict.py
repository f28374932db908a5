"""Predictions of words in contexts, averaged over samples of the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.base_measures import AtomicMeasure, Uniform
from hdpkit.data import NGrams
from hdpkit.data.contexts import NO_SYMBOL, UNKNOWN_SYMBOL, Ints
from hdpkit.data.held_out import HeldOut
from hdpkit.errors import BusyError, DataError
from hdpkit.franchise import Franchise, Snapshot

__all__ = ["Posterior"]

Floats = npt.NDArray[np.float64]

_NOBODY = -1  # a dish in no restaurant: its probability comes only from H


@attrs.frozen(eq=False)
class Posterior:
    """Samples of a franchise over n-grams, and predictions from their average.

    Parameters
    ----------
    franchise : Franchise
        Its data, tree of contexts and base measure are used.
    samples : sequence of Snapshot
        At least one, with the current restaurants.
    unknown : int
        Id of the word that replaces words outside the vocabulary, or -1.
    """

    franchise: Franchise
    samples: Sequence[Snapshot]
    unknown: int
    # Stored once, since another thread may sweep, which is harmless here, or change the data.
    data: NGrams = attrs.field(init=False)
    measure: AtomicMeasure = attrs.field(init=False)
    topology: Any = attrs.field(init=False)

    @data.default
    def _data(self) -> Any:
        return self.franchise.data

    @measure.default
    def _measure(self) -> Any:
        return self.franchise.measure

    @topology.default
    def _topology(self) -> Any:
        return self.franchise.topology

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
        """Log P(word | context) of every token: shape (n,), nats; NaN if a word can't be predicted.

        A word outside the vocabulary has P = share * H, and H may underflow in a double.
        """
        dishes, above, log_new = self._dishes(text)
        total = np.zeros(len(text))
        for piece, contexts in text.contexts():
            nodes = self._nodes(contexts)
            for sample in self.samples:
                total[piece] += sample.probabilities(nodes, dishes[piece], above[piece])
        with np.errstate(divide="ignore"):
            found: Floats = np.log(total / len(self.samples)) + log_new
        return found

    def _dishes(self, text: HeldOut) -> tuple[Ints, Floats, Floats]:
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
        if (
            isinstance(measure, Uniform)
            and measure.n_terms is not None
            and measure.n_terms > self.data.n_terms
        ):
            return -float(np.log(measure.n_terms))  # an atom without a word in the text
        return float("nan")

    def unpredicted(self, parameter: str, word: Any) -> DataError:
        """The error for a word that can't be predicted."""
        return DataError(
            parameter, word, f"one of the {self.data.n_terms} words of the vocabulary",
            "Give an open base (base=hk.Uniform(V) with more atoms than words), or train with a word that "
            "stands for unknown ones (unknown=). score() leaves such words out and counts them.",
        )  # fmt: skip

    # ------------------------------------------------------------------ one context

    def context(self, context: Any) -> Ints:
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

    def _nodes(self, contexts: Ints) -> Ints:
        found: Ints = self.topology.deepest(contexts)
        return found

    def probability(self, word: Any, context: Any) -> float:
        """P(word | context).

        Raises a DataError for a word that can't be predicted.
        """
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
