from libc.stdint cimport int32_t, int64_t, uint64_t
from hdpkit.vectors cimport vector

from hdpkit.stores._counts cimport CountsStore

cdef enum:
    PIECE = 16            # number of documents whose runs are stored together


cdef class CellsStore(CountsStore):
    cdef readonly object cells
    cdef const int64_t[::1] begin     # first cell of each document, and the end
    cdef int64_t first                # restaurant of document 0; those of the others follow
    cdef const int32_t[::1] term
    cdef const int32_t[::1] count
    cdef vector[vector[int32_t]] runs      # of PIECE documents each
    cdef uint64_t key[2]              # key of the permutation of customers within cells

    cdef int take_runs(self, const int32_t[::1] runs, const int32_t[::1] eaten, const int32_t[::1] n) except -1
