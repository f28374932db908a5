from libc.stdint cimport int8_t, int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.support.turn cimport Turn


cdef class DishSlots:
    cdef public Turn turn            # of the franchise that it belongs to, None for an object on its own
    cdef vector[int32_t] live          # occupied slots, ascending
    cdef vector[int32_t] position      # of a slot in `live`, -1 where it is not there
    cdef vector[int8_t] status         # FREE, OCCUPIED, HELD, SCRATCH
    cdef int32_t lowest                # no slot below it is free
    cdef public list observers
    cdef public object trouble         # (observer, error): the first since the last one surfaced
    cdef bint observed

    cdef inline int ready(self) except -1 nogil:
        """See to it that a dish can be born without asking for memory."""
        cdef size_t n = self.status.size() + 1
        if self.status.capacity() < n or self.position.capacity() < n or self.live.capacity() < n:
            self.reserve_room(n + n // 2 + 8)
        return 0

    cdef int reserve_room(self, size_t n) except -1 nogil
    cdef int32_t take(self, int8_t status) except -1 nogil
    cdef int32_t next_free(self) noexcept nogil
    cdef int32_t birth(self) except -1 nogil
    cdef int32_t birth_in(self, int32_t slot) except -1 nogil
    cdef int32_t settle(self, int32_t slot) except -1 nogil
    cdef int death(self, int32_t slot) except -1 nogil
    cdef keep(self, observer, error)
    cdef bint answer(self, observer, int32_t slot) except -1
    cdef bint occupied(self, int32_t slot) noexcept nogil
    cdef bint in_use(self, int32_t slot) noexcept nogil
