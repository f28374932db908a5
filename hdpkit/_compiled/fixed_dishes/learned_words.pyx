# distutils: language = c++
"""Topics updated by the observed words of a document, one document at a time.

A topic is Dirichlet(mass_k phi_k) given the fitted documents: phi_k is its mean, and mass_k the sum of its
tokens and pseudo-counts. Words of a new document that come from the topic are added to it. With r_ik the
probability that a token of term i comes from topic k, c_i the number of these tokens, and m_k = sum_i c_i
r_ik, the fixed point is

    r_ik ~ (prior_k + m_k - r_ik) (mass_k phi_ki + c_i r_ik - r_ik) / (mass_k + m_k - r_ik),

in which the token itself is excluded (CVB0: Asuncion et al. 2009). It is computed iteratively, term by term,
beginning with the proportions under the topics of the fit. Documents don't influence each other. The readable
twin is in tests/support/learned_words.py.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.fixed_dishes.first_entries cimport ascending
from hdpkit._compiled.support.arguments cimport check_length, check_numbers32, check_numbers64, check_range


cdef class Learning:
    """Documents in two halves: topics are updated by the words of one half, and the other half is scored.

    Parameters
    ----------
    base, entries, topic, excess, prior
        As in `Fitting`.
    mass : float64 array, shape (K,)
        Tokens and pseudo-counts of each topic, positive.
    begins, term, count
        Cells of the observed halves, as in `Fitting`; terms of a document are ascending.
    held_begins, held_term : int64 arrays, shapes (n_documents + 1,) and (n_held,)
        Cells of the other halves.
    """

    cdef const double[::1] base, excess, prior, mass, count
    cdef const int64_t[::1] entries, begins, term, held_begins, held_term
    cdef const int32_t[::1] topic
    cdef vector[double] r, a, own, weight

    def __cinit__(self, base, entries, topic, excess, prior, mass, begins, term, count, held_begins, held_term):
        self.base, self.entries, self.topic, self.excess = base, entries, topic, excess
        self.prior, self.mass, self.begins, self.term, self.count = prior, mass, begins, term, count
        self.held_begins, self.held_term = held_begins, held_term
        check_length("prior", self.prior.shape[0], self.base.shape[0])
        check_length("mass", self.mass.shape[0], self.base.shape[0])
        check_length("excess", self.excess.shape[0], self.topic.shape[0])
        check_length("count", self.count.shape[0], self.term.shape[0])
        check_length("held_begins", self.held_begins.shape[0], self.begins.shape[0])
        check_numbers32("topic", self.topic, 0, self.base.shape[0] - 1)
        check_numbers64("term", self.term, 0, self.entries.shape[0] - 2)
        check_numbers64("held_term", self.held_term, 0, self.entries.shape[0] - 2)
        ascending("entries", self.entries, self.topic.shape[0])
        ascending("begins", self.begins, self.term.shape[0])
        ascending("held_begins", self.held_begins, self.held_term.shape[0])

    def score(
        self, int64_t first, int64_t last, double tolerance, int64_t longest, double[:, ::1] theta not None,
        double[::1] found not None,
    ):
        """Probabilities of a token of each cell of the other halves of documents first .. last - 1.

        Parameters
        ----------
        first, last : int
        tolerance : float
            A document has converged when no proportion changes by more in a pass over the terms.
        longest : int
            Largest number of passes; a document that hasn't converged by then keeps its last values.
        theta : float64 array, shape (n_documents, K)
            Initial values, positive if `prior` is; replaced by the computed proportions. Rows sum to one.
        found : float64 array, shape (n_held,)
            Filled for these documents.
        """
        cdef int64_t d
        check_range(first, last, self.begins.shape[0] - 1)
        check_length("theta", theta.shape[0], self.begins.shape[0] - 1)
        check_length("theta", theta.shape[1], self.base.shape[0])
        check_length("found", found.shape[0], self.held_term.shape[0])
        with nogil:
            for d in range(first, last):
                self.learn(d, tolerance, longest, &theta[d, 0])
                self.score_one(d, &theta[d, 0], found)

    cdef int learn(self, int64_t d, double tolerance, int64_t longest, double *x) except -1 nogil:
        cdef int64_t n = self.base.shape[0], begin = self.begins[d], m = self.begins[d + 1] - begin, i, k, e, turn
        cdef double total = 0.0, largest
        self.r.resize(m * n)
        self.a.resize(m * n)
        self.own.resize(n)
        self.weight.resize(2 * n)
        cdef double *own = self.own.data()
        cdef double *before = self.weight.data() + n
        cdef double *row
        for k in range(n):
            own[k] = 0.0
            total += self.prior[k]
        for i in range(m):
            total += self.count[begin + i]
            row = self.a.data() + i * n
            for k in range(n):
                row[k] = self.mass[k] * self.base[k]
            for e in range(self.entries[self.term[begin + i]], self.entries[self.term[begin + i] + 1]):
                row[self.topic[e]] += self.mass[self.topic[e]] * self.excess[e]
            self.begin_with(x, i, self.count[begin + i])
        for turn in range(longest):
            largest = 0.0
            for k in range(n):
                before[k] = own[k]
            for i in range(m):
                self.again(i, self.count[begin + i])
            for k in range(n):
                largest = max(largest, fabs(own[k] - before[k]))
            if largest <= tolerance * total:
                break
        for k in range(n):
            x[k] = (self.prior[k] + own[k]) / total
        return 0

    cdef void begin_with(self, const double *x, int64_t i, double count) noexcept nogil:
        """Compute the topics of a term's tokens under the topics of the fit."""
        cdef int64_t k, n = self.base.shape[0]
        cdef double *r = self.r.data() + i * n
        cdef const double *a = self.a.data() + i * n
        cdef const double *mass = &self.mass[0]
        cdef double *own = self.own.data()
        cdef double scale
        for k in range(n):
            r[k] = x[k] * a[k] / mass[k]
        scale = 1.0 / sum_of(r, n)
        for k in range(n):
            r[k] *= scale
            own[k] += count * r[k]

    cdef void again(self, int64_t i, double count) noexcept nogil:
        """Compute them given the topics of all other tokens of the document."""
        cdef int64_t k, n = self.base.shape[0]
        cdef double *r = self.r.data() + i * n
        cdef const double *a = self.a.data() + i * n
        cdef const double *mass = &self.mass[0]
        cdef const double *prior = &self.prior[0]
        cdef double *own = self.own.data()
        cdef double *weight = self.weight.data()
        cdef double scale, others, new, more = count - 1.0 if count > 1.0 else 0.0
        for k in range(n):
            others = own[k] - r[k]
            others = others if others > 0.0 else 0.0
            weight[k] = (prior[k] + others) * (a[k] + more * r[k]) / (mass[k] + others)
        scale = 1.0 / sum_of(weight, n)
        for k in range(n):
            new = weight[k] * scale
            own[k] += count * (new - r[k])
            r[k] = new

    cdef void score_one(self, int64_t d, const double *x, double[::1] found) noexcept nogil:
        cdef int64_t n = self.base.shape[0], begin = self.begins[d], end = self.begins[d + 1], i = begin, j, k, e, v
        cdef double flat = 0.0, p
        cdef double *of_one = self.weight.data()  # probability of the term for a token of each topic
        cdef const double *own = self.own.data()
        cdef const double *r
        for k in range(n):
            of_one[k] = x[k] / (self.mass[k] + own[k])
            flat += of_one[k] * self.mass[k] * self.base[k]
        for j in range(self.held_begins[d], self.held_begins[d + 1]):
            v, p = self.held_term[j], flat
            for e in range(self.entries[v], self.entries[v + 1]):
                k = self.topic[e]
                p += of_one[k] * self.mass[k] * self.excess[e]
            if j == self.held_begins[d] or v < self.held_term[j - 1]:
                i = begin
            while i < end and self.term[i] < v:
                i += 1
            if i < end and self.term[i] == v:
                r = self.r.data() + (i - begin) * n
                for k in range(n):
                    p += of_one[k] * self.count[i] * r[k]
            found[j] = p


cdef double sum_of(const double *x, int64_t n) noexcept nogil:
    """Sum in four independent parts, so that additions can overlap."""
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef int64_t k = 0
    while k + 4 <= n:
        a += x[k]
        b += x[k + 1]
        c += x[k + 2]
        d += x[k + 3]
        k += 4
    while k < n:
        a += x[k]
        k += 1
    return (a + b) + (c + d)
