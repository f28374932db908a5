# distutils: language = c++
"""Functions between the sweeps and a compiled bank whose dishes each have a number.

The numbers are drawn and stored in Python (`OwnNumbers`); the bank has a copy by slot. The interpreter lock is
taken when a dish is born or dies, for a block of several customers, and when customers are seated while a number
is recorded for one who is unseated.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport no_memory, vector

from hdpkit._measure_type cimport measure_t

# Exceptions are left set for the caller, which sees a negative result.
ctypedef int (*of_slot_t)(void *self, int32_t slot) noexcept nogil
ctypedef int (*of_customers_t)(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil
ctypedef int (*of_block_t)(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                           double *out) noexcept nogil


cdef list listed(const vector[double] *numbers):
    cdef int64_t i
    return [numbers.data()[i] for i in range(<int64_t>numbers.size())]


cdef int own_born(void *self, int32_t slot) except -1 nogil:
    cdef DishValues *values = <DishValues *>self
    if values.bank.born(values.bank.self, slot) < 0:
        return -1
    if <int64_t>values.of_slot.size() <= slot:
        values.of_slot.resize(slot + 1, 1.0)
    with gil:
        if values.offered.size() > 0:
            (<object>values.kept).weighed(listed(&values.offered), np.array(listed(&values.logs)))
        (<object>values.kept).born(slot)
        values.of_slot[slot] = (<object>values.kept).parameter(slot)
    values.offered.clear()
    return 0


cdef int own_died(void *self, int32_t slot) noexcept nogil:
    cdef DishValues *values = <DishValues *>self
    with gil:
        try:
            if values.leaving_slot == slot:
                (<object>values.kept).left(slot, values.leaving_customer)
            (<object>values.kept).died(slot)
            values.n_lent = (<object>values.kept).n_lent
            values.leaving_slot = -1
        except MemoryError:
            values.failed = True
    return values.bank.died(values.bank.self, slot)


cdef int own_add(void *self, int32_t slot, const int32_t *customers, int64_t n) except -1 nogil:
    cdef DishValues *values = <DishValues *>self
    cdef int64_t i
    values.leaving_slot = -1
    values.offered.clear()
    if values.failed:   # a death can't fail: its failure is reported here, and all statistics are then recomputed
        values.failed = False
        return no_memory()
    if values.n_lent > 0:
        with gil:
            (<object>values.kept).seated([customers[i] for i in range(n)])
            values.n_lent = (<object>values.kept).n_lent
    return values.bank.add(values.bank.self, slot, customers, n)


cdef int own_remove(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef DishValues *values = <DishValues *>self
    values.leaving_slot = slot
    values.leaving_customer = customers[0]
    values.offered.clear()
    return values.bank.remove(values.bank.self, slot, customers, n)


cdef int own_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n, double *out) noexcept nogil:
    cdef DishValues *values = <DishValues *>self
    return values.bank.predictive(values.bank.self, customer, slots, n, out)


cdef int offer(DishValues *values, const int32_t *customers, int64_t n) except -1 nogil:
    """Draw the numbers of auxiliary dishes for a block. For one customer they don't matter, so none are drawn."""
    values.offered.clear()
    if n <= 1:
        return 0
    with gil:
        for number in (<object>values.kept).offered((customers[0],)):
            values.offered.push_back(number)
    values.logs.assign(values.offered.size(), 0.0)
    values.fresh = values.offered[0]
    return 0


cdef int own_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                       double *out) except -1 nogil:
    cdef DishValues *values = <DishValues *>self
    offer(values, customers, n_customers)
    return values.bank.log_block(values.bank.self, customers, n_customers, slots, n, out)


cdef int own_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                   double *out) except -1 nogil:
    cdef DishValues *values = <DishValues *>self
    offer(values, customers, n_customers)
    return values.bank.block(values.bank.self, customers, n_customers, slots, n, out)


cdef int hold_numbers(DishValues *values, measure_t *c, object kept) except -1:
    """Put the functions of this file before those of a bank, which owns ``values`` and ``kept``."""
    values.bank = c[0]
    values.kept = <void *>kept
    values.fresh = 1.0
    c.self = values
    c.born = <of_slot_t>own_born
    c.died = own_died
    c.add = <of_customers_t>own_add
    c.remove = own_remove
    c.predictive = own_predictive
    c.log_block = <of_block_t>own_log_block
    if c.block != NULL:
        c.block = <of_block_t>own_block
    return copy_numbers(values)


cdef int copy_numbers(DishValues *values) except -1:
    """Copy all numbers, which have changed between steps."""
    numbers = (<object>values.kept).of_slots
    values.of_slot.assign(max(numbers, default=-1) + 1, 1.0)
    for slot, number in numbers.items():
        values.of_slot[<int32_t>slot] = number
    values.offered.clear()
    values.n_lent = (<object>values.kept).n_lent
    values.failed = False
    values.leaving_slot = -1
    return 0


cdef int prepare_numbers(DishValues *values, object source) except -1:
    """Use this source for draws until the end of a step."""
    (<object>values.kept).prepare(source)
    values.offered.clear()
    return 0


cdef int set_number(DishValues *values, int32_t slot, object number) except -1:
    """Change the number of a dish."""
    (<object>values.kept).set_parameter(slot, number)
    values.of_slot[slot] = (<object>values.kept).parameter(slot)
    return 0


cdef object number_bytes(const DishValues *values):
    """Bytes of the numbers."""
    return (<object>values.kept).memory_bytes() + sizeof(double) * (
        values.of_slot.capacity() + values.offered.capacity() + values.logs.capacity())


class HasNumbers:
    """The methods of a bank with `OwnNumbers` that are the same in Python and compiled."""

    __slots__ = ()

    def bring_back(self, customer):
        """Give the next new dish the number recorded for this customer, if there is one; after `prepare`."""
        self.kept.bring_back(customer)

    def parameter(self, slot):
        return float(self.kept.parameter(slot))

    def has_parameter(self, slot):
        return self.kept.has_parameter(slot)

    def check_frozen(self, frozen, slots):
        self.kept.check_frozen(frozen, slots)
