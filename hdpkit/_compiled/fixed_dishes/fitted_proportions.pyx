# distutils: language = c++
"""Proportions of documents under fixed topics, by EM (the readable twin: `hdpkit.evaluation.fit_proportions`).

The fixed point is theta_k = (prior_k + theta_k s_k) / total, with s_k = sum over terms of count_i phi_ki / sum_l
theta_l phi_li. A topic's probability of a term is the sum of a constant for all terms and an excess, which is
0 for most topics: phi_ki = base_k + excess_ki. The cost of a step is then the number of excess entries of the
document's terms, plus a pass over the topics.

Two methods reduce the number and cost of steps without changing the fixed point: extrapolation from every two
steps (Varadhan & Roland 2008, scheme S3); and topics with a negligible part of the document are fixed for
some steps at prior_k / (total - s_k), which solves their equation. A document has converged when a step of
all topics changes none by more than the tolerance.
"""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.fixed_dishes.first_entries cimport ascending
from hdpkit._compiled.support.arguments cimport check_length, check_numbers32, check_numbers64, check_range

cdef enum:
    TURNS = 8           # rounds of two steps and an extrapolation, between two steps of all topics

cdef double FIRST = 0.5                 # expected tokens below which a topic is fixed after the first step
cdef double NEXT_TO_NOTHING = 0.02      # the same later
cdef double FLAT = 0.9                  # s_k / total above which a topic is never fixed


