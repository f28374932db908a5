"""Starts of a chain over shards; each worker makes or reads the state of its own documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int32s
from hdpkit.data import Corpus
from hdpkit.data.corpus import joined_pieces, piece_of
from hdpkit.errors import DataError, ParameterError, ShardError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.frozen import LARGEST, check_dishes, ints_of
from hdpkit.franchise.starts import COPIED, Random, TermClusters, labels_of_terms
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.run.shards.shard_state import COLUMNS, OPENS
from hdpkit.run.shards.source import Info, Source

SAMPLE = 1 << 20  # tokens used for the clusters of terms, and tokens sorted at once
DOCUMENTS = 1  # place of the documents' streams, different from that of the start itself


class ShardedStart(Protocol):
    """The state at the start of a chain, shard by shard."""

    def common(self) -> dict[str, Any]:
        """The state common to all workers, as returned by `hdpkit.run.shards.shard_state.common_state`."""

    def seating(self, number: int, info: Info, corpus: Corpus) -> dict[str, Int32s]:
        """The seating of a shard's documents, in the form of `hdpkit.run.shards.shard_state.seat_bursts`."""


@attrs.frozen(eq=False)
class FromState:
    """The state of a franchise over the entire corpus, as returned by `Franchise.freeze`."""

    frozen: Mapping[str, Any]  # with store="counts" and distinguished customers (`Franchise.expand_cells`)
    bursts: bool = False  # whether topics differ by document

    def common(self) -> dict[str, Any]:
        """The state common to all workers; hyperparameters and sweep are those of any start."""
        return {
            "slots": np.asarray(self.frozen["slots"]),
            "dish_ids": self.frozen["dish_ids"],
            "births": self.frozen["births"],
            "sweep": 0,
            "components": self.frozen["components"],
        }

    def seating(self, number: int, info: Info, corpus: Corpus) -> dict[str, Int32s]:
        """Documents of a shard."""
        seating = self.frozen["seating"]
        node = seating["count_node"]
        first = info.first_document
        begin, end = np.searchsorted(node, [first + 1, first + info.n_documents + 1])
        entries = {name: seating[name][begin:end].copy() for name in COLUMNS}
        entries["count_node"] -= np.int32(first)
        own = slice(info.first_token, info.first_token + info.n_tokens)
        found = {"dish": seating["dish"][own], **entries}
        if self.bursts and self.frozen["bank"]:
            found[OPENS] = self.frozen["bank"][OPENS][own]
        elif self.bursts:
            found[OPENS] = firsts_of_cells(found["dish"], corpus)
        return checked_seating(number, found, corpus, self.frozen["slots"], self.bursts)


@attrs.frozen(eq=False)
class StartByDocument:
    """Dishes drawn document by document, each from its own stream, with one table for each dish.

    With ``of_terms`` as in `hdpkit.init.TermClusters`: a customer gets the dish of its own term or, with
    probability 4/5, of a random customer of its document. Otherwise dishes are uniform.
    """

    key: tuple[int, int]  # of the streams
    n_dishes: int
    of_terms: Int32s | None = None  # dish of each term
    # where topics differ by document: parameters at the start; then each customer has a table of its term
    bursts: Mapping[str, float] | None = None

    def common(self) -> dict[str, Any]:
        """Dishes 0 .. n_dishes - 1; weights are drawn."""
        slots = np.arange(self.n_dishes, dtype=np.int32)
        own = dict(self.bursts or {})
        return {"slots": slots, "dish_ids": slots, "births": self.n_dishes, "sweep": 0, "measure": own}

    def seating(self, number: int, info: Info, corpus: Corpus) -> dict[str, Int32s]:
        """Documents of a shard."""
        dish = np.empty(info.n_tokens, dtype=np.int32)
        values, stream = corpus.values, RandomStream(self.key)
        ends = np.cumsum(corpus.document_lengths).tolist()
        for d, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            stream.rekey(*self.key, info.first_document + d, 0, DOCUMENTS)
            dish[begin:end] = self._drawn(values[begin:end], stream.generator)
        tables: dict[str, Any] = {} if self.bursts is None else {OPENS: np.ones(len(dish), dtype=np.int8)}
        return {"dish": dish, **one_table_each(dish, corpus.document_lengths, self.n_dishes), **tables}

    def _drawn(self, terms: Int32s, generator: np.random.Generator) -> Int32s:
        n = len(terms)
        if self.of_terms is None:
            return generator.integers(0, self.n_dishes, size=n, dtype=np.int32)
        own = self.of_terms[terms]
        other = (generator.random(n) * n).astype(np.int64)
        return np.where(generator.random(n) < COPIED, own[other], own).astype(np.int32)


