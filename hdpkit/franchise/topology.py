"""The tree of restaurants as arrays, with any depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.data import Corpus, GroupedData, NGrams
from hdpkit.data.cells import Cells
from hdpkit.errors import DataError, DeclarationError, ParameterError
from hdpkit.franchise.contexts import ContextTopology, declared, is_context_chain, path_of
from hdpkit.franchise.declarations import Restaurant

__all__ = ["Topology", "build_topology"]

Ints = npt.NDArray[np.int32]

_CHUNK = 1 << 18  # customers whose labels are processed at once


class Labelled(Protocol):
    """An object with labels: data, or the documents of data."""

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels."""

    def key_view(self, name: str) -> Sequence[Any]:
        """Values of a label."""

    def codes(self, name: str) -> Any:
        """Code of the value of each entry, -1 if it is missing."""

    def codes_between(self, name: str, first: int, last: int) -> Any:
        """The same for a range of entries."""


@attrs.frozen(eq=False)
class Topology:
    """Restaurants by number: 0 is the root, parents come before their children.

    Attributes
    ----------
    parent : int32 array, shape (n_nodes,)
        -1 for the root.
    level : int32 array, shape (n_nodes,)
        Steps to the root.
    declaration : int32 array, shape (n_nodes,)
        Number of each restaurant's declaration; the root's is 0.
    home : int32 array, shape (n_customers + known,)
        Restaurant of each data customer and, last, of each known component: 0. Over cells it is created when
        it is first used.
    first : tuple of int
        Number of each declaration's first restaurant; its restaurants are contiguous.
    keys : tuple of sequences
        For each declaration the label's values, one per restaurant.
    shared : bool
        Whether `home` is an array of the data.
    cells : Cells, optional
        Cells of data made from counts, if the restaurants of the last declaration are the documents, in
        order: then they determine `home`.
    known : int
        Number of customers of the root that represent known components.
    """

    parent: Ints
    level: Ints
    declaration: Ints
    _home: Ints | None
    first: tuple[int, ...]
    keys: tuple[Sequence[Any], ...]
    shared: bool = False
    cells: Cells | None = None
    known: int = 0
    _numbers: dict[int, dict[Any, int]] = attrs.field(init=False, factory=dict)
    _made: dict[str, Ints] = attrs.field(init=False, factory=dict)

    @property
    def n_nodes(self) -> int:
        """Number of restaurants."""
        return len(self.parent)

    @property
    def n_customers(self) -> int:
        """Number of data customers."""
        return len(self.home) - self.known if self.cells is None else self.cells.n_customers

    @property
    def n_all(self) -> int:
        """Number of data customers and of those of known components."""
        return self.n_customers + self.known

    @property
    def home(self) -> Ints:
        """Restaurant of each data customer."""
        if self._home is not None:
            return self._home
        if "home" not in self._made:
            assert self.cells is not None
            home = np.repeat(np.arange(self.first[-1], self.n_nodes, dtype=np.int32), self.cells.lengths)
            home = np.append(home, np.zeros(self.known, dtype=np.int32)) if self.known else home
            home.setflags(write=False)
            self._made["home"] = home
        return self._made["home"]

    def sizes(self) -> npt.NDArray[np.int64]:
        """Data customers of each restaurant: int64, shape (n_nodes,)."""
        if self.cells is not None:
            return np.append(np.zeros(self.first[-1], dtype=np.int64), self.cells.lengths)
        sizes = np.zeros(self.n_nodes, dtype=np.int64)
        for first in range(0, self.n_customers, _CHUNK):
            last = min(first + _CHUNK, self.n_customers)
            sizes += np.bincount(self.home[first:last], minlength=self.n_nodes)
        return sizes

    @property
    def n_levels(self) -> int:
        """Levels of restaurants: 1 for a flat mixture."""
        if "levels" not in self._made:
            self._made["levels"] = self.level.max(keepdims=True) + 1
        return int(self._made["levels"][0])

    def nodes(self, declaration: int) -> slice:
        """Restaurants of a declaration."""
        declared(declaration, len(self.first))
        return slice(self.first[declaration], self.first[declaration] + len(self.keys[declaration]))

    def memory_bytes(self) -> int:
        """Bytes of the arrays; `home` is not counted if it belongs to the data."""
        there = self._made.get("home") if self._home is None else self._home
        home = 0 if self.shared or there is None else there.nbytes
        return self.parent.nbytes + self.level.nbytes + self.declaration.nbytes + home

    def node(self, declaration: int, key: Any, name: str) -> int:
        """Number of the restaurant with this key."""
        declared(declaration, len(self.first))
        if key is None and len(self.keys[declaration]) == 1:
            return self.first[declaration]
        if declaration not in self._numbers:
            self._numbers[declaration] = {one: i for i, one in enumerate(self.keys[declaration])}
        numbers = self._numbers[declaration]
        try:
            return self.first[declaration] + numbers[key]
        except (KeyError, TypeError):
            raise ParameterError(
                "key", key, f"one of the {len(numbers)} keys of {name!r}", f"See franchise.keys({name!r})."
            ) from None

    def keys_of(self, declaration: int) -> list[Any]:
        """The label value of each restaurant of a declaration."""
        return list(self.keys[declared(declaration, len(self.first))])

    def path(self, node: int) -> list[int]:
        """Restaurants from this one to the root."""
        return path_of(self.parent, node)


