"""Starts of a chain over shards; each part makes or reads the state of its own documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.data import Corpus
from hdpkit.data.pieces import piece_of, strung_together
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise import Random
from hdpkit.franchise.part import COLUMNS
from hdpkit.franchise.term_clusters import COPIED, TermClusters, labels_of_terms
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.shards.source import Info, Source

__all__ = ["ByDocument", "FromState", "Start", "Whole", "as_start"]

Ints = npt.NDArray[np.int32]

SAMPLE = 1 << 20  # tokens used for the clusters of terms, and tokens sorted at once
DOCUMENTS = 1  # place of the documents' streams, different from that of the start itself


class Start(Protocol):
    """A state, in parts."""

    def common(self) -> dict[str, Any]:
        """The state common to all parts, as returned by `hdpkit.franchise.part.common_state`."""

    def seating(self, number: int, info: Info, corpus: Corpus) -> dict[str, Ints]:
        """The seating of the documents of a shard, in the form of `hdpkit.franchise.part.begin_part`."""


@attrs.frozen(eq=False)
class FromState:
    """The state of a franchise over the entire corpus, as returned by `Franchise.freeze`.

    Parameters
    ----------
    frozen : mapping
        State of a franchise with ``store="counts"`` and distinguished customers (`Franchise.tell_apart`).
    """

    frozen: Mapping[str, Any]

    def common(self) -> dict[str, Any]:
        """The state common to all parts."""
        names = ("slots", "dish_ids", "births", "sweep", "measure")
        concentration = np.asarray(self.frozen["concentration"])
        return {
            **{name: self.frozen[name] for name in names},
            "concentration": concentration[:2].tolist(),
            "components": self.frozen.get("components", {}),
        }

    def seating(self, number: int, info: Info, corpus: Corpus) -> dict[str, Ints]:
        """Documents of a shard."""
        seating = self.frozen["seating"]
        node = np.asarray(seating["count_node"])
        first = info.first_document
        begin, end = np.searchsorted(node, [first + 1, first + info.n_documents + 1])
        entries = {name: np.asarray(seating[name])[begin:end].copy() for name in COLUMNS}
        entries["count_node"] -= np.int32(first)
        dish = np.asarray(seating["dish"])[info.first_token : info.first_token + info.n_tokens]
        return {"dish": dish, **entries}


@attrs.frozen(eq=False)
class ByDocument:
    """Dishes drawn document by document, each from its own stream, with one table for each dish.

    Parameters
    ----------
    key : (int, int)
        Key of the streams.
    n_dishes : int
    of_terms : int32 array, shape (n_terms,), optional
        Dish of each term, as in `hdpkit.init.TermClusters`: a customer gets the dish of its own term or, with
        probability 4/5, of a random customer of its document. By default dishes are uniform.
    """

    key: tuple[int, int]
    n_dishes: int
    of_terms: Ints | None = None

    def common(self) -> dict[str, Any]:
        """Dishes 0 .. n_dishes - 1; weights are drawn."""
        slots = np.arange(self.n_dishes, dtype=np.int32)
        return {"slots": slots, "dish_ids": slots, "births": self.n_dishes, "sweep": 0}

    def seating(self, number: int, info: Info, corpus: Corpus) -> dict[str, Ints]:
        """Documents of a shard."""
        dish = np.empty(info.n_tokens, dtype=np.int32)
        values, stream = corpus.values, RandomStream(self.key)
        ends = np.cumsum(corpus.document_lengths).tolist()
        for d, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            stream.rekey(*self.key, info.first_document + d, 0, DOCUMENTS)
            dish[begin:end] = self._drawn(values[begin:end], stream.generator)
        return {"dish": dish, **one_table_each(dish, corpus.document_lengths, self.n_dishes)}

    def _drawn(self, terms: Ints, generator: np.random.Generator) -> Ints:
        n = len(terms)
        if self.of_terms is None:
            return generator.integers(0, self.n_dishes, size=n, dtype=np.int32)
        own = self.of_terms[terms]
        other = (generator.random(n) * n).astype(np.int64)
        return np.where(generator.random(n) < COPIED, own[other], own).astype(np.int32)


def one_table_each(dish: Ints, lengths: npt.NDArray[np.int64], n_dishes: int) -> dict[str, Ints]:
    """One table for each dish of a document.

    Parameters
    ----------
    dish : int32 array
        Dish of each customer, in the order of documents.
    lengths : int64 array
        Number of customers of each document.
    n_dishes : int
    """
    ends = np.cumsum(lengths)
    found: list[tuple[Ints, ...]] = []
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


def as_start(init: Any, source: Source, most: int | None, streams: Streams) -> Start:
    """Return the start given by the argument ``init``.

    Parameters
    ----------
    init : "auto", Random, TermClusters, or mapping
        A mapping is a state of `Franchise.freeze` over the entire corpus, in memory.
    source : Source
    most : int or None
        The largest number of dishes.
    streams : Streams
        Streams of the chain.
    """
    if isinstance(init, Mapping):
        form = init.get("seating", {})
        if "dish" not in form or "count_node" not in form:
            raise DataError(
                "init", init, "a state of a franchise with store='counts', customers told apart",
                "Call franchise.tell_apart() before franchise.freeze().",
            )  # fmt: skip
        n = source.shards[-1].first_token + source.shards[-1].n_tokens
        if len(form["dish"]) != n or np.any(np.asarray(form["dish"]) < 0):
            raise DataError(
                "init", f"{len(form['dish'])} customers", f"the dishes of all {n} customers",
                "Freeze a franchise over the same corpus after it was started.",
            )  # fmt: skip
        return FromState(init)
    key = streams.source(STARTS).generator.integers(0, 2**63, size=2).tolist()
    if isinstance(init, Random):
        return ByDocument((key[0], key[1]), init.n_dishes)
    if init == "auto":
        init = TermClusters()
    if not isinstance(init, TermClusters):
        raise ParameterError(
            "init", init,
            '"auto", hk.init.TermClusters(K), hk.init.Random(K) or a state of franchise.freeze()',
            "Other starts need all documents in one process.",
        )  # fmt: skip
    labels = labels_of_terms(init, Whole(_first_documents(source), most), streams.source(STARTS))
    return ByDocument((key[0], key[1]), int(labels.max()) + 1, labels)


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
    return strung_together(found)
