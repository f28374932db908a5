# distutils: language = c++
"""Documents in parallel, given topics and root weights: `document_sweep.h` over the store of counts.

Given both, documents are independent (Teh et al. 2006, section 5.3, with topics drawn too; slices: Walker
2007). Each document has a separate stream, so the chain doesn't depend on the number of threads. Changes
outside the document are integers, whose sum doesn't depend on the order.

Where topics differ by document (`bursty_documents.h`), the bank of topics counts tables, and the bank of the
measure has the dish of each customer, and which customers represent tables.
"""

import attrs
import numpy as np

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, memcpy, memset

from hdpkit.steps.fused._document_workspace cimport DocumentWorkspace, add_blocks, functions, of_scripts
from hdpkit.steps.fused._document_sweep cimport (
    Sweep, add_up, begin, begin_topics, check_threads, end, finish, finish_held, settle)
from hdpkit.steps.fused._documents cimport hdpkit_bursts, hdpkit_document_thread, hdpkit_documents, share_out
from hdpkit.measures._bursty cimport BurstyBank
from hdpkit.measures._bursty_counts cimport BurstyCounts, Pair, at, forget, pair_of, unlist_cells
from hdpkit.measures._dirichlet_multinomial cimport DirichletMultinomialBank
from hdpkit.stores._counts cimport CountsStore
from hdpkit.stores._stirling cimport Ratios, cover_ratios, one_alone
from hdpkit.steps._walk cimport Walk
from hdpkit.errors import KernelError, ParameterError, StateError
from hdpkit.random import RandomStream
from hdpkit.random._source cimport ChoiceSource
from hdpkit.vectors cimport vector

cdef int64_t MOST_RATIOS = 1 << 26       # entries of a table of ratios of Stirling numbers

cdef enum:
    DOCUMENTS = 16       # per piece of work


