"""The workspace of a fused sweep of a topic model."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t, uint64_t
from hdpkit.vectors cimport vector

from hdpkit.measures._bursty_counts cimport BurstyCounts
from hdpkit.measures._dirichlet_multinomial cimport DirichletCounts
from hdpkit.measures._measure cimport CompiledBank
from hdpkit.measures._sparse_dirichlet_multinomial cimport SparseCounts
from hdpkit.measures._term_counts cimport TermCounts, TermCountsBank
from hdpkit.stores._explicit cimport Table
from hdpkit.stores._seating cimport Node

cdef extern from "topics.h":
    ctypedef struct hdpkit_room:
        int8_t *at
        int64_t bytes
    ctypedef struct hdpkit_philox:
        pass
    ctypedef int64_t (*hdpkit_choose)(void *state, const double *weights, int64_t n) noexcept nogil
    ctypedef int (*hdpkit_factors)(void *bank, int32_t slot, int64_t distinct, int64_t total, double *out) noexcept nogil
    enum hdpkit_request:
        HDPKIT_ABROAD
        HDPKIT_UNSEATED
        HDPKIT_LEAVE
        HDPKIT_WRITE
        HDPKIT_JOIN
        HDPKIT_OPEN
        HDPKIT_BIRTH
        HDPKIT_FAILED
        HDPKIT_RATIOS
        HDPKIT_LIST
    ctypedef struct hdpkit_words:
        const int32_t *order
        const int32_t *place
        const int64_t *begin
        int32_t *slot_of
        int8_t *opens
        int64_t *seated
        int32_t *cell
        int32_t *cell_tables
        double concentration
        double discount
        const double *fewer
        int64_t rows
        int64_t columns
        int64_t largest
        int32_t listed
        const int32_t *pair
        int32_t *n_cells
        int32_t *cell_dish
        int32_t *cell_customers
        int32_t *tables_of_cell
        int64_t wanted_customers
        int64_t wanted_tables
        int32_t opening
    ctypedef struct hdpkit_topics:
        const int32_t *terms
        const int32_t *home
        int32_t *counts
        int64_t *totals
        double *inverse
        const double *eta
        double eta_sum
        int64_t n_terms
        int64_t stride
        int64_t *distinct
        double smoothing
        double new_term
        double unit
        double per_unit
        hdpkit_factors factors
        void *bank
        int32_t starved
        Node *nodes
        int32_t *words
        int32_t *labels
        int32_t *seats
        Table *pool
        const double *concentration
        const double *discount
        const double *weight
        double rest
        hdpkit_philox *stream
        hdpkit_choose choose
        void *script
        int (*seating)(void *sweep, int request) noexcept nogil
        void *sweep
        int64_t customer
        int64_t last
        int32_t dish
        int64_t asking
        void *root
        int32_t *tables
        int32_t *here
        uint32_t *root_bound
        uint64_t *term_bound
        int32_t loaded
        int32_t unwritten
        int64_t root_customers
        int64_t exact_passes
        hdpkit_words *bursts
    void lay_out_topics "hdpkit_lay_out"(hdpkit_topics *s, hdpkit_room *room, int64_t stride, bint sparse) noexcept nogil
    ctypedef struct hdpkit_topic_sweep:
        int (*start_floats)(hdpkit_topics *s, int anew) noexcept nogil
        int (*start_doubles)(hdpkit_topics *s, int anew) noexcept nogil
        int (*production)(hdpkit_topics *s) except -1 nogil
        int (*scripted)(hdpkit_topics *s) except -1 nogil
        int (*probe)(hdpkit_topics *s) except -1 nogil
        int64_t (*outcome)(const hdpkit_topics *s, int64_t place) noexcept nogil
    ctypedef struct hdpkit_topic_functions:
        hdpkit_topic_sweep restaurant
        hdpkit_topic_sweep weights
        hdpkit_topic_sweep counts
        hdpkit_topic_sweep sparse
        hdpkit_topic_sweep bursts
        hdpkit_topic_sweep bursts_weights
        hdpkit_topic_sweep bursts_counts


cdef inline int8_t *on_a_line(int8_t *at) noexcept nogil:
    return at + (64 - <size_t>at % 64) % 64


cdef class Workspace:
    cdef hdpkit_topics s
    cdef vector[int8_t] arrays       # by slot
    cdef vector[uint64_t] term_bound
    cdef int64_t stride
    cdef int64_t version             # version of the counts for which `term_bound` is valid, -1 for none
    cdef TermCounts *counts          # counts of the bank: the common part, and
    cdef DirichletCounts *plain      # that of a Dirichlet-multinomial,
    cdef SparseCounts *sparse        # or of a sparse one; the other is NULL
    cdef hdpkit_words bursts
    cdef BurstyCounts *words         # of a bank of topics that differ by document over this one, or NULL

    cdef int lay_out(self, int64_t stride) except -1 nogil
    cdef int take_parameters(self) except -1


cdef int refresh_words(hdpkit_words *w, BurstyCounts *words) noexcept nogil
cdef Workspace workspace_of(CompiledBank bank)
