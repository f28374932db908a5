# distutils: language = c++
"""C functions of topics that differ by restaurant, over the bank of the topics.

For each customer there is its dish, and whether it represents a table: so many customers of a cell (restaurant,
dish, term) do as it has tables. The numbers of a cell are counted from the customers of its restaurant with its
term, which are consecutive. A larger restaurant has lists of its cells while it is the one in use. Slots of proposals,
whose customers may have another dish, have a hash table.

There aren't lists alone, as sums in the fused sweep are in the order of the lists, so that chains would change, nor
customers alone: a generic sweep of 600,000 words takes 28 times as long with 96 terms, and 7 times with 10,000.
"""

from libc.stdint cimport INT64_MAX, int8_t, int32_t, int64_t
from libc.string cimport memset
from hdpkit.vectors cimport no_memory, vector

from hdpkit.measures._dirichlet_multinomial cimport DirichletCounts
from hdpkit.measures._measure cimport as_weights, leave
from hdpkit.stores._stirling cimport cover_ratios, one_alone
from hdpkit.errors import ParameterError, StateError
from hdpkit.numerics cimport det_exp, det_log

cdef enum:
    DEAD = -1            # the dish that a block has left
    NONE = -2
    SHORT = 16           # most customers of a block whose probability is a plain product

cdef int64_t MOST_RATIOS = 1 << 26


# ------------------------------------------------------------------------------------------- numbers

cdef int64_t first_of(const BurstyCounts *b, int64_t low, int64_t high, int32_t term) noexcept nogil:
    """First place of low .. high - 1 with this term or a larger one."""
    cdef int64_t middle
    while low < high:
        middle = (low + high) >> 1
        if b.terms[at(b, middle)] < term:
            low = middle + 1
        else:
            high = middle
    return low


cdef Pair pair_of(const BurstyCounts *b, int32_t i) noexcept nogil:
    """Places of the customers of a restaurant who have the term of this one."""
    cdef int32_t r = b.restaurant[i], term = b.terms[i]
    cdef int64_t low = b.begin[r], high = b.begin[r + 1]
    cdef Pair pair
    if high - low > b.largest:
        pair.first = first_of(b, low, high, term)
        pair.last = first_of(b, pair.first, high, term + 1)
        return pair
    pair.first = place_of(b, i)
    pair.last = pair.first + 1
    while pair.first > low and b.terms[at(b, pair.first - 1)] == term:
        pair.first -= 1
    while pair.last < high and b.terms[at(b, pair.last)] == term:
        pair.last += 1
    return pair


cdef int draw_one(const BurstyCounts *b, double p) noexcept nogil:
    """1 with probability p, or 0; negative if it fails."""
    if b.source == NULL:
        with gil:
            return leave(StateError(
                "source", None, "a source of random numbers", "Start the franchise, or run a move over it."))
    return <int>b.source.bernoulli(b.source.state, p)


cdef int load(BurstyCounts *b, int32_t r) noexcept nogil:
    """Count the customers and tables of a restaurant by slot, and list the cells of a large one."""
    cdef int64_t p
    cdef int32_t i, slot
    if b.loaded == r:
        return 0
    unlist_cells(b)
    memset(b.here.data(), 0, b.here.size() * sizeof(int32_t))
    memset(b.here_tables.data(), 0, b.here.size() * sizeof(int32_t))
    for p in range(b.begin[r], b.begin[r + 1]):
        i = at(b, p)
        slot = b.slot_of[i]
        if slot >= 0:
            b.here[slot] += 1
            b.here_tables[slot] += b.opens[i]
    b.loaded = r
    if is_large(b, r):
        list_cells(b, r)                # there is room: see `BurstyBank.index`
    return 0


cdef void count_pair(BurstyCounts *b, Pair pair) noexcept nogil:
    """Count customers with one term, and their tables, by slot; `clear_pair` undoes it."""
    cdef int64_t p
    cdef int32_t i
    for p in range(pair.first, pair.last):
        i = at(b, p)
        if b.slot_of[i] >= 0:
            b.cell[b.slot_of[i]] += 1
            b.cell_tables[b.slot_of[i]] += b.opens[i]


cdef void clear_pair(BurstyCounts *b, Pair pair) noexcept nogil:
    cdef int64_t p
    cdef int32_t slot
    for p in range(pair.first, pair.last):
        slot = b.slot_of[at(b, p)]
        if slot >= 0:
            b.cell[slot] = b.cell_tables[slot] = 0


