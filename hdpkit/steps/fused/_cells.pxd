"""Structs and functions of a sweep over cells (see `cells.h`)."""

from libc.stdint cimport int32_t, int64_t

from hdpkit.steps.fused._documents cimport hdpkit_document_thread, hdpkit_documents
from hdpkit.random.philox cimport philox

cdef extern from "cells.h":
    const char *HDPKIT_CELLS_CAPSULE
    ctypedef struct hdpkit_cells:
        const int32_t *term
        const int32_t *count
        int64_t n
        const int32_t *was
        int32_t *now
        int64_t n_now
        int32_t few
        double *weight
        double *part
        double *heavy_weight
        double *rest
        double *end
        int64_t *at_level
        int32_t *label
        int32_t *heavy
        int32_t *drawn
        int32_t *edge
        int32_t *above
        double burst
        const double *unit
        void *own
        double *logs
        const double *given
    ctypedef void (*hdpkit_cells_run)(const hdpkit_documents *, hdpkit_document_thread *, hdpkit_cells *, int64_t node) noexcept nogil
    ctypedef struct hdpkit_cells_functions:
        hdpkit_cells_run production
        hdpkit_cells_run scripted
        void (*binomials)(const philox *stream, int64_t n, double p, int64_t size, int64_t *out) noexcept nogil
        void (*spreads)(const philox *stream, int64_t customers, const double *weight, int64_t n, int coarse, int64_t size,
                        void *room, int32_t *out) noexcept nogil
