# distutils: language = c++
"""Table Gibbs over counts by table indicators (the readable twin: `franchise.reference.counts_walk`)."""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.generic_sweeps.sweeps cimport check_customers, fail, misplaced
from hdpkit._compiled.measures.measure cimport CompiledBank, measure_t
from hdpkit._compiled.walk.counts_walk cimport STAYS, CountsWalk
from hdpkit.random._source cimport ChoiceSource, choice_source

from hdpkit._compiled.support.guarded import guarded


cdef int reseat_one(CountsWalk walk, measure_t *measure, int32_t customer, vector[double] *weights,
                    choice_source *source) except -1 nogil:
    """Draw the customer's indicators; unless it can't move, remove it and draw dish and indicators again."""
    cdef int32_t node = walk.home[customer]
    cdef int32_t dish = walk.store.dish_at(customer)
    cdef int64_t n_live, i, chosen = -1
    cdef int closes
    cdef size_t room = walk.slots.live.size() + 2
    cdef double *w
    if dish < 0:
        with gil:
            misplaced(customer, "seated", "Start the franchise, or seat the customer first.")
    walk.ready(node)
    walk.cover(node)
    if weights.capacity() < room:
        weights.reserve(room + room // 2)
    closes = walk.indicators(node, dish, source)
    if closes == STAYS:
        return 0
    if measure.remove(measure.self, dish, &customer, 1) < 0:
        fail("removal", customer)
    if walk.take_out(customer, node, dish, closes):
        walk.slots.death(dish)
    walk.fill_weights(node)
    n_live = walk.slots.live.size()
    weights.resize(n_live + 1)
    w = weights.data()
    if measure.predictive(measure.self, customer, walk.slots.live.data(), n_live, w) >= 0:
        for i in range(n_live + 1):
            w[i] *= walk.row[i]
        chosen = source.choose(source.state, w, n_live + 1)
    if chosen < 0:
        return fail("the conditional", customer)
    if chosen < n_live:
        dish = walk.slots.live[chosen]
    elif walk.slots.birth(&dish, &customer, 1):
        return fail("the conditional", customer)
    walk.seat_indicated(customer, node, dish, source)
    if measure.add(measure.self, dish, &customer, 1) < 0:
        fail("the addition", customer)
    return 0


@guarded
def reseat(CountsWalk walk not None, CompiledBank bank not None, int64_t first, int64_t last,
           ChoiceSource source not None):
    """Reseat data customers first .. last - 1, one after the other."""
    cdef int64_t i
    cdef vector[double] weights
    check_customers(walk, bank, first, last)
    walk.begin()
    with nogil:
        for i in range(first, last):
            reseat_one(walk, &bank.c, <int32_t>i, &weights, &source.c)
