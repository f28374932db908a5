# distutils: language = c++
"""C functions of sparse topics for sweeps, over counts of terms by dish slot.

Z(a, N) depends only on the dish's numbers of distinct terms and of values. So f(v) is (n_v + smoothing) times
a factor for terms that the dish has, and a constant for all others; both are recomputed when the dish is used
after a change.
"""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport has_room, no_memory

from hdpkit.measures._block_ratios cimport STEPS, block_ratio, hold_for, ready_ratios
from hdpkit.measures._near_selection cimport forget_entries, near_values
from hdpkit.measures._proportions cimport has_proportion
from hdpkit.measures._selection cimport log_sum_ratio, selection_at, set_given
from hdpkit.measures._selection_law cimport SelectionLaw
from hdpkit.measures._term_counts cimport clear_slot, gather_block, grow_counts, wider
from hdpkit.numerics cimport det_log, log_rising

cdef enum:
    FACTORS = 16         # each from 1e-6 to 3e9; their product times 1e-150 .. 1e150 is within the range of doubles

cdef double LEAST = 1e-100                    # smallest ratio of sums; a smaller one may have lost digits


cdef int sparse_grow(void *self, int64_t slots) except -1 nogil:
    cdef SparseCounts *b = <SparseCounts *>self
    cdef int64_t stride = wider(b.stride, slots), before = b.stride, k
    if stride == before:
        return 0
    b.distinct.reserve(stride)
    b.factors.reserve(stride)
    b.laws.reserve(stride)
    b.near.reserve(stride)
    b.seen.reserve(stride)
    grow_counts(b, stride)      # nothing below can fail
    b.distinct.resize(stride, 0)
    b.factors.resize(stride)
    b.laws.resize(stride)
    b.near.resize(stride)
    b.seen.resize(stride, -1)
    for k in range(before, stride):
        b.factors[k].n_distinct = -1
        forget_entries(&b.near[k], 0, 0)
    return 0


cdef int sparse_died(void *self, int32_t slot) noexcept nogil:
    cdef SparseCounts *b = <SparseCounts *>self
    if b.totals[slot] != 0:      # only scratch slots of a rejected proposal still have counts
        clear_slot(b, slot)
        b.distinct[slot] = 0
    return 0


