"""The workspace of a sweep over documents in parallel, and the structs of `documents.h`."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t, uint64_t
from hdpkit.vectors cimport vector

from hdpkit.measures._dirichlet_multinomial cimport DirichletCounts
from hdpkit.stores._seating cimport Node

cdef extern from "documents.h":
    const char *HDPKIT_DOCUMENT_CAPSULE
    enum:
        HDPKIT_INVERSE_DEGREE
    double HDPKIT_LEAST_SHAPE
    ctypedef struct hdpkit_philox:
        pass
    ctypedef struct hdpkit_room:
        int8_t *at
        int64_t bytes
    ctypedef int64_t (*hdpkit_document_choose)(void *state, const double *weights, int64_t n) noexcept nogil
    ctypedef struct hdpkit_bursts:
        double concentration
        double discount
        int8_t *opens
        double (*alone)(const void *ratios, int64_t n, int64_t t) noexcept nogil
        const void *ratios
    ctypedef struct hdpkit_documents:
        const int32_t *terms
        const int32_t *order
        const int64_t *begin
        int64_t before
        int32_t *labels
        int32_t *counts
        int64_t n_terms
        int64_t stride
        int32_t shared
        Node *nodes
        int32_t *words
        const double *concentration
        const double *psi
        const double *base
        const int32_t *base_row
        const int32_t *row_node
        const void *phi
        const void *factor
        const void *share
        const double *smooth
        double threshold
        double least
        uint64_t key[2]
        hdpkit_document_choose choose
        void *script
        const double *theta
        double (*log_gamma)(void *stream, double shape) noexcept nogil
        const hdpkit_bursts *bursts
    ctypedef struct hdpkit_document_thread:
        int32_t *here
        void *running_root
        int32_t *blocks
        int32_t n_blocks
        int32_t failed
        int64_t *change
        int32_t n_moved
        int32_t *moved
        int32_t *before
        hdpkit_philox stream
    void lay_out_thread "hdpkit_lay_out"(hdpkit_document_thread *t, hdpkit_room *room, int64_t stride, int64_t real) noexcept nogil
    ctypedef struct hdpkit_gamma_block:
        const int32_t *counts
        int64_t n_terms
        int64_t stride
        const double *eta
        int32_t used[16]
        float *out
        int64_t out_stride
        const float *inverse
        float log_scale
        float cut
        float to_unit
        double sum[16]
        hdpkit_philox stream
        double (*log_gamma)(void *stream, double shape) noexcept nogil
    ctypedef void (*hdpkit_document_run)(const hdpkit_documents *, hdpkit_document_thread *, int64_t node) noexcept nogil
    ctypedef struct hdpkit_document_functions:
        hdpkit_document_run production
        hdpkit_document_run scripted
        hdpkit_document_run production_drawn
        hdpkit_document_run scripted_drawn
        hdpkit_document_run production_bursts
        hdpkit_document_run scripted_bursts
        void (*smooth_floats)(const hdpkit_documents *, const void *share, double *smooth, int64_t first, int64_t last) noexcept nogil
        void (*smooth_doubles)(const hdpkit_documents *, const void *share, double *smooth, int64_t first, int64_t last) noexcept nogil
        void (*draw_topics)(hdpkit_gamma_block *) noexcept nogil

cdef extern from "hdpkit/large_pages.h":
    bint in_large_pages "hdpkit_in_large_pages"(vector[int8_t] &bytes, size_t n) noexcept nogil

cdef extern from "threads.h":
    ctypedef void (*hdpkit_work)(void *argument, int thread, int64_t first, int64_t last) noexcept nogil
    void share_out "hdpkit_share_out"(int threads, int64_t n, int64_t piece, hdpkit_work work,
                                      void *argument) noexcept nogil

cdef extern from "hdpkit/philox32.h":
    enum:
        HDPKIT_PHILOX32_COUNTERS
    void hdpkit_philox32(uint32_t first, uint32_t word1, const uint32_t *upper, const uint32_t *key, uint32_t *out) noexcept nogil


cdef enum:
    LANES = 16
    LINE_BYTES = 64


cdef inline int8_t *on_a_line(int8_t *at) noexcept nogil:
    return at + (LINE_BYTES - <size_t>at % LINE_BYTES) % LINE_BYTES


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
