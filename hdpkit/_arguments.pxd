"""Checks of arguments that Python passes to compiled code."""

from libc.stdint cimport int32_t, int64_t

cdef int refuse(str name, object value, str allowed, str remedy) except -1
cdef int64_t whole(str name, object value, int64_t low, int64_t high) except? -1
cdef int check_numbers32(str name, const int32_t[::1] values, int64_t low, int64_t high) except -1
cdef int check_length(str name, int64_t length, int64_t wanted) except -1