cdef int sparse_add(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef SparseCounts *b = <SparseCounts *>self
    cdef int64_t i
    cdef int32_t *count
    for i in range(n):
        count = b.counts + <int64_t>b.terms[customers[i]] * b.stride + slot
        b.distinct[slot] += count[0] == 0
        count[0] += 1
    b.totals[slot] += n
    b.version += 1
    return 0


cdef int sparse_remove(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef SparseCounts *b = <SparseCounts *>self
    cdef int64_t i
    cdef int32_t *count
    for i in range(n):
        count = b.counts + <int64_t>b.terms[customers[i]] * b.stride + slot
        count[0] -= 1
        b.distinct[slot] -= count[0] == 0
    b.totals[slot] -= n
    b.version += 1
    return 0


cdef const SelectionLaw *law_of(SparseCounts *b, int32_t slot) noexcept nogil:
    """The distribution of a slot's selection, given its smoothing and its proportion, if it has them."""
    cdef SelectionLaw *law
    cdef int64_t stamp = b.given.stamp[slot] if slot >= 0 and has_proportion(b.given, slot) else 0
    if slot < 0 or (b.own == NULL and stamp == 0):
        return &b.shared
    law = &b.laws[slot]
    if b.seen[slot] != stamp or law.smoothing != smoothing_of(b, slot):
        if stamp > 0:
            set_given(&b.sums, law, b.n_terms, smoothing_of(b, slot), b.given.log_pi[slot], b.given.log_rest[slot])
        else:       # the table keeps its entries
            law[0] = b.shared
            law.smoothing = smoothing_of(b, slot)
            b.sums.last_stamp += 1
            law.stamp = b.sums.last_stamp
        b.seen[slot] = stamp
    return law


cdef inline const SlotFactors *renewed(SparseCounts *b, SlotFactors *kept, const SelectionLaw *law, int64_t distinct,
                                       int64_t total) noexcept nogil:
    """Factors of a dish with these numbers of terms and values; NULL if out of memory."""
    cdef int64_t place
    if kept.n_distinct != distinct or kept.total != total or kept.law != law.stamp:
        place = selection_at(&b.sums, law, distinct, total)
        if place < 0:
            return NULL
        kept.inside = b.sums.values[place].inside
        kept.outside = b.sums.values[place].outside
        kept.log_share = b.sums.log_shares[place]
        kept.n_distinct = distinct
        kept.total = total
        kept.law = law.stamp
    return kept


cdef const SlotFactors *factors_of(SparseCounts *b, int32_t slot) noexcept nogil:
    """Present factors of a slot, or of a new dish (slot -1); NULL if out of memory."""
    if slot < 0:
        return renewed(b, &b.of_new, &b.shared, 0, 0)
    return renewed(b, &b.factors[slot], law_of(b, slot), b.distinct[slot], b.totals[slot])


cdef int factors_at(void *self, int32_t slot, int64_t distinct, int64_t total, double *out) noexcept nogil:
    """Factors of a slot at other numbers of terms and values, then at one value less.

    -1 if out of memory. A dish never has more terms than values; the factors for such numbers have no
    meaning.
    """
    cdef SparseCounts *b = <SparseCounts *>self
    return near_values(&b.near[slot], &b.sums, law_of(b, slot), distinct, total, out)


cdef int sparse_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n,
                           double *out) noexcept nogil:
    cdef SparseCounts *b = <SparseCounts *>self
    cdef const int32_t *row = b.counts + <int64_t>b.terms[customer] * b.stride
    cdef const SlotFactors *of
    cdef int64_t i
    for i in range(n):
        of = factors_of(b, slots[i])
        if of == NULL:
            return no_memory()
        out[i] = (row[slots[i]] + smoothing_of(b, slots[i])) * of.inside if row[slots[i]] > 0 else of.outside
    of = factors_of(b, -1)
    if of == NULL:
        return no_memory()
    out[n] = of.outside
    return 0


cdef void count_block(SparseCounts *b, const int32_t *slots, int64_t n, double *out) noexcept nogil:
    """Rising factorials of n_v + smoothing over the block's terms, and the number of these terms new to each slot.

    Factors in `product` are not included in `out`. The block is cleared.
    """
    cdef int64_t place, i, j, since = 0     # number of factors since all products were last checked
    cdef int32_t term, count
    cdef int32_t *more = b.more.data()
    cdef double *product = b.product.data()
    cdef const int32_t *here
    cdef bint side_by_side = n > 0
    cdef double shifted
    for i in range(1, n):       # slots may be in any order
        side_by_side = side_by_side and slots[i] == slots[0] + i
    for place in range(<int64_t>b.touched.size()):
        term = b.touched[place]
        count = b.block[term]
        b.block[term] = 0
        here = b.counts + <int64_t>term * b.stride
        if side_by_side:
            here += slots[0]
        else:
            for i in range(n):
                b.here[i] = here[slots[i]]
            here = b.here.data()
        for i in range(n):
            more[i] += here[i] == 0
        more[n] += 1
        if count > FACTORS:
            for i in range(n):
                out[i] += log_rising(b.smoothing + here[i], count)
            out[n] += log_rising(b.smoothing, count)
            continue
        since += count
        if since > FACTORS:
            since = count
            for i in range(n + 1):
                if product[i] > 1e150 or product[i] < 1e-150:
                    out[i] += det_log(product[i])
                    product[i] = 1.0
        for j in range(count):
            shifted = b.smoothing + j
            for i in range(n):
                product[i] *= shifted + here[i]
            product[n] *= shifted


cdef int sparse_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                          int64_t n, double *out) noexcept nogil:
    """Log ratio of the marginals with and without the block: ratio of Z, rising factorials of n_v + smoothing."""
    cdef SparseCounts *b = <SparseCounts *>self
    cdef bint small = n_customers <= STEPS
    cdef int64_t i, more, distinct, total, after
    cdef int32_t slot
    cdef const SlotFactors *of
    cdef const SelectionLaw *law
    cdef double ratio
    if not (has_room(b.product, n + 1) and has_room(b.more, n + 1) and has_room(b.here, n)
            and ready_ratios(&b.ratios, b.stride) == 0):
        return no_memory()
    if gather_block(b, customers, n_customers) < 0:
        return -1
    b.product.assign(n + 1, 1.0)
    b.more.assign(n + 1, 0)
    b.here.assign(n, 0)
    for i in range(n + 1):
        out[i] = 0.0
    count_block(b, slots, n, out)
    for i in range(n + 1):
        slot = slots[i] if i < n else -1
        law = law_of(b, slot)
        distinct = b.distinct[slot] if slot >= 0 else 0
        total = b.totals[slot] if slot >= 0 else 0
        more = b.more[i]
        if small and slot >= 0:
            hold_for(&b.ratios, slot, distinct, total, law.stamp)
            ratio = block_ratio(&b.ratios, slot, n_customers, more, &b.near[slot], &b.sums, law)
            if ratio < 0.0:
                return no_memory()
            if ratio > LEAST:
                if 1e-150 < b.product[i] < 1e150:
                    out[i] += det_log(ratio * b.product[i])
                else:
                    out[i] += det_log(ratio) + det_log(b.product[i])
                continue
        of = factors_of(b, slot)
        after = -1 if of == NULL else selection_at(&b.sums, law, distinct + more, total + n_customers)
        if after < 0:
            return no_memory()
        out[i] += log_sum_ratio(law, distinct, total, of.log_share, distinct + more, total + n_customers,
                                b.sums.log_shares[after])
        out[i] += det_log(b.product[i])
    return 0
