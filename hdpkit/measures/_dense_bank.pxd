"""Statistics of dishes as rows of doubles, for conjugate measures whose statistics have a fixed width."""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.measures._measure cimport CompiledBank

cdef extern from *:
    """
    #include <stdint.h>
    #include <vector>
    /* Place 0 is a dish without values; slot s has place s + 1. A row holds the statistics of a place, the
       number of values first; a cache holds numbers that the measure computes from the row and its
       parameters. Their widths are the same for all places. The functions belong to a measure; `model` holds
       its parameters and values. */
    struct hdpkit_dense {
        void *model;
        int64_t width, cache_width, n_values;
        std::vector<double> rows, caches, block;
        std::vector<char> stale;    /* whether a place's cache is out of date */
        /* A removed value still in the statistics of its place (0: none): most are added to the same place again. */
        int64_t left_place;
        int32_t left_customer;
        int32_t last_customer;      /* of the last predictive */
        std::vector<double> scores;    /* of consecutive customers, by place */
        std::vector<int32_t> scored;   /* the first of them; -1: none */
        void (*add)(void *model, double *row, int32_t customer);
        void (*remove)(void *model, double *row, int32_t customer);
        /* negative if the statistics are invalid for the measure */
        int (*refresh)(void *model, const double *row, double *cache);
        /* log density of a customer's value under a place, nats */
        double (*log_value)(void *model, const double *cache, int32_t customer);
        /* log density of the values whose statistics are `block` under a place, chain rule included */
        double (*log_values)(void *model, const double *row, const double *cache, const double *block);
        /* For measures where the density of a value depends on the cache by one number, its score (NULL: not). They
           leave out log_value. */
        double (*score)(void *model, const double *cache, int32_t customer);
        /* the scores of HDPKIT_SCORES consecutive customers, the same bits */
        void (*score_some)(void *model, const double *cache, int32_t first, double *out);
        double (*log_scored)(void *model, const double *cache, double score);
        /* log density of one of the place's own values under the others; NaN if digits would be lost */
        double (*log_without)(void *model, const double *cache, double score);
        /* Update a cache after a customer was added to the row (sign 1) or removed (-1); negative if it must be
           computed from the row, as always if there is no such function. */
        int (*change)(void *model, const double *row, double *cache, int32_t customer, double sign);
    };
    enum { HDPKIT_SCORES = 4 };
    """
    enum: SCORES "HDPKIT_SCORES"
    cdef cppclass dense_t "hdpkit_dense":
        void *model
        int64_t width, cache_width, n_values
        vector[double] rows, caches, block
        vector[char] stale
        int64_t left_place
        int32_t left_customer, last_customer
        vector[double] scores
        vector[int32_t] scored
        void (*add)(void *model, double *row, int32_t customer) noexcept nogil
        void (*remove)(void *model, double *row, int32_t customer) noexcept nogil
        int (*refresh)(void *model, const double *row, double *cache) noexcept nogil
        double (*log_value)(void *model, const double *cache, int32_t customer) noexcept nogil
        double (*log_values)(void *model, const double *row, const double *cache,
                             const double *block) noexcept nogil
        double (*score)(void *model, const double *cache, int32_t customer) noexcept nogil
        void (*score_some)(void *model, const double *cache, int32_t first, double *out) noexcept nogil
        double (*log_scored)(void *model, const double *cache, double score) noexcept nogil
        double (*log_without)(void *model, const double *cache, double score) noexcept nogil
        int (*change)(void *model, const double *row, double *cache, int32_t customer, double sign) noexcept nogil


cdef list parameters_of(object measure)
cdef int take_numbers(vector[double] *to, const double[::1] numbers) except -1 nogil


cdef class DenseBank(CompiledBank):
    cdef dense_t d
    cdef readonly object make_statistics, values, offset

    cdef const double[:, ::1] keep(self, values, make_statistics, bint centred)
    cdef int set_up(self, void *model, int64_t n_customers, int64_t width, int64_t cache_width) except -1
    cdef bint parameters_changed(self) except -1
