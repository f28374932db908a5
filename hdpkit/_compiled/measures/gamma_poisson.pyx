# distutils: language = c++
"""The compiled gamma-Poisson: counts, or vectors of counts with independent dimensions.

The readable twin is `hdpkit.base_measures.reference.gamma_poisson`. A row holds n, the sum of log x! and the
sums of the counts; integers are exact in doubles up to 2**53.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.measures.dense_bank cimport DenseBank, parameters_of, take_numbers
from hdpkit.numerics cimport det_lgamma, det_log, det_log1p, log_gamma_ratio

cdef double SHORT = 12.0     # largest count that is computed as a product


cdef cppclass GammaPoissonModel:
    const double *values            # of each data customer, shape (n, D); owned by the bank
    int64_t D
    vector[double] log_factorial    # of each data customer: the sum of log x! over its dimensions
    vector[double] shape, rate      # of the prior, shape (D,)


cdef void gp_add(void *model, double *row, int32_t customer) noexcept nogil:
    cdef GammaPoissonModel *m = <GammaPoissonModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef int64_t d
    row[0] += 1.0
    row[1] += m.log_factorial[customer]
    for d in range(m.D):
        row[2 + d] += x[d]


cdef void gp_remove(void *model, double *row, int32_t customer) noexcept nogil:
    cdef GammaPoissonModel *m = <GammaPoissonModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef int64_t d
    row[0] -= 1.0
    row[1] -= m.log_factorial[customer]
    for d in range(m.D):
        row[2 + d] -= x[d]


cdef int gp_refresh(void *model, const double *row, double *cache) noexcept nogil:
    """Cache the sum of shape log(rate / (rate + 1)), and shape and log(rate + 1) by dimension."""
    cdef GammaPoissonModel *m = <GammaPoissonModel *>model
    cdef double rate, total = 0.0
    cdef int64_t d
    for d in range(m.D):
        rate = m.rate[d] + row[0]
        cache[1 + 2 * d] = m.shape[d] + row[2 + d]
        cache[2 + 2 * d] = det_log(rate + 1.0)
        total -= cache[1 + 2 * d] * det_log1p(1.0 / rate)
    cache[0] = total
    return 0


cdef double gp_log_value(void *model, const double *cache, int32_t customer) noexcept nogil:
    """Negative binomial in each dimension."""
    cdef GammaPoissonModel *m = <GammaPoissonModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef double total = cache[0] - m.log_factorial[customer], product = 1.0, shape
    cdef int64_t d, j
    for d in range(m.D):
        shape = cache[1 + 2 * d]
        total -= x[d] * cache[2 + 2 * d]
        if x[d] > SHORT:
            total += log_gamma_ratio(shape, x[d])
            continue
        for j in range(<int64_t>x[d]):
            product *= shape + j
            if product > 1e200 or product < 1e-200:
                total += det_log(product)
                product = 1.0
    return total + det_log(product)


cdef double gp_log_values(void *model, const double *row, const double *cache,
                          const double *block) noexcept nogil:
    """Ratio of marginals: G(shape + s) / G(shape) rate**shape / (rate + n)**(shape + s) / prod x!."""
    cdef GammaPoissonModel *m = <GammaPoissonModel *>model
    cdef double n = block[0], total = -block[1], shape, rate
    cdef int64_t d
    for d in range(m.D):
        shape = cache[1 + 2 * d]
        rate = m.rate[d] + row[0]
        total += (log_gamma_ratio(shape, block[2 + d]) - shape * det_log1p(n / rate)
                  - block[2 + d] * det_log(rate + n))
    return total


cdef class GammaPoissonBank(DenseBank):
    """Sums of counts by dish slot.

    Parameters
    ----------
    values : float64 array, shape (n_customers, D)
        Integers >= 0.
    measure : object
        Its ``vectors`` are the prior's parameters shape and rate, each of shape (D,).
    make_statistics : callable
        Called with (n, sums, sum of log x!); returns the statistics.
    """

    COMPILED = COUNTING = True

    cdef GammaPoissonModel m
    cdef readonly object values

    def __cinit__(self, values, measure, make_statistics):
        cdef const double[:, ::1] view = np.ascontiguousarray(values, dtype=np.float64)
        cdef int64_t i, d
        cdef double total
        self.values = np.asarray(view)
        self.make_statistics = make_statistics
        self.m.values = &view[0, 0]
        self.m.D = view.shape[1]
        self.m.log_factorial.resize(view.shape[0])
        with nogil:
            for i in range(view.shape[0]):
                total = 0.0
                for d in range(view.shape[1]):
                    if view[i, d] > 1.0:
                        total += det_lgamma(view[i, d] + 1.0)
                self.m.log_factorial[i] = total
        self.d.add = gp_add
        self.d.remove = gp_remove
        self.d.refresh = gp_refresh
        self.d.log_value = gp_log_value
        self.d.log_values = gp_log_values
        self.set_up(&self.m, view.shape[0], 2 + self.m.D, 1 + 2 * self.m.D)
        self.adopt(measure)

    def adopt(self, measure):
        """Replace the parameter values; statistics are kept. True: no recount is needed."""
        given = parameters_of(measure, 2, self.m.D)
        cdef const double[::1] shape = given[0]
        cdef const double[::1] rate = given[1]
        # Below, only the first call can fail.
        take_numbers(&self.m.shape, shape)
        take_numbers(&self.m.rate, rate)
        return self.parameters_changed()

    def parts(self, row):
        """Number of values, their sums, and the sum of log x!."""
        row = self.as_row(row)
        return int(row[0]), row[2:].astype(np.int64), float(row[1])

    def memory_bytes(self):
        """Bytes of the statistics and derived numbers; the data are not counted."""
        return super().memory_bytes() + self.m.log_factorial.capacity() * sizeof(double)
