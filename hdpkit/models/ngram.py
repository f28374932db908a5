"""The hierarchical Pitman-Yor language model of any order, and its predictions."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import whole_number
from hdpkit.data.held_out import HeldOut, held_out
from hdpkit.errors import DataError, StateError
from hdpkit.formats.arpa import write_arpa
from hdpkit.models.export import arpa_rows
from hdpkit.models.fitting import ModelFitting
from hdpkit.models.generate import generate
from hdpkit.models.predict import Posterior
from hdpkit.models.scores import Scores
from hdpkit.models.text import sentences_of
from hdpkit.random import Seed, Streams

__all__ = ["NGramModel"]

Floats = npt.NDArray[np.float64]


class NGramModel(ModelFitting):
    """A language model of n-grams: the hierarchical Pitman-Yor process of Teh (2006), any order.

    The distribution of the word after a context ``(w_-m, .., w_-1)`` is G ~ PY(discount, concentration, G'),
    where G' is that of the shorter context ``(w_-m+1, .., w_-1)``; the empty context draws from the base
    measure. By default seating is stored as in Blunsom et al. (2009). With ``order=2, discounts=0.0`` it is
    the hierarchical Dirichlet bigram model of Goldwater et al. (2006).

    Predictions are averages over samples of the posterior.

    Parameters
    ----------
    order : int
        Length of an n-gram, 1 to 100: at most order - 1 symbols of context and a word.
    discounts, concentrations : value, or sequence of ``order`` values, the root's (unigrams) first
        A value is a number (fixed), a prior (resampled; one hyperparameter for all restaurants of a level)
        or ``hk.Each(prior)`` (one for each restaurant). None: ``hk.Beta(1, 1)`` and ``hk.Gamma(1, 1)``.
    base : AtomicMeasure, optional
        The distribution that the empty context draws words from. None: ``hk.Uniform()``, the words that occur
        (the end of the sentence is one). With more atoms than words (``hk.Uniform(V)``) or an open
        vocabulary, words that never occurred have a probability too.
    store : str or type
        How seating is stored: "histogram", "explicit", or a SeatingStore class.
    start, end : hashable or None
        Symbols for the start of a sentence (in contexts only) and its end (predicted as a word); None: no
        symbol.
    unknown : hashable or None
        A word that replaces words outside the vocabulary, if it is itself in the vocabulary: because it
        occurs in the training text, or because ``vocabulary`` contains it.
    vocabulary : sequence, optional
        The possible words; the end of the sentence is added. Other words of a training text become
        ``unknown``, or raise an error if the vocabulary doesn't include it.
    kernel : str
        As in `Franchise`.

    Raises
    ------
    ParameterError, DataError, RegistryError
        If the settings are invalid.
    """

    # ------------------------------------------------------------------ predictions

    @property
    def _posterior(self) -> Posterior:
        chain = self._fitted
        if not chain.samples:
            raise StateError(
                "model",
                "without samples",
                "one with samples",
                "Call sweep(n), or resume() after an interrupt.",
            )
        return Posterior(chain.franchise, self.samples, self._unknown_id)

    @property
    def _unknown_id(self) -> int:
        return -1 if self.settings.unknown is None else self.data.word_id(self.settings.unknown)

    def probability(self, word: Any, context: Any = ()) -> float:
        """P(word | context), averaged over the samples.

        Parameters
        ----------
        word : hashable
            A word outside the vocabulary counts as ``unknown`` if that is in the vocabulary; otherwise it has
            the probability that the base measure gives to words without an atom.
        context : sequence of symbols
            In reading order, of any length; only the last order - 1 are used. Nothing is added: write
            ``("<s>", ...)`` at the start of a sentence. A symbol that never occurred ends the context.

        Raises
        ------
        DataError
            If the word can't be predicted: it is outside the vocabulary, and there is no unknown word.
        """
        return self._posterior.probability(word, context)

    def distribution(self, context: Any = ()) -> Floats:
        """P(. | context) of every word of `vocabulary`, averaged over the samples: shape (V,).

        The sum is 1 - `remainder`. ``context`` as in `probability`.
        """
        posterior = self._posterior
        return posterior.row(posterior.node(context))[0]

    def remainder(self, context: Any = ()) -> float:
        """Probability of all words outside `vocabulary`; 0 if the base measure has no others."""
        posterior = self._posterior
        return posterior.row(posterior.node(context))[1]

    def log_probability(self, sentence: Any) -> float:
        """Log probability of a sentence including its end, in nats.

        The sum over tokens of log P(token | context), where each P is an average over the samples.

        Parameters
        ----------
        sentence : sequence of tokens

        Raises
        ------
        DataError
            If a token is invalid or can't be predicted.
        """
        posterior = self._posterior
        text = held_out(self.data, [sentence], posterior.unknown)
        return float(self._certain(posterior, text).sum())

    def score(self, text: Any) -> Scores:
        """Score a text token by token.

        Parameters
        ----------
        text : iterable of sequences, path, open file, or NGrams
            As in `fit`. The vocabulary doesn't change. Words outside it are scored as in `probability`; a
            word that can't be predicted has log probability NaN and is left out of the perplexity.
        """
        posterior = self._posterior
        held = held_out(self.data, sentences_of(text), posterior.unknown)
        log_probability = posterior.log_probabilities(held)
        words = np.fromiter((*self.data.vocabulary, *held.outside), dtype=object)
        n_sentences = len(held.offsets) - 1
        return Scores(
            log_probability=log_probability,
            word=words[held.ids],
            sentence=np.repeat(np.arange(n_sentences), np.diff(held.offsets)),
            is_unknown=held.ids >= self.data.n_terms,
            n_sentences=n_sentences,
        )

    def perplexity(self, text: Any) -> float:
        """exp(- mean log P(token | context)) of a text, including the ends of its sentences.

        Parameters
        ----------
        text
            As in `score`.

        Raises
        ------
        DataError
            If a word can't be predicted, since leaving it out would make the perplexity too low
            (``score(text).perplexity`` leaves such words out), or the text is empty.
        """
        posterior = self._posterior
        held = held_out(self.data, sentences_of(text), posterior.unknown)
        if len(held) == 0:
            raise DataError("text", "no token", "at least one token", "Check how it was read.")
        with np.errstate(over="ignore"):
            return float(np.exp(-self._certain(posterior, held).mean()))

    def _certain(self, posterior: Posterior, text: HeldOut) -> Floats:
        """Log probabilities of all tokens; raises a DataError for the first that can't be predicted."""
        log_probabilities = posterior.log_probabilities(text)
        missing = np.flatnonzero(np.isnan(log_probabilities))
        if len(missing):
            sentence = int(np.searchsorted(text.offsets, missing[0], side="right")) - 1
            word = text.outside[text.ids[missing[0]] - self.data.n_terms]
            position = int(missing[0] - text.offsets[sentence])
            raise posterior.unpredicted(f"sentence {sentence}, position {position}", word)
        return log_probabilities

    def sample(
        self, n: int = 1, *, rng: Seed = None, context: Any = None, max_length: int = 1000
    ) -> list[list[Any]]:
        """Draw sentences from the model.

        Each word is drawn from the distribution that `distribution` averages.

        Parameters
        ----------
        n : int
            Number of sentences.
        rng : seed, Generator or None
        context : sequence of symbols, optional
            The words before the first one, in reading order; by default the start of a sentence.
        max_length : int
            Longer sentences are cut at this length.

        Returns
        -------
        list of lists
            Words without the symbols of start and end. With an open base, words outside the vocabulary are
            drawn as strings. With another base they appear as ``unknown``; if that is None, they don't
            occur.
        """
        n = whole_number("n", n, 0, remedy="Number of sentences.")
        max_length = whole_number("max_length", max_length, 1, remedy="Number of words.")
        return generate(self._posterior, n, Streams(rng), context, max_length, self.settings.unknown)

    def export_arpa(self, path: str | os.PathLike[str]) -> None:
        r"""Write the model as a back-off model in ARPA format, for other tools.

        Every n-gram that occurs has its probability, averaged over the samples, and back-off weights are
        such that probabilities given a context sum to one. For a single sample this equals the model. An
        average of several samples is not a back-off model: then only the total probability of the words
        unseen in a context is right, not that of each word. Start, end and unknown word are written as
        ``<s>``, ``</s>`` and ``<unk>``. If the base measure has words outside the vocabulary and there is no
        unknown word, ``<unk>`` means all of them.

        Parameters
        ----------
        path : path
            Compressed with gzip if the name ends in ".gz".

        Raises
        ------
        DataError
            If the training data are pairs, or a word isn't a string, contains blanks, or is one of the
            symbols.
        StorageError
            If the file can't be written.
        """
        write_arpa(path, arpa_rows(self._posterior, self.settings.unknown))
