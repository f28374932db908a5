from libc.stdint cimport int32_t, int64_t, uint8_t
from hdpkit.vectors cimport vector

from hdpkit.stores._seating cimport Arena, Entry, Seating
from hdpkit.random._source cimport choice_source


ctypedef struct Bin:
    int32_t size       # in the first bin of a block: number of bins that follow
    int32_t count      # in the first bin of a block: its capacity in bins, including this one


cdef enum:
    BIN_WORDS = 2


cdef class HistogramStore(Seating):
    cdef const int32_t[::1] value          # of each data customer, if dishes are observed
    cdef vector[uint8_t] seated            # one bit per data customer, if dishes are observed
    cdef Arena bins
    cdef int32_t widest                    # largest capacity of a histogram, in bins
    cdef vector[double] weights

    cdef inline Bin *block(self, int32_t extra) noexcept nogil:
        return <Bin *>(self.bins.words.data() + <int64_t>extra * BIN_WORDS)

    cdef int change(self, Entry *entry, int32_t size, int32_t by) except -1 nogil
    cdef int drop(self, Entry *entry) noexcept nogil
    cdef int32_t room_for_bins(self, int32_t extra) noexcept nogil
    cdef int32_t draw_size(self, int32_t node, int32_t place, double discount,
                           choice_source *source) except -1 nogil
