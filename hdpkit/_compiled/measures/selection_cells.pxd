"""Coefficients of a sparse topic's predictive for neighbouring numbers of terms and customers at once."""

from libc.stdint cimport int64_t

from hdpkit._compiled.measures.selection_law cimport SelectionLaw
from hdpkit._compiled.measures.selection_nodes cimport MOST_ROWS, SelectionNodes

cdef enum:
    MOST_COLUMNS = 32


cdef struct Coefficients:
    double inside       # f(v) = (n_v + lambda) * inside for a term that the dish has; 0 if it has none
    double outside      # f(v) = outside for a term that it doesn't have; 0 if it has all terms


cdef cppclass Cell:
    int64_t a, n               # smallest numbers of terms and customers
    int64_t rows, columns      # numbers of values of each
    Coefficients values[MOST_ROWS * MOST_COLUMNS]
    double log_shares[MOST_ROWS * MOST_COLUMNS]     # log of Z(a, n) G(lambda a + n) / G(lambda a)


cdef inline int64_t cell_columns(int64_t n) noexcept nogil:
    """The number of values of n computed together: a power of two up to sqrt(n)."""
    cdef int64_t columns = 1
    if n >= MOST_COLUMNS * MOST_COLUMNS:
        return MOST_COLUMNS
    while columns < MOST_COLUMNS and 4 * columns * columns <= n:
        columns *= 2
    return columns


cdef inline int64_t cell_rows(int64_t a) noexcept nogil:
    """The number of values of a computed together, if one set of nodes is accurate for them."""
    cdef int64_t rows = 1
    if a >= MOST_ROWS * MOST_ROWS:
        return MOST_ROWS
    while rows < MOST_ROWS and 4 * rows * rows <= a:
        rows *= 2
    return rows


cdef int fill_cell(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, Cell *cell) noexcept nogil
