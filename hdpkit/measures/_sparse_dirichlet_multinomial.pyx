# distutils: language = c++
"""The compiled banks of the sparse Dirichlet-multinomial.

Z(a, N) depends only on the dish's numbers of distinct terms and of values. So f(v) is (n_v + smoothing) times
a factor for terms that the dish has, and a constant for all others; both are recomputed when the dish is used
after a change.
"""

import numpy as np

from libc.math cimport fabs, isfinite
from libc.stdint cimport int32_t, int64_t

from hdpkit.measures._measure cimport (
    DishValues, as_int32, copy_numbers, hold_numbers, number_bytes, prepare_numbers, set_number)
from hdpkit.measures._measure import HasNumbers
from hdpkit.measures._selection cimport (
    STEPS, NearEntries, block_ratio, forget_entries, hold_for, log_sum_of, log_sum_ratio, near_values, ratio_bytes,
    ready_ratios, selection_at, set_given, set_integrated, table_bytes)
from hdpkit.measures._selection import LIMIT
from hdpkit.measures._selection_nodes cimport SelectionLaw, SelectionNodes, fill_entry, gather, gather_bell
from hdpkit.measures._term_counts cimport TermCountsBank, clear_slot, gather_block, grow_counts, wider
from hdpkit.numerics cimport det_exp, det_log, log_rising
from hdpkit.vectors cimport bytes_of, has_room, no_memory, vector

cdef enum:
    FACTORS = 16         # each from 1e-6 to 3e9; their product times 1e-150 .. 1e150 is within the range of doubles
    TABULATED = 1024     # most counts whose log-gamma ratios are tabulated

cdef double LEAST = 1e-100                    # smallest ratio of sums; a smaller one may have lost digits

# Limits for single precision; see docs/correctness.md, "Where the fused sweep serves", for the analysis.
cdef double NEW_DISH = 1.0 / (1 << 17)        # smallest weight of a new dish / lambda
cdef double LOST = 1e-26                      # smallest weight of a new dish: weights below 1.2e-38 underflow
cdef double LONE_TABLE = 1.0 / (1 << 31) / 2.0
cdef double ROOT_SHARE = 1.0 / (1 << 14)      # smallest 1 - d of the root
cdef double LARGEST_CONCENTRATION = 1e100

# ------------------------------------------------------------------------------------------- proportions
# Of the vocabulary that each dish selects, as logarithms: pi and 1 - pi may be too small for a double.

cdef double NONE = 1.0      # instead of a logarithm, for a slot without a proportion


cdef inline bint has_proportion(Proportions *p, int32_t slot) noexcept nogil:
    """Whether the dish of this slot has a proportion that is not integrated out."""
    return (p != NULL and not p.integrated and slot < <int64_t>p.log_pi.size() and p.log_pi[slot] <= 0.0)


