# distutils: language = c++
"""The compiled bank of topics that differ by restaurant, each with a concentration of its own.

Concentrations are drawn and stored in Python (`OwnNumbers`); the bank has a copy by slot. The interpreter
lock is taken when a dish is born or dies, and for a block of several customers.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport has_room, no_memory

from hdpkit.measures._bursty cimport BurstyBank
from hdpkit.measures._bursty_counts cimport (
    OwnCell, bursty_add, bursty_block, bursty_born, bursty_died, bursty_log_block, bursty_predictive,
    bursty_remove, collect)
from hdpkit.numerics cimport log_rising, log_rising_steps
from hdpkit.random._source cimport ChoiceSource
from hdpkit.vectors cimport vector

cdef extern from "Python.h":
    void PyErr_SetObject(object kind, object value) noexcept    # Cython's own declaration would raise here


cdef int left_set(object error) noexcept:
    """Set an exception, as a failing C function does; 0 for None."""
    if error is None:
        return 0
    PyErr_SetObject(type(error), error)
    return -1


cdef int own_born(void *self, int32_t slot) noexcept nogil:
    cdef DishBursts *s = <DishBursts *>self
    if bursty_born(s.b, slot) < 0:
        return -1
    if not has_room(s.b.own, slot + 1):
        return no_memory()
    while <int64_t>s.b.own.size() <= slot:
        s.b.own.push_back(1.0)
    with gil:
        error = None
        try:
            (<DishBurstsBank>s.bank).begin_dish(slot)
        except BaseException as raised:
            error = raised
        return left_set(error)


cdef int own_died(void *self, int32_t slot) noexcept nogil:
    cdef DishBursts *s = <DishBursts *>self
    with gil:
        try:
            (<DishBurstsBank>s.bank).end_dish(slot)
        except MemoryError:
            s.failed = True
    return bursty_died(s.b, slot)


cdef int own_add(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef DishBursts *s = <DishBursts *>self
    cdef int status = 0
    s.leaving_slot = -1
    if s.failed:        # a death can't fail: its failure is reported here, and all statistics are then recomputed
        s.failed = False
        return no_memory()
    if s.pending or s.n_lent > 0:
        with gil:
            error = None
            try:
                (<DishBurstsBank>s.bank).end_step(customers, n)
            except BaseException as raised:
                error = raised
            status = left_set(error)
    return bursty_add(s.b, slot, customers, n) if status >= 0 else -1


cdef int own_remove(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef DishBursts *s = <DishBursts *>self
    s.leaving_slot = slot
    s.leaving_customer = customers[0]
    s.pending = False
    return bursty_remove(s.b, slot, customers, n)


cdef int own_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n, double *out) noexcept nogil:
    return bursty_predictive((<DishBursts *>self).b, customer, slots, n, out)


cdef int offered(DishBursts *s, const int32_t *customers, int64_t n) noexcept nogil:
    """Draw the concentration of the new dish of a block; for one customer it doesn't matter."""
    if n <= 1:
        return 0
    with gil:
        error = None
        try:
            (<DishBurstsBank>s.bank).offer(customers[0])
        except BaseException as raised:
            error = raised
        return left_set(error)


cdef int own_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                       double *out) noexcept nogil:
    cdef DishBursts *s = <DishBursts *>self
    if offered(s, customers, n_customers) < 0:
        return -1
    return bursty_log_block(s.b, customers, n_customers, slots, n, out)


cdef int own_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                   double *out) noexcept nogil:
    cdef DishBursts *s = <DishBursts *>self
    if offered(s, customers, n_customers) < 0:
        return -1
    return bursty_block(s.b, customers, n_customers, slots, n, out)


