from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t
from hdpkit.vectors cimport vector

cdef extern from "hdpkit/measure.h":
    ctypedef struct measure_t "hdpkit_measure":
        uint32_t version
        uint32_t size
        void *self
        int (*born)(void *self, int32_t slot) noexcept nogil
        int (*died)(void *self, int32_t slot) noexcept nogil
        int (*add)(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil
        int (*remove)(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil
        int (*move)(void *self, int32_t source, int32_t to) noexcept nogil
        int (*predictive)(void *self, int32_t customer, const int32_t *slots, int64_t n,
                          double *out) noexcept nogil
        int (*log_block)(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                         int64_t n, double *out) noexcept nogil
        int (*block)(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                     int64_t n, double *out) noexcept nogil
        int (*marginal)(void *self, int32_t slot, double *out) noexcept nogil
    enum:
        MEASURE_VERSION "HDPKIT_MEASURE_VERSION"
    const char *MEASURE_CAPSULE "HDPKIT_MEASURE_CAPSULE"

cdef class DishSlots:
    cdef vector[int32_t] live          # occupied slots, ascending
    cdef vector[int32_t] position      # of a slot in `live`, -1 if it is not in it
    cdef vector[int8_t] status         # FREE, OCCUPIED, HELD, SCRATCH
    cdef vector[int64_t] id            # id of the dish in each slot, unique within the chain
    cdef int64_t births                # number of births since the start of the chain: the next id
    cdef int32_t lowest                # all slots below it are taken
    cdef readonly object bank          # statistics of the dishes, notified first; may be None
    cdef measure_t *measure            # the bank in C, NULL for a bank in Python
    cdef public object source          # choice source of the running step, for draws of parts at a birth
    cdef public list parts
    cdef public object trouble         # (part, error): the first error since the last one was raised
    cdef bint telling                  # whether there are parts

    cdef inline int ready(self) except -1 nogil:
        """Allocate the memory that the birth of a dish needs."""
        cdef size_t n = self.status.size() + 1
        if (self.status.capacity() < n or self.position.capacity() < n or self.live.capacity() < n
                or self.id.capacity() < n):
            self.reserve_room(n + n // 2 + 8)
        return 0

    cdef int reserve_room(self, size_t n) except -1 nogil
    cdef int32_t take(self, int8_t status) except -1 nogil
    cdef int32_t next_free(self) noexcept nogil
    cdef int birth(self, int32_t *slot, const int32_t *customers, int64_t n) except -1 nogil
    cdef int enter_live(self, int32_t slot) except -1 nogil
    cdef int leave_live(self, int32_t slot) noexcept nogil
    cdef int tell_born(self, int32_t slot, const int32_t *customers, int64_t n) except -1
    cdef int death(self, int32_t slot) except -1 nogil
    cdef int give(self, int32_t slot, int8_t status) noexcept nogil
    cdef int begin_statistics(self, int32_t slot) except -1
    cdef int tell_died(self, int32_t slot) except -1 nogil
    cdef int opened(self, int32_t slot, object customers) except -1
    cdef int attach_compiled(self, object bank, measure_t *measure) except -1
    cdef keep(self, part, error)
    cdef bint answer(self, part, int32_t slot) except -1
    cdef bint occupied(self, int32_t slot) noexcept nogil
    cdef bint in_use(self, int32_t slot) noexcept nogil
