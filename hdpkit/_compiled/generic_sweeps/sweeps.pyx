# distutils: language = c++
"""The generic compiled sweeps: any compiled store, any compiled measure, any depth.

Each has a readable twin with the same distribution in `hdpkit.franchise.reference.sweeps`.
"""

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.support.arguments cimport check_length, check_numbers64, check_range, refuse
from hdpkit._compiled.stores.explicit cimport ExplicitStore
from hdpkit._compiled.measures.measure cimport (
    CompiledBank, measure_block, measure_t, pending_exception)
from hdpkit.numerics cimport det_exp, det_log
from hdpkit._compiled.generic_sweeps.units cimport Units
from hdpkit._compiled.generic_sweeps.weighing cimport choose_dish
from hdpkit._compiled.walk.table_counts cimport draw_tables_of, restaurants_of
from hdpkit._compiled.walk.walk cimport Walk
from hdpkit._compiled.support.guarded import guarded
from hdpkit.errors import StateError
from hdpkit.random._source cimport ChoiceSource, choice_source


cdef int misplaced(int64_t customer, str allowed, str remedy) except -1:
    raise StateError("customer", customer, allowed, remedy)


cdef int fail(str what, int64_t who) except -1 with gil:
    """Raise the exception that a measure or a part has left, or else a FloatingPointError."""
    error = pending_exception()
    if error is not None:
        raise error
    raise FloatingPointError(f"{what} of customer {who} can't be computed or drawn from")


# ------------------------------------------------------------------------- checks of arguments, once per call

cdef int check_parts(Walk walk, CompiledBank bank) except -1:
    """Raise an error unless a walk and a bank belong together and rows can be filled."""
    walk.check_dishes()
    # The bank may have further values, those of known components.
    if bank.n_customers < walk.home.shape[0] or walk.store.n_customers != walk.home.shape[0]:
        refuse("bank", f"of {bank.n_customers} customers", f"one of {walk.home.shape[0]} customers, as the walk and "
               "its store", "Use the bank and the walk of one franchise.")
    return check_bank(walk, bank)


cdef int check_bank(Walk walk, CompiledBank bank) except -1:
    """Raise an error unless this bank is the one notified of births and deaths."""
    bank.ready()
    if walk.slots.bank is not bank:
        refuse("bank", "of another franchise", "that of the walk's franchise", "Use both of one franchise.")
    return 0


cdef int check_customers(Walk walk, CompiledBank bank, int64_t first, int64_t last) except -1:
    check_parts(walk, bank)
    return check_range(first, last, walk.home.shape[0])


cdef int check_units(Walk walk, CompiledBank bank, Units units, int64_t first, int64_t last) except -1:
    check_parts(walk, bank)
    units.belong(walk.store)
    return check_range(first, last, units.code.size())


cdef int check_scan(Walk walk, CompiledBank bank, Units units, const int64_t[::1] order, const int8_t[::1] sides,
                    const int64_t[::1] sizes, int32_t slot_a, int32_t slot_b, object forced) except -1:
    cdef int64_t i, n = units.code.size()
    cdef const int8_t[::1] target
    cdef int64_t visited[2]
    visited[0] = visited[1] = 0
    check_units(walk, bank, units, 0, 0)
    bank.slot_number(slot_a)
    bank.slot_number(slot_b)
    if slot_a == slot_b or walk.slots.occupied(slot_a) or walk.slots.occupied(slot_b):
        refuse("slots", (slot_a, slot_b), "two reserved slots", "Work inside `with franchise.reserved(2) as slots:`.")
    check_numbers64("order", order, 0, n - 1)
    check_length("sides", sides.shape[0], n)
    check_length("sizes", sizes.shape[0], 2)
    check_numbers64("sizes", sizes, 0, n)
    if forced is not None:
        target = forced
        check_length("forced", target.shape[0], n)
        for i in range(order.shape[0]):
            if not 0 <= target[order[i]] <= 1:
                refuse("forced", target[order[i]], "0 or 1 where a unit is visited", "Give the side of each unit.")
    for i in range(order.shape[0]):
        if not -1 <= sides[order[i]] <= 1:
            refuse("sides", sides[order[i]], "0, 1 or -1", "Give the side of each unit, -1 for none yet.")
        if sides[order[i]] >= 0:
            visited[sides[order[i]]] += 1
    if visited[0] > sizes[0] or visited[1] > sizes[1]:
        refuse("sizes", (sizes[0], sizes[1]), "the number of units on each side, including those to be visited",
               "Count them: np.count_nonzero(sides == 0).")
    return 0


