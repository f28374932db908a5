from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector


cdef class Units:
    cdef vector[int32_t] code, customer, table, node
    cdef vector[int64_t] offset, table_offset
