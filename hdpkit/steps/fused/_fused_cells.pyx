# distutils: language = c++
"""Full Gibbs on counts: a sweep over the cells of documents (`cell_sweep.h`), given topics, weights and proportions.

The data that documents share are those of `fused_documents`; for each document the customers of dishes by cell
are drawn. With levels above the documents a document's proportions are drawn given the weights of the
restaurant above it.

Where topics differ by document (`Bursty` without a discount), its topics are drawn, and then the tables of
each run of customers with one dish: their number is distributed as that of c customers of a Chinese
restaurant process with concentration b phi_kv. The bank counts tables, and has their numbers in the order of
the runs.
"""

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memcpy
from hdpkit.vectors cimport has_place, has_room, vector

from hdpkit.steps.fused._cells cimport (
    HDPKIT_CELLS_CAPSULE, hdpkit_cells, hdpkit_cells_functions, hdpkit_cells_run)
from hdpkit.steps.fused.instruction_set import chosen, scripts
from hdpkit.steps.fused._document_sweep cimport (
    Sweep, begin, begin_topics, draw_number, end, finish, finish_held)
from hdpkit.steps.fused._document_workspace cimport DocumentWorkspace
from hdpkit.steps.fused._documents cimport (
    HDPKIT_LEAST_SHAPE, hdpkit_document_thread, hdpkit_documents, share_out)
from hdpkit.measures._dirichlet_multinomial cimport DirichletMultinomialBank
from hdpkit.stores._counts cimport PIECE, CellsStore
from hdpkit.steps._walk cimport Walk
from hdpkit.errors import StateError
from hdpkit.random import RandomStream
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.random.sources cimport draw_bernoulli, draw_uniform
from hdpkit.random.philox cimport philox, philox_next_uint64

cdef const hdpkit_cells_functions *functions = <const hdpkit_cells_functions *>PyCapsule_GetPointer(
    chosen.cells, HDPKIT_CELLS_CAPSULE)
cdef const hdpkit_cells_functions *of_scripts = <const hdpkit_cells_functions *>PyCapsule_GetPointer(
    scripts.cells, HDPKIT_CELLS_CAPSULE)

cdef enum:
    LANES = 16
    LINE_BYTES = 64

cdef int64_t LARGEST = 2**31 - 1
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
    cdef choice_source *source = sweep.ends.script
    if source == NULL:
        own.state = &t.stream
        own.bernoulli = draw_bernoulli
        own.uniform = draw_uniform
        source = &own
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


cdef int check_seated(CellsStore store) except -1:
    cdef int64_t d
    cdef int64_t cell
    cdef int64_t n
    cdef int64_t node
    for d in range(store.begin.shape[0] - 1):
        n = 0
        for cell in range(store.begin[d], store.begin[d + 1]):
            n += store.count[cell]
        node = store.first + d
        if store.nodes[node].customers != n:
            raise StateError("customers", store.nodes[node].customers, f"all {n} of restaurant {node} seated",
                             "Start the franchise first.")
    return 0


def reseat_cells(Walk walk not None, DirichletMultinomialBank bank not None, DocumentWorkspace work not None, plan not None,
               ChoiceSource source not None):
    """Draw the customers of each dish by cell, given topics and weights of a `DocumentPlan`; then draw tables.

    Topics and proportions are drawn first unless the plan has them, which it must for a script.
    """
    sweep_cells(walk, bank, work, plan, source, 0.0, None)


def reseat_bursty_cells(Walk walk not None, bank not None, DocumentWorkspace work not None, plan not None,
                      ChoiceSource source not None):
    """The same where topics differ by document: over a `BurstyCells`, whose tables are drawn too."""
    bank.tables = sweep_cells(walk, bank.inner, work, plan, source, bank.measure.concentration,
                              np.ascontiguousarray(bank.tables, dtype=np.int32))


cdef object sweep_cells(Walk walk, DirichletMultinomialBank bank, DocumentWorkspace work, object plan, ChoiceSource source,
                        double burst, object was_tables):
    """A sweep over all cells; returns the numbers of tables by run if topics differ by document (burst > 0)."""
    cdef bint scripted = not isinstance(source, RandomStream) or source.overridden
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
    cdef vector[int8_t] empty
    cdef vector[int32_t] no_room
    store = walk.store
    walk.check_dishes()
    slots = np.asarray(plan.slots)
    bank.grow(int(slots.max()) + 1)
    check_seated(store)
    stride = bank.b.stride
    work.index_rows(walk.parent)
    begin_topics(walk, bank, work, plan, source, scripted)
    begin(&sweep.ends, walk, bank, work, store, plan, source, scripted)
    work.s.labels = NULL
    sweep.ends.by_jumps = not scripted
    sweep.run = of_scripts.scripted if scripted else functions.production
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
        scratch[t].assign((stride + LANES) * (6 * sizeof(double) + 5 * sizeof(int32_t)) + LINE_BYTES, 0)
        share_scratch(&cells[t], scratch[t].data(), stride + LANES)
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


cdef int8_t *on_a_line(int8_t *at) noexcept:
    return at + (LINE_BYTES - <size_t>at % LINE_BYTES) % LINE_BYTES


cdef int share_scratch(hdpkit_cells *c, int8_t *at, int64_t n) noexcept:
    """Assign arrays of n numbers, a multiple of 16, on cache lines."""
    cdef double *real = <double *>on_a_line(at)
    cdef int32_t *whole = <int32_t *>(real + 6 * n)
    c.weight, c.part, c.heavy_weight, c.rest, c.end = real, real + n, real + 2 * n, real + 3 * n, real + 4 * n
    c.at_level = <int64_t *>(real + 5 * n)
    c.label, c.heavy, c.drawn, c.edge, c.above = whole, whole + n, whole + 2 * n, whole + 3 * n, whole + 4 * n
    return 0


def binomial(ChoiceSource source not None, int64_t n, double p, int64_t size):
    """Binomial draws as in sweeps over cells, for tests: int64, shape (size,)."""
    found = np.empty(size, dtype=np.int64)
    cdef int64_t[::1] out = found
    functions.binomials(<philox *>source.c.state, n, p, size, &out[0])
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
    functions.spreads(<philox *>source.c.state, n, &w[0], blocks, coarse, size, on_a_line(&bytes_[0]), &out[0, 0])
    return found[:, :n_labels]
