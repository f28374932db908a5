# distutils: language = c++
"""Sums over selections for new dishes of a small block of customers, at any smoothing.

The dishes proposed to a block have new smoothings each time, so a table of sums can't be reused. But

    Z(a, n) / Z(a, 1) = E prod 1 / (lambda R + j) over j = 1 .. n - 1,

where R is distributed as for a dish of one customer with a terms, independent of lambda. As a function of R
the only poles of the product are at -j / lambda: the larger lambda, the nearer they are, so nodes for the
largest allowed lambda are accurate for all. One set of nodes is kept for each a. Factors are computed
relative to those at the mean of R.

Nodes for one customer omit numbers R that are improbable given one customer. Each further customer favours
small R, more strongly for larger lambda: the part omitted at the lower end has its largest share at the
largest lambda, the part omitted at the upper end at one customer. So a set of nodes is accurate for (a, n) at
every lambda if it is at the largest one, which is checked before it is used.
"""

from libc.math cimport fabs
from libc.stdint cimport int64_t
from hdpkit.vectors cimport has_room

from hdpkit._compiled.measures.selection cimport log_sum_of, log_sum_ratio
from hdpkit._compiled.measures.selection_nodes cimport SelectionNodes, fill_cell, gather, gather_bell
from hdpkit._compiled.measures.selection_law cimport SelectionLaw
from hdpkit._compiled.measures.sparse_counts cimport SparseCounts
from hdpkit.numerics cimport det_log, log_rising

cdef double LARGEST = 1e6           # largest smoothing
cdef double LEAST = 1e-250          # range of sums of products; outside it they are computed for each smoothing
cdef double MOST = 1e250
cdef double CLOSE = 1e-12           # accuracy of logs required at the largest smoothing


cdef int add_nodes(AuxiliarySums *kept, SparseCounts *b, int64_t a) noexcept nogil:
    """Add nodes for dishes with this number of terms; -1 if out of memory."""
    cdef SelectionNodes *nodes = &b.sums.nodes
    cdef SelectionLaw law
    cdef NodeRange *of = &kept.of_terms[a]
    cdef int64_t i, n_nodes, begin = <int64_t>kept.size.size()
    cdef double total = 0.0
    cdef int status
    law = b.shared
    law.smoothing = LARGEST
    if fill_cell(nodes, &law, a, 1, &b.sums.cell) < 0:
        return -1
    of.log_first = log_sum_of(&law, a, 1, b.sums.cell.log_shares[(a - b.sums.cell.a) * b.sums.cell.columns]) + det_log(
        LARGEST)
    status = gather_bell(nodes, &law, a, 1, 1, SMALL)
    if status == 1:
        status = gather(nodes, &law, a, 1, 1, SMALL)
    if status < 0:
        return -1
    n_nodes = <int64_t>nodes.y.size()
    if (not has_room(kept.size, begin + n_nodes) or not has_room(kept.weight, begin + n_nodes)
            or not has_room(kept.product, n_nodes)):
        return -1
    while <int64_t>kept.product.size() < n_nodes:
        kept.product.push_back(0.0)
    for i in range(n_nodes):
        total += nodes.weight[i]
    of.middle = 0.0
    for i in range(n_nodes):
        kept.size.push_back(a + nodes.y[i])
        kept.weight.push_back(nodes.weight[i] / total)
        of.middle += kept.size[begin + i] * kept.weight[begin + i]
    of.begin = begin
    of.end = begin + n_nodes
    return 0


cdef double by_nodes(AuxiliarySums *kept, const NodeRange *of, double smoothing, int64_t n) noexcept nogil:
    """log Z of a dish of this many customers from nodes; NaN if numbers are too large or too small."""
    cdef int64_t i, j, n_nodes = of.end - of.begin
    cdef double total = 0.0, middle = smoothing * of.middle
    cdef double *product = kept.product.data()
    cdef const double *size = kept.size.data() + of.begin
    cdef const double *weight = kept.weight.data() + of.begin
    for i in range(n_nodes):
        product[i] = weight[i]
    for j in range(1, n):
        for i in range(n_nodes):
            product[i] *= (middle + j) / (smoothing * size[i] + j)
    for i in range(n_nodes):
        total += product[i]
    if not LEAST < total < MOST:
        return 0.0 / 0.0
    return of.log_first - det_log(smoothing) + det_log(total) - log_rising(middle + 1.0, n - 1)


cdef double directly(SparseCounts *b, double smoothing, int64_t a, int64_t n) noexcept nogil:
    """log Z(a, n) from nodes computed for it; NaN if out of memory."""
    cdef SelectionLaw law
    law = b.shared
    law.smoothing = smoothing
    if fill_cell(&b.sums.nodes, &law, a, n, &b.sums.cell) < 0:
        return 0.0 / 0.0
    return log_sum_ratio(
        &law, 0, 0, 0.0, a, n,
        b.sums.cell.log_shares[(a - b.sums.cell.a) * b.sums.cell.columns + (n - b.sums.cell.n)])


cdef double log_sum_without(AuxiliarySums *kept, SparseCounts *b, double smoothing, int64_t a, int64_t n) noexcept nogil:
    """log Z(a, n) of a dish without a proportion at any smoothing; NaN if out of memory."""
    cdef const NodeRange *of
    cdef int64_t i
    cdef signed char *serve
    cdef double found, exact
    if kept.stamp != b.shared.stamp:
        for i in range(SMALL + 1):
            kept.of_terms[i].begin = kept.of_terms[i].end = 0
        for i in range(PAIRS):
            kept.serve[i] = 0
        kept.size.clear()
        kept.weight.clear()
        kept.stamp = b.shared.stamp
    if not 1 <= a <= n <= SMALL:
        return directly(b, smoothing, a, n)
    of = &kept.of_terms[a]
    if of.end == of.begin and add_nodes(kept, b, a) < 0:
        return 0.0 / 0.0
    serve = &kept.serve[n * (n + 1) // 2 + a]
    if serve[0] == 0:
        exact = directly(b, LARGEST, a, n)
        if exact != exact:
            return exact
        found = by_nodes(kept, of, LARGEST, n)
        serve[0] = 1 if fabs(found - exact) <= CLOSE * (1.0 + 0.1 * fabs(exact)) else -1
    if serve[0] > 0:
        found = by_nodes(kept, of, smoothing, n)
        if found == found:
            return found
    return directly(b, smoothing, a, n)


cdef int64_t auxiliary_bytes(const AuxiliarySums *kept) noexcept nogil:
    return (kept.size.capacity() + kept.weight.capacity() + kept.product.capacity()) * sizeof(double)
