"""One part of a run: a franchise over the documents of some shards, and its methods for the carrier."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.data import Corpus
from hdpkit.data.pieces import strung_together
from hdpkit.errors import KernelError
from hdpkit.franchise import Franchise
from hdpkit.franchise.elsewhere import Elsewhere
from hdpkit.franchise.part import (
    COLUMNS,
    begin_part,
    common_state,
    draw_part,
    end_parts,
    part_counts,
    part_seating,
    share_topics,
    sweep_part,
    take_block,
)
from hdpkit.franchise.sampling import hyperparameter_values
from hdpkit.random import STARTS
from hdpkit.record.scalars import largest_shares
from hdpkit.shards.files import write_counts, write_shard
from hdpkit.shards.job import OVER_DOCUMENTS, Job, needs_lengths
from hdpkit.shards.memory import Meeting
from hdpkit.shards.messages import Block, Done, Failed, Opening, Swept
from hdpkit.shards.spool import spooled

__all__ = ["Worker"]

Ints = npt.NDArray[np.int32]


class Worker:
    """The documents of consecutive shards.

    Parameters
    ----------
    job : Job
    shards : range
        Numbers of its shards, at least one.
    reports : bool
        Whether it computes the numbers for the trace after each sweep, which are equal in every part.
    """

    def __init__(self, job: Job, shards: range, reports: bool) -> None:
        self.job = job
        self.shards = shards
        self.reports = reports
        self.streams = job.streams()
        self.place = next(i for i, move in enumerate(job.moves) if isinstance(move, OVER_DOCUMENTS))
        self.franchise: Franchise
        self._seating: dict[str, Ints]
        self._meeting: Meeting | None = None

    def call(self, verb: str, *arguments: Any) -> Any:
        """Call a method; return an error instead of raising it, since another part may wait for a result."""
        try:
            return getattr(self, verb)(*arguments)
        except Exception as error:
            return Failed(error)

    # ------------------------------------------------------------------ begin

    def enter(self) -> Opening:
        """Read the shards and their state; returns their contribution to the state common to all parts."""
        job, before = self.job, self.job.source.shards[self.shards[0]].first_document
        columns: dict[str, list[Ints]] = {name: [] for name in ("dish", *COLUMNS)}

        def read() -> Iterator[Corpus]:
            for i in self.shards:
                info, piece = job.source.shards[i], job.source.shard(i)
                seating = job.start.seating(i, info, piece)
                seating["count_node"] = seating["count_node"] + np.int32(info.first_document - before)
                for name, parts in columns.items():
                    parts.append(seating[name])
                yield piece

        if job.spool is None:
            corpus = strung_together(read())
        else:
            n_tokens = sum(job.source.shards[i].n_tokens for i in self.shards)
            corpus = spooled(read(), n_tokens, job.spool, self.shards)
        self._seating = {name: np.concatenate(columns.pop(name)) for name in ("dish", *COLUMNS)}
        self.franchise = Franchise(job.restaurant, corpus, store="counts", root=job.root)
        self.franchise.tell_apart()
        for move in job.moves:
            move.check(self.franchise)
        _check_served(self.franchise)
        slots = job.start.common()["slots"]
        counts = part_counts(corpus.values, corpus.n_terms, self._seating, int(np.max(slots)) + 1)
        lengths = np.asarray(corpus.document_lengths, dtype=np.int64)
        in_order = {before: lengths} if needs_lengths(job) else {}
        return Opening(counts, np.unique(lengths, return_counts=True), in_order, secrets.token_hex(16))

    def begin(self, total: Opening) -> Done:
        """Set the state, given the sum of the contributions of all parts."""
        before = self.job.source.shards[self.shards[0]].first_document
        elsewhere = Elsewhere(before, total.sizes, total.all_lengths())
        source = self.streams.source(STARTS)
        common = self.job.start.common()
        begin_part(self.franchise, self._seating, total.changes, common, elsewhere, source)
        self.franchise.streams = self.streams
        del self._seating
        self._meeting = Meeting.at(total.name, self.shards[0])
        return Done()

    def share(self) -> Done:
        """Share the memory of topics with other parts on this machine; called when all parts have begun."""
        found = None if self._meeting is None else self._meeting.end()
        self._meeting = None
        if found is not None:
            share_topics(self.franchise, *found)
        return Done()

    # ------------------------------------------------------------------ sweeps

    def draw(self) -> Done:
        """Begin a sweep: run the moves before the one over documents, and draw this part's topics."""
        self.franchise.data.check_unchanged()
        for place in range(self.place):
            self._apply(place)
        move: Any = self.job.moves[self.place]
        draw_part(self.franchise, self._source(self.place), move.proportions, self.job.threads)
        return Done()

    def sweep(self, n_blocks: int) -> Swept:
        """Sweep over this part's documents; called when all parts have drawn their topics.

        Changes of counts are returned in ``n_blocks`` blocks of terms or, if this is 0, by `block`.
        """
        changes = sweep_part(self.franchise, n_blocks)
        self.franchise.data.check_unchanged()  # a sweep over changed data isn't valid
        return Swept(changes)

    def block(self, number: int, n_blocks: int) -> Block:
        """Return the changes of the counts of a block of terms."""
        return Block(take_block(self.franchise, number, n_blocks))

    def finish(self, total: Swept) -> Done:
        """End the sweep, given the changes of all parts: run the moves after the one over documents."""
        end_parts(self.franchise, total.changes)
        for place in range(self.place + 1, len(self.job.moves)):
            self._apply(place)
        self.franchise.settle()
        self.franchise.sweep += 1
        return Done(self._numbers() if self.reports else None)

    def _apply(self, place: int) -> None:
        self.job.moves[place].apply(self.franchise, self._source(place))

    def _source(self, place: int) -> Any:
        return self.streams.source(place + 1, self.franchise.sweep + 1)

    def _numbers(self) -> dict[str, Any]:
        """The numbers of a sweep for the trace, under the same keys as in a `Trace`."""
        franchise = self.franchise
        customers, tables = franchise.totals()
        bank: Any = franchise.bank
        values: dict[str, Any] = {
            "n_dishes": franchise.n_dishes,
            "n_tables": int(customers[0]),
            "log_likelihood": franchise.log_likelihood(),
            "largest_shares": largest_shares(bank.sizes(franchise.slots.occupied_slots())),
            f"n_tables/{franchise.declarations[0].name}": int(tables[0]),
            f"n_tables/{franchise.declarations[1].name}": int(customers[0]),
        }
        values |= hyperparameter_values(franchise)
        for name, part in franchise.parts.items():
            values |= {f"{name}/{key}": float(scalar) for key, scalar in part.scalars(franchise).items()}
        return values

    # ------------------------------------------------------------------ results

    def common(self) -> dict[str, Any]:
        """The state common to all parts, without counts and tables."""
        return common_state(self.franchise)

    def states(self) -> dict[int, dict[str, Ints]]:
        """The seating of each shard, by its number."""
        seating, infos = part_seating(self.franchise), [self.job.source.shards[i] for i in self.shards]
        found, document, token = {}, 0, 0
        for i, info in zip(self.shards, infos, strict=True):
            begin, end = np.searchsorted(
                seating["count_node"], [document + 1, document + info.n_documents + 1]
            )
            own = {name: seating[name][begin:end].copy() for name in COLUMNS}
            own["count_node"] -= np.int32(document)
            found[i] = {"dish": seating["dish"][token : token + info.n_tokens], **own}
            document, token = document + info.n_documents, token + info.n_tokens
        return found

    def write(self, folder: str) -> dict[int, str]:
        """Write the seating of each shard into a folder; returns the checksum of each file."""
        return {i: write_shard(folder, i, seating) for i, seating in self.states().items()}

    def write_counts(self, folder: str) -> list[int]:
        """Write a file per shard with the customers of its documents by dish; returns the shards' numbers."""
        found = self.document_counts()
        for i, columns in found.items():
            write_counts(folder, i, dict(columns))
        return list(found)

    def dish_counts(self) -> npt.NDArray[np.int64]:
        """Counts of each term in each dish: int64, shape (K, V)."""
        bank: Any = self.franchise.bank
        counts: npt.NDArray[np.int64] = bank.counts(self.franchise.slots.occupied_slots())
        return counts

    def document_counts(self) -> dict[int, Mapping[str, Ints]]:
        """Customers of each document and dish, by shard: rows "document", "dish" (0 .. K-1), "customers"."""
        slots = self.franchise.slots.occupied_slots()
        return {
            i: {
                "document": own["count_node"] - np.int32(1),
                "dish": np.searchsorted(slots, own["count_dish"]).astype(np.int32),
                "customers": own["count_customers"],
            }
            for i, own in self.states().items()
        }


def _check_served(franchise: Franchise) -> None:
    """Raise a KernelError unless sweeps over parts of the documents are supported."""
    try:
        franchise.kernel("slice_part")
    except KernelError as error:
        raise KernelError(
            "base", franchise.measure, "a DirichletMultinomial",
            "Use hk.DirichletMultinomial, or hk.Scheduler over the whole corpus.",
        ) from error  # fmt: skip
