# distutils: language = c++
"""A choice source that asks Python."""

import numpy as np

from libc.stdint cimport int64_t

from hdpkit.random._source cimport ChoiceSource


cdef int64_t asked_choose(void *state, const double *weights, int64_t n) noexcept with gil:
    cdef AskedSource self = <AskedSource>state
    cdef double[::1] given
    cdef int64_t i
    try:
        asked = np.empty(n)
        given = asked
        for i in range(n):
            given[i] = weights[i]
        return self.function(asked)
    except BaseException as error:
        self.error = error
        return -1


cdef int64_t asked_bernoulli(void *state, double p) noexcept with gil:
    cdef double weights[2]
    weights[0] = 1.0 - p
    weights[1] = p
    return asked_choose(state, weights, 2)


cdef int64_t asked_index(void *state, int64_t n) noexcept with gil:
    cdef AskedSource self = <AskedSource>state
    try:
        return self.function(np.ones(n))
    except BaseException as error:
        self.error = error
        return -1


cdef class AskedSource(ChoiceSource):
    """A source that asks a function for every choice.

    Parameters
    ----------
    function : callable
        ``function(weights)`` gets the weights of the branches, float64, shape (n,), and returns one's number, or -1
        to refuse. What it raises makes the choice fail, and is kept in `error`.
    """

    cdef object function
    cdef readonly object error

    def __cinit__(self, function):
        self.function = function
        self.c.state = <void *>self
        self.c.choose = asked_choose
        self.c.bernoulli = asked_bernoulli
        self.c.index = asked_index
        self.own = self.c

    def __init__(self, function):
        pass

    def _failure(self):
        return self.error