cdef class ProportionTable:
    """The proportion pi of each slot that has one, as (log pi, log(1 - pi)).

    While they are `integrated` out, readers treat every slot as one without.
    """

    def __cinit__(self):
        self.p.integrated = False
        self.p.stamps = 0

    cdef int make_room(self, int64_t n_slots) except -1:
        if <int64_t>self.p.log_pi.size() < n_slots:
            self.p.log_pi.reserve(n_slots)
            self.p.log_rest.reserve(n_slots)
            self.p.versions.reserve(n_slots)       # nothing below can fail
            self.p.log_pi.resize(n_slots, NONE)
            self.p.log_rest.resize(n_slots, NONE)
            self.p.versions.resize(n_slots, 0)
        return 0

    cdef int set_one(self, int32_t slot, double log_pi, double log_rest) except -1:
        self.make_room(slot + 1)
        self.p.stamps += 1
        self.p.log_pi[slot] = log_pi
        self.p.log_rest[slot] = log_rest
        self.p.versions[slot] = self.p.stamps
        return 0

    @property
    def integrated(self):
        return bool(self.p.integrated)

    @integrated.setter
    def integrated(self, value):
        self.p.integrated = bool(value)

    def clear(self):
        """Remove all proportions."""
        cdef int64_t i
        for i in range(<int64_t>self.p.log_pi.size()):
            self.set_one(<int32_t>i, NONE, NONE)

    def get(self, int32_t slot):
        """(log pi, log(1 - pi)) of the dish in a slot; None if it has none or they are integrated out."""
        return (self.p.log_pi[slot], self.p.log_rest[slot]) if has_proportion(&self.p, slot) else None

    def many(self, slots):
        """Proportions of these slots as logarithms: float64, shape (n, 2), NaN if a slot has none."""
        cdef const int32_t[::1] which = np.ascontiguousarray(slots, dtype=np.int32)
        cdef int64_t i
        out = np.full((which.shape[0], 2), np.nan)
        cdef double[:, ::1] view = out
        for i in range(which.shape[0]):
            if which[i] < <int64_t>self.p.log_pi.size() and self.p.log_pi[which[i]] <= 0.0:
                view[i, 0] = self.p.log_pi[which[i]]
                view[i, 1] = self.p.log_rest[which[i]]
        return out

    def put(self, slots, logs):
        """Replace all proportions by those of these slots, shape (n, 2); other slots have none."""
        cdef const int32_t[::1] which = np.ascontiguousarray(slots, dtype=np.int32)
        cdef const double[:, ::1] given = np.ascontiguousarray(logs, dtype=np.float64).reshape(-1, 2)
        cdef int64_t i
        self.make_room(max(np.asarray(which), default=-1) + 1)
        self.clear()
        for i in range(which.shape[0]):
            self.set_one(which[i], given[i, 0], given[i, 1])

    def set(self, int32_t slot, double log_pi, double log_rest):
        """Change the proportion of one slot."""
        self.set_one(slot, log_pi, log_rest)

    def drop(self, int32_t slot):
        """Remove the proportion of a dish that died."""
        if slot < <int64_t>self.p.log_pi.size():
            self.set_one(slot, NONE, NONE)

    def memory_bytes(self):
        return bytes_of(self.p.log_pi, self.p.log_rest, self.p.versions)


# ------------------------------------------------------------------------------------------- customers

cdef inline double smoothing_of(const SparseCounts *b, int32_t slot) noexcept nogil:
    return b.smoothing if b.own == NULL else b.own.of_slot[slot]


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
    cdef int64_t stamp = b.given.versions[slot] if slot >= 0 and has_proportion(b.given, slot) else 0
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


# ---------------------------------------------------------------------------------- sums for new dishes
# Sums over selections for new dishes of a small block of customers, at any smoothing.
#
# The dishes proposed to a block have new smoothings each time, so a table of sums can't be reused. But
#
#     Z(a, n) / Z(a, 1) = E prod 1 / (lambda R + j) over j = 1 .. n - 1,
#
# where R is distributed as for a dish of one customer with a terms, independent of lambda. As a function of
# R the only poles of the product are at -j / lambda: the larger lambda, the nearer they are, so nodes for
# the largest allowed lambda are accurate for all. One set of nodes is kept for each a. Factors are computed
# relative to those at the mean of R.
#
# Nodes for one customer omit numbers R that are improbable given one customer. Each further customer
# favours small R, more strongly for larger lambda: the part omitted at the lower end has its largest share
# at the largest lambda, the part omitted at the upper end at one customer. So a set of nodes is accurate
# for (a, n) at every lambda if it is at the largest one, which is checked before it is used.

cdef enum:
    SMALL = 128                 # most customers of a block whose sums use nodes common to all smoothings
    PAIRS = (SMALL + 1) * (SMALL + 2) // 2

cdef double LARGEST = 1e6           # largest smoothing
# Range of sums of products; outside it they are computed for each smoothing.
cdef double LEAST_PRODUCT = 1e-250
cdef double MOST_PRODUCT = 1e250
cdef double CLOSE = 1e-12           # accuracy of logs required at the largest smoothing


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


