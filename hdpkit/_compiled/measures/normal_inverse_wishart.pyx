# distutils: language = c++
"""The compiled normal-inverse-Wishart: vectors with a full covariance matrix.

Formulas: Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution", section 9; the readable
twin is `hdpkit.base_measures.reference.normal_inverse_wishart`. A row holds n, the mean and the scatter
matrix. Matrices are stored as lower triangles by columns, so inner loops access contiguous memory. The cache of
a dish has the inverse W of the Cholesky factor of its scale matrix, so that the distance of a value is a product,
|W (x - location)|^2. If a value moves, W is changed by a matrix of rank one: in D^2 operations instead of D^3 (Gill,
Golub, Murray & Saunders 1974, "Methods for modifying matrix factorizations", method C1, applied to the inverse).
After some such changes, and whenever statistics are recomputed, it is computed again from the scatter matrix.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.support.arguments cimport check_length
from hdpkit._compiled.measures.dense_bank cimport SCORES, DenseBank, take_numbers
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
    LOG_OTHERS = 6      # as LOG_C, for one of the dish's own values under the others
    CHANGES = 7         # of W, since it was computed from the scatter matrix
    FIXED = 8           # followed by the location (D) and W

cdef double MOST_CHANGES = 64.0
# A change of W is refused if it multiplies the determinant by more than this, or by less than its inverse: the error
# of a distance is multiplied by up to the same.
cdef double LARGEST_CHANGE = 100.0

cdef extern from "inverse_factor.h":
    int64_t panels_of "hdpkit_panels"(int64_t D) noexcept nogil
    int64_t factor_size "hdpkit_factor_size"(int64_t D) noexcept nogil
    double whiten "hdpkit_whiten"(const double *W, const double *x, int64_t panels, double *z) noexcept nogil
    void lengths "hdpkit_lengths"(const double *W, const double *x, int64_t panels, double *out) noexcept nogil
    void change_factor "hdpkit_change_factor"(double *W, const double *u, double sign, int64_t panels,
                                              double *sums) noexcept nogil
    void invert_factor "hdpkit_invert_factor"(const double *L, int64_t D, double *W) noexcept nogil


cdef cppclass WishartModel:
    const double *values        # of each data customer, shape (n, D); owned by the bank
    int64_t D
    int64_t T                   # D (D + 1) / 2, entries of a triangle
    double strength, dof
    vector[double] mean, scale  # of the prior: shape (D,) and a triangle
    int64_t panels              # of W
    vector[double] x, z, sums   # scratch: vectors with the length of a row of W
    vector[double] some         # scratch: the same for several values, by dimension
    vector[double] factor       # scratch: a Cholesky factor with inverted diagonal
    vector[double] merged       # scratch: a row


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


cdef int factorise(WishartModel *m, const double *row, double *log_det) noexcept nogil:
    """Compute the Cholesky factor of a dish's scale matrix, with inverted diagonal, and its log determinant."""
    cdef double *factor = m.factor.data()
    cdef const double *scatter = row + 1 + m.D
    cdef double *x = m.x.data()
    cdef double n = row[0]
    cdef double weight = sqrt(m.strength * n / (m.strength + n)), c, s, r, w, total = 0.0, product = 1.0
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
        x[i] = weight * (row[1 + i] - m.mean[i]) if n > 0.0 else 0.0
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
            total += det_log(product)
            product = 1.0
        factor[p] = 1.0 / factor[p]
        p += D - j
    log_det[0] = 2.0 * (total + det_log(product))
    return 0


cdef void set_numbers(WishartModel *m, const double *row, double *cache, double log_det) noexcept nogil:
    """Cache the location of a dish and the constants of its predictives."""
    cdef double n = row[0], strength = m.strength + n, dof = m.dof + n, log_pi = 0.5 * m.D * LOG_PI
    cdef int64_t i
    for i in range(m.D):
        cache[FIXED + i] = m.mean[i] + n / strength * (row[1 + i] - m.mean[i]) if n > 0.0 else m.mean[i]
    cache[LOG_DET] = log_det
    cache[STRENGTH] = strength
    cache[DOF] = dof
    cache[POWER] = 0.5 * (dof + 1.0)
    cache[SHARE] = strength / (strength + 1.0)
    cache[LOG_C] = (log_gamma_ratio(0.5 * (dof + 1.0 - m.D), 0.5 * m.D) - 0.5 * log_det
                    + 0.5 * m.D * det_log(cache[SHARE]) - log_pi)
    cache[LOG_OTHERS] = 0.0
    if n > 0.0:
        cache[LOG_OTHERS] = (log_gamma_ratio(0.5 * (dof - m.D), 0.5 * m.D) - 0.5 * log_det
                             + 0.5 * m.D * det_log((strength - 1.0) / strength) - log_pi)


cdef int niw_refresh(void *model, const double *row, double *cache) noexcept nogil:
    """Cache the posterior of a dish."""
    cdef WishartModel *m = <WishartModel *>model
    cdef double log_det = 0.0
    if factorise(m, row, &log_det) < 0:
        return -1
    set_numbers(m, row, cache, log_det)
    cache[CHANGES] = 0.0
    invert_factor(m.factor.data(), m.D, cache + FIXED + m.D)
    return 0


