from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.stores._seating cimport Entry, Seating


cdef extern from "layout.h":
    ctypedef struct Table "hdpkit_table":
        int32_t size
        int32_t dish
        int32_t node
        int32_t seat       # the table of the parent restaurant where this one sits; -1 at the root
        int32_t next       # next table of the same restaurant and dish; for a free table, the next free one


cdef class ExplicitStore(Seating):
    cdef vector[Table] pool
    cdef int32_t free_table
    cdef int64_t scattered             # tables opened since the last renumbering by restaurant and dish
    cdef vector[double] weights
    cdef int64_t changes               # increases when a data customer may have moved or tables are renumbered
    cdef object units_found                # units found by the fused steps, valid until `units_at` is out of date
    cdef int64_t units_at
    cdef int64_t shifted               # increases when a table moves
    cdef int64_t serial                # number of this seating, by which units are matched to it

    cdef int64_t moved(self) noexcept nogil
    cdef int32_t table_number(self, int64_t table) except -1

    cdef int32_t table_of(self, int32_t customer) noexcept nogil
    cdef int take_seat(self, int32_t customer, int32_t table) noexcept nogil
    cdef int32_t new_table(self, int32_t node, Entry *entry) except -1 nogil
    cdef int gather(self) except -1 nogil
    cdef int renumber(self, int64_t room) except -1 nogil
    cdef int promote(self, Entry *entry, int32_t table) noexcept nogil
    cdef int unlink(self, Entry *entry, int32_t table) noexcept nogil
    cdef int free(self, int32_t table) noexcept nogil
    cdef int serve(self, int32_t table, int32_t dish) except -1 nogil
    cdef int put_back(self, int32_t node, int32_t dish, int32_t customer, int32_t table, bint closed) except -1 nogil
