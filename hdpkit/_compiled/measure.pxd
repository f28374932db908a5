"""A base measure in C: what a compiled sweep calls."""

from libc.stdint cimport int32_t, int64_t, uint32_t

cdef extern from *:
    """
    #include <stdint.h>
    #define HDPKIT_MEASURE_VERSION 1
    /* Statistics of all dishes of one franchise, by slot, and the values of its data customers, by number.
       Version and size come first; a struct of another version is refused. Functions return 0, or a negative
       number where they fail. */
    typedef struct hdpkit_measure {
        uint32_t version;
        uint32_t size;
        void *self;
        int (*born)(void *self, int32_t slot);      /* empty statistics for a slot */
        int (*died)(void *self, int32_t slot);      /* its statistics are no longer needed */
        int (*add)(void *self, int32_t slot, const int32_t *customers, int64_t n);
        int (*remove)(void *self, int32_t slot, const int32_t *customers, int64_t n);
        /* out[0..n-1]: predictive density of one customer's value under each slot, out[n] under a new dish,
           all up to one common positive factor */
        int (*predictive)(void *self, int32_t customer, const int32_t *slots, int64_t n, double *out);
        /* the same for a block of customers, chain rule included */
        int (*block)(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                     int64_t n, double *out);
        /* out[0..n-1]: log p(values of the customers | slot), chain rule included; out[n] under a new dish */
        int (*log_block)(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                         int64_t n, double *out);
    } hdpkit_measure;
    """
    ctypedef struct measure_t "hdpkit_measure":
        uint32_t version
        uint32_t size
        void *self
        int (*born)(void *self, int32_t slot) noexcept nogil
        int (*died)(void *self, int32_t slot) noexcept nogil
        int (*add)(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil
        int (*remove)(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil
        int (*predictive)(void *self, int32_t customer, const int32_t *slots, int64_t n,
                          double *out) noexcept nogil
        int (*block)(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                     int64_t n, double *out) noexcept nogil
        int (*log_block)(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                         int64_t n, double *out) noexcept nogil
    enum:
        MEASURE_VERSION "HDPKIT_MEASURE_VERSION"


cdef class CompiledBank:
    cdef measure_t c