cdef int add_nodes(AuxiliarySums *kept, SparseCounts *b, int64_t a) noexcept nogil:
    """Add nodes for dishes with this number of terms; -1 if out of memory."""
    cdef SelectionNodes *nodes = &b.sums.nodes
    cdef SelectionLaw law
    cdef NodeRange *of = &kept.of_terms[a]
    cdef int64_t i, n_nodes, begin = <int64_t>kept.size.size()
    cdef double total = 0.0
    cdef int status
    law = b.shared
    law.smoothing = LARGEST
    if fill_entry(nodes, &law, a, 1, &b.sums.entry) < 0:
        return -1
    of.log_first = log_sum_of(&law, a, 1, b.sums.entry.log_shares[(a - b.sums.entry.a) * b.sums.entry.columns]) + det_log(
        LARGEST)
    status = gather_bell(nodes, &law, a, 1, 1, SMALL)
    if status == 1:
        status = gather(nodes, &law, a, 1, 1, SMALL)
    if status < 0:
        return -1
    n_nodes = <int64_t>nodes.y.size()
    if (not has_room(kept.size, begin + n_nodes) or not has_room(kept.weight, begin + n_nodes)
            or not has_room(kept.product, n_nodes)):
        return -1
    while <int64_t>kept.product.size() < n_nodes:
        kept.product.push_back(0.0)
    for i in range(n_nodes):
        total += nodes.weight[i]
    of.middle = 0.0
    for i in range(n_nodes):
        kept.size.push_back(a + nodes.y[i])
        kept.weight.push_back(nodes.weight[i] / total)
        of.middle += kept.size[begin + i] * kept.weight[begin + i]
    of.begin = begin
    of.end = begin + n_nodes
    return 0


cdef double by_nodes(AuxiliarySums *kept, const NodeRange *of, double smoothing, int64_t n) noexcept nogil:
    """log Z of a dish of this many customers from nodes; NaN if numbers are too large or too small."""
    cdef int64_t i, j, n_nodes = of.end - of.begin
    cdef double total = 0.0, middle = smoothing * of.middle
    cdef double *product = kept.product.data()
    cdef const double *size = kept.size.data() + of.begin
    cdef const double *weight = kept.weight.data() + of.begin
    for i in range(n_nodes):
        product[i] = weight[i]
    for j in range(1, n):
        for i in range(n_nodes):
            product[i] *= (middle + j) / (smoothing * size[i] + j)
    for i in range(n_nodes):
        total += product[i]
    if not LEAST_PRODUCT < total < MOST_PRODUCT:
        return 0.0 / 0.0
    return of.log_first - det_log(smoothing) + det_log(total) - log_rising(middle + 1.0, n - 1)


cdef double directly(SparseCounts *b, double smoothing, int64_t a, int64_t n) noexcept nogil:
    """log Z(a, n) from nodes computed for it; NaN if out of memory."""
    cdef SelectionLaw law
    law = b.shared
    law.smoothing = smoothing
    if fill_entry(&b.sums.nodes, &law, a, n, &b.sums.entry) < 0:
        return 0.0 / 0.0
    return log_sum_ratio(
        &law, 0, 0, 0.0, a, n,
        b.sums.entry.log_shares[(a - b.sums.entry.a) * b.sums.entry.columns + (n - b.sums.entry.n)])


