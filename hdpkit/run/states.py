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
    """Consecutive documents of a state.

    Attributes
    ----------
    first : int
        Number of the first of them in the corpus.
    corpus : Corpus
        The documents.
    counts : csr_array of int64, shape (n_documents, K)
        Tokens of each dish in each document.
    sample : Sample or None
        The sample with these documents as its groups; None if the groups of the deepest level aren't the
        documents.
    """

    first: int
    corpus: Corpus
    counts: Any
    sample: Sample | None


@attrs.frozen(eq=False, kw_only=True)
class ChainState:
    """The newest state of a chain.

    Attributes
    ----------
    franchise : Franchise
        For the topics, the weights of the root, hyperparameters and new documents. Over shards it has no
        documents.
    sample : Sample
        The sample of the state; over shards without groups, which `documents` returns.
    data : Corpus, Groups, NGrams, ShardedCorpus or CutCorpus
        The data of the run.
    blocks : tuple of callables
        Each returns some of the documents; a block for each shard.
    """

    franchise: Franchise
    sample: Sample
    data: RunData
    blocks: tuple[Callable[[], Documents], ...]

    @property
    def seed(self) -> int | None:
        """Seed of the chain."""
        return None if self.franchise.streams is None else self.franchise.streams.seed

    def documents(self) -> Iterator[Documents]:
        """The documents in order, in blocks of which one at a time is in memory.

        Raises a DataError if the data aren't a corpus.
        """
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
