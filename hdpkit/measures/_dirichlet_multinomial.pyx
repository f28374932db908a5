# distutils: language = c++
"""The compiled Dirichlet-multinomial: counts of terms in dishes, term by term.

The counts are stored by `term_counts`. Block probabilities are products with protection against overflow; a
logarithm is taken once for many factors.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t
from hdpkit.vectors cimport bytes_of, has_room, no_memory, vector

from hdpkit._arguments cimport refuse
from hdpkit.measures._measure cimport as_int32, as_weights
from hdpkit.measures._term_counts cimport (
    TermCountsBank, clear_slot, gather_block, grow_counts, rising, wider)
from hdpkit.numerics cimport det_exp, det_log, log_gamma_ratio, log_rising

cdef enum:
    TABULATED = 1024     # most counts whose log-gamma ratios are tabulated
    SHORT = 16           # most customers of a block whose probability is a plain product

# Limits for single precision; see docs/correctness.md, "Where the fused sweep serves", for the analysis.
cdef double SMALLEST_ETA = 1e-28, LARGEST_SUM = 1e7
cdef double ROOT_SHARE = 1.0 / (1 << 24)          # the smallest share: 65536 units of 2**-40
cdef double LONE_TABLE = 1.0 / (1 << 31) / 2.0    # the smallest 1 - d, computed as a difference in doubles
cdef double NORMAL = 1e-36                        # the smallest product of a share and eta, well above 1.2e-38
cdef double LARGEST_CONCENTRATION = 1e100
cdef double LOST = 1e-30    # smallest eta / (N (1 + H) (N + H)): weights below 1.2e-38 (n_k + H) underflow
cdef double PLAIN = 1e-8    # for eta above it (eta / 2**32)**SHORT is a normal number


cdef inline double inverse_of(const DirichletCounts *b, int64_t total) noexcept nogil:
    """The factor by which one more observation of a dish with this many divides."""
    if b.power == 1.0:
        return 1.0 / (total + b.eta_sum)
    return det_exp(-log_gamma_ratio(b.eta_sum + b.power * total, b.power))


cdef inline double factor_of(const DirichletCounts *b, double eta, int64_t count) noexcept nogil:
    """The factor by which one more observation of a term multiplies, of which a dish has this many."""
    return det_exp(log_gamma_ratio(eta + b.power * count, b.power))


cdef int dm_grow(void *self, int64_t slots) except -1 nogil:
    cdef DirichletCounts *b = <DirichletCounts *>self
    cdef int64_t stride = wider(b.stride, slots)
    if stride == b.stride:
        return 0
    b.inverse.reserve(stride)
    grow_counts(b, stride)      # nothing below can fail
    b.inverse.resize(stride, inverse_of(b, 0))
    return 0


cdef int dm_died(void *self, int32_t slot) noexcept nogil:
    cdef DirichletCounts *b = <DirichletCounts *>self
    if b.totals[slot] != 0:      # only scratch slots of a rejected proposal still have counts
        clear_slot(b, slot)
        b.inverse[slot] = inverse_of(b, 0)
    return 0


cdef int dm_add(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef DirichletCounts *b = <DirichletCounts *>self
    cdef int64_t i
    for i in range(n):
        b.counts[<int64_t>b.terms[customers[i]] * b.stride + slot] += 1
    b.totals[slot] += n
    b.version += 1
    b.inverse[slot] = inverse_of(b, b.totals[slot])
    return 0


cdef int dm_remove(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef DirichletCounts *b = <DirichletCounts *>self
    cdef int64_t i
    for i in range(n):
        b.counts[<int64_t>b.terms[customers[i]] * b.stride + slot] -= 1
    b.totals[slot] -= n
    b.version += 1
    b.inverse[slot] = inverse_of(b, b.totals[slot])
    return 0


cdef inline bint has_fixed(const DirichletCounts *b, int32_t slot) noexcept nogil:
    """Whether the topic of a slot is fixed: its probabilities are in `fixed`."""
    return slot < b.n_fixed and b.is_fixed[slot]


cdef double log_of_fixed(const DirichletCounts *b, const int32_t *customers, int64_t n, int32_t slot) noexcept nogil:
    """Log probability of customers' terms under a fixed topic."""
    cdef double total = 0.0, p
    cdef int64_t i
    for i in range(n):
        p = b.fixed[slot * b.n_terms + b.terms[customers[i]]]
        if p <= 0.0:
            return -INFINITY
        total += det_log(p)
    return total


