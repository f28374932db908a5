"""A chain over shards: its source, its starts and its state by shard, and the job that every worker gets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit._count_changes import read_sparse, write_sparse
from hdpkit.arrays import Int32s
from hdpkit.checks import instance
from hdpkit.data import Corpus
from hdpkit.data.corpus import Tokens, joined_pieces, piece_of
from hdpkit.data.files.shards import array_on_disk
from hdpkit.errors import DataError, ParameterError, ScheduleError, ShardError
from hdpkit.files import storage_errors
from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.frozen import LARGEST, check_dishes, ints_of
from hdpkit.franchise.starts import COPIED, Random, TermClusters, labels_of_terms
from hdpkit.franchise.state import occupy
from hdpkit.franchise.whole_corpus import Changes, CountedBursts, WholeCorpus
from hdpkit.moves import Move, OverDocuments, Scheduled
from hdpkit.moves.document_sweeps import bursts_here, take_bursts
from hdpkit.random import STARTS, ChoiceSource, RandomStream, Streams
from hdpkit.stores.frozen import COUNTED, count_columns


class Source(Protocol):
    """A corpus in shards. It is sent to every process, each of which reads its own shards."""

    @property
    def shards(self) -> Sequence[Any]:
        """The shards in the order of documents: first_document, n_documents, first_token, n_tokens (>= 1)."""

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


CHUNK = 1 << 20  # tokens or cells at a time


def spooled(pieces: Iterable[Corpus], n_tokens: int, folder: str, shards: range) -> Corpus:
    """All documents as one corpus, whose arrays by token are mapped from a file without a name."""
    with storage_errors(
        f"spool, of shards {shards[0]} to {shards[-1]}", folder,
        f"a place with room for {8 * n_tokens:,} bytes", "Name another folder, or leave spool out.",
    ):  # fmt: skip
        Path(folder).mkdir(parents=True, exist_ok=True)
        mapped = array_on_disk((2, n_tokens), folder)
    at, lengths, last = 0, [], None
    for last in pieces:
        for terms in _terms(last):
            mapped[0, at : at + len(terms)] = terms
            at += len(terms)
        lengths.append(np.asarray(last.document_lengths, dtype=np.int64))
    assert last is not None
    joined, at = np.concatenate(lengths), 0
    for first in range(0, len(joined), CHUNK):
        document = np.arange(first, min(first + CHUNK, len(joined)), dtype=np.int32) + np.int32(1)
        numbers = np.repeat(document, joined[first : first + CHUNK])
        mapped[1, at : at + len(numbers)] = numbers
        at += len(numbers)
    mapped.flags.writeable = False
    terms, numbers = mapped
    return Corpus._checked(Tokens(terms), joined, last.n_terms, last.vocabulary, None, {}, numbers=numbers)


def _terms(corpus: Corpus) -> Iterator[Int32s]:
    """Terms of the tokens in pieces: those of cells are never all in memory."""
    cells = corpus.cells
    if cells is None:
        for first in range(0, corpus.n_tokens, CHUNK):
            yield corpus.values[first : first + CHUNK]
        return
    for first in range(0, len(cells.term), CHUNK):
        yield np.repeat(cells.term[first : first + CHUNK], cells.count[first : first + CHUNK])


@attrs.frozen(eq=False)
class ShardedJob:
    """A chain over shards."""

    restaurant: Restaurant  # documents below a root, as for `hdpkit.Franchise`
    source: Source
    moves: tuple[Move, ...]  # each over documents or over totals (`Move.over`), in any order
    seed: int
    start: ShardedStart
    root: str | FixedWeights = "weights"
    spool: str | None = None  # folder of files with the tokens of the workers

    @property
    def threads(self) -> int:
        """The most threads that a move over documents uses in a worker."""
        inner = [move.move if isinstance(move, Scheduled) else move for move in self.moves]
        return max(getattr(move, "threads", 1) for move in inner)

    def streams(self) -> Streams:
        """Return the streams of the chain, equal to those of `hdpkit.Scheduler.run` with this seed."""
        return Streams(self.seed)


def check_declared(restaurant: Any, root: Any) -> None:
    """Raise an error unless chains over shards serve these declarations."""
    instance("restaurant", restaurant, Restaurant, "a Restaurant", remedy="hk.Restaurant(base=...).")
    chain = list(restaurant.chain())
    if len(chain) != 2 or chain[1].each != "document":
        raise ParameterError(
            "restaurant", restaurant, "documents over a root",
            "hk.Restaurant(base=root, each='document').",
        )  # fmt: skip
    if chain[1].hyperparameters[0].each:
        raise ParameterError(
            "concentration", chain[1].concentration, "one for all documents",
            "Only the numbers of tables are known of documents in other shards: leave hk.Each out.",
        )  # fmt: skip
    for declaration in chain:
        discount = declaration.hyperparameters[1]
        if discount.prior is not None or discount.start != 0.0:
            raise ParameterError(
                "discount", declaration.discount, "0, for the root and the documents",
                "Leave it out, or use hk.Scheduler with TableGibbs over the whole corpus.",
            )  # fmt: skip
    if not (isinstance(root, FixedWeights) or (isinstance(root, str) and root == "weights")):
        raise ParameterError(
            "root", root, "'weights' or hk.FixedWeights(K)",
            "Documents are independent only given the weights of the root.",
        )  # fmt: skip


def needs_lengths(job: ShardedJob) -> bool:
    """Whether a move draws a number for each document of the corpus."""
    return any(move.needs_lengths(job.restaurant) for move in job.moves)


def differs(restaurant: Restaurant) -> bool:
    """Whether topics differ by document, so that the state has tables of terms."""
    measure: Any = restaurant.measure
    return bool(measure.seats_values) and not measure.plain


def check_moves(moves: Sequence[Move]) -> None:
    """Raise a ScheduleError unless these moves can run over shards of a corpus."""
    for move in moves:
        inner = move.move if isinstance(move, Scheduled) else move
        if move.over == "documents" and not isinstance(inner, OverDocuments):
            raise ScheduleError(
                "moves", move.name, "moves over documents with the methods of hdpkit.moves.OverDocuments",
                "Derive the class from hdpkit.moves.ByDocument, and define document().",
            )  # fmt: skip
        if move.over not in ("documents", "totals"):
            raise ScheduleError(
                "moves", f"{move.name}, over = {move.over!r}", "moves over documents or over totals",
                "A move that needs only what all documents have in common declares over = 'totals' in its "
                "class; one that updates each document alone derives from hdpkit.moves.ByDocument, or is "
                "moves.SliceGibbs or moves.CountGibbs. Any other needs hk.Scheduler. (Moves over documents "
                "draw the tables themselves: moves.TableCounts isn't needed.)",
            )  # fmt: skip


OPENS = "opens"
"""Of a seating where topics differ by document: which customers represent tables of terms."""


def seat_bursts(franchise: Franchise, seating: Mapping[str, Int32s]) -> CountedBursts | None:
    """Where topics differ by document, seat the customers in an empty bank, and count them; else None."""
    if OPENS not in seating:
        return None
    franchise.access.change(_seat_bursts, franchise.bank, seating)
    return bursts_here(franchise)


def _seat_bursts(bank: Any, seating: Mapping[str, Int32s]) -> None:
    bank.thaw({OPENS: seating[OPENS]})
    bank.rebuild(seating["dish"], np.unique(seating["dish"]))


def counted_terms(dish: Int32s, terms: Int32s, shape: tuple[int, int], weights: Any = None) -> Any:
    """Customers of each slot and term, or the sum of their weights, counted piece by piece: a csr_array."""
    counts = scipy.sparse.csr_array(shape, dtype=np.int64)
    for first in range(0, len(dish), CHUNK):
        piece = slice(first, first + CHUNK)
        there = dish[piece], terms[piece]
        given = np.ones(len(there[0])) if weights is None else weights[piece]
        counts = counts + scipy.sparse.csr_array((given.astype(np.int64), there), shape=shape)
    return counts


def shard_counts(
    terms: Int32s,
    n_terms: int,
    seating: Mapping[str, Int32s],
    n_slots: int,
    bursts: CountedBursts | None = None,
) -> Changes:
    """Contributions of documents to the common state, given that no customer is seated yet."""
    dish = seating["dish"]
    observed = seating.get(OPENS, np.ones(len(dish), dtype=np.int8))
    cells = np.zeros(n_terms * n_slots, dtype=np.int32)
    chunk = CHUNK
    for first in range(0, len(dish), chunk):
        places = terms[first : first + chunk].astype(np.int64) * n_slots + dish[first : first + chunk]
        np.add.at(cells, places, observed[first : first + chunk])
    places = np.flatnonzero(cells)
    opened = np.zeros(int(seating["count_node"].max(initial=0)) + 1, dtype=np.int64)
    observations, tables = np.zeros(n_slots, dtype=np.int64), np.zeros(n_slots, dtype=np.int64)
    for first in range(0, len(dish), chunk):
        there = dish[first : first + chunk][observed[first : first + chunk] > 0]
        observations += np.bincount(there, minlength=n_slots)
    for first in range(0, len(seating["count_node"]), chunk):
        node, served, t = (
            seating[name][first : first + chunk] for name in (COUNTED[0], COUNTED[1], COUNTED[3])
        )
        np.add.at(opened, node, t)
        np.add.at(tables, served, t)
    return Changes(
        observations,
        tables,
        np.bincount(opened[1:]),
        (write_sparse(places, cells[places].astype(np.int64)),),
        bursts,
    )


def begin_shards(
    franchise: Franchise,
    seating: dict[str, Int32s],
    total: Changes,
    common: Mapping[str, Any],
    corpus: WholeCorpus,
    source: ChoiceSource,
) -> None:
    """Set the state of a franchise over some shards, from the `shard_counts` of all; empties ``seating``."""
    slots, ids = (np.asarray(common[name]) for name in ("slots", "dish_ids"))
    there = total.tables[slots] > 0  # a start may have dishes without customers
    slots, ids = slots[there].astype(np.int32), ids[there]
    root = count_columns(np.zeros_like(slots), slots, total.tables[slots], np.ones_like(slots))
    # At most one column is in memory twice.
    entries = {name: np.append(root[name], seating.pop(name)) for name in COUNTED}
    bank = franchise.bank
    franchise.n_changes += 1
    franchise.store.thaw({"dish": seating.pop("dish"), **entries})
    seating.clear()
    del entries
    franchise.slots.attach(bank)
    occupy(franchise, slots, (), ids, common["births"])
    places, counts = np.concatenate([read_sparse(block) for block in total.counts], axis=1)
    n_slots = len(total.tables)
    bank.rebuild_counts(places // n_slots, places % n_slots, counts, slots)  # type: ignore[attr-defined]
    take_bursts(bank, total.bursts)
    corpus.opened = total.opened
    franchise.whole_corpus = corpus
    franchise.sweep = common["sweep"]
    franchise.set_base_parameters(**common.get("measure", {}))
    for declaration, value in zip(franchise.declarations, common.get("concentration", ()), strict=False):
        franchise.hyperparameters.assign(declaration.name, concentration=value)
    for part in franchise.parts.values():
        part.reset(slots)
    weights: Any = franchise.root.weights
    if weights.name in common.get("components", {}):
        weights.thaw(common["components"][weights.name])
    else:
        weights.started(franchise, source)


def common_state(franchise: Franchise) -> dict[str, Any]:
    """The common state of all workers, without counts and tables, which are sums over the workers."""
    return {
        "slots": franchise.slots.occupied_slots(),
        "dish_ids": franchise.slots.ids(),
        "births": franchise.slots.n_births(),
        "sweep": franchise.sweep,
        "measure": franchise.base_parameters,
        "concentration": [np.asarray(franchise.concentration(d.name)).item() for d in franchise.declarations],
        "components": franchise.parts.freeze(),
    }


def shard_seating(franchise: Franchise) -> dict[str, Int32s]:
    """The seating of the documents without the root, as `begin_shards` accepts it."""
    with franchise.lock():
        frozen: dict[str, Int32s] = franchise.store.freeze()
    below = frozen["count_node"] > 0
    tables = franchise.bank.freeze() if franchise.measure.seats_values else {}
    return {"dish": frozen["dish"], **{name: frozen[name][below] for name in COUNTED}, **tables}


def part_of(seating: Mapping[str, Any], info: Any, document: int, token: int) -> dict[str, Any]:
    """The seating of a shard within that of more documents, from this document and token on."""
    begin, end = np.searchsorted(seating["count_node"], [document + 1, document + info.n_documents + 1])
    own = {name: seating[name][begin:end].copy() for name in COUNTED}
    own["count_node"] -= np.int32(document)
    of_tokens = slice(token, token + info.n_tokens)
    return {name: seating[name][of_tokens] for name in ("dish", OPENS) if name in seating} | own


def whole_state(
    source: Source, seed: int, seatings: dict[int, dict[str, npt.NDArray[np.int32]]], common: dict[str, Any]
) -> dict[str, Any]:
    """Return the state of all documents in the form of `Franchise.freeze`."""
    columns: dict[str, list[Any]] = {name: [] for name in next(iter(seatings.values()))}
    for i in sorted(seatings):
        for name in columns:
            first = source.shards[i].first_document if name == "count_node" else 0
            columns[name].append(seatings[i][name] + np.int32(first))
    slots = common["slots"]
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    tables = np.bincount(joined["count_dish"], weights=joined["count_tables"], minlength=int(slots.max()) + 1)
    root = count_columns(np.zeros_like(slots), slots, tables[slots], np.ones_like(slots))
    seating = {"dish": joined["dish"]} | {name: np.append(root[name], joined[name]) for name in COUNTED}
    n_documents = source.shards[-1].first_document + source.shards[-1].n_documents
    of_root, of_documents = common["concentration"]
    return {
        "seating": seating,
        "slots": slots,
        "held": np.empty(0, dtype=np.int32),
        "dish_ids": common["dish_ids"],
        "births": common["births"],
        "concentration": np.append(of_root, np.full(n_documents, of_documents)),
        "discount": np.zeros(n_documents + 1),
        "measure": common["measure"],
        "bank": {OPENS: joined[OPENS].astype(np.int8)} if OPENS in joined else {},
        "sweep": common["sweep"],
        "streams": {"seed": seed, "chain": 0},
        "components": common["components"],
    }


SAMPLE = 1 << 20  # tokens used for the clusters of terms, and tokens sorted at once
DOCUMENTS = 1  # place of the documents' streams, different from that of the start itself


class ShardedStart(Protocol):
    """The state at the start of a chain, shard by shard."""

    def common(self) -> dict[str, Any]:
        """The state common to all workers, as returned by `common_state`."""

    def seating(self, number: int, info: Any, corpus: Corpus) -> dict[str, Int32s]:
        """The seating of a shard's documents, in the form of `seat_bursts`."""


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

    def seating(self, number: int, info: Any, corpus: Corpus) -> dict[str, Int32s]:
        """Documents of a shard."""
        whole = {**self.frozen["seating"], **(self.frozen["bank"] if self.bursts else {})}
        found = part_of(whole, info, info.first_document, info.first_token)
        if self.bursts and OPENS not in found:
            found[OPENS] = firsts_of_cells(found["dish"], corpus)
        return checked_seating(number, found, corpus, self.frozen["slots"], self.bursts)


