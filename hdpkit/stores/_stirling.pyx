# distutils: language = c++
"""Logarithms of unsigned Stirling numbers of the first kind (s(n, t) permutations of n have t cycles); ratios.

With a discount: S_d(n + 1, t) = S_d(n, t - 1) + (n - t d) S_d(n, t), S_d(0, 0) = 1; S_0 = s. It is the sum of the
product of [1-d]_1^(size-1) over all partitions of n customers into t tables (Teh 2006; Chen, Du & Buntine 2011).
"""

import numpy as np

from libc.stdint cimport int64_t
from hdpkit.vectors cimport vector

from hdpkit.errors import ParameterError
from hdpkit.numerics cimport det_exp, det_log, det_log1p, det_lgamma, log_rising

cdef int64_t MOST = 1 << 28       # most entries of a table of ratios: 2 GB
cdef int64_t FEW = 200            # largest number of tables for which rows are kept as plain numbers


cdef double log_discounted_sum(vector[int64_t] *n, vector[int64_t] *t, double d) except? -1.0 nogil:
    """Sum of log S_d(n, t) over pairs, 1 <= t <= n."""
    return log_discounted(n, t, d, NULL)


cdef double log_discounted(vector[int64_t] *n, vector[int64_t] *t, double d, double *each) except? -1.0 nogil:
    """The same, and log S_d(n, t) of each pair in ``each`` unless it is NULL.

    Rows S_d(n + 1, .) are computed from S_d(n, .) once, up to the largest n and t of the pairs.
    """
    cdef double total = 0.0
    cdef int64_t i, largest_n = 0, largest_t = 0
    cdef vector[int64_t] first, following      # pairs of each n, as lists
    for i in range(<int64_t>n.size()):
        if t.at(i) == 1:
            add(log_one_table(n.at(i), d), i, &total, each)
        elif t.at(i) == n.at(i):
            add(0.0, i, &total, each)
        else:
            largest_n = max(largest_n, n.at(i))
            largest_t = max(largest_t, t.at(i))
    if largest_n == 0:
        return total
    first.assign(largest_n + 1, -1)
    following.assign(n.size(), -1)
    for i in range(<int64_t>n.size()):
        if 1 < t.at(i) < n.at(i):
            following[i] = first[n.at(i)]
            first[n.at(i)] = i
    if largest_t <= FEW:
        return total + sum_by_rows(t, &first, &following, largest_t, d, each)
    return total + sum_by_rows_of_logs(t, &first, &following, largest_t, d, each)


cdef inline void add(double log_number, int64_t i, double *total, double *each) noexcept nogil:
    total[0] += log_number
    if each != NULL:
        each[i] = log_number


cdef inline double log_one_table(int64_t n, double d) noexcept nogil:
    """log S_d(n, 1)."""
    return det_lgamma(<double>n) if d == 0.0 else log_rising(1.0 - d, n - 1)


cdef double sum_by_rows(vector[int64_t] *t, vector[int64_t] *first, vector[int64_t] *following, int64_t largest_t,
                        double d, double *each) except? -1.0 nogil:
    """The sum over pairs in lists by n, for few tables: rows as plain numbers.

    w_n(t) = (t - 1)! S_d(n, t) / S_d(n, 1) has w_{n+1}(t) = w_n(t) + (t - 1) (w_n(t - 1) - d w_n(t)) / (n - d), and
    stays within the range of doubles: from 1 to (1 + log n + 1 / (t - 1))^(t - 1) without a discount; with a
    discount the upper bound is multiplied by 1 / (1 - d). Such a row needs one multiplication per entry, a
    row of logs an exponential and a logarithm: for counts of a million customers there are a million rows.
    """
    cdef double total = 0.0, share
    cdef int64_t i, j, row
    cdef vector[double] entries, factors       # w(largest_t), ..., w(1): an entry is computed from the one after it
    cdef double *w
    cdef const double *factor
    entries.assign(largest_t, 0.0)
    factors.assign(largest_t, 0.0)
    w = entries.data()
    factor = factors.data()
    w[largest_t - 1] = 1.0
    for j in range(largest_t):
        factors[j] = <double>(largest_t - 1 - j)
    for row in range(2, <int64_t>first.size()):      # from row - 1 to row
        share = 1.0 / ((row - 1) - d)
        for j in range(largest_t - 1):
            w[j] += factor[j] * share * (w[j + 1] - d * w[j])
        i = first.at(row)
        while i >= 0:
            add(det_log(w[largest_t - t.at(i)]) + log_one_table(row, d) - det_lgamma(<double>t.at(i)), i, &total, each)
            i = following.at(i)
    return total


