# distutils: language = c++
"""Numbers of tables given the customers, over a store of counts (the readable twin: `steps.table_counts`).

Without a discount, the number of tables of n customers who eat a dish in a restaurant is distributed as a sum
of Bernoulli draws with probabilities a / (a + l - 1), l = 1 .. n, where a = theta P_parent(dish); the first
of them is 1 by definition (Teh et al. 2006, section 5.3). The root's weights are fixed.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._arguments cimport refuse
from hdpkit.stores._counts cimport CountsStore
from hdpkit.stores._seating cimport Entry
from hdpkit.steps._walk cimport Walk
from hdpkit.numerics cimport det_exp, det_log, det_log1p
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.random.sources cimport draw_bernoulli
from hdpkit.random.philox cimport philox, philox_next_double

cdef extern from "<algorithm>" namespace "std" nogil:
    void sort(int32_t *first, int32_t *last)


cdef enum:
    FEW = 64
    FIRST = 6            # customers drawn one by one before jumps begin

# 1 + 1/2 + ... + 1/n for small n.
cdef double[FEW] harmonic
cdef int _n
harmonic[0] = 0.0
for _n in range(1, FEW):
    harmonic[_n] = harmonic[_n - 1] + 1.0 / _n


cdef int cannot(int32_t dish) except -1:
    raise FloatingPointError(f"tables of dish {dish} can't be drawn")


cdef inline bint all_at(const int32_t *home, int32_t node) noexcept nogil:
    """Whether the next sixteen customers belong to this restaurant."""
    cdef int32_t other = 0
    cdef int i
    for i in range(16):
        other |= home[i] ^ node
    return other == 0


cdef int restaurants_of(Walk walk, int64_t first, int64_t last, vector[int32_t] *nodes) except -1 nogil:
    """Restaurants of data customers first .. last - 1, ascending, if tables are drawn for them at the end.

    Call it before a step changes anything, because it allocates.
    """
    cdef int64_t i, n = 0
    cdef bint ascending = True
    cdef int32_t node = -1
    cdef const int32_t *home
    cdef int32_t *found
    if not walk.tables_at_end or first >= last:
        return 0
    home = &walk.home[0]
    i = first
    while i < last:
        if home[i] != node:
            ascending = ascending and home[i] > node
            node = home[i]
            nodes.push_back(node)
        # Customers of a restaurant are usually adjacent.
        while last - i >= 16 and all_at(home + i, node):
            i += 16
        while i < last and home[i] == node:
            i += 1
    if ascending:
        return 0
    found = nodes.data()
    sort(found, found + nodes.size())
    for i in range(<int64_t>nodes.size()):
        if i == 0 or found[i] != found[n - 1]:
            found[n] = found[i]
            n += 1
    nodes.resize(n)
    return 0


cdef inline double none_open(double a, int32_t first, int32_t end) noexcept nogil:
    """Probability that none of customers first .. end - 1 opens a table: the product of l / (a + l)."""
    cdef double none = 1.0, ours, all_, l, x
    cdef int32_t i = first, stop
    while i < end:
        # One division for sixteen customers: the product of sixteen numbers below 2**31 is below 2**496.
        stop = end if end - i < 16 else i + 16
        ours, all_ = 1.0, 1.0
        while stop - i >= 4:
            l = i
            x = a + l
            ours *= (l * (l + 1.0)) * ((l + 2.0) * (l + 3.0))
            all_ *= (x * (x + 1.0)) * ((x + 2.0) * (x + 3.0))
            i += 4
        while i < stop:
            ours *= i
            all_ *= a + i
            i += 1
        none *= ours / all_
    return none


cdef inline int64_t any_open(double a, int32_t first, int32_t end, choice_source *source) noexcept nogil:
    """Draw whether any of customers first .. end - 1 opens a table."""
    cdef double number, opens
    if source.bernoulli != draw_bernoulli or end > FEW or not 0.0 <= a <= 1e100:
        return source.bernoulli(source.state, 1.0 - none_open(a, first, end))
    # As `draw_bernoulli`, with the same uniform number. Tables rarely open, so most numbers are above the sum
    # of a / l, an upper bound of the probability, and the product isn't needed. A margin covers its rounding.
    number = philox_next_double(<philox *>source.state)
    if number >= a * (harmonic[end - 1] - harmonic[first - 1]) * (1.0 + 1e-6) + 1e-12:
        return 0
    return number < 1.0 - none_open(a, first, end)


cdef int64_t some_open(double a, int32_t first, int32_t end, choice_source *source) noexcept nogil:
    """Draw the first of customers first .. end - 1 who opens a table, given that one does."""
    cdef double none = 1.0, some = 0.0, inverse, opens
    cdef int32_t l
    cdef int64_t yes
    for l in range(first, end):      # a sum, because 1 - none would lose precision for small probabilities
        inverse = 1.0 / (a + l)
        some += none * (a * inverse)
        none *= l * inverse
    none = 1.0
    for l in range(first, end - 1):
        inverse = 1.0 / (a + l)
        opens = none * (a * inverse)
        yes = source.bernoulli(source.state, min(opens / some, 1.0))
        if yes != 0:
            return l if yes > 0 else -1
        some -= opens
        none *= l * inverse
        if some <= 0.0:        # by rounding nothing is left
            return l
    return end - 1


cdef int64_t tables_of(double a, int32_t customers, choice_source *source) noexcept nogil:
    """Draw the number of tables of customers of whom the one after l others opens a table w.p. a / (a + l).

    If openings are rare, one draw decides whether any of several customers opens a table, and only then
    another one which. Returns -1 for a failure.
    """
    cdef int32_t l = 1, end
    cdef int64_t tables = 1, yes
    while l < customers:
        end = customers
        if 2.0 * a * customers > l:      # at most as many as open half a table on average
            end = min(customers, l + 1 + <int32_t>(l / (2.0 * a)))
        yes = any_open(a, l, end, source)
        if yes < 0:
            return -1
        if yes > 0:
            yes = some_open(a, l, end, source)
            if yes < 0:
                return -1
            tables += 1
            end = <int32_t>yes + 1
        l = end
    return tables


cdef inline double opening(double a, double below) noexcept nogil:
    """1 - (below / (below + 1))**a."""
    cdef double x = a * det_log1p(1.0 / below)
    if x < 0.03:
        return x * (1.0 - x / 2.0 * (1.0 - x / 3.0 * (1.0 - x / 4.0 * (1.0 - x / 5.0 * (1.0 - x / 6.0)))))
    return 1.0 - det_exp(-x)


cdef int64_t tables_by_jumps(double a, int64_t customers, choice_source *source) noexcept nogil:
    """Draw the number of tables as `tables_of`, with about as many draws as there are tables; -1 for a failure.

    Candidates for opening a table are drawn independently, the one after l others with probability q_l = 1 -
    ((l - s) / (l - s + 1))**a, where s is 1 if a < 1 and 0 otherwise, so q_l >= a / (a + l). There is no
    candidate from l to m - 1 with probability ((l - s) / (m - s))**a, so the next candidate is found by
    inversion. It opens a table with probability a / (a + l) / q_l.
    """
    cdef int64_t l = 1, tables = 1, yes
    cdef double shift = 1.0 if a < 1.0 else 0.0, u, next_, largest
    if not a > 0.0:
        return 1
    while l < customers and l < FIRST:
        yes = source.bernoulli(source.state, a / (a + l))
        if yes < 0:
            return -1
        tables += yes
        l += 1
    largest = det_log(<double>customers)
    while l < customers:
        u = source.uniform(source.state)
        if not (u > 0.0):
            return -1
        next_ = det_log(l - shift) - det_log(u) / a
        if next_ > largest:
            break
        l = <int64_t>(det_exp(next_) + shift)
        if l >= customers:
            break
        yes = source.bernoulli(source.state, min(a / (a + l) / opening(a, l - shift), 1.0))
        if yes < 0:
            return -1
        tables += yes
        l += 1
    return tables


def tables_drawn(double a, int64_t customers, ChoiceSource source not None, bint by_jumps):
    """Draw the number of tables of this many customers, one by one or by jumps, for tests."""
    return (tables_by_jumps if by_jumps else tables_of_any)(a, customers, &source.c)


cdef int64_t tables_of_any(double a, int64_t customers, choice_source *source) noexcept nogil:
    return tables_of(a, <int32_t>customers, source)


cdef int draw_tables_of(Walk walk, vector[int32_t] *nodes, choice_source *source) except -1 nogil:
    """Draw the tables of every dish of these restaurants given its customers."""
    cdef Entry *entry
    cdef size_t i
    cdef int32_t node, place, above
    # The root's entries are the live dishes, in the same order, unless some dishes have no customers yet.
    cdef bint served = walk.store.nodes[0].n_entries == <int32_t>walk.slots.live.size()
    cdef int64_t tables
    cdef int64_t (*draw)(double a, int64_t customers, choice_source *source) noexcept nogil
    if nodes.size() == 0:
        return 0
    walk.fill_row(0)
    for i in range(nodes.size()):
        node = nodes.at(i)
        if node == 0:
            continue
        for place in range(walk.store.nodes[node].n_entries):
            entry = walk.store.entries(node) + place
            above = walk.slots.position[entry.dish]
            draw = tables_by_jumps if walk.store.by_cell else tables_of_any
            tables = draw(walk.concentration[node] * walk.row[above], entry.customers, source)
            if tables < 0:
                with gil:
                    cannot(entry.dish)
            walk.store.change_tables(node, place, <int32_t>tables, 0, above if served else walk.store.find(0, entry.dish))
    return 0


cdef CountsStore counts_store(Walk walk):
    """The store of a walk; raises an error unless rows can be filled."""
    walk.check_dishes()
    return walk.store


def draw_tables(Walk walk not None, int64_t first, int64_t last, ChoiceSource source not None):
    """Draw the tables of restaurants first .. last - 1 given their customers, by Bernoulli draws."""
    cdef vector[int32_t] nodes
    cdef int32_t node
    counts_store(walk)
    for node in range(<int32_t>first, <int32_t>last):
        nodes.push_back(node)
    walk.ready(0)
    with nogil:
        draw_tables_of(walk, &nodes, &source.c)


# ------------------------------------------------------------------------- all restaurants at once

cdef class Bulk:
    """Entries of all restaurants below the root, sorted by dish and by descending customers."""

    cdef object node, dish, customers, begins
    cdef CountsStore store
    cdef double theta

    def __cinit__(self, Walk walk not None):
        cdef int64_t r
        self.store = counts_store(walk)
        for r in range(2, walk.concentration.shape[0]):
            if walk.concentration[r] != walk.concentration[1]:
                refuse("concentration", walk.concentration[r], f"{walk.concentration[1]}, one for all restaurants",
                       "Where each restaurant has its own, use method='bernoulli'.")
        self.theta = walk.concentration[1] if walk.concentration.shape[0] > 1 else 0.0
        node, dish, customers, _ = self.store.counts()
        below = node > 0
        node, dish, customers = node[below], dish[below], customers[below]
        order = np.lexsort((node, -customers, dish))
        self.node, self.dish, self.customers = node[order], dish[order], customers[order]
        begins = np.flatnonzero(np.diff(self.dish, prepend=-1, append=-1) if len(dish) else np.zeros(0))
        self.begins = begins.astype(np.int64) if len(dish) else np.zeros(1, dtype=np.int64)


cdef inline int64_t with_more(const int32_t *customers, int64_t n, int64_t l) noexcept nogil:
    """How many of n entries, in descending order, have more than l customers."""
    while n > 0 and customers[n - 1] <= l:
        n -= 1
    return n


cdef int64_t opened(choice_source *source, int64_t n, double a, int64_t l) except -1 nogil:
    """Draw how many of n customers, each the (l + 1)th of a dish in its restaurant, opened a table."""
    cdef int64_t yes = source.binomial(source.state, n, a / (a + l))
    if yes < 0:
        with gil:
            raise FloatingPointError("tables can't be drawn")
    return yes


cdef int spread(int32_t *tables, int64_t n, int64_t n_open, int32_t *order, int32_t *swapped,
                choice_source *source) except -1 nogil:
    """Add a table to each entry of a uniformly random subset. ``order`` is 0 .. n - 1, before and after."""
    cdef bint all_but = 2 * n_open > n
    cdef int64_t i, j, picks = n - n_open if all_but else n_open
    cdef int32_t held
    if all_but:
        for i in range(n):
            tables[i] += 1
    for i in range(picks):
        j = source.index(source.state, n - i)
        if j < 0:
            with gil:
                raise FloatingPointError("tables can't be drawn")
        j += i
        swapped[i] = <int32_t>j
        held = order[i]
        order[i] = order[j]
        order[j] = held
        tables[order[i]] += -1 if all_but else 1
    for i in range(picks - 1, -1, -1):
        j = swapped[i]
        held = order[i]
        order[i] = order[j]
        order[j] = held
    return 0


def draw_tables_by_dish(Walk walk not None, ChoiceSource source not None):
    """Draw the tables of all restaurants given their customers, by one binomial draw for each dish and l.

    The draw is the number of restaurants in which the lth customer of the dish opened a table, among those
    with at least l customers of the dish; these restaurants are then a uniformly random subset. All
    restaurants must have the same concentration.
    """
    if walk.store.by_cell:       # draws by jumps, whose number doesn't increase with the number of customers
        draw_tables(walk, 0, walk.parent.shape[0], source)
        return
    cdef Bulk bulk = Bulk(walk)
    cdef const int32_t[::1] node = bulk.node
    cdef const int32_t[::1] dish = bulk.dish
    cdef const int32_t[::1] customers = bulk.customers
    cdef const int64_t[::1] begins = bulk.begins
    drawn = np.ones(len(bulk.node), dtype=np.int32)
    cdef int32_t[::1] tables = drawn
    cdef int32_t[::1] order = np.arange(len(bulk.node), dtype=np.int32)
    cdef int32_t[::1] swapped = np.empty(len(bulk.node), dtype=np.int32)
    cdef int64_t k, i, n, l
    cdef double a
    cdef CountsStore store = bulk.store
    walk.ready(0)
    with nogil:
        walk.fill_row(0)
        for k in range(begins.shape[0] - 1):
            a = bulk.theta * walk.row[walk.slots.position[dish[begins[k]]]]
            l = 1
            n = with_more(&customers[begins[k]], begins[k + 1] - begins[k], l)
            while n > 0:
                spread(&tables[begins[k]], n, opened(&source.c, n, a, l), &order[0], &swapped[0], &source.c)
                l += 1
                n = with_more(&customers[begins[k]], n, l)
        for i in range(node.shape[0]):
            store.change_tables(node[i], store.find(node[i], dish[i]), tables[i], 0, store.find(0, dish[i]))