cdef void sweep_documents(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    cdef Sweep *sweep = <Sweep *>argument
    cdef hdpkit_document_thread *t = sweep.threads + thread
    cdef int64_t i, at
    cdef int32_t node
    cdef hdpkit_documents *s = sweep.s
    cdef int64_t *tables
    for i in range(first, last):
        node = <int32_t>i
        if s.begin[node] == s.begin[node + 1]:
            continue
        if sweep.held != NULL and sweep.held[node]:
            if s.row_node[s.base_row[node]] != node:     # tables of others are drawn at the end
                finish_held(sweep, thread, node)
            continue
        sweep.run(s, t, node)
        if s.row_node[s.base_row[node]] != node:
            finish(sweep, thread, node)
            continue
        # Data customers of restaurants with weights.
        tables = sweep.arrays[thread].tables.data() + s.base_row[node] * s.stride
        for at in range(t.n_moved):
            tables[t.before[at]] -= 1
            tables[s.labels[t.moved[at]]] += 1


cdef int check_seated(Walk walk, DocumentWorkspace work, CountsStore store) except -1:
    cdef int64_t r, i, n
    for r in range(walk.parent.shape[0]):
        n = work.begin[r + 1] - work.begin[r]
        if work.row_node[work.base_row[r]] == r:      # its customers include tables
            for i in range(work.begin[r], work.begin[r + 1]):
                if store.of_customer[work.order[i] if work.order.size() else i] < 0:
                    raise StateError("customer", i, "seated", "Start the franchise, or seat the customer first.")
        elif store.nodes[r].customers != n:
            raise StateError("customers", store.nodes[r].customers, f"all {n} of restaurant {r} seated",
                             "Start the franchise, or seat the customer first.")
    return 0


cdef CountsStore counts_of(Walk walk):
    """The store of a walk; raises an error unless rows can be filled."""
    walk.check_dishes()
    return walk.store


cdef bint is_scripted(ChoiceSource source):
    return not isinstance(source, RandomStream) or source.overridden


cdef int begin_documents(Walk walk, DirichletMultinomialBank bank, DocumentWorkspace work, object plan,
                         ChoiceSource source) except -1:
    """Check and index the documents, and draw topics or a part of them."""
    cdef CountsStore store = counts_of(walk)
    cdef int64_t n
    slots = np.asarray(plan.slots)
    bank.grow(int(slots.max()) + 1)
    n = min(len(plan.values), walk.home.shape[0])
    work.index_documents(walk.topology[0], bank.terms, walk.home, n, walk.parent.shape[0])
    work.index_rows(walk.parent)
    check_seated(walk, work, store)
    begin_topics(walk, bank, work, plan, source, is_scripted(source))
    return 0


cdef CountsStore run_documents(Sweep *sweep, Walk walk, DirichletMultinomialBank bank, DocumentWorkspace work, object plan,
                               ChoiceSource source, const hdpkit_bursts *bursts):
    """Draw the dishes of the documents' customers, and then their tables; returns the store.

    With a script, which requires given topics, documents are processed in order.
    """
    cdef bint scripted = is_scripted(source)
    cdef int n_threads = 1 if scripted else plan.threads
    cdef CountsStore store = counts_of(walk)
    begin(sweep, walk, bank, work, store, plan, source, scripted)
    work.s.labels = store.of_customer.data()
    work.s.bursts = bursts
    sweep.by_jumps = False
    if bursts != NULL:
        sweep.run = of_scripts.scripted_bursts if scripted else functions.production_bursts
    elif scripted:
        sweep.run = of_scripts.scripted if plan.integrated else of_scripts.scripted_drawn
    else:
        sweep.run = functions.production if plan.integrated else functions.production_drawn
    with nogil:
        share_out(n_threads, walk.parent.shape[0], DOCUMENTS, sweep_documents, <void *>sweep)
    return store


def reseat_documents(Walk walk not None, DirichletMultinomialBank bank not None, DocumentWorkspace work not None, plan not None,
                ChoiceSource source not None):
    """Draw the dishes of all customers given the topics and weights of a `DocumentPlan`, and then their tables.

    Topics are drawn first unless the plan has topics.
    """
    cdef Sweep sweep
    cdef CountsStore store
    work.apart = False
    begin_documents(walk, bank, work, plan, source)
    store = run_documents(&sweep, walk, bank, work, plan, source, NULL)
    end(&sweep, walk, bank, work, store, plan, "customer")


def reseat_bursty_documents(Walk walk not None, BurstyBank bank not None, DocumentWorkspace work not None, plan not None,
                       ChoiceSource source not None):
    """The same where topics differ by document. Proportions are integrated out, whatever the plan says."""
    cdef Sweep sweep
    cdef CountsStore store
    whole_plan = begin_bursts(walk, bank, plan)
    work.apart = False
    begin_documents(walk, bank.inner, work, whole_plan, source)
    store = run_bursts(&sweep, walk, bank, work, whole_plan, source)
    end(&sweep, walk, bank.inner, work, store, whole_plan, "customer")
    seat_customers(&bank.b)


cdef object begin_bursts(Walk walk, BurstyBank bank, object plan):
    """Check the bank; returns the plan with proportions integrated out."""
    cdef int64_t n = bank.b.n_customers
    if walk.home.shape[0] < n or (n > 0 and memcmp(bank.b.restaurant, &walk.home[0], n * sizeof(int32_t)) != 0):
        raise KernelError("bank", "of topics that differ by other restaurants", "of topics that differ by document",
                          "Use TableGibbs.")
    return attrs.evolve(plan, integrated=True)


cdef CountsStore run_bursts(Sweep *sweep, Walk walk, BurstyBank bank, DocumentWorkspace work, object plan,
                            ChoiceSource source):
    """Draw the dishes and tables of all customers. Until `seat_customers` the bank has no numbers by dish.

    So dishes that are born or die have no customers for the bank.
    """
    cdef BurstyCounts *b = &bank.b
    cdef DirichletMultinomialBank topics = bank.inner
    cdef CountsStore store
    cdef hdpkit_bursts bursts
    cover(bank)
    bursts.concentration = b.concentration
    bursts.discount = b.discount
    bursts.opens = b.opens.data()
    bursts.alone = alone_of
    bursts.ratios = &b.ratios
    unlist_cells(b)
    store = run_documents(sweep, walk, topics, work, plan, source, &bursts)
    work.s.bursts = NULL
    forget(b)
    b.version += 1
    b.loaded = -1
    b.seated.assign(b.seated.size(), 0)
    bank.widen(topics.b.stride)
    memcpy(b.slot_of.data(), store.of_customer.data(), b.n_customers * sizeof(int32_t))
    return store


cdef void seat_customers(BurstyCounts *b) noexcept nogil:
    """Count the customers of each dish, when dishes have been born and have died."""
    cdef int64_t i
    memset(b.seated.data(), 0, b.seated.size() * sizeof(int64_t))
    for i in range(b.n_customers):
        b.seated[b.slot_of[i]] += 1


cdef double alone_of(const void *ratios, int64_t n, int64_t t) noexcept nogil:
    return one_alone(<Ratios *>ratios, n, t)


cdef int cover(BurstyBank bank) except -1:
    """With a discount: compute ratios of Stirling numbers for all terms of a document."""
    cdef BurstyCounts *b = &bank.b
    cdef int64_t p = 0, most = 1
    cdef Pair pair
    if b.discount == 0.0:
        return 0
    while p < b.n_customers:
        pair = pair_of(b, at(b, p))
        most = max(most, pair.last - pair.first)
        p = pair.last
    if most > MOST_RATIOS // (most + 1):
        raise ParameterError("customers of a document with one term", most, "at most 8,191, with a discount",
                             "Give Bursty a discount of 0.")
    cover_ratios(&b.ratios, b.discount, most, most)
    return 0


def draw_shard_topics(Walk walk not None, DirichletMultinomialBank bank not None, DocumentWorkspace work not None,
                      plan not None, ChoiceSource source not None):
    """Draw topics, or this worker's share of them (`DocumentWorkspace.share_topics`), for `sweep_shards`."""
    work.apart = True
    begin_documents(walk, bank, work, plan, source)


def draw_bursty_shard_topics(Walk walk not None, BurstyBank bank not None, DocumentWorkspace work not None, plan not None,
                             ChoiceSource source not None):
    """The same where topics differ by document."""
    draw_shard_topics(walk, bank.inner, work, begin_bursts(walk, bank, plan), source)


def sweep_shards(Walk walk not None, DirichletMultinomialBank bank not None, DocumentWorkspace work not None, plan not None,
                 ChoiceSource source not None):
    """A sweep over the documents of some shards, the others of which other workers have, after `draw_shard_topics`.

    Dishes, the root and the counts of terms don't change until `settle_shards` gets the changes of all shards.
    Changes of counts are taken from the workspace (`DocumentWorkspace.take_changes`).

    Returns
    -------
    observations, tables : int64 arrays, shape (n_slots,)
        Changes of the observations of each slot's topic, and of the root's customers; n_slots - 1 is the last
        slot of the plan.
    """
    cdef Sweep sweep
    cdef CountsStore store = run_documents(&sweep, walk, bank, work, plan, source, NULL)
    return changed_here(&sweep, work, store, plan)


def sweep_bursty_shards(Walk walk not None, BurstyBank bank not None, DocumentWorkspace work not None, plan not None,
                        ChoiceSource source not None):
    """The same where topics differ by document: the observations of topics are tables of words."""
    cdef Sweep sweep
    whole_plan = begin_bursts(walk, bank, plan)
    cdef CountsStore store = run_bursts(&sweep, walk, bank, work, whole_plan, source)
    return changed_here(&sweep, work, store, whole_plan)


cdef object changed_here(Sweep *sweep, DocumentWorkspace work, CountsStore store, object plan):
    """Add up the changes of the threads, by slot."""
    cdef int64_t slot, n_slots = int(np.max(plan.slots)) + 1
    changed = np.zeros((2, n_slots), dtype=np.int64)
    cdef int64_t[:, ::1] out = changed
    add_up(sweep, work, store)
    check_threads(sweep, work, "customer")
    for slot in range(n_slots):
        out[0, slot] = sweep.change[slot]
        out[1, slot] = sweep.tables[slot]
    return changed[0], changed[1]


def settle_shards(Walk walk not None, DirichletMultinomialBank bank not None, plan not None,
                  const int64_t[::1] observations not None, const int64_t[::1] tables not None, tuple counts not None):
    """End the sweep of a plan over all shards; arguments are the sums of the workers' results of `sweep_shards`.

    Changes of counts are those of all blocks of terms.
    """
    cdef vector[int64_t] change, of_root
    cdef int64_t slot, n_slots = int(np.max(plan.slots)) + 1
    cdef CountsStore store = counts_of(walk)
    bank.grow(n_slots)
    change.assign(bank.b.stride, 0)
    of_root.assign(bank.b.stride, 0)
    for slot in range(n_slots):
        change[slot] = observations[slot]
        of_root[slot] = tables[slot]
    store.indexed = False
    add_blocks(counts, bank.b.counts, bank.b.n_terms, bank.b.stride, n_slots, plan.threads)
    settle(walk, bank, store, plan, &of_root, &change)


def settle_bursty_shards(Walk walk not None, BurstyBank bank not None, plan not None,
                         const int64_t[::1] observations not None, const int64_t[::1] tables not None,
                         tuple counts not None):
    """The same where topics differ by document."""
    settle_shards(walk, bank.inner, begin_bursts(walk, bank, plan), observations, tables, counts)
    seat_customers(&bank.b)
