# distutils: language = c++
"""New groups under fixed dishes: sweeps over them, fitted proportions, and topics that learn from a group's words."""

import numpy as np

from libc.math cimport INFINITY, fabs, log, sqrt
from libc.stdint cimport int32_t, int64_t

from hdpkit.numerics cimport det_log
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.vectors cimport vector


# ----------------------------------------------------------------------------------------------- sweeps
# A customer's weights have two parts: the entries of its own group, which are few, and the rest, which is
# (theta + d T) times a number that is computed once for each customer, because densities and shares are
# fixed. A pass over all dishes is needed only if a draw falls into the second part.
#
# If dishes differ by group, with phi_jk ~ PY(a, b, phi_k), the density under a dish that has customers in
# the group differs from its row of `density`: only these few are computed again for each customer.

cdef enum:
    LANES = 8


cdef double product_sum(const double *a, const double *b, int64_t n) noexcept nogil:
    """Sum of a[k] b[k] in lanes, in the same order on every processor."""
    cdef double lane[LANES]
    cdef int64_t k = 0, j
    for j in range(LANES):
        lane[j] = 0.0
    while k + LANES <= n:
        for j in range(LANES):
            lane[j] += a[k + j] * b[k + j]
        k += LANES
    for j in range(n - k):
        lane[j] += a[k + j] * b[k + j]
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))


