# distutils: language = c++
"""The workspace of a sweep over documents in parallel: topics, labels by slot, and arrays of each thread."""

import functools

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from hdpkit._count_changes import take_sparse
from hdpkit.steps.fused.instruction_set import chosen, scripts
from hdpkit.measures._dirichlet_multinomial cimport DirichletCounts
from hdpkit.numerics cimport det_exp
from hdpkit.random.philox cimport philox, philox_rekey
from hdpkit.random.sources cimport draw_log_gamma
from hdpkit.vectors cimport vector

functions = <const hdpkit_document_functions *>PyCapsule_GetPointer(chosen.documents, HDPKIT_DOCUMENT_CAPSULE)
of_scripts = <const hdpkit_document_functions *>PyCapsule_GetPointer(scripts.documents, HDPKIT_DOCUMENT_CAPSULE)

# Range of a common eta for which draws use the inverse of the distribution function: most draws are below 1.
cdef double LEAST_ETA = 1e-4, LARGEST_ETA = 0.6
cdef double LEAST_SUM = 1e-20     # of the gamma draws of a topic; each below 1e-37 is 0 in single precision
cdef double LEAST_LOG = -80.0     # exp(LEAST_LOG) is 1.8e-35

cdef enum:
    TERMS = 256          # terms per piece of work
    MOST_BLOCKS = 1 << 20
    COPIED = 1 << 26     # bytes of shared topics up to which a part uses a copy


@functools.lru_cache(maxsize=8)
def inverse_of_gamma(shape, degree):
    """Polynomial of g / w in t = 2 w / w(1) - 1, where w = (G(a + 1) F(g))**(1 / a), F the distribution function.

    Returns the coefficients, beginning with the constant; then log G(a + 1), F(1) and 2 / w(1).
    """
    from scipy.special import gammainc, gammaln

    g = np.linspace(0.0, 1.0, 8001)[1:]
    w = np.exp((np.log(gammainc(shape, g)) + gammaln(shape + 1.0)) / shape)
    top = float(w.max())
    fitted = np.polynomial.Chebyshev.fit(w, g / w, degree, domain=[0.0, top])
    made = np.polynomial.chebyshev.cheb2poly(fitted.coef)
    return [*made.tolist(), float(gammaln(shape + 1.0)), float(gammainc(shape, 1.0)), 2.0 / top]


def philox32(uint32_t first, uint32_t word1, uint32_t[::1] upper not None, uint32_t[::1] key not None):
    """Words of sixteen counters (first, word1, *upper), first + 1, ... under a key of two words: uint32, shape (16, 4)."""
    cdef uint32_t[4 * HDPKIT_PHILOX32_COUNTERS] out
    hdpkit_philox32(first, word1, &upper[0], &key[0], out)
    return np.array(<uint32_t[:4 * HDPKIT_PHILOX32_COUNTERS]>out).reshape(4, -1).T


cdef void draw_block(hdpkit_gamma_block *block) noexcept nogil:
    """Draw the topics of sixteen slots.

    The proportions of independent gammas don't depend on their sum. So if a sum is small, the proportions can
    be drawn again from logarithms, which don't underflow for any eta, and topics have their law.
    """
    cdef int lane
    functions.draw_topics(block)
    for lane in range(LANES):
        if block.used[lane] and block.sum[lane] < LEAST_SUM:
            draw_by_logarithms(block, lane)


cdef void draw_by_logarithms(hdpkit_gamma_block *block, int lane) noexcept nogil:
    """Draw the topic of one slot times a factor, so that its largest entry is 1."""
    cdef hdpkit_philox again = block.stream     # the same draws twice, because there is no room for the logarithms
    cdef int64_t v
    cdef double y, top = -1e308
    for v in range(block.n_terms):
        top = max(top, block.log_gamma(&block.stream, block.eta[v] + block.counts[v * block.stride + lane]))
    block.sum[lane] = 0.0
    for v in range(block.n_terms):
        y = block.log_gamma(&again, block.eta[v] + block.counts[v * block.stride + lane]) - top
        block.out[v * block.out_stride + lane] = <float>(det_exp(y) if y > LEAST_LOG else 0.0)
        block.sum[lane] += block.out[v * block.out_stride + lane]


