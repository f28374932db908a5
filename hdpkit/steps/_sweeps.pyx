# distutils: language = c++
"""The generic compiled sweeps: any compiled store, any compiled measure, any depth.

Each has a readable twin with the same distribution in `hdpkit.steps`: in `sweeps` unless a section
names another.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t

from hdpkit.measures._measure cimport CompiledBank, measure_block, measure_t, pending_exception
from hdpkit.stores._explicit cimport ExplicitStore
from hdpkit.stores._seating cimport ENTRY_WORDS, Node
from hdpkit.steps._table_counts cimport draw_tables_of, restaurants_of
from hdpkit.steps._walk cimport Walk
from hdpkit._arguments cimport whole
from hdpkit.errors import StateError
from hdpkit.numerics cimport det_exp, det_log
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.vectors cimport copy_into, vector


cdef int misplaced(int64_t customer, str allowed, str remedy) except -1:
    raise StateError("customer", customer, allowed, remedy)


cdef int fail(str what, int64_t who) except -1 with gil:
    """Raise the exception that a measure or a part has left, or else a FloatingPointError."""
    error = pending_exception()
    if error is not None:
        raise error
    raise FloatingPointError(f"{what} of customer {who} can't be computed or drawn from")


# ------------------------------------------------------------------------------------ weights of dishes
# Prior times density, including the case that no new dish is possible.
#
# Measures return densities relative to the largest. If no new dish is possible, the largest may be that of
# a new dish, and all others may be too small: then they are computed again, relative to the largest of the
# others.

cdef int64_t choose_dish(Walk walk, measure_t *measure, const int32_t *block, int64_t size, int64_t n_live,
                         double *w, choice_source *source) noexcept nogil:
    """Draw the dish of a block: its place, the last for a new one, -1 if it fails; ``w`` has the densities."""
    cdef const double *row = walk.row.data()
    cdef int64_t i
    cdef double total = 0.0
    for i in range(n_live + 1):
        w[i] *= row[i]
    if row[n_live] == 0.0:      # the sum is needed only in this case and costs as much as the products
        for i in range(n_live):
            total += w[i]
        if not total >= LEAST_TOTAL:
            weigh_again(measure, block, size, walk.slots.live.data(), n_live, row, w)
    return source.choose(source.state, w, n_live + 1)


cdef inline int take_chosen(Walk walk, int64_t chosen, const int32_t *block, int64_t size,
                            int32_t *dish) except -1 nogil:
    """Set the slot of the dish with this place, perhaps a new one for a block; 1 if drawing or a birth failed."""
    if chosen < 0:
        return 1
    if chosen < <int64_t>walk.slots.live.size():
        dish[0] = walk.slots.live[chosen]
        return 0
    return walk.slots.birth(dish, block, size)


cdef double weigh_again(measure_t *measure, const int32_t *block, int64_t size, const int32_t *slots, int64_t n,
                        const double *prior, double *w) noexcept nogil:
    """Fill w, n + 1 numbers, with weights relative to the largest density of a slot; returns their sum, 0 if it fails.

    Slots with prior 0 and the new dish (last) have weight 0.
    """
    cdef int64_t k
    cdef double total = 0.0, top = -INFINITY
    cdef int status = measure.log_block(measure.self, block, size, slots, n, w)
    for k in range(n):
        if prior[k] > 0.0 and w[k] > top:
            top = w[k]
    for k in range(n):
        w[k] = prior[k] * det_exp(w[k] - top) if status >= 0 and prior[k] > 0.0 and w[k] > -INFINITY else 0.0
        total += w[k]
    w[n] = 0.0
    return total


# ------------------------------------------------------------------------------------------------ units
# The blocks that dish Gibbs and split-merge move.

cdef class Units:
    """Tables of one level (and data customers of the level above) as blocks, by their first customer.

    ``codes[u]`` is the unit as a customer of its restaurant (a data customer, or ~t for table t);
    ``customers[offsets[u]:offsets[u + 1]]`` are the data customers below it, ascending, and
    ``tables[table_offsets[u]:table_offsets[u + 1]]`` the tables from it downwards.

    Units are valid for the seating in which they were found. They remain valid after steps that move the same
    units (`resample_dish`, `move_units`), which don't change the blocks. After any other change (customers seated or
    unseated, other units moved, tables renumbered by `settle` or `thaw`) using them raises a StateError.
    """

    cdef int found_in(self, ExplicitStore store, int32_t level) except -1:
        self.serial = store.serial
        self.n_customers = store.n_customers
        self.level = level
        self.seen = store.moved()
        return 0

    cdef int kept(self, ExplicitStore store) except -1:
        """Record that only these units have moved."""
        self.seen = store.moved()
        return 0

    def renew(self, ExplicitStore store not None):
        """Record that only these units have moved."""
        self.kept(store)

    def check(self, ExplicitStore store not None):
        """Raise a StateError unless these units are valid for the current seating."""
        if self.serial != store.serial:
            raise StateError("units", "of another seating", "units of this franchise, as it is seated now",
                             "Index the units again: franchise.units(level).")
        if self.seen != store.moved():
            raise StateError("units", "out of date", "units of the current seating",
                             "Customers or tables have moved since: index the units again.")

    def __len__(self):
        return self.code.size()

    @property
    def codes(self):
        """Units as customers of their restaurants: int32, shape (n,)."""
        return _copy32(&self.code)

    @property
    def firsts(self):
        """Smallest data customer below each unit, ascending: int32, shape (n,)."""
        cdef size_t u
        out = np.empty(self.code.size(), dtype=np.int32)
        cdef int32_t[::1] o = out
        for u in range(self.code.size()):
            o[u] = self.customer[self.offset[u]]
        return out

    cdef int64_t number(self, int64_t unit) except -1:
        """A unit that a user's move names."""
        return whole("unit", unit, 0, <int64_t>self.code.size() - 1)

    def customers(self, int64_t unit):
        """Data customers below a unit, ascending: int32."""
        cdef int64_t i, u = self.number(unit)
        out = np.empty(self.offset[u + 1] - self.offset[u], dtype=np.int32)
        cdef int32_t[::1] o = out
        for i in range(o.shape[0]):
            o[i] = self.customer[self.offset[u] + i]
        return out

    def gather(self, which):
        """Data customers below several units, unit by unit: int32."""
        cdef int64_t k, i, n = 0
        cdef const int64_t[::1] asked = np.ascontiguousarray(which, dtype=np.int64)
        for k in range(asked.shape[0]):
            self.number(asked[k])
            n += self.offset[asked[k] + 1] - self.offset[asked[k]]
        out = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] o = out
        n = 0
        for k in range(asked.shape[0]):
            for i in range(self.offset[asked[k]], self.offset[asked[k] + 1]):
                o[n] = self.customer[i]
                n += 1
        return out

    def tables(self, int64_t unit):
        """Tables from a unit downwards: int32 (none for a data customer)."""
        cdef int64_t i, u = self.number(unit)
        out = np.empty(self.table_offset[u + 1] - self.table_offset[u], dtype=np.int32)
        cdef int32_t[::1] o = out
        for i in range(o.shape[0]):
            o[i] = self.table[self.table_offset[u] + i]
        return out