cdef int dm_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n,
                       double *out) noexcept nogil:
    cdef DirichletCounts *b = <DirichletCounts *>self
    cdef int32_t term = b.terms[customer]
    cdef const int32_t *row = b.counts + <int64_t>term * b.stride
    cdef const double *inverse = b.inverse.data()
    cdef double eta = b.eta[term]
    cdef int64_t i
    for i in range(n):
        out[i] = (row[slots[i]] + eta) * inverse[slots[i]]
    out[n] = eta / b.eta_sum
    if b.n_fixed > 0:
        for i in range(n):
            if has_fixed(b, slots[i]):
                out[i] = b.fixed[slots[i] * b.n_terms + term]
    return 0


cdef int dm_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                      int64_t n, double *out) noexcept nogil:
    """log DM(n_k + c)/DM(n_k): rising factorials of (n_kv + eta_v) over that of (n_k + sum eta)."""
    cdef DirichletCounts *b = <DirichletCounts *>self
    cdef int64_t i, j, place
    cdef int32_t term, count
    cdef const int32_t *row
    cdef double *product
    cdef double base
    if not has_room(b.product, n + 1):
        return no_memory()
    if gather_block(b, customers, n_customers) < 0:
        return -1
    b.product.assign(n + 1, 1.0)
    product = b.product.data()
    for i in range(n + 1):
        out[i] = 0.0
    for place in range(<int64_t>b.touched.size()):
        term = b.touched[place]
        count = b.block[term]
        b.block[term] = 0
        row = b.counts + <int64_t>term * b.stride
        if count <= 16:
            for i in range(n + 1):
                base = b.eta[term] + (row[slots[i]] if i < n else 0)
                for j in range(count):
                    product[i] *= base + j
                    if product[i] > 1e150 or product[i] < 1e-150:
                        out[i] += det_log(product[i])
                        product[i] = 1.0
        else:
            for i in range(n + 1):
                out[i] += log_rising(b.eta[term] + (row[slots[i]] if i < n else 0), count)
    for i in range(n + 1):
        base = b.eta_sum + (b.totals[slots[i]] if i < n else 0)
        out[i] += det_log(product[i]) - log_rising(base, n_customers)
    for i in range(n if b.n_fixed > 0 else 0):
        if has_fixed(b, slots[i]):
            out[i] = log_of_fixed(b, customers, n_customers, slots[i])
    return 0


cdef int dm_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                  int64_t n, double *out) noexcept nogil:
    """DM(n_k + c)/DM(n_k) up to a common factor; short blocks without a logarithm."""
    cdef DirichletCounts *b = <DirichletCounts *>self
    cdef int64_t i, j, repeats
    cdef int32_t term
    cdef const int32_t *row
    cdef double top, total
    if n_customers > SHORT or not b.plain:
        if dm_log_block(self, customers, n_customers, slots, n, out) < 0:
            return -1
        return as_weights(out, n)
    for i in range(n + 1):
        out[i] = 1.0
    for j in range(n_customers):
        term = b.terms[customers[j]]
        repeats = 0     # earlier customers of the block with this term
        for i in range(j):
            repeats += b.terms[customers[i]] == term
        row = b.counts + <int64_t>term * b.stride
        total = b.eta[term] + repeats
        for i in range(n):
            out[i] *= row[slots[i]] + total
        out[n] *= total
    for i in range(n + 1):
        total = b.eta_sum + (b.totals[slots[i]] if i < n else 0)
        top = total
        for j in range(1, n_customers):
            top *= total + j
        out[i] /= top
    for i in range(n if b.n_fixed > 0 else 0):
        if has_fixed(b, slots[i]):
            out[i] = 1.0
            for j in range(n_customers):
                out[i] *= b.fixed[slots[i] * b.n_terms + b.terms[customers[j]]]
    return 0


