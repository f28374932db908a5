# distutils: language = c++
"""The compiled bank of the sparse Dirichlet-multinomial. Its C functions are in `_sparse_counts.pyx`."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from hdpkit.measures._block_ratios cimport ratio_bytes
from hdpkit.measures._measure cimport as_weights
from hdpkit.measures._near_selection cimport NearEntries, forget_entries
from hdpkit.measures._proportions cimport ProportionTable
from hdpkit.measures._selection cimport log_sum_of, set_given, set_integrated, table_bytes
from hdpkit.measures._selection_law cimport SelectionLaw
from hdpkit.measures._selection import LIMIT
from hdpkit.measures._sparse_counts cimport (
    SlotFactors, factors_of, law_of, sparse_add, sparse_died, sparse_grow, sparse_log_block,
    sparse_predictive, sparse_remove, smoothing_of)
from hdpkit.measures._measure cimport as_int32
from hdpkit.measures._term_counts cimport TermCountsBank
from hdpkit.numerics cimport log_rising

cdef enum:
    TABULATED = 1024     # most counts whose log-gamma ratios are tabulated

# Limits for single precision; see docs/correctness.md, "Where the fused sweep serves", for the analysis.
cdef double NEW_DISH = 1.0 / (1 << 17)        # smallest weight of a new dish / lambda
cdef double LOST = 1e-26                      # smallest weight of a new dish: weights below 1.2e-38 underflow
cdef double LONE_TABLE = 1.0 / (1 << 31) / 2.0
cdef double ROOT_SHARE = 1.0 / (1 << 14)      # smallest 1 - d of the root
cdef double LARGEST_CONCENTRATION = 1e100


cdef class SparseDirichletMultinomialBank(TermCountsBank):
    """Counts of terms by dish slot, and the number of distinct terms of each slot.

    Parameters
    ----------
    terms : int32 array, shape (n_customers,)
        Kept by reference, never changed.
    measure : SparseDirichletMultinomial
        Prepared for the data.
    """

    COMPILED = COUNTING = True

    def __cinit__(self, terms, measure, *kept):
        self.c.died = sparse_died
        self.c.add = sparse_add
        self.c.remove = sparse_remove
        self.c.predictive = sparse_predictive
        self.c.log_block = sparse_log_block
        self.b.given = NULL
        self.b.own = NULL
        self.b.sums.limit = LIMIT
        self.keep_counts(&self.b, terms, measure.n_terms, sparse_grow)
        self.b.distinct.assign(self.b.stride, 0)
        self.b.factors.resize(self.b.stride)
        self.b.laws.resize(self.b.stride)
        self.b.near.resize(self.b.stride)
        self.take_parameters(measure)

    cdef int take_parameters(self, object measure) except -1:
        """Copy the parameters of a measure; the counts are kept."""
        cdef int64_t k
        cdef double smoothing = measure.smoothing_without_values
        cdef double first, second
        integrated, given = measure.law_numbers()
        first, second = given if integrated is None else integrated
        self.b.table.resize(min(<int64_t>self.terms.shape[0] + 1, <int64_t>TABULATED))      # nothing below can fail
        self.measure = measure
        self.b.smoothing = smoothing
        if integrated is None:
            set_given(&self.b.sums, &self.b.shared, self.b.n_terms, smoothing, first, second)
        else:
            set_integrated(&self.b.sums, &self.b.shared, self.b.n_terms, smoothing, first, second)
        self.b.of_new.n_distinct = -1
        for k in range(<int64_t>self.b.factors.size()):
            self.b.factors[k].n_distinct = -1
            forget_entries(&self.b.near[k], 0, 0)
        self.b.seen.assign(self.b.stride, -1)
        for k in range(<int64_t>self.b.table.size()):
            self.b.table[k] = log_rising(smoothing, k)
        return 0

    def read(self, parts):
        """Find the part that has the proportions."""
        cdef ProportionTable shown = None
        for part in parts.values():
            if isinstance(getattr(part, "table", None), ProportionTable):
                shown = part.table
        self.proportions = shown
        self.b.given = NULL
        if shown is not None:
            self.b.given = &shown.p

    def begin(self, slot):
        """Statistics without values for the measure's methods, with the proportion of a slot."""
        made = self.measure.make()
        made.given = None if self.proportions is None else self.proportions.get(slot)
        return made

    def adopt(self, measure):
        """Replace the parameter values; the counts are kept. True: no recount is needed."""
        self.take_parameters(measure)
        return True

    cdef int count_distinct(self) except -1:
        cdef int64_t v, k
        cdef const int32_t *row
        self.b.distinct.assign(self.b.stride, 0)
        with nogil:
            for v in range(self.b.n_terms):
                row = self.b.counts + v * self.b.stride
                for k in range(self.b.stride):
                    self.b.distinct[k] += row[k] != 0
        return 0

    def in_floats(self, ends, least):
        """Whether the fused sweep in single precision is accurate at these hyperparameters.

        Parameters
        ----------
        ends : sequence of (float, float)
            The largest concentration and the largest discount of each declaration, the root's first.
        least : float
            The smallest concentration + discount of a restaurant below the root.
        """
        cdef const SlotFactors *of_new = factors_of(&self.b, -1)
        if of_new == NULL:
            raise MemoryError
        cdef const double[:, ::1] given = np.array(ends, dtype=np.float64)
        cdef double theta = given[0, 0], fresh = (given[0, 0] + given[0, 1]) * of_new.outside
        cdef double discount = np.max(given[1:, 1]), largest = np.max(given[:, 0])
        return bool(
            fresh >= NEW_DISH * self.b.smoothing
            and fresh * min(least, 1.0) >= LOST * (theta + <double>self.n_customers)
            and 1.0 - discount >= LONE_TABLE
            and 1.0 - given[0, 1] >= ROOT_SHARE
            and largest <= LARGEST_CONCENTRATION
        )

    def rebuild(self, const int32_t[::1] dishes not None, slots):
        """Recompute all statistics from the dish of each customer (-1: unseated)."""
        self.recount(dishes, slots)
        self.count_distinct()

    def died(self, slot):
        """The slot's statistics are no longer needed."""
        TermCountsBank.died(self, slot)
        self.b.distinct[<int32_t>slot] = 0

    cdef int relabel(self, const int32_t[::1] mapping) except -1:
        cdef int64_t s
        TermCountsBank.relabel(self, mapping)
        for s in range(mapping.shape[0]):
            if mapping[s] >= 0 and mapping[s] != s:
                self.b.distinct[mapping[s]] = self.b.distinct[s]
                self.b.distinct[s] = 0
        return 0

    def sizes(self, slots):
        """Numbers of distinct terms and of values of these slots: two int64 arrays, shape (n,)."""
        cdef const int32_t[::1] s = as_int32(slots)
        cdef int64_t i
        out = np.empty((2, s.shape[0]), dtype=np.int64)
        cdef int64_t[:, ::1] view = out
        for i in range(s.shape[0]):
            view[0, i] = self.b.distinct[s[i]]
            view[1, i] = self.b.totals[s[i]]
        return out[0], out[1]

    def factors(self, slots):
        """The factor of n_v + smoothing for terms that a dish has, and f(v) of other terms: shape (n, 2)."""
        cdef const int32_t[::1] s = as_int32(slots)
        cdef const SlotFactors *of
        cdef int64_t i
        out = np.empty((s.shape[0], 2))
        cdef double[:, ::1] view = out
        for i in range(s.shape[0]):
            of = factors_of(&self.b, s[i])
            if of == NULL:
                raise MemoryError
            view[i, 0] = of.inside
            view[i, 1] = of.outside
        return out

    def statistics(self, slots, dishes):
        """Statistics of these slots in the form of the measure's Python methods; copies."""
        made = []
        for slot, row in zip(as_int32(slots), self.counts(slots)):
            one = self.begin(slot)
            one.terms, one.total = row, int(row.sum())
            made.append(one)
        return made

    cdef double log_sum(self, int32_t slot) except? 1.0:
        """log Z of a slot."""
        cdef const SlotFactors *of = factors_of(&self.b, slot)
        if of == NULL:
            raise MemoryError
        return log_sum_of(law_of(&self.b, slot), self.b.distinct[slot], self.b.totals[slot], of.log_share)

    def log_marginals(self, slots, dishes=None):
        """Log marginal of these slots given their smoothings and proportions: shape (n,), nats."""
        cdef const int32_t[::1] s = as_int32(slots)
        out = np.zeros(s.shape[0])
        cdef double[::1] o = out
        cdef int64_t v, i
        cdef int32_t count
        cdef int64_t tabulated = self.b.table.size() if self.b.own == NULL else 0
        with nogil:
            for v in range(self.b.n_terms):     # term by term, the order in memory
                for i in range(s.shape[0]):
                    count = self.b.counts[v * self.b.stride + s[i]]
                    if count > 0:
                        o[i] += self.b.table[count] if count < tabulated else log_rising(smoothing_of(&self.b, s[i]), count)
        for i in range(s.shape[0]):
            o[i] += self.log_sum(s[i])
        return out

    def log_marginal_total(self, slots):
        """Sum of the log marginals of these slots, in nats, or None if it can't be computed from a tally of counts.

        The contribution of a cell depends only on its count, so the cost for another smoothing is
        proportional to the number of distinct counts, plus one sum per dish. None if each dish has a smoothing, or if
        other slots have counts.
        """
        cdef const int32_t[::1] s = as_int32(slots)
        cdef int64_t i
        cdef double total
        if self.b.own != NULL or not self.has_all(s):
            return None
        total = self.rising_total(&self.b.table, self.b.smoothing, 1.0)
        for i in range(s.shape[0]):
            total += self.log_sum(s[i])
        return total

    def memory_bytes(self):
        """Bytes of the counts and of derived numbers."""
        return (self.count_bytes() + table_bytes(&self.b.sums)
                + (self.b.distinct.capacity() + self.b.seen.capacity()) * sizeof(int64_t)
                + self.b.near.capacity() * sizeof(NearEntries) + self.b.factors.capacity() * sizeof(SlotFactors)
                + self.b.laws.capacity() * sizeof(SelectionLaw) + ratio_bytes(&self.b.ratios)
                + self.b.product.capacity() * sizeof(double) + (self.b.more.capacity() + self.b.here.capacity()) * sizeof(int32_t)
                + self.b.table.capacity() * sizeof(double) + self.workspace_bytes())
