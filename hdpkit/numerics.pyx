# distutils: language = c++
"""Elementary functions that are the same on every processor, for Python (see `numerics.pxd`)."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int64_t

cdef int64_t MOST = 2**31


def log(double x):
    """Natural logarithm; -inf at 0."""
    return det_log(x)


def log1p(double x):
    """log(1 + x) for x > -1."""
    return det_log1p(x)


def exp(double x):
    """Exponential."""
    return det_exp(x)


def add_up(values):
    """Sum of floats from left to right; from Python 3.12 on `sum` adds them with a correction."""
    cdef double total = 0.0
    for value in values:
        total += value
    return total


def log_each(values):
    """Natural logarithm of every number, -inf at 0: an array of the same shape."""
    made = np.array(values, dtype=np.float64)
    cdef double[::1] row = made.reshape(-1)
    cdef Py_ssize_t i
    for i in range(row.shape[0]):
        row[i] = det_log(row[i])
    return np.asarray(row).reshape(made.shape)


def exp_each(values):
    """Exponential of every number: an array of the same shape."""
    made = np.array(values, dtype=np.float64)
    cdef double[::1] row = made.reshape(-1)
    cdef Py_ssize_t i
    for i in range(row.shape[0]):
        row[i] = det_exp(row[i])
    return np.asarray(row).reshape(made.shape)


def lgamma(double x):
    """Logarithm of the gamma function for x > 0."""
    if x < 0.0:
        raise ValueError(f"x = {x}: must be positive")
    return det_lgamma(x)


def gamma_ratio(double a, double x):
    """log G(a + x) / G(a) for a > 0, x >= 0."""
    if not (0.0 < a < INFINITY and 0.0 <= x < INFINITY):
        raise ValueError(f"a, x = {a, x}: must be finite, a positive and x not negative")
    return log_gamma_ratio(a, x)


def rising(double a, double step, long n):
    """log of a (a+step) ... (a+(n-1)step) for a > 0, step >= 0; n below 2**31."""
    if n >= MOST:
        raise ValueError(f"n = {n}: must be below 2**31, as it is a number of customers")
    return log_rising(a, n) if step == 1.0 else log_rising_by(a, step, n)


def rising_sum(const double[:] a not None, const double[:] step not None, const int64_t[:] n not None,
               const int64_t[:] counts not None):
    """Sum over rows of counts * log of a (a+step) ... (a+(n-1)step), for a > 0, step >= 0.

    One entry of a or of step stands for all rows.
    """
    cdef double total = 0.0
    cdef Py_ssize_t i, rows = n.shape[0]
    if counts.shape[0] != rows or a.shape[0] not in (1, rows) or step.shape[0] not in (1, rows):
        raise ValueError("columns of different lengths")
    for i in range(rows):
        if n[i] >= MOST:
            raise ValueError(f"n = {n[i]}: must be below 2**31, as it is a number of customers")
    with nogil:
        for i in range(rows):
            total += counts[i] * log_rising_steps(
                a[i] if a.shape[0] > 1 else a[0], step[i] if step.shape[0] > 1 else step[0], n[i])
    return total
