"""Sums over selections for new dishes of a small block of customers, at any smoothing."""

from libc.stdint cimport int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.measures.selection_law cimport SelectionLaw
from hdpkit._compiled.measures.sparse_counts cimport SparseCounts

cdef enum:
    SMALL = 128                 # most customers of a block whose sums use nodes common to all smoothings

    PAIRS = (SMALL + 1) * (SMALL + 2) // 2


cdef struct NodeRange:
    int64_t begin, end          # range of the nodes; empty: not computed yet
    double log_first            # log of smoothing times Z(a, 1), which doesn't depend on the smoothing
    double middle               # mean number of selected terms


cdef cppclass AuxiliarySums:
    int64_t stamp               # of the distribution (dishes without a proportion) for which all this is valid; 0: none
    NodeRange of_terms[SMALL + 1]       # by number of distinct terms
    signed char serve[PAIRS]    # by customers and distinct terms: whether the nodes are accurate; 0: not checked yet
    vector[double] size         # numbers of selected terms at the nodes,
    vector[double] weight       # and weights, which sum to one for each number of different terms
    vector[double] product      # scratch


cdef inline void set_beside(SparseCounts *b, SelectionLaw *law, double smoothing) noexcept nogil:
    """Set the distribution of dishes without a proportion at another smoothing; the table keeps its cells."""
    law[0] = b.shared
    law.smoothing = smoothing
    b.sums.last_stamp += 1
    law.stamp = b.sums.last_stamp


cdef double log_sum_without(AuxiliarySums *kept, SparseCounts *b, double smoothing, int64_t a, int64_t n) noexcept nogil
cdef int64_t auxiliary_bytes(const AuxiliarySums *kept) noexcept nogil
