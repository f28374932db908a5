# distutils: language = c++
"""Stores of counts: customers and tables by restaurant and dish, and the dish of each data customer.

It keeps no sizes of tables and draws nothing itself. If the root has weights, no draw of a step depends on
the numbers of tables (Teh et al. 2006, section 5.3): when a customer leaves, a table is removed only if there
would otherwise be more tables than customers, and at the end of a step the tables of its restaurants are
drawn again, given the customers (`hdpkit.steps._table_counts`). If the root is a restaurant, numbers
of tables are part of the state, and the walk draws whether a table closes when a customer leaves
(`hdpkit.steps._counts_walk`).
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from hdpkit.vectors cimport vector

from hdpkit.stores._seating import COUNTS, empty_row
from hdpkit.stores._seating cimport ANONYMOUS, Entry, Node, Seating, room_for
from hdpkit.random._source cimport choice_source
from hdpkit.random.philox cimport philox, philox_below, philox_rekey


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
        """Set the number of tables of a dish; the parent's number of customers changes as much."""
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


cdef class CellsStore(CountsStore):
    """Customers and tables by restaurant and dish, and customers of each dish by cell.

    It has no array with an entry per data customer. Customers of one cell (a document and a term) are exchangeable,
    so a chain needn't record which of them eats which dish. Where a state with a dish per customer is needed, they
    are put in a uniformly random order that follows from a key in the state.

    A franchise over a store of counts creates it (`franchise.state`) and sets the cells (`observe_cells`);
    documents are the last restaurants, in order. Code that needs the dish of a single customer uses
    `CountsStore`; `dishes` returns the dishes for it.
    """

    NAMES = ("cell_runs", "run_dish", "run_count", "cell_key", *COUNTS)

    def __cinit__(self):
        self.by_cell = True
        self.recorded = False

    def observe_cells(self, cells):
        """Set the cells of the documents (`hdpkit.data.Cells`), and unseat all customers."""
        self.begin, self.term, self.count = cells.begin, cells.term, cells.count
        self.cells = cells
        self.first = <int64_t>self.nodes.size() - (self.begin.shape[0] - 1)
        self.clear()

    cdef int clear_extra(self) except -1:
        cdef vector[int32_t] empty
        cdef int64_t piece, n, documents
        self.runs.clear()
        self.key[0] = self.key[1] = 0
        if self.cells is None:
            return 0
        documents = self.begin.shape[0] - 1
        self.runs.assign((documents + PIECE - 1) // PIECE, empty)
        for piece in range(<int64_t>self.runs.size()):
            n = self.begin[min((piece + 1) * PIECE, documents)] - self.begin[piece * PIECE]
            self.runs[piece].assign(n, 0)
        return 0

    def dish_of(self, int32_t customer):
        """Dish of a data customer, -1 while it is not seated."""
        return int(self.dishes()[customer])

    def seated(self):
        """Number of data customers who are seated."""
        cdef int64_t n = 0
        cdef size_t r
        for r in range(self.first, self.nodes.size()):
            n += self.nodes[r].customers
        return n

    cdef int relabel_extra(self, int32_t[::1] mapping) except -1:
        cdef int64_t piece, at, i
        cdef int32_t *words
        cdef int64_t n
        for piece in range(<int64_t>self.runs.size()):
            words = self.runs[piece].data()
            n = <int64_t>self.runs[piece].size()
            at = 0
            while at < n:
                for i in range(words[at]):
                    words[at + 1 + 2 * i] = mapping[words[at + 1 + 2 * i]]
                at += 1 + 2 * words[at]
        return 0

    # ------------------------------------------------------------------ contents

    def cell_runs(self, empty=empty_row):
        """Dishes of cells, in the store's order; ``empty`` as in `freeze`."""
        cdef int64_t piece, at, i, total = 0, cell = 0, place = 0, n
        cdef int32_t *words
        for piece in range(<int64_t>self.runs.size()):
            total += <int64_t>self.runs[piece].size()
        n_runs = empty(self.term.shape[0])
        dishes = empty((total - self.term.shape[0]) // 2)
        counts = empty((total - self.term.shape[0]) // 2)
        cdef int32_t[::1] runs = n_runs
        cdef int32_t[::1] dish = dishes
        cdef int32_t[::1] count = counts
        for piece in range(<int64_t>self.runs.size()):
            words = self.runs[piece].data()
            n = <int64_t>self.runs[piece].size()
            at = 0
            while at < n:
                runs[cell] = words[at]
                cell += 1
                for i in range(words[at]):
                    dish[place] = words[at + 1 + 2 * i]
                    count[place] = words[at + 2 + 2 * i]
                    place += 1
                at += 1 + 2 * words[at]
        return n_runs, dishes, counts

    def dishes(self):
        """Dish of every data customer in the order of the key: int32, shape (n_customers,), -1 while unseated."""
        runs, dish, count = self.cell_runs()
        return dishes_of(self.cells, runs, dish, count, self.frozen_key())

    def frozen_key(self):
        """The key of the order of customers: int32, shape (4,)."""
        return np.array([self.key[0], self.key[1]], dtype=np.uint64).view(np.int32).copy()

    def count_into(self, bank, slots, more=None):
        """Recompute the statistics of all dishes, and add these terms, dishes and counts."""
        runs, dish, count = self.cell_runs()
        columns = np.repeat(np.asarray(self.cells.term), runs), dish, count
        if more is not None:
            columns = [np.concatenate([own, other]) for own, other in zip(columns, more)]
        bank.rebuild_counts(*columns, slots)

    def freeze(self, empty=empty_row):
        """Runs and counts as arrays (see `hdpkit.stores.frozen`)."""
        return dict(zip(self.NAMES, (*self.cell_runs(empty), self.frozen_key(), *self.counts())))

    cdef int fill(self, list arrays) except -1:
        cdef const uint64_t[::1] key = arrays[3].view(np.uint64)
        self.take_runs(arrays[0], arrays[1], arrays[2])
        self.fill_entries(arrays[4], arrays[5], arrays[6], arrays[7])
        self.key[0], self.key[1] = key[0], key[1]
        return 0

    cdef int take_runs(self, const int32_t[::1] runs, const int32_t[::1] eaten, const int32_t[::1] n) except -1:
        """Set the dishes of all cells, already checked; the entries of restaurants don't change."""
        cdef int64_t piece, cell = 0, last, place = 0, words, i, documents = self.begin.shape[0] - 1, at
        cdef int32_t *to
        for piece in range(<int64_t>self.runs.size()):
            last = self.begin[min((piece + 1) * PIECE, documents)]
            words = last - cell
            for i in range(cell, last):
                words += 2 * runs[i]
            self.runs[piece].assign(words, 0)
            to = self.runs[piece].data()
            at = 0
            while cell < last:
                to[at] = runs[cell]
                at += 1
                for i in range(runs[cell]):
                    to[at] = eaten[place]
                    to[at + 1] = n[place]
                    at += 2
                    place += 1
                cell += 1
        return 0

    def memory_parts(self):
        """Bytes held by the store's arrays, including reserved memory, by purpose."""
        cdef int64_t total = 0, piece
        for piece in range(<int64_t>self.runs.size()):
            total += <int64_t>self.runs[piece].capacity() * sizeof(int32_t) + sizeof(vector[int32_t])
        parts = Seating.memory_parts(self)
        del parts["customers"]
        return {"cells": total, **parts}


def dishes_of(cells, const int32_t[::1] runs not None, const int32_t[::1] dish not None, const int32_t[::1] count not None,
              frozen_key):
    """Dish of each data customer, -1 if unseated, in the order within each cell that the key determines."""
    cdef const int32_t[::1] size = cells.count
    words = np.ascontiguousarray(frozen_key, dtype=np.int32)
    cdef const uint64_t[::1] key = words.view(np.uint64)
    found = np.full(int(np.sum(size, dtype=np.int64)), -1, dtype=np.int32)
    cdef int32_t[::1] eats = found
    cdef int64_t cell, at = 0, place = 0, i, j, r
    cdef int32_t held
    cdef philox stream
    with nogil:
        for cell in range(size.shape[0]):
            i = at
            for r in range(place, place + runs[cell]):
                for j in range(count[r]):
                    eats[i] = dish[r]
                    i += 1
            place += runs[cell]
            if runs[cell] > 1:
                philox_rekey(&stream, key[0], key[1], cell, 0, 0)
                for i in range(size[cell] - 1, 0, -1):
                    j = <int64_t>philox_below(&stream, i + 1)
                    held = eats[at + i]
                    eats[at + i] = eats[at + j]
                    eats[at + j] = held
            at += size[cell]
    return found
