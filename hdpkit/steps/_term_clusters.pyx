# distutils: language = c++
"""Clusters of terms that occur in the same documents, and customers that begin with them (see `term_clusters.h`)."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from hdpkit.numerics cimport det_log1p
from hdpkit.vectors cimport vector

cdef extern from "term_clusters.h" namespace "hdpkit_term_clusters":
    cdef cppclass Rows:
        vector[int64_t] begin, end
        vector[int32_t] which
        vector[float] weight

    cdef cppclass ClusteredTerms:
        int64_t n_documents, n_terms, n_used
        int threads
        bint wide_registers
        Rows documents, terms
        vector[int32_t] label
        int compute(uint64_t key) noexcept nogil
        int cluster(const int64_t *first, int32_t k, int rounds) noexcept nogil

    ctypedef struct Copies:
        const int32_t *label
        const int32_t *value
        const int64_t *begin
        int32_t *out
        uint64_t key0, key1
        uint32_t copied

    int64_t PIECE
    void copy_labels(void *argument, int thread, int64_t first, int64_t last) noexcept nogil

cdef extern from "threads.h" nogil:
    void share_out "hdpkit_share_out"(int threads, int64_t n, int64_t piece,
                                      void (*work)(void *, int, int64_t, int64_t) noexcept nogil,
                                      void *argument) noexcept

cdef enum:
    TABLE = 1024         # counts whose logarithms are looked up
    MOST_THREADS = 4096


cdef int fill_rows(ClusteredTerms *p, const int64_t[::1] begins, const int32_t[::1] terms, const int64_t[::1] counts,
                   const int32_t[::1] order) except -1:
    """Weights log(1 + count) by document, of the placed terms, and by term."""
    cdef int64_t d, e, i, last, n_terms = p.n_terms
    cdef vector[int32_t] position
    cdef vector[int64_t] next
    cdef vector[float] known
    cdef float weight
    position.assign(<size_t>p.label.size(), -1)
    for i in range(p.n_used):
        position[order[i]] = <int32_t>i
    known.resize(TABLE)
    for i in range(TABLE):
        known[i] = <float>det_log1p(i)
    p.terms.begin.assign(p.n_used, 0)
    p.terms.end.assign(p.n_used + 1, 0)
    p.documents.begin.assign(p.n_documents, 0)
    p.documents.end.assign(p.n_documents, 0)
    last = 0
    for d in range(p.n_documents):
        for e in range(begins[d], begins[d + 1]):
            i = position[terms[e]]
            p.terms.end[i + 1] += 1
            last += i < n_terms
    for i in range(p.n_used):
        p.terms.begin[i] = p.terms.end[i]
        p.terms.end[i + 1] += p.terms.end[i]
    p.documents.which.resize(last)
    p.documents.weight.resize(last)
    p.terms.which.resize(terms.shape[0])
    p.terms.weight.resize(terms.shape[0])
    next.assign(p.n_used, 0)
    for i in range(p.n_used):
        next[i] = p.terms.begin[i]
        p.terms.end[i] = p.terms.end[i + 1]
    last = 0
    for d in range(p.n_documents):
        p.documents.begin[d] = last
        for e in range(begins[d], begins[d + 1]):
            i = position[terms[e]]
            weight = known[counts[e]] if counts[e] < TABLE else <float>det_log1p(<double>counts[e])
            p.terms.which[next[i]] = <int32_t>d
            p.terms.weight[next[i]] = weight
            next[i] += 1
            if i < n_terms:
                p.documents.which[last] = <int32_t>i
                p.documents.weight[last] = weight
                last += 1
        p.documents.end[d] = last
    return 0


def cluster_terms(const int64_t[::1] begins not None, const int32_t[::1] terms not None,
                  const int64_t[::1] counts not None, int64_t n_terms, const int32_t[::1] order not None,
                  int64_t n_placed, const int64_t[::1] first not None, int rounds, uint64_t key, int threads,
                  bint wide_registers):
    """Cluster of each term: int32, shape (n_terms,); 0 for terms that don't occur."""
    cdef ClusteredTerms p
    cdef int failed
    p.n_documents = begins.shape[0] - 1
    p.n_terms = n_placed
    p.n_used = order.shape[0]
    p.threads = threads
    p.wide_registers = wide_registers
    p.label.assign(n_terms, 0)
    fill_rows(&p, begins, terms, counts, order)
    with nogil:
        failed = p.compute(key)
        if failed == 0:
            failed = p.cluster(&first[0], <int32_t>first.shape[0], rounds)
    if failed < 0:
        raise MemoryError
    labels = np.zeros(n_terms, dtype=np.int32)
    cdef int32_t[::1] out = labels
    cdef int64_t i
    for i in range(p.n_used):
        out[order[i]] = p.label[i]
    return labels


def copied_labels(const int32_t[::1] labels not None, const int32_t[::1] values not None,
                  const int64_t[::1] begins not None, double share, uint64_t key0, uint64_t key1, int threads):
    """Label of each customer's value or, with probability ``share``, of a random customer's of its document.

    Documents draw from streams of their own. Returns an int32 array, shape (n_customers,).
    """
    cdef Copies c
    cdef int64_t n = values.shape[0]
    made = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] out = made
    if n == 0:
        return made
    c.label = &labels[0]
    c.value = &values[0]
    c.begin = &begins[0]
    c.out = &out[0]
    c.key0 = key0
    c.key1 = key1
    c.copied = <uint32_t>(share * 4294967296.0)
    with nogil:
        share_out(threads, begins.shape[0] - 1, PIECE, copy_labels, &c)
    return made
