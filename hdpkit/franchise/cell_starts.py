"""Starts by cell: how many customers of each document and term begin with each dish.

They have the laws of the starts that give each customer a dish (`starts`, `term_clusters`), and draw nothing
as large as the customers are many.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.data.cells import Cells
from hdpkit.franchise.factors import Factors, check_factors, factors_of, law_of_cells
from hdpkit.franchise.term_clusters import COPIED, TermClusters, check_term_clusters, labels_of_terms
from hdpkit.random import RandomStream

__all__ = ["CellStart", "factor_cells", "one_dish", "random_dishes", "seat_cells", "term_cluster_cells"]

Ints = npt.NDArray[np.int32]

_CELLS = 1 << 14  # that are drawn at once
_LARGEST = 1 << 21  # numbers of a table of cells and dishes


@attrs.frozen(eq=False)
class CellStart:
    """Dishes of cells, from 0.

    Attributes
    ----------
    runs : int32 array, shape (n_cells,)
        How many dishes each cell has.
    dish, count : int32 arrays
        The dishes, ascending within a cell, and the customers of each.
    n_dishes : int
        All dishes are below it; some may have nobody.
    """

    runs: Ints
    dish: Ints
    count: Ints
    n_dishes: int


def _of_tables(tables: list[Any], n_dishes: int) -> CellStart:
    """Put tables of cells by dishes together: dish numbers of the columns, and counts."""
    runs, dish, count = [], [], []
    for columns, table in tables:
        cell, place = np.nonzero(table)
        runs.append(np.bincount(cell, minlength=len(table)).astype(np.int32))
        dish.append(columns[place].astype(np.int32))
        count.append(table[cell, place].astype(np.int32))
    return CellStart(_one(runs), _one(dish), _one(count), n_dishes)


def _one(parts: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int32), *parts])


def one_dish(cells: Cells) -> CellStart:
    """All customers eat one dish."""
    n = len(cells.count)
    return CellStart(np.ones(n, np.int32), np.zeros(n, np.int32), cells.count.copy(), 1)


def random_dishes(cells: Cells, n_dishes: int, source: RandomStream) -> CellStart:
    """Each customer's dish uniform on so many."""
    generator, columns = source.generator, np.arange(n_dishes)
    size = max(1, min(_CELLS, _LARGEST // n_dishes))
    tables = []
    for first in range(0, len(cells.count), size):
        table = generator.multinomial(cells.count[first : first + size], np.full(n_dishes, 1.0 / n_dishes))
        tables.append(_of_tables([(columns, table)], n_dishes))
    return _joined(tables, n_dishes)


def _joined(parts: list[CellStart], n_dishes: int) -> CellStart:
    runs, dish, count = zip(*((one.runs, one.dish, one.count) for one in parts), strict=True)
    return CellStart(_one([*runs]), _one([*dish]), _one([*count]), n_dishes)


def term_cluster_cells(start: TermClusters, franchise: Any, source: RandomStream) -> CellStart:
    """Clusters of terms: a customer takes its own term's, or that of another one of its document."""
    check_term_clusters(start, franchise)
    labels, cells, generator = (
        labels_of_terms(start, franchise, source),
        franchise.topology.cells,
        source.generator,
    )
    n_dishes, parts = int(labels.max()) + 1, []
    for first, last in zip(cells.begin[:-1].tolist(), cells.begin[1:].tolist(), strict=True):
        if first == last:
            continue
        own, count = labels[cells.term[first:last]], cells.count[first:last]
        dishes, place = np.unique(own, return_inverse=True)
        share = np.bincount(place, weights=count)
        copied = generator.binomial(count, COPIED)
        table = generator.multinomial(copied, share / share.sum())
        table[np.arange(last - first), place] += count - copied
        parts.append(_of_tables([(dishes, table)], n_dishes))
    return _joined(parts, n_dishes)


def factor_cells(start: Factors, franchise: Any, source: RandomStream) -> CellStart:
    """Factors of the counts: the customers of a cell are split over the dishes by their weights there."""
    check_factors(start, franchise)
    cells, generator = franchise.topology.cells, source.generator
    factors = factors_of(start, franchise, source)
    n_dishes, documents = len(factors[1]), cells.documents()
    columns, size = np.arange(n_dishes), max(1, min(_CELLS, _LARGEST // n_dishes))
    tables = []
    for first in range(0, len(cells.count), size):
        here = slice(first, first + size)
        law = law_of_cells(factors, documents[here], cells.term[here])
        tables.append(_of_tables([(columns, generator.multinomial(cells.count[here], law))], n_dishes))
    return _joined(tables, n_dishes)


def seat_cells(franchise: Any, start: CellStart, source: RandomStream) -> None:
    """Seat everybody at the dishes of a start; tables and weights of the root are drawn given these."""
    cells = franchise.topology.cells
    totals = np.bincount(start.dish, weights=start.count, minlength=start.n_dishes)
    names = np.flatnonzero(totals)
    franchise.root._check_number("init", len(names))
    slots = np.zeros(start.n_dishes, dtype=np.int32)
    slots[names] = [franchise.open_dish(source) for _ in names]
    franchise._verbs.enter_cells(start.runs, slots[start.dish], start.count, cells, source)
