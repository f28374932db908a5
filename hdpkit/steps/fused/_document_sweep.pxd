"""Begin and end of a sweep over documents in parallel."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t
from hdpkit.vectors cimport vector

from hdpkit.steps.fused._document_workspace cimport DocumentWorkspace, ThreadArrays
from hdpkit.steps.fused._documents cimport hdpkit_document_run, hdpkit_document_thread, hdpkit_documents
from hdpkit.measures._dirichlet_multinomial cimport DirichletMultinomialBank
from hdpkit.stores._counts cimport CountsStore
from hdpkit.steps._walk cimport Walk
from hdpkit.random._source cimport ChoiceSource, choice_source


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


cdef void finish(Sweep *sweep, int thread, int32_t node) noexcept nogil
cdef void finish_held(Sweep *sweep, int thread, int32_t node) noexcept nogil
cdef int64_t draw_number(Sweep *sweep, double mass, int64_t customers, choice_source *source) noexcept nogil
cdef int begin_topics(Walk walk, DirichletMultinomialBank bank, DocumentWorkspace work, object plan, ChoiceSource source,
                      bint scripted) except -1
cdef int begin(Sweep *sweep, Walk walk, DirichletMultinomialBank bank, DocumentWorkspace work, CountsStore store, object plan,
               ChoiceSource source, bint scripted) except -1
cdef int end(Sweep *sweep, Walk walk, DirichletMultinomialBank bank, DocumentWorkspace work, CountsStore store, object plan,
             str unit) except -1
cdef int add_up(Sweep *sweep, DocumentWorkspace work, CountsStore store) except -1
cdef int check_threads(Sweep *sweep, DocumentWorkspace work, str unit) except -1
cdef int settle(Walk walk, DirichletMultinomialBank bank, CountsStore store, object plan, vector[int64_t] *tables,
                vector[int64_t] *change) except -1
