"""A corpus in pieces of consecutive documents, and pieces as one corpus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hdpkit.data.cells import Tokens
from hdpkit.data.corpus import Corpus

__all__ = ["piece_of", "strung_together"]


def piece_of(corpus: Corpus, first: int, last: int) -> Corpus:
    """Return documents first .. last - 1 as a corpus of their own, without names and labels.

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


def strung_together(pieces: Sequence[Corpus]) -> Corpus:
    """Return the documents of all pieces as one corpus, without names and labels; a single piece as it is."""
    if len(pieces) == 1:
        return pieces[0]
    terms = np.concatenate([piece.values for piece in pieces])
    terms.setflags(write=False)
    lengths = np.concatenate([piece.document_lengths for piece in pieces])
    return Corpus._build(Tokens(terms), lengths, pieces[0].n_terms, pieces[0].vocabulary, None, None)
