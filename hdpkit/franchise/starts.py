"""Initial states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from hdpkit.checks import validator, whole_number
from hdpkit.errors import ParameterError
from hdpkit.franchise.cell_starts import (
    CellStart,
    allowed_dishes,
    factor_cells,
    one_dish,
    random_dishes,
    seat_cells,
    term_cluster_cells,
)
from hdpkit.franchise.factors import Factors, check_factors, dishes_of_factors
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.term_clusters import (
    TermClusters,
    check_term_clusters,
    prefers_term_clusters,
    term_clusters,
)
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.stores import KeepsCells

__all__ = ["Factors", "Random", "TermClusters", "check_start", "start"]

_CHUNK = 1 << 18  # customers whose dishes are numbered at once


@attrs.frozen
class Random:
    """The dish of each customer is uniform on K dishes; then seats are drawn from the prior given the dishes.

    Parameters
    ----------
    n_dishes : int
        K, at least 1. If no customer draws a dish, there are fewer than K. Known components are the first
        of the K dishes; a customer whose term is impossible under a frozen one draws one of the others.
    """

    n_dishes: int = attrs.field(
        validator=validator(whole_number, 1, 2**31 - 1, remedy="For instance hk.init.Random(100).")
    )


def check_start(init: Any, franchise: Franchise) -> None:
    """Raise an error if `start` would reject `init`; draws and changes nothing. None is accepted."""
    if not isinstance(init, (Mapping, type(franchise))) and init is not None:
        franchise._held.check_start(init)
    init = _resolved(init, franchise)
    if isinstance(init, str) and init == "one":
        franchise._dish_kind.check_start(init)
        franchise.root._check_number("init", _known(franchise) + 1)
        return
    if isinstance(init, Random):
        franchise._dish_kind.check_start(init)
        franchise.root._check_number("init", max(init.n_dishes, _known(franchise)))
        return
    if isinstance(init, TermClusters):
        check_term_clusters(init, franchise)
        return
    if isinstance(init, Factors):
        check_factors(init, franchise)
        return
    prepared = None if init is None else _prepare(init, franchise, Streams(0).source(STARTS))
    if isinstance(prepared, Mapping):
        franchise.check_frozen(prepared)
    elif prepared is not None:
        franchise.root._check_number("init", _number(franchise, _distinct(prepared)))


def start(franchise: Franchise, init: Any, source: RandomStream) -> None:
    """Put a franchise into an initial state and its hyperparameters at their starting values.

    Parameters
    ----------
    init : "auto", "sequential", "one", Random, TermClusters, Factors, array of dishes, state or Franchise
        "auto": `TermClusters` for topic models that aren't sparse, "sequential" for everything else and for
        little data. "sequential": customers are seated one by one with their predictive probabilities given
        those before them (Wang & Blei 2012, section 4). "one": all customers have the same dish. An array
        gives the dish of each customer (any whole numbers >= 0). If dishes are given, customers are seated
        one by one from the prior given their dishes. With J known components, the numbers below J stand for
        them; "one" and `TermClusters` assign other dishes, and "auto" is "sequential", or random dishes if
        customers are counted by cell.
    """
    franchise._turns.within(_start, franchise, init, source)


def _start(franchise: Franchise, init: Any, source: RandomStream) -> None:
    n = franchise.topology.n_customers
    if not isinstance(init, (Mapping, type(franchise))):
        franchise._held.check_start(init)
    if isinstance(franchise.store, KeepsCells):
        by_cell = _by_cell(_resolved(init, franchise), franchise, source)
        if by_cell is not None:
            _start_cells(franchise, by_cell, source)
            return
        if not isinstance(init, (Mapping, type(franchise))):
            franchise.tell_apart()
    prepared = _prepare(init, franchise, source)
    names = None if prepared is None or isinstance(prepared, Mapping) else _distinct(prepared)
    if names is not None:
        franchise.root._check_number("init", _number(franchise, names))
    franchise.reset_hyperparameters()
    franchise.sweep = franchise.attempt = 0
    if isinstance(prepared, Mapping):
        state = {**prepared, "sweep": 0, "attempt": 0, "streams": None, "measure": franchise.base_parameters}
        present = franchise.hyperparameters
        state |= {"concentration": present.concentration.copy(), "discount": present.discount.copy()}
        franchise.thaw(state, source)
        return
    franchise.clear()
    franchise.bank.prepare(source)
    try:
        if prepared is None or names is None:
            franchise.in_chunks(0, n, lambda first, last: franchise.enter(first, last, source))
            _parts_started(franchise, source)
            return
        known = _known(franchise)  # their dishes exist, with these numbers
        slots = np.array(
            [name if name < known else franchise.open_dish(source) for name in names.tolist()], dtype=np.int32
        )
        given = np.empty(n, dtype=np.int32)
        for first in range(0, n, _CHUNK):
            given[first : first + _CHUNK] = slots[np.searchsorted(names, prepared[first : first + _CHUNK])]
        del prepared
        franchise.in_chunks(0, n, lambda first, last: franchise.enter_given(given, first, last, source))
        _parts_started(franchise, source)
    except BaseException:
        franchise.clear()  # an incomplete start would leave dishes without customers
        raise


def _by_cell(init: Any, franchise: Franchise, source: RandomStream) -> CellStart | None:
    """A start by cell; None for a start by customer or a state."""
    cells: Any = franchise.topology.cells  # type: ignore[union-attr]
    if isinstance(init, str) and init == "one":
        return one_dish(cells, _known(franchise))
    if isinstance(init, Random):
        return random_dishes(cells, init.n_dishes, source, franchise._known)
    if isinstance(init, Factors):
        return factor_cells(init, franchise, source)
    return term_cluster_cells(init, franchise, source) if isinstance(init, TermClusters) else None


def _start_cells(franchise: Franchise, by_cell: CellStart, source: RandomStream) -> None:
    franchise.reset_hyperparameters()
    franchise.sweep = franchise.attempt = 0
    franchise.clear()
    try:
        seat_cells(franchise, by_cell, source)
        _parts_started(franchise, source)
    except BaseException:
        franchise.clear()
        raise


def _parts_started(franchise: Franchise, source: RandomStream) -> None:
    for part in franchise.parts.values():
        part.started(franchise, source)


def _resolved(init: Any, franchise: Franchise) -> Any:
    """The start that "auto" means for this franchise; anything else is returned unchanged."""
    if not isinstance(init, str) or init != "auto":
        return init
    if franchise.known is not None:
        # The sequential start assigns customers to the known components.
        by_cell = isinstance(franchise.store, KeepsCells)
        return Random(_started_with(franchise)) if by_cell else "sequential"
    return TermClusters() if prefers_term_clusters(franchise) else "sequential"


def _known(franchise: Franchise) -> int:
    """Number of known components."""
    return int(franchise.topology.n_all - franchise.topology.n_customers)


def _started_with(franchise: Franchise) -> int:
    """Number of dishes of a random start with known components: these and one more, if possible."""
    return min(_known(franchise) + 1, franchise.root.most_dishes or _known(franchise) + 1)


def _number(franchise: Franchise, names: Any) -> int:
    """Number of dishes of a start that uses these numbers, including all known components."""
    return _known(franchise) + int(np.count_nonzero(names >= _known(franchise)))


def _prepare(init: Any, franchise: Franchise, source: RandomStream) -> Any:
    """None (sequential start), an array of dishes, or a frozen state; checked before anything changes."""
    n = franchise.topology.n_customers
    init = _resolved(init, franchise)
    if isinstance(init, str) and init == "sequential":
        return None
    if not isinstance(init, (Mapping, type(franchise))) and init is not None:
        franchise._dish_kind.check_start(init)
    if isinstance(init, str):
        if init == "one":
            return np.full(n, _known(franchise), dtype=np.int32)
    elif isinstance(init, Random):
        drawn = source.generator.integers(0, init.n_dishes, size=n, dtype=np.int32)
        return _possible(franchise, drawn, init.n_dishes, source)
    elif isinstance(init, TermClusters):
        check_term_clusters(init, franchise)
        return term_clusters(init, franchise, source) + np.int32(_known(franchise))
    elif isinstance(init, Factors):
        check_factors(init, franchise)
        return dishes_of_factors(init, franchise, source)
    elif isinstance(init, Mapping):
        return init
    elif isinstance(init, type(franchise)):
        return init.freeze()
    elif init is not None:
        dishes = _dishes(init, n)
        if franchise._known is not None:
            franchise._known.check_possible(np.asarray(franchise.data.values), dishes, "init")
        return dishes
    raise ParameterError(
        "init", init, '"auto", "sequential", "one", hk.init.Random(K), an array of dishes, a state, or None',
        "None continues from the state of a started franchise.",
    )  # fmt: skip


def _possible(franchise: Franchise, drawn: Any, n_dishes: int, source: RandomStream) -> Any:
    """Redraw dishes whose frozen component can't have the term, uniformly among those that may have it."""
    if franchise._known is None or not franchise._known.frozen.any():
        return drawn
    weights = allowed_dishes(franchise._known, n_dishes)
    values = np.asarray(franchise.data.values)
    for i in np.flatnonzero(weights[values, drawn] == 0.0).tolist():
        drawn[i] = source.generator.choice(weights.shape[1], p=weights[values[i]])
    return drawn


def _distinct(dishes: Any) -> Any:
    """The dishes that occur, ascending."""
    return np.unique(
        np.concatenate([np.unique(dishes[i : i + _CHUNK]) for i in range(0, len(dishes), _CHUNK)])
    )


def _dishes(init: Any, n: int) -> Any:
    try:
        dishes = np.asarray(init)
    except ValueError:  # ragged
        dishes = np.empty(0)
    whole = dishes.dtype.kind in "iu" or (
        dishes.dtype.kind == "f" and bool(np.all(np.isfinite(dishes) & (dishes == np.floor(dishes))))
    )
    if dishes.shape != (n,) or not whole or np.any(dishes < 0) or np.any(dishes >= 2.0**63):
        raise ParameterError(
            "init", init, f"whole numbers >= 0, shape ({n},)", "Give each customer's dish, in data order."
        )
    return dishes.astype(np.int64)
