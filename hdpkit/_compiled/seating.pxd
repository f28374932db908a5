from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.turn cimport Turn
from hdpkit.random._source cimport choice_source

cdef enum:
    ANONYMOUS = -1   # a table as a customer of the parent, where nobody remembers which
    ENTRY_WORDS = 4
    SAMPLED = 4      # logarithm of how many entries there are for a sample


cdef extern from "layout.h":
    ctypedef struct Entry "hdpkit_entry":    # one dish at one restaurant
        int32_t dish
        int32_t customers
        int32_t tables
        int32_t extra            # the store's own

    ctypedef struct Node "hdpkit_node":      # one restaurant
        int64_t customers
        int64_t tables
        int64_t offset           # of its block of entries, in words of the arena
        int32_t n_entries
        int32_t capacity         # entries that the block has room for


cdef cppclass Arena:
    vector[int32_t] words
    vector[vector[int64_t]] spare    # free blocks by the logarithm of their size


cdef int64_t arena_take(Arena *arena, int64_t n_words) except -1 nogil
cdef int arena_give(Arena *arena, int64_t offset, int64_t n_words) except -1 nogil


cdef inline int size_class(int64_t n_words) noexcept nogil:
    cdef int c = 0
    while (<int64_t>1 << c) < n_words:
        c += 1
    return c


cdef inline int64_t arena_bytes(Arena *arena) noexcept nogil:
    cdef int64_t total = arena.words.capacity() * sizeof(int32_t) + (
        arena.spare.capacity() * sizeof(vector[int64_t]))
    cdef size_t i
    for i in range(arena.spare.size()):
        total += arena.spare[i].capacity() * sizeof(int64_t)
    return total


cdef inline int32_t room_for(int32_t n_entries) noexcept nogil:
    """Entries that a block of so many has room for: a power of two."""
    cdef int32_t room = 1
    if n_entries == 0:
        return 0
    while room < n_entries:
        room *= 2
    return room


cdef inline bint unused_share(int64_t held, int64_t used, double share) noexcept nogil:
    """Whether more than this share of what is held is unused."""
    return held - used > share * held


cdef class Seating:
    cdef public Turn turn            # of the franchise that it belongs to, None for an object on its own
    cdef vector[Node] nodes
    cdef Arena arena
    cdef readonly int64_t n_customers
    cdef bint indexed                # `samples` are those of the present entries
    cdef vector[int32_t] samples     # dish of every 16th entry of the arena: where a search in it begins

    cdef inline Entry *entries(self, int32_t node) noexcept nogil:
        return <Entry *>(self.arena.words.data() + self.nodes[node].offset)

    cdef int32_t find(self, int32_t node, int32_t dish) noexcept nogil
    cdef int32_t find_or_insert(self, int32_t node, int32_t dish) except -1 nogil
    cdef int erase(self, int32_t node, int32_t place) except -1 nogil
    cdef int index_entries(self) except -1 nogil
    cdef int clear_nodes(self, int64_t n_nodes) except -1

    cdef int32_t dish_at(self, int32_t customer) noexcept nogil
    cdef int join_table(self, int32_t node, int32_t dish, int32_t customer, double discount,
                        choice_source *source) except -1 nogil
    cdef int open_table(self, int32_t node, int32_t dish, int32_t customer, int32_t *as_customer) except -1 nogil
    cdef int remove_customer(self, int32_t node, int32_t dish, int32_t customer, choice_source *source,
                             int32_t *as_customer) except -1 nogil
    cdef int sizes_of(self, int32_t node, int32_t place, vector[int32_t] *sizes,
                      vector[int32_t] *counts) except -1 nogil
    cdef int relabel_extra(self, int32_t[::1] mapping) except -1
    cdef int grow_customers(self, int64_t n_customers) except -1
    cdef bint squeeze_entries(self, double share) except -1 nogil
    cdef bint squeeze_extra(self, double share) except -1 nogil
