# distutils: language = c++
"""States of sequences given rows of transition probabilities: filter forward, sample backward.

With slices (Van Gael et al. 2008) a transition is possible if its probability is above the slice of the
observation, and all possible ones weigh the same. Rows are sorted, so that the filter visits no others. Every
sequence has streams of its own, so the result doesn't depend on the number of threads. A long sequence is
filtered in pieces of `PIECE` observations: filters at their beginnings are kept, and each piece is filtered again
when its states are drawn, from the last to the first. The readable twin is
`hdpkit.franchise.reference.state_sequences`.

A filter is normalised. Its entries below `TINY` are kept as their logarithms, which are negative: the observations
or slices that follow may allow no other state. They count where the sum of all others is below `LEAST`.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from hdpkit._compiled.fused_sweeps.slices cimport share_out
from hdpkit._compiled.support.arguments cimport check_length, check_numbers32, refuse
from hdpkit.numerics cimport det_exp, det_log, det_log1p
from hdpkit.random._source cimport ChoiceSource
from hdpkit.random.philox cimport philox, philox_next_double, philox_rekey
from hdpkit.vectors cimport has_room, vector

PIECE = PIECE_OF

LEAST = 1e-250

cdef double ENOUGH = 1e-200     # beside a sum of at least this, weights that are kept as logarithms don't count
cdef double TINY = 1e-290
cdef double LOG_TINY = -667.0     # slightly above its logarithm


cdef inline double entry_of(double log_p) noexcept nogil:
    return log_p if log_p < LOG_TINY else det_exp(log_p)


cdef inline double log_entry(double entry) noexcept nogil:
    """The logarithm of an entry of a filter."""
    return entry if entry < 0.0 else det_log(entry) if entry > 0.0 else -INFINITY


cdef double log_way(Job *job, const double *f, int64_t row, int64_t k, int64_t i) noexcept nogil:
    """Log weight of the transition from a state, with the filter before (NULL: none), to state k of customer i."""
    cdef double p = job.pi[row * job.n_states + k], w = 0.0 if f == NULL else log_entry(f[row])
    if job.slices:
        return w if p > job.slice[i] else -INFINITY
    return w + det_log(p) if p > 0.0 else -INFINITY


cdef double log_prediction(Job *job, const double *f, int64_t k, int64_t i) noexcept nogil:
    """Log weight of state k of customer i given the filter before."""
    cdef int64_t row
    cdef double total = 0.0, top = -INFINITY
    for row in range(job.n_states):
        top = max(top, log_way(job, f, row, k, i))
    if top == -INFINITY:
        return top
    for row in range(job.n_states):
        total += det_exp(log_way(job, f, row, k, i) - top)
    return top + det_log(total)


cdef inline double log_sum(double a, double b) noexcept nogil:
    cdef double away = a - b if a > b else b - a
    return max(a, b) + (det_log1p(det_exp(-away)) if away < 40.0 else 0.0)


cdef bint predict_tiny(Job *job, const double *f, int64_t i, double *out) noexcept nogil:
    """Replace weights of states by their logarithms where logarithms in the filter before count; whether there are any."""
    cdef int64_t K = job.n_states, row, p, k
    cdef bint found = False
    for row in range(K if job.slices and f != NULL else 0):
        if f[row] < 0.0:
            p = row * K
            while p < (row + 1) * K and job.sorted[p] > job.slice[i]:
                k = job.order[p]
                if out[k] < LEAST:
                    out[k] = log_sum(log_entry(out[k]), f[row])
                    found = True
                p += 1
    for k in range(0 if job.slices else K):
        if out[k] < LEAST:
            out[k] = log_prediction(job, f, k, i) if f != NULL else log_way(job, f, K, k, i)
            if out[k] > -INFINITY:
                found = True
            else:
                out[k] = 0.0
    return found


cdef double advance(Job *job, const double *f, const int32_t *active, int64_t n_active, bint begins, int64_t i,
                    double *out) noexcept nogil:
    """The filter of customer i, normalised, from that of the one before; 0 if no state is possible."""
    cdef int64_t K = job.n_states, a, p, k, row
    cdef double w, u, seen, log_total = 0.0, total = 0.0, top = -1e308
    cdef const double *by_row
    cdef const double *logs = NULL
    cdef int32_t place = job.index[i - job.base]
    cdef bint tiny
    for k in range(K):
        out[k] = 0.0
    for a in range(1 if begins else n_active):
        row = K if begins else active[a]
        w = 1.0 if begins else f[row]
        if job.slices:
            u = job.slice[i]
            by_row = job.sorted + row * K
            p = 0
            while p < K and by_row[p] > u:
                out[job.order[row * K + p]] += w
                p += 1
        else:
            by_row = job.pi + row * K
            for k in range(K):
                out[k] += w * by_row[k]
    tiny = predict_tiny(job, <const double *>NULL if begins else f, i, out)
    if place >= 0:
        logs = job.logs + place * K
    if place >= 0 and job.likelihoods != NULL:
        by_row = job.likelihoods + place * K
        for k in range(K):
            total += max(out[k], 0.0) * by_row[k]
        if total >= (ENOUGH if tiny else LEAST):
            w = 1.0 / total
            for k in range(K):
                u = out[k]
                if u > 0.0:
                    out[k] *= by_row[k] * w
                if u == 0.0 or out[k] >= TINY:
                    continue
                if top == -1e308:
                    for a in range(K):
                        top = max(top, logs[a])
                    log_total = det_log(total)
                out[k] = entry_of(log_entry(u) + (logs[k] - top) - log_total) if logs[k] > -1e308 else 0.0
            if job.norms != NULL:
                job.norms[i - job.base] = job.tops[place] + det_log(total)
            return total
    # A weight is out[k] exp(seen), or exp(out[k] + seen) for a logarithm; all are divided by exp(top).
    for k in range(K):
        seen = logs[k] if place >= 0 else 0.0
        if out[k] != 0.0 and seen + min(out[k], 0.0) > top:
            top = seen + min(out[k], 0.0)
    total = 0.0
    for k in range(K):
        seen = logs[k] if place >= 0 else 0.0
        if out[k] == 0.0 or not seen > -1e308:
            out[k] = 0.0
            continue
        w = det_exp(seen - top) * out[k] if out[k] > 0.0 else det_exp(out[k] + seen - top)
        out[k] = w if w >= TINY else log_entry(out[k]) + (seen - top)
        total += w
    if not total > 0.0:
        return 0.0
    w = 1.0 / total
    u = det_log(total)
    for k in range(K):
        out[k] = entry_of(out[k] - u) if out[k] < 0.0 else out[k] * w
    if job.norms != NULL:
        job.norms[i - job.base] = top + u if place >= 0 else 0.0
    return total


cdef int64_t find_active(const double *f, int64_t K, int32_t *active) noexcept nogil:
    cdef int64_t k, n = 0
    for k in range(K):
        active[n] = <int32_t>k
        n += f[k] > 0.0
    return n


cdef int64_t forward(Job *job, int64_t first, int64_t last, bint begins, double *f, int32_t *active, double *rows) noexcept nogil:
    """Filter customers first .. last - 1 of one sequence; ``f`` is the filter before, and then of the last one.

    All filters are written to ``rows``: shape (last - first, K). Returns the customer that no state allows, or last.
    """
    cdef int64_t K = job.n_states, i, k, n_active
    cdef double *out = rows
    cdef const double *before = f
    for i in range(first, last):
        n_active = 0 if begins and i == first else find_active(before, K, active)
        if advance(job, before, active, n_active, begins and i == first, i, out) == 0.0:
            return i
        before = out
        out += K
    for k in range(K):
        f[k] = before[k]
    return last


cdef bint backward(Job *job, int64_t first, int64_t last, int32_t after, const double *rows, philox *stream) noexcept nogil:
    """Draw the states of these customers given their filters, and the state after them (-1: none)."""
    cdef int64_t K = job.n_states, i, k
    cdef const double *f
    cdef double total, r, w, top
    cdef int32_t chosen
    for i in range(last - 1, first - 1, -1):
        f = rows + (i - first) * K
        total = top = 0.0
        for k in range(K):
            total += weight(job, f, k, i, after, 0.0)
        if total < LEAST:       # of the weights divided by exp(top)
            top = -INFINITY
            for k in range(K):
                top = max(top, log_way(job, f, k, after, i + 1))
            total = 0.0
            for k in range(K if top > -INFINITY else 0):
                total += weight(job, f, k, i, after, top)
        if not total > 0.0:
            return False
        r = philox_next_double(stream) * total
        chosen = -1
        for k in range(K):
            w = weight(job, f, k, i, after, top)
            if w > 0.0:
                chosen = <int32_t>k
                if r < w:
                    break
                r -= w
        job.states[i] = chosen
        after = chosen
    return True


cdef inline double weight(Job *job, const double *f, int64_t k, int64_t i, int32_t after, double top) noexcept nogil:
    """Weight of state k of customer i given the state after it; unless ``top`` is 0, by logarithms."""
    if top != 0.0:
        return det_exp(log_way(job, f, k, after, i + 1) - top)
    if f[k] <= 0.0:
        return 0.0
    if after < 0:
        return f[k]
    if job.slices:
        return f[k] if job.pi[k * job.n_states + after] > job.slice[i + 1] else 0.0
    return f[k] * job.pi[k * job.n_states + after]


cdef int whole_sequence(Job *job, int64_t s, vector[double] *kept, vector[double] *rows,
                        vector[int32_t] *active) noexcept nogil:
    """Draw the states of a sequence."""
    cdef int64_t first = job.offsets[s], last = job.offsets[s + 1], K = job.n_states
    cdef int64_t n_pieces = (last - first + PIECE_OF - 1) // PIECE_OF, g, k, begin, end
    cdef int32_t after = -1
    cdef philox stream
    if last == first:
        return FINE
    if not (has_room(kept[0], (n_pieces + 1) * K) and has_room(rows[0], min(last - first, <int64_t>PIECE_OF) * K)
            and has_room(active[0], K + 1)):
        return NO_MEMORY
    kept.resize((n_pieces + 1) * K)
    rows.resize(min(last - first, <int64_t>PIECE_OF) * K)
    active.resize(K + 1)
    for g in range(n_pieces):
        begin = first + g * PIECE_OF
        end = min(begin + PIECE_OF, last)
        for k in range(K if g > 0 else 0):
            kept.data()[(g + 1) * K + k] = kept.data()[g * K + k]
        if forward(job, begin, end, g == 0, kept.data() + (g + 1) * K, active.data(), rows.data()) < end:
            return IMPOSSIBLE
    for g in range(n_pieces - 1, -1, -1):
        begin = first + g * PIECE_OF
        end = min(begin + PIECE_OF, last)
        if g < n_pieces - 1:
            # kept[g] is the filter before this piece, which the filter of its end replaces
            if forward(job, begin, end, g == 0, kept.data() + g * K, active.data(), rows.data()) < end:
                return IMPOSSIBLE
        philox_rekey(&stream, job.key0, job.key1, <uint64_t>s, <uint64_t>(g + 1), 1)
        if not backward(job, begin, end, after, rows.data(), &stream):
            return IMPOSSIBLE
        after = job.states[begin]
    return FINE


cdef void draw_sequences(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    cdef Job *job = <Job *>argument
    cdef vector[double] kept, rows
    cdef vector[int32_t] active
    cdef int64_t s
    cdef int ended
    for s in range(first, last):
        ended = whole_sequence(job, job.first + s, &kept, &rows, &active)
        if ended != FINE:
            job.failed[thread] = ended


cdef void slice_sequences(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    """Draw the slice of each transition, uniform below its probability."""
    cdef Job *job = <Job *>argument
    cdef int64_t s, i, row, K = job.n_states
    cdef double least = job.least[thread]
    cdef philox stream
    for s in range(first, last):
        philox_rekey(&stream, job.key0, job.key1, <uint64_t>s, 0, 0)
        for i in range(job.offsets[s], job.offsets[s + 1]):
            row = K if i == job.offsets[s] else job.states[i - 1]
            job.slice[i] = job.pi[row * K + job.states[i]] * philox_next_double(&stream)
            if job.slice[i] < least:
                least = job.slice[i]
    job.least[thread] = least


cdef class StateSequences:
    """States of all customers of sequences, which a sweep draws.

    Parameters
    ----------
    states : int32 array, shape (n_customers,)
        Present states; they are replaced in place.
    offsets : int64 array, shape (n_sequences + 1,)
    keys : pair of int
        Of the streams, below 2**62.
    slices : bool
        Whether transitions have slices.
    threads : int
    """

    cdef Job job
    cdef int threads
    cdef int32_t[::1] _states
    cdef const int64_t[::1] _offsets
    cdef double[::1] _slices
    cdef const double[:, ::1] _pi
    cdef const double[:, ::1] _sorted
    cdef const int32_t[:, ::1] _order

    def __init__(self, int32_t[::1] states not None, const int64_t[::1] offsets not None, keys, bint slices, int threads):
        if offsets.shape[0] < 2 or offsets[offsets.shape[0] - 1] != states.shape[0]:
            refuse("offsets", np.asarray(offsets), f"the bounds of sequences of {states.shape[0]} customers", "See Sequences.")
        self._states, self._offsets = states, offsets
        self._slices = np.zeros(states.shape[0] if slices else 0)
        self.threads = threads
        self.job.states = NULL
        if states.shape[0] > 0:
            self.job.states = &states[0]
        self.job.offsets = &offsets[0]
        self.job.slice = NULL
        if self._slices.shape[0] > 0:
            self.job.slice = &self._slices[0]
        self.job.norms = NULL
        self.job.key0, self.job.key1 = keys
        self.job.slices = slices

    def set_rows(self, pi):
        """Transition probabilities: float64, shape (n_states + 1, n_states), the start row last."""
        pi = np.ascontiguousarray(pi, dtype=np.float64)
        if pi.ndim != 2 or pi.shape[0] != pi.shape[1] + 1:
            refuse("pi", pi.shape, "n_states + 1 rows of n_states numbers", "The start row is the last.")
        order = np.argsort(-pi, axis=1, kind="stable").astype(np.int32)
        self._pi, self._order = pi, order
        self._sorted = np.ascontiguousarray(np.take_along_axis(pi, order.astype(np.int64), axis=1))
        self.job.n_states = pi.shape[1]
        self.job.pi = &self._pi[0, 0]
        self.job.order = &self._order[0, 0]
        self.job.sorted = &self._sorted[0, 0]

    def draw_slices(self):
        """Draw a slice for every transition; returns the smallest."""
        cdef vector[double] least
        cdef int i
        cdef double found = 1.0
        least.assign(self.threads, 1.0)
        self.job.least = least.data()
        with nogil:
            share_out(self.threads, self._offsets.shape[0] - 1, 16, slice_sequences, <void *>&self.job)
        for i in range(self.threads):
            found = min(found, least[i])
        return found

    cdef int take(self, Job *job, const double[:, ::1] logs, const double[:, ::1] likelihoods, const int32_t[::1] index, int64_t base) except -1:
        if logs.shape[1] != job.n_states:
            refuse("logs", logs.shape[1], f"{job.n_states} numbers in each row", "One for each state.")
        job.logs = NULL
        if logs.shape[0] > 0:
            job.logs = &logs[0, 0]
        job.likelihoods = NULL
        if likelihoods is not None and likelihoods.shape[0] > 0:
            job.likelihoods = &likelihoods[0, 0]
        job.index = &index[0]
        job.base = base
        return 0

    def draw(self, int64_t first, int64_t last, const double[:, ::1] logs not None, likelihoods,
             const int32_t[::1] index not None, int threads):
        """Draw the states of sequences first .. last - 1. Several threads may call this for different sequences.

        Parameters
        ----------
        logs : float64 array, shape (n, n_states)
            Log likelihoods.
        likelihoods : float64 array, shape (n, n_states), optional
            The same, not as logarithms, divided by the largest of the row.
        index : int32 array
            Row of each customer of these sequences; -1: missing.
        threads : int
        """
        cdef vector[int] failed
        cdef Job job = self.job
        cdef int i
        cdef const double[:, ::1] scaled = likelihoods
        if self._offsets[first] == self._offsets[last]:
            return
        check_length("index", index.shape[0], self._offsets[last] - self._offsets[first])
        self.take(&job, logs, scaled, index, self._offsets[first])
        failed.assign(threads, 0)
        job.failed = failed.data()
        job.first = first
        with nogil:
            share_out(threads, last - first, 1, draw_sequences, <void *>&job)
        for i in range(threads):
            if failed[i] == NO_MEMORY:
                raise MemoryError
            if failed[i]:
                raise impossible()

    def draw_long(self, int64_t sequence, likelihoods_of):
        """Draw the states of one sequence, of which log likelihoods are computed piece by piece.

        ``likelihoods_of(first, last)`` returns ``logs`` and ``index`` of these customers, as for `draw`.
        """
        cdef int64_t first = self._offsets[sequence], last = self._offsets[sequence + 1], K = self.job.n_states
        cdef int64_t n_pieces = (last - first + PIECE_OF - 1) // PIECE_OF, g, begin, end
        cdef double[:, ::1] kept = np.zeros((n_pieces + 1, K))
        cdef double[:, ::1] rows = np.empty((min(last - first, PIECE_OF), K))
        cdef int32_t[::1] active = np.empty(K + 1, dtype=np.int32)
        cdef const double[:, ::1] logs
        cdef const int32_t[::1] index
        cdef int32_t after = -1
        cdef philox stream
        cdef Job job = self.job
        cdef bint fine
        for g in range(n_pieces):
            begin = first + g * PIECE_OF
            end = min(begin + PIECE_OF, last)
            kept[g + 1] = kept[g]
            logs, index = likelihoods_of(begin, end)
            self.take(&job, logs, None, index, begin)
            with nogil:
                fine = forward(&job, begin, end, g == 0, &kept[g + 1, 0], &active[0], &rows[0, 0]) == end
            if not fine:
                raise impossible()
        for g in range(n_pieces - 1, -1, -1):
            begin = first + g * PIECE_OF
            end = min(begin + PIECE_OF, last)
            if g < n_pieces - 1:
                logs, index = likelihoods_of(begin, end)
                self.take(&job, logs, None, index, begin)
            philox_rekey(&stream, job.key0, job.key1, <uint64_t>sequence, <uint64_t>(g + 1), 1)
            with nogil:
                # kept[g] is the filter before this piece, which the filter of its end replaces
                fine = g == n_pieces - 1 or forward(&job, begin, end, g == 0, &kept[g, 0], &active[0], &rows[0, 0]) == end
                fine = fine and backward(&job, begin, end, after, &rows[0, 0], &stream)
            if not fine:
                raise impossible()
            after = self._states[begin]


cdef object impossible():
    return FloatingPointError("no state of a sequence is possible: all likelihoods are 0")


def transition_counts(const int32_t[::1] states not None, const int64_t[::1] begins not None, int64_t n):
    """Number of transitions from each state, and from the start (last), to each: int64, shape (n + 1, n).

    Parameters
    ----------
    states : int32 array, shape (n_customers,)
        Below n. Transitions from or to a customer without a state, -1, are not counted.
    begins : int64 array
        First customers of sequences, ascending.
    n : int
        Number of states.
    """
    cdef int64_t i, before, s = 0
    check_numbers32("states", states, -1, n - 1)
    counts = np.zeros((n + 1, n), dtype=np.int64)
    cdef int64_t[:, ::1] out = counts
    for i in range(states.shape[0]):
        before = states[i - 1] if i > 0 else -1
        if s < begins.shape[0] and begins[s] == i:
            before = n
            s += 1
        if before >= 0 and states[i] >= 0:
            out[before, states[i]] += 1
    return counts


def draw_tables(const int64_t[::1] customers not None, const double[::1] masses not None, ChoiceSource source not None):
    """Number of tables of each group of customers: 1 + a sum of Bernoulli(a / (a + i)) draws, 1 <= i < n (Antoniak 1974).

    Parameters
    ----------
    customers : int64 array, shape (n,)
        At least 1.
    masses : float64 array, shape (n,)
        a.

    Returns
    -------
    int64 array, shape (n,)
    """
    cdef int64_t j, i, opened
    cdef double a
    check_length("masses", masses.shape[0], customers.shape[0])
    tables = np.ones(customers.shape[0], dtype=np.int64)
    cdef int64_t[::1] out = tables
    for j in range(customers.shape[0]):
        a = masses[j]
        for i in range(1, customers[j]):
            opened = source.c.bernoulli(source.c.state, a / (a + i))
            if opened < 0:
                raise FloatingPointError(f"a table opened with probability {a / (a + i)}")
            out[j] += opened
    return tables


def draw_sides(const double[:, ::1] weights not None, const int8_t[::1] linked not None, const int8_t[::1] which not None,
               const double[:, :, :, ::1] within not None, int8_t[::1] sides not None, bint given,
               ChoiceSource source not None):
    """Draw the sides of observations in order, or take those given; returns their log probability.

    Parameters
    ----------
    weights : float64 array, shape (m, 2)
        What an observation weighs on each side, transitions from and to other states included.
    linked : int8 array, shape (m,)
        Whether the one before it in the sequence is the one before it here.
    which : int8 array, shape (m,)
        Number of the divided state to which it belongs.
    within : float64 array, shape (n, n, 2, 2)
        Transition probabilities: from a divided state to another, by sides.
    sides : int8 array, shape (m,)
        Changed in place unless they are given.
    """
    cdef int64_t t, m = weights.shape[0], drawn
    cdef double p, rest, total, log_q = 0.0
    cdef const double *by_side
    check_length("linked", linked.shape[0], m)
    check_length("which", which.shape[0], m)
    check_length("sides", sides.shape[0], m)
    for t in range(m):
        if not (0 <= which[t] < within.shape[0] and (not given or 0 <= sides[t] <= 1)):
            refuse("which, sides", (which[t], sides[t]), "numbers of a divided state and of a side", "See split_states.")
    if (m and weights.shape[1] != 2) or within.shape[1] != within.shape[0] or within.shape[2] != 2 or within.shape[3] != 2:
        refuse("weights, within", (weights.shape[1], within.shape[2]), "two sides", "See split_states.")
    filters = np.empty((m, 2))
    cdef double[:, ::1] f = filters
    for t in range(m):
        f[t, 0], f[t, 1] = weights[t, 0], weights[t, 1]
        if t > 0 and linked[t]:
            by_side = &within[which[t - 1], which[t], 0, 0]
            f[t, 0] *= f[t - 1, 0] * by_side[0] + f[t - 1, 1] * by_side[2]
            f[t, 1] *= f[t - 1, 0] * by_side[1] + f[t - 1, 1] * by_side[3]
        total = f[t, 0] + f[t, 1]
        f[t, 0] /= total
        f[t, 1] /= total
    for t in range(m - 1, -1, -1):
        rest, p = f[t, 0], f[t, 1]
        if t + 1 < m and linked[t + 1]:
            rest *= within[which[t], which[t + 1], 0, sides[t + 1]]
            p *= within[which[t], which[t + 1], 1, sides[t + 1]]
        total = rest + p
        rest /= total
        p /= total
        if not given:
            drawn = p > 0.0
            if p > 0.0 and rest > 0.0:
                drawn = source.c.bernoulli(source.c.state, p)
                if drawn < 0:
                    raise FloatingPointError(f"a side with probability {p}")
            sides[t] = <int8_t>drawn
        log_q += det_log(p if sides[t] == 1 else rest)
    return log_q
