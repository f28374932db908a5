# distutils: language = c++
"""States of sequences: draws of whole sequences, readings, and table Gibbs over single observations."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from hdpkit.steps.fused._document_workspace cimport hdpkit_work, share_out
from hdpkit.steps._sweeps cimport LEAST_TOTAL, fail, misplaced, weigh_again
from hdpkit.measures._measure cimport CompiledBank, measure_t
from hdpkit.stores._counts cimport CountsStore
from hdpkit.stores._seating cimport ENTRY_WORDS, Entry
from hdpkit.measures._slots cimport DishSlots
from hdpkit.steps._table_counts cimport tables_of
from hdpkit.numerics cimport det_exp, det_log, det_log1p
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.random.philox cimport philox, philox_next_double, philox_rekey
from hdpkit.vectors cimport has_room, vector

# -------------------------------------------------------------------------------------- whole sequences
# States of sequences given rows of transition probabilities: filter forward, sample backward.
#
# With slices (Van Gael et al. 2008) a transition is possible if its probability is above the slice of the
# observation, and all possible ones weigh the same. Rows are sorted, so that the filter visits no others.
# Every sequence has streams of its own, so the result doesn't depend on the number of threads. A long
# sequence is filtered in pieces of `PIECE` observations: filters at their beginnings are kept, and each
# piece is filtered again when its states are drawn, from the last to the first.
#
# A filter is normalised. Its entries below `TINY` are kept as their logarithms, which are negative: the
# observations or slices that follow may allow no other state. They count where the sum of all others is
# below `LEAST`.

cdef enum:
    PIECE_OF = 4096
    FINE = 0
    IMPOSSIBLE = 1
    NO_MEMORY = 2

PIECE = PIECE_OF

cdef double LEAST = 1e-250      # of a sum; below, it is computed again from logarithms
cdef double ENOUGH = 1e-200     # beside a sum of at least this, weights that are kept as logarithms don't count
cdef double TINY = 1e-290
cdef double LOG_TINY = -667.0     # slightly above its logarithm


cdef struct Job:
    # Rows of all states and, last, of the start.
    int64_t n_states
    bint slices
    const double *pi
    const double *sorted
    const int32_t *order
    const int64_t *offsets
    int32_t *states
    double *slice
    uint64_t key0
    uint64_t key1
    # Log likelihoods by row, those divided by the largest of their row, and the row of each customer.
    const double *logs
    const double *likelihoods
    const int32_t *index
    int64_t base          # customer of index[0]
    void *pieces          # a list: the function that computes these piece by piece, NULL: all are there
    int64_t first         # sequence
    double *least         # by thread
    int *failed           # by thread
    # What readings need in addition: log p(x_t | x_1 .. x_t-1) of each customer from base on, NULL in a sweep,
    # and the logs of what rows of likelihoods were divided by.
    double *norms
    const double *tops
    const double *before  # filter before the first sequence, NULL: it begins
    double *filters       # by customer
    double *last          # by sequence
    double *smoothed      # by customer
    const double *log_pi
    int64_t *path
    int64_t *failed_at    # by thread: the first customer that no state allows, or their number


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


cdef int take(Job *job, const double[:, ::1] logs, const double[:, ::1] likelihoods, const int32_t[::1] index,
              int64_t base) except -1:
    """The likelihoods of the customers from base on."""
    job.logs = job.likelihoods = NULL
    if logs.shape[0] > 0:
        job.logs = &logs[0, 0]
    if likelihoods is not None and likelihoods.shape[0] > 0:
        job.likelihoods = &likelihoods[0, 0]
    job.index, job.base = &index[0], base
    return 0


cdef int take_piece(Job *job, int64_t begin, int64_t end) except -1 with gil:
    """Have the likelihoods of these customers computed."""
    pieces = <list>job.pieces
    pieces[1] = logs, index = pieces[0](begin, end)      # kept as long as they are read
    return take(job, logs, None, index, begin)


cdef int whole_sequence(Job *job, int64_t s, vector[double] *kept, vector[double] *rows,
                        vector[int32_t] *active) except -1 nogil:
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
        if job.pieces != NULL:
            take_piece(job, begin, end)
        if forward(job, begin, end, g == 0, kept.data() + (g + 1) * K, active.data(), rows.data()) < end:
            return IMPOSSIBLE
    for g in range(n_pieces - 1, -1, -1):
        begin = first + g * PIECE_OF
        end = min(begin + PIECE_OF, last)
        if g < n_pieces - 1:
            if job.pieces != NULL:
                take_piece(job, begin, end)
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


cdef int check_ended(int ended) except -1:
    if ended == NO_MEMORY:
        raise MemoryError
    if ended:
        raise FloatingPointError("no state of a sequence is possible: all likelihoods are 0")
    return 0


cdef int carry_out(Job *job, int threads, int64_t n_sequences, hdpkit_work work) except -1:
    """Run over sequences."""
    cdef vector[int] failed
    cdef int i
    failed.assign(threads, FINE)
    job.failed = failed.data()
    with nogil:
        share_out(threads, n_sequences, 1, work, <void *>job)
    for i in range(threads):
        check_ended(failed[i])
    return 0


cdef class StateSequences:
    """States of all customers of sequences, which a sweep draws."""

    cdef Job job
    cdef int threads
    cdef int32_t[::1] _states
    cdef const int64_t[::1] _offsets
    cdef double[::1] _slices
    cdef const double[:, ::1] _pi
    cdef const double[:, ::1] _sorted
    cdef const int32_t[:, ::1] _order

    def __init__(self, int32_t[::1] states not None, const int64_t[::1] offsets not None, keys, bint slices, int threads):
        self._states, self._offsets = states, offsets
        self._slices = np.zeros(states.shape[0] if slices else 0)
        self.threads = threads
        if states.shape[0] > 0:
            self.job.states = &states[0]
        self.job.offsets = &offsets[0]
        if self._slices.shape[0] > 0:
            self.job.slice = &self._slices[0]
        self.job.key0, self.job.key1 = keys
        self.job.slices = slices

    def set_rows(self, pi):
        """Transition probabilities: float64, shape (n_states + 1, n_states), the start row last."""
        pi = np.ascontiguousarray(pi, dtype=np.float64)
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

    def draw(self, int64_t first, int64_t last, const double[:, ::1] logs not None, likelihoods,
             const int32_t[::1] index not None, int threads):
        """Draw the states of sequences first .. last - 1. Several threads may call this for different sequences.

        ``logs`` are log likelihoods by row, ``likelihoods`` (optional) the same without the logarithm, divided by the
        largest of the row; ``index`` has the row of each customer of these sequences, -1: missing.
        """
        cdef Job job = self.job
        if self._offsets[first] < self._offsets[last]:
            take(&job, logs, likelihoods, index, self._offsets[first])
            job.first = first
            carry_out(&job, threads, last - first, draw_sequences)

    def draw_long(self, int64_t sequence, likelihoods_of):
        """Draw the states of one sequence, of which log likelihoods are computed piece by piece.

        ``likelihoods_of(first, last)`` returns ``logs`` and ``index`` of these customers, as for `draw`.
        """
        cdef Job job = self.job
        cdef vector[double] kept, rows
        cdef vector[int32_t] active
        cdef int ended
        pieces = [likelihoods_of, None]
        job.pieces = <void *>pieces
        with nogil:
            ended = whole_sequence(&job, sequence, &kept, &rows, &active)
        check_ended(ended)


def transition_counts(const int32_t[::1] states not None, const int64_t[::1] begins not None, int64_t n):
    """Number of transitions from each state, and from the start (last), to each: int64, shape (n + 1, n)."""
    cdef int64_t i, before, s = 0
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
    """Number of tables of each group of customers: 1 + a sum of Bernoulli(a / (a + i)) draws, 1 <= i < n (Antoniak 1974)."""
    cdef int64_t j, i, opened
    cdef double a
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

    ``weights`` (m, 2) of an observation on each side have the transitions from and to other states; ``linked``: whether
    the one before it in the sequence is the one before it here; ``which``: its divided state; ``within`` (n, n, 2, 2):
    transition probabilities from a divided state to another, by sides. ``sides`` are changed unless they are given.
    """
    cdef int64_t t, m = weights.shape[0], drawn
    cdef double p, rest, total, log_q = 0.0
    cdef const double *by_side
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


