"""The generator Philox 4x64-10 for compiled code (see `include/hdpkit/philox.h`)."""

from libc.stdint cimport uint32_t, uint64_t

cdef extern from "hdpkit/philox.h":
    ctypedef struct philox "hdpkit_philox":
        pass
    void philox_rekey "hdpkit_philox_rekey"(philox *s, uint64_t key0, uint64_t key1, uint64_t word1, uint64_t word2,
                                            uint64_t word3) noexcept nogil
    uint64_t philox_next_uint64 "hdpkit_philox_uint64"(philox *s) noexcept nogil
    uint32_t philox_next_uint32 "hdpkit_philox_uint32"(philox *s) noexcept nogil
    double philox_next_double "hdpkit_philox_double"(philox *s) noexcept nogil
    uint64_t philox_below "hdpkit_philox_below"(philox *s, uint64_t bound) noexcept nogil
