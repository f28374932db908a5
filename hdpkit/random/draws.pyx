# distutils: language = c++
"""Draws from the words of a Philox generator; ``state`` is a pointer to it.

They use only arithmetic, square roots and the functions of `hdpkit.numerics`, so they are the same on every
processor. If a parameter is out of range, a draw of an integer returns -1 and one of a real number NaN.
Gamma, beta and Dirichlet draws are logarithms, which don't underflow for tiny shapes.
"""

from libc.math cimport isfinite, sqrt
from libc.stdint cimport int64_t, uint64_t

from hdpkit.numerics cimport det_exp, det_log, det_log1p
from hdpkit.random.philox cimport philox, philox_below, philox_next_double, philox_next_uint64

# --------------------------------------------------------------------------------------- whole numbers


cdef int64_t draw_choose(void *state, const double *weights, int64_t n) noexcept nogil:
    """An index with probability proportional to its weight."""
    cdef double total = 0.0, threshold, running = 0.0
    cdef int64_t i, last = -1
    for i in range(n):
        total += weights[i]
    if not (total > 0.0 and isfinite(total)):
        return -1
    threshold = philox_next_double(<philox *>state) * total
    for i in range(n):
        running += weights[i]
        if running > threshold:
            return i
    # By rounding, the threshold may equal the total: then the last positive weight is chosen.
    for i in range(n):
        if weights[i] > 0.0:
            last = i
    return last


cdef int64_t draw_bernoulli(void *state, double p) noexcept nogil:
    """1 with probability p."""
    if not (p >= 0.0):
        return -1
    return philox_next_double(<philox *>state) < p


cdef int64_t draw_index(void *state, int64_t n) noexcept nogil:
    """One of 0 .. n - 1."""
    if n <= 0:
        return -1
    return <int64_t>philox_below(<philox *>state, <uint64_t>n)


# ------------------------------------------------------------------------------ uniform, normal, gamma


cdef double draw_uniform(void *state) noexcept nogil:
    """Uniform between 0 and 1, never 0 or 1: an odd multiple of 2**-53."""
    return (<double>(philox_next_uint64(<philox *>state) >> 12) + 0.5) * (1.0 / 4503599627370496.0)


cdef double draw_normal(void *state) noexcept nogil:
    """Standard normal, by Marsaglia's polar method; the second number of the pair is discarded."""
    cdef double x, y, square
    while True:
        x = 2.0 * draw_uniform(state) - 1.0
        y = 2.0 * draw_uniform(state) - 1.0
        square = x * x + y * y
        if square < 1.0:
            return x * sqrt(-2.0 * det_log(square) / square)


cdef double log1p_beyond_cubes(double t) noexcept nogil:
    """log(1 + t) - t + t**2 / 2 - t**3 / 3 for t > -1, to nearly full relative precision near 0."""
    if -0.1 < t < 0.1:
        return -(t * t) * (t * t) * (
            1.0 / 4.0 - t * (1.0 / 5.0 - t * (1.0 / 6.0 - t * (1.0 / 7.0 - t * (1.0 / 8.0 - t * (
                1.0 / 9.0 - t * (1.0 / 10.0 - t * (1.0 / 11.0 - t * (1.0 / 12.0 - t * (1.0 / 13.0 - t * (
                    1.0 / 14.0 - t * (1.0 / 15.0 - t * (1.0 / 16.0 - t * (1.0 / 17.0))))))))))))))
    return det_log1p(t) - t * (1.0 - t * (0.5 - t * (1.0 / 3.0)))


def beyond_cubes(double t):
    """log(1 + t) - t + t**2 / 2 - t**3 / 3 for t > -1, for tests."""
    return log1p_beyond_cubes(t)


cdef double squeezed(void *state, double d) noexcept nogil:
    """t such that d (1 + t)**3 is a gamma draw of shape d + 1/3 >= 1 (Marsaglia and Tsang 2000)."""
    cdef double c = 1.0 / (3.0 * sqrt(d)), x, t, u
    while True:
        x = draw_normal(state)
        t = c * x
        if t <= -1.0:
            continue
        u = draw_uniform(state)
        if u < 1.0 - 0.0331 * (x * x) * (x * x):
            return t
        # The log acceptance probability is x**2 / 2 + d (1 - v + log v) with v = (1 + t)**3, which equals 3 d
        # (log(1 + t) - t + t**2 / 2 - t**3 / 3). If d is large, t is small.
        if det_log(u) < 3.0 * (d * log1p_beyond_cubes(t)):
            return t


