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
the tables at which they repeat change phi_k. With t_ik the expected number of these tables, T_k = sum_i t_ik, and a
hat for numbers without the token,

    r_ik ~ (prior_k + m_k - r_ik) ((c_i - 1) r_ik - a t^_ik + (b + a T^_k) phi'_ki) / (b + m_k - r_ik),
    phi'_ki = (mass_k phi_ki + t^_ik) / (mass_k + T^_k).

All tokens of a term are expected in one topic: t_ik = r_ik t(c_i), where t(1) = 1 and t(n + 1) = t(n) + w / (n - a
t(n) + w) with w = (b + a T_k) phi_ki. As b grows, t_ik becomes c_i r_ik, and this becomes the equation above. Where
the topics don't learn, mass_k is infinite, and the first factor is prior_k + m_k: as b grows, proportions then become
those of EM (`fitted_proportions`).

The readable twin is in tests/support/learned_words.py.
"""

from libc.math cimport INFINITY, ceil, exp, fabs, log1p
from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.fixed_dishes.first_entries cimport ascending
from hdpkit._compiled.support.arguments cimport check_length, check_numbers32, check_numbers64, check_range, refuse

cdef enum:
    STEPS = 32      # of the recursion for expected numbers of tables


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
    cdef bint repeats, learns, needs_tables     # whether b and mass are finite; whether t_ik matter
    cdef vector[double] tables, opened          # t_ik, and T_k
    cdef vector[double] of_all, of_others       # t(c_i) and t(c_i - 1) for each topic, without a discount
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
        self.needs_tables = self.learns or self.discount > 0.0
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
        self.weight.resize(2 * n)
        if self.repeats:
            self.tables.assign(m * n, 0.0)
            self.opened.assign(n, 0.0)
            self.of_all.resize(m * n)
            self.of_others.resize(m * n)
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
            if self.repeats and self.learns and self.discount == 0.0:
                self.count_tables(i, self.count[begin + i])
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
        if self.repeats and self.needs_tables:
            self.open_tables(i, count)

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
        """The same where topics differ by document."""
        cdef int64_t k, n = self.base.shape[0]
        cdef double *r = self.r.data() + i * n
        cdef const double *phi = self.a.data() + i * n
        cdef const double *prior = &self.prior[0]
        cdef double *own = self.own.data()
        cdef double *weight = self.weight.data()
        cdef double scale, others, new, topic, here, all_tables, more = count - 1.0 if count > 1.0 else 0.0
        if self.learns and self.discount == 0.0:
            self.weigh_learned(i, more)
        else:
            for k in range(n):
                others = own[k] - r[k]
                others = others if others > 0.0 else 0.0
                weight[k] = prior[k] + (others if self.learns else own[k])
                topic = phi[k]
                if self.discount > 0.0:
                    here = r[k] * self.tables_of(more, phi[k], k)
                    all_tables = max(self.opened[k] - self.tables[i * n + k] + here, 0.0)
                    if self.learns:
                        topic = (self.mass[k] * topic + here) / (self.mass[k] + all_tables)
                    topic = more * r[k] - self.discount * here + (self.b + self.discount * all_tables) * topic
                else:
                    topic = more * r[k] + self.b * topic
                weight[k] *= topic / (self.b + others)
        scale = 1.0 / sum_of(weight, n)
        for k in range(n):
            new = weight[k] * scale
            own[k] += count * (new - r[k])
            r[k] = new
        if self.needs_tables:
            self.open_tables(i, count)

    cdef void weigh_learned(self, int64_t i, double more) noexcept nogil:
        """The weights without a discount, for topics that learn: most of the time, so with a single division."""
        cdef int64_t k, n = self.base.shape[0]
        cdef const double *r = self.r.data() + i * n
        cdef const double *phi = self.a.data() + i * n
        cdef const double *prior = &self.prior[0]
        cdef const double *mass = &self.mass[0]
        cdef const double *own = self.own.data()
        cdef const double *opened = self.opened.data()
        cdef const double *tables = self.tables.data() + i * n
        cdef const double *of_others = self.of_others.data() + i * n
        cdef double *weight = self.weight.data()
        cdef double others, here, learned, b = self.b
        for k in range(n):
            others = own[k] - r[k]
            others = others if others > 0.0 else 0.0
            here = r[k] * of_others[k]
            learned = opened[k] - tables[k] + here
            learned = mass[k] + (learned if learned > 0.0 else 0.0)
            weight[k] = (
                (prior[k] + others) * (more * r[k] * learned + b * (mass[k] * phi[k] + here)) / (learned * (b + others))
            )

    cdef double tables_of(self, double count, double phi, int64_t k) noexcept nogil:
        """Expected number of tables of these tokens of a term if all are of the topic.

        After some steps of the recursion, by the differential equation dt/dn = w / (n - a t + w): with D = n - a
        t + (1 - a) w at its start, n grows by D (exp(s / w) - 1) + a s where t grows by s.
        """
        cdef double n = count, found, w = (self.b + self.discount * self.opened[k]) * phi, d, s, power
        cdef int64_t step
        if count <= 1.0:
            return count
        n = count - ceil(count) + 1.0
        found = n
        for step in range(STEPS):
            if n > count - 0.5:
                return found
            found += w / (n - self.discount * found + w)
            n += 1.0
        if n > count - 0.5 or w <= 0.0:
            return found
        d = n - 0.5 - self.discount * found + (1.0 - self.discount) * w
        s = w * log1p((count - n) / d)
        if self.discount > 0.0:
            for step in range(STEPS):       # Newton's method, from above: the left side is convex
                power = d * exp(s / w)
                s -= (power - d + self.discount * s - (count - n)) / (power / w + self.discount)
        return found + s

    cdef void count_tables(self, int64_t i, double count) noexcept nogil:
        """Compute the expected numbers of tables of a term if all its tokens are of a topic."""
        cdef int64_t k, n = self.base.shape[0]
        for k in range(n):
            self.of_all[i * n + k] = self.tables_of(count, self.a[i * n + k], k)
            self.of_others[i * n + k] = self.tables_of(count - 1.0 if count > 1.0 else 0.0, self.a[i * n + k], k)

    cdef void open_tables(self, int64_t i, double count) noexcept nogil:
        """Compute the expected numbers of tables of a term in the topics, and of the topics."""
        cdef int64_t k, n = self.base.shape[0]
        cdef const double *r = self.r.data() + i * n
        cdef const double *of_all = self.of_all.data() + i * n
        cdef double *tables = self.tables.data() + i * n
        cdef double *opened = self.opened.data()
        cdef double new
        for k in range(n):
            new = r[k] * (of_all[k] if self.discount == 0.0 else self.tables_of(count, self.a[i * n + k], k))
            opened[k] += new - tables[k]
            tables[k] = new

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
        if self.repeats and self.needs_tables:
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
