"""Structs and functions of a sweep over documents in parallel (see `documents.h`)."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t, uint64_t
from hdpkit.vectors cimport vector

from hdpkit.stores._seating cimport Node

cdef extern from "documents.h":
    const char *HDPKIT_DOCUMENT_CAPSULE
    enum:
        HDPKIT_INVERSE_DEGREE
    double HDPKIT_LEAST_SHAPE
    ctypedef struct hdpkit_philox:
        pass
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
        void *document
        int32_t *here
        void *running_root
        double *weights
        int32_t *blocks
        int32_t *listed
        int32_t n_blocks
        int32_t failed
        int64_t *change
        int32_t *dish
        int32_t *place
        double *few
        const void *share
        const double *smooth
        int32_t n_moved
        int32_t *moved
        int32_t *before
        hdpkit_philox stream
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

