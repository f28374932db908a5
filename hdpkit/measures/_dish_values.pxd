"""The number of each dish of an `OwnParameter` measure, where its bank's C functions read it."""

from libc.stdint cimport int32_t, int64_t

from hdpkit._measure_type cimport measure_t
from hdpkit.vectors cimport vector


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
