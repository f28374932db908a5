# distutils: language = c++
"""The fused sweep of two-level topic models, plain and sparse: `topic_sweep.h` over the stores.

The header handles what is common to the stores and applies to nearly every customer. Where a table opens, closes
or is one of several, it calls `Sweep.answer`, and the store does it.
"""

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from hdpkit.vectors cimport no_memory, vector

from hdpkit.stores._counts cimport CountsStore
from hdpkit.stores._explicit cimport ExplicitStore
from hdpkit.stores._histogram cimport HistogramStore
from hdpkit.measures._bursty_counts cimport BurstyCounts, Counted, list_cells, ready_ratio, unlist_cells
from hdpkit.measures._measure cimport CompiledBank, measure_t
from hdpkit.measures._term_counts cimport TermCountsBank
from hdpkit.stores._seating cimport ENTRY_WORDS
from hdpkit.steps._sweeps cimport fail, misplaced, reseat_one
from hdpkit.steps._walk cimport WeightedRoot, WeightTable
from hdpkit.steps._table_counts cimport draw_tables_of, restaurants_of
from hdpkit.steps._walk cimport Walk
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.steps.fused._topic_workspace cimport (
    HDPKIT_ABROAD, HDPKIT_BIRTH, HDPKIT_FAILED, HDPKIT_JOIN, HDPKIT_LEAVE, HDPKIT_LIST, HDPKIT_OPEN, HDPKIT_RATIOS,
    HDPKIT_UNSEATED, Workspace, hdpkit_choose, hdpkit_philox, hdpkit_topic_functions, hdpkit_topic_sweep, hdpkit_topics, refresh_words, workspace_of)
from hdpkit.steps.fused.instruction_set import chosen, scripts
from hdpkit.steps import _sweeps as generic
from hdpkit.random import RandomStream

cdef extern from "topics.h":
    const char *HDPKIT_TOPIC_CAPSULE

STORES = (HistogramStore, ExplicitStore)     # exactly these: the code accesses their tables directly
STORES_UNDER_WEIGHTS = (CountsStore, *STORES)

cdef const hdpkit_topic_functions *functions = (
    <const hdpkit_topic_functions *>PyCapsule_GetPointer(chosen.topics, HDPKIT_TOPIC_CAPSULE))
cdef const hdpkit_topic_functions *of_scripts = (
    <const hdpkit_topic_functions *>PyCapsule_GetPointer(scripts.topics, HDPKIT_TOPIC_CAPSULE))

# Slots x (customers + sum eta) up to which sums of shares in units of 2**-62 have a relative error below
# 2**-16.
cdef double FINEST = 1 << 46

cdef enum:
    MOST_DISHES = 8192      # of a sparse measure, at the start of a piece of a sweep; also customers of a piece


