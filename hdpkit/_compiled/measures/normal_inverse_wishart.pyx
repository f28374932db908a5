# distutils: language = c++
"""The compiled normal-inverse-Wishart: vectors with a full covariance matrix.

Formulas: Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution", section 9; the readable
twin is `hdpkit.base_measures.reference.normal_inverse_wishart`. A row holds n, the mean and the scatter
matrix. Matrices are stored as lower triangles by columns, so inner loops access contiguous memory.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.support.arguments cimport check_length
from hdpkit._compiled.measures.dense_bank cimport DenseBank, take_numbers
from hdpkit._compiled.measures.dense_bank import exact_offset
from hdpkit.numerics cimport det_log, det_log1p, log_gamma_ratio

cdef double LOG_PI = 1.1447298858494001741

cdef enum:
    LOG_C = 0           # log of the factors of the predictive density that don't depend on the value
    POWER = 1           # (dof + 1) / 2
    SHARE = 2           # strength / (strength + 1)
    STRENGTH = 3
    DOF = 4
    LOG_DET = 5         # log determinant of the posterior scale matrix
    FIXED = 6           # followed by the location (D) and the Cholesky factor with inverted diagonal (T)


cdef cppclass WishartModel:
    const double *values        # of each data customer, shape (n, D); owned by the bank
    int64_t D
    int64_t T                   # D (D + 1) / 2, entries of a triangle
    double strength, dof
    vector[double] mean, scale  # of the prior: shape (D,) and a triangle
    vector[double] x            # scratch, shape (D,)
    vector[double] merged       # scratch: a row
    vector[double] cache        # scratch: its cache


cdef inline void rank_one(double *triangle, const double *x, double weight, int64_t D) noexcept nogil:
    """Add weight x x' to a triangle."""
    cdef int64_t i, j, p = 0
    cdef double w
    for j in range(D):
        w = weight * x[j]
        for i in range(j, D):
            triangle[p] += w * x[i]
            p += 1


cdef void niw_add(void *model, double *row, int32_t customer) noexcept nogil:
    cdef WishartModel *m = <WishartModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef double *step = m.x.data()
    cdef double n = row[0] + 1.0
    cdef int64_t d
    for d in range(m.D):
        step[d] = x[d] - row[1 + d]
        row[1 + d] += step[d] / n
    rank_one(row + 1 + m.D, step, (n - 1.0) / n, m.D)    # (x - old mean)(x - new mean)'
    row[0] = n


cdef void niw_remove(void *model, double *row, int32_t customer) noexcept nogil:
    cdef WishartModel *m = <WishartModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef double *step = m.x.data()
    cdef double n = row[0] - 1.0
    cdef int64_t d
    for d in range(m.D):
        step[d] = x[d] - row[1 + d]
        row[1 + d] -= step[d] / n
    if n == 1.0:
        for d in range(m.T):
            row[1 + m.D + d] = 0.0
    else:
        rank_one(row + 1 + m.D, step, -(n + 1.0) / n, m.D)
    row[0] = n


cdef int niw_refresh(void *model, const double *row, double *cache) noexcept nogil:
    """Cache the posterior of a dish: the Cholesky factor of its scale matrix and constants of the predictive."""
    cdef WishartModel *m = <WishartModel *>model
    cdef double *location = cache + FIXED
    cdef double *factor = cache + FIXED + m.D
    cdef const double *scatter = row + 1 + m.D
    cdef double *x = m.x.data()
    cdef double n = row[0], strength = m.strength + n, dof = m.dof + n
    cdef double weight = sqrt(m.strength * n / strength), c, s, r, w, log_det = 0.0, product = 1.0
    cdef int64_t i, j, k, p, q, D = m.D
    for i in range(m.T):
        factor[i] = m.scale[i] + scatter[i]
    p = 0
    for j in range(D):
        if not factor[p] > 0.0:
            return -1
        r = sqrt(factor[p])
        for i in range(D - j):
            factor[p + i] /= r
        q = p + D - j
        for k in range(1, D - j):
            w = factor[p + k]
            for i in range(D - j - k):
                factor[q + i] -= w * factor[p + k + i]
            q += D - j - k
        p += D - j
    for i in range(D):
        r = row[1 + i] - m.mean[i] if n > 0.0 else 0.0
        location[i] = m.mean[i] + n / strength * r
        x[i] = weight * r
    # The distance from the prior's mean is included by rotations instead of an addition to the matrix: it may
    # be many orders larger than the scatter, whose digits would be lost.
    p = 0
    for j in range(D):
        if n > 0.0:
            r = sqrt(factor[p] * factor[p] + x[j] * x[j])
            c = factor[p] / r
            s = x[j] / r
            factor[p] = r
            for i in range(1, D - j):
                w = factor[p + i]
                factor[p + i] = c * w + s * x[j + i]
                x[j + i] = c * x[j + i] - s * w
        product *= factor[p]
        if product > 1e150 or product < 1e-150:
            log_det += det_log(product)
            product = 1.0
        factor[p] = 1.0 / factor[p]
        p += D - j
    log_det = 2.0 * (log_det + det_log(product))
    cache[LOG_DET] = log_det
    cache[STRENGTH] = strength
    cache[DOF] = dof
    cache[POWER] = 0.5 * (dof + 1.0)
    cache[SHARE] = strength / (strength + 1.0)
    cache[LOG_C] = (log_gamma_ratio(0.5 * (dof + 1.0 - D), 0.5 * D) - 0.5 * log_det
                    + 0.5 * D * (det_log(cache[SHARE]) - LOG_PI))
    return 0


