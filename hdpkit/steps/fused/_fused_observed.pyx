# distutils: language = c++
"""Table Gibbs over observed dishes in one pass: any compiled store, any tree of restaurants.

A customer's dish is its value, so a step can only change the tables of that dish, from the customer's
restaurant up to the root, and afterwards every restaurant on this path still serves the dish. So the customer
is not actually removed. A step determines which tables would close, computes predictives from counts without
the customer and these tables, draws which tables open and where the customer sits, and writes the difference,
if there is any. Entries are neither created nor erased during a call, so they don't move, and those of many
customers are looked up at a time, which hides the latency of memory.

A step has the same distribution as in `sweeps.reseat`. The same code is compiled for a `RandomStream`, with
an inlined generator, and for any other source: with a script, a test runs every branch of it.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from hdpkit.stores._explicit cimport ExplicitStore, Table
from hdpkit.stores._histogram cimport Bin, HistogramStore
from hdpkit.measures._measure cimport CompiledBank, pending_exception
from hdpkit.stores._seating cimport ENTRY_WORDS, SAMPLED, Entry, Node, Seating
from hdpkit.steps._walk cimport Walk
from hdpkit.errors import StateError
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.random.philox cimport philox, philox_next_double
from hdpkit.vectors cimport has_place, vector
from hdpkit.random import RandomStream

STORES = (HistogramStore, ExplicitStore)     # exactly these: the code accesses their tables directly

# --------------------------------------------------------------------------------------------- draws
# For a `RandomStream`, with an inlined generator, and for any other source. With a stream, one pass over the
# options draws. A script needs all weights first, so there is a second pass over the options.

cdef enum:
    FAILED = -2            # no option has a positive weight, or a weight is invalid

ctypedef fused source_t:
    philox
    choice_source


cdef cppclass Work:
    vector[double] weights
    int64_t stop               # the option to stop at; -1: weights are being collected
    double left                # remainder of the threshold of a draw
    bint failed                # an allocation failed


cdef inline int coin(source_t *source, double yes, double no) noexcept nogil:
    """1 with odds yes : no; FAILED if these are invalid."""
    cdef double total = yes + no
    if not (0.0 < total < INFINITY):
        return FAILED
    if source_t is philox:
        return philox_next_double(source) * total < yes
    else:
        return <int>source.bernoulli(source.state, yes / total)


cdef inline int begin(source_t *source, Work *work, double total) noexcept nogil:
    """Begin a draw among options whose weights sum to ``total`` up to rounding."""
    if source_t is philox:
        work.left = philox_next_double(source) * total
    else:
        work.weights.clear()
        work.failed = False
        work.stop = -1
    return 0 if 0.0 < total < INFINITY else FAILED


cdef inline bint stops(source_t *source, Work *work, double weight) noexcept nogil:
    """Whether the next option is the drawn one; in the first pass of a script, only collect its weight.

    If rounding leaves a remainder of the threshold, the last option is taken.
    """
    if source_t is philox:
        work.left -= weight
        return work.left < 0.0
    else:
        if work.stop < 0:
            work.failed = work.failed or not has_place(work.weights)
            if not work.failed:
                work.weights.push_back(weight)
            return False
        work.stop -= 1
        return work.stop < 0


cdef inline int settle(source_t *source, Work *work) noexcept nogil:
    """After a pass over all options: 1 if a second pass is needed, FAILED if the draw is impossible."""
    if source_t is philox:
        return 0
    else:
        if work.failed:
            return FAILED
        work.stop = source.choose(source.state, work.weights.data(), work.weights.size())
        return 1 if work.stop >= 0 else FAILED


# ------------------------------------------------------------------------------------- paths to the root
# Restaurants, and the entries of their dishes, for many customers at a time: no entry is added or removed. A path
# is looked up in stages, each for a complete batch and some batches ahead of the sweep, so that memory prefetched
# by one stage has arrived when the next one needs it.

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define HDPKIT_PREFETCH(address) __builtin_prefetch(address)
    #else
    #define HDPKIT_PREFETCH(address) ((void)(address))
    #endif
    """
    void prefetch "HDPKIT_PREFETCH"(const void *address) noexcept nogil

cdef enum:
    BATCH = 16             # customers whose paths are looked up together
    AHEAD_HOMES = 3       # by how many batches each stage is ahead of the sweep
    AHEAD_PATHS = 1         # one less than a power of two


