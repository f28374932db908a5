"""Ratios of the sums over selections with and without a small block of customers, cached by slot.

The ratio depends only on the size of the block, the number of its terms that the dish doesn't have, and the
dish's numbers of terms and customers. A sweep over tables uses the same ratios many times, because each table
changes at most two dishes.
"""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport has_room, vector

from hdpkit.measures._near_selection cimport NearEntries, near_value
from hdpkit.measures._selection cimport SelectionTable
from hdpkit.measures._selection_nodes cimport Coefficients
from hdpkit.measures._selection_law cimport SelectionLaw

cdef enum:
    STEPS = 24           # most customers of a small block
    RATIOS = (STEPS + 1) * (STEPS + 2) // 2


cdef cppclass BlockRatios:
    vector[double] values           # by size and new terms, then by slot; negative: not computed
    vector[int64_t] distinct        # the terms and customers of each slot for which they are valid,
    vector[int64_t] total
    vector[int64_t] stamp           # and the distribution
    int64_t n_slots


cdef inline int ready_ratios(BlockRatios *kept, int64_t n_slots) noexcept nogil:
    """Make room for this many slots; -1 if out of memory. If the number changes, the cache is cleared."""
    if kept.n_slots == n_slots:
        return 0
    if not (has_room(kept.values, RATIOS * n_slots) and has_room(kept.distinct, n_slots)
            and has_room(kept.total, n_slots) and has_room(kept.stamp, n_slots)):
        return -1
    kept.values.resize(RATIOS * n_slots)
    kept.distinct.resize(n_slots)
    kept.total.resize(n_slots)
    kept.stamp.assign(n_slots, -1)
    kept.n_slots = n_slots
    return 0


cdef inline void hold_for(BlockRatios *kept, int32_t slot, int64_t distinct, int64_t total, int64_t stamp) noexcept nogil:
    """Prepare a slot for these numbers: ratios for other numbers are discarded."""
    cdef int64_t i
    cdef double *value
    if kept.distinct[slot] != distinct or kept.total[slot] != total or kept.stamp[slot] != stamp:
        value = kept.values.data() + slot
        for i in range(RATIOS):
            value[i * kept.n_slots] = -1.0
        kept.distinct[slot] = distinct
        kept.total[slot] = total
        kept.stamp[slot] = stamp


cdef inline double *ratio_at(BlockRatios *kept, int32_t slot, int64_t size, int64_t more) noexcept nogil:
    return kept.values.data() + ((size * (size + 1) // 2 + more) * kept.n_slots + slot)


cdef inline double block_ratio(BlockRatios *kept, int32_t slot, int64_t size, int64_t more, NearEntries *near,
                               SelectionTable *table, const SelectionLaw *law) noexcept nogil:
    """Z with a block of this size and ``more`` new terms, over Z without it; negative if out of memory.

    It is a product over the customers, new terms first: outside / smoothing for a new term, inside for any
    other.
    """
    cdef double *found = ratio_at(kept, slot, size, more)
    cdef const Coefficients *value
    cdef double ratio = 1.0
    cdef int64_t i
    if found[0] < 0.0:
        for i in range(size):
            value = near_value(near, table, law, kept.distinct[slot] + min(i, more), kept.total[slot] + i)
            if value == NULL:
                return -1.0
            ratio *= value.outside / law.smoothing if i < more else value.inside
        found[0] = ratio
    return found[0]


cdef inline int64_t ratio_bytes(const BlockRatios *kept) noexcept nogil:
    return (kept.values.capacity() * sizeof(double)
            + (kept.distinct.capacity() + kept.total.capacity() + kept.stamp.capacity()) * sizeof(int64_t))
