# distutils: language = c++
"""Begin (labels, topics, weights, keys) and end (tables, entries, births, deaths) of a sweep over documents.

With levels above the documents, each restaurant with children has weights during a sweep. Given its
customers, which are the tables below it, they are Dirichlet(n_k + alpha w_k, alpha w_u), where w are the
weights of the restaurant above (Teh et al. 2006, section 5.2, applied to a further level). Given these
weights its children are independent, like those of the root. At the end its customers are counted, from the
last restaurant to the first, and its tables are drawn given them.
"""

from libc.stdint cimport int8_t, int32_t, int64_t
from hdpkit.vectors cimport has_room, vector

from hdpkit.steps.fused._document_workspace cimport DocumentWorkspace, ThreadArrays
from hdpkit.steps.fused._documents cimport (
    HDPKIT_LEAST_SHAPE, hdpkit_document_thread, hdpkit_documents)
from hdpkit.measures._dirichlet_multinomial cimport DirichletCounts, DirichletMultinomialBank
from hdpkit.stores._counts cimport CountsStore
from hdpkit.stores._seating cimport Entry, Node, room_for
from hdpkit.steps._table_counts cimport tables_by_jumps, tables_of
from hdpkit.steps._walk cimport Walk
from hdpkit.errors import KernelError, StateError
from hdpkit.numerics cimport det_exp
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.random.sources cimport draw_bernoulli, draw_log_gamma, draw_uniform
from hdpkit.random.philox cimport philox, philox_next_uint64, philox_rekey


cdef int MOST_THREADS = 4096
cdef double NOTHING = -1e300     # the logarithm of 0


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
    settle(walk, bank, store, plan, &sweep.tables, &sweep.change)
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


cdef int settle(Walk walk, DirichletMultinomialBank bank, CountsStore store, object plan, vector[int64_t] *tables,
                vector[int64_t] *change) except -1:
    """Update the root and the dishes, given the changes of the root's customers and of the dishes' customers."""
    write_root(store, tables)
    settle_dishes(walk, bank, plan, change)
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
    cdef choice_source *source = sweep.script
    if source == NULL:
        own.state = &stream
        own.bernoulli = draw_bernoulli
        own.uniform = draw_uniform
        source = &own
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
    if source == NULL:
        own.state = &t.stream
        own.bernoulli = draw_bernoulli
        own.uniform = draw_uniform
        source = &own
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
    cdef choice_source *source = sweep.script
    if source == NULL:
        philox_rekey(&stream, s.key[0], s.key[1], s.before + node + 1, 0, 0)   # as for documents that are swept
        own.state = &stream
        own.bernoulli = draw_bernoulli
        own.uniform = draw_uniform
        source = &own
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
