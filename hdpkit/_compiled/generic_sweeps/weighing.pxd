from libc.stdint cimport int32_t, int64_t

from hdpkit._compiled.measures.measure cimport measure_t
from hdpkit._compiled.walk.walk cimport Walk
from hdpkit.random._source cimport choice_source

cdef extern from *:
    """
    #define HDPKIT_LEAST_TOTAL 1e-200
    """
    double LEAST_TOTAL "HDPKIT_LEAST_TOTAL"

cdef int64_t choose_dish(Walk walk, measure_t *measure, const int32_t *block, int64_t size, int64_t n_live,
                         double *w, choice_source *source) noexcept nogil
cdef double weigh_again(measure_t *measure, const int32_t *block, int64_t size, const int32_t *slots, int64_t n,
                        const double *prior, double *w) noexcept nogil
