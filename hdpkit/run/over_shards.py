"""Runs over shards in their folders: their states, and how they are continued."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.allowed import Allowed
from hdpkit.checks import instance
from hdpkit.data import ShardedCorpus
from hdpkit.errors import ParameterError, RunError
from hdpkit.franchise.franchise import Franchise
from hdpkit.numerics import add_up
from hdpkit.random import Streams
from hdpkit.run.run_folder import Checkpointed, RunFolder
from hdpkit.run.shards.files import (
    FromFolder,
    Stored,
    begin_without_documents,
    log_joint_of_all,
    one_document,
    shard_file,
    summed,
    totals_of,
)
from hdpkit.run.shards.franchise import ShardedFranchise
from hdpkit.run.shards.state import OPENS, counted_terms, seat_bursts, whole_state
from hdpkit.run.states import ChainState, Documents
from hdpkit.stores._stirling import sum_of_logs

_BYTES = 24  # of a franchise for each token, about


class OverShards:
    """The chain of a run over shards."""

    def __init__(self, files: RunFolder, data: Any, allowed_imports: Allowed) -> None:
        self.files = files
        self.data = data
        self.allowed_imports = allowed_imports

    def declared(self) -> ShardedFranchise:
        """The franchise, without workers."""
        declared = self._declared(one_document(self.data))
        return ShardedFranchise(
            declared.declarations[-1], self.data, root=declared.root.declared, spool=self.files.settings.spool
        )

    def check_own(self, franchise: Any) -> None:
        """Raise an error unless a franchise can be one of this run."""
        instance(
            "franchise", franchise, ShardedFranchise, "a ShardedFranchise, or None", remedy="Leave it out."
        )
        if franchise.corpus.digest != self.data.digest:
            raise ParameterError("franchise", franchise, "one over the corpus of this run", "Leave it out.")

    def stored(self, loaded: Checkpointed) -> tuple[Stored, FromFolder]:
        """What all documents have in common at a checkpoint, and what reads the state of each shard."""
        declared, chain = self._declared(one_document(self.data)), self.files.chain(0).path
        weights, differ = declared.root.declared == "weights", declared.measure.seats_values
        n_shards = len(self.data.shards)
        stored = Stored.read(loaded.frozen, self.data.n_terms, n_shards, weights, chain, differ)
        return stored, FromFolder.of(chain, stored)

    def state(self, number: int, loaded: Checkpointed) -> ChainState:
        """The state of a checkpoint."""
        stored, start = self.stored(loaded)
        franchise = self._declared(one_document(self.data))
        begin_without_documents(franchise, stored, loaded.seed)
        sample = franchise.sample()
        k = sample.n_dishes
        none = scipy.sparse.csr_array((0, k), dtype=np.int64)
        level = attrs.evolve(sample.levels[-1], parent=np.zeros(0, dtype=np.int64), counts=none)
        sample = attrs.evolve(
            sample, sizes=np.asarray(stored.counts.sum(axis=1), dtype=np.int64), log_joint=stored.log_joint,
            names=(), group_counts=none, levels=(level,), counts=stored.counts,
        )  # fmt: skip

        def block(i: int) -> Documents:
            info, corpus = self.data.shards[i], self.data.shard(i)
            seating = start.seating(i, info, corpus)
            dish = np.searchsorted(stored.common["slots"], seating["count_dish"])
            counts = scipy.sparse.csr_array(
                (seating["count_customers"].astype(np.int64), (seating["count_node"] - 1, dish)),
                shape=(info.n_documents, k),
            )
            first = info.first_document
            own = attrs.evolve(level, parent=np.zeros(info.n_documents, dtype=np.int64), counts=counts)
            names = corpus.names or range(first, first + info.n_documents)
            of_documents = attrs.evolve(sample, names=names, group_counts=counts, levels=(own,))
            return Documents(first=first, corpus=corpus, counts=counts, sample=of_documents)

        blocks = tuple(partial(block, i) for i in range(len(self.data.shards)))
        return ChainState(franchise=franchise, sample=sample, data=self.data, blocks=blocks)

    def franchise(self, number: int, loaded: Checkpointed) -> Franchise:
        """A franchise over all documents, if they fit into memory."""
        _check_fits(self.data.n_tokens)
        stored, start = self.stored(loaded)
        seatings = {i: start.seating(i, info, self.data.shard(i)) for i, info in enumerate(self.data.shards)}
        frozen = whole_state(self.data, loaded.seed, seatings, stored.common)
        corpus = self.data.corpus() if isinstance(self.data, ShardedCorpus) else self.data.corpus
        franchise = self._declared(corpus)
        franchise.thaw(frozen)
        franchise.streams = Streams(loaded.seed)
        return franchise

    # ------------------------------------------------------------------ verification

    def files_of(self, loaded: Checkpointed) -> Iterator[tuple[str, Callable[[], str]]]:
        """Checks of the files besides the state that a checkpoint has: their names and what checks them."""
        stored, start = self.stored(loaded)

        def check(i: int) -> str:
            start.read(i)
            return "checksum; of this checkpoint"

        folder = Path(start.folder)
        for i in range(len(stored.digests)):
            yield f"{folder.name}/{shard_file(folder, i).name}", partial(check, i)

    def audit(self, number: int, loaded: Checkpointed) -> tuple[str, dict[str, Any]]:
        """Add up the documents of all shards and compare the sums with the state; and its scalars."""
        stored, start = self.stored(loaded)
        present = getattr(self.data, "is_present", None)
        if present is not None and not all(map(present, range(len(stored.digests)))):
            return "shards of the corpus are on other disks: their sums are not compared", {}
        slots, n_terms = np.asarray(stored.common["slots"]), self.data.n_terms
        n_slots = int(slots.max()) + 1
        totals, logs = [], []
        counts, observed = (scipy.sparse.csr_array((n_slots, n_terms), dtype=np.int64) for _ in range(2))
        franchise = self.state(number, loaded).franchise
        bursts = None
        for i, info in enumerate(self.data.shards):
            corpus = self.data.shard(i)
            seating = start.seating(i, info, corpus)
            dish, terms = seating["dish"], corpus.values
            counts += counted_terms(dish, terms, counts.shape)
            if OPENS in seating:
                observed += counted_terms(dish, terms, counts.shape, seating[OPENS])
            if stored.bursts is not None:
                own = seat_bursts(self._declared(corpus), seating)
                bursts = own if bursts is None or own is None else bursts.plus(own)
            totals.append(totals_of(seating))
            customers, tables = (
                np.asarray(seating[f"count_{name}"], np.int64) for name in ("customers", "tables")
            )
            logs.append(float(sum_of_logs(customers, tables)))
        tables, sizes = summed(totals, n_slots)
        log_likelihood = franchise.log_likelihood()
        log_joint = log_joint_of_all(franchise, log_likelihood) + add_up(logs)
        same = not (counts[slots] - stored.counts).data.any()
        if bursts is not None and stored.bursts is not None:
            same &= not (observed[slots] - stored.observed).data.any()
            same &= all(map(np.array_equal, (bursts.totals, bursts.cells), stored.bursts))
        same &= np.array_equal(tables[slots], stored.tables) and all(map(np.array_equal, sizes, stored.sizes))
        same &= loaded.sweep == 0 or bool(np.isclose(stored.log_joint, log_joint, rtol=1e-9))
        if not same:
            raise RunError(
                str(self.files.chain(number).path), "a state with other sums than those of its shards",
                "those of its shards", "State and shards are of different runs; restore copies of them.",
            )  # fmt: skip
        values = {
            "n_dishes": len(slots), "n_tables": int(tables.sum()), "log_likelihood": log_likelihood,
            "log_joint": log_joint,
        }  # fmt: skip
        return f"the sums over its shards: {len(slots)} dishes, {int(tables.sum())} tables", values

    def _declared(self, corpus: Any) -> Franchise:
        franchise = self.files.franchise(self.allowed_imports, corpus)
        franchise.expand_cells()
        return franchise


def _check_fits(n_tokens: int) -> None:
    """Raise a RunError if a franchise over so many tokens needs more memory than there is."""
    if not hasattr(os, "sysconf"):
        return
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if _BYTES * n_tokens > there:
        raise RunError(
            "data", f"{n_tokens:,} tokens in shards", f"what fits into {there >> 30} GB of memory",
            "run.state() has the topics, and the documents in blocks; commands use these.",
        )  # fmt: skip
