# distutils: language = c++
"""Topics updated by the observed words of a document, one document at a time.

A topic is Dirichlet(mass_k phi_k) given the fitted documents: phi_k is its mean, and mass_k the sum of its
tokens and pseudo-counts. Words of a new document that come from the topic are added to it. With r_ik the
probability that a token of term i comes from topic k, c_i the number of these tokens, and m_k = sum_i c_i
r_ik, the fixed point is

    r_ik ~ (prior_k + m_k - r_ik) (mass_k phi_ki + c_i r_ik - r_ik) / (mass_k + m_k - r_ik),

in which the token itself is excluded (CVB0: Asuncion et al. 2009). It is computed iteratively, term by term,
beginning with the proportions under the topics of the fit. Documents don't influence each other.

If topics differ by document, with phi_jk ~ PY(a, b, phi_k), the document's words also change its own phi_jk, and only
the tables at which they repeat change phi_k. All n tokens of a term are drawn together, because repeated words hold each
other in a topic: given the other terms, n_k of them at t_k tables are from topic k with a probability proportional to

    n! prod_k A_k^(n_k) / n_k! w_k^(t_k) S_a(n_k, t_k),    A_k = (prior_k + m_k - r_k) / (b + m_k - r_k),
    w_k = (b + a T_k) phi'_k,                              phi'_k = (mass_k phi_k + t^_k) / (mass_k + T_k),

S_a being the generalised Stirling numbers, r_k the expected share of the tokens that are from topic k, t^_k = t_k - r_k
the expected number of tables without one of the tokens, and T_k that of all terms without it. The generating function of
the sums of these products over all n is exp(sum_k w_k (1 - (1 - A_k x)^a) / a), so that with q_j = (1 - a) .. (j - 1 - a) / (j - 1)!

    n f_n = sum_j q_j (sum_k w_k A_k^j) f_(n-j),   E[n_k] = w_k sum_j q_j A_k^j f_(n-j) / f_n,
    E[t_k] = w_k sum_j q_j / j A_k^j f_(n-j) / f_n,

with j from 1 to n and f_0 = 1. Where the topics don't learn, phi'_k is phi_k, and the numerator of A_k is prior_k + m_k. As b grows,
t_k becomes n_k, and all this becomes the equation above or, for topics that don't learn, EM (`fitted_proportions`).

The readable twin is in tests/support/learned_words.py.
"""

from libc.math cimport INFINITY, fabs, log
from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.fixed_dishes.first_entries cimport ascending
from hdpkit._compiled.support.arguments cimport check_length, check_numbers32, check_numbers64, check_range, refuse

cdef enum:
    LARGEST = 64    # tokens of a term that are drawn together; the others have the same shares


