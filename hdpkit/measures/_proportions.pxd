"""Selection proportions of dishes, by slot, as banks read them from the part that has them."""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector



cdef cppclass Proportions:
    vector[double] log_pi           # of each slot; 1.0 if it has none
    vector[double] log_rest         # log(1 - pi)
    vector[int64_t] stamp           # of each slot, changed by every change of its proportion
    bint integrated                 # whether the proportions are currently integrated out
    int64_t stamps                  # last stamp used


cdef inline bint has_proportion(Proportions *p, int32_t slot) noexcept nogil:
    """Whether the dish of this slot has a proportion that is not integrated out."""
    return (p != NULL and not p.integrated and slot < <int64_t>p.log_pi.size() and p.log_pi[slot] <= 0.0)


cdef class ProportionTable:
    cdef Proportions p
    cdef int make_room(self, int64_t n_slots) except -1
    cdef int set_one(self, int32_t slot, double log_pi, double log_rest) except -1
