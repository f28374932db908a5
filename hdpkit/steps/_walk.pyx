# distutils: language = c++
"""The walk through the tree: predictive rows from the root down, seating from a restaurant up.

Chinese restaurant franchise of any depth (Teh et al. 2006, section 5.1; discounts as in Teh 2006). The root's
children draw from a `Root`. Each table of the root is a separate dish, unless dishes are atoms: then the root
may have several tables of a dish.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

from hdpkit.stores._seating cimport Entry, Node, Seating
from hdpkit.measures._slots cimport DishSlots
from hdpkit.errors import DataError, StateError
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.vectors cimport copy_into, vector


# ------------------------------------------------------------------------------------------------ roots
# Distributions from which the root's children draw: latent dishes, atoms, or weights in the state. A walk computes
# everything below the root from these few functions.

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
    """A Chinese restaurant over a base measure with atoms: several of its tables may serve one dish."""

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
    """K dishes of weight 1/K each. Dishes without customers are treated as one outcome, a new dish."""

    def __cinit__(self, WeightTable table not None, n_dishes):
        self.n_dishes = n_dishes

    cdef double probability(self, int32_t dish, int32_t place, double above) noexcept nogil:
        # From the dishes that the root serves: within a proposal the table still has the old weights.
        if place >= 0:
            return 1.0 / self.n_dishes
        return max(self.n_dishes - self.store.nodes[0].n_entries, 0.0) / self.n_dishes


# ------------------------------------------------------------------------------------------------- walk

cdef class Walk:
    """Seats customers of a franchise over any compiled store."""

    def __cinit__(self, Seating store not None, DishSlots slots not None, parent, home, concentration, discount,
                  Root root not None, *declaration):
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

    cdef int check_dishes(self) except -1:
        """Raise an error unless rows can be filled."""
        return self.root.check_dishes()

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
            # Over a store of counts, tables may be drawn at the end of the step (`draw_tables`).
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

    # ------------------------------------------------------------------ customers who are reseated
    # Over counts with numbers of tables (`CountsWalk`) by indicators, which are drawn first.

    cdef int begin(self) except -1:
        """Begin a sweep: the store may have changed since the last one."""
        return 0

    cdef bint stays(self, int32_t node, int32_t dish, choice_source *source) except -1 nogil:
        """Whether a customer of this dish can't leave it; nothing changes."""
        return False

    cdef int take_away(self, int32_t customer, int32_t node, int32_t dish, choice_source *source) except -1 nogil:
        """Remove a customer who doesn't stay. Returns 1 if the dish is gone."""
        return self.unseat_customer(customer, node, dish, source)

    cdef int weigh(self, int32_t node) except -1 nogil:
        """Compute the weight of every live dish and of a new one into `row`."""
        return self.fill_row(node)

    cdef int bring_back(self, int32_t customer, int32_t node, int32_t dish, choice_source *source) except -1 nogil:
        """Seat the customer with the dish that was drawn."""
        return self.seat_customer(customer, node, dish, source)

    # ------------------------------------------------------------------ for Python

    def prior_row(self, int32_t node):
        """P_node of every live dish, ascending, and of a new dish (all other atoms): float64, shape (K + 1,)."""
        cdef size_t i
        self.store.check_node(node)     # users' steps are given walks
        self.check_dishes()
        self.fill_row(node)
        out = np.empty(self.row.size())
        cdef double[::1] o = out
        for i in range(self.row.size()):
            o[i] = self.row[i]
        return out

    def probability(self, int32_t node, int32_t dish):
        """P_node of one dish, or of a new dish if the slot is not occupied."""
        self.store.check_node(node)
        self.trace_dish(node, dish, self.root.above(dish))
        return self.level[0]

    def probabilities(self, const int32_t[::1] nodes not None, const int32_t[::1] dishes not None,
                      const double[::1] above not None):
        """P_node of one dish for each node: float64, shape (n,).

        ``above`` is the probability at the root's parent: H of each dish, including atoms without customers
        (their number may be any that is not a slot); 1 if dishes are latent.
        """
        cdef int64_t i
        out = np.empty(nodes.shape[0])
        cdef double[::1] o = out
        with nogil:
            for i in range(nodes.shape[0]):
                self.trace_dish(nodes[i], dishes[i], above[i])
                o[i] = self.level[0]
        return out

    def seat(self, int32_t customer, int32_t node, int32_t dish, ChoiceSource source not None):
        """Seat a customer (a data customer, or ~t for table t) who eats this dish."""
        self.store.check_customer(node, dish, customer, False, False)
        self.ready(node)
        self.seat_customer(customer, node, dish, &source.c)

    def unseat(self, int32_t customer, int32_t node, int32_t dish, ChoiceSource source not None):
        """Remove a customer; True if the dish has lost its last one."""
        self.store.check_customer(node, dish, customer, True, True)
        self.ready(node)
        return bool(self.unseat_customer(customer, node, dish, &source.c))


