# distutils: language = c++
"""Sweeps over documents that are independent given topics and root weights: over customers, and over cells.

Given both, documents are independent (Teh et al. 2006, section 5.3, with topics drawn too; slices: Walker
2007). Each document has a separate stream, so the chain doesn't depend on the number of threads. Changes
outside the document are integers, whose sum doesn't depend on the order. A sweep begins with labels, topics,
weights and keys, and ends with tables, entries, births and deaths.

With levels above the documents, each restaurant with children has weights during a sweep. Given its
customers, which are the tables below it, they are Dirichlet(n_k + alpha w_k, alpha w_u), where w are the
weights of the restaurant above (Teh et al. 2006, section 5.2, applied to a further level). Given these
weights its children are independent, like those of the root. At the end its customers are counted, from the
last restaurant to the first, and its tables are drawn given them.

Where topics differ by document, the bank of topics counts tables of words (`bursty_documents.h`, and
`cell_sweep.h` for a `Bursty` without a discount).
"""

import attrs
import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from hdpkit._count_changes import add_sparse
from hdpkit.errors import KernelError, ParameterError, StateError
from hdpkit.measures._bursty cimport BurstyBank
from hdpkit.measures._bursty_counts cimport BurstyCounts, Pair, at, forget, pair_of, unlist_cells
from hdpkit.measures._dirichlet_multinomial cimport DirichletCounts, DirichletMultinomialBank
from hdpkit.measures._measure cimport CompiledBank
from hdpkit.numerics cimport det_exp
from hdpkit.random import RandomStream
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.random.philox cimport philox, philox_next_uint64, philox_rekey
from hdpkit.random.sources cimport draw_bernoulli, draw_log_gamma, draw_uniform
from hdpkit.steps._table_counts cimport tables_by_jumps, tables_of
from hdpkit.steps._walk cimport Walk
from hdpkit.steps.fused._document_workspace cimport (
    HDPKIT_LEAST_SHAPE, LANES, LINE_BYTES, DocumentWorkspace, ThreadArrays, functions, hdpkit_bursts,
    hdpkit_document_run, hdpkit_document_thread, hdpkit_documents, hdpkit_room, of_scripts, on_a_line, share_out)
from hdpkit.steps.fused.instruction_set import chosen, scripts
from hdpkit.stores._counts cimport PIECE, CellsStore
from hdpkit.stores._counts cimport CountsStore
from hdpkit.stores._seating cimport Entry, Node, room_for
from hdpkit.stores._stirling cimport Ratios, cover_ratios, one_alone
from hdpkit.vectors cimport has_place, has_room, vector

cdef extern from "documents.h":
    const char *HDPKIT_CELLS_CAPSULE
    ctypedef struct hdpkit_cells:
        const int32_t *term
        const int32_t *count
        int64_t n
        const int32_t *was
        int32_t *now
        int64_t n_now
        int32_t few
        double burst
        const double *unit
        void *own
        double *logs
        const double *given
    void lay_out_cells "hdpkit_lay_out"(hdpkit_cells *c, hdpkit_room *room, int64_t n) noexcept nogil
    ctypedef void (*hdpkit_cells_run)(const hdpkit_documents *, hdpkit_document_thread *, hdpkit_cells *, int64_t node) noexcept nogil
    ctypedef struct hdpkit_cells_functions:
        hdpkit_cells_run production
        hdpkit_cells_run scripted
        void (*binomials)(const philox *stream, int64_t n, double p, int64_t size, int64_t *out) noexcept nogil
        void (*spreads)(const philox *stream, int64_t customers, const double *weight, int64_t n, int coarse, int64_t size,
                        void *room, int32_t *out) noexcept nogil

cdef const hdpkit_cells_functions *cell_functions = <const hdpkit_cells_functions *>PyCapsule_GetPointer(
    chosen.cells, HDPKIT_CELLS_CAPSULE)
cdef const hdpkit_cells_functions *cell_scripts = <const hdpkit_cells_functions *>PyCapsule_GetPointer(
    scripts.cells, HDPKIT_CELLS_CAPSULE)

cdef double NOTHING = -1e300     # the logarithm of 0


cdef cppclass Sweep:
    hdpkit_documents *s
    hdpkit_document_thread *threads
    ThreadArrays *arrays
    hdpkit_document_run run
    bint by_jumps                    # whether tables are drawn by jumps
    const int8_t *held               # by restaurant: whether its customers are fixed; NULL: none are
    choice_source *script            # NULL if documents have separate streams
    vector[int64_t] change           # by slot, summed over threads; allocated before anything changes
    vector[int64_t] tables           # by row of weights and slot
    uint64_t between[2]              # key of the streams of restaurants with weights below the root


cdef inline choice_source *source_of(Sweep *sweep, void *stream, choice_source *own) noexcept nogil:
    """The script, or a stream as a source."""
    own.state = stream
    own.bernoulli = draw_bernoulli
    own.uniform = draw_uniform
    return own if sweep.script == NULL else sweep.script