cdef class Sweep:
    """A sweep over the customers of a store: what it asks of the store and of the bank while it runs."""

    cdef Workspace workspace
    cdef Walk walk
    cdef measure_t *measure
    cdef choice_source *source
    cdef ExplicitStore explicit      # the store by its type, else None
    cdef CountsStore counts
    cdef WeightTable table           # the root's weights; None for a restaurant
    cdef int (*start)(hdpkit_topics *, int) noexcept nogil
    cdef vector[double] weights

    def __cinit__(self, Walk walk not None, Workspace workspace not None):
        weighted = isinstance(walk.root, WeightedRoot)
        self.walk = walk
        self.workspace = workspace
        self.explicit = walk.store if type(walk.store) is ExplicitStore else None
        self.counts = walk.store if type(walk.store) is CountsStore else None
        self.table = (<WeightedRoot>walk.root).table if weighted else None

    cdef int refresh(self) except -1 nogil:
        """Update all addresses: operations of the store or the statistics may move their arrays."""
        cdef hdpkit_topics *s = &self.workspace.s
        if self.workspace.words != NULL:
            refresh_words(&self.workspace.bursts, self.workspace.words)
        s.counts = self.workspace.counts.counts
        s.totals = self.workspace.counts.totals.data()
        s.stride = self.workspace.counts.stride
        if self.workspace.plain != NULL:
            s.inverse = self.workspace.plain.inverse.data()
        else:
            s.distinct = self.workspace.sparse.distinct.data()
        s.nodes = self.walk.store.nodes.data()
        s.words = self.walk.store.arena.words.data()
        s.labels = NULL
        s.seats = NULL
        if self.explicit is None:
            s.labels = self.walk.store.of_customer.data()
        else:
            s.seats = self.explicit.of_customer.data()
            s.pool = self.explicit.pool.data()
        if self.table is not None:
            if <int64_t>self.table.weight.size() < s.stride:
                with gil:
                    self.table.make_room(s.stride)
            s.weight = self.table.weight.data()
            s.rest = self.table.rest
        return 0

    cdef int write(self) except -1 nogil:
        """Write the dishes of the current restaurant to the store."""
        cdef hdpkit_topics *s = &self.workspace.s
        if s.unwritten:
            self.counts.write_dishes(s.loaded, s.here, s.stride, self.walk.slots.position.data())
            s.unwritten = 0
        return 0

    cdef int make_room(self) except -1 nogil:
        """Allocate the memory that a request, or writing the dishes of a restaurant, may need in the store."""
        self.walk.ready_anywhere()
        if self.counts is not None:
            self.counts.ready(
                2 * ENTRY_WORDS * (1 + 2 * <int64_t>self.counts.largest + self.workspace.counts.stride), 0)
        return 0

    cdef int answer(self, int request) except -1 nogil:
        """Do what only the store or the bank can do for the current customer."""
        cdef hdpkit_topics *s = &self.workspace.s
        cdef int32_t customer = <int32_t>s.customer, node = self.walk.home[customer], as_customer
        cdef Counted numbers
        self.write()
        if request == HDPKIT_RATIOS:
            numbers.customers = self.workspace.bursts.wanted_customers
            numbers.tables = self.workspace.bursts.wanted_tables
            if ready_ratio(self.workspace.words, numbers) < 0:
                fail("the tables of the word", customer)
            return self.refresh()
        if request == HDPKIT_LIST:
            if list_cells(self.workspace.words, node) < 0:
                fail("the words of its document", customer)
        elif request == HDPKIT_LEAVE:
            if self.walk.unseat_customer(customer, node, s.dish, self.source):
                self.walk.slots.death(s.dish)
        elif request == HDPKIT_JOIN:
            self.walk.store.join_table(node, s.dish, customer, self.walk.discount[node], self.source)
        elif request == HDPKIT_OPEN:
            self.walk.store.open_table(node, s.dish, customer, &as_customer)
            self.walk.store.join_table(0, s.dish, as_customer, self.walk.discount[0], self.source)
        elif request == HDPKIT_BIRTH:
            if self.walk.slots.birth(&s.dish, &customer, 1):
                fail("the conditional", customer)
            self.walk.store.open_table(node, s.dish, customer, &as_customer)
            self.walk.store.open_table(0, s.dish, as_customer, &as_customer)
        elif request == HDPKIT_ABROAD:
            if self.workspace.words != NULL:
                unlist_cells(self.workspace.words)
                self.workspace.words.loaded = -1
            reseat_one(self.walk, self.measure, customer, &self.weights, self.source)
            if self.workspace.words != NULL:
                unlist_cells(self.workspace.words)
        elif request == HDPKIT_UNSEATED:
            with gil:
                misplaced(customer, "seated", "Start the franchise, or seat the customer first.")
        elif request == HDPKIT_FAILED:
            if s.starved:
                no_memory()
            fail("the conditional", customer)
        if request != HDPKIT_LEAVE:
            self.make_room()
        self.refresh()
        if request == HDPKIT_ABROAD:        # everything may have changed
            self.workspace.lay_out(s.stride)
            self.start(s, 1)
        elif s.stride != self.workspace.stride:      # a new dish, whose table is counted later
            self.workspace.lay_out(s.stride)
            self.start(s, 0)
            s.root_customers -= 1
            s.tables[s.dish] -= 1
        return 0

    cdef int run(self, bint scripted, bint floats) except -1 nogil:
        cdef hdpkit_topics *s = &self.workspace.s
        cdef const hdpkit_topic_functions *compiled = of_scripts if scripted else functions
        cdef const hdpkit_topic_sweep *under = &compiled.restaurant
        cdef vector[int32_t] nodes       # whose tables are drawn at the end
        if self.table is not None:
            under = &compiled.weights if self.counts is None else &compiled.counts
            if self.workspace.words != NULL:
                under = &compiled.bursts_weights if self.counts is None else &compiled.bursts_counts
        elif self.workspace.words != NULL:
            under = &compiled.bursts
        elif self.workspace.sparse != NULL:
            under = &compiled.sparse
        self.start = under.start_floats if floats or not scripted else under.start_doubles
        self.workspace.lay_out(self.workspace.counts.stride)
        restaurants_of(self.walk, s.customer, s.last, &nodes)
        self.make_room()
        one_table_each(self.walk, &nodes)
        self.refresh()
        self.start(s, self.workspace.version != self.workspace.counts.version)
        self.workspace.version = -1
        s.unwritten = 0
        s.sweep = <void *>self
        s.seating = <int (*)(void *, int) noexcept nogil>answer
        if not scripted:
            under.production(s)
        elif floats:
            under.probe(s)
        else:
            under.scripted(s)
        self.write()
        draw_tables_of(self.walk, &nodes, self.source)
        if self.workspace.words != NULL:
            self.workspace.words.loaded = -1
            self.workspace.words.version += 1
        self.workspace.counts.version += 1
        self.workspace.version = self.workspace.counts.version
        return 0


