# distutils: language = c++
"""The tree of contexts: a restaurant for every context that occurs, looked up by parent and next symbol."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

from hdpkit.errors import DataError

cdef int32_t ABSENT = -1


cdef inline uint64_t mixed(int32_t parent, int32_t symbol) noexcept nogil:
    """A hash of two numbers, the same in every process (the finalizer of splitmix64)."""
    cdef uint64_t x = (<uint64_t>parent << 32) ^ (<uint64_t>symbol & <uint64_t>0xFFFFFFFF)
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)


cdef class ContextTree:
    """Restaurants by number, 0 the root; a child extends its parent's context by the next symbol back.

    Contexts are numbered in the order of their first appearance, parents before children, so the numbers
    depend only on the data.

    Attributes
    ----------
    n_nodes : int
    """

    cdef readonly int64_t n_nodes
    cdef object _parent, _symbol, _level, _slots
    cdef int32_t[::1] parents, symbols, levels, slots      # views of the arrays above, with spare capacity
    cdef uint64_t mask

    def __cinit__(self):
        self.n_nodes = 1
        self._take(np.full(16, -1, np.int32), np.zeros(16, np.int32), np.zeros(16, np.int32))
        self._rehash(64)

    cdef int _take(self, parent, symbol, level) except -1:
        cdef int32_t[::1] parents = parent
        cdef int32_t[::1] symbols = symbol
        cdef int32_t[::1] levels = level     # nothing below can fail
        self._parent, self._symbol, self._level = parent, symbol, level
        self.parents = parents
        self.symbols = symbols
        self.levels = levels
        return 0

    cdef int _rehash(self, int64_t size) except -1:
        cdef int32_t node
        fresh = np.full(size, ABSENT, np.int32)
        cdef int32_t[::1] slots = fresh      # nothing below can fail
        self._slots = fresh
        self.slots = slots
        self.mask = <uint64_t>(size - 1)
        for node in range(1, <int32_t>self.n_nodes):
            self.take_slot(node)
        return 0

    def copy(self):
        """A copy of the tree."""
        cdef ContextTree other = ContextTree()
        other.n_nodes = self.n_nodes
        other._take(self._parent.copy(), self._symbol.copy(), self._level.copy())
        other._slots = self._slots.copy()
        other.slots = other._slots
        other.mask = self.mask
        return other

    cdef void take_slot(self, int32_t node) noexcept nogil:
        """Put a node that isn't in the hash table into its first free slot."""
        cdef uint64_t place = mixed(self.parents[node], self.symbols[node]) & self.mask
        while self.slots[place] != ABSENT:
            place = (place + 1) & self.mask
        self.slots[place] = node

    cdef int _reserve(self) except -1 with gil:
        """Make room for one more node."""
        cdef int64_t room = self.parents.shape[0]
        if self.n_nodes == 2**31 - 1:
            raise DataError("contexts", self.n_nodes, "fewer than 2**31 - 1", "Use a smaller order.")
        if self.n_nodes == room:
            # New arrays: references to the old ones remain valid and unchanged.
            room += room // 2
            self._take(np.resize(self._parent, room), np.resize(self._symbol, room), np.resize(self._level, room))
        if 4 * (self.n_nodes + 1) > 3 * self.slots.shape[0]:
            self._rehash(2 * self.slots.shape[0])
        return 0

    cdef int32_t look_up(self, int32_t parent, int32_t symbol) noexcept nogil:
        cdef uint64_t place = mixed(parent, symbol) & self.mask
        cdef int32_t node = self.slots[place]
        while node != ABSENT and (self.parents[node] != parent or self.symbols[node] != symbol):
            place = (place + 1) & self.mask
            node = self.slots[place]
        return node

    cdef int32_t make(self, int32_t parent, int32_t symbol) except -1 nogil:
        cdef int32_t node
        if self.n_nodes == self.parents.shape[0] or 4 * (self.n_nodes + 1) > 3 * self.slots.shape[0]:
            self._reserve()
        node = <int32_t>self.n_nodes
        self.parents[node] = parent
        self.symbols[node] = symbol
        self.levels[node] = self.levels[parent] + 1
        self.take_slot(node)
        self.n_nodes += 1
        return node

    def child(self, int32_t parent, int32_t symbol):
        """Number of the restaurant whose context is the parent's plus this symbol; -1 if there is none."""
        return self.look_up(parent, symbol)

    def insert(self, const int32_t[:, ::1] contexts not None, int32_t none):
        """Restaurants of these contexts, created if they don't exist: int32, shape (n,).

        Parameters
        ----------
        contexts : int32 array, shape (n, depth)
            Nearest symbol first; a context ends at the first ``none``.
        none : int
        """
        cdef int64_t i, k
        cdef int32_t node, down
        homes = np.empty(contexts.shape[0], dtype=np.int32)
        cdef int32_t[::1] h = homes
        with nogil:
            for i in range(contexts.shape[0]):
                node = 0
                for k in range(contexts.shape[1]):
                    if contexts[i, k] == none:
                        break
                    down = self.look_up(node, contexts[i, k])
                    node = down if down != ABSENT else self.make(node, contexts[i, k])
                h[i] = node
        return homes

    def find(self, const int32_t[:, ::1] contexts not None, int32_t none):
        """The deepest existing restaurant for each of these contexts: int32, shape (n,). See `insert`."""
        cdef int64_t i, k
        cdef int32_t node, down
        found = np.empty(contexts.shape[0], dtype=np.int32)
        cdef int32_t[::1] f = found
        with nogil:
            for i in range(contexts.shape[0]):
                node = 0
                for k in range(contexts.shape[1]):
                    down = ABSENT if contexts[i, k] == none else self.look_up(node, contexts[i, k])
                    if down == ABSENT:
                        break
                    node = down
                f[i] = node
        return found

    def numbers_in(self, ContextTree other not None):
        """Number of each restaurant in another tree, -1 if it doesn't exist there: int32, shape (n_nodes,)."""
        cdef int64_t node
        cdef int32_t above
        numbers = np.zeros(self.n_nodes, dtype=np.int32)
        cdef int32_t[::1] to = numbers
        with nogil:
            for node in range(1, self.n_nodes):
                above = to[self.parents[node]]      # parents come first
                to[node] = ABSENT if above == ABSENT else other.look_up(above, self.symbols[node])
        return numbers

    @property
    def parent(self):
        """Parent of each restaurant, -1 for the root: int32, shape (n_nodes,)."""
        return self._parent[: self.n_nodes]

    @property
    def symbol(self):
        """Symbol by which each restaurant extends its parent's context: int32, shape (n_nodes,)."""
        return self._symbol[: self.n_nodes]

    @property
    def level(self):
        """Length of each restaurant's context: int32, shape (n_nodes,)."""
        return self._level[: self.n_nodes]

    def memory_bytes(self):
        """Bytes of the tree's arrays."""
        return self._parent.nbytes + self._symbol.nbytes + self._level.nbytes + self._slots.nbytes
