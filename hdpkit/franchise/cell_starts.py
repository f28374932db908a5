"""Starts by cell: the numbers of customers of each document and term that begin with each dish.

They have the same distributions as the starts by customer (`starts`, `term_clusters`), and create no array
with an entry per customer.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.data.cells import Cells
from hdpkit.franchise.factors import Factors, check_factors, factors_of, law_of_cells
from hdpkit.franchise.known import KnownDishes
from hdpkit.franchise.term_clusters import COPIED, TermClusters, check_term_clusters, labels_of_terms
from hdpkit.random import RandomStream

__all__ = ["CellStart", "factor_cells", "one_dish", "random_dishes", "seat_cells", "term_cluster_cells"]

Ints = npt.NDArray[np.int32]

_CELLS = 1 << 14  # cells drawn at once
_LARGEST = 1 << 21  # most entries of a table of cells and dishes


@attrs.frozen(eq=False)
class CellStart:
    """Dishes of cells, from 0.

    Attributes
    ----------
    runs : int32 array, shape (n_cells,)
        Number of dishes of each cell.
    dish, count : int32 arrays
        The dishes, ascending within a cell, and their numbers of customers.
    n_dishes : int
        All dishes are below it; some may have no customers. Known components are the first.
    """

    runs: Ints
    dish: Ints
    count: Ints
    n_dishes: int


def _of_tables(tables: list[Any], n_dishes: int) -> CellStart:
    """Concatenate tables of cells by dishes, each given by the dishes of its columns and counts."""
    runs, dish, count = [], [], []
    for columns, table in tables:
        cell, place = np.nonzero(table)
        runs.append(np.bincount(cell, minlength=len(table)).astype(np.int32))
        dish.append(columns[place].astype(np.int32))
        count.append(table[cell, place].astype(np.int32))
    return CellStart(_one(runs), _one(dish), _one(count), n_dishes)


def _one(parts: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int32), *parts])


def one_dish(cells: Cells, known: int = 0) -> CellStart:
    """All customers have one dish, in addition to known components."""
    n = len(cells.count)
    return CellStart(np.ones(n, np.int32), np.full(n, known, np.int32), cells.count.copy(), known + 1)


def allowed_dishes(known: KnownDishes, n_dishes: int) -> npt.NDArray[np.float64]:
    """The uniform distribution of each term over the dishes that may have it, shape (n_terms, n).

    Known components are the first dishes; an additional dish is for terms that no other dish may have.
    """
    weights = np.ones((known.n_terms, max(n_dishes, known.n) + 1))
    weights[:, n_dishes:] = 0.0
    weights[:, : known.n] *= (known.topics.T > 0.0) | ~known.frozen
    weights[weights.sum(axis=1) == 0.0, -1] = 1.0
    return weights / weights.sum(axis=1, keepdims=True)


def random_dishes(
    cells: Cells, n_dishes: int, source: RandomStream, known: KnownDishes | None = None
) -> CellStart:
    """A uniformly random dish for each customer, among all or among those that may have its term."""
    weights = None if known is None else allowed_dishes(known, n_dishes)
    n_dishes = n_dishes if weights is None else weights.shape[1]
    generator, columns = source.generator, np.arange(n_dishes)
    size = max(1, min(_CELLS, _LARGEST // n_dishes))
    tables = []
    for first in range(0, len(cells.count), size):
        uniform = np.full(n_dishes, 1.0 / n_dishes)
        law = uniform if weights is None else weights[cells.term[first : first + size]]
        table = generator.multinomial(cells.count[first : first + size], law)
        tables.append(_of_tables([(columns, table)], n_dishes))
    return _joined(tables, n_dishes)


def _joined(parts: list[CellStart], n_dishes: int) -> CellStart:
    runs, dish, count = zip(*((one.runs, one.dish, one.count) for one in parts), strict=True)
    return CellStart(_one([*runs]), _one([*dish]), _one([*count]), n_dishes)


def term_cluster_cells(start: TermClusters, franchise: Any, source: RandomStream) -> CellStart:
    """Clusters of terms: a customer takes that of its own term or of another customer of its document."""
    check_term_clusters(start, franchise)
    labels, cells, generator = (
        labels_of_terms(start, franchise, source),
        franchise.topology.cells,
        source.generator,
    )
    known = franchise.topology.known
    n_dishes, parts = known + int(labels.max()) + 1, []
    for first, last in zip(cells.begin[:-1].tolist(), cells.begin[1:].tolist(), strict=True):
        if first == last:
            continue
        own, count = labels[cells.term[first:last]], cells.count[first:last]
        dishes, place = np.unique(own, return_inverse=True)
        share = np.bincount(place, weights=count)
        copied = generator.binomial(count, COPIED)
        table = generator.multinomial(copied, share / share.sum())
        table[np.arange(last - first), place] += count - copied
        parts.append(_of_tables([(dishes + known, table)], n_dishes))
    return _joined(parts, n_dishes)


def factor_cells(start: Factors, franchise: Any, source: RandomStream) -> CellStart:
    """Factors of the counts: the customers of a cell are drawn over dishes by the cell's weights."""
    check_factors(start, franchise)
    cells, generator = franchise.topology.cells, source.generator
    factors = factors_of(start, franchise, source)
    n, documents = len(factors[1]), cells.documents()
    columns, size = np.arange(n), max(1, min(_CELLS, _LARGEST // n))
    tables = []
    for first in range(0, len(cells.count), size):
        here = slice(first, first + size)
        law = law_of_cells(factors, documents[here], cells.term[here])
        tables.append(_of_tables([(columns, generator.multinomial(cells.count[here], law))], n))
    return _joined(tables, n)


def seat_cells(franchise: Any, start: CellStart, source: RandomStream) -> None:
    """Seat all customers with the dishes of a start; tables and weights of the root are drawn given these."""
    cells = franchise.topology.cells
    totals = np.bincount(start.dish, weights=start.count, minlength=start.n_dishes)
    known = franchise.topology.known
    names = np.flatnonzero(totals[known:]) + known
    franchise.root._check_number("init", known + len(names))
    slots = np.arange(start.n_dishes, dtype=np.int32)  # known components already have theirs
    slots[names] = [franchise.open_dish(source) for _ in names]
    franchise._verbs.enter_cells(start.runs, slots[start.dish], start.count, cells, source)
