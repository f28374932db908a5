# distutils: language = c++
"""Sums of a sparse topic by its numbers of distinct terms and customers (Wang & Blei 2009).

For a distinct terms, n customers and R selected terms,

    Z(a, n) = sum over R of C(V-a, R-a) p(R) G(lambda R) / G(lambda R + n),

and the predictive probability of a term that the dish has is (n_v + lambda) Z(a, n+1) / Z(a, n), that of any
other term lambda Z(a+1, n+1) / Z(a, n). These ratios are expectations over R: of 1 / (lambda R + n), and of
lambda (R - a) / (V - a) / (lambda R + n). They are computed in entries (`_selection_nodes.pyx`) and kept in a
table, for one or several distributions of R, which is emptied when it is full.
"""

from numbers import Real

from libc.stdint cimport int64_t, uint64_t

from hdpkit._arguments cimport refuse, whole
from hdpkit.measures._measure cimport pending_exception
from hdpkit.measures._selection_nodes cimport (
    MOST_ROWS, Coefficients, Entry, SelectionLaw, SelectionNodes, Span, entry_length, fill_entry, gather,
    log_beta_function, log_weight_gain, mixed, span_total,
)
from hdpkit.numerics cimport det_exp, det_log, log_rising
from hdpkit.random._source cimport ChoiceSource, choice_source
from hdpkit.vectors cimport bytes_of, has_room, no_memory, vector

cdef enum:
    CHOSEN = 32          # largest range of the number of further terms drawn by `choose`; larger ones by inversion
    FEWEST_PLACES = 256  # smallest hash table
    USUAL_LIMIT = 1 << 26
    VALUE_BYTES = 3 * 8  # per value of the table

SMALLEST, LARGEST = 1e-6, 1e6    # range of smoothing, r and s
LEAST_LOG = -1e12                # smallest log pi and log(1 - pi): those of Beta(1e-6, s) are about -1e6
LOST_LOG = -690.0                # below it, 1 - pi has the logarithm 0
MOST_TERMS = 2**31 - 1
MOST_CUSTOMERS = 2**40
LIMIT = USUAL_LIMIT              # default limit of a table in bytes


cdef int set_common(SelectionTable *table, SelectionLaw *law, int64_t n_terms, double smoothing) noexcept nogil:
    law.n_terms = n_terms
    law.smoothing = smoothing
    law.r = law.s = 1.0
    law.log_beta = law.log_pi = law.log_rest = 0.0
    law.pi = law.rest = 0.0
    if table.limit == 0:
        table.limit = USUAL_LIMIT
    table.last_stamp += 1
    law.stamp = table.last_stamp
    return 0


cdef void empty(SelectionTable *table) noexcept nogil:
    """Remove all values; memory is kept."""
    cdef int64_t i
    for i in range(<int64_t>table.entries.size()):
        table.entries[i].stamp = 0
    table.values.clear()
    table.log_shares.clear()
    table.n_entries = 0
    table.times_emptied += 1


cdef int set_integrated(SelectionTable *table, SelectionLaw *law, int64_t n_terms, double smoothing, double r,
                        double s) noexcept nogil:
    """Set the distribution with the proportion integrated out under Beta(r, s), one at a time per table."""
    empty(table)
    set_common(table, law, n_terms, smoothing)
    law.given = False
    law.r = r
    law.s = s
    law.log_beta = log_beta_function(r, s)
    return 0


cdef int set_given(SelectionTable *table, SelectionLaw *law, int64_t n_terms, double smoothing, double log_pi,
                   double log_rest) noexcept nogil:
    """Set the distribution given the proportion pi, by log pi and log(1 - pi)."""
    set_common(table, law, n_terms, smoothing)
    law.given = True
    law.log_pi = log_pi
    law.log_rest = log_rest
    law.pi = det_exp(log_pi)
    law.rest = det_exp(log_rest)
    return 0


cdef const KeptEntry *keep(vector[KeptEntry]& entries, const KeptEntry *one) noexcept nogil:
    """Put an entry into its place of a hash table that isn't full."""
    cdef int64_t mask = <int64_t>entries.size() - 1
    cdef int64_t place = <int64_t>(entry_hash(one.stamp, one.a, one.n, one.rows) & <uint64_t>mask)
    while entries[place].stamp != 0:
        place = (place + 1) & mask
    entries[place] = one[0]
    return &entries[place]


cdef int more_places(SelectionTable *table, int64_t n_places) noexcept nogil:
    """Resize the hash table to this many places."""
    cdef vector[KeptEntry] entries
    cdef KeptEntry none
    cdef int64_t i
    none.stamp = none.a = none.n = none.rows = none.place = 0
    if not has_room(entries, n_places):
        return -1
    for i in range(n_places):
        entries.push_back(none)
    for i in range(<int64_t>table.entries.size()):
        if table.entries[i].stamp != 0:
            keep(entries, &table.entries[i])
    entries.swap(table.entries)
    return 0


