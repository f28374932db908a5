"""Selection proportions of dishes, by slot: what a bank reads of the part that has them."""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.support.turn cimport Turn


cdef cppclass Proportions:
    vector[double] log_pi           # of each slot; 1.0 where there is none
    vector[double] log_rest         # log(1 - pi)
    vector[int64_t] stamp           # of each slot, another one after every change
    bint integrated                 # whether nobody may look at them now
    int64_t stamps                  # that were given


cdef inline bint has_proportion(Proportions *p, int32_t slot) noexcept nogil:
    """Whether the dish of this slot has a proportion that counts now."""
    return (p != NULL and not p.integrated and slot < <int64_t>p.log_pi.size() and p.log_pi[slot] <= 0.0)


cdef class ProportionTable:
    cdef public Turn turn           # of the franchise that it belongs to, None for an object on its own
    cdef Proportions p
    cdef int make_room(self, int64_t n_slots) except -1
    cdef int set_one(self, int32_t slot, double log_pi, double log_rest) except -1