cdef class NewGroups:
    """Groups of customers whose parents' rows and whose dishes' densities are fixed.

    ``density`` has a row for each distinct value, with the density under each dish and a new one; customers of group g
    are begins[g] .. begins[g + 1] - 1, each with a ``row``; ``share`` are the rows of parents, ``parent`` that of a group.
    """

    cdef const double[:, ::1] density, share
    cdef const int64_t[::1] row, begins, parent
    cdef double theta, d, b, a
    cdef bint repeats                   # whether b is finite
    # The current group.
    cdef int64_t first, n               # its first customer, and its number of customers
    cdef const double *above            # its parent's row
    cdef vector[double] rest            # of each customer: sum over dishes of share times density
    cdef vector[int32_t] at             # entry of each customer, -1 while unseated
    cdef vector[int32_t] dish, size     # of each entry: a table or, without a discount, all tables of a dish
    cdef vector[int32_t] unused         # entries without customers
    cdef vector[int32_t] entry_of       # of each dish, if entries are dishes; -1 for none
    cdef vector[double] weights
    cdef int64_t n_entries, n_unused    # numbers of entries in use, and of unused ones
    cdef int64_t seated                 # seated customers
    cdef double probability             # of the value of the customer seated last, given the others
    # If dishes differ by group: dishes with customers in the group, their number, and the density under each;
    # of all dishes, the place among these (-1 for none), customers, and tables at which these repeat values.
    cdef vector[int32_t] present, place, customers, opened
    cdef vector[double] own
    cdef int64_t n_present
    # Values of the group, by row (-1: none here), and of each customer; where the tables of each value begin,
    # and how many places are in use. Of each table its dish and its customers, of each customer its table.
    cdef vector[int32_t] value_of, value, begins_at, in_use, copied, copies, repeated

    def __cinit__(self, density, share, row, begins, parent, double concentration, double discount,
                  double repeat_concentration=INFINITY, double repeat_discount=0.0):
        self.density, self.share = density, share
        self.row, self.begins, self.parent = row, begins, parent
        self.theta, self.d = concentration, discount
        self.b, self.a = repeat_concentration, repeat_discount
        self.repeats = repeat_concentration < INFINITY
        if self.repeats:
            self.value_of.assign(self.density.shape[0], -1)
            self.place.assign(self.density.shape[1], -1)
            self.customers.assign(self.density.shape[1], 0)
            self.opened.assign(self.density.shape[1], 0)
        self.n = self.n_entries = self.n_present = 0

    # ------------------------------------------------------------------ the current group

    cdef int begin(self, int64_t group) except -1 nogil:
        """Make this group the current one, with all customers unseated; allocates all memory for its steps."""
        cdef int64_t i, n_dishes = self.density.shape[1]
        if self.repeats:
            self.clear()
            for i in range(self.n):
                self.value_of[self.row[self.first + i]] = -1
        self.first = self.begins[group]
        self.n = self.begins[group + 1] - self.first
        self.above = &self.share[self.parent[group], 0]
        self.rest.resize(self.n)
        self.at.resize(self.n)
        self.dish.resize(self.n)
        self.size.resize(self.n)
        self.unused.resize(self.n)
        self.weights.resize(max(self.n + 1, n_dishes))
        self.entry_of.assign(n_dishes, -1)
        for i in range(self.n):
            self.rest[i] = product_sum(&self.density[self.row[self.first + i], 0], self.above, n_dishes)
        self.n_entries = 0
        if self.repeats:
            self.number_values()
        self.clear()
        return 0

    cdef int number_values(self) except -1 nogil:
        """Number the distinct values of the group; each has places for as many tables as customers."""
        cdef int64_t i, n_values = 0
        cdef int32_t v, total = 0
        self.present.resize(self.n)
        self.own.resize(self.n)
        self.value.resize(self.n)
        self.copied.resize(self.n)
        self.copies.resize(self.n)
        self.repeated.resize(self.n)
        self.in_use.assign(self.n, 0)
        self.begins_at.resize(self.n)
        for i in range(self.n):
            v = self.value_of[self.row[self.first + i]]
            if v < 0:
                v = <int32_t>n_values
                self.value_of[self.row[self.first + i]] = v
                n_values += 1
            self.value[i] = v
            self.in_use[v] += 1
        for v in range(<int32_t>n_values):
            self.begins_at[v] = total
            total += self.in_use[v]
        return 0

    cdef void clear(self) noexcept nogil:
        """Unseat all customers."""
        cdef int64_t i
        cdef int32_t k
        if self.repeats:
            for i in range(self.n):
                self.repeated[i] = -1
                self.in_use[i] = 0
            for i in range(self.n_present):
                k = self.present[i]
                self.place[k] = -1
                self.customers[k] = self.opened[k] = 0
            self.n_present = 0
        for i in range(self.n):
            self.at[i] = -1
        for i in range(self.n_entries):
            self.entry_of[self.dish[i]] = -1
        self.n_entries = 0
        self.n_unused = 0
        self.seated = 0

    cdef void leave(self, int64_t i) noexcept nogil:
        cdef int32_t e = self.at[i]
        if self.repeats:
            self.forget(i, self.dish[e])
        self.size[e] -= 1
        self.seated -= 1
        self.at[i] = -1
        if self.size[e] == 0:
            self.entry_of[self.dish[e]] = -1
            self.unused[self.n_unused] = e
            self.n_unused += 1

    cdef int32_t entry_for(self, int32_t dish) noexcept nogil:
        """An entry for a new table of a dish; without a discount, the dish's entry."""
        cdef int32_t e = -1
        if self.d == 0.0:
            e = self.entry_of[dish]
        if e >= 0:
            return e
        if self.n_unused > 0:
            self.n_unused -= 1
            e = self.unused[self.n_unused]
        else:
            e = <int32_t>self.n_entries
            self.n_entries += 1
        self.dish[e] = dish
        self.size[e] = 0
        self.entry_of[dish] = e
        return e

    cdef double fresh(self) noexcept nogil:
        """theta + d T: the mass of new tables."""
        return self.theta + self.d * (self.n_entries - self.n_unused)

    cdef void forget(self, int64_t i, int32_t k) noexcept nogil:
        """Remove a customer of a dish from the table at which it repeats its value."""
        cdef int32_t last, e = self.repeated[i]
        self.repeated[i] = -1
        self.copies[e] -= 1
        self.opened[k] -= self.copies[e] == 0
        self.customers[k] -= 1
        if self.customers[k] == 0:
            self.n_present -= 1
            last = self.present[self.n_present]
            self.present[self.place[k]] = last
            self.place[last] = self.place[k]
            self.place[k] = -1

    cdef int repeat(self, int64_t i, int32_t k, choice_source *source) noexcept nogil:
        """Draw the table at which a customer of a dish repeats its value, or open one. -1 if the draw fails."""
        cdef int64_t first = self.begins_at[self.value[i]], m = self.in_use[self.value[i]], e, chosen = m
        cdef double *w = self.weights.data()
        cdef bint any_there = False
        for e in range(m):
            if self.copied[first + e] == k and self.copies[first + e] > 0:
                any_there = True
                chosen = e
                w[e] = self.copies[first + e] - self.a
            else:
                w[e] = 0.0
        if self.a > 0.0 and any_there:
            w[m] = (self.b + self.a * self.opened[k]) * self.density[self.row[self.first + i], k]
            chosen = source.choose(source.state, w, m + 1)
            if chosen < 0:
                return -1
        if chosen == m:
            for e in range(m):
                if self.copies[first + e] == 0:
                    chosen = e
                    break
            else:
                self.in_use[self.value[i]] += 1
            self.copied[first + chosen] = k
            self.copies[first + chosen] = 0
            self.opened[k] += 1
        if self.customers[k] == 0:
            self.place[k] = <int32_t>self.n_present
            self.present[self.n_present] = k
            self.n_present += 1
        self.customers[k] += 1
        self.copies[first + chosen] += 1
        self.repeated[i] = <int32_t>(first + chosen)
        return 0

    cdef double weigh_present(self, const double *f, int32_t value) noexcept nogil:
        """Compute the density of a value under each dish with customers; returns the change of `rest`."""
        cdef int64_t p, e
        cdef double change = 0.0
        for p in range(self.n_present):
            self.own[p] = (self.b + self.a * self.opened[self.present[p]]) * f[self.present[p]]
        if value >= 0:
            for e in range(self.begins_at[value], self.begins_at[value] + self.in_use[value]):
                if self.copies[e] > 0:
                    self.own[self.place[self.copied[e]]] += self.copies[e] - self.a
        for p in range(self.n_present):
            self.own[p] /= self.customers[self.present[p]] + self.b
            change += self.above[self.present[p]] * (self.own[p] - f[self.present[p]])
        return change

    cdef void weigh(self, int64_t row, double rest) noexcept nogil:
        """Weights of the entries for a value and, last, of new tables; `probability` of the value."""
        cdef const double *f = &self.density[row, 0]
        cdef double *w = self.weights.data()
        cdef double total = 0.0, fresh = 1.0, norm = 1.0
        cdef int64_t e, n_entries = self.n_entries
        if self.seated > 0:      # the row of an empty group is its parent's
            fresh = self.fresh()
            norm = self.theta + self.seated
        if self.repeats:
            rest = max(rest + self.weigh_present(f, self.value_of[row]), 0.0)
            for e in range(n_entries):
                w[e] = (self.size[e] - self.d) * self.own[self.place[self.dish[e]]] if self.size[e] > 0 else 0.0
                total += w[e]
        else:
            for e in range(n_entries):
                w[e] = (self.size[e] - self.d) * f[self.dish[e]] if self.size[e] > 0 else 0.0
                total += w[e]
        w[n_entries] = fresh * rest
        self.probability = (total + w[n_entries]) / norm

    cdef int sit(self, int64_t i, choice_source *source) noexcept nogil:
        """Draw a customer's table and dish given those of the others. -1 if the draw fails."""
        cdef int64_t row = self.row[self.first + i], k, chosen, n_dishes = self.density.shape[1]
        cdef const double *f = &self.density[row, 0]
        cdef double *w = self.weights.data()
        self.weigh(row, self.rest[i])
        chosen = source.choose(source.state, w, self.n_entries + 1)
        if chosen == self.n_entries:
            for k in range(n_dishes):
                w[k] = f[k] * self.above[k]
            for k in range(self.n_present):
                w[self.present[k]] = self.own[k] * self.above[self.present[k]]
            chosen = source.choose(source.state, w, n_dishes)
            if chosen >= 0:
                chosen = self.entry_for(<int32_t>chosen)
        if chosen < 0:
            return -1
        if self.repeats and self.repeat(i, self.dish[chosen], source) < 0:
            return -1
        self.at[i] = <int32_t>chosen
        self.size[chosen] += 1
        self.seated += 1
        return 0

    cdef int sweep(self, int64_t first, int64_t last, choice_source *source) noexcept nogil:
        """A Gibbs sweep over customers first .. last - 1 of the group."""
        cdef int64_t i
        for i in range(first, last):
            if self.at[i] >= 0:
                self.leave(i)
            if self.sit(i, source) < 0:
                return -1
        return 0

    # ------------------------------------------------------------------ for Python

    def seat(self, int64_t group, dishes, tables, sources=None):
        """Make a group the current one and seat its customers."""
        self.begin(group)
        cdef int64_t i, k, e
        there, places = {}, {}
        for i in range(self.n):
            k = dishes[i]
            if tables[i] not in there or self.d == 0.0:
                there[tables[i]] = self.entry_for(<int32_t>k)
            self.at[i] = there[tables[i]]
            self.size[self.at[i]] += 1
            self.seated += 1
            if not self.repeats:
                continue
            key = (self.value[i], k, sources[i] if self.a > 0.0 else 0)
            if key not in places:
                places[key] = e = self.begins_at[self.value[i]] + self.in_use[self.value[i]]
                self.in_use[self.value[i]] += 1
                self.copied[e], self.copies[e] = <int32_t>k, 0
                self.opened[k] += 1
            if self.customers[k] == 0:
                self.place[k] = <int32_t>self.n_present
                self.present[self.n_present] = <int32_t>k
                self.n_present += 1
            self.customers[k] += 1
            self.repeated[i] = places[key]
            self.copies[self.repeated[i]] += 1

    def reseat(self, int64_t first, int64_t last, ChoiceSource source not None):
        """A Gibbs sweep over customers first .. last - 1 of the current group."""
        if self.sweep(first, last, &source.c) < 0:
            raise failed(source)

    def dishes(self):
        """Dish of each customer of the current group; K is a new dish, -1 unseated."""
        return np.array([self.dish[at] if at >= 0 else -1 for at in self.tables()], dtype=np.int64)

    def tables(self):
        """Table of each customer of the current group; without a discount, its dish."""
        return np.array([self.at[i] for i in range(self.n)], dtype=np.int64)

    def sources(self):
        """Number of the table at which each customer repeats its value; -1 for none."""
        if not self.repeats:
            return np.full(self.n, -1, dtype=np.int64)
        return np.array([self.repeated[i] for i in range(self.n)], dtype=np.int64)

    def fold_in(self, int64_t first, int64_t last, int64_t burn_in, int64_t sweeps, ChoiceSource source not None,
                double[:, ::1] proportions not None, int64_t[::1] dishes not None):
        """Seat the customers of groups first .. last - 1, sweep over them, and average their groups' proportions."""
        cdef int64_t g, s, i, e, k, n_dishes = self.density.shape[1]
        cdef double fresh, scale
        cdef int status = 0
        with nogil:
            for g in range(first, last):
                self.begin(g)
                for k in range(n_dishes):
                    proportions[g, k] = 0.0
                if self.n == 0:
                    for k in range(n_dishes):
                        proportions[g, k] = self.above[k]
                    continue
                fresh = 0.0
                for s in range(1 + burn_in + sweeps):       # the first one seats all customers
                    status = self.sweep(0, self.n, &source.c)
                    if status < 0:
                        break
                    if s > burn_in:
                        for e in range(self.n_entries):
                            if self.size[e] > 0:
                                proportions[g, self.dish[e]] += self.size[e] - self.d
                        fresh += self.fresh()
                if status < 0:
                    break
                scale = 1.0 / (sweeps * (self.theta + self.n))
                for k in range(n_dishes):
                    proportions[g, k] = (proportions[g, k] + fresh * self.above[k]) * scale
                for i in range(self.n):
                    dishes[self.first + i] = self.dish[self.at[i]]
        if status < 0:
            raise failed(source)

    def complete(self, int64_t first, int64_t last, int64_t burn_in, int64_t sweeps, ChoiceSource source not None,
                 const int64_t[::1] held_begins not None, const int64_t[::1] held_row not None,
                 double[::1] found not None):
        """Average the density of the next customer's value over sweeps, for held-out values of the groups.

        ``held_begins`` and ``held_row`` have the held-out values of each group, as `begins` and `row` its customers;
        ``found`` is filled.
        """
        cdef int64_t g, s, j, n_dishes = self.density.shape[1]
        cdef int status = 0
        cdef vector[double] rests
        with nogil:
            for g in range(first, last):
                self.begin(g)
                rests.resize(held_begins[g + 1] - held_begins[g])
                for j in range(held_begins[g], held_begins[g + 1]):
                    found[j] = 0.0
                    rests[j - held_begins[g]] = product_sum(&self.density[held_row[j], 0], self.above, n_dishes)
                for s in range(1 + burn_in + sweeps):
                    status = self.sweep(0, self.n, &source.c)
                    if status < 0:
                        break
                    if s > burn_in:
                        for j in range(held_begins[g], held_begins[g + 1]):
                            self.weigh(held_row[j], rests[j - held_begins[g]])
                            found[j] += self.probability / sweeps
                if status < 0:
                    break
        if status < 0:
            raise failed(source)

    def left_to_right(self, int64_t group, int64_t particles, ChoiceSource source not None):
        """Log weights of particles whose mean weight is an unbiased estimate of a group's evidence.

        Before each customer all earlier ones are reseated; a particle's weight is the product of the predictive
        probabilities of the values in their order (Wallach et al. 2009; Buntine 2009).
        """
        cdef int64_t p, i
        cdef int status = 0
        self.begin(group)
        logs = np.zeros(particles)
        cdef double[::1] out = logs
        with nogil:
            for p in range(particles):
                self.clear()
                for i in range(self.n):
                    status = self.sweep(0, i, &source.c)
                    if status == 0:
                        status = self.sit(i, &source.c)
                    if status < 0:
                        break
                    out[p] += det_log(self.probability)
                if status < 0:
                    break
        if status < 0:
            raise failed(source)
        return logs


