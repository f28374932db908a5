# distutils: language = c++
"""Fused steps for blocks of two-level Dirichlet-multinomial franchises: dish Gibbs and split-merge.

`topic_blocks.h` computes and draws, over an explicit store; changes of the seating are made here, by the
store. The readable twins are in `hdpkit.steps.units`, the generic ones in
`hdpkit.steps._sweeps`.
"""

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport ilogb, log2
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from hdpkit.vectors cimport vector

from hdpkit.measures._bursty cimport BurstyBank
from hdpkit.measures._bursty_counts cimport BurstyCounts, Counted, is_large, ready_ratio, rise, sit
from hdpkit.measures._dirichlet_multinomial cimport DirichletMultinomialBank
from hdpkit.stores._explicit cimport ExplicitStore, Table
from hdpkit.measures._measure cimport CompiledBank, measure_t
from hdpkit.stores._seating cimport ENTRY_WORDS, Node, arena_room
from hdpkit.steps._sweeps cimport Units, fail, serve_below
from hdpkit.steps._walk cimport WeightedRoot, WeightTable
from hdpkit.steps._walk cimport Walk
from hdpkit.numerics cimport det_log
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.steps import _sweeps as sweeps
from hdpkit.steps.fused.instruction_set import chosen, scripts
from hdpkit.steps.fused._topic_workspace cimport hdpkit_room, hdpkit_words, on_a_line, refresh_words
from hdpkit.random import RandomStream

cdef extern from "topics.h":
    ctypedef struct hdpkit_philox:
        pass
    enum hdpkit_block_request:
        HDPKIT_BLOCK_LAST
        HDPKIT_BLOCK_MOVED
        HDPKIT_BLOCK_SEATED
        HDPKIT_BLOCK_BIRTH
        HDPKIT_BLOCK_FAILED
        HDPKIT_BLOCK_RATIOS
    enum:
        HDPKIT_PLACES
        HDPKIT_LANES
    ctypedef struct hdpkit_factor:
        int32_t customer
    ctypedef struct hdpkit_block_words:
        hdpkit_words *words
        const int32_t *home
        double scale
        double step
        int8_t *kept
        int8_t *opens
    ctypedef struct hdpkit_blocks:
        const int32_t *terms
        const int32_t *customer
        const int32_t *code
        const int64_t *offset
        int32_t *counts
        int64_t *totals
        double *inverse
        const double *eta
        double eta_sum
        int64_t stride
        int64_t n_terms
        const Node *root
        const int32_t *words
        const Table *pool
        double concentration
        double discount
        const double *weight
        double rest
        hdpkit_philox *stream
        int64_t (*choose)(void *state, const double *weights, int64_t n) noexcept nogil
        void *state
        int (*seating)(void *step, int request) noexcept nogil
        void *step
        int64_t unit
        int64_t last
        int32_t origin
        int32_t dish
        int32_t outside
        int32_t every
        hdpkit_factor *now
        int64_t n_now
        int32_t *seen
        int64_t n_all
        uint8_t *excess
        float steps
        int64_t starts_stride
        int64_t passes
        const int64_t *order
        const int8_t *target
        int8_t *sides
        int64_t *sizes
        int32_t *slot
        double *odds
        double *down
        hdpkit_block_words *bursts
    void lay_out_slots "hdpkit_lay_out"(hdpkit_blocks *s, hdpkit_room *room, bint bounded) noexcept nogil
    void lay_out_units "hdpkit_lay_out_units"(hdpkit_blocks *s, hdpkit_room *room, int64_t most, int64_t longest) noexcept nogil
    ctypedef struct hdpkit_topic_functions:
        int (*blocks_start)(hdpkit_blocks *s) noexcept nogil
        int (*blocks_fill)(hdpkit_blocks *s) noexcept nogil
        int (*blocks_recount)(hdpkit_blocks *s, int32_t slot) noexcept nogil
        int (*blocks_bounds)(hdpkit_blocks *s, float *kept) noexcept nogil
        int (*resample_dish)(hdpkit_blocks *s) except -1 nogil
        int (*scan_units)(hdpkit_blocks *s) noexcept nogil
        int (*bursty_blocks_start)(hdpkit_blocks *s) noexcept nogil
        int (*bursty_resample_dish)(hdpkit_blocks *s) except -1 nogil
    const char *HDPKIT_TOPIC_CAPSULE