cdef Counted cell_of(BurstyCounts *b, int32_t i, int32_t slot) noexcept nogil:
    """Numbers of the cell of a customer's term and a slot in its restaurant."""
    cdef Pair pair
    cdef Counted numbers
    cdef int64_t p
    if b.is_proposal[slot]:
        return numbers_at(&b.proposed, cell_key(pair_of(b, i).first, slot))
    numbers.customers = numbers.tables = 0
    if is_large(b, b.restaurant[i]):
        load(b, b.restaurant[i])
        pair = list_of(b, i)
        for p in range(pair.first, pair.last):
            if b.cell_dish[p] == slot:
                numbers.customers = b.cell_customers[p]
                numbers.tables = b.tables_of_cell[p]
        return numbers
    pair = pair_of(b, i)
    for p in range(pair.first, pair.last):
        if b.slot_of[at(b, p)] == slot:
            numbers.customers += 1
            numbers.tables += b.opens[at(b, p)]
    return numbers


cdef Counted total_of(BurstyCounts *b, int32_t r, int32_t slot) noexcept nogil:
    """Numbers of a slot in a restaurant."""
    cdef Counted numbers
    if b.is_proposal[slot]:
        return numbers_at(&b.proposed, total_key(r, slot))
    load(b, r)
    numbers.customers = b.here[slot]
    numbers.tables = b.here_tables[slot]
    return numbers


# ------------------------------------------------------------------------------------------- memory

cdef int widen_slots(BurstyCounts *b, int64_t slots) except -1 nogil:
    """Make room for this many slots; if out of memory, nothing changes that matters."""
    cdef int64_t n = b.is_proposal.size()
    if slots <= n:
        return 0
    slots = slots + slots // 4 + 16
    b.seated.reserve(slots)
    b.here.reserve(slots)
    b.here_tables.reserve(slots)
    b.cell.reserve(slots)
    b.cell_tables.reserve(slots)
    b.meets.reserve(slots)
    b.is_proposal.reserve(slots)        # nothing below can fail
    b.seated.resize(slots, 0)
    b.here.resize(slots, 0)
    b.here_tables.resize(slots, 0)
    b.cell.resize(slots, 0)
    b.cell_tables.resize(slots, 0)
    b.meets.resize(slots, 0)
    b.is_proposal.resize(slots, 0)
    return 0


cdef int ready_slot(BurstyCounts *b, int32_t slot) noexcept nogil:
    if slot >= <int64_t>b.is_proposal.size():
        with gil:
            try:
                widen_slots(b, slot + 1)
            except MemoryError:
                return no_memory()
    return 0


cdef int ready_ratio(BurstyCounts *b, Counted cell) noexcept nogil:
    """Ratios of Stirling numbers for a cell."""
    if (cell.customers <= b.ratios.rows and cell.tables + 1 <= b.ratios.columns
            and b.ratios.d == b.discount):
        return 0
    with gil:
        try:
            if cell.customers > MOST_RATIOS // (cell.tables + 1):
                raise ParameterError(
                    "customers and tables of one term of a dish in a restaurant", (cell.customers, cell.tables),
                    f"at most {MOST_RATIOS:,} as a product", "Name smaller restaurants: hk.Bursty(each=...).")
            cover_ratios(&b.ratios, b.discount, cell.customers, cell.tables)
        except BaseException as error:
            return leave(error)
    return 0


cdef int forget(BurstyCounts *b) noexcept nogil:
    """Forget the tables of blocks that were removed or offered."""
    b.left_slot = NONE
    b.n_offered = 0
    return 0


