from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy
from hdpkit.vectors cimport vector

from hdpkit.random._source cimport choice_source

# An arena: blocks of words in one array, in sizes of powers of two, for entries and histograms.

cdef enum:
    CLASSES = 48     # sizes of blocks, powers of two


cdef cppclass Arena:
    vector[int32_t] words
    int64_t spare[CLASSES]           # first free block by log2(size) - 1; 0 for none


cdef inline int size_class(int64_t n_words) noexcept nogil:
    cdef int c = 0
    while (<int64_t>1 << c) < n_words:
        c += 1
    return c


cdef inline int arena_clear(Arena *arena) noexcept nogil:
    """Remove all blocks; reserved memory is kept."""
    cdef int c
    arena.words.clear()
    for c in range(CLASSES):
        arena.spare[c] = 0
    return 0


cdef inline int arena_room(Arena *arena, int64_t n_words) except -1 nogil:
    """Reserve memory so that this many words can be taken without an allocation."""
    cdef int64_t used = <int64_t>arena.words.size()
    if <int64_t>arena.words.capacity() < used + n_words:
        # It grows by a quarter, not by a factor of two, to limit the reserved memory.
        arena.words.reserve(used + n_words + used // 4)
    return 0


cdef inline int64_t arena_take(Arena *arena, int64_t n_words) except -1 nogil:
    """A block of n_words (a power of two, at least 2), not initialised."""
    cdef int c = size_class(n_words)
    cdef int64_t offset
    if arena.spare[c] > 0:
        offset = arena.spare[c] - 1
        memcpy(&arena.spare[c], arena.words.data() + offset, sizeof(int64_t))
        return offset
    arena_room(arena, n_words)
    offset = <int64_t>arena.words.size()
    arena.words.resize(offset + n_words)
    return offset


cdef inline int arena_give(Arena *arena, int64_t offset, int64_t n_words) noexcept nogil:
    """Release a block. Free blocks of a size form a list stored in the blocks, so this never allocates."""
    cdef int c = size_class(n_words)
    memcpy(arena.words.data() + offset, &arena.spare[c], sizeof(int64_t))
    arena.spare[c] = offset + 1
    return 0


cdef inline int64_t arena_bytes(Arena *arena) noexcept nogil:
    return arena.words.capacity() * sizeof(int32_t)


cdef enum:
    ANONYMOUS = -1   # a table as a customer of the parent, if the store has no table numbers
    ENTRY_WORDS = 4
    SAMPLED = 4      # log2 of the number of entries per sample


cdef extern from "layout.h":
    ctypedef struct Entry "hdpkit_entry":    # one dish at one restaurant
        int32_t dish
        int32_t customers
        int32_t tables
        int32_t extra            # used by the store

    ctypedef struct Node "hdpkit_node":      # one restaurant
        int64_t customers
        int64_t tables
        int64_t offset           # offset of its block of entries, in words of the arena
        int32_t n_entries
        int32_t capacity         # capacity of the block in entries


cdef inline int32_t room_for(int32_t n_entries) noexcept nogil:
    """Capacity of a block for this many entries: a power of two."""
    cdef int32_t room = 1
    if n_entries == 0:
        return 0
    while room < n_entries:
        room *= 2
    return room


cdef inline bint unused_share(int64_t held, int64_t used, double share) noexcept nogil:
    """Whether more than this share of the held memory is unused."""
    return held - used > share * held


cdef class Seating:
    cdef vector[Node] nodes
    cdef Arena arena
    cdef readonly int64_t n_customers
    cdef vector[int32_t] of_customer   # of data customers, -1 while unseated: the table in a store of seats, else the dish
    cdef bint recorded               # `of_customer` is in use
    cdef int32_t largest             # largest capacity of a block of entries
    cdef int32_t most_tables         # largest number of tables of a dish in a restaurant so far
    cdef readonly bint tables_at_end   # whether tables are drawn at the end of a step, given counts of customers
    cdef readonly bint by_cell       # customers with the same document and term are not distinguished
    cdef bint indexed                # `samples` is up to date
    cdef vector[int32_t] samples     # dish of every 16th entry of the arena, where a search begins

    cdef inline Entry *entries(self, int32_t node) noexcept nogil:
        return <Entry *>(self.arena.words.data() + self.nodes[node].offset)

    cdef int32_t find(self, int32_t node, int32_t dish) noexcept nogil
    cdef int32_t find_or_insert(self, int32_t node, int32_t dish) except -1 nogil
    cdef int erase(self, int32_t node, int32_t place) noexcept nogil
    cdef int index_entries(self) except -1 nogil
    cdef int make_block(self, int32_t node, int32_t capacity) except -1 nogil
    cdef int fill_entries(self, const int32_t[::1] node, const int32_t[::1] dish, const int32_t[::1] customers,
                          const int32_t[::1] tables) except -1

    cdef inline int64_t words_for(self, int32_t node) noexcept nogil:
        """Words of the arena that a step may need for one more dish of a restaurant."""
        cdef Node *record = &self.nodes[node]
        return ENTRY_WORDS * (1 + (2 * record.capacity if record.n_entries == record.capacity else 0))

    cdef inline int count_in(self, int32_t node, Entry *entry, bint opens) noexcept nogil:
        """Update the counts for a customer who enters, with or without a new table."""
        entry.customers += 1
        self.nodes[node].customers += 1
        if opens:
            entry.tables += 1
            self.nodes[node].tables += 1
        return 0

    cdef inline int count_out(self, int32_t node, Entry *entry, bint closes) noexcept nogil:
        """Update the counts for a customer who leaves, with or without a table that closes."""
        entry.customers -= 1
        self.nodes[node].customers -= 1
        if closes:
            entry.tables -= 1
            self.nodes[node].tables -= 1
        return 0

    cdef inline int change_tables(self, int32_t node, int32_t place, int32_t tables, int32_t parent,
                                  int32_t above) noexcept nogil:
        """Set the number of tables of a dish; the number of customers of the parent, if any, changes as much.

        ``place`` and ``above`` are the places of the dish's entries. For a store that keeps only the number
        of tables.
        """
        cdef Entry *entry = self.entries(node) + place
        cdef int32_t more = tables - entry.tables
        if more == 0:
            return 0
        entry.tables = tables
        self.nodes[node].tables += more
        if parent >= 0:
            self.entries(parent)[above].customers += more
            self.nodes[parent].customers += more
        return 0

    cdef int ready(self, int64_t n_words, int64_t n_tables) except -1 nogil
    cdef int ready_tables(self, int64_t n_tables) except -1 nogil

    cdef int check_node(self, int64_t node) except -1
    cdef int check_customer(self, int32_t node, int32_t dish, int32_t customer, bint seated, bint served) except -1
    cdef bint fits(self, int32_t node, int32_t dish, int32_t customer, bint seated) noexcept nogil
    cdef int clear_extra(self) except -1
    cdef int32_t dish_at(self, int32_t customer) noexcept nogil
    cdef int read_dishes(self, int32_t *dishes) noexcept nogil
    cdef int label(self, int32_t customer, int32_t dish) noexcept nogil
    cdef int join_table(self, int32_t node, int32_t dish, int32_t customer, double discount,
                        choice_source *source) except -1 nogil
    cdef int open_table(self, int32_t node, int32_t dish, int32_t customer, int32_t *as_customer) except -1 nogil
    cdef int remove_customer(self, int32_t node, int32_t dish, int32_t customer, choice_source *source,
                             int32_t *as_customer) except -1 nogil
    cdef int sizes_of(self, int32_t node, int32_t place, vector[int32_t] *sizes,
                      vector[int32_t] *counts) except -1 nogil
    cdef int add_log_of_tables(self, int32_t node, double theta, double d, double *total) noexcept nogil
    cdef int relabel_extra(self, int32_t[::1] mapping) except -1
    cdef int fill(self, list arrays) except -1
    cdef int replace(self, list arrays) except -1
    cdef bint squeeze_entries(self, double share) except -1 nogil
    cdef bint squeeze_extra(self, double share) except -1 nogil
