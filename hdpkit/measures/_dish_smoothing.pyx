# distutils: language = c++
"""Sparse topics with a separate smoothing for each dish: the bank, and its C functions for sweeps."""

import numpy as np

from libc.math cimport fabs, isfinite
from libc.stdint cimport int32_t, int64_t

from hdpkit.measures._block_ratios cimport STEPS, block_ratio, hold_for, ready_ratios
from hdpkit.measures._dish_values cimport (
    DishValues, copy_numbers, hold_numbers, number_bytes, prepare_numbers, set_number)
from hdpkit.measures._selection cimport log_sum_of, log_sum_ratio, selection_at
from hdpkit.measures._selection_law cimport SelectionLaw
from hdpkit.measures._selection_nodes cimport SelectionNodes, fill_entry, gather, gather_bell
from hdpkit.measures._sparse_counts cimport SlotFactors, SparseCounts, factors_of, law_of
from hdpkit.measures._sparse_dirichlet_multinomial cimport SparseDirichletMultinomialBank
from hdpkit.measures._term_counts cimport gather_block
from hdpkit.measures._dish_values import HasNumbers
from hdpkit.numerics cimport det_exp, det_log, log_rising
from hdpkit.vectors cimport has_room, no_memory, vector

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


cdef int64_t auxiliary_bytes(const AuxiliarySums *kept) noexcept nogil:
    return (kept.size.capacity() + kept.weight.capacity() + kept.product.capacity()) * sizeof(double)


# ---------------------------------------------------------------------------------------------- blocks
# Sums over selections of a dish depend on its smoothing: each slot has a distribution of the number of selected
# terms, and all use the same table of sums.

cdef enum:
    FACTORS = 16         # each from 1e-6 to 3e9; their product times 1e-150 .. 1e150 is within the range of doubles

cdef double LEAST = 1e-100                    # smallest ratio of sums; a smaller one may have lost digits


cdef cppclass OwnSmoothings(DishValues):
    vector[double] base             # scratch, by column: smoothings of a block,
    vector[double] of_columns       # and log probabilities
    AuxiliarySums sums


cdef void count_block(SparseCounts *b, OwnSmoothings *s, const int32_t *slots, int64_t n, int64_t n_columns) noexcept nogil:
    """Rising factorials of n_v + smoothing over the block's terms, and the number of these terms new to each column.

    Columns are the slots, then auxiliary dishes. Factors in `product` are not included in `of_columns`. The block
    is cleared.
    """
    cdef int64_t place, i, j, since = 0     # number of factors since all products were last checked
    cdef int32_t term, count
    cdef int32_t *more = b.more.data()
    cdef int32_t *here = b.here.data()
    cdef double *product = b.product.data()
    cdef double *logs = s.of_columns.data()
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


cdef int add_sums(SparseCounts *b, double *log_of, int32_t slot, int64_t n_customers, int64_t column) noexcept nogil:
    """Add the log ratio of Z with and without the block, and of the product, to the logs; -1 if out of memory."""
    cdef const SelectionLaw *law = law_of(b, slot)
    cdef int64_t distinct = b.distinct[slot], total = b.totals[slot], before, after
    cdef double ratio, share
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


cdef int add_sums_of_new(SparseCounts *b, OwnSmoothings *s, double smoothing, int64_t n_customers, int64_t column) noexcept nogil:
    """Add the log of Z with the block, and of the product, to the logs for an auxiliary dish; -1 if out of memory."""
    cdef double log_sum = log_sum_without(&s.sums, b, smoothing, b.more[column], n_customers)
    s.of_columns[column] += det_log(b.product[column]) + log_sum
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


