# distutils: language = c++
"""New groups under fixed dishes (the readable twin: `hdpkit.franchise.reference.new_groups`).

A customer's weights have two parts: the entries of its own group, which are few, and the rest, which is
(theta + d T) times a number that is computed once for each customer, because densities and shares are fixed.
A pass over all dishes is needed only if a draw falls into the second part.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

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
    """

    cdef const double[:, ::1] density, share
    cdef const int64_t[::1] row, begins, parent
    cdef double theta, d
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

    def __cinit__(self, density, share, row, begins, parent, double concentration, double discount):
        self.density, self.share = density, share
        self.row, self.begins, self.parent = row, begins, parent
        self.theta, self.d = concentration, discount
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
        self.n = self.n_entries = 0

    # ------------------------------------------------------------------ the current group

    cdef int begin(self, int64_t group) except -1 nogil:
        """Make this group the current one, with all customers unseated; allocates all memory for its steps."""
        cdef int64_t i, n_dishes = self.density.shape[1]
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
        self.clear()
        return 0

    cdef void clear(self) noexcept nogil:
        """Unseat all customers."""
        cdef int64_t i
        for i in range(self.n):
            self.at[i] = -1
        for i in range(self.n_entries):
            self.entry_of[self.dish[i]] = -1
        self.n_entries = 0
        self.n_unused = 0
        self.seated = 0

    cdef void leave(self, int64_t i) noexcept nogil:
        cdef int32_t e = self.at[i]
        self.size[e] -= 1
        self.seated -= 1
        self.at[i] = -1
        if self.size[e] == 0:
            self.entry_of[self.dish[e]] = -1
            self.unused[self.n_unused] = e
            self.n_unused += 1

    cdef int32_t opened(self, int32_t dish) noexcept nogil:
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

    cdef int sit(self, int64_t i, choice_source *source) noexcept nogil:
        """Draw a customer's table and dish given those of the others. -1 if the draw fails."""
        cdef const double *f = &self.density[self.row[self.first + i], 0]
        cdef double *w = self.weights.data()
        cdef double total = 0.0, fresh = 1.0, norm = 1.0
        cdef int64_t e, k, chosen, n_entries = self.n_entries, n_dishes = self.density.shape[1]
        if self.seated > 0:      # the row of an empty group is its parent's
            fresh = self.fresh()
            norm = self.theta + self.seated
        for e in range(n_entries):
            w[e] = (self.size[e] - self.d) * f[self.dish[e]] if self.size[e] > 0 else 0.0
            total += w[e]
        w[n_entries] = fresh * self.rest[i]
        self.probability = (total + w[n_entries]) / norm
        chosen = source.choose(source.state, w, n_entries + 1)
        if chosen == n_entries:
            for k in range(n_dishes):
                w[k] = f[k] * self.above[k]
            chosen = source.choose(source.state, w, n_dishes)
            if chosen >= 0:
                chosen = self.opened(<int32_t>chosen)
        if chosen < 0:
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

    def seat(self, group, dishes, tables):
        """Make a group the current one and seat its customers.

        Parameters
        ----------
        group : int
        dishes, tables : sequences of int, one per customer of the group Customers with the same number in
        ``tables`` share a table. Without a discount only dishes matter.
        """
        self.begin_at(group)
        check_length("dishes", len(dishes), self.n)
        check_length("tables", len(tables), self.n)
        cdef int64_t i, k
        there = {}
        for i in range(self.n):
            k = whole("dish", dishes[i], 0, self.density.shape[1] - 1)
            if tables[i] not in there or self.d == 0.0:
                there[tables[i]] = self.opened(<int32_t>k)
            self.at[i] = there[tables[i]]
            self.size[self.at[i]] += 1
            self.seated += 1

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
