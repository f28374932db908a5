"""Posterior predictive checks: statistics of the data, and of copies drawn again from their dishes.

Given a draw of the posterior, seating and parameters of the dishes, the data and a copy drawn given both have
the same distribution if the model is right (Gelman, Meng & Stern 1996; Johnson 2007). A statistic may
therefore use the dish of every observation, and the data are as extreme as one of the copies. A state that is
no posterior draw, because its chain is too short, can differ from its copies also if the model is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.data import Corpus
from hdpkit.errors import DataError, DeclarationError, HdpkitError, ReturnValueError, short_repr
from hdpkit.franchise.franchise import Franchise
from hdpkit.posterior.simulate import burst_of, dishes_of_documents, redraw_cells, redraw_values, topics_of
from hdpkit.random import ChoiceSource
from hdpkit.stores import FrozenCells

BEYOND = 5.0  # standard deviations of a copy from which a statistic contradicts a state

CELLS, COUNTS = "distinct_cells", "count_variance"
VARIANCE, FOURTH, GROUPS, COVARIANCE = "variance", "fourth_moment", "group_variance", "covariance"

Statistic = Callable[[Any, Any], Any]


@attrs.frozen
class StatisticCheck:
    """A statistic of the data, and of copies of the data drawn given a state.

    Attributes
    ----------
    observed : float
        The statistic of the data; the mean over the drawn parameters of the dishes if it depends on them.
    expected, sd : float
        Mean and standard deviation over the copies.
    n_copies : int
    """

    observed: float
    expected: float
    sd: float
    n_copies: int

    @property
    def distance(self) -> float:
        """``observed - expected`` in standard deviations of a copy; infinite if no copy differs."""
        gap = self.observed - self.expected
        if self.sd > 0.0:
            return gap / self.sd
        return 0.0 if gap == 0.0 else float(np.copysign(np.inf, gap))

    @property
    def relative(self) -> float:
        """``observed / expected - 1``; infinite if no more than zero is expected."""
        gap = self.observed - self.expected
        if self.expected > 0.0:
            return gap / self.expected
        return 0.0 if gap == 0.0 else float(np.copysign(np.inf, gap))


def check_statistics(franchise: Franchise, own: Mapping[str, Statistic]) -> None:
    """Raise an error if data of a franchise have no statistics."""
    if own and not franchise.population.single:
        raise DataError(
            "statistics", sorted(own), "None, where customers are counted by cell",
            "Call franchise.expand_cells() first, or leave them out.",
        )  # fmt: skip
    if not own and not isinstance(franchise.data, Corpus):
        values = np.asarray(franchise.data.values)
        if values.dtype.kind not in "biuf" or values.ndim > 2:
            raise DeclarationError(
                "statistics", None, "given, where values are not numbers or vectors of numbers",
                "Give functions of values and dishes: statistics={'name': function}.",
            )  # fmt: skip


def predictive_checks(
    franchise: Franchise, n_copies: int, source: ChoiceSource, own: Mapping[str, Statistic]
) -> dict[str, StatisticCheck]:
    """Compare the data with copies drawn given the state: the checks of all statistics, by name."""
    slots = franchise.slots.occupied_slots()
    if not franchise.population.single:
        draw = _by_cell(franchise, slots)
    elif isinstance(franchise.data, Corpus):
        draw = _terms(franchise, slots, own)
    else:
        draw = _values(franchise, slots, own)
    pairs = [draw(source) for _ in range(n_copies)]
    found = {}
    for name in pairs[0][0]:
        observed, copied = ([one[name] for one in column] for column in zip(*pairs, strict=True))
        mean, sd = float(np.mean(copied)), float(np.std(copied, ddof=1))
        found[name] = StatisticCheck(float(np.mean(observed)), mean, sd, n_copies)
    return found


Draw = Callable[[ChoiceSource], tuple[dict[str, float], dict[str, float]]]
"""Draws parameters of the dishes and a copy: the statistics of the data and of the copy, given both."""


# ---------------------------------------------------------------------- terms


def _of_counts(
    pairs: tuple[Int64s, Int64s, Int64s],
    counts: tuple[Int64s, Int64s, Int64s],
    n_terms: int,
    n_dishes: int,
    topics: Floats | None,
) -> dict[str, float]:
    """Different cells, and the variance of counts within dishes relative to a multinomial."""
    # Without topics the means are those of the counts: less than 1 for dishes with few customers.
    documents, dishes, n = pairs
    pair, term, count = counts
    cells = np.unique(documents[pair] * n_terms + term)
    if topics is None:
        key, place = np.unique(dishes[pair] * n_terms + term, return_inverse=True)
        totals = np.bincount(dishes, weights=n, minlength=n_dishes)
        there = np.bincount(place, weights=count) / totals[key // n_terms]
        share = there[place]
        squares = np.bincount(key // n_terms, weights=there * there, minlength=n_dishes)
    else:
        share, squares = topics[dishes[pair], term], np.sum(topics * topics, axis=1)
    c, size = count.astype(float), n.astype(float)
    found = np.sum(c * (c - 2.0 * size[pair] * share)) + np.sum(size * size * squares[dishes])
    expected = float(np.sum(size * (1.0 - squares[dishes])))
    return {CELLS: float(len(cells)), COUNTS: found / expected if expected > 0.0 else 1.0}


def _by_cell(franchise: Any, slots: Any) -> Draw:
    """For customers that are counted by cell."""
    frozen: Any = FrozenCells.of(franchise.store.freeze())
    cells, n_terms = franchise.data.cells, franchise.data.n_terms
    cell = np.repeat(np.arange(len(cells.term)), frozen.cell_runs)
    documents, slot, n = dishes_of_documents(franchise)
    pairs = documents, np.searchsorted(slots, slot), n
    key = documents * (int(slot.max()) + 1) + slot
    order = np.argsort(key)
    own = cells.documents()[cell].astype(np.int64) * (int(slot.max()) + 1) + frozen.run_dish
    pair = order[np.searchsorted(key[order], own)]
    counts = pair, cells.term[cell].astype(np.int64), frozen.run_count.astype(np.int64)

    def draw(source: ChoiceSource) -> tuple[dict[str, float], dict[str, float]]:
        topics = np.asarray(topics_of(franchise, slots, source))
        drawn = redraw_cells(pairs[1], n, topics, source.generator, burst_of(franchise.measure))
        observed, copied = (_of_counts(pairs, one, n_terms, len(slots), topics) for one in (counts, drawn))
        return observed, copied

    return draw


def _terms(franchise: Any, slots: Any, own: Mapping[str, Statistic]) -> Draw:
    """For customers with a dish each."""
    data, n_terms = franchise.data, franchise.data.n_terms
    dishes = np.searchsorted(slots, franchise.seating.dishes()).astype(np.int64)
    documents = np.asarray(data.codes_between("document", 0, len(data))).astype(np.int64)
    key, pair = np.unique(documents * len(slots) + dishes, return_inverse=True)
    pairs = key // len(slots), key % len(slots), np.bincount(pair).astype(np.int64)

    def of(values: Any, topics: Any) -> dict[str, float]:
        cell, count = np.unique(pair.astype(np.int64) * n_terms + values, return_counts=True)
        found = _of_counts(pairs, (cell // n_terms, cell % n_terms, count), n_terms, len(slots), topics)
        return found | _own(own, values, dishes)

    def draw(source: ChoiceSource) -> tuple[dict[str, float], dict[str, float]]:
        topics = topics_of(franchise, slots, source)
        drawn = topics if topics is None else np.asarray(topics)
        copied = np.asarray(redraw_values(franchise, source, topics), dtype=np.int32)
        return of(np.asarray(data.values), drawn), of(copied, drawn)

    return draw


# ---------------------------------------------------------------------- numbers


def _values(franchise: Any, slots: Any, own: Mapping[str, Statistic]) -> Draw:
    """For numbers or vectors, and for values that only the caller's functions read."""
    given = np.asarray(franchise.data.values)
    dishes = np.searchsorted(slots, franchise.seating.dishes()).astype(np.int64)
    homes = np.asarray(franchise.topology.home)[: len(given)] if franchise.topology.kind == "fixed" else None
    numbers = given.dtype.kind in "biuf"
    missing = np.isnan(_rows(given)) if given.dtype.kind == "f" else None
    sd = np.nanstd(_rows(given), axis=0) if numbers else np.ones(1)
    scale = np.where(sd > 0.0, sd, 1.0)

    def of(values: Any) -> dict[str, float]:
        found = {}
        if numbers:
            rows = _rows(values)
            rows = rows if missing is None else np.where(missing, np.nan, rows)
            found = _of_numbers(rows / scale, dishes, homes)
        return found | _own(own, values, dishes)

    observed = of(given)

    def draw(source: ChoiceSource) -> tuple[dict[str, float], dict[str, float]]:
        return observed, of(np.asarray(redraw_values(franchise, source), dtype=given.dtype))

    return draw


