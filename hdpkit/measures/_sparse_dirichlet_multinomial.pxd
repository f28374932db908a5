"""The bank of the sparse Dirichlet-multinomial, for the fused sweeps."""

from libc.stdint cimport int32_t, int64_t

from hdpkit.measures._proportions cimport ProportionTable
from hdpkit.measures._sparse_counts cimport SparseCounts
from hdpkit.measures._term_counts cimport TermCountsBank


cdef class SparseDirichletMultinomialBank(TermCountsBank):
    cdef SparseCounts b
    cdef readonly object measure
    cdef ProportionTable proportions

    cdef int take_parameters(self, object measure) except -1
    cdef int count_distinct(self) except -1
    cdef double log_sum(self, int32_t slot) except? 1.0