cdef int begin_topics(Walk walk, DirichletMultinomialBank bank, DocumentWorkspace work, object plan, ChoiceSource source,
                      bint scripted) except -1:
    """Lay out labels, and draw topics, or a part of them, unless the plan has topics."""
    cdef int i
    work.lay_out(&bank.b, bank.b.stride, 1 if scripted else plan.threads, scripted)
    work.take_labels(plan)
    if plan.topics is not None:
        work.take_topics(plan.topics, plan.slots)
    elif scripted:
        raise KernelError("topics", None, "given to a script", "Topics can't be enumerated: pass them.")
    else:
        for i in range(2):
            work.shared.topic_key[i] = philox_next_uint64(<philox *>source.c.state)
        work.draw_topics()
    return 0


cdef int begin(Sweep *sweep, Walk walk, DirichletMultinomialBank bank, DocumentWorkspace work, CountsStore store, object plan,
               ChoiceSource source, bint scripted) except -1:
    """After all topics are drawn: set weights of labels and of intermediate restaurants, and keys of streams."""
    cdef const double[:, ::1] theta
    cdef bint levels
    cdef const int8_t[::1] held
    cdef int i
    if work.counts != &bank.b or work.s.stride != bank.b.stride or work.wide != scripted or (
            work.n_threads != (1 if scripted else plan.threads)):
        raise StateError("work", "laid out for another sweep", "the one to which draw_shard_topics was given, with the same plan",
                         "Call draw_shard_topics first.")
    if scripted and not plan.integrated and plan.proportions is None:
        raise KernelError("proportions", None, "given to a script", "Proportions can't be enumerated: pass them.")
    sweep.held = NULL
    if plan.held is not None:
        held = plan.held         # the plan keeps a reference during the sweep
        sweep.held = &held[0]
    work.copy_topics()
    if plan.topics is None:
        work.scale_topics()
    work.lay_out_rows(plan.remainder)
    levels = work.row_node.size() > 1
    for i in range(2):
        sweep.between[i] = philox_next_uint64(<philox *>source.c.state) if levels and not scripted else 0
    if plan.above is not None:
        take_weights(work, plan.above)
    elif levels and scripted:
        raise KernelError("above", None, "given to a script", "Weights can't be enumerated: pass them.")
    else:
        draw_weights(sweep, walk, work, store)
    work.weigh(plan.integrated)
    for i in range(2):
        work.s.key[i] = 0 if scripted else philox_next_uint64(<philox *>source.c.state)
    work.s.choose = source.c.choose
    work.s.script = source.c.state
    work.s.before = plan.before
    work.s.nodes = store.nodes.data()
    work.s.words = store.arena.words.data()
    work.s.concentration = &walk.concentration[0]
    work.s.theta = NULL
    if scripted and not plan.integrated:
        theta = plan.proportions
        work.s.theta = &theta[0, 0]
    sweep.tables.assign(work.row_node.size() * bank.b.stride, 0)
    sweep.change.assign(bank.b.stride, 0)
    work.begin_changes()
    sweep.s = &work.s
    sweep.threads = work.threads.data()
    sweep.arrays = work.arrays.data()
    sweep.script = &source.c if scripted else NULL
    store.indexed = False
    return 0


cdef int take_weights(DocumentWorkspace work, const double[:, ::1] above) except -1:
    """Copy given weights, by restaurant and slot."""
    cdef int64_t row, slot
    for row in range(1, <int64_t>work.row_node.size()):
        for slot in range(min(work.s.stride, above.shape[1])):
            work.base[row * work.s.stride + slot] = above[work.row_node[row], slot]
    return 0


cdef inline double log_gamma_of(philox *stream, double shape) noexcept nogil:
    """Logarithm of a gamma draw with a shape that may be 0."""
    return max(draw_log_gamma(stream, shape), NOTHING) if shape >= HDPKIT_LEAST_SHAPE else NOTHING


cdef int draw_weights(Sweep *sweep, Walk walk, DocumentWorkspace work, CountsStore store) except -1:
    """Draw the weights of restaurants with children, parents first."""
    cdef int64_t row, slot, place, stride = work.s.stride
    cdef int32_t node
    cdef Entry *entries
    cdef double *weight
    cdef double *above
    cdef double alpha, top, rest, total
    cdef philox stream
    for row in range(1, <int64_t>work.row_node.size()):
        node = work.row_node[row]
        alpha = walk.concentration[node]
        weight = work.base.data() + row * stride
        above = work.base.data() + work.base_row[walk.parent[node]] * stride
        philox_rekey(&stream, sweep.between[0], sweep.between[1], node, 0, 0)
        entries = store.entries(node)
        for place in range(store.nodes[node].n_entries):
            weight[entries[place].dish] = entries[place].customers
        # Logarithms of gamma draws, because most weights of labels without customers underflow.
        top = rest = log_gamma_of(&stream, alpha * work.rest[work.base_row[walk.parent[node]]])
        for slot in range(stride):
            weight[slot] += alpha * above[slot]
            weight[slot] = log_gamma_of(&stream, weight[slot])
            top = max(top, weight[slot])
        total = det_exp(rest - top)
        work.rest[row] = total
        for slot in range(stride):
            weight[slot] = det_exp(weight[slot] - top)
            total += weight[slot]
        work.rest[row] /= total
        for slot in range(stride):
            weight[slot] /= total
    return 0


