"""A sum over all numbers of selected terms as one over a few dozen nodes."""

from libc.stdint cimport int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.measures.selection_law cimport SelectionLaw

cdef enum:
    MOST_ROWS = 8              # numbers of distinct terms that one set of nodes serves for


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
    int64_t y0                 # a number with about the largest weight
    double total               # sum of the weights


cdef int gather(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, int64_t rows,
                int64_t length) noexcept nogil
cdef double span_total(const SelectionLaw *law, int64_t a, int64_t n, int64_t begin, int64_t length,
                       int64_t y0) noexcept nogil
