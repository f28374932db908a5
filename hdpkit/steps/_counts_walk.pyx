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

from hdpkit.stores._counts cimport CountsStore
from hdpkit.stores._explicit cimport ExplicitStore
from hdpkit.stores._seating cimport ANONYMOUS, ENTRY_WORDS, Entry, Node, Seating
from hdpkit.stores._stirling cimport (
    Ratios, clear_ratios, cover_ratios, one_alone, one_opens, one_shares)
from hdpkit.measures._slots cimport DishSlots
from hdpkit.steps._walk cimport Root, Walk
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.vectors cimport vector

cdef int failed(int32_t dish) except -1:
    raise FloatingPointError(f"tables of dish {dish} can't be drawn")


cdef inline double sharing(Ratios *ratios, double n, double t) noexcept nogil:
    """Factor of p(z, u) for a customer with u = 0 who joins n customers at t tables, t >= 1."""
    return one_shares(ratios, <int64_t>n, <int64_t>t) * ((n - t + 1.0) / (n + 1.0))


cdef inline double opening(Ratios *ratios, double n, double t) noexcept nogil:
    """Factor of p(z, u) for a customer with u = 1 who opens a table beside n customers at t tables; t may be 0."""
    return one_opens(ratios, <int64_t>n, <int64_t>t) * ((t + 1.0) / (n + 1.0))


