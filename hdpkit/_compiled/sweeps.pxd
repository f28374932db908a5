from libc.stdint cimport int32_t

from hdpkit._compiled.measure cimport measure_t
from hdpkit._compiled.walk cimport Walk


cdef int drop_dish(Walk walk, measure_t *measure, int32_t dish) except -1 nogil
cdef int new_dish(Walk walk, measure_t *measure, int32_t *dish) except -1 nogil
