# distutils: language = c++
"""A random stream that is told its next words: production draws from it, its generator inlined."""

from libc.stdint cimport uint64_t

from hdpkit.random.random_stream cimport RandomStream

cdef extern from "hdpkit/philox.h":
    ctypedef struct philox_words "hdpkit_philox":
        uint64_t buffer[4]
        int used
        int has_half


cdef class GivenWords(RandomStream):
    """A production source whose next four words of 64 bits are given; those that follow are of its key."""

    def give(self, uint64_t first, uint64_t second=0, uint64_t third=0, uint64_t fourth=0):
        """Draw these words next."""
        cdef philox_words *s = <philox_words *>&self.bit_generator.s
        s.buffer[0] = first
        s.buffer[1] = second
        s.buffer[2] = third
        s.buffer[3] = fourth
        s.used = 0
        s.has_half = 0
