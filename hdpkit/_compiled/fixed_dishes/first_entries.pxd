"""Rows of different lengths in one array: the number of each row's first entry."""

from libc.stdint cimport int64_t

from hdpkit._compiled.support.arguments cimport refuse


cdef inline int ascending(str name, const int64_t[::1] ends, int64_t last) except -1:
    """Raise an error unless numbers of first entries ascend from 0 to `last`."""
    cdef int64_t i
    if ends.shape[0] == 0 or ends[0] != 0 or ends[ends.shape[0] - 1] != last:
        refuse(name, ends.shape[0], f"from 0 to {last}", "See the class.")
    for i in range(ends.shape[0] - 1):
        if ends[i] > ends[i + 1]:
            refuse(name, ends[i], f"at most {ends[i + 1]}", "They ascend.")
    return 0
