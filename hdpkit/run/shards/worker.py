"""A worker of a run: a franchise over the documents of some shards, its methods for backends, and messages.

Messages of one kind can be added, in any order. The memory that workers on one machine share is pages of a
file in the file system that Linux keeps in memory, which they open by its name. Those that opened the same
file are on one machine. As soon as all have opened it, the name is removed, so that the memory is released
when the last of the processes has ended in any way. Processes that were killed before leave an empty file,
which the next run removes: a file in use is locked.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import secrets
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit._count_changes import add_up_sparse
from hdpkit.arrays import Int32s, Int64s, sums_by_key
from hdpkit.data import Corpus
from hdpkit.data.corpus import joined_pieces
from hdpkit.errors import ScheduleError, StorageError
from hdpkit.files import OPEN_FLAGS
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import hyperparameter_values
from hdpkit.franchise.whole_corpus import Changes, WholeCorpus
from hdpkit.moves import Move, OverDocuments, Scheduled
from hdpkit.moves.document_sweeps import DocumentSweeps
from hdpkit.moves.protocol import applied, called, check_move
from hdpkit.numerics import add_up
from hdpkit.random import STARTS, ChoiceSource
from hdpkit.run.shards.files import Written, check_served, log_joint_of_all, seated_logs, write_shard
from hdpkit.run.shards.state import (
    OPENS,
    ShardedJob,
    begin_shards,
    common_state,
    counted_terms,
    differs,
    needs_lengths,
    part_of,
    seat_bursts,
    shard_counts,
    shard_seating,
    spooled,
)
from hdpkit.run.trace import largest_shares
from hdpkit.stores.frozen import COUNTED

FOLDER = Path("/dev/shm")
NUMBER = 20  # bytes of a worker's number in the file


class Meeting:
    """The open file by which workers on one machine find each other: one name, and a number for each."""

    def __init__(self, name: str, number: int) -> None:
        self.path = FOLDER / f"hdpkit-{name}"
        self.number = number
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._close = weakref.finalize(self, _close, self._file, self.path)
        lock(self._file, shared=True)
        _remove_dead(self.path)
        os.write(self._file, b"%*d" % (NUMBER, number))

    @classmethod
    def at(cls, name: str, number: int) -> Meeting | None:
        """Open the file; None if there is no such file system, or the worker can't write there."""
        try:
            return cls(name, number)
        except OSError:
            return None

    def end(self) -> tuple[CommonMemory, int, int] | None:
        """The memory, this worker's index and the number of workers that share it; None if it is alone."""
        data = os.pread(self._file, os.fstat(self._file).st_size, 0)
        numbers = sorted(int(data[at : at + NUMBER]) for at in range(0, len(data), NUMBER))
        found = None
        if len(numbers) > 1:
            found = CommonMemory(os.dup(self._file)), numbers.index(self.number), len(numbers)
        self._close()
        return found


def lock(file: int, *, shared: bool) -> None:
    """Lock an open file until it is closed; an OSError if it is locked in another way."""
    import fcntl  # not on Windows, which has no such file system

    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def _remove_dead(but: Path) -> None:
    """Remove the files of workers that were killed before they removed the name."""
    # Of a run that hasn't locked its file yet, the workers don't find each other; the chain is the same.
    for path in FOLDER.glob("hdpkit-*"):
        if path != but:
            with contextlib.suppress(OSError):  # of somebody else, or in use, or gone
                file = os.open(path, os.O_RDWR | OPEN_FLAGS)
                try:
                    lock(file, shared=False)
                    path.unlink()
                finally:
                    os.close(file)


def _close(file: int, path: Path) -> None:
    os.close(file)
    with contextlib.suppress(OSError):  # another worker has removed it
        path.unlink()


