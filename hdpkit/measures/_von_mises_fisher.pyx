# distutils: language = c++
"""The compiled von Mises-Fisher.

Unit vectors about a mean direction, which is integrated out. A row holds n and the sum of the vectors.
With c the concentration, the mean direction of a dish has the posterior vMF(r / |r|, |r|), where r is the
prior's concentration times its direction, plus c times the sum. Densities depend on |r|^2 alone, by the
function g below, and |r|^2 with another value x depends on the product r'x alone.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

from hdpkit.measures._dense_bank cimport DenseBank, first_of
from hdpkit.numerics cimport det_lgamma, det_log, det_log1p

cdef double LOG_2 = 0.69314718055994530942, LOG_PI = 1.1447298858494001741

# ---------------------------------------------------------------------------------------------- Bessel functions
# Logarithms of modified Bessel functions of the first kind, without loss of digits or range.
#
# g(t) = log [G(nu + 1) (2/r)^nu I_nu(r)], t = r^2, is 0 at t = 0, increases, and is all that densities on the sphere
# need. With S = sqrt(nu^2 + t), Debye's expansion is
#
#     log I_nu(r) = S + nu log(r / (nu + S)) - 1/2 log(2 pi S) + sum_k D_k(nu / S) / nu^k    (DLMF 10.41(ii)).
#
# D_k(p) / nu^k is a polynomial in p^2 over S^k, also for nu = 0, where the expansion is Hankel's. Twelve terms have an
# error below 1e-15 from S = 30; below that the power series in t is summed, all terms of which are positive.

cdef extern from *:
    """
    /* Coefficients of D_k, k = 1 .. 12, in ascending powers of p^2: D_k = log of the series of u_k (DLMF 10.41.9). */
    static const double HDPKIT_DEBYE[12][13] = {
        {0.125, -0.20833333333333334},
        {0.0625, -0.375, 0.3125},
        {0.06510416666666667, -0.8296875, 1.7265625, -0.9592013888888888},
        {0.1015625, -2.21875, 8.296875, -10.59375, 4.4140625},
        {0.2095703125, -6.982282366071429, 40.542751736111114, -87.693359375, 80.8837890625, -26.961263020833332},
        {0.5364583333333334, -25.3125, 209.625, -673.625, 1021.640625, -737.8125, 204.94791666666666},
        {1.6380658830915178, -103.97592163085938, 1160.8294372558594, -5140.211273193359, 11304.659503173829,
     -13184.767364501953, 7824.899444580078, -1863.07129632859},
        {5.809814453125, -477.615234375, 6904.2763671875, -40090.447265625, 119071.95263671875, -198321.806640625,
     187801.9013671875, -94603.037109375, 19708.966064453125},
        {23.475127749972874, -2427.2885336442428, 44069.78581237793, -323875.5657704671, 1240124.8821487427,
     -2752869.211418152, 3683609.1391855874, -2935198.3014678955, 1284393.7849998474, -237850.70092589766},
        {106.467822265625, -13526.99560546875, 301187.0236816406, -2727462.591796875, 13026405.797363281,
     -36852414.786914065, 65112147.795410156, -72748886.00585938, 50027742.52075195, -19350359.06982422,
     3225059.844970703},
        {535.640519510616, -82046.56579866775, 2197624.750671816, -24011994.284158945, 139535179.1724906,
     -487422412.2709402, 1088470361.2907014, -1594676024.676859, 1528592829.647338, -924445055.3424871,
     320384038.82623315, -48543036.1857929},
        {2960.739786783854, -538164.052734375, 17067704.537109375, -221216118.06429037, 1533944655.227417,
     -6461280179.630859, 17683879971.17871, -32540336002.749023, 40681628863.23303, -34134822577.796875,
     18421426618.901367, -5782944462.414551, 803186730.8909098},
    };
    static const double HDPKIT_LEAST_DEBYE = 30.0;
    """
    const double DEBYE "HDPKIT_DEBYE"[12][13]
    double LEAST_DEBYE "HDPKIT_LEAST_DEBYE"


cdef struct bessel_point:       # where g was computed
    double t, S, rest, g        # rest: the sum over k

cdef inline double debye_rest(double nu, double S) noexcept nogil:
    """The sum over k; fewer terms are enough for large S."""
    cdef double w = 1.0 / S, q = (nu * w) * (nu * w), total = 0.0, inner
    cdef int k, i, most = 12 if S < 100.0 else (7 if S < 1000.0 else 4)
    for k in range(most - 1, -1, -1):
        inner = DEBYE[k][k + 1]
        for i in range(k, -1, -1):
            inner = inner * q + DEBYE[k][i]
        total = (total + inner) * w
    return total


cdef inline double bessel_series(double nu, double t) noexcept nogil:
    """g(t) as the logarithm of the sum of (t/4)^k / (k! (nu + 1) ... (nu + k))."""
    cdef double term = 1.0, more = 0.0, k = 0.0
    t *= 0.25
    while True:
        k += 1.0
        term *= t / (k * (nu + k))
        more += term
        if term <= 1e-17 * more:
            return det_log1p(more)


cdef inline double bessel_constant(double nu) noexcept nogil:
    """What g has beside Debye's expansion: log G(nu + 1) + nu log 2 - 1/2 log(2 pi)."""
    return det_lgamma(nu + 1.0) + nu * 0.69314718055994530942 - 0.91893853320467274178


