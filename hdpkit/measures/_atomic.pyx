# distutils: language = c++
"""The bank of a base measure with atoms: each customer's value and the probability of every atom.

A slot is an atom. Sweeps over observed dishes don't call this bank; its functions are those of a likelihood
that is 1 at the customer's own value and 0 elsewhere.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from hdpkit.measures._measure cimport CompiledBank
from hdpkit.numerics import exp_each

SMALLEST = 1e-300


cdef cppclass Atoms:
    const int32_t *values       # of each data customer; owned by the Python object


cdef int atoms_nothing(void *self, int32_t slot) noexcept nogil:
    return 0


cdef int atoms_change(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    return 0


cdef int atoms_move(void *self, int32_t source, int32_t to) noexcept nogil:
    return 0


cdef int atoms_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n,
                          double *out) noexcept nogil:
    cdef Atoms *b = <Atoms *>self
    cdef int64_t i
    for i in range(n):
        out[i] = slots[i] == b.values[customer]
    out[n] = 0.0
    return 0


cdef int atoms_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                         int64_t n, double *out) noexcept nogil:
    cdef Atoms *b = <Atoms *>self
    cdef int64_t i, j
    cdef bint alike = True
    for j in range(1, n_customers):
        alike = alike and b.values[customers[j]] == b.values[customers[0]]
    for i in range(n):
        out[i] = 0.0 if alike and slots[i] == b.values[customers[0]] else -1.0 / 0.0
    out[n] = -1.0 / 0.0
    return 0


cdef class AtomicBank(CompiledBank):
    """Values (n_customers,) and probabilities of atoms.

    ``base``, shape (V + 1,), is H of each atom (at least 1e-300 if it isn't 0) and, last, of all other values;
    ``log_base`` has shape (V,).
    """

    COMPILED = True

    cdef Atoms b
    cdef readonly object values
    cdef readonly object base
    cdef readonly object log_base

    def __cinit__(self, values, measure):
        cdef const int32_t[::1] view
        self.values = np.ascontiguousarray(values, dtype=np.int32)
        view = self.values
        self.b.values = &view[0] if view.shape[0] else NULL
        self.adopt(measure)
        self.c.self = &self.b
        self.c.born = atoms_nothing
        self.c.died = atoms_nothing
        self.c.add = atoms_change
        self.c.remove = atoms_change
        self.c.move = atoms_move
        self.c.predictive = atoms_predictive
        self.c.log_block = atoms_log_block
        self.c.block = NULL
        self.c.marginal = NULL
        self.complete(view.shape[0])

    def adopt(self, measure):
        """Replace the probabilities, in place, because walks have references to the array."""
        self.log_base = np.ascontiguousarray(measure.log_probabilities(), dtype=np.float64)
        atoms = exp_each(self.log_base)
        # A possible value has a positive weight even if its probability underflows (a word of 1,000
        # characters).
        atoms[(atoms < SMALLEST) & (self.log_base > -np.inf)] = SMALLEST
        fresh = np.append(atoms, measure.remainder)
        if self.base is not None and len(self.base) == len(fresh):
            self.base[:] = fresh
        else:
            self.base = fresh
        return True

    def rebuild(self, dishes, slots):
        """Does nothing: there are no counts."""

    def relabelled(self, mapping):
        """Atoms keep their numbers."""

    def log_marginals(self, slots, dishes):
        """Zero for every slot: given its dish, a value is certain. Root tables are scored separately."""
        return np.zeros(len(slots))

    def statistics(self, slots, dishes):
        """The atoms."""
        return [int(slot) for slot in slots]

    def memory_bytes(self):
        """Bytes of the probabilities; the values belong to the data and are not counted."""
        return self.base.nbytes + self.log_base.nbytes
