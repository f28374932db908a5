from libc.stdint cimport int8_t, int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.stores.explicit cimport ExplicitStore
from hdpkit._compiled.measures.measure cimport CompiledBank, measure_t
from hdpkit._compiled.generic_sweeps.units cimport Units
from hdpkit._compiled.walk.walk cimport Walk
from hdpkit.random._source cimport choice_source


cdef int misplaced(int64_t customer, str allowed, str remedy) except -1
cdef int fail(str what, int64_t who) except -1 with gil
cdef int reseat_one(Walk walk, measure_t *measure, int32_t customer, vector[double] *weights,
                    choice_source *source) except -1 nogil
cdef int serve_below(ExplicitStore store, Units units, int64_t u, int32_t dish) except -1 nogil
cdef int check_bank(Walk walk, CompiledBank bank) except -1
cdef int check_parts(Walk walk, CompiledBank bank) except -1
cdef int check_customers(Walk walk, CompiledBank bank, int64_t first, int64_t last) except -1
cdef int check_units(Walk walk, CompiledBank bank, Units units, int64_t first, int64_t last) except -1
cdef int check_scan(Walk walk, CompiledBank bank, Units units, const int64_t[::1] order, const int8_t[::1] sides,
                    const int64_t[::1] sizes, int32_t slot_a, int32_t slot_b, object forced) except -1
