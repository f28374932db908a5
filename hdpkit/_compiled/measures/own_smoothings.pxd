"""Smoothings of sparse topics by slot, and the C functions of their bank for sweeps."""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.measures.auxiliary_sums cimport AuxiliarySums
from hdpkit._compiled.measures.selection_nodes cimport Coefficients
from hdpkit._compiled.measures.selection_law cimport SelectionLaw
from hdpkit._compiled.measures.sparse_counts cimport SparseCounts

# Functions of the bank, called with the interpreter lock; if the result is negative, an exception is set.
ctypedef int (*of_slot_t)(void *checkpoints, int32_t slot) noexcept
ctypedef int (*of_step_t)(void *checkpoints) noexcept
ctypedef int (*of_customers_t)(void *checkpoints, const int32_t *customers, int64_t n) noexcept


cdef cppclass OwnSmoothings:
    SparseCounts *b                 # the counts; its smoothing is that of a dish without values
    void *checkpoints                    # the bank, which owns all this
    of_slot_t tell_born             # draws a smoothing for the dish of a slot
    of_slot_t tell_died             # negative: out of memory; no exception is set
    of_step_t tell_begin            # customers have left a dish: discards earlier auxiliary dishes
    of_customers_t tell_end         # these customers are seated
    of_customers_t tell_offer       # draws auxiliary dishes for these customers into `offered`
    vector[double] own              # smoothing of each slot
    vector[double] offered          # smoothings of the auxiliary dishes of a block
    vector[double] base             # scratch, by column: smoothings of a block,
    vector[double] logs             # and log probabilities,
    int64_t first_log               # place of the first log probability of an auxiliary dish
    AuxiliarySums sums
    int32_t leaving_slot            # slot of the last removal, and its first customer
    int32_t leaving_customer
    int64_t n_lent                  # unseated customers for whom a smoothing is recorded
    bint pending                    # whether the next new dish is an auxiliary one
    bint failed                     # whether an allocation failed at a death


cdef const SelectionLaw *own_law(OwnSmoothings *s, int32_t slot) noexcept nogil
cdef const Coefficients *own_value(OwnSmoothings *s, int32_t slot) noexcept nogil
cdef int own_born(void *self, int32_t slot) noexcept nogil
cdef int own_died(void *self, int32_t slot) noexcept nogil
cdef int own_add(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil
cdef int own_remove(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil
cdef int own_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n, double *out) noexcept nogil
cdef int own_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                       double *out) noexcept nogil
