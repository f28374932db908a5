# distutils: language = c++
"""The histogram store of Blunsom et al. (2009): numbers of tables by size.

For each restaurant and dish it keeps the number of tables of each size, and for each data customer its
dish. A dish with a single table needs no histogram: the table's size is the number of customers. If dishes
are observed, they are read from the data, and the store keeps one bit per customer.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memmove
from hdpkit.vectors cimport vector

from hdpkit.stores._seating cimport (
    ANONYMOUS, ENTRY_WORDS, Arena, Entry, Seating, arena_bytes, arena_clear, arena_give, arena_room, arena_take, unused_share,
)
from hdpkit.stores._seating import SIZES, empty_row
from hdpkit.random._source cimport choice_source


cdef extern from *:
    """
    #if defined(__GNUC__)
    #define HDPKIT_READ_AHEAD(address) __builtin_prefetch(address)
    #else
    #define HDPKIT_READ_AHEAD(address) ((void)(address))
    #endif
    """
    void read_ahead "HDPKIT_READ_AHEAD"(const void *address) noexcept nogil


cdef enum:
    AHEAD = 16      # restaurants whose entries are fetched early


cdef class HistogramStore(Seating):
    """Histograms of table sizes. A customer who joins a table of size s changes it to one of size s + 1.

    (Algorithm 1 of the paper only adds the larger size. Algorithms 1 and 2 omit the parent, which the walk
    through the tree updates.)
    """

    COMPILED = True
    DETAIL = "sizes"
    NAMES = ("dish", *SIZES)

    cdef int clear_extra(self) except -1:
        self.seated.assign(0 if self.recorded else (self.n_customers + 7) >> 3, 0)
        self.widest = 4
        arena_clear(&self.bins)
        return 0

    cdef int ready_tables(self, int64_t n_tables) except -1 nogil:
        # In a restaurant one dish may lose a customer and another gain one: each histogram moves at most
        # once.
        cdef int64_t n_words = 4 * BIN_WORDS * self.widest * n_tables
        if <int64_t>(self.bins.words.capacity() - self.bins.words.size()) < n_words:
            arena_room(&self.bins, n_words)
        if <int64_t>self.weights.capacity() < 2 * self.widest:
            self.weights.reserve(2 * self.widest)
        return 0

    cdef int32_t dish_at(self, int32_t customer) noexcept nogil:
        if self.recorded:
            return self.of_customer[customer]
        return self.value[customer] if self.seated[customer >> 3] & (1 << (customer & 7)) else -1

    cdef int read_dishes(self, int32_t *dishes) noexcept nogil:
        cdef int64_t i
        if self.recorded:
            return Seating.read_dishes(self, dishes)
        for i in range(self.n_customers):
            dishes[i] = self.value[i] if self.seated[i >> 3] >> (i & 7) & 1 else -1
        return 0

    cdef int label(self, int32_t customer, int32_t dish) noexcept nogil:
        if customer < 0:
            return 0
        if self.recorded:
            self.of_customer[customer] = dish
        elif dish < 0:
            self.seated[customer >> 3] &= ~(1 << (customer & 7))
        else:
            self.seated[customer >> 3] |= 1 << (customer & 7)
        return 0

    cdef int change(self, Entry *entry, int32_t size, int32_t by) except -1 nogil:
        """Add ``by`` to the number of tables of this size; bins remain sorted, empty ones are removed."""
        cdef Bin *head
        cdef Bin *bin
        cdef int32_t i = 0, n, room
        cdef int64_t offset
        if entry.extra < 0:
            offset = arena_take(&self.bins, 4 * BIN_WORDS)
            entry.extra = <int32_t>(offset // BIN_WORDS)
            head = self.block(entry.extra)
            head.size = 0
            head.count = 4
        head = self.block(entry.extra)
        n = head.size
        bin = head + 1
        while i < n and bin[i].size < size:
            i += 1
        if i < n and bin[i].size == size:
            bin[i].count += by
            if bin[i].count == 0:
                memmove(bin + i, bin + i + 1, (n - i - 1) * sizeof(Bin))
                head.size -= 1
            return 0
        if n + 1 == head.count:
            room = 2 * head.count
            offset = arena_take(&self.bins, room * BIN_WORDS)
            head = self.block(entry.extra)
            memcpy(self.bins.words.data() + offset, head, (n + 1) * sizeof(Bin))
            arena_give(&self.bins, <int64_t>entry.extra * BIN_WORDS, (n + 1) * BIN_WORDS)
            entry.extra = <int32_t>(offset // BIN_WORDS)
            head = self.block(entry.extra)
            head.count = room
            if room > self.widest:
                self.widest = room
            bin = head + 1
        memmove(bin + i + 1, bin + i, (n - i) * sizeof(Bin))
        bin[i].size = size
        bin[i].count = by
        head.size += 1
        return 0

    cdef int drop(self, Entry *entry) noexcept nogil:
        """Remove the histogram (the entry has a single table, or none)."""
        if entry.extra >= 0:
            arena_give(&self.bins, <int64_t>entry.extra * BIN_WORDS,
                       self.block(entry.extra).count * BIN_WORDS)
            entry.extra = -1
        return 0

    cdef int32_t draw_size(self, int32_t node, int32_t place, double discount,
                           choice_source *source) except -1 nogil:
        """Size of a table drawn with weight size - discount."""
        cdef Entry *entry = self.entries(node) + place
        cdef Bin *bin
        cdef int32_t i, n
        cdef int64_t chosen
        if entry.tables == 1:
            return entry.customers
        n = self.block(entry.extra).size
        bin = self.block(entry.extra) + 1
        if n == 1:
            return bin[0].size
        self.weights.resize(n)
        for i in range(n):
            self.weights[i] = (bin[i].size - discount) * bin[i].count
        chosen = source.choose(source.state, self.weights.data(), n)
        if chosen < 0:
            with gil:
                raise FloatingPointError(f"no table of dish {entry.dish} can be chosen in restaurant {node}")
        return bin[chosen].size

    cdef int join_table(self, int32_t node, int32_t dish, int32_t customer, double discount,
                        choice_source *source) except -1 nogil:
        cdef int32_t place = self.find(node, dish)
        cdef Entry *entry = self.entries(node) + place
        cdef int32_t size = self.draw_size(node, place, discount, source)
        if entry.tables > 1:
            self.change(entry, size, -1)
            self.change(entry, size + 1, 1)
        self.count_in(node, entry, False)
        self.label(customer, dish)
        return 0

    cdef int open_table(self, int32_t node, int32_t dish, int32_t customer,
                        int32_t *as_customer) except -1 nogil:
        cdef int32_t place = self.find_or_insert(node, dish)
        cdef Entry *entry = self.entries(node) + place
        if entry.tables == 1:
            self.change(entry, entry.customers, 1)
        self.count_in(node, entry, True)
        if entry.tables > 1:
            self.change(entry, 1, 1)
        self.label(customer, dish)
        as_customer[0] = ANONYMOUS
        return 0

    cdef int remove_customer(self, int32_t node, int32_t dish, int32_t customer, choice_source *source,
                             int32_t *as_customer) except -1 nogil:
        # By customer: a table of size s with probability proportional to s, independent of the discount.
        cdef int32_t place = self.find(node, dish)
        cdef Entry *entry = self.entries(node) + place
        cdef int32_t size = self.draw_size(node, place, 0.0, source)
        if entry.tables > 1:
            self.change(entry, size, -1)
            if size > 1:
                self.change(entry, size - 1, 1)
        self.count_out(node, entry, size == 1)
        self.label(customer, -1)
        as_customer[0] = ANONYMOUS
        if size > 1:
            return 0
        if entry.tables <= 1:
            self.drop(entry)
        if entry.tables == 0:
            self.erase(node, place)
        return 1

    cdef int sizes_of(self, int32_t node, int32_t place, vector[int32_t] *sizes,
                      vector[int32_t] *counts) except -1 nogil:
        cdef Entry *entry = self.entries(node) + place
        cdef Bin *bin
        cdef int32_t i
        if entry.tables == 1:
            sizes.push_back(entry.customers)
            counts.push_back(1)
            return 0
        bin = self.block(entry.extra) + 1
        for i in range(self.block(entry.extra).size):
            sizes.push_back(bin[i].size)
            counts.push_back(bin[i].count)
        return 0

    cdef int32_t room_for_bins(self, int32_t extra) noexcept nogil:
        """Capacity of a histogram's block in bins, including the head: a power of two."""
        cdef int32_t room = 4
        while room < self.block(extra).size + 1:
            room *= 2
        return room

    cdef bint squeeze_extra(self, double share) except -1 nogil:
        """Compact histograms, with minimal blocks, if more than this share is unused."""
        cdef Arena fresh
        cdef Entry *entry
        cdef int64_t used = 0
        cdef int32_t node, place, room, extra = 0
        arena_clear(&fresh)
        for node in range(<int32_t>self.nodes.size()):
            for place in range(self.nodes[node].n_entries):
                entry = self.entries(node) + place
                if entry.extra >= 0:
                    used += self.room_for_bins(entry.extra)
        used *= BIN_WORDS
        if not unused_share(self.bins.words.capacity(), used, share):
            return False
        fresh.words.reserve(used + used // 8)
        fresh.words.resize(used)     # nothing below can fail
        for node in range(<int32_t>self.nodes.size()):
            for place in range(self.nodes[node].n_entries):
                entry = self.entries(node) + place
                if entry.extra < 0:
                    continue
                room = self.room_for_bins(entry.extra)
                memcpy(fresh.words.data() + <int64_t>extra * BIN_WORDS, self.block(entry.extra),
                       (self.block(entry.extra).size + 1) * sizeof(Bin))
                entry.extra = extra
                (<Bin *>(fresh.words.data() + <int64_t>extra * BIN_WORDS)).count = room
                extra += room
        arena_clear(&self.bins)
        self.bins.words.swap(fresh.words)
        return True

    # ------------------------------------------------------------------ methods for Python

    def observe(self, const int32_t[::1] values not None):
        """Set the observed dishes of the data customers.

        The store then records only which customers are seated. It must be empty, or have observed the same
        customers before.
        """
        if self.recorded:
            self.seated.assign((self.n_customers + 7) >> 3, 0)
            self.recorded = False
            self.of_customer = vector[int32_t]()
        self.value = values

    def freeze(self, empty=empty_row):
        """Dishes and histograms as arrays (see `hdpkit.stores.frozen`)."""
        cdef int32_t node, place, i
        cdef int32_t n_nodes = <int32_t>self.nodes.size()
        cdef int64_t n = 0
        cdef int64_t most = self.arena.words.size() // ENTRY_WORDS + self.bins.words.size() // BIN_WORDS
        cdef Entry *entry
        cdef Bin *bin
        # A run freezes after each sweep, so this is one pass. Pages that it doesn't write take no memory.
        rows = np.empty((4, most), dtype=np.int32)
        cdef int32_t[:, ::1] to = rows
        with nogil:
            for node in range(n_nodes):
                if node + AHEAD < n_nodes:
                    read_ahead(self.entries(node + AHEAD))
                entry = self.entries(node)
                for place in range(self.nodes[node].n_entries):
                    if entry[place].tables == 1:
                        to[0, n], to[1, n], to[2, n], to[3, n] = node, entry[place].dish, entry[place].customers, 1
                        n += 1
                        continue
                    bin = self.block(entry[place].extra)
                    for i in range(1, bin[0].size + 1):
                        to[0, n], to[1, n], to[2, n], to[3, n] = node, entry[place].dish, bin[i].size, bin[i].count
                        n += 1
        return {"dish": self.dishes(empty), **dict(zip(SIZES, rows[:, :n]))}

    cdef int fill(self, list arrays) except -1:
        cdef const int32_t[::1] dish = arrays[0]
        cdef const int32_t[::1] bin_node = arrays[1]
        cdef const int32_t[::1] bin_dish = arrays[2]
        cdef const int32_t[::1] bin_size = arrays[3]
        cdef const int32_t[::1] bin_count = arrays[4]
        cdef int64_t i
        cdef int32_t place
        cdef Entry *entry
        with nogil:
            for i in range(self.n_customers):
                self.label(<int32_t>i, dish[i])
            for i in range(bin_node.shape[0]):
                place = self.find_or_insert(bin_node[i], bin_dish[i])
                entry = self.entries(bin_node[i]) + place
                if entry.tables == 1 and entry.extra < 0:     # a second table: a histogram is needed
                    self.change(entry, entry.customers, 1)
                entry.customers += bin_size[i] * bin_count[i]
                entry.tables += bin_count[i]
                if entry.tables > 1:
                    self.change(entry, bin_size[i], bin_count[i])
                self.nodes[bin_node[i]].customers += bin_size[i] * bin_count[i]
                self.nodes[bin_node[i]].tables += bin_count[i]
        return 0

    def memory_parts(self):
        """Bytes held by the store's arrays, including reserved memory, by purpose."""
        return {
            **(parts := Seating.memory_parts(self)),
            "customers": parts["customers"] + self.seated.capacity(),
            "tables": arena_bytes(&self.bins) + self.weights.capacity() * sizeof(double),
        }

