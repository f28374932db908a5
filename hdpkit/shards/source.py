"""Sources of the documents of a run over shards."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from typing import Protocol

import attrs
import numpy as np

from hdpkit.checks import instance, made_by, whole_number
from hdpkit.data import Corpus
from hdpkit.data.pieces import piece_of

__all__ = ["CutCorpus", "Info", "Source", "cut", "spread"]


class Info(Protocol):
    """One shard: consecutive documents of a corpus."""

    @property
    def first_document(self) -> int:
        """Number of its first document in the corpus."""

    @property
    def n_documents(self) -> int:
        """Number of its documents."""

    @property
    def first_token(self) -> int:
        """Number of its first token in the corpus."""

    @property
    def n_tokens(self) -> int:
        """Number of its tokens, at least one."""


class Source(Protocol):
    """A corpus in shards. It is sent to every process, each of which reads its own shards."""

    @property
    def shards(self) -> Sequence[Info]:
        """The shards in the order of documents."""

    @property
    def n_terms(self) -> int:
        """Number of terms of the entire corpus."""

    @property
    def digest(self) -> str:
        """A checksum that identifies this corpus and its division into shards."""

    def shard(self, i: int) -> Corpus:
        """Documents of shard i, numbered from 0, over the terms of the entire corpus."""


@attrs.frozen
class _Piece:
    first_document: int
    n_documents: int
    first_token: int
    n_tokens: int


@made_by("cut")
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
    begins = [0, *there[at].tolist(), corpus.n_documents]
    offsets = np.concatenate([[0], ends])
    return CutCorpus(
        corpus,
        tuple(
            _Piece(a, b - a, int(offsets[a]), int(offsets[b] - offsets[a]))
            for a, b in itertools.pairwise(begins)
        ),
    )


def spread(source: Source, n_workers: int) -> list[range]:
    """Consecutive shards for each worker, with about equal numbers of tokens; the last may get none."""
    n = len(source.shards)
    ends = np.cumsum([info.n_tokens for info in source.shards])
    workers = min(n_workers, n)
    begins = [0]
    for i in range(1, workers):
        share = i * int(ends[-1]) / workers
        at = int(np.argmin(np.abs(ends - share))) + 1  # the nearest end of a shard
        begins.append(min(max(at, begins[-1] + 1), n - (workers - i)))
    begins.append(n)
    found = [range(a, b) for a, b in itertools.pairwise(begins)]
    return found + [range(n, n)] * (n_workers - workers)
