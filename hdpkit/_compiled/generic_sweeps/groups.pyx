# distutils: language = c++
"""Reseating of groups: Metropolis proposals for all data customers of a restaurant.

The readable twin, with the same distribution, is `hdpkit.franchise.reference.groups`.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport copy_into, vector

from hdpkit._compiled.stores.explicit cimport ExplicitStore
from hdpkit._compiled.measures.measure cimport CompiledBank, measure_t, pending_exception
from hdpkit._compiled.stores.seating cimport ENTRY_WORDS, Node
from hdpkit._compiled.support.arguments cimport check_length, check_range, refuse
from hdpkit._compiled.generic_sweeps.sweeps cimport check_parts
from hdpkit._compiled.generic_sweeps.weighing cimport LEAST_TOTAL, weigh_again
from hdpkit._compiled.walk.walk cimport Walk
from hdpkit._compiled.support.guarded import guarded
from hdpkit.errors import StateError
from hdpkit.numerics cimport det_exp, det_log
from hdpkit.random._source cimport ChoiceSource, choice_source


ctypedef struct Removal:
    int32_t node
    int32_t dish
    int32_t customer
    int32_t table
    bint closed


cdef int misplaced(int64_t customer) except -1:
    raise StateError("customer", customer, "seated", "Start the franchise, or seat all customers.")


cdef int fail(str what, int64_t customer) except -1:
    error = pending_exception()
    if error is not None:
        raise error
    raise FloatingPointError(f"{what} of the group of customer {customer} can't be computed or drawn from")


cdef class Group:
    """One unseated group: its previous seating and the proposal."""

    cdef Walk walk
    cdef ExplicitStore store
    cdef measure_t *measure
    cdef choice_source *source
    cdef const int32_t *customers
    cdef int64_t n
    cdef int32_t node
    cdef int32_t fresh                     # slot of a new dish, if there is one
    cdef int64_t seated                    # number of customers already reseated
    cdef vector[Removal] journal
    cdef vector[int32_t] before            # slots of the customers' previous dishes
    cdef vector[int32_t] slots             # sides: dishes of other customers, then the scratch slot of a new dish
    cdef vector[int32_t] current, launch, sides, block
    cdef vector[double] prior, weights, room
    cdef double log_p

    cdef int change(self, const int32_t *slots, const int32_t *places, bint add) except -1 nogil:
        """Add or remove every customer's value in slot places[i], or slots[places[i]] unless ``slots`` is NULL."""
        cdef int64_t i
        cdef int32_t slot
        for i in range(self.n):
            slot = places[i] if slots == NULL else slots[places[i]]
            if (self.measure.add(self.measure.self, slot, self.customers + i, 1) if add
                    else self.measure.remove(self.measure.self, slot, self.customers + i, 1)) < 0:
                with gil:
                    fail("the statistics", self.customers[0])
        return 0

    cdef int ready(self) except -1 nogil:
        """Allocate the memory that a proposal and its reversal may need."""
        cdef int64_t n_words = 0, n_levels = 0
        cdef size_t n_sides = self.walk.slots.live.size() + 2
        cdef int32_t r = self.node
        cdef Node *record
        while r >= 0:
            record = &self.store.nodes[r]
            if not self.n < record.n_entries <= record.capacity - self.n:
                # Blocks of all sizes up to this number of dishes, and again for the reversal.
                n_words += 8 * ENTRY_WORDS * (record.n_entries + self.n + 1)
            n_levels += 1
            r = self.walk.parent[r]
        self.walk.ready_for(n_words, n_levels * self.n, n_levels)
        self.journal.reserve(n_levels * self.n)
        self.before.resize(self.n)
        self.current.resize(self.n)
        self.launch.reserve(self.n)
        self.sides.reserve(self.n)
        self.block.reserve(self.n)
        self.slots.reserve(n_sides)
        self.prior.reserve(n_sides)
        self.weights.reserve(n_sides)
        self.room.reserve(n_sides + 1)
        return 0

    cdef int leave(self) except -1 nogil:
        """Unseat all customers, the last first; log_p is the sum of log P_node(dish) after each removal."""
        cdef int64_t i
        cdef int32_t r, customer
        cdef Removal entry
        self.log_p = 0.0
        for i in range(self.n - 1, -1, -1):
            customer = self.customers[i]
            entry.dish = self.before[i]
            r = self.node
            entry.closed = True
            while entry.closed and r >= 0:
                entry.node = r
                entry.customer = customer
                entry.table = self.store.table_of(customer)
                entry.closed = self.store.remove_customer(r, entry.dish, customer, self.source, &customer)
                self.journal.push_back(entry)
                r = self.walk.parent[r]
            self.walk.trace_dish(self.node, entry.dish, 1.0)
            self.log_p += det_log(self.walk.level[0])
        return 0

    cdef int come_back(self) except -1 nogil:
        """Unseat the reseated customers, and restore the previous seating."""
        cdef int64_t i
        for i in range(self.seated - 1, -1, -1):
            self.walk.unseat_customer(self.customers[i], self.node, self.slots[self.sides[i]], self.source)
        for i in range(<int64_t>self.journal.size() - 1, -1, -1):
            self.store.put_back(self.journal[i].node, self.journal[i].dish, self.journal[i].customer,
                                self.journal[i].table, self.journal[i].closed)
        self.forget()
        return 0

    cdef int forget(self) except -1 nogil:
        self.journal.clear()
        self.seated = 0
        return 0

    cdef int32_t find_sides(self, int32_t scratch) except -3 nogil:
        """Compute the slots of other customers' dishes and their weights (theta + d + c) P_node(k).

        Returns the slot of the dish that no other customer ate, -1 if there was none, -2 if there were
        several.
        """
        cdef size_t k
        cdef int64_t i
        cdef int32_t own = -1, dish
        cdef double scale = (self.walk.concentration[self.node] + self.walk.discount[self.node]
                             + self.store.nodes[self.node].customers)
        self.slots.clear()
        self.prior.clear()
        for k in range(self.walk.slots.live.size()):
            dish = self.walk.slots.live[k]
            if self.store.find(0, dish) < 0:
                if own >= 0:
                    return -2
                own = dish
                continue
            self.walk.trace_dish(self.node, dish, 1.0)
            self.slots.push_back(dish)
            self.prior.push_back(scale * self.walk.level[0])
        self.walk.trace_dish(self.node, scratch, 1.0)
        self.slots.push_back(scratch)
        self.prior.push_back(scale * self.walk.level[0])
        for i in range(self.n):
            self.current[i] = <int32_t>self.slots.size() - 1
            for k in range(self.slots.size() - 1):
                if self.slots[k] == self.before[i]:
                    self.current[i] = <int32_t>k
        return own

    cdef double scan(self, const int32_t *forced) except? -1.0 nogil:
        """A Gibbs scan from the launch state; returns the log probability of the resulting sides."""
        cdef int64_t i, k, side, n_sides = self.slots.size()
        cdef double total = 0.0, log_q = 0.0
        cdef double *w
        self.room.resize(n_sides + 1)
        w = self.room.data()
        for i in range(self.n):
            side = self.launch[i]
            if side >= 0:
                if self.measure.remove(self.measure.self, self.slots[side], self.customers + i, 1) < 0:
                    with gil:
                        fail("the statistics", self.customers[0])
                self.weights[side] -= 1.0
            side = -1
            if self.measure.predictive(self.measure.self, self.customers[i], self.slots.data(), n_sides,
                                       w) >= 0:
                total = 0.0
                for k in range(n_sides):
                    w[k] *= self.weights[k]
                    total += w[k]
                if self.weights[n_sides - 1] == 0.0 and not total >= LEAST_TOTAL:
                    total = weigh_again(self.measure, self.customers + i, 1, self.slots.data(), n_sides,
                                        self.weights.data(), w)
                if 0.0 < total < INFINITY:
                    side = self.source.choose(self.source.state, w, n_sides) if forced == NULL else forced[i]
            if side < 0 or self.measure.add(self.measure.self, self.slots[side], self.customers + i, 1) < 0:
                with gil:
                    fail("the conditional", self.customers[0])
            log_q += det_log(w[side] / total) if w[side] > 0.0 else -INFINITY
            self.weights[side] += 1.0
            self.launch[i] = <int32_t>side
        return log_q

    cdef double log_data(self) except? -1.0 nogil:
        """log p(values of the group | launch, all others); the group's values must be in no slot."""
        cdef size_t k
        cdef int64_t i
        cdef double out[2]
        cdef double total = 0.0
        for k in range(self.slots.size()):
            self.block.clear()
            for i in range(self.n):
                if self.launch[i] == <int32_t>k:
                    self.block.push_back(self.customers[i])
            if self.block.size() == 0:
                continue
            if self.measure.log_block(self.measure.self, self.block.data(), self.block.size(),
                                      self.slots.data() + k, 1, out) < 0:
                with gil:
                    fail("the likelihood", self.customers[0])
            total += out[0]
        return total

    cdef int propose(self, int32_t scratch, int64_t launches) except -1 nogil:
        """One proposal; returns 1 if it was accepted. The group's values must already be removed."""
        cdef int64_t i, taken
        cdef int32_t own, last, back
        cdef double log_q, log_ratio, log_after = 0.0
        cdef bint renewed = False
        self.leave()
        self.fresh = self.walk.slots.next_free()
        own = self.find_sides(scratch)
        if own == -2:
            # The reverse proposal can open at most one new dish.
            self.come_back()
            self.change(NULL, self.before.data(), True)
            return 0
        if own >= 0:
            self.fresh = own
        log_ratio = 0.0
        for back in range(2):
            # A separate launch state for each direction: with a common one, only proposals near it would be
            # accepted.
            copy_into(self.weights, self.prior)
            self.launch.assign(self.n, -1)
            for i in range(launches):
                self.scan(NULL)
            log_q = self.scan(self.current.data() if back else NULL)
            self.change(self.slots.data(), self.launch.data(), False)
            log_ratio += (log_q - self.log_data()) if back else (self.log_data() - log_q)
            if not back:
                copy_into(self.sides, self.launch)
        last = <int32_t>self.slots.size() - 1
        self.slots[last] = self.fresh
        for i in range(self.n):
            renewed = renewed or self.sides[i] == last
            self.walk.seat_customer(self.customers[i], self.node, self.slots[self.sides[i]], self.source)
            self.seated = i + 1
            log_after += det_log(self.walk.level[0])   # traced before the customer was seated
        log_ratio += log_after - self.log_p
        taken = 1 if log_ratio >= 0.0 else 0
        if not log_ratio < INFINITY:   # NaN too
            taken = -1
        elif not taken and log_ratio != -INFINITY:
            taken = self.source.bernoulli(self.source.state, det_exp(log_ratio))
        if taken < 0:
            with gil:
                fail("the acceptance ratio", self.customers[0])
        if not taken:
            self.come_back()
            self.change(NULL, self.before.data(), True)
            return 0
        if renewed and own < 0 and self.walk.slots.birth(&self.fresh, self.customers, self.n):
            with gil:
                error = pending_exception()
                self.walk.slots.death(self.fresh)
                if error is not None:
                    raise error
                fail("the new dish", self.customers[0])
        self.forget()
        if own >= 0 and not renewed:
            self.walk.slots.death(own)
        self.change(self.slots.data(), self.sides.data(), True)
        return 1


