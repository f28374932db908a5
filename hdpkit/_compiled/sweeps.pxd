from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.explicit cimport ExplicitStore
from hdpkit._compiled.measure cimport measure_t
from hdpkit._compiled.units cimport Units
from hdpkit._compiled.walk cimport Walk
from hdpkit.random._source cimport choice_source


cdef int misplaced(int64_t customer, str allowed, str remedy) except -1
cdef int fail(object error, str what, int64_t who) except -1
cdef int drop_dish(Walk walk, measure_t *measure, int32_t dish) except -1 nogil
cdef int new_dish(Walk walk, measure_t *measure, int32_t *dish) except -1 nogil
cdef int put_back(Walk walk, measure_t *measure, int32_t customer, int32_t dish,
                  choice_source *source) except -1 with gil
cdef int reseat_one(Walk walk, measure_t *measure, int32_t customer, vector[double] *weights,
                    choice_source *source) except -1 nogil
cdef int serve_below(ExplicitStore store, Units units, int64_t u, int32_t dish) except -1 nogil
cdef int put_back_table(Walk walk, measure_t *measure, Units units, int64_t u, int32_t dish,
                        choice_source *source) except -1 with gil
