# distutils: language = c++
"""New groups under fixed dishes (the readable twin: `hdpkit.franchise.reference.new_groups`).

A customer's weights have two parts: the entries of its own group, which are few, and the rest, which is
(theta + d T) times a number that is computed once for each customer, because densities and shares are fixed.
A pass over all dishes is needed only if a draw falls into the second part.

If dishes differ by group, with phi_jk ~ PY(a, b, phi_k), the density under a dish that has customers in the group
differs from its row of `density`: only these few are computed again for each customer.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.fixed_dishes.first_entries cimport ascending
from hdpkit._compiled.support.arguments cimport check_length, check_numbers64, check_range, refuse, whole
from hdpkit.numerics cimport det_log
from hdpkit.random._source cimport ChoiceSource, choice_source

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

    Parameters
    ----------
    density : float64 array, shape (n_rows, K + 1)
        Density of a value under each dish and, last, a new one; each row up to a factor.
    share : float64 array, shape (n_parents, K + 1)
        Probability of each dish and, last, a new one in the parent restaurants.
    row : int64 array, shape (n_customers,)
        Row of `density` of each customer. The customers of a group are consecutive.
    begins : int64 array, shape (n_groups + 1,)
        First customer of each group, and the number of customers.
    parent : int64 array, shape (n_groups,)
        Row of `share` of each group.
    concentration, discount : float
        Of all groups.
    repeat_concentration, repeat_discount : float
        b and a of the distribution of a dish in each group, PY(a, b, dish): its values repeat there, and
        customers with one row of `density` have one value. Densities are then absolute. If b is infinite,
        dishes are the same in all groups.
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
        cdef int64_t g, n_groups = self.parent.shape[0]
        check_length("begins", self.begins.shape[0], n_groups + 1)
        check_length("share", self.share.shape[1], self.density.shape[1])
        check_numbers64("row", self.row, 0, self.density.shape[0] - 1)
        check_numbers64("parent", self.parent, 0, self.share.shape[0] - 1)
        check_numbers64("begins", self.begins, 0, self.row.shape[0])
        for g in range(n_groups):
            if self.begins[g] > self.begins[g + 1]:
                refuse("begins", self.begins[g], f"at most {self.begins[g + 1]}", "Customers of a group are consecutive.")
        if not (0.0 <= discount < 1.0 and concentration > -discount):
            refuse("discount", discount, "from 0 to below 1, and above -concentration", "See Restaurant.")
        if not (0.0 <= repeat_discount < 1.0 and repeat_concentration > 0.0):
            refuse("repeat_concentration", repeat_concentration, "above 0, with a discount from 0 to below 1", "See Bursty.")
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

    cdef int begin_at(self, object group) except -1:
        cdef int64_t g = whole("group", group, 0, self.parent.shape[0] - 1)
        self.begin(g)
        return 0

    def seat(self, group, dishes, tables, sources=None):
        """Make a group the current one and seat its customers.

        Parameters
        ----------
        group : int
        dishes, tables : sequences of int, one per customer of the group
            Customers with the same number in ``tables`` share a table. Without a discount only dishes matter.
        sources : sequence of int, one per customer, if dishes differ by group
            Customers of one dish and row that repeat the same value have the same number.
        """
        self.begin_at(group)
        check_length("dishes", len(dishes), self.n)
        check_length("tables", len(tables), self.n)
        cdef int64_t i, k, e
        there, places = {}, {}
        if self.repeats:
            check_length("sources", len(sources), self.n)
        for i in range(self.n):
            k = whole("dish", dishes[i], 0, self.density.shape[1] - 1)
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
        check_range(first, last, self.n)
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
        """Seat the customers of groups first .. last - 1, sweep over them, and average their groups' proportions.

        Parameters
        ----------
        first, last : int
            Groups first .. last - 1.
        burn_in, sweeps : int
            Numbers of sweeps before the average, and in the average.
        source : ChoiceSource
        proportions : float64 array, shape (n_groups, K + 1)
            Filled: mean over sweeps of the posterior mean of a group's weights given the seating.
        dishes : int64 array, shape (n_customers,)
            Filled: dish of each customer after the last sweep.
        """
        cdef int64_t g, s, i, e, k, n_dishes = self.density.shape[1]
        cdef double fresh, scale
        cdef int status = 0
        check_range(first, last, self.parent.shape[0])
        check_length("proportions", proportions.shape[0], self.parent.shape[0])
        check_length("proportions", proportions.shape[1], n_dishes)
        check_length("dishes", dishes.shape[0], self.row.shape[0])
        whole("burn_in", burn_in, 0, 1 << 40)
        whole("sweeps", sweeps, 1, 1 << 40)
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

        Parameters
        ----------
        first, last, burn_in, sweeps, source
            As for `fold_in`.
        held_begins : int64 array, shape (n_groups + 1,)
            First held-out value of each group, and their number.
        held_row : int64 array, shape (n_held,)
            Row of `density` of each held-out value.
        found : float64 array, shape (n_held,)
            Filled for these groups.
        """
        cdef int64_t g, s, j, n_dishes = self.density.shape[1]
        cdef int status = 0
        cdef vector[double] rests
        check_range(first, last, self.parent.shape[0])
        check_length("held_begins", held_begins.shape[0], self.parent.shape[0] + 1)
        ascending("held_begins", held_begins, held_row.shape[0])
        check_length("found", found.shape[0], held_row.shape[0])
        check_numbers64("held_row", held_row, 0, self.density.shape[0] - 1)
        whole("burn_in", burn_in, 0, 1 << 40)
        whole("sweeps", sweeps, 1, 1 << 40)
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

    def left_to_right(self, group, int64_t particles, ChoiceSource source not None):
        """Log weights of particles whose mean weight is an unbiased estimate of a group's evidence.

        Before each customer all earlier ones are reseated; a particle's weight is the product of the predictive
        probabilities of the values in their order (Wallach et al. 2009; Buntine 2009).

        Parameters
        ----------
        group : int
        particles : int
        source : ChoiceSource

        Returns
        -------
        float64 array, shape (particles,)
            In nats, up to the factors of the rows of `density`.
        """
        cdef int64_t p, i
        cdef int status = 0
        self.begin_at(group)
        logs = np.zeros(whole("particles", particles, 1, 1 << 40))
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