cdef double sum_by_rows_of_logs(vector[int64_t] *t, vector[int64_t] *first, vector[int64_t] *following,
                                int64_t largest_t, double d, double *each) except? -1.0 nogil:
    """The sum of `sum_by_rows` for any number of tables, by rows of log S_d(n, t)."""
    cdef double total = 0.0, before, own, above
    cdef int64_t i, j, row
    cdef vector[double] logs                   # log S_d(row, j), j = 1 ..
    logs.assign(largest_t + 1, 0.0)
    for row in range(2, <int64_t>first.size()):      # from row - 1 to row
        before = logs[1]
        above = det_log((row - 1) - d)
        logs[1] += above
        for j in range(2, min(row - 1, largest_t) + 1):
            own = logs[j]
            logs[j] = log_sum(before, own + (above if d == 0.0 else det_log((row - 1) - j * d)))
            before = own
        if row <= largest_t:
            logs[row] = 0.0                    # S_d(n, n) = 1
        i = first.at(row)
        while i >= 0:
            add(logs[t.at(i)], i, &total, each)
            i = following.at(i)
    return total


cdef inline double log_sum(double a, double b) noexcept nogil:
    """log(exp a + exp b)."""
    return a + det_log1p(det_exp(b - a)) if a > b else b + det_log1p(det_exp(a - b))


def sum_of_logs(const int64_t[::1] n not None, const int64_t[::1] t not None, double d=0.0):
    """Sum of log S_d(n, t) over pairs."""
    cdef vector[int64_t] these, those
    take_pairs(n, t, &these, &those)
    return log_discounted_sum(&these, &those, d)


def logs_of(const int64_t[::1] n not None, const int64_t[::1] t not None, double d=0.0):
    """log S_d(n, t) of each pair: float64, shape (n,). Arguments as in `sum_of_logs`."""
    cdef vector[int64_t] these, those
    found = np.zeros(n.shape[0])
    cdef double[::1] out = found
    take_pairs(n, t, &these, &those)
    if n.shape[0] > 0:
        log_discounted(&these, &those, d, &out[0])
    return found


cdef int take_pairs(const int64_t[::1] n, const int64_t[::1] t, vector[int64_t] *these, vector[int64_t] *those) except -1:
    cdef int64_t i
    for i in range(n.shape[0]):
        these.push_back(n[i])
        those.push_back(t[i])
    return 0


# ------------------------------------------------------------------------- ratios, from a table that grows

cdef int clear_ratios(Ratios *ratios) except -1 nogil:
    """An empty table."""
    ratios.d = 0.0
    ratios.rows = 0
    ratios.columns = 0
    ratios.fewer.clear()
    return 0


cdef int too_large(int64_t n, int64_t t) except -1:
    raise ParameterError("customers and tables of one dish in a restaurant", (n, t),
                         f"at most {MOST:,} as a product, over a store of counts", "Use store='histogram'.")


cdef int cover_ratios(Ratios *ratios, double d, int64_t n, int64_t t) except -1 nogil:
    """Extend the table if necessary to cover n customers at t tables, and one table more.

    All terms are positive, so there is no cancellation. A table that is too small grows by half and is
    computed again, as it is when the discount has changed.
    """
    cdef int64_t rows = ratios.rows, columns = ratios.columns, i, j
    cdef double *row
    cdef const double *above
    if n <= rows and t + 1 <= columns and d == ratios.d:
        return 0
    if n > rows:
        rows = max(n + 1, rows + rows // 2)
    if t + 1 > columns:
        columns = max(t + 1, columns + columns // 2)
    columns = max(min(columns, rows), t + 1)
    if rows > MOST // columns:
        rows, columns = n, t + 1
        if rows > MOST // columns:
            with gil:
                too_large(n, t)
    ratios.rows = 0              # if an allocation fails, nothing is covered
    ratios.fewer.resize(rows * columns)
    ratios.d = d
    ratios.columns = columns
    ratios.fewer[0] = 0.0        # S_d(1, 0) = 0
    for i in range(1, rows):     # from n = i to n = i + 1
        above = ratios.fewer.data() + (i - 1) * columns
        row = ratios.fewer.data() + i * columns
        row[0] = 0.0
        for j in range(2, min(i, columns) + 1):
            row[j - 1] = above[j - 1] * (((i - (j - 1) * d) + above[j - 2]) / ((i - j * d) + above[j - 1]))
        if i < columns:
            row[i] = (i - i * d) + above[i - 1]
    ratios.rows = rows
    return 0


def ratios_at(int64_t n, int64_t t, double d):
    """S_d(n + 1, t) / S_d(n, t), S_d(n + 1, t + 1) / S_d(n, t) and S_d(n - 1, t - 1) / S_d(n, t)."""
    cdef Ratios ratios
    clear_ratios(&ratios)
    cover_ratios(&ratios, d, n, t)
    return one_shares(&ratios, n, t), one_opens(&ratios, n, t), one_alone(&ratios, n, t)
