from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.stores._seating cimport Seating
from hdpkit.measures._slots cimport DishSlots


cdef class Root:
    cdef Seating store
    cdef DishSlots slots
    cdef const double[::1] concentration
    cdef const double[::1] discount
    cdef const double[::1] base      # if dishes are atoms: H of each atom and, last, of all others
    cdef const int32_t[::1] value    # if dishes are atoms: atom of each data customer

    cdef int bind(self, Seating store, DishSlots slots, object concentration, object discount) except -1
    cdef int check_dishes(self) except -1
    cdef int32_t given(self, int32_t customer) noexcept nogil
    cdef bint opens_again(self) noexcept nogil
    cdef bint loses_dishes(self) noexcept nogil
    cdef int fill(self, double *row, int64_t n_live) noexcept nogil
    cdef double above(self, int32_t dish) noexcept nogil
    cdef double probability(self, int32_t dish, int32_t place, double above) noexcept nogil


cdef class LatentRoot(Root):
    pass


cdef class AtomRoot(Root):
    pass


cdef class WeightTable:
    cdef vector[double] weight        # of each slot, 0 if it has no dish
    cdef double rest                  # weight of all new dishes
    cdef int make_room(self, int64_t n_slots) except -1


cdef class WeightedRoot(Root):
    cdef readonly WeightTable table


cdef class FixedRoot(WeightedRoot):
    cdef double n_dishes
