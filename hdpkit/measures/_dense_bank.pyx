# distutils: language = c++
"""The common bank of conjugate measures with statistics of fixed width: places, growth, blocks, marginals.

A measure provides four C functions, or eight (see `_dense_bank.pxd`). The numbers needed for a predictive are
cached for each dish and recomputed only when the dish has changed. With the eight functions, a cache is updated
for each value that moves; a value that is removed stays in the statistics until another function needs them,
because its density under the others of the dish is known from its density under all; and the predictives of
the next customers are computed at the same time.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from hdpkit._arguments cimport check_length, check_numbers32
from hdpkit.measures._measure cimport CompiledBank, as_int32, as_weights
from hdpkit.vectors cimport bytes_of, has_room, no_memory, vector


cdef inline double *row_of(dense_t *b, int64_t place) noexcept nogil:
    return b.rows.data() + place * b.width


cdef inline const double *cache_of(dense_t *b, int64_t place) noexcept nogil:
    """The cache of a place, up to date; NULL if it can't be computed."""
    cdef double *cache = b.caches.data() + place * b.cache_width
    if b.stale[place]:
        if b.refresh(b.model, row_of(b, place), cache) < 0:
            return NULL
        b.stale[place] = 0
    return cache


cdef inline void outdate(dense_t *b, int64_t place) noexcept nogil:
    b.stale[place] = 1
    b.scored[place] = -1


cdef void clear(dense_t *b, int64_t place) noexcept nogil:
    cdef double *row = row_of(b, place)
    cdef int64_t i
    for i in range(b.width):
        row[i] = 0.0
    outdate(b, place)


cdef inline void changed(dense_t *b, int64_t place, int32_t customer, double sign) noexcept nogil:
    """Update the cache of a place after a change of its row, or mark it as out of date."""
    cdef double *cache = b.caches.data() + place * b.cache_width
    b.scored[place] = -1
    if b.stale[place] or b.change == NULL or b.change(b.model, row_of(b, place), cache, customer, sign) < 0:
        b.stale[place] = 1


cdef void take_out(dense_t *b, int64_t place, int32_t customer) noexcept nogil:
    cdef double *row = row_of(b, place)
    if row[0] <= 1.0:    # no values are left: set exact zeros, without accumulated rounding errors
        clear(b, place)
    else:
        b.count(b.model, row, customer, -1.0)
        changed(b, place, customer, -1.0)


cdef inline void finish(dense_t *b) noexcept nogil:
    """Take the removed value out of the statistics, if it is still there."""
    cdef int64_t place = b.left_place
    if place:
        b.left_place = 0
        take_out(b, place, b.left_customer)


cdef int make_room(dense_t *b, int32_t slot) noexcept nogil:
    cdef int64_t places = b.stale.size()
    if slot + 1 < places:
        return 0
    while places <= slot + 1:
        places *= 2
    if not (has_room(b.stale, places) and has_room(b.rows, places * b.width)
            and has_room(b.caches, places * b.cache_width) and has_room(b.scores, places * SCORES)
            and has_room(b.scored, places)):
        return no_memory()
    with gil:       # memory was reserved: this can't fail
        b.rows.resize(places * b.width, 0.0)
        b.caches.resize(places * b.cache_width, 0.0)
        b.stale.resize(places, 1)
        b.scores.resize(places * SCORES)
        b.scored.resize(places, -1)
    return 0


cdef int dense_born(void *self, int32_t slot) noexcept nogil:
    cdef dense_t *b = <dense_t *>self
    finish(b)
    if make_room(b, slot) < 0 or row_of(b, slot + 1)[0] != 0.0:
        return -1
    return 0


cdef int dense_died(void *self, int32_t slot) noexcept nogil:
    finish(<dense_t *>self)
    clear(<dense_t *>self, slot + 1)
    return 0


cdef int dense_move(void *self, int32_t origin, int32_t to) noexcept nogil:
    """Move the statistics of slot `origin` to the free slot `to`."""
    cdef dense_t *b = <dense_t *>self
    if origin == to:
        return 0
    finish(b)
    if make_room(b, to) < 0:
        return -1
    memcpy(row_of(b, to + 1), row_of(b, origin + 1), b.width * sizeof(double))
    memcpy(b.caches.data() + (to + 1) * b.cache_width, b.caches.data() + (origin + 1) * b.cache_width,
           b.cache_width * sizeof(double))
    b.stale[to + 1] = b.stale[origin + 1]
    b.scored[to + 1] = -1
    clear(b, origin + 1)
    return 0