cdef int end(Sweep *sweep, Walk walk, DirichletMultinomialBank bank, DocumentWorkspace work, CountsStore store, object plan,
             str unit) except -1:
    """Add up the changes of the threads, and raise their errors."""
    add_up(sweep, work, store)
    settle_between(sweep, walk, work, store)
    write_root(store, &sweep.tables)
    settle_dishes(walk, bank, plan, &sweep.change)
    check_threads(sweep, work, unit)
    return 0


cdef int add_up(Sweep *sweep, DocumentWorkspace work, CountsStore store) except -1:
    """Add up the changes of the threads; the root and the dishes are not updated yet."""
    cdef int64_t slot, at, stride = sweep.change.size()
    cdef int t
    for t in range(work.n_threads):
        for slot in range(stride):
            sweep.change[slot] += sweep.threads[t].change[slot]
        for at in range(<int64_t>sweep.tables.size()):
            sweep.tables[at] += sweep.arrays[t].tables[at]
    for t in range(work.n_threads):
        write_late(store, sweep.arrays + t)
    return 0


cdef int check_threads(Sweep *sweep, DocumentWorkspace work, str unit) except -1:
    """Raise an error of a thread."""
    cdef bint failed = False, starved = False
    cdef int t
    for t in range(work.n_threads):
        failed = failed or sweep.threads[t].failed
        starved = starved or sweep.arrays[t].starved
    if starved:
        raise MemoryError
    if failed:
        raise FloatingPointError(f"no dish can be drawn for a {unit}")
    return 0


cdef int settle_between(Sweep *sweep, Walk walk, DocumentWorkspace work, CountsStore store) except -1:
    """Count customers of intermediate restaurants, and draw their tables given these, children first.

    Afterwards `Sweep.tables` has the changes of the root's customers.
    """
    cdef int64_t row, slot, place, was, stride = work.s.stride
    cdef int64_t tables
    cdef int64_t *change
    cdef int64_t *above
    cdef const double *base
    cdef int32_t node
    cdef Entry *entry
    cdef philox stream
    cdef choice_source own
    cdef choice_source *source = source_of(sweep, &stream, &own)
    for row in range(<int64_t>work.row_node.size() - 1, 0, -1):
        node = work.row_node[row]
        change = sweep.tables.data() + row * stride
        above = sweep.tables.data() + work.base_row[walk.parent[node]] * stride
        base = work.base.data() + work.base_row[walk.parent[node]] * stride
        philox_rekey(&stream, sweep.between[0], sweep.between[1], node, 1, 0)
        for slot in range(stride):
            if change[slot] == 0:
                continue
            place = store.find_or_insert(node, <int32_t>slot)
            entry = store.entries(node) + place
            entry.customers += <int32_t>change[slot]
            store.nodes[node].customers += change[slot]
        for place in range(store.nodes[node].n_entries - 1, -1, -1):
            entry = store.entries(node) + place
            was, slot = entry.tables, entry.dish
            tables = 0
            if entry.customers > 0:
                tables = draw_number(sweep, walk.concentration[node] * base[slot], entry.customers, source)
                if tables < 0:
                    sweep.threads[0].failed = 1
                    tables = 1
            entry.tables = <int32_t>tables
            entry.extra = -1
            store.nodes[node].tables += <int32_t>(tables - was)
            above[slot] += tables - was
            if entry.customers == 0:
                store.erase(node, <int32_t>place)
    sweep.tables.resize(stride)
    return 0


cdef int64_t draw_number(Sweep *sweep, double mass, int64_t customers, choice_source *source) noexcept nogil:
    """Draw the number of tables of this many customers of a dish; -1 for a failure."""
    if sweep.by_jumps:
        return tables_by_jumps(mass, customers, source)
    return tables_of(mass, <int32_t>customers, source)


cdef int32_t here_of(hdpkit_document_thread *t, int32_t *dishes) noexcept nogil:
    """Write the dishes of the document, ascending; returns their number. `dishes` has room for all slots."""
    cdef int32_t i, j, block, k, n = 0
    for i in range(1, t.n_blocks):       # they are few
        block = t.blocks[i]
        j = i
        while j > 0 and t.blocks[j - 1] > block:
            t.blocks[j] = t.blocks[j - 1]
            j -= 1
        t.blocks[j] = block
    for i in range(t.n_blocks):
        for k in range(t.blocks[i] * 16, t.blocks[i] * 16 + 16):
            if t.here[k] > 0:
                dishes[n] = k
                n += 1
    return n