cdef int answer(void *sweep, int request) except -1 nogil:
    return (<Sweep>sweep).answer(request)


cdef int one_table_each(Walk walk, vector[int32_t] *nodes) noexcept nogil:
    """Give each dish of these restaurants one table: tables are drawn again at the end of the sweep."""
    cdef size_t i
    cdef int32_t place, node
    for i in range(nodes.size()):
        node = nodes.data()[i]
        if node > 0:
            for place in range(walk.store.nodes[node].n_entries):
                walk.store.change_tables(node, place, 1, 0, walk.slots.position[walk.store.entries(node)[place].dish])
    return 0


cdef bint words_are_at_home(BurstyCounts *words, Walk walk, int64_t first, int64_t last) noexcept nogil:
    """Whether topics differ by the restaurants in which these customers are, or by the root."""
    cdef int64_t i
    for i in range(first, last):
        if walk.home[i] != 0 and words.restaurant[i] != walk.home[i]:
            return False
    return True


def reseat(Walk walk not None, CompiledBank bank not None, int64_t first, int64_t last,
           ChoiceSource source not None, bint floats=False):
    """Reseat data customers first .. last - 1, one after the other.

    With a script, ``floats`` selects single precision as in production.
    """
    cdef Workspace workspace = workspace_of(bank)
    walk.check_dishes()
    cdef Sweep sweep = Sweep(walk, workspace)
    cdef hdpkit_topics *s = &workspace.s
    cdef bint scripted = not isinstance(source, RandomStream) or source.overridden
    if first >= last:
        return
    if sweep.table is not None:
        if workspace.counts.stride * (bank.n_customers + workspace.plain.eta_sum) > FINEST:
            generic.reseat(walk, bank, first, last, source)
            return
    if workspace.words != NULL and not words_are_at_home(workspace.words, walk, first, last):
        generic.reseat(walk, bank, first, last, source)
        return
    if workspace.words != NULL:
        unlist_cells(workspace.words)
    if sweep.explicit is not None:
        sweep.explicit.changes += 1
    sweep.measure = &bank.c
    sweep.source = &source.c
    workspace.take_parameters()
    s.home = &walk.home[0]
    s.concentration = &walk.concentration[0]
    s.discount = &walk.discount[0]
    s.stream = <hdpkit_philox *>source.c.state
    s.choose = source.c.choose
    s.script = source.c.state
    s.asking = 0
    # The units of sums over the root of a sparse measure allow at most this many dishes.
    cdef int64_t piece = last - first if workspace.sparse == NULL else MOST_DISHES
    while first < last:
        s.customer = first
        s.last = min(last, first + piece)
        if workspace.sparse != NULL and <int64_t>walk.slots.live.size() > MOST_DISHES:
            generic.reseat(walk, bank, first, s.last, source)
        else:
            try:
                with nogil:
                    sweep.run(scripted, floats)
            finally:
                if workspace.words != NULL:
                    unlist_cells(workspace.words)
        first = s.last


# ------------------------------------------------------------------------------------------- for tests

def asked_for(CompiledBank bank not None):
    """The choice requested from a script while its function runs: the customer and the outcomes.

    Outcomes, one per weight: k to join a table of dish k, -2 - k to open one, -2 - (slots of a row) for a new dish; none
    if the request is from a store (for a table), not from the sweep.
    """
    cdef Workspace workspace = workspace_of(bank)
    cdef int64_t i
    outcomes = np.empty(workspace.s.asking, dtype=np.int64)
    for i in range(workspace.s.asking):
        if workspace.words != NULL:
            outcomes[i] = of_scripts.bursts.outcome(&workspace.s, i)
        else:
            outcomes[i] = of_scripts.restaurant.outcome(&workspace.s, i)
    return workspace.s.customer, outcomes


def bounds(TermCountsBank bank not None):
    """The bounded values and upper bounds of the last sweep in floats; shapes (slots,), (slots,), (V,).

    Bounds of `root` are in units of 2**-31; those of terms are sums of root_bound x count, 2**64 - 1 if unknown.
    """
    cdef Workspace workspace = workspace_of(bank)
    cdef int64_t stride = workspace.stride, n_terms = workspace.counts.n_terms
    root = np.array(<const float[:stride]><const float *>workspace.s.root, dtype=np.float64)
    root_bound = np.array(<const uint32_t[:stride]>workspace.s.root_bound, dtype=np.uint64)
    return root, root_bound, np.array(<const uint64_t[:n_terms]>workspace.s.term_bound)


def exact_passes(CompiledBank bank not None):
    """Number of customers in production sweeps for whom the bound was not sufficient."""
    return workspace_of(bank).s.exact_passes


def forget(TermCountsBank bank not None):
    """Free the workspace; the next sweep creates it again, and the chain doesn't change."""
    bank.workspace = None
