"""Checks of arguments that Python passes to compiled code: `hdpkit.checks` for C integers.

A number that is too large for C raises the same error as one that is out of range. Bools and floats are not
accepted as integers.
"""

import numpy as np

from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t

from hdpkit.errors import ParameterError


cdef int refuse(str name, object value, str allowed, str remedy) except -1:
    raise ParameterError(name, value, allowed, remedy)


cdef int64_t whole(str name, object value, int64_t low, int64_t high) except? -1:
    """An integer from low to high (inclusive); raises a typed error otherwise."""
    cdef int overflow = 0
    cdef int64_t number = 0
    cdef object given = value
    if not PyLong_CheckExact(given):
        given = int(value) if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else None
    if given is not None:
        number = PyLong_AsLongLongAndOverflow(given, &overflow)
        if overflow == 0 and low <= number <= high:
            return number
    if high < low:
        refuse(name, value, "a whole number in a range that is empty now", "There is nothing to choose from.")
    refuse(name, value, f"a whole number from {low} to {high}", "Give a whole number within the range.")


cdef int out_of_range(str name, int64_t value, int64_t low, int64_t high) except -1:
    if high < low:
        refuse(name, value, "empty: there is nothing to number", "Pass an empty array.")
    refuse(name, value, f"whole numbers from {low} to {high}", "Give numbers within the range.")


cdef int check_numbers32(str name, const int32_t[::1] values, int64_t low, int64_t high) except -1:
    """Raise an error unless every value is from low to high (inclusive)."""
    cdef int64_t i, n = values.shape[0]
    cdef int32_t least, most, outside = 0
    cdef const int32_t *value
    if n > 0 and INT32_MIN <= low <= INT32_MAX and high >= low:
        # Numbers of all customers are checked before each sweep: without a branch several are compared at a
        # time.
        value = &values[0]
        least = <int32_t>low
        most = <int32_t>min(high, <int64_t>INT32_MAX)
        for i in range(n):
            outside |= (value[i] < least) | (value[i] > most)
        if not outside:
            return 0
    for i in range(n):      # to report the first
        if values[i] < low or values[i] > high:
            out_of_range(name, values[i], low, high)
    return 0


cdef int check_length(str name, int64_t length, int64_t wanted) except -1:
    if length == wanted:
        return 0
    refuse(name, f"of length {length}", f"an array of length {wanted}", "See the docstring for its shape.")
