"""A franchise with what all documents of a run over shards have in common, and none of its documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from hdpkit._count_changes import write_sparse
from hdpkit.data import Corpus
from hdpkit.errors import KernelError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.whole_corpus import Changes, CountedBursts, WholeCorpus
from hdpkit.random import STARTS, Streams
from hdpkit.run.shards.files import Stored
from hdpkit.run.shards.shard_state import COLUMNS, OPENS, begin_shards, seat_bursts


def one_document(source: Any) -> Corpus:
    """A corpus of one token over the terms of a corpus in shards: a franchise needs a document."""
    one = scipy.sparse.csr_array(([1], ([0], [0])), shape=(1, source.n_terms))
    return Corpus.from_counts(one, vocabulary=getattr(source, "vocabulary", None))


def check_served(franchise: Franchise) -> None:
    """Raise a KernelError unless sweeps over shards are supported."""
    try:
        franchise.kernel("sweep_shards")
    except KernelError as error:
        raise KernelError(
            "base", franchise.measure, "a DirichletMultinomial, or a Bursty around one",
            "Use hk.DirichletMultinomial, or hk.Scheduler over the whole corpus.",
        ) from error  # fmt: skip


def begin_without_documents(franchise: Franchise, stored: Stored, seed: int) -> None:
    """Give a franchise over `one_document` the topics, weights and hyperparameters of a checkpoint."""
    slots = np.asarray(stored.common["slots"], dtype=np.int64)
    n_slots = int(slots.max()) + 1
    customers, observations, tables = np.zeros((3, n_slots), dtype=np.int64)
    customers[slots] = np.asarray(stored.counts.sum(axis=1))
    observations[slots], tables[slots] = np.asarray(stored.observed.sum(axis=1)), stored.tables
    by_term = scipy.sparse.csr_array(stored.observed.T)
    by_term.sort_indices()
    term = np.repeat(np.arange(by_term.shape[0]), np.diff(by_term.indptr))
    counts = write_sparse(term * n_slots + slots[by_term.indices], by_term.data.astype(np.int64))
    bursts = None if stored.bursts is None else CountedBursts(customers, *stored.bursts)
    total = Changes(observations, tables, np.zeros(1, dtype=np.int64), (counts,), bursts)
    own = () if bursts is None else (OPENS,)
    seating = {name: np.ones(1, dtype=np.int32) for name in ("dish", *COLUMNS, *own)}
    seating["dish"][0] = seating["count_dish"][0] = slots[0]
    seat_bursts(franchise, seating)
    streams = Streams(seed)
    begin_shards(
        franchise,
        seating,
        total,
        stored.common,
        WholeCorpus(0, stored.sizes),
        streams.source(STARTS),
    )
    franchise.streams = streams
