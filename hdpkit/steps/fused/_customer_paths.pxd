"""The paths of customers to the root: restaurants, and the entries of their dishes, for many customers at a time.

For sweeps in which no entry is added or removed. A path is looked up in stages, each for a complete batch and
some batches ahead of the sweep, so that memory prefetched by one stage has arrived when the next one needs
it.
"""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.stores._seating cimport ENTRY_WORDS, SAMPLED, Entry, Node, Seating
from hdpkit.steps._walk cimport Walk

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
