"""Sums of a sparse topic by its numbers of distinct terms and customers, for banks and sweeps."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from hdpkit.measures._selection_nodes cimport (
    MOST_COLUMNS, MOST_ROWS, Coefficients, Entry, SelectionLaw, SelectionNodes, entry_length,
)
from hdpkit.random._source cimport choice_source
from hdpkit.vectors cimport bytes_of, has_room, vector

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define HDPKIT_FETCH(address) __builtin_prefetch((address), 0, 3)
    #else
    #define HDPKIT_FETCH(address) ((void)(address))
    #endif
    """
    void HDPKIT_FETCH(const void *address) noexcept nogil

cdef enum:
    NEAR = 4             # entries whose places are kept for each slot: two by two
    STEPS = 24           # most customers of a small block
    RATIOS = (STEPS + 1) * (STEPS + 2) // 2


cdef struct KeptEntry:
    int64_t stamp, a, n     # stamp of the distribution, first numbers of terms and customers; stamp 0: no entry
    int64_t rows            # numbers of terms
    int64_t place           # of the first value; -1: rows are too different, so each is a separate entry


cdef cppclass SelectionTable:
    vector[KeptEntry] entries          # hash table with open addressing: a power of two of places, at least half empty
    vector[Coefficients] values     # entry by entry, row by row
    vector[double] log_shares       # in the same order
    int64_t n_entries
    int64_t times_emptied           # places from before the last one are invalid
    int64_t limit                   # largest number of bytes of these three; 0 until a distribution is set
    int64_t last_stamp
    SelectionNodes nodes            # scratch
    Entry entry                       # scratch


cdef inline uint64_t entry_hash(int64_t stamp, int64_t a, int64_t n, int64_t rows) noexcept nogil:
    cdef uint64_t h = <uint64_t>stamp * 0x9E3779B97F4A7C15u + <uint64_t>(a * 32 + rows) * 0xC2B2AE3D27D4EB4Fu + <uint64_t>n
    h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9u
    return h ^ (h >> 32)


cdef inline const KeptEntry *kept_entry(SelectionTable *table, int64_t stamp, int64_t a, int64_t n, int64_t rows) noexcept nogil:
    """The entry that begins there, NULL if it isn't in the table."""
    cdef int64_t mask = <int64_t>table.entries.size() - 1, place
    cdef const KeptEntry *entry
    if mask < 0:
        return NULL
    place = <int64_t>(entry_hash(stamp, a, n, rows) & <uint64_t>mask)
    while True:
        entry = &table.entries[place]
        if entry.stamp == stamp and entry.a == a and entry.n == n and entry.rows == rows:
            return entry
        if entry.stamp == 0:
            return NULL
        place = (place + 1) & mask


cdef inline const KeptEntry *entry_at(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n) noexcept nogil:
    """The entry of a dish with a terms and n customers, 1 <= a <= V or a = n = 0, until the next call.

    Values depend only on the distribution, a and n. NULL if out of memory; then nothing has changed.
    """
    cdef int64_t first = n & -entry_length(n, MOST_COLUMNS), rows = entry_length(a, MOST_ROWS)
    cdef const KeptEntry *entry = kept_entry(table, law.stamp, a & -rows, first, rows)
    if entry != NULL and entry.place < 0:
        entry = kept_entry(table, law.stamp, a, first, 1)
    return entry_added(table, law, a, n) if entry == NULL else entry


cdef inline int64_t place_in(const KeptEntry *entry, int64_t a, int64_t n) noexcept nogil:
    return entry.place + (a - entry.a) * entry_length(n, MOST_COLUMNS) + (n - entry.n)


cdef inline int64_t selection_at(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n) noexcept nogil:
    """Place of the values of a dish with a terms and n customers, until the next call; -1 if out of memory."""
    cdef const KeptEntry *entry = entry_at(table, law, a, n)
    return -1 if entry == NULL else place_in(entry, a, n)


