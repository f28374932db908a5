"""Counts of terms by dish slot and the predictive factors of sparse topics, for the sweeps."""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.measures._measure cimport DishValues
from hdpkit.measures._selection cimport BlockRatios, NearEntries, SelectionTable
from hdpkit.measures._selection_nodes cimport SelectionLaw
from hdpkit.measures._term_counts cimport TermCounts, TermCountsBank


cdef cppclass Proportions:
    vector[double] log_pi           # of each slot; 1.0 if it has none
    vector[double] log_rest         # log(1 - pi)
    vector[int64_t] versions        # of each slot, changed by every change of its proportion
    bint integrated                 # whether the proportions are currently integrated out
    int64_t stamps                  # last version used


cdef class ProportionTable:
    cdef Proportions p
    cdef int make_room(self, int64_t n_slots) except -1
    cdef int set_one(self, int32_t slot, double log_pi, double log_rest) except -1


cdef struct SlotFactors:
    int64_t n_distinct              # terms and values for which the factors are valid; -1: none
    int64_t total
    int64_t law                     # stamp of the distribution for which they are valid
    double inside                   # f(v) = (n_v + smoothing) * inside for terms that the dish has
    double outside                  # f(v) of other terms
    double log_share


cdef cppclass SparseCounts(TermCounts):
    double smoothing                # of a dish without values, if each dish has one
    DishValues *own                 # if each dish has a smoothing; otherwise NULL
    vector[int64_t] distinct        # number of distinct terms of each slot
    vector[SlotFactors] factors     # of each slot, recomputed when the slot has changed
    vector[NearEntries] near          # of each slot
    vector[SelectionLaw] laws       # of each slot, if proportions are stored or each dish has a smoothing
    vector[int64_t] seen            # stamp of the proportion used in the slot's distribution, 0 for none
    SlotFactors of_new              # of a dish without values; pi is integrated out or the same for all
    SelectionLaw shared             # the distribution with pi integrated out, or the same for all
    SelectionTable sums
    Proportions *given              # NULL: dishes have no separate proportions
    BlockRatios ratios              # of small blocks
    # scratch, by requested slot: smoothings, weights of a block and their logs,
    vector[double] base, product, logs
    vector[int32_t] more            # number of its terms that the dish doesn't have,
    vector[int32_t] here            # and counts of one of them
    vector[double] table            # log-gamma ratios by count


cdef const SlotFactors *factors_of(SparseCounts *b, int32_t slot) noexcept nogil
cdef int factors_at(void *self, int32_t slot, int64_t distinct, int64_t total, double *out) noexcept nogil


cdef class SparseDirichletMultinomialBank(TermCountsBank):
    cdef SparseCounts b
    cdef readonly object measure
    cdef ProportionTable proportions

    cdef int take_parameters(self, object measure) except -1
    cdef int count_distinct(self) except -1
    cdef double log_sum(self, int32_t slot) except? 1.0