cdef _copy32(vector[int32_t] *values):
    cdef size_t i
    out = np.empty(values.size(), dtype=np.int32)
    cdef int32_t[::1] o = out
    for i in range(values.size()):
        o[i] = values.at(i)
    return out


def index_units(ExplicitStore store not None, const int32_t[::1] home not None,
                const int32_t[::1] parent not None, const int32_t[::1] node_level not None, int32_t level,
                bint with_customers):
    """Units of a level: the tables of its restaurants, and data customers seated one level above.

    They are in the order of their first data customers, which doesn't depend on table numbers. Units without tables
    below don't change when tables get other dishes: the same object is returned until a customer moves.
    """
    cdef Units units
    cdef vector[int32_t] unit_of_table, unit_of_customer
    cdef vector[int32_t] table_unit, tables_seen
    cdef vector[int64_t] fill
    cdef int64_t i, n = store.n_customers, start
    cdef int32_t table, unit, below, t
    cdef bint flat = True           # whether no unit has tables below it
    asked = level, with_customers
    if store.units_at != store.changes:
        store.units_found = None
    elif store.units_found is not None and asked in store.units_found:
        units = store.units_found[asked]
        units.kept(store)
        return units
    units = Units()
    unit_of_table.assign(store.pool.size(), -1)
    unit_of_customer.assign(n, -1)
    with nogil:
        for i in range(n):
            if node_level[home[i]] < level:
                if with_customers and node_level[home[i]] == level - 1 and store.of_customer[i] >= 0:
                    unit_of_customer[i] = <int32_t>units.code.size()
                    units.code.push_back(<int32_t>i)
                    units.node.push_back(home[i])
                continue
            table = store.of_customer[i]
            if table < 0:
                continue
            start = tables_seen.size()
            unit = unit_of_table[table]
            while unit < 0:
                if node_level[store.pool[table].node] < level:      # its parent is above that level
                    tables_seen.resize(start)
                    break
                tables_seen.push_back(table)
                flat = flat and node_level[store.pool[table].node] == level
                if node_level[store.pool[table].node] == level:
                    unit = <int32_t>units.code.size()
                    units.code.push_back(~table)
                    units.node.push_back(parent[store.pool[table].node])
                    break
                table = store.pool[table].seat
                unit = unit_of_table[table]
            for t in range(<int32_t>start, <int32_t>tables_seen.size()):
                unit_of_table[tables_seen[t]] = unit
            unit_of_customer[i] = unit
        # Counting sort of customers and tables by unit, stable for both.
        units.offset.assign(units.code.size() + 1, 0)
        units.table_offset.assign(units.code.size() + 1, 0)
        for i in range(n):
            if unit_of_customer[i] >= 0:
                units.offset[unit_of_customer[i] + 1] += 1
        for i in range(<int64_t>tables_seen.size()):
            units.table_offset[unit_of_table[tables_seen[i]] + 1] += 1
        for i in range(<int64_t>units.code.size()):
            units.offset[i + 1] += units.offset[i]
            units.table_offset[i + 1] += units.table_offset[i]
        units.customer.resize(units.offset[units.code.size()])
        units.table.resize(tables_seen.size())
        copy_into(fill, units.offset)
        for i in range(n):
            if unit_of_customer[i] >= 0:
                units.customer[fill[unit_of_customer[i]]] = <int32_t>i
                fill[unit_of_customer[i]] += 1
        copy_into(fill, units.table_offset)
        for i in range(<int64_t>tables_seen.size()):
            unit = unit_of_table[tables_seen[i]]
            units.table[fill[unit]] = tables_seen[i]
            fill[unit] += 1
    units.found_in(store, level)
    if flat:
        store.units_found = {**(store.units_found or {}), asked: units}
        store.units_at = store.changes
    return units


