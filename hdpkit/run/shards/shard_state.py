"""The state of a franchise over some shards of a corpus, which it shares with other workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._count_changes import read_sparse, write_sparse
from hdpkit.arrays import Int32s
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.state import occupy
from hdpkit.franchise.whole_corpus import Changes, CountedBursts, WholeCorpus
from hdpkit.moves.document_sweeps import bursts_here, take_bursts
from hdpkit.random import ChoiceSource
from hdpkit.run.shards.source import Source

COLUMNS = ("count_node", "count_dish", "count_customers", "count_tables")
"""Of a seating: a row for each dish of a document."""
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


def shard_counts(
    terms: Int32s,
    n_terms: int,
    seating: Mapping[str, Int32s],
    n_slots: int,
    bursts: CountedBursts | None = None,
) -> Changes:
    """Contributions of documents to the common state, given that no customer is seated yet; see `COLUMNS`.

    ``bursts`` is the result of `seat_bursts`.
    """
    dish = seating["dish"]
    observed = seating.get(OPENS, np.ones(len(dish), dtype=np.int8))
    cells = np.zeros(n_terms * n_slots, dtype=np.int32)
    chunk = 1 << 20
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
            seating[name][first : first + chunk] for name in (COLUMNS[0], COLUMNS[1], COLUMNS[3])
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
    """Set the state of a franchise over some shards of a corpus.

    ``seating`` is as for `seat_bursts`, which comes first, and empty afterwards; ``total`` is the sum of
    `shard_counts` over all shards, ``common`` the result of `common_state`. Weights of the root are drawn if
    they are not in its "components", from a source that is the same for all workers.
    """
    franchise.access.change(_begin, franchise, seating, total, common, corpus, source)


def _begin(
    franchise: Franchise,
    seating: dict[str, Int32s],
    total: Changes,
    common: Mapping[str, Any],
    corpus: WholeCorpus,
    source: ChoiceSource,
) -> None:
    slots, ids = (np.asarray(common[name]) for name in ("slots", "dish_ids"))
    there = total.tables[slots] > 0  # a start may have dishes without customers
    slots, ids = slots[there].astype(np.int32), ids[there]
    root = np.zeros_like(slots), slots, total.tables[slots], np.ones_like(slots)
    entries = {
        name: np.concatenate([of_root.astype(np.int32), seating.pop(name)])  # at most one is in memory twice
        for name, of_root in zip(COLUMNS, root, strict=True)
    }
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
    return {"dish": frozen["dish"], **{name: frozen[name][below] for name in COLUMNS}, **tables}


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
    root = dict(zip(COLUMNS, (np.zeros_like(slots), slots, tables[slots], np.ones_like(slots)), strict=True))
    seating = {"dish": joined["dish"]}
    seating |= {name: np.append(root[name], joined[name]).astype(np.int32) for name in COLUMNS}
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
