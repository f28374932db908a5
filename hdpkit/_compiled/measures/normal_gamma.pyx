# distutils: language = c++
"""The compiled normal-gamma: numbers, or vectors with independent dimensions.

Formulas: Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution", section 3; the readable
twin is `hdpkit.base_measures.reference.normal_gamma`. A row holds n and, for each dimension, the mean and the
sum of squared deviations, updated by Welford's method.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.measures.dense_bank cimport DenseBank, parameters_of, take_numbers
from hdpkit._compiled.measures.dense_bank import exact_offset
from hdpkit.numerics cimport det_log, det_log1p, log_gamma_ratio

cdef double LOG_PI = 1.1447298858494001741
cdef double LOG_2 = 0.69314718055994530942


cdef cppclass NormalGammaModel:
    const double *values                        # of each data customer, shape (n, D); owned by the bank
    int64_t D
    vector[double] mean, strength, shape, rate  # of the prior, shape (D,)
    bint one_shape                              # whether all dimensions have the same shape


cdef void ng_add(void *model, double *row, int32_t customer) noexcept nogil:
    cdef NormalGammaModel *m = <NormalGammaModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef double *moments = row + 1
    cdef double step
    cdef int64_t d
    row[0] += 1.0
    for d in range(m.D):
        step = x[d] - moments[2 * d]
        moments[2 * d] += step / row[0]
        moments[2 * d + 1] += step * (x[d] - moments[2 * d])


cdef void ng_remove(void *model, double *row, int32_t customer) noexcept nogil:
    cdef NormalGammaModel *m = <NormalGammaModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef double *moments = row + 1
    cdef double step
    cdef int64_t d
    row[0] -= 1.0
    for d in range(m.D):
        step = x[d] - moments[2 * d]
        moments[2 * d] -= step / row[0]
        moments[2 * d + 1] -= step * (x[d] - moments[2 * d])
        if row[0] == 1.0 or moments[2 * d + 1] < 0.0:
            moments[2 * d + 1] = 0.0


cdef int ng_refresh(void *model, const double *row, double *cache) noexcept nogil:
    """Cache log c and shape + 1/2; location, 1/(dof scale**2), strength, shape and rate by dimension."""
    cdef NormalGammaModel *m = <NormalGammaModel *>model
    cdef const double *moments = row + 1
    cdef double *t = cache + 2
    cdef double *posterior = cache + 2 + 2 * m.D
    cdef double n = row[0], strength, shape = 0.0, rate, away, gammas = 0.0, total = 0.0
    cdef int64_t d
    for d in range(m.D):
        strength = m.strength[d] + n
        away = moments[2 * d] - m.mean[d] if n > 0.0 else 0.0
        rate = m.rate[d] + 0.5 * moments[2 * d + 1] + 0.5 * m.strength[d] * n / strength * away * away
        if d == 0 or not m.one_shape:
            shape = m.shape[d] + 0.5 * n
            gammas = log_gamma_ratio(shape, 0.5) - 0.5 * LOG_PI
        t[2 * d] = m.mean[d] + n / strength * away
        t[2 * d + 1] = strength / (2.0 * rate * (strength + 1.0))
        total += gammas + 0.5 * det_log(t[2 * d + 1])
        posterior[3 * d] = strength
        posterior[3 * d + 1] = shape
        posterior[3 * d + 2] = rate
    cache[0] = total
    cache[1] = shape + 0.5
    return 0


cdef double ng_log_value(void *model, const double *cache, int32_t customer) noexcept nogil:
    """Student's t with 2 * shape degrees of freedom in each dimension."""
    cdef NormalGammaModel *m = <NormalGammaModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef const double *t = cache + 2
    cdef const double *posterior = cache + 2 + 2 * m.D
    cdef double away, factor, product = 1.0, total = 0.0
    cdef int64_t d
    if m.D == 1:
        away = x[0] - t[0]
        return cache[0] - cache[1] * det_log1p(t[1] * away * away)
    if not m.one_shape:
        for d in range(m.D):
            away = x[d] - t[2 * d]
            total += (posterior[3 * d + 1] + 0.5) * det_log1p(t[2 * d + 1] * away * away)
        return cache[0] - total
    for d in range(m.D):    # one logarithm for several dimensions
        away = x[d] - t[2 * d]
        factor = 1.0 + t[2 * d + 1] * away * away
        if factor > 1e150:
            total += det_log(factor)
            continue
        product *= factor
        if product > 1e150:
            total += det_log(product)
            product = 1.0
    return cache[0] - cache[1] * (total + det_log(product))


