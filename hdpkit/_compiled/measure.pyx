# distutils: language = c++
"""The Python face of a compiled bank of statistics."""

import numpy as np

from libc.stdint cimport int32_t, int64_t


cdef class CompiledBank:
    """Statistics of all dishes, by slot, behind a C struct. A subclass fills the struct."""

    def born(self, int32_t slot):
        """Empty statistics for a slot."""
        self._check(self.c.born(self.c.self, slot))

    def died(self, int32_t slot):
        """The slot's statistics are no longer needed."""
        self._check(self.c.died(self.c.self, slot))

    def add(self, int32_t slot, customers):
        """Add the values of these data customers to a slot."""
        cdef const int32_t[::1] who = np.ascontiguousarray(customers, dtype=np.int32)
        if who.shape[0]:
            self._check(self.c.add(self.c.self, slot, &who[0], who.shape[0]))

    def remove(self, int32_t slot, customers):
        """Take the values of these data customers out of a slot."""
        cdef const int32_t[::1] who = np.ascontiguousarray(customers, dtype=np.int32)
        if who.shape[0]:
            self._check(self.c.remove(self.c.self, slot, &who[0], who.shape[0]))

    def log_predictive(self, int32_t customer, slots):
        """Log predictive of one customer's value under each slot and, last, a new dish: shape (n + 1,).

        Up to one common constant where the measure chooses so.
        """
        cdef const int32_t[::1] s = np.ascontiguousarray(slots, dtype=np.int32)
        out = np.empty(s.shape[0] + 1)
        cdef double[::1] o = out
        self._check(self.c.predictive(self.c.self, customer, &s[0] if s.shape[0] else NULL, s.shape[0], &o[0]))
        return np.log(out)

    def block(self, customers, slots):
        """Probability of a block under each slot and, last, a new dish, up to a common factor: shape (n + 1,)."""
        cdef const int32_t[::1] who = np.ascontiguousarray(customers, dtype=np.int32)
        cdef const int32_t[::1] s = np.ascontiguousarray(slots, dtype=np.int32)
        out = np.ones(s.shape[0] + 1)
        cdef double[::1] o = out
        if who.shape[0]:
            self._check(self.c.block(self.c.self, &who[0], who.shape[0],
                                     &s[0] if s.shape[0] else NULL, s.shape[0], &o[0]))
        return out

    def log_block(self, customers, slots):
        """Log probability of a block under each slot and, last, a new dish: shape (n + 1,), nats."""
        cdef const int32_t[::1] who = np.ascontiguousarray(customers, dtype=np.int32)
        cdef const int32_t[::1] s = np.ascontiguousarray(slots, dtype=np.int32)
        out = np.zeros(s.shape[0] + 1)
        cdef double[::1] o = out
        if who.shape[0]:
            self._check(self.c.log_block(self.c.self, &who[0], who.shape[0],
                                         &s[0] if s.shape[0] else NULL, s.shape[0], &o[0]))
        return out

    def _check(self, int status):
        if status < 0:
            raise FloatingPointError(f"{type(self).__name__} failed with status {status}")