cdef void finish(Sweep *sweep, int thread, int32_t node) noexcept nogil:
    """Draw the tables of a document, and write its dishes to the store."""
    cdef hdpkit_documents *s = sweep.s
    cdef hdpkit_document_thread *t = sweep.threads + thread
    cdef ThreadArrays *a = sweep.arrays + thread
    cdef Node *record = s.nodes + node
    cdef Entry *entries = <Entry *>(s.words + record.offset)
    cdef int64_t *m = a.tables.data() + s.base_row[node] * s.stride
    cdef const double *base = s.base + s.base_row[node] * s.stride
    cdef int32_t *dishes = <int32_t *>t.running_root
    cdef int32_t i, n
    cdef int64_t tables
    cdef double mass
    cdef choice_source own
    cdef choice_source *source = sweep.script
    cdef size_t at
    source = source_of(sweep, &t.stream, &own)
    n = here_of(t, dishes)
    for i in range(record.n_entries):
        m[entries[i].dish] -= entries[i].tables
    at = a.late.size()
    if n > record.capacity:        # memory is allocated after all threads have finished
        if not has_room(a.late, at + 2 + 3 * n):
            a.starved = True
            return
        a.late.resize(at + 2 + 3 * n)
        a.late[at] = node
        a.late[at + 1] = n
    record.n_entries = min(n, record.capacity)
    record.customers = 0
    record.tables = 0
    for i in range(n):
        mass = s.concentration[node] * base[dishes[i]]
        tables = draw_number(sweep, mass, t.here[dishes[i]], source)
        if tables < 0:
            t.failed = 1
            tables = 1
        m[dishes[i]] += tables
        record.customers += t.here[dishes[i]]
        record.tables += tables
        if n > record.capacity:
            a.late[at + 2 + 3 * i] = dishes[i]
            a.late[at + 3 + 3 * i] = t.here[dishes[i]]
            a.late[at + 4 + 3 * i] = <int32_t>tables
        else:
            entries[i].dish = dishes[i]
            entries[i].customers = t.here[dishes[i]]
            entries[i].tables = <int32_t>tables
            entries[i].extra = -1


cdef void finish_held(Sweep *sweep, int thread, int32_t node) noexcept nogil:
    """Draw the tables of a document whose customers keep their dishes."""
    cdef hdpkit_documents *s = sweep.s
    cdef hdpkit_document_thread *t = sweep.threads + thread
    cdef Node *record = s.nodes + node
    cdef Entry *entry
    cdef int64_t *m = sweep.arrays[thread].tables.data() + s.base_row[node] * s.stride
    cdef const double *base = s.base + s.base_row[node] * s.stride
    cdef int64_t tables
    cdef int32_t i
    cdef philox stream
    cdef choice_source own
    cdef choice_source *source = source_of(sweep, &stream, &own)
    philox_rekey(&stream, s.key[0], s.key[1], s.before + node + 1, 0, 0)   # as for documents that are swept
    for i in range(record.n_entries):
        entry = <Entry *>(s.words + record.offset) + i
        tables = draw_number(sweep, s.concentration[node] * base[entry.dish], entry.customers, source)
        if tables < 0:
            t.failed = 1
            tables = 1
        m[entry.dish] += tables - entry.tables
        record.tables += <int32_t>(tables - entry.tables)
        entry.tables = <int32_t>tables
        entry.extra = -1


cdef int write_late(CountsStore store, ThreadArrays *a) except -1 nogil:
    """Write the restaurants that have more dishes than fit into their blocks."""
    cdef size_t at = 0
    cdef int32_t i, n
    cdef Node *record
    cdef Entry *entries
    while at < a.late.size():
        record = &store.nodes[a.late[at]]
        n = a.late[at + 1]
        record.n_entries = 0
        store.make_block(a.late[at], room_for(n))
        record.n_entries = n
        entries = store.entries(a.late[at])
        for i in range(n):
            entries[i].dish = a.late[at + 2 + 3 * i]
            entries[i].customers = a.late[at + 3 + 3 * i]
            entries[i].tables = a.late[at + 4 + 3 * i]
            entries[i].extra = -1
        at += 2 + 3 * n
    return 0


cdef int write_root(CountsStore store, vector[int64_t] *m) except -1 nogil:
    """Write the root's customers of every dish; entries of dishes are removed or added as necessary."""
    cdef int64_t slot
    cdef int32_t place
    cdef Entry *entry
    for slot in range(<int64_t>m.size()):
        if m.data()[slot] == 0:
            continue
        place = store.find_or_insert(0, <int32_t>slot)
        entry = store.entries(0) + place
        entry.customers += <int32_t>m.data()[slot]
        store.nodes[0].customers += m.data()[slot]
        if entry.tables == 0:
            entry.tables = 1
            store.nodes[0].tables += 1
        if entry.customers == 0:
            store.nodes[0].tables -= 1
            store.erase(0, place)
    return 0


cdef int settle_dishes(Walk walk, DirichletMultinomialBank bank, object plan, vector[int64_t] *change) except -1:
    """Carry out births and deaths of dishes, and set their weights."""
    cdef DirichletCounts *b = &bank.b
    cdef int64_t slot
    cdef const int32_t[::1] slots = plan.slots
    born = [slot for slot in slots if not walk.slots.occupied(slot) and change.data()[slot] > 0]
    for slot in born:
        walk.slots.open_in(slot)
    for slot in range(b.stride):
        b.totals[slot] += change.data()[slot]
    b.version += 1
    bank.invert()
    for slot in slots:
        # A known component has a customer at the root that is not a data customer.
        if walk.slots.occupied(slot) and b.totals[slot] == 0 and walk.store.find(0, slot) < 0:
            walk.slots.close(slot)
    return 0


# ---------------------------------------------------------------------------------------- over customers

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


