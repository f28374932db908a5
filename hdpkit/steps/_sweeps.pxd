from libc.stdint cimport int8_t, int32_t, int64_t

from hdpkit.measures._measure cimport CompiledBank, measure_t
from hdpkit.stores._explicit cimport ExplicitStore
from hdpkit.steps._walk cimport Walk
from hdpkit.random._source cimport choice_source
from hdpkit.vectors cimport vector

cdef extern from *:
    """
    #define HDPKIT_LEAST_TOTAL 1e-200
    """
    double LEAST_TOTAL "HDPKIT_LEAST_TOTAL"


cdef class Units:
    cdef vector[int32_t] code, customer, table, node
    cdef vector[int64_t] offset, table_offset
    cdef int64_t n_customers        # of the seating
    cdef readonly int32_t level     # level of the restaurants with these tables
    cdef object bounds              # that a fused step keeps with these units
    cdef int64_t serial, seen       # the seating in which they were found, and its number of changes then

    cdef int64_t number(self, int64_t unit) except -1
    cdef int found_in(self, ExplicitStore store, int32_t level) except -1
    cdef int kept(self, ExplicitStore store) except -1


cdef double weigh_again(measure_t *measure, const int32_t *block, int64_t size, const int32_t *slots, int64_t n,
                        const double *prior, double *w) noexcept nogil
cdef int misplaced(int64_t customer, str allowed, str remedy) except -1
cdef int fail(str what, int64_t who) except -1 with gil
cdef int reseat_one(Walk walk, measure_t *measure, int32_t customer, vector[double] *weights,
                    choice_source *source) except -1 nogil
cdef int serve_below(ExplicitStore store, Units units, int64_t u, int32_t dish) except -1 nogil
