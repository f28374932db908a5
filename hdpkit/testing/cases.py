"""Tiny franchises for the tests, and which moves, stores and kernels combine over them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import attrs
import numpy as np

from hdpkit.base_measures import base_measures
from hdpkit.checks import choice, instance, items, whole_number
from hdpkit.data import Groups, Sequences
from hdpkit.errors import DataError, DeclarationError, ParameterError, ScheduleError
from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.known import Known, KnownValues
from hdpkit.franchise.several_parents import MixtureOf
from hdpkit.franchise.starts import start
from hdpkit.franchise.state_homes import PreviousDish
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.moves import Move, ReseatGroups
from hdpkit.moves.protocol import check_move
from hdpkit.moves.registry import moves
from hdpkit.random import STARTS, Streams
from hdpkit.steps.step import available_kernels
from hdpkit.stores import Detail, at_least, stores


@attrs.frozen
class Corner:
    """A corner of the hyperparameters: theta and d of the root and of all below."""

    root: float
    below: float
    root_discount: float = 0.0
    discount: float = 0.0


CORNERS = {
    "middle": Corner(1.5, 0.7),
    "few dishes, many tables": Corner(0.05, 20.0),
    "many dishes, few tables": Corner(30.0, 0.1),
    "discounts": Corner(0.8, 0.4, 0.3, 0.6),
}


@attrs.frozen
class TinyShape:
    """Labels of the customers, one per level below the root, outermost last; None if a label is missing."""

    labels: dict[str, list[Any]]
    n_customers: int

    @property
    def depth(self) -> int:
        """Levels of restaurants."""
        return 1 + len(self.labels)

    def declared(self, root: Restaurant, below: Below) -> Restaurant:
        """The deepest restaurant."""
        for label in self.labels:
            root = below(root, label)
        return root


Below = Callable[[Any, str], Restaurant]
"""Declares restaurants below others, one for each value of a label."""


@attrs.frozen
class Graph(TinyShape):
    """Restaurants with several parents."""

    declare: Callable[[Restaurant, Below], Restaurant]

    def declared(self, root: Restaurant, below: Below) -> Restaurant:
        """The deepest restaurant."""
        return self.declare(root, below)


def _lengths(*lengths: int) -> TinyShape:
    documents = [j for j, length in enumerate(lengths) for _ in range(length)]
    return TinyShape({"document": documents}, len(documents))


SHAPES = {
    "flat 3": TinyShape({}, 3),
    "flat 4": TinyShape({}, 4),
    "flat 5": TinyShape({}, 5),
    "2+1": _lengths(2, 1),
    "2+2": _lengths(2, 2),
    "3+2": _lengths(3, 2),
    "2+2+2": _lengths(2, 2, 2),
    "3+3": _lengths(3, 3),
    "4+3": _lengths(4, 3),
    "3+3+2": _lengths(3, 3, 2),
    "2+1 with one at the root": TinyShape({"document": [0, 0, None, 1]}, 4),
    "three levels of three": TinyShape({"author": ["a", "a", "b"], "document": [0, 1, 2]}, 3),
    "three levels": TinyShape({"author": ["a", "a", "a", "b"], "document": [0, 0, 1, 2]}, 4),
    "three levels, inner customers": TinyShape(
        {"author": ["a", "a", "b", None], "document": [0, None, 1, None]}, 4
    ),
}


def _two_parents(root: Restaurant, below: Below) -> Restaurant:
    return below(MixtureOf(below(root, "a"), below(root, "b"), weights=(0.3, 0.7)), "c")


def _parent_and_root(root: Restaurant, below: Below) -> Restaurant:
    return below(MixtureOf(below(root, "a"), root, weights=(0.3, 0.7)), "b")


def _two_ways(root: Restaurant, below: Below) -> Restaurant:
    a = below(root, "a")
    return below(MixtureOf(a, below(MixtureOf(root, a, weights=(0.6, 0.4)), "b")), "c")


GRAPHS: dict[str, TinyShape] = {
    "two parents": Graph(
        {"a": [0, None, 0, 0], "b": [None, 0, 0, 0], "c": [None, None, 0, 0]}, 4, _two_parents
    ),
    "a parent and the root": Graph({"a": [0, 0, 0], "b": [None, 0, 1]}, 3, _parent_and_root),
    "a grandparent on two ways": Graph({"a": [0, 0, 0], "b": [0, 0, 0], "c": [None, 0, 0]}, 3, _two_ways),
}


def check_keys(name: str, values: Any, table: dict[str, Any]) -> None:
    """Raise a ParameterError unless `values` are some keys of `SHAPES` or `CORNERS`."""
    remedy = f"Keys of hdpkit.testing.{'SHAPES' if table is SHAPES else 'CORNERS'}."
    allowed = f"a sequence of one or more of {list(table)}"
    if not items(name, values, allowed, remedy=remedy):
        raise ParameterError(name, values, allowed, remedy)
    for value in values:
        choice(name, value, table, remedy=remedy)


def check_move_is_one(move: Any) -> None:
    """Raise a ParameterError unless this is a move."""
    instance("move", move, Move, "a move", remedy="Pass an instance: MyMove(), not MyMove.")


def check_arguments(move: Any, measure: Any, shapes: Any, seed: Any) -> BaseMeasure:
    """Check what `check_move` and `check_part` are given; returns the measure, or the usual one."""
    check_move_is_one(move)
    check_keys("shapes", shapes, SHAPES)
    whole_number("seed", seed)
    if measure is None:
        return DirichletMultinomial(0.5, n_terms=3)
    instance("measure", measure, BaseMeasure, "a base measure, or None", remedy="Leave it out.")
    return measure


TERMS = [0, 0, 1, 1, 2, 0, 2, 1]


def tiny_franchise(
    shape: str | TinyShape,
    measure: BaseMeasure,
    *,
    store: str | type = "histogram",
    kernel: str = "auto",
    corner: str | Corner = "middle",
    values: Any = None,
    concentration: Any = None,
    discount: Any = None,
    root: str | FixedWeights = "restaurant",
    known: Known | KnownValues | None = None,
) -> Franchise:
    """Build a tiny franchise in its sequential state.

    Parameters
    ----------
    shape, corner : str or object
        Keys of `SHAPES` (or of ``hdpkit.testing.cases.GRAPHS``) and `CORNERS`, or such objects.
    measure : BaseMeasure
    values : sequence, optional
        One value per customer; by default the measure's `example_values`, or terms 0, 1, 2.
    concentration, discount : (root, below), optional
        Replace those of the corner, for instance by priors.
    root : str or FixedWeights
        "restaurant", "weights" or fixed weights.
    known : Known or KnownValues, optional
        Known components.
    """
    if isinstance(shape, str):
        shape = GRAPHS[shape] if shape in GRAPHS else SHAPES[shape]
    one = CORNERS[corner] if isinstance(corner, str) else corner
    theta, theta_below = concentration or (one.root, one.below)
    d, d_below = discount or (one.root_discount, one.discount)

    def below(base: Any, each: str) -> Restaurant:
        return Restaurant(base=base, concentration=theta_below, discount=d_below, each=each)

    restaurant = shape.declared(Restaurant(base=measure, concentration=theta, discount=d), below)
    data = Groups.from_labels(
        _values_for(measure, shape.n_customers) if values is None else values, shape.labels
    )
    franchise = Franchise(restaurant, data, store=store, kernel=kernel, root=root, known=known)
    start(franchise, "sequential" if measure.atomic else "one", Streams(0).source(STARTS))
    return franchise


def hidden_markov(measure: BaseMeasure, store: str | type, root: str | FixedWeights) -> Franchise:
    """Build a hidden Markov model of one sequence of three observations, all of one state."""
    corner, values = CORNERS["middle"], _values_for(measure, 3)
    above = Restaurant(base=measure, concentration=corner.root)
    rows = Restaurant(base=above, concentration=corner.below, each=PreviousDish())
    franchise = Franchise(rows, Sequences.from_arrays([values]), store=store, root=root)
    start(franchise, "one", Streams(0).source(STARTS))
    return franchise


def repeated(values: Sequence[Any], n: int) -> Any:
    """n values, repeating the given ones: an array if they are one, otherwise a list."""
    these = [values[i % len(values)] for i in range(n)]
    return np.asarray(these) if isinstance(values, np.ndarray) and values.dtype != object else these


def _values_for(measure: BaseMeasure, n: int) -> Any:
    """The measure's example values, or terms."""
    examples = measure.example_values()
    return repeated(TERMS if examples is None else examples, n)


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
    """Franchises of three or four customers that a move must serve (`serves`), one for each store."""
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
        return tiny_franchise("a parent and the root", measure, store=store, root=_ROOTS[root])
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
