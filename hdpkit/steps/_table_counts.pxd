from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.steps._walk cimport Walk
from hdpkit.random._source cimport choice_source

cdef int restaurants_of(Walk walk, int64_t first, int64_t last, vector[int32_t] *nodes) except -1 nogil
cdef int draw_tables_of(Walk walk, vector[int32_t] *nodes, choice_source *source) except -1 nogil
cdef int64_t tables_of(double a, int32_t customers, choice_source *source) noexcept nogil
cdef int64_t tables_by_jumps(double a, int64_t customers, choice_source *source) noexcept nogil