cdef inline double debye_growth(double nu, double S, double rest, double delta) noexcept nogil:
    """g(t + delta) - g(t) where the expansion serves at both."""
    cdef double to = sqrt(S * S + delta), step = delta / (S + to)
    return (step - nu * det_log1p(step / (nu + S)) - 0.5 * det_log1p(step / S)
            + (debye_rest(nu, to) - rest))


cdef inline bessel_point bessel_at(double nu, double constant, double t) noexcept nogil:
    """g at t >= 0; `constant` is `bessel_constant(nu)`."""
    cdef bessel_point at
    at.t = t
    at.S = sqrt(nu * nu + t)
    at.rest = 0.0
    if at.S < LEAST_DEBYE:
        at.g = bessel_series(nu, t)
        return at
    at.rest = debye_rest(nu, at.S)
    if nu >= LEAST_DEBYE:
        at.g = debye_growth(nu, nu, debye_rest(nu, nu), t)
    else:
        at.g = constant + at.S - nu * det_log(nu + at.S) - 0.5 * det_log(at.S) + at.rest
    return at


cdef inline double bessel_growth(double nu, double constant, const bessel_point *at, double delta) noexcept nogil:
    """g(t + delta) - g(t), without the rounding error of g."""
    cdef double t = at.t + delta
    if t < 0.0:     # by rounding
        t = 0.0
        delta = -at.t
    if at.S >= LEAST_DEBYE and nu * nu + t >= LEAST_DEBYE * LEAST_DEBYE:
        return debye_growth(nu, at.S, at.rest, delta)
    return bessel_at(nu, constant, t).g - at.g


# ---------------------------------------------------------------------------------------------- the measure

# A value is really removed if |r|^2 without it is less than this times |r|^2: the difference has lost its digits.
cdef double LEAST_LEFT = 1e-4

cdef enum:
    POINT = 4           # numbers of a bessel_point at |r|^2, followed by r (D)

cdef extern from "products.h":
    void product "hdpkit_products<1>"(const double *a, const double *x, int64_t D, double *out) noexcept nogil
    void products "hdpkit_products<4>"(const double *a, const double *x, int64_t D, double *out) noexcept nogil


cdef cppclass DirectionModel:
    const double *values        # of each data customer, shape (n, D), of length 1; owned by the bank
    int64_t D
    double nu                   # order of the Bessel function
    double constant
    double concentration
    double log_c                # log of the normaliser of a density with the concentration
    const double *prior         # concentration times direction of the prior, shape (D,)


cdef inline double growth(DirectionModel *m, const double *cache, double delta) noexcept nogil:
    """Growth of g if |r|^2 of a dish grows by delta."""
    return bessel_growth(m.nu, m.constant, <const bessel_point *>cache, delta)


