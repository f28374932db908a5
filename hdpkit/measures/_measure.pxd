"""Statistics of all dishes, accessed by a C struct (`include/hdpkit/measure.h`)."""

from cpython.ref cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t

from hdpkit.measures._slots cimport MEASURE_CAPSULE, MEASURE_VERSION, DishSlots, measure_t
from hdpkit.numerics cimport det_exp
from hdpkit.vectors cimport vector


cdef class CompiledBank:
    cdef measure_t c
    cdef int64_t n_customers       # number of data customers
    cdef DishSlots slots           # slots of the franchise; None: not attached
    cdef int complete(self, int64_t n_customers) except -1
    cdef int64_t room(self) except -1
    cdef int32_t slot_number(self, object slot) except -1
    cdef int check(self, int status) except -1


cdef inline int as_weights(double *out, int64_t n) noexcept nogil:
    """Convert the logs out[0..n] to weights with maximum 1, so that not all of them underflow."""
    cdef int64_t i
    cdef double top = out[n]
    for i in range(n):
        if out[i] > top:
            top = out[i]
    if not isfinite(top):
        return -1
    for i in range(n + 1):
        out[i] = det_exp(out[i] - top)
    return 0


cdef object as_int32(object numbers)
cdef int leave(object error) noexcept
cdef object pending_exception()
cdef int measure_block(measure_t *measure, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                       int64_t n, double *out) noexcept nogil


# The number of each dish of an `OwnParameter` measure, where its bank's C functions read it.
cdef cppclass DishValues:
    measure_t bank                  # the functions of the bank, which read the numbers here
    void *kept                      # `OwnNumbers`, which draws and stores them
    vector[double] of_slot
    vector[double] offered          # those of the auxiliary dishes of a block: the next new dish has one of them
    vector[double] logs             # log probabilities of the block under the auxiliary dishes
    double fresh                    # the first of the last that were offered
    int32_t leaving_slot            # the dish that customers have left in this step, -1 for none,
    int32_t leaving_customer        # and the first of them
    int64_t n_lent                  # unseated customers for whom a number is recorded
    bint failed                     # whether an allocation failed at a death


cdef int hold_numbers(DishValues *values, measure_t *c, object kept) except -1
cdef int copy_numbers(DishValues *values) except -1
cdef int prepare_numbers(DishValues *values, object source) except -1
cdef int set_number(DishValues *values, int32_t slot, object number) except -1
cdef object number_bytes(const DishValues *values)