cdef object failed(ChoiceSource source):
    """The error to raise if a draw failed."""
    return source._failure() or FloatingPointError("a customer's dish can't be drawn")


# ----------------------------------------------------------------------------------- fitted proportions
# Proportions of documents under fixed topics, by EM (the readable twin:
# `hdpkit.evaluation.fit_proportions`).
#
# The fixed point is theta_k = (prior_k + theta_k s_k) / total, with s_k = sum over terms of count_i phi_ki
# / sum_l theta_l phi_li. A topic's probability of a term is the sum of a constant for all terms and an
# excess, which is 0 for most topics: phi_ki = base_k + excess_ki. The cost of a step is then the number of
# excess entries of the document's terms, plus a pass over the topics.
#
# Two methods reduce the number and cost of steps without changing the fixed point: extrapolation from every
# two steps (Varadhan & Roland 2008, scheme S3); and topics with a negligible part of the document are fixed
# for some steps at prior_k / (total - s_k), which solves their equation. A document has converged when a
# step of all topics changes none by more than the tolerance.

cdef enum:
    TURNS = 8           # rounds of two steps and an extrapolation, between two steps of all topics
    PLAIN = 100         # steps of all topics after which neither is done: both together may go in a circle

cdef double FIRST = 0.5                 # expected tokens below which a topic is fixed after the first step
cdef double NEXT_TO_NOTHING = 0.02      # the same later
cdef double FLAT = 0.9                  # s_k / total above which a topic is never fixed


