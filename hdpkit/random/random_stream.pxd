"""The source that runs draw from, declared for compiled code (see `random_stream.pyx`)."""

from libc.stdint cimport uint64_t
from numpy.random cimport BitGenerator

from hdpkit.random._source cimport ChoiceSource
from hdpkit.random.philox cimport philox


cdef class Philox(BitGenerator):
    cdef philox s

    cdef int move(self, uint64_t key0, uint64_t key1, uint64_t word1, uint64_t word2, uint64_t word3) except -1


cdef class RandomStream(ChoiceSource):
    """The state of its C struct is a `philox`, from which sweeps with an inlined generator draw."""

    cdef readonly Philox bit_generator
    cdef object _generator