cdef class CountsWalk(Walk):
    """Seats customers over a store of counts whose root is a restaurant of latent dishes, or has weights."""

    cdef CountsStore counts
    cdef const int32_t[::1] declaration    # of each restaurant
    cdef vector[Ratios] ratios             # of each declaration, whose restaurants share a discount
    cdef vector[int64_t] customers         # by declaration: the most customers of a dish in the scanned restaurants
    cdef vector[int64_t] tables
    cdef int32_t seen                      # the restaurant scanned last, with its ancestors; -1 for none
    cdef int closes                        # at how many restaurants a table closes as the customer leaves

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
        cdef size_t i
        self.seen = -1
        for i in range(self.customers.size()):
            self.customers[i] = 0
            self.tables[i] = 0
        return 0

    cdef int cover(self, int32_t node) except -1 nogil:
        """Compute the ratios for all dishes of a restaurant and of its ancestors, if necessary.

        Call it before a step changes anything, between `begin` and the end of a step that changes the seating
        only by `take_out` and `bring_back`.
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

    cdef bint stays(self, int32_t node, int32_t dish, choice_source *source) except -1 nogil:
        """Draw a customer's indicators: at how many restaurants, from this one up, it represents a table.

        u = 1 with probability t / n. It stays if, at any of them, it represents the only table of a dish with several
        customers: given the others, any other dish and u = 0 then have probability 0.
        """
        cdef int64_t yes
        cdef Entry *entry
        self.cover(node)
        self.closes = 0
        while node > 0:
            entry = self.store.entries(node) + self.store.find(node, dish)
            if entry.tables < entry.customers:
                yes = source.bernoulli(source.state, entry.tables / <double>entry.customers)
                if yes < 0:
                    with gil:
                        failed(dish)
                if yes == 0:
                    return False
                if entry.tables == 1:
                    return True
            self.closes += 1
            node = self.parent[node]
        return False

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

    cdef int take_away(self, int32_t customer, int32_t node, int32_t dish, choice_source *source) except -1 nogil:
        return self.take_out(customer, node, dish, self.closes)

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

    cdef int weigh(self, int32_t node) except -1 nogil:
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

    cdef int bring_back(self, int32_t customer, int32_t node, int32_t dish, choice_source *source) except -1 nogil:
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


# ---------------------------------------------------------------------------------- several parents
# The walk through restaurants of which some have several parents: each table is a customer of one of them.
#
# P_r = [c_rk - d t_rk + (theta + d T_r) sum_a w_a P_parent(a)] / (theta + c_r), with sums over the arms a of
# restaurant r (`hdpkit.franchise.several_parents`). The readable twin is in `hdpkit.steps.counts_walk`.

cdef class GraphWalk(Walk):
    """Seats customers of restaurants with several parents over any compiled store."""

    cdef const int64_t[::1] begin
    cdef const double[::1] weights
    cdef const int64_t[::1] start
    cdef const int32_t[::1] above
    cdef object arrays               # keeps the arrays alive
    cdef ExplicitStore seats         # the store, if it has the seats of customers
    cdef int64_t most                # largest number of restaurants on a way to the root
    cdef vector[double] coefficient  # of each restaurant: what its row contributes to the one that is computed
    cdef vector[double] chance       # P of one dish in each restaurant
    cdef vector[double] base_row     # probabilities at the root
    cdef vector[double] odds         # of the arms of a restaurant
    cdef vector[int32_t] opened      # arms where a table opens

    def __cinit__(self, Seating store not None, DishSlots slots not None, parent, home, concentration, discount,
                  Root root not None, begin, weights, start, above, *declaration):
        self.arrays = (begin, weights, start, above)
        self.begin = begin
        self.weights = weights
        self.start = start
        self.above = above
        self.seats = <ExplicitStore>store if isinstance(store, ExplicitStore) else None
        self.most = int(np.diff(start).max())
        self.coefficient.assign(len(begin) - 1, 0.0)
        self.chance.assign(len(begin) - 1, 0.0)

    cdef inline int64_t n_arms(self, int32_t node) noexcept nogil:
        return self.begin[node + 1] - self.begin[node] + 1

    cdef inline int32_t arm(self, int32_t node, int64_t a) noexcept nogil:
        return node if a == 0 else <int32_t>(self.begin[node] + a - 1)

    cdef int ready_arms(self) except -1 nogil:
        """Allocate the memory that a customer of any restaurant may need to leave or enter."""
        return self.ready_for(self.most * ENTRY_WORDS * (1 + 2 * <int64_t>self.store.largest), self.most, self.most)

    cdef inline int add_up(self, int32_t node, double *customers, double *tables) noexcept nogil:
        """Customers and tables of a restaurant."""
        cdef int64_t a
        cdef Node *record
        customers[0] = 0.0
        tables[0] = 0.0
        for a in range(self.n_arms(node)):
            record = &self.store.nodes[self.arm(node, a)]
            customers[0] += record.customers
            tables[0] += record.tables
        return 0

    cdef int fill_row(self, int32_t node) except -1 nogil:
        cdef int64_t n_live = self.slots.live.size(), i, j, a
        cdef int32_t r, arm
        cdef double share, inverse, d, customers, tables, c
        cdef Entry *entries
        cdef const int32_t *position = self.slots.position.data()
        self.row.assign(n_live + 1, 0.0)
        self.base_row.assign(n_live + 1, 0.0)
        self.coefficient[node] = 1.0
        for j in range(self.start[node], self.start[node + 1] - 1):     # the root is the last
            r = self.above[j]
            c = self.coefficient[r]
            self.coefficient[r] = 0.0
            self.add_up(r, &customers, &tables)
            share = c
            if customers > 0.0:
                d = self.discount[r]
                inverse = c / (self.concentration[r] + customers)
                share = (self.concentration[r] + d * tables) * inverse
                for a in range(self.n_arms(r)):
                    arm = self.arm(r, a)
                    entries = self.store.entries(arm)
                    for i in range(self.store.nodes[arm].n_entries):
                        self.row[position[entries[i].dish]] += (entries[i].customers - d * entries[i].tables) * inverse
            for a in range(self.n_arms(r)):
                arm = self.arm(r, a)
                self.coefficient[self.parent[arm]] += share * self.weights[arm]
        c = self.coefficient[0]
        self.coefficient[0] = 0.0
        self.root.fill(self.base_row.data(), n_live)
        for i in range(n_live + 1):
            self.row[i] += c * self.base_row[i]
        return 0

    cdef int trace_dish(self, int32_t node, int32_t dish, double above) except -1 nogil:
        """P_r(dish) at the restaurant and at all above it, into `chance`; that of the first into `level`."""
        cdef int64_t j, a
        cdef int32_t r, arm, place
        cdef double p, d, customers, tables, shared
        cdef Entry *entry
        self.chance[0] = self.root.probability(dish, self.store.find(0, dish), above)
        for j in range(self.start[node + 1] - 2, self.start[node] - 1, -1):
            r = self.above[j]
            p = 0.0
            shared = 0.0
            d = self.discount[r]
            self.add_up(r, &customers, &tables)
            for a in range(self.n_arms(r)):
                arm = self.arm(r, a)
                p += self.weights[arm] * self.chance[self.parent[arm]]
                place = self.store.find(arm, dish)
                if place >= 0:
                    entry = self.store.entries(arm) + place
                    shared += entry.customers - d * entry.tables
            if customers > 0.0:
                p = (shared + (self.concentration[r] + d * tables) * p) / (self.concentration[r] + customers)
            self.chance[r] = p
        self.level.resize(1)
        self.level[0] = self.chance[node]
        return 0

    cdef int64_t choose_arm(self, int32_t node, int32_t dish, choice_source *source) except -1 nogil:
        """Draw the arm in which a customer of a dish sits: a, or the number of arms plus a at a new table."""
        cdef int64_t n = self.n_arms(node), a, chosen
        cdef int32_t arm, place
        cdef double d = self.discount[node], customers, tables, fresh
        cdef Entry *entry
        self.add_up(node, &customers, &tables)
        fresh = self.concentration[node] + d * tables
        self.odds.assign(2 * n, 0.0)
        for a in range(n):
            arm = self.arm(node, a)
            place = self.store.find(arm, dish)
            if place >= 0:
                entry = self.store.entries(arm) + place
                self.odds[a] = entry.customers - d * entry.tables
            self.odds[n + a] = 1.0 if customers == 0.0 else fresh
            self.odds[n + a] *= self.weights[arm] * self.chance[self.parent[arm]]
        chosen = source.choose(source.state, self.odds.data(), 2 * n)
        if chosen < 0:
            with gil:
                raise FloatingPointError(f"dish {dish} can't be seated in restaurant {node}")
        return chosen

    cdef int64_t choose_at_root(self, int32_t dish, choice_source *source) except -1 nogil:
        """Whether a customer of the root opens a table."""
        cdef int32_t place = self.store.find(0, dish)
        cdef Entry *entry
        cdef double share, fresh
        cdef int64_t opens
        if place < 0 or not self.root.opens_again():
            return place < 0
        entry = self.store.entries(0) + place
        share = entry.customers - self.discount[0] * entry.tables
        fresh = (self.concentration[0] + self.discount[0] * self.store.nodes[0].tables) * self.root.above(dish)
        opens = source.bernoulli(source.state, fresh / (fresh + share))
        if opens < 0:
            with gil:
                raise FloatingPointError(f"dish {dish} can't be seated in restaurant 0")
        return opens

    cdef int seat_customer(self, int32_t customer, int32_t node, int32_t dish,
                           choice_source *source) except -1 nogil:
        cdef int32_t r = node, arm = 0, as_customer = customer
        cdef int64_t chosen
        cdef size_t i
        self.ready_arms()
        self.trace_dish(node, dish, self.root.above(dish))
        self.opened.clear()
        while r >= 0:
            if r == 0:
                arm = 0
                if not self.choose_at_root(dish, source):
                    break
            else:
                chosen = self.choose_arm(r, dish, source)
                arm = self.arm(r, chosen % self.n_arms(r))
                if chosen < self.n_arms(r):
                    break
            self.opened.push_back(arm)
            r = self.parent[arm]
        for i in range(self.opened.size()):
            self.store.open_table(self.opened[i], dish, as_customer, &as_customer)
        if r >= 0:
            self.store.join_table(arm, dish, as_customer, self.discount[r], source)
        return 0

    cdef int32_t arm_of(self, int32_t customer, int32_t node, int32_t dish, choice_source *source) except -1 nogil:
        """The arm where a customer sits; drawn, if seats aren't known: all customers of a dish are alike."""
        cdef int64_t n = self.n_arms(node), a, chosen
        cdef int32_t arm, place
        if n == 1:
            return node
        if self.seats is not None:
            return self.seats.pool[self.seats.table_of(customer)].node
        self.odds.assign(n, 0.0)
        for a in range(n):
            arm = self.arm(node, a)
            place = self.store.find(arm, dish)
            if place >= 0:
                self.odds[a] = (self.store.entries(arm) + place).customers
        chosen = source.choose(source.state, self.odds.data(), n)
        if chosen < 0:
            with gil:
                raise FloatingPointError(f"no customer of dish {dish} can leave restaurant {node}")
        return self.arm(node, chosen)

    cdef int unseat_customer(self, int32_t customer, int32_t node, int32_t dish,
                             choice_source *source) except -1 nogil:
        cdef int32_t r = node, arm, as_customer = customer
        self.ready_arms()
        while r >= 0:
            arm = self.arm_of(as_customer, r, dish, source)
            if self.store.remove_customer(arm, dish, as_customer, source, &as_customer) == 0:
                return 0
            r = self.parent[arm]
        return self.root.loses_dishes()

    # ------------------------------------------------------------------ for Python

    def seat(self, int32_t customer, int32_t node, int32_t dish, ChoiceSource source not None):
        """Seat a customer (a data customer, or ~t for table t) who eats this dish."""
        self.store.check_customer(node, dish, customer, False, False)
        self.seat_customer(customer, node, dish, &source.c)

    def unseat(self, int32_t customer, int32_t node, int32_t dish, ChoiceSource source not None):
        """Remove a customer; True if the dish has lost its last one."""
        self.store.check_customer(node, dish, customer, True, False)
        return bool(self.unseat_customer(customer, node, dish, &source.c))