ctypedef struct Level:     # a restaurant on a customer's path to the root
    Node *node
    Entry *entry       # of the customer's dish; until it is found, the first of a range of entries
    double theta
    double d
    double above       # P of the dish in the parent; H above the root
    int32_t left       # the table that the customer (or its table below) leaves; its size, in a histogram
    int32_t length     # of the range


cdef cppclass Batch:
    vector[Level] levels           # of the customers of a batch, consecutively
    int32_t begins[BATCH + 1]      # place of each customer's restaurant among them


cdef inline void fetch_homes(Walk walk, Seating store, int64_t first, int64_t last) noexcept nogil:
    """First stage: prefetch the restaurants of customers."""
    cdef int64_t i
    cdef int32_t r
    for i in range(first, last):
        r = walk.home[i]
        prefetch(&store.nodes[r])
        prefetch(&store.nodes[r].capacity)
        prefetch(&walk.parent[r])


cdef inline int narrow(Walk walk, Seating store, Batch *batch, int64_t first, int64_t last) except -1 nogil:
    """Second stage: all levels, and for each the range of at most 16 entries that contains the dish."""
    cdef int32_t n = 0, r, dish, begin, end, n_atoms = <int32_t>walk.base.shape[0] - 1
    cdef int64_t lane, offset, low, high, half, length
    cdef const int32_t *samples = store.samples.data()
    cdef Level *level = batch.levels.data()
    cdef Node *node
    for lane in range(last - first):
        batch.begins[lane] = n
        dish = walk.value[first + lane]
        r = walk.home[first + lane]
        while r >= 0:
            if n == <int32_t>batch.levels.size():
                batch.levels.resize(2 * n + BATCH)
                level = batch.levels.data()
            node = &store.nodes[r]
            # Entries are sorted: the place of the dish's entry is at most its number, and at least its number
            # minus the number of atoms that aren't served. If every atom is served, the place is known.
            begin = dish + node.n_entries - n_atoms
            begin = begin if begin > 0 else 0
            end = dish + 1 if dish < node.n_entries else node.n_entries
            offset = node.offset // ENTRY_WORDS
            low = (offset + begin + (1 << SAMPLED) - 1) >> SAMPLED
            length = ((offset + end - 1) >> SAMPLED) - low + 1
            if length > 0:
                while length > 1:
                    half = length >> 1
                    low += half & -<int64_t>(samples[low + half] <= dish)
                    length -= half
                high = (low << SAMPLED) - offset
                if samples[low] <= dish:
                    begin = <int32_t>high
                    end = end if end < begin + (1 << SAMPLED) else begin + (1 << SAMPLED)
                else:
                    end = <int32_t>high
            level[n].node = node
            level[n].entry = <Entry *>(store.arena.words.data() + node.offset) + begin
            level[n].length = end - begin
            level[n].theta = walk.concentration[r]
            level[n].d = walk.discount[r]
            prefetch(level[n].entry)
            prefetch(level[n].entry + ((end - begin) >> 2))
            prefetch(level[n].entry + ((end - begin) >> 1))
            prefetch(level[n].entry + ((3 * (end - begin)) >> 2))
            n += 1
            r = walk.parent[r]
    batch.begins[last - first] = n
    return 0


cdef inline int64_t find(Walk walk, Batch *batch, int64_t first, int64_t last) noexcept nogil:
    """Last stage: find the entries. Returns a customer whose restaurants don't serve its dish, or -1."""
    cdef int64_t lane
    cdef int32_t m, dish, half, length, i
    cdef Entry *entry
    for lane in range(last - first):
        dish = walk.value[first + lane]
        for m in range(batch.begins[lane], batch.begins[lane + 1]):
            entry = batch.levels[m].entry
            length = batch.levels[m].length
            if length < 1:
                return first + lane
            for i in range(SAMPLED):         # a fixed number of steps, without unpredictable branches
                half = length >> 1
                entry += half & -<int32_t>(entry[half].dish <= dish)
                length -= half
            if entry.dish != dish:
                return first + lane
            batch.levels[m].entry = entry
    return -1


# -------------------------------------------------------------------------------------------- the step

cdef enum:
    NEW = -1       # the seat of a customer at a new table

ctypedef fused store_t:
    ExplicitStore
    HistogramStore


# ------------------------------------------------------------------ tables that close

cdef inline double leaving(Bin *bin) noexcept nogil:
    """Weight of the tables of a size for a customer who leaves: by customer, independent of the discount."""
    return <double>bin.size * bin.count