cdef double log_sum_without(AuxiliarySums *kept, SparseCounts *b, double smoothing, int64_t a, int64_t n) noexcept nogil:
    """log Z(a, n) of a dish without a proportion at any smoothing; NaN if out of memory."""
    cdef const NodeRange *of
    cdef int64_t i
    cdef signed char *serve
    cdef double found, exact
    if kept.stamp != b.shared.stamp:
        for i in range(SMALL + 1):
            kept.of_terms[i].begin = kept.of_terms[i].end = 0
        for i in range(PAIRS):
            kept.serve[i] = 0
        kept.size.clear()
        kept.weight.clear()
        kept.stamp = b.shared.stamp
    if not 1 <= a <= n <= SMALL:
        return directly(b, smoothing, a, n)
    of = &kept.of_terms[a]
    if of.end == of.begin and add_nodes(kept, b, a) < 0:
        return 0.0 / 0.0
    serve = &kept.serve[n * (n + 1) // 2 + a]
    if serve[0] == 0:
        exact = directly(b, LARGEST, a, n)
        if exact != exact:
            return exact
        found = by_nodes(kept, of, LARGEST, n)
        serve[0] = 1 if fabs(found - exact) <= CLOSE * (1.0 + 0.1 * fabs(exact)) else -1
    if serve[0] > 0:
        found = by_nodes(kept, of, smoothing, n)
        if found == found:
            return found
    return directly(b, smoothing, a, n)


# ---------------------------------------------------------------------------------------------- blocks

cdef cppclass OwnSmoothings(DishValues):
    AuxiliarySums sums


cdef void count_block(SparseCounts *b, const double *base, const int32_t *slots, int64_t n, int64_t n_columns,
                      double *logs) noexcept nogil:
    """Rising factorials of n_v + smoothing over the block's terms, and the number of these terms new to each column.

    Columns are the slots, then new dishes. Factors in `product` are not included in `logs`. The block is cleared.
    """
    cdef int64_t place, i, j, since = 0     # number of factors since all products were last checked
    cdef int32_t term, count
    cdef int32_t *more = b.more.data()
    cdef int32_t *gathered = b.here.data()
    cdef double *product = b.product.data()
    cdef const int32_t *here
    cdef double shifted
    cdef bint side_by_side = n > 0
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
                gathered[i] = here[slots[i]]
            here = gathered
        for i in range(n):
            more[i] += here[i] == 0
        for i in range(n, n_columns):
            more[i] += 1
        if count > FACTORS:
            for i in range(n_columns):
                logs[i] += log_rising(base[i] + (here[i] if i < n else 0), count)
            continue
        since += count
        if since > FACTORS:
            since = count
            for i in range(n_columns):
                if product[i] > 1e150 or product[i] < 1e-150:
                    logs[i] += det_log(product[i])
                    product[i] = 1.0
        for j in range(count):
            shifted = b.smoothing + j
            for i in range(n if b.own == NULL else 0):
                product[i] *= shifted + here[i]
            for i in range(0 if b.own == NULL else n):
                product[i] *= base[i] + j + here[i]
            for i in range(n, n_columns):
                product[i] *= base[i] + j


cdef inline int add_sums(SparseCounts *b, double *log_of, int32_t slot, int64_t n_customers, int64_t column) noexcept nogil:
    """Add the log ratio of Z with and without the block, and of the product, to the logs; -1 if out of memory."""
    cdef const SelectionLaw *law = law_of(b, slot)
    cdef const SlotFactors *of
    cdef int64_t distinct = b.distinct[slot] if slot >= 0 else 0, total = b.totals[slot] if slot >= 0 else 0, after
    cdef double ratio, product = b.product[column], share
    cdef bint apart = b.own != NULL      # the order of sums, which chains depend on
    if apart:
        log_of[0] += det_log(product)
    if slot >= 0 and n_customers <= STEPS:
        hold_for(&b.ratios, slot, distinct, total, law.stamp)
        ratio = block_ratio(&b.ratios, slot, n_customers, b.more[column], &b.near[slot], &b.sums, law)
        if ratio < 0.0:
            return -1
        if ratio > LEAST:
            if apart:
                log_of[0] += det_log(ratio)
            elif 1e-150 < product < 1e150:
                log_of[0] += det_log(ratio * product)
            else:
                log_of[0] += det_log(ratio) + det_log(product)
            return 0
    of = factors_of(b, slot)
    if of == NULL:
        return -1
    share = of.log_share
    after = selection_at(&b.sums, law, distinct + b.more[column], total + n_customers)
    if after < 0:
        return -1
    log_of[0] += log_sum_ratio(
        law, distinct, total, share, distinct + b.more[column], total + n_customers, b.sums.log_shares[after])
    if not apart:
        log_of[0] += det_log(product)
    return 0


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


cdef int log_of_block(SparseCounts *b, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                      int64_t n_columns, double *logs) noexcept nogil:
    """Log ratios of the marginals of columns with and without the block: ratios of Z, rising factorials."""
    cdef int64_t i
    if gather_block(b, customers, n_customers) < 0:
        return -1
    if not (has_room(b.product, n_columns) and has_room(b.more, n_columns) and has_room(b.here, n_columns)):
        return no_memory()
    b.product.assign(n_columns, 1.0)
    b.more.assign(n_columns, 0)
    b.here.assign(n, 0)
    for i in range(n_columns):
        logs[i] = 0.0
    count_block(b, b.base.data(), slots, n, n_columns, logs)
    for i in range(n):
        if add_sums(b, &logs[i], slots[i], n_customers, i) < 0:
            return no_memory()
    return 0


cdef int sparse_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                          int64_t n, double *out) noexcept nogil:
    """Log ratio of the marginals with and without the block."""
    cdef SparseCounts *b = <SparseCounts *>self
    if not (has_room(b.base, n + 1) and ready_ratios(&b.ratios, b.stride) == 0):
        return no_memory()
    b.base.assign(n + 1, b.smoothing)
    if log_of_block(b, customers, n_customers, slots, n, n + 1, out) < 0:
        return -1
    return 0 if add_sums(b, &out[n], -1, n_customers, n) == 0 else no_memory()


