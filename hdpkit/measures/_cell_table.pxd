"""Numbers of customers and of tables by key, in a hash table with open addressing that never loses memory."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from hdpkit.vectors cimport vector


cdef cppclass CellTable:
    vector[int64_t] keys            # -1: free; their number is a power of two, or 0
    vector[int32_t] customers, tables
    int64_t used
    int shift                       # 64 - log2 of the number of keys


cdef inline int64_t cell_home(const CellTable *cells, int64_t key) noexcept nogil:
    return <int64_t>((<uint64_t>key * <uint64_t>0x9E3779B97F4A7C15) >> cells.shift)


cdef inline int64_t find_cell(const CellTable *cells, int64_t key) noexcept nogil:
    """Place of a key, or -1."""
    cdef int64_t mask = <int64_t>cells.keys.size() - 1, i
    if cells.used == 0:
        return -1
    i = cell_home(cells, key)
    while cells.keys[i] >= 0:
        if cells.keys[i] == key:
            return i
        i = (i + 1) & mask
    return -1


cdef inline void put_cell(CellTable *cells, int64_t key, int32_t customers, int32_t tables) noexcept nogil:
    """Put a new key into a table that has room."""
    cdef int64_t mask = <int64_t>cells.keys.size() - 1, i = cell_home(cells, key)
    while cells.keys[i] >= 0:
        i = (i + 1) & mask
    cells.keys[i] = key
    cells.customers[i] = customers
    cells.tables[i] = tables
    cells.used += 1


cdef inline void drop_cell(CellTable *cells, int64_t i) noexcept nogil:
    """Remove the key at a place; later ones move up, so that no search ends early."""
    cdef int64_t mask = <int64_t>cells.keys.size() - 1, j = i
    while True:
        j = (j + 1) & mask
        if cells.keys[j] < 0:
            break
        if ((j - cell_home(cells, cells.keys[j])) & mask) >= ((j - i) & mask):
            cells.keys[i] = cells.keys[j]
            cells.customers[i] = cells.customers[j]
            cells.tables[i] = cells.tables[j]
            i = j
    cells.keys[i] = -1
    cells.used -= 1


cdef inline void count_cell(CellTable *cells, int64_t key, int32_t customers, int32_t tables) noexcept nogil:
    """Add to the numbers of a key, which may be negative; a key without customers is removed. It needs room."""
    cdef int64_t i = find_cell(cells, key)
    if i < 0:
        put_cell(cells, key, customers, tables)
        return
    cells.customers[i] += customers
    cells.tables[i] += tables
    if cells.customers[i] == 0:
        drop_cell(cells, i)


cdef inline int clear_cells(CellTable *cells) noexcept nogil:
    """Remove all keys; the memory is kept."""
    cdef size_t i
    for i in range(cells.keys.size()):
        cells.keys[i] = -1
    cells.used = 0
    return 0


cdef inline int ready_cells(CellTable *cells, int64_t more) except -1 nogil:
    """Allocate the memory that this many new keys may need; if out of memory, nothing changes."""
    cdef int64_t size = cells.keys.size(), i
    cdef CellTable before
    if 4 * (cells.used + more) <= 3 * size:
        return 0
    size = size if size > 0 else 16
    while 4 * (cells.used + more) > 3 * size:
        size *= 2
    before.keys.assign(size, -1)
    before.customers.assign(size, 0)
    before.tables.assign(size, 0)
    before.keys.swap(cells.keys)        # nothing below can fail
    before.customers.swap(cells.customers)
    before.tables.swap(cells.tables)
    cells.used = 0
    cells.shift = 64
    while size > 1:
        size >>= 1
        cells.shift -= 1
    for i in range(<int64_t>before.keys.size()):
        if before.keys[i] >= 0:
            put_cell(cells, before.keys[i], before.customers[i], before.tables[i])
    return 0


cdef inline int64_t cell_bytes(const CellTable *cells) noexcept nogil:
    return cells.keys.capacity() * (sizeof(int64_t) + 2 * sizeof(int32_t))