def checked_seating(
    number: int, seating: Mapping[str, Any], corpus: Corpus, slots: Any, bursts: bool
) -> dict[str, Any]:
    """The seating of a shard; a ShardError unless it is one of these documents, with dishes of these slots.

    Compiled code uses its numbers without checks. With ``bursts`` it says which customers represent tables.
    """
    found = {name: np.asarray(seating.get(name)) for name in ("dish", *COLUMNS)}
    whole = all(column.ndim == 1 and column.dtype.kind in "iu" for column in found.values())
    dish = found["dish"]
    if whole and len(dish) == corpus.n_tokens and np.all(np.isin(dish, slots)):
        dish = dish.astype(np.int32)
        wanted = one_table_each(dish, corpus.document_lengths, int(np.max(slots)) + 1)
        customers, tables = wanted["count_customers"], found["count_tables"]
        if (
            all(np.array_equal(wanted[name], found[name]) for name in COLUMNS[:3])
            and tables.shape == customers.shape
            and np.all((tables >= 1) & (tables <= customers))
        ):
            found = {**wanted, "dish": dish, "count_tables": tables.astype(np.int32)}
            if not bursts:
                return found
            opens = np.asarray(seating.get(OPENS))
            if _represent(opens, dish, corpus):
                return {**found, OPENS: opens.astype(np.int8)}
    raise ShardError.of(
        number, "the state of its documents", found, "their dishes, and the tables of each dish",
        "Give the state of a franchise over the same corpus, unchanged.",
    )  # fmt: skip


def _represent(opens: npt.NDArray[Any], dish: Int32s, corpus: Corpus) -> bool:
    """Whether these customers, marked by 1, represent the tables of each term of a dish in a document."""
    fits = opens.shape == dish.shape and opens.dtype.kind in "iub" and np.all((opens == 0) | (opens == 1))
    return bool(fits and np.all(opens >= firsts_of_cells(dish, corpus)))


def firsts_of_cells(dish: Int32s, corpus: Corpus) -> npt.NDArray[np.int8]:
    """Which customers are the first of their document with their term and dish: int8, shape (n_tokens,)."""
    terms, ends = corpus.values, np.cumsum(corpus.document_lengths)
    found, n_dishes = np.zeros(len(dish), dtype=np.int8), int(dish.max(initial=0)) + 1
    first = token = 0
    while first < len(ends):  # in blocks of documents, to sort only short arrays
        last = max(int(np.searchsorted(ends, token + SAMPLE, side="right")), first + 1)
        end = int(ends[last - 1])
        home = np.repeat(np.arange(last - first), corpus.document_lengths[first:last])
        _, pair = np.unique(home * n_dishes + dish[token:end], return_inverse=True)
        _, at = np.unique(pair * corpus.n_terms + terms[token:end], return_index=True)
        found[token + at] = 1
        first, token = last, end
    return found


def one_table_each(dish: Int32s, lengths: npt.NDArray[np.int64], n_dishes: int) -> dict[str, Int32s]:
    """One table for each dish of a document. ``dish`` has an entry per customer, by document."""
    ends = np.cumsum(lengths)
    found: list[tuple[Int32s, ...]] = []
    first = token = 0
    while first < len(lengths):  # in blocks of documents, to sort only short arrays
        last = max(int(np.searchsorted(ends, token + SAMPLE, side="right")), first + 1)
        home = np.repeat(np.arange(first + 1, last + 1), lengths[first:last])
        own = dish[token : int(ends[last - 1])]
        cells, customers = np.unique(home * n_dishes + own, return_counts=True)
        columns = cells // n_dishes, cells % n_dishes, customers, np.ones_like(cells)
        found.append(tuple(column.astype(np.int32) for column in columns))
        first, token = last, int(ends[last - 1])
    return {
        name: np.concatenate(parts) for name, parts in zip(COLUMNS, zip(*found, strict=True), strict=True)
    }