cdef int block_of_own(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                      double *out) noexcept nogil:
    """The same where each dish has a smoothing; last, the log of its mean over auxiliary dishes.

    A single customer has the same probability under all auxiliary dishes, so none are drawn for it.
    """
    cdef SparseCounts *b = <SparseCounts *>self
    cdef OwnSmoothings *s = <OwnSmoothings *>b.own
    cdef const SlotFactors *of_new
    cdef int64_t i, n_columns = n + <int64_t>s.offered.size()
    cdef double log_sum
    if not (has_room(b.base, n_columns) and has_room(b.logs, n_columns) and ready_ratios(&b.ratios, b.stride) == 0):
        return no_memory()
    b.base.clear()
    for i in range(n):
        b.base.push_back(s.of_slot[slots[i]])
    for i in range(n, n_columns):
        b.base.push_back(s.offered[i - n])
    b.logs.assign(n_columns, 0.0)
    if log_of_block(b, customers, n_customers, slots, n, n_columns, b.logs.data()) < 0:
        return -1
    for i in range(n):
        out[i] = b.logs[i]
    if n_columns == n:
        of_new = factors_of(b, -1)
        if of_new == NULL:
            return no_memory()
        out[n] = det_log(of_new.outside)
        return 0
    for i in range(n, n_columns):
        log_sum = log_sum_without(&s.sums, b, b.base[i], b.more[i], n_customers)
        if log_sum != log_sum:
            return no_memory()
        s.logs[i - n] = b.logs[i] + (det_log(b.product[i]) + log_sum)
    out[n] = log_mean(s.logs.data(), n_columns - n)
    return 0


# ----------------------------------------------------------------------------------------------- banks

