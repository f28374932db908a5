"""Sentences drawn from a language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hdpkit.data.encode import check_hashable
from hdpkit.errors import DataError
from hdpkit.models.predict import Posterior
from hdpkit.random import ChoiceSource, Purpose, Streams

__all__ = ["generate"]

_TRIES = 10_000


def generate(
    posterior: Posterior, n: int, streams: Streams, context: Any, max_length: int, unknown: Any
) -> list[list[Any]]:
    """Draw ``n`` sentences; parameters as in `NGramModel.sample`.

    For each word a sample of the posterior is drawn, and the word is drawn given this sample. The
    distribution is the average over samples, at the cost of one.
    """
    data = posterior.data
    if context is None:
        before = [] if data.start is None else [data.start]
    elif isinstance(context, Sequence) and not isinstance(context, str | bytes):
        before = [check_hashable("context", symbol) for symbol in context]
    else:
        raise DataError("context", context, "a sequence of symbols, or None", 'Write it as ("of", "the").')
    sentences = []
    for number in range(n):
        # A stream for each sentence, so that the first three of ten sentences equal three drawn alone.
        source = streams.source(Purpose.SENTENCES, unit=number)
        words: list[Any] = []
        ended = False
        while not ended and len(words) < max_length:
            word = _word(posterior, [*before, *words[-data.order :]], source, unknown)
            ended = data.end is not None and word == data.end
            if not ended:
                words.append(word)
        sentences.append(words)
    return sentences


def _word(posterior: Posterior, context: Any, source: ChoiceSource, unknown: Any) -> Any:
    sample = posterior.samples[source.index(len(posterior.samples))]
    data, measure = posterior.data, posterior.measure
    row = sample.row(posterior.node(context))
    draw: Any = getattr(measure, "sample", None)
    if draw is None and unknown is None:
        row = row[: data.n_terms]  # other words have no written form
    drawn = source.choose(row)
    if drawn < data.n_terms:
        return data.vocabulary[drawn]
    for _ in range(_TRIES if draw is not None else 0):
        (word,) = draw(1, source)
        if data.word_id(word) < 0 and word != data.start:
            return word
    return unknown