cdef const KeptEntry *entry_added(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n) noexcept nogil:
    """Compute an entry and keep it. All memory is allocated before the table changes."""
    cdef Entry *entry = &table.entry
    cdef KeptEntry one, marker
    cdef int64_t i, n_places, n_values, begin, room
    if fill_entry(&table.nodes, law, a, n, entry) < 0:
        return NULL
    n_values = entry.rows * entry.columns
    n_places = <int64_t>table.entries.size()
    while n_places < 2 * (table.n_entries + 2):
        n_places = max(2 * n_places, <int64_t>FEWEST_PLACES)
    begin = <int64_t>table.values.size()
    if n_places * <int64_t>sizeof(KeptEntry) + (begin + n_values) * VALUE_BYTES > table.limit and begin > 0:
        empty(table)
        n_places = <int64_t>table.entries.size()
        begin = 0
    if <int64_t>min(table.values.capacity(), table.log_shares.capacity()) < begin + n_values:
        room = (table.limit - n_places * <int64_t>sizeof(KeptEntry)) // VALUE_BYTES
        room = max(begin + n_values, min((begin + n_values) * 3 // 2, room))
        if not has_room(table.values, room) or not has_room(table.log_shares, room):
            return NULL
    if n_places > <int64_t>table.entries.size() and more_places(table, n_places) < 0:
        return NULL
    for i in range(n_values):
        table.values.push_back(entry.values[i])
        table.log_shares.push_back(entry.log_shares[i])
    one.stamp = marker.stamp = law.stamp
    one.a = entry.a
    one.n = marker.n = entry.n
    one.rows = entry.rows
    one.place = begin
    marker.rows = entry_length(a, MOST_ROWS)
    marker.a = a & -marker.rows
    marker.place = -1
    if entry.rows < marker.rows and kept_entry(table, marker.stamp, marker.a, marker.n, marker.rows) == NULL:
        keep(table.entries, &marker)
        table.n_entries += 1
    table.n_entries += 1
    return keep(table.entries, &one)


cdef double log_sum_of(const SelectionLaw *law, int64_t a, int64_t n, double log_share) noexcept nogil:
    """log Z(a, n) from the value in the table."""
    return log_share - log_rising(law.smoothing * a, n) if a > 0 else log_share


cdef double log_sum_ratio(const SelectionLaw *law, int64_t a0, int64_t n0, double share0, int64_t a1, int64_t n1,
                          double share1) noexcept nogil:
    """log Z(a1, n1) / Z(a0, n0) for a1 >= a0, n1 >= n0, without the difference of two large logarithms."""
    if a0 == 0:
        return log_sum_of(law, a1, n1, share1) - share0
    return (
        (share1 - share0) - mixed(law.smoothing * a0, law.smoothing * (a1 - a0), <double>n1)
        - log_rising(law.smoothing * a0 + n0, n1 - n0)
    )


cdef int64_t draw_more(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n,
                       choice_source *source) noexcept nogil:
    """Draw the number of selected terms of a dish in addition to its own; negative if it fails."""
    cdef int64_t left = law.n_terms - a, y, begin, length, i
    cdef double weights[CHOSEN]
    cdef double u, part
    cdef const Span *span
    if left == 0:
        return 0
    if gather(&table.nodes, law, a, n, 1, 1) < 0:
        return no_memory()
    if left < CHOSEN:
        for y in range(left + 1):
            weights[y] = det_exp(log_weight_gain(law, a, n, <double>y, table.nodes.y0))
        return source.choose(source.state, weights, left + 1)
    u = source.uniform(source.state)
    if not 0.0 < u < 1.0:
        return -1
    u *= table.nodes.total
    span = NULL
    for i in range(<int64_t>table.nodes.spans.size()):
        if table.nodes.spans[i].total > 0.0:
            span = &table.nodes.spans[i]
            if u < span.total:
                break
            u -= span.total
    if span == NULL:
        return -1
    begin = span.begin
    length = span.end - span.begin
    while length >= CHOSEN:
        length //= 2
        part = span_total(law, a, n, begin, length, table.nodes.y0)
        if u >= part:
            u -= part
            begin += length
    i = begin
    for y in range(begin, begin + length):
        part = det_exp(log_weight_gain(law, a, n, <double>y, table.nodes.y0))
        if part > 0.0:
            i = y          # by rounding, the remainder may exceed the last weight
            if u < part:
                break
            u -= part
    return i


cdef double expected_more(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n) noexcept nogil:
    """Mean of the number drawn by `draw_more`; NaN if out of memory."""
    cdef double total = 0.0
    cdef int64_t i
    if gather(&table.nodes, law, a, n, 1, 1) < 0:
        return 0.0 / 0.0
    for i in range(<int64_t>table.nodes.y.size()):
        total += table.nodes.weight[i] * table.nodes.y[i]
    return total / table.nodes.total


cdef int64_t table_bytes(SelectionTable *table) noexcept nogil:
    """Bytes of the table and of its scratch."""
    return bytes_of(table.entries, table.values, table.log_shares, table.nodes.y, table.nodes.weight,
                    table.nodes.factor, table.nodes.pending, table.nodes.spans, table.nodes.pieces)


cdef double number(str name, object value, double low, double high) except? -1.0:
    cdef double given = value if isinstance(value, Real) and not isinstance(value, bool) else 0.0 / 0.0
    if not low <= given <= high:
        refuse(name, value, f"a number from {low} to {high}", "Give a number within the range.")
    return given


cdef class Selection:
    """A distribution of the number of selected terms, and a table of its sums.

    Parameters
    ----------
    n_terms : int
        V, 2 or more.
    smoothing : float
        lambda.
    r, s : float, optional
        Parameters of the proportion's prior Beta(r, s), if it is integrated out.
    log_pi, log_rest : float, optional
        Instead: log pi and log(1 - pi) of a given proportion.
    limit : int
        Largest size of the table in bytes. A full table is emptied.
    """

    def __cinit__(self, n_terms, smoothing, *, r=None, s=None, log_pi=None, log_rest=None, limit=LIMIT):
        cdef int64_t V = whole("n_terms", n_terms, 2, MOST_TERMS)
        cdef double strength = number("smoothing", smoothing, SMALLEST, LARGEST)
        self.table.limit = whole("limit", limit, 1, 2**62)
        if log_pi is None and log_rest is None:
            set_integrated(&self.table, &self.law, V, strength, number("r", r, SMALLEST, LARGEST),
                           number("s", s, SMALLEST, LARGEST))
            return
        if r is not None or s is not None:
            refuse("r", r, "left out where the proportion is given", "Give r and s, or log_pi and log_rest.")
        cdef double selected = number("log_pi", log_pi, LEAST_LOG, 0.0)
        cdef double left_out = number("log_rest", log_rest, LEAST_LOG, 0.0)
        if max(selected, left_out) > -1e-300 and min(selected, left_out) > LOST_LOG:
            refuse("log_pi, log_rest", (log_pi, log_rest), "logarithms of two proportions whose sum is 1",
                   "Only if one is below 1e-300 can the logarithm of the other be 0.")
        set_given(&self.table, &self.law, V, strength, selected, left_out)

    cdef int64_t at(self, object a, object n) except -1:
        """Place of the values at (a, n)."""
        cdef int64_t found
        self.check(a, n)
        found = selection_at(&self.table, &self.law, a, n)
        if found < 0:
            raise MemoryError
        return found

    cdef int check(self, object a, object n) except -1:
        cdef int64_t terms = whole("a", a, 0, self.law.n_terms)
        whole("n", n, 0, MOST_CUSTOMERS if terms > 0 else 0)
        return 0

    def coefficients(self, a, n):
        """The factor of n_v + smoothing for a term that the dish has, and the probability of any other term."""
        cdef const Coefficients *found
        cdef int64_t place = self.at(a, n)
        found = &self.table.values[place]
        return found.inside, found.outside

    def computed(self, a, n):
        """Compute the values without the table: (inside, outside, log share)."""
        cdef Entry *entry = &self.table.entry
        cdef int64_t place
        self.check(a, n)
        if fill_entry(&self.table.nodes, &self.law, a, n, entry) < 0:
            raise MemoryError
        place = (<int64_t>a - entry.a) * entry.columns + <int64_t>n - entry.n
        return entry.values[place].inside, entry.values[place].outside, entry.log_shares[place]

    def log_share(self, a, n):
        """Log of Z(a, n) G(smoothing a + n) / G(smoothing a), nats."""
        cdef int64_t place = self.at(a, n)      # may move the values
        return self.table.log_shares[place]

    def log_sum(self, a, n):
        """log Z(a, n), nats."""
        return log_sum_of(&self.law, a, n, self.log_share(a, n))

    def log_ratio(self, a0, n0, a1, n1):
        """log Z(a1, n1) / Z(a0, n0) for a1 >= a0, n1 >= n0, nats."""
        cdef double share0 = self.log_share(a0, n0)
        cdef double share1 = self.log_share(a1, n1)
        if a1 < a0 or n1 < n0:
            refuse("a1, n1", (a1, n1), f"at least ({a0}, {n0})", "Exchange the two, and change the sign of the result.")
        return log_sum_ratio(&self.law, a0, n0, share0, a1, n1, share1)

    def expected(self, a, n):
        """Mean number of selected terms."""
        self.check(a, n)
        cdef double more = expected_more(&self.table, &self.law, a, n)
        if more != more:
            raise MemoryError
        return a + more

    def draw(self, a, n, ChoiceSource source not None):
        """Draw the number of selected terms in addition to those of the dish."""
        self.check(a, n)
        cdef int64_t y = draw_more(&self.table, &self.law, a, n, &source.c)
        if y < 0:
            error = pending_exception()
            raise FloatingPointError("the number of selected terms can't be drawn") if error is None else error
        return y

    @property
    def n_nodes(self):
        """Number of nodes of the last computed sum."""
        return self.table.nodes.y.size()

    def memory_bytes(self):
        return table_bytes(&self.table)
