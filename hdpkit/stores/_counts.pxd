from libc.stdint cimport int32_t, int64_t

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