cdef class Fitting:
    """Documents whose proportions are fitted.

    The probability of a term in a topic is `base`, or `base` + `excess` if one of its entries has the topic: term v has
    entries[v] .. entries[v + 1] - 1. `prior` are pseudo-counts of topics. Document d has cells begins[d] ..
    begins[d + 1] - 1, each with a term and its positive number of tokens.
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

    def fit(self, int64_t first, int64_t last, double tolerance, int64_t longest, double[:, ::1] theta not None):
        """Fit the proportions of documents first .. last - 1.

        ``theta`` is filled; rows sum to one. A document has converged when no proportion changes by more than the
        tolerance in a step of all topics. Returns the first that didn't within ``longest`` of these steps, -1 for none.
        """
        cdef int64_t d, astray = -1
        with nogil:
            for d in range(first, last):
                if not self.fit_one(d, tolerance, longest, &theta[d, 0]):
                    astray = d
                    break
        return astray

    cdef bint fit_one(self, int64_t d, double tolerance, int64_t longest, double *x) except -1 nogil:
        cdef int64_t n = self.base.shape[0], begin = self.begins[d], m = self.begins[d + 1] - begin
        cdef int64_t k, i, turn
        cdef double of_prior = 0.0, total, step, new, scale, least
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
            least = FIRST if turn == 0 else NEXT_TO_NOTHING if turn < PLAIN else 0.0
            self.steps(x, least, total, begin, m, tolerance)
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
        """A step of all topics from the current sums, then steps of those with more than `least` (0: plain EM)."""
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
            if least == 0.0 or not self.leap(total):
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


# ---------------------------------------------------------------------------------------------------- CVB0
# Topics updated by the observed words of a document, one document at a time (the readable twin is in
# tests/support/cvb0.py).
#
# A topic is Dirichlet(mass_k phi_k) given the fitted documents: phi_k is its mean, and mass_k the sum of
# its tokens and pseudo-counts. Words of a new document that come from the topic are added to it. With r_ik
# the probability that a token of term i comes from topic k, c_i the number of these tokens, and m_k = sum_i
# c_i r_ik, the fixed point is
#
#     r_ik ~ (prior_k + m_k - r_ik) (mass_k phi_ki + c_i r_ik - r_ik) / (mass_k + m_k - r_ik),
#
# in which the token itself is excluded (CVB0: Asuncion et al. 2009). It is computed iteratively, term by
# term, beginning with the proportions under the topics of the fit. Documents don't influence each other.
#
# If topics differ by document, with phi_jk ~ PY(a, b, phi_k), the document's words also change its own
# phi_jk, and only the tables at which they repeat change phi_k. All n tokens of a term are drawn together,
# because repeated words hold each other in a topic: given the other terms, n_k of them at t_k tables are
# from topic k with a probability proportional to
#
#     n! prod_k A_k^(n_k) / n_k! w_k^(t_k) S_a(n_k, t_k),    A_k = (prior_k + m_k - r_k) / (b + m_k - r_k),
#     w_k = (b + a T_k) phi'_k,                              phi'_k = (mass_k phi_k + t^_k) / (mass_k + T_k),
#
# S_a being the generalised Stirling numbers, r_k the expected share of the tokens that are from topic k,
# t^_k = t_k - r_k the expected number of tables without one of the tokens, and T_k that of all terms
# without it. The generating function of the sums of these products over all n is exp(sum_k w_k (1 - (1 -
# A_k x)^a) / a), so that with q_j = (1 - a) .. (j - 1 - a) / (j - 1)!
#
#     n f_n = sum_j q_j (sum_k w_k A_k^j) f_(n-j),   E[n_k] = w_k sum_j q_j A_k^j f_(n-j) / f_n,
#     E[t_k] = w_k sum_j q_j / j A_k^j f_(n-j) / f_n,
#
# with j from 1 to n and f_0 = 1. Where the topics don't learn, phi'_k is phi_k, and the numerator of A_k is
# prior_k + m_k. As b grows, t_k becomes n_k, and all this becomes the equation above or, for topics that
# don't learn, EM (`Fitting`).

cdef enum:
    LARGEST = 64    # tokens of a term that are drawn together; the others have the same shares


cdef class CVB0:
    """Documents in two halves: topics are updated by the words of one half, and the other half is scored.

    `mass` are tokens and pseudo-counts of each topic, positive; or all infinite, for topics that don't learn, if topics
    differ by document. Terms of a document are ascending; the other halves have cells, too. Others as in `Fitting`.
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
        self.b, self.discount = repeat_concentration, repeat_discount
        self.repeats = repeat_concentration < INFINITY
        self.learns = self.base.shape[0] > 0 and self.mass[0] < INFINITY
        cdef int64_t j
        self.q[1] = 1.0
        for j in range(2, LARGEST + 1):
            self.q[j] = self.q[j - 1] * (j - 1 - self.discount) / (j - 1)

    def score(
        self, int64_t first, int64_t last, double tolerance, int64_t longest, double[:, ::1] theta not None,
        double[::1] found not None, double[::1] known not None,
    ):
        """Probabilities of a token of each cell of the other halves of documents first .. last - 1.

        ``theta`` has initial values, positive if `prior` is, and gets the computed proportions, after at most ``longest``
        passes; ``known`` gets the probability of the terms of the observed half, all together.
        """
        cdef int64_t d
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
