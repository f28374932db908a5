"""The door through which a move draws anything discrete, as a C struct (see `_source.pyx`)."""

from libc.stdint cimport int64_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    /* One source of choices. Every function returns a negative number when it can't choose: no weight is
       positive, one is not finite, or a script doesn't fit. */
    typedef struct hdpkit_choice_source {
        void *state;
        int64_t (*choose)(void *state, const double *weights, int64_t n);
        int64_t (*bernoulli)(void *state, double p);
        int64_t (*index)(void *state, int64_t n);
    } hdpkit_choice_source;
    """
    ctypedef struct choice_source "hdpkit_choice_source":
        void *state
        int64_t (*choose)(void *state, const double *weights, int64_t n) noexcept nogil
        int64_t (*bernoulli)(void *state, double p) noexcept nogil
        int64_t (*index)(void *state, int64_t n) noexcept nogil


cdef class ChoiceSource:
    cdef choice_source c


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
