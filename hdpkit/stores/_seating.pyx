# distutils: language = c++
"""Base of the compiled stores: counts by (restaurant, dish) in flat memory.

Each restaurant has a block of entries in one arena. Entries are sorted by dish, so nothing depends on the
order in which dishes were added, and a state continues in the same way after saving and loading.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memmove

from hdpkit.stores._arena cimport Arena, arena_bytes, arena_clear, arena_give, arena_room, arena_take
from hdpkit._arguments cimport whole
from hdpkit.errors import DataError, StateError
from hdpkit.numerics cimport log_rising, log_rising_by
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.vectors cimport vector

cdef extern from *:
    """
    #include <stdlib.h>
    #ifdef __GLIBC__
    #include <malloc.h>
    #endif
    /* Without this call the C library keeps freed memory that lies between blocks in use. */
    static void hdpkit_to_the_system(void) {
    #ifdef __GLIBC__
        malloc_trim(0);
    #endif
    }
    """
    void to_the_system "hdpkit_to_the_system"() nogil

LARGEST = 2**31 - 1

cdef int64_t MOST = LARGEST
cdef int MUCH = 1 << 20   # bytes from which memory is returned to the system
cdef int SMALL = 4096    # sizes of tables below this are counted, or tabulated, in an array


include "seating_scores.pxi"


# ---------------------------------------------------------------------------------------- frozen arrays
# Stores use the numbers of arrays passed to `thaw` as indices.

def empty_row(n):
    """An array for one number a data customer: int32, in memory."""
    return np.empty(n, dtype=np.int32)


def columns(frozen, *names):
    """Return arrays of a frozen state as contiguous int32; raises a DataError if one is missing or of another kind."""
    found = []
    for name in names:
        try:
            given = np.asarray(frozen[name])
        except (TypeError, LookupError, ValueError, AttributeError):      # frozen by nobody
            given = None
        good = given is not None and given.ndim == 1 and (given.size == 0 or given.dtype.kind in "iu")
        if good and given.size and given.dtype != np.int32:
            good = -LARGEST - 1 <= int(given.min()) and int(given.max()) <= LARGEST
        if not good:
            raise DataError(name, given, "a row of whole numbers below 2**31", "Pass what freeze() of a store returned.")
        found.append(np.ascontiguousarray(given, dtype=np.int32))
    return found


def check_range(str name, const int32_t[::1] values not None, int64_t low, int64_t high, int64_t n):
    """Raise a DataError unless these are n numbers from low to high."""
    cdef int64_t i
    cdef bint good = values.shape[0] == n
    if good:
        with nogil:
            for i in range(n):
                good = good and low <= values[i] <= high
    if not good:
        raise DataError(name, np.asarray(values), f"{n} whole numbers from {low} to {high}",
                        "Thaw a state of a store of the same size.")


def check_counts(const int32_t[::1] node not None, const int32_t[::1] dish not None, const int32_t[::1] customers not None,
                 const int32_t[::1] tables not None, int64_t n_nodes):
    """Raise a DataError unless these are valid counts of restaurants, sorted by restaurant and dish."""
    cdef int64_t i, n = node.shape[0]
    cdef bint good = True
    check_range("node", node, 0, n_nodes - 1, n)
    check_range("dish", dish, 0, LARGEST, n)
    check_range("customers", customers, 1, LARGEST, n)
    check_range("tables", tables, 1, LARGEST, n)
    with nogil:
        for i in range(1, n):   # a restaurant's block is contiguous and searched by dish
            good = good and (node[i] > node[i - 1] or (node[i] == node[i - 1] and dish[i] > dish[i - 1]))
    if not good:
        raise DataError("node", np.asarray(node), "sorted by restaurant and dish, without repeats",
                        "Pass what `counts` returned.")


# ----------------------------------------------------------------------------------- the base of stores

cdef int absent() except -1 with gil:
    raise StateError("store", "Seating", "one that seats customers", "This one holds counts.")


cdef class Seating:
    """Base of the compiled stores. ``n_customers`` data customers, ``n_nodes`` restaurants."""

    def __init__(self, n_customers, n_nodes):
        self.n_customers = whole("n_customers", n_customers, 0, MOST)
        self.clear_nodes(whole("n_nodes", n_nodes, 0, MOST))

    cdef int clear_nodes(self, int64_t n_nodes) except -1:
        cdef Node empty
        empty.customers = 0
        empty.tables = 0
        empty.offset = 0
        empty.n_entries = 0
        empty.capacity = 0
        self.nodes.assign(n_nodes, empty)
        self.indexed = False
        self.largest = 0
        self.most_tables = 0
        arena_clear(&self.arena)
        return 0

    cdef int32_t find(self, int32_t node, int32_t dish) noexcept nogil:
        """Place of the dish's entry, or -1."""
        cdef Entry *entries = self.entries(node)
        cdef int32_t low = 0, high = self.nodes[node].n_entries, middle
        while low < high:
            middle = (low + high) >> 1
            if entries[middle].dish < dish:
                low = middle + 1
            else:
                high = middle
        if low < self.nodes[node].n_entries and entries[low].dish == dish:
            return low
        return -1

    cdef int32_t find_or_insert(self, int32_t node, int32_t dish) except -1 nogil:
        cdef Node *record = &self.nodes[node]
        cdef Entry *entries = self.entries(node)
        cdef int32_t low = 0, high = record.n_entries, middle, capacity
        cdef int64_t offset
        while low < high:
            middle = (low + high) >> 1
            if entries[middle].dish < dish:
                low = middle + 1
            else:
                high = middle
        if low < record.n_entries and entries[low].dish == dish:
            return low
        if record.n_entries == record.capacity:
            capacity = 2 * record.capacity if record.capacity > 0 else 1
            offset = arena_take(&self.arena, capacity * ENTRY_WORDS)
            if record.capacity > 0:
                memcpy(self.arena.words.data() + offset, self.arena.words.data() + record.offset,
                       record.n_entries * sizeof(Entry))
                arena_give(&self.arena, record.offset, record.capacity * ENTRY_WORDS)
            record.offset = offset
            record.capacity = capacity
            if capacity > self.largest:
                self.largest = capacity
            entries = self.entries(node)
        memmove(entries + low + 1, entries + low, (record.n_entries - low) * sizeof(Entry))
        self.indexed = False
        record.n_entries += 1
        entries[low].dish = dish
        entries[low].customers = 0
        entries[low].tables = 0
        entries[low].extra = -1
        return low

    cdef int erase(self, int32_t node, int32_t place) noexcept nogil:
        cdef Node *record = &self.nodes[node]
        cdef Entry *entries = self.entries(node)
        memmove(entries + place, entries + place + 1, (record.n_entries - place - 1) * sizeof(Entry))
        self.indexed = False
        record.n_entries -= 1
        if record.n_entries == 0:
            arena_give(&self.arena, record.offset, record.capacity * ENTRY_WORDS)
            record.capacity = 0
            record.offset = 0
        return 0

    cdef int index_entries(self) except -1 nogil:
        """Fill the samples if necessary. They are valid until an entry is added, removed or renumbered."""
        cdef size_t i
        if self.indexed:
            return 0
        self.samples.resize(self.arena.words.size() // (ENTRY_WORDS << SAMPLED) + 1)
        for i in range(self.samples.size()):
            if i * (ENTRY_WORDS << SAMPLED) < self.arena.words.size():
                self.samples[i] = self.arena.words[i * (ENTRY_WORDS << SAMPLED)]
        self.indexed = True
        return 0

    cdef int ready(self, int64_t n_words, int64_t n_tables) except -1 nogil:
        """Allocate all memory that a step may need, before it changes anything.

        ``n_words``: for entries (see `words_for`); ``n_tables``: the number of restaurants where a table may
        open or close.
        """
        if <int64_t>(self.arena.words.capacity() - self.arena.words.size()) < n_words:
            arena_room(&self.arena, n_words)
        return self.ready_tables(n_tables)

    # ------------------------------------------------------------------ implemented by the stores

    cdef int ready_tables(self, int64_t n_tables) except -1 nogil:
        return 0

    cdef int32_t dish_at(self, int32_t customer) noexcept nogil:
        return -1

    cdef int join_table(self, int32_t node, int32_t dish, int32_t customer, double discount,
                        choice_source *source) except -1 nogil:
        absent()

    cdef int open_table(self, int32_t node, int32_t dish, int32_t customer,
                        int32_t *as_customer) except -1 nogil:
        absent()

    cdef int remove_customer(self, int32_t node, int32_t dish, int32_t customer, choice_source *source,
                             int32_t *as_customer) except -1 nogil:
        absent()

    cdef int sizes_of(self, int32_t node, int32_t place, vector[int32_t] *sizes,
                      vector[int32_t] *counts) except -1 nogil:
        absent()

    cdef int relabel_extra(self, int32_t[::1] mapping) except -1:
        absent()

    cdef int grow_customers(self, int64_t n_customers) except -1:
        absent()

    cdef bint squeeze_entries(self, double share) except -1 nogil:
        """Compact blocks of entries, with minimal sizes, if more than this share is unused."""
        cdef Arena fresh
        cdef Node *record
        cdef int64_t used = 0, offset = 0
        cdef size_t node
        cdef int32_t capacity
        arena_clear(&fresh)
        for node in range(self.nodes.size()):
            used += room_for(self.nodes[node].n_entries)
        used *= ENTRY_WORDS
        if not unused_share(self.arena.words.capacity(), used, share):
            return False
        fresh.words.reserve(used + used // 8)
        fresh.words.resize(used)     # nothing below can fail
        for node in range(self.nodes.size()):
            record = &self.nodes[node]
            capacity = room_for(record.n_entries)
            if capacity > 0:
                memcpy(fresh.words.data() + offset, self.arena.words.data() + record.offset,
                       record.n_entries * sizeof(Entry))
            record.offset = offset if capacity > 0 else 0
            record.capacity = capacity
            offset += capacity * ENTRY_WORDS
        arena_clear(&self.arena)
        self.arena.words.swap(fresh.words)
        self.indexed = False
        self.samples.clear()
        self.samples.shrink_to_fit()
        return True

    cdef bint squeeze_extra(self, double share) except -1 nogil:
        return False

    # ------------------------------------------------------------------ methods of every store for Python

    def join(self, int32_t node, int32_t dish, int32_t customer, double discount, ChoiceSource source not None):
        """Seat a customer at a table of the dish, drawn with weight size - discount."""
        self.ready(0, 1)
        self.join_table(node, dish, customer, discount, &source.c)

    def open(self, int32_t node, int32_t dish, int32_t customer):
        """Seat a customer at a new table; returns that table as a customer of the parent."""
        cdef int32_t as_customer
        self.ready(self.words_for(node), 1)
        self.open_table(node, dish, customer, &as_customer)
        return as_customer

    def remove(self, int32_t node, int32_t dish, int32_t customer, ChoiceSource source not None):
        """Remove a customer; returns (whether its table closed, that table as a customer of the parent)."""
        cdef int32_t as_customer
        cdef int closed
        self.ready(0, 1)
        closed = self.remove_customer(node, dish, customer, &source.c, &as_customer)
        return bool(closed), as_customer

    def dish_of(self, int32_t customer):
        """Dish of a data customer, -1 while it is not seated."""
        return self.dish_at(customer)

    def customers(self, int32_t node, int32_t dish):
        """Customers of a restaurant who eat a dish."""
        cdef int32_t place = self.find(node, dish)
        return 0 if place < 0 else self.entries(node)[place].customers

    def tables(self, int32_t node, int32_t dish):
        """Tables of a restaurant that serve a dish."""
        cdef int32_t place = self.find(node, dish)
        return 0 if place < 0 else self.entries(node)[place].tables

    def node_customers(self, int32_t node):
        """Customers of a restaurant."""
        return self.nodes[node].customers

    def node_tables(self, int32_t node):
        """Tables of a restaurant."""
        return self.nodes[node].tables

    def node_dishes(self, int32_t node):
        """Dishes that a restaurant serves, ascending: int32."""
        cdef int32_t i
        dishes = np.empty(self.nodes[node].n_entries, dtype=np.int32)
        for i in range(self.nodes[node].n_entries):
            dishes[i] = self.entries(node)[i].dish
        return dishes

    def table_sizes(self, int32_t node, int32_t dish):
        """Sizes of the tables that serve a dish in a restaurant, ascending: int32, shape (tables,)."""
        cdef vector[int32_t] sizes, counts
        cdef int32_t place = self.find(node, dish)
        if place < 0:
            return np.empty(0, dtype=np.int32)
        self.sizes_of(node, place, &sizes, &counts)
        every = np.empty(self.entries(node)[place].tables, dtype=np.int32)
        cdef int32_t[::1] view = every
        cdef size_t i
        cdef int32_t n = 0
        for i in range(sizes.size()):
            view[n:n + counts[i]] = sizes[i]
            n += counts[i]
        return np.sort(every)

    @property
    def n_nodes(self):
        """Number of restaurants."""
        return self.nodes.size()

    def totals(self):
        """Customers and tables of every restaurant: two int64 arrays, shape (n_nodes,)."""
        cdef size_t node
        customers = np.empty(self.nodes.size(), dtype=np.int64)
        tables = np.empty(self.nodes.size(), dtype=np.int64)
        cdef int64_t[::1] c = customers
        cdef int64_t[::1] t = tables
        for node in range(self.nodes.size()):
            c[node] = self.nodes[node].customers
            t[node] = self.nodes[node].tables
        return customers, tables

    def dish_sizes(self):
        """Data customers of each dish that has any, in the order of dishes: int64."""
        cdef vector[int64_t] sizes
        cdef int64_t i, n = 0
        cdef int32_t node, place
        cdef Entry *entry
        with nogil:
            for node in range(<int32_t>self.nodes.size()):
                for place in range(self.nodes[node].n_entries):
                    entry = self.entries(node) + place
                    if entry.dish >= <int64_t>sizes.size():
                        sizes.resize(entry.dish + 1, 0)
                    # A table is a customer of the parent; the others are data.
                    sizes[entry.dish] += entry.customers - (entry.tables if node > 0 else 0)
            for i in range(<int64_t>sizes.size()):
                if sizes[i] > 0:
                    sizes[n] = sizes[i]
                    n += 1
        found = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] to = found
        for i in range(n):
            to[i] = sizes[i]
        return found

    def log_seating(self, const double[::1] concentration not None, const double[::1] discount not None):
        """Log probability of the labelled seating in nats, given theta and d of each restaurant."""
        return log_seating_of(self, concentration, discount)

    def size_counts(self, nodes):
        """Sizes of the tables of these restaurants, ascending, and the number of each: two int64 arrays."""
        return size_counts_of(self, nodes)

    def relabel_dishes(self, mapping):
        """Rename dishes; the mapping keeps their order, so the entries remain sorted."""
        cdef int32_t node, place
        cdef int32_t[::1] to = np.array(mapping, dtype=np.int32)
        self.indexed = False
        for node in range(<int32_t>self.nodes.size()):
            for place in range(self.nodes[node].n_entries):
                self.entries(node)[place].dish = to[self.entries(node)[place].dish]
        self.relabel_extra(to)

    def grow(self, n_customers, n_nodes):
        """Add unseated data customers and empty restaurants, numbered after the existing ones."""
        cdef Node empty
        empty.customers = 0
        empty.tables = 0
        empty.offset = 0
        empty.n_entries = 0
        empty.capacity = 0
        cdef int64_t more_customers = whole("n_customers", n_customers, self.n_customers, MOST)
        cdef int64_t more_nodes = whole("n_nodes", n_nodes, <int64_t>self.nodes.size(), MOST)
        self.grow_customers(more_customers)
        self.nodes.resize(more_nodes, empty)     # if this fails, the seats added above are unused
        self.n_customers = more_customers

    def counts(self):
        """Restaurant, dish, customers, tables of every entry, sorted by the first two: int32, shape (n_entries,) each."""
        cdef int64_t n = 0, i = 0
        cdef int32_t node, place
        cdef Entry *entry
        for node in range(<int32_t>self.nodes.size()):
            n += self.nodes[node].n_entries
        columns = [np.empty(n, dtype=np.int32) for _ in range(4)]
        cdef int32_t[::1] nodes = columns[0]
        cdef int32_t[::1] dishes = columns[1]
        cdef int32_t[::1] customers = columns[2]
        cdef int32_t[::1] tables = columns[3]
        with nogil:
            for node in range(<int32_t>self.nodes.size()):
                for place in range(self.nodes[node].n_entries):
                    entry = self.entries(node) + place
                    nodes[i] = node
                    dishes[i] = entry.dish
                    customers[i] = entry.customers
                    tables[i] = entry.tables
                    i += 1
        return tuple(columns)

    def take_counts(self, const int32_t[::1] node not None, const int32_t[::1] dish not None,
                    const int32_t[::1] customers not None, const int32_t[::1] tables not None):
        """Set the result of `counts`. Only predictions are possible then: the sizes of tables are unknown."""
        cdef int64_t i
        cdef Entry *entry
        cdef Node *record
        check_counts(node, dish, customers, tables, self.nodes.size())      # they may be from a file
        self.clear_nodes(self.nodes.size())
        self.arena.words.resize(node.shape[0] * ENTRY_WORDS)
        with nogil:
            for i in range(node.shape[0]):
                record = &self.nodes[node[i]]
                if record.n_entries == 0:
                    record.offset = i * ENTRY_WORDS
                entry = <Entry *>(self.arena.words.data() + i * ENTRY_WORDS)
                entry.dish = dish[i]
                entry.customers = customers[i]
                entry.tables = tables[i]
                entry.extra = -1
                record.n_entries += 1
                record.capacity += 1
                self.largest = max(self.largest, record.capacity)
                record.customers += customers[i]
                record.tables += tables[i]

    def compact(self, double share=0.5):
        """Release unused memory where it is more than this share. True if any was released.

        Blocks of entries move, and tables are renumbered in the order of `freeze`; nothing depends on either.
        """
        cdef bint moved
        held = self.memory_bytes()
        with nogil:
            moved = self.squeeze_entries(share)
            if unused_share(self.nodes.capacity(), self.nodes.size(), share):
                self.nodes.shrink_to_fit()
                moved = True
            moved |= self.squeeze_extra(share)
        if held - self.memory_bytes() > MUCH:
            to_the_system()
        return bool(moved)

    def memory_parts(self):
        """Bytes held by the store's arrays, including reserved memory, by purpose."""
        return {
            "restaurants": self.nodes.capacity() * sizeof(Node),
            "entries": arena_bytes(&self.arena) + self.samples.capacity() * sizeof(int32_t),
        }

    def memory_bytes(self):
        """Bytes held by the store's arrays."""
        return sum(self.memory_parts().values())