@attrs.frozen(eq=False)
class Whole:
    """The first documents of a corpus as a complete franchise, for `labels_of_terms`."""

    data: Corpus
    n_dishes: int | None

    @property
    def root(self) -> Any:
        """The root, which may limit the number of dishes."""
        return self

    @property
    def most_dishes(self) -> int | None:
        """The largest number of dishes."""
        return self.n_dishes


def as_start(
    init: Any, source: Source, most: int | None, streams: Streams, bursts: Mapping[str, float] | None
) -> ShardedStart:
    """Return the start given by the argument ``init``, with at most ``most`` dishes (None: any number).

    ``bursts``: where topics differ by document, parameters of starts that don't know topics.
    """
    if isinstance(init, Franchise):
        init = init.freeze()
    if isinstance(init, Mapping):
        return _from_state(init, source, bursts is not None)
    key = streams.source(STARTS).generator.integers(0, 2**63, size=2).tolist()
    if isinstance(init, Random):
        return StartByDocument((key[0], key[1]), init.n_dishes, bursts=bursts)
    if isinstance(init, str) and init == "auto":
        init = TermClusters()
    if not isinstance(init, TermClusters):
        raise ParameterError(
            "init", init,
            '"auto", hk.init.TermClusters(K), hk.init.Random(K) or a state of franchise.freeze()',
            "Other starts need all documents in one process.",
        )  # fmt: skip
    labels = labels_of_terms(init, Whole(_first_documents(source), most), streams.source(STARTS))
    return StartByDocument((key[0], key[1]), int(labels.max()) + 1, labels, bursts)


def _from_state(frozen: Mapping[str, Any], source: Source, bursts: bool) -> FromState:
    """A start from a state; the seating of each shard is checked where it is read."""
    form = frozen.get("seating")
    kept = isinstance(form, Mapping) and {"dish", *COLUMNS} <= set(form)
    if not kept or not {"slots", "held", "dish_ids", "births", "components"} <= set(frozen):
        raise DataError(
            "init", frozen, "a state of a franchise with store='counts', distinguished customers",
            "Call franchise.expand_cells() before franchise.freeze().",
        )  # fmt: skip
    assert isinstance(form, Mapping)
    n = source.shards[-1].first_token + source.shards[-1].n_tokens
    seating = {"dish": ints_of("dish", form["dish"], 0, LARGEST, n)}
    seating |= {name: ints_of(name, form[name], 0, LARGEST) for name in COLUMNS}
    _, held = check_dishes(frozen, n)
    if len(held) or frozen.get("held_groups"):
        raise DataError(
            "init", "a state with held dishes or documents", "one in which nothing is held",
            "Moves over shards update all documents: release them before franchise.freeze().",
        )  # fmt: skip
    if not isinstance(frozen["components"], Mapping):
        raise DataError("init", frozen, "a state of a franchise", "Pass it unchanged.")
    bank: Any = frozen.get("bank")
    has_tables = isinstance(bank, Mapping) and OPENS in bank
    tables = {OPENS: ints_of(OPENS, bank[OPENS], 0, 1, n)} if has_tables else {}
    return FromState({**frozen, "seating": seating, "bank": tables}, bursts)


def _first_documents(source: Source) -> Corpus:
    """The first documents of the corpus, with the number of tokens used for the clusters of terms."""
    found, n = [], 0
    for i, info in enumerate(source.shards):
        corpus = source.shard(i)
        ends = np.cumsum(corpus.document_lengths)
        last = int(np.searchsorted(ends, SAMPLE - n)) + 1
        found.append(corpus if last >= corpus.n_documents else piece_of(corpus, 0, last))
        n += info.n_tokens
        if n >= SAMPLE:
            break
    return joined_pieces(found)
