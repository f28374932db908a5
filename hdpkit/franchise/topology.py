"""The tree of restaurants: of labels of the data, or of the contexts of n-grams.

Restaurants have numbers: 0 is the root, and parents come before their children. The depth is in the array of
parents; there are no classes for levels. The restaurants of contexts are a suffix tree, a hash table from
(parent, next symbol) to a number. Their numbers depend only on the data, so a frozen state needs no tree.
`Franchise.extend` creates restaurants for new contexts, `discard` builds the tree of the remaining data.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.checks import whole_number
from hdpkit.data import Corpus, GroupedData, NGrams
from hdpkit.data.corpus import Cells
from hdpkit.data.encode import NO_SYMBOL
from hdpkit.errors import DataError, DeclarationError, ParameterError
from hdpkit.franchise.declarations import Restaurant
from hdpkit.parts import Part
from hdpkit.random import ChoiceSource
from hdpkit.steps._counts_walk import CountsWalk
from hdpkit.steps._walk import ContextTree, Walk
from hdpkit.steps.counts_walk import CountsReferenceWalk
from hdpkit.steps.walk import Eaten, ReferenceWalk

_CONTEXTS = 1 << 16  # customers whose contexts are computed at once


def is_context_chain(chain: Sequence[Restaurant], data: GroupedData) -> bool:
    """Whether these declarations are the levels of a tree of contexts: "context 1", "context 2", ..."""
    wanted = [f"context {level}" for level in range(1, len(chain))]
    grows = len(chain) > 1 or chain[0].measure.atomic  # also unigrams, but not a flat mixture
    return isinstance(data, NGrams) and grows and [one.each for one in chain[1:]] == wanted


def declared(declaration: int, n: int) -> int:
    """Return the number of a declaration if it is one of n."""
    if type(declaration) is int and 0 <= declaration < n:  # steps ask several times a sweep
        return declaration
    remedy = "Declarations are numbered from the root's, 0."
    return whole_number("declaration", declaration, 0, n - 1, remedy=remedy)


class Restaurants:
    """Restaurants by number, each with its parent: what trees of all kinds have in common."""

    parent: Any
    declaration: Any
    nodes: Callable[[int], Any]
    keys_of: Callable[[int], list[Any]]
    start: Any = None  # a concentration of restaurants that belong to no dish
    n_fixed = 0  # number of these
    chained = False  # whether the dish of a customer determines the restaurant of the next
    scored_by = "completion"  # the usual score of held-out data
    reference_walks: tuple[Any, Any] = (
        ReferenceWalk,
        CountsReferenceWalk,
    )  # the second over a store of counts
    lead: Int32s | None = None  # restaurant of each node of a store; None: each node is one

    @property
    def n_nodes(self) -> int:
        """Number of restaurants, including those without customers."""
        return len(self.parent)

    def path(self, node: int) -> list[int]:
        """Restaurants from this one to the root."""
        remedy = "Restaurants are numbered from the root, 0."
        node = whole_number("node", node, 0, len(self.parent) - 1, remedy=remedy)
        path = []
        while node >= 0:
            path.append(node)
            node = int(self.parent[node])
        return path

    # ------------------------------------------------------------------ restaurants with several parents

    def arms(self, node: int) -> Sequence[int]:
        """Nodes of the store that have the tables of a restaurant, one for each of its parents."""
        return (node,)

    def parents_of(self, number: int) -> Any:
        """Parent of each restaurant of a declaration, shape (n,); several parents: (n, parents)."""
        return self.parent[self.nodes(number)]

    def weights_of(self, number: int) -> Floats | None:
        """Weights of the parents of a declaration's restaurants; None: they have one parent."""
        return None

    def restaurants(self, nodes: Any) -> Any:
        """The restaurant to which each of these nodes of a store belongs."""
        return nodes if self.lead is None else self.lead[nodes]

    def summed(self, values: Int64s) -> Int64s:
        """Sums by restaurant of values by node of the store."""
        return values

    def by_restaurant(self, node: Int64s, *columns: Int64s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """Entries of a store by node, dish, customers and tables, as those of restaurants, sorted."""
        dish, customers, tables = columns
        return node, dish, customers, tables

    def spread(self, values: Floats) -> None:
        """Copy values of restaurants to all their nodes."""

    def current_weights(self) -> Floats | None:
        """Weight of the parent of each node of a store; None: restaurants have one parent."""
        return None

    def walk(self, store: Any, slots: Any, *given: Any, arms: Any = None, counts: bool = False) -> Walk:
        """The compiled walk, over a store of ``counts`` or another."""
        # `given`: homes, concentration, discount and root. `arms`: weights of parents by node, if not the
        # current ones.
        own = store, slots, self.parent, *given
        return CountsWalk(*own, self.declaration) if counts else Walk(*own)

    def parts(self) -> Mapping[str, Part]:
        """Parts of the state that the tree needs, by name: none."""
        return {}

    def check_tables(self, at_end: bool) -> None:
        """Raise an error if the tree needs tables that are drawn given the dishes; ``at_end``: they are."""

    def check_new_groups(self, franchise: Any) -> None:
        """Raise an error if there are no groups to which new ones could be added."""

    def usual_dishes(self) -> int | None:
        """Number of dishes of the usual start, if that is a random one; None: it isn't."""
        return None

    # ------------------------------------------------------------------ samples

    def names_in_sample(self, declaration: int, n_dishes: int) -> list[Any]:
        """Names of the restaurants of a declaration that a sample has."""
        return self.keys_of(declaration)

    def in_sample(self, declaration: int, level: Any, slots: Int32s) -> Any:
        """The restaurants of a declaration (a `Level`) that a sample has: all of them."""
        return level

    # ------------------------------------------------------------------ restaurants that favour a dish

    def favoured(self, node: int) -> tuple[int, float]:
        """The dish that a restaurant favours (-1: none), and what is added to its count and concentration."""
        return -1, 0.0

    def take(self, dish: int, n: int) -> None:
        """Record how many tables of a dish came from what its restaurant adds: override tables."""

    def overrides(self, dishes: Int32s) -> Int64s:
        """Override tables of each of these dishes, which are no customers of the root."""
        return np.zeros(len(dishes), dtype=np.int64)

    def log_seating(self, store: Any, concentration: Floats, discount: Floats) -> float:
        """What favoured dishes and several parents add to the store's log p(dishes, tables)."""
        return 0.0

    def log_splits(self, node: Any, dish: Any, customers: Any) -> float:
        """Log of the number of ways to divide the customers of each dish and restaurant among its nodes."""
        return 0.0

    def law_of(self, state: Any, shared: Any) -> Callable[[float], float] | None:
        """log p(tables | concentration) of restaurants that share it; None: that of a Dirichlet process."""
        return None

    def audit(self, store: Any) -> None:
        """Raise an AuditError if there are more override tables than tables."""

    def begin(self) -> None:
        """Set the hyperparameters of the tree to their starting values."""

    def draw_prior(self, source: ChoiceSource) -> None:
        """Draw those that have a prior from it."""

    def values(self) -> Mapping[str, float]:
        """Their values by their keys in a trace."""
        return {}


class FixedHomes(Restaurants):
    """Methods of a tree of which each customer's home is fixed: an array ``home`` of the data."""

    kind = "fixed"
    home: Any
    n_customers: Any

    def home_of(self, customer: int, eaten: Eaten | None = None) -> int:
        """Restaurant of a data customer; here ``eaten``, the dishes of customers, is not used."""
        return int(self.home[customer])

    def restaurants_at(self, declaration: int) -> Int32s:
        """Restaurant of each data customer at a declaration, or the deepest of an outer one on its path."""
        nodes: Int32s = self.home[: self.n_customers]
        while np.any(deeper := self.declaration[nodes] > declaration):
            nodes = np.where(deeper, self.parent[nodes], nodes)
        return nodes.astype(np.int32, copy=False)

    def followers(self, customer: int) -> Sequence[int]:
        """Customers whose homes depend on the dish of this one: none."""
        return ()

    def placed(self, eaten: Eaten, slots: Int32s | None = None, components: Any = None) -> Any:
        """The tree with fixed homes if customers have these dishes: itself."""
        return self


class ContextTopology(FixedHomes):
    """Restaurants by number, as `Topology`, over the tree of the contexts in the data."""

    # Numbers depend only on the data: contexts are numbered in the order of their first appearance.

    def __init__(self, n_levels: int, data: NGrams) -> None:
        self.n_levels = n_levels
        self._take(ContextTree(), np.empty(0, dtype=np.int32), data)

    def extended(self, data: NGrams) -> ContextTopology:
        """A topology of data whose first customers are the current ones; this one doesn't change."""
        longer = ContextTopology.__new__(ContextTopology)
        longer.n_levels = self.n_levels
        longer._take(self.tree.copy(), self.home, data)
        return longer

    def _take(self, tree: ContextTree, home: Int32s, data: NGrams) -> None:
        homes = [home]
        for first in range(len(home), len(data), _CONTEXTS):
            contexts = data.contexts(first, min(first + _CONTEXTS, len(data)))
            homes.append(tree.insert(np.ascontiguousarray(contexts[:, : self.n_levels - 1]), NO_SYMBOL))
        self.data = data
        self.tree = tree
        self.home: Int32s = np.concatenate(homes)
        self.parent: Int32s = tree.parent
        self.level: Int32s = tree.level
        for array in (self.home, self.parent, self.level):
            array.setflags(write=False)

    @property
    def declaration(self) -> Int32s:
        """Number of each restaurant's declaration: its level."""
        return self.level

    @property
    def n_customers(self) -> int:
        """Number of data customers."""
        return len(self.home)

    @property
    def n_all(self) -> int:
        """Number of customers of a store: the data customers, since there are no known components."""
        return len(self.home)

    def sizes(self) -> npt.NDArray[np.int64]:
        """Data customers of each restaurant: int64, shape (n_nodes,)."""
        return np.bincount(self.home, minlength=self.n_nodes)

    def nodes(self, declaration: int) -> npt.NDArray[np.int64]:
        """Restaurants of a declaration, ascending."""
        declared(declaration, self.n_levels)
        return np.flatnonzero(self.level == declaration)

    def node(self, declaration: int, key: Any, name: str) -> int:
        """Number of the restaurant of a context: a tuple of symbols in reading order, or its only symbol."""
        if declared(declaration, self.n_levels) == 0 and key is None:
            return 0
        context = key if isinstance(key, tuple) else (key,)
        ids = self.data.symbol_ids(context) if len(context) == declaration else ()
        node = 0
        for symbol in ids:
            node = self.tree.child(node, int(symbol)) if node >= 0 else -1
        if node < 0 or len(ids) != declaration:
            raise ParameterError(
                "key", key, f"a context of length {declaration} that occurs, as a tuple of symbols",
                f"See franchise.keys({name!r}).",
            )  # fmt: skip
        return node

    def keys_of(self, declaration: int) -> list[Any]:
        """The context of each restaurant of a declaration: a tuple of symbols in reading order."""
        if declared(declaration, self.n_levels) == 0:
            return [None]
        symbol = self.tree.symbol
        found = []
        for node in self.nodes(declaration).tolist():
            ids = []
            while node > 0:
                ids.append(int(symbol[node]))
                node = int(self.parent[node])
            found.append(self.data.context_of(ids[::-1]))
        return found

    def deepest(self, contexts: Int32s) -> Int32s:
        """The deepest existing restaurant of each context (nearest symbol first, shape (n, depth))."""
        depth = min(contexts.shape[1], self.n_levels - 1)
        return self.tree.find(np.ascontiguousarray(contexts[:, :depth], dtype=np.int32), NO_SYMBOL)

    def numbers_in(self, other: ContextTopology) -> Int32s:
        """Number of each restaurant in another tree, -1 if it doesn't exist there: shape (n_nodes,)."""
        return self.tree.numbers_in(other.tree)

    def memory_bytes(self) -> int:
        """Bytes of the tree and of the customers' restaurants."""
        return int(self.tree.memory_bytes() + self.home.nbytes)


START = "start"
"""Name of the concentration of restaurants that belong to no dish, where it is their own."""

_CHUNK = 1 << 18  # customers whose labels are processed at once


@attrs.frozen(eq=False, slots=False)
class Topology(FixedHomes):
    """Restaurants by number: 0 is the root, parents come before their children."""

    parent: Int32s  # shape (n_nodes,): -1 for the root
    level: Int32s  # shape (n_nodes,): steps to the root
    declaration: Int32s  # shape (n_nodes,): number of each restaurant's declaration; the root's is 0
    _home: Any  # restaurant of each data customer, if there are no cells
    first: tuple[int, ...]  # number of each declaration's first restaurant; its restaurants are contiguous
    keys: tuple[Sequence[Any], ...]  # for each declaration the label's values, one per restaurant
    shared: bool = False  # whether `home` is an array of the data
    # cells of data made from counts, if the restaurants of the last declaration are the documents, in
    # order: then they determine `home`
    cells: Cells | None = None
    known: int = 0  # number of customers of the root that represent known components

    @property
    def n_customers(self) -> int:
        """Number of data customers."""
        return len(self.home) - self.known if self.cells is None else self.cells.n_customers

    @property
    def n_all(self) -> int:
        """Number of data customers and of those of known components."""
        return self.n_customers + self.known

    @functools.cached_property
    def home(self) -> Int32s:
        """Restaurant of each data customer."""
        if self.cells is None:
            return self._home
        home = np.repeat(np.arange(self.first[-1], self.n_nodes, dtype=np.int32), self.cells.lengths)
        home = np.append(home, np.zeros(self.known, dtype=np.int32)) if self.known else home
        home.setflags(write=False)
        return home

    def sizes(self) -> npt.NDArray[np.int64]:
        """Data customers of each restaurant: int64, shape (n_nodes,)."""
        if self.cells is not None:
            return np.append(np.zeros(self.first[-1], dtype=np.int64), self.cells.lengths)
        sizes = np.zeros(self.n_nodes, dtype=np.int64)
        for first in range(0, self.n_customers, _CHUNK):
            last = min(first + _CHUNK, self.n_customers)
            sizes += np.bincount(self.home[first:last], minlength=self.n_nodes)
        return sizes

    @functools.cached_property
    def n_levels(self) -> int:
        """Levels of restaurants: 1 for a flat mixture."""
        return int(self.level.max()) + 1

    def nodes(self, declaration: int) -> slice:
        """Restaurants of a declaration."""
        declared(declaration, len(self.first))
        return slice(self.first[declaration], self.first[declaration] + len(self.keys[declaration]))

    def memory_bytes(self) -> int:
        """Bytes of the arrays; `home` is not counted if it belongs to the data."""
        there = self._home if self.cells is None else vars(self).get("home")
        home = 0 if self.shared or there is None else there.nbytes
        return self.parent.nbytes + self.level.nbytes + self.declaration.nbytes + home

    def node(self, declaration: int, key: Any, name: str) -> int:
        """Number of the restaurant with this key."""
        declared(declaration, len(self.first))
        if key is None and len(self.keys[declaration]) == 1:
            return self.first[declaration]
        numbers = self._numbers[declaration]
        try:
            return self.first[declaration] + numbers[key]
        except (KeyError, TypeError):
            raise ParameterError(
                "key", key, f"one of the {len(numbers)} keys of {name!r}", f"See franchise.keys({name!r})."
            ) from None

    @functools.cached_property
    def _numbers(self) -> list[dict[Any, int]]:
        """Number of each key among the restaurants of each declaration."""
        return [{one: i for i, one in enumerate(keys)} for keys in self.keys]

    def keys_of(self, declaration: int) -> list[Any]:
        """The label value of each restaurant of a declaration."""
        return list(self.keys[declared(declaration, len(self.first))])


@attrs.frozen
class Dishes:
    """Dishes of customers as an array."""

    dishes: Int32s

    def dish_of(self, customer: int) -> int:
        """Dish of a customer."""
        return int(self.dishes[customer])


def labelled_topology(chain: Sequence[Restaurant], data: GroupedData, known: int) -> Topology:
    """Create the restaurants of declarations whose restaurants are labels of the data."""
    # A customer without a label belongs to the deepest restaurant for which it has one; the parent of a
    # restaurant whose parent's label is missing is the deepest restaurant above it.
    cells = getattr(data, "cells", None)
    labels: Any = data
    if cells is not None and len(chain) > 1 and chain[-1].each == "document":
        # Restaurants above the documents, and then of documents, without arrays of customers.
        assert isinstance(data, Corpus)
        labels = _Documents(data, data.document_labels, np.flatnonzero(cells.lengths))
        home = np.zeros(len(labels.which), dtype=np.int32)
    else:
        cells, each = None, chain[1].each if len(chain) == 2 else None
        given = data.numbers(each) if each in data.label_names else None  # then shared with the data
        home = np.zeros(len(data), dtype=np.int32) if given is None else given
    parent, level, first, keys = _lay_out(chain, labels, home)
    declaration_of = np.repeat(np.arange(len(keys), dtype=np.int32), [len(own) for own in keys])
    shared = not home.flags.writeable and not known
    home = np.append(home, np.zeros(known, dtype=np.int32)) if known else home
    for array in (parent, level, declaration_of, home):
        array.setflags(write=False)
    at = None if cells is not None else home
    return Topology(parent, level, declaration_of, at, first, keys, shared, cells=cells, known=known)


def _lay_out(
    chain: Sequence[Restaurant], data: Any, home: Int32s
) -> tuple[Int32s, Int32s, tuple[int, ...], tuple[Sequence[Any], ...]]:
    """Restaurants of these declarations: their parents, levels, the first of each, and keys."""
    parent, level = np.array([-1], dtype=np.int32), np.zeros(1, dtype=np.int32)
    keys: list[Sequence[Any]] = [[None]]
    first = [0]
    for declaration in chain[1:]:
        start = first[-1] + len(keys[-1])
        own = keys_in(declaration, data)
        above = _enter(declaration, own, start, home, data)
        parent, level = np.concatenate([parent, above]), np.concatenate([level, level[above] + 1])
        keys.append(own)
        first.append(start)
    return parent, level, tuple(first), tuple(keys)


def keys_in(declaration: Restaurant, data: Any) -> Sequence[Any]:
    """Key of each restaurant of a declaration."""
    if declaration.each is None:
        return [None]
    if isinstance(declaration.each, str) and declaration.each in data.label_names:
        return data.key_view(declaration.each)
    raise DeclarationError(
        "each", declaration.each, f"a label of the data: {list(data.label_names)}",
        "Give the label when you build the data (groups=...).",
    )  # fmt: skip


@attrs.frozen(eq=False)
class _Documents:
    """Labels of the documents that have customers, like those of a corpus with one customer per document."""

    data: Corpus
    labels: dict[str, Any]
    which: npt.NDArray[np.int64]

    @property
    def label_names(self) -> tuple[str, ...]:
        return self.data.label_names

    def key_view(self, name: str) -> Sequence[Any]:
        return self.data.key_view(name)

    def codes(self, name: str) -> Any:
        return self.which if name == "document" else np.asarray(self.labels[name][0])[self.which]

    def codes_between(self, name: str, first: int, last: int) -> Any:
        return self.codes(name)[first:last]


def _way_out(declaration: Restaurant, data: Any) -> str:
    """Advice for an error about a label whose restaurants have customers of several parents."""
    inner, outer = declaration.label, declaration.base.label
    if outer is None or inner is None:
        return "Each restaurant must lie within one restaurant of its base."
    below, above = data.codes(inner), data.codes(outer)
    both = (below >= 0) & (above >= 0)
    pairs = np.unique(np.stack([above[both], below[both]]), axis=1)
    if len(np.unique(pairs[0])) == pairs.shape[1]:
        return (
            f"Each {outer} has one {inner}: declare {inner!r} above {outer!r}, that is, each={outer!r} over "
            f"a base of each={inner!r}."
        )
    return (
        f"Make the values of {inner!r} differ from {outer} to {outer}: label with pairs, "
        f"list(zip({outer}, {inner}))."
    )


def _enter(declaration: Restaurant, own: Sequence[Any], start: int, home: Int32s, data: Any) -> Int32s:
    """Assign customers to a declaration's restaurants, the first of which has the number ``start``."""
    # Arrays that belong to the data are only compared.
    if not home.flags.writeable:
        for begin in range(0, len(home), _CHUNK):
            codes = data.codes_between(str(declaration.each), begin, min(begin + _CHUNK, len(home)))
            if not np.array_equal(home[begin : begin + _CHUNK], start + codes):
                raise DataError(
                    f"{declaration.each}", "other numbers", "those of the label's codes",
                    "The files of the corpus contradict each other: convert it again.",
                )  # fmt: skip
        return np.zeros(len(own), dtype=np.int32)
    parent = np.full(len(own), -1, dtype=np.int32)
    for begin in range(0, len(home), _CHUNK):
        here = home[begin : begin + _CHUNK]
        if declaration.each is None:
            codes = np.zeros(len(here), dtype=np.int64)
        else:
            codes = np.asarray(data.codes_between(str(declaration.each), begin, begin + len(here)))
        labelled = np.flatnonzero(codes >= 0)
        code = codes[labelled]
        fresh = parent[code] < 0
        parent[code[fresh]] = here[labelled[fresh]]
        astray = np.flatnonzero(parent[code] != here[labelled])
        if len(astray):
            key = own[int(code[astray[0]])]
            raise DataError(
                f"{declaration.each} {key!r}", f"customers of several {declaration.base.name} restaurants",
                f"within one {declaration.base.name}", _way_out(declaration, data),
            )  # fmt: skip
        here[labelled] = start + code
    return np.maximum(parent, 0)  # the parent of a restaurant without customers is the root