cdef int block_of_own(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                      double *out) noexcept nogil:
    """Log ratio of the marginals with and without the block; last, the log of its mean over auxiliary dishes.

    A single customer has the same probability under all auxiliary dishes, so none are drawn for it.
    """
    cdef SparseCounts *b = <SparseCounts *>self
    cdef OwnSmoothings *s = <OwnSmoothings *>b.own
    cdef const SlotFactors *of_new
    cdef int64_t i, n_columns = n + <int64_t>s.offered.size()
    cdef int status
    if not (has_room(b.product, n_columns) and has_room(b.more, n_columns) and has_room(b.here, n_columns)
            and has_room(s.base, n_columns) and has_room(s.of_columns, n_columns)
            and ready_ratios(&b.ratios, b.stride) == 0):
        return no_memory()
    if gather_block(b, customers, n_customers) < 0:
        return -1
    b.product.assign(n_columns, 1.0)
    b.more.assign(n_columns, 0)
    b.here.assign(n_columns, 0)
    s.of_columns.assign(n_columns, 0.0)
    s.base.clear()
    for i in range(n):
        s.base.push_back(s.of_slot[slots[i]])
    for i in range(n, n_columns):
        s.base.push_back(s.offered[i - n])
    count_block(b, s, slots, n, n_columns)
    for i in range(n_columns):
        if i < n:
            status = add_sums(b, &s.of_columns[i], slots[i], n_customers, i)
        else:
            status = add_sums_of_new(b, s, s.base[i], n_customers, i)
        if status < 0:
            return no_memory()
    for i in range(n):
        out[i] = s.of_columns[i]
    if n_columns == n:
        of_new = factors_of(b, -1)
        if of_new == NULL:
            return no_memory()
        out[n] = det_log(of_new.outside)
        return 0
    for i in range(n, n_columns):
        s.logs[i - n] = s.of_columns[i]
    out[n] = log_mean(s.logs.data(), n_columns - n)
    return 0


cdef class DishSmoothingBank(SparseDirichletMultinomialBank, HasNumbers):
    """Counts of terms by dish slot; each slot has a separate smoothing.

    Parameters
    ----------
    terms : int32 array, shape (n_customers,)
        Kept by reference, never changed.
    measure : SparseDirichletMultinomial
        Prepared for the data.
    kept : OwnNumbers
        Draws and stores the smoothings.
    """

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
        """Replace the parameter values; counts and smoothings are kept."""
        self.kept.measure = measure
        return SparseDirichletMultinomialBank.adopt(self, measure)

    def prepare(self, source):
        """Use this source for draws until the end of a step."""
        prepare_numbers(&self.own, source)

    def set_parameter(self, slot, parameter):
        """Change the smoothing of a dish."""
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
        """Statistics without values, with the smoothing and the proportion of a slot."""
        made = SparseDirichletMultinomialBank.begin(self, slot)
        made.smoothing = float(self.kept.parameter(slot))
        return made

    # --------------------------------------------------------------------------------------- saved with the state

    def rebuild(self, const int32_t[::1] dishes not None, slots):
        """Recompute all statistics from the dish of each customer (-1: unseated)."""
        self.kept.rebuild(np.asarray(dishes), slots)
        SparseDirichletMultinomialBank.rebuild(self, dishes, slots)
        copy_numbers(&self.own)

    def relabelled(self, mapping):
        """Slots have new numbers."""
        SparseDirichletMultinomialBank.relabelled(self, mapping)
        self.kept.relabelled(np.asarray(mapping))
        copy_numbers(&self.own)

    def freeze(self):
        """The smoothings."""
        return self.kept.freeze()

    def thaw(self, frozen):
        """Restore frozen smoothings; call it before `rebuild`."""
        self.kept.thaw(frozen)

    def memory_bytes(self):
        """Bytes of the counts, the smoothings and derived numbers."""
        return (SparseDirichletMultinomialBank.memory_bytes(self) + number_bytes(&self.own) + auxiliary_bytes(&self.own.sums)
                + sizeof(double) * (self.own.base.capacity() + self.own.of_columns.capacity()))


def log_rising_total(double smoothing, const int64_t[::1] sizes not None, const int64_t[::1] many not None):
    """Sum of log G(smoothing + n) / G(smoothing) over counts n in ``sizes``, with multiplicities ``many``."""
    cdef double total = 0.0
    cdef int64_t i
    for i in range(sizes.shape[0]):
        total += many[i] * log_rising(smoothing, sizes[i])
    return total
