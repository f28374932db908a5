"""Scores of a text by a language model, token by token."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

__all__ = ["Scores"]

Floats = npt.NDArray[np.float64]


@attrs.frozen(eq=False, repr=False)
class Scores:
    """Scores of a text, one entry per token, including ends of sentences. Returned by `NGramModel.score`.

    Attributes
    ----------
    log_probability : float64 array, shape (n,)
        log P(token | context), nats; NaN for a token that can't be predicted.
    word : object array, shape (n,)
        The tokens.
    sentence : int64 array, shape (n,)
        Number of each token's sentence, from 0.
    is_unknown : bool array, shape (n,)
        Whether the token is outside the model's vocabulary.
    n_sentences : int
    """

    log_probability: Floats
    word: npt.NDArray[Any]
    sentence: npt.NDArray[np.int64]
    is_unknown: npt.NDArray[np.bool_]
    n_sentences: int

    def __len__(self) -> int:
        return len(self.log_probability)

    def __repr__(self) -> str:
        left_out = f", {self.n_unpredicted} of them left out" if self.n_unpredicted else ""
        return (
            f"<Scores: perplexity {self.perplexity:.6g} over {self.n_tokens} tokens of {self.n_sentences} "
            f"sentences, {self.n_unknown} unknown{left_out}>"
        )

    @property
    def n_tokens(self) -> int:
        """Number of tokens, including ends of sentences and unknown words."""
        return len(self)

    @property
    def n_unknown(self) -> int:
        """Number of tokens outside the vocabulary."""
        return int(np.count_nonzero(self.is_unknown))

    @property
    def is_predicted(self) -> npt.NDArray[np.bool_]:
        """Whether each token has a probability: shape (n,)."""
        return ~np.isnan(self.log_probability)

    @property
    def n_unpredicted(self) -> int:
        """Number of tokens without a probability: unknown words, if the model has no word for them."""
        return len(self) - int(np.count_nonzero(self.is_predicted))

    @property
    def perplexity(self) -> float:
        """exp(- mean log_probability) of the tokens that have a probability; NaN if none has.

        Infinite if it exceeds the largest double, for instance because of a very long word in an open
        vocabulary. If `n_unpredicted` isn't 0, this is the perplexity that SRILM and KenLM give "without
        OOVs".
        """
        there = self.log_probability[self.is_predicted]
        with np.errstate(over="ignore"):
            return float(np.exp(-there.mean())) if len(there) else math.nan

    def by_sentence(self) -> npt.NDArray[Any]:
        """Scores by sentence.

        Returns
        -------
        structured array, shape (n_sentences,)
            ``log_probability`` (sum over the predicted tokens, nats), ``n_tokens``, ``n_unknown``,
            ``n_unpredicted``, ``perplexity`` (NaN if no token is predicted).
        """
        there, n = self.is_predicted, self.n_sentences
        rows = np.zeros(
            n,
            [
                ("log_probability", np.float64),
                ("n_tokens", np.int64),
                ("n_unknown", np.int64),
                ("n_unpredicted", np.int64),
                ("perplexity", np.float64),
            ],
        )
        total = np.bincount(self.sentence[there], self.log_probability[there], n)
        predicted = np.bincount(self.sentence[there], minlength=n)
        rows["log_probability"] = total
        rows["n_tokens"] = np.bincount(self.sentence, minlength=n)
        rows["n_unknown"] = np.bincount(self.sentence[self.is_unknown], minlength=n)
        rows["n_unpredicted"] = rows["n_tokens"] - predicted
        mean = np.divide(total, predicted, out=np.full(n, np.nan), where=predicted > 0)
        with np.errstate(over="ignore"):
            rows["perplexity"] = np.exp(-mean)
        return rows
