"""Sums over all numbers of selected terms as sums over a few dozen nodes."""

from libc.stdint cimport int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.measures.selection_law cimport SelectionLaw

cdef enum:
    MOST_ROWS = 16             # most numbers of distinct terms with a common set of nodes


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
    vector[double] factor      # scratch of cells
    double y0                  # approximate position of the largest weight
    double total               # sum of the weights


cdef cppclass Peak:
    const SelectionLaw *law
    int64_t a, n
    int64_t rows, length       # nodes must be accurate for a .. a + rows - 1 terms and n .. n + length - 1 customers
    int64_t top                # the y with the largest log weight so far
    double largest[MOST_ROWS + 1]      # largest log weight + i log y
    double log_size[MOST_ROWS + 1]     # log of lambda R + n there


cdef inline void share(const Span *span, int of, Span *part, int to) noexcept nogil:
    part.at[to] = span.at[of]
    part.concave[to] = span.concave[of]
    part.convex[to] = span.convex[of]


cdef void start_peak(Peak *peak, const SelectionLaw *law, int64_t a, int64_t n, int64_t rows, int64_t length) noexcept nogil
cdef void look(Peak *peak, Span *span, int which) noexcept nogil
cdef double depth_of(const Peak *peak, const Span *span) noexcept nogil
cdef double span_bound(const Span *span) noexcept nogil
cdef int gather(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, int64_t rows,
                int64_t length) noexcept nogil
cdef double span_total(const SelectionLaw *law, int64_t a, int64_t n, int64_t begin, int64_t length,
                       double y0) noexcept nogil