cdef const hdpkit_topic_functions *functions = (
    <const hdpkit_topic_functions *>PyCapsule_GetPointer(chosen.topics, HDPKIT_TOPIC_CAPSULE))
cdef const hdpkit_topic_functions *of_scripts = (
    <const hdpkit_topic_functions *>PyCapsule_GetPointer(scripts.topics, HDPKIT_TOPIC_CAPSULE))

cdef enum:
    LINE_BYTES = 64
    MOST = 16              # most factors between two extractions of exponents
    ROOM = 1000            # most bits of the exponent of their product

    STEPS = 8              # most units of the bounds a bit
    WORTH = 64             # most bounds for each customer: more cost more than they spare

cdef double MOST_ETA = 1e30
cdef double LOG_2 = 0.69314718055994530942


cdef class Bounds:
    """Bounds by term and slot (block_bounds.h), which follow the counts as long as only the step changes them."""

    cdef vector[uint8_t] excess      # n_terms rows of stride slots
    cdef int64_t stride
    cdef int64_t version, eta_version    # of the counts and of eta for which they are valid
    cdef int64_t passes              # units for which all dishes were computed


cdef class Blocks:
    """Data of a fused step for the duration of a call."""

    cdef hdpkit_blocks s
    cdef Walk walk
    cdef ExplicitStore store
    cdef DirichletMultinomialBank bank
    cdef WeightTable table           # None if the root is a restaurant
    cdef Units units
    cdef vector[int8_t] arrays, by_customer      # by slot, and by customer of a unit
    cdef Bounds bounds               # None if they aren't used
    cdef CompiledBank values         # the bank whose values the blocks are: `bank`, or the one over it with tables of words
    cdef BurstyCounts *words         # the latter's, or NULL
    cdef hdpkit_words at_tables
    cdef hdpkit_block_words bursts
    cdef const hdpkit_topic_functions *compiled
    cdef int (*start)(hdpkit_blocks *s) noexcept nogil
    cdef int (*resample)(hdpkit_blocks *s) except -1 nogil
    cdef choice_source *source
    cdef int64_t stride
    cdef int32_t most_tables         # value in the store when memory for any request was last reserved

    def __cinit__(self, Walk walk not None, CompiledBank values not None, Units units not None,
                 ChoiceSource source not None):
        cdef hdpkit_blocks *s = &self.s
        cdef DirichletMultinomialBank bank
        bank = (<BurstyBank>values).inner if isinstance(values, BurstyBank) else values
        self.walk = walk
        self.store = walk.store
        self.bank = bank
        self.values = values
        self.compiled = of_scripts
        if isinstance(source, RandomStream) and not source.overridden:
            s.stream = <hdpkit_philox *>source.c.state
            self.compiled = functions
        self.start = self.compiled.blocks_start
        self.resample = self.compiled.resample_dish
        if isinstance(values, BurstyBank):
            self.words = &(<BurstyBank>values).b
            self.words.loaded = -1
            self.bursts.words = &self.at_tables
            self.bursts.home = &walk.home[0]
            self.bursts.scale = 1.0 / self.words.concentration
            self.bursts.step = self.words.discount / self.words.concentration
            s.bursts = &self.bursts
            self.start = self.compiled.bursty_blocks_start
            self.resample = self.compiled.bursty_resample_dish
        self.table = (<WeightedRoot>walk.root).table if isinstance(walk.root, WeightedRoot) else None
        self.units = units
        s.terms = bank.b.terms
        s.seen = bank.b.block.data()
        s.customer = units.customer.data()
        s.code = units.code.data()
        s.offset = units.offset.data()
        s.eta = bank.b.eta.data()
        s.eta_sum = bank.b.eta_sum
        s.n_terms = bank.b.n_terms
        s.concentration = walk.concentration[0]
        s.discount = walk.discount[0]
        # An upper bound of |log2| of a factor; eta is from 1e-100 to 1e100.
        s.every = min(MOST, ROOM // max(28 if bank.b.plain else 334,
                                        ilogb(s.eta_sum + <double>self.store.n_customers) + 2) // 2 * 2)
        self.source = &source.c
        s.choose = source.c.choose
        s.state = source.c.state
        s.step = <void *>self
        s.seating = <int (*)(void *, int) noexcept nogil>answer

    cdef int make_room(self, int64_t most) except -1 nogil:
        """Allocate arrays for two units of this many customers."""
        cdef hdpkit_room room
        cdef int64_t r, longest = 0
        for r in range(self.words.n_restaurants if self.words != NULL else 0):
            longest = max(longest, self.words.begin[r + 1] - self.words.begin[r])
        room.at = NULL
        room.bytes = 0
        lay_out_units(&self.s, &room, most, longest)
        self.by_customer.resize(room.bytes + LINE_BYTES)
        room.at, room.bytes = on_a_line(self.by_customer.data()), 0
        lay_out_units(&self.s, &room, most, longest)
        return 0

    cdef int refresh(self) except -1 nogil:
        """Update all addresses: operations of the store or the statistics may move their arrays."""
        cdef hdpkit_blocks *s = &self.s
        s.counts = self.bank.b.counts
        s.totals = self.bank.b.totals.data()
        s.inverse = self.bank.b.inverse.data()
        s.stride = self.bank.b.stride
        s.root = self.store.nodes.data()
        s.words = self.store.arena.words.data()
        s.pool = self.store.pool.data()
        if self.words != NULL:
            refresh_words(&self.at_tables, self.words)
        if self.table is not None:
            if <int64_t>self.table.weight.size() < s.stride:      # rows have grown: no unit is unseated then
                with gil:
                    self.table.make_room(s.stride)
            s.rest = self.table.rest
            s.weight = self.table.weight.data()
        return 0

    cdef inline int ready(self, bint moved) except -1 nogil:
        """Allocate the memory that the next request may need in the store.

        After one that only ``moved`` a table to another dish, only entries may need memory.
        """
        if moved and self.store.most_tables == self.most_tables:
            arena_room(&self.store.arena, 2 * ENTRY_WORDS * (1 + 2 * <int64_t>self.store.largest))
            self.s.words = self.store.arena.words.data()
            return 0
        self.walk.ready_anywhere()
        self.most_tables = self.store.most_tables
        return self.refresh()

    cdef int keep_bounds(self) except -1:
        """Use bounds, those of these units if they are valid."""
        cdef double least = self.bank.smallest_eta, most
        if self.bank.b.n_terms * self.bank.b.stride > WORTH * <int64_t>self.units.customer.size():
            return 0
        if least < 1.0 / MOST_ETA or self.bank.b.eta_sum > MOST_ETA:      # not numbers of single precision
            return 0
        if self.units.bounds is None:
            self.units.bounds = Bounds()
        self.bounds = self.units.bounds
        if self.bounds.version != self.bank.b.version or self.bounds.eta_version != self.bank.eta_version:
            self.bounds.stride = 0
            self.bounds.eta_version = self.bank.eta_version
        self.bounds.version = -1
        most = log2(1.0 + <double>self.store.n_customers / least) + 1.0
        self.s.steps = min(<double>STEPS, 250.0 / most)
        return 0

    cdef int follow(self, int32_t slot) except -1 nogil:
        """Update the bounds of a slot that the current unit has left or joined."""
        if self.bounds is not None and self.bank.b.stride == self.s.stride:
            self.s.counts = self.bank.b.counts
            functions.blocks_recount(&self.s, slot)
        return 0

    cdef int lay_out(self) except -1 nogil:
        """Allocate arrays by slot, each beginning on a cache line, and fill them from the root's entries."""
        cdef hdpkit_blocks *s = &self.s
        cdef hdpkit_room room
        self.refresh()
        if s.stride != self.stride:
            s.starts_stride = (s.stride + HDPKIT_PLACES - 1) // HDPKIT_PLACES * HDPKIT_PLACES
            room.at = NULL
            room.bytes = 0
            lay_out_slots(s, &room, self.bounds is not None)
            self.arrays.assign(room.bytes + LINE_BYTES, 0)
            room.at, room.bytes = on_a_line(self.arrays.data()), 0
            lay_out_slots(s, &room, self.bounds is not None)
            self.stride = s.stride
        if self.bounds is not None and self.bounds.stride != s.stride:
            self.bounds.excess.resize(s.n_terms * s.stride + HDPKIT_PLACES)     # read in registers of bytes
            s.excess = self.bounds.excess.data()
            functions.blocks_fill(s)
            self.bounds.stride = s.stride
        if self.bounds is not None:
            s.excess = self.bounds.excess.data()
        return self.start(s)

    cdef int take_out(self) except -1 nogil:
        """Remove the unit from its dish, which may then die."""
        cdef measure_t *measure = &self.bank.c
        cdef int32_t dish = self.s.origin
        cdef int64_t i, u = self.s.unit
        if self.words == NULL:
            measure.remove(measure.self, dish, self.s.customer + self.s.offset[u],
                           self.s.offset[u + 1] - self.s.offset[u])
        else:
            for i in range(self.s.n_now - 1, -1, -1):
                rise(self.words, self.s.now[i].customer, dish, self.bursts.kept[i], NULL)
        if self.walk.unseat_customer(self.s.code[u], 0, dish, self.source):
            self.walk.slots.death(dish)
        self.s.outside = 1
        self.follow(dish)
        return 0

    cdef int bring_in(self) except -1 nogil:
        """Seat the unit, which was removed."""
        cdef measure_t *measure = &self.bank.c
        cdef int32_t dish = self.s.dish
        cdef int64_t i, u = self.s.unit
        serve_below(self.store, self.units, u, dish)
        self.walk.seat_customer(self.s.code[u], 0, dish, self.source)
        if self.words == NULL:
            measure.add(measure.self, dish, self.s.customer + self.s.offset[u],
                        self.s.offset[u + 1] - self.s.offset[u])
        else:
            for i in range(self.s.n_now):
                sit(self.words, self.s.now[i].customer, dish, self.bursts.opens[i], NULL)
        self.follow(dish)
        self.s.outside = 0
        return 0

    cdef int answer(self, int request) except -1 nogil:
        """Do what only the store or the bank can do for the current unit."""
        cdef hdpkit_blocks *s = &self.s
        cdef const int32_t *customer = s.customer + s.offset[s.unit]
        cdef int32_t as_customer
        cdef Counted numbers
        if request == HDPKIT_BLOCK_MOVED:
            self.bank.b.version += 1
            if self.words != NULL:
                self.words.version += 1
            self.store.remove_customer(0, s.origin, s.code[s.unit], self.source, &as_customer)
            serve_below(self.store, self.units, s.unit, s.dish)
            self.store.join_table(0, s.dish, s.code[s.unit], s.discount, self.source)
            return self.ready(True)
        if request == HDPKIT_BLOCK_RATIOS:
            numbers.customers = self.at_tables.wanted_customers
            numbers.tables = self.at_tables.wanted_tables
            if ready_ratio(self.words, numbers) < 0:
                fail("the tables of the words", customer[0])
            return self.ready(False)
        if request == HDPKIT_BLOCK_FAILED:
            fail("the conditional of the table", customer[0])
        if not s.outside:      # the table has not been removed yet
            self.take_out()
        if request == HDPKIT_BLOCK_BIRTH and self.walk.slots.birth(&s.dish, customer, s.offset[s.unit + 1] - s.offset[s.unit]):
            fail("the conditional of the table", customer[0])
        if request != HDPKIT_BLOCK_LAST:
            self.bring_in()
        self.lay_out()
        return 0 if s.outside else self.ready(False)

    cdef int resample_dish(self) except -1 nogil:
        cdef hdpkit_blocks *s = &self.s
        cdef int64_t u, most = 0
        for u in range(s.unit, s.last):
            most = max(most, s.offset[u + 1] - s.offset[u])
        self.make_room(most)
        self.lay_out()
        self.ready(False)
        return self.resample(s)