cdef inline int32_t size_left(HistogramStore store, source_t *source, Work *work, Level *level) noexcept nogil:
    """Draw the size of the table that a customer leaves."""
    cdef int32_t i
    cdef Bin *bin = store.block(level.entry.extra) + 1
    for i in range(store.block(level.entry.extra).size - 1, 0, -1):
        if stops(source, work, leaving(bin + i)):
            return bin[i].size
    stops(source, work, leaving(bin))
    return bin[0].size


cdef inline int leave(store_t store, source_t *source, Work *work, Level *level, int32_t k,
                      int32_t customer) noexcept nogil:
    """Whether the table that the customer (its table below) leaves at level k closes: 1, 0, FAILED."""
    cdef Entry *entry = level[k].entry
    cdef int again
    if store_t is ExplicitStore:
        level[k].left = store.pool[level[k - 1].left].seat if k > 0 else store.of_customer[customer]
        return store.pool[level[k].left].size == 1
    else:
        if entry.tables == 1:
            level[k].left = entry.customers
        elif store.block(entry.extra).size == 1:
            level[k].left = store.block(entry.extra)[1].size
        else:
            if begin(source, work, entry.customers) < 0:
                return FAILED
            level[k].left = size_left(store, source, work, level + k)
            again = settle(source, work)
            if again < 0:
                return FAILED
            if again:
                level[k].left = size_left(store, source, work, level + k)
        return level[k].left == 1


# ------------------------------------------------------------------ predictives without the customer

cdef inline double opening(Level *level, bint closed) noexcept nogil:
    """theta + d T, the weight of a new table before the parent's share."""
    return level.theta + level.d * (level.node.tables - closed)


cdef inline double predictive(Level *level, bint left, bint closed, double above) noexcept nogil:
    """P of the dish in a restaurant without the customer (``left``), whose table may have closed."""
    cdef Entry *entry = level.entry
    cdef int64_t customers = level.node.customers - left
    cdef double share = (entry.customers - left) - level.d * (entry.tables - closed)
    cdef double fresh = opening(level, closed) * above
    if customers == 0:        # the predictive of an empty restaurant is its parent's
        return above
    return (share + fresh) / (level.theta + customers)


# ------------------------------------------------------------------ the customer's new seat

cdef inline int32_t seat_among(store_t store, source_t *source, Work *work, Level *level, int32_t gone,
                               double fresh) noexcept nogil:
    """Pass over the options at a level: a new table, the one that the customer has left, those of the dish.

    ``gone`` is the table that the customer left, or its size; NEW if there is none here. In this order few
    options are visited: many customers return to their tables, and large tables come first.
    """
    cdef int32_t chosen = NEW, i, count, table
    cdef double d = level.d
    cdef Bin *bin
    if stops(source, work, fresh):
        return NEW
    if store_t is ExplicitStore:
        if gone != NEW and store.pool[gone].size > 1:
            if stops(source, work, (store.pool[gone].size - 1) - d):
                return gone
        table = level.entry.extra
        while table >= 0:
            if table != gone:
                chosen = table
                if stops(source, work, store.pool[table].size - d):
                    return table
            table = store.pool[table].next
    else:
        if gone > 1 and stops(source, work, (gone - 1) - d):
            return gone - 1
        bin = store.block(level.entry.extra) + 1
        for i in range(store.block(level.entry.extra).size - 1, -1, -1):
            count = bin[i].count - (bin[i].size == gone)
            if count > 0:
                chosen = bin[i].size
                if stops(source, work, (chosen - d) * count):
                    return chosen
    return chosen


cdef inline int32_t seat(store_t store, source_t *source, Work *work, Level *level, bint left,
                         bint closed) noexcept nogil:
    """Draw the table that the customer joins at a level (its size, in a histogram), NEW or FAILED."""
    cdef Entry *entry = level.entry
    cdef int32_t customers = entry.customers - left, tables = entry.tables - closed, chosen
    cdef double fresh = opening(level, closed) * level.above
    cdef double share = customers - level.d * tables
    cdef int drawn
    if tables == 1:
        drawn = coin(source, fresh, share)
        if drawn != 0:
            return NEW if drawn > 0 else FAILED
        if store_t is ExplicitStore:
            return store.pool[entry.extra].next if closed and entry.extra == level.left else entry.extra
        else:
            return customers
    if begin(source, work, fresh + share) < 0:
        return FAILED
    chosen = seat_among(store, source, work, level, level.left if left else NEW, fresh)
    drawn = settle(source, work)
    if drawn < 0:
        return FAILED
    return seat_among(store, source, work, level, level.left if left else NEW, fresh) if drawn else chosen


