"""Changes of counts by term and slot as bytes."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from hdpkit.vectors cimport vector


cdef struct Reader:
    const uint8_t *at
    const uint8_t *end
    int64_t place        # of the last change
    int64_t change
    bint broken


cdef cppclass Written:   # changes of some rows
    vector[uint8_t] out
    int64_t size         # bytes of `out` that are written: all changes but the first
    int64_t first, change, last      # places of the first and the last change, and the first; -1 where there is none
    bint starved


cdef void write_rows(Written *written, int32_t *cells, int64_t first, int64_t last, int64_t stride, int64_t n_slots) noexcept nogil
cdef bytes joined(vector[Written] *pieces)
cdef Reader reader_of(bytes sparse) except *
cdef void add_rows(Reader *r, int32_t *cells, int64_t first, int64_t last, int64_t stride, int64_t n_slots) noexcept nogil
cdef int check_whole(Reader *r) except -1
