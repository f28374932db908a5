# distutils: language = c++
"""The source that runs draw from: a keyed stream of the generator Philox 4x64-10 (Salmon et al. 2011)."""

import numpy as np

from libc.stdint cimport uint32_t, uint64_t
from numpy.random cimport BitGenerator

from hdpkit.checks import items, whole_number
from hdpkit.errors import MissingMethodError, ParameterError
from hdpkit.random._source cimport ChoiceSource
from hdpkit.random.draws cimport (
    draw_bernoulli, draw_binomial, draw_choose, draw_index, draw_log_beta, draw_log_dirichlet, draw_log_gamma,
    draw_normal, draw_uniform,
)
from hdpkit.random.philox cimport (
    philox, philox_next_double, philox_next_uint32, philox_next_uint64, philox_rekey,
)


cdef tuple NAMES = ("key0", "key1", "word1", "word2", "word3")
cdef object LARGEST = 2**64 - 1


cdef tuple several(str name, object value, int n):
    """This many words, as given."""
    found = items(name, value, f"{n} whole numbers from 0 to {LARGEST}", remedy="Give a tuple of them.")
    if len(found) != n:
        raise ParameterError(name, value, f"{n} whole numbers from 0 to {LARGEST}", "Give a tuple of them.")
    return found


cdef uint64_t philox_uint64(void *state) noexcept nogil:
    return philox_next_uint64(<philox *>state)


cdef uint32_t philox_uint32(void *state) noexcept nogil:
    return philox_next_uint32(<philox *>state)


cdef double philox_double(void *state) noexcept nogil:
    return philox_next_double(<philox *>state)


cdef class Philox(BitGenerator):
    """Philox 4x64-10 as a NumPy bit generator that can be rekeyed in place.

    It generates the same words as ``numpy.random.Philox(key=key, counter=counter)``.
    """

    def __init__(self):
        BitGenerator.__init__(self, 0)
        self._bitgen.state = &self.s
        self._bitgen.next_uint64 = &philox_uint64
        self._bitgen.next_uint32 = &philox_uint32
        self._bitgen.next_double = &philox_double
        self._bitgen.next_raw = &philox_uint64
        self.move(0, 0, 0, 0, 0)

    cdef int move(self, uint64_t key0, uint64_t key1, uint64_t word1, uint64_t word2, uint64_t word3) except -1:
        """Move to the start of the stream with this key and these upper three words of the counter."""
        philox_rekey(&self.s, key0, key1, word1, word2, word3)
        return 0

    @property
    def state(self):
        """Raises a MissingMethodError: a stream is identified by its key."""
        raise MissingMethodError(
            "bit generator", type(self).__name__, "one whose state can be saved",
            "Keep the key and the words of the stream; RandomStream.rekey goes back to its start.",
        )

    def __reduce__(self):
        self.state


cdef class RandomStream(ChoiceSource):
    """The production source: one keyed stream of a Philox generator.

    ``rekey`` moves it to the start of another stream, independent of how much of the last one was used.
    """

    def __cinit__(self):
        self.bit_generator = Philox()
        self.own.state = &self.bit_generator.s
        self.own.choose = draw_choose
        self.own.bernoulli = draw_bernoulli
        self.own.index = draw_index
        self.own.uniform = draw_uniform
        self.own.normal = draw_normal
        self.own.log_gamma = draw_log_gamma
        self.own.log_beta = draw_log_beta
        self.own.log_dirichlet = draw_log_dirichlet
        self.own.binomial = draw_binomial
        self.published()

    def __init__(self, key=(0, 0), words=(0, 0, 0)):
        key0, key1 = several("key", key, 2)
        word1, word2, word3 = several("words", words, 3)
        self.rekey(key0, key1, word1, word2, word3)

    def rekey(self, key0, key1, word1, word2, word3):
        """Move to the start of the stream with this key and these upper words of the counter.

        Parameters
        ----------
        key0, key1, word1, word2, word3 : int
            From 0 to 2**64 - 1.
        """
        try:
            self.bit_generator.move(key0, key1, word1, word2, word3)
        except (OverflowError, TypeError, ValueError):
            for name, value in zip(NAMES, (key0, key1, word1, word2, word3)):
                whole_number(name, value, 0, LARGEST, remedy="A word has 64 bits.")
            raise

    @property
    def generator(self):
        """A `numpy.random.Generator` on the same stream."""
        if self._generator is None:
            self._generator = np.random.Generator(self.bit_generator)
        return self._generator