def build_topology(
    chain: Sequence[Restaurant], data: GroupedData, known: int = 0
) -> Topology | ContextTopology:
    """Create the restaurants of these declarations for these data.

    Levels that are the contexts of n-gram data become a tree that can grow.
    A customer without a label belongs to the deepest restaurant for which it has a label; the parent of a
    restaurant whose parent's label is missing is the deepest restaurant above it. ``known`` is the number of
    known components.
    """
    if is_context_chain(chain, data):
        assert isinstance(data, NGrams)
        return ContextTopology(len(chain), data)
    cells = getattr(data, "cells", None)
    if cells is not None and len(chain) > 1 and chain[-1].each == "document":
        assert isinstance(data, Corpus)
        return _over_cells(chain, data, cells, known)
    home = _home_of_the_data(chain, data)
    parent, level, first, keys = _lay_out(chain, data, home)
    declaration_of = _declarations(keys)
    shared = not home.flags.writeable and not known
    home = np.append(home, np.zeros(known, dtype=np.int32)) if known else home
    for array in (parent, level, declaration_of, home):
        array.setflags(write=False)
    return Topology(parent, level, declaration_of, home, first, keys, shared, known=known)


def _declarations(keys: Sequence[Sequence[Any]]) -> Ints:
    """Number of each restaurant's declaration."""
    return np.repeat(np.arange(len(keys), dtype=np.int32), [len(own) for own in keys])


def _lay_out(
    chain: Sequence[Restaurant], data: Labelled, home: Ints
) -> tuple[Ints, Ints, tuple[int, ...], tuple[Sequence[Any], ...]]:
    """Restaurants of these declarations: their parents, levels, the first of each, and keys.

    ``home`` has the initial restaurants of customers, before declarations are processed, and is updated.
    """
    parent, level = np.array([-1], dtype=np.int32), np.zeros(1, dtype=np.int32)
    keys: list[Sequence[Any]] = [[None]]
    first = [0]
    for declaration in chain[1:]:
        start = first[-1] + len(keys[-1])
        if declaration.each is None:
            own: Sequence[Any] = [None]
        elif declaration.each in data.label_names:
            own = data.key_view(declaration.each)
        else:
            raise DeclarationError(
                "each", declaration.each, f"a label of the data: {list(data.label_names)}",
                "Give the label when you build the data (groups=...).",
            )  # fmt: skip
        above = _enter(declaration, own, start, home, data)
        parent, level = np.concatenate([parent, above]), np.concatenate([level, level[above] + 1])
        keys.append(own)
        first.append(start)
    return parent, level, tuple(first), tuple(keys)


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


def _over_cells(chain: Sequence[Restaurant], data: Corpus, cells: Cells, known: int) -> Topology:
    """Restaurants of levels above the documents, and then of documents, without arrays of customers."""
    documents = _Documents(data, data.document_labels, np.flatnonzero(cells.lengths))
    home = np.zeros(len(documents.which), dtype=np.int32)
    parent, level, first, keys = _lay_out(chain, documents, home)
    declaration = _declarations(keys)
    for array in (parent, level, declaration):
        array.setflags(write=False)
    return Topology(parent, level, declaration, None, first, keys, cells=cells, known=known)


def _home_of_the_data(chain: Sequence[Restaurant], data: GroupedData) -> Ints:
    """Initial restaurants of customers, before declarations are processed; shared with the data."""
    given = data.numbers(chain[1].each) if len(chain) == 2 and chain[1].each in data.label_names else None
    return np.zeros(len(data), dtype=np.int32) if given is None else given


def _way_out(declaration: Restaurant, data: Labelled) -> str:
    """Advice for an error about a label whose restaurants have customers of several parents."""
    inner, outer = declaration.each, declaration.base.each
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


def _enter(declaration: Restaurant, own: Sequence[Any], start: int, home: Ints, data: Labelled) -> Ints:
    """Assign customers to a declaration's restaurants, the first of which has the number ``start``.

    Returns the parent of each: the previous restaurant of its customers. Arrays that belong to the data are
    only compared.
    """
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
            codes = np.asarray(data.codes_between(declaration.each, begin, begin + len(here)))
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
