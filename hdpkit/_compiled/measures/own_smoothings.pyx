# distutils: language = c++
"""C functions for sweeps over sparse topics with a separate smoothing for each dish.

The sums over selections of a dish depend on its smoothing: each slot has a distribution of the number of
selected terms, and all use the same table of sums. Smoothings are drawn and stored in Python; the bank has a
copy by slot for the sweeps, and Python is notified of steps by the functions of `OwnSmoothings`. The
interpreter lock is taken when a dish is born or dies, and for a block of several customers.
"""

from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport has_room, no_memory

from hdpkit._compiled.measures.auxiliary_sums cimport log_sum_without, set_beside
from hdpkit._compiled.measures.block_ratios cimport STEPS, block_ratio, hold_for, ready_ratios
from hdpkit._compiled.measures.near_selection cimport near_value
from hdpkit._compiled.measures.proportions cimport has_proportion
from hdpkit._compiled.measures.selection cimport log_sum_ratio, selection_at, set_given
from hdpkit._compiled.measures.selection_nodes cimport Coefficients
from hdpkit._compiled.measures.selection_law cimport SelectionLaw
from hdpkit._compiled.measures.sparse_counts cimport (
    SlotFactors, SparseCounts, factors_of, sparse_add, sparse_born, sparse_died, sparse_remove)
from hdpkit._compiled.measures.term_counts cimport gather_block
from hdpkit.numerics cimport det_exp, det_log, log_rising

cdef enum:
    FACTORS = 16         # each from 1e-6 to 3e9; their product times 1e-150 .. 1e150 is within the range of doubles

cdef double LEAST = 1e-100                    # smallest ratio of sums; a smaller one may have lost digits


# ------------------------------------------------------------------------------------------- one dish


cdef const SelectionLaw *own_law(OwnSmoothings *s, int32_t slot) noexcept nogil:
    """The distribution of a slot's selection, given its smoothing and its proportion, if it has one."""
    cdef SparseCounts *b = s.b
    cdef int64_t stamp = b.given.stamp[slot] if has_proportion(b.given, slot) else 0
    if b.seen[slot] != stamp:
        if stamp > 0:
            set_given(&b.sums, &b.laws[slot], b.n_terms, s.own[slot], b.given.log_pi[slot], b.given.log_rest[slot])
        else:
            set_beside(b, &b.laws[slot], s.own[slot])
        b.seen[slot] = stamp
    return &b.laws[slot]


cdef const Coefficients *own_value(OwnSmoothings *s, int32_t slot) noexcept nogil:
    """Present factors of a slot; NULL if out of memory."""
    cdef SparseCounts *b = s.b
    return near_value(&b.near[slot], &b.sums, own_law(s, slot), b.distinct[slot], b.totals[slot])


cdef int own_born(void *self, int32_t slot) noexcept nogil:
    cdef OwnSmoothings *s = <OwnSmoothings *>self
    if sparse_born(s.b, slot) < 0:
        return -1
    if not has_room(s.own, s.b.stride):
        return no_memory()
    while <int64_t>s.own.size() < s.b.stride:
        s.own.push_back(s.b.smoothing)
    with gil:
        return s.tell_born(s.checkpoints, slot)


cdef int own_died(void *self, int32_t slot) noexcept nogil:
    cdef OwnSmoothings *s = <OwnSmoothings *>self
    with gil:
        s.failed = s.tell_died(s.checkpoints, slot) < 0 or s.failed
    return sparse_died(s.b, slot)