cdef int answer(void *step, int request) except -1 nogil:
    return (<Blocks>step).answer(request)


cdef bint any_customer(Units units, int64_t first, int64_t last) noexcept nogil:
    """Whether a data customer is among these units: the fused code handles only tables."""
    cdef const int32_t *code = units.code.data()
    cdef int32_t all_tables = -1         # tables have negative codes
    cdef int64_t u
    for u in range(first, last):
        all_tables &= code[u]
    return all_tables >= 0


cdef bint words_are_below(BurstyCounts *words, Walk walk, Units units, int64_t first, int64_t last) noexcept nogil:
    """Whether topics differ by the restaurants of these units, and these aren't too large for the fused code."""
    cdef int64_t i
    cdef int32_t node, who
    for i in range(units.offset[first], units.offset[last]):
        who = units.customer[i]
        node = walk.home[who]
        if words.restaurant[who] != node or is_large(words, node):
            return False
    return True


def resample_dish(Walk walk not None, CompiledBank bank not None, Units units not None, int64_t first, int64_t last,
                  ChoiceSource source not None, bint bounded=True):
    """Draw the dish of units first .. last - 1 (tables of one level) one after the other.

    With ``bounded``, dishes that can't be drawn aren't computed. The chain is the same without.
    """
    walk.check_dishes()
    if any_customer(units, first, last) or (
            isinstance(bank, BurstyBank)
            and not words_are_below(&(<BurstyBank>bank).b, walk, units, first, last)):
        sweeps.resample_dish(walk, bank, units, first, last, source)
        return
    cdef Blocks blocks = Blocks(walk, bank, units, source)
    blocks.s.unit = first
    blocks.s.last = last
    if bounded and blocks.s.stream != NULL:
        blocks.keep_bounds()
    with nogil:
        blocks.resample_dish()
    if blocks.bounds is not None:
        blocks.bounds.version = blocks.bank.b.version
        blocks.bounds.passes += blocks.s.passes
    units.kept(walk.store)


