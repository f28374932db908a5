"""Data drawn by cell: the numbers of customers by document, term and dish, without single customers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.data import Corpus
from hdpkit.data.corpus import Cells
from hdpkit.errors import StateError
from hdpkit.franchise.freezing import maker
from hdpkit.franchise.scores import ROOT_WEIGHTS
from hdpkit.measures.bursty import Bursty
from hdpkit.measures.by_restaurant import ByRestaurant
from hdpkit.random import ChoiceSource
from hdpkit.steps._table_counts import tables_drawn
from hdpkit.stores import FrozenCells

Franchise = Any  # the module of that class imports this one
SEATED = ("seating", "dishes")
"""Values of ``keep`` with which the seating is kept."""


def simulate_cells(franchise: Franchise, source: ChoiceSource, keep: str | None) -> Any:
    """See `Franchise.simulate`; here customers are counted by cell. Hyperparameters are those of the state.

    Seatings are drawn by stick breaking: a restaurant's tables are a size-biased sample of its weights, so
    the first has Binomial(n, v) of n customers, v ~ Beta(1, theta), the next one the same of the rest.
    """
    frozen = franchise.freeze()
    if len(franchise.held.nodes):
        raise StateError(
            "franchise", "with held groups", "one without them, where data are drawn", "Release them first."
        )
    measure = franchise.measure
    if keep in SEATED:
        slots = franchise.slots.occupied_slots()
        pairs = dishes_of_documents(franchise)
        counted = {name: frozen["seating"][name] for name in _COUNTED}
    else:
        pairs, counted, n_dishes = _drawn_seating(franchise, source.generator)
        slots = np.arange(n_dishes, dtype=np.int32)
        frozen |= {
            "slots": slots, "held": slots[:0], "dish_ids": np.arange(n_dishes), "births": n_dishes,
            "components": {name: one for name, one in frozen["components"].items() if name != ROOT_WEIGHTS},
        }  # fmt: skip
    topics = (
        measure.draw_many(franchise.bank, slots, np.empty(0, np.int32), source)
        if keep == "dishes"
        else [measure.draw_parameters(measure.make(), source) for _ in slots]
    )
    documents, dishes, n = pairs
    burst = burst_of(measure)
    pair, term, count = redraw_cells(np.searchsorted(slots, dishes), n, topics, source.generator, burst)
    document, dish = documents[pair], dishes[pair]
    order = np.lexsort((dish, term, document))
    document, term, dish, count = (one[order] for one in (document, term, dish, count))
    n_terms = franchise.data.n_terms
    cells, first, runs = np.unique(
        document.astype(np.int64) * n_terms + term, return_index=True, return_counts=True
    )
    begin = np.searchsorted(cells, np.arange(franchise.data.n_documents + 1) * n_terms)
    totals = np.add.reduceat(count, first).astype(np.int32)
    data = franchise.data.with_cells(Cells.of(begin, (cells % n_terms).astype(np.int32), totals))
    seating = FrozenCells(
        runs.astype(np.int32), dish.astype(np.int32), count.astype(np.int32), np.zeros(4, np.int32),
        *(counted[name] for name in _COUNTED),
    ).arrays()  # fmt: skip
    if burst is not None:
        share = np.asarray(topics)[np.searchsorted(slots, dish), term]
        masses = zip((burst * share).tolist(), count.tolist(), strict=True)
        tables = [tables_drawn(mass, c, source, True) if c > 1 else 1 for mass, c in masses]
        frozen["bank"] = {"run_tables": np.array(tables, dtype=np.int32)}
    return maker(franchise, data)({**frozen, "seating": seating}, source)


def burst_of(measure: Any) -> float | None:
    """Concentration of topics that differ by document; over cells there is no discount. None: they don't."""
    return float(measure.concentration) if isinstance(measure, Bursty) else None


_COUNTED = ("count_node", "count_dish", "count_customers", "count_tables")


def dishes_of_documents(franchise: Franchise) -> tuple[Int64s, Int64s, Int64s]:
    """Document, slot of the dish and number of customers of each pair that has customers."""
    frozen, first = franchise.store.freeze(), int(franchise.topology.first[-1])
    own = frozen["count_node"] >= first
    return (
        frozen["count_node"][own].astype(np.int64) - first,
        frozen["count_dish"][own].astype(np.int64),
        frozen["count_customers"][own].astype(np.int64),
    )


