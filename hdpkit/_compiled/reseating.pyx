# distutils: language = c++
"""What proposals over many customers are made of: restricted scans, unseating and seating with weights.

Each has a readable twin in `hdpkit.franchise.reference`, with the same law.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from hdpkit._compiled.measure cimport CompiledBank, measure_t
from hdpkit._compiled.walk cimport Walk
from hdpkit.errors import StateError
from hdpkit.numerics cimport det_log
from hdpkit.random._source cimport ChoiceSource


cdef int misplaced(int64_t customer, str allowed, str remedy) except -1:
    raise StateError("customer", customer, allowed, remedy)


cdef int fail(int64_t customer) except -1:
    raise FloatingPointError(f"the restricted conditional of customer {customer} can't be drawn from")


def scan_customers(CompiledBank bank, const int32_t[::1] customers, const int64_t[::1] rows,
                   int32_t[::1] sides, double[:, ::1] weights, const int32_t[::1] slots, forced,
                   ChoiceSource source, double log_q=0.0):
    """A restricted Gibbs scan of customers over some slots; returns log_q plus that of what was taken.

    ``sides[i]`` is the place of customer i's slot among ``slots``, or -1 where it is on none yet. Its side is
    drawn with probability proportional to ``weights[rows[i], side]`` f(x), and the weight of the side taken
    grows by one. With ``forced`` (sides, in the same order) nothing is drawn. No seating is touched.
    """
    cdef int64_t i, k, side, n_sides = slots.shape[0]
    cdef int32_t customer
    cdef double total
    cdef vector[double] room
    cdef double *w
    cdef bint is_forced = forced is not None
    cdef const int32_t[::1] target
    cdef measure_t *measure = &bank.c
    if is_forced:
        target = forced
    room.resize(n_sides + 1)
    w = room.data()
    with nogil:
        for i in range(customers.shape[0]):
            customer = customers[i]
            if sides[i] >= 0:
                if measure.remove(measure.self, slots[sides[i]], &customer, 1) < 0:
                    with gil:
                        fail(customer)
                weights[rows[i], sides[i]] -= 1.0
                sides[i] = -1
            side = -1
            if measure.predictive(measure.self, customer, &slots[0], n_sides, w) >= 0:
                total = 0.0
                for k in range(n_sides):
                    w[k] *= weights[rows[i], k]
                    total += w[k]
                if 0.0 < total < INFINITY:
                    side = target[i] if is_forced else source.c.choose(source.c.state, w, n_sides)
            if side < 0:
                with gil:
                    fail(customer)
            log_q += det_log(w[side] / total) if w[side] > 0.0 else -INFINITY
            if measure.add(measure.self, slots[side], &customer, 1) < 0:
                with gil:
                    fail(customer)
            weights[rows[i], side] += 1.0
            sides[i] = <int32_t>side
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
