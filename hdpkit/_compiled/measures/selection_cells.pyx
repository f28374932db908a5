# distutils: language = c++
"""Coefficients of a sparse topic's predictive for neighbouring numbers of terms and customers at once.

For a dish with one more term the weights of R are multiplied by R - a, with one more customer they are
divided by lambda R + n. So the nodes for one (a, n) can be used for its neighbours, and all sums are products
of two matrices: weights of nodes by customers, and falling factorials by terms. The first (a, n) of a cell
depends only on a and n, so values don't depend on earlier calls.
"""

from libc.stdint cimport int64_t
from hdpkit.vectors cimport has_room

from hdpkit._compiled.measures.log_gammas cimport mixed
from hdpkit._compiled.measures.selection_quadrature cimport gather_bell
from hdpkit._compiled.measures.selection_law cimport SelectionLaw, log_share_of
from hdpkit._compiled.measures.selection_nodes cimport SelectionNodes, gather
from hdpkit.numerics cimport det_exp, det_log, det_log1p

cdef enum:
    LANES = 8        # nodes that are summed in parallel, in the same order everywhere

cdef double LEAST = 1e-100     # smaller sums are computed with separate nodes


cdef inline double one_less_exp(double x) noexcept nogil:
    """1 - exp(-x) for x >= 0, to full relative precision."""
    cdef double term, total
    cdef int j
    if x > 0.5:
        return 1.0 - det_exp(-x)
    term = total = x
    for j in range(2, 18):
        term *= -x / j
        total += term
    return total


cdef void without_customers(const SelectionLaw *law, Cell *cell) noexcept nogil:
    """Values of a new dish: 1 / V times the probability that any term is selected; the rest is the dummy's."""
    cdef double V = <double>law.n_terms
    cell.values[0].inside = 0.0
    cell.values[0].outside = one_less_exp(-V * law.log_rest if law.given else mixed(law.s, law.r, V)) / V
    cell.log_shares[0] = 0.0


cdef inline double dot(const double *a, const double *b, int64_t n) noexcept nogil:
    """Sum of the products of n numbers, a multiple of LANES."""
    cdef double lane[LANES]
    cdef int64_t i = 0, l
    for l in range(LANES):
        lane[l] = 0.0
    while i < n:
        for l in range(LANES):
            lane[l] += a[i + l] * b[i + l]
        i += LANES
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))


cdef int fill_cell(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, Cell *cell) noexcept nogil:
    """Compute the values of the cell with (a, n); -1 if out of memory."""
    cdef int status
    cell.columns = cell_columns(n)
    cell.n = n & -cell.columns
    cell.rows = cell_rows(a)
    cell.a = a & -cell.rows
    if a == 0:
        without_customers(law, cell)
        return 0
    if cell.rows > 1 and cell.a + cell.rows <= law.n_terms:
        status = fill_values(nodes, law, cell)
        if status <= 0:
            return status
    cell.rows = 1
    cell.a = a
    return fill_values(nodes, law, cell)


cdef int fill_values(SelectionNodes *nodes, const SelectionLaw *law, Cell *cell) noexcept nogil:
    """Compute the values of a cell; 1 if its rows are too different for one set of nodes."""
    cdef int64_t n_nodes, padded, i, j, k
    cdef int64_t rows = cell.rows
    cdef int status
    cdef double common, inverse, scale, n, portion, y0, log_share
    cdef double *y
    cdef double *w
    cdef double *size
    cdef double *factor
    cdef double scales[MOST_ROWS]            # divisor of row i + 1
    cdef double before[MOST_ROWS + 1]        # sums for one number of customers, by row
    cdef double after[MOST_ROWS + 1]         # the same for one more customer
    cdef Coefficients *out
    cdef double *share
    status = gather_bell(nodes, law, cell.a, cell.n, rows, cell.columns)
    if status == 1:
        status = gather(nodes, law, cell.a, cell.n, rows, cell.columns)
    if status < 0:
        return -1
    n_nodes = <int64_t>nodes.y.size()
    padded = (n_nodes + LANES - 1) // LANES * LANES
    if not has_room(nodes.y, padded) or not has_room(nodes.weight, padded) or not has_room(
            nodes.factor, (rows + 2) * padded):
        return -1
    while <int64_t>nodes.y.size() < padded:
        nodes.y.push_back(0.0)
        nodes.weight.push_back(0.0)
    while <int64_t>nodes.factor.size() < (rows + 2) * padded:
        nodes.factor.push_back(0.0)
    y = nodes.y.data()
    w = nodes.weight.data()
    size = nodes.factor.data()               # lambda R
    factor = size + padded                   # rows of y (y-1) .. (y-k+1), scaled
    y0 = nodes.y0
    for i in range(padded):
        size[i] = law.smoothing * (cell.a + y[i])
        factor[i] = 1.0
    for k in range(rows):
        scales[k] = y0 - k if y0 - k > 1.0 else 1.0
        inverse = 1.0 / scales[k]
        for i in range(padded):
            factor[(k + 1) * padded + i] = factor[k * padded + i] * ((y[i] - k) * inverse)
    for k in range(rows + 1):
        before[k] = dot(w, factor + k * padded, padded)
        if rows > 1 and not before[k] > LEAST:
            return 1
    log_share = log_share_of(law, cell.a, cell.n, y0)
    for k in range(rows):
        cell.log_shares[k * cell.columns] = (
            log_share + mixed(law.smoothing * cell.a, law.smoothing * k, <double>cell.n) + det_log(before[k]))
        log_share += det_log(scales[k] / (law.n_terms - cell.a - k)) if cell.a + k < law.n_terms else 0.0
    for j in range(cell.columns):
        n = <double>(cell.n + j)
        common = law.smoothing * (cell.a + y0) + n       # keeps the size of the weights constant
        for i in range(padded):
            w[i] *= common / (size[i] + n)
        for k in range(rows + 1):
            after[k] = dot(w, factor + k * padded, padded)
        for k in range(rows):
            out = &cell.values[k * cell.columns + j]
            inverse = 1.0 / (before[k] * common)
            out.inside = after[k] * inverse
            portion = law.smoothing * scales[k] * after[k + 1] * inverse     # of terms that the dish doesn't have
            out.outside = portion / (law.n_terms - cell.a - k) if cell.a + k < law.n_terms else 0.0
            if j + 1 < cell.columns:
                scale = out.inside * (n + law.smoothing * (cell.a + k))
                share = &cell.log_shares[k * cell.columns + j]
                share[1] = share[0] + (det_log1p(-portion) if portion < 0.5 else det_log(scale))
            before[k] = after[k]
        before[rows] = after[rows]
    return 0
