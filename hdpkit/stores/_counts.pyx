# distutils: language = c++
"""The store of counts: customers and tables by restaurant and dish, and the dish of each data customer.

It keeps no sizes of tables and draws nothing itself. If the root has weights, no draw of a step depends on
the numbers of tables (Teh et al. 2006, section 5.3): when a customer leaves, a table is removed only if there
would otherwise be more tables than customers, and at the end of a step the tables of its restaurants are
drawn again, given the customers (`hdpkit.steps._table_counts`). If the root is a restaurant, numbers
of tables are part of the state, and the walk draws whether a table closes when a customer leaves
(`hdpkit.steps._counts_walk`).
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.stores._seating import columns, empty_row
from hdpkit.stores._arena cimport arena_give, arena_take
from hdpkit.stores._seating cimport ANONYMOUS, ENTRY_WORDS, Entry, Node, Seating, rename, room_for, unused_share
from hdpkit.stores._stirling cimport log_discounted_sum
from hdpkit.errors import StateError
from hdpkit.numerics cimport log_rising, log_rising_by
from hdpkit.random._source cimport choice_source


cdef class CountsStore(Seating):
    """Customers and tables by restaurant and dish, and the dish of each data customer."""

    COMPILED = True
    DETAIL = "counts"

    def __init__(self, n_customers, n_nodes):
        Seating.__init__(self, n_customers, n_nodes)
        self.tables_at_end = True
        self.clear()

    def clear(self):
        """Unseat all customers."""
        self.clear_nodes(self.nodes.size())
        self.dish_of_customer.assign(self.n_customers, -1)

    cdef int32_t dish_at(self, int32_t customer) noexcept nogil:
        return self.dish_of_customer[customer]

    cdef int label(self, int32_t customer, int32_t dish) noexcept nogil:
        """Record a customer's dish (-1: it left); nothing is recorded for tables as customers."""
        if customer >= 0:
            self.dish_of_customer[customer] = dish
        return 0

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
        cdef int32_t i, capacity, n = 0
        cdef int64_t k, offset, first = 0
        cdef int32_t[64] dishes
        for k in range(n_slots):
            n += here[k] > 0
        self.nodes[0].customers += n - record.tables
        record.customers = 0
        record.tables = n
        for i in range(record.n_entries):
            root[above[entries[i].dish]].customers -= entries[i].tables
        if n > record.capacity or n == 0:
            capacity = room_for(n)
            offset = arena_take(&self.arena, capacity * ENTRY_WORDS) if n > 0 else 0
            if record.capacity > 0:
                arena_give(&self.arena, record.offset, record.capacity * ENTRY_WORDS)
            record.offset = offset
            record.capacity = capacity
            self.largest = max(self.largest, capacity)
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

    cdef int sizes_of(self, int32_t node, int32_t place, vector[int32_t] *sizes,
                      vector[int32_t] *counts) except -1 nogil:
        with gil:
            raise no_sizes()

    cdef int relabel_extra(self, int32_t[::1] mapping) except -1:
        return rename(&self.dish_of_customer, mapping)

    cdef int grow_customers(self, int64_t n_customers) except -1:
        self.dish_of_customer.resize(n_customers, -1)
        return 0

    cdef bint squeeze_extra(self, double share) except -1 nogil:
        if not unused_share(self.dish_of_customer.capacity(), self.dish_of_customer.size(), share):
            return False
        self.dish_of_customer.shrink_to_fit()
        return True

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

    def dishes(self, empty=empty_row):
        """Dish of every data customer: int32, shape (n_customers,), -1 while unseated; ``empty`` as in `freeze`."""
        cdef int64_t i
        dishes = empty(self.n_customers)
        cdef int32_t[::1] view = dishes
        for i in range(self.n_customers):
            view[i] = self.dish_of_customer[i]
        return dishes

    def table_sizes(self, node, dish):
        """Raises a StateError: sizes are not kept."""
        raise no_sizes()

    def size_counts(self, nodes):
        """Raises a StateError: sizes are not kept."""
        raise no_sizes()

    def log_seating(self, const double[::1] concentration not None, const double[::1] discount not None):
        """Log probability of the counts of all restaurants in nats, given theta and d of each restaurant.

        It is the sum over all labelled seatings that have these counts: for n customers at T tables, n_k and
        t_k of them with dish k, [theta+d]_d^(T-1) / [theta+1]_1^(n-1) prod_k S_d(n_k, t_k), with generalised
        Stirling numbers (`hdpkit.stores._stirling`). Stores with more detail return the log
        probability of a single labelled seating, which is different.
        """
        cdef double total = 0.0
        cdef int32_t node, place
        cdef Node *record
        cdef Entry *entry
        cdef double d
        cdef vector[int64_t] customers, tables
        with nogil:
            for node in range(<int32_t>self.nodes.size()):
                record = &self.nodes[node]
                d = discount[node]
                if node > 0 and d != discount[node - 1]:   # restaurants of a level are adjacent and share a discount
                    total += log_discounted_sum(&customers, &tables, discount[node - 1])
                    customers.clear()
                    tables.clear()
                if record.customers == 0:
                    continue
                total += log_rising_by(concentration[node] + d, d, record.tables - 1)
                total -= log_rising(concentration[node] + 1.0, record.customers - 1)
                for place in range(record.n_entries):
                    entry = self.entries(node) + place
                    customers.push_back(entry.customers)
                    tables.push_back(entry.tables)
            if self.nodes.size() > 0:
                total += log_discounted_sum(&customers, &tables, discount[<int64_t>self.nodes.size() - 1])
        return total

    def freeze(self, empty=empty_row):
        """Dishes and counts as arrays (see `hdpkit.stores.frozen`)."""
        node, dish, customers, tables = self.counts()
        return {"dish": self.dishes(empty), "count_node": node, "count_dish": dish, "count_customers": customers,
                "count_tables": tables}

    def thaw(self, frozen):
        """Replace the state by frozen dishes and counts. If it fails, the store is empty."""
        found = columns(frozen, "dish", "count_node", "count_dish", "count_customers", "count_tables")
        cdef const int32_t[::1] dish = found[0]
        cdef const int32_t[::1] node = found[1]
        cdef const int32_t[::1] served = found[2]
        cdef const int32_t[::1] customers = found[3]
        cdef const int32_t[::1] tables = found[4]
        self.clear()
        try:
            self.fill(dish, node, served, customers, tables)
        except BaseException:
            self.clear()
            raise

    cdef int fill(self, const int32_t[::1] dish, const int32_t[::1] node, const int32_t[::1] served,
                  const int32_t[::1] customers, const int32_t[::1] tables) except -1:
        cdef int64_t i
        with nogil:
            for i in range(self.n_customers):
                self.dish_of_customer[i] = dish[i]
        return self.fill_entries(node, served, customers, tables)

    cdef int fill_entries(self, const int32_t[::1] node, const int32_t[::1] served, const int32_t[::1] customers,
                          const int32_t[::1] tables) except -1:
        cdef int64_t i
        cdef Entry *entry
        with nogil:
            for i in range(node.shape[0]):
                entry = self.entries(node[i]) + self.find_or_insert(node[i], served[i])
                entry.customers = customers[i]
                entry.tables = tables[i]
                self.nodes[node[i]].customers += customers[i]
                self.nodes[node[i]].tables += tables[i]
        return 0

    def memory_parts(self):
        """Bytes held by the store's arrays, including reserved memory, by purpose."""
        return {"customers": self.dish_of_customer.capacity() * sizeof(int32_t), **Seating.memory_parts(self)}


cdef object no_sizes():
    return StateError("store", "CountsStore", "one that keeps sizes of tables", "Use store='histogram' or 'explicit'.")