# ------------------------------------------------------------------ writing the difference

cdef inline int resize(HistogramStore store, Entry *entry, int32_t size, int32_t by) except -1 nogil:
    """Add ``by`` (1 or -1) to the size of a table of this size."""
    cdef Bin *bin = store.block(entry.extra) + 1
    cdef int32_t n = store.block(entry.extra).size, i = 0, j
    while bin[i].size != size:
        i += 1
    j = i + by
    if bin[i].count == 1 and not (0 <= j < n and bin[j].size == size + by):
        bin[i].size += by
        return 0
    store.change(entry, size, -1)
    return store.change(entry, size + by, 1)


cdef inline int refill(HistogramStore store, Level *level, int32_t before, int32_t k, int32_t closed,
                       int32_t opened, int32_t sits) except -1 nogil:
    """Update the histogram of a level whose counts are up to date; it had ``before`` tables of the dish."""
    cdef Entry *entry = level.entry
    if entry.tables == 1:                 # the table's size is the number of customers
        if before > 1:
            store.drop(entry)
        return 0
    if before == 1:                       # a second table has opened
        store.change(entry, entry.customers - 1, 1)
        return store.change(entry, 1, 1)
    if k < closed:
        store.change(entry, 1, -1)
    elif k == closed:
        resize(store, entry, level.left, -1)
    if k < opened:
        store.change(entry, 1, 1)
    elif k == opened:
        resize(store, entry, sits, 1)
    return 0


cdef inline int32_t stays(store_t store, Level *level) noexcept nogil:
    """The seat of a customer who returns to the table that it left (or to one of the same size)."""
    if store_t is ExplicitStore:
        return level.left
    else:
        return level.left - 1


cdef inline int move(store_t store, source_t *source, Level *level, int32_t last, int32_t customer,
                     int32_t closed, int32_t opened, int32_t sits) except -1 nogil:
    """Write the changes: tables closed below level ``closed`` and opened below level ``opened``.

    If both happened at a level, the table is kept and nothing is written. At level ``closed`` a customer left
    a table that remains; at level ``opened`` one joined a table (unless the level is above the root).
    """
    cdef int32_t k = closed if closed < opened else opened, top = closed + opened - k, before, table
    cdef int32_t code
    cdef Entry *entry
    if closed == opened and (k > last or sits == stays(store, level + k)):
        return 0
    store.ready_tables(top - k + 1)       # nothing below can fail
    if store_t is ExplicitStore:
        code = ~level[k - 1].left if k > 0 else customer
        if closed <= last:
            store.pool[level[closed].left].size -= 1
        while k < opened:
            table = store.new_table(<int32_t>(level[k].node - store.nodes.data()), level[k].entry)
            store.take_seat(code, table)
            code = ~table
            k += 1
        if opened <= last:
            store.take_seat(code, sits)
            store.pool[sits].size += 1
            store.promote(level[opened].entry, sits)
        for k in range(opened, closed):
            store.unlink(level[k].entry, level[k].left)
            store.free(level[k].left)
        k = closed if closed < opened else opened
    while k <= top and k <= last:
        entry = level[k].entry
        before = entry.tables
        entry.customers += (k <= opened) - (k <= closed)
        entry.tables += (k < opened) - (k < closed)
        if entry.tables > store.most_tables:
            store.most_tables = entry.tables
        level[k].node.customers += (k <= opened) - (k <= closed)
        level[k].node.tables += (k < opened) - (k < closed)
        if store_t is HistogramStore:
            refill(store, level + k, before, k, closed, opened, sits)
        k += 1
    return 0


# ------------------------------------------------------------------ a step

cdef inline int reseat_one(store_t store, source_t *source, Work *work, Level *level, int32_t last,
                           int32_t customer, double base) except -1 nogil:
    """Table Gibbs for one customer, whose path has levels 0 (its restaurant) to ``last`` (the root)."""
    cdef int32_t first = 0, closed, opened, sits = NEW, k
    cdef int leaves
    while first <= last and level[first].entry.customers == 1:    # certainly closes and opens again
        first += 1
    if first > last:
        return 0
    if store_t is ExplicitStore:
        if first > 0:
            level[first - 1].left = level[first - 1].entry.extra
    closed = first
    while closed <= last:
        leaves = leave(store, source, work, level, closed, customer)
        if leaves < 0:
            return impossible(customer)
        if not leaves:
            break
        closed += 1
    for k in range(last, first, -1):
        level[k].above = base
        base = predictive(level + k, k <= closed, k < closed, base)
    level[first].above = base
    opened = first
    while opened <= last:
        sits = seat(store, source, work, level + opened, opened <= closed, opened < closed)
        if sits != NEW:
            break
        opened += 1
    if sits == FAILED:
        return impossible(customer)
    return move(store, source, level, last, customer, closed, opened, sits)


