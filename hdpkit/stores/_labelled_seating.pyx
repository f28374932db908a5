# distutils: language = c++
"""Drawing the missing detail of a state.

A move that needs seats runs on the labelled seating. Drawing this seating uniformly among those that fit
(dishes, histograms), or histograms among those that fit (dishes, counts), is a Gibbs step: nothing is
approximated. Given n customers at t tables of a restaurant without a discount, the partition into tables is
that of a uniformly random permutation with t cycles: it has probability proportional to the product of
(size - 1)! over its tables; with a discount, of [1-d]_1^(size-1).
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.stores._explicit cimport ExplicitStore
from hdpkit.stores._seating import COUNTS, LARGEST, SEATS, SIZES, columns
from hdpkit.stores._histogram cimport HistogramStore
from hdpkit.stores._seating cimport Entry
from hdpkit.stores._stirling cimport Ratios, clear_ratios, cover_ratios, one_alone
from hdpkit._arguments cimport check_length, check_numbers32, refuse
from hdpkit.errors import StateError
from hdpkit.numerics cimport det_log
from hdpkit.random._source cimport ChoiceSource, choice_source, shuffle

cdef extern from "<algorithm>" namespace "std" nogil:
    void sort(int32_t *first, int32_t *last)
    bint is_sorted(int32_t *first, int32_t *last)

cdef enum:
    SMALL = 64                # largest number of customers for Stirling numbers

cdef double STIRLING[SMALL + 1][SMALL + 1]     # unsigned, of the first kind


cdef int fill_stirling() noexcept nogil:
    cdef int n, t
    for n in range(SMALL + 1):
        for t in range(SMALL + 1):
            STIRLING[n][t] = 0.0
    STIRLING[0][0] = 1.0
    for n in range(SMALL):
        for t in range(1, SMALL + 1):
            STIRLING[n + 1][t] = STIRLING[n][t - 1] + n * STIRLING[n][t]
    return 0


fill_stirling()


cdef inline const int32_t *start_of(const int32_t[::1] numbers) noexcept nogil:
    return &numbers[0] if numbers.shape[0] > 0 else NULL


cdef int tally(vector[int32_t] *sizes, vector[int32_t] *counts) except -1 nogil:
    """Replace sizes by the distinct ones, ascending, and the number of each."""
    cdef size_t i, n = 0
    sort(sizes.data(), sizes.data() + sizes.size())
    counts.clear()
    for i in range(sizes.size()):
        if n == 0 or sizes.at(i) != sizes.at(n - 1):
            sizes.data()[n] = sizes.at(i)
            counts.push_back(0)
            n += 1
        counts.data()[n - 1] += 1
    sizes.resize(n)
    return 0


cdef int by_restaurant(vector[int32_t] *where, vector[int32_t] *who, vector[int32_t] *what, int64_t n_nodes) except -1 nogil:
    """Sort customers by restaurant, stably (counting sort)."""
    cdef vector[int64_t] start
    cdef vector[int32_t] sorted_where, sorted_who, sorted_what
    cdef int64_t i, place, n = where.size()
    start.assign(n_nodes + 1, 0)
    for i in range(n):
        start[where.at(i) + 1] += 1
    for i in range(n_nodes):
        start[i + 1] += start[i]
    sorted_where.resize(n)
    sorted_who.resize(n)
    sorted_what.resize(n)
    for i in range(n):
        place = start[where.at(i)]
        start[where.at(i)] += 1
        sorted_where[place] = where.at(i)
        sorted_who[place] = who.at(i)
        sorted_what[place] = what.at(i)
    where.swap(sorted_where)
    who.swap(sorted_who)
    what.swap(sorted_what)
    return 0


cdef cppclass SeatingDraw:
    """A labelled seating that is drawn: seats of customers; restaurant, dish and seat of each table."""
    int32_t *seat
    int32_t *node
    int32_t *dish
    int32_t *above
    int64_t n_tables
    const int32_t *bin_node
    const int32_t *bin_dish
    const int32_t *bin_size
    const int32_t *bin_count
    const int64_t *first_bin         # of each restaurant, and the number of bins

    inline bint mixed(int64_t b, int64_t last) noexcept nogil:
        """Whether the customers of the dish of bin b can sit in several ways."""
        return (b + 1 < last and this.bin_dish[b + 1] == this.bin_dish[b]) or (
            this.bin_count[b] > 1 and this.bin_size[b] > 1)

    inline void seat_at(int32_t customer) noexcept nogil:
        """Seat a customer, or the table ~customer, at the next table."""
        if customer >= 0:
            this.seat[customer] = <int32_t>this.n_tables
        else:
            this.above[~customer] = <int32_t>this.n_tables

    inline void open(int64_t b) noexcept nogil:
        """Open a table of bin b."""
        this.node[this.n_tables] = this.bin_node[b]
        this.dish[this.n_tables] = this.bin_dish[b]
        this.n_tables += 1


cdef int misfit() except -1 with gil:
    raise StateError("histograms", "of other customers", "of the customers of each dish in each restaurant",
                     "Pass what freeze() returned.")


cdef int seat_all(SeatingDraw *drawn, int64_t n, const int32_t *who, const int32_t *where, const int32_t *what, int64_t n_dishes,
              choice_source *source) except -1 nogil:
    """Seat customers that are given in the order of their restaurants; ``who`` has their numbers, NULL: 0, 1, ...

    A restaurant at a time, so that its customers stay in the cache.
    """
    cdef vector[int64_t] start, stop, order
    cdef int64_t i = 0, j, b, end, place, k, last_bin
    cdef int32_t node, d
    start.assign(n_dishes, 0)
    stop.assign(n_dishes, 0)
    while i < n:
        node = where[i]
        end = i
        k = 0
        while end < n and where[end] == node:
            k += what[end] >= 0
            end += 1
        if <int64_t>order.size() < k:
            order.resize(k)
        last_bin = drawn.first_bin[node + 1]
        place = 0
        for b in range(drawn.first_bin[node], last_bin):
            d = drawn.bin_dish[b]
            if b == drawn.first_bin[node] or d != drawn.bin_dish[b - 1]:
                start[d] = place
            place += <int64_t>drawn.bin_size[b] * drawn.bin_count[b]
            stop[d] = place
        if place != k:
            misfit()
        for j in range(i, end):
            d = what[j]
            if d < 0:
                continue
            if start[d] >= stop[d]:
                misfit()
            order[start[d]] = j if who == NULL else who[j]
            start[d] += 1
        place = 0
        b = drawn.first_bin[node]
        while b < last_bin:
            d = drawn.bin_dish[b]
            if drawn.mixed(b, last_bin) and shuffle(source, order.data() + place, stop[d] - place) < 0:
                with gil:
                    raise FloatingPointError("a labelled seating can't be drawn")
            while b < last_bin and drawn.bin_dish[b] == d:
                for k in range(drawn.bin_count[b]):
                    for j in range(drawn.bin_size[b]):
                        drawn.seat_at(<int32_t>order[place])
                        place += 1
                    drawn.open(b)
                b += 1
        i = end
    return 0


# ------------------------------------------------------------------------- sizes given seats

def aggregate(labelled):
    """Dishes and histograms of a labelled seating, sorted by restaurant, dish and size. Nothing is drawn."""
    found = columns(labelled, *SEATS)
    cdef const int32_t[::1] seat = found[0]
    cdef const int32_t[::1] node = found[1]
    cdef const int32_t[::1] dish = found[2]
    cdef const int32_t[::1] above = found[3]
    cdef int64_t i, j, b, n = seat.shape[0], n_tables = node.shape[0]
    cdef vector[int32_t] size, bins, of_group, counts
    cdef vector[int64_t] order
    cdef bint ordered = True
    check_length("table_dish", dish.shape[0], n_tables)
    check_length("table_seat", above.shape[0], n_tables)
    check_numbers32("seat", seat, -1, n_tables - 1)
    check_numbers32("table_seat", above, -1, n_tables - 1)
    eaten = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] of_customer = eaten
    size.assign(n_tables, 0)
    order.resize(n_tables)
    for i in range(n_tables):
        order[i] = i
        ordered = ordered and (i == 0 or node[i] > node[i - 1] or (node[i] == node[i - 1] and dish[i] >= dish[i - 1]))
    if not ordered:
        for i, j in enumerate(np.lexsort((found[2], found[1])).tolist()):
            order[i] = j
    with nogil:
        for i in range(n):
            of_customer[i] = -1
            if seat[i] >= 0:
                of_customer[i] = dish[seat[i]]
                size[seat[i]] += 1
        for i in range(n_tables):
            if above[i] >= 0:
                size[above[i]] += 1
        i = 0
        while i < n_tables:
            of_group.clear()
            b = order[i]
            while i < n_tables and node[order[i]] == node[b] and dish[order[i]] == dish[b]:
                of_group.push_back(size[order[i]])
                i += 1
            push_bins(&bins, node[b], dish[b], &of_group, &counts)
    return {"dish": eaten, **bin_columns(&bins)}


def aggregate_seats(ExplicitStore labelled not None, HistogramStore store not None):
    """Replace the seating of a store by the dishes and histograms of a labelled one. Nothing is drawn.

    If memory runs out, the store is empty.
    """
    store.clear()
    try:
        count_seats(labelled, store)
    except BaseException:
        store.clear()
        raise


cdef int count_seats(ExplicitStore labelled, HistogramStore store) except -1:
    """Count the customers of a labelled store in an empty one."""
    cdef vector[int32_t] sizes, counts
    cdef int64_t i
    cdef int32_t node, place
    cdef Entry *entry
    cdef Entry *made
    with nogil:
        for i in range(store.n_customers):
            store.label(<int32_t>i, labelled.dish_at(<int32_t>i))
        for node in range(<int32_t>store.nodes.size()):
            store.nodes[node].customers = labelled.nodes[node].customers
            store.nodes[node].tables = labelled.nodes[node].tables
            for place in range(labelled.nodes[node].n_entries):
                entry = labelled.entries(node) + place
                made = store.entries(node) + store.find_or_insert(node, entry.dish)
                made.customers = entry.customers
                made.tables = entry.tables
                if entry.tables == 1:
                    continue
                sizes.clear()
                counts.clear()
                labelled.sizes_of(node, place, &sizes, &counts)
                tally(&sizes, &counts)
                for i in range(<int64_t>sizes.size()):
                    store.change(made, sizes[i], counts[i])
    return 0


cdef int push_bins(vector[int32_t] *bins, int32_t node, int32_t dish, vector[int32_t] *sizes,
                   vector[int32_t] *counts) except -1 nogil:
    """Add a row for each size of the tables of a dish; changes ``sizes`` and ``counts``."""
    cdef size_t i
    tally(sizes, counts)
    for i in range(sizes.size()):
        bins.push_back(node)
        bins.push_back(dish)
        bins.push_back(sizes.at(i))
        bins.push_back(counts.at(i))
    return 0


cdef dict bin_columns(vector[int32_t] *bins):
    """The columns of the rows."""
    cdef int64_t i
    rows = np.empty((4, bins.size() // 4), dtype=np.int32)
    cdef int32_t[:, ::1] to = rows
    for i in range(<int64_t>bins.size()):
        to[i % 4, i // 4] = bins.at(i)
    return dict(zip(SIZES, rows))


# ------------------------------------------------------------------------- sizes given counts

cdef double opening_rate(int64_t n, int64_t t) noexcept nogil:
    """A concentration at which about t of n customers open a table, so that few trials are rejected."""
    cdef double low = 1e-6, high = 1e3 * n * n, a
    cdef int i
    for i in range(60):
        a = sqrt(low * high)
        if 1.0 + a * det_log((a + n - 0.5) / (a + 0.5)) < t:
            low = a
        else:
            high = a
    return sqrt(low * high)


cdef int openings_in_turn(int64_t n, int64_t t, Ratios *ratios, int32_t *opens, choice_source *source) except -1 nogil:
    """Draw, from the last of n customers at t tables to the first, whether it opened its table: 1 in ``opens``.

    ``ratios`` are for the discount; NULL: none, and at most SMALL customers. Returns -2 if a draw fails.
    """
    cdef int64_t i, yes
    for i in range(n, 0, -1):
        yes = t == i
        if not yes and t > 1:
            yes = source.bernoulli(source.state, STIRLING[i - 1][t - 1] / STIRLING[i][t] if ratios == NULL else
                                   one_alone(ratios, i, t))
            if yes < 0:
                return -2
        opens[i - 1] = <int32_t>yes
        t -= yes
    return 0


cdef int openings(int64_t n, int64_t t, vector[int32_t] *table, choice_source *source) except -1 nogil:
    """Draw which of n customers open a table, given that t do: 1 in ``table``. Returns -2 if a draw fails."""
    cdef int64_t i, yes, more
    cdef double a
    cdef int32_t *opens
    table.assign(n, 0)
    opens = table.data()
    if n <= SMALL:
        return openings_in_turn(n, t, NULL, opens, source)
    a = opening_rate(n, t)
    opens[0] = 1
    while True:
        more = t - 1
        for i in range(1, n):
            yes = source.bernoulli(source.state, a / (a + i))
            if yes < 0:
                return -2
            opens[i] = <int32_t>yes
            more -= yes
            if more < 0 or more > n - 1 - i:
                break
        if more == 0:
            return 0


cdef int table_sizes(int64_t n, int64_t t, vector[int32_t] *table, vector[int32_t] *sizes,
                     choice_source *source) except -1 nogil:
    """Draw the sizes of t tables for n customers, in the order of opening; returns -2 if a draw fails."""
    cdef int64_t i, j
    cdef int32_t *at
    sizes.clear()
    if t == 1:
        sizes.push_back(<int32_t>n)
        return 0
    if t == n:
        sizes.assign(n, 1)
        return 0
    if openings(n, t, table, source) < 0:
        return -2
    at = table.data()
    for i in range(n):
        if at[i]:
            at[i] = <int32_t>sizes.size()
            sizes.push_back(1)
        else:
            j = source.index(source.state, i)
            if j < 0:
                return -2
            at[i] = at[j]
            sizes.data()[at[i]] += 1
    return 0


cdef int discounted_sizes(int64_t n, int64_t t, Ratios *ratios, vector[int32_t] *table, vector[double] *weights,
                          vector[int32_t] *sizes, choice_source *source) except -1 nogil:
    """Draw the sizes of t tables with a discount: a partition has the weight prod [1-d]_1^(size-1)."""
    cdef int64_t i, j
    cdef double d = ratios.d
    sizes.clear()
    table.assign(n, 0)
    if openings_in_turn(n, t, ratios, table.data(), source) < 0:
        return -2
    weights.clear()
    for i in range(n):
        if table.data()[i]:
            sizes.push_back(1)
            weights.push_back(1.0 - d)
        else:
            j = source.choose(source.state, weights.data(), weights.size())
            if j < 0:
                return -2
            sizes.data()[j] += 1
            weights.data()[j] += 1.0
    return 0


def draw_sizes(frozen, ChoiceSource source not None, discount=None):
    """Draw sizes of tables given dishes and counts, and the discount of each restaurant (None: 0)."""
    eaten, *counts = columns(frozen, "dish", *COUNTS)
    cdef const int32_t[::1] node = counts[0]
    cdef const int32_t[::1] dish = counts[1]
    cdef const int32_t[::1] customers = counts[2]
    cdef const int32_t[::1] tables = counts[3]
    cdef int64_t i, n = node.shape[0]
    cdef vector[int32_t] table, sizes, bins
    cdef int failed
    cdef double d = 0.0
    cdef bint discounted = discount is not None
    cdef const double[::1] discounts
    cdef Ratios ratios
    cdef vector[double] weights
    clear_ratios(&ratios)
    if discounted:
        discounts = discount
        check_numbers32("count_node", node, 0, discounts.shape[0] - 1)
        for i in range(discounts.shape[0]):
            if not 0.0 <= discounts[i] < 1.0:
                refuse("discount", discounts[i], "from 0 to 1 (excluded)", "Give one for each restaurant.")
    check_length("count_dish", dish.shape[0], n)
    check_length("count_customers", customers.shape[0], n)
    check_length("count_tables", tables.shape[0], n)
    check_numbers32("count_customers", customers, 1, len(eaten))
    for i in range(n):
        if not 1 <= tables[i] <= customers[i]:
            raise StateError("count_tables", tables[i], f"from 1 to {customers[i]}, the customers",
                             "Pass what freeze() returned.")
    with nogil:
        for i in range(n):
            if discounted:
                d = discounts[node[i]]
            if d > 0.0 and 1 < tables[i] < customers[i]:
                cover_ratios(&ratios, d, customers[i], tables[i])
                failed = discounted_sizes(customers[i], tables[i], &ratios, &table, &weights, &sizes, &source.c)
            else:
                failed = table_sizes(customers[i], tables[i], &table, &sizes, &source.c)
            if failed < 0:
                with gil:
                    raise FloatingPointError("sizes of tables can't be drawn")
            push_bins(&bins, node[i], dish[i], &sizes, &table)
    return {"dish": eaten, **bin_columns(&bins)}


# ------------------------------------------------------------------------- seats given sizes

def seat_out(frozen, const int32_t[::1] home not None, const int32_t[::1] parent not None,
             const int32_t[::1] level not None, ChoiceSource source not None, lead=None):
    """Draw a labelled seating uniformly among those that fit dishes and histograms.

    Where restaurants have several parents, the customers of a dish are dealt to the tables of all arms of a restaurant:
    the nodes of which it is the ``lead``.
    """
    dish, node, *bins = columns(frozen, "dish", *SIZES)
    n = len(dish)
    check_length("dish", n, home.shape[0])
    for name, column, low, high in zip(SIZES, (node, *bins), (0, 0, 1, 1), (parent.shape[0] - 1, LARGEST - 1, n, n)):
        check_length(name, len(column), len(node))
        check_numbers32(name, column, low, high)
    check_numbers32("dish", dish, -1, LARGEST - 1)
    of = node
    if lead is not None:
        order = np.lexsort((bins[0], lead[node]))
        node, *bins = (column[order] for column in (node, *bins))
        of = np.ascontiguousarray(lead[node], dtype=np.int32)
    cdef const int32_t[::1] dishes = dish, of_bin = of, bin_node = node, bin_dish = bins[0]
    cdef const int32_t[::1] bin_size = bins[1], bin_count = bins[2]
    seats = seats_of(start_of(dishes), start_of(of_bin), start_of(bin_node), start_of(bin_dish), start_of(bin_size),
                     start_of(bin_count), len(node), home, parent, level, lead is not None, source)
    return dict(zip(SEATS, seats))


def draw_seats(HistogramStore store not None, ExplicitStore labelled not None, const int32_t[::1] home not None,
               const int32_t[::1] parent not None, const int32_t[::1] level not None, ChoiceSource source not None):
    """Replace a labelled seating by one that is drawn by `seat_out` for the dishes and histograms of a store."""
    cdef vector[int32_t] dish, nodes, dishes, sizes, counts
    cdef int32_t node, place
    with nogil:
        dish.resize(store.n_customers)
        store.read_dishes(dish.data())
        for node in range(<int32_t>store.nodes.size()):
            for place in range(store.nodes[node].n_entries):
                store.sizes_of(node, place, &sizes, &counts)
                nodes.resize(sizes.size(), node)
                dishes.resize(sizes.size(), store.entries(node)[place].dish)
    labelled.replace(list(seats_of(dish.data(), nodes.data(), nodes.data(), dishes.data(), sizes.data(), counts.data(),
                                   nodes.size(), home, parent, level, False, source)))


cdef tuple seats_of(const int32_t *dish, const int32_t *of_bin, const int32_t *bin_node, const int32_t *bin_dish,
                    const int32_t *bin_size, const int32_t *bin_count, int64_t n_bins, const int32_t[::1] home,
                    const int32_t[::1] parent, const int32_t[::1] level, bint graph, ChoiceSource source):
    """The arrays of a labelled seating that is drawn, given the dish of each customer of ``home`` and the bins.

    ``of_bin`` has the restaurant of each bin, ``bin_node`` the node where its tables stand.
    """
    cdef int64_t n = home.shape[0], n_nodes = parent.shape[0]
    cdef int64_t n_dishes = 0, n_levels = 0, n_tables = 0, i
    cdef int32_t at_level, node
    cdef bint deepest = True, ordered = True     # all data customers are in the last level, in order of their restaurants
    check_length("level", level.shape[0], n_nodes)
    check_numbers32("home", home, 0, n_nodes - 1)
    for i in range(n_bins):
        if i > 0 and of_bin[i] < of_bin[i - 1]:
            refuse("bin_node", of_bin[i], f"{of_bin[i - 1]} or more, because bins are sorted by restaurant",
                   "Pass what freeze() returned.")
        if i > 0 and of_bin[i] == of_bin[i - 1] and bin_dish[i] < bin_dish[i - 1]:
            refuse("bin_dish", bin_dish[i], f"{bin_dish[i - 1]} or more, because a restaurant's bins are sorted by dish",
                   "Pass what freeze() returned.")
        n_tables += bin_count[i]
        n_dishes = max(n_dishes, bin_dish[i] + 1)
    for i in range(n_nodes):
        if (parent[i] != -1 or level[i] != 0) if i == 0 else (
                not graph and (not 0 <= parent[i] < i or level[i] != level[parent[i]] + 1)):
            refuse("parent", parent[i], "-1 for restaurant 0, a smaller number one level above for any other",
                   "Pass the arrays of a topology.")
        n_levels = max(n_levels, level[i] + 1)
    for i in range(n):
        n_dishes = max(n_dishes, dish[i] + 1)
        deepest = deepest and level[home[i]] == n_levels - 1
        ordered = ordered and (i == 0 or home[i] >= home[i - 1])
    seat = np.full(n, -1, dtype=np.int32)
    tables = np.full((3, n_tables), -1, dtype=np.int32)      # restaurant, dish, seat in the parent
    cdef int32_t[::1] seats = seat
    cdef int32_t[:, ::1] t = tables
    # Customers of the current level: number, restaurant, dish. Tables of this level are customers of the
    # next.
    cdef vector[int32_t] who, where, what
    cdef vector[int64_t] first_bin
    cdef int64_t first_table = 0, before
    cdef SeatingDraw drawn
    first_bin.assign(n_nodes + 1, 0)
    if n > 0:
        drawn.seat = &seats[0]
    if n_tables > 0:
        drawn.node = &t[0, 0]
        drawn.dish = &t[1, 0]
        drawn.above = &t[2, 0]
    drawn.n_tables = 0
    drawn.bin_node = bin_node
    drawn.bin_dish = bin_dish
    drawn.bin_size = bin_size
    drawn.bin_count = bin_count
    with nogil:
        for i in range(n_bins):
            first_bin[of_bin[i] + 1] += 1
        for i in range(n_nodes):
            first_bin[i + 1] += first_bin[i]
        drawn.first_bin = first_bin.data()
        for at_level in range(<int32_t>n_levels - 1, -1, -1):
            before = drawn.n_tables
            if deepest and ordered and at_level == n_levels - 1:
                seat_all(&drawn, n, NULL, start_of(home), dish, n_dishes, &source.c)
                continue
            who.clear()
            where.clear()
            what.clear()
            for i in range(0 if deepest and at_level < n_levels - 1 else n):
                if dish[i] >= 0 and level[home[i]] == at_level:
                    who.push_back(<int32_t>i)
                    where.push_back(home[i])
                    what.push_back(dish[i])
            # In a graph a parent may be several levels up.
            for i in range(0 if graph else first_table, before):
                node = parent[drawn.node[i]]
                if level[node] == at_level:
                    who.push_back(~<int32_t>i)
                    where.push_back(node)
                    what.push_back(drawn.dish[i])
            first_table = before
            if not is_sorted(where.data(), where.data() + where.size()):
                by_restaurant(&where, &who, &what, n_nodes)
            seat_all(&drawn, <int64_t>who.size(), who.data(), where.data(), what.data(), n_dishes, &source.c)
        if drawn.n_tables < n_tables:       # a restaurant with tables has no customers
            misfit()
    return (seat, *tables)