cdef int ready_block(BurstyCounts *b, int64_t n, int64_t n_slots) noexcept nogil:
    """Room for a block of n customers, and for its tables in these slots; -1 if out of memory."""
    if (n <= <int64_t>b.term_of.size() and n_slots <= <int64_t>b.offered_slots.size()
            and (n_slots + 1) * n <= <int64_t>b.offered_opens.size()):
        return 0
    with gil:
        try:
            grow_block(b, n + n // 2 + 8, n_slots + n_slots // 2 + 8)
        except MemoryError:
            return no_memory()
    return 0


cdef int grow_block(BurstyCounts *b, int64_t n, int64_t n_slots) except -1 nogil:
    n = max(n, <int64_t>b.term_of.size())
    n_slots = max(n_slots, <int64_t>b.offered_slots.size())
    b.left.resize(n)
    b.left_opens.resize(n)
    b.added_opens.resize(n)
    b.offered.resize(n)
    b.offered_slots.resize(n_slots)
    b.offered_opens.resize((n_slots + 1) * n)
    b.kept_slot.resize(n)
    b.kept_opens.resize(n)
    b.block_terms.resize(n)
    b.term_of.resize(n)
    b.now.resize(n)
    b.now_tables.resize(n)
    b.added.resize(n)
    return 0


# ------------------------------------------------------------------------------------------- lists of cells

cdef int list_cells(BurstyCounts *b, int32_t r) noexcept nogil:
    """Put the numbers of a restaurant into lists, in place of those of another one; -1 if out of memory.

    Until `unlist_cells` its customers have no `opens`.
    """
    cdef int64_t n = b.begin[r + 1] - b.begin[r], p, first = 0
    cdef int32_t i
    unlist_cells(b)
    if n <= b.plain:
        return 0
    if <int64_t>b.pair.size() < n:
        with gil:
            try:
                grow_lists(b, n)
            except MemoryError:
                return no_memory()
    for p in range(n):
        i = at(b, b.begin[r] + p)
        if p == 0 or b.terms[i] != b.terms[at(b, b.begin[r] + first)]:
            first = p
            b.n_cells[p] = 0
        b.pair[p] = <int32_t>first
        if b.slot_of[i] >= 0:
            change_list(b, first, b.slot_of[i], 1, b.opens[i])
    b.listed = r
    return 0


cdef inline Pair list_of(const BurstyCounts *b, int32_t i) noexcept nogil:
    """The list of the term of a customer of restaurant `listed`."""
    cdef Pair pair
    pair.first = b.pair[place_of(b, i) - b.begin[b.listed]]
    pair.last = pair.first + b.n_cells[pair.first]
    return pair


cdef void change_list(BurstyCounts *b, int64_t first, int32_t slot, int32_t customers, int32_t tables) noexcept nogil:
    """Add to the numbers of a slot in the list from this place on; they may be negative."""
    cdef int64_t k = first, last = first + b.n_cells[first]
    while k < last and b.cell_dish[k] != slot:
        k += 1
    if k == last:
        b.n_cells[first] += 1
        b.cell_dish[k] = slot
        b.cell_customers[k] = b.tables_of_cell[k] = 0
    b.cell_customers[k] += customers
    b.tables_of_cell[k] += tables
    if b.cell_customers[k] == 0:
        b.n_cells[first] -= 1
        b.cell_dish[k] = b.cell_dish[last - 1]
        b.cell_customers[k] = b.cell_customers[last - 1]
        b.tables_of_cell[k] = b.tables_of_cell[last - 1]


cdef int grow_lists(BurstyCounts *b, int64_t n) except -1 nogil:
    b.n_cells.resize(n)
    b.cell_dish.resize(n)
    b.cell_customers.resize(n)
    b.tables_of_cell.resize(n)
    b.pair.resize(n)
    return 0


cdef int unlist_cells(BurstyCounts *b) noexcept nogil:
    """Put the numbers of the lists where the other functions expect them. It needs no memory."""
    cdef int32_t r = b.listed, i
    cdef int64_t p, k
    if r < 0:
        return 0
    for p in range(b.begin[r + 1] - b.begin[r]):
        i = at(b, b.begin[r] + p)
        b.opens[i] = 0
        if b.slot_of[i] >= 0:
            k = b.pair[p]
            while b.cell_dish[k] != b.slot_of[i]:
                k += 1
            if b.tables_of_cell[k] > 0:
                b.tables_of_cell[k] -= 1
                b.opens[i] = 1
    b.listed = b.loaded = -1
    b.version += 1
    return 0


# ------------------------------------------------------------------------------------------- one customer

cdef int count(BurstyCounts *b, int32_t i, int32_t slot, int32_t customers, int32_t tables) noexcept nogil:
    """Change the totals of a slot, and its cell in a list or in the hash table."""
    cdef int32_t r = b.restaurant[i]
    b.version += 1
    b.seated[slot] += customers
    if b.is_proposal[slot]:
        count_cell(&b.proposed, cell_key(pair_of(b, i).first, slot), customers, tables)
        count_cell(&b.proposed, total_key(r, slot), customers, tables)
        return 0
    if b.loaded == r:
        b.here[slot] += customers
        b.here_tables[slot] += tables
    if b.listed == r:
        change_list(b, list_of(b, i).first, slot, customers, tables)
    return 0


cdef int sit(BurstyCounts *b, int32_t i, int32_t slot, int opens, double *p) noexcept nogil:
    """Seat a customer; with DRAW it is drawn whether it opens a table. 1 if so, negative if nothing has changed.

    ``p``, unless it is NULL, becomes the predictive of its term.
    """
    cdef Counted cell, total
    cdef double density[2]
    cdef double shared, opening
    if b.is_proposal[slot] and 4 * (b.proposed.used + 2) > 3 * <int64_t>b.proposed.keys.size():
        with gil:
            try:
                ready_cells(&b.proposed, 2)
            except MemoryError:
                return no_memory()
    if opens == DRAW or p != NULL:
        cell = cell_of(b, i, slot)
        total = total_of(b, b.restaurant[i], slot)
        if b.inner.predictive(b.inner.self, i, &slot, 1, density) < 0:
            return -1
        shared = shared_of(b, cell)
        opening = opening_of(b, slot, total) * density[0]
        if p != NULL:
            p[0] = (shared + opening) / (<double>total.customers + concentration_of(b, slot))
        if opens == DRAW:
            opens = 1
            if shared > 0.0:
                opens = draw_one(b, opening / (shared + opening))
                if opens < 0:
                    return -1
    if opens and b.inner.add(b.inner.self, slot, &i, 1) < 0:
        return -1
    count(b, i, slot, 1, opens)
    if not b.is_proposal[slot]:
        b.slot_of[i] = slot
        b.opens[i] = <int8_t>opens
    return opens


cdef int pass_on(BurstyCounts *b, int32_t i, int32_t slot, int8_t opens) noexcept nogil:
    """Let another customer of a cell represent a table, or no longer, if this one doesn't fit."""
    cdef Pair pair
    cdef int64_t p
    cdef int32_t other
    if b.opens[i] == opens:
        return 0
    pair = pair_of(b, i)
    for p in range(pair.first, pair.last):
        other = at(b, p)
        if other != i and b.slot_of[other] == slot and b.opens[other] == opens:
            b.opens[other] = b.opens[i]
            return 0
    return 0


cdef int rise(BurstyCounts *b, int32_t i, int32_t slot, int alone, double *p) noexcept nogil:
    """Remove a customer; with DRAW it is drawn whether it sat alone. 1 if so, negative if nothing has changed.

    ``p``, unless it is NULL, becomes the predictive of its term given the others.
    """
    cdef Counted cell, total
    cdef double density[2]
    if not b.is_proposal[slot] and b.slot_of[i] != slot:
        return ABSENT
    if alone == DRAW or b.is_proposal[slot]:
        cell = cell_of(b, i, slot)
        if cell.customers == 0:
            return ABSENT
    if alone == DRAW:
        alone = cell.tables == cell.customers
        if not alone and cell.tables > 1:
            if ready_ratio(b, cell) < 0:
                return -1
            alone = draw_one(b, one_alone(&b.ratios, cell.customers, cell.tables))
            if alone < 0:
                return -1
    if alone and b.inner.remove(b.inner.self, slot, &i, 1) < 0:
        return -1
    count(b, i, slot, -1, -alone)
    if not b.is_proposal[slot]:
        if b.listed != b.restaurant[i]:
            pass_on(b, i, slot, <int8_t>alone)
        b.opens[i] = 0
        b.slot_of[i] = -1
    if p != NULL:
        if b.inner.predictive(b.inner.self, i, &slot, 1, density) < 0:
            sit(b, i, slot, alone, NULL)
            return -1
        cell = cell_of(b, i, slot)
        total = total_of(b, b.restaurant[i], slot)
        p[0] = ((shared_of(b, cell) + opening_of(b, slot, total) * density[0])
                / (<double>total.customers + concentration_of(b, slot)))
    return alone


# ------------------------------------------------------------------------------------------- the measure

cdef int bursty_born(void *self, int32_t slot) noexcept nogil:
    cdef BurstyCounts *b = <BurstyCounts *>self
    if ready_slot(b, slot) < 0 or b.seated[slot] != 0:
        return -1
    b.is_proposal[slot] = 0
    return b.inner.born(b.inner.self, slot)


cdef int drop_slot(CellTable *cells, int32_t slot) noexcept nogil:
    """Remove all keys of a slot."""
    cdef int64_t i = 0
    if cells.used > 0:
        while i < <int64_t>cells.keys.size():
            if cells.keys[i] >= 0 and (cells.keys[i] & 0x7FFFFFFF) == slot:
                drop_cell(cells, i)     # another key may have moved here
            else:
                i += 1
        # A key may have moved from the beginning to the end, past the search.
        for i in range(<int64_t>cells.keys.size()):
            if cells.keys[i] >= 0 and (cells.keys[i] & 0x7FFFFFFF) == slot:
                return drop_slot(cells, slot)
    return 0


cdef int bursty_died(void *self, int32_t slot) noexcept nogil:
    cdef BurstyCounts *b = <BurstyCounts *>self
    cdef int64_t i
    cdef int status = b.inner.died(b.inner.self, slot)
    if b.seated[slot] != 0:      # a rejected proposal
        b.version += 1
        b.seated[slot] = 0
        if b.is_proposal[slot]:
            drop_slot(&b.proposed, slot)
        else:
            unlist_cells(b)
            for i in range(b.n_customers):
                if b.slot_of[i] == slot:
                    b.slot_of[i] = -1
                    b.opens[i] = 0
            b.loaded = -1
    b.is_proposal[slot] = 0
    if b.left_slot == slot:
        b.left_slot = DEAD
    return status


cdef const int8_t *offer_for(BurstyCounts *b, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    """Which of these customers open tables in a slot, if that was drawn before; otherwise NULL."""
    cdef int64_t i, row = b.n_offered_slots
    if n == 0 or b.n_offered != n:
        return NULL
    for i in range(n):
        if b.offered[i] != customers[i]:
            return NULL
    for i in range(b.n_offered_slots):
        if b.offered_slots[i] == slot:
            row = i
            break
    return b.offered_opens.data() + row * n


cdef inline int64_t order_of(const BurstyCounts *b, int32_t customer) noexcept nogil:
    """Place of a customer in the order of a proposal, -1 for none."""
    cdef int64_t i = find_cell(&b.places, customer)
    return -1 if i < 0 else b.places.customers[i] - 1


cdef bint is_recalled(const BurstyCounts *b, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    """Whether the reverse proposal has a block in this slot, at tables that are known."""
    cdef int64_t i, place
    if b.is_proposal[slot] != TRIAL:
        return False
    for i in range(n):
        place = order_of(b, customers[i])
        if place < 0 or b.recalled_slot[place] != slot:
            return False
    return True


cdef int bursty_add(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef BurstyCounts *b = <BurstyCounts *>self
    cdef int64_t i, j, place
    cdef int opens = 0
    cdef double p = 1.0, log_p = 0.0
    cdef bint trial = b.is_proposal[slot] == TRIAL, recalled
    cdef const int8_t *known
    if ready_block(b, n, 0) < 0:
        return -1
    known = offer_for(b, slot, customers, n)
    recalled = known == NULL and is_recalled(b, slot, customers, n)
    for i in range(n):
        opens = DRAW
        place = order_of(b, customers[i]) if trial else -1
        if b.settling:
            opens = cell_of(b, customers[i], slot).customers == 0
        elif known != NULL:
            opens = known[i]
        elif recalled:
            opens = b.recalled_opens[place]
        if not b.is_proposal[slot] and b.slot_of[customers[i]] >= 0:
            opens = ABSENT
        else:
            opens = sit(b, customers[i], slot, opens, &p if trial else NULL)
        if opens < 0:
            for j in range(i - 1, -1, -1):
                rise(b, customers[j], slot, b.added_opens[j], NULL)
            return opens
        b.added_opens[i] = <int8_t>opens
        if place >= 0:
            b.trial_opens[place] = <int8_t>opens
            log_p += det_log(p)
    b.log_added += log_p
    forget(b)
    return 0


cdef int bursty_remove(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef BurstyCounts *b = <BurstyCounts *>self
    cdef int64_t i, j
    cdef int alone
    cdef double p = 1.0, product = 1.0, total = 0.0
    cdef Counted cell
    if ready_block(b, n, 0) < 0:
        return -1
    forget(b)
    for i in range(n - 1, -1, -1):
        alone = DRAW
        if b.settling:
            cell = cell_of(b, customers[i], slot)
            alone = cell.customers == cell.tables
        alone = rise(b, customers[i], slot, alone, &p if n > 1 else NULL)
        if alone < 0:
            for j in range(i + 1, n):
                sit(b, customers[j], slot, b.left_opens[j], NULL)
            return alone
        b.left_opens[i] = <int8_t>alone
        product *= p
        if product < 1e-200:
            total += det_log(product)
            product = 1.0
    if n > 1:
        b.n_left = n
        for i in range(n):
            b.left[i] = customers[i]
        b.left_log = total + det_log(product)
        b.left_slot = slot
    return 0


cdef int bursty_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n,
                           double *out) noexcept nogil:
    cdef BurstyCounts *b = <BurstyCounts *>self
    cdef int32_t r = b.restaurant[customer], slot
    cdef bint large = is_large(b, r)
    cdef Pair pair
    cdef int64_t j
    cdef Counted cell, total
    if b.inner.predictive(b.inner.self, customer, slots, n, out) < 0:
        return -1
    load(b, r)
    if large:
        pair = list_of(b, customer)
        for j in range(pair.first, pair.last):
            b.cell[b.cell_dish[j]] = b.cell_customers[j]
            b.cell_tables[b.cell_dish[j]] = b.tables_of_cell[j]
    else:
        pair = pair_of(b, customer)
        count_pair(b, pair)
    for j in range(n):
        slot = slots[j]
        if b.is_proposal[slot]:
            cell = cell_of(b, customer, slot)
            total = total_of(b, r, slot)
        else:
            cell.customers = b.cell[slot]
            cell.tables = b.cell_tables[slot]
            total.customers = b.here[slot]
            total.tables = b.here_tables[slot]
        out[j] = ((shared_of(b, cell) + opening_of(b, slot, total) * out[j])
                  / (<double>total.customers + concentration_of(b, slot)))
    if large:
        for j in range(pair.first, pair.last):
            b.cell[b.cell_dish[j]] = b.cell_tables[b.cell_dish[j]] = 0
    else:
        clear_pair(b, pair)
    return 0


# ------------------------------------------------------------------------------------------- blocks

cdef int draw_tables(BurstyCounts *b, const int32_t *customers, int64_t n, int32_t slot, int8_t *opens,
                     double *log_p) noexcept nogil:
    """Draw the tables of a block in a slot, one customer after the other; nothing changes.

    ``log_p`` becomes the log of the product of their predictives.
    """
    cdef int64_t i, done = 0
    cdef int opened = 0
    cdef bint recalled = is_recalled(b, slot, customers, n)
    cdef double p = 0.0, product = 1.0, total = 0.0
    cdef int64_t largest = b.largest
    for i in range(n):
        if b.slot_of[customers[i]] >= 0:        # the block is still seated, so a list would have its customers twice
            unlist_cells(b)
            b.largest = INT64_MAX
    for i in range(n):
        b.kept_slot[i] = b.slot_of[customers[i]]
        b.kept_opens[i] = b.opens[customers[i]]
    for i in range(n):
        opened = b.recalled_opens[order_of(b, customers[i])] if recalled else DRAW
        opened = sit(b, customers[i], slot, opened, &p)
        if opened < 0:
            break
        opens[i] = <int8_t>opened
        done = i + 1
        product *= p
        if product < 1e-200:
            total += det_log(product)
            product = 1.0
    for i in range(done - 1, -1, -1):
        rise(b, customers[i], slot, opens[i], NULL)
    for i in range(n):
        if b.kept_slot[i] >= 0:         # of a block that is still seated
            b.slot_of[customers[i]] = b.kept_slot[i]
            b.opens[customers[i]] = b.kept_opens[i]
            b.loaded = -1
    b.largest = largest
    log_p[0] = total + det_log(product)
    return opened if opened < 0 else 0


cdef int draw_alone(BurstyCounts *b, const int32_t *customers, int64_t n, const int32_t *slots, int64_t n_slots,
                    int8_t *opens, double *log_p) noexcept nogil:
    """The same in a slot of a new dish, which is none of these."""
    cdef int32_t fresh = 0
    cdef int64_t i
    cdef int8_t reserved
    cdef int status
    for i in range(<int64_t>b.seated.size()):
        if b.seated[i] > 0:
            fresh = <int32_t>i + 1
    for i in range(n_slots):
        if slots[i] >= fresh:
            fresh = slots[i] + 1
    if ready_slot(b, fresh) < 0 or b.inner.born(b.inner.self, fresh) < 0:
        return -1
    reserved = b.is_proposal[fresh]
    b.is_proposal[fresh] = 1
    status = draw_tables(b, customers, n, fresh, opens, log_p)
    b.inner.died(b.inner.self, fresh)
    b.is_proposal[fresh] = reserved
    return status


cdef bint find_terms(BurstyCounts *b, const int32_t *customers, int64_t n) noexcept nogil:
    """Find the different terms of a block; False if its customers are in several restaurants."""
    cdef int64_t i
    cdef int32_t term
    cdef bint one = True
    for i in range(n):
        one = one and b.restaurant[customers[i]] == b.restaurant[customers[0]]
    b.n_block_terms = 0
    for i in range(n if one else 0):
        term = b.terms[customers[i]]
        if b.term_place[term] < 0:
            b.term_place[term] = <int32_t>b.n_block_terms
            b.block_terms[b.n_block_terms] = term       # there is room: see `grow_block`
            b.n_block_terms += 1
        b.term_of[i] = b.term_place[term]
    for i in range(b.n_block_terms):
        b.term_place[b.block_terms[i]] = -1
    return one


cdef int find_meetings(BurstyCounts *b, const int32_t *customers, int64_t n, const int32_t *slots,
                       int64_t n_slots) noexcept nogil:
    """Find the slots that have terms of a block in its restaurant: `meets`."""
    cdef int64_t i, j, p
    cdef int32_t slot
    cdef Pair pair
    cdef bint large = is_large(b, b.restaurant[customers[0]])
    for j in range(n_slots):
        b.meets[slots[j]] = 0
    load(b, b.restaurant[customers[0]])
    for i in range(n):
        pair = list_of(b, customers[i]) if large else pair_of(b, customers[i])
        for p in range(pair.first, pair.last):
            slot = b.cell_dish[p] if large else b.slot_of[at(b, p)]
            if slot >= 0:
                b.meets[slot] = 1
    for j in range(n_slots):
        if b.is_proposal[slots[j]]:
            b.meets[slots[j]] = 0
            for i in range(n):
                if cell_of(b, customers[i], slots[j]).customers > 0:
                    b.meets[slots[j]] = 1
                    break
    return 0


cdef int weigh(BurstyCounts *b, const int32_t *customers, int64_t n, int32_t slot, bint meets, bint differ,
               double all_open, int8_t *opens, bint logs, double *out) noexcept nogil:
    """The same as `draw_tables` over a Dirichlet-multinomial, for a block of one restaurant, without changes.

    Its terms are `block_terms`; DEAD is a new dish. ``all_open`` is the probability that n customers of an empty
    restaurant open tables. ``out`` becomes the product of predictives, or its log. If
    terms differ and the slot has none of them in the restaurant, all customers open tables.
    """
    cdef const DirichletCounts *topics = b.topics
    cdef int64_t i, k = 0 if slot == DEAD else slot, opened = 0
    cdef int32_t d
    cdef int one
    cdef bint old = slot != DEAD
    cdef double theta = concentration_of(b, slot)
    cdef Counted here, cell
    cdef double size = topics.eta_sum + (<double>topics.totals[k] if old else 0.0)
    cdef double product = 1.0, below = 1.0, total = 0.0, shared, opening
    here.customers = here.tables = 0
    if old:
        here = total_of(b, b.restaurant[customers[0]], slot)
    if differ and not meets:
        for i in range(n):
            d = b.block_terms[b.term_of[i]]
            product *= topics.eta[d] + (<double>topics.counts[<int64_t>d * topics.stride + k] if old else 0.0)
            below *= size + <double>i
            opens[i] = 1
            if logs and (product < 1e-140 or product > 1e140 or below > 1e140):
                total += det_log(product / below)
                product = below = 1.0
        product /= below
        if here.customers == 0 and not logs and b.own == NULL:
            product *= all_open
        else:
            for i in range(n):
                product *= ((opening_of(b, slot, here) + b.discount * <double>i)
                            / (theta + <double>(here.customers + i)))
                if logs and product < 1e-140:
                    total += det_log(product)
                    product = 1.0
        out[0] = total + det_log(product) if logs else product
        return 0
    for i in range(b.n_block_terms):
        b.now[i] = b.now_tables[i] = b.added[i] = 0
    if meets:
        for i in range(n):
            cell = cell_of(b, customers[i], slot)
            b.now[b.term_of[i]] = cell.customers
            b.now_tables[b.term_of[i]] = cell.tables
    for i in range(n):
        d = b.term_of[i]
        opening = topics.eta[b.block_terms[d]] + <double>b.added[d]
        if old:
            opening += <double>topics.counts[<int64_t>b.block_terms[d] * topics.stride + k]
        opening *= (opening_of(b, slot, here) + b.discount * <double>opened) / (size + <double>opened)
        shared = <double>b.now[d] - b.discount * <double>b.now_tables[d]
        product *= (shared + opening) / (theta + <double>(here.customers + i))
        if logs and product < 1e-140:
            total += det_log(product)
            product = 1.0
        one = 1
        if shared > 0.0:
            one = draw_one(b, opening / (shared + opening))
            if one < 0:
                return -1
        opens[i] = <int8_t>one
        b.now[d] += 1
        b.now_tables[d] += one
        b.added[d] += one
        opened += one
    out[0] = total + det_log(product) if logs else product
    return 0


cdef bint is_plain(const BurstyCounts *b, int32_t slot) noexcept nogil:
    """Whether `weigh` serves a slot: that of a dish whose topic is integrated out, or a new one."""
    if b.topics == NULL:
        return False
    if slot == DEAD:
        return True
    return not b.is_proposal[slot] and not (slot < b.topics.n_fixed and b.topics.is_fixed[slot])


cdef int bursty_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                          int64_t n, double *out) noexcept nogil:
    """Log of an unbiased estimate of the probability of a block; see `BurstyReferenceBank`."""
    return of_block(<BurstyCounts *>self, customers, n_customers, slots, n, True, out)


cdef int bursty_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                      int64_t n, double *out) noexcept nogil:
    """The same as probabilities, up to a common factor."""
    cdef BurstyCounts *b = <BurstyCounts *>self
    cdef bint logs = n_customers > SHORT or b.topics == NULL or not b.topics.plain
    if of_block(b, customers, n_customers, slots, n, logs, out) < 0:
        return -1
    return as_weights(out, n) if logs else 0


cdef int of_block(BurstyCounts *b, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                  bint logs, double *out) noexcept nogil:
    cdef int64_t i, j
    cdef int status = 0
    cdef int32_t slot
    cdef int8_t *opens
    cdef bint again, single, differ
    cdef double all_open = 1.0
    if n_customers == 1:
        if bursty_predictive(b, customers[0], slots, n, out) < 0:
            return -1
        for j in range(n + 1 if logs else 0):
            out[j] = det_log(out[j])
        return 0
    if ready_block(b, n_customers, n) < 0:
        return -1
    b.n_offered = 0
    # The block that was removed last keeps its tables in the slot that it has left.
    again = b.left_slot != NONE and b.n_left == n_customers
    for i in range(n_customers if again else 0):
        again = again and b.left[i] == customers[i]
    single = b.topics != NULL and find_terms(b, customers, n_customers)
    differ = single and b.n_block_terms == n_customers
    if single:
        find_meetings(b, customers, n_customers, slots, n)
    for i in range(n_customers if differ else 0):
        all_open *= (b.concentration + b.discount * <double>i) / (b.concentration + <double>i)
    for j in range(n + 1):
        slot = slots[j] if j < n else DEAD
        if j < n:
            b.offered_slots[j] = slot
        opens = b.offered_opens.data() + j * n_customers
        if again and slot == b.left_slot:
            for i in range(n_customers):
                opens[i] = b.left_opens[i]
            out[j] = b.left_log if logs else det_exp(b.left_log)
            continue
        if single and is_plain(b, slot):
            status = weigh(b, customers, n_customers, slot, slot != DEAD and b.meets[slot], differ,
                           all_open, opens, logs, &out[j])
        else:
            if slot != DEAD:
                status = draw_tables(b, customers, n_customers, slot, opens, &out[j])
            else:
                status = draw_alone(b, customers, n_customers, slots, n, opens, &out[j])
            if not logs:
                out[j] = det_exp(out[j])
        if status < 0:
            return status
    for i in range(n_customers):
        b.offered[i] = customers[i]
    b.n_offered = n_customers
    b.n_offered_slots = n
    return 0


cdef void set_functions(measure_t *c, BurstyCounts *b) noexcept:
    c.self = b
    c.born, c.died = bursty_born, bursty_died
    c.add, c.remove = bursty_add, bursty_remove
    c.predictive, c.log_block, c.block = bursty_predictive, bursty_log_block, bursty_block


# ------------------------------------------------------------------------------------------- all customers

cdef int append(vector[OwnCell] *cells, int32_t r, int32_t term, int32_t slot, Counted numbers) except -1 nogil:
    cdef OwnCell one
    one.restaurant = r
    one.term = term
    one.slot = slot
    one.customers = <int32_t>numbers.customers
    one.tables = <int32_t>numbers.tables
    cells.push_back(one)
    return 0


cdef int collect_one(BurstyCounts *b, int32_t r, bint every, vector[OwnCell] *cells, vector[OwnCell] *totals) except -1 nogil:
    """Cells of a restaurant, all or those with more customers than tables, and its totals, in order of customers."""
    cdef int64_t p
    cdef int32_t slot
    cdef Counted numbers
    cdef Pair pair
    unlist_cells(b)
    pair.last = b.begin[r]
    while pair.last < b.begin[r + 1]:
        pair = pair_of(b, at(b, pair.last))
        count_pair(b, pair)
        for p in range(pair.first, pair.last):
            slot = b.slot_of[at(b, p)]
            if slot < 0 or b.cell[slot] == 0:
                continue
            numbers.customers = b.cell[slot]
            numbers.tables = b.cell_tables[slot]
            b.cell[slot] = b.cell_tables[slot] = 0
            if every or numbers.tables < numbers.customers:
                append(cells, r, b.terms[at(b, p)], slot, numbers)
    load(b, r)
    for p in range(b.begin[r], b.begin[r + 1]):
        slot = b.slot_of[at(b, p)]
        if slot < 0 or b.meets[slot] == 2:
            continue
        b.meets[slot] = 2
        numbers.customers = b.here[slot]
        numbers.tables = b.here_tables[slot]
        append(totals, r, -1, slot, numbers)
    for p in range(b.begin[r], b.begin[r + 1]):
        slot = b.slot_of[at(b, p)]
        if slot >= 0:
            b.meets[slot] = 0
    return 0


cdef int collect_proposed(BurstyCounts *b, bint every, vector[OwnCell] *cells, vector[OwnCell] *totals) except -1 nogil:
    """The same of slots of proposals, in all restaurants."""
    cdef int64_t p, i
    cdef int32_t slot
    cdef Counted numbers
    if b.proposed.used == 0:
        return 0
    for i in range(<int64_t>b.proposed.keys.size()):
        if b.proposed.keys[i] < 0:
            continue
        slot = <int32_t>(b.proposed.keys[i] & 0x7FFFFFFF)
        numbers.customers = b.proposed.customers[i]
        numbers.tables = b.proposed.tables[i]
        p = (b.proposed.keys[i] & ~TOTAL_KEYS) >> 31
        if b.proposed.keys[i] & TOTAL_KEYS:
            append(totals, <int32_t>p, -1, slot, numbers)
        elif every or numbers.tables < numbers.customers:
            append(cells, b.restaurant[at(b, p)], b.terms[at(b, p)], slot, numbers)
    return 0


cdef int collect(BurstyCounts *b, bint every, vector[OwnCell] *cells, vector[OwnCell] *totals) except -1 nogil:
    """All cells, or those with more customers than tables, and all totals, in an order without a history."""
    cdef int64_t r
    for r in range(b.n_restaurants):
        collect_one(b, <int32_t>r, every, cells, totals)
    collect_proposed(b, every, cells, totals)
    return 0
