"""What a sparse topic's predictive needs, for some neighbouring numbers of terms and of customers at once."""

from libc.stdint cimport int64_t

from hdpkit._compiled.measures.selection_law cimport SelectionLaw
from hdpkit._compiled.measures.selection_nodes cimport MOST_ROWS, SelectionNodes

cdef enum:
    MOST_COLUMNS = 32


cdef struct Coefficients:
    double inside       # f(v) = (n_v + lambda) * inside for a term that the dish has; 0 where it has none
    double outside      # f(v) = outside for a term that it doesn't have; 0 where it has all


cdef cppclass Cell:
    int64_t a, n               # the least numbers of terms and of customers
    int64_t rows, columns      # how many of either
    Coefficients values[MOST_ROWS * MOST_COLUMNS]
    double log_shares[MOST_ROWS * MOST_COLUMNS]     # log of Z(a, n) G(lambda a + n) / G(lambda a)


cdef inline int64_t cell_columns(int64_t n) noexcept nogil:
    """How many numbers of customers have their values computed together: a power of two up to sqrt(n)."""
    cdef int64_t columns = 1
    if n >= MOST_COLUMNS * MOST_COLUMNS:
        return MOST_COLUMNS
    while columns < MOST_COLUMNS and 4 * columns * columns <= n:
        columns *= 2
    return columns


cdef inline int64_t cell_rows(int64_t a) noexcept nogil:
    """The same of numbers of terms, where one set of nodes serves for them."""
    cdef int64_t rows = 1
    if a >= MOST_ROWS * MOST_ROWS:
        return MOST_ROWS
    while rows < MOST_ROWS and 4 * rows * rows <= a:
        rows *= 2
    return rows


cdef int fill_cell(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, Cell *cell) noexcept nogil