cdef class Fitting:
    """Documents whose proportions are fitted.

    Parameters
    ----------
    base : float64 array, shape (K,)
        The smallest probability of a term in each topic.
    entries : int64 array, shape (n_terms + 1,)
        First entry of each term, and the number of entries.
    topic : int32 array, shape (n_entries,)
    excess : float64 array, shape (n_entries,)
        Probability of the term in the topic minus the topic's `base`.
    prior : float64 array, shape (K,)
        Pseudo-counts of the topics in a document, not negative.
    begins : int64 array, shape (n_documents + 1,)
        First cell of each document, and the number of cells.
    term : int64 array, shape (n_cells,)
    count : float64 array, shape (n_cells,)
        Number of tokens of the term in the document: positive.
    """

    cdef const double[::1] base, excess, prior, count
    cdef const int64_t[::1] entries, begins, term
    cdef const int32_t[::1] topic
    cdef vector[double] sums, rest          # of all topics; for each cell, the density from fixed topics
    # Topics that a step updates: which, how many; base and prior of each; current proportions, those after
    # one step and after two; sums of each.
    cdef vector[int32_t] active, place
    cdef vector[double] of_base, of_prior, now, one, two, pushed
    cdef int64_t n_active
    # Entries of the document's cells with updated topics.
    cdef vector[int64_t] ends
    cdef vector[int32_t] at
    cdef vector[double] extra

    def __cinit__(self, base, entries, topic, excess, prior, begins, term, count):
        self.base, self.entries, self.topic, self.excess = base, entries, topic, excess
        self.prior, self.begins, self.term, self.count = prior, begins, term, count
        check_length("prior", self.prior.shape[0], self.base.shape[0])
        check_length("excess", self.excess.shape[0], self.topic.shape[0])
        check_length("count", self.count.shape[0], self.term.shape[0])
        check_numbers32("topic", self.topic, 0, self.base.shape[0] - 1)
        check_numbers64("term", self.term, 0, self.entries.shape[0] - 2)
        ascending("entries", self.entries, self.topic.shape[0])
        ascending("begins", self.begins, self.term.shape[0])

    def fit(self, int64_t first, int64_t last, double tolerance, int64_t longest, double[:, ::1] theta not None):
        """Fit the proportions of documents first .. last - 1.

        Parameters
        ----------
        first, last : int
        tolerance : float
            A document has converged when no proportion changes by more in a step of all topics.
        longest : int
            Largest number of steps of all topics.
        theta : float64 array, shape (n_documents, K)
            Filled for these documents; rows sum to one.

        Returns
        -------
        int
            The first document that didn't converge within this number, -1 if all did.
        """
        cdef int64_t d, astray = -1
        check_range(first, last, self.begins.shape[0] - 1)
        check_length("theta", theta.shape[0], self.begins.shape[0] - 1)
        check_length("theta", theta.shape[1], self.base.shape[0])
        with nogil:
            for d in range(first, last):
                if not self.fit_one(d, tolerance, longest, &theta[d, 0]):
                    astray = d
                    break
        return astray

    cdef bint fit_one(self, int64_t d, double tolerance, int64_t longest, double *x) except -1 nogil:
        cdef int64_t n = self.base.shape[0], begin = self.begins[d], m = self.begins[d + 1] - begin
        cdef int64_t k, i, turn
        cdef double of_prior = 0.0, total, step, new, scale
        for k in range(n):
            of_prior += self.prior[k]
        for k in range(n):
            x[k] = self.prior[k] / of_prior
        if m == 0:
            return True
        total = of_prior
        for i in range(m):
            total += self.count[begin + i]
        self.sums.resize(n)
        self.place.resize(n)
        self.rest.resize(m)
        self.ends.resize(m)
        for turn in range(longest):
            self.sum_up(x, begin, m)
            step = 0.0
            for k in range(n):
                new = (self.prior[k] + x[k] * self.sums[k]) / total
                step = max(step, fabs(new - x[k]))
            if step <= tolerance:
                scale = 0.0
                for k in range(n):
                    x[k] = (self.prior[k] + x[k] * self.sums[k]) / total
                    scale += x[k]
                for k in range(n):
                    x[k] /= scale
                return True
            self.steps(x, FIRST if turn == 0 else NEXT_TO_NOTHING, total, begin, m, tolerance)
        return False

    cdef void sum_up(self, const double *x, int64_t begin, int64_t m) noexcept nogil:
        """Compute the sums s_k of all topics."""
        cdef int64_t i, e, k, v, n = self.base.shape[0]
        cdef double flat = 0.0, weight, weights = 0.0
        cdef double *sums = self.sums.data()
        for k in range(n):
            flat += x[k] * self.base[k]
            sums[k] = 0.0
        for i in range(m):
            v = self.term[begin + i]
            weight = flat
            for e in range(self.entries[v], self.entries[v + 1]):
                weight += x[self.topic[e]] * self.excess[e]
            weight = self.count[begin + i] / weight
            weights += weight
            for e in range(self.entries[v], self.entries[v + 1]):
                sums[self.topic[e]] += weight * self.excess[e]
        for k in range(n):
            sums[k] += weights * self.base[k]

    cdef int steps(
        self, double *x, double least, double total, int64_t begin, int64_t m, double tolerance
    ) except -1 nogil:
        """A step of all topics from the current sums, then steps of the topics that have more than `least`."""
        cdef int64_t i, k, e, v, n = self.base.shape[0], turn
        cdef double flat = 0.0, rest
        cdef int32_t a
        self.active.clear()
        for k in range(n):
            self.place[k] = -1
            if x[k] * self.sums[k] < least and self.sums[k] < FLAT * total:
                x[k] = self.prior[k] / (total - self.sums[k])
                flat += x[k] * self.base[k]
            else:
                x[k] = (self.prior[k] + x[k] * self.sums[k]) / total
                self.place[k] = <int32_t>self.active.size()
                self.active.push_back(<int32_t>k)
        self.n_active = <int64_t>self.active.size()
        self.of_base.resize(self.n_active)
        self.of_prior.resize(self.n_active)
        self.now.resize(self.n_active)
        self.one.resize(self.n_active)
        self.two.resize(self.n_active)
        self.pushed.resize(self.n_active)
        for a in range(self.n_active):
            k = self.active[a]
            self.of_base[a], self.of_prior[a], self.now[a] = self.base[k], self.prior[k], x[k]
        self.at.clear()
        self.extra.clear()
        for i in range(m):
            v = self.term[begin + i]
            rest = flat
            for e in range(self.entries[v], self.entries[v + 1]):
                a = self.place[self.topic[e]]
                if a >= 0:
                    self.at.push_back(a)
                    self.extra.push_back(self.excess[e])
                else:
                    rest += x[self.topic[e]] * self.excess[e]
            self.rest[i] = rest
            self.ends[i] = <int64_t>self.at.size()
        for turn in range(TURNS):
            self.step(self.now.data(), self.one.data(), total, begin, m)
            if self.step(self.one.data(), self.two.data(), total, begin, m) <= 0.25 * tolerance:
                self.now.swap(self.two)
                break
            if not self.leap(total):
                self.now.swap(self.two)
        for a in range(self.n_active):
            x[self.active[a]] = self.now[a]
        return 0

    cdef double step(self, const double *old, double *new, double total, int64_t begin, int64_t m) noexcept nogil:
        """A step of EM of the updated topics; returns the largest change."""
        cdef int64_t i, a, e, first = 0, n = self.n_active
        cdef double flat = 0.0, weight, weights = 0.0, largest = 0.0
        cdef double *sums = self.pushed.data()
        cdef const int32_t *at = self.at.data()
        cdef const double *extra = self.extra.data()
        for a in range(n):
            flat += old[a] * self.of_base[a]
            sums[a] = 0.0
        for i in range(m):
            weight = flat + self.rest[i]
            for e in range(first, self.ends[i]):
                weight += old[at[e]] * extra[e]
            weight = self.count[begin + i] / weight
            weights += weight
            for e in range(first, self.ends[i]):
                sums[at[e]] += weight * extra[e]
            first = self.ends[i]
        for a in range(n):
            new[a] = (self.of_prior[a] + old[a] * (sums[a] + weights * self.of_base[a])) / total
            largest = max(largest, fabs(new[a] - old[a]))
        return largest

    cdef bint leap(self, double total) noexcept nogil:
        """Extrapolate from three points of EM; False if the result would be no closer to the fixed point.

        After a step of EM each topic has at least its prior / total, so the same bound is applied here.
        """
        cdef int64_t a
        cdef double r, v, rr = 0.0, vv = 0.0, far, before = 0.0, after = 0.0
        for a in range(self.n_active):
            r = self.one[a] - self.now[a]
            v = self.two[a] - self.one[a] - r
            rr += r * r
            vv += v * v
        if not rr > vv or vv == 0.0:
            return False
        far = sqrt(rr / vv)
        for a in range(self.n_active):
            r = self.one[a] - self.now[a]
            v = self.two[a] - self.one[a] - r
            self.pushed[a] = max(self.now[a] + 2.0 * far * r + far * far * v, self.of_prior[a] / total)
            before += self.two[a]
            after += self.pushed[a]
        for a in range(self.n_active):
            self.now[a] = self.pushed[a] * (before / after)
        return True
