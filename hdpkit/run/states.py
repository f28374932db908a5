"""The newest state of a chain, as everything that shows, exports or uses a run reads it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.data import Corpus
from hdpkit.errors import DataError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.run.data_file import RunData

_CHUNK = 1 << 22


@attrs.frozen(eq=False, kw_only=True)
class Documents:
    """Consecutive documents of a state."""

    first: int  # number of the first of them in the corpus
    corpus: Corpus
    counts: Any  # csr_array of int64, shape (n_documents, K): tokens of each dish in each document
    sample: Sample | None  # with these documents as its groups; None if the deepest groups aren't documents


@attrs.frozen(eq=False, kw_only=True)
class ChainState:
    """The newest state of a chain."""

    franchise: Franchise  # for topics, weights of the root, new documents; over shards without documents
    sample: Sample  # over shards without groups, which `documents` returns
    data: RunData
    blocks: tuple[Callable[[], Documents], ...]  # each returns some of the documents; one for each shard

    @property
    def seed(self) -> int | None:
        """Seed of the chain."""
        return None if self.franchise.streams is None else self.franchise.streams.seed

    def documents(self) -> Iterator[Documents]:
        """The documents in order, one block at a time in memory; a DataError if the data are no corpus."""
        self.check_corpus()
        for block in self.blocks:
            yield block()

    def document_frequency(self) -> npt.NDArray[np.int64] | None:
        """Number of documents with each term, shape (V,); None over shards or data that are no corpus."""
        data: Any = self.data
        if not hasattr(data, "to_counts"):
            return None
        return np.bincount(data.to_counts().indices, minlength=data.n_terms)

    def check_corpus(self) -> Any:
        """The data if they are a corpus, in shards or not; otherwise raise a DataError."""
        if not hasattr(self.data, "n_documents"):
            raise DataError(
                "data", type(self.data).__name__, "a Corpus, whose dishes are topics",
                "See hk.open_run(folder).franchise().dish_parameters().",
            )  # fmt: skip
        return self.data


def state_of(franchise: Franchise) -> ChainState:
    """The state of a franchise over all its data."""
    sample = franchise.sample()
    block = functools.partial(_documents, franchise, sample)
    return ChainState(franchise=franchise, sample=sample, data=franchise.data, blocks=(block,))


def _documents(franchise: Franchise, sample: Sample) -> Documents:
    """All documents of a franchise."""
    corpus: Any = franchise.data
    grouped = sample.label == "document" and sample.n_groups == corpus.n_documents
    counts = sample.group_counts if grouped else _counted(franchise, corpus)
    return Documents(first=0, corpus=corpus, counts=counts, sample=sample if grouped else None)


def _counted(franchise: Franchise, corpus: Corpus) -> scipy.sparse.csr_array:
    """Tokens of each dish in each document, where documents aren't groups of the deepest level."""
    dishes, shape = franchise.dishes, (corpus.n_documents, franchise.n_dishes)
    total = scipy.sparse.csr_array(shape, dtype=np.int64)
    for first in range(0, len(dishes), _CHUNK):
        last = min(first + _CHUNK, len(dishes))
        document: npt.NDArray[np.int64] = corpus.codes_between("document", first, last)
        there = dishes[first:last] >= 0
        ones = np.ones(int(there.sum()), dtype=np.int64)
        places = (document[there], dishes[first:last][there])
        total = total + scipy.sparse.csr_array((ones, places), shape=shape)
    return total