cdef BurstyBank bursts_of(Walk walk, CompiledBank bank):
    """The bank of topics that differ by document; None for others."""
    cdef BurstyBank bursts
    cdef int64_t n
    if not isinstance(bank, BurstyBank):
        return None
    bursts = bank
    n = bursts.b.n_customers
    if walk.home.shape[0] < n or (n > 0 and memcmp(bursts.b.restaurant, &walk.home[0], n * sizeof(int32_t)) != 0):
        raise KernelError("bank", "of topics that differ by other restaurants", "of topics that differ by document",
                          "Use TableGibbs.")
    return bursts


cdef int begin_documents(Walk walk, CompiledBank bank, DocumentWorkspace work, object plan, ChoiceSource source,
                         bint apart) except -1:
    """Check and index the documents, and draw topics or a part of them; ``apart``: changes of counts are kept apart."""
    cdef BurstyBank bursts = bursts_of(walk, bank)
    cdef DirichletMultinomialBank topics = bank if bursts is None else bursts.inner
    cdef CountsStore store = counts_of(walk)
    cdef int64_t n
    work.apart = apart
    slots = np.asarray(plan.slots)
    topics.grow(int(slots.max()) + 1)
    n = min(len(plan.values), walk.home.shape[0])
    work.index_documents(walk.topology[0], topics.terms, walk.home, n, walk.parent.shape[0])
    work.index_rows(walk.parent)
    check_seated(walk, work, store)
    begin_topics(walk, topics, work, plan, source, is_scripted(source))
    return 0


cdef CountsStore run_documents(Sweep *sweep, Walk walk, CompiledBank bank, DocumentWorkspace work, object plan,
                               ChoiceSource source):
    """Draw the dishes of the documents' customers, and then their tables; returns the store.

    With a script, which requires given topics, documents are processed in order. Where topics differ by document,
    proportions are integrated out, whatever the plan says; until `seat_customers` their bank has no numbers by
    dish, so that dishes that are born or die have no customers for it.
    """
    cdef bint scripted = is_scripted(source)
    cdef int n_threads = 1 if scripted else plan.threads
    cdef CountsStore store = counts_of(walk)
    cdef BurstyBank bursty = bursts_of(walk, bank)
    cdef DirichletMultinomialBank topics = bank if bursty is None else bursty.inner
    cdef BurstyCounts *b = NULL
    cdef hdpkit_bursts bursts
    if bursty is not None:
        plan = attrs.evolve(plan, integrated=True)
        b = &bursty.b
        cover(bursty)
        bursts.concentration = b.concentration
        bursts.discount = b.discount
        bursts.opens = b.opens.data()
        bursts.alone = alone_of
        bursts.ratios = &b.ratios
        unlist_cells(b)
    begin(sweep, walk, topics, work, store, plan, source, scripted)
    work.s.labels = store.of_customer.data()
    sweep.by_jumps = False
    if b != NULL:
        work.s.bursts = &bursts
        sweep.run = of_scripts.scripted_bursts if scripted else functions.production_bursts
    elif scripted:
        sweep.run = of_scripts.scripted if plan.integrated else of_scripts.scripted_drawn
    else:
        sweep.run = functions.production if plan.integrated else functions.production_drawn
    with nogil:
        share_out(n_threads, walk.parent.shape[0], DOCUMENTS, sweep_documents, <void *>sweep)
    if b != NULL:
        work.s.bursts = NULL
        forget(b)
        b.version += 1
        b.loaded = -1
        b.seated.assign(b.seated.size(), 0)
        bursty.widen(topics.b.stride)
        memcpy(b.slot_of.data(), store.of_customer.data(), b.n_customers * sizeof(int32_t))
    return store


def reseat_documents(Walk walk not None, CompiledBank bank not None, DocumentWorkspace work not None, plan not None,
                     ChoiceSource source not None):
    """Draw the dishes of all customers given the topics and weights of a `DocumentPlan`, and then their tables.

    Topics are drawn first unless the plan has topics.
    """
    cdef Sweep sweep
    cdef CountsStore store
    cdef BurstyBank bursts = bursts_of(walk, bank)
    begin_documents(walk, bank, work, plan, source, False)
    store = run_documents(&sweep, walk, bank, work, plan, source)
    end(&sweep, walk, bank if bursts is None else bursts.inner, work, store, plan, "customer")
    if bursts is not None:
        seat_customers(&bursts.b)


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


def draw_shard_topics(Walk walk not None, CompiledBank bank not None, DocumentWorkspace work not None,
                      plan not None, ChoiceSource source not None):
    """Draw topics, or this worker's share of them (`DocumentWorkspace.share_topics`), for `sweep_shards`."""
    begin_documents(walk, bank, work, plan, source, True)


def sweep_shards(Walk walk not None, CompiledBank bank not None, DocumentWorkspace work not None, plan not None,
                 ChoiceSource source not None):
    """A sweep over the documents of some shards, the others of which other workers have, after `draw_shard_topics`.

    Dishes, the root and the counts of terms don't change until `settle_shards` gets the changes of all shards.
    Changes of counts are taken from the workspace (`DocumentWorkspace.take_changes`).

    Returns changes of the observations of each slot's topic, and of the root's customers, up to the plan's last slot.
    """
    cdef Sweep sweep
    cdef CountsStore store = run_documents(&sweep, walk, bank, work, plan, source)
    cdef int64_t slot, n_slots = int(np.max(plan.slots)) + 1
    changed = np.zeros((2, n_slots), dtype=np.int64)
    cdef int64_t[:, ::1] out = changed
    add_up(&sweep, work, store)
    check_threads(&sweep, work, "customer")
    for slot in range(n_slots):
        out[0, slot] = sweep.change[slot]
        out[1, slot] = sweep.tables[slot]
    return changed[0], changed[1]


