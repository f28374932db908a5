"""An arena: blocks of words in one array, in sizes of powers of two, for entries and histograms of stores."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from hdpkit.vectors cimport vector

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