cdef int own_add(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef OwnSmoothings *s = <OwnSmoothings *>self
    cdef int status = 0
    s.leaving_slot = -1
    if s.failed:        # a death can't fail: its failure is reported here, and all statistics are then recomputed
        s.failed = False
        return no_memory()
    if s.pending or s.n_lent > 0:
        with gil:
            status = s.tell_end(s.checkpoints, customers, n)
    return sparse_add(s.b, slot, customers, n) if status >= 0 else -1


cdef int own_remove(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef OwnSmoothings *s = <OwnSmoothings *>self
    cdef int status = 0
    s.leaving_slot = slot
    s.leaving_customer = customers[0]
    if s.pending:
        with gil:
            status = s.tell_begin(s.checkpoints)
    return sparse_remove(s.b, slot, customers, n) if status >= 0 else -1


cdef int own_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n, double *out) noexcept nogil:
    cdef OwnSmoothings *s = <OwnSmoothings *>self
    cdef SparseCounts *b = s.b
    cdef const int32_t *row = b.counts + <int64_t>b.terms[customer] * b.stride
    cdef const Coefficients *of
    cdef const SlotFactors *of_new
    cdef int64_t i
    for i in range(n):
        of = own_value(s, slots[i])
        if of == NULL:
            return no_memory()
        out[i] = (row[slots[i]] + s.own[slots[i]]) * of.inside if row[slots[i]] > 0 else of.outside
    of_new = factors_of(b, -1)
    if of_new == NULL:
        return no_memory()
    out[n] = of_new.outside
    return 0


# ------------------------------------------------------------------------------------------- blocks


cdef void count_block(OwnSmoothings *s, const int32_t *slots, int64_t n, int64_t n_columns) noexcept nogil:
    """Rising factorials of n_v + smoothing over the block's terms, and the number of these terms new to each column.

    Columns are the slots, then auxiliary dishes. Factors in `product` are not included in `logs`. The block
    is cleared.
    """
    cdef SparseCounts *b = s.b
    cdef int64_t place, i, j, since = 0     # number of factors since all products were last checked
    cdef int32_t term, count
    cdef int32_t *more = b.more.data()
    cdef int32_t *here = b.here.data()
    cdef double *product = b.product.data()
    cdef double *logs = s.logs.data()
    cdef const double *base = s.base.data()
    cdef const int32_t *row
    for i in range(n, n_columns):
        here[i] = 0
    for place in range(<int64_t>b.touched.size()):
        term = b.touched[place]
        count = b.block[term]
        b.block[term] = 0
        row = b.counts + <int64_t>term * b.stride
        for i in range(n):
            here[i] = row[slots[i]]
        for i in range(n_columns):
            more[i] += here[i] == 0
        if count > FACTORS:
            for i in range(n_columns):
                logs[i] += log_rising(base[i] + here[i], count)
            continue
        since += count
        if since > FACTORS:
            since = count
            for i in range(n_columns):
                if product[i] > 1e150 or product[i] < 1e-150:
                    logs[i] += det_log(product[i])
                    product[i] = 1.0
        for j in range(count):
            for i in range(n_columns):
                product[i] *= base[i] + j + here[i]


cdef int add_sums(OwnSmoothings *s, int32_t slot, int64_t n_customers, int64_t column) noexcept nogil:
    """Add the log ratio of Z with and without the block, and of the product, to the logs; -1 if out of memory."""
    cdef SparseCounts *b = s.b
    cdef const SelectionLaw *law = own_law(s, slot)
    cdef int64_t distinct = b.distinct[slot], total = b.totals[slot], before, after
    cdef double ratio, share
    cdef double *log_of = &s.logs[column]
    log_of[0] += det_log(b.product[column])
    if n_customers <= STEPS:
        hold_for(&b.ratios, slot, distinct, total, law.stamp)
        ratio = block_ratio(&b.ratios, slot, n_customers, b.more[column], &b.near[slot], &b.sums, law)
        if ratio < 0.0:
            return -1
        if ratio > LEAST:
            log_of[0] += det_log(ratio)
            return 0
    before = selection_at(&b.sums, law, distinct, total)
    if before < 0:
        return -1
    share = b.sums.log_shares[before]
    after = selection_at(&b.sums, law, distinct + b.more[column], total + n_customers)     # may move those at `before`
    if after < 0:
        return -1
    log_of[0] += log_sum_ratio(
        law, distinct, total, share, distinct + b.more[column], total + n_customers, b.sums.log_shares[after])
    return 0


cdef int add_sums_of_new(OwnSmoothings *s, double smoothing, int64_t n_customers, int64_t column) noexcept nogil:
    """Add the log of Z with the block, and of the product, to the logs for an auxiliary dish; -1 if out of memory."""
    cdef double log_sum = log_sum_without(&s.sums, s.b, smoothing, s.b.more[column], n_customers)
    s.logs[column] += det_log(s.b.product[column]) + log_sum
    return 0 if log_sum == log_sum else -1


cdef double log_mean(const double *logs, int64_t n) noexcept nogil:
    """Log of the mean of n probabilities."""
    cdef double top = logs[0], total = 0.0
    cdef int64_t i
    for i in range(1, n):
        if logs[i] > top:
            top = logs[i]
    if not isfinite(top):
        return top
    for i in range(n):
        total += det_exp(logs[i] - top)
    return top + det_log(total / n)


cdef int own_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                       double *out) noexcept nogil:
    """Log ratio of the marginals with and without the block; last, the log of its mean over auxiliary dishes.

    A single customer has the same probability under all auxiliary dishes, so none are drawn for it.
    """
    cdef OwnSmoothings *s = <OwnSmoothings *>self
    cdef SparseCounts *b = s.b
    cdef const SlotFactors *of_new
    cdef int64_t i, n_columns
    cdef int status
    s.offered.clear()
    if n_customers != 1:
        with gil:
            status = s.tell_offer(s.checkpoints, customers, n_customers)
        if status < 0:
            return -1
    n_columns = n + <int64_t>s.offered.size()
    if not (has_room(b.product, n_columns) and has_room(b.more, n_columns) and has_room(b.here, n_columns)
            and has_room(s.base, n_columns) and has_room(s.logs, n_columns)
            and ready_ratios(&b.ratios, b.stride) == 0):
        return no_memory()
    if gather_block(b, customers, n_customers) < 0:
        return -1
    b.product.assign(n_columns, 1.0)
    b.more.assign(n_columns, 0)
    b.here.assign(n_columns, 0)
    s.logs.assign(n_columns, 0.0)
    s.base.clear()
    for i in range(n):
        s.base.push_back(s.own[slots[i]])
    for i in range(n, n_columns):
        s.base.push_back(s.offered[i - n])
    count_block(s, slots, n, n_columns)
    for i in range(n_columns):
        status = add_sums(s, slots[i], n_customers, i) if i < n else add_sums_of_new(s, s.base[i], n_customers, i)
        if status < 0:
            return no_memory()
    for i in range(n):
        out[i] = s.logs[i]
    if n_customers == 1:
        of_new = factors_of(b, -1)
        if of_new == NULL:
            return no_memory()
        out[n] = det_log(of_new.outside)
        return 0
    s.first_log = n
    s.pending = True
    out[n] = log_mean(s.logs.data() + n, n_columns - n)
    return 0
