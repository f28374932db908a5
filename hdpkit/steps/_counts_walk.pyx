# distutils: language = c++
"""The walk over counts whose tables are part of the state (the readable twin: `steps.counts_walk`).

The distribution of dishes and counts is that of labelled seatings, summed over the assignments of customers
to tables: n customers of a dish at t tables of a restaurant have total weight S_d(n, t), a generalised
Stirling number. So a customer enters as in any store, since predictives depend only on counts. When a
customer leaves, a table is removed with the probability that the customer sat alone, S_d(n - 1, t - 1) /
S_d(n, t).

Table indicators u (Chen, Du & Buntine 2011) mark t of the n customers as representatives of tables. Given the
counts all choices are equally probable, p(z, u) = p(z, t) / prod C(n, t), so indicators are drawn when they
are needed. A customer with u = 1 is also a customer of the parent and has an indicator there, and so on up to
the root, where each table is a dish.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from hdpkit.stores._seating cimport ANONYMOUS, Entry, Node, Seating
from hdpkit.stores._stirling cimport (
    Ratios, clear_ratios, cover_ratios, one_alone, one_opens, one_shares)
from hdpkit.steps._root cimport Root
from hdpkit.measures._slots cimport DishSlots
from hdpkit.steps._walk cimport Walk
from hdpkit.random._source cimport choice_source


cdef int failed(int32_t dish) except -1:
    raise FloatingPointError(f"tables of dish {dish} can't be drawn")


cdef inline double sharing(Ratios *ratios, double n, double t) noexcept nogil:
    """Factor of p(z, u) for a customer with u = 0 who joins n customers at t tables, t >= 1."""
    return one_shares(ratios, <int64_t>n, <int64_t>t) * ((n - t + 1.0) / (n + 1.0))


cdef inline double opening(Ratios *ratios, double n, double t) noexcept nogil:
    """Factor of p(z, u) for a customer with u = 1 who opens a table beside n customers at t tables; t may be 0."""
    return one_opens(ratios, <int64_t>n, <int64_t>t) * ((t + 1.0) / (n + 1.0))


cdef class CountsWalk(Walk):
    """Seats customers over a store of counts whose root is a restaurant of latent dishes, or has weights.

    Parameters
    ----------
    store, slots, parent, home, concentration, discount, root
        As those of a `Walk`.
    declaration : int32 array, shape (n_nodes,)
        Number of each restaurant's declaration. Restaurants of a declaration share a discount.
    """

    def __cinit__(self, Seating store not None, DishSlots slots not None, parent, home, concentration, discount,
                  Root root not None, declaration):
        cdef size_t i
        self.tables_at_end = False
        self.counts = store
        self.declaration = declaration
        self.ratios.resize(np.asarray(self.declaration).max(initial=-1) + 1)
        for i in range(self.ratios.size()):
            clear_ratios(&self.ratios[i])
        self.customers.assign(self.ratios.size(), 0)
        self.tables.assign(self.ratios.size(), 0)
        self.seen = -1

    def memory_bytes(self):
        """Bytes of the tables of ratios."""
        cdef size_t i
        held = 0
        for i in range(self.ratios.size()):
            held += self.ratios[i].fewer.capacity() * sizeof(double)
        return held

    # ------------------------------------------------------------------ room for the ratios of a step

    cdef int begin(self) except -1:
        """Begin a step: the store may have changed since the last one."""
        cdef size_t i
        self.seen = -1
        for i in range(self.customers.size()):
            self.customers[i] = 0
            self.tables[i] = 0
        return 0

    cdef int cover(self, int32_t node) except -1 nogil:
        """Compute the ratios for all dishes of a restaurant and of its ancestors, if necessary.

        Call it before a step changes anything, between `begin` and the end of a step that changes the seating
        only by `take_out` and `seat_indicated`.
        """
        cdef int32_t r, place, which
        cdef Entry *entry
        if node != self.seen:
            r = node
            while r > 0:
                which = self.declaration[r]
                for place in range(self.store.nodes[r].n_entries):
                    entry = self.store.entries(r) + place
                    self.customers[which] = max(self.customers[which], entry.customers)
                    self.tables[which] = max(self.tables[which], entry.tables)
                r = self.parent[r]
            self.seen = node
        r = node
        while r > 0:
            which = self.declaration[r]
            cover_ratios(&self.ratios[which], self.discount[r], max(self.customers[which], 1),
                         max(self.tables[which], 1))
            r = self.parent[r]
        return 0

    # ------------------------------------------------------------------ customers who leave

    cdef int closings(self, int32_t node, int32_t dish, choice_source *source) except -2 nogil:
        """Draw at how many restaurants, from this one up, a table closes if a customer of the dish leaves.

        A customer sits alone with probability S_d(n - 1, t - 1) / S_d(n, t). Nothing changes.
        """
        cdef int closes = 0
        cdef int64_t yes
        cdef Entry *entry
        while node > 0:
            entry = self.store.entries(node) + self.store.find(node, dish)
            if entry.tables < entry.customers:
                if entry.tables == 1:
                    return closes
                yes = source.bernoulli(source.state, one_alone(&self.ratios[self.declaration[node]],
                                                               entry.customers, entry.tables))
                if yes < 0:
                    with gil:
                        failed(dish)
                if yes == 0:
                    return closes
            closes += 1
            node = self.parent[node]
        return closes

    cdef int indicators(self, int32_t node, int32_t dish, choice_source *source) except -2 nogil:
        """Draw a customer's indicators: at how many restaurants, from this one up, it represents a table.

        u = 1 with probability t / n. Returns `STAYS` if, at any of them, the customer represents the only
        table of a dish with several customers: given the others, any other dish and u = 0 then have
        probability 0.
        """
        cdef int closes = 0
        cdef int64_t yes
        cdef Entry *entry
        while node > 0:
            entry = self.store.entries(node) + self.store.find(node, dish)
            if entry.tables < entry.customers:
                yes = source.bernoulli(source.state, entry.tables / <double>entry.customers)
                if yes < 0:
                    with gil:
                        failed(dish)
                if yes == 0:
                    return closes
                if entry.tables == 1:
                    return STAYS
            closes += 1
            node = self.parent[node]
        return closes

    cdef int take_out(self, int32_t customer, int32_t node, int32_t dish, int closes) except -1 nogil:
        """Remove a customer, with a table at this many restaurants. Returns 1 if the dish is gone."""
        cdef int i
        cdef bint gone = False
        for i in range(closes + 1):
            gone = node == 0 and self.store.entries(0)[self.store.find(0, dish)].customers == 1
            self.counts.take_out(node, dish, customer, i < closes or gone)
            customer = ANONYMOUS
            node = self.parent[node]
        return gone and self.root.loses_dishes()

    cdef int unseat_customer(self, int32_t customer, int32_t node, int32_t dish,
                             choice_source *source) except -1 nogil:
        cdef int32_t r = node
        cdef Entry *entry
        while r >= 0:
            entry = self.store.entries(r) + self.store.find(r, dish)
            if r == 0:
                break
            cover_ratios(&self.ratios[self.declaration[r]], self.discount[r], entry.customers, entry.tables)
            r = self.parent[r]
        return self.take_out(customer, node, dish, self.closings(node, dish, source))

    # ------------------------------------------------------------------ customers who enter, with indicators

    cdef int fill_weights(self, int32_t node) except -1 nogil:
        """Compute into `row` the factor of p(z, u) for a customer with each live dish, and with a new dish.

        W_r(k) = [(u = 0) + (theta + d T_r) (u = 1) W_parent(k)] / (theta + c_r), from the root down; the row
        of an empty restaurant is its parent's.
        """
        cdef Node *record
        cdef Entry *entry
        cdef Ratios *ratios
        cdef int64_t n_live = self.slots.live.size(), i, at
        cdef int32_t r = node, step
        cdef double inverse, share
        cdef const int32_t *position = self.slots.position.data()
        self.path.clear()
        while r > 0:
            if self.store.nodes[r].customers > 0:
                self.path.push_back(r)
            r = self.parent[r]
        self.row.resize(n_live + 1)
        self.root.fill(self.row.data(), n_live)
        for step in range(<int32_t>self.path.size() - 1, -1, -1):
            r = self.path[step]
            record = &self.store.nodes[r]
            ratios = &self.ratios[self.declaration[r]]
            inverse = 1.0 / (self.concentration[r] + record.customers)
            share = (self.concentration[r] + self.discount[r] * record.tables) * inverse
            for i in range(n_live + 1):
                self.row[i] *= share
            for i in range(record.n_entries):
                entry = self.store.entries(r) + i
                at = position[entry.dish]
                self.row[at] = (self.row[at] * opening(ratios, entry.customers, entry.tables)
                                + sharing(ratios, entry.customers, entry.tables) * inverse)
        return 0

    cdef int seat_indicated(self, int32_t customer, int32_t node, int32_t dish, choice_source *source) except -1 nogil:
        """Seat a customer with this dish; its indicators are drawn from this restaurant up."""
        cdef int32_t step, r, place, last, which, as_customer = customer
        cdef int64_t opens
        cdef Node *record
        cdef Entry *entry
        cdef Ratios *ratios
        cdef double p, share, fresh
        self.path.clear()
        r = node
        while r >= 0:
            self.path.push_back(r)
            r = self.parent[r]
        last = <int32_t>self.path.size() - 1
        self.level.resize(last + 1)
        self.place.resize(last + 1)
        self.place[last] = self.store.find(0, dish)
        self.level[last] = p = self.root.probability(dish, self.place[last], self.root.above(dish))
        for step in range(last - 1, -1, -1):
            r = self.path[step]
            record = &self.store.nodes[r]
            self.place[step] = place = self.store.find(r, dish)
            if record.customers > 0:
                p *= self.concentration[r] + self.discount[r] * record.tables
                if place >= 0:
                    entry = self.store.entries(r) + place
                    ratios = &self.ratios[self.declaration[r]]
                    p *= opening(ratios, entry.customers, entry.tables)
                    p += sharing(ratios, entry.customers, entry.tables)
                p /= self.concentration[r] + record.customers
            self.level[step] = p
        for step in range(last + 1):
            r = self.path[step]
            place = self.place[step]
            opens = place < 0
            if place >= 0 and step < last:
                record = &self.store.nodes[r]
                entry = self.store.entries(r) + place
                ratios = &self.ratios[self.declaration[r]]
                share = sharing(ratios, entry.customers, entry.tables)
                fresh = self.concentration[r] + self.discount[r] * record.tables
                fresh *= opening(ratios, entry.customers, entry.tables) * self.level[step + 1]
                opens = source.bernoulli(source.state, fresh / (fresh + share))
                if opens < 0:
                    with gil:
                        failed(dish)
            if not opens:
                self.store.join_table(r, dish, as_customer, self.discount[r], source)
            else:
                self.store.open_table(r, dish, as_customer, &as_customer)
            if r > 0:
                which = self.declaration[r]
                entry = self.store.entries(r) + self.store.find(r, dish)
                self.customers[which] = max(self.customers[which], entry.customers)
                self.tables[which] = max(self.tables[which], entry.tables)
            if not opens:
                return 0
        return 0
