"""Changes of counts in blocks of terms."""

from libc.stdint cimport int32_t, int64_t

cdef bytes take_block(int32_t *cells, int64_t n_terms, int64_t stride, int64_t n_slots, int64_t block, int64_t n_blocks,
                      int n_threads)
cdef int add_blocks(tuple blocks, int32_t *cells, int64_t n_terms, int64_t stride, int64_t n_slots, int n_threads) except -1