class CommonMemory:
    """Shared memory that grows when a worker needs more. It owns the descriptor ``file``."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._pages: mmap.mmap | None = None
        weakref.finalize(self, os.close, file)

    def room(self, n: int) -> np.ndarray[Any, np.dtype[np.int8]]:
        """The first n bytes. Raises a StorageError if the machine has too little memory."""
        if self._pages is None or len(self._pages) < n:
            try:
                os.posix_fallocate(self._file, 0, n)  # otherwise a write may kill the process
                self._pages = mmap.mmap(self._file, n)
            except OSError as error:
                raise StorageError(
                    str(FOLDER), error.strerror, f"room for the topics, {n:,} bytes",
                    "Allow more shared memory (docker run --shm-size), "
                    "or start one process with more threads.",
                ) from error  # fmt: skip
            self._pages.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(self._pages, dtype=np.int8, count=n)


@attrs.frozen(eq=False)
class Failed:
    """The error of a worker; the sum of messages is the first one."""

    error: BaseException


def added(one: Any, other: Any) -> Any:
    """The sum of the messages of two workers, which is a message."""
    return next((message for message in (one, other) if isinstance(message, Failed)), None) or one.plus(other)


@attrs.frozen(eq=False)
class Opening:
    """Message of a worker at the start."""

    changes: Changes  # its counts
    # distinct numbers of customers of its documents, ascending, and how many have each
    sizes: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    # customers of each document, by the number of the first document, if a move needs them
    lengths: dict[int, npt.NDArray[np.int64]]
    name: str  # proposed for `Meeting`; the smallest one is used

    def plus(self, other: Opening) -> Opening:
        """Return the opening of both workers."""
        return Opening(
            self.changes.plus(other.changes),
            sums_by_key(*np.concatenate([self.sizes, other.sizes], axis=1)),
            self.lengths | other.lengths,
            min(self.name, other.name),
        )

    def all_lengths(self) -> npt.NDArray[np.int64] | None:
        """Number of customers of every document, in order; None if no move needs them."""
        if not self.lengths:
            return None
        return np.concatenate([self.lengths[first] for first in sorted(self.lengths)])


@attrs.frozen(eq=False)
class CountBlock:
    """Changes of the counts of a block of terms."""

    counts: bytes

    def plus(self, other: CountBlock) -> CountBlock:
        """Return the changes of both workers."""
        return CountBlock(add_up_sparse(self.counts, other.counts))


@attrs.frozen(eq=False)
class Done:
    """A worker has finished a step."""

    # for the trace, at the end of a sweep: equal in all workers, empty in all but one; None within a sweep
    values: dict[str, Any] | None = None
    # by the number of a shard of the worker: its term of the log joint, which ``values`` lacks
    logs: dict[int, float] = attrs.field(factory=dict)
    # of the common state after each move over totals in this step
    digests: tuple[tuple[str, bytes], ...] = ()

    def plus(self, other: Done) -> Done | Failed:
        """Return a message for both, with the numbers of either."""
        for (name, one), (_, two) in zip(self.digests, other.digests, strict=True):
            if one != two:
                error = ScheduleError(
                    "moves", name, "moves over totals that have the same result in every worker",
                    "Let it use only what is common to all workers (see hdpkit.moves.Move) and its rng, or "
                    "run it with hk.Scheduler.",
                )  # fmt: skip
                return Failed(error)
        values = other.values if self.values is None or other.values else self.values
        return Done(values, self.logs | other.logs, self.digests)

    def numbers(self) -> dict[str, Any]:
        """The numbers for the trace: the terms of all shards are added in the order of shards."""
        assert self.values is not None
        of_shards = add_up(self.logs[i] for i in sorted(self.logs))
        return {**self.values, "log_joint": self.values["log_joint"] + of_shards}


class Worker:
    """The documents of consecutive shards; computes the numbers for the trace if it ``reports``."""

    def __init__(self, job: ShardedJob, shards: range, reports: bool) -> None:
        self.job = job
        self.shards = shards
        self.reports = reports
        self.streams = job.streams()
        self.franchise: Franchise
        self._due: Iterator[tuple[Move, ChoiceSource]] = iter(())
        self._under_way: OverDocuments
        self._seating: dict[str, Int32s]
        self._meeting: Meeting | None = None

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method; an error is returned and not raised, since other workers may wait for a result."""
        try:
            return getattr(self, method)(*arguments)
        except (Exception, KeyboardInterrupt) as error:
            return Failed(error)

    # ------------------------------------------------------------------ begin

    def enter(self) -> Opening:
        """Read the shards and their state; returns their contribution to the state common to all workers."""
        job, before = self.job, self.job.source.shards[self.shards[0]].first_document
        names = "dish", *COUNTED, *((OPENS,) if differs(job.restaurant) else ())
        columns: dict[str, list[Int32s]] = {name: [] for name in names}

        def read() -> Iterator[Corpus]:
            for i in self.shards:
                info, piece = job.source.shards[i], job.source.shard(i)
                seating = job.start.seating(i, info, piece)
                seating["count_node"] = seating["count_node"] + np.int32(info.first_document - before)
                for name, parts in columns.items():
                    parts.append(seating[name])
                yield piece

        if job.spool is None:
            corpus = joined_pieces(read())
        else:
            n_tokens = sum(job.source.shards[i].n_tokens for i in self.shards)
            corpus = spooled(read(), n_tokens, job.spool, self.shards)
        self._seating = {name: np.concatenate(columns.pop(name)) for name in names}
        self.franchise = Franchise(job.restaurant, corpus, store="counts", root=job.root)
        self.franchise.expand_cells()
        for move in job.moves:
            check_move(move, self.franchise)
        check_served(self.franchise)
        slots = job.start.common()["slots"]
        bursts = seat_bursts(self.franchise, self._seating)
        counts = shard_counts(corpus.values, corpus.n_terms, self._seating, int(np.max(slots)) + 1, bursts)
        lengths = np.asarray(corpus.document_lengths, dtype=np.int64)
        in_order = {before: lengths} if needs_lengths(job) else {}
        return Opening(counts, np.unique(lengths, return_counts=True), in_order, secrets.token_hex(16))

    def begin(self, total: Opening) -> Done:
        """Set the state, given the sum of the contributions of all workers."""
        before = self.job.source.shards[self.shards[0]].first_document
        corpus = WholeCorpus(before, total.sizes, total.all_lengths())
        source = self.streams.source(STARTS)
        common = self.job.start.common()
        given = self.franchise, self._seating, total.changes, common, corpus, source
        self.franchise.access.change(begin_shards, *given)
        self.franchise.streams = self.streams
        del self._seating
        self._meeting = Meeting.at(total.name, self.shards[0])
        return Done()

    def share(self) -> Done:
        """Share the memory of topics with other workers on this machine; called when all have begun."""
        found = None if self._meeting is None else self._meeting.end()
        self._meeting = None
        if found is not None:
            DocumentSweeps.of(self.franchise).share(*found)
        return Done()

    # ------------------------------------------------------------------ sweeps

    def start(self) -> Done:
        """Begin a sweep, and go on to the first move over documents."""
        self.franchise.data.check_unchanged()
        self._due = self._due_in(self.franchise.sweep + 1)
        return self._go_on()

    def sweep(self, n_blocks: int) -> Changes:
        """Run the move over this worker's documents; changes of counts in blocks of terms (0: by `block`)."""
        move = self._under_way
        changes: Changes = called(move, move.sweep, self.franchise, n_blocks)[1]
        self.franchise.data.check_unchanged()  # a sweep over changed data isn't valid
        return changes

    def block(self, number: int, n_blocks: int) -> CountBlock:
        """Return the changes of the counts of a block of terms."""
        return CountBlock(DocumentSweeps.of(self.franchise).block(number, n_blocks))

    def go_on(self, total: Changes) -> Done:
        """End the move over documents, given the changes of all workers, and go on to the next one."""
        DocumentSweeps.of(self.franchise).end(total)
        return self._go_on()

    def _go_on(self) -> Done:
        """Run moves over totals, and begin the next move over documents; if there is none, end the sweep."""
        digests: list[tuple[str, bytes]] = []
        for move, source in self._due:
            if isinstance(move, OverDocuments):
                called(move, move.begin, self.franchise, source)
                self._under_way = move
                return Done(digests=tuple(digests))
            applied(move, self.franchise, source)
            digests.append((move.name, self._digest()))
        self.franchise.settle()
        self.franchise.sweep += 1
        logs = seated_logs(self.franchise, [self.job.source.shards[i].n_documents for i in self.shards])
        values = self._numbers() if self.reports else {}
        return Done(values, dict(zip(self.shards, logs, strict=True)), tuple(digests))

    def _due_in(self, sweep: int) -> Iterator[tuple[Move, ChoiceSource]]:
        """The moves of a sweep with their streams."""
        for place, move in enumerate(self.job.moves):
            if not move.runs_in(sweep):
                continue
            source = self.streams.source(place + 1, sweep)
            if move.over == "documents" and isinstance(move, Scheduled):
                for _ in range(move.times):
                    yield move.move, source
            else:
                yield move, source

    def _digest(self) -> bytes:
        """A checksum of the state that all workers have in common, except counts by term."""
        bank: Any = self.franchise.bank
        common = self.common()
        found = hashlib.blake2b(bank.sizes(common["slots"]).tobytes(), digest_size=16)
        components = common.pop("components")
        for value in [*common.values(), *(v for part in components.values() for v in part.values())]:
            found.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
        return found.digest()

    def _numbers(self) -> dict[str, Any]:
        """The numbers of a sweep for the trace, under the same keys as in a `Trace`."""
        franchise = self.franchise
        customers, tables = franchise.totals()
        bank: Any = franchise.bank
        log_likelihood = franchise.log_likelihood()
        values: dict[str, Any] = {
            "sweep": franchise.sweep,
            "n_dishes": franchise.n_dishes,
            "n_tables": int(customers[0]),
            "log_likelihood": log_likelihood,
            "log_joint": log_joint_of_all(franchise, log_likelihood),  # `Done` adds the terms of shards
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
        """The state common to all workers, without counts and tables."""
        return common_state(self.franchise)

    def states(self) -> dict[int, dict[str, Int32s]]:
        """The seating of each shard, by its number."""
        seating, infos = shard_seating(self.franchise), [self.job.source.shards[i] for i in self.shards]
        found, document, token = {}, 0, 0
        for i, info in zip(self.shards, infos, strict=True):
            found[i] = part_of(seating, info, document, token)
            document, token = document + info.n_documents, token + info.n_tokens
        return found

    def write(self, folder: str) -> dict[int, Written]:
        """Write the seating of each shard into a folder; returns what is known of each file."""
        return {i: write_shard(folder, i, seating) for i, seating in self.states().items()}

    def dish_counts(self) -> Any:
        """Counts of each term in each dish (K, V), summed over workers; None if another has them all."""
        if not self.franchise.measure.seats_values:
            return self._observed() if self.reports else None
        slots = self.franchise.slots.occupied_slots()
        values, dishes = self.franchise.data.values, self.franchise.store.dishes()
        return counted_terms(dishes, values, (int(slots.max()) + 1, self.job.source.n_terms))[slots]

    def observed(self) -> tuple[Any, tuple[Int64s, Int64s]] | None:
        """Tables of each term in each dish (K, V), totals and cells of `CountedBursts`; from one worker."""
        if not self.reports:
            return None
        bank: Any = self.franchise.bank
        _, totals, cells = bank.whole
        return self._observed(), (totals, cells)

    def _observed(self) -> Any:
        """Observations of each topic by term."""
        bank: Any = self.franchise.bank
        return scipy.sparse.csr_array(bank.counts(self.franchise.slots.occupied_slots()))

    def document_counts(self) -> dict[int, Mapping[str, Int32s]]:
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
