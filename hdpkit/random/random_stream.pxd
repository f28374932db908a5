"""The source that runs draw from, as compiled code sees it (see `random_stream.pyx`)."""

from libc.stdint cimport uint64_t
from numpy.random cimport BitGenerator

from hdpkit.random._source cimport ChoiceSource
from hdpkit.random.philox cimport philox


cdef class Philox(BitGenerator):
    cdef philox s

    cpdef rekey(self, uint64_t key0, uint64_t key1, uint64_t word1, uint64_t word2, uint64_t word3)


cdef class RandomStream(ChoiceSource):
    """Its choice source's state is a `philox`: sweeps with the generator inlined draw from there."""

    cdef readonly Philox bit_generator
    cdef object _generator

    cpdef rekey(self, uint64_t key0, uint64_t key1, uint64_t word1, uint64_t word2, uint64_t word3)