cdef int dense_add(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef dense_t *b = <dense_t *>self
    cdef double *row = row_of(b, slot + 1)
    cdef int64_t i
    if n == 1 and b.left_place == slot + 1 and b.left_customer == customers[0]:
        b.left_place = 0
        return 0
    finish(b)
    for i in range(n):
        b.count(b.model, row, customers[i], 1.0)
    if n == 1:
        changed(b, slot + 1, customers[0], 1.0)
    else:
        outdate(b, slot + 1)
    return 0


cdef int dense_remove(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef dense_t *b = <dense_t *>self
    cdef int64_t i
    finish(b)
    if n == 1 and b.score != NULL and row_of(b, slot + 1)[0] > 1.0:
        b.left_place = slot + 1
        b.left_customer = customers[0]
        return 0
    if n > 1:
        outdate(b, slot + 1)
    for i in range(n):
        take_out(b, slot + 1, customers[i])
    return 0


cdef double score_of(dense_t *b, int64_t place, const double *cache, int32_t customer, bint some) noexcept nogil:
    """The score of a customer's value, computed with those of the next customers if there are `some`."""
    cdef double *scores = b.scores.data() + place * SCORES
    cdef int64_t past = customer - b.scored[place]
    if b.scored[place] >= 0 and 0 <= past < SCORES:
        return scores[past]
    if not some:
        return b.score(b.model, cache, customer)
    b.score_some(b.model, cache, customer, scores)
    b.scored[place] = customer
    return scores[0]


cdef int scored_logs(dense_t *b, int32_t customer, const int32_t *slots, int64_t n, double *out) noexcept nogil:
    """Log densities of one value by its scores, one of them perhaps of a place that still has the value."""
    cdef bint some = customer == b.last_customer + 1 and customer <= b.n_values - SCORES
    cdef int64_t i, place
    cdef double score
    cdef const double *cache
    if b.left_place and b.left_customer != customer:
        finish(b)
    b.last_customer = customer
    for i in range(n + 1):
        place = slots[i] + 1 if i < n else 0
        while True:
            cache = cache_of(b, place)
            if cache == NULL:
                return -1
            score = score_of(b, place, cache, customer, some)
            if place == 0 or place != b.left_place:
                out[i] = b.log_scored(b.model, cache, score)
                break
            out[i] = b.log_without(b.model, cache, score)
            if out[i] == out[i]:
                break
            finish(b)
    return 0


cdef int dense_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                         int64_t n, double *out) noexcept nogil:
    cdef dense_t *b = <dense_t *>self
    cdef int64_t i, place
    cdef const double *cache
    cdef double *block = b.block.data()
    if n_customers == 1 and b.score != NULL:
        return scored_logs(b, customers[0], slots, n, out)
    finish(b)
    if n_customers > 1:
        for i in range(b.width):
            block[i] = 0.0
        for i in range(n_customers):
            b.count(b.model, block, customers[i], 1.0)
    for i in range(n + 1):
        place = slots[i] + 1 if i < n else 0
        cache = cache_of(b, place)
        if cache == NULL:
            return -1
        if n_customers == 1:
            out[i] = b.log_value(b.model, cache, customers[0])
        else:
            out[i] = b.log_values(b.model, row_of(b, place), cache, block)
    return 0


cdef int dense_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n,
                          double *out) noexcept nogil:
    cdef int status = dense_log_block(self, &customer, 1, slots, n, out)
    return status if status < 0 else as_weights(out, n)


cdef int dense_marginal(void *self, int32_t slot, double *out) noexcept nogil:
    """Log marginal of a slot: its values as one block under a dish without values."""
    cdef dense_t *b = <dense_t *>self
    cdef const double *cache
    finish(b)
    cache = cache_of(b, 0)
    cdef const double *row = row_of(b, slot + 1)
    if cache == NULL:
        return -1
    out[0] = b.log_values(b.model, row_of(b, 0), cache, row) if row[0] > 0.0 else 0.0
    return 0


