# distutils: language = c++
"""Selection proportions of dishes, by slot, as logarithms: pi and 1 - pi may be too small for a double."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from hdpkit._arguments cimport check_length, numbers32, refuse, whole32

cdef int32_t LARGEST = 1 << 30
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

    def get(self, slot):
        """(log pi, log(1 - pi)) of the dish in a slot; None if it has none or they are integrated out."""
        cdef int32_t k = whole32("slot", slot, 0, LARGEST)
        return (self.p.log_pi[k], self.p.log_rest[k]) if has_proportion(&self.p, k) else None

    def many(self, slots):
        """Proportions of these slots as logarithms: float64, shape (n, 2), NaN if a slot has none."""
        cdef const int32_t[::1] which = numbers32("slots", slots, 0, LARGEST)
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
        cdef const int32_t[::1] which = numbers32("slots", slots, 0, LARGEST)
        cdef const double[:, ::1] given = np.ascontiguousarray(logs, dtype=np.float64).reshape(-1, 2)
        cdef int64_t i
        check_length("logs", given.shape[0], which.shape[0])
        for i in range(which.shape[0]):
            if not (given[i, 0] <= 0.0 and given[i, 1] <= 0.0):
                refuse("logs", (given[i, 0], given[i, 1]), "logarithms of a number from 0 to 1 and of 1 minus it",
                       "Draw them by source.log_beta.")
        self.make_room(max(np.asarray(which), default=-1) + 1)
        self.clear()
        for i in range(which.shape[0]):
            self.set_one(which[i], given[i, 0], given[i, 1])

    def set(self, slot, double log_pi, double log_rest):
        """Change the proportion of one slot."""
        cdef int32_t k = whole32("slot", slot, 0, LARGEST)
        if not (log_pi <= 0.0 and log_rest <= 0.0):
            refuse("log_pi", (log_pi, log_rest), "logarithms of a number from 0 to 1 and of 1 minus it",
                   "Draw them by source.log_beta.")
        self.set_one(k, log_pi, log_rest)

    def drop(self, slot):
        """Remove the proportion of a dish that died."""
        cdef int32_t k = whole32("slot", slot, 0, LARGEST)
        if k < <int64_t>self.p.log_pi.size():
            self.set_one(k, NONE, NONE)

    def memory_bytes(self):
        """Bytes held by the proportions."""
        return self.p.log_pi.capacity() * 2 * sizeof(double) + self.p.stamp.capacity() * sizeof(int64_t)