cdef class GraphCountsWalk(GraphWalk):
    """The same over a store of counts, under a restaurant of latent dishes (compare `CountsWalk`).

    When a customer leaves an arm, a table closes with the probability that the customer sat alone there.
    """

    cdef CountsStore counts
    cdef const int32_t[::1] declaration
    cdef vector[Ratios] ratios       # of Stirling numbers, by declaration

    def __cinit__(self, CountsStore store not None, DishSlots slots not None, parent, home, concentration, discount,
                  Root root not None, begin, weights, start, above, declaration):
        cdef size_t i
        self.tables_at_end = False
        self.counts = store
        self.arrays = (self.arrays, declaration)
        self.declaration = declaration
        self.ratios.resize(np.asarray(declaration).max() + 1)
        for i in range(self.ratios.size()):
            clear_ratios(&self.ratios[i])

    cdef int64_t closes(self, int32_t arm, int32_t dish, choice_source *source) except -1 nogil:
        """Draw whether a table closes if a customer of the dish leaves an arm."""
        cdef Entry *entry = self.store.entries(arm) + self.store.find(arm, dish)
        cdef Ratios *ratios = &self.ratios[self.declaration[arm]]
        cdef int64_t yes
        if entry.tables == entry.customers or entry.tables == 1:
            return entry.tables == entry.customers
        cover_ratios(ratios, self.discount[arm], entry.customers, entry.tables)
        yes = source.bernoulli(source.state, one_alone(ratios, entry.customers, entry.tables))
        if yes < 0:
            with gil:
                raise FloatingPointError(f"tables of dish {dish} can't be drawn")
        return yes

    cdef int unseat_customer(self, int32_t customer, int32_t node, int32_t dish,
                             choice_source *source) except -1 nogil:
        cdef int32_t r = node, arm, as_customer = customer
        cdef bint closed
        while True:
            arm = self.arm_of(as_customer, r, dish, source)
            closed = self.closes(arm, dish, source)
            self.counts.take_out(arm, dish, as_customer, closed)
            if not closed or r == 0:
                return closed and self.root.loses_dishes()
            as_customer = ANONYMOUS
            r = self.parent[arm]
