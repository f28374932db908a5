"""The bank of topics that differ by restaurant."""

from libc.stdint cimport int64_t

from hdpkit.measures._bursty_counts cimport BurstyCounts
from hdpkit.measures._measure cimport CompiledBank
from hdpkit.measures._term_counts cimport TermCountsBank


cdef class BurstyBank(CompiledBank):
    cdef BurstyCounts b
    cdef readonly TermCountsBank inner
    cdef readonly object measure
    cdef readonly object whole      # of a bank with some documents of a corpus: the numbers of all of them
    cdef readonly object values
    cdef readonly object restaurants
    cdef object source
    cdef readonly object terms
    cdef double log_current         # of the predictives of an exchange in the present state
    cdef dict sat                   # slots in which `sit` has seated customers
    cdef bint thawed                # `opens` are those of `thaw`
    cdef object kept_seating        # (version, concentration, discount, sum of logs)

    cdef int index(self) except -1
    cdef int widen(self, int64_t slots) except -1
    cdef tuple count(self, const int64_t[::1] place)
    cdef double log_seating(self, const int64_t[:, ::1] totals, const int64_t[:, ::1] cells) except? 1.0
    cdef int add_log_seatings(self, const int64_t[::1] place, double[::1] out) except -1