def bounds(Walk walk not None, DirichletMultinomialBank bank not None, Units units not None, int64_t unit):
    """Upper bounds of log2 of the weights of all slots for a table, relative to its own dish: float32."""
    walk.check_dishes()
    cdef Blocks blocks = Blocks(walk, bank, units, RandomStream())
    blocks.s.unit = unit
    blocks.s.last = unit + 1
    blocks.keep_bounds()
    blocks.make_room(units.offset[unit + 1] - units.offset[unit])
    blocks.lay_out()
    out = np.empty(blocks.s.stride, dtype=np.float32)
    cdef float[::1] o = out
    functions.blocks_bounds(&blocks.s, &o[0])
    blocks.bounds.version = bank.b.version
    return out[:blocks.s.n_all]


def computed_units(Units units not None):
    """The number of units for which `resample_dish` computed all dishes, with bounds."""
    return 0 if units.bounds is None else (<Bounds?>units.bounds).passes


def scan_units(Walk walk not None, DirichletMultinomialBank bank not None, Units units not None,
               const int64_t[::1] order not None, int8_t[::1] sides not None, int64_t[::1] sizes not None,
               int32_t slot_a, int32_t slot_b, forced, ChoiceSource source not None, double log_q=0.0):
    """A restricted Gibbs scan of units over two dishes; returns the log probability of the result.

    See the generic twin.
    """
    walk.check_dishes()
    cdef Blocks blocks = Blocks(walk, bank, units, source)
    cdef hdpkit_blocks *s = &blocks.s
    cdef const int8_t[::1] target
    cdef vector[double] odds, down
    cdef int64_t i, most = 0
    if order.shape[0] == 0:
        return log_q
    for i in range(order.shape[0]):
        most = max(most, s.offset[order[i] + 1] - s.offset[order[i]])
    blocks.make_room(most)
    odds.resize(order.shape[0])
    down.resize(order.shape[0])
    s.odds = odds.data()
    s.down = down.data()
    s.order = &order[0]
    s.sides = &sides[0]
    s.sizes = &sizes[0]
    s.slot[0] = slot_a
    s.slot[1] = slot_b
    if forced is not None:
        target = forced
        s.target = &target[0]
    s.last = order.shape[0]
    bank.b.version += 1
    with nogil:
        blocks.refresh()
        if blocks.compiled.scan_units(s) < 0:
            fail("the restricted conditional", units.customer[units.offset[order[s.unit]]])
        for i in range(order.shape[0]):
            log_q += det_log(odds[i]) + down[i] * LOG_2
    return log_q
