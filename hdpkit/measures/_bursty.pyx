# distutils: language = c++
"""The compiled bank of topics that differ by restaurant. Its C functions are in `_bursty_counts.pyx`."""

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t
from hdpkit.vectors cimport bytes_of, vector

from hdpkit.measures._bursty_counts cimport (
    ABSENT, DRAW, TRIAL, BurstyCounts, Counted, OwnCell, Pair, at, cell_bytes, cell_of, clear_cells, clear_pair, collect,
    collect_one, collect_proposed, concentration_of, count_cell, count_pair, draw_alone, forget, grow_lists, pair_of,
    ready_block, ready_cells, rise, set_functions, sit, unlist_cells, widen_slots)
from hdpkit.measures._dirichlet_multinomial cimport DirichletMultinomialBank
from hdpkit.measures._measure cimport (
    CompiledBank, DishValues, as_int32, copy_numbers, hold_numbers, number_bytes, prepare_numbers, set_number)
from hdpkit.measures._measure import HasNumbers
from hdpkit.measures._sparse_dirichlet_multinomial cimport SparseDirichletMultinomialBank
from hdpkit.stores._stirling cimport clear_ratios, log_discounted_sum
from hdpkit.stores._stirling import logs_of
from hdpkit._arguments cimport check_length, check_numbers32, refuse
from hdpkit.errors import StateError
from hdpkit.numerics cimport det_log, log_rising, log_rising_steps
from hdpkit.random._source cimport ChoiceSource

cdef enum:
    LARGEST = 0x7FFFFFFF
    FEW = 64             # pairs of fewer customers and tables are counted in an array
    SCANNED = 1 << 18    # most customers of a restaurant whose cells are counted each time
    LISTED = 64          # the same in the fused sweep

# Smallest concentration of a sweep in single precision: with a smaller one, weights of new tables are lost.
cdef double LEAST_CONCENTRATION = 1e-10