cdef void draw_blocks(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    """Draw the topics of blocks of sixteen slots."""
    cdef Shared *work = <Shared *>argument
    cdef int64_t i
    for i in range(first, last):
        draw_block(work.blocks + work.worker + i * work.n_workers)


cdef void smooth_terms(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    cdef Shared *work = <Shared *>argument
    if work.wide:
        of_scripts.smooth_doubles(work.s, work.share, work.smooth, first, last)
    else:
        functions.smooth_floats(work.s, work.share, work.smooth, first, last)


cdef class DocumentWorkspace:
    """Arrays that a franchise keeps between sweeps over documents in parallel."""

    def __cinit__(self):
        self.shared.worker = 0
        self.shared.n_workers = 1

    def share_topics(self, memory, int worker, int n_workers, int64_t copied=COPIED):
        """Draw only some of the topics from now on, in memory shared with the processes that draw the others.

        ``memory.room(n)`` is a writable buffer of n bytes, the same for all workers, at the start of a page. Up to
        ``copied`` bytes of topics this worker uses a copy: in pages of the usual size sweeps over small topics take longer.
        """
        self.memory = memory
        self.most_copied = copied
        self.shared.worker = worker
        self.shared.n_workers = n_workers

    cdef int lay_out(self, DirichletCounts *counts, int64_t stride, int n_threads, bint wide) except -1:
        """Allocate arrays for this many slots and threads; their contents are lost."""
        cdef int64_t real = sizeof(double) if wide else sizeof(float), n_terms = counts.n_terms, line = LINE_BYTES
        cdef int i
        cdef int8_t *at
        cdef int8_t[::1] in_common
        cdef hdpkit_room room
        self.counts = counts
        self.wide = wide
        self.by_slot.assign(stride * (3 * sizeof(double) + real) + line, 0)
        self.blocks.resize(stride // LANES)
        at = on_a_line(self.by_slot.data())
        self.psi = <double *>at
        self.factor = self.psi + stride
        self.sums = self.factor + stride
        self.s.psi = self.psi
        self.s.factor = at + 3 * stride * sizeof(double)
        self.copied = self.memory is not None and n_terms * stride * real <= self.most_copied
        if self.memory is None or self.copied:
            if not in_large_pages(self.topics, n_terms * stride * real + line):
                raise MemoryError
            self.s.phi = on_a_line(self.topics.data())
        if self.memory is not None:
            self.room = in_common = self.memory.room(stride * sizeof(double) + n_terms * stride * real)
            self.sums = <double *>&in_common[0]
            self.s.phi = self.sums + stride
        self.s.terms = counts.terms
        self.s.counts = counts.counts
        if self.apart:
            if <int64_t>self.changes.size() != n_terms * stride:
                self.changes.assign(n_terms * stride, 0)
            self.s.counts = self.changes.data()
        self.s.n_terms = n_terms
        self.s.stride = stride
        self.s.shared = n_threads > 1
        self.s.log_gamma = draw_log_gamma
        self.s.bursts = NULL
        self.shared.s = &self.s
        self.shared.counts = counts
        self.shared.blocks = self.blocks.data()
        self.shared.wide = wide
        self.n_threads = n_threads
        if <int>self.threads.size() < n_threads:
            self.threads.resize(n_threads)
            self.arrays.resize(n_threads)
        for i in range(n_threads):
            room.at = NULL
            room.bytes = 0
            lay_out_thread(&self.threads[i], &room, stride, real)
            self.arrays[i].arrays.assign(room.bytes + line, 0)
            room.at, room.bytes = on_a_line(self.arrays[i].arrays.data()), 0
            lay_out_thread(&self.threads[i], &room, stride, real)
            self.arrays[i].before.resize(2 * self.longest)
            self.threads[i].moved = self.arrays[i].before.data() + self.longest
            self.threads[i].before = self.arrays[i].before.data()
        return 0

    cdef int index_rows(self, const int32_t[::1] parent) except -1:
        """Assign rows of weights to the root and to each restaurant with children."""
        cdef int64_t r, n = parent.shape[0]
        self.base_row.assign(n, -1)
        self.row_node.assign(1, 0)
        self.base_row[0] = 0
        for r in range(1, n):
            if parent[r] > 0:
                self.base_row[parent[r]] = 0
        for r in range(1, n):       # parents first
            if self.base_row[r] == 0:
                self.base_row[r] = <int32_t>self.row_node.size()
                self.row_node.push_back(<int32_t>r)
        for r in range(1, n):
            if self.base_row[r] < 0:
                self.base_row[r] = self.base_row[parent[r]]
        self.s.base_row = self.base_row.data()
        self.s.row_node = self.row_node.data()
        return 0

    cdef int lay_out_rows(self, double remainder) except -1:
        """Allocate arrays by row and slot, and set the weights of the root."""
        cdef int64_t slot, n_rows = self.row_node.size(), stride = self.s.stride
        cdef int i
        self.base.assign(n_rows * stride, 0.0)
        for slot in range(stride):
            self.base[slot] = self.psi[slot]
        self.rest.assign(n_rows, 0.0)
        self.rest[0] = remainder
        self.shares.assign(n_rows * stride * (sizeof(double) if self.wide else sizeof(float)) + LINE_BYTES, 0)
        self.smooth.resize(n_rows * self.s.n_terms)
        for i in range(self.n_threads):
            self.arrays[i].tables.assign(n_rows * stride, 0)
        self.s.base = self.base.data()
        self.s.share = on_a_line(self.shares.data())
        self.s.smooth = self.smooth.data()
        return 0

    def take_changes(self, int64_t n_slots, int64_t block, int64_t n_blocks):
        """Changes of a block of terms in a sweep over shards as bytes (`_count_changes`); they can be read once.

        Of n blocks, block i has the terms from i V // n to before (i + 1) V // n.
        """
        cdef int64_t V = self.s.n_terms, first = V * block // n_blocks, last = V * (block + 1) // n_blocks
        if first == last:
            return b""
        cells = <int32_t[:last - first, :self.s.stride]>(self.changes.data() + first * self.s.stride)
        return take_sparse(cells, first, n_slots)

    cdef int begin_changes(self) noexcept:
        cdef int i
        for i in range(self.n_threads):
            self.arrays[i].late.clear()
            self.arrays[i].starved = False
        return 0

    cdef int index_documents(self, object topology, const int32_t[::1] terms, const int32_t[::1] home,
                             int64_t n, int64_t n_nodes) except -1:
        """Sort the first n customers by restaurant and term, if they are not in this order."""
        cdef int64_t i
        cdef bint sorted_ = True
        cdef const int32_t[::1] order
        if self.topology is topology:
            return 0
        self.begin.assign(n_nodes + 1, 0)
        for i in range(n):
            self.begin[home[i] + 1] += 1
            if i > 0 and (home[i] < home[i - 1] or (home[i] == home[i - 1] and terms[i] < terms[i - 1])):
                sorted_ = False
        self.longest = 0
        for i in range(n_nodes):
            self.longest = max(self.longest, self.begin[i + 1])
            self.begin[i + 1] += self.begin[i]
        self.order.clear()
        if not sorted_:
            order = np.lexsort((np.asarray(terms)[:n], np.asarray(home)[:n])).astype(np.int32)
            self.order.resize(n)
            for i in range(n):
                self.order[i] = order[i]
        self.s.begin = self.begin.data()
        self.s.order = NULL
        if not sorted_:
            self.s.order = self.order.data()
        self.topology = topology
        return 0

    cdef int take_labels(self, object plan) except -1:
        """Set the root's weights of labels by slot."""
        cdef const int32_t[::1] slots = plan.slots
        cdef const double[::1] psi = plan.weights
        cdef int64_t i
        cdef double xi
        self.s.threshold = plan.threshold
        self.s.least = plan.least
        for i in range(slots.shape[0]):
            self.psi[slots[i]] = psi[i]
            xi = min(psi[i], self.s.threshold)
            self.factor[slots[i]] = self.s.threshold / xi if xi > 0.0 else 0.0
        return 0

    cdef int draw_topics(self) except -1:
        """Draw the topics of this part given the counts, each times a factor.

        Other processes draw the other topics. When all topics are drawn, `scale_topics` must be called.
        """
        cdef int64_t b, lane, slot, v
        cdef hdpkit_gamma_block *block
        cdef bint by_inverse = self.counts.table.size() > 0 and LEAST_ETA <= self.counts.eta[0] <= LARGEST_ETA
        if by_inverse:       # one eta for all terms
            self.invert(self.counts.eta[0])
        for b in range(self.s.stride // LANES):
            block = &self.blocks[b]
            block.counts = self.counts.counts + b * LANES
            block.n_terms = self.s.n_terms
            block.stride = self.s.stride
            block.out_stride = self.s.stride
            block.eta = self.counts.eta.data()
            block.out = <float *>self.s.phi + b * LANES
            block.log_gamma = draw_log_gamma
            block.inverse = NULL
            if by_inverse:
                block.inverse = self.inverse.data()
                block.log_scale = self.inverse[HDPKIT_INVERSE_DEGREE + 1]
                block.cut = self.inverse[HDPKIT_INVERSE_DEGREE + 2]
                block.to_unit = self.inverse[HDPKIT_INVERSE_DEGREE + 3]
            philox_rekey(<philox *>&block.stream, self.shared.topic_key[0], self.shared.topic_key[1], b, 0, 0)
            for lane in range(LANES):
                slot = b * LANES + lane
                block.used[lane] = self.psi[slot] > 0.0 and not self.is_fixed(slot)
        own = range(self.shared.worker, self.s.stride // LANES, self.shared.n_workers)
        cdef int64_t n_own = len(own)
        with nogil:
            share_out(self.n_threads, n_own, 1, draw_blocks, <void *>&self.shared)
        for b in own:
            for lane in range(LANES):
                self.sums[b * LANES + lane] = self.blocks[b].sum[lane]
        return 0

    cdef int copy_topics(self) except -1:
        """Copy shared topics, unless they are large, into memory with large pages, which sweeps read faster."""
        cdef int8_t *own = on_a_line(self.topics.data())
        if self.copied:
            memcpy(own, self.s.phi, self.s.n_terms * self.s.stride * (sizeof(double) if self.wide else sizeof(float)))
            self.s.phi = own
        return 0

    cdef int scale_topics(self) except -1:
        """Compute factors from the sums of drawn topics, and copy given topics."""
        cdef int64_t slot, v
        for slot in range(self.s.stride):
            if self.blocks[slot // LANES].used[slot % LANES]:
                self.factor[slot] = self.factor[slot] / self.sums[slot]
        for slot in range(self.counts.n_fixed):
            if self.is_fixed(slot):
                for v in range(self.s.n_terms):
                    (<float *>self.s.phi)[v * self.s.stride + slot] = <float>self.counts.fixed[slot * self.s.n_terms + v]
        return 0

    cdef bint is_fixed(self, int64_t slot) noexcept:
        """Whether the topic of a slot is fixed."""
        return slot < self.counts.n_fixed and self.counts.is_fixed[slot]

    cdef int invert(self, double eta) except -1:
        """Compute the inverse of the gamma distribution function for a shape up to 1, for draws of topics."""
        cdef int i
        if self.inverse.size() > 0 and self.inverted == eta:
            return 0
        numbers = inverse_of_gamma(eta, HDPKIT_INVERSE_DEGREE)
        self.inverse.resize(len(numbers))
        for i in range(<int>self.inverse.size()):
            self.inverse[i] = numbers[i]
        self.inverted = eta
        return 0

    cdef int take_topics(self, object topics, object slots) except -1:
        """Copy given topics, one row per label."""
        cdef const double[:, ::1] phi = topics
        cdef const int32_t[::1] where = slots
        cdef int64_t i, v
        memset(<void *>self.s.phi, 0, self.s.n_terms * self.s.stride * (sizeof(double) if self.wide else sizeof(float)))
        for i in range(where.shape[0]):
            for v in range(self.s.n_terms):
                if self.wide:
                    (<double *>self.s.phi)[v * self.s.stride + where[i]] = phi[i, v]
                else:
                    (<float *>self.s.phi)[v * self.s.stride + where[i]] = <float>phi[i, v]
        return 0

    cdef int weigh(self, bint all_sums) except -1:
        """Compute factors and shares of labels for sweeps, and the sums of shares by term: all, or the root's."""
        cdef int64_t slot, row, n_rows = self.row_node.size(), at
        cdef int64_t stride = self.s.stride
        cdef double open_factor
        for slot in range(stride):
            open_factor = self.factor[slot] if self.psi[slot] >= self.s.least else 0.0
            if self.wide:
                (<double *>self.s.factor)[slot] = self.factor[slot]
            else:
                (<float *>self.s.factor)[slot] = <float>self.factor[slot]
            for row in range(n_rows):
                at = row * stride + slot
                if self.wide:
                    (<double *>self.s.share)[at] = open_factor * self.base[at]
                else:
                    (<float *>self.s.share)[at] = <float>(open_factor * self.base[at])
        for row in range(n_rows if all_sums else 1):
            self.shared.share = <const int8_t *>self.s.share + row * stride * (sizeof(double) if self.wide else sizeof(float))
            self.shared.smooth = self.smooth.data() + row * self.s.n_terms
            with nogil:
                share_out(self.n_threads, self.s.n_terms, TERMS, smooth_terms, <void *>&self.shared)
        return 0

    def topics_of(self, slots):
        """Topics of these slots in the last sweep: float64, shape (n, V); rows sum to 1."""
        cdef const int32_t[::1] where = np.ascontiguousarray(slots, dtype=np.int32)
        cdef int64_t i, v
        found = np.zeros((where.shape[0], self.s.n_terms))
        cdef double[:, ::1] out = found
        for i in range(where.shape[0]):
            for v in range(self.s.n_terms):
                out[i, v] = ((<double *>self.s.phi)[v * self.s.stride + where[i]] if self.wide
                             else (<float *>self.s.phi)[v * self.s.stride + where[i]])
        return found / found.sum(axis=1, keepdims=True)

    def memory_bytes(self):
        """Bytes of all arrays."""
        cdef int i
        cdef int64_t total = self.topics.capacity() + (0 if self.room is None else len(self.room)) + self.by_slot.capacity() + self.smooth.capacity() * sizeof(double)
        total += self.changes.capacity() * sizeof(int32_t) + self.shares.capacity()
        total += (self.base.capacity() + self.rest.capacity()) * sizeof(double)
        total += (self.base_row.capacity() + self.row_node.capacity()) * sizeof(int32_t)
        total += self.begin.capacity() * sizeof(int64_t) + self.order.capacity() * sizeof(int32_t)
        for i in range(<int>self.arrays.size()):
            total += self.arrays[i].arrays.capacity() + self.arrays[i].before.capacity() * sizeof(int32_t)
            total += self.arrays[i].tables.capacity() * sizeof(int64_t) + self.arrays[i].late.capacity() * sizeof(int32_t)
        return total