cdef int check_groups(Walk walk, const int32_t[::1] nodes, const int64_t[::1] begin, const int32_t[::1] customers,
                      int64_t first, int64_t last) except -1:
    """Raise an error unless groups first .. last - 1 have the data customers of their restaurants, once each."""
    cdef int64_t g, i
    check_range(first, last, nodes.shape[0])
    check_length("begin", begin.shape[0], nodes.shape[0] + 1)
    for g in range(first, last):
        if not 0 <= begin[g] < begin[g + 1] <= customers.shape[0]:
            refuse("begin", begin[g + 1], f"ascending, up to {customers.shape[0]}", "Pass what groups() returned.")
        for i in range(begin[g], begin[g + 1]):
            if (not 0 <= customers[i] < walk.home.shape[0] or walk.home[customers[i]] != nodes[g]
                    or (i > begin[g] and customers[i] <= customers[i - 1])):
                refuse("customers", customers[i], f"data customers of restaurant {nodes[g]}, ascending",
                       "Pass what groups() returned.")
    return 0


@guarded
def reseat_groups(Walk walk not None, CompiledBank bank not None, const int32_t[::1] nodes not None,
                  const int64_t[::1] begin not None, const int32_t[::1] customers not None, int64_t first,
                  int64_t last, int32_t scratch, int64_t launches, ChoiceSource source not None):
    """One proposal for each of the groups first .. last - 1; returns how many were accepted.

    Group g is customers[begin[g]:begin[g + 1]], all data customers of restaurant nodes[g]; ``scratch`` is a
    reserved slot, ``launches`` the number of scans before the final one.
    """
    cdef Group group = Group()
    cdef int64_t g, i
    cdef int64_t accepted = 0
    check_parts(walk, bank)
    check_groups(walk, nodes, begin, customers, first, last)
    bank.slot_number(scratch)
    if walk.slots.occupied(scratch):
        refuse("scratch", scratch, "a reserved slot", "See Franchise.reserved.")
    group.walk = walk
    group.store = walk.store
    group.measure = &bank.c
    group.source = &source.c
    for g in range(first, last):
        group.customers = &customers[begin[g]]
        group.n = begin[g + 1] - begin[g]
        group.node = nodes[g]
        group.forget()
        group.ready()
        for i in range(group.n):
            group.before[i] = walk.store.dish_at(group.customers[i])
            if group.before[i] < 0:
                misplaced(group.customers[i])
        group.change(NULL, group.before.data(), False)
        with nogil:
            accepted += group.propose(scratch, launches)
    return accepted
