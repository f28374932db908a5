# distutils: language = c++
"""How a sweep over documents in parallel begins (labels, topics, keys) and ends (tables, entries, the root, births and deaths)."""

from libc.stdint cimport int8_t, int32_t, int64_t
from hdpkit.vectors cimport has_room, vector

from hdpkit._compiled.fused_sweeps.slice_workspace cimport SliceWorkspace, ThreadArrays
from hdpkit._compiled.fused_sweeps.slices cimport HDPKIT_NO_MEMORY, hdpkit_slice_thread, hdpkit_slices
from hdpkit._compiled.measures.dirichlet_multinomial cimport DirichletCounts, DirichletMultinomialBank
from hdpkit._compiled.support.arguments cimport check_length
from hdpkit._compiled.stores.arena cimport arena_give, arena_take
from hdpkit._compiled.stores.counts cimport CountsStore
from hdpkit._compiled.stores.seating cimport ENTRY_WORDS, Entry, Node, room_for
from hdpkit._compiled.walk.table_counts cimport tables_by_jumps, tables_of
from hdpkit._compiled.walk.walk cimport Walk
from hdpkit.errors import KernelError
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.random.draws cimport draw_bernoulli, draw_uniform
from hdpkit.random.philox cimport philox, philox_next_uint64


cdef int begin_topics(DirichletMultinomialBank bank, SliceWorkspace work, object plan, ChoiceSource source,
                      bint scripted) except -1:
    """Lay out labels, and draw topics, or a part of them, unless the plan has some."""
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


cdef int begin(Sweep *sweep, Walk walk, DirichletMultinomialBank bank, SliceWorkspace work, CountsStore store, object plan,
               ChoiceSource source, bint scripted) except -1:
    """Weights of labels, now that all topics are drawn, and the key of the documents' streams."""
    cdef const double[:, ::1] theta
    cdef const int8_t[::1] held
    cdef int i
    sweep.held = NULL
    if plan.held is not None:
        held = plan.held         # the plan keeps it for as long as the sweep lasts
        check_length("held", held.shape[0], walk.parent.shape[0])
        sweep.held = &held[0]
    if plan.topics is None:
        work.scale_topics()
    work.weigh()
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
    sweep.tables.assign(bank.b.stride, 0)
    sweep.change.assign(bank.b.stride, 0)
    work.begin_changes()
    sweep.s = &work.s
    sweep.threads = work.threads.data()
    sweep.arrays = work.arrays.data()
    sweep.script = &source.c if scripted else NULL
    store.indexed = False
    return 0


cdef int end(Sweep *sweep, Walk walk, DirichletMultinomialBank bank, SliceWorkspace work, CountsStore store, object plan,
             str unit) except -1:
    """Put together what threads changed, and raise what went wrong in them."""
    add_up(sweep, work, store)
    settle(walk, bank, store, plan, &sweep.tables, &sweep.change)
    check_threads(sweep, work, unit)
    return 0


cdef int add_up(Sweep *sweep, SliceWorkspace work, CountsStore store) except -1:
    """Put together what threads changed; the root and the dishes are as they were."""
    cdef int64_t slot, stride = sweep.change.size()
    cdef int t
    for t in range(work.n_threads):
        for slot in range(stride):
            sweep.change[slot] += sweep.threads[t].change[slot]
            sweep.tables[slot] += sweep.arrays[t].tables[slot]
    for t in range(work.n_threads):
        write_late(store, sweep.arrays + t)
    return 0


cdef int check_threads(Sweep *sweep, SliceWorkspace work, str unit) except -1:
    """Raise what went wrong in a thread."""
    cdef bint failed = False, starved = False
    cdef int t
    for t in range(work.n_threads):
        failed = failed or sweep.threads[t].failed
        starved = starved or sweep.arrays[t].starved or sweep.threads[t].failed == HDPKIT_NO_MEMORY
    if starved:
        raise MemoryError
    if failed:
        raise FloatingPointError(f"no dish can be drawn for a {unit}")
    return 0


cdef int settle(Walk walk, DirichletMultinomialBank bank, CountsStore store, object plan, vector[int64_t] *tables,
                vector[int64_t] *change) except -1:
    """The root and the dishes after a sweep that has changed the root's customers and those of the dishes so."""
    write_root(store, tables)
    settle_dishes(walk, bank, plan, change)
    return 0


cdef int32_t here_of(hdpkit_slice_thread *t, int32_t *dishes) noexcept nogil:
    """The dishes of the document, ascending; returns how many. `dishes` has room for all slots."""
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
    """Draw the tables of a document, and write its dishes down."""
    cdef hdpkit_slices *s = sweep.s
    cdef hdpkit_slice_thread *t = sweep.threads + thread
    cdef ThreadArrays *a = sweep.arrays + thread
    cdef Node *record = s.nodes + node
    cdef Entry *entries = <Entry *>(s.words + record.offset)
    cdef int64_t *m = a.tables.data()
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
    if n > record.capacity:        # memory is asked for when all threads are done
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
        mass = s.concentration[node] * s.psi[dishes[i]]
        if sweep.by_jumps:
            tables = tables_by_jumps(mass, t.here[dishes[i]], source)
        else:
            tables = tables_of(mass, t.here[dishes[i]], source)
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


cdef int write_late(CountsStore store, ThreadArrays *a) except -1 nogil:
    """Restaurants that have more dishes than their blocks have room for."""
    cdef size_t at = 0
    cdef int32_t i, n, capacity
    cdef int64_t offset
    cdef Node *record
    cdef Entry *entries
    while at < a.late.size():
        record = &store.nodes[a.late[at]]
        n = a.late[at + 1]
        capacity = room_for(n)
        offset = arena_take(&store.arena, capacity * ENTRY_WORDS)
        if record.capacity > 0:
            arena_give(&store.arena, record.offset, record.capacity * ENTRY_WORDS)
        record.offset = offset
        record.capacity = capacity
        record.n_entries = n
        store.largest = max(store.largest, capacity)
        entries = <Entry *>(store.arena.words.data() + offset)
        for i in range(n):
            entries[i].dish = a.late[at + 2 + 3 * i]
            entries[i].customers = a.late[at + 3 + 3 * i]
            entries[i].tables = a.late[at + 4 + 3 * i]
            entries[i].extra = -1
        at += 2 + 3 * n
    return 0


cdef int write_root(CountsStore store, vector[int64_t] *m) except -1 nogil:
    """The root's customers of every dish; dishes without customers go, others come."""
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
    """Dishes are born and die; each has its weight."""
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
        # A known component has a customer at the root who is no data customer.
        if walk.slots.occupied(slot) and b.totals[slot] == 0 and walk.store.find(0, slot) < 0:
            walk.slots.close(slot)
    return 0
