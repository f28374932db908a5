"""Draws from the words of a Philox generator, as compiled code calls them (see `sources.pyx`)."""

from libc.stdint cimport int64_t

cdef inline double not_a_number() noexcept nogil:
    return 0.0 / 0.0


cdef inline bint is_shape(double a) noexcept nogil:
    """Whether a is a valid shape of gamma, beta and Dirichlet draws, whose logarithms then don't overflow."""
    return 1e-300 <= a <= 1.7976931348623157e308


cdef inline bint is_binomial(int64_t n, double p) noexcept nogil:
    """Whether n and p are valid for a binomial draw; doubles above 2**53 don't represent all integers."""
    return n >= 0 and n <= <int64_t>9007199254740992 and 0.0 <= p <= 1.0


cdef int64_t draw_choose(void *state, const double *weights, int64_t n) noexcept nogil
cdef int64_t draw_bernoulli(void *state, double p) noexcept nogil
cdef int64_t draw_index(void *state, int64_t n) noexcept nogil
cdef double draw_uniform(void *state) noexcept nogil
cdef double draw_normal(void *state) noexcept nogil
cdef double draw_log_gamma(void *state, double shape) noexcept nogil
cdef double draw_log_beta(void *state, double a, double b, double *log_rest) noexcept nogil
cdef int64_t draw_log_dirichlet(void *state, const double *shapes, int64_t n, double *logs) noexcept nogil
cdef int64_t draw_binomial(void *state, int64_t n, double p) noexcept nogil
