"""Which moves, stores and kernels combine, read from the registries."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from hdpkit.base_measures import BaseMeasure, base_measures
from hdpkit.errors import DataError, DeclarationError, ScheduleError
from hdpkit.franchise.declarations import FixedWeights
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.known import Known, KnownValues
from hdpkit.moves import Move, ReseatGroups
from hdpkit.moves.protocol import check_move
from hdpkit.moves.registry import moves
from hdpkit.steps.step import available_kernels
from hdpkit.stores import Detail, at_least, stores
from hdpkit.testing.cases import (
    SHAPES,
    TinyShape,
    hidden_markov,
    repeated,
    several_parents,
    tiny_franchise,
)


def example_moves(continuous: bool | None = None) -> list[Move]:
    """Examples of every registered move; optionally only those with or without a continuous part."""
    found = [move for entry in moves.values() for move in entry.examples()]
    return [move for move in found if continuous is None or move.continuous == continuous]


def example_measures() -> list[BaseMeasure]:
    """Examples of every registered base measure."""
    return [measure for entry in base_measures.values() for measure in entry.examples()]


_SMALLER = {"flat 4": "flat 3", "2+2": "2+1", "3+2": "2+2", "three levels": "three levels of three"}


def fewer_units(shape: str, move: Move) -> str:
    """Key of a smaller shape of the same depth for a move with many branches: scans, entire groups."""
    if isinstance(move, ReseatGroups):
        return "2+2" if shape == "3+2" else shape
    return _SMALLER.get(shape, shape) if getattr(move, "scans", None) is not None else shape


def cells(
    measure: BaseMeasure,
    values: Sequence[Any] | None = None,
    shape: str | TinyShape = "2+2",
    roots: Sequence[str] = ("restaurant", "weights"),
) -> Iterator[tuple[str, str, str]]:
    """Every store, kernel and kind of root that combine over this measure in a franchise of this shape."""
    tiny_shape = SHAPES[shape] if isinstance(shape, str) else shape
    these = None if values is None else repeated(values, tiny_shape.n_customers)
    tiny = tiny_franchise(tiny_shape, measure, values=these)
    for root in roots[:1] if measure.atomic else roots:
        kind = "atoms" if measure.atomic else root
        for name in serving_stores(measure.atomic):
            for kernel in available_kernels(stores[name].thing, tiny.bank, tiny.topology.n_levels, kind):
                yield name, kernel, root


def stores_and_kernels(
    measure: BaseMeasure, values: Sequence[Any] | None = None, shape: str | TinyShape = "2+2"
) -> Iterator[tuple[str, str]]:
    """Every store that supports a root restaurant, with its kernels for this measure (and such values)."""
    return (cell[:2] for cell in cells(measure, values, shape, ["restaurant"]))


def serving_stores(observed: bool = False) -> list[str]:
    """Names of the stores that support a franchise without discounts."""
    return at_least(Detail.SIZES if observed else Detail.COUNTS)


_ALONE = ("state homes", "several parents")  # of one shape
_FURTHER = ("", "held", "known", *_ALONE)
_OF_DEPTH = {1: "flat 4", 2: "2+2", 3: "three levels"}
_ROOTS: dict[str, str | FixedWeights] = {
    "restaurant": "restaurant",
    "weights": "weights",
    "fixed weights": FixedWeights(3),
}


def served_franchises(move: Move, measure: BaseMeasure, shapes: Sequence[str]) -> Iterator[Franchise]:
    """Franchises of three or four customers, at the depths of the shapes, that a move must serve (`serves`).

    There is one for each store (not for readable twins), and they have what a measure supports. A root that
    is a restaurant is left out where there is nothing else. Weights of the root are left out in hidden Markov
    models and with known components: these have too many states.
    """
    stores = [store for store in serving_stores() if not store.endswith("-reference")]
    for store, root, further in itertools.product(stores, _ROOTS, _FURTHER):
        many = root == "weights" and further not in ("", "held")
        plain = root == "restaurant" and not further
        if root not in move.serves or (further and further not in move.serves) or many or plain:
            continue
        for depth in [1] if further in _ALONE else sorted({SHAPES[shape].depth for shape in shapes}):
            shape = fewer_units(_OF_DEPTH[depth], move)
            if root == "weights" or further == "known":
                shape = _SMALLER.get(shape, shape)
            if further != "held" or depth > 1:
                with suppress(DataError, DeclarationError):  # the measure has no such models
                    yield _served(shape, measure, store, root, further)


def _served(shape: str, measure: BaseMeasure, store: str, root: str, further: str) -> Franchise:
    if further == "several parents":
        return several_parents("a parent and the root", measure, store=store, root=_ROOTS[root])
    if further == "state homes":
        return hidden_markov(measure, store, _ROOTS[root])
    known = _known(tiny_franchise(shape, measure)) if further == "known" else None
    franchise = tiny_franchise(shape, measure, store=store, root=_ROOTS[root], known=known)
    if further == "held":
        franchise.hold([franchise.keys(franchise.declarations[-1].name)[0]])
    return franchise


def _known(franchise: Franchise) -> Known | KnownValues:
    """Two components: over terms one of them frozen."""
    V = getattr(franchise.measure, "n_terms", None)
    if V is None:
        return KnownValues([[value] for value in franchise.data.values[:2]])
    falling = np.arange(V, 0, -1.0)
    return Known([np.full(V, 1.0 / V), falling / falling.sum()], counts=5, frozen=[True, False])


def serves(franchise: Franchise, move: Any) -> bool:
    """Whether the move can be used on the franchise, and its steps have kernels there."""
    try:
        check_move(move, franchise)
    except ScheduleError:
        return False
    return True
