"""What all documents of a run over shards have in common: a franchise with none of them, and its log joint,
a sum over shards in their order, whatever the number of workers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from hdpkit._count_changes import write_sparse
from hdpkit.data import Corpus
from hdpkit.errors import KernelError
from hdpkit.franchise.declarations import FixedWeights
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.root import log_dishes
from hdpkit.franchise.scores import columns_of, log_seating_of_restaurant
from hdpkit.franchise.whole_corpus import Changes, CountedBursts, WholeCorpus
from hdpkit.numerics import add_up, lgamma, log
from hdpkit.random import STARTS, Streams
from hdpkit.run.shards.files import Stored
from hdpkit.run.shards.shard_state import COLUMNS, OPENS, begin_shards, seat_bursts
from hdpkit.stores._stirling import sum_of_logs


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


def seated_logs(franchise: Franchise, documents: Sequence[int]) -> list[float]:
    """Sum over documents and dishes of log S(customers, tables), for consecutive ranges of documents.

    The franchise has a store of counts and no discounts.
    """
    node, _, customers, tables = _columns(franchise)
    places = np.searchsorted(node, np.cumsum([1, *documents]))
    n, t = (np.asarray(column, dtype=np.int64) for column in (customers, tables))
    return [
        float(sum_of_logs(n[first:last], t[first:last]))
        for first, last in itertools.pairwise(places.tolist())
    ]


def log_joint_of_all(franchise: Franchise, log_likelihood: float) -> float:
    """The log joint of all documents without their `seated_logs`: the same bits in every worker."""
    root, documents = franchise.declarations
    node, _, customers, _ = _columns(franchise)
    served = np.asarray(customers[: np.searchsorted(node, 1)], dtype=np.int64)  # customers of the root
    declared, n_tables = franchise.root.declared, int(served.sum())
    if isinstance(declared, FixedWeights):
        seating = log_dishes(declared.n_dishes, len(served), n_tables)
    else:
        seating = log_seating_of_restaurant(served, _concentration(franchise, root.name), 0.0)
    theta = _concentration(franchise, documents.name)
    (sizes, with_size), _ = franchise.counted_totals_of(1)
    there = sizes > 0
    seating += (n_tables - int(with_size[there].sum())) * log(theta)
    alone = lgamma(theta + 1.0)
    seating -= add_up(
        n * (lgamma(theta + size) - alone)
        for size, n in zip(sizes[there].tolist(), with_size[there].tolist(), strict=True)
    )
    return float(seating + log_likelihood + franchise.log_prior() + franchise.parts.log_density(franchise))


def _concentration(franchise: Franchise, name: str) -> float:
    return float(np.asarray(franchise.concentration(name)).item())


def _columns(franchise: Franchise) -> Any:
    with franchise.lock():
        return columns_of(franchise.seating, franchise.topology.n_nodes)
