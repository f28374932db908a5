# distutils: language = c++
"""Distributions from which the root's children draw: latent dishes, atoms, or weights in the state.

The walk computes everything below the root from these few functions. The readable twins are in
`hdpkit.steps.root`.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from hdpkit.vectors cimport copy_into

from hdpkit.stores._seating cimport Entry, Node, Seating
from hdpkit.measures._slots cimport DishSlots
from hdpkit.errors import StateError

cdef double LEAST = 2.2250738585072014e-308   # the smallest normal number


cdef double floored(double weight) noexcept nogil:
    """The weight, at least the smallest normal number: a weight of 0 would have no log density."""
    return weight if weight > LEAST else LEAST


cdef class Root:
    """Base class of roots. A walk binds it to its store and slots."""

    def __cinit__(self, *arguments, **named):
        # The walk copies both views, and a build with checks can't copy a view that was never set.
        self.base = None
        self.value = None

    cdef int bind(self, Seating store, DishSlots slots, object concentration, object discount) except -1:
        self.store = store
        self.slots = slots
        self.concentration = concentration
        self.discount = discount
        return 0

    cdef int check_dishes(self) except -1:
        """Raise an error unless rows can be filled: the live dishes must be those that the root serves."""
        cdef int64_t i, n_live = self.slots.live.size(), n = self.store.nodes[0].n_entries
        cdef Entry *entries = self.store.entries(0)
        for i in range(max(n, n_live)):
            if i >= n or (i < n_live and self.slots.live[i] < entries[i].dish):
                raise StateError("dish", self.slots.live[i], "one that has customers",
                                 "Seat customers at a dish as soon as it is open.")
            if i >= n_live or self.slots.live[i] != entries[i].dish:
                raise StateError("dish", entries[i].dish, "an occupied slot", "Run audit().")
        return 0

    cdef int32_t given(self, int32_t customer) noexcept nogil:
        """The fixed dish of a data customer; -1 if dishes are latent."""
        return -1

    cdef bint opens_again(self) noexcept nogil:
        """Whether a dish may have several tables at the root."""
        return False

    cdef bint loses_dishes(self) noexcept nogil:
        """Whether a dish dies when it has no tables at the root."""
        return True


    cdef int fill(self, double *row, int64_t n_live) noexcept nogil:
        """Probability of each live dish, ascending, and of a new one (of all other atoms), last."""
        return 0

    cdef double above(self, int32_t dish) noexcept nogil:
        """Probability of the dish for a new table of the root."""
        return 1.0

    cdef double probability(self, int32_t dish, int32_t place, double above) noexcept nogil:
        """Probability of one dish at the root, or of a new dish if the slot has none.

        ``place`` is the place of its entry at the root, -1 for none; ``above`` is the result of `above`.
        """
        return above


cdef class LatentRoot(Root):
    """A Chinese restaurant in which each table is a separate dish (Teh et al. 2006, section 5.1)."""

    cdef int fill(self, double *row, int64_t n_live) noexcept nogil:
        cdef Node *record = &self.store.nodes[0]
        cdef Entry *entries
        cdef int64_t i
        cdef double inverse, d
        if record.customers == 0:
            row[n_live] = 1.0
            return 0
        # The root's entries are the live dishes, in the same order.
        d = self.discount[0]
        inverse = 1.0 / (self.concentration[0] + record.customers)
        entries = self.store.entries(0)
        for i in range(n_live):
            row[i] = (entries[i].customers - d) * inverse
        row[n_live] = (self.concentration[0] + d * record.tables) * inverse
        return 0

    cdef double probability(self, int32_t dish, int32_t place, double above) noexcept nogil:
        cdef Node *record = &self.store.nodes[0]
        cdef double p
        if record.customers == 0:
            return above
        if place >= 0:
            p = (self.store.entries(0) + place).customers - self.discount[0]
        else:
            p = self.concentration[0] + self.discount[0] * record.tables
        return p / (self.concentration[0] + record.customers)


cdef class AtomRoot(Root):
    """A Chinese restaurant over a base measure with atoms: several of its tables may serve one dish.

    Parameters
    ----------
    base : float64 array, shape (V + 1,)
        H of each atom and, last, of all other values.
    value : int32 array, shape (n_customers,)
        Atom of each data customer.
    """

    def __cinit__(self, base, value):
        self.base = base
        self.value = value

    cdef int check_dishes(self) except -1:
        """Nothing: the live dishes are the atoms, with customers or without."""
        return 0

    cdef int32_t given(self, int32_t customer) noexcept nogil:
        return self.value[customer]

    cdef bint opens_again(self) noexcept nogil:
        return True

    cdef bint loses_dishes(self) noexcept nogil:
        return False

    cdef int fill(self, double *row, int64_t n_live) noexcept nogil:
        cdef Node *record = &self.store.nodes[0]
        cdef Entry *entries
        cdef int64_t i
        cdef double inverse, share, d
        cdef const int32_t *position = self.slots.position.data()
        for i in range(n_live + 1):
            row[i] = self.base[i]
        if record.customers == 0:
            return 0
        d = self.discount[0]
        inverse = 1.0 / (self.concentration[0] + record.customers)
        share = (self.concentration[0] + d * record.tables) * inverse
        for i in range(n_live + 1):
            row[i] *= share
        entries = self.store.entries(0)
        for i in range(record.n_entries):
            row[position[entries[i].dish]] += (entries[i].customers - d * entries[i].tables) * inverse
        return 0

    cdef double above(self, int32_t dish) noexcept nogil:
        return self.base[dish] if dish < self.base.shape[0] else 0.0

    cdef double probability(self, int32_t dish, int32_t place, double above) noexcept nogil:
        cdef Node *record = &self.store.nodes[0]
        cdef Entry *entry
        cdef double p = above, d = self.discount[0]
        if record.customers == 0:
            return above
        p *= self.concentration[0] + d * record.tables
        if place >= 0:
            entry = self.store.entries(0) + place
            p += entry.customers - d * entry.tables
        return p / (self.concentration[0] + record.customers)


cdef class WeightTable:
    """Weights of the dishes and of all new dishes, with sum 1: beta of Teh et al. 2006, section 5.2.

    Weights below the smallest normal number are replaced by it.
    """

    def __cinit__(self):
        self.rest = 1.0

    cdef int make_room(self, int64_t n_slots) except -1:
        if <int64_t>self.weight.size() < n_slots:
            self.weight.resize(n_slots, 0.0)
        return 0

    def clear(self):
        """Remove all weights; the remainder is then 1."""
        self.weight.clear()
        self.rest = 1.0

    def copy(self):
        """A table with the same weights that belongs to no franchise."""
        cdef WeightTable made = WeightTable()
        copy_into(made.weight, self.weight)
        made.rest = self.rest
        return made

    def get(self, int32_t slot):
        """Weight of the dish in a slot; 0 if there is none."""
        return self.weight[slot] if slot < <int64_t>self.weight.size() else 0.0

    @property
    def remainder(self):
        """Weight of all new dishes."""
        return self.rest

    def many(self, slots):
        """Weights of these slots and, last, the remainder: float64, shape (n + 1,)."""
        cdef int64_t i
        cdef const int32_t[::1] which = np.ascontiguousarray(slots, dtype=np.int32)
        out = np.zeros(which.shape[0] + 1)
        cdef double[::1] view = out
        for i in range(which.shape[0]):
            if which[i] < <int64_t>self.weight.size():
                view[i] = self.weight[which[i]]
        view[which.shape[0]] = self.rest
        return out

    def put(self, slots, weights):
        """Replace all weights by those of these slots and, last, the remainder."""
        cdef int64_t i, n
        cdef const int32_t[::1] which = np.ascontiguousarray(slots, dtype=np.int32)
        cdef const double[::1] given = np.ascontiguousarray(weights, dtype=np.float64)
        n = which.shape[0]
        self.make_room(max(np.asarray(which), default=-1) + 1)
        for i in range(<int64_t>self.weight.size()):
            self.weight[i] = 0.0
        for i in range(n):
            self.weight[which[i]] = floored(given[i])
        self.rest = floored(given[n])

    def split(self, int32_t slot, double share):
        """Give a new dish this share of the remainder."""
        self.make_room(slot + 1)
        self.weight[slot] = floored(share * self.rest)
        self.rest = floored((1.0 - share) * self.rest)

    def bring_home(self, int32_t slot):
        """Add the weight of a dish that died to the remainder."""
        if slot < <int64_t>self.weight.size():
            self.rest += self.weight[slot]
            self.weight[slot] = 0.0

    def fix(self, int32_t slot, double weight, double remainder):
        """Set the weight of a slot (0: no dish) and the remainder, which may be 0."""
        self.make_room(slot + 1)
        self.weight[slot] = weight
        self.rest = remainder

    def memory_bytes(self):
        """Bytes held by the weights."""
        return self.weight.capacity() * sizeof(double)


cdef class WeightedRoot(Root):
    """Weights that are part of the state: the root's children are independent given them."""

    def __cinit__(self, WeightTable table not None, *n_dishes):
        self.table = table

    cdef int fill(self, double *row, int64_t n_live) noexcept nogil:
        cdef int64_t i
        cdef int32_t k
        for i in range(n_live):
            k = self.slots.live[i]
            row[i] = self.table.weight[k] if k < <int64_t>self.table.weight.size() else 0.0
        row[n_live] = self.table.rest
        return 0

    cdef double probability(self, int32_t dish, int32_t place, double above) noexcept nogil:
        if not self.slots.occupied(dish):
            return self.table.rest
        return self.table.weight[dish] if dish < <int64_t>self.table.weight.size() else 0.0


cdef class FixedRoot(WeightedRoot):
    """K dishes of weight 1/K each. Dishes without customers are treated as one outcome, a new dish.

    Parameters
    ----------
    table : WeightTable
        Weights of the dishes that have customers.
    n_dishes : int
        K.
    """

    def __cinit__(self, WeightTable table not None, n_dishes):
        self.n_dishes = n_dishes

    cdef double probability(self, int32_t dish, int32_t place, double above) noexcept nogil:
        # From the dishes that the root serves: within a proposal the table still has the old weights.
        if place >= 0:
            return 1.0 / self.n_dishes
        return max(self.n_dishes - self.store.nodes[0].n_entries, 0.0) / self.n_dishes