cdef class DirichletMultinomialBank(TermCountsBank):
    """Counts of terms by dish slot; statistics are made of (counts, their sum)."""

    COMPILED = COUNTING = True

    def __cinit__(self, terms, eta, make_statistics, double power=1.0):
        self.b.power = power
        self.make_statistics = make_statistics
        self.c.died = dm_died
        self.c.add = dm_add
        self.c.remove = dm_remove
        self.c.predictive = dm_predictive
        self.c.block = dm_block
        self.c.log_block = dm_log_block
        self.keep_counts(&self.b, terms, len(eta), dm_grow)
        self.b.n_fixed = 0
        self._set_eta(eta)
        self.b.inverse.assign(self.b.stride, inverse_of(&self.b, 0))

    def fix(self, topics, which):
        """Fix the topics of those of the slots 0 .. n - 1 that ``which`` says, (n, n_terms): counts don't matter then."""
        cdef const double[:, ::1] given = np.ascontiguousarray(topics, dtype=np.float64)
        cdef const int8_t[::1] these = np.ascontiguousarray(which, dtype=np.int8)
        cdef int64_t i, v, n = given.shape[0]
        self.b.fixed.resize(n * self.b.n_terms)
        self.b.is_fixed.resize(n)
        for i in range(n):
            self.b.is_fixed[i] = these[i]
            for v in range(self.b.n_terms):
                self.b.fixed[i * self.b.n_terms + v] = given[i, v]
        self.b.n_fixed = n if np.any(which) else 0

    @property
    def has_fixed(self):
        """Whether any topic is fixed."""
        return self.b.n_fixed > 0

    @property
    def serves_blocks(self):
        """Whether fused steps of blocks may use the counts."""
        return not self.has_fixed

    cdef int invert(self) noexcept:
        cdef int64_t k
        for k in range(self.b.stride):
            self.b.inverse[k] = inverse_of(&self.b, self.b.totals[k])
        return 0

    def adopt(self, measure):
        self._set_eta(measure.eta_vector)
        self.invert()
        return True

    def _set_eta(self, eta):
        cdef const double[::1] e = np.ascontiguousarray(eta, dtype=np.float64)
        cdef int64_t v
        cdef bint symmetric = bool(np.all(np.asarray(e) == e[0]))
        cdef double least = float(np.min(e)), total = float(np.sum(e))
        cdef int64_t n = self.terms.shape[0]      # 0 for a bank that counts by cell
        self.b.eta.resize(e.shape[0])
        cdef int64_t tabulated = (min(n + 1, <int64_t>TABULATED) if n > 0 else TABULATED) if symmetric else 0
        self.b.factors.resize(tabulated if self.b.power < 1.0 else 0)
        # Nothing below can fail.
        self.b.table.resize(tabulated)
        for v in range(e.shape[0]):
            self.b.eta[v] = e[v]
        self.b.plain = least >= PLAIN
        # A symmetric sum as one product, which doesn't depend on the order of summation.
        self.b.eta_sum = e[0] * e.shape[0] if symmetric else total
        self.smallest_eta = least
        self.eta_version += 1
        for v in range(<int64_t>self.b.table.size()):
            self.b.table[v] = rising(e[0], v, self.b.power)
        for v in range(<int64_t>self.b.factors.size()):
            self.b.factors[v] = factor_of(&self.b, e[0], v)

    def in_floats(self, ends, longest):
        """Whether the sweep in single precision is accurate at these hyperparameters.

        ``ends`` are the largest concentration and the largest discount of each declaration, the root's first;
        ``longest`` is the number of customers of the largest restaurant.
        """
        cdef const double[:, ::1] given = np.array(ends, dtype=np.float64)
        return bool(
            self.b.n_fixed == 0
            and self.shares_in_floats(given)
            and 1.0 - given[0, 1] >= ROOT_SHARE * (longest + self.b.eta_sum)
            and given[0, 0] <= LARGEST_CONCENTRATION
        )

    def in_floats_given_weights(self, ends):
        """The same if the root's dishes have weights, for any weights."""
        cdef double n = self.terms.shape[0]
        return bool(
            self.b.n_fixed == 0
            and self.shares_in_floats(np.array(ends, dtype=np.float64))
            and self.smallest_eta >= LOST * n * (1.0 + self.b.eta_sum) * (n + self.b.eta_sum)
        )

    cdef bint shares_in_floats(self, const double[:, ::1] ends) except -1:
        """Whether the shares of a restaurant's own dishes can be in single precision."""
        cdef double concentration = ends[1, 0], discount = ends[1, 1]
        cdef double n = self.terms.shape[0]
        cdef Py_ssize_t i
        for i in range(2, ends.shape[0]):
            concentration = max(concentration, ends[i, 0])
            discount = max(discount, ends[i, 1])
        return (
            self.smallest_eta >= SMALLEST_ETA
            and self.b.eta_sum <= LARGEST_SUM
            and 1.0 - discount >= LONE_TABLE
            and (1.0 - discount) * self.smallest_eta >= NORMAL * (n + self.b.eta_sum)
            and concentration <= LARGEST_CONCENTRATION
        )

    def rebuild(self, const int32_t[::1] dishes not None, slots):
        self.recount(dishes, slots)
        self.invert()

    def rebuild_counts(self, terms, dishes, counts, slots):
        """Recompute all counts from customers by term and dish: one or more entries per term and dish."""
        self.recount_cells(terms, dishes, counts, slots)
        self.invert()

    cdef int relabel(self, const int32_t[::1] mapping) except -1:
        TermCountsBank.relabel(self, mapping)
        return self.invert()

    def sizes(self, slots):
        cdef const int32_t[::1] s = as_int32(slots)
        cdef int64_t i
        out = np.zeros(s.shape[0], dtype=np.int64)
        cdef int64_t[::1] o = out
        for i in range(s.shape[0]):
            o[i] = self.b.totals[s[i]]
        return out

    def statistics(self, slots, dishes):
        return [self.make_statistics(row, int(row.sum())) for row in self.counts(slots)]

    def log_marginals(self, slots, dishes=None):
        """log DM(n_k) of these slots: shape (n,), nats."""
        cdef const int32_t[::1] s = as_int32(slots)
        out = np.zeros(s.shape[0])
        cdef double[::1] o = out
        cdef int64_t v, i
        cdef int32_t count
        cdef double base
        cdef int64_t tabulated = self.b.table.size()
        with nogil:
            for v in range(self.b.n_terms):     # term by term, the order in memory
                for i in range(s.shape[0]):
                    count = self.b.counts[v * self.b.stride + s[i]]
                    if count > 0:
                        o[i] += self.b.table[count] if count < tabulated else rising(self.b.eta[v], count, self.b.power)
            for i in range(s.shape[0]):
                o[i] -= rising(self.b.eta_sum, self.b.totals[s[i]], self.b.power)
            for i in range(s.shape[0] if self.b.n_fixed > 0 else 0):
                if has_fixed(&self.b, s[i]):
                    o[i] = 0.0
                    for v in range(self.b.n_terms):
                        count = self.b.counts[v * self.b.stride + s[i]]
                        if count > 0:
                            base = self.b.fixed[s[i] * self.b.n_terms + v]
                            o[i] += count * det_log(base) if base > 0.0 else -INFINITY
        return out

    def log_marginals_under(self, slots, const double[::1] eta not None, double power):
        """log B(eta + power n_k) / B(eta) of these slots under any parameters: shape (n,), nats."""
        cdef const int32_t[::1] s = as_int32(slots)
        cdef double[::1] o = np.zeros(s.shape[0])
        cdef int64_t v, i
        cdef int32_t count
        cdef double eta_sum = 0.0
        with nogil:
            for v in range(self.b.n_terms):     # term by term, the order in memory
                eta_sum += eta[v]
                for i in range(s.shape[0]):
                    count = self.b.counts[v * self.b.stride + s[i]]
                    if count > 0:
                        o[i] += log_gamma_ratio(eta[v], power * count)
            for i in range(s.shape[0]):
                o[i] -= log_gamma_ratio(eta_sum, power * self.b.totals[s[i]])
        return np.asarray(o)

    def log_marginal_total(self, slots):
        """Sum of log DM(n_k) over these slots, in nats, or None if it can't be computed from a tally of counts.

        With a symmetric eta the contribution of a cell depends only on its count, so the cost for another eta
        is proportional to the number of distinct counts. None if eta is not symmetric, if other slots have
        counts, or if topics are fixed.
        """
        cdef const int32_t[::1] s = as_int32(slots)
        cdef int64_t i
        cdef double total
        if self.b.table.size() == 0 or self.b.n_fixed > 0 or not self.has_all(s):
            return None
        with nogil:
            total = self.rising_total(&self.b.table, self.b.eta[0], self.b.power)
            for i in range(s.shape[0]):
                total -= rising(self.b.eta_sum, self.b.totals[s[i]], self.b.power)
        return total

    def memory_bytes(self):
        return (self.count_bytes() + bytes_of(self.b.inverse, self.b.eta, self.b.table, self.b.factors)
                + self.workspace_bytes())


