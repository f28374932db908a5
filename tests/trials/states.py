"""Comparison of frozen states."""

from collections.abc import Mapping

import numpy as np


def same_state(one, other):
    """Whether two trees of mappings, arrays and numbers are equal, bit for bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same_state(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same_state, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return bool(one == other)
