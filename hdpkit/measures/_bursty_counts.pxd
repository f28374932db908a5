"""Customers and tables of terms in each restaurant, for the sweeps."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t
from hdpkit.vectors cimport bytes_of, vector

from hdpkit.measures._dirichlet_multinomial cimport DirichletCounts
from hdpkit.measures._measure cimport DishValues, measure_t
from hdpkit.stores._stirling cimport Ratios
from hdpkit.random._source cimport choice_source


# Numbers of customers and of tables by key, in a hash table with open addressing that never loses memory.

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
    return bytes_of(cells.keys, cells.customers, cells.tables)


# ------------------------------------------------------------------------------------------- restaurants

cdef struct Counted:
    int64_t customers, tables


cdef struct Pair:                   # the customers of a restaurant with a term: places first .. last - 1
    int64_t first, last


cdef struct OwnCell:
    int32_t restaurant, term, slot
    int32_t customers, tables


cdef cppclass BurstyCounts:
    measure_t *inner                # has the tables
    choice_source *source           # NULL: no step has set one
    double discount, concentration
    DishValues *own                 # if each dish has a concentration; otherwise NULL
    const int32_t *terms            # of each customer
    const int32_t *restaurant       # of each customer; NULL: not read yet
    int64_t n_customers, n_restaurants
    int64_t largest                 # customers of a restaurant whose numbers are counted when they are needed
    bint sorted                     # whether customers are sorted by restaurant and term; otherwise
    vector[int32_t] order, place    # customers in this order, and the place of each
    vector[int64_t] begin           # place of the first customer of each restaurant
    vector[int32_t] slot_of         # of each customer, -1 for none
    vector[int8_t] opens            # by customer: the number of ones in a cell is its number of tables
    CellTable proposed              # cells and totals of slots of proposals, whose customers may have another dish
    Ratios ratios
    int64_t version                 # increases with every change
    # the dishes of the customers with each term of restaurant `listed`, -1 for none; by place in it. Its customers
    # have no `opens`. A larger one that is `loaded` is listed
    int32_t listed
    int64_t plain                   # customers of a restaurant that the fused sweep serves without these lists
    vector[int32_t] pair            # the first place with the same term; there
    vector[int32_t] n_cells         # the number of dishes, and from there on
    vector[int32_t] cell_dish, cell_customers, tables_of_cell      # their numbers
    # by slot
    vector[int8_t] is_proposal      # TRIAL if it is one of an exchange
    vector[int64_t] seated          # customers
    vector[int32_t] here, here_tables      # customers and tables of restaurant `loaded`, except of proposals
    vector[int32_t] cell, cell_tables      # scratch: those with one term
    vector[int8_t] meets                   # scratch
    int32_t loaded
    # the block that was removed last, and which of its customers sat alone
    int64_t n_left
    vector[int32_t] left
    vector[int8_t] left_opens
    double left_log
    int32_t left_slot               # -1: its dish has died; -2: none
    # the block that `log_block` was asked for, 0 customers for none
    int64_t n_offered, n_offered_slots
    vector[int32_t] offered, offered_slots
    vector[int8_t] offered_opens    # a row for each slot and, last, a new dish
    # an exchange: a proposal for all customers of one or two dishes
    CellTable places                # place + 1 of each in its order
    vector[int32_t] exchanged       # customers in this order,
    vector[int32_t] recalled_slot   # their slots in the reverse proposal, -1 for none,
    vector[int8_t] recalled_opens   # which of them open tables there,
    vector[int8_t] trial_opens      # and in the proposal
    double log_added                # of predictives, of customers who were added to its slots
    bint settling                   # whether tables don't matter yet
    # scratch of a block
    const DirichletCounts *topics   # the counts of the inner bank, NULL if it is of another measure
    vector[int32_t] term_place      # of each term: its place among those of the block, -1 between calls
    int64_t n_block_terms
    vector[int32_t] block_terms     # the terms of the block,
    vector[int32_t] term_of         # and for each customer the place of its term
    vector[int64_t] now, now_tables, added      # of each term in a slot, while tables are drawn
    vector[int8_t] added_opens
    vector[int32_t] kept_slot
    vector[int8_t] kept_opens


cdef extern from *:
    """
    #define HDPKIT_TOTAL_KEYS ((int64_t)1 << 62)
    """
    const int64_t TOTAL_KEYS "HDPKIT_TOTAL_KEYS"      # keys of totals begin here


cdef enum:
    DRAW = -1            # instead of whether a customer opens a table
    ABSENT = -3          # status: a customer isn't where it should be
    TRIAL = 2


cdef Pair pair_of(const BurstyCounts *b, int32_t i) noexcept nogil
cdef int widen_slots(BurstyCounts *b, int64_t slots) except -1 nogil
cdef int ready_ratio(BurstyCounts *b, Counted cell) noexcept nogil
cdef int forget(BurstyCounts *b) noexcept nogil
cdef Counted cell_of(BurstyCounts *b, int32_t i, int32_t slot) noexcept nogil
cdef Counted total_of(BurstyCounts *b, int32_t r, int32_t slot) noexcept nogil
cdef int sit(BurstyCounts *b, int32_t i, int32_t slot, int opens, double *p) noexcept nogil
cdef int rise(BurstyCounts *b, int32_t i, int32_t slot, int alone, double *p) noexcept nogil
cdef int ready_block(BurstyCounts *b, int64_t n, int64_t n_slots) noexcept nogil
cdef int draw_alone(BurstyCounts *b, const int32_t *customers, int64_t n, const int32_t *slots, int64_t n_slots,
                    int8_t *opens, double *log_p) noexcept nogil
cdef void set_functions(measure_t *c, BurstyCounts *b) noexcept
cdef void count_pair(BurstyCounts *b, Pair pair) noexcept nogil
cdef void clear_pair(BurstyCounts *b, Pair pair) noexcept nogil
cdef int grow_lists(BurstyCounts *b, int64_t n) except -1 nogil
cdef int list_cells(BurstyCounts *b, int32_t r) noexcept nogil
cdef int unlist_cells(BurstyCounts *b) noexcept nogil
cdef int collect_one(BurstyCounts *b, int32_t r, bint every, vector[OwnCell] *cells, vector[OwnCell] *totals) except -1 nogil
cdef int collect_proposed(BurstyCounts *b, bint every, vector[OwnCell] *cells, vector[OwnCell] *totals) except -1 nogil
cdef int collect(BurstyCounts *b, bint every, vector[OwnCell] *cells, vector[OwnCell] *totals) except -1 nogil


cdef inline int64_t place_of(const BurstyCounts *b, int32_t i) noexcept nogil:
    return i if b.sorted else b.place[i]


cdef inline int32_t at(const BurstyCounts *b, int64_t place) noexcept nogil:
    return <int32_t>place if b.sorted else b.order[place]


cdef inline bint is_large(const BurstyCounts *b, int32_t r) noexcept nogil:
    return b.begin[r + 1] - b.begin[r] > b.largest


cdef inline int64_t cell_key(int64_t first, int32_t slot) noexcept nogil:
    """Key of a cell, from the first place of its pair."""
    return first << 31 | slot


cdef inline int64_t total_key(int32_t r, int32_t slot) noexcept nogil:
    return TOTAL_KEYS | <int64_t>r << 31 | slot


cdef inline Counted numbers_at(const CellTable *cells, int64_t key) noexcept nogil:
    cdef int64_t i = find_cell(cells, key)
    cdef Counted numbers
    numbers.customers = cells.customers[i] if i >= 0 else 0
    numbers.tables = cells.tables[i] if i >= 0 else 0
    return numbers


cdef inline double shared_of(const BurstyCounts *b, Counted cell) noexcept nogil:
    """Weight of the tables with a term."""
    return <double>cell.customers - b.discount * <double>cell.tables


cdef inline double concentration_of(const BurstyCounts *b, int32_t slot) noexcept nogil:
    """Concentration of a dish; of a new one, for a negative slot or one of a proposal."""
    if b.own == NULL:
        return b.concentration
    return b.own.fresh if slot < 0 or b.is_proposal[slot] else b.own.of_slot[slot]


cdef inline double opening_of(const BurstyCounts *b, int32_t slot, Counted total) noexcept nogil:
    """Weight of a new table, before its term."""
    return concentration_of(b, slot) + b.discount * <double>total.tables