cdef class Learning:
    """Documents in two halves: topics are updated by the words of one half, and the other half is scored.

    Parameters
    ----------
    base, entries, topic, excess, prior
        As in `Fitting`.
    mass : float64 array, shape (K,)
        Tokens and pseudo-counts of each topic, positive; or all of them infinite, for topics that don't learn,
        if topics differ by document.
    begins, term, count
        Cells of the observed halves, as in `Fitting`; terms of a document are ascending.
    held_begins, held_term : int64 arrays, shapes (n_documents + 1,) and (n_held,)
        Cells of the other halves.
    repeat_concentration, repeat_discount : float
        b, infinite if topics are the same in all documents, and a.
    """

    cdef const double[::1] base, excess, prior, mass, count
    cdef const int64_t[::1] entries, begins, term, held_begins, held_term
    cdef const int32_t[::1] topic
    cdef vector[double] r, a, own, weight
    cdef double b, discount
    cdef bint repeats, learns                   # whether b and mass are finite
    cdef vector[double] tables, opened          # t_ik, and T_k
    cdef vector[double] of_topic, of_table      # A_k and w_k of a term
    cdef double q[LARGEST + 1]
    cdef double f[LARGEST + 1]
    cdef double flat                            # probability that all terms have from the topics' bases

    def __cinit__(self, base, entries, topic, excess, prior, mass, begins, term, count, held_begins, held_term,
                  double repeat_concentration=INFINITY, double repeat_discount=0.0):
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
        if not (0.0 <= repeat_discount < 1.0 and repeat_concentration > 0.0):
            refuse("repeat_concentration", repeat_concentration, "above 0, with a discount from 0 to below 1", "See Bursty.")
        self.b, self.discount = repeat_concentration, repeat_discount
        self.repeats = repeat_concentration < INFINITY
        self.learns = self.base.shape[0] > 0 and self.mass[0] < INFINITY
        cdef int64_t j
        self.q[1] = 1.0
        for j in range(2, LARGEST + 1):
            self.q[j] = self.q[j - 1] * (j - 1 - self.discount) / (j - 1)
        if not (self.learns or self.repeats):
            refuse("mass", self.mass[0], "finite", "Use `Fitting` for topics that don't change.")

    def score(
        self, int64_t first, int64_t last, double tolerance, int64_t longest, double[:, ::1] theta not None,
        double[::1] found not None, double[::1] known not None,
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
        known : float64 array, shape (n_documents,)
            Filled: probability of the terms of the observed half, all together.
        """
        cdef int64_t d
        check_range(first, last, self.begins.shape[0] - 1)
        check_length("theta", theta.shape[0], self.begins.shape[0] - 1)
        check_length("theta", theta.shape[1], self.base.shape[0])
        check_length("found", found.shape[0], self.held_term.shape[0])
        check_length("known", known.shape[0], self.begins.shape[0] - 1)
        with nogil:
            for d in range(first, last):
                self.learn(d, tolerance, longest, &theta[d, 0])
                self.prepare(&theta[d, 0])
                self.score_one(d, found)
                known[d] = self.of_known(d)

    cdef int learn(self, int64_t d, double tolerance, int64_t longest, double *x) except -1 nogil:
        cdef int64_t n = self.base.shape[0], begin = self.begins[d], m = self.begins[d + 1] - begin, i, k, e, turn
        cdef double total = 0.0, largest
        self.r.resize(m * n)
        self.a.resize(m * n)
        self.own.resize(n)
        self.weight.resize(3 * n)
        if self.repeats:
            self.tables.assign(m * n, 0.0)
            self.opened.assign(n, 0.0)
            self.of_topic.resize(n)
            self.of_table.resize(n)
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
                row[k] = self.scale(k) * self.base[k]
            for e in range(self.entries[self.term[begin + i]], self.entries[self.term[begin + i] + 1]):
                row[self.topic[e]] += self.scale(self.topic[e]) * self.excess[e]
            self.begin_with(x, i, self.count[begin + i])
        for turn in range(longest):
            largest = 0.0
            for k in range(n):
                before[k] = own[k]
            for i in range(m):
                if self.repeats:
                    self.again_repeated(i, self.count[begin + i])
                else:
                    self.again(i, self.count[begin + i])
            for k in range(n):
                largest = max(largest, fabs(own[k] - before[k]))
            if largest <= tolerance * total:
                break
        for k in range(n):
            x[k] = (self.prior[k] + own[k]) / total
        return 0

    cdef double scale(self, int64_t k) noexcept nogil:
        """Divisor of a topic's row `a`: its probabilities times this."""
        return 1.0 if self.repeats else self.mass[k]

    cdef void begin_with(self, const double *x, int64_t i, double count) noexcept nogil:
        """Compute the topics of a term's tokens under the topics of the fit."""
        cdef int64_t k, n = self.base.shape[0]
        cdef double *r = self.r.data() + i * n
        cdef const double *a = self.a.data() + i * n
        cdef double *own = self.own.data()
        cdef double scale
        for k in range(n):
            r[k] = x[k] * a[k] / self.scale(k)
        scale = 1.0 / sum_of(r, n)
        for k in range(n):
            r[k] *= scale
            own[k] += count * r[k]
        if self.repeats:
            for k in range(n):
                self.tables[i * n + k] = r[k] * min(count, 1.0)
                self.opened[k] += self.tables[i * n + k]

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

    cdef void again_repeated(self, int64_t i, double count) noexcept nogil:
        """The same for the tokens of a term, and their tables, where topics differ by document."""
        cdef int64_t k, n = self.base.shape[0], m = min(max(<int64_t>(min(count, 1e6) + 0.5), 1), LARGEST)
        cdef double *r = self.r.data() + i * n
        cdef double *tables = self.tables.data() + i * n
        cdef double *own = self.own.data()
        cdef double *opened = self.opened.data()
        cdef double *of_table = self.of_table.data()
        cdef double *weight = self.weight.data()
        cdef double new, t, scale, more, least = min(count, 1.0)
        self.weigh(i)
        if m == 1:
            for k in range(n):
                weight[k] = self.of_topic[k] * of_table[k]
        else:
            self.weigh_together(m)
        scale = 1.0 / sum_of(weight, n)
        more = log(count / m) if count > m else 0.0
        for k in range(n):
            new = weight[k] * scale
            t = new * least
            if m > 1:       # of the first tokens; the others open tables as those of one topic do without a discount
                t = of_table[k] * min(count / m, 1.0) + new * min(self.prior_of_table(i, k) * more, count - m)
            own[k] += count * (new - r[k])
            opened[k] += t - tables[k]
            r[k], tables[k] = new, t

    cdef double prior_of_table(self, int64_t i, int64_t k) noexcept nogil:
        """Weight of a new table of a term at the topic of the corpus."""
        return self.b * self.a[i * self.base.shape[0] + k]

    cdef void weigh(self, int64_t i) noexcept nogil:
        """Compute the weights A_k of tokens and w_k of tables, given the other terms and all tokens but one."""
        cdef int64_t k, n = self.base.shape[0]
        cdef const double *r = self.r.data() + i * n
        cdef const double *phi = self.a.data() + i * n
        cdef const double *prior = &self.prior[0]
        cdef const double *mass = &self.mass[0]
        cdef const double *own = self.own.data()
        cdef const double *opened = self.opened.data()
        cdef const double *tables = self.tables.data() + i * n
        cdef double *of_topic = self.of_topic.data()
        cdef double *of_table = self.of_table.data()
        cdef double others, here, there, b = self.b, a = self.discount
        for k in range(n):
            others = own[k] - r[k]
            others = others if others > 0.0 else 0.0
            of_topic[k] = (prior[k] + (others if self.learns else own[k])) / (b + others)
            of_table[k] = b * phi[k]
            if self.learns or a > 0.0:
                here = tables[k] - r[k]
                here = here if here > 0.0 else 0.0
                there = opened[k] - tables[k] + here
                there = there if there > 0.0 else 0.0
                of_table[k] = (b + a * there) * phi[k]
                if self.learns:
                    of_table[k] = (b + a * there) * (mass[k] * phi[k] + here) / (mass[k] + there)

    cdef void weigh_together(self, int64_t m) noexcept nogil:
        """Expected numbers of m tokens by topic, in `weight`, and of their tables, in `of_table`."""
        cdef int64_t k, j, l, n = self.base.shape[0]
        cdef double *of_topic = self.of_topic.data()
        cdef double *of_table = self.of_table.data()
        cdef double *weight = self.weight.data()
        cdef double *power = self.weight.data() + 2 * n
        cdef double sums[LARGEST + 1]
        cdef double largest = 0.0, first = 0.0, term, tokens, tables
        for k in range(n):
            largest = max(largest, of_topic[k])
            first += of_topic[k] * of_table[k]
        largest = 1.0 / max(largest, first)     # so that no sum exceeds one
        for k in range(n):
            of_topic[k] *= largest
            power[k] = of_table[k]
        for j in range(1, m + 1):
            for k in range(n):
                power[k] *= of_topic[k]
            sums[j] = self.q[j] * sum_of(power, n)
        self.f[0] = 1.0
        for l in range(1, m + 1):
            self.f[l] = 0.0
            for j in range(1, l + 1):
                self.f[l] += sums[j] * self.f[l - j]
            self.f[l] /= l
        for k in range(n):
            tokens = tables = 0.0
            term = of_table[k]
            for j in range(1, m + 1):
                term *= of_topic[k]
                if term == 0.0:
                    break
                tokens += term * self.q[j] * self.f[m - j]
                tables += term * self.q[j] * self.f[m - j] / j
            weight[k] = tokens
            of_table[k] = tables / self.f[m]

    cdef void prepare(self, const double *x) noexcept nogil:
        """Compute what the probabilities of all terms have in common: weights of counts, and of topics."""
        cdef int64_t k, n = self.base.shape[0]
        cdef double *of_one = self.weight.data()        # of a token of each topic
        cdef double *of_topic = self.weight.data() + n  # of the topic as it was
        self.flat = 0.0
        for k in range(n):
            if self.repeats:
                of_one[k] = x[k] / (self.b + self.own[k])
                of_topic[k] = of_one[k] * (self.b + self.discount * self.opened[k])
                if self.learns:
                    of_topic[k] *= self.mass[k] / (self.mass[k] + self.opened[k])
            else:
                of_one[k] = x[k] / (self.mass[k] + self.own[k])
                of_topic[k] = of_one[k] * self.mass[k]
            self.flat += of_topic[k] * self.base[k]

    cdef double of_term(self, int64_t v) noexcept nogil:
        """Probability of a term, without what the document's own tokens of the term add."""
        cdef int64_t e, n = self.base.shape[0]
        cdef double p = self.flat
        cdef const double *of_topic = self.weight.data() + n
        for e in range(self.entries[v], self.entries[v + 1]):
            p += of_topic[self.topic[e]] * self.excess[e]
        return p

    cdef double with_tokens(self, double p, int64_t i, double count) noexcept nogil:
        """Add to a probability what the tokens of the document's term number i add."""
        cdef int64_t k, n = self.base.shape[0]
        cdef const double *r = self.r.data() + i * n
        cdef const double *of_one = self.weight.data()
        cdef const double *of_topic = self.weight.data() + n
        cdef double t
        if self.repeats:
            for k in range(n):
                t = self.tables[i * n + k]
                p += of_one[k] * (count * r[k] - self.discount * t)
                if self.learns:
                    p += of_topic[k] * t / self.mass[k]
        else:
            for k in range(n):
                p += of_one[k] * count * r[k]
        return p

    cdef void score_one(self, int64_t d, double[::1] found) noexcept nogil:
        cdef int64_t begin = self.begins[d], end = self.begins[d + 1], i = begin, j, v
        for j in range(self.held_begins[d], self.held_begins[d + 1]):
            v = self.held_term[j]
            found[j] = self.of_term(v)
            if j == self.held_begins[d] or v < self.held_term[j - 1]:
                i = begin
            while i < end and self.term[i] < v:
                i += 1
            if i < end and self.term[i] == v:
                found[j] = self.with_tokens(found[j], i - begin, self.count[i])

    cdef double of_known(self, int64_t d) noexcept nogil:
        """Probability of the terms of the observed half, all together."""
        cdef int64_t i, begin = self.begins[d]
        cdef double p = 0.0
        for i in range(begin, self.begins[d + 1]):
            p += self.with_tokens(self.of_term(self.term[i]), i - begin, self.count[i])
        return p


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
