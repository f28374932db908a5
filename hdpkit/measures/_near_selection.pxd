"""Values of a slot and its neighbours in the table of sums, for frequent access by sweeps.

When a customer enters or leaves, the dish changes by one customer and by at most one term. So the places of
the entries used last are kept for each slot, and when a value is read, the cache lines of neighbouring values
are prefetched: they are likely to be needed next and would not be in the cache.
"""

from libc.stdint cimport int64_t, uint64_t

from hdpkit.measures._selection cimport KeptEntry, SelectionTable, entry_at
from hdpkit.measures._selection_nodes cimport MOST_COLUMNS, MOST_ROWS, Coefficients, entry_length
from hdpkit.measures._selection_law cimport SelectionLaw

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
    NEAR = 4                        # entries whose places are kept for each slot: two by two


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
