# distutils: language = c++
"""The bank of sparse topics with a separate smoothing for each dish (C functions: `own_smoothings.pyx`)."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from hdpkit._compiled.measures.auxiliary_sums cimport auxiliary_bytes
from hdpkit._compiled.measures.own_smoothings cimport (
    own_add, own_born, own_died, own_law, own_log_block, own_predictive, own_remove, own_value)
from hdpkit._compiled.measures.selection cimport log_sum_of, selection_at
from hdpkit._compiled.measures.selection_nodes cimport Coefficients
from hdpkit._compiled.measures.selection_law cimport SelectionLaw
from hdpkit._compiled.measures.sparse_dirichlet_multinomial cimport SparseDirichletMultinomialBank
from hdpkit.numerics cimport log_rising

cdef extern from "Python.h":
    void PyErr_SetObject(object kind, object value) noexcept    # Cython's own declaration would raise here


cdef int left_set(object error) noexcept:
    """Set an exception, as a failing C function does; 0 for None."""
    if error is None:
        return 0
    PyErr_SetObject(type(error), error)
    return -1


cdef int tell_born(void *checkpoints, int32_t slot) noexcept:
    error = None
    try:
        (<DishSmoothingBank>checkpoints).begin_smoothing(slot)
    except BaseException as raised:
        error = raised
    return left_set(error)


cdef int tell_died(void *checkpoints, int32_t slot) noexcept:
    try:
        (<DishSmoothingBank>checkpoints).end_smoothing(slot)
    except MemoryError:
        return -1
    return 0


cdef int tell_begin(void *checkpoints) noexcept:
    error = None
    try:
        (<DishSmoothingBank>checkpoints).begin_step()
    except BaseException as raised:
        error = raised
    return left_set(error)


cdef int tell_end(void *checkpoints, const int32_t *customers, int64_t n) noexcept:
    error = None
    try:
        (<DishSmoothingBank>checkpoints).end_step(customers, n)
    except BaseException as raised:
        error = raised
    return left_set(error)


cdef int tell_offer(void *checkpoints, const int32_t *customers, int64_t n) noexcept:
    error = None
    try:
        (<DishSmoothingBank>checkpoints).offer(customers, n)
    except BaseException as raised:
        error = raised
    return left_set(error)


cdef class DishSmoothingBank(SparseDirichletMultinomialBank):
    """Counts of terms by dish slot; each slot has a separate smoothing.

    Parameters
    ----------
    terms : int32 array, shape (n_customers,)
        Kept by reference, never changed.
    measure : SparseDirichletMultinomial
        Prepared for the data.
    kept : DishSmoothings
        Draws and stores the smoothings.
    """

    COMPILED = COUNTING = True

    def __cinit__(self, terms, measure, kept):
        self.kept = kept
        self.s.b = &self.b
        self.s.checkpoints = <void *>self
        self.s.tell_born = tell_born
        self.s.tell_died = tell_died
        self.s.tell_begin = tell_begin
        self.s.tell_end = tell_end
        self.s.tell_offer = tell_offer
        self.s.sums.stamp = 0
        self.s.leaving_slot = -1
        self.s.leaving_customer = -1
        self.s.n_lent = 0
        self.s.pending = False
        self.s.failed = False
        self.kept.measure = measure
        self.c.self = &self.s
        self.c.born = own_born
        self.c.died = own_died
        self.c.add = own_add
        self.c.remove = own_remove
        self.c.predictive = own_predictive
        self.c.log_block = own_log_block
        self.copy_smoothings()

    cdef int take_parameters(self, object measure) except -1:
        SparseDirichletMultinomialBank.take_parameters(self, measure)
        self.kept.measure = measure
        return 0

    # --------------------------------------------------------------------------------------- steps

    cdef int copy_smoothings(self) except -1:
        """Copy all smoothings for the sweeps; distributions are set again when they are used."""
        self.s.own.assign(self.b.stride, self.b.smoothing)
        for slot, smoothing in self.kept.of_slots.items():
            self.s.own[<int32_t>slot] = smoothing
        self.b.seen.assign(self.b.stride, -1)
        self.s.n_lent = self.kept.n_lent
        self.s.pending = False
        self.s.failed = False
        self.s.leaving_slot = -1
        return 0

    cdef int begin_smoothing(self, int32_t slot) except -1:
        cdef int64_t i, m = self.s.offered.size()
        if self.s.pending and m > 0:
            self.kept.weighed([self.s.offered[i] for i in range(m)],
                              np.array([self.s.logs[self.s.first_log + i] for i in range(m)]))
        self.kept.born(slot)
        self.s.own[slot] = self.kept.parameter(slot)
        self.b.seen[slot] = -1
        self.s.pending = False
        return 0

    cdef int end_smoothing(self, int32_t slot) except -1:
        if self.s.leaving_slot == slot:
            self.kept.left(slot, self.s.leaving_customer)
        self.kept.died(slot)
        self.s.n_lent = self.kept.n_lent
        self.s.leaving_slot = -1
        return 0

    cdef int end_step(self, const int32_t *customers, int64_t n) except -1:
        cdef int64_t i
        self.kept.seated([customers[i] for i in range(n)] if self.s.n_lent > 0 else ())
        self.s.n_lent = self.kept.n_lent
        self.s.pending = False
        return 0

    cdef int begin_step(self) except -1:
        self.kept.left(self.s.leaving_slot, self.s.leaving_customer)
        self.s.pending = False
        return 0

    cdef int offer(self, const int32_t *customers, int64_t n) except -1:
        for smoothing in self.kept.offered((customers[0],) if n else ()):
            self.s.offered.push_back(smoothing)
        return 0

    def prepare(self, source):
        """Use this source for draws until the end of a verb."""
        self.kept.prepare(source)
        self.s.pending = False

    # --------------------------------------------------------------------------------------- smoothings

    def bring_back(self, customer):
        """Give the next new dish the smoothing recorded for this customer, if there is one."""
        self.kept.bring_back(customer)
        self.s.offered.clear()
        self.s.pending = True

    def parameter(self, slot):
        """Smoothing of a dish."""
        return float(self.kept.parameter(slot))

    def has_parameter(self, slot):
        """Whether the dish already has a smoothing."""
        return self.kept.has_parameter(slot)

    def set_parameter(self, slot, parameter):
        """Change the smoothing of a dish."""
        cdef int32_t k = self.slot_number(slot)
        self.kept.set_parameter(k, parameter)
        self.s.own[k] = self.kept.parameter(k)
        self.b.seen[k] = -1

    def smoothings(self, slots):
        """Smoothings of these slots: float64, shape (n,)."""
        return np.array([self.kept.parameter(slot) for slot in self.slot_numbers(slots).tolist()], dtype=float)

    def log_likelihood_of(self, slot, customers):
        """Return the log marginal of a dish, in nats, as a function of its smoothing; ``customers``: all of it."""
        cdef int32_t k = self.slot_number(slot)
        cdef int64_t a = self.b.distinct[k], n = self.b.totals[k]
        counts = np.unique(np.asarray(self.terms)[customers], return_counts=True)[1]
        sizes, many = np.unique(counts, return_counts=True)
        given = None if self.proportions is None else self.proportions.get(slot)
        measure = self.measure
        return lambda smoothing: (
            measure.law(given, smoothing).log_sum(a, n) + log_rising_total(smoothing, sizes, many))

    # --------------------------------------------------------------------------------------- queries

    def begin(self, slot):
        """Statistics without values, with the smoothing and the proportion of a slot."""
        made = SparseDirichletMultinomialBank.begin(self, slot)
        made.smoothing = float(self.kept.parameter(slot))
        return made

    def factors(self, slots):
        """The factor of n_v + smoothing for terms that a dish has, and f(v) of other terms: shape (n, 2)."""
        cdef const int32_t[::1] s = self.slot_numbers(slots)
        cdef const Coefficients *of
        cdef int64_t i
        out = np.empty((s.shape[0], 2))
        cdef double[:, ::1] view = out
        for i in range(s.shape[0]):
            of = own_value(&self.s, s[i])
            if of == NULL:
                raise MemoryError
            view[i, 0] = of.inside
            view[i, 1] = of.outside
        return out

    cdef double log_sum(self, int32_t slot) except? 1.0:
        """log Z of a slot."""
        cdef const SelectionLaw *law = own_law(&self.s, slot)
        cdef int64_t place = selection_at(&self.b.sums, law, self.b.distinct[slot], self.b.totals[slot])
        if place < 0:
            raise MemoryError
        return log_sum_of(law, self.b.distinct[slot], self.b.totals[slot], self.b.sums.log_shares[place])

    def log_marginals(self, slots, dishes=None):
        """Log marginal of these slots given their smoothings and proportions: shape (n,), nats."""
        cdef const int32_t[::1] s = self.slot_numbers(slots)
        out = np.zeros(s.shape[0])
        cdef double[::1] o = out
        cdef int64_t v, i
        cdef int32_t count
        with nogil:
            for v in range(self.b.n_terms):     # term by term, the order in memory
                for i in range(s.shape[0]):
                    count = self.b.counts[v * self.b.stride + s[i]]
                    if count > 0:
                        o[i] += log_rising(self.s.own[s[i]], count)
        for i in range(s.shape[0]):
            o[i] += self.log_sum(s[i])
        return out

    def log_marginal_total(self, slots):
        """None: dishes have separate smoothings, so equal counts don't contribute equally."""
        return None

    # --------------------------------------------------------------------------------------- saved with the
    # state

    def rebuild(self, const int32_t[::1] dishes not None, slots):
        """Recompute all statistics from the dish of each customer (-1: unseated)."""
        self.kept.rebuild(np.asarray(dishes), slots)
        SparseDirichletMultinomialBank.rebuild(self, dishes, slots)
        self.copy_smoothings()

    cdef int relabel(self, const int32_t[::1] mapping) except -1:
        SparseDirichletMultinomialBank.relabel(self, mapping)
        self.kept.relabelled(np.asarray(mapping))
        self.copy_smoothings()
        return 0

    def freeze(self):
        """The smoothings."""
        return self.kept.freeze()

    def check_frozen(self, frozen, slots):
        """Raise a DataError unless these are smoothings, one per dish; None is accepted."""
        self.kept.check_frozen(frozen, slots)

    def thaw(self, frozen):
        """Restore frozen smoothings; call it before `rebuild`."""
        self.kept.thaw(frozen)

    def memory_bytes(self):
        """Bytes of the counts, the smoothings and derived numbers."""
        return SparseDirichletMultinomialBank.memory_bytes(self) + self.kept.memory_bytes() + sizeof(double) * (
            self.s.own.capacity() + self.s.offered.capacity() + self.s.base.capacity() + self.s.logs.capacity()
        ) + auxiliary_bytes(&self.s.sums)


def log_rising_total(double smoothing, const int64_t[::1] sizes not None, const int64_t[::1] many not None):
    """Sum of log G(smoothing + n) / G(smoothing) over counts n in ``sizes``, with multiplicities ``many``."""
    cdef double total = 0.0
    cdef int64_t i
    for i in range(sizes.shape[0]):
        total += many[i] * log_rising(smoothing, sizes[i])
    return total
