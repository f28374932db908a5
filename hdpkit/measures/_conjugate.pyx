# distutils: language = c++
"""The compiled conjugate measures of values with statistics of fixed width.

Each is a model with C functions over rows of a `DenseBank`, and a bank. The readable twins are the Python methods of
the measures.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

from hdpkit.measures._dense_bank cimport SCORES, DenseBank, first_of
from hdpkit.numerics cimport det_lgamma, det_log, det_log1p, log_gamma_ratio, log_rising
from hdpkit.vectors cimport bytes_of, vector

cdef double LOG_2 = 0.69314718055994530942, LOG_PI = 1.1447298858494001741


# ---------------------------------------------------------------------------------------- gamma-Poisson
# Counts, or vectors of counts with independent dimensions. A row holds n, the sum of log x! and the sums of
# the counts; integers are exact in doubles up to 2**53.

cdef double SHORT = 12.0     # largest count that is computed as a product


cdef cppclass GammaPoissonModel:
    const double *values            # of each data customer, shape (n, D); owned by the bank
    int64_t D
    vector[double] log_factorial    # of each data customer: the sum of log x! over its dimensions
    const double *shape             # of the prior, shape (D,)
    const double *rate


cdef void gp_count(void *model, double *row, int32_t customer, double sign) noexcept nogil:
    cdef GammaPoissonModel *m = <GammaPoissonModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef int64_t d
    row[0] += sign
    row[1] += sign * m.log_factorial[customer]
    for d in range(m.D):
        row[2 + d] += sign * x[d]


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
    """Sums of counts by dish slot; statistics are made of (n, sums, sum of log x!)."""

    COMPILED = COUNTING = True

    cdef GammaPoissonModel m

    def __cinit__(self, values, measure, make_statistics):
        cdef const double[:, ::1] view = self.keep(values, make_statistics, False)
        cdef int64_t i, d
        cdef double total
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
        self.d.count = gp_count
        self.d.refresh = gp_refresh
        self.d.log_value = gp_log_value
        self.d.log_values = gp_log_values
        self.set_up(&self.m, view.shape[0], 2 + self.m.D, 1 + 2 * self.m.D)
        self.adopt(measure)

    def adopt(self, measure):
        shape, rate = given = measure.vectors
        self.m.shape, self.m.rate = first_of(shape), first_of(rate)
        return self.use(given)

    def parts(self, row):
        """Number of values, their sums, and the sum of log x!."""
        return int(row[0]), row[2:].astype(np.int64), float(row[1])

    def memory_bytes(self):
        return super().memory_bytes() + bytes_of(self.m.log_factorial)


# --------------------------------------------------------------------------------------- beta-Bernoulli
# Vectors of bits. A row holds n and the number of vectors with each bit set. For each dish the log
# probability of the zero vector and the log odds of each bit are cached: a predictive is then one addition
# per set bit.

cdef enum:
    TABULATED = 4096     # most counts whose logarithms are tabulated if all bits have the same prior


cdef cppclass BetaBernoulliModel:
    vector[int32_t] bits            # the set bits of all data customers, customer by customer
    vector[int64_t] first           # where a customer's bits begin, shape (n + 1,)
    int64_t D
    const double *a                 # of the prior, shape (D,)
    const double *b
    bint one_prior                  # whether all bits have the same prior
    vector[double] log_a, log_b     # log(a + j), log(b + j) of the common prior


cdef void bb_count(void *model, double *row, int32_t customer, double sign) noexcept nogil:
    cdef BetaBernoulliModel *m = <BetaBernoulliModel *>model
    cdef int64_t i
    row[0] += sign
    for i in range(m.first[customer], m.first[customer + 1]):
        row[1 + m.bits[i]] += sign


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
    """Counts of set bits by dish slot; statistics are made of (n, set bits)."""

    COMPILED = COUNTING = True

    cdef BetaBernoulliModel m

    def __cinit__(self, values, measure, make_statistics):
        bits = np.asarray(values, dtype=bool)
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
        self.d.count = bb_count
        self.d.refresh = bb_refresh
        self.d.log_value = bb_log_value
        self.d.log_values = bb_log_values
        self.set_up(&self.m, bits.shape[0], 1 + self.m.D, 1 + self.m.D)
        self.adopt(measure)

    def adopt(self, measure):
        cdef int64_t j, tabulated = min(<int64_t>self.m.first.size(), <int64_t>TABULATED)  # counts 0 .. n
        a, b = given = measure.vectors
        self.m.a, self.m.b = first_of(a), first_of(b)
        self.m.one_prior = bool(np.all(a == a[0]) and np.all(b == b[0]))
        if self.m.one_prior:
            self.m.log_a.resize(tabulated)
            self.m.log_b.resize(tabulated)
            for j in range(tabulated):
                self.m.log_a[j] = det_log(self.m.a[0] + j)
                self.m.log_b[j] = det_log(self.m.b[0] + j)
        return self.use(given)

    def parts(self, row):
        """Number of vectors, and the number with each bit set."""
        return int(row[0]), row[1:].astype(np.int64)

    def memory_bytes(self):
        return super().memory_bytes() + bytes_of(self.m.bits, self.m.first)


# ----------------------------------------------------------------------------------------- normal-gamma
# Numbers, or vectors with independent dimensions. Formulas: Murphy 2007, "Conjugate Bayesian analysis of
# the Gaussian distribution", section 3. A row holds n and, for each dimension, the mean and the sum of
# squared deviations, updated by Welford's method.

cdef cppclass NormalGammaModel:
    const double *values                        # of each data customer, shape (n, D); owned by the bank
    int64_t D
    const double *mean                          # of the prior, shape (D,)
    const double *strength
    const double *shape
    const double *rate
    bint one_shape                              # whether all dimensions have the same shape


cdef void ng_count(void *model, double *row, int32_t customer, double sign) noexcept nogil:
    cdef NormalGammaModel *m = <NormalGammaModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef double *moments = row + 1
    cdef double step, n = row[0] + sign, signed_n = sign * n
    cdef int64_t d
    row[0] = n
    for d in range(m.D):
        step = x[d] - moments[2 * d]
        moments[2 * d] += step / signed_n
        moments[2 * d + 1] += sign * (step * (x[d] - moments[2 * d]))
    for d in range(m.D if sign < 0.0 else 0):
        if n == 1.0 or moments[2 * d + 1] < 0.0:
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
    """Means and squared deviations by dish slot; statistics are made of (n, mean, scatter)."""

    COMPILED = COUNTING = True

    cdef NormalGammaModel m

    def __cinit__(self, values, measure, make_statistics):
        cdef const double[:, ::1] view = self.keep(values, make_statistics, True)
        self.m.values = &view[0, 0]
        self.m.D = view.shape[1]
        self.d.count = ng_count
        self.d.refresh = ng_refresh
        self.d.log_value = ng_log_value
        self.d.log_values = ng_log_values
        self.set_up(&self.m, view.shape[0], 1 + 2 * self.m.D, 2 + 5 * self.m.D)
        self.adopt(measure)

    def adopt(self, measure):
        mean, strength, shape, rate = measure.vectors
        mean = mean - self.offset
        self.m.mean, self.m.strength, self.m.shape = first_of(mean), first_of(strength), first_of(shape)
        self.m.rate = first_of(rate)
        self.m.one_shape = bool(np.all(shape == shape[0]))
        return self.use((mean, strength, shape, rate))

    def parts(self, row):
        """Number of values, their mean and the sums of their squared deviations."""
        return int(row[0]), (row[1::2] + self.offset if row[0] else row[1::2].copy()), row[2::2].copy()


# ------------------------------------------------------------------------------- normal-inverse-Wishart
# Vectors with a full covariance matrix. Formulas: Murphy 2007, section 9. A row holds n, the mean and the
# scatter matrix. Matrices are stored as lower triangles by columns, so inner loops access contiguous
# memory. The cache of a dish has the inverse W of the Cholesky factor of its scale matrix, so that the
# distance of a value is a product, |W (x - location)|^2. If a value moves, W is changed by a matrix of rank
# one: in D^2 operations instead of D^3 (Gill, Golub, Murray & Saunders 1974, "Methods for modifying matrix
# factorizations", method C1, applied to the inverse). After some such changes, and whenever statistics are
# recomputed, it is computed again from the scatter matrix.

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

cdef extern from "products.h":
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
    const double *mean          # of the prior: shape (D,)
    const double *scale         # and a triangle
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


cdef void niw_count(void *model, double *row, int32_t customer, double sign) noexcept nogil:
    cdef WishartModel *m = <WishartModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef double *step = m.x.data()
    cdef double n = row[0] + sign
    cdef int64_t d
    for d in range(m.D):
        step[d] = x[d] - row[1 + d]
        row[1 + d] += sign * step[d] / n
    if n == 1.0:
        for d in range(m.T):
            row[1 + m.D + d] = 0.0
    else:       # (x - old mean)(x - new mean)'
        rank_one(row + 1 + m.D, step, sign * (n - sign) / n, m.D)
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
    """Means and scatter matrices by dish slot; statistics are made of (n, mean, scatter)."""

    COMPILED = COUNTING = True

    cdef WishartModel m

    def __cinit__(self, values, measure, make_statistics):
        cdef const double[:, ::1] view = self.keep(values, make_statistics, True)
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
        self.d.count = niw_count
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
        mean, self.m.strength, self.m.dof, scale = measure.numbers
        mean = np.ascontiguousarray(mean - self.offset, dtype=np.float64)
        # Rows of the upper triangle are columns of the lower triangle.
        triangle = np.ascontiguousarray(scale[np.triu_indices(self.m.D)], dtype=np.float64)
        self.m.mean, self.m.scale = first_of(mean), first_of(triangle)
        return self.use((mean, triangle))

    def parts(self, row):
        """Number of values, their mean and their scatter matrix."""
        cdef int64_t D = self.m.D
        scatter = np.zeros((D, D))
        scatter[np.triu_indices(D)] = row[1 + D:]
        scatter = np.triu(scatter) + np.triu(scatter, 1).T
        return int(row[0]), (row[1:1 + D] + self.offset if row[0] else row[1:1 + D].copy()), scatter
