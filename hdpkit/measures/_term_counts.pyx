# distutils: language = c++
"""Counts of terms in dishes, term by term: common storage of the banks of measures over terms.

A row holds the counts of one term in all slots, because a sweep reads one term under many dishes. Numbers
that a measure derives from the counts of a slot are in the struct of its bank, which derives from
`TermCounts`.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy, memmove
from hdpkit.vectors cimport bytes_of, has_room, no_memory, vector

from hdpkit._arguments cimport check_length, check_numbers32, refuse
from hdpkit.measures._measure cimport CompiledBank, as_int32

cdef extern from "hdpkit/large_pages.h":
    bint in_large_pages "hdpkit_in_large_pages"(vector[int32_t] &numbers, size_t n) noexcept nogil

cdef enum:
    TALLIED = 65536      # counts below this are tallied in an array


cdef int clear_counts(TermCounts *b, int64_t stride) except -1 nogil:
    """Set all counts to 0, in rows of this many slots (a multiple of LINE), each beginning on a cache line."""
    if not in_large_pages(b.cells, b.n_terms * stride + LINE):      # nothing has changed
        with gil:
            raise MemoryError
    b.cells.assign(b.n_terms * stride + LINE, 0)
    place(b, stride)
    return 0


cdef int place(TermCounts *b, int64_t stride) noexcept nogil:
    """Set the first row to a cache line of the cells, with rows of this many slots."""
    cdef int64_t start
    b.stride = stride
    start = <int64_t>((LINE * sizeof(int32_t) - <size_t>b.cells.data()) % (LINE * sizeof(int32_t)) // sizeof(int32_t))
    b.counts = b.cells.data() + start
    b.version += 1
    return 0


cdef int grow_counts(TermCounts *b, int64_t stride) except -1 nogil:
    """Extend rows to this many slots, and the totals; if out of memory, nothing changes."""
    cdef int64_t before = b.stride, v
    cdef vector[int32_t] cells
    cdef int32_t *counts = b.counts
    b.totals.reserve(stride)
    if not in_large_pages(cells, b.n_terms * stride + LINE):
        with gil:
            raise MemoryError
    cells.swap(b.cells)                             # nothing below can fail
    place(b, stride)
    for v in range(b.n_terms):
        memcpy(b.counts + v * stride, counts + v * before, before * sizeof(int32_t))
    b.totals.resize(stride, 0)
    return 0


cdef int counts_born(void *self, int32_t slot) noexcept nogil:
    cdef TermCounts *b = <TermCounts *>self
    if slot >= b.stride:
        with gil:
            try:
                b.grow(b, slot + 1)
            except MemoryError:
                return no_memory()
    return 0 if b.totals[slot] == 0 else -1


cdef int clear_slot(TermCounts *b, int32_t slot) noexcept nogil:
    """Set the counts of a slot to 0."""
    cdef int64_t v
    for v in range(b.n_terms):
        b.counts[v * b.stride + slot] = 0
    b.totals[slot] = 0
    b.version += 1
    return 0


cdef int gather_block(TermCounts *b, const int32_t *customers, int64_t n_customers) noexcept nogil:
    """Put the distinct terms of customers in `touched`, their counts in `block`; the caller clears `block`."""
    cdef int64_t i
    cdef int32_t term
    if not has_room(b.touched, min(n_customers, b.n_terms)):
        return no_memory()
    b.touched.clear()
    for i in range(n_customers):
        term = b.terms[customers[i]]
        if b.block[term] == 0:
            b.touched.push_back(term)
        b.block[term] += 1
    return 0


cdef class TermCountsBank(CompiledBank):
    """Counts of terms by dish slot. A subclass has the struct and the derived numbers.

    Its constructor sets the other functions of `c` and calls `keep_counts`.
    """

    needs_dishes = False

    cdef int keep_counts(self, TermCounts *rows, object terms, int64_t n_terms,
                         int (*grow)(void *self, int64_t slots) except -1 nogil) except -1:
        """Begin without counts. `terms` (of each customer) is kept by reference, never changed."""
        cdef const int32_t[::1] view = np.ascontiguousarray(terms, dtype=np.int32)
        self.terms = np.asarray(view)
        self.rows = rows
        self.c.self = rows
        self.c.born = counts_born
        rows.grow = grow
        rows.terms = &view[0] if view.shape[0] > 0 else NULL      # empty: statistics are computed by cell
        rows.n_terms = n_terms
        rows.block.assign(n_terms, 0)
        self.complete(view.shape[0])
        rows.tallied = -1
        clear_counts(rows, LINE)
        rows.totals.assign(rows.stride, 0)
        return 0

    cdef int grow(self, int64_t slots) except -1:
        """Make room for this many slots."""
        return self.rows.grow(self.rows, slots)

    cdef int64_t room(self) except -1:
        return self.rows.stride

    cdef int recount(self, const int32_t[::1] dishes, object slots) except -1:
        """Recompute all counts from the dish of each customer (-1: unseated)."""
        cdef int64_t i
        cdef int32_t slot
        cdef TermCounts *b = self.rows
        cdef int32_t top = max(slots, default=-1)
        if dishes.shape[0] > self.n_customers:
            check_length("dishes", dishes.shape[0], self.n_customers)
        check_numbers32("dishes", dishes, -1, max(<int64_t>top + 1, b.stride) - 1)
        clear_counts(b, b.stride)
        b.totals.assign(b.stride, 0)
        self.grow(top + 1)
        with nogil:
            for i in range(dishes.shape[0]):
                slot = dishes[i]
                if slot >= 0:
                    b.counts[<int64_t>b.terms[i] * b.stride + slot] += 1
                    b.totals[slot] += 1
        return 0

    cdef int recount_cells(self, object terms, object dishes, object counts, object slots) except -1:
        """Recompute all counts from the number of customers by term and dish."""
        cdef const int32_t[::1] term = np.ascontiguousarray(terms, dtype=np.int32)
        cdef const int32_t[::1] dish = np.ascontiguousarray(dishes, dtype=np.int32)
        cdef const int32_t[::1] n = np.ascontiguousarray(counts, dtype=np.int32)
        cdef int64_t i
        cdef TermCounts *b = self.rows
        cdef int32_t top = max(slots, default=-1)
        check_numbers32("terms", term, 0, b.n_terms - 1)      # a worker of another process may have sent them
        check_numbers32("dishes", dish, 0, max(<int64_t>top + 1, b.stride) - 1)
        clear_counts(b, b.stride)
        b.totals.assign(b.stride, 0)
        self.grow(top + 1)
        with nogil:
            for i in range(term.shape[0]):
                b.counts[<int64_t>term[i] * b.stride + dish[i]] += n[i]
                b.totals[dish[i]] += n[i]
        return 0

    def died(self, slot):
        CompiledBank.died(self, slot)
        # After a proposal the counts may sum to 0 without all being 0.
        clear_slot(self.rows, slot)

    def remove(self, slot, customers):
        """Remove the values of these data customers from a slot, which must have them."""
        cdef int32_t k = self.slot_number(slot)
        cdef const int32_t[::1] who = as_int32(customers)
        cdef int64_t i
        cdef int32_t *cell
        cdef bint there = True
        cdef TermCounts *b = self.rows
        for i in range(who.shape[0]):       # a trial: removed one by one, and restored before the actual removal
            cell = b.counts + <int64_t>b.terms[who[i]] * b.stride + k
            there = there and cell[0] > 0
            cell[0] -= 1
        for i in range(who.shape[0]):
            b.counts[<int64_t>b.terms[who[i]] * b.stride + k] += 1
        if not there:
            refuse("customers", customers, f"customers whose values slot {k} has", "Add them first.")
        CompiledBank.remove(self, slot, customers)

    def relabelled(self, mapping):
        self.relabel(as_int32(mapping[: self.rows.stride]))

    cdef int relabel(self, const int32_t[::1] mapping) except -1:
        cdef int64_t v, s
        cdef size_t i
        cdef int32_t to
        cdef vector[int32_t] taken
        cdef TermCounts *b = self.rows
        cdef int32_t *row
        cdef vector[int64_t] source, target, length, left     # runs of slots that move together; slots left empty
        for s in range(mapping.shape[0]):
            to = mapping[s]
            if to < 0 or to == s:
                continue
            if source.size() > 0 and source.back() + length.back() == s and target.back() + length.back() == to:
                length[length.size() - 1] += 1
            else:
                source.push_back(s)
                target.push_back(to)
                length.push_back(1)
        taken.assign(mapping.shape[0], 0)
        for s in range(mapping.shape[0]):
            if mapping[s] >= 0:
                taken[mapping[s]] = 1
        for s in range(mapping.shape[0]):
            if mapping[s] >= 0 and not taken[s]:
                left.push_back(s)
        b.version += 1
        with nogil:
            for v in range(b.n_terms):
                row = b.counts + v * b.stride
                for i in range(source.size()):
                    memmove(row + target[i], row + source[i], length[i] * sizeof(int32_t))
                for i in range(left.size()):
                    row[left[i]] = 0
            for s in range(mapping.shape[0]):
                to = mapping[s]
                if to >= 0 and to != s:
                    b.totals[to] = b.totals[s]
                    b.totals[s] = 0
        return 0

    def counts(self, slots):
        """Counts of every term in these slots: int64, shape (n, n_terms)."""
        cdef const int32_t[::1] s = as_int32(slots)
        cdef TermCounts *b = self.rows
        out = np.empty((s.shape[0], b.n_terms), dtype=np.int64)
        cdef int64_t[:, ::1] o = out
        cdef int64_t v, i
        with nogil:
            for v in range(b.n_terms):
                for i in range(s.shape[0]):
                    o[i, v] = b.counts[v * b.stride + s[i]]
        return out

    cdef int tally_cells(self) except -1 nogil:
        """Compute the number of cells of the count matrix with each count, from 1; valid until a count changes."""
        cdef TermCounts *b = self.rows
        cdef int64_t i, j, n = b.n_terms * b.stride
        cdef const int32_t *cell = b.counts
        cdef int64_t *tally
        cdef int32_t any_of, top = 0
        if b.tallied == b.version:
            return 0
        for i in range(b.stride):
            if b.totals[i] > top:
                top = <int32_t>b.totals[i] if b.totals[i] < TALLIED else TALLIED
        b.tally.assign(top + 1, 0)
        b.rare.clear()
        tally = b.tally.data()
        for i in range(n // LINE):      # many lines of a large matrix are empty
            any_of = 0
            for j in range(LINE):
                any_of |= cell[j]
            if any_of != 0:
                for j in range(LINE):
                    if <uint32_t>cell[j] <= <uint32_t>top:      # as unsigned, a negative count is larger
                        tally[cell[j]] += 1
                    else:
                        b.rare.push_back(cell[j])
            cell += LINE
        b.tallied = b.version
        return 0

    cdef bint has_all(self, const int32_t[::1] slots) noexcept:
        """Whether no other slots have counts."""
        cdef int64_t i, here = 0, everywhere = 0
        for i in range(slots.shape[0]):
            here += self.rows.totals[slots[i]]
        for i in range(self.rows.stride):
            everywhere += self.rows.totals[i]
        return here == everywhere

    cdef double rising_total(self, const vector[double] *table, double a, double power) except? -1.0 nogil:
        """Sum over the cells of log G(a + power n) / G(a), n the count; ``table`` has it for small counts."""
        cdef TermCounts *b = self.rows
        cdef int64_t i, tabulated = table.size()
        cdef double total = 0.0
        self.tally_cells()
        for i in range(1, <int64_t>b.tally.size()):
            if b.tally[i] > 0:
                total += b.tally[i] * (table.data()[i] if i < tabulated else rising(a, i, power))
        for i in range(<int64_t>b.rare.size()):
            total += rising(a, b.rare[i], power)
        return total

    cdef int64_t count_bytes(self) noexcept:
        """Bytes of the counts."""
        cdef TermCounts *b = self.rows
        return bytes_of(b.cells, b.totals, b.tally, b.block, b.rare)

    cdef object workspace_bytes(self):
        """Bytes of the workspace of fused sweeps."""
        return 0 if self.workspace is None else self.workspace.memory_bytes()
