"""The state of a franchise over some shards of a corpus, most of which all workers have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.support.count_changes import read_sparse, write_sparse
from hdpkit.arrays import Int32s
from hdpkit.franchise.assigned import Assignment
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.whole_corpus import Changes, WholeCorpus
from hdpkit.random import ChoiceSource

__all__ = [
    "assign_shards",
    "assignment",
    "begin_assigned",
    "begin_shards",
    "common_state",
    "draw_shards",
    "end_shards",
    "shard_counts",
    "shard_seating",
    "share_topics",
    "sweep_shards",
    "take_block",
]

COLUMNS = ("count_node", "count_dish", "count_customers", "count_tables")


def shard_counts(terms: Int32s, n_terms: int, seating: Mapping[str, Int32s], n_slots: int) -> Changes:
    """Contributions of documents to the common state, given that no customer is seated yet; see `COLUMNS`."""
    dish = seating["dish"]
    cells = np.zeros(n_terms * n_slots, dtype=np.int32)
    chunk = 1 << 20
    for first in range(0, len(dish), chunk):
        places = terms[first : first + chunk].astype(np.int64) * n_slots + dish[first : first + chunk]
        np.add.at(cells, places, 1)
    places = np.flatnonzero(cells)
    opened = np.zeros(int(seating["count_node"].max(initial=0)) + 1, dtype=np.int64)
    customers, tables = np.zeros(n_slots, dtype=np.int64), np.zeros(n_slots, dtype=np.int64)
    for first in range(0, len(dish), chunk):
        customers += np.bincount(dish[first : first + chunk], minlength=n_slots)
    for first in range(0, len(seating["count_node"]), chunk):
        node, served, t = (
            seating[name][first : first + chunk] for name in (COLUMNS[0], COLUMNS[1], COLUMNS[3])
        )
        np.add.at(opened, node, t)
        np.add.at(tables, served, t)
    return Changes(
        customers,
        tables,
        np.bincount(opened[1:]),
        (write_sparse(places, cells[places].astype(np.int64)),),
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

    ``seating`` is as for `shard_counts`, and empty afterwards; ``total`` is the sum of `shard_counts` over
    all shards, ``common`` the result of `common_state`. Weights of the root are drawn if they are not in its
    "components", from a source that is the same for all workers.
    """
    franchise._change(_begin, franchise, seating, total, common, corpus, source)


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
    franchise._changes += 1
    franchise.store.thaw({"dish": seating.pop("dish"), **entries})
    del entries
    franchise.slots.attach(bank)
    franchise._reset_slots(slots, (), ids, common["births"])
    places, counts = np.concatenate([read_sparse(block) for block in total.counts], axis=1)
    n_slots = len(total.customers)
    bank.rebuild_counts(places // n_slots, places % n_slots, counts, slots)  # type: ignore[attr-defined]
    corpus.opened = total.opened
    franchise._whole_corpus = corpus
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
    common: dict[str, Any] = franchise._within(_common_state, franchise)
    return common


def _common_state(franchise: Franchise) -> dict[str, Any]:
    return {
        "slots": franchise.slots.occupied_slots(),
        "dish_ids": franchise.slots.ids(),
        "births": franchise.slots.n_births(),
        "sweep": franchise.sweep,
        "measure": franchise.base_parameters,
        "concentration": [np.asarray(franchise.concentration(d.name)).item() for d in franchise.declarations],
        "components": franchise._parts.freeze(),
    }


def shard_seating(franchise: Franchise) -> dict[str, Int32s]:
    """The seating of the documents without the root, as `begin_shards` accepts it."""
    frozen: dict[str, Int32s] = franchise._within(franchise.store.freeze)
    below = frozen["count_node"] > 0
    return {"dish": frozen["dish"], **{name: frozen[name][below] for name in COLUMNS}}


def share_topics(franchise: Franchise, memory: Any, worker: int, n_workers: int) -> None:
    """Share topics with other workers, each of which draws some; see `Slices._share_topics`."""
    franchise._within(franchise._share_topics, memory, worker, n_workers)


def draw_shards(franchise: Franchise, source: ChoiceSource, proportions: str, threads: int) -> None:
    """Begin a sweep over the documents of all workers; see `Slices._draw_shards`."""
    franchise._within(franchise._draw_shards, source, proportions, threads)


def sweep_shards(franchise: Franchise, n_blocks: int) -> Changes:
    """Sweep over the documents of this worker; see `Slices._sweep_shards`."""
    found: Changes = franchise._within(franchise._sweep_shards, n_blocks)
    return found


def begin_assigned(franchise: Franchise, source: ChoiceSource) -> None:
    """Begin a sweep in which a move assigns dishes; see `Slices._begin_assigned`."""
    franchise._within(franchise._begin_assigned, source)


def assignment(franchise: Franchise) -> Assignment:
    """The documents of this worker to whose customers dishes are to be assigned; see `Slices._assignment`."""
    found: Assignment = franchise._within(franchise._assignment)
    return found


def assign_shards(
    franchise: Franchise, found: Assignment, rows: npt.NDArray[np.int64], n_blocks: int
) -> Changes:
    """Assign dishes to customers of this worker; see `Slices._assign`."""
    changes: Changes = franchise._within(franchise._assign, found, rows, n_blocks)
    return changes


def take_block(franchise: Franchise, block: int, n_blocks: int) -> bytes:
    """Return changes of counts not returned by `sweep_shards`; see `Slices._take_block`."""
    found: bytes = franchise._within(franchise._take_block, block, n_blocks)
    return found


def end_shards(franchise: Franchise, total: Changes) -> None:
    """End a sweep over all workers; see `Slices._end_shards`."""
    franchise._within(franchise._end_shards, total)
