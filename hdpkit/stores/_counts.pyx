# distutils: language = c++
"""The store of counts: customers and tables by restaurant and dish, and the dish of each data customer.

It keeps no sizes of tables and draws nothing itself. If the root has weights, no draw of a step depends on
the numbers of tables (Teh et al. 2006, section 5.3): when a customer leaves, a table is removed only if there
would otherwise be more tables than customers, and at the end of a step the tables of its restaurants are
drawn again, given the customers (`hdpkit.steps._table_counts`). If the root is a restaurant, numbers
of tables are part of the state, and the walk draws whether a table closes when a customer leaves
(`hdpkit.steps._counts_walk`).
"""

from libc.stdint cimport int32_t, int64_t

from hdpkit.stores._seating import COUNTS, empty_row
from hdpkit.stores._seating cimport ANONYMOUS, Entry, Node, Seating, room_for
from hdpkit.random._source cimport choice_source


cdef class CountsStore(Seating):
    """Customers and tables by restaurant and dish, and the dish of each data customer."""

    COMPILED = True
    DETAIL = "counts"
    NAMES = ("dish", *COUNTS)

    def __cinit__(self):
        self.tables_at_end = True

    cdef int join_table(self, int32_t node, int32_t dish, int32_t customer, double discount,
                        choice_source *source) except -1 nogil:
        self.count_in(node, self.entries(node) + self.find(node, dish), False)
        self.label(customer, dish)
        return 0

    cdef int open_table(self, int32_t node, int32_t dish, int32_t customer,
                        int32_t *as_customer) except -1 nogil:
        cdef int32_t place = self.find_or_insert(node, dish)
        self.count_in(node, self.entries(node) + place, True)
        self.label(customer, dish)
        as_customer[0] = ANONYMOUS
        return 0

    cdef int remove_customer(self, int32_t node, int32_t dish, int32_t customer, choice_source *source,
                             int32_t *as_customer) except -1 nogil:
        cdef int32_t place = self.find(node, dish)
        cdef Entry *entry = self.entries(node) + place
        cdef bint closes = entry.tables == entry.customers
        self.take_out(node, dish, customer, closes)
        as_customer[0] = ANONYMOUS
        return closes

    cdef int write_dishes(self, int32_t node, const int32_t *here, int64_t n_slots,
                          const int32_t *above) except -1 nogil:
        """Set the customers of each dish in a child of the root, with one table for each dish that it serves.

        ``above`` is the place of each dish among the root's entries. If there is room for a block of this
        many entries (see `ready`), no memory is allocated.
        """
        cdef Node *record = &self.nodes[node]
        cdef Entry *entries = self.entries(node)
        cdef Entry *root = self.entries(0)
        cdef int32_t i, n = 0
        cdef int64_t k, first = 0
        cdef int32_t[64] dishes
        for k in range(n_slots):
            n += here[k] > 0
        self.nodes[0].customers += n - record.tables
        record.customers = 0
        record.tables = n
        for i in range(record.n_entries):
            root[above[entries[i].dish]].customers -= entries[i].tables
        if n > record.capacity or n == 0:
            record.n_entries = 0
            self.make_block(node, room_for(n))
            entries = self.entries(node)
            root = self.entries(0)
        self.indexed = False
        record.n_entries = n
        while first < n_slots:
            # No branch depends on which slots have customers: it couldn't be predicted.
            n = 0
            for k in range(first, min(first + 64, n_slots)):
                dishes[n] = <int32_t>k
                n += here[k] > 0
            for i in range(n):
                k = dishes[i]
                entries.dish = <int32_t>k
                entries.customers = here[k]
                entries.tables = 1
                entries.extra = -1
                entries += 1
                record.customers += here[k]
                root[above[k]].customers += 1
            first += 64
        return 0

    # ------------------------------------------------------------------ methods for Python

    def set_tables(self, int32_t node, int32_t dish, int32_t tables, int32_t parent):
        """Set the number of tables of a dish; the parent's number of customers changes as much.

        Parameters
        ----------
        node, dish : int
        tables : int
            From 1 to the customers of the dish.
        parent : int
            The parent restaurant; -1 for the root, and if the parent's customers are counted elsewhere.
        """
        cdef int32_t above = self.find(parent, dish) if parent >= 0 else -1
        self.change_tables(node, self.find(node, dish), tables, parent, above)

    def table_sizes(self, node, dish):
        """Raises a StateError: sizes are not kept."""
        self.sizes_of(0, 0, NULL, NULL)

    def size_counts(self, nodes):
        """Raises a StateError: sizes are not kept."""
        self.sizes_of(0, 0, NULL, NULL)

    def log_seating(self, concentration, discount):
        """See `log_counts`. Stores with more detail return the log probability of a single labelled seating."""
        return self.log_counts(concentration, discount)

    def freeze(self, empty=empty_row):
        """Dishes and counts as arrays (see `hdpkit.stores.frozen`)."""
        return {"dish": self.dishes(empty), **dict(zip(COUNTS, self.counts()))}

    cdef int fill(self, list arrays) except -1:
        cdef const int32_t[::1] dish = arrays[0]
        cdef int64_t i
        for i in range(self.n_customers):
            self.of_customer[i] = dish[i]
        return self.fill_entries(arrays[1], arrays[2], arrays[3], arrays[4])
