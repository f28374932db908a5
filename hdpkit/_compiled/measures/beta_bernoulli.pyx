# distutils: language = c++
"""The compiled beta-Bernoulli: vectors of bits.

The readable twin is `hdpkit.base_measures.reference.beta_bernoulli`. A row holds n and the number of vectors
with each bit set. For each dish the log probability of the zero vector and the log odds of each bit are
cached: a predictive is then one addition per set bit.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.measures.dense_bank cimport DenseBank, parameters_of, take_numbers
from hdpkit._compiled.support.arguments cimport refuse
from hdpkit.numerics cimport det_log, log_rising

cdef enum:
    TABULATED = 4096     # most counts whose logarithms are tabulated if all bits have the same prior


cdef cppclass BetaBernoulliModel:
    vector[int32_t] bits            # the set bits of all data customers, customer by customer
    vector[int64_t] first           # where a customer's bits begin, shape (n + 1,)
    int64_t D
    vector[double] a, b             # of the prior, shape (D,)
    bint one_prior                  # whether all bits have the same prior
    vector[double] log_a, log_b     # log(a + j), log(b + j) of the common prior


cdef void bb_add(void *model, double *row, int32_t customer) noexcept nogil:
    cdef BetaBernoulliModel *m = <BetaBernoulliModel *>model
    cdef int64_t i
    row[0] += 1.0
    for i in range(m.first[customer], m.first[customer + 1]):
        row[1 + m.bits[i]] += 1.0


cdef void bb_remove(void *model, double *row, int32_t customer) noexcept nogil:
    cdef BetaBernoulliModel *m = <BetaBernoulliModel *>model
    cdef int64_t i
    row[0] -= 1.0
    for i in range(m.first[customer], m.first[customer + 1]):
        row[1 + m.bits[i]] -= 1.0


cdef int bb_refresh(void *model, const double *row, double *cache) noexcept nogil:
    """Cache the log probability of the zero vector, and the log odds of each bit."""
    cdef BetaBernoulliModel *m = <BetaBernoulliModel *>model
    cdef double n = row[0], total = 0.0, of_one, of_zero
    cdef int64_t d, set_, unset, tabulated = <int64_t>m.log_a.size()
    for d in range(m.D):
        set_ = <int64_t>row[1 + d]
        unset = <int64_t>(n - row[1 + d])
        if m.one_prior and set_ < tabulated and unset < tabulated:
            of_one = m.log_a[set_]
            of_zero = m.log_b[unset]
        else:
            of_one = det_log(m.a[d] + set_)
            of_zero = det_log(m.b[d] + unset)
        cache[1 + d] = of_one - of_zero
        total += of_zero
        if not m.one_prior:
            total -= det_log(m.a[d] + m.b[d] + n)
    if m.one_prior:
        total -= m.D * det_log(m.a[0] + m.b[0] + n)
    cache[0] = total
    return 0


cdef double bb_log_value(void *model, const double *cache, int32_t customer) noexcept nogil:
    cdef BetaBernoulliModel *m = <BetaBernoulliModel *>model
    cdef const int32_t *bits = m.bits.data()
    cdef int64_t i = m.first[customer], end = m.first[customer + 1]
    cdef double even = cache[0], odd = 0.0    # two independent sums, because each addition waits for the one before
    while i + 1 < end:
        even += cache[1 + bits[i]]
        odd += cache[1 + bits[i + 1]]
        i += 2
    if i < end:
        even += cache[1 + bits[i]]
    return even + odd


cdef double bb_log_values(void *model, const double *row, const double *cache,
                          const double *block) noexcept nogil:
    """Ratio of marginals: rising factorials of both counts over those of their sum, bit by bit."""
    cdef BetaBernoulliModel *m = <BetaBernoulliModel *>model
    cdef double a, b, in_all = 0.0, total = 0.0
    cdef int64_t d, n = <int64_t>block[0], set_
    for d in range(m.D):
        set_ = <int64_t>block[1 + d]
        a = m.a[d] + row[1 + d]
        b = m.b[d] + (row[0] - row[1 + d])
        if d == 0 or not m.one_prior:
            in_all = log_rising(m.a[d] + m.b[d] + row[0], n)
        total += log_rising(a, set_) + log_rising(b, n - set_) - in_all
    return total


cdef class BetaBernoulliBank(DenseBank):
    """Counts of set bits by dish slot.

    Parameters
    ----------
    values : array, shape (n_customers, D)
        Zeros and ones.
    measure : object
        Its ``vectors`` are the prior's parameters a and b, each of shape (D,).
    make_statistics : callable
        Called with (n, set bits); returns the statistics.
    """

    COMPILED = COUNTING = True

    cdef BetaBernoulliModel m

    def __cinit__(self, values, measure, make_statistics):
        bits = np.asarray(values, dtype=bool)
        if bits.ndim != 2:
            refuse("values", values, "an array of shape (n_customers, D)", "Give a row of bits for each customer.")
        self.make_statistics = make_statistics
        self.m.D = bits.shape[1]
        cdef const int32_t[::1] which = np.nonzero(bits)[1].astype(np.int32)
        cdef const int64_t[::1] ends = np.cumsum(bits.sum(axis=1), dtype=np.int64)
        cdef int64_t i
        self.m.bits.resize(which.shape[0])
        for i in range(which.shape[0]):
            self.m.bits[i] = which[i]
        self.m.first.resize(ends.shape[0] + 1)
        self.m.first[0] = 0
        for i in range(ends.shape[0]):
            self.m.first[i + 1] = ends[i]
        self.d.add = bb_add
        self.d.remove = bb_remove
        self.d.refresh = bb_refresh
        self.d.log_value = bb_log_value
        self.d.log_values = bb_log_values
        self.set_up(&self.m, bits.shape[0], 1 + self.m.D, 1 + self.m.D)
        self.adopt(measure)

    def adopt(self, measure):
        """Replace the parameter values; statistics are kept. True: no recount is needed."""
        cdef int64_t j, tabulated = min(<int64_t>self.m.first.size(), <int64_t>TABULATED)  # counts 0 .. n
        given = parameters_of(measure, 2, self.m.D)
        cdef const double[::1] a = given[0]
        cdef const double[::1] b = given[1]
        cdef bint one_prior = bool(np.all(given[0] == a[0]) and np.all(given[1] == b[0]))
        if one_prior:
            self.m.log_a.resize(tabulated)
            self.m.log_b.resize(tabulated)
        # Below, only the first call can fail.
        take_numbers(&self.m.a, a)
        take_numbers(&self.m.b, b)
        self.m.one_prior = one_prior
        if one_prior:
            for j in range(tabulated):
                self.m.log_a[j] = det_log(self.m.a[0] + j)
                self.m.log_b[j] = det_log(self.m.b[0] + j)
        return self.parameters_changed()

    def parts(self, row):
        """Number of vectors, and the number with each bit set."""
        row = self.as_row(row)
        return int(row[0]), row[1:].astype(np.int64)

    def memory_bytes(self):
        """Bytes of the statistics, the derived numbers and the list of set bits."""
        return (super().memory_bytes() + self.m.bits.capacity() * sizeof(int32_t)
                + self.m.first.capacity() * sizeof(int64_t))