cdef int impossible(int64_t customer) except -1 with gil:
    error = pending_exception()
    if error is not None:
        raise error
    raise FloatingPointError(f"customer {customer} can't be seated")


# ------------------------------------------------------------------ batches

cdef int unserved(int64_t customer) except -1 with gil:
    raise StateError("customer", customer, "one whose restaurants serve its dish", "Thaw a valid state.")


cdef inline void fetch_seats(store_t store, int64_t first, int64_t last) noexcept nogil:
    cdef int64_t i
    if store_t is ExplicitStore:
        for i in range(first, last):
            prefetch(&store.pool[store.of_customer[i]])


cdef inline void fetch_tables(store_t store, Batch *batch, int64_t n) noexcept nogil:
    """Prefetch the tables, or the histograms, of the entries."""
    cdef int32_t m
    for m in range(batch.begins[n]):
        if store_t is ExplicitStore:
            prefetch(&store.pool[batch.levels[m].entry.extra])
        elif batch.levels[m].entry.extra >= 0:
            prefetch(store.block(batch.levels[m].entry.extra))


cdef int sweep(store_t store, source_t *source, Walk walk, int64_t first, int64_t last) except -1 nogil:
    """Sweep over customers in batches; each stage of looking up paths is some batches ahead of the next."""
    cdef Batch batches[AHEAD_PATHS + 1]
    cdef Batch *batch
    cdef Work work
    cdef int64_t b, begin, end, lane, missing
    store.index_entries()
    if store_t is ExplicitStore:
        store.gather()
    for b in range(AHEAD_PATHS + 1):
        batches[b].begins[0] = 0
    for b in range(-AHEAD_HOMES, (last - first + BATCH - 1) // BATCH):
        begin = place(b + AHEAD_HOMES, first, last)
        end = place(b + AHEAD_HOMES + 1, first, last)
        fetch_homes(walk, store, begin, end)
        fetch_seats(store, begin, end)
        narrow(walk, store, batches + ((b + AHEAD_PATHS) & AHEAD_PATHS),
               place(b + AHEAD_PATHS, first, last), place(b + AHEAD_PATHS + 1, first, last))
        begin = place(b + 1, first, last)
        end = place(b + 2, first, last)
        batch = batches + ((b + 1) & AHEAD_PATHS)
        missing = find(walk, batch, begin, end)
        if missing >= 0:
            return unserved(missing)
        fetch_tables(store, batch, end - begin)
        begin = place(b, first, last)
        end = place(b + 1, first, last)
        batch = batches + (b & AHEAD_PATHS)
        for lane in range(end - begin):
            reseat_one(store, source, &work, batch.levels.data() + batch.begins[lane],
                       batch.begins[lane + 1] - batch.begins[lane] - 1, <int32_t>(begin + lane),
                       walk.base[walk.value[begin + lane]])
    return 0


cdef inline int64_t place(int64_t b, int64_t first, int64_t last) noexcept nogil:
    """First customer of a batch by number; batches before and after the range are empty."""
    return min(max(first + b * BATCH, first), last)


cdef int sweep_from(store_t store, Walk walk, int64_t first, int64_t last, ChoiceSource source) except -1:
    if isinstance(source, RandomStream) and not source.overridden:
        with nogil:
            sweep(store, <philox *>source.c.state, walk, first, last)
    else:
        with nogil:
            sweep(store, &source.c, walk, first, last)
    return 0


def reseat(Walk walk not None, CompiledBank bank not None, int64_t first, int64_t last,
           ChoiceSource source not None):
    """Reseat data customers first .. last - 1, one after the other (`sweeps.reseat`, dishes observed)."""
    cdef int64_t i
    walk.check_dishes()
    with nogil:
        for i in range(first, last):
            if walk.store.dish_at(<int32_t>i) < 0:
                with gil:
                    raise StateError(
                        "customer", i, "seated", "Start the franchise, or seat the customer first.")
    if type(walk.store) is ExplicitStore:
        sweep_from[ExplicitStore](walk.store, walk, first, last, source)
    else:
        sweep_from[HistogramStore](walk.store, walk, first, last, source)
