# distutils: language = c++
"""Table Gibbs over the states of a hidden Markov model, one observation at a time, given weights of the root.

With an observation and its two transitions taken out, j before it and l after it,

    P(z = k) ~ (alpha psi_k + kappa [j = k] + n_jk) f_k(x)
               (alpha psi_l + kappa [k = l] + n_kl + [j = k = l]) / (alpha + kappa + n_k + [j = k]),

without the second line at the end of a sequence (Teh et al. 2006, section 7; sticky: Fox et al. 2008). The
start row has no kappa. Tables are drawn at the end, given the transitions. The readable twin, which serves
every tree of which homes depend on the state, is `hdpkit.franchise.reference.state_homes`.
"""

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t

from hdpkit._compiled.generic_sweeps.sweeps cimport fail, misplaced
from hdpkit._compiled.generic_sweeps.weighing cimport LEAST_TOTAL, weigh_again
from hdpkit._compiled.measures.measure cimport CompiledBank, measure_t
from hdpkit._compiled.stores.counts cimport CountsStore
from hdpkit._compiled.stores.seating cimport ANONYMOUS, ENTRY_WORDS, Entry
from hdpkit._compiled.support.arguments cimport check_length, check_range
from hdpkit._compiled.support.guarded import guarded
from hdpkit._compiled.walk.slots cimport DishSlots
from hdpkit._compiled.walk.table_counts cimport tables_of
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.vectors cimport vector


cdef class Sites:
    """Rows of transition counts of a store, for a sweep over observations.

    Parameters
    ----------
    store : CountsStore
    slots : DishSlots
    bank : CompiledBank
        Statistics of the dishes, without those of missing observations.
    walk : ReferenceWalk
        Over the same store and slots; it has the rows of dishes, and the weights of the root.
    missing : bool array, shape (n_customers,), optional
    """

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
            check_length("missing", self.missing.shape[0], store.n_customers)
        self.start = tree.first[len(tree.first) - 1]
        self.first_row = self.start + tree.n_fixed
        self.alpha, self.start_alpha = walk.concentration[self.first_row], walk.concentration[self.start]
        self.kappa = tree.sticky.kappa
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
                self.walk.topology.sticky.take(own, overrides)
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


@guarded
def reseat(walk, CompiledBank bank not None, missing, int64_t first, int64_t last, ChoiceSource source not None):
    """Reseat data customers first .. last - 1, one after the other; see `Sites`."""
    cdef Sites sites
    cdef int64_t i
    cdef const int8_t[::1] begins
    bank.ready()
    check_range(first, last, min(bank.n_customers, walk.topology.n_customers))
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
