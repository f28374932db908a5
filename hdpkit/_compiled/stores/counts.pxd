from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.stores.seating cimport Seating


cdef class CountsStore(Seating):
    cdef vector[int32_t] dish_of_customer

    cdef int write_dishes(self, int32_t node, const int32_t *here, int64_t n_slots,
                          const int32_t *above) except -1 nogil
    cdef int label(self, int32_t customer, int32_t dish) noexcept nogil
    cdef int fill(self, const int32_t[::1] dish, const int32_t[::1] node, const int32_t[::1] served,
                  const int32_t[::1] customers, const int32_t[::1] tables) except -1
