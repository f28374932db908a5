# distutils: language = c++
"""Sparse topics with a separate smoothing for each dish: the bank, and its C functions for sweeps."""

import numpy as np

from libc.math cimport fabs, isfinite
from libc.stdint cimport int32_t, int64_t

from hdpkit.measures._block_ratios cimport STEPS, block_ratio, hold_for, ready_ratios
from hdpkit.measures._measure cimport as_int32
from hdpkit.measures._near_selection cimport near_value
from hdpkit.measures._proportions cimport has_proportion
from hdpkit.measures._selection cimport log_sum_of, log_sum_ratio, selection_at, set_given
from hdpkit.measures._selection_law cimport SelectionLaw
from hdpkit.measures._selection_nodes cimport Coefficients, SelectionNodes, fill_cell, gather, gather_bell
from hdpkit.measures._sparse_counts cimport (
    SlotFactors, SparseCounts, factors_of, sparse_add, sparse_born, sparse_died, sparse_remove,
)
from hdpkit.measures._sparse_dirichlet_multinomial cimport SparseDirichletMultinomialBank
from hdpkit.measures._term_counts cimport gather_block
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


cdef inline void set_beside(SparseCounts *b, SelectionLaw *law, double smoothing) noexcept nogil:
    """Set the distribution of dishes without a proportion at another smoothing; the table keeps its cells."""
    law[0] = b.shared
    law.smoothing = smoothing
    b.sums.last_stamp += 1
    law.stamp = b.sums.last_stamp


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
    if fill_cell(nodes, &law, a, 1, &b.sums.cell) < 0:
        return -1
    of.log_first = log_sum_of(&law, a, 1, b.sums.cell.log_shares[(a - b.sums.cell.a) * b.sums.cell.columns]) + det_log(
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
    if fill_cell(&b.sums.nodes, &law, a, n, &b.sums.cell) < 0:
        return 0.0 / 0.0
    return log_sum_ratio(
        &law, 0, 0, 0.0, a, n,
        b.sums.cell.log_shares[(a - b.sums.cell.a) * b.sums.cell.columns + (n - b.sums.cell.n)])


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


# ----------------------------------------------------------------------------------- smoothings by slot
# C functions for sweeps over sparse topics with a separate smoothing for each dish.
#
# The sums over selections of a dish depend on its smoothing: each slot has a distribution of the number of
# selected terms, and all use the same table of sums. Smoothings are drawn and stored in Python; the bank
# has a copy by slot for the sweeps, and Python is notified of steps by the functions of `OwnSmoothings`.
# The interpreter lock is taken when a dish is born or dies, and for a block of several customers.

cdef enum:
    FACTORS = 16         # each from 1e-6 to 3e9; their product times 1e-150 .. 1e150 is within the range of doubles

cdef double LEAST = 1e-100                    # smallest ratio of sums; a smaller one may have lost digits


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


# -------------------------------------------------------------------------------- C functions: one dish

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


# ---------------------------------------------------------------------------------- C functions: blocks

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


# --------------------------------------------------------------------------------------------- the bank

cdef extern from "Python.h":
    void PyErr_SetObject(object kind, object value) noexcept    # Cython's own declaration would raise here


cdef int left_set(object error) noexcept:
    """Set an exception, as a failing C function does; 0 for None."""
    if error is None:
        return 0
    PyErr_SetObject(type(error), error)
    return -1


cdef int tell_born(void *checkpoints, int32_t slot) noexcept:
    error = None
    try:
        (<DishSmoothingBank>checkpoints).begin_smoothing(slot)
    except BaseException as raised:
        error = raised
    return left_set(error)


cdef int tell_died(void *checkpoints, int32_t slot) noexcept:
    try:
        (<DishSmoothingBank>checkpoints).end_smoothing(slot)
    except MemoryError:
        return -1
    return 0


cdef int tell_begin(void *checkpoints) noexcept:
    error = None
    try:
        (<DishSmoothingBank>checkpoints).begin_step()
    except BaseException as raised:
        error = raised
    return left_set(error)


cdef int tell_end(void *checkpoints, const int32_t *customers, int64_t n) noexcept:
    error = None
    try:
        (<DishSmoothingBank>checkpoints).end_step(customers, n)
    except BaseException as raised:
        error = raised
    return left_set(error)


cdef int tell_offer(void *checkpoints, const int32_t *customers, int64_t n) noexcept:
    error = None
    try:
        (<DishSmoothingBank>checkpoints).offer(customers, n)
    except BaseException as raised:
        error = raised
    return left_set(error)


cdef class DishSmoothingBank(SparseDirichletMultinomialBank):
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

    cdef OwnSmoothings s
    cdef readonly object kept

    def __cinit__(self, terms, measure, kept):
        self.kept = kept
        self.s.b = &self.b
        self.s.checkpoints = <void *>self
        self.s.tell_born = tell_born
        self.s.tell_died = tell_died
        self.s.tell_begin = tell_begin
        self.s.tell_end = tell_end
        self.s.tell_offer = tell_offer
        self.s.sums.stamp = 0
        self.s.leaving_slot = -1
        self.s.leaving_customer = -1
        self.s.n_lent = 0
        self.s.pending = False
        self.s.failed = False
        self.kept.measure = measure
        self.c.self = &self.s
        self.c.born = own_born
        self.c.died = own_died
        self.c.add = own_add
        self.c.remove = own_remove
        self.c.predictive = own_predictive
        self.c.log_block = own_log_block
        self.copy_smoothings()

    cdef int take_parameters(self, object measure) except -1:
        SparseDirichletMultinomialBank.take_parameters(self, measure)
        self.kept.measure = measure
        return 0

    # --------------------------------------------------------------------------------------- steps

    cdef int copy_smoothings(self) except -1:
        """Copy all smoothings for the sweeps; distributions are set again when they are used."""
        self.s.own.assign(self.b.stride, self.b.smoothing)
        for slot, smoothing in self.kept.of_slots.items():
            self.s.own[<int32_t>slot] = smoothing
        self.b.seen.assign(self.b.stride, -1)
        self.s.n_lent = self.kept.n_lent
        self.s.pending = False
        self.s.failed = False
        self.s.leaving_slot = -1
        return 0

    cdef int begin_smoothing(self, int32_t slot) except -1:
        cdef int64_t i, m = self.s.offered.size()
        if self.s.pending and m > 0:
            self.kept.weighed([self.s.offered[i] for i in range(m)],
                              np.array([self.s.logs[self.s.first_log + i] for i in range(m)]))
        self.kept.born(slot)
        self.s.own[slot] = self.kept.parameter(slot)
        self.b.seen[slot] = -1
        self.s.pending = False
        return 0

    cdef int end_smoothing(self, int32_t slot) except -1:
        if self.s.leaving_slot == slot:
            self.kept.left(slot, self.s.leaving_customer)
        self.kept.died(slot)
        self.s.n_lent = self.kept.n_lent
        self.s.leaving_slot = -1
        return 0

    cdef int end_step(self, const int32_t *customers, int64_t n) except -1:
        cdef int64_t i
        self.kept.seated([customers[i] for i in range(n)] if self.s.n_lent > 0 else ())
        self.s.n_lent = self.kept.n_lent
        self.s.pending = False
        return 0

    cdef int begin_step(self) except -1:
        self.kept.left(self.s.leaving_slot, self.s.leaving_customer)
        self.s.pending = False
        return 0

    cdef int offer(self, const int32_t *customers, int64_t n) except -1:
        for smoothing in self.kept.offered((customers[0],) if n else ()):
            self.s.offered.push_back(smoothing)
        return 0

    def prepare(self, source):
        """Use this source for draws until the end of a step."""
        self.kept.prepare(source)
        self.s.pending = False

    # --------------------------------------------------------------------------------------- smoothings

    def bring_back(self, customer):
        """Give the next new dish the smoothing recorded for this customer, if there is one."""
        self.kept.bring_back(customer)
        self.s.offered.clear()
        self.s.pending = True

    def parameter(self, slot):
        """Smoothing of a dish."""
        return float(self.kept.parameter(slot))

    def has_parameter(self, slot):
        """Whether the dish already has a smoothing."""
        return self.kept.has_parameter(slot)

    def set_parameter(self, slot, parameter):
        """Change the smoothing of a dish."""
        cdef int32_t k = self.slot_number(slot)
        self.kept.set_parameter(k, parameter)
        self.s.own[k] = self.kept.parameter(k)
        self.b.seen[k] = -1

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

    def factors(self, slots):
        """The factor of n_v + smoothing for terms that a dish has, and f(v) of other terms: shape (n, 2)."""
        cdef const int32_t[::1] s = as_int32(slots)
        cdef const Coefficients *of
        cdef int64_t i
        out = np.empty((s.shape[0], 2))
        cdef double[:, ::1] view = out
        for i in range(s.shape[0]):
            of = own_value(&self.s, s[i])
            if of == NULL:
                raise MemoryError
            view[i, 0] = of.inside
            view[i, 1] = of.outside
        return out

    cdef double log_sum(self, int32_t slot) except? 1.0:
        """log Z of a slot."""
        cdef const SelectionLaw *law = own_law(&self.s, slot)
        cdef int64_t place = selection_at(&self.b.sums, law, self.b.distinct[slot], self.b.totals[slot])
        if place < 0:
            raise MemoryError
        return log_sum_of(law, self.b.distinct[slot], self.b.totals[slot], self.b.sums.log_shares[place])

    def log_marginals(self, slots, dishes=None):
        """Log marginal of these slots given their smoothings and proportions: shape (n,), nats."""
        cdef const int32_t[::1] s = as_int32(slots)
        out = np.zeros(s.shape[0])
        cdef double[::1] o = out
        cdef int64_t v, i
        cdef int32_t count
        with nogil:
            for v in range(self.b.n_terms):     # term by term, the order in memory
                for i in range(s.shape[0]):
                    count = self.b.counts[v * self.b.stride + s[i]]
                    if count > 0:
                        o[i] += log_rising(self.s.own[s[i]], count)
        for i in range(s.shape[0]):
            o[i] += self.log_sum(s[i])
        return out

    def log_marginal_total(self, slots):
        """None: dishes have separate smoothings, so equal counts don't contribute equally."""
        return None

    # --------------------------------------------------------------------------------------- saved with the
    # state

    def rebuild(self, const int32_t[::1] dishes not None, slots):
        """Recompute all statistics from the dish of each customer (-1: unseated)."""
        self.kept.rebuild(np.asarray(dishes), slots)
        SparseDirichletMultinomialBank.rebuild(self, dishes, slots)
        self.copy_smoothings()

    cdef int relabel(self, const int32_t[::1] mapping) except -1:
        SparseDirichletMultinomialBank.relabel(self, mapping)
        self.kept.relabelled(np.asarray(mapping))
        self.copy_smoothings()
        return 0

    def freeze(self):
        """The smoothings."""
        return self.kept.freeze()

    def check_frozen(self, frozen, slots):
        """Raise a DataError unless these are smoothings, one per dish; None is accepted."""
        self.kept.check_frozen(frozen, slots)

    def thaw(self, frozen):
        """Restore frozen smoothings; call it before `rebuild`."""
        self.kept.thaw(frozen)

    def memory_bytes(self):
        """Bytes of the counts, the smoothings and derived numbers."""
        return SparseDirichletMultinomialBank.memory_bytes(self) + self.kept.memory_bytes() + sizeof(double) * (
            self.s.own.capacity() + self.s.offered.capacity() + self.s.base.capacity() + self.s.logs.capacity()
        ) + auxiliary_bytes(&self.s.sums)


def log_rising_total(double smoothing, const int64_t[::1] sizes not None, const int64_t[::1] many not None):
    """Sum of log G(smoothing + n) / G(smoothing) over counts n in ``sizes``, with multiplicities ``many``."""
    cdef double total = 0.0
    cdef int64_t i
    for i in range(sizes.shape[0]):
        total += many[i] * log_rising(smoothing, sizes[i])
    return total
