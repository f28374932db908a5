"""A corpus in memory as shards: ranges of consecutive documents."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence

import attrs
import numpy as np

from hdpkit.checks import instance, whole_number
from hdpkit.data.corpus import Corpus, piece_of


@attrs.frozen
class _Piece:
    first_document: int
    n_documents: int
    first_token: int
    n_tokens: int


@attrs.frozen(eq=False)
class CutCorpus:
    """A corpus in memory as shards: see `cut`."""

    corpus: Corpus
    shards: tuple[_Piece, ...]

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return self.corpus.n_terms

    @property
    def n_documents(self) -> int:
        """Number of documents of all shards."""
        return self.corpus.n_documents

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all shards."""
        return self.corpus.n_tokens

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """Word of each term."""
        return self.corpus.vocabulary

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels, including "document"."""
        return tuple(self.corpus.label_names)

    @property
    def digest(self) -> str:
        """A checksum of the tokens and of the boundaries of shards."""
        found = hashlib.sha256(np.ascontiguousarray(self.corpus.values).tobytes())
        found.update(np.ascontiguousarray(self.corpus.document_lengths).tobytes())
        found.update(repr([piece.first_document for piece in self.shards]).encode())
        return found.hexdigest()

    def shard(self, i: int) -> Corpus:
        """Documents of shard i."""
        i = whole_number("i", i, 0, len(self.shards) - 1, remedy="Shards are numbered from 0.")
        piece = self.shards[i]
        return piece_of(self.corpus, piece.first_document, piece.first_document + piece.n_documents)


def cut(corpus: Corpus, n_shards: int) -> CutCorpus:
    """Divide a corpus into shards of consecutive documents with about equal numbers of tokens.

    Parameters
    ----------
    corpus : Corpus
        A corpus in memory; for larger corpora, convert files with ``hdpkit convert --shards``.
    n_shards : int
        At most the number of documents with tokens.

    Returns
    -------
    CutCorpus

    Raises
    ------
    ParameterError
        If there are fewer documents with tokens.
    """
    instance("corpus", corpus, Corpus, "a Corpus", remedy="hk.Corpus.from_documents(...).")
    there = np.flatnonzero(corpus.document_lengths)
    whole_number("n_shards", n_shards, 1, len(there), remedy="A shard has at least one document with tokens.")
    ends = np.cumsum(corpus.document_lengths)
    # The document with tokens at which each shard begins, so that no shard is without tokens.
    at = np.searchsorted(ends[there], np.arange(1, n_shards) * int(ends[-1]) / n_shards)
    for i in range(n_shards - 1):
        at[i] = min(max(int(at[i]), int(at[i - 1]) + 1 if i else 1), len(there) - (n_shards - 1 - i))
    return cut_at(corpus, [0, *there[at].tolist()])


def cut_at(corpus: Corpus, firsts: Sequence[int]) -> CutCorpus:
    """Divide a corpus into shards that begin at these documents, the first of which is 0."""
    offsets = np.concatenate([[0], np.cumsum(corpus.document_lengths)])
    return CutCorpus(
        corpus,
        tuple(
            _Piece(a, b - a, int(offsets[a]), int(offsets[b] - offsets[a]))
            for a, b in itertools.pairwise([*firsts, corpus.n_documents])
        ),
    )
