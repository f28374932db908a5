from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t
from hdpkit.vectors cimport vector

from hdpkit.steps.fused._documents cimport (
    hdpkit_gamma_block, hdpkit_document_functions, hdpkit_document_thread, hdpkit_documents)
from hdpkit.measures._dirichlet_multinomial cimport DirichletCounts

cdef const hdpkit_document_functions *functions
cdef const hdpkit_document_functions *of_scripts


cdef cppclass ThreadArrays:
    vector[int8_t] arrays
    vector[int32_t] before
    vector[int64_t] tables           # by row of weights and slot: change of the customers of the row's restaurant
    vector[int32_t] late             # restaurants that need larger blocks, with their entries
    bint starved


cdef cppclass Shared:                # data for threads that draw topics
    hdpkit_documents *s
    DirichletCounts *counts
    hdpkit_gamma_block *blocks
    const void *share                # a row, and its sums by term
    double *smooth
    bint wide                        # doubles instead of floats
    uint64_t topic_key[2]
    int64_t worker, n_workers        # blocks worker, worker + n_workers, ... are drawn here


cdef class DocumentWorkspace:
    cdef hdpkit_documents s
    cdef Shared shared
    cdef int n_threads
    cdef vector[hdpkit_document_thread] threads
    cdef vector[ThreadArrays] arrays
    cdef vector[int8_t] topics       # rows by term
    cdef vector[int8_t] by_slot
    cdef vector[double] smooth
    cdef vector[int8_t] shares       # rows by slot
    cdef vector[double] base         # the same
    cdef vector[double] rest         # by row: weight of all other labels
    cdef vector[int32_t] base_row
    cdef vector[int32_t] row_node
    cdef vector[hdpkit_gamma_block] blocks
    cdef vector[int64_t] begin
    cdef vector[int32_t] order
    cdef object topology             # for which `begin` and `order` were computed
    cdef DirichletCounts *counts
    cdef double *psi
    cdef double *factor
    cdef double *sums                # sums of the drawn topics
    cdef object memory               # shared memory of topics and sums; None: not shared
    cdef object room                 # the buffer from `memory`
    cdef bint copied                 # whether a copy of the shared topics is used
    cdef int64_t most_copied         # bytes of topics up to which it is
    cdef double inverted             # eta for which `inverse` was computed
    cdef vector[float] inverse
    cdef bint wide                   # doubles instead of floats
    cdef bint apart                  # changes of counts are stored separately from the counts
    cdef vector[int32_t] changes     # rows by term; 0 between sweeps
    cdef int64_t longest

    cdef int lay_out(self, DirichletCounts *counts, int64_t stride, int n_threads, bint wide) except -1
    cdef int index_rows(self, const int32_t[::1] parent) except -1
    cdef int lay_out_rows(self, double remainder) except -1
    cdef int index_documents(self, object topology, const int32_t[::1] terms, const int32_t[::1] home,
                             int64_t n, int64_t n_nodes) except -1
    cdef bint is_fixed(self, int64_t slot) noexcept
    cdef int take_labels(self, object plan) except -1
    cdef int draw_topics(self) except -1
    cdef int copy_topics(self) except -1
    cdef int scale_topics(self) except -1
    cdef int invert(self, double eta) except -1
    cdef int take_topics(self, object topics, object slots) except -1
    cdef int weigh(self, bint all_sums) except -1
    cdef int begin_changes(self) noexcept


cdef int add_blocks(tuple blocks, int32_t *cells, int64_t n_terms, int64_t stride, int64_t n_slots, int n_threads) except -1