cdef class SparseDirichletMultinomialBank(TermCountsBank):
    """Counts of terms by dish slot, and the number of distinct terms of each slot; the terms are kept by reference."""

    COMPILED = COUNTING = True

    def __cinit__(self, terms, measure, *kept):
        self.c.died = sparse_died
        self.c.add = sparse_add
        self.c.remove = sparse_remove
        self.c.predictive = sparse_predictive
        self.c.log_block = sparse_log_block
        self.b.given = NULL
        self.b.own = NULL
        self.b.sums.limit = LIMIT
        self.keep_counts(&self.b, terms, measure.n_terms, sparse_grow)
        self.b.distinct.assign(self.b.stride, 0)
        self.b.factors.resize(self.b.stride)
        self.b.laws.resize(self.b.stride)
        self.b.near.resize(self.b.stride)
        self.take_parameters(measure)

    cdef int take_parameters(self, object measure) except -1:
        """Copy the parameters of a measure; the counts are kept."""
        cdef int64_t k
        cdef double smoothing = measure.smoothing_without_values
        cdef double first, second
        integrated, given = measure.law_numbers()
        first, second = given if integrated is None else integrated
        self.b.table.resize(min(<int64_t>self.terms.shape[0] + 1, <int64_t>TABULATED))      # nothing below can fail
        self.measure = measure
        self.b.smoothing = smoothing
        if integrated is None:
            set_given(&self.b.sums, &self.b.shared, self.b.n_terms, smoothing, first, second)
        else:
            set_integrated(&self.b.sums, &self.b.shared, self.b.n_terms, smoothing, first, second)
        self.b.of_new.n_distinct = -1
        for k in range(<int64_t>self.b.factors.size()):
            self.b.factors[k].n_distinct = -1
            forget_entries(&self.b.near[k], 0, 0)
        self.b.seen.assign(self.b.stride, -1)
        for k in range(<int64_t>self.b.table.size()):
            self.b.table[k] = log_rising(smoothing, k)
        return 0

    def read(self, parts):
        cdef ProportionTable shown = None
        for part in parts.values():
            if isinstance(getattr(part, "table", None), ProportionTable):
                shown = part.table
        self.proportions = shown
        self.b.given = NULL
        if shown is not None:
            self.b.given = &shown.p

    def begin(self, slot):
        made = self.measure.make()
        made.given = None if self.proportions is None else self.proportions.get(slot)
        return made

    def adopt(self, measure):
        self.take_parameters(measure)
        return True

    cdef int count_distinct(self) except -1:
        cdef int64_t v, k
        cdef const int32_t *row
        self.b.distinct.assign(self.b.stride, 0)
        with nogil:
            for v in range(self.b.n_terms):
                row = self.b.counts + v * self.b.stride
                for k in range(self.b.stride):
                    self.b.distinct[k] += row[k] != 0
        return 0

    def in_floats(self, ends, least):
        """Whether the fused sweep in single precision is accurate at these hyperparameters.

        ``ends`` are the largest concentration and the largest discount of each declaration, the root's first;
        ``least`` is the smallest concentration + discount of a restaurant below the root.
        """
        cdef const SlotFactors *of_new = factors_of(&self.b, -1)
        if of_new == NULL:
            raise MemoryError
        cdef const double[:, ::1] given = np.array(ends, dtype=np.float64)
        cdef double theta = given[0, 0], fresh = (given[0, 0] + given[0, 1]) * of_new.outside
        cdef double discount = np.max(given[1:, 1]), largest = np.max(given[:, 0])
        return bool(
            fresh >= NEW_DISH * self.b.smoothing
            and fresh * min(least, 1.0) >= LOST * (theta + <double>self.n_customers)
            and 1.0 - discount >= LONE_TABLE
            and 1.0 - given[0, 1] >= ROOT_SHARE
            and largest <= LARGEST_CONCENTRATION
        )

    def rebuild(self, const int32_t[::1] dishes not None, slots):
        self.recount(dishes, slots)
        self.count_distinct()

    def died(self, slot):
        TermCountsBank.died(self, slot)
        self.b.distinct[<int32_t>slot] = 0

    cdef int relabel(self, const int32_t[::1] mapping) except -1:
        cdef int64_t s
        TermCountsBank.relabel(self, mapping)
        for s in range(mapping.shape[0]):
            if mapping[s] >= 0 and mapping[s] != s:
                self.b.distinct[mapping[s]] = self.b.distinct[s]
                self.b.distinct[s] = 0
        return 0

    def sizes(self, slots):
        cdef const int32_t[::1] s = as_int32(slots)
        cdef int64_t i
        out = np.empty((2, s.shape[0]), dtype=np.int64)
        cdef int64_t[:, ::1] view = out
        for i in range(s.shape[0]):
            view[0, i] = self.b.distinct[s[i]]
            view[1, i] = self.b.totals[s[i]]
        return out[0], out[1]

    def factors(self, slots):
        """The factor of n_v + smoothing for terms that a dish has, and f(v) of other terms: shape (n, 2)."""
        cdef const int32_t[::1] s = as_int32(slots)
        cdef const SlotFactors *of
        cdef int64_t i
        out = np.empty((s.shape[0], 2))
        cdef double[:, ::1] view = out
        for i in range(s.shape[0]):
            of = factors_of(&self.b, s[i])
            if of == NULL:
                raise MemoryError
            view[i, 0] = of.inside
            view[i, 1] = of.outside
        return out

    def statistics(self, slots, dishes):
        made = []
        for slot, row in zip(as_int32(slots), self.counts(slots)):
            one = self.begin(slot)
            one.terms, one.total = row, int(row.sum())
            made.append(one)
        return made

    cdef double log_sum(self, int32_t slot) except? 1.0:
        """log Z of a slot."""
        cdef const SlotFactors *of = factors_of(&self.b, slot)
        if of == NULL:
            raise MemoryError
        return log_sum_of(law_of(&self.b, slot), self.b.distinct[slot], self.b.totals[slot], of.log_share)

    def log_marginals(self, slots, dishes=None):
        """Log marginal of these slots given their smoothings and proportions: shape (n,), nats."""
        cdef const int32_t[::1] s = as_int32(slots)
        out = np.zeros(s.shape[0])
        cdef double[::1] o = out
        cdef int64_t v, i
        cdef int32_t count
        cdef int64_t tabulated = self.b.table.size() if self.b.own == NULL else 0
        with nogil:
            for v in range(self.b.n_terms):     # term by term, the order in memory
                for i in range(s.shape[0]):
                    count = self.b.counts[v * self.b.stride + s[i]]
                    if count > 0:
                        o[i] += self.b.table[count] if count < tabulated else log_rising(smoothing_of(&self.b, s[i]), count)
        for i in range(s.shape[0]):
            o[i] += self.log_sum(s[i])
        return out

    def log_marginal_total(self, slots):
        """Sum of the log marginals of these slots, in nats, or None if it can't be computed from a tally of counts.

        The contribution of a cell depends only on its count, so the cost for another smoothing is
        proportional to the number of distinct counts, plus one sum per dish. None if each dish has a smoothing, or if
        other slots have counts.
        """
        cdef const int32_t[::1] s = as_int32(slots)
        cdef int64_t i
        cdef double total
        if self.b.own != NULL or not self.has_all(s):
            return None
        total = self.rising_total(&self.b.table, self.b.smoothing, 1.0)
        for i in range(s.shape[0]):
            total += self.log_sum(s[i])
        return total

    def memory_bytes(self):
        return (self.count_bytes() + table_bytes(&self.b.sums) + ratio_bytes(&self.b.ratios)
                + bytes_of(self.b.distinct, self.b.seen, self.b.near, self.b.factors, self.b.laws, self.b.base,
                           self.b.product, self.b.logs, self.b.more, self.b.here, self.b.table)
                + self.workspace_bytes())


