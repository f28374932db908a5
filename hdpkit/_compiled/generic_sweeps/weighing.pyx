# distutils: language = c++
"""Weights of dishes: prior times density, including the case that no new dish is possible.

Measures return densities relative to the largest. If no new dish is possible, the largest may be that of a
new dish, and all others may be too small: then they are computed again, relative to the largest of the
others.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from hdpkit._compiled.measures.measure cimport measure_t
from hdpkit._compiled.walk.walk cimport Walk
from hdpkit.numerics cimport det_exp
from hdpkit.random._source cimport choice_source


cdef int64_t choose_dish(Walk walk, measure_t *measure, const int32_t *block, int64_t size, int64_t n_live,
                         double *w, choice_source *source) noexcept nogil:
    """Draw the dish of a block: its place, the last for a new one, -1 if it fails; ``w`` has the densities."""
    cdef const double *row = walk.row.data()
    cdef int64_t i
    cdef double total = 0.0
    for i in range(n_live + 1):
        w[i] *= row[i]
    if row[n_live] == 0.0:      # the sum is needed only in this case and costs as much as the products
        for i in range(n_live):
            total += w[i]
        if not total >= LEAST_TOTAL:
            weigh_again(measure, block, size, walk.slots.live.data(), n_live, row, w)
    return source.choose(source.state, w, n_live + 1)


cdef double weigh_again(measure_t *measure, const int32_t *block, int64_t size, const int32_t *slots, int64_t n,
                        const double *prior, double *w) noexcept nogil:
    """Fill w, n + 1 numbers, with weights relative to the largest density of a slot; returns their sum, 0 if it fails.

    Slots with prior 0 and the new dish (last) have weight 0.
    """
    cdef int64_t k
    cdef double total = 0.0, top = -INFINITY
    cdef int status = measure.log_block(measure.self, block, size, slots, n, w)
    for k in range(n):
        if prior[k] > 0.0 and w[k] > top:
            top = w[k]
    for k in range(n):
        w[k] = prior[k] * det_exp(w[k] - top) if status >= 0 and prior[k] > 0.0 and w[k] > -INFINITY else 0.0
        total += w[k]
    w[n] = 0.0
    return total
