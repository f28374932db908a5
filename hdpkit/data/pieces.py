"""Splitting a corpus into pieces of consecutive documents, and concatenating pieces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hdpkit.data.cells import Tokens
from hdpkit.data.corpus import Corpus

__all__ = ["piece_of", "strung_together"]


def piece_of(corpus: Corpus, first: int, last: int) -> Corpus:
    """Return documents first .. last - 1 as a separate corpus, without names and labels.

    Parameters
    ----------
    corpus : Corpus
    first, last : int
        A range of documents with at least one token.
    """
    begin = int(corpus.document_lengths[:first].sum())
    lengths = corpus.document_lengths[first:last].copy()
    terms = corpus.values[begin : begin + int(lengths.sum())].copy()
    terms.setflags(write=False)
    return Corpus._build(Tokens(terms), lengths, corpus.n_terms, corpus.vocabulary, None, None)


def strung_together(pieces: Iterable[Corpus]) -> Corpus:
    """Return the documents of all pieces as one corpus, without names and labels; a single piece unchanged.

    Pieces are iterated over once, and only one of them is in memory at a time.
    """
    several = iter(pieces)
    first = last = next(several)
    terms: list[Any] = []
    lengths: list[Any] = []
    for last in several:
        if not terms:
            terms, lengths = [first.values], [first.document_lengths]
        terms.append(last.values)
        lengths.append(last.document_lengths)
    if not terms:
        return first
    del first
    joined = np.concatenate(terms)
    terms.clear()
    joined.setflags(write=False)
    return Corpus._build(Tokens(joined), np.concatenate(lengths), last.n_terms, last.vocabulary, None, None)
