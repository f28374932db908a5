"""Draws for code that is compiled for a `RandomStream`, with an inlined generator, and for any other source.

With a stream, one pass over the options draws. A script needs all weights first, so there is a second pass
over the options.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from hdpkit.vectors cimport has_place, vector

from hdpkit.random._source cimport choice_source
from hdpkit.random.philox cimport philox, philox_next_double

cdef enum:
    FAILED = -2            # no option has a positive weight, or a weight is invalid

ctypedef fused source_t:
    philox
    choice_source


cdef cppclass Work:
    vector[double] weights
    int64_t stop               # the option to stop at; -1: weights are being collected
    double left                # remainder of the threshold of a draw
    bint failed                # an allocation failed


cdef inline int coin(source_t *source, double yes, double no) noexcept nogil:
    """1 with odds yes : no; FAILED if these are invalid."""
    cdef double total = yes + no
    if not (0.0 < total < INFINITY):
        return FAILED
    if source_t is philox:
        return philox_next_double(source) * total < yes
    else:
        return <int>source.bernoulli(source.state, yes / total)


cdef inline int begin(source_t *source, Work *work, double total) noexcept nogil:
    """Begin a draw among options whose weights sum to ``total`` up to rounding."""
    if source_t is philox:
        work.left = philox_next_double(source) * total
    else:
        work.weights.clear()
        work.failed = False
        work.stop = -1
    return 0 if 0.0 < total < INFINITY else FAILED


cdef inline bint stops(source_t *source, Work *work, double weight) noexcept nogil:
    """Whether the next option is the drawn one; in the first pass of a script, only collect its weight.

    If rounding leaves a remainder of the threshold, the last option is taken.
    """
    if source_t is philox:
        work.left -= weight
        return work.left < 0.0
    else:
        if work.stop < 0:
            work.failed = work.failed or not has_place(work.weights)
            if not work.failed:
                work.weights.push_back(weight)
            return False
        work.stop -= 1
        return work.stop < 0


cdef inline int settle(source_t *source, Work *work) noexcept nogil:
    """After a pass over all options: 1 if a second pass is needed, FAILED if the draw is impossible."""
    if source_t is philox:
        return 0
    else:
        if work.failed:
            return FAILED
        work.stop = source.choose(source.state, work.weights.data(), work.weights.size())
        return 1 if work.stop >= 0 else FAILED
