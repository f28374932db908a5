"""Sources of the documents of a run over shards."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from hdpkit.data import Corpus


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