def settle_shards(Walk walk not None, CompiledBank bank not None, plan not None,
                  const int64_t[::1] observations not None, const int64_t[::1] tables not None, tuple counts not None):
    """End the sweep of a plan over all shards; arguments are the sums of the workers' results of `sweep_shards`.

    Changes of counts are those of all blocks of terms. Where topics differ by document, their observations are
    tables of words.
    """
    cdef BurstyBank bursts = bursts_of(walk, bank)
    cdef DirichletMultinomialBank topics = bank if bursts is None else bursts.inner
    cdef vector[int64_t] change, of_root
    cdef int64_t slot, n_slots = int(np.max(plan.slots)) + 1
    cdef CountsStore store = counts_of(walk)
    topics.grow(n_slots)
    change.assign(topics.b.stride, 0)
    of_root.assign(topics.b.stride, 0)
    for slot in range(n_slots):
        change[slot] = observations[slot]
        of_root[slot] = tables[slot]
    store.indexed = False
    cells = <int32_t[:topics.b.n_terms, :topics.b.stride]>topics.b.counts
    for block in counts:
        add_sparse(block, cells, n_slots)
    write_root(store, &of_root)
    settle_dishes(walk, topics, plan, &change)
    if bursts is not None:
        seat_customers(&bursts.b)


# -------------------------------------------------------------------------------------------- over cells
# For each document the customers of dishes by cell are drawn, given topics, weights and proportions.

FEW = 24            # labels with more expected customers are drawn by binomials (for up to 64 labels)


cdef cppclass CellSweep:
    Sweep ends
    hdpkit_cells *cells               # one per thread
    vector[int32_t] *rooms            # for the runs of a piece, one per thread
    hdpkit_cells_run run
    vector[int32_t] *runs
    const int64_t *begin
    const int32_t *term
    const int32_t *count
    int64_t n_documents, n_labels
    int64_t first_node                # restaurant of document 0
    double burst                      # where topics differ by document: concentration; 0: they don't
    const int32_t *was_tables         # by run
    vector[int64_t] first_run         # by piece
    vector[vector[int32_t]] tables    # the new ones by piece
    const double *given               # scripted: topics by document, slot and term


cdef int64_t seat(CellSweep *sweep, int thread, const int32_t *was_tables, vector[int32_t] *tables) noexcept nogil:
    """Draw the tables of the runs of a document, and count them. Returns the number of runs before the sweep."""
    cdef hdpkit_cells *c = sweep.cells + thread
    cdef hdpkit_document_thread *t = sweep.ends.threads + thread
    cdef hdpkit_documents *s = sweep.ends.s
    cdef const int32_t *was = c.was
    cdef const int32_t *now = c.now
    cdef int64_t cell, n_was = 0, term, k, number
    cdef int32_t r
    cdef double mass
    cdef bint wide = sweep.ends.script != NULL
    cdef choice_source own
    cdef choice_source *source = source_of(&sweep.ends, &t.stream, &own)
    for cell in range(c.n):
        term = c.term[cell]
        for r in range(was[0]):
            add_to(s, term * s.stride + was[1 + 2 * r], -was_tables[n_was])
            t.change[was[1 + 2 * r]] -= was_tables[n_was]
            n_was += 1
        was += 1 + 2 * was[0]
        for r in range(now[0]):
            k = now[1 + 2 * r]
            mass = (<const double *>s.phi)[term * s.stride + k] if wide else (<const float *>s.phi)[term * s.stride + k]
            mass *= c.unit[k] * sweep.burst
            number = draw_number(&sweep.ends, mass, now[2 + 2 * r], source) if mass >= HDPKIT_LEAST_SHAPE else 1
            if number < 0 or not has_place(tables[0]):      # there is room: see `sweep_pieces`
                t.failed = 1
                number = 1
            else:
                tables.push_back(<int32_t>number)
            add_to(s, term * s.stride + k, <int32_t>number)
            t.change[k] += number
        now += 1 + 2 * now[0]
    return n_was


