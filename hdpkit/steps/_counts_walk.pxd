from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.stores._counts cimport CountsStore
from hdpkit.stores._stirling cimport Ratios
from hdpkit.steps._walk cimport Walk
from hdpkit.random._source cimport choice_source

cdef enum:
    STAYS = -1      # without this customer its dish would have customers but no table


cdef class CountsWalk(Walk):
    cdef CountsStore counts
    cdef const int32_t[::1] declaration    # of each restaurant
    cdef vector[Ratios] ratios             # of each declaration, whose restaurants share a discount
    cdef vector[int64_t] customers         # by declaration: the most customers of a dish in the scanned restaurants
    cdef vector[int64_t] tables
    cdef int32_t seen                      # the restaurant scanned last, with its ancestors; -1 for none

    cdef int begin(self) except -1
    cdef int cover(self, int32_t node) except -1 nogil
    cdef int closings(self, int32_t node, int32_t dish, choice_source *source) except -2 nogil
    cdef int indicators(self, int32_t node, int32_t dish, choice_source *source) except -2 nogil
    cdef int take_out(self, int32_t customer, int32_t node, int32_t dish, int closes) except -1 nogil
    cdef int fill_weights(self, int32_t node) except -1 nogil
    cdef int seat_indicated(self, int32_t customer, int32_t node, int32_t dish, choice_source *source) except -1 nogil
