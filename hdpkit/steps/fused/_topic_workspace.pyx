# distutils: language = c++
"""Data by slot and by term that fused sweeps of a topic model keep between calls."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy
from hdpkit.vectors cimport vector

from hdpkit.measures._bursty cimport BurstyBank
from hdpkit.measures._dirichlet_multinomial cimport DirichletMultinomialBank
from hdpkit.measures._measure cimport CompiledBank
from hdpkit.measures._sparse_dirichlet_multinomial cimport (
    SlotFactors, SparseDirichletMultinomialBank, factors_at, factors_of)
from hdpkit.measures._term_counts cimport TermCountsBank

cdef enum:
    LINE_BYTES = 64


cdef double unit_of(double smoothing) noexcept nogil:
    """A power of two: a dish contributes at most lambda, so 2**14 dishes contribute at most 2**62 units."""
    cdef double unit = 1.0 / (<int64_t>1 << 48)
    while unit * (<int64_t>1 << 48) < smoothing:
        unit *= 2.0
    while unit * (<int64_t>1 << 48) >= 2.0 * smoothing:
        unit /= 2.0
    return unit


cdef class Workspace:
    """Data by slot and by term that fused sweeps keep between calls."""

    def __cinit__(self, TermCountsBank bank not None):
        self.plain = NULL
        self.sparse = NULL
        self.words = NULL
        if type(bank) is DirichletMultinomialBank:
            self.counts = self.plain = &(<DirichletMultinomialBank>bank).b
        else:
            self.counts = self.sparse = &(<SparseDirichletMultinomialBank>bank).b
        self.term_bound.resize(self.counts.n_terms)
        self.s.term_bound = self.term_bound.data()
        self.version = -1

    cdef int lay_out(self, int64_t stride) except -1 nogil:
        """Allocate arrays of this many slots, each beginning on a cache line; only root bounds keep their values.

        If out of memory, nothing changes.
        """
        cdef hdpkit_room room
        cdef vector[int8_t] before
        cdef uint32_t *root_bound = self.s.root_bound
        cdef int64_t kept = self.stride
        if stride == self.stride:
            return 0
        room.at = NULL
        room.bytes = 0
        lay_out_topics(&self.s, &room, stride, self.sparse != NULL)
        before.assign(room.bytes + 2 * LINE_BYTES, 0)
        before.swap(self.arrays)
        room.at, room.bytes = self.arrays.data(), 0
        room.at += (2 * LINE_BYTES - <size_t>room.at % (2 * LINE_BYTES)) % (2 * LINE_BYTES)
        lay_out_topics(&self.s, &room, stride, self.sparse != NULL)
        if kept > 0:
            memcpy(self.s.root_bound, root_bound, kept * sizeof(uint32_t))
        self.stride = stride
        return 0

    cdef int take_parameters(self) except -1:
        """Set the parameters that don't change during a sweep."""
        cdef const SlotFactors *of_new
        self.s.terms = self.counts.terms
        self.s.n_terms = self.counts.n_terms
        self.s.starved = 0
        if self.plain != NULL:
            self.s.eta = self.plain.eta.data()
            self.s.eta_sum = self.plain.eta_sum
            return 0
        of_new = factors_of(self.sparse, -1)
        if of_new == NULL:
            raise MemoryError
        self.s.new_term = of_new.outside
        self.s.smoothing = self.sparse.smoothing
        self.s.unit = unit_of(self.sparse.smoothing)
        self.s.per_unit = 1.0 / self.s.unit
        self.s.factors = factors_at
        self.s.bank = self.sparse
        return 0

    def memory_bytes(self):
        """Bytes of the arrays."""
        return self.arrays.capacity() + self.term_bound.capacity() * sizeof(uint64_t)


cdef int refresh_words(hdpkit_words *w, BurstyCounts *words) noexcept nogil:
    """Update the addresses of words at tables: operations of the bank may move its arrays."""
    w.order = NULL
    w.place = NULL
    if not words.sorted:
        w.order = words.order.data()
        w.place = words.place.data()
    w.begin = words.begin.data()
    w.slot_of = words.slot_of.data()
    w.opens = words.opens.data()
    w.seated = words.seated.data()
    w.cell = words.cell.data()
    w.cell_tables = words.cell_tables.data()
    w.concentration = words.concentration
    w.discount = words.discount
    w.fewer = words.ratios.fewer.data()
    w.rows = words.ratios.rows if words.ratios.d == words.discount else 0
    w.columns = words.ratios.columns
    w.largest = words.plain
    w.listed = words.listed
    w.pair = words.pair.data()
    w.n_cells = words.n_cells.data()
    w.cell_dish = words.cell_dish.data()
    w.cell_customers = words.cell_customers.data()
    w.tables_of_cell = words.tables_of_cell.data()
    return 0


cdef Workspace workspace_of(CompiledBank bank):
    """The workspace of a bank of topics; that of topics that differ by document is the one of its inner bank."""
    cdef TermCountsBank inner = (<BurstyBank>bank).inner if isinstance(bank, BurstyBank) else bank
    cdef Workspace workspace
    if inner.workspace is None:
        inner.workspace = Workspace(inner)
    workspace = inner.workspace
    workspace.words = &(<BurstyBank>bank).b if isinstance(bank, BurstyBank) else NULL
    workspace.s.bursts = &workspace.bursts if workspace.words != NULL else NULL
    return workspace
