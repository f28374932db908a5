# distutils: language = c++
"""Sequences of states given transition probabilities and densities: filters, smoothing, most probable paths.

The filter is that of the sweeps (`state_sequences`). Sequences are shared out among threads. Customers are those
of ``offsets``: sequence s has the numbers offsets[s] .. offsets[s + 1] - 1, and offsets[0] is 0.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from hdpkit._compiled.fused_sweeps.slices cimport hdpkit_work, share_out
from hdpkit._compiled.fused_sweeps.state_sequences cimport LEAST, NO_MEMORY, PIECE_OF, Job, forward, log_prediction, log_way
from hdpkit._compiled.support.arguments cimport check_length, check_numbers32, refuse
from hdpkit.numerics cimport det_exp
from hdpkit.vectors cimport has_room, vector


cdef struct Pass:
    Job job
    int64_t n_customers
    const double *before  # filter before the first sequence, NULL: it begins
    double *filters       # by customer
    double *last          # by sequence
    double *smoothed      # by customer
    const double *logs    # of transition probabilities, the start row last
    int64_t *path
    int64_t *failed_at    # by thread: the first customer that no state allows, or n_customers
    int *failed           # by thread


cdef int filter_one(Pass *these, int64_t s, vector[double] *rows, vector[int32_t] *active, int64_t *failed_at) noexcept nogil:
    cdef int64_t first = these.job.offsets[s], last = these.job.offsets[s + 1], K = these.job.n_states, begin, end, k
    cdef double *f = these.last + s * K
    cdef bint begins = s > 0 or these.before == NULL
    if not has_room(active[0], K + 1):
        return NO_MEMORY
    active.resize(K + 1)
    if these.filters == NULL:
        if not has_room(rows[0], min(last - first, <int64_t>PIECE_OF) * K):
            return NO_MEMORY
        rows.resize(min(last - first, <int64_t>PIECE_OF) * K)
    if not begins:
        for k in range(K):
            f[k] = these.before[k]
    begin = first
    while begin < last:
        end = min(begin + PIECE_OF, last)
        k = forward(&these.job, begin, end, begins and begin == first, f, active.data(),
                    rows.data() if these.filters == NULL else these.filters + begin * K)
        if k < end:
            failed_at[0] = min(failed_at[0], k)
            return 0
        begin = end
    return 0


cdef void filter_these(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    cdef Pass *these = <Pass *>argument
    cdef vector[double] rows
    cdef vector[int32_t] active
    cdef int64_t s
    for s in range(first, last):
        if filter_one(these, s, &rows, &active, &these.failed_at[thread]) != 0:
            these.failed[thread] = NO_MEMORY


cdef void smooth_these(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    """Probabilities of states given whole sequences, from their filters: by ratios of those ahead to their predictions."""
    cdef Pass *these = <Pass *>argument
    cdef int64_t K = these.job.n_states, s, i, j, k
    cdef const double *f
    cdef const double *row
    cdef double *out
    cdef double *ratio
    cdef double w, total
    cdef vector[double] scratch
    if not has_room(scratch, K):
        these.failed[thread] = NO_MEMORY
        return
    scratch.resize(K)
    ratio = scratch.data()
    for s in range(first, last):
        for i in range(these.job.offsets[s + 1] - 1, these.job.offsets[s] - 1, -1):
            f, out = these.filters + i * K, these.smoothed + i * K
            if i == these.job.offsets[s + 1] - 1:
                for k in range(K):
                    out[k] = max(f[k], 0.0)
                continue
            for k in range(K):
                ratio[k] = 0.0
            for j in range(K):
                w, row = f[j], these.job.pi + j * K
                if w > 0.0:
                    for k in range(K):
                        ratio[k] += w * row[k]
            for j in range(K):
                out[j] = 0.0
            for k in range(K):
                if out[K + k] > 0.0 and ratio[k] < LEAST:
                    w = log_prediction(&these.job, f, k, i + 1)
                    for j in range(K):
                        out[j] += out[K + k] * det_exp(log_way(&these.job, f, j, k, i + 1) - w)
                    ratio[k] = 0.0
                else:
                    ratio[k] = out[K + k] / ratio[k] if ratio[k] > 0.0 else 0.0
            total = 0.0
            for j in range(K):
                w, row = 0.0, these.job.pi + j * K
                if f[j] > 0.0:
                    for k in range(K):
                        w += row[k] * ratio[k]
                    out[j] += f[j] * w
                total += out[j]
            for k in range(K):
                out[k] /= total


cdef void paths_of_these(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    """The most probable path of each sequence; of equal ones the state with the smallest number."""
    cdef Pass *these = <Pass *>argument
    cdef int64_t K = these.job.n_states, s, i, j, k, begin, end
    cdef vector[double] scratch
    cdef vector[int32_t] origins
    cdef double *best
    cdef double *ways
    cdef double *swapped
    cdef int32_t *come_from
    cdef const double *row
    cdef double w
    cdef int32_t place
    if not has_room(scratch, 2 * K):
        these.failed[thread] = NO_MEMORY
        return
    scratch.resize(2 * K)
    best, ways = scratch.data(), scratch.data() + K
    for s in range(first, last):
        begin, end = these.job.offsets[s], these.job.offsets[s + 1]
        if not has_room(origins, (end - begin) * K):
            these.failed[thread] = NO_MEMORY
            return
        origins.resize((end - begin) * K)
        for i in range(begin, end):
            come_from = origins.data() + (i - begin) * K
            row = these.logs + K * K
            for k in range(K):
                ways[k] = row[k] if i == begin else best[0] + these.logs[k]
                come_from[k] = 0
            for j in range(1, K if i > begin else 0):
                w, row = best[j], these.logs + j * K
                if w == -INFINITY:
                    continue
                for k in range(K):
                    if w + row[k] > ways[k]:
                        ways[k] = w + row[k]
                        come_from[k] = <int32_t>j
            place = these.job.index[i]
            if place >= 0:
                row = these.job.logs + place * K
                for k in range(K):
                    ways[k] += row[k]
            swapped = best
            best, ways = ways, swapped
        if end > begin:
            j = 0
            for k in range(1, K):
                if best[k] > best[j]:
                    j = k
            for i in range(end - 1, begin - 1, -1):
                these.path[i] = j
                j = origins[(i - begin) * K + j]


cdef class StatePasses:
    """Sequences under given transition probabilities.

    Parameters
    ----------
    pi : float64 array, shape (n_states + 1, n_states)
        The start row is the last.
    threads : int
        Results don't depend on it.
    """

    cdef Pass these
    cdef int threads
    cdef const double[:, ::1] _pi
    cdef const double[:, ::1] _log_pi

    def __init__(self, const double[:, ::1] pi not None, int threads):
        if pi.shape[0] != pi.shape[1] + 1 or pi.shape[1] < 1:
            refuse("pi", (pi.shape[0], pi.shape[1]), "n_states + 1 rows of n_states numbers", "The start row is the last.")
        if threads < 1:
            refuse("threads", threads, "at least 1", "One per processor is usual.")
        self._pi, self.threads = pi, threads
        self.these.job.n_states = pi.shape[1]
        self.these.job.slices = False
        self.these.job.pi = &self._pi[0, 0]
        self.these.job.base = 0

    cdef int bounds(self, const int64_t[::1] offsets, int64_t n) except -1:
        """Check the bounds of sequences, and keep them."""
        cdef int64_t s
        if self.these.job.pi == NULL:
            raise TypeError("StatePasses was never initialised")
        if offsets.shape[0] < 2 or offsets[0] != 0 or offsets[offsets.shape[0] - 1] != n:
            refuse("offsets", np.asarray(offsets), f"the bounds of sequences of {n} customers", "See Sequences.")
        for s in range(offsets.shape[0] - 1):
            if offsets[s + 1] < offsets[s]:
                refuse("offsets", np.asarray(offsets), "ascending numbers", "See Sequences.")
        self.these.job.offsets, self.these.n_customers = &offsets[0], n
        return 0

    cdef int densities(self, const double[:, ::1] logs, const double[:, ::1] likelihoods, const double[::1] tops, const int32_t[::1] index) except -1:
        """Check the densities of observations, and keep them."""
        if logs.shape[1] != self.these.job.n_states:
            refuse("logs", logs.shape[1], f"{self.these.job.n_states} numbers in each row", "One for each state.")
        check_numbers32("index", index, -1, logs.shape[0] - 1)
        self.these.job.logs = self.these.job.likelihoods = self.these.job.tops = NULL
        if logs.shape[0] > 0:
            self.these.job.logs = &logs[0, 0]
        self.these.job.index = NULL
        if index.shape[0] > 0:
            self.these.job.index = &index[0]
        if likelihoods is not None and likelihoods.shape[0] > 0:
            if likelihoods.shape[0] != logs.shape[0] or likelihoods.shape[1] != logs.shape[1]:
                refuse("likelihoods", (likelihoods.shape[0], likelihoods.shape[1]), "the shape of logs", "Give None.")
            check_length("tops", 0 if tops is None else tops.shape[0], logs.shape[0])
            self.these.job.likelihoods, self.these.job.tops = &likelihoods[0, 0], &tops[0]
        return 0

    cdef int64_t carry_out(self, int64_t n_sequences, hdpkit_work work) except -1:
        """Run over all sequences; returns the first customer that no state allows, or n_customers."""
        cdef vector[int] failed
        cdef vector[int64_t] failed_at
        cdef int64_t found = self.these.n_customers
        cdef int i
        failed.assign(self.threads, 0)
        failed_at.assign(self.threads, found)
        self.these.failed, self.these.failed_at = failed.data(), failed_at.data()
        with nogil:
            share_out(self.threads, n_sequences, 1, work, <void *>&self.these)
        for i in range(self.threads):
            if failed[i]:
                raise MemoryError
            found = min(found, failed_at[i])
        return found

    def filter(self, const double[:, ::1] logs not None, likelihoods, tops,
               const int32_t[::1] index not None, const int64_t[::1] offsets not None, before,
               double[::1] norms not None, filters, double[:, ::1] last not None):
        """Filter sequences forward; returns the first customer that no state allows, or their number.

        Parameters
        ----------
        logs : float64 array, shape (n_rows, n_states)
            Log densities.
        likelihoods : float64 array, shape (n_rows, n_states), optional
            The same, not as logarithms, divided by the largest of the row.
        tops : float64 array, shape (n_rows,), optional
            Logs of these divisors.
        index : int32 array, shape (n_customers,)
            Row of each customer; -1: missing.
        offsets : int64 array, shape (n_sequences + 1,)
        before : float64 array, shape (n_states,), optional
            Filter of the customer before the first sequence, which it continues.
        norms : float64 array, shape (n_customers,)
            Receives log p(x_t | x_1 .. x_t-1), 0 where an observation is missing.
        filters : float64 array, shape (n_customers, n_states), optional
            Receives p(z_t | x_1 .. x_t); where it is below 1e-290, its logarithm.
        last : float64 array, shape (n_sequences, n_states)
            Receives the filter of the last customer of each sequence; unchanged if it has none.
        """
        cdef int64_t n = index.shape[0], K = self.these.job.n_states
        cdef const double[::1] first = before
        cdef double[:, ::1] found = filters
        self.bounds(offsets, n)
        self.densities(logs, likelihoods, tops, index)
        check_length("norms", norms.shape[0], n)
        if last.shape[0] != offsets.shape[0] - 1 or last.shape[1] != K or (first is not None and first.shape[0] != K):
            refuse("last, before", (last.shape[0], last.shape[1]), f"a row of {K} numbers for each sequence", "See fixed_states.")
        if found is not None and (found.shape[0] != n or found.shape[1] != K):
            refuse("filters", (found.shape[0], found.shape[1]), f"shape ({n}, {K})", "One row for each customer.")
        if n == 0:
            return 0
        self.these.before = NULL
        if first is not None:
            self.these.before = &first[0]
        self.these.job.norms = &norms[0]
        self.these.filters = NULL
        if found is not None:
            self.these.filters = &found[0, 0]
        self.these.last = &last[0, 0]
        return self.carry_out(offsets.shape[0] - 1, filter_these)

    def smooth(self, double[:, ::1] filters not None, const int64_t[::1] offsets not None, double[:, ::1] smoothed not None):
        """Receive p(z_t | the whole sequence) of filtered sequences in ``smoothed``: float64, (n_customers, n_states)."""
        cdef int64_t n = filters.shape[0], K = self.these.job.n_states
        self.bounds(offsets, n)
        if filters.shape[1] != K or smoothed.shape[0] != n or smoothed.shape[1] != K:
            refuse("filters, smoothed", (smoothed.shape[0], smoothed.shape[1]), f"shape ({n}, {K})", "One row for each customer.")
        if n > 0:
            self.these.filters, self.these.smoothed = &filters[0, 0], &smoothed[0, 0]
            self.carry_out(offsets.shape[0] - 1, smooth_these)

    def best_paths(self, const double[:, ::1] logs not None, const int32_t[::1] index not None,
                   const int64_t[::1] offsets not None, int64_t[::1] path not None):
        """Receive the most probable states of each sequence, all together (Viterbi 1967), in ``path``; see `filter`."""
        check_length("path", path.shape[0], index.shape[0])
        self.bounds(offsets, index.shape[0])
        self.densities(logs, None, None, index)
        if index.shape[0] == 0:
            return
        with np.errstate(divide="ignore"):
            self._log_pi = np.log(self._pi)
        self.these.logs, self.these.path = &self._log_pi[0, 0], &path[0]
        self.carry_out(offsets.shape[0] - 1, paths_of_these)