def _rows(values: Any) -> Floats:
    rows = np.asarray(values, dtype=np.float64)
    return rows[:, None] if rows.ndim == 1 else rows


def _of_numbers(rows: Floats, dishes: Int64s, homes: Any) -> dict[str, float]:
    """Statistics of numbers around the means of their dishes; coordinates are in their own units."""
    there = ~np.isnan(rows)
    filled = np.where(there, rows, 0.0)
    sizes = np.maximum(_sums(there, dishes), 1.0)
    rest = np.where(there, filled - (_sums(filled, dishes) / sizes)[dishes], 0.0)
    squares = rest**2
    own = _sums(squares, dishes) ** 2 / sizes
    total = max(float(squares.sum()), 1e-300)
    found = {
        VARIANCE: float(squares.sum() / max(there.sum(), 1)),
        FOURTH: float(np.sum(rest**4) / max(float(own.sum()), 1e-300)),
    }
    if rows.shape[1] > 1:
        found[COVARIANCE] = float(np.sum(rest.sum(axis=1) ** 2) / total)
    if homes is not None and 1 < len(np.unique(homes)) < len(rows):
        _, place = np.unique(homes.astype(np.int64) * (int(dishes.max()) + 1) + dishes, return_inverse=True)
        sums, n = _sums(rest, place), _sums(there, place)
        found[GROUPS] = float(np.sum(sums**2 / np.maximum(n, 1.0)) / total)
    return found


def _sums(rows: Any, places: Int64s) -> Floats:
    sums = np.zeros((int(places.max()) + 1, rows.shape[1]))
    np.add.at(sums, places, rows)
    return sums


def _own(own: Mapping[str, Statistic], values: Any, dishes: Int64s) -> dict[str, float]:
    """Statistics of the caller's functions."""
    found = {}
    for name, function in own.items():
        try:
            found[name] = float(function(values, dishes))
        except HdpkitError:
            raise
        except (TypeError, ValueError) as error:
            raise ReturnValueError(
                f"statistics[{name!r}]", short_repr(function), f"a function that returns a number ({error})",
                "It is called with the values and the dish of each.",
            ) from error  # fmt: skip
        if not np.isfinite(found[name]):
            raise ReturnValueError(
                f"statistics[{name!r}]", found[name], "a finite number", "Return one for all data."
            )
    return found
