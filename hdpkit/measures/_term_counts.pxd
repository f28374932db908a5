"""Counts of terms by dish slot: storage of the banks of measures over terms, read by sweeps."""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.measures._measure cimport CompiledBank
from hdpkit.numerics cimport log_gamma_ratio, log_rising

cdef enum:
    LINE = 16            # counts on a cache line


cdef cppclass TermCounts:
    const int32_t *terms            # of each data customer; owned by the Python object
    int64_t n_terms
    int64_t stride                  # capacity of a row in slots
    int32_t *counts                 # n_terms rows of stride, each beginning on a cache line
    vector[int32_t] cells           # their memory
    int64_t version                 # increases with every change of counts by a function of the bank
    vector[int64_t] totals          # of each slot
    vector[int32_t] block           # scratch: count of each term in a block, zero between calls
    vector[int32_t] touched         # scratch: the terms of the block in order of appearance
    vector[int64_t] tally           # cells by count
    vector[int32_t] rare            # counts too large for the tally, one per cell
    int64_t tallied                 # version of the counts for which these are valid
    int (*grow)(void *self, int64_t slots) except -1 nogil      # makes room for slots and what is derived from them


cdef int clear_counts(TermCounts *b, int64_t stride) except -1 nogil
cdef int grow_counts(TermCounts *b, int64_t stride) except -1 nogil
cdef int counts_born(void *self, int32_t slot) noexcept nogil
cdef int clear_slot(TermCounts *b, int32_t slot) noexcept nogil
cdef int gather_block(TermCounts *b, const int32_t *customers, int64_t n_customers) noexcept nogil


cdef inline int64_t wider(int64_t stride, int64_t slots) noexcept nogil:
    """A stride for this many slots, in complete cache lines; it grows by a quarter each time."""
    while stride < slots:
        stride = (stride + stride // 4 + LINE) // LINE * LINE
    return stride


cdef inline double rising(double a, int64_t n, double power) noexcept nogil:
    """log G(a + power n) / G(a)."""
    return log_rising(a, n) if power == 1.0 else log_gamma_ratio(a, power * n)


cdef class TermCountsBank(CompiledBank):
    cdef TermCounts *rows           # part of the subclass's struct
    cdef readonly object terms
    cdef readonly object workspace  # of the fused sweeps, kept between calls

    cdef int keep_counts(self, TermCounts *rows, object terms, int64_t n_terms,
                         int (*grow)(void *self, int64_t slots) except -1 nogil) except -1
    cdef int grow(self, int64_t slots) except -1
    cdef int recount(self, const int32_t[::1] dishes, object slots) except -1
    cdef int recount_cells(self, object terms, object dishes, object counts, object slots) except -1
    cdef int relabel(self, const int32_t[::1] mapping) except -1
    cdef int tally_cells(self) except -1 nogil
    cdef bint has_all(self, const int32_t[::1] slots) noexcept
    cdef double rising_total(self, const vector[double] *table, double a, double power) except? -1.0 nogil
    cdef int64_t count_bytes(self) noexcept
    cdef object workspace_bytes(self)
