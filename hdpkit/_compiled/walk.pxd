from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from hdpkit._compiled.seating cimport Seating
from hdpkit._compiled.slots cimport DishSlots
from hdpkit.random._source cimport choice_source


cdef class Walk:
    cdef readonly Seating store
    cdef readonly DishSlots slots
    cdef readonly object topology     # keeps the arrays below alive
    cdef const int32_t[::1] parent
    cdef const int32_t[::1] home
    cdef const double[::1] concentration
    cdef const double[::1] discount
    cdef vector[int32_t] path         # from a restaurant to the root
    cdef vector[double] level         # probability of one dish at each restaurant of the path
    cdef vector[double] row           # probability of each live dish, a new one last

    cdef int fill_row(self, int32_t node) except -1 nogil
    cdef int trace_dish(self, int32_t node, int32_t dish) except -1 nogil
    cdef int seat_customer(self, int32_t customer, int32_t node, int32_t dish,
                           choice_source *source) except -1 nogil
    cdef int unseat_customer(self, int32_t customer, int32_t node, int32_t dish,
                             choice_source *source) except -1 nogil