cdef double niw_log_value(void *model, const double *cache, int32_t customer) noexcept nogil:
    """Multivariate t with dof - D + 1 degrees of freedom."""
    cdef WishartModel *m = <WishartModel *>model
    cdef const double *value = m.values + customer * m.D
    cdef const double *location = cache + FIXED
    cdef const double *factor = cache + FIXED + m.D
    cdef double *x = m.x.data()
    cdef double y, distance = 0.0
    cdef int64_t i, j, D = m.D
    for i in range(D):
        x[i] = value[i] - location[i]
    for j in range(D):
        y = x[j] * factor[0]
        distance += y * y
        for i in range(1, D - j):
            x[j + i] -= factor[i] * y
        factor += D - j
    return cache[LOG_C] - cache[POWER] * det_log1p(cache[SHARE] * distance)


cdef double niw_log_values(void *model, const double *row, const double *cache,
                           const double *block) noexcept nogil:
    """Ratio of marginals before and after the block joins the row."""
    cdef WishartModel *m = <WishartModel *>model
    cdef double *merged = m.merged.data()
    cdef double *after = m.cache.data()
    cdef double *x = m.x.data()
    cdef double n = row[0], k = block[0], total
    cdef int64_t i, D = m.D
    merged[0] = n + k
    for i in range(D):
        x[i] = block[1 + i] - row[1 + i]
        merged[1 + i] = row[1 + i] + k / (n + k) * x[i]
    for i in range(m.T):
        merged[1 + D + i] = row[1 + D + i] + block[1 + D + i]
    rank_one(merged + 1 + D, x, n * k / (n + k), D)
    if niw_refresh(model, merged, after) < 0:
        return 0.0 / 0.0
    total = -0.5 * k * D * LOG_PI - 0.5 * D * det_log1p(k / cache[STRENGTH])
    for i in range(D):
        total += log_gamma_ratio(0.5 * (cache[DOF] - i), 0.5 * k)
    return total - 0.5 * k * after[LOG_DET] - 0.5 * cache[DOF] * (after[LOG_DET] - cache[LOG_DET])


cdef class NormalInverseWishartBank(DenseBank):
    """Means and scatter matrices by dish slot.

    Parameters
    ----------
    values : float64 array, shape (n_customers, D)
    measure : object
        Its ``numbers`` are the prior's parameters: mean (D,), strength, dof, scale (D, D).
    make_statistics : callable
        Called with (n, mean, scatter); returns the statistics.
    """

    COMPILED = COUNTING = True

    cdef WishartModel m
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
        self.m.T = self.m.D * (self.m.D + 1) // 2
        self.m.x.assign(self.m.D, 0.0)
        self.m.merged.assign(1 + self.m.D + self.m.T, 0.0)
        self.m.cache.assign(FIXED + self.m.D + self.m.T, 0.0)
        self.d.add = niw_add
        self.d.remove = niw_remove
        self.d.refresh = niw_refresh
        self.d.log_value = niw_log_value
        self.d.log_values = niw_log_values
        self.set_up(&self.m, view.shape[0], 1 + self.m.D + self.m.T, FIXED + self.m.D + self.m.T)
        self.adopt(measure)

    def adopt(self, measure):
        """Replace the parameter values; statistics are kept. True: no recount is needed."""
        given, strength, dof, scale = measure.numbers
        cdef const double[::1] mean = np.ascontiguousarray(given - self.offset, dtype=np.float64)
        # Rows of the upper triangle are columns of the lower triangle.
        cdef const double[::1] triangle = np.ascontiguousarray(scale[np.triu_indices(self.m.D)], dtype=np.float64)
        check_length("mean", mean.shape[0], self.m.D)
        cdef double numbers[2]
        numbers[0] = strength
        numbers[1] = dof
        # Below, only the first call can fail.
        take_numbers(&self.m.mean, mean)
        take_numbers(&self.m.scale, triangle)
        self.m.strength = numbers[0]
        self.m.dof = numbers[1]
        return self.parameters_changed()

    def parts(self, row):
        """Number of values, their mean and their scatter matrix."""
        row = self.as_row(row)
        cdef int64_t D = self.m.D
        scatter = np.zeros((D, D))
        scatter[np.triu_indices(D)] = row[1 + D:]
        scatter = np.triu(scatter) + np.triu(scatter, 1).T
        return int(row[0]), (row[1:1 + D] + self.offset if row[0] else row[1:1 + D].copy()), scatter