cdef const KeptEntry *entry_added(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n) noexcept nogil
cdef int set_integrated(SelectionTable *table, SelectionLaw *law, int64_t n_terms, double smoothing, double r,
                        double s) noexcept nogil
cdef int set_given(SelectionTable *table, SelectionLaw *law, int64_t n_terms, double smoothing, double log_pi,
                   double log_rest) noexcept nogil
cdef double log_sum_of(const SelectionLaw *law, int64_t a, int64_t n, double log_share) noexcept nogil
cdef double log_sum_ratio(const SelectionLaw *law, int64_t a0, int64_t n0, double share0, int64_t a1, int64_t n1,
                          double share1) noexcept nogil
cdef int64_t draw_more(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n,
                       choice_source *source) noexcept nogil
cdef double expected_more(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n) noexcept nogil
cdef int64_t table_bytes(SelectionTable *table) noexcept nogil


cdef class Selection:
    cdef SelectionLaw law
    cdef SelectionTable table

    cdef int64_t at(self, object a, object n) except -1
    cdef int check(self, object a, object n) except -1


# ------------------------------------------------------------------------------------------ near values
# Values of a slot and its neighbours in the table of sums, for frequent access by sweeps. When a customer enters or
# leaves, the dish changes by one customer and by at most one term. So the places of the entries used last are kept for
# each slot, and when a value is read, the cache lines of neighbouring values are prefetched: they are likely to be
# needed next and would not be in the cache.

cdef struct NearEntry:
    int64_t a, n                    # the first numbers of terms and of customers
    int64_t rows, columns           # numbers of rows and columns; 0: no entry
    int64_t place                   # of the first value


cdef struct NearEntries:
    int64_t stamp                   # of the distribution to which the entries belong,
    int64_t times_emptied           # value for which the places are valid
    NearEntry entries[NEAR]


cdef inline void forget_entries(NearEntries *near, int64_t stamp, int64_t times_emptied) noexcept nogil:
    cdef int i
    near.stamp = stamp
    near.times_emptied = times_emptied
    for i in range(NEAR):
        near.entries[i].a = near.entries[i].n = near.entries[i].rows = near.entries[i].columns = near.entries[i].place = 0


cdef inline const NearEntry *near_entry(NearEntries *near, SelectionTable *table, const SelectionLaw *law, int64_t a,
                                      int64_t n) noexcept nogil:
    """The entry of (a, n); NULL if out of memory."""
    cdef int64_t columns = entry_length(n, MOST_COLUMNS), rows = entry_length(a, MOST_ROWS)
    cdef NearEntry *entry = &near.entries[(1 if a & rows else 0) + (2 if n & columns else 0)]
    cdef const KeptEntry *kept
    if (near.stamp != law.stamp or near.times_emptied != table.times_emptied
            or <uint64_t>(a - entry.a) >= <uint64_t>entry.rows or <uint64_t>(n - entry.n) >= <uint64_t>entry.columns):
        kept = entry_at(table, law, a, n)
        if kept == NULL:
            return NULL
        if near.stamp != law.stamp or near.times_emptied != table.times_emptied:
            forget_entries(near, law.stamp, table.times_emptied)
        entry.a = kept.a
        entry.n = kept.n
        entry.rows = kept.rows
        entry.columns = columns
        entry.place = kept.place
    return entry


cdef inline const Coefficients *near_value(NearEntries *near, SelectionTable *table, const SelectionLaw *law, int64_t a,
                                           int64_t n) noexcept nogil:
    """Values at (a, n), until the next call; NULL if out of memory."""
    cdef const NearEntry *entry = near_entry(near, table, law, a, n)
    if entry == NULL:
        return NULL
    return table.values.data() + (entry.place + (a - entry.a) * entry.columns + (n - entry.n))