cdef int tempered_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n,
                             double *out) noexcept nogil:
    cdef DirichletCounts *b = <DirichletCounts *>self
    cdef int32_t term = b.terms[customer]
    cdef const int32_t *row = b.counts + <int64_t>term * b.stride
    cdef int64_t i, tabulated = b.factors.size()
    cdef int32_t count
    for i in range(n):
        count = row[slots[i]]
        out[i] = (b.factors[count] if count < tabulated else factor_of(b, b.eta[term], count)) * b.inverse[slots[i]]
    out[n] = factor_of(b, b.eta[term], 0) * inverse_of(b, 0)
    return 0


cdef int tempered_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                            int64_t n, double *out) noexcept nogil:
    """log of B(eta + power (n_k + c)) / B(eta + power n_k), where B is the normaliser of a Dirichlet distribution."""
    cdef DirichletCounts *b = <DirichletCounts *>self
    cdef int64_t i, place
    cdef int32_t term, count
    cdef const int32_t *row
    if gather_block(b, customers, n_customers) < 0:
        return -1
    for i in range(n + 1):
        out[i] = -rising(b.eta_sum + b.power * (b.totals[slots[i]] if i < n else 0), n_customers, b.power)
    for place in range(<int64_t>b.touched.size()):
        term = b.touched[place]
        count = b.block[term]
        b.block[term] = 0
        row = b.counts + <int64_t>term * b.stride
        for i in range(n + 1):
            out[i] += rising(b.eta[term] + b.power * (row[slots[i]] if i < n else 0), count, b.power)
    return 0


cdef int tempered_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                        int64_t n, double *out) noexcept nogil:
    """Marginal likelihoods of a block under a power of the likelihood, as weights with maximum 1."""
    if tempered_log_block(self, customers, n_customers, slots, n, out) < 0:
        return -1
    return as_weights(out, n)


cdef class TemperedBank(DirichletMultinomialBank):
    """Counts of terms under a power of the likelihood: topics integrated out, an observation counts as ``power``.

    Only the probabilities differ. Fused sweeps over tables and blocks of tables don't use them, so the kernel
    table has this class only for generic sweeps and for sweeps over documents, which are given powers of topics.
    """

    COMPILED = COUNTING = True

    def __cinit__(self, terms, eta, make_statistics, double power):
        self.c.predictive = tempered_predictive
        self.c.block = tempered_block
        self.c.log_block = tempered_log_block

    def fix(self, topics, which):
        """Refuse known components: powers of their topics are not implemented."""
        refuse("known", "components", "none under a power of the likelihood", "Leave known out.")