# ------------------------------------------------------------------------------------------- customers

cdef inline int ready_weights(Walk walk, vector[double] *weights) except -1 nogil:
    """Allocate weights for all dishes and a new one, even if one more is born in the step."""
    cdef size_t n = walk.slots.live.size() + 2
    if weights.capacity() < n:
        weights.reserve(n + n // 2)
    return 0


cdef int seat_drawn(Walk walk, measure_t *measure, int32_t customer, vector[double] *weights, bint again,
                    choice_source *source) except -1 nogil:
    """Draw the dish of a customer from P_home(k) f_k(x) over live dishes and a new one, and seat it, perhaps ``again``."""
    cdef int32_t node = walk.home[customer], dish = -1
    cdef int64_t n_live, chosen = -1
    if again:
        walk.weigh(node)
    else:
        walk.fill_row(node)
    n_live = walk.slots.live.size()
    weights.resize(n_live + 1)
    if measure.predictive(measure.self, customer, walk.slots.live.data(), n_live, weights.data()) >= 0:
        chosen = choose_dish(walk, measure, &customer, 1, n_live, weights.data(), source)
    if take_chosen(walk, chosen, &customer, 1, &dish):
        return fail("the conditional", customer) if again else fail("the predictive", customer)
    if again:
        walk.bring_back(customer, node, dish, source)
    else:
        walk.seat_customer(customer, node, dish, source)
    if measure.add(measure.self, dish, &customer, 1) < 0:
        fail("the addition", customer)
    return 0


cdef int reseat_one(Walk walk, measure_t *measure, int32_t customer, vector[double] *weights,
                    choice_source *source) except -1 nogil:
    """Table Gibbs for one customer: remove it, unless it can't move, draw its dish and seat it again."""
    cdef int32_t node = walk.home[customer]
    cdef int32_t dish = walk.store.dish_at(customer)
    if dish < 0:
        with gil:
            misplaced(customer, "seated", "Start the franchise, or seat the customer first.")
    walk.ready(node)
    if walk.root.given(customer) >= 0:      # the dish is observed: nothing to draw or count
        walk.unseat_customer(customer, node, dish, source)
        walk.seat_customer(customer, node, dish, source)
        return 0
    ready_weights(walk, weights)
    if walk.stays(node, dish, source):
        return 0
    if measure.remove(measure.self, dish, &customer, 1) < 0:
        fail("removal", customer)
    if walk.take_away(customer, node, dish, source):
        walk.slots.death(dish)
    return seat_drawn(walk, measure, customer, weights, True, source)


def reseat(Walk walk not None, CompiledBank bank not None, int64_t first, int64_t last,
           ChoiceSource source not None):
    """Reseat data customers first .. last - 1, one after the other."""
    cdef int64_t i
    cdef vector[double] weights
    cdef vector[int32_t] nodes       # whose tables are drawn at the end
    walk.check_dishes()
    walk.begin()
    with nogil:
        restaurants_of(walk, first, last, &nodes)
        for i in range(first, last):
            reseat_one(walk, &bank.c, <int32_t>i, &weights, &source.c)
        draw_tables_of(walk, &nodes, &source.c)


def enter(Walk walk not None, CompiledBank bank not None, int64_t first, int64_t last,
          ChoiceSource source not None):
    """Seat unseated customers first .. last - 1 in order, from the predictive given the seated ones."""
    cdef int64_t i
    cdef int32_t customer, dish
    cdef vector[double] weights
    cdef vector[int32_t] nodes       # whose tables are drawn at the end
    walk.check_dishes()
    with nogil:
        restaurants_of(walk, first, last, &nodes)
        for i in range(first, last):
            customer = <int32_t>i
            if walk.store.dish_at(customer) >= 0:
                with gil:
                    misplaced(customer, "unseated", "Unseat the customer first.")
            walk.ready(walk.home[customer])
            dish = walk.root.given(customer)
            if dish >= 0:
                walk.seat_customer(customer, walk.home[customer], dish, &source.c)
            else:
                seat_drawn(walk, &bank.c, customer, &weights, False, &source.c)
        draw_tables_of(walk, &nodes, &source.c)


def enter_given(Walk walk not None, CompiledBank bank not None, const int32_t[::1] dishes not None,
                int64_t first, int64_t last, ChoiceSource source not None):
    """Seat unseated customers first .. last - 1 in order, from the prior given their dishes."""
    cdef int64_t i
    cdef int32_t customer
    cdef vector[int32_t] nodes       # whose tables are drawn at the end
    with nogil:
        restaurants_of(walk, first, last, &nodes)
        for i in range(first, last):
            customer = <int32_t>i
            if walk.store.dish_at(customer) >= 0:
                with gil:
                    misplaced(customer, "unseated", "Unseat the customer first.")
            walk.ready(walk.home[customer])
            walk.seat_customer(customer, walk.home[customer], dishes[i], &source.c)
            if bank.c.add(bank.c.self, dishes[i], &customer, 1) < 0:
                fail("the addition", customer)
        draw_tables_of(walk, &nodes, &source.c)


def leave(Walk walk not None, CompiledBank bank not None, int64_t first, int64_t last,
          ChoiceSource source not None):
    """Unseat the seated ones of data customers first .. last - 1, and every table that closes."""
    cdef int64_t i
    cdef int32_t customer, dish
    cdef vector[int32_t] nodes       # whose tables are drawn at the end
    with nogil:
        restaurants_of(walk, first, last, &nodes)
        for i in range(first, last):
            customer = <int32_t>i
            dish = walk.store.dish_at(customer)
            if dish < 0:
                continue
            walk.ready(walk.home[customer])
            if bank.c.remove(bank.c.self, dish, &customer, 1) < 0:
                fail("removal", customer)
            if walk.unseat_customer(customer, walk.home[customer], dish, &source.c):
                walk.slots.death(dish)
        draw_tables_of(walk, &nodes, &source.c)


# ------------------------------------------------------------------------------------ sweeps over units

def unit_dishes(Walk walk not None, Units units not None):
    """Dish of each unit: int32, shape (n,)."""
    cdef size_t u
    out = np.empty(units.code.size(), dtype=np.int32)
    cdef int32_t[::1] o = out
    with nogil:
        for u in range(units.code.size()):
            o[u] = walk.store.dish_at(units.customer[units.offset[u]])
    return out


cdef int ready_unit(Walk walk, ExplicitStore store, Units units, int64_t u) except -1 nogil:
    """Allocate the memory that a unit may need to leave and enter with another dish."""
    cdef int64_t i, n_words = 0, n_levels = 0
    cdef int32_t node = units.node[u]
    for i in range(units.table_offset[u], units.table_offset[u + 1]):
        n_words += store.words_for(store.pool[units.table[i]].node)
    while node >= 0:
        n_words += store.words_for(node)
        n_levels += 1
        node = walk.parent[node]
    return walk.ready_for(n_words, n_levels + units.table_offset[u + 1] - units.table_offset[u], n_levels)


cdef int resample_dish_one(Walk walk, ExplicitStore store, measure_t *measure, Units units, int64_t u,
                    vector[double] *weights, choice_source *source) except -1 nogil:
    """Dish Gibbs for one table: remove it from its parent, draw from P_r(k) DM(n_k+c)/DM(n_k), seat it again."""
    cdef const int32_t *block = units.customer.data() + units.offset[u]
    cdef int64_t size = units.offset[u + 1] - units.offset[u]
    cdef int32_t code = units.code[u]
    cdef int32_t node = units.node[u]
    cdef int32_t dish = store.dish_at(block[0])
    cdef int64_t n_live, chosen = -1
    cdef double *w
    ready_unit(walk, store, units, u)
    ready_weights(walk, weights)
    if walk.root.given(block[0]) >= 0:
        walk.unseat_customer(code, node, dish, source)
        walk.seat_customer(code, node, dish, source)
        return 0
    if measure.remove(measure.self, dish, block, size) < 0:
        fail("removal", block[0])
    if walk.unseat_customer(code, node, dish, source):
        walk.slots.death(dish)
    walk.fill_row(node)
    n_live = walk.slots.live.size()
    weights.resize(n_live + 1)
    w = weights.data()
    if measure_block(measure, block, size, walk.slots.live.data(), n_live, w) >= 0:
        chosen = choose_dish(walk, measure, block, size, n_live, w, source)
    if take_chosen(walk, chosen, block, size, &dish):
        return fail("the conditional of the table", block[0])
    serve_below(store, units, u, dish)
    walk.seat_customer(code, node, dish, source)
    if measure.add(measure.self, dish, block, size) < 0:
        fail("the addition", block[0])
    return 0


cdef int serve_below(ExplicitStore store, Units units, int64_t u, int32_t dish) except -1 nogil:
    cdef int64_t i
    for i in range(units.table_offset[u], units.table_offset[u + 1]):
        if store.pool[units.table[i]].dish != dish:
            store.serve(units.table[i], dish)
    return 0


def resample_dish(Walk walk not None, CompiledBank bank not None, Units units not None, int64_t first, int64_t last,
           ChoiceSource source not None):
    """Draw the dish of units first .. last - 1 (tables of one level) one after the other."""
    cdef int64_t u
    cdef vector[double] weights
    cdef ExplicitStore store = walk.store
    walk.check_dishes()
    with nogil:
        for u in range(first, last):
            resample_dish_one(walk, store, &bank.c, units, u, &weights, &source.c)
    units.kept(store)


def scan_units(Walk walk not None, CompiledBank bank not None, Units units not None,
               const int64_t[::1] order not None, int8_t[::1] sides not None, int64_t[::1] sizes not None,
               int32_t slot_a, int32_t slot_b, forced, ChoiceSource source not None, double log_q=0.0):
    """A restricted Gibbs scan of units over two dishes; returns the log probability of the result.

    The log probability is added to ``log_q``, so a scan in several calls gives the same bits as one call.
    ``sides[u]`` is 0 or 1, or -1 if the unit has no side yet (sequential allocation); ``sizes`` are the
    numbers of units on each side. With ``forced`` (sides by unit) nothing is drawn. Weights are (size - d0)
    DM(n + c)/DM(n).
    """
    cdef int64_t i, u, size
    cdef const int32_t *block
    cdef int32_t slots[2]
    cdef double logs[3]
    cdef double weights[2]
    cdef double top = 0.0, d = walk.discount[0]
    cdef int64_t side
    cdef bint is_forced = forced is not None
    cdef const int8_t[::1] target
    cdef measure_t *measure = &bank.c
    walk.check_dishes()
    if is_forced:
        target = forced
    slots[0] = slot_a
    slots[1] = slot_b
    with nogil:
        for i in range(order.shape[0]):
            u = order[i]
            block = units.customer.data() + units.offset[u]
            size = units.offset[u + 1] - units.offset[u]
            if sides[u] >= 0:
                if measure.remove(measure.self, slots[sides[u]], block, size) < 0:
                    fail("removal", block[0])
                sizes[sides[u]] -= 1
            side = -1
            if measure.log_block(measure.self, block, size, slots, 2, logs) >= 0:
                for side in range(2):
                    logs[side] += det_log(sizes[side] - d)
                top = logs[0] if logs[0] > logs[1] else logs[1]
                weights[0] = det_exp(logs[0] - top)
                weights[1] = det_exp(logs[1] - top)
                if is_forced:
                    side = target[u]
                else:
                    side = source.c.choose(source.c.state, weights, 2)
            if side < 0:
                fail("the restricted conditional", block[0])
            log_q += (logs[side] - top) - det_log(weights[0] + weights[1])
            if measure.add(measure.self, slots[side], block, size) < 0:
                fail("the addition", block[0])
            sizes[side] += 1
            sides[u] = <int8_t>side
    return log_q


def add_units(CompiledBank bank not None, Units units not None, const int64_t[::1] which not None,
              int32_t slot):
    """Add the values below these units to a slot."""
    cdef int64_t i, u
    for i in range(which.shape[0]):
        u = which[i]
        bank.check(bank.c.add(bank.c.self, slot, units.customer.data() + units.offset[u],
                               units.offset[u + 1] - units.offset[u]))


def log_units(CompiledBank bank not None, Units units not None, const int64_t[::1] which not None,
              const int32_t[::1] slots not None):
    """Log predictives of the values below these units, each alone: shape (n, slots + 1), nats.

    The last column is a new dish.
    """
    cdef int64_t i, u, n = slots.shape[0]
    cdef const int32_t *block
    cdef const int32_t *first = &slots[0] if n else NULL
    cdef measure_t *measure = &bank.c
    out = np.empty((which.shape[0], n + 1))
    cdef double[:, ::1] o = out
    with nogil:
        for i in range(which.shape[0]):
            u = which[i]
            block = units.customer.data() + units.offset[u]
            if measure.log_block(measure.self, block, units.offset[u + 1] - units.offset[u], first, n, &o[i, 0]) < 0:
                fail("the predictive", block[0])
    return out


def move_units(Walk walk not None, CompiledBank bank not None, Units units not None,
               const int64_t[::1] which not None, int32_t dish, ChoiceSource source not None):
    """Change the dish of these customers of the root and of all customers below them. Nothing is drawn.

    ``dish`` may be the slot of a new dish without customers.
    """
    cdef int64_t i, j, u, size
    cdef int32_t old, code, as_customer
    cdef ExplicitStore store = walk.store
    cdef measure_t *measure = &bank.c
    cdef const int32_t *block
    for i in range(which.shape[0]):
        u = which[i]
        code = units.code[u]
        block = units.customer.data() + units.offset[u]
        size = units.offset[u + 1] - units.offset[u]
        old = store.dish_at(block[0])
        if old == dish and store.pool[store.table_of(code)].size == 1:
            continue         # the dish has no other customers and would die in between
        ready_unit(walk, store, units, u)
        bank.check(measure.remove(measure.self, old, block, size))
        if store.remove_customer(0, old, code, &source.c, &as_customer):
            walk.slots.death(old)
        for j in range(units.table_offset[u], units.table_offset[u + 1]):
            store.serve(units.table[j], dish)
        if store.find(0, dish) < 0:
            store.open_table(0, dish, code, &as_customer)
        else:
            store.join_table(0, dish, code, 0.0, &source.c)
        bank.check(measure.add(measure.self, dish, block, size))
    units.kept(store)


# ----------------------------------------------------------------------------------------------- groups
# Metropolis proposals for all data customers of a restaurant (the readable twin: `groups`).

ctypedef struct Removal:
    int32_t node
    int32_t dish
    int32_t customer
    int32_t table
    bint closed


cdef int fail_group(str what, int64_t customer) except -1:
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
                    fail_group("the statistics", self.customers[0])
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
        cdef int32_t r, leaving
        cdef Removal entry
        self.log_p = 0.0
        for i in range(self.n - 1, -1, -1):
            leaving = self.customers[i]
            entry.dish = self.before[i]
            r = self.node
            entry.closed = True
            while entry.closed and r >= 0:
                entry.node = r
                entry.customer = leaving
                entry.table = self.store.table_of(leaving)
                entry.closed = self.store.remove_customer(r, entry.dish, leaving, self.source, &leaving)
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
                        fail_group("the statistics", self.customers[0])
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
                    fail_group("the conditional", self.customers[0])
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
                    fail_group("the likelihood", self.customers[0])
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
                fail_group("the acceptance ratio", self.customers[0])
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
                fail_group("the new dish", self.customers[0])
        self.forget()
        if own >= 0 and not renewed:
            self.walk.slots.death(own)
        self.change(self.slots.data(), self.sides.data(), True)
        return 1


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
    walk.check_dishes()
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
                misplaced(group.customers[i], "seated", "Start the franchise, or seat all customers.")
        group.change(NULL, group.before.data(), False)
        with nogil:
            accepted += group.propose(scratch, launches)
    return accepted
