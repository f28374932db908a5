"""Choice sources for tests: one that asks a function, and a stream that is told its next words."""

import ctypes

import numpy as np

from hdpkit.random import ChoiceSource, RandomStream


class AskedSource(ChoiceSource):
    """A source that asks a function for every choice; it has no draws of real numbers."""

    def __init__(self, function):
        self.function = function

    def choose(self, weights):
        return self.function(np.asarray(weights, dtype=np.float64))

    def bernoulli(self, p):
        p = min(float(p), 1.0)
        return self.function(np.array([1.0 - p, p])) == 1

    def index(self, n):
        return self.function(np.ones(n))


class _PhiloxState(ctypes.Structure):
    """`hdpkit_philox` of ``include/hdpkit/philox.h``."""

    _fields_ = (
        ("key", ctypes.c_uint64 * 2),
        ("counter", ctypes.c_uint64 * 4),
        ("buffer", ctypes.c_uint64 * 4),
        ("used", ctypes.c_int),
        ("has_half", ctypes.c_int),
        ("half", ctypes.c_uint32),
    )


class GivenWords(RandomStream):
    """A stream whose next four words of 64 bits are given; those that follow are of its key."""

    def give(self, first, second=0, third=0, fourth=0):
        """Draw these words next."""
        state = _PhiloxState.from_address(self.bit_generator.ctypes.state_address)
        state.buffer[:] = first, second, third, fourth
        state.used = 0
        state.has_half = 0
