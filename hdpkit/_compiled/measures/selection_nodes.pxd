"""A sum over all numbers of selected terms as one over a few dozen nodes."""

from libc.stdint cimport int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.measures.selection_law cimport SelectionLaw

cdef enum:
    MOST_ROWS = 16             # numbers of distinct terms that one set of nodes serves for


cdef cppclass Span:
    int64_t first, last        # pieces of the partition; within one piece: first == last - 1
    int64_t begin, end         # y from begin, before end
    double concave[3]          # parts of the log weight at begin, in the middle and at the end
    double convex[3]
    int64_t at[3]              # where these are
    double bound               # no log weight within is above it
    int64_t n_nodes            # of an accepted span: how many nodes, in the order of spans
    double total


cdef cppclass SelectionNodes:
    vector[int64_t] pieces     # where pieces begin, and the end of the last
    vector[Span] pending, spans
    vector[double] y           # nodes
    vector[double] weight      # of the node times the weight of y, relative to the weight of y0
    vector[double] factor      # scratch of cells
    double y0                  # where about the weight is the largest
    double total               # sum of the weights


cdef cppclass Peak:
    const SelectionLaw *law
    int64_t a, n
    int64_t rows, length       # nodes shall serve for a .. a + rows - 1 terms and n .. n + length - 1 customers
    int64_t top                # a number with the largest log weight so far
    double largest[MOST_ROWS + 1]      # of log weight + i log y
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
