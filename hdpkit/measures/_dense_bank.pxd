"""Statistics of dishes as rows of doubles, for conjugate measures whose statistics have a fixed width."""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.measures._measure cimport CompiledBank

cdef enum:
    SCORES = 4


# Place 0 is a dish without values; slot s has place s + 1. A row holds the statistics of a place, the number of values
# first; a cache holds numbers that the measure computes from the row and its parameters. Their widths are the same for
# all places. The functions belong to a measure; `model` holds its parameters and values.
cdef cppclass dense_t:
    void *model
    int64_t width, cache_width, n_values
    vector[double] rows, caches, block
    vector[char] stale              # whether a place's cache is out of date
    # A removed value still in the statistics of its place (0: none): most are added to the same place again.
    int64_t left_place
    int32_t left_customer
    int32_t last_customer           # of the last predictive
    vector[double] scores           # of consecutive customers, by place
    vector[int32_t] scored          # the first of them; -1: none
    # add a customer's value to a row (sign 1), or remove it (-1)
    void (*count)(void *model, double *row, int32_t customer, double sign) noexcept nogil
    # negative if the statistics are invalid for the measure
    int (*refresh)(void *model, const double *row, double *cache) noexcept nogil
    # log density of a customer's value under a place, nats
    double (*log_value)(void *model, const double *cache, int32_t customer) noexcept nogil
    # log density of the values whose statistics are `block` under a place, chain rule included
    double (*log_values)(void *model, const double *row, const double *cache, const double *block) noexcept nogil
    # For measures where the density of a value depends on the cache by one number, its score (NULL: not). They leave
    # out log_value.
    double (*score)(void *model, const double *cache, int32_t customer) noexcept nogil
    # the scores of SCORES consecutive customers, the same bits
    void (*score_some)(void *model, const double *cache, int32_t first, double *out) noexcept nogil
    double (*log_scored)(void *model, const double *cache, double score) noexcept nogil
    # log density of one of the place's own values under the others; NaN if digits would be lost
    double (*log_without)(void *model, const double *cache, double score) noexcept nogil
    # Update a cache after a customer was added to the row (sign 1) or removed (-1); negative if it must be computed from
    # the row, as always if there is no such function.
    int (*change)(void *model, const double *row, double *cache, int32_t customer, double sign) noexcept nogil


cdef inline const double *first_of(const double[::1] numbers) noexcept:
    return &numbers[0]


cdef class DenseBank(CompiledBank):
    cdef dense_t d
    cdef readonly object make_statistics, values, offset
    cdef object given               # arrays of the parameters, to which the model points

    cdef const double[:, ::1] keep(self, values, make_statistics, bint centred)
    cdef int set_up(self, void *model, int64_t n_customers, int64_t width, int64_t cache_width) except -1
    cdef bint use(self, object numbers) except -1
