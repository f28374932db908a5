# distutils: language = c++
"""Selection proportions of dishes, by slot, as logarithms: pi and 1 - pi may be too small for a double."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

cdef double NONE = 1.0      # instead of a logarithm, for a slot without a proportion


cdef class ProportionTable:
    """The proportion pi of each slot that has one, as (log pi, log(1 - pi)).

    Attributes
    ----------
    integrated : bool
        Whether the proportions are currently integrated out: readers then treat every slot as one without.
    """

    def __cinit__(self):
        self.p.integrated = False
        self.p.stamps = 0

    cdef int make_room(self, int64_t n_slots) except -1:
        if <int64_t>self.p.log_pi.size() < n_slots:
            self.p.log_pi.reserve(n_slots)
            self.p.log_rest.reserve(n_slots)
            self.p.stamp.reserve(n_slots)       # nothing below can fail
            self.p.log_pi.resize(n_slots, NONE)
            self.p.log_rest.resize(n_slots, NONE)
            self.p.stamp.resize(n_slots, 0)
        return 0

    cdef int set_one(self, int32_t slot, double log_pi, double log_rest) except -1:
        self.make_room(slot + 1)
        self.p.stamps += 1
        self.p.log_pi[slot] = log_pi
        self.p.log_rest[slot] = log_rest
        self.p.stamp[slot] = self.p.stamps
        return 0

    @property
    def integrated(self):
        return bool(self.p.integrated)

    @integrated.setter
    def integrated(self, value):
        self.p.integrated = bool(value)

    def clear(self):
        """Remove all proportions."""
        cdef int64_t i
        for i in range(<int64_t>self.p.log_pi.size()):
            self.set_one(<int32_t>i, NONE, NONE)

    def get(self, int32_t slot):
        """(log pi, log(1 - pi)) of the dish in a slot; None if it has none or they are integrated out."""
        return (self.p.log_pi[slot], self.p.log_rest[slot]) if has_proportion(&self.p, slot) else None

    def many(self, slots):
        """Proportions of these slots as logarithms: float64, shape (n, 2), NaN if a slot has none."""
        cdef const int32_t[::1] which = np.ascontiguousarray(slots, dtype=np.int32)
        cdef int64_t i
        out = np.full((which.shape[0], 2), np.nan)
        cdef double[:, ::1] view = out
        for i in range(which.shape[0]):
            if which[i] < <int64_t>self.p.log_pi.size() and self.p.log_pi[which[i]] <= 0.0:
                view[i, 0] = self.p.log_pi[which[i]]
                view[i, 1] = self.p.log_rest[which[i]]
        return out

    def put(self, slots, logs):
        """Replace all proportions by those of these slots, shape (n, 2); other slots have none."""
        cdef const int32_t[::1] which = np.ascontiguousarray(slots, dtype=np.int32)
        cdef const double[:, ::1] given = np.ascontiguousarray(logs, dtype=np.float64).reshape(-1, 2)
        cdef int64_t i
        self.make_room(max(np.asarray(which), default=-1) + 1)
        self.clear()
        for i in range(which.shape[0]):
            self.set_one(which[i], given[i, 0], given[i, 1])

    def set(self, int32_t slot, double log_pi, double log_rest):
        """Change the proportion of one slot."""
        self.set_one(slot, log_pi, log_rest)

    def drop(self, int32_t slot):
        """Remove the proportion of a dish that died."""
        if slot < <int64_t>self.p.log_pi.size():
            self.set_one(slot, NONE, NONE)

    def memory_bytes(self):
        """Bytes held by the proportions."""
        return self.p.log_pi.capacity() * 2 * sizeof(double) + self.p.stamp.capacity() * sizeof(int64_t)
