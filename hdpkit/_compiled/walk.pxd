from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.turn cimport Turn
from hdpkit._compiled.seating cimport Seating
from hdpkit._compiled.slots cimport DishSlots
from hdpkit.random._source cimport choice_source


cdef class Walk:
    cdef public Turn turn            # of the franchise that it belongs to, None for an object on its own
    cdef readonly Seating store
    cdef readonly DishSlots slots
    cdef readonly object topology     # keeps the arrays below alive
    cdef const int32_t[::1] parent
    cdef const int32_t[::1] home
    cdef const double[::1] concentration
    cdef const double[::1] discount
    cdef readonly bint observed       # dishes are atoms: a customer's dish is its value
    cdef const double[::1] base       # H of each atom and, last, of all others
    cdef const int32_t[::1] value     # of each data customer
    cdef vector[int32_t] path         # from a restaurant to the root
    cdef vector[double] level         # probability of one dish at each restaurant of the path, the base last
    cdef vector[int32_t] place        # of its entry at each restaurant of the path, -1 for none
    cdef vector[double] row           # probability of each live dish, a new one last

    cdef int fill_row(self, int32_t node) except -1 nogil
    cdef int trace_dish(self, int32_t node, int32_t dish, double above) except -1 nogil
    cdef double above_root(self, int32_t dish) noexcept nogil
    cdef int seat_customer(self, int32_t customer, int32_t node, int32_t dish,
                           choice_source *source) except -1 nogil
    cdef int unseat_customer(self, int32_t customer, int32_t node, int32_t dish,
                             choice_source *source) except -1 nogil
