"""The bank of topics that differ by restaurant, each with a concentration of its own."""

from libc.stdint cimport int32_t, int64_t

from hdpkit.measures._bursty cimport BurstyBank
from hdpkit.measures._bursty_counts cimport BurstyCounts


cdef struct DishBursts:
    BurstyCounts *b
    void *bank
    int32_t leaving_slot            # the dish that customers have left in this step, -1 for none,
    int32_t leaving_customer        # and the first of them
    int64_t n_lent
    bint pending                    # whether `b.fresh` is that of the next new dish
    bint failed


cdef class DishBurstsBank(BurstyBank):
    cdef DishBursts s
    cdef readonly object kept

    cdef int copy(self) except -1
    cdef int begin_dish(self, int32_t slot) except -1
    cdef int end_dish(self, int32_t slot) except -1
    cdef int end_step(self, const int32_t *customers, int64_t n) except -1
    cdef int offer(self, int32_t customer) except -1