cdef class DishBurstsBank(BurstyBank):
    """Customers and tables of terms in each restaurant, with a separate concentration for each dish.

    Its readable twin is `DishBurstsReferenceBank`.

    Parameters
    ----------
    measure, values, inner, scanned, n_earlier
        As for `BurstyBank`.
    kept : OwnNumbers
        Draws and stores the concentrations.
    """

    COMPILED = COUNTING = SEATS_VALUES = True

    def __init__(self, measure, values, inner, scanned=0, n_earlier=0, kept=None):
        self.kept = kept
        self.s.b = &self.b
        self.s.bank = <void *>self
        self.b.own.assign(1, 1.0)       # dishes have concentrations
        self.c.self = &self.s
        self.c.born = own_born
        self.c.died = own_died
        self.c.add = own_add
        self.c.remove = own_remove
        self.c.predictive = own_predictive
        self.c.log_block = own_log_block
        self.c.block = own_block
        self.copy()

    cdef int copy(self) except -1:
        """Copy all concentrations for the sweeps."""
        slots = self.kept.of_slots
        self.b.own.assign(max(slots, default=0) + 1, 1.0)
        for slot, own in slots.items():
            self.b.own[<int32_t>slot] = own
        self.s.n_lent = self.kept.n_lent
        self.s.pending = False
        self.s.failed = False
        self.s.leaving_slot = -1
        return 0

    # ------------------------------------------------------------------ steps

    cdef int begin_dish(self, int32_t slot) except -1:
        if self.s.pending:
            self.kept.weighed([self.b.fresh], np.zeros(1))
        self.kept.born(slot)
        self.b.own[slot] = self.kept.parameter(slot)
        self.s.pending = False
        return 0

    cdef int end_dish(self, int32_t slot) except -1:
        if self.s.leaving_slot == slot:
            self.kept.left(slot, self.s.leaving_customer)
        self.kept.died(slot)
        self.s.n_lent = self.kept.n_lent
        self.s.leaving_slot = -1
        return 0

    cdef int end_step(self, const int32_t *customers, int64_t n) except -1:
        cdef int64_t i
        self.kept.seated([customers[i] for i in range(n)])
        self.s.n_lent = self.kept.n_lent
        self.s.pending = False
        return 0

    cdef int offer(self, int32_t customer) except -1:
        (self.b.fresh,) = self.kept.offered((customer,))
        self.s.pending = True
        return 0

    def prepare(self, ChoiceSource source not None):
        """Use this source for draws until the end of a step."""
        self.kept.prepare(source)
        self.s.pending = False
        BurstyBank.prepare(self, source)

    # ------------------------------------------------------------------ concentrations

    def bring_back(self, customer):
        """Give the next new dish the concentration recorded for this customer, if there is one."""
        self.kept.bring_back(customer)
        self.s.pending = False

    def parameter(self, slot):
        """Concentration of a dish."""
        return float(self.kept.parameter(slot))

    def has_parameter(self, slot):
        """Whether the dish already has a concentration."""
        return self.kept.has_parameter(slot)

    def set_parameter(self, slot, parameter):
        """Change the concentration of a dish."""
        cdef int32_t k = self.slot_number(slot)
        self.kept.set_parameter(k, parameter)
        self.b.own[k] = self.kept.parameter(k)
        self.b.version += 1

    def log_likelihood_of(self, slot, customers):
        """Return log p(terms, numbers of tables) of a dish as a function of its concentration, up to a constant."""
        n, t = self.totals_of(slot)
        discount = self.b.discount
        return lambda b: log_openings(b, discount, n, t)

    def totals_of(self, slot):
        """Customers and tables of every restaurant in the dish of a slot: two int64 arrays, shape (n,)."""
        cdef int32_t k = self.slot_number(slot)
        cdef vector[OwnCell] cells, totals
        cdef int64_t i
        collect(&self.b, False, &cells, &totals)
        found = [(totals[i].customers, totals[i].tables) for i in range(<int64_t>totals.size()) if totals[i].slot == k]
        made = np.array(found, dtype=np.int64).reshape(-1, 2)
        return made[:, 0].copy(), made[:, 1].copy()

    def statistics(self, slots, dishes):
        """Statistics of these slots in the form of the measure's Python methods; copies."""
        found = BurstyBank.statistics(self, slots, dishes)
        for slot, one in zip(slots, found):
            one.concentration = self.parameter(int(slot))
        return found

    def log_marginal_total(self, slots):
        """None: dishes have separate concentrations, so equal numbers don't contribute equally."""
        return None

    def adopt(self, measure):
        """Replace the parameter values; the numbers of tables and the concentrations are kept."""
        self.kept.measure = measure
        return BurstyBank.adopt(self, measure)

    # ------------------------------------------------------------------ saved with the state

    def rebuild(self, const int32_t[::1] dishes not None, slots):
        """Recount everything from each customer's dish (-1: unseated) and the tables of `thaw`."""
        self.kept.rebuild(np.asarray(dishes), slots)
        BurstyBank.rebuild(self, dishes, slots)
        self.copy()

    def relabelled(self, mapping):
        """Slots have new numbers."""
        BurstyBank.relabelled(self, mapping)
        self.kept.relabelled(np.asarray(mapping))
        self.copy()

    def freeze(self):
        """The numbers of tables and the concentrations."""
        return {**BurstyBank.freeze(self), **self.kept.freeze()}

    def check_frozen(self, frozen, slots):
        """Raise a DataError unless these are concentrations, one per dish; None is accepted."""
        self.kept.check_frozen(self.kept.without_tables(frozen), slots)

    def thaw(self, frozen):
        """Restore frozen numbers of tables and concentrations; call it before `rebuild`."""
        BurstyBank.thaw(self, frozen)
        self.kept.thaw(self.kept.without_tables(frozen))

    def memory_bytes(self):
        """Bytes of the arrays, of the inner bank and of the concentrations."""
        return BurstyBank.memory_bytes(self) + self.kept.memory_bytes()


def log_openings(double b, double discount, const int64_t[::1] customers not None, const int64_t[::1] tables not None):
    """Sum over restaurants of log [b]_a^t / [b]_1^n, a the discount."""
    cdef double total = 0.0
    cdef int64_t i
    for i in range(customers.shape[0]):
        total += log_rising_steps(b, discount, tables[i]) - log_rising(b, customers[i])
    return total