cdef double ng_log_values(void *model, const double *row, const double *cache,
                          const double *block) noexcept nogil:
    """Ratio of marginals, from a single update of the posterior by all values of the block."""
    cdef NormalGammaModel *m = <NormalGammaModel *>model
    cdef const double *t = cache + 2
    cdef const double *posterior = cache + 2 + 2 * m.D
    cdef double n = block[0], strength, shape = 0.0, rate, away, grown, gammas = 0.0, total = 0.0
    cdef int64_t d
    for d in range(m.D):
        strength = posterior[3 * d]
        rate = posterior[3 * d + 2]
        away = block[1 + 2 * d] - t[2 * d]
        grown = 0.5 * block[2 + 2 * d] + 0.5 * strength * n / (strength + n) * away * away
        if d == 0 or not m.one_shape:
            shape = posterior[3 * d + 1]
            gammas = log_gamma_ratio(shape, 0.5 * n)
        total += (gammas - 0.5 * det_log1p(n / strength) - 0.5 * n * (LOG_2 + LOG_PI + det_log(rate))
                  - (shape + 0.5 * n) * det_log1p(grown / rate))
    return total


cdef class NormalGammaBank(DenseBank):
    """Means and squared deviations by dish slot.

    Parameters
    ----------
    values : float64 array, shape (n_customers, D)
    measure : object
        Its ``vectors`` are the prior's parameters mean, strength, shape and rate, each of shape (D,).
    make_statistics : callable
        Called with (n, mean, scatter); returns the statistics.
    """

    COMPILED = COUNTING = True

    cdef NormalGammaModel m
    cdef readonly object values
    cdef readonly object offset

    def __cinit__(self, values, measure, make_statistics):
        given = np.asarray(values, dtype=np.float64)
        self.offset = exact_offset(given)
        cdef const double[:, ::1] view = np.ascontiguousarray(given - self.offset)
        self.values = np.asarray(view)
        self.make_statistics = make_statistics
        self.m.values = &view[0, 0]
        self.m.D = view.shape[1]
        self.d.add = ng_add
        self.d.remove = ng_remove
        self.d.refresh = ng_refresh
        self.d.log_value = ng_log_value
        self.d.log_values = ng_log_values
        self.set_up(&self.m, view.shape[0], 1 + 2 * self.m.D, 2 + 5 * self.m.D)
        self.adopt(measure)

    def adopt(self, measure):
        """Replace the parameter values; statistics are kept. True: no recount is needed."""
        given = parameters_of(measure, 4, self.m.D)
        cdef const double[::1] mean = given[0] - self.offset
        cdef const double[::1] strength = given[1]
        cdef const double[::1] shape = given[2]
        cdef const double[::1] rate = given[3]
        cdef bint one_shape = bool(np.all(given[2] == shape[0]))
        # Below, only the first call can fail.
        take_numbers(&self.m.mean, mean)
        take_numbers(&self.m.strength, strength)
        take_numbers(&self.m.shape, shape)
        take_numbers(&self.m.rate, rate)
        self.m.one_shape = one_shape
        return self.parameters_changed()

    def parts(self, row):
        """Number of values, their mean and the sums of their squared deviations."""
        row = self.as_row(row)
        return int(row[0]), (row[1::2] + self.offset if row[0] else row[1::2].copy()), row[2::2].copy()