@attrs.frozen(eq=False)
class StartByDocument:
    """Dishes drawn document by document, each from its own stream, with one table for each dish."""

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

    def seating(self, number: int, info: Any, corpus: Corpus) -> dict[str, Int32s]:
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
    """The seating of a shard, checked, since compiled code uses its numbers without checks."""
    found = {name: np.asarray(seating.get(name)) for name in ("dish", *COUNTED)}
    whole = all(column.ndim == 1 and column.dtype.kind in "iu" for column in found.values())
    dish = found["dish"]
    if whole and len(dish) == corpus.n_tokens and np.all(np.isin(dish, slots)):
        dish = dish.astype(np.int32)
        wanted = one_table_each(dish, corpus.document_lengths, int(np.max(slots)) + 1)
        customers, tables = wanted["count_customers"], found["count_tables"]
        if (
            all(np.array_equal(wanted[name], found[name]) for name in COUNTED[:3])
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
    for first, last, token, end in _blocks(ends):
        home = np.repeat(np.arange(last - first), corpus.document_lengths[first:last])
        _, pair = np.unique(home * n_dishes + dish[token:end], return_inverse=True)
        _, at = np.unique(pair * corpus.n_terms + terms[token:end], return_index=True)
        found[token + at] = 1
    return found


def _blocks(ends: npt.NDArray[np.int64]) -> Iterator[tuple[int, int, int, int]]:
    """Blocks of documents, to sort only short arrays: the first and last document, and token."""
    first = token = 0
    while first < len(ends):
        last = max(int(np.searchsorted(ends, token + SAMPLE, side="right")), first + 1)
        yield first, last, token, int(ends[last - 1])
        first, token = last, int(ends[last - 1])


def one_table_each(dish: Int32s, lengths: npt.NDArray[np.int64], n_dishes: int) -> dict[str, Int32s]:
    """One table for each dish of a document. ``dish`` has an entry per customer, by document."""
    found = []
    for first, last, token, end in _blocks(np.cumsum(lengths)):
        home = np.repeat(np.arange(first + 1, last + 1), lengths[first:last])
        own = dish[token:end]
        cells, customers = np.unique(home * n_dishes + own, return_counts=True)
        found.append(count_columns(cells // n_dishes, cells % n_dishes, customers, np.ones_like(cells)))
    return {name: np.concatenate([one[name] for one in found]) for name in COUNTED}


def as_start(
    init: Any, source: Source, most: int | None, streams: Streams, bursts: Mapping[str, float] | None
) -> ShardedStart:
    """Return the start given by the argument ``init``, with at most ``most`` dishes (None: any number)."""
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
    labels = labels_of_terms(init, _first_documents(source), most, streams.source(STARTS))
    return StartByDocument((key[0], key[1]), int(labels.max()) + 1, labels, bursts)


def _from_state(frozen: Mapping[str, Any], source: Source, bursts: bool) -> FromState:
    """A start from a state; the seating of each shard is checked where it is read."""
    form = frozen.get("seating")
    kept = isinstance(form, Mapping) and {"dish", *COUNTED} <= set(form)
    if not kept or not {"slots", "held", "dish_ids", "births", "components"} <= set(frozen):
        raise DataError(
            "init", frozen, "a state of a franchise with store='counts', and not by cell",
            "Call franchise.expand_cells() before franchise.freeze().",
        )  # fmt: skip
    assert isinstance(form, Mapping)
    n = source.shards[-1].first_token + source.shards[-1].n_tokens
    seating = {"dish": ints_of("dish", form["dish"], 0, LARGEST, n)}
    seating |= {name: ints_of(name, form[name], 0, LARGEST) for name in COUNTED}
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