# ------------------------------------------------------------------------------------------- customers

cdef inline int ready_weights(Walk walk, vector[double] *weights) except -1 nogil:
    """Allocate weights for all dishes and a new one, even if one more is born in the step."""
    cdef size_t n = walk.slots.live.size() + 2
    if weights.capacity() < n:
        weights.reserve(n + n // 2)
    return 0


cdef int reseat_one(Walk walk, measure_t *measure, int32_t customer, vector[double] *weights,
                    choice_source *source) except -1 nogil:
    """Table Gibbs for one customer: remove it, draw from P_home(k) f_k(x) over live dishes and a new one, seat it."""
    cdef int32_t node = walk.home[customer]
    cdef int32_t dish = walk.store.dish_at(customer)
    cdef int64_t n_live, chosen = -1
    cdef double *w
    if dish < 0:
        with gil:
            misplaced(customer, "seated", "Start the franchise, or seat the customer first.")
    walk.ready(node)
    if walk.root.given(customer) >= 0:      # the dish is observed: nothing to draw or count
        walk.unseat_customer(customer, node, dish, source)
        walk.seat_customer(customer, node, dish, source)
        return 0
    ready_weights(walk, weights)
    if measure.remove(measure.self, dish, &customer, 1) < 0:
        fail("removal", customer)
    if walk.unseat_customer(customer, node, dish, source):
        walk.slots.death(dish)
    walk.fill_row(node)
    n_live = walk.slots.live.size()
    weights.resize(n_live + 1)
    w = weights.data()
    if measure.predictive(measure.self, customer, walk.slots.live.data(), n_live, w) >= 0:
        chosen = choose_dish(walk, measure, &customer, 1, n_live, w, source)
    if chosen < 0:
        return fail("the conditional", customer)
    if chosen < n_live:
        dish = walk.slots.live[chosen]
    elif walk.slots.birth(&dish, &customer, 1):
        return fail("the conditional", customer)
    walk.seat_customer(customer, node, dish, source)
    if measure.add(measure.self, dish, &customer, 1) < 0:
        fail("the addition", customer)
    return 0


@guarded
def reseat(Walk walk not None, CompiledBank bank not None, int64_t first, int64_t last,
           ChoiceSource source not None):
    """Reseat data customers first .. last - 1, one after the other."""
    cdef int64_t i
    cdef vector[double] weights
    cdef vector[int32_t] nodes       # whose tables are drawn at the end
    check_customers(walk, bank, first, last)
    with nogil:
        restaurants_of(walk, first, last, &nodes)
        for i in range(first, last):
            reseat_one(walk, &bank.c, <int32_t>i, &weights, &source.c)
        draw_tables_of(walk, &nodes, &source.c)


@guarded
def enter(Walk walk not None, CompiledBank bank not None, int64_t first, int64_t last,
          ChoiceSource source not None):
    """Seat unseated customers first .. last - 1 in order, from the predictive given the seated ones."""
    cdef int64_t i, n_live, chosen
    cdef int32_t customer, dish
    cdef vector[double] weights
    cdef vector[int32_t] nodes       # whose tables are drawn at the end
    cdef measure_t *measure = &bank.c
    check_customers(walk, bank, first, last)
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
                continue
            walk.fill_row(walk.home[customer])
            n_live = walk.slots.live.size()
            weights.resize(n_live + 1)
            chosen = -1
            if measure.predictive(measure.self, customer, walk.slots.live.data(), n_live, weights.data()) >= 0:
                chosen = choose_dish(walk, measure, &customer, 1, n_live, weights.data(), &source.c)
            if chosen < 0:
                fail("the predictive", customer)
            if chosen < n_live:
                dish = walk.slots.live[chosen]
            elif walk.slots.birth(&dish, &customer, 1):
                fail("the predictive", customer)
            walk.seat_customer(customer, walk.home[customer], dish, &source.c)
            if measure.add(measure.self, dish, &customer, 1) < 0:
                fail("the addition", customer)
        draw_tables_of(walk, &nodes, &source.c)


@guarded
def enter_given(Walk walk not None, CompiledBank bank not None, const int32_t[::1] dishes not None,
                int64_t first, int64_t last, ChoiceSource source not None):
    """Seat unseated customers first .. last - 1 in order, from the prior given their dishes."""
    cdef int64_t i
    cdef int32_t customer
    cdef vector[int32_t] nodes       # whose tables are drawn at the end
    walk.standing()
    check_bank(walk, bank)
    check_range(first, last, min(walk.home.shape[0], bank.n_customers, walk.store.n_customers))
    check_length("dishes", dishes.shape[0], walk.home.shape[0])
    for i in range(first, last):
        if not walk.slots.occupied(dishes[i]):
            refuse("dishes", dishes[i], "occupied slots", "See open_dish().")
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


@guarded
def leave(Walk walk not None, CompiledBank bank not None, int64_t first, int64_t last,
          ChoiceSource source not None):
    """Unseat the seated ones of data customers first .. last - 1, and every table that closes."""
    cdef int64_t i
    cdef int32_t customer, dish
    cdef vector[int32_t] nodes       # whose tables are drawn at the end
    walk.standing()
    check_bank(walk, bank)
    check_range(first, last, min(walk.home.shape[0], bank.n_customers, walk.store.n_customers))
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


# ------------------------------------------------------------------------------------------- units

@guarded
def unit_dishes(Walk walk not None, Units units not None):
    """Dish of each unit: int32, shape (n,)."""
    cdef size_t u
    walk.standing()
    units.belong(walk.store)
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
    if chosen < 0:
        return fail("the conditional of the table", block[0])
    if chosen < n_live:
        dish = walk.slots.live[chosen]
    elif walk.slots.birth(&dish, block, size):
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


@guarded
def resample_dish(Walk walk not None, CompiledBank bank not None, Units units not None, int64_t first, int64_t last,
           ChoiceSource source not None):
    """Draw the dish of units first .. last - 1 (tables of one level) one after the other."""
    cdef int64_t u
    cdef vector[double] weights
    cdef ExplicitStore store = walk.store
    check_units(walk, bank, units, first, last)
    with nogil:
        for u in range(first, last):
            resample_dish_one(walk, store, &bank.c, units, u, &weights, &source.c)
    units.kept(store)


@guarded
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
    check_scan(walk, bank, units, order, sides, sizes, slot_a, slot_b, forced)
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


@guarded
def add_units(CompiledBank bank not None, Units units not None, const int64_t[::1] which not None,
              int32_t slot):
    """Add the values below these units to a slot."""
    cdef int64_t i, u
    bank.slot_number(slot)
    check_numbers64("which", which, 0, <int64_t>units.code.size() - 1)
    if units.n_customers > bank.n_customers:
        refuse("units", "of another franchise", "units of this one", "Index them: franchise.units(1, with_customers=True).")
    for i in range(which.shape[0]):
        u = which[i]
        bank.check(bank.c.add(bank.c.self, slot, units.customer.data() + units.offset[u],
                               units.offset[u + 1] - units.offset[u]))


@guarded
def log_units(CompiledBank bank not None, Units units not None, const int64_t[::1] which not None,
              const int32_t[::1] slots not None):
    """Log predictives of the values below these units, each alone: shape (n, slots + 1), nats.

    The last column is a new dish.
    """
    cdef int64_t i, u, n = slots.shape[0]
    cdef const int32_t *block
    cdef const int32_t *first = &slots[0] if n else NULL
    cdef measure_t *measure = &bank.c
    bank.slot_numbers(np.asarray(slots))
    check_numbers64("which", which, 0, <int64_t>units.code.size() - 1)
    if units.n_customers > bank.n_customers:
        refuse("units", "of another franchise", "units of this one", "Index them: franchise.units(1, with_customers=True).")
    out = np.empty((which.shape[0], n + 1))
    cdef double[:, ::1] o = out
    with nogil:
        for i in range(which.shape[0]):
            u = which[i]
            block = units.customer.data() + units.offset[u]
            if measure.log_block(measure.self, block, units.offset[u + 1] - units.offset[u], first, n, &o[i, 0]) < 0:
                fail("the predictive", block[0])
    return out


@guarded
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
    walk.standing()
    check_bank(walk, bank)
    units.belong(store)
    if units.n_customers > bank.n_customers:
        refuse("bank", "of another franchise", "that of the walk's franchise", "Use both of one franchise.")
    if units.level != 1:
        refuse("units", f"of level {units.level}", "customers of the root", "Index them with units(1).")
    check_numbers64("which", which, 0, <int64_t>units.code.size() - 1)
    if not walk.slots.occupied(dish):
        refuse("dish", dish, "an occupied slot", "Call open_dish() for a new one.")
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
