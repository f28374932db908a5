"""Tokens of a worker in a file on disk instead of in memory: the system reads what a sweep comes to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from hdpkit.arrays import Int32s
from hdpkit.data import Corpus
from hdpkit.data.corpus import Tokens
from hdpkit.data.files.mapped import array_on_disk
from hdpkit.writing import storage_errors

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
