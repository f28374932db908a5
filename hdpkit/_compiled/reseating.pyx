# distutils: language = c++
"""What proposals over many customers are made of: restricted scans, unseating and seating with weights.

Each has a readable twin in `hdpkit.franchise.reference`, with the same law.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t

from hdpkit._compiled.measure cimport CompiledBank, measure_t
from hdpkit._compiled.walk cimport Walk
from hdpkit.errors import StateError
from hdpkit.numerics cimport det_log
from hdpkit.random._source cimport ChoiceSource


cdef int misplaced(int64_t customer, str allowed, str remedy) except -1:
    raise StateError("customer", customer, allowed, remedy)


cdef int fail(int64_t customer) except -1:
    raise FloatingPointError(f"the restricted conditional of customer {customer} can't be drawn from")


def scan_customers(Walk walk, CompiledBank bank, const int32_t[::1] customers, int8_t[::1] sides,
                   int64_t[:, ::1] counts, int32_t slot_a, int32_t slot_b, double share, forced,
                   ChoiceSource source, double log_q=0.0):
    """A restricted Gibbs scan of customers over two slots; returns log_q plus that of what was taken.

    ``sides[i]`` is 0 or 1, or -1 where customer i is on neither yet; ``counts`` the customers of each
    restaurant on each side. Weights (count + share (theta + d)) f(x), theta and d of the customer's
    restaurant; with ``forced`` (sides, in the same order) nothing is drawn. The seating is not touched.
    """
    cdef int64_t i, side
    cdef int32_t customer, node
    cdef int32_t slots[2]
    cdef double weights[3]
    cdef double own, total
    cdef bint is_forced = forced is not None
    cdef const int8_t[::1] target
    cdef measure_t *measure = &bank.c
    if is_forced:
        target = forced
    slots[0] = slot_a
    slots[1] = slot_b
    with nogil:
        for i in range(customers.shape[0]):
            customer = customers[i]
            node = walk.home[customer]
            if sides[i] >= 0:
                if measure.remove(measure.self, slots[sides[i]], &customer, 1) < 0:
                    with gil:
                        fail(customer)
                counts[node, sides[i]] -= 1
            own = share * (walk.concentration[node] + walk.discount[node])
            side = -1
            total = 0.0
            if measure.predictive(measure.self, customer, slots, 2, weights) >= 0:
                weights[0] *= counts[node, 0] + own
                weights[1] *= counts[node, 1] + own
                total = weights[0] + weights[1]
                if 0.0 < total < INFINITY:
                    side = target[i] if is_forced else source.c.choose(source.c.state, weights, 2)
            if side < 0:
                with gil:
                    fail(customer)
            log_q += det_log(weights[side] / total) if weights[side] > 0.0 else -INFINITY
            if measure.add(measure.self, slots[side], &customer, 1) < 0:
                with gil:
                    fail(customer)
            counts[node, side] += 1
            sides[i] = <int8_t>side
    return log_q


def unseat_each(Walk walk, const int32_t[::1] customers, ChoiceSource source, double log_p=0.0):
    """Unseat data customers, the LAST first; add log P_home(its dish) after each removal to ``log_p``."""
    cdef int64_t i
    cdef int32_t customer, node, dish
    with nogil:
        for i in range(customers.shape[0] - 1, -1, -1):
            customer = customers[i]
            node = walk.home[customer]
            dish = walk.store.dish_at(customer)
            if dish < 0:
                with gil:
                    misplaced(customer, "seated", "Start the franchise, or seat the customer first.")
            if walk.unseat_customer(customer, node, dish, &source.c):
                walk.slots.death(dish)
            walk.trace_dish(node, dish)
            log_p += det_log(walk.level[0])
    return log_p


def seat_each(Walk walk, const int32_t[::1] customers, const int32_t[::1] dishes, ChoiceSource source,
              double log_p=0.0):
    """Seat unseated data customers, given their dishes, by the prior; add log P_home(dish) to ``log_p``.

    A dish whose slot is free is born in that slot with its first customer.
    """
    cdef int64_t i
    cdef int32_t customer
    with nogil:
        for i in range(customers.shape[0]):
            customer = customers[i]
            if walk.store.dish_at(customer) >= 0:
                with gil:
                    misplaced(customer, "unseated", "Unseat the customer first.")
            walk.seat_customer(customer, walk.home[customer], dishes[i], &source.c)
            log_p += det_log(walk.level[0])  # traced before the customer sat down
            if not walk.slots.occupied(dishes[i]):
                walk.slots.birth_in(dishes[i])
    return log_p
