"""Documents of other workers, for a franchise over some shards of a corpus, and changes exchanged by workers.

Such a franchise has the customers and restaurants of its own documents. Its root, statistics, dishes, weights
and hyperparameters are those of the complete corpus: they are identical in all workers, to the last bit, and
change in the same way. `hdpkit.shards` runs moves over shards.

A sweep over documents has three steps. ``draw_shard_topics`` draws topics: all of them, or every n-th block
of slots into memory that n workers on one machine share; all must have finished before any continues.
``sweep_shards`` draws dishes and tables of the local documents, writes changes of counts to a separate array,
and returns `Changes`. ``settle_shards`` adds the sum over all workers to the root and to the statistics, and
opens and closes dishes, in the same way in every worker. Between the last two the franchise is inconsistent:
an error there ends the worker, and the run starts again from a checkpoint. Everything that is not a sum of
integers is computed in every worker from the same numbers by the same code.
"""

from __future__ import annotations

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit._count_changes import add_up_sparse
from hdpkit.arrays import Int64s, sums_by_key
from hdpkit.errors import StateError


@attrs.frozen(eq=False)
class CountedBursts:
    """Numbers of customers where topics differ by document (`Bursty`), of some documents."""

    # The law of their seating, concentration and discount depends on nothing else.

    customers: Int64s  # customers of each slot
    # totals and cells: shape (n, 3): rows of customers, tables, and how many dishes of a document, or
    # terms of a dish in a document, have both; ascending
    totals: Int64s
    cells: Int64s

    def plus(self, other: CountedBursts) -> CountedBursts:
        """Return the numbers of both."""
        return CountedBursts(
            _longer(self.customers, other.customers),
            _joined(self.totals, other.totals),
            _joined(self.cells, other.cells),
        )

    @property
    def nbytes(self) -> int:
        """Bytes to send, without overhead."""
        return self.customers.nbytes + self.totals.nbytes + self.cells.nbytes


def _longer(one: Int64s, other: Int64s) -> Int64s:
    """The sum of two arrays, the shorter one followed by zeros."""
    found = np.zeros(max(len(one), len(other)), dtype=np.int64)
    found[: len(one)] += one
    found[: len(other)] += other
    return found


def _joined(one: Int64s, other: Int64s) -> Int64s:
    """The pairs of both with their numbers."""
    rows = np.concatenate([one, other])
    base = int(rows[:, 1].max(initial=0)) + 1
    pairs, numbers = sums_by_key(rows[:, 0] * base + rows[:, 1], rows[:, 2])
    return np.column_stack([pairs // base, pairs % base, numbers])


@attrs.frozen(eq=False)
class Changes:
    """Changes outside the documents by a sweep over them: integers, whose sums don't depend on the order."""

    # shape (n_slots,): change of the observations of each dish: its customers or, where topics differ
    # by document, the tables of their terms
    observations: Int64s
    tables: Int64s  # shape (n_slots,): change of the root's customers of each dish
    opened: Int64s  # number of the documents that now have t tables, for t = 0, 1, ...
    # changes of the observations by term and slot (`hdpkit._count_changes`), one entry for each block
    # of terms; empty if they are sent later
    counts: tuple[bytes, ...]
    bursts: CountedBursts | None = None  # where topics differ by document: numbers after the sweep

    def plus(self, other: Changes) -> Changes:
        """Return the sum of both."""
        one, two = self.bursts, other.bursts
        return Changes(
            self.observations + other.observations,
            self.tables + other.tables,
            _longer(self.opened, other.opened),
            tuple(add_up_sparse(own, theirs) for own, theirs in zip(self.counts, other.counts, strict=True)),
            None if one is None or two is None else one.plus(two),
        )

    @property
    def nbytes(self) -> int:
        """Bytes to send, without a few hundred of overhead."""
        arrays = self.observations.nbytes + self.tables.nbytes + self.opened.nbytes
        bursts = 0 if self.bursts is None else self.bursts.nbytes
        return arrays + sum(map(len, self.counts)) + bursts


@attrs.define(eq=False)
class WholeCorpus:
    """The complete corpus, of which a franchise has some documents."""

    before: int  # documents of the corpus before those of the franchise
    # distinct numbers of customers of documents, ascending, and how many documents have each
    sizes: tuple[Int64s, Int64s]
    # shape (n_documents,): customers of every document of the corpus, if a move needs them in
    # order
    lengths: npt.NDArray[np.integer] | None = None
    # number of documents with t tables, for t = 0, 1, ...
    opened: Int64s = attrs.field(factory=lambda: np.zeros(1, dtype=np.int64))
    n_customers: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.n_customers = int(self.sizes[0] @ self.sizes[1])

    def totals(self) -> tuple[Int64s, Int64s]:
        """Customers and tables of all documents."""
        # Customers are in the order of documents. Of tables only the number of documents with each number
        # is known: they are given to the documents with customers in ascending order. No move uses the two
        # numbers of one document together, except to test whether they are 0.
        if self.lengths is None:
            raise StateError(
                "lengths", None, "those of all documents", "Call counted_totals_of(number).",
            )  # fmt: skip
        tables = np.zeros(len(self.lengths), dtype=np.int64)
        tables[np.flatnonzero(self.lengths)] = np.repeat(np.arange(1, len(self.opened)), self.opened[1:])
        return self.lengths.astype(np.int64), tables

    def counted_totals(self) -> tuple[tuple[Int64s, Int64s], tuple[Int64s, Int64s]]:
        """Distinct numbers of customers of documents, and of tables, and how many documents have each."""
        tables = np.flatnonzero(self.opened)
        return self.sizes, (tables, self.opened[tables])
