from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.stores.explicit cimport ExplicitStore


cdef int check_tree(ExplicitStore store, const int32_t[::1] home, const int32_t[::1] parent,
                    const int32_t[::1] node_level) except -1


cdef class Units:
    cdef vector[int32_t] code, customer, table, node
    cdef vector[int64_t] offset, table_offset
    cdef int64_t n_customers        # of the seating
    cdef readonly int32_t level     # level of the restaurants with these tables
    cdef object bounds              # that a fused verb keeps with these units
    cdef int64_t serial, seen       # the seating in which they were found, and its number of changes then

    cdef int belong(self, ExplicitStore store) except -1
    cdef int has_tables_only(self) except -1
    cdef int found_in(self, ExplicitStore store, int32_t level) except -1
    cdef int kept(self, ExplicitStore store) except -1