cdef void sweep_pieces(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    cdef CellSweep *sweep = <CellSweep *>argument
    cdef hdpkit_cells *c = sweep.cells + thread
    cdef vector[int32_t] *room = sweep.rooms + thread
    cdef int64_t piece, document, end, cell, words, node
    cdef int32_t run
    cdef const int32_t *was
    cdef const int32_t *was_tables = NULL
    for piece in range(first, last):
        end = min((piece + 1) * PIECE, sweep.n_documents)
        words = 0
        for cell in range(sweep.begin[piece * PIECE], sweep.begin[end]):
            words += 1 + 2 * min(<int64_t>sweep.count[cell], sweep.n_labels)
        # Memory is allocated before any data of the piece change.
        if not has_room(room[0], words) or (sweep.burst > 0.0 and not has_room(sweep.tables[piece], words // 2 + 1)):
            sweep.ends.arrays[thread].starved = True
            return
        if <int64_t>room.size() < words:
            room.resize(words)
        c.now = room.data()
        was = sweep.runs[piece].data()
        words = 0
        if sweep.burst > 0.0:
            was_tables = sweep.was_tables + sweep.first_run[piece]
        for document in range(piece * PIECE, end):
            node = sweep.first_node + document
            c.n = sweep.begin[document + 1] - sweep.begin[document]
            if c.n == 0:
                continue
            c.term = sweep.term + sweep.begin[document]
            c.count = sweep.count + sweep.begin[document]
            c.was = was
            if sweep.ends.held != NULL and sweep.ends.held[node]:     # customers keep their dishes
                c.n_now = 0
                for cell in range(c.n):
                    if sweep.burst > 0.0:
                        for run in range(was[0]):
                            sweep.tables[piece].push_back(was_tables[run])
                        was_tables += was[0]
                    c.n_now += 1 + 2 * was[0]
                    was += 1 + 2 * was[0]
                memcpy(c.now, c.was, c.n_now * sizeof(int32_t))
                c.now += c.n_now
                words += c.n_now
                finish_held(&sweep.ends, thread, <int32_t>node)
                continue
            if sweep.given != NULL:
                c.given = sweep.given + document * sweep.ends.s.stride * sweep.ends.s.n_terms
            sweep.run(sweep.ends.s, sweep.ends.threads + thread, c, node)
            if sweep.burst > 0.0:
                was_tables += seat(sweep, thread, was_tables, &sweep.tables[piece])
            for cell in range(c.n):
                was += 1 + 2 * was[0]
            c.now += c.n_now
            words += c.n_now
            finish(&sweep.ends, thread, <int32_t>node)
        keep(&sweep.runs[piece], room, words)


cdef extern from *:
    """
    /* Replace the runs of a piece by those in a thread's working memory. If a vector of their size can't be
       allocated, the working memory itself is used. */
    inline void hdpkit_keep(std::vector<int32_t> *runs, std::vector<int32_t> *room, int64_t words) noexcept {
        std::vector<int32_t> fresh;
        if (runs->capacity() < (size_t)words) {
            if (!hdpkit_has_room(fresh, (size_t)(words + words / 8))) {
                room->resize((size_t)words);      /* within its capacity */
                runs->swap(*room);
                return;
            }
            runs->swap(fresh);
        }
        runs->assign(room->data(), room->data() + words);
    }
    /* Count tables of a term, which other threads may also count. */
    inline void hdpkit_add_tables(const hdpkit_documents *s, int64_t place, int32_t change) noexcept {
        if (!s->shared) s->counts[place] += change;
    #if defined(__GNUC__)
        else __atomic_fetch_add(s->counts + place, change, __ATOMIC_RELAXED);
    #else
        else _InterlockedExchangeAdd((volatile long *)(s->counts + place), change);
    #endif
    }
    """
    void add_to "hdpkit_add_tables"(const hdpkit_documents *s, int64_t place, int32_t change) noexcept nogil
    void keep "hdpkit_keep"(vector[int32_t] *runs, vector[int32_t] *room, int64_t words) noexcept nogil


cdef int check_cells_seated(CellsStore store) except -1:
    cdef int64_t d, cell, n, node
    for d in range(store.begin.shape[0] - 1):
        n = 0
        for cell in range(store.begin[d], store.begin[d + 1]):
            n += store.count[cell]
        node = store.first + d
        if store.nodes[node].customers != n:
            raise StateError("customers", store.nodes[node].customers, f"all {n} of restaurant {node} seated",
                             "Start the franchise first.")
    return 0


def reseat_cells(Walk walk not None, bank not None, DocumentWorkspace work not None, plan not None,
                 ChoiceSource source not None):
    """Draw the customers of each dish by cell, given topics and weights of a `DocumentPlan`; then draw tables.

    Topics and proportions are drawn first unless the plan has them, which it must for a script. Where topics differ
    by document the bank is a `BurstyCells`, whose tables are drawn too.
    """
    if isinstance(bank, DirichletMultinomialBank):
        sweep_cells(walk, bank, work, plan, source, 0.0, None)
    else:
        bank.tables = sweep_cells(walk, bank.inner, work, plan, source, bank.measure.concentration,
                                  np.ascontiguousarray(bank.tables, dtype=np.int32))


cdef object sweep_cells(Walk walk, DirichletMultinomialBank bank, DocumentWorkspace work, object plan, ChoiceSource source,
                        double burst, object was_tables):
    """A sweep over all cells; returns the numbers of tables by run if topics differ by document (burst > 0)."""
    cdef bint scripted = is_scripted(source)
    cdef int n_threads = 1 if scripted else plan.threads, t
    cdef CellsStore store
    cdef CellSweep sweep
    cdef int64_t i, cell, stride
    cdef vector[double] unit
    cdef vector[vector[double]] own
    cdef const int32_t[::1] tables_before
    cdef int32_t[::1] out
    cdef const double[:, :, ::1] given
    cdef double xi
    cdef int64_t longest = 0, place = 0
    cdef vector[hdpkit_cells] cells
    cdef vector[vector[int32_t]] rooms
    cdef vector[vector[int8_t]] scratch
    cdef hdpkit_room room
    cdef vector[int8_t] empty
    cdef vector[int32_t] no_room
    store = walk.store
    walk.check_dishes()
    slots = np.asarray(plan.slots)
    bank.grow(int(slots.max()) + 1)
    check_cells_seated(store)
    stride = bank.b.stride
    work.index_rows(walk.parent)
    begin_topics(walk, bank, work, plan, source, scripted)
    begin(&sweep.ends, walk, bank, work, store, plan, source, scripted)
    work.s.labels = NULL
    sweep.ends.by_jumps = not scripted
    sweep.run = cell_scripts.scripted if scripted else cell_functions.production
    sweep.first_node = store.first
    sweep.runs = store.runs.data()
    sweep.n_documents = store.begin.shape[0] - 1
    sweep.n_labels = slots.size
    sweep.begin = &store.begin[0]
    sweep.term = &store.term[0]
    sweep.count = &store.count[0]
    cells.resize(n_threads)
    rooms.assign(n_threads, no_room)
    scratch.assign(n_threads, empty)
    for t in range(n_threads):
        room.at = NULL
        room.bytes = 0
        lay_out_cells(&cells[t], &room, stride + LANES)
        scratch[t].assign(room.bytes + LINE_BYTES, 0)
        room.at, room.bytes = on_a_line(scratch[t].data()), 0
        lay_out_cells(&cells[t], &room, stride + LANES)
        cells[t].few = plan.few
    sweep.burst = burst
    sweep.given = NULL
    if burst > 0.0:
        tables_before = was_tables
        sweep.first_run.assign(store.runs.size(), 0)
        sweep.tables.resize(store.runs.size())
        for i in range(<int64_t>store.runs.size()):
            sweep.first_run[i] = place
            place += (<int64_t>store.runs[i].size()
                      - (store.begin[min((i + 1) * PIECE, sweep.n_documents)] - store.begin[i * PIECE])) // 2
        sweep.was_tables = &tables_before[0] if place else NULL
        for i in range(sweep.n_documents):
            longest = max(longest, store.begin[i + 1] - store.begin[i])
        unit.assign(stride, 1.0)
        for i in range(stride):
            xi = min(work.psi[i], work.s.threshold)
            if work.factor[i] > 0.0:
                unit[i] = work.factor[i] * xi / work.s.threshold
        own.resize(n_threads)
        for t in range(n_threads):
            own[t].assign(longest * (stride + 2) + 4 * LANES + LINE_BYTES, 0.0)
            cells[t].unit = unit.data()
            cells[t].own = on_a_line(<int8_t *>own[t].data())
            cells[t].logs = <double *>cells[t].own + longest * stride
        if scripted:
            given = plan.own
            sweep.given = &given[0, 0, 0]
    for t in range(n_threads):
        cells[t].burst = burst
    sweep.cells = cells.data()
    sweep.rooms = rooms.data()
    # Customers of a cell have a new order after each sweep.
    for i in range(2):
        store.key[i] = 0 if scripted else philox_next_uint64(<philox *>source.c.state)
    with nogil:
        share_out(n_threads, <int64_t>store.runs.size(), 1, sweep_pieces, <void *>&sweep)
    end(&sweep.ends, walk, bank, work, store, plan, "cell")
    if burst == 0.0:
        return None
    place = 0
    for i in range(<int64_t>sweep.tables.size()):
        place += <int64_t>sweep.tables[i].size()
    made = np.empty(place, dtype=np.int32)
    out = made
    place = 0
    for i in range(<int64_t>sweep.tables.size()):
        for cell in range(<int64_t>sweep.tables[i].size()):
            out[place] = sweep.tables[i][cell]
            place += 1
    return made


def binomial(ChoiceSource source not None, int64_t n, double p, int64_t size):
    """Binomial draws as in sweeps over cells, for tests: int64, shape (size,)."""
    found = np.empty(size, dtype=np.int64)
    cdef int64_t[::1] out = found
    cell_functions.binomials(<philox *>source.c.state, n, p, size, &out[0])
    return found


def multinomial(ChoiceSource source not None, int64_t n, weights, int64_t size, bint coarse=False):
    """Multinomial draws by comparisons as in sweeps over cells, for tests: int32, shape (size, len(weights)).

    Coarse: words have six bits, so that rounding leaves many customers for a second draw.
    """
    cdef int64_t n_labels = len(weights), blocks = (n_labels + LANES - 1) // LANES
    padded = np.zeros(blocks * LANES)
    padded[:n_labels] = weights
    found = np.zeros((size, blocks * LANES), dtype=np.int32)
    room = np.empty(blocks * LANES * 20 + LINE_BYTES, dtype=np.int8)
    cdef const double[::1] w = padded
    cdef int32_t[:, ::1] out = found
    cdef int8_t[::1] bytes_ = room
    cell_functions.spreads(<philox *>source.c.state, n, &w[0], blocks, coarse, size, on_a_line(&bytes_[0]), &out[0, 0])
    return found[:, :n_labels]
