# distutils: language = c++
"""Checks of arrays passed to `thaw`: stores use their numbers as indices."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from hdpkit.errors import DataError

LARGEST = 2**31 - 1


def empty_row(n):
    """An array for one number a data customer: int32, in memory."""
    return np.empty(n, dtype=np.int32)


def columns(frozen, *names):
    """Return arrays of a frozen state as contiguous int32; raises a DataError if one is missing or of another kind."""
    found = []
    for name in names:
        try:
            given = np.asarray(frozen[name])
        except (TypeError, LookupError, ValueError, AttributeError):      # frozen by nobody
            given = None
        good = given is not None and given.ndim == 1 and (given.size == 0 or given.dtype.kind in "iu")
        if good and given.size and given.dtype != np.int32:
            good = -LARGEST - 1 <= int(given.min()) and int(given.max()) <= LARGEST
        if not good:
            raise DataError(name, given, "a row of whole numbers below 2**31", "Pass what freeze() of a store returned.")
        found.append(np.ascontiguousarray(given, dtype=np.int32))
    return found


def check_range(str name, const int32_t[::1] values not None, int64_t low, int64_t high, int64_t n):
    """Raise a DataError unless these are n numbers from low to high."""
    cdef int64_t i
    cdef bint good = values.shape[0] == n
    if good:
        with nogil:
            for i in range(n):
                good = good and low <= values[i] <= high
    if not good:
        raise DataError(name, np.asarray(values), f"{n} whole numbers from {low} to {high}",
                        "Thaw a state of a store of the same size.")


def check_counts(const int32_t[::1] node not None, const int32_t[::1] dish not None, const int32_t[::1] customers not None,
                 const int32_t[::1] tables not None, int64_t n_nodes):
    """Raise a DataError unless these are valid counts of restaurants, sorted by restaurant and dish."""
    cdef int64_t i, n = node.shape[0]
    cdef bint good = True
    check_range("node", node, 0, n_nodes - 1, n)
    check_range("dish", dish, 0, LARGEST, n)
    check_range("customers", customers, 1, LARGEST, n)
    check_range("tables", tables, 1, LARGEST, n)
    with nogil:
        for i in range(1, n):   # a restaurant's block is contiguous and searched by dish
            good = good and (node[i] > node[i - 1] or (node[i] == node[i - 1] and dish[i] > dish[i - 1]))
    if not good:
        raise DataError("node", np.asarray(node), "sorted by restaurant and dish, without repeats",
                        "Pass what `counts` returned.")
