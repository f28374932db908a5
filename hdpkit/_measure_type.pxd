"""A base measure in C, as `include/hdpkit/measure.h` declares it."""

from libc.stdint cimport int32_t, int64_t, uint32_t

cdef extern from "hdpkit/measure.h":
    ctypedef struct measure_t "hdpkit_measure":
        uint32_t version
        uint32_t size
        void *self
        int (*born)(void *self, int32_t slot) noexcept nogil
        int (*died)(void *self, int32_t slot) noexcept nogil
        int (*add)(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil
        int (*remove)(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil
        int (*move)(void *self, int32_t source, int32_t to) noexcept nogil
        int (*predictive)(void *self, int32_t customer, const int32_t *slots, int64_t n,
                          double *out) noexcept nogil
        int (*log_block)(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                         int64_t n, double *out) noexcept nogil
        int (*block)(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                     int64_t n, double *out) noexcept nogil
        int (*marginal)(void *self, int32_t slot, double *out) noexcept nogil
    enum:
        MEASURE_VERSION "HDPKIT_MEASURE_VERSION"
    const char *MEASURE_CAPSULE "HDPKIT_MEASURE_CAPSULE"
