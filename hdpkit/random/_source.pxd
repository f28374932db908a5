"""The door through which a move draws anything discrete, as a C struct (see `_source.pyx`)."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from numpy.random cimport BitGenerator

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


cdef extern from "hdpkit/philox.h":
    ctypedef struct philox "hdpkit_philox":
        pass
    void philox_rekey "hdpkit_philox_rekey"(philox *s, uint64_t key0, uint64_t key1, uint64_t word1, uint64_t word2,
                                            uint64_t word3) noexcept nogil
    uint64_t philox_next_uint64 "hdpkit_philox_uint64"(philox *s) noexcept nogil
    uint32_t philox_next_uint32 "hdpkit_philox_uint32"(philox *s) noexcept nogil
    double philox_next_double "hdpkit_philox_double"(philox *s) noexcept nogil
    uint64_t philox_below "hdpkit_philox_below"(philox *s, uint64_t bound) noexcept nogil


cdef class ChoiceSource:
    cdef choice_source c        # what compiled code draws from
    cdef choice_source own      # the same without the methods that a Python subclass overrides
    cdef readonly bint overridden
    cdef object failure         # what a Python method raised or answered wrongly, until it is asked for

    cdef int published(self) except -1
    cdef int64_t taken(self, object answer, int64_t n) except -1


cdef class Philox(BitGenerator):
    cdef philox s

    cpdef rekey(self, uint64_t key0, uint64_t key1, uint64_t word1, uint64_t word2, uint64_t word3)


cdef class RandomStream(ChoiceSource):
    """Its choice source's state is a `philox`: sweeps with the generator inlined draw from there."""

    cdef readonly Philox bit_generator
    cdef object _generator

    cpdef rekey(self, uint64_t key0, uint64_t key1, uint64_t word1, uint64_t word2, uint64_t word3)


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