cdef void vmf_count(void *model, double *row, int32_t customer, double sign) noexcept nogil:
    cdef DirectionModel *m = <DirectionModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef int64_t d
    row[0] += sign
    for d in range(m.D):
        row[1 + d] += sign * x[d]


cdef int vmf_refresh(void *model, const double *row, double *cache) noexcept nogil:
    """Cache r, and g at |r|^2."""
    cdef DirectionModel *m = <DirectionModel *>model
    cdef double *r = cache + POINT
    cdef double square = 0.0
    cdef int64_t d
    for d in range(m.D):
        r[d] = m.prior[d] + m.concentration * row[1 + d]
    product(r, r, m.D, &square)
    (<bessel_point *>cache)[0] = bessel_at(m.nu, m.constant, square)
    return 0


cdef double vmf_score(void *model, const double *cache, int32_t customer) noexcept nogil:
    """The product r'x."""
    cdef DirectionModel *m = <DirectionModel *>model
    cdef double score = 0.0
    product(cache + POINT, m.values + customer * m.D, m.D, &score)
    return score


cdef void vmf_score_some(void *model, const double *cache, int32_t first, double *out) noexcept nogil:
    """Scores of four consecutive values."""
    cdef DirectionModel *m = <DirectionModel *>model
    products(cache + POINT, m.values + first * m.D, m.D, out)


cdef double vmf_log_scored(void *model, const double *cache, double score) noexcept nogil:
    """The normaliser, over the ratio of those of the posteriors with and without the value."""
    cdef DirectionModel *m = <DirectionModel *>model
    return m.log_c + growth(m, cache, m.concentration * (2.0 * score + m.concentration))


cdef double vmf_log_without(void *model, const double *cache, double score) noexcept nogil:
    """The same for a value of the dish given the others."""
    cdef DirectionModel *m = <DirectionModel *>model
    cdef double square = (<const bessel_point *>cache).t
    cdef double delta = m.concentration * (m.concentration - 2.0 * score)
    if not square + delta > LEAST_LEFT * square:
        return 0.0 / 0.0
    return m.log_c - growth(m, cache, delta)


cdef double vmf_log_values(void *model, const double *row, const double *cache, const double *block) noexcept nogil:
    """Ratio of marginals before and after the block joins the row."""
    cdef DirectionModel *m = <DirectionModel *>model
    cdef double score = 0.0, square = 0.0
    product(cache + POINT, block + 1, m.D, &score)
    product(block + 1, block + 1, m.D, &square)
    return block[0] * m.log_c + growth(m, cache, m.concentration * (2.0 * score + m.concentration * square))


cdef class VonMisesFisherBank(DenseBank):
    """Sums of unit vectors by dish slot; statistics are made of (n, total)."""

    COMPILED = COUNTING = True

    cdef DirectionModel m

    def __cinit__(self, values, measure, make_statistics):
        cdef const double[:, ::1] view = self.keep(values, make_statistics, False)
        self.m.values = &view[0, 0]
        self.m.D = view.shape[1]
        self.m.nu = 0.5 * self.m.D - 1.0
        self.m.constant = bessel_constant(self.m.nu)
        self.d.count = vmf_count
        self.d.refresh = vmf_refresh
        self.d.log_values = vmf_log_values
        self.d.score = vmf_score
        self.d.score_some = vmf_score_some
        self.d.log_scored = vmf_log_scored
        self.d.log_without = vmf_log_without
        self.set_up(&self.m, view.shape[0], 1 + self.m.D, POINT + self.m.D)
        self.adopt(measure)

    def adopt(self, measure):
        concentration, resultant = measure.numbers
        prior = np.ascontiguousarray(resultant, dtype=np.float64)
        self.m.prior = first_of(prior)
        self.m.concentration = concentration
        self.m.log_c = (det_lgamma(self.m.nu + 1.0) - LOG_2 - (self.m.nu + 1.0) * LOG_PI
                        - bessel_at(self.m.nu, self.m.constant, self.m.concentration * self.m.concentration).g)
        return self.use(prior)

    def parts(self, row):
        """Number of values, and their sum."""
        return int(row[0]), row[1:].copy()
