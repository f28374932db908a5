"""Sums with few nodes for a unimodal distribution of the number of selected terms."""

from libc.stdint cimport int64_t

from hdpkit._compiled.measures.selection_law cimport SelectionLaw
from hdpkit._compiled.measures.selection_nodes cimport SelectionNodes


cdef int gather_bell(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, int64_t rows,
                     int64_t length) noexcept nogil
