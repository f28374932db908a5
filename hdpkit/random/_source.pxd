"""The source that moves draw from, as a C struct (see `_source.pyx`)."""

from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include <stdint.h>
    /* A source of draws. If a draw is impossible, a function that draws an integer returns a negative number, and
       one that draws a real number NaN: no weight is positive, one is not finite, a parameter is out of range
       (shapes: finite, from 1e-300; trials: up to 2**53), or a script doesn't fit. Gamma, beta and Dirichlet
       draws are natural logarithms. */
    typedef struct hdpkit_choice_source {
        void *state;
        int64_t (*choose)(void *state, const double *weights, int64_t n);
        int64_t (*bernoulli)(void *state, double p);
        int64_t (*index)(void *state, int64_t n);
        double (*uniform)(void *state); /* between 0 and 1, neither included */
        double (*normal)(void *state);  /* mean 0, variance 1 */
        double (*log_gamma)(void *state, double shape);
        double (*log_beta)(void *state, double a, double b, double *log_rest); /* log x; log(1 - x) */
        int64_t (*log_dirichlet)(void *state, const double *shapes, int64_t n, double *logs);
        int64_t (*binomial)(void *state, int64_t n, double p);
    } hdpkit_choice_source;
    """
    ctypedef struct choice_source "hdpkit_choice_source":
        void *state
        int64_t (*choose)(void *state, const double *weights, int64_t n) noexcept nogil
        int64_t (*bernoulli)(void *state, double p) noexcept nogil
        int64_t (*index)(void *state, int64_t n) noexcept nogil
        double (*uniform)(void *state) noexcept nogil
        double (*normal)(void *state) noexcept nogil
        double (*log_gamma)(void *state, double shape) noexcept nogil
        double (*log_beta)(void *state, double a, double b, double *log_rest) noexcept nogil
        int64_t (*log_dirichlet)(void *state, const double *shapes, int64_t n, double *logs) noexcept nogil
        int64_t (*binomial)(void *state, int64_t n, double p) noexcept nogil


ctypedef double (*draw_t)(void *state) noexcept nogil


cdef class ChoiceSource:
    cdef choice_source c        # the functions that compiled code calls
    cdef choice_source own      # the same without the methods that a Python subclass overrides
    cdef readonly bint overridden
    cdef object failure         # exception or invalid result of a Python method, until it is requested

    cdef int published(self) except -1
    cdef int64_t taken(self, object answer, int64_t n) except -1
    cdef object answered(self, object answer, tuple shape, double low, double high)
    cdef object refusal(self, str name, object value)
    cdef object _alike(self, str name, draw_t draw, object size)


cdef inline int64_t shuffle(choice_source *source, int64_t *items, int64_t n) noexcept nogil:
    """A uniform permutation in place (Fisher and Yates), as n - 1 choices of an index."""
    cdef int64_t i, j, held
    for i in range(n - 1, 0, -1):
        j = source.index(source.state, i + 1)
        if j < 0:
            return -1
        held = items[i]
        items[i] = items[j]
        items[j] = held
    return 0
