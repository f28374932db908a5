"""Sums over all numbers of selected terms as sums over a few dozen nodes, and entries of coefficients."""

from libc.stdint cimport int64_t

from hdpkit.measures._selection_law cimport SelectionLaw
from hdpkit.vectors cimport vector

cdef enum:
    MOST_ROWS = 16             # most numbers of distinct terms with a common set of nodes
    MOST_COLUMNS = 32          # most numbers of customers


cdef cppclass Span:
    int64_t first, last        # range of pieces of the partition; within one piece first == last - 1
    int64_t begin, end         # y from begin to end - 1
    double concave[3]          # parts of the log weight at begin, in the middle and at the end
    double convex[3]
    int64_t at[3]              # positions of these three
    double bound               # upper bound of the log weights
    int64_t n_nodes            # number of nodes of an accepted span; nodes are in the order of spans
    double total


cdef cppclass SelectionNodes:
    vector[int64_t] pieces     # begin of each piece, and the end of the last
    vector[Span] pending, spans
    vector[double] y           # nodes
    vector[double] weight      # weight of the node times that of y, relative to that of y0
    vector[double] factor      # scratch of entries
    double y0                  # approximate position of the largest weight
    double total               # sum of the weights


cdef struct Coefficients:
    double inside       # f(v) = (n_v + lambda) * inside for a term that the dish has; 0 if it has none
    double outside      # f(v) = outside for a term that it doesn't have; 0 if it has all terms


cdef cppclass Entry:
    int64_t a, n               # smallest numbers of terms and customers
    int64_t rows, columns      # numbers of values of each
    Coefficients values[MOST_ROWS * MOST_COLUMNS]
    double log_shares[MOST_ROWS * MOST_COLUMNS]     # log of Z(a, n) G(lambda a + n) / G(lambda a)


cdef inline int64_t entry_length(int64_t n, int64_t most) noexcept nogil:
    """How many values from n on are computed together: a power of two up to sqrt(n), so that nodes are accurate."""
    cdef int64_t length = 1
    if n >= most * most:
        return most
    while length < most and 4 * length * length <= n:
        length *= 2
    return length


cdef int gather(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, int64_t rows,
                int64_t length) noexcept nogil
cdef double span_total(const SelectionLaw *law, int64_t a, int64_t n, int64_t begin, int64_t length,
                       double y0) noexcept nogil
cdef int gather_bell(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, int64_t rows,
                     int64_t length) noexcept nogil
cdef int fill_entry(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, Entry *entry) noexcept nogil
