# distutils: language = c++
"""Changes of counts in blocks of terms, which processes send to each other: written and added on threads.

Of n blocks, block i has the terms from i V // n to before (i + 1) V // n. Its bytes are those of `count_changes`.
"""

from libc.stdint cimport int32_t, int64_t

from hdpkit._compiled.fused_sweeps.slices cimport share_out
from hdpkit._compiled.support.count_changes cimport Reader, Written, add_rows, check_whole, joined, reader_of, write_rows
from hdpkit.vectors cimport vector


cdef cppclass Work:
    int32_t *cells
    int64_t first, last, stride, n_slots, n_pieces
    Written *written
    Reader *readers


cdef inline int64_t bound(Work *w, int64_t i) noexcept nogil:
    """Where piece i begins."""
    return w.first + (w.last - w.first) * i // w.n_pieces


cdef void write_pieces(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    cdef Work *w = <Work *>argument
    cdef int64_t i
    for i in range(first, last):
        write_rows(w.written + i, w.cells, bound(w, i), bound(w, i + 1), w.stride, w.n_slots)


cdef void add_pieces(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    cdef Work *w = <Work *>argument
    cdef int64_t i
    for i in range(first, last):
        add_rows(w.readers + i, w.cells, bound(w, i), bound(w, i + 1), w.stride, w.n_slots)


cdef bytes take_block(int32_t *cells, int64_t n_terms, int64_t stride, int64_t n_slots, int64_t block, int64_t n_blocks,
                      int n_threads):
    """The changes of a block as bytes; its cells are 0 then."""
    cdef vector[Written] written
    cdef Work w
    written.resize(n_threads)
    w.cells = cells
    w.first = n_terms * block // n_blocks
    w.last = n_terms * (block + 1) // n_blocks
    w.stride = stride
    w.n_slots = n_slots
    w.n_pieces = n_threads
    w.written = written.data()
    with nogil:
        share_out(n_threads, n_threads, 1, write_pieces, <void *>&w)
    return joined(&written)


cdef int add_blocks(tuple blocks, int32_t *cells, int64_t n_terms, int64_t stride, int64_t n_slots, int n_threads) except -1:
    """Add the changes of all blocks to counts."""
    cdef vector[Reader] readers
    cdef Work w
    cdef int64_t i, n = len(blocks)
    for i in range(n):
        readers.push_back(reader_of(blocks[i]))
    w.cells = cells
    w.first = 0
    w.last = n_terms
    w.stride = stride
    w.n_slots = n_slots
    w.n_pieces = n
    w.readers = readers.data()
    with nogil:
        share_out(n_threads, n, 1, add_pieces, <void *>&w)
    for i in range(n):
        check_whole(&readers[i])
    return 0