cdef class BurstyBank(CompiledBank):
    """Customers and tables of terms in each restaurant, over the compiled bank of the topics, which has the tables.

    Its readable twin, `BurstyReferenceBank`, says what is drawn, and why it is exact. The last ``n_earlier`` values
    are earlier observations of known components: each is a table of its own, in the inner bank only, and is never
    removed. Restaurants with more customers than ``scanned``, in the fused sweep ``unlisted``, have lists of cells.
    """

    COMPILED = COUNTING = SEATS_VALUES = True
    needs_dishes = False

    def __cinit__(self, measure, values, inner, scanned=SCANNED, n_earlier=0, kept=None, unlisted=LISTED):
        cdef const int32_t[::1] view = np.ascontiguousarray(values, dtype=np.int32)
        self.inner = inner
        self.values = values
        self.terms = np.asarray(view)
        self.measure = measure
        self.b.inner = &self.inner.c
        self.b.source = NULL
        self.b.topics = NULL
        if type(inner) is DirichletMultinomialBank:
            self.b.topics = &(<DirichletMultinomialBank>inner).b
            self.b.term_place.assign(self.b.topics.n_terms, -1)
        self.b.terms = &view[0] if view.shape[0] else NULL
        self.b.restaurant = NULL
        self.b.n_customers = view.shape[0] - <int64_t>n_earlier
        self.b.largest = scanned
        self.b.plain = min(self.b.largest, <int64_t>unlisted)
        self.b.loaded = self.b.listed = -1
        self.b.proposed.used = self.b.places.used = 0
        self.b.settling = False
        self.b.log_added = 0.0
        self.sat = {}
        self.b.version = 0
        self.b.own = NULL
        clear_ratios(&self.b.ratios)
        forget(&self.b)
        self.b.slot_of.assign(view.shape[0], -1)
        self.b.opens.assign(view.shape[0], 0)
        self._take(measure)
        widen_slots(&self.b, self.inner.room())
        set_functions(&self.c, &self.b)
        self.complete(view.shape[0])

    def _take(self, measure):
        self.b.concentration = measure.concentration if measure.conjugate else 1.0     # each dish has one
        self.b.discount = measure.discount
        self.measure = measure

    cdef int64_t room(self) except -1:
        return min(<int64_t>self.b.is_proposal.size(), self.inner.room())

    cdef int widen(self, int64_t slots) except -1:
        return widen_slots(&self.b, slots)

    def read_restaurants(self, restaurants):
        found = as_int32(restaurants)
        self.b.n_restaurants = max(found, default=-1) + 1
        # Earlier observations have one that nobody enters.
        self.restaurants = np.append(found, np.full(self.n_customers - len(found), self.b.n_restaurants, dtype=np.int32))
        self.index()
        self._reset()

    cdef int index(self) except -1:
        """Sort customers by restaurant and term."""
        cdef const int32_t[::1] home = self.restaurants
        cdef const int32_t[::1] view
        cdef int64_t i, n = self.n_customers, longest = 0
        cdef bint is_sorted = True
        cdef BurstyCounts *b = &self.b
        b.restaurant = &home[0] if n else NULL
        with nogil:
            for i in range(1, n):
                if home[i - 1] > home[i] or (home[i - 1] == home[i] and b.terms[i - 1] > b.terms[i]):
                    is_sorted = False
                    break
        b.sorted = is_sorted
        b.order.resize(0 if is_sorted else n)
        b.place.resize(0 if is_sorted else n)
        if not is_sorted:
            view = np.lexsort((self.terms, self.restaurants)).astype(np.int32)
            for i in range(n):
                b.order[i] = view[i]
                b.place[view[i]] = <int32_t>i
        b.begin.assign(b.n_restaurants + 2, 0)
        with nogil:
            for i in range(n):
                b.begin[home[i] + 1] += 1
            for i in range(b.n_restaurants + 1):
                longest = max(longest, b.begin[i + 1])
                b.begin[i + 1] += b.begin[i]
        if longest > b.largest:
            grow_lists(b, longest)
        return 0

    def _reset(self):
        """Unseat everybody."""
        cdef BurstyCounts *b = &self.b
        b.slot_of.assign(self.n_customers, -1)
        b.seated.assign(b.seated.size(), 0)
        b.is_proposal.assign(b.is_proposal.size(), 0)
        clear_cells(&b.proposed)
        b.loaded = b.listed = -1
        b.version += 1
        forget(b)

    @property
    def fix(self):
        """Set the topics of dishes, as the inner bank does; an AttributeError if it can't."""
        return self.inner.fix

    def prepare(self, ChoiceSource source not None):
        self.source = source
        self.sat = {}
        self.b.source = &source.c
        forget(&self.b)

    # ------------------------------------------------------------------ dishes and customers

    def born(self, slot):
        CompiledBank.born(self, slot)
        cdef int32_t k = slot
        self.b.is_proposal[k] = self.slots is not None and not self.slots.occupied(k)

    def add(self, slot, customers):
        """Seat these customers in a slot, at the tables that were drawn for them if `log_block` was asked."""
        cdef int32_t k = self.slot_number(slot)
        cdef const int32_t[::1] who = as_int32(customers)
        cdef int status = self.c.add(self.c.self, k, &who[0], who.shape[0]) if who.shape[0] else 0
        if status == ABSENT:
            refuse("customers", customers, "customers who have no dish", "Remove them first.")
        self.check(status)

    def remove(self, slot, customers):
        """Remove these customers from a slot, the last one first."""
        cdef int32_t k = self.slot_number(slot)
        cdef const int32_t[::1] who = as_int32(customers)
        cdef int status = self.c.remove(self.c.self, k, &who[0], who.shape[0]) if who.shape[0] else 0
        if status == ABSENT:
            refuse("customers", customers, f"customers whose values slot {k} has", "Add them first.")
        self.check(status)

    # ------------------------------------------------------------------ proposals for many customers

    def sit(self, int32_t customer, int32_t slot, opens=None):
        cdef double p = 1.0
        cdef int opened
        forget(&self.b)
        opened = sit(&self.b, customer, slot, DRAW if opens is None else bool(opens), &p)
        self.check(opened)
        self.sat[customer] = slot
        return bool(opened), det_log(p)

    def rise(self, int32_t customer, bint opens):
        """Remove one customer, who sat alone or not, from the slot where `sit` has seated it, or from its dish."""
        cdef int32_t slot = self.sat.pop(customer, self.b.slot_of[customer])
        forget(&self.b)
        self.check(rise(&self.b, customer, slot, opens, NULL))

    def take_out(self, customers):
        """Remove customers from their slots, the last one first; which of them sat alone, and log p.

        p is the product of their predictives in this order, each after those before it.
        """
        cdef const int32_t[::1] who = as_int32(customers)
        cdef int64_t j
        cdef int one
        cdef double p = 1.0, log_p = 0.0
        alone = {}
        forget(&self.b)
        for j in range(who.shape[0] - 1, -1, -1):
            one = rise(&self.b, who[j], self.b.slot_of[who[j]], DRAW, &p)
            self.check(one)
            alone[who[j]] = bool(one)
            log_p += det_log(p)
        return alone, log_p

    def exchange(self, blocks, slots, targets, ChoiceSource source not None):
        cdef BurstyCounts *b = &self.b
        cdef int64_t i, n
        cdef const int32_t[::1] who, target
        self.prepare(source)
        kept = [as_int32(block) for block in blocks]
        order = np.concatenate([*kept, np.empty(0, dtype=np.int32)]).astype(np.int32)
        these = as_int32(slots)
        aims = np.full(len(kept), -1, dtype=np.int32) if targets is None else as_int32(targets)
        target = np.repeat(aims, [len(block) for block in kept]).astype(np.int32)
        who = order
        n = who.shape[0]
        before = [b.slot_of[who[i]] for i in range(n)]
        b.exchanged.resize(n)
        b.recalled_slot.resize(n)
        b.recalled_opens.resize(n)
        b.trial_opens.assign(n, 0)
        clear_cells(&b.places)
        ready_cells(&b.places, n)
        opens, self.log_current = self.take_out(order)
        for i in range(n):
            self.check(sit(b, who[i], before[i], opens[who[i]], NULL))
            b.exchanged[i] = who[i]
            b.recalled_slot[i] = target[i]
            b.recalled_opens[i] = opens[who[i]]
            count_cell(&b.places, who[i], <int32_t>i + 1, 0)
        b.log_added = 0.0
        for slot in these:
            b.is_proposal[<int32_t>slot] = TRIAL

    def log_exchanged(self, bint split):
        """Log of p(terms, tables) of two dishes over that of one, relative to the densities of drawn tables.

        The tables of the proposal are those added to the reserved slots, or for a merge drawn here.
        """
        cdef BurstyCounts *b = &self.b
        cdef int64_t n = b.exchanged.size()
        cdef double log_p = 0.0
        if split:
            return b.log_added - self.log_current
        forget(b)
        self.check(ready_block(b, n, 0))
        if n > 0:
            self.check(draw_alone(b, b.exchanged.data(), n, NULL, 0, b.trial_opens.data(), &log_p))
        return self.log_current - log_p

    def settle(self, move):
        cdef BurstyCounts *b = &self.b
        cdef int64_t i, n = b.exchanged.size()
        cdef int32_t who, slot
        cdef Counted cell
        b.settling = True
        try:
            move()
        finally:
            b.settling = False
        forget(b)
        after = [b.slot_of[b.exchanged[i]] for i in range(n)]
        for i in range(n - 1, -1, -1):
            who = b.exchanged[i]
            slot = after[i]
            cell = cell_of(b, who, slot)
            self.check(rise(b, who, slot, cell.customers == cell.tables, NULL))
        for i in range(n):
            self.check(sit(b, b.exchanged[i], after[i], b.trial_opens[i], NULL))
        clear_cells(&b.places)
        b.exchanged.clear()

    # ------------------------------------------------------------------ all customers

    def _check_slots(self, slots):
        """Slots as int32, and the place of each slot among them."""
        kept = as_int32(slots)
        place = np.full(<int64_t>self.b.is_proposal.size(), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        return kept, place

    cdef tuple count(self, const int64_t[::1] place):
        """How often each pair of customers and tables occurs: in dishes of a restaurant, and in their cells.

        ``place``: of each slot, negative if it isn't counted. Two int64 arrays with rows of customers, tables and
        number, ascending: they don't depend on the order of restaurants.
        """
        cdef BurstyCounts *b = &self.b
        cdef vector[OwnCell] cells, totals
        cdef Tally of_cells, of_totals
        cdef int64_t r
        of_cells.few.assign(FEW * FEW, 0)
        of_totals.few.assign(FEW * FEW, 0)
        with nogil:
            for r in range(b.n_restaurants):
                cells.clear()
                totals.clear()
                collect_one(b, <int32_t>r, True, &cells, &totals)
                tally(&of_cells, &cells, place)
                tally(&of_totals, &totals, place)
            cells.clear()
            totals.clear()
            collect_proposed(b, True, &cells, &totals)
            tally(&of_cells, &cells, place)
            tally(&of_totals, &totals, place)
        return pairs_of(&of_totals), pairs_of(&of_cells)

    def counted(self):
        """Numbers of the customers of this bank, whose sums over the parts of a corpus are those of all its customers.

        Of each slot, up to the last that has some; and rows of customers, tables, and how many dishes of a restaurant,
        or terms of a dish in a restaurant, have both: int64, shape (n, 3) each.
        """
        cdef int64_t i
        found = np.zeros(<int64_t>self.b.is_proposal.size(), dtype=np.int64)
        cdef int64_t[::1] customers = found
        for i in range(self.b.n_customers):
            if self.b.slot_of[i] >= 0:
                customers[self.b.slot_of[i]] += 1
        totals, cells = self.count(np.zeros(len(found), dtype=np.int64))
        return np.trim_zeros(found, "b"), totals, cells

    def take_whole(self, const int64_t[::1] customers not None, const int64_t[:, ::1] totals not None,
                   const int64_t[:, ::1] cells not None):
        """Use these numbers in place of those of this bank's customers, a part of a corpus: sums of `counted`."""
        check_pairs("totals", totals)      # other processes have sent them
        check_pairs("cells", cells)
        padded = np.zeros(max(customers.shape[0], <int64_t>self.b.is_proposal.size()), dtype=np.int64)
        padded[: customers.shape[0]] = customers
        self.whole = padded, np.array(totals), np.array(cells)
        self.b.version += 1

    def sizes(self, slots):
        kept = as_int32(slots)
        customers = self.counted()[0] if self.whole is None else self.whole[0]
        return np.append(customers, np.zeros(max(kept, default=0) + 1, dtype=np.int64))[kept]

    cdef double log_seating(self, const int64_t[:, ::1] totals, const int64_t[:, ::1] cells) except? 1.0:
        """Log of prod_j [b]_a^T / [b]_1^c prod_v S_a(c, t), in nats, from numbers of pairs."""
        cdef vector[int64_t] customers, tables
        cdef const double[::1] logs
        cdef int64_t i
        cdef double a = self.b.discount, theta = self.b.concentration, total = 0.0
        for i in range(totals.shape[0]):
            while <int64_t>customers.size() <= totals[i, 0]:
                customers.push_back(0)
                tables.push_back(0)
            customers[totals[i, 0]] += totals[i, 2]
            tables[totals[i, 1]] += totals[i, 2]
        for i in range(<int64_t>customers.size()):
            if customers[i] > 0:
                total -= customers[i] * log_rising(theta, i)
            if tables[i] > 0:
                total += tables[i] * log_rising_steps(theta, a, i)
        columns = np.asarray(cells)
        logs = logs_of(columns[:, 0].copy(), columns[:, 1].copy(), a)
        for i in range(cells.shape[0]):
            total += cells[i, 2] * logs[i]
        return total

    cdef int add_log_seatings(self, const int64_t[::1] place, double[::1] out) except -1:
        """Add the same of each slot with a place there."""
        cdef BurstyCounts *b = &self.b
        cdef vector[OwnCell] cells, totals
        cdef vector[int64_t] n, t
        cdef int64_t i, k
        cdef double a = b.discount, theta
        with nogil:
            collect(b, False, &cells, &totals)
            for i in range(<int64_t>totals.size()):
                k = place[totals[i].slot]
                if k >= 0:
                    theta = concentration_of(b, totals[i].slot)
                    out[k] += (log_rising_steps(theta, a, totals[i].tables)
                               - log_rising(theta, totals[i].customers))
            for k in range(out.shape[0]):
                n.clear()
                t.clear()
                for i in range(<int64_t>cells.size()):
                    if place[cells[i].slot] == k:
                        n.push_back(cells[i].customers)
                        t.push_back(cells[i].tables)
                out[k] += log_discounted_sum(&n, &t, a)
        return 0

    def log_marginals(self, slots, dishes=None):
        kept, place = self._check_slots(slots)
        if self.whole is not None:
            raise StateError("bank", "of some documents of a corpus", "one of all documents, for numbers by dish",
                             "Ask for the sum over all dishes.")
        out = np.ascontiguousarray(self.inner.log_marginals(kept))
        self.add_log_seatings(place, out)
        return out

    def log_marginal_total(self, slots):
        """Sum of the log marginals of these slots, in nats; of all slots, if the bank has a part of a corpus.

        The part of the seating is kept until it changes, so another eta costs what it costs the inner bank.
        """
        kept, place = self._check_slots(slots)
        inner = self.inner.log_marginal_total(kept)
        if inner is None:
            inner = float(np.sum(self.inner.log_marginals(kept)))
        key = self.b.version, self.b.concentration, self.b.discount, kept.tobytes()
        if self.kept_seating is None or self.kept_seating[0] != key:
            totals, cells = self.count(place) if self.whole is None else self.whole[1:]
            self.kept_seating = key, self.log_seating(totals, cells)
        return inner + self.kept_seating[1]

    def totals(self):
        return self._pairs(0)

    def cells(self):
        return self._pairs(1)

    def _pairs(self, which):
        """Customers and tables, ascending."""
        everywhere = np.zeros(<int64_t>self.b.is_proposal.size(), dtype=np.int64)
        customers, tables, n = (self.count(everywhere) if self.whole is None else self.whole[1:])[which].T
        return np.repeat(customers, n), np.repeat(tables, n)

    def statistics(self, slots, dishes):
        cdef vector[OwnCell] cells, totals
        cdef int64_t i
        kept, place = self._check_slots(slots)
        found = [self.measure.make() for _ in kept]
        for one, topic in zip(found, self.inner.statistics(kept, dishes)):
            one.tables = topic
        collect(&self.b, True, &cells, &totals)
        for i in range(<int64_t>cells.size()):
            if place[cells[i].slot] >= 0:
                found[place[cells[i].slot]].cells[cells[i].restaurant, cells[i].term] = [
                    cells[i].customers, cells[i].tables]
        for i in range(<int64_t>totals.size()):
            if place[totals[i].slot] >= 0:
                found[place[totals[i].slot]].totals[totals[i].restaurant] = [totals[i].customers, totals[i].tables]
        return found

    def counts(self, slots):
        """Tables of every term in these slots: int64, shape (n, n_terms)."""
        return self.inner.counts(as_int32(slots))

    def adopt(self, measure):
        kept = self.inner.adopt(measure.measure)
        self._take(measure)
        return kept

    def in_floats(self, ends, longest):
        """Whether the sweep in single precision is accurate; see `DirichletMultinomialBank.in_floats`."""
        return self._serves_floats() and self.inner.in_floats(ends, longest)

    def in_floats_given_weights(self, ends):
        """The same if the root's dishes have weights."""
        return self._serves_floats() and self.inner.in_floats_given_weights(ends)

    @property
    def serves_blocks(self):
        """Whether the fused step of blocks serves these topics."""
        return self._serves_floats() and self.inner.serves_blocks

    def _serves_floats(self):
        return type(self.inner) is DirichletMultinomialBank and self.b.concentration >= LEAST_CONCENTRATION

    # ------------------------------------------------------------------ saved with the state

    def opens(self):
        """Which customers represent tables: the first t of a restaurant's customers with a term of a dish."""
        cdef BurstyCounts *b = &self.b
        cdef int64_t p
        cdef int32_t who, slot
        cdef Pair pair
        out = np.zeros(b.n_customers, dtype=np.int8)
        cdef int8_t[::1] o = out
        pair.last = 0
        with nogil:
            unlist_cells(b)
            while pair.last < b.n_customers:
                pair = pair_of(b, at(b, pair.last))
                count_pair(b, pair)
                for p in range(pair.first, pair.last):
                    who = at(b, p)
                    slot = b.slot_of[who]
                    if slot >= 0:
                        o[who] = b.cell_tables[slot] > 0
                        b.cell_tables[slot] -= 1
                clear_pair(b, pair)
        return out

    def freeze(self):
        """The numbers of tables, as customers who represent them: the first ones of each."""
        return {"opens": self.opens()}

    def thaw(self, frozen):
        """Restore frozen numbers of tables; None: one table for each term of a dish in a restaurant."""
        cdef int64_t i
        cdef const int8_t[::1] given
        made = np.zeros(self.b.n_customers, dtype=np.int8)
        if frozen is not None:
            kept = frozen["opens"]
            made[: len(kept)] = kept      # there may be new customers
        given = made
        self._reset()
        for i in range(self.b.n_customers):
            self.b.opens[i] = given[i]
        self.thawed = True

    def rebuild(self, const int32_t[::1] dishes not None, slots):
        cdef BurstyCounts *b = &self.b
        cdef int64_t p, i
        cdef int32_t who, slot, top
        cdef Pair pair
        cdef const int8_t[::1] opens
        cdef int32_t[::1] heads
        kept = as_int32(slots)
        top = max(kept, default=-1)
        if dishes.shape[0] > self.n_customers:
            check_length("dishes", dishes.shape[0], self.n_customers)
        check_numbers32("dishes", dishes, -1, max(<int64_t>top + 1, self.room()) - 1)
        if self.thawed and b.n_customers:
            opens = np.array(<const int8_t[:b.n_customers]>b.opens.data())
        else:
            opens = self.opens()
        self.widen(max(<int64_t>top + 1, self.inner.room()))
        representing = np.full(self.n_customers, -1, dtype=np.int32)
        heads = representing
        self._reset()
        self.thawed = False
        for i in range(dishes.shape[0]):
            if i < b.n_customers:
                b.slot_of[i] = dishes[i]
            else:
                heads[i] = dishes[i]
        pair.last = 0
        with nogil:
            while pair.last < b.n_customers:
                pair = pair_of(b, at(b, pair.last))
                for p in range(pair.first, pair.last):
                    who = at(b, p)
                    slot = b.slot_of[who]
                    b.opens[who] = slot >= 0 and (opens[who] or b.cell[slot] == 0)
                    if slot < 0:
                        continue
                    b.cell[slot] = 1
                    b.seated[slot] += 1
                    if b.opens[who]:
                        heads[who] = slot
                clear_pair(b, pair)
        self.inner.rebuild(representing, kept)

    def rebuild_counts(self, terms, dishes, counts, slots):
        """Recount the tables of each term in these slots, in a whole corpus of which the bank has a part."""
        self.inner.rebuild_counts(terms, dishes, counts, slots)

    def relabelled(self, mapping):
        cdef BurstyCounts *b = &self.b
        cdef const int32_t[::1] to = as_int32(mapping[: self.room()])
        cdef vector[int64_t] seated
        cdef int64_t i
        self.inner.relabelled(mapping)
        unlist_cells(b)
        for i in range(b.n_customers):
            if b.slot_of[i] >= 0:
                b.slot_of[i] = to[b.slot_of[i]]
        seated.assign(b.seated.size(), 0)
        for i in range(to.shape[0]):
            if to[i] >= 0:
                seated[to[i]] = b.seated[i]
        b.seated.swap(seated)
        if self.whole is not None:
            sizes, *others = self.whole
            moved, new = np.zeros_like(sizes), np.asarray(to)[: len(sizes)]
            moved[new[new >= 0]] = sizes[: len(new)][new >= 0]
            self.whole = moved, *others
        b.loaded = -1
        b.version += 1
        forget(b)

    def memory_bytes(self):
        cdef BurstyCounts *b = &self.b
        return (self.inner.memory_bytes()
                + bytes_of(b.order, b.place, b.begin, b.slot_of, b.opens, b.pair, b.n_cells, b.cell_dish,
                           b.cell_customers, b.tables_of_cell, b.is_proposal, b.seated, b.here, b.here_tables, b.cell,
                           b.cell_tables, b.meets, b.left, b.left_opens, b.offered, b.offered_slots, b.offered_opens,
                           b.kept_slot, b.kept_opens, b.added_opens, b.ratios.fewer)
                + cell_bytes(&b.proposed) + cell_bytes(&b.places)
                + (0 if self.restaurants is None else self.restaurants.nbytes))


cdef int check_pairs(str name, const int64_t[:, ::1] rows) except -1:
    """Raise an error unless these are rows of customers, tables and number."""
    cdef int64_t i
    check_length(name, rows.shape[1], 3)
    for i in range(rows.shape[0]):
        if not (1 <= rows[i, 1] <= rows[i, 0] <= LARGEST and rows[i, 2] >= 0):
            refuse(name, np.asarray(rows[i]).tolist(), "customers, from 1 to as many tables, and their number",
                   "Pass what counted() returned.")
    return 0


cdef cppclass Tally:
    vector[int64_t] few             # number of pairs with fewer customers, by FEW x customers + tables
    vector[int64_t] many            # the others: customers << 32 | tables


cdef int tally(Tally *counted, vector[OwnCell] *cells, const int64_t[::1] place) except -1 nogil:
    """Count pairs of customers and tables."""
    cdef int64_t i, customers, tables
    for i in range(<int64_t>cells.size()):
        if place[cells.data()[i].slot] < 0:
            continue
        customers = cells.data()[i].customers
        tables = cells.data()[i].tables
        if customers < FEW:
            counted.few[FEW * customers + tables] += 1
        else:
            counted.many.push_back(customers << 32 | tables)
    return 0


cdef object pairs_of(Tally *counted):
    """Rows of customers, tables and number, ascending."""
    cdef int64_t i
    few = np.array(<int64_t[:FEW * FEW]>counted.few.data())
    many = np.empty(counted.many.size(), dtype=np.int64)
    cdef int64_t[::1] view = many
    for i in range(view.shape[0]):
        view[i] = counted.many[i]
    keys, n = np.unique(many, return_counts=True)
    places = np.flatnonzero(few)
    small = np.stack([places // FEW, places % FEW, few[places]], axis=1)
    return np.concatenate([small, np.stack([keys >> 32, keys & 0xFFFFFFFF, n], axis=1)])


# ------------------------------------------------------------------------------- one concentration a dish

cdef class DishBurstsBank(BurstyBank, HasNumbers):
    """The same with a concentration for each dish, which ``kept``, an `OwnNumbers`, draws and stores.

    Its readable twin is `DishBurstsReferenceBank`.
    """

    COMPILED = COUNTING = SEATS_VALUES = True

    cdef DishValues own
    cdef readonly object kept

    def __cinit__(self, *arguments, kept, **options):
        self.kept = kept
        self.b.own = &self.own
        hold_numbers(&self.own, &self.c, kept)

    def prepare(self, ChoiceSource source not None):
        prepare_numbers(&self.own, source)
        BurstyBank.prepare(self, source)

    # ------------------------------------------------------------------ concentrations

    def set_parameter(self, slot, parameter):
        set_number(&self.own, self.slot_number(slot), parameter)
        self.b.version += 1

    def log_likelihood_of(self, slot, customers):
        """Return log p(terms, numbers of tables) of a dish as a function of its concentration, up to a constant."""
        n, t = self.totals_of(slot)
        discount = self.b.discount
        return lambda b: log_openings(b, discount, n, t)

    def totals_of(self, slot):
        """Customers and tables of every restaurant in the dish of a slot: two int64 arrays, shape (n,)."""
        cdef int32_t k = self.slot_number(slot)
        cdef vector[OwnCell] cells, totals
        cdef int64_t i
        collect(&self.b, False, &cells, &totals)
        found = [(totals[i].customers, totals[i].tables) for i in range(<int64_t>totals.size()) if totals[i].slot == k]
        made = np.array(found, dtype=np.int64).reshape(-1, 2)
        return made[:, 0].copy(), made[:, 1].copy()

    def statistics(self, slots, dishes):
        found = BurstyBank.statistics(self, slots, dishes)
        for slot, one in zip(slots, found):
            one.concentration = self.parameter(int(slot))
        return found

    def log_marginal_total(self, slots):
        """None: dishes have separate concentrations, so equal numbers don't contribute equally."""
        return None

    def adopt(self, measure):
        self.kept.measure = measure
        return BurstyBank.adopt(self, measure)

    # ------------------------------------------------------------------ saved with the state

    def rebuild(self, const int32_t[::1] dishes not None, slots):
        self.kept.rebuild(np.asarray(dishes), slots)
        BurstyBank.rebuild(self, dishes, slots)
        copy_numbers(&self.own)

    def relabelled(self, mapping):
        BurstyBank.relabelled(self, mapping)
        self.kept.relabelled(np.asarray(mapping))
        copy_numbers(&self.own)

    def freeze(self):
        return {**BurstyBank.freeze(self), **self.kept.freeze()}

    def check_frozen(self, frozen, slots):
        self.kept.check_frozen(self.kept.without_tables(frozen), slots)

    def thaw(self, frozen):
        """Restore frozen numbers of tables and concentrations; call it before `rebuild`."""
        BurstyBank.thaw(self, frozen)
        self.kept.thaw(self.kept.without_tables(frozen))

    def memory_bytes(self):
        return BurstyBank.memory_bytes(self) + number_bytes(&self.own)


def log_openings(double b, double discount, const int64_t[::1] customers not None, const int64_t[::1] tables not None):
    """Sum over restaurants of log [b]_a^t / [b]_1^n, a the discount."""
    cdef double total = 0.0
    cdef int64_t i
    for i in range(customers.shape[0]):
        total += log_rising_steps(b, discount, tables[i]) - log_rising(b, customers[i])
    return total