cdef class DishSmoothingBank(SparseDirichletMultinomialBank, HasNumbers):
    """The same where each slot has a smoothing of its own; ``kept``, an `OwnNumbers`, draws and stores them."""

    COMPILED = COUNTING = True

    cdef OwnSmoothings own
    cdef readonly object kept

    def __cinit__(self, terms, measure, kept):
        self.kept = kept
        self.own.sums.stamp = 0
        self.b.own = &self.own
        self.c.log_block = block_of_own
        hold_numbers(&self.own, &self.c, kept)

    def adopt(self, measure):
        self.kept.measure = measure
        return SparseDirichletMultinomialBank.adopt(self, measure)

    def prepare(self, source):
        prepare_numbers(&self.own, source)

    def set_parameter(self, slot, parameter):
        set_number(&self.own, self.slot_number(slot), parameter)

    def log_likelihood_of(self, slot, customers):
        """Return the log marginal of a dish, in nats, as a function of its smoothing; ``customers``: all of it."""
        cdef int32_t k = self.slot_number(slot)
        cdef int64_t a = self.b.distinct[k], n = self.b.totals[k]
        counts = np.unique(np.asarray(self.terms)[customers], return_counts=True)[1]
        sizes, many = np.unique(counts, return_counts=True)
        given = None if self.proportions is None else self.proportions.get(slot)
        measure = self.measure
        return lambda smoothing: (
            measure.law(given, smoothing).log_sum(a, n) + log_rising_total(smoothing, sizes, many))

    # --------------------------------------------------------------------------------------- queries

    def begin(self, slot):
        made = SparseDirichletMultinomialBank.begin(self, slot)
        made.smoothing = float(self.kept.parameter(slot))
        return made

    # --------------------------------------------------------------------------------------- saved with the state

    def rebuild(self, const int32_t[::1] dishes not None, slots):
        self.kept.rebuild(np.asarray(dishes), slots)
        SparseDirichletMultinomialBank.rebuild(self, dishes, slots)
        copy_numbers(&self.own)

    def relabelled(self, mapping):
        SparseDirichletMultinomialBank.relabelled(self, mapping)
        self.kept.relabelled(np.asarray(mapping))
        copy_numbers(&self.own)

    def freeze(self):
        return self.kept.freeze()

    def thaw(self, frozen):
        """Restore frozen smoothings; call it before `rebuild`."""
        self.kept.thaw(frozen)

    def memory_bytes(self):
        return (SparseDirichletMultinomialBank.memory_bytes(self) + number_bytes(&self.own)
                + bytes_of(self.own.sums.size, self.own.sums.weight, self.own.sums.product))


def log_rising_total(double smoothing, const int64_t[::1] sizes not None, const int64_t[::1] many not None):
    """Sum of log G(smoothing + n) / G(smoothing) over counts n in ``sizes``, with multiplicities ``many``."""
    cdef double total = 0.0
    cdef int64_t i
    for i in range(sizes.shape[0]):
        total += many[i] * log_rising(smoothing, sizes[i])
    return total