cdef double niw_score(void *model, const double *cache, int32_t customer) noexcept nogil:
    """Squared length of z = W (x - location)."""
    cdef WishartModel *m = <WishartModel *>model
    cdef const double *value = m.values + customer * m.D
    cdef double *x = m.x.data()
    cdef int64_t i
    for i in range(m.D):
        x[i] = value[i] - cache[FIXED + i]
    return whiten(cache + FIXED + m.D, x, m.panels, m.z.data())


cdef void niw_score_some(void *model, const double *cache, int32_t first, double *out) noexcept nogil:
    """Scores of consecutive values."""
    cdef WishartModel *m = <WishartModel *>model
    cdef const double *value = m.values + first * m.D
    cdef double *x = m.some.data()
    cdef int64_t i, c
    for c in range(SCORES):
        for i in range(m.D):
            x[SCORES * i + c] = value[i] - cache[FIXED + i]
        value += m.D
    lengths(cache + FIXED + m.D, x, m.panels, out)


cdef double niw_log_scored(void *model, const double *cache, double score) noexcept nogil:
    """Multivariate t with dof - D + 1 degrees of freedom."""
    return cache[LOG_C] - cache[POWER] * det_log1p(cache[SHARE] * score)


cdef double niw_log_without(void *model, const double *cache, double score) noexcept nogil:
    """The same after the value is removed from the dish, by the lemmas of the determinant and of the inverse.

    With 1 + d the ratio of determinants with and without the value, 1 / (1 + d) is `kept`. The factor
    (1 + d)^(-(dof + 1)/2) of the predictive, and the determinant without the value, become powers of it.
    """
    cdef double strength = cache[STRENGTH]
    cdef double kept = 1.0 - score * strength / (strength - 1.0)
    if not kept * LARGEST_CHANGE > 1.0:
        return 0.0 / 0.0
    return cache[LOG_OTHERS] + 0.5 * (cache[DOF] - 1.0) * det_log(kept)


cdef int niw_change(void *model, const double *row, double *cache, int32_t customer, double sign) noexcept nogil:
    """Change W by a matrix of rank one.

    An added value x adds share (x - location)(x - location)', share = strength / (strength + 1), to the scale matrix;
    a removed one subtracts the product with strength / (strength - 1), where location and strength are those
    before the change.
    """
    cdef WishartModel *m = <WishartModel *>model
    cdef double score, weight, ratio
    cdef double *z = m.z.data()
    cdef int64_t i
    if cache[CHANGES] >= MOST_CHANGES:
        return -1
    score = niw_score(model, cache, customer)
    weight = cache[STRENGTH] / (cache[STRENGTH] + sign)
    ratio = 1.0 + sign * weight * score
    if not (ratio * LARGEST_CHANGE > 1.0 and ratio < LARGEST_CHANGE):
        return -1
    weight = sqrt(weight)
    for i in range(m.D):
        z[i] *= weight
    change_factor(cache + FIXED + m.D, z, sign, m.panels, m.sums.data())
    set_numbers(m, row, cache, cache[LOG_DET] + det_log(ratio))
    cache[CHANGES] += 1.0
    return 0


cdef double niw_log_values(void *model, const double *row, const double *cache,
                           const double *block) noexcept nogil:
    """Ratio of marginals before and after the block joins the row."""
    cdef WishartModel *m = <WishartModel *>model
    cdef double *merged = m.merged.data()
    cdef double *x = m.x.data()
    cdef double n = row[0], k = block[0], total, after = 0.0
    cdef int64_t i, D = m.D
    merged[0] = n + k
    for i in range(D):
        x[i] = block[1 + i] - row[1 + i]
        merged[1 + i] = row[1 + i] + k / (n + k) * x[i]
    for i in range(m.T):
        merged[1 + D + i] = row[1 + D + i] + block[1 + D + i]
    rank_one(merged + 1 + D, x, n * k / (n + k), D)
    if factorise(m, merged, &after) < 0:
        return 0.0 / 0.0
    total = -0.5 * k * D * LOG_PI - 0.5 * D * det_log1p(k / cache[STRENGTH])
    for i in range(D):
        total += log_gamma_ratio(0.5 * (cache[DOF] - i), 0.5 * k)
    return total - 0.5 * k * after - 0.5 * cache[DOF] * (after - cache[LOG_DET])


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
        self.m.panels = panels_of(self.m.D)
        self.m.x.assign(4 * self.m.panels, 0.0)
        self.m.z.assign(4 * self.m.panels, 0.0)
        self.m.sums.assign(4 * self.m.panels, 0.0)
        self.m.some.assign(4 * self.m.panels * SCORES, 0.0)
        self.m.factor.assign(self.m.T, 0.0)
        self.m.merged.assign(1 + self.m.D + self.m.T, 0.0)
        self.d.add = niw_add
        self.d.remove = niw_remove
        self.d.refresh = niw_refresh
        self.d.log_values = niw_log_values
        self.d.score = niw_score
        self.d.score_some = niw_score_some
        self.d.log_scored = niw_log_scored
        self.d.log_without = niw_log_without
        self.d.change = niw_change
        self.set_up(&self.m, view.shape[0], 1 + self.m.D + self.m.T, FIXED + self.m.D + factor_size(self.m.D))
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
