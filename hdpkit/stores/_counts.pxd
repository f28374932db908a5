from libc.stdint cimport int32_t, int64_t, uint64_t
from hdpkit.vectors cimport vector

from hdpkit.stores._seating cimport Entry, Seating


cdef class CountsStore(Seating):
    cdef int write_dishes(self, int32_t node, const int32_t *here, int64_t n_slots,
                          const int32_t *above) except -1 nogil
    cdef inline int take_out(self, int32_t node, int32_t dish, int32_t customer, bint closes) noexcept nogil:
        """Update the counts for a customer who leaves, with or without a table."""
        cdef int32_t place = self.find(node, dish)
        cdef Entry *entry = self.entries(node) + place
        self.count_out(node, entry, closes)
        self.label(customer, -1)
        if entry.tables == 0:
            self.erase(node, place)
        return 0


cdef enum:
    PIECE = 16            # number of documents whose runs are stored together


cdef class CellsStore(CountsStore):
    cdef readonly object cells
    cdef const int64_t[::1] begin     # first cell of each document, and the end
    cdef int64_t first                # restaurant of document 0; those of the others follow
    cdef const int32_t[::1] term
    cdef const int32_t[::1] count
    cdef vector[vector[int32_t]] runs      # of PIECE documents each
    cdef uint64_t key[2]              # key of the permutation of customers within cells

    cdef int take_runs(self, const int32_t[::1] runs, const int32_t[::1] eaten, const int32_t[::1] n) except -1
