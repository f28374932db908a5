from libc.stdint cimport int64_t
from hdpkit.vectors cimport vector

cdef double log_stirling_sum(vector[int64_t] *n, vector[int64_t] *t) except? -1.0 nogil
