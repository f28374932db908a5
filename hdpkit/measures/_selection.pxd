"""Sums of a sparse topic by its numbers of distinct terms and customers, for banks and sweeps."""

from libc.stdint cimport int64_t, uint64_t
from hdpkit.vectors cimport vector

from hdpkit.measures._selection_nodes cimport (
    MOST_COLUMNS, MOST_ROWS, Cell, Coefficients, SelectionNodes, cell_length,
)
from hdpkit.measures._selection_law cimport SelectionLaw
from hdpkit.random._source cimport choice_source


cdef struct KeptCell:
    int64_t stamp, a, n     # stamp of the distribution, first numbers of terms and customers; stamp 0: no cell
    int64_t rows            # numbers of terms
    int64_t place           # of the first value; -1: rows are too different, so each is a separate cell


cdef cppclass SelectionTable:
    vector[KeptCell] cells          # hash table with open addressing: a power of two of places, at least half empty
    vector[Coefficients] values     # cell by cell, row by row
    vector[double] log_shares       # in the same order
    int64_t n_cells
    int64_t times_emptied           # places from before the last one are invalid
    int64_t limit                   # largest number of bytes of these three; 0 until a distribution is set
    int64_t last_stamp
    SelectionNodes nodes            # scratch
    Cell cell                       # scratch


cdef inline uint64_t cell_hash(int64_t stamp, int64_t a, int64_t n, int64_t rows) noexcept nogil:
    cdef uint64_t h = <uint64_t>stamp * 0x9E3779B97F4A7C15u + <uint64_t>(a * 32 + rows) * 0xC2B2AE3D27D4EB4Fu + <uint64_t>n
    h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9u
    return h ^ (h >> 32)


cdef inline const KeptCell *kept_cell(SelectionTable *table, int64_t stamp, int64_t a, int64_t n, int64_t rows) noexcept nogil:
    """The cell that begins there, NULL if it isn't in the table."""
    cdef int64_t mask = <int64_t>table.cells.size() - 1, place
    cdef const KeptCell *cell
    if mask < 0:
        return NULL
    place = <int64_t>(cell_hash(stamp, a, n, rows) & <uint64_t>mask)
    while True:
        cell = &table.cells[place]
        if cell.stamp == stamp and cell.a == a and cell.n == n and cell.rows == rows:
            return cell
        if cell.stamp == 0:
            return NULL
        place = (place + 1) & mask


cdef inline const KeptCell *cell_at(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n) noexcept nogil:
    """The cell of a dish with a terms and n customers, 1 <= a <= V or a = n = 0, until the next call.

    Values depend only on the distribution, a and n. NULL if out of memory; then nothing has changed.
    """
    cdef int64_t first = n & -cell_length(n, MOST_COLUMNS), rows = cell_length(a, MOST_ROWS)
    cdef const KeptCell *cell = kept_cell(table, law.stamp, a & -rows, first, rows)
    if cell != NULL and cell.place < 0:
        cell = kept_cell(table, law.stamp, a, first, 1)
    return cell_added(table, law, a, n) if cell == NULL else cell


cdef inline int64_t place_in(const KeptCell *cell, int64_t a, int64_t n) noexcept nogil:
    return cell.place + (a - cell.a) * cell_length(n, MOST_COLUMNS) + (n - cell.n)


cdef inline int64_t selection_at(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n) noexcept nogil:
    """Place of the values of a dish with a terms and n customers, until the next call; -1 if out of memory."""
    cdef const KeptCell *cell = cell_at(table, law, a, n)
    return -1 if cell == NULL else place_in(cell, a, n)


cdef const KeptCell *cell_added(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n) noexcept nogil
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
