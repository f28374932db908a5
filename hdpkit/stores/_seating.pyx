# distutils: language = c++
"""Base of the compiled stores: counts by (restaurant, dish) in flat memory.

Each restaurant has a block of entries in one arena. Entries are sorted by dish, so nothing depends on the
order in which dishes were added, and a state continues in the same way after saving and loading.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memmove, memset

from hdpkit.stores._stirling cimport log_discounted_sum
from hdpkit._arguments cimport check_length, check_numbers32, whole
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


# ---------------------------------------------------------------------------------------- frozen arrays
# Stores use the numbers of arrays passed to `thaw` as indices.

SEATS = ("seat", "table_node", "table_dish", "table_seat")
SIZES = ("bin_node", "bin_dish", "bin_size", "bin_count")
COUNTS = ("count_node", "count_dish", "count_customers", "count_tables")


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


cdef int check_counts(const int32_t[::1] node, const int32_t[::1] dish, const int32_t[::1] customers,
                      const int32_t[::1] tables, int64_t n_nodes) except -1:
    """Raise an error unless these are counts of restaurants, sorted by restaurant and dish."""
    cdef int64_t i, n = node.shape[0]
    check_length("dish", dish.shape[0], n)
    check_length("customers", customers.shape[0], n)
    check_length("tables", tables.shape[0], n)
    check_numbers32("node", node, 0, n_nodes - 1)
    check_numbers32("dish", dish, 0, LARGEST)
    check_numbers32("customers", customers, 1, LARGEST)
    check_numbers32("tables", tables, 1, LARGEST)
    for i in range(1, n):   # a restaurant's block is contiguous and searched by dish
        if node[i] < node[i - 1] or (node[i] == node[i - 1] and dish[i] <= dish[i - 1]):
            raise DataError("node", np.asarray(node), "sorted by restaurant and dish, without repeats",
                            "Pass what `counts` returned.")
    return 0


# ----------------------------------------------------------------------------------- the base of stores

cdef int absent() except -1 with gil:
    raise StateError("store", "Seating", "one that seats customers", "This one holds counts: give the restaurant a store of tables, such as histogram.")


cdef class Seating:
    """Base of the compiled stores. ``n_customers`` data customers, ``n_nodes`` restaurants."""

    NAMES = ()      # of the arrays of a frozen state

    def __cinit__(self):
        self.recorded = True

    def __init__(self, n_customers, n_nodes):
        self.n_customers = whole("n_customers", n_customers, 0, MOST)
        self.nodes.resize(whole("n_nodes", n_nodes, 0, MOST))
        self.clear()

    def clear(self):
        """Unseat all customers."""
        cdef Node empty
        memset(&empty, 0, sizeof(Node))
        self.nodes.assign(self.nodes.size(), empty)
        self.indexed = False
        self.largest = 0
        self.most_tables = 0
        arena_clear(&self.arena)
        self.of_customer.assign(self.n_customers if self.recorded else 0, -1)
        self.clear_extra()

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
        cdef int32_t low = 0, high = record.n_entries, middle
        while low < high:
            middle = (low + high) >> 1
            if entries[middle].dish < dish:
                low = middle + 1
            else:
                high = middle
        if low < record.n_entries and entries[low].dish == dish:
            return low
        if record.n_entries == record.capacity:
            self.make_block(node, 2 * record.capacity if record.capacity > 0 else 1)
            entries = self.entries(node)
        memmove(entries + low + 1, entries + low, (record.n_entries - low) * sizeof(Entry))
        self.indexed = False
        record.n_entries += 1
        entries[low].dish = dish
        entries[low].customers = 0
        entries[low].tables = 0
        entries[low].extra = -1
        return low

    cdef int make_block(self, int32_t node, int32_t capacity) except -1 nogil:
        """Move the entries of a restaurant to a block of this capacity; 0 releases the block."""
        cdef Node *record = &self.nodes[node]
        cdef int64_t offset = arena_take(&self.arena, capacity * ENTRY_WORDS) if capacity > 0 else 0
        if record.capacity > 0:
            memcpy(self.arena.words.data() + offset, self.arena.words.data() + record.offset,
                   record.n_entries * sizeof(Entry))
            arena_give(&self.arena, record.offset, record.capacity * ENTRY_WORDS)
        record.offset = offset
        record.capacity = capacity
        self.largest = max(self.largest, capacity)
        return 0

    cdef int fill_entries(self, const int32_t[::1] node, const int32_t[::1] dish, const int32_t[::1] customers,
                          const int32_t[::1] tables) except -1:
        """Set the counts of empty restaurants, given in the order of restaurants and dishes."""
        cdef int64_t i, end = 0, n = node.shape[0]
        cdef Node *record
        cdef Entry *entry
        with nogil:
            for i in range(n):
                record = &self.nodes[node[i]]
                if i == end:
                    while end < n and node[end] == node[i]:
                        end += 1
                    self.make_block(node[i], room_for(<int32_t>(end - i)))
                entry = self.entries(node[i]) + record.n_entries
                entry.dish = dish[i]
                entry.customers = customers[i]
                entry.tables = tables[i]
                entry.extra = -1
                record.n_entries += 1
                record.customers += customers[i]
                record.tables += tables[i]
        return 0

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

    # ------------------------------------------------------------------ overridden by some stores

    cdef int clear_extra(self) except -1:
        return 0

    cdef int ready_tables(self, int64_t n_tables) except -1 nogil:
        return 0

    cdef int32_t dish_at(self, int32_t customer) noexcept nogil:
        return self.of_customer[customer] if self.recorded else -1

    cdef int read_dishes(self, int32_t *dishes) noexcept nogil:
        """Copy the dish of every data customer."""
        memcpy(dishes, self.of_customer.data(), self.of_customer.size() * sizeof(int32_t))
        return 0

    cdef int label(self, int32_t customer, int32_t dish) noexcept nogil:
        """Record a customer's dish (-1: it left); nothing is recorded for tables as customers."""
        if customer >= 0 and self.recorded:
            self.of_customer[customer] = dish
        return 0

    cdef int fill(self, list arrays) except -1:
        """Fill the empty store with the arrays of a frozen state."""
        absent()

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
        with gil:
            raise StateError("store", type(self).__name__, "one that keeps sizes of tables",
                             "Use store='histogram' or 'explicit'.")

    cdef int relabel_extra(self, int32_t[::1] mapping) except -1:
        cdef size_t i
        for i in range(self.of_customer.size()):
            if self.of_customer[i] >= 0:
                self.of_customer[i] = mapping[self.of_customer[i]]
        return 0

    # ------------------------------------------------------------------ common to the stores

    cdef int replace(self, list arrays) except -1:
        """Replace the state by that of frozen arrays. If it fails, the store is empty."""
        self.clear()
        try:
            self.fill(arrays)
        except BaseException:
            self.clear()
            raise
        return 0

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
    # Users' steps and stores call them, and a wrong call must not end the process.

    cdef bint fits(self, int32_t node, int32_t dish, int32_t customer, bint seated) noexcept nogil:
        """Whether a customer is in this restaurant with this dish, or not ``seated`` anywhere."""
        if customer < 0:
            return True
        return self.dish_at(customer) == (dish if seated else -1)

    cdef int check_node(self, int64_t node) except -1:
        whole("node", node, 0, <int64_t>self.nodes.size() - 1)
        return 0

    cdef int check_customer(self, int32_t node, int32_t dish, int32_t customer, bint seated, bint served) except -1:
        """Raise an error unless a customer fits; ``served``: where the dish is."""
        self.check_node(node)
        whole("dish", dish, 0, MOST)
        whole("customer", customer, -MOST - 1, self.n_customers - 1)
        if served and self.find(node, dish) < 0:
            raise StateError("dish", dish, f"one that restaurant {node} serves", "See dish_of(customer).")
        if not self.fits(node, dish, customer, seated):
            raise StateError("customer", customer, "seated there with this dish" if seated else "unseated",
                             "See dish_of(customer).")
        return 0

    def join(self, int32_t node, int32_t dish, int32_t customer, double discount, ChoiceSource source not None):
        """Seat a customer at a table of the dish, drawn with weight size - discount."""
        self.check_customer(node, dish, customer, False, True)
        self.ready(0, 1)
        self.join_table(node, dish, customer, discount, &source.c)

    def open(self, int32_t node, int32_t dish, int32_t customer):
        """Seat a customer at a new table; returns that table as a customer of the parent."""
        cdef int32_t as_customer
        self.check_customer(node, dish, customer, False, False)
        self.ready(self.words_for(node), 1)
        self.open_table(node, dish, customer, &as_customer)
        return as_customer

    def remove(self, int32_t node, int32_t dish, int32_t customer, ChoiceSource source not None):
        """Remove a customer; returns (whether its table closed, that table as a customer of the parent)."""
        cdef int32_t as_customer
        cdef int closed
        self.check_customer(node, dish, customer, True, True)
        self.ready(0, 1)
        closed = self.remove_customer(node, dish, customer, &source.c, &as_customer)
        return bool(closed), as_customer

    def dish_of(self, int32_t customer):
        """Dish of a data customer, -1 while it is not seated."""
        return self.dish_at(<int32_t>whole("customer", customer, 0, self.n_customers - 1))

    def dishes(self, empty=empty_row):
        """Dish of every data customer: int32, shape (n_customers,), -1 while unseated; ``empty`` as in `freeze`."""
        dishes = empty(self.n_customers)
        cdef int32_t[::1] view = dishes
        if self.n_customers > 0:
            with nogil:
                self.read_dishes(&view[0])
        return dishes

    def thaw(self, frozen):
        """Replace the state by a frozen one (see `hdpkit.stores.frozen`). If it fails, the store is empty."""
        self.replace(columns(frozen, *self.NAMES))

    def customers(self, int32_t node, int32_t dish):
        """Customers of a restaurant who eat a dish."""
        self.check_node(node)
        cdef int32_t place = self.find(node, dish)
        return 0 if place < 0 else self.entries(node)[place].customers

    def tables(self, int32_t node, int32_t dish):
        """Tables of a restaurant that serve a dish."""
        self.check_node(node)
        cdef int32_t place = self.find(node, dish)
        return 0 if place < 0 else self.entries(node)[place].tables

    def node_customers(self, int32_t node):
        """Customers of a restaurant."""
        self.check_node(node)
        return self.nodes[node].customers

    def node_tables(self, int32_t node):
        """Tables of a restaurant."""
        self.check_node(node)
        return self.nodes[node].tables

    def node_dishes(self, int32_t node):
        """Dishes that a restaurant serves, ascending: int32."""
        cdef int32_t i
        self.check_node(node)
        dishes = np.empty(self.nodes[node].n_entries, dtype=np.int32)
        for i in range(self.nodes[node].n_entries):
            dishes[i] = self.entries(node)[i].dish
        return dishes

    def table_sizes(self, int32_t node, int32_t dish):
        """Sizes of the tables that serve a dish in a restaurant, ascending: int32, shape (tables,)."""
        cdef vector[int32_t] sizes, counts
        self.check_node(node)
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
        cdef double total = 0.0, d, tabulated = -1.0
        cdef int32_t node, place
        cdef size_t i
        cdef vector[int32_t] sizes, counts
        cdef vector[double] shared      # by size, for the tabulated discount; 0 if not computed yet
        with nogil:
            for node in range(<int32_t>self.nodes.size()):
                d = discount[node]
                self.add_log_of_tables(node, concentration[node], d, &total)
                if d != tabulated:       # restaurants of a level are adjacent and usually share a discount
                    shared.clear()
                    tabulated = d
                for place in range(self.nodes[node].n_entries):
                    sizes.clear()
                    counts.clear()
                    self.sizes_of(node, place, &sizes, &counts)
                    for i in range(sizes.size()):
                        if sizes[i] >= SMALL:
                            total += counts[i] * log_rising(1.0 - d, sizes[i] - 1)
                        elif sizes[i] > 1:
                            if sizes[i] >= <int32_t>shared.size():
                                shared.resize(sizes[i] + 1, 0.0)
                            if shared[sizes[i]] == 0.0:
                                shared[sizes[i]] = log_rising(1.0 - d, sizes[i] - 1)
                            total += counts[i] * shared[sizes[i]]
        return total

    cdef int add_log_of_tables(self, int32_t node, double theta, double d, double *total) noexcept nogil:
        """Add the log of [theta+d]_d^(T-1) / [theta+1]_1^(n-1) for the n customers and T tables of a restaurant."""
        if self.nodes[node].customers > 0:
            total[0] += log_rising_by(theta + d, d, self.nodes[node].tables - 1)
            total[0] -= log_rising(theta + 1.0, self.nodes[node].customers - 1)
        return 0

    def log_counts(self, const double[::1] concentration not None, const double[::1] discount not None):
        """Log probability of the counts of all restaurants in nats, given theta and d of each restaurant.

        It is the sum over all labelled seatings that have these counts: for n customers at T tables, n_k and
        t_k of them with dish k, [theta+d]_d^(T-1) / [theta+1]_1^(n-1) prod_k S_d(n_k, t_k), with generalised
        Stirling numbers (`hdpkit.stores._stirling`).
        """
        cdef double total = 0.0
        cdef int32_t node, place, n_nodes = <int32_t>self.nodes.size()
        cdef Entry *entry
        cdef vector[int64_t] customers, tables
        with nogil:
            for node in range(n_nodes):
                self.add_log_of_tables(node, concentration[node], discount[node], &total)
                for place in range(self.nodes[node].n_entries):
                    entry = self.entries(node) + place
                    customers.push_back(entry.customers)
                    tables.push_back(entry.tables)
                if node + 1 == n_nodes or discount[node + 1] != discount[node]:    # a level usually shares a discount
                    total += log_discounted_sum(&customers, &tables, discount[node])
                    customers.clear()
                    tables.clear()
        return total

    def size_counts(self, nodes):
        """Sizes of the tables of these restaurants, ascending, and the number of each: two int64 arrays."""
        cdef const int64_t[::1] asked = np.ascontiguousarray(nodes, dtype=np.int64)
        cdef vector[int64_t] small, large, of_large
        cdef vector[int32_t] sizes, counts
        cdef int32_t node, place
        cdef int64_t i
        cdef size_t k
        with nogil:
            for i in range(asked.shape[0]):
                node = <int32_t>asked[i]
                for place in range(self.nodes[node].n_entries):
                    sizes.clear()
                    counts.clear()
                    self.sizes_of(node, place, &sizes, &counts)
                    for k in range(sizes.size()):
                        if sizes[k] >= SMALL:
                            large.push_back(sizes[k])
                            of_large.push_back(counts[k])
                            continue
                        if sizes[k] >= <int32_t>small.size():
                            small.resize(sizes[k] + 1)
                        small[sizes[k]] += counts[k]
        found = {i: small[i] for i in range(<int64_t>small.size()) if small[i]}
        for k in range(large.size()):
            found[large[k]] = found.get(large[k], 0) + of_large[k]
        return tuple(np.array(sorted(found.items()), dtype=np.int64).reshape(-1, 2).T.copy())

    def relabel_dishes(self, mapping):
        """Rename dishes; the mapping keeps their order, so the entries remain sorted."""
        cdef int32_t node, place
        cdef int32_t[::1] to = np.array(mapping, dtype=np.int32)
        self.indexed = False
        for node in range(<int32_t>self.nodes.size()):
            for place in range(self.nodes[node].n_entries):
                self.entries(node)[place].dish = to[self.entries(node)[place].dish]
        self.relabel_extra(to)

    def counts(self):
        """Restaurant, dish, customers, tables of every entry, sorted by the first two: int32, shape (n_entries,) each."""
        cdef int64_t n = 0, i = 0
        cdef int32_t node, place
        cdef Entry *entry
        for node in range(<int32_t>self.nodes.size()):
            n += self.nodes[node].n_entries
        rows = np.empty((4, n), dtype=np.int32)
        cdef int32_t[:, ::1] to = rows
        with nogil:
            for node in range(<int32_t>self.nodes.size()):
                for place in range(self.nodes[node].n_entries):
                    entry = self.entries(node) + place
                    to[0, i], to[1, i], to[2, i], to[3, i] = node, entry.dish, entry.customers, entry.tables
                    i += 1
        return tuple(rows)

    def take_counts(self, const int32_t[::1] node not None, const int32_t[::1] dish not None,
                    const int32_t[::1] customers not None, const int32_t[::1] tables not None):
        """Set the result of `counts`. Only predictions are possible then: the sizes of tables are unknown."""
        check_counts(node, dish, customers, tables, self.nodes.size())      # they may be from a file
        self.clear()
        self.fill_entries(node, dish, customers, tables)

    def compact(self, double share=0.5):
        """Release unused memory where it is more than this share. True if any was released.

        Blocks of entries move, and tables are renumbered in the order of `freeze`; nothing depends on either.
        """
        cdef bint moved
        held = self.memory_bytes()
        with nogil:
            moved = self.squeeze_entries(share)
            moved |= self.squeeze_extra(share)
        if held - self.memory_bytes() > MUCH:
            to_the_system()
        return bool(moved)

    def memory_parts(self):
        """Bytes held by the store's arrays, including reserved memory, by purpose."""
        return {
            "customers": self.of_customer.capacity() * sizeof(int32_t),
            "restaurants": self.nodes.capacity() * sizeof(Node),
            "entries": arena_bytes(&self.arena) + self.samples.capacity() * sizeof(int32_t),
        }

    def memory_bytes(self):
        """Bytes held by the store's arrays."""
        return sum(self.memory_parts().values())
