"""Changes of counts by term and slot as bytes."""

from libc.stdint cimport int32_t, int64_t

cdef bytes take_sparse(int32_t *cells, int64_t n_terms, int64_t stride, int64_t n_slots)
cdef int add_sparse(bytes sparse, int32_t *cells, int64_t n_terms, int64_t stride, int64_t n_slots) except -1
