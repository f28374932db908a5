"""Counts of terms by dish slot and the predictive factors of sparse topics, for the sweeps."""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.measures._block_ratios cimport BlockRatios
from hdpkit.measures._dish_values cimport DishValues
from hdpkit.measures._near_selection cimport NearEntries
from hdpkit.measures._proportions cimport Proportions
from hdpkit.measures._selection cimport SelectionTable
from hdpkit.measures._selection_law cimport SelectionLaw
from hdpkit.measures._term_counts cimport TermCounts


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
    vector[double] product          # scratch, by requested slot: weights of a block,
    vector[int32_t] more            # number of its terms that the dish doesn't have,
    vector[int32_t] here            # and counts of one of them
    vector[double] table            # log-gamma ratios by count


cdef int sparse_grow(void *self, int64_t slots) except -1 nogil
cdef int sparse_died(void *self, int32_t slot) noexcept nogil
cdef int sparse_add(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil
cdef int sparse_remove(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil
cdef int sparse_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n, double *out) noexcept nogil
cdef int sparse_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                          double *out) noexcept nogil
cdef const SelectionLaw *law_of(SparseCounts *b, int32_t slot) noexcept nogil
cdef const SlotFactors *factors_of(SparseCounts *b, int32_t slot) noexcept nogil
cdef int factors_at(void *self, int32_t slot, int64_t distinct, int64_t total, double *out) noexcept nogil


cdef inline double smoothing_of(const SparseCounts *b, int32_t slot) noexcept nogil:
    return b.smoothing if b.own == NULL else b.own.of_slot[slot]
