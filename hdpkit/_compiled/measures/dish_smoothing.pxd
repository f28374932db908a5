"""The bank of sparse topics with a separate smoothing for each dish."""

from libc.stdint cimport int32_t, int64_t

from hdpkit._compiled.measures.own_smoothings cimport OwnSmoothings
from hdpkit._compiled.measures.sparse_dirichlet_multinomial cimport SparseDirichletMultinomialBank


cdef class DishSmoothingBank(SparseDirichletMultinomialBank):
    cdef OwnSmoothings s
    cdef readonly object kept

    cdef int copy_smoothings(self) except -1
    cdef int begin_smoothing(self, int32_t slot) except -1
    cdef int end_smoothing(self, int32_t slot) except -1
    cdef int end_step(self, const int32_t *customers, int64_t n) except -1
    cdef int begin_step(self) except -1
    cdef int offer(self, const int32_t *customers, int64_t n) except -1