def _drawn_seating(
    franchise: Franchise, generator: np.random.Generator
) -> tuple[tuple[Int64s, Int64s, Int64s], dict[str, Int32s], int]:
    """Draw seatings from the prior: pairs of document and dish, and the counts of all restaurants."""
    topology, theta = franchise.topology, franchise.hyperparameters.theta
    own = np.zeros(topology.n_nodes, dtype=np.int64)
    first = int(topology.first[-1])
    own[first:] += franchise.data.document_lengths
    n_levels = topology.n_levels
    tables: list[tuple[Int64s, Int64s]] = []  # by level, the deepest first: restaurant and size of each table
    customers = own.copy()
    for level in range(n_levels - 1, 0, -1):
        nodes = np.flatnonzero(topology.level == level)
        where, size = _broken(customers[nodes], theta[nodes], generator)
        tables.append((nodes[where], size))
        np.add.at(customers, topology.parent[nodes[where]], 1)
    # The dishes of the root's customers, from the top down.
    total, most = int(customers[0]), franchise.root.most_dishes
    if most is None:
        _, size = _broken(customers[:1], theta[:1], generator)
        eaten = generator.permutation(np.repeat(np.arange(len(size)), size))
    else:
        eaten = np.unique(generator.integers(0, most, size=total), return_inverse=True)[1]
    n_dishes = int(eaten.max()) + 1
    columns = [_counted(np.zeros(total, np.int64), eaten, None, n_dishes)]
    pending = {0: eaten}
    for where, size in reversed(tables):
        dish = np.empty(len(where), dtype=np.int64)
        for node, mine in _by_number(topology.parent[where]):
            dish[mine] = pending[node]
        columns.append(_counted(where, dish, size, n_dishes))
        # The customers of inner restaurants, in random order.
        pending = {
            node: generator.permutation(np.repeat(dish[own], size[own]))
            for node, own in _by_number(where)
            if node < first
        }
    counted = dict(
        zip(_COUNTED, (np.concatenate(c).astype(np.int32) for c in zip(*columns, strict=True)), strict=True)
    )
    deep = counted["count_node"] >= first
    pairs = tuple(counted[name][deep].astype(np.int64) for name in _COUNTED[:3])
    return (pairs[0] - first, pairs[1], pairs[2]), counted, n_dishes


def _by_number(numbers: Int64s) -> Iterator[tuple[int, Int64s]]:
    """Each of these numbers, ascending, and its places."""
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    for places in np.split(order, starts[1:]):
        yield int(numbers[places[0]]), places


def _counted(
    nodes: Int64s, dishes: Int64s, sizes: Int64s | None, n_dishes: int
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Restaurant, dish, customers and tables, of tables (or, without sizes, of customers of the root)."""
    key, place = np.unique(nodes * n_dishes + dishes, return_inverse=True)
    n_tables = np.bincount(place, minlength=len(key))
    if sizes is None:  # every dish has one table in the root
        return key // n_dishes, key % n_dishes, n_tables, np.ones_like(n_tables)
    customers = np.zeros(len(key), dtype=np.int64)
    np.add.at(customers, place, sizes)
    return key // n_dishes, key % n_dishes, customers, n_tables


def _broken(n: Int64s, theta: Floats, generator: np.random.Generator) -> tuple[Int64s, Int64s]:
    """Tables of Chinese restaurants with these numbers of customers: place of the restaurant, and size."""
    rest, found = n.copy(), []
    left = np.flatnonzero(rest)
    while len(left):
        size = generator.binomial(rest[left], generator.beta(1.0, theta[left]))
        found.append((left[size > 0], size[size > 0]))
        rest[left] -= size
        left = left[rest[left] > 0]
    where, sizes = zip(*found, strict=True)
    return np.concatenate(where), np.concatenate(sizes)


def topics_of(franchise: Franchise, slots: Any, source: ChoiceSource) -> list[Floats] | None:
    """Topics of the dishes in these slots, each of shape (V,), drawn given the data; None if not of terms."""
    measure, data = franchise.measure, franchise.data
    by_restaurant = isinstance(measure, ByRestaurant) and not measure.seats_values
    n_terms = data.n_terms if isinstance(data, Corpus) else getattr(measure, "n_terms", None)
    if n_terms is None or by_restaurant or not measure.supports("draw_parameters"):
        return None
    drawn = measure.draw_many(franchise.bank, slots, franchise.population.dishes(), source)
    return list(drawn) if all(np.shape(one) == (n_terms,) for one in drawn) else None


def terms_of(topic: Floats, n: int, generator: np.random.Generator) -> Int32s:
    """Draw n terms of a topic: int32, shape (n,)."""
    ends = np.cumsum(topic)
    terms = np.searchsorted(ends, generator.random(n) * ends[-1], side="right")
    return np.minimum(terms, np.flatnonzero(topic)[-1]).astype(np.int32)


def redraw_cells(
    dishes: Int64s, n: Int64s, topics: Any, generator: np.random.Generator, burst: float | None = None
) -> tuple[Int64s, Int64s, Int64s]:
    """Draw n terms of the topic of each pair of document and dish: number of the pair, term and count.

    With ``burst`` topics differ by document: that of a pair is Dirichlet(burst x topic).
    """
    found: list[tuple[Any, Any, Any]] = []
    for dish, mine in _by_number(dishes):
        topic = np.asarray(topics[dish], dtype=np.float64)
        if burst is not None:
            used = np.flatnonzero(topic)
            for pair in mine.tolist():
                own = generator.dirichlet(burst * topic[used])
                counts = generator.multinomial(n[pair], own / own.sum())
                term = np.flatnonzero(counts)
                found.append((np.full(len(term), pair), used[term], counts[term]))
            continue
        large = n[mine] >= len(topic)
        for pair in mine[large].tolist():
            counts = generator.multinomial(n[pair], topic / topic.sum())
            term = np.flatnonzero(counts)
            found.append((np.full(len(term), pair), term, counts[term]))
        few = mine[~large]
        if len(few):
            pair = np.repeat(few, n[few])
            key = pair * len(topic) + terms_of(topic, len(pair), generator)
            key, count = np.unique(key, return_counts=True)
            found.append((key // len(topic), key % len(topic), count))
    pairs, terms, counts = (np.concatenate(one).astype(np.int64) for one in zip(*found, strict=True))
    return pairs, terms, counts
