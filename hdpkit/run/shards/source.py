"""Sources of the documents of a run over shards, and tokens on disk, read as a sweep comes to them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from hdpkit.arrays import Int32s
from hdpkit.data import Corpus
from hdpkit.data.corpus import Tokens
from hdpkit.data.files.mapped import array_on_disk
from hdpkit.files import storage_errors


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


CHUNK = 1 << 20  # tokens or cells at a time


def spooled(pieces: Iterable[Corpus], n_tokens: int, folder: str, shards: range) -> Corpus:
    """Return the documents of all pieces as one corpus, whose arrays by token are mapped from a file.

    The file takes 8 bytes a token. It has no name, so that nothing is left of it when the process has ended.
    A StorageError if it can't be made, or there is no room for it.
    """
    with storage_errors(
        f"spool, of shards {shards[0]} to {shards[-1]}", folder,
        f"a place with room for {8 * n_tokens:,} bytes", "Name another folder, or leave spool out.",
    ):  # fmt: skip
        Path(folder).mkdir(parents=True, exist_ok=True)
        mapped = array_on_disk((2, n_tokens), folder)
    at, lengths, last = 0, [], None
    for last in pieces:
        for terms in _terms(last):
            mapped[0, at : at + len(terms)] = terms
            at += len(terms)
        lengths.append(np.asarray(last.document_lengths, dtype=np.int64))
    assert last is not None
    joined, at = np.concatenate(lengths), 0
    for first in range(0, len(joined), CHUNK):
        document = np.arange(first, min(first + CHUNK, len(joined)), dtype=np.int32) + np.int32(1)
        numbers = np.repeat(document, joined[first : first + CHUNK])
        mapped[1, at : at + len(numbers)] = numbers
        at += len(numbers)
    mapped.flags.writeable = False
    terms, numbers = mapped
    return Corpus._checked(Tokens(terms), joined, last.n_terms, last.vocabulary, None, {}, numbers=numbers)


def _terms(corpus: Corpus) -> Iterator[Int32s]:
    """Terms of the tokens in pieces: those of cells are never all in memory."""
    cells = corpus.cells
    if cells is None:
        for first in range(0, corpus.n_tokens, CHUNK):
            yield corpus.values[first : first + CHUNK]
        return
    for first in range(0, len(cells.term), CHUNK):
        yield np.repeat(cells.term[first : first + CHUNK], cells.count[first : first + CHUNK])