# --------------------------------------------------------------------------------------------- readings
# Sequences of states given transition probabilities and densities: filters, smoothing, most probable paths.
#
# The filter is that of the sweeps. Sequences are shared out among threads. Customers are those of
# ``offsets``: sequence s has the numbers offsets[s] .. offsets[s + 1] - 1, and offsets[0] is 0.

cdef int filter_one(Job *job, int64_t s, vector[double] *rows, vector[int32_t] *active, int64_t *failed_at) noexcept nogil:
    cdef int64_t first = job.offsets[s], last = job.offsets[s + 1], K = job.n_states, begin, end, k
    cdef double *f = job.last + s * K
    cdef bint begins = s > 0 or job.before == NULL
    if not has_room(active[0], K + 1):
        return NO_MEMORY
    active.resize(K + 1)
    if job.filters == NULL:
        if not has_room(rows[0], min(last - first, <int64_t>PIECE_OF) * K):
            return NO_MEMORY
        rows.resize(min(last - first, <int64_t>PIECE_OF) * K)
    if not begins:
        for k in range(K):
            f[k] = job.before[k]
    begin = first
    while begin < last:
        end = min(begin + PIECE_OF, last)
        k = forward(job, begin, end, begins and begin == first, f, active.data(),
                    rows.data() if job.filters == NULL else job.filters + begin * K)
        if k < end:
            failed_at[0] = min(failed_at[0], k)
            return 0
        begin = end
    return 0