cdef double large_gamma(void *state, double shape) noexcept nogil:
    """A gamma draw of shape >= 1."""
    cdef double d = shape - 1.0 / 3.0
    cdef double root = 1.0 + squeezed(state, d)
    return d * (root * root * root)


cdef double draw_log_gamma(void *state, double shape) noexcept nogil:
    """Logarithm of a gamma draw of this shape and rate 1."""
    cdef double d, log_draw
    if not is_shape(shape):
        return not_a_number()
    d = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
    log_draw = det_log(d) + 3.0 * det_log1p(squeezed(state, d))
    if shape < 1.0:      # a draw of shape + 1, times U**(1 / shape)
        log_draw += det_log(draw_uniform(state)) / shape
    return log_draw


cdef double draw_log_beta(void *state, double a, double b, double *log_rest) noexcept nogil:
    """Logarithm of a Beta(a, b) draw x; that of 1 - x is written to ``log_rest``."""
    cdef double first, second, smaller
    log_rest[0] = not_a_number()
    if not (is_shape(a) and is_shape(b)):
        return log_rest[0]
    first = draw_log_gamma(state, a)
    second = draw_log_gamma(state, b)
    if first < second:
        smaller = first - second
        log_rest[0] = 0.0 - det_log1p(det_exp(smaller))
        return smaller + log_rest[0]
    smaller = second - first
    first = 0.0 - det_log1p(det_exp(smaller))
    log_rest[0] = smaller + first
    return first


cdef int64_t draw_log_dirichlet(void *state, const double *shapes, int64_t n, double *logs) noexcept nogil:
    """Write the n logarithms of a Dirichlet draw to ``logs``; returns 0."""
    cdef double top, others = 0.0
    cdef int64_t i, largest = 0
    if n < 1:
        return -1
    for i in range(n):
        if not is_shape(shapes[i]):
            return -1
    for i in range(n):
        logs[i] = draw_log_gamma(state, shapes[i])
        if logs[i] > logs[largest]:
            largest = i
    top = logs[largest]
    for i in range(n):
        logs[i] -= top
        if i != largest:
            others += det_exp(logs[i])
    others = det_log1p(others)
    for i in range(n):
        logs[i] -= others
    return 0


# ------------------------------------------------------------------------------------------- binomial


cdef int64_t inverted_binomial(void *state, int64_t n, double p) noexcept nogil:
    """Binomial by inversion from 0 upwards, for n p < 10 and p <= 1/2."""
    cdef double none = det_exp(n * det_log1p(-p)), odds = p / (1.0 - p), here, u
    cdef int64_t k
    while True:
        u = draw_uniform(state)
        here = none
        for k in range(n + 1):
            if u <= here:
                return k
            if k == 110:
                break        # such a count has probability 1e-70: it is reached only by rounding
            u -= here
            here *= odds * <double>(n - k) / <double>(k + 1)


cdef int64_t draw_binomial(void *state, int64_t n, double p) noexcept nogil:
    """Number of successes in n trials of probability p.

    Uniform order statistics are drawn from the middle outwards (Devroye 1986, X.4.3): the one of rank i, i
    near n p, has a beta distribution, and only the uniforms between it and p, about sqrt(n) of them, remain
    to be counted. No logarithm of a factorial is needed, so n may be as large as 2**53.
    """
    cdef int64_t count = 0, sign = 1, rank
    cdef double y, below, above
    if not is_binomial(n, p):
        return -1
    while n > 0 and p > 0.0:
        if p > 0.5:              # n minus the number of failures
            count += sign * n
            sign = -sign
            p = 1.0 - p
            continue
        if n * p < 10.0:
            return count + sign * inverted_binomial(state, n, p)
        rank = <int64_t>((<double>n + 1.0) * p)
        below = large_gamma(state, <double>rank)
        above = large_gamma(state, <double>(n + 1 - rank))
        y = below / (below + above)
        if y <= p:               # `rank` successes, plus those of the n - rank above y that are below p
            count += sign * rank
            n -= rank
            p = (p - y) / (1.0 - y)
        else:                    # rank - 1 uniforms below y, minus those between p and y
            count += sign * (rank - 1)
            sign = -sign
            n = rank - 1
            p = (y - p) / y
    return count