# --------------------------------------------------------------------------------------------- contexts
# A restaurant for every context that occurs, looked up by parent and next symbol.

cdef int32_t ABSENT = -1


cdef inline uint64_t mixed(int32_t parent, int32_t symbol) noexcept nogil:
    """A hash of two numbers, the same in every process (the finalizer of splitmix64)."""
    cdef uint64_t x = (<uint64_t>parent << 32) ^ (<uint64_t>symbol & <uint64_t>0xFFFFFFFF)
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)


cdef class ContextTree:
    """Restaurants by number, 0 the root; a child extends its parent's context by the next symbol back.

    Contexts are numbered in the order of their first appearance, parents before children, so the numbers
    depend only on the data.
    """

    cdef readonly int64_t n_nodes
    cdef object _parent, _symbol, _level, _slots
    cdef int32_t[::1] parents, symbols, levels, slots      # views of the arrays above, with spare capacity
    cdef uint64_t mask

    def __cinit__(self):
        self.n_nodes = 1
        self._take(np.full(16, -1, np.int32), np.zeros(16, np.int32), np.zeros(16, np.int32))
        self._rehash(64)

    cdef int _take(self, parent, symbol, level) except -1:
        cdef int32_t[::1] parents = parent
        cdef int32_t[::1] symbols = symbol
        cdef int32_t[::1] levels = level     # nothing below can fail
        self._parent, self._symbol, self._level = parent, symbol, level
        self.parents = parents
        self.symbols = symbols
        self.levels = levels
        return 0

    cdef int _rehash(self, int64_t size) except -1:
        cdef int32_t node
        fresh = np.full(size, ABSENT, np.int32)
        cdef int32_t[::1] slots = fresh      # nothing below can fail
        self._slots = fresh
        self.slots = slots
        self.mask = <uint64_t>(size - 1)
        for node in range(1, <int32_t>self.n_nodes):
            self.take_slot(node)
        return 0

    def copy(self):
        """A copy of the tree."""
        cdef ContextTree other = ContextTree()
        other.n_nodes = self.n_nodes
        other._take(self._parent.copy(), self._symbol.copy(), self._level.copy())
        other._slots = self._slots.copy()
        other.slots = other._slots
        other.mask = self.mask
        return other

    cdef void take_slot(self, int32_t node) noexcept nogil:
        """Put a node that isn't in the hash table into its first free slot."""
        cdef uint64_t place = mixed(self.parents[node], self.symbols[node]) & self.mask
        while self.slots[place] != ABSENT:
            place = (place + 1) & self.mask
        self.slots[place] = node

    cdef int _reserve(self) except -1 with gil:
        """Make room for one more node."""
        cdef int64_t room = self.parents.shape[0]
        if self.n_nodes == 2**31 - 1:
            raise DataError("contexts", self.n_nodes, "fewer than 2**31 - 1", "Use a smaller order.")
        if self.n_nodes == room:
            # New arrays: references to the old ones remain valid and unchanged.
            room += room // 2
            self._take(np.resize(self._parent, room), np.resize(self._symbol, room), np.resize(self._level, room))
        if 4 * (self.n_nodes + 1) > 3 * self.slots.shape[0]:
            self._rehash(2 * self.slots.shape[0])
        return 0

    cdef int32_t look_up(self, int32_t parent, int32_t symbol) noexcept nogil:
        cdef uint64_t place = mixed(parent, symbol) & self.mask
        cdef int32_t node = self.slots[place]
        while node != ABSENT and (self.parents[node] != parent or self.symbols[node] != symbol):
            place = (place + 1) & self.mask
            node = self.slots[place]
        return node

    cdef int32_t make(self, int32_t parent, int32_t symbol) except -1 nogil:
        cdef int32_t node
        if self.n_nodes == self.parents.shape[0] or 4 * (self.n_nodes + 1) > 3 * self.slots.shape[0]:
            self._reserve()
        node = <int32_t>self.n_nodes
        self.parents[node] = parent
        self.symbols[node] = symbol
        self.levels[node] = self.levels[parent] + 1
        self.take_slot(node)
        self.n_nodes += 1
        return node

    def child(self, int32_t parent, int32_t symbol):
        """Number of the restaurant whose context is the parent's plus this symbol; -1 if there is none."""
        return self.look_up(parent, symbol)

    def insert(self, const int32_t[:, ::1] contexts not None, int32_t none):
        """Restaurants of these contexts, created if they don't exist: int32, shape (n,)."""
        cdef int64_t i, k
        cdef int32_t node, down
        homes = np.empty(contexts.shape[0], dtype=np.int32)
        cdef int32_t[::1] h = homes
        with nogil:
            for i in range(contexts.shape[0]):
                node = 0
                for k in range(contexts.shape[1]):
                    if contexts[i, k] == none:
                        break
                    down = self.look_up(node, contexts[i, k])
                    node = down if down != ABSENT else self.make(node, contexts[i, k])
                h[i] = node
        return homes

    def find(self, const int32_t[:, ::1] contexts not None, int32_t none):
        """The deepest existing restaurant for each of these contexts: int32, shape (n,). See `insert`."""
        cdef int64_t i, k
        cdef int32_t node, down
        found = np.empty(contexts.shape[0], dtype=np.int32)
        cdef int32_t[::1] f = found
        with nogil:
            for i in range(contexts.shape[0]):
                node = 0
                for k in range(contexts.shape[1]):
                    down = ABSENT if contexts[i, k] == none else self.look_up(node, contexts[i, k])
                    if down == ABSENT:
                        break
                    node = down
                f[i] = node
        return found

    def numbers_in(self, ContextTree other not None):
        """Number of each restaurant in another tree, -1 if it doesn't exist there: int32, shape (n_nodes,)."""
        cdef int64_t node
        cdef int32_t above
        numbers = np.zeros(self.n_nodes, dtype=np.int32)
        cdef int32_t[::1] to = numbers
        with nogil:
            for node in range(1, self.n_nodes):
                above = to[self.parents[node]]      # parents come first
                to[node] = ABSENT if above == ABSENT else other.look_up(above, self.symbols[node])
        return numbers

    @property
    def parent(self):
        """Parent of each restaurant, -1 for the root: int32, shape (n_nodes,)."""
        return self._parent[: self.n_nodes]

    @property
    def symbol(self):
        """Symbol by which each restaurant extends its parent's context: int32, shape (n_nodes,)."""
        return self._symbol[: self.n_nodes]

    @property
    def level(self):
        """Length of each restaurant's context: int32, shape (n_nodes,)."""
        return self._level[: self.n_nodes]

    def memory_bytes(self):
        """Bytes of the tree's arrays."""
        return self._parent.nbytes + self._symbol.nbytes + self._level.nbytes + self._slots.nbytes