cdef void filter_these(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    cdef Job *job = <Job *>argument
    cdef vector[double] rows
    cdef vector[int32_t] active
    cdef int64_t s
    for s in range(first, last):
        if filter_one(job, s, &rows, &active, &job.failed_at[thread]) != 0:
            job.failed[thread] = NO_MEMORY


cdef void smooth_these(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    """Probabilities of states given whole sequences, from their filters: by ratios of those ahead to their predictions."""
    cdef Job *job = <Job *>argument
    cdef int64_t K = job.n_states, s, i, j, k
    cdef const double *f
    cdef const double *row
    cdef double *out
    cdef double *ratio
    cdef double w, total
    cdef vector[double] scratch
    if not has_room(scratch, K):
        job.failed[thread] = NO_MEMORY
        return
    scratch.resize(K)
    ratio = scratch.data()
    for s in range(first, last):
        for i in range(job.offsets[s + 1] - 1, job.offsets[s] - 1, -1):
            f, out = job.filters + i * K, job.smoothed + i * K
            if i == job.offsets[s + 1] - 1:
                for k in range(K):
                    out[k] = max(f[k], 0.0)
                continue
            for k in range(K):
                ratio[k] = 0.0
            for j in range(K):
                w, row = f[j], job.pi + j * K
                if w > 0.0:
                    for k in range(K):
                        ratio[k] += w * row[k]
            for j in range(K):
                out[j] = 0.0
            for k in range(K):
                if out[K + k] > 0.0 and ratio[k] < LEAST:
                    w = log_prediction(job, f, k, i + 1)
                    for j in range(K):
                        out[j] += out[K + k] * det_exp(log_way(job, f, j, k, i + 1) - w)
                    ratio[k] = 0.0
                else:
                    ratio[k] = out[K + k] / ratio[k] if ratio[k] > 0.0 else 0.0
            total = 0.0
            for j in range(K):
                w, row = 0.0, job.pi + j * K
                if f[j] > 0.0:
                    for k in range(K):
                        w += row[k] * ratio[k]
                    out[j] += f[j] * w
                total += out[j]
            for k in range(K):
                out[k] /= total


cdef void paths_of_these(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    """The most probable path of each sequence; of equal ones the state with the smallest number."""
    cdef Job *job = <Job *>argument
    cdef int64_t K = job.n_states, s, i, j, k, begin, end
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
        job.failed[thread] = NO_MEMORY
        return
    scratch.resize(2 * K)
    best, ways = scratch.data(), scratch.data() + K
    for s in range(first, last):
        begin, end = job.offsets[s], job.offsets[s + 1]
        if not has_room(origins, (end - begin) * K):
            job.failed[thread] = NO_MEMORY
            return
        origins.resize((end - begin) * K)
        for i in range(begin, end):
            come_from = origins.data() + (i - begin) * K
            row = job.log_pi + K * K
            for k in range(K):
                ways[k] = row[k] if i == begin else best[0] + job.log_pi[k]
                come_from[k] = 0
            for j in range(1, K if i > begin else 0):
                w, row = best[j], job.log_pi + j * K
                if w == -INFINITY:
                    continue
                for k in range(K):
                    if w + row[k] > ways[k]:
                        ways[k] = w + row[k]
                        come_from[k] = <int32_t>j
            place = job.index[i]
            if place >= 0:
                row = job.logs + place * K
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
                job.path[i] = j
                j = origins[(i - begin) * K + j]


cdef class StatePasses:
    """Sequences under given transition probabilities; a new one for each pass."""

    cdef Job job
    cdef int threads
    cdef const double[:, ::1] _pi
    cdef const double[:, ::1] _log_pi

    def __init__(self, const double[:, ::1] pi not None, int threads):
        self._pi, self.threads = pi, threads
        self.job.n_states = pi.shape[1]
        self.job.pi = &self._pi[0, 0]

    def filter(self, const double[:, ::1] logs not None, likelihoods, tops,
               const int32_t[::1] index not None, const int64_t[::1] offsets not None, before,
               double[::1] norms not None, filters, double[:, ::1] last not None):
        """Filter sequences forward; returns the first customer that no state allows, or their number.

        ``logs``, ``likelihoods`` and ``index`` as in `StateSequences.draw`, ``tops`` the logs of the divisors; ``before``
        (optional) is the filter that the first sequence continues. Receive: ``norms`` log p(x_t | x_1 .. x_t-1), 0 if
        missing; ``filters`` (optional) p(z_t | x_1 .. x_t), its logarithm below 1e-290; ``last`` that of each sequence's
        last customer.
        """
        cdef const double[::1] first = before, divisors = tops
        cdef double[:, ::1] found = filters
        cdef vector[int64_t] failed_at
        cdef int64_t n = index.shape[0]
        cdef int i
        if n == 0:
            return 0
        take(&self.job, logs, likelihoods, index, 0)
        if divisors is not None and divisors.shape[0] > 0:
            self.job.tops = &divisors[0]
        if first is not None:
            self.job.before = &first[0]
        if found is not None:
            self.job.filters = &found[0, 0]
        failed_at.assign(self.threads, n)
        self.job.offsets, self.job.norms, self.job.last = &offsets[0], &norms[0], &last[0, 0]
        self.job.failed_at = failed_at.data()
        carry_out(&self.job, self.threads, offsets.shape[0] - 1, filter_these)
        for i in range(self.threads):
            n = min(n, failed_at[i])
        return n

    def smooth(self, double[:, ::1] filters not None, const int64_t[::1] offsets not None, double[:, ::1] smoothed not None):
        """Receive p(z_t | the whole sequence) of filtered sequences in ``smoothed``: float64, (n_customers, n_states)."""
        if filters.shape[0] > 0:
            self.job.offsets, self.job.filters, self.job.smoothed = &offsets[0], &filters[0, 0], &smoothed[0, 0]
            carry_out(&self.job, self.threads, offsets.shape[0] - 1, smooth_these)

    def best_paths(self, const double[:, ::1] logs not None, const int32_t[::1] index not None,
                   const int64_t[::1] offsets not None, int64_t[::1] path not None):
        """Receive the most probable states of each sequence, all together (Viterbi 1967), in ``path``; see `filter`."""
        if index.shape[0] == 0:
            return
        take(&self.job, logs, None, index, 0)
        with np.errstate(divide="ignore"):
            self._log_pi = np.log(self._pi)
        self.job.offsets, self.job.log_pi, self.job.path = &offsets[0], &self._log_pi[0, 0], &path[0]
        carry_out(&self.job, self.threads, offsets.shape[0] - 1, paths_of_these)


# ---------------------------------------------------------------------------------- single observations
# Table Gibbs over the states of a hidden Markov model, one observation at a time, given weights of the
# root.
#
# With an observation and its two transitions taken out, j before it and l after it,
#
#     P(z = k) ~ (alpha psi_k + kappa [j = k] + n_jk) f_k(x)
#                (alpha psi_l + kappa [k = l] + n_kl + [j = k = l]) / (alpha + kappa + n_k + [j = k]),
#
# without the second line at the end of a sequence (Teh et al. 2006, section 7; sticky: Fox et al. 2008).
# The start row has no kappa. Tables are drawn at the end, given the transitions. The readable twin, which
# serves every tree of which homes depend on the state, is `hdpkit.steps.state_homes`.

cdef class Sites:
    """Rows of transition counts of a store, for a sweep over observations."""

    cdef CountsStore store
    cdef DishSlots slots
    cdef CompiledBank bank
    cdef object walk
    cdef object missing_of          # keeps the array alive
    cdef const int8_t[::1] missing
    cdef bint gaps                  # whether observations are missing
    cdef int32_t start              # number of the start row
    cdef int32_t first_row          # number of the first row of a dish
    cdef double alpha
    cdef double start_alpha
    cdef double kappa
    cdef vector[int32_t] node_of    # row of the dish in each slot
    cdef vector[int8_t] changed     # whether the tables of a row are drawn at the end, by number less `start`
    cdef vector[double] psi         # weight of each live dish and, last, of all others
    cdef vector[double] prior
    cdef vector[double] weights

    def __init__(self, CountsStore store not None, DishSlots slots not None, CompiledBank bank not None, walk, missing):
        tree = walk.topology
        self.store, self.slots, self.bank, self.walk = store, slots, bank, walk
        self.gaps = missing is not None
        if self.gaps:
            self.missing_of = np.ascontiguousarray(missing).view(np.int8)
            self.missing = self.missing_of
        self.start = tree.first[len(tree.first) - 1]
        self.first_row = self.start + tree.n_fixed
        self.alpha, self.start_alpha = walk.concentration[self.first_row], walk.concentration[self.start]
        self.kappa = tree.kappa
        self.changed.assign(tree.n_nodes - self.start, 0)
        self.read_dishes()

    cdef int read_dishes(self) except -1:
        """Read the rows of dishes and the weights of the root, after births and deaths."""
        cdef const double[::1] psi
        cdef const int32_t[::1] row
        cdef size_t k, n = self.slots.live.size()
        live = self.slots.occupied_slots()
        psi, row = self.walk.root.row(live), self.walk.topology.rows.of_slots(live)
        self.psi.resize(n + 1)
        self.node_of.resize(self.slots.status.size(), -1)
        for k in range(n + 1):
            self.psi[k] = psi[k]
        for k in range(n):
            self.node_of[self.slots.live[k]] = self.first_row + row[k]
        self.prior.reserve(n + 2)       # also for a dish that is born in the next step
        self.weights.reserve(n + 2)
        return 0

    cdef int take_out(self, int32_t node, int32_t dish, int32_t customer) except -1 nogil:
        """Remove a customer of a row, and the table that closes from the root."""
        cdef int32_t as_customer
        self.changed[node - self.start] = 1
        if self.store.remove_customer(node, dish, customer, NULL, &as_customer):
            self.store.remove_customer(0, dish, as_customer, NULL, &as_customer)
        return 0

    cdef int seat(self, int32_t node, int32_t dish, int32_t customer) except -1 nogil:
        """Seat a customer in a row: a table opens only if it is the first of its dish."""
        cdef int32_t as_customer
        self.changed[node - self.start] = 1
        if self.store.find(node, dish) >= 0:
            self.store.join_table(node, dish, customer, 0.0, NULL)
            return 0
        self.store.open_table(node, dish, customer, &as_customer)
        if self.store.find(0, dish) >= 0:
            self.store.join_table(0, dish, as_customer, 0.0, NULL)
        else:
            self.store.open_table(0, dish, as_customer, &as_customer)
        return 0

    cdef int fill_prior(self, int32_t node, int32_t before, int32_t after) except -1 nogil:
        """Weight of every live dish and of a new one, by the transitions to it and from it."""
        cdef const int32_t *position = self.slots.position.data()
        cdef int64_t k, n = self.slots.live.size()
        cdef int32_t i, slot, row, place
        cdef Entry *entries = self.store.entries(node)
        cdef double alpha = self.start_alpha if node == self.start else self.alpha
        cdef double base, seen, total
        cdef double *p
        self.prior.resize(n + 1)
        p = self.prior.data()
        for k in range(n + 1):
            p[k] = alpha * self.psi[k]
        for i in range(self.store.nodes[node].n_entries):
            p[position[entries[i].dish]] += entries[i].customers
        if before >= 0:
            p[position[before]] += self.kappa
        if after < 0:
            return 0
        base = self.alpha * self.psi[position[after]]
        for k in range(n):
            slot = self.slots.live[k]
            row = self.node_of[slot]
            place = self.store.find(row, after)
            seen = base + (self.store.entries(row)[place].customers if place >= 0 else 0)
            total = self.alpha + self.kappa + self.store.nodes[row].customers
            if slot == after:
                seen += self.kappa
            if slot == before:      # the observation itself would be in the row of its dish
                total += 1.0
                seen += slot == after
            p[k] *= seen / total
        p[n] *= base / (self.alpha + self.kappa)
        return 0

    cdef int64_t choose(self, int32_t customer, choice_source *source) except -2 nogil:
        """Draw the place of a dish among the live ones, the last for a new one; -1 if it fails."""
        cdef measure_t *measure = &self.bank.c
        cdef int64_t k, n = self.slots.live.size()
        cdef const int32_t *live = self.slots.live.data()
        cdef const double *p = self.prior.data()
        cdef double *w
        cdef double total = 0.0
        if self.gaps and self.missing[customer]:
            return source.choose(source.state, p, n + 1)
        self.weights.resize(n + 1)
        w = self.weights.data()
        if measure.predictive(measure.self, customer, live, n, w) < 0:
            return -1
        for k in range(n + 1):
            w[k] *= p[k]
            total += w[k]
        if p[n] == 0.0 and not total >= LEAST_TOTAL:
            weigh_again(measure, &customer, 1, live, n, p, w)
        return source.choose(source.state, w, n + 1)

    cdef int reseat_one(self, int32_t i, bint begins, bint ends, choice_source *source) except -1 nogil:
        """Remove an observation with its two transitions, draw its dish, and seat it again."""
        cdef measure_t *measure = &self.bank.c
        cdef bint absent = self.gaps and self.missing[i]
        cdef int32_t dish = self.store.dish_at(i), before = -1, after = -1, node
        cdef int64_t chosen
        cdef int born
        if not begins:
            before = self.store.dish_at(i - 1)
        if dish < 0 or (before < 0 and not begins):
            with gil:
                misplaced(i if dish < 0 else i - 1, "seated", "Start the franchise, or seat the customer first.")
        if not ends:
            after = self.store.dish_at(i + 1)
        node = self.start if begins else self.node_of[before]
        self.store.ready(6 * ENTRY_WORDS * (1 + 2 * <int64_t>self.store.largest), 6)
        self.slots.ready()
        if not absent and measure.remove(measure.self, dish, &i, 1) < 0:
            fail("removal", i)
        self.take_out(node, dish, i)
        if after >= 0:
            self.take_out(self.node_of[dish], after, i + 1)
        if self.store.find(0, dish) < 0 and dish != after:
            self.slots.death(dish)
            with gil:
                self.read_dishes()
        self.fill_prior(node, before, after)
        chosen = self.choose(i, source)
        if chosen < 0:
            return fail("the conditional", i)
        if chosen < <int64_t>self.slots.live.size():
            dish = self.slots.live[chosen]
        else:
            born = self.slots.birth(&dish, &i, 1)
            if born:
                return fail("the conditional", i)
            with gil:
                self.read_dishes()
        self.seat(node, dish, i)
        if after >= 0:
            self.seat(self.node_of[dish], after, i + 1)
        if not absent and measure.add(measure.self, dish, &i, 1) < 0:
            fail("the addition", i)
        return 0

    cdef int draw_tables(self, int32_t node, int32_t own, choice_source *source) except -1 nogil:
        """Draw the tables of a row given its customers, and those of its own dish that kappa made."""
        cdef const int32_t *position = self.slots.position.data()
        cdef double alpha = self.start_alpha if node == self.start else self.alpha
        cdef double a
        cdef int32_t place
        cdef int64_t tables, overrides = 0
        cdef Entry *entry
        for place in range(self.store.nodes[node].n_entries):
            entry = self.store.entries(node) + place
            a = alpha * self.psi[position[entry.dish]]
            if entry.dish == own:
                a += self.kappa
            tables = tables_of(a, entry.customers, source)
            if tables > 0 and entry.dish == own and self.kappa > 0.0:
                overrides = source.binomial(source.state, tables, self.kappa / a)
            if tables < 0 or overrides < 0:
                with gil:
                    raise FloatingPointError(f"tables of dish {entry.dish} can't be drawn")
            self.store.change_tables(node, place, <int32_t>tables, 0, self.store.find(0, entry.dish))
        if self.kappa > 0.0 and own >= 0:
            with gil:
                self.walk.topology.take(own, overrides)
        return 0

    cdef int draw_all_tables(self, choice_source *source) except -1 nogil:
        cdef size_t k
        cdef int32_t slot
        if self.changed[0]:
            self.draw_tables(self.start, -1, source)
        for k in range(self.slots.live.size()):
            slot = self.slots.live[k]
            if self.changed[self.node_of[slot] - self.start]:
                self.draw_tables(self.node_of[slot], slot, source)
        return 0


def reseat(walk, CompiledBank bank not None, missing, int64_t first, int64_t last, ChoiceSource source not None):
    """Reseat data customers first .. last - 1, one after the other; see `Sites`."""
    cdef Sites sites
    cdef int64_t i
    cdef const int8_t[::1] begins
    if first == last:
        return
    # Whether a sequence begins at each of these customers and the one after them.
    inside = np.zeros(last - first + 1, dtype=np.int8)
    bounds = np.append(walk.topology.begins, walk.topology.n_customers) - first
    inside[bounds[(bounds >= 0) & (bounds < len(inside))]] = 1
    begins = inside
    sites = Sites(walk.store, walk.slots, bank, walk, missing)
    with nogil:
        for i in range(last - first):
            sites.reseat_one(<int32_t>(first + i), begins[i], begins[i + 1], &source.c)
        sites.draw_all_tables(&source.c)
