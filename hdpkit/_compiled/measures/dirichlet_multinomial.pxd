"""Counts of terms by dish slot, for the fused sweeps."""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.measures.measure cimport CompiledBank


cdef cppclass DirichletCounts:
    const int32_t *terms            # of each data customer; owned by the Python object
    int64_t n_terms
    int64_t stride                  # slots that a row has room for
    double eta_sum
    bint plain                      # whether short blocks may be plain products
    vector[double] eta              # of each term
    int32_t *counts                 # n_terms rows of stride, each on cache lines of its own
    vector[int32_t] cells           # where they lie
    int64_t version                 # another one after every change of counts by a function of this file
    vector[int64_t] totals          # of each slot
    vector[double] inverse          # 1 / (totals + eta_sum)
    vector[int32_t] block           # scratch: count of each term in a block, zero between calls
    vector[int32_t] touched         # scratch: the terms of the block in order of appearance
    vector[double] product
    vector[double] table            # log-gamma ratios of a symmetric eta, by count
    vector[int64_t] tally           # cells by count
    vector[int32_t] rare            # counts beyond the tally, one each a cell
    int64_t tallied                 # version of the counts that they belong to


cdef class DirichletMultinomialBank(CompiledBank):
    cdef DirichletCounts b
    cdef readonly object terms
    cdef readonly double smallest_eta
    cdef readonly object workspace  # of the fused sweeps, who keep it from one call to the next

    cdef int relabel(self, const int32_t[::1] mapping) except -1
    cdef int tally_cells(self) except -1 nogil
    cdef bint shares_in_floats(self, object ends) except -1
