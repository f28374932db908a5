"""Sums of a sparse topic by its numbers of distinct terms and customers, for banks and sweeps."""

from libc.stdint cimport int64_t, uint64_t
from hdpkit.vectors cimport vector

from hdpkit.measures._selection_nodes cimport (
    MOST_COLUMNS, MOST_ROWS, Entry, Coefficients, SelectionNodes, entry_length,
)
from hdpkit.measures._selection_law cimport SelectionLaw
from hdpkit.random._source cimport choice_source


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
cdef double log_density_of_more(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n,
                                int64_t y) noexcept nogil
cdef int64_t table_bytes(SelectionTable *table) noexcept nogil


cdef class Selection:
    cdef SelectionLaw law
    cdef SelectionTable table

    cdef int64_t at(self, object a, object n) except -1
    cdef int check(self, object a, object n) except -1
