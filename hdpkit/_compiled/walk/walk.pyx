# distutils: language = c++
"""The walk through the tree: predictive rows from the root down, seating from a restaurant up.

Chinese restaurant franchise of any depth (Teh et al. 2006, section 5.1; discounts as in Teh 2006). The root's
children draw from a `Root`. Each table of the root is a separate dish, unless dishes are atoms: then the root
may have several tables of a dish.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.support.arguments cimport check_length, check_numbers32, refuse, whole32
from hdpkit._compiled.stores.seating cimport Entry, Node, Seating
from hdpkit._compiled.walk.root cimport Root
from hdpkit._compiled.walk.slots cimport DishSlots
from hdpkit.errors import BusyError, StateError
from hdpkit.random._source cimport ChoiceSource, choice_source


cdef class Walk(Guarded):
    """Seats customers of a franchise over any compiled store.

    Parameters
    ----------
    store : Seating
    slots : DishSlots
    parent : int32 array, shape (n_nodes,)
        Parent of each restaurant, -1 for the root, which is number 0.
    home : int32 array, shape (n_customers,)
        Restaurant of each data customer.
    concentration, discount : float64 arrays, shape (n_nodes,)
        Shared with the owner, which may change them between calls.
    root : Root
        The distribution from which the root's children draw. It must not be used by another walk.
    """

    def __cinit__(self, Seating store not None, DishSlots slots not None, parent, home, concentration, discount,
                  Root root not None, *declaration):
        if type(slots) is not DishSlots:
            refuse("slots", slots, "DishSlots itself", "Compiled code ignores methods that a subclass overrides.")
        self.lock = store.lock
        self.store = store
        self.tables_at_end = store.tables_at_end
        self.slots = slots
        self.topology = (parent, home, concentration, discount)
        root.bind(store, slots, concentration, discount)
        self.root = root
        self.base = root.base
        self.value = root.value
        self.parent = parent
        self.home = home
        self.concentration = concentration
        self.discount = discount
        self.check_tree()

    cdef int check_tree(self) except -1:
        """Raise an error unless the arrays describe a tree of the store's restaurants, parents first."""
        cdef int64_t r, n = <int64_t>self.store.nodes.size()
        if n == 0:
            refuse("store", self.store, "a store with restaurants", "Restaurant 0 is the root.")
        check_length("parent", self.parent.shape[0], n)
        check_length("concentration", self.concentration.shape[0], n)
        check_length("discount", self.discount.shape[0], n)
        check_numbers32("home", self.home, 0, n - 1)
        for r in range(n):
            if not -1 <= self.parent[r] < r or (self.parent[r] < 0) != (r == 0):
                refuse("parent", self.parent[r], "-1 for restaurant 0, a smaller number for any other",
                       "Parents come first.")
        return self.root.check_customers(self.home.shape[0])

    # ------------------------------------------------------------------ checks of arguments

    cdef int face(self) except -1:
        """Begin a call from Python; raises an error while compiled code is changing the seating."""
        self.standing()
        if self.store.busy:
            raise BusyError("walk", "inside a verb", "used by one verb at a time",
                            "A method that a verb calls can't read the franchise.")
        return 0

    cdef int standing(self) except -1:
        """Raise an error unless the walk fits the current restaurants."""
        if self.store is None:
            raise StateError("walk", "empty", "one that was made with arguments", "See Franchise.walk.")
        if self.parent.shape[0] != <int64_t>self.store.nodes.size():
            raise StateError("walk", "out of date", "one over the current restaurants", "Call franchise.walk() again.")
        return 0

    cdef int check_dishes(self) except -1:
        """Raise an error unless rows can be filled."""
        self.standing()
        return self.root.check_dishes()

    cdef int fit(self, object node, object customer, object dish) except -1:
        """Raise an error unless the restaurant may have this customer (~t for table t) and the dish exists."""
        cdef int32_t r = self.store.node_number(node), who = self.store.customer_number(customer)
        cdef int32_t k = whole32("dish", dish, 0, 2**31 - 2)
        if who >= 0 and (who >= self.home.shape[0] or self.home[who] != r):
            refuse("customer", customer, f"a data customer of restaurant {r}", "See topology.home.")
        if not self.slots.occupied(k):
            raise StateError("dish", dish, "an occupied slot", "See open_dish().")
        return 0

    cdef int fill_row(self, int32_t node) except -1 nogil:
        """P_node(dish) of every live dish, ascending, and of a new one (of all other atoms), into `row`."""
        cdef Node *record
        cdef Entry *entries
        cdef int64_t n_live = self.slots.live.size(), i
        cdef int32_t r = node, step
        cdef double inverse, share, d
        cdef const int32_t *position = self.slots.position.data()
        self.path.clear()
        while r > 0:
            if self.store.nodes[r].customers > 0:   # the row of an empty restaurant is its parent's
                self.path.push_back(r)
            r = self.parent[r]
        self.row.resize(n_live + 1)
        self.root.fill(self.row.data(), n_live)
        for step in range(<int32_t>self.path.size() - 1, -1, -1):
            r = self.path[step]
            record = &self.store.nodes[r]
            d = self.discount[r]
            inverse = 1.0 / (self.concentration[r] + record.customers)
            share = (self.concentration[r] + d * record.tables) * inverse
            for i in range(n_live + 1):
                self.row[i] *= share
            entries = self.store.entries(r)
            for i in range(record.n_entries):
                self.row[position[entries[i].dish]] += (entries[i].customers - d * entries[i].tables) * inverse
        return 0

    cdef int trace_dish(self, int32_t node, int32_t dish, double above) except -1 nogil:
        """P_r(dish) at every restaurant r from node (first) to root, into `path`, `level` and `place`.

        The last entry of `level` is ``above``, the probability at the root's parent. A latent ``dish`` may be
        occupied or new; a new one has the probability of all new dishes.
        """
        cdef int32_t r = node, step, place, last
        cdef Node *record
        cdef Entry *entry
        cdef double p, theta, d
        self.path.clear()
        while r >= 0:
            self.path.push_back(r)
            r = self.parent[r]
        last = <int32_t>self.path.size() - 1
        self.level.resize(last + 2)
        self.place.resize(last + 1)
        self.level[last + 1] = above
        place = self.store.find(0, dish)
        p = self.root.probability(dish, place, above)
        self.place[last] = place
        self.level[last] = p
        for step in range(last - 1, -1, -1):
            r = self.path[step]
            record = &self.store.nodes[r]
            place = -1
            if record.customers > 0:
                theta = self.concentration[r]
                d = self.discount[r]
                place = self.store.find(r, dish)
                p *= theta + d * record.tables
                if place >= 0:
                    entry = self.store.entries(r) + place
                    p += entry.customers - d * entry.tables
                p /= theta + record.customers
            self.place[step] = place
            self.level[step] = p
        return 0

    cdef int seat_customer(self, int32_t customer, int32_t node, int32_t dish,
                           choice_source *source) except -1 nogil:
        """Seat a customer who eats this dish, and every table that opens on the way to the root."""
        cdef int32_t step, r, place, as_customer = customer
        cdef int32_t last
        cdef int64_t opens
        cdef Node *record
        cdef Entry *entry
        cdef double share, fresh
        self.trace_dish(node, dish, self.root.above(dish))
        last = <int32_t>self.path.size() - 1
        for step in range(last + 1):
            r = self.path[step]
            place = self.place[step]
            opens = place < 0
            # Over a store of counts, tables may be drawn at the end of the verb (`draw_tables`).
            if place >= 0 and (step < last or self.root.opens_again()) and not self.tables_at_end:
                record = &self.store.nodes[r]
                entry = self.store.entries(r) + place
                share = entry.customers - self.discount[r] * entry.tables
                fresh = (self.concentration[r] + self.discount[r] * record.tables) * self.level[step + 1]
                opens = source.bernoulli(source.state, fresh / (fresh + share))
                if opens < 0:
                    with gil:
                        raise FloatingPointError(f"dish {dish} can't be seated in restaurant {r}")
            if not opens:
                self.store.join_table(r, dish, as_customer, self.discount[r], source)
                return 0
            self.store.open_table(r, dish, as_customer, &as_customer)
        return 0

    cdef int unseat_customer(self, int32_t customer, int32_t node, int32_t dish,
                             choice_source *source) except -1 nogil:
        """Remove a customer, and every table that closes. Returns 1 if the dish is gone, 0 otherwise.

        The slot of a dish that is gone remains occupied; the caller closes it.
        """
        cdef int32_t r = node, as_customer = customer
        while r >= 0:
            if self.store.remove_customer(r, dish, as_customer, source, &as_customer) == 0:
                return 0
            r = self.parent[r]
        return self.root.loses_dishes()

    # ------------------------------------------------------------------ for Python

    def prior_row(self, node):
        """P_node of every live dish, ascending, and of a new dish (all other atoms): float64, shape (K + 1,)."""
        cdef size_t i
        self.face()
        self.check_dishes()
        self.fill_row(self.store.node_number(node))
        out = np.empty(self.row.size())
        cdef double[::1] o = out
        for i in range(self.row.size()):
            o[i] = self.row[i]
        return out

    def probability(self, node, dish):
        """P_node of one dish, or of a new dish if the slot is not occupied."""
        self.face()
        cdef int32_t k = whole32("dish", dish, 0, 2**31 - 1)
        self.trace_dish(self.store.node_number(node), k, self.root.above(k))
        return self.level[0]

    def probabilities(self, const int32_t[::1] nodes not None, const int32_t[::1] dishes not None,
                      const double[::1] above not None):
        """P_node of one dish for each node: float64, shape (n,).

        ``above`` is the probability at the root's parent: H of each dish, including atoms without customers
        (their number may be any that is not a slot); 1 if dishes are latent.
        """
        cdef int64_t i
        self.face()
        check_length("dishes", dishes.shape[0], nodes.shape[0])
        check_length("above", above.shape[0], nodes.shape[0])
        check_numbers32("nodes", nodes, 0, <int64_t>self.store.nodes.size() - 1)
        out = np.empty(nodes.shape[0])
        cdef double[::1] o = out
        with nogil:
            for i in range(nodes.shape[0]):
                self.trace_dish(nodes[i], dishes[i], above[i])
                o[i] = self.level[0]
        return out

    def seat(self, customer, node, dish, ChoiceSource source not None):
        """Seat a customer (a data customer, or ~t for table t) who eats this dish."""
        self.face()
        self.fit(node, customer, dish)
        self.store.may_sit(node, dish, customer)
        self.ready(node)
        self.seat_customer(customer, node, dish, &source.c)

    def unseat(self, customer, node, dish, ChoiceSource source not None):
        """Remove a customer; True if the dish has lost its last one."""
        self.face()
        self.fit(node, customer, dish)
        if self.store.find(node, dish) < 0:
            raise StateError("dish", dish, f"one that restaurant {node} serves", "See store.dish_of(customer).")
        self.store.may_leave(node, dish, customer)
        self.ready(node)
        return bool(self.unseat_customer(customer, node, dish, &source.c))