cdef class DenseBank(CompiledBank):
    """Statistics of all dishes as rows of doubles. A subclass provides the measure's functions, and `parts` of a row.

    ``make_statistics(*parts)`` converts these to the statistics of the measure's Python methods.
    """

    needs_dishes = False

    cdef int64_t room(self) except -1:
        return max(<int64_t>self.d.stale.size() - 1, 0)

    cdef const double[:, ::1] keep(self, values, make_statistics, bint centred):
        """Keep the data, shape (n_customers, D): if ``centred``, minus a number for each column, `offset`."""
        given = np.asarray(values, dtype=np.float64)
        self.offset = exact_offset(given) if centred else None
        self.values = np.ascontiguousarray(given - self.offset if centred else given)
        self.make_statistics = make_statistics
        return self.values

    cdef int set_up(self, void *model, int64_t n_customers, int64_t width, int64_t cache_width) except -1:
        """Fill the C struct. Call it once, after the functions of `d` are set."""
        self.d.model = model
        self.d.width = width
        self.d.cache_width = cache_width
        self.d.n_values = n_customers
        self.d.block.assign(width, 0.0)
        self.c.self = &self.d
        self.c.born = dense_born
        self.c.died = dense_died
        self.c.add = dense_add
        self.c.remove = dense_remove
        self.c.predictive = dense_predictive
        self.c.log_block = dense_log_block
        self.complete(n_customers)
        self.reset()
        return 0

    cdef bint use(self, numbers) except -1:
        """Keep the arrays of new parameters; the caches of all dishes are out of date, statistics valid. True."""
        self.given = numbers
        self.d.stale.assign(self.d.stale.size(), 1)
        self.d.scored.assign(self.d.stale.size(), -1)
        return True

    def reset(self):
        """Clear the statistics of all slots."""
        cdef int64_t places = max(<int64_t>self.d.stale.size(), 16)
        self.d.rows.assign(places * self.d.width, 0.0)
        self.d.caches.assign(places * self.d.cache_width, 0.0)
        self.d.stale.assign(places, 1)
        self.d.scores.assign(places * SCORES, 0.0)
        self.d.scored.assign(places, -1)
        self.d.left_place = 0
        self.d.last_customer = -1

    def log_predictive(self, customer, slots):
        return self.log_block([customer], slots)

    def rebuild(self, const int32_t[::1] dishes not None, slots):
        """Recompute all statistics from the dish of each customer (-1: unseated), in data order."""
        cdef int64_t i
        if dishes.shape[0] > self.n_customers:
            check_length("dishes", dishes.shape[0], self.n_customers)
        self.reset()
        self.check(make_room(&self.d, max(slots, default=-1)))
        check_numbers32("dishes", dishes, -1, self.room() - 1)
        with nogil:
            for i in range(dishes.shape[0]):
                if dishes[i] >= 0:
                    self.d.count(self.d.model, row_of(&self.d, dishes[i] + 1), <int32_t>i, 1.0)

    def relabelled(self, mapping):
        cdef int64_t slot
        cdef const int32_t[::1] to = as_int32(mapping[: self.room()])
        for slot in range(to.shape[0]):
            if to[slot] >= 0:
                self.check(dense_move(&self.d, <int32_t>slot, to[slot]))

    def log_marginals(self, slots, dishes=None):
        cdef const int32_t[::1] s = as_int32(slots)
        out = np.zeros(s.shape[0])
        cdef double[::1] o = out
        cdef int64_t i
        for i in range(s.shape[0]):
            self.check(dense_marginal(&self.d, s[i], &o[i]))
        return out

    def row(self, int32_t slot):
        """A copy of the statistics of a slot as they are stored: float64."""
        finish(&self.d)
        cdef const double[::1] view = <const double[:self.d.width]>row_of(&self.d, slot + 1)
        return np.array(view)

    def copy_of(self, int32_t slot):
        """The statistics of a slot and the numbers computed from them, to be restored by `put`."""
        row = self.row(slot)
        cdef const double *cache = self.d.caches.data() + (slot + 1) * self.d.cache_width
        return row, np.array(<const double[:self.d.cache_width]>cache), self.d.stale[slot + 1]

    def put(self, int32_t slot, kept):
        """Restore what `copy_of` returned, to the bit."""
        cdef const double[::1] row = kept[0]
        cdef const double[::1] cache = kept[1]
        finish(&self.d)
        outdate(&self.d, slot + 1)
        memcpy(row_of(&self.d, slot + 1), &row[0], self.d.width * sizeof(double))
        memcpy(self.d.caches.data() + (slot + 1) * self.d.cache_width, &cache[0], self.d.cache_width * sizeof(double))
        self.d.stale[slot + 1] = kept[2]

    def statistics(self, slots, dishes):
        return [self.make_statistics(*self.parts(self.row(slot))) for slot in slots]

    def memory_bytes(self):
        return bytes_of(self.d.rows, self.d.caches, self.d.block, self.d.scores, self.d.stale, self.d.scored)


def exact_offset(values):
    """A number for each column that can be subtracted from all its values without rounding: shape (D,).

    Values far from zero with a small spread keep their digits if their middle is subtracted. If the
    difference would be rounded for any value, the offset is 0.
    """
    middle = np.median(values, axis=0)
    moved = values - middle
    # Two-sum (Knuth): the rounding error of a difference is itself a double.
    back = moved - values
    error = (values - (moved - back)) - (middle + back)
    exact = np.all((error == 0.0) & np.isfinite(moved), axis=0)
    return np.where(exact, middle, 0.0)
