"""The tree of restaurants of n-gram data: one per context that occurs, created when it first appears."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.walk.contexts import ContextTree
from hdpkit.checks import whole_number
from hdpkit.data import GroupedData, NGrams
from hdpkit.data.contexts import NO_SYMBOL
from hdpkit.errors import ParameterError
from hdpkit.franchise.declarations import Restaurant

__all__ = ["ContextTopology", "declared", "is_context_chain", "path_of"]

Ints = npt.NDArray[np.int32]

_CHUNK = 1 << 16  # customers whose contexts are computed at once


def is_context_chain(chain: Sequence[Restaurant], data: GroupedData) -> bool:
    """Whether these declarations are the levels of a tree of contexts: "context 1", "context 2", ..."""
    wanted = [f"context {level}" for level in range(1, len(chain))]
    grows = len(chain) > 1 or chain[0].measure.atomic  # also unigrams, but not a flat mixture
    return isinstance(data, NGrams) and grows and [one.each for one in chain[1:]] == wanted


def declared(declaration: int, n: int) -> int:
    """Return the number of a declaration if it is one of n."""
    if type(declaration) is int and 0 <= declaration < n:  # verbs ask several times a sweep
        return declaration
    remedy = "Declarations are numbered from the root's, 0."
    return whole_number("declaration", declaration, 0, n - 1, remedy=remedy)


def path_of(parent: Ints, node: int) -> list[int]:
    """Restaurants from this one to the root."""
    remedy = "Restaurants are numbered from the root, 0."
    node = whole_number("node", node, 0, len(parent) - 1, remedy=remedy)
    path = []
    while node >= 0:
        path.append(node)
        node = int(parent[node])
    return path


class ContextTopology:
    """Restaurants by number, as `Topology`, over the tree of the contexts in the data.

    Restaurant 0 is the root; the restaurant of a context (w_-m, .., w_-1) is the child of that of
    (w_-m+1, .., w_-1). Numbers depend only on the data: contexts are numbered in the order of their first
    appearance.

    Parameters
    ----------
    n_levels : int
        Levels of restaurants; contexts are truncated to length n_levels - 1.
    data : NGrams

    Attributes
    ----------
    parent, level, declaration : int32 arrays, shape (n_nodes,)
        As in `Topology`; the declaration of a restaurant is its level.
    home : int32 array, shape (n_customers,)
    """

    def __init__(self, n_levels: int, data: NGrams) -> None:
        self.n_levels = n_levels
        self._take(ContextTree(), np.empty(0, dtype=np.int32), data)

    def extended(self, data: NGrams) -> ContextTopology:
        """A topology of data whose first customers are the present ones; this one doesn't change."""
        longer = ContextTopology.__new__(ContextTopology)
        longer.n_levels = self.n_levels
        longer._take(self.tree.copy(), self.home, data)
        return longer

    def _take(self, tree: ContextTree, home: Ints, data: NGrams) -> None:
        homes = [home]
        for first in range(len(home), len(data), _CHUNK):
            contexts = data.contexts(first, min(first + _CHUNK, len(data)))
            homes.append(tree.insert(np.ascontiguousarray(contexts[:, : self.n_levels - 1]), NO_SYMBOL))
        self.data = data
        self.tree = tree
        self.home: Ints = np.concatenate(homes)
        self.parent: Ints = tree.parent
        self.level: Ints = tree.level
        for array in (self.home, self.parent, self.level):
            array.setflags(write=False)

    @property
    def declaration(self) -> Ints:
        """Number of each restaurant's declaration: its level."""
        return self.level

    @property
    def n_nodes(self) -> int:
        """Number of restaurants."""
        return len(self.parent)

    @property
    def n_customers(self) -> int:
        """Number of data customers."""
        return len(self.home)

    @property
    def n_all(self) -> int:
        """The same: there are no known components."""
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

    def deepest(self, contexts: Ints) -> Ints:
        """The deepest existing restaurant of each context (nearest symbol first, shape (n, depth))."""
        depth = min(contexts.shape[1], self.n_levels - 1)
        return self.tree.find(np.ascontiguousarray(contexts[:, :depth], dtype=np.int32), NO_SYMBOL)

    def path(self, node: int) -> list[int]:
        """Restaurants from this one to the root."""
        return path_of(self.parent, node)

    def numbers_in(self, other: ContextTopology) -> Ints:
        """Number of each restaurant in another tree, -1 if it doesn't exist there: shape (n_nodes,)."""
        return self.tree.numbers_in(other.tree)

    def memory_bytes(self) -> int:
        """Bytes of the tree and of the customers' restaurants."""
        return int(self.tree.memory_bytes() + self.home.nbytes)
