# distutils: language = c++
"""The compiled von Mises-Fisher: unit vectors about a mean direction, which is integrated out.

The readable twin is `hdpkit.base_measures.reference.von_mises_fisher`. A row holds n and the sum of the vectors.
With c the concentration, the mean direction of a dish has the posterior vMF(r / |r|, |r|), where r is the prior's
concentration times its direction, plus c times the sum. Densities depend on |r|^2 alone, by the function g of
`bessel.pxd`, and |r|^2 with another value x depends on the product r'x alone.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.support.arguments cimport check_length
from hdpkit._compiled.measures.bessel cimport bessel_at, bessel_constant, bessel_growth, bessel_point
from hdpkit._compiled.measures.dense_bank cimport DenseBank, take_numbers
from hdpkit.numerics cimport det_lgamma

cdef double LOG_2 = 0.69314718055994530942, LOG_PI = 1.1447298858494001741
# A value is really removed if |r|^2 without it is less than this times |r|^2: the difference has lost its digits.
cdef double LEAST_LEFT = 1e-4

cdef enum:
    FIXED = 4           # numbers of a bessel_point at |r|^2, followed by r (D)

cdef extern from "two_lanes.h":
    void product "hdpkit_products<1>"(const double *a, const double *x, int64_t D, double *out) noexcept nogil
    void products "hdpkit_products<4>"(const double *a, const double *x, int64_t D, double *out) noexcept nogil


cdef cppclass DirectionModel:
    const double *values        # of each data customer, shape (n, D), of length 1; owned by the bank
    int64_t D
    double nu                   # order of the Bessel function
    double constant
    double concentration
    double log_c                # log of the normaliser of a density with the concentration
    vector[double] prior        # concentration times direction of the prior, shape (D,)


cdef inline double growth(DirectionModel *m, const double *cache, double delta) noexcept nogil:
    """Growth of g if |r|^2 of a dish grows by delta."""
    return bessel_growth(m.nu, m.constant, <const bessel_point *>cache, delta)


cdef void vmf_add(void *model, double *row, int32_t customer) noexcept nogil:
    cdef DirectionModel *m = <DirectionModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef int64_t d
    row[0] += 1.0
    for d in range(m.D):
        row[1 + d] += x[d]


cdef void vmf_remove(void *model, double *row, int32_t customer) noexcept nogil:
    cdef DirectionModel *m = <DirectionModel *>model
    cdef const double *x = m.values + customer * m.D
    cdef int64_t d
    row[0] -= 1.0
    for d in range(m.D):
        row[1 + d] -= x[d]


cdef int vmf_refresh(void *model, const double *row, double *cache) noexcept nogil:
    """Cache r, and g at |r|^2."""
    cdef DirectionModel *m = <DirectionModel *>model
    cdef double *r = cache + FIXED
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
    product(cache + FIXED, m.values + customer * m.D, m.D, &score)
    return score


cdef void vmf_score_some(void *model, const double *cache, int32_t first, double *out) noexcept nogil:
    """Scores of four consecutive values."""
    cdef DirectionModel *m = <DirectionModel *>model
    products(cache + FIXED, m.values + first * m.D, m.D, out)


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
    product(cache + FIXED, block + 1, m.D, &score)
    product(block + 1, block + 1, m.D, &square)
    return block[0] * m.log_c + growth(m, cache, m.concentration * (2.0 * score + m.concentration * square))


cdef class VonMisesFisherBank(DenseBank):
    """Sums of unit vectors by dish slot.

    Parameters
    ----------
    values : float64 array, shape (n_customers, D)
        Vectors of length 1.
    measure : object
        Its ``numbers`` are the concentration, and the prior's direction (D,) times its concentration.
    make_statistics : callable
        Called with (n, total); returns the statistics.
    """

    COMPILED = COUNTING = True

    cdef DirectionModel m
    cdef readonly object values

    def __cinit__(self, values, measure, make_statistics):
        cdef const double[:, ::1] view = np.ascontiguousarray(values, dtype=np.float64)
        self.values = np.asarray(view)
        self.make_statistics = make_statistics
        self.m.values = &view[0, 0]
        self.m.D = view.shape[1]
        self.m.nu = 0.5 * self.m.D - 1.0
        self.m.constant = bessel_constant(self.m.nu)
        self.d.add = vmf_add
        self.d.remove = vmf_remove
        self.d.refresh = vmf_refresh
        self.d.log_values = vmf_log_values
        self.d.score = vmf_score
        self.d.score_some = vmf_score_some
        self.d.log_scored = vmf_log_scored
        self.d.log_without = vmf_log_without
        self.set_up(&self.m, view.shape[0], 1 + self.m.D, FIXED + self.m.D)
        self.adopt(measure)

    def adopt(self, measure):
        """Replace the parameter values; statistics are kept. True: no recount is needed."""
        given, resultant = measure.numbers
        cdef const double[::1] prior = np.ascontiguousarray(resultant, dtype=np.float64)
        cdef double concentration = given
        check_length("prior_direction", prior.shape[0], self.m.D)
        # Below, only the first call can fail.
        take_numbers(&self.m.prior, prior)
        self.m.concentration = concentration
        self.m.log_c = (det_lgamma(self.m.nu + 1.0) - LOG_2 - (self.m.nu + 1.0) * LOG_PI
                        - bessel_at(self.m.nu, self.m.constant, concentration * concentration).g)
        return self.parameters_changed()

    def parts(self, row):
        """Number of values, and their sum."""
        row = self.as_row(row)
        return int(row[0]), row[1:].copy()