cdef inline int near_values(NearEntries *near, SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n,
                            double *out) noexcept nogil:
    """Both values at (a, n), then both at (a, n - 1), or the same again if n = a. -1 if out of memory."""
    cdef const NearEntry *entry = near_entry(near, table, law, a, n)
    cdef const Coefficients *value
    cdef int64_t row, column
    if entry == NULL:
        return -1
    row = a - entry.a
    column = n - entry.n
    value = table.values.data() + (entry.place + row * entry.columns + column)
    out[0] = value.inside
    out[1] = value.outside
    if column > 0:
        out[2] = value[-1].inside
        out[3] = value[-1].outside
        # Not in a separate function: GCC removes a function that only prefetches.
        if row > 0:
            HDPKIT_FETCH(value - entry.columns - 1)
        if row + 1 < entry.rows:
            HDPKIT_FETCH(value + entry.columns)
    elif n == a:
        out[2] = out[0]
        out[3] = out[1]
    else:
        value = near_value(near, table, law, a, n - 1)
        if value == NULL:
            return -1
        out[2] = value.inside
        out[3] = value.outside
    return 0


# ----------------------------------------------------------------------------------------------- blocks
# Ratios of the sums with and without a small block of customers, cached by slot. The ratio depends only on the size of
# the block, the number of its terms that the dish doesn't have, and the dish's numbers of terms and customers. A sweep
# over tables uses the same ratios many times, because each table changes at most two dishes.

cdef cppclass BlockRatios:
    vector[double] values           # by size and new terms, then by slot; negative: not computed
    vector[int64_t] distinct        # the terms and customers of each slot for which they are valid,
    vector[int64_t] total
    vector[int64_t] stamps          # and the distribution
    int64_t n_slots


cdef inline int ready_ratios(BlockRatios *kept, int64_t n_slots) noexcept nogil:
    """Make room for this many slots; -1 if out of memory. If the number changes, the cache is cleared."""
    if kept.n_slots == n_slots:
        return 0
    if not (has_room(kept.values, RATIOS * n_slots) and has_room(kept.distinct, n_slots)
            and has_room(kept.total, n_slots) and has_room(kept.stamps, n_slots)):
        return -1
    kept.values.resize(RATIOS * n_slots)
    kept.distinct.resize(n_slots)
    kept.total.resize(n_slots)
    kept.stamps.assign(n_slots, -1)
    kept.n_slots = n_slots
    return 0


cdef inline void hold_for(BlockRatios *kept, int32_t slot, int64_t distinct, int64_t total, int64_t stamp) noexcept nogil:
    """Prepare a slot for these numbers: ratios for other numbers are discarded."""
    cdef int64_t i
    cdef double *value
    if kept.distinct[slot] != distinct or kept.total[slot] != total or kept.stamps[slot] != stamp:
        value = kept.values.data() + slot
        for i in range(RATIOS):
            value[i * kept.n_slots] = -1.0
        kept.distinct[slot] = distinct
        kept.total[slot] = total
        kept.stamps[slot] = stamp


cdef inline double *ratio_at(BlockRatios *kept, int32_t slot, int64_t size, int64_t more) noexcept nogil:
    return kept.values.data() + ((size * (size + 1) // 2 + more) * kept.n_slots + slot)


cdef inline double block_ratio(BlockRatios *kept, int32_t slot, int64_t size, int64_t more, NearEntries *near,
                               SelectionTable *table, const SelectionLaw *law) noexcept nogil:
    """Z with a block of this size and ``more`` new terms, over Z without it; negative if out of memory.

    It is a product over the customers, new terms first: outside / smoothing for a new term, inside for any
    other.
    """
    cdef double *found = ratio_at(kept, slot, size, more)
    cdef const Coefficients *value
    cdef double ratio = 1.0
    cdef int64_t i
    if found[0] < 0.0:
        for i in range(size):
            value = near_value(near, table, law, kept.distinct[slot] + min(i, more), kept.total[slot] + i)
            if value == NULL:
                return -1.0
            ratio *= value.outside / law.smoothing if i < more else value.inside
        found[0] = ratio
    return found[0]


cdef inline int64_t ratio_bytes(const BlockRatios *kept) noexcept nogil:
    return bytes_of(kept.values, kept.distinct, kept.total, kept.stamps)
