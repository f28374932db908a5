# distutils: language = c++
"""Unsigned Stirling numbers of the first kind, in logs: s(n, t) permutations of n have t cycles."""

from libc.stdint cimport int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.support.arguments cimport check_length, check_numbers64, refuse
from hdpkit.numerics cimport det_exp, det_log, det_log1p, det_lgamma


cdef double log_stirling_sum(vector[int64_t] *n, vector[int64_t] *t) except? -1.0 nogil:
    """Sum of log s(n, t) over pairs, 1 <= t <= n.

    Rows of s(n + 1, t) = s(n, t - 1) + n s(n, t) are grown once, up to the largest n and t that need them.
    """
    cdef double total = 0.0, above, before, own
    cdef int64_t i, j, size = 0, largest_n = 0, largest_t = 0, row
    cdef vector[double] logs                   # log s(row, j), j = 1 ..
    cdef vector[int64_t] first, following      # pairs of each n, as lists
    for i in range(<int64_t>n.size()):
        if t.at(i) == 1:
            total += det_lgamma(<double>n.at(i))
        elif t.at(i) < n.at(i):
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
    logs.assign(largest_t + 1, 0.0)
    for row in range(2, largest_n + 1):        # from s(row - 1, j) to s(row, j)
        size = min(row - 1, largest_t)
        above = det_log(<double>(row - 1))
        before = logs[1]
        logs[1] += above
        for j in range(2, size + 1):
            own = logs[j]
            logs[j] = log_sum(before, own + above)
            before = own
        if row <= largest_t:
            logs[row] = 0.0                    # s(n, n) = 1
        i = first[row]
        while i >= 0:
            total += logs[t.at(i)]
            i = following[i]
    return total


cdef inline double log_sum(double a, double b) noexcept nogil:
    """log(exp a + exp b)."""
    return a + det_log1p(det_exp(b - a)) if a > b else b + det_log1p(det_exp(a - b))


def sum_of_logs(const int64_t[::1] n not None, const int64_t[::1] t not None):
    """Sum of log s(n, t) over pairs.

    Parameters
    ----------
    n, t : int64 arrays
        1 <= t <= n, one pair at each place.
    """
    cdef vector[int64_t] these, those
    cdef int64_t i
    check_length("t", t.shape[0], n.shape[0])
    check_numbers64("n", n, 1, 2**31 - 1)
    for i in range(n.shape[0]):
        if not 1 <= t[i] <= n[i]:
            refuse("t", t[i], f"from 1 to {n[i]}", "A permutation of n has 1 to n cycles.")
        these.push_back(n[i])
        those.push_back(t[i])
    return log_stirling_sum(&these, &those)
